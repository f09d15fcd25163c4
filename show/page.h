/* Pages of one file: no scripts, nothing fetched. */
#ifndef SHOW_PAGE_H
#define SHOW_PAGE_H

#include <stdio.h>

/* Everything up to the content, with the style all pages share: light and dark, for screens of any width, for paper. */
void show_page_begin(FILE *to, const char *title);
void show_page_end(FILE *to);

/* What every page of a recommendation begins with. */
typedef struct show_advice {
  const char *name;     /* of the base */
  const char *text;     /* what to take, and why */
  const char *method;   /* how it was measured; NULL: part of the page */
  const char *commands; /* lines that carry it out */
  const char *note;     /* which explains them */
} show_advice;

/* Heading, text and commands. */
void show_advice_begin(FILE *to, const show_advice *of);

#endif

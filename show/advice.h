/* What every page of a recommendation begins with. */
#ifndef SHOW_ADVICE_H
#define SHOW_ADVICE_H

#include <stdio.h>

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

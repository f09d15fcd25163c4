/* Pages of one file: no scripts, nothing fetched. */
#ifndef SHOW_PAGE_H
#define SHOW_PAGE_H

#include <stdio.h>

/* Everything up to the content, with the style all pages share: light and dark, for screens of any width, for paper. */
void show_page_begin(FILE *to, const char *title);
void show_page_end(FILE *to);

#endif

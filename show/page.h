/* Pages of one file: no scripts, nothing fetched. */
#ifndef SHOW_PAGE_H
#define SHOW_PAGE_H

#include <stdio.h>

/* Everything up to the content, with the style all pages share; close with </main></body></html>. */
void show_page_begin(FILE *to, const char *title);

/* Text with what HTML would read as its own written out. */
void show_page_text(FILE *to, const char *text);

#endif

/* Pages of one file: no scripts, nothing fetched. */
#ifndef CLI_PAGE_H
#define CLI_PAGE_H

#include <stdio.h>

/* Everything up to the content, with the style all pages share; close with </main></body></html>. */
void cli_page_begin(FILE *to, const char *title);

/* Text with what HTML would read as its own written out. */
void cli_page_text(FILE *to, const char *text);

#endif

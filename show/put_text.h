/* Text from files and users on its way to people: everything but data is printed by these. */
#ifndef SHOW_PUT_TEXT_H
#define SHOW_PUT_TEXT_H

#include <stdio.h>

/* What is not printable is shown as \xNN (src/base/printable.h). Returns the number of characters shown; to NULL: only that. */
int show_put_text(FILE *to, const char *text);

/* The same for HTML, with what it would read as its own written out. */
void show_put_html(FILE *to, const char *text);

#endif

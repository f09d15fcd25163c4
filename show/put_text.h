/* Text on its way to people: memory for it, what files and users wrote, and a text that grows behind a FILE. */
#ifndef SHOW_PUT_TEXT_H
#define SHOW_PUT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* calloc that ends the program with a sentence: the command line has no better answer. */
void *show_alloc(size_t count, size_t size);

/* What is not printable is shown as \xNN (src/base/utf8.h). Returns the number of characters shown; to NULL: only that. */
int show_put_text(FILE *to, const char *text);

/* The same for HTML, with what it would read as its own written out. */
void show_put_html(FILE *to, const char *text);

/* A text that grows in memory behind a FILE. open_memstream loses what it has no memory for without a word; here closing tells. */
typedef struct show_text {
  char *bytes; /* the caller's to free, ended by a 0 */
  size_t length, room;
  bool lost; /* something, for want of memory */
} show_text;

/* NULL without memory. The text must stay where it is until it is closed. */
FILE *show_text_open(show_text *text);

/* True when every byte arrived; else bytes is NULL. */
bool show_text_close(show_text *text, FILE *to);

#endif

/* A text that grows in memory behind a FILE. open_memstream loses what it has no memory for without a word; here
 * closing tells. */
#ifndef SHOW_GROWING_TEXT_H
#define SHOW_GROWING_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

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

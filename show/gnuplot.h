/* Pictures by gnuplot. */
#ifndef SHOW_GNUPLOT_H
#define SHOW_GNUPLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef enum show_drawn { SHOW_DRAWN, SHOW_NO_GNUPLOT, SHOW_NOT_DRAWN } show_drawn;

typedef struct show_picture {
  char *bytes; /* the caller's to free; NULL unless drawn */
  size_t length;
  char why[400]; /* a sentence where it was not drawn, with gnuplot's own words */
} show_picture;

/* What gnuplot prints on the script that `write` prints; the <title> of an SVG is ours. Files of its own live in
 * TMPDIR for that long. */
show_drawn show_gnuplot(void (*write)(const void *arg, FILE *to), const void *arg, const char *title,
                        show_picture *picture);

/* A text as a script quotes it. */
void show_gnuplot_text(FILE *script, const char *text);

#endif

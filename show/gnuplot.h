/* Pictures by gnuplot: the script of a ball and of scores, and what gnuplot makes of a script. */
#ifndef SHOW_GNUPLOT_H
#define SHOW_GNUPLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "capball/ball.h"

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

/* The picture of a ball of two columns: rows inside and outside, the edge, the centre. */
typedef struct show_ball {
  const cpb_model *model; /* of two columns, with a centre */
  cpb_view rows;          /* that it was fitted to */
  const double *scores;   /* theirs */
} show_ball;

/* The script, for gnuplot. */
void show_ball_script(const void *ball, FILE *script);

/* The picture of scores: how many rows score what. */
typedef struct show_score_histogram {
  const double *scores;
  const double *labels; /* not 0: an outlier, drawn apart; NULL: none */
  size_t count;
  double edge; /* show_edge */
} show_score_histogram;

/* The script, for gnuplot. */
void show_score_script(const void *histogram, FILE *script);

#endif

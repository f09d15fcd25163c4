/* The picture of a ball of two columns: rows inside and outside, the edge, the centre. */
#ifndef SHOW_BALL_PLOT_H
#define SHOW_BALL_PLOT_H

#include <stdio.h>

#include "capball/ball.h"

typedef struct show_ball {
  const cpb_model *model; /* of two columns, with a centre */
  cpb_view rows;          /* that it was fitted to */
  const double *scores;   /* theirs */
} show_ball;

/* The script, for gnuplot. */
void show_ball_script(const void *ball, FILE *script);

#endif

/* The picture of scores: how many rows score what. */
#ifndef SHOW_SCORE_PLOT_H
#define SHOW_SCORE_PLOT_H

#include <stddef.h>
#include <stdio.h>

typedef struct show_score_histogram {
  const double *scores;
  const double *labels; /* not 0: an outlier, drawn apart; NULL: none */
  size_t count;
  double edge; /* show_edge */
} show_score_histogram;

/* The script, for gnuplot. */
void show_score_script(const void *histogram, FILE *script);

#endif

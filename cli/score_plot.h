/* The picture of scores: how many rows score what. */
#ifndef CLI_SCORE_PLOT_H
#define CLI_SCORE_PLOT_H

#include "plot.h"

typedef struct cli_score_histogram {
  const double *scores;
  const double *labels; /* not 0: an outlier, drawn apart; NULL: none */
  size_t count;
} cli_score_histogram;

/* The script, for cli_plot_wanted. */
void cli_write_histogram(const void *histogram, FILE *script);

#endif

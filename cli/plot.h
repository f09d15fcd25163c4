/* Pictures by gnuplot, whole or not at all. */
#ifndef CLI_PLOT_H
#define CLI_PLOT_H

#include "cli.h"

typedef struct cli_plot {
  const cli_job *job;
  FILE *script;
  char path[40]; /* where gnuplot writes */
} cli_plot;

/* Starts gnuplot with an SVG terminal; the caller writes commands to plot->script. CLI_FAILED after a
 * sentence when there is none. */
int cli_plot_begin(cli_plot *plot, const cli_job *job);

/* Ends it and moves the picture to `path`. */
int cli_plot_end(cli_plot *plot, const char *path);

/* Histograms of the scores of ordinary rows and, where labels are given, of those labelled otherwise. */
void cli_plot_histogram(FILE *script, const double *scores, const double *labels, size_t n);

#endif

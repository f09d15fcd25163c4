/* The passes a fit is made of. Each reads the whole file once, in constant memory, and gives the same
 * bits for any number of threads. */
#ifndef CLI_FIT_PASSES_H
#define CLI_FIT_PASSES_H

#include "norms.h"
#include "scan.h"

typedef struct cli_fit_slot {
  double *row;   /* one row, widened */
  double *norms; /* of the rows of a block */
  double *sums;  /* of the columns of a block */
  double *rows;  /* with --whiten: the centred rows of a block */
} cli_fit_slot;

typedef struct cli_fit {
  const cli_job *job;
  cpb_reader *reader;
  size_t cols;
  bool directions;      /* rows count as directions: divided by their norms */
  const double *center; /* NULL = 0 */
  const double *whiten; /* lower triangular, NULL = I */
  uint64_t rows, bad;   /* of the last pass: taken, left out */
  unsigned passes;      /* so far */
  cli_fit_slot slots[CLI_SCAN_SLOTS];
} cli_fit;

void cli_fit_new(cli_fit *fit, const cli_job *job, cpb_reader *reader);
void cli_fit_free(cli_fit *fit);

/* Each: CLI_OK, or an exit code after a sentence. */
int cli_fit_mean(cli_fit *fit, double *mean);
int cli_fit_covariance(cli_fit *fit, double *covariance); /* cols*cols, about center, divided by the rows */
int cli_fit_norms(cli_fit *fit, cli_norms *norms);        /* |W(x-center)| */

/* W, lower triangular with W^T W = covariance^-1; refuses columns that depend on the ones before. */
int cli_fit_whitening(const cli_fit *fit, const double *covariance, double *W);

#endif

/* Count, extremes, sum and a histogram of norms, fine enough for quantiles. */
#ifndef CLI_NORMS_H
#define CLI_NORMS_H

#include "cli.h"

/* A positive double's bits grow with its value: the upper 20 (exponent and 9 bits of the mantissa)
 * number a bin of relative width 2^-9; refining one bin by the next 20 bits gives width 2^-29. */
typedef struct cli_norms {
  uint64_t count; /* all norms that were added */
  double min, max, sum;
  uint64_t *bins;  /* 2^20 */
  uint64_t prefix; /* refined: the coarse bin that is cut further */
  bool refined;
} cli_norms;

void cli_norms_new(cli_norms *norms);
void cli_norms_free(cli_norms *norms);
void cli_norms_add(cli_norms *norms, const double *values, size_t n); /* finite, >= 0 */

/* The bin of the value of rank `rank` (from 0) in order, and the rank inside that bin. */
uint64_t cli_norms_bin(const cli_norms *norms, uint64_t rank, uint64_t *rank_inside);

/* The middle of a bin; within 2^-10 (coarse) or 2^-30 (refined) of every value in it. */
double cli_norms_value(const cli_norms *norms, uint64_t bin);

/* Empties the histogram for a second pass that cuts the coarse bin `bin`. */
void cli_norms_refine(cli_norms *norms, uint64_t bin);

#endif

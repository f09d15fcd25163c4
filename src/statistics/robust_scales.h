/* Medians and spreads of columns, which a few rows far out do not move. */
#ifndef CPB_STATISTICS_ROBUST_SCALES_H
#define CPB_STATISTICS_ROBUST_SCALES_H

#include "base/memory.h"
#include "capball/exec.h"
#include "capball/view.h"

enum { CPB_MEDIAN_ROWS = 4096 }; /* so many rows at most are sorted for medians and quartiles */

/* Of each of d columns; arrays of `memory`. */
typedef struct cpb_robust_scales {
  double *median;    /* of the drawn rows: the least number that half of their weight does not exceed */
  double *quartiles; /* of the drawn rows: the upper quartile minus the lower one, found in the same way */
  double *spread;    /* of all rows: sqrt(sum w (x-median)^2 / sum w); 0 only for a constant column */
  unsigned char *values; /* how many different numbers are among the drawn rows: 1, 2, or 3 for more */
} cpb_robust_scales;

/* Rows are drawn where there are more than CPB_MEDIAN_ROWS: one of each of as many stretches of equal length, by a hash of its
 * number.
 *  weights   rows.rows numbers >= 0, not all 0; NULL: all 1. Rows of weight 0 are never read
 *  exec      results are the same for any number of threads */
cpb_status cpb_robust_scales_find(cpb_robust_scales *scales, cpb_memory *memory, cpb_view rows,
                                  const double *weights, const cpb_exec *exec, cpb_error *error);

/* Of a call before for the same columns: median, quartiles and values again, of rows with other weights. */
cpb_status cpb_robust_medians(cpb_robust_scales *scales, cpb_view rows, const double *weights,
                              const cpb_exec *exec, cpb_error *error);

#endif

/* The length |A(x-c)| of rows x of any dtype, for the metrics a region can have. */
#ifndef CPB_BATCH_RULER_H
#define CPB_BATCH_RULER_H

#include "loop/table.h"
#include "parallel/blocks.h"

typedef struct cpb_ruler {
  const cpb_loops *loops;
  cpb_view x;
  const double *c;    /* x.cols coordinates, NULL = 0 */
  double sign;        /* 1: x-c, -1: x+c */
  const double *axis; /* unit direction along which lengths are stretched, or NULL */
  double stretch;
  const double *W; /* d*d row-major, or NULL */
} cpb_ruler;

/* *length = |A(x_row - sign c)| and 0, or the fault of the row (NaN, inf, an answer beyond double).
 * Exact in range: coordinates whose squares over- or underflow are scaled by a power of two. */
int cpb_ruler_length(const cpb_ruler *ruler, size_t row, double *length);

/* The same of a row whose |A(x - sign c)| was found to be `known` by other means, as exact as a double holds it. */
int cpb_ruler_length_known(const cpb_ruler *ruler, size_t row, double known, double *length);

/* *value = <n,x_row> in the same way; *below is true when it is negative, even if it underflows. */
int cpb_ruler_product(const cpb_ruler *ruler, const double *n, size_t row, double *value, bool *below);

#endif

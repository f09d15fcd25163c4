/* The length |A(x-c)| of rows x of any dtype, for the metrics a region can have. */
#ifndef CPB_LOOPS_RULER_H
#define CPB_LOOPS_RULER_H

#include "base/wide.h"
#include "loops/table.h"
#include "base/blocks.h"

typedef struct cpb_ruler {
  const cpb_loops *loops;
  cpb_view x;
  const double *c;    /* x.cols coordinates, NULL = 0 */
  double sign;        /* 1: x-c, -1: x+c */
  const double *axis; /* unit direction along which lengths are stretched, or NULL */
  double stretch;
  const double *W; /* d*d row-major, or NULL */
} cpb_ruler;

/* *length = |A(x_row - sign c)| and 0, or the fault of the row (NaN, inf, or a result beyond double, which is then
 * inf). Where a square or a sum would overflow or underflow, it is computed with unbounded exponents and rounded
 * at the end. */
int cpb_ruler_length(const cpb_ruler *ruler, size_t row, double *length);

/* The lengths of rows first .. first+count-1 for cpb_ruler_length_known, which corrects those out of range. */
void cpb_ruler_lengths(const cpb_ruler *ruler, size_t first, size_t count, double *lengths);

/* The same for a row whose |A(x - sign c)| is already `known`, as exactly as a double can hold it. */
int cpb_ruler_length_known(const cpb_ruler *ruler, size_t row, double known, double *length);

/* |x_row - sign c| before rounding to double: it cannot overflow. */
int cpb_ruler_wide_length(const cpb_ruler *ruler, size_t row, cpb_wide *length);

/* *value = <n,x_row> likewise; *below is true when it is negative, even if it underflows. */
int cpb_ruler_product(const cpb_ruler *ruler, const double *n, size_t row, double *value, bool *below);

/* *value = <n,x_row>/|x_row| likewise, for a row other than 0; c must be 0. */
int cpb_ruler_cosine(const cpb_ruler *ruler, const double *n, size_t row, double *value);

#endif

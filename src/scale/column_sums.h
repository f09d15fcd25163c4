/* Exact sums and the extremes of every column. */
#ifndef CPB_SCALE_COLUMN_SUMS_H
#define CPB_SCALE_COLUMN_SUMS_H

#include "capball/view.h"
#include "loop/table.h"
#include "scale/exact_sum.h"

typedef struct cpb_column_sums {
  size_t d;
  double *low, *high; /* inf and -inf without rows */
  cpb_exact_sum *sum;
  /* Short rows are processed several at a time, as one row of `wide` columns. */
  size_t wide;
  double *slab_low, *slab_high; /* wide */
  double *magic, *part;         /* 2 wide */
  int *quantum;                 /* 2 wide: exponents */
} cpb_column_sums;

cpb_status cpb_column_sums_new(cpb_column_sums *columns, size_t d, cpb_error *error);
void cpb_column_sums_free(cpb_column_sums *columns);
void cpb_column_sums_clear(cpb_column_sums *columns);

/* Adds rows from the first on and returns how many: all, or, if one holds NaN or inf, some number before it. */
size_t cpb_column_sums_add(cpb_column_sums *columns, const cpb_loops *loops, cpb_view rows);

void cpb_column_sums_merge(cpb_column_sums *columns, const cpb_column_sums *other);

#endif

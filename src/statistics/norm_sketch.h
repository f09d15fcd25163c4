/* Count, exact sums, maximum and quantiles of norms. */
#ifndef CPB_STATISTICS_NORM_SKETCH_H
#define CPB_STATISTICS_NORM_SKETCH_H

#include "capball/status.h"
#include "capball/view.h"
#include "base/memory.h"
#include "loops/table.h"
#include "statistics/exact_sum.h"

/* ---- Exact sums and the extremes of every column. ---- */

typedef struct cpb_column_sums {
  size_t d;
  double *low, *high; /* inf and -inf without rows */
  cpb_exact_sum *sum;
  /* Short rows are processed several at a time, as one row of `wide` columns. */
  size_t wide;
  double *slab_low, *slab_high; /* wide */
  double *magic, *part;         /* 2 wide */
  int *quantum;                 /* 2 wide: exponents */
  cpb_memory memory;
} cpb_column_sums;

/* The extremes of every column; false if some number is not finite. */
bool cpb_column_extremes(const cpb_loops *loops, cpb_view rows, double *low, double *high);

cpb_status cpb_column_sums_new(cpb_column_sums *columns, size_t d, cpb_error *error);
void cpb_column_sums_free(cpb_column_sums *columns);
void cpb_column_sums_clear(cpb_column_sums *columns);

/* Adds rows from the first on and returns how many: all, or, if one holds NaN or inf, some number before it. */
size_t cpb_column_sums_add(cpb_column_sums *columns, const cpb_loops *loops, cpb_view rows);
void cpb_column_sums_merge(cpb_column_sums *columns, const cpb_column_sums *other);

/* The bits of a positive double grow with its value: exponent and 12 bits of the mantissa select a bin of relative
 * width 2^-12. Counts are stored in pages of one exponent, allocated when first needed. */
enum { CPB_NORM_PAGES = 2048, CPB_NORM_PER_PAGE = 4096 };

typedef struct cpb_norm_sketch {
  uint64_t count, overflows; /* norms; those whose square overflows */
  cpb_column_sums moments;   /* of the rows (norm, norm^2) */
  uint64_t *page[CPB_NORM_PAGES];
} cpb_norm_sketch;

cpb_status cpb_norm_sketch_init(cpb_norm_sketch *sketch, cpb_error *error); /* expects zeroed memory */
void cpb_norm_sketch_clear(cpb_norm_sketch *sketch);                        /* keeps the pages, empty */
void cpb_norm_sketch_free(cpb_norm_sketch *sketch);

/* Norms >= 0 and finite. */
cpb_status cpb_norm_sketch_add(cpb_norm_sketch *sketch, const cpb_loops *loops, const double *norms,
                               size_t count, cpb_error *error);

/* Adds `count` norms to one bin of the histogram; changes nothing else. */
cpb_status cpb_norm_sketch_count(cpb_norm_sketch *sketch, uint32_t bin, uint64_t count, cpb_error *error);
cpb_status cpb_norm_sketch_merge(cpb_norm_sketch *sketch, const cpb_norm_sketch *other, cpb_error *error);

/* The middle of the bin of the norm of rank `rank` < count, from 0; within 2^-13 of the norm, and 0 for 0. */
double cpb_norm_sketch_rank(const cpb_norm_sketch *sketch, uint64_t rank);

/* The number of that bin: the upper 24 bits of the norm, without its sign; *rank becomes the rank within the bin. */
uint32_t cpb_norm_sketch_bin(const cpb_norm_sketch *sketch, uint64_t *rank);

/* Calls back for every bin that is not empty, in order. */
void cpb_norm_sketch_each(const cpb_norm_sketch *sketch,
                          void (*take)(void *arg, double middle, uint64_t count), void *arg);

#endif

/* Count, exact sums, maximum and quantiles of norms. */
#ifndef CPB_SCALE_NORM_SKETCH_H
#define CPB_SCALE_NORM_SKETCH_H

#include "capball/status.h"
#include "scale/exact_sum.h"

/* The bits of a positive double grow with its value: exponent and 12 bits of the mantissa number a bin of
 * relative width 2^-12. Counts come in pages of one exponent, made when first needed. */
enum { CPB_NORM_PAGES = 2048, CPB_NORM_PER_PAGE = 4096 };

typedef struct cpb_norm_sketch {
  uint64_t count, overflows; /* norms; those whose square is beyond double */
  double max;
  cpb_exact_sum sum, squares;
  uint64_t *page[CPB_NORM_PAGES];
} cpb_norm_sketch;

void cpb_norm_sketch_clear(cpb_norm_sketch *sketch); /* keeps the pages, empty */
void cpb_norm_sketch_free(cpb_norm_sketch *sketch);

/* norm >= 0 and finite. */
cpb_status cpb_norm_sketch_add(cpb_norm_sketch *sketch, double norm, cpb_error *error);
cpb_status cpb_norm_sketch_count(cpb_norm_sketch *sketch, uint32_t bin, uint64_t count, cpb_error *error);
cpb_status cpb_norm_sketch_merge(cpb_norm_sketch *sketch, cpb_norm_sketch *other, cpb_error *error);

/* The middle of the bin of the norm of rank `rank` < count, from 0; within 2^-13 of it, and 0 for 0. */
double cpb_norm_sketch_rank(const cpb_norm_sketch *sketch, uint64_t rank);

#endif

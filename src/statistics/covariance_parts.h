/* Inline: the state of the public covariance, for the files that share it. */
#ifndef CPB_STATISTICS_COVARIANCE_PARTS_H
#define CPB_STATISTICS_COVARIANCE_PARTS_H

#include "capball/advanced/statistics.h"

/* ---- Exact sums of the products of columns: the upper triangle of X^T X in integers of as many bits as the data need. ---- */

/* What is known of the numbers of a column: all are multiples of 2^low and smaller than 2^high. */
typedef struct cpb_column_bits {
  int low, high; /* low > high: all are 0 */
} cpb_column_bits;

static const cpb_column_bits cpb_no_bits = {1 << 20, -(1 << 20)};

static inline void cpb_bits_widen(cpb_column_bits *bits, cpb_column_bits other) {
  if (other.low < bits->low) bits->low = other.low;
  if (other.high > bits->high) bits->high = other.high;
}

/* Sum (i,j), i <= j, is an integer of `words` 32-bit words, two's complement, in units of
 * 2^(32 (first_i + first_j)), first = floor(low/32). */
typedef struct cpb_pair_sums {
  size_t columns;
  uint64_t terms; /* in every sum, at most */
  cpb_column_bits *bits;
  size_t words;
  uint32_t *word;
} cpb_pair_sums;

/* One of the sums, in place. */
typedef struct cpb_wide_int {
  const uint32_t *word;
  size_t words;
  int first; /* word 0 counts 2^(32 first) */
} cpb_wide_int;

/* Every row gets an additional coordinate, 1: the products with it are the column sums. */
struct cpb_covariance {
  size_t d;
  uint64_t rows, nan_rows, inf_rows; /* rows includes those held */
  cpb_pair_sums sums;                /* d+1 columns */
  size_t wide, held;                 /* columns with padding; rows not yet in the sums */
  double *row;                       /* CPB_COVARIANCE_SLAB x wide; NULL before the first row */
  double *limb;                      /* CPB_LIMBS times as many */
};

enum { CPB_COVARIANCE_SLAB = 512, CPB_LIMBS = 4 };

#endif

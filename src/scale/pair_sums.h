/* Exact sums of the products of columns: the upper triangle of X^T X in integers of as many bits as the data need. */
#ifndef CPB_SCALE_PAIR_SUMS_H
#define CPB_SCALE_PAIR_SUMS_H

#include "capball/status.h"

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

cpb_status cpb_pair_sums_new(cpb_pair_sums *sums, size_t columns, cpb_error *error);
void cpb_pair_sums_free(cpb_pair_sums *sums);

/* Makes space for `terms` more terms from columns with these bits. On ENOMEM nothing has changed. */
cpb_status cpb_pair_sums_reserve(cpb_pair_sums *sums, const cpb_column_bits *bits, uint64_t terms,
                                 cpb_error *error);

/* Adds whole 2^exponent to sum (i,j), i <= j, |whole| < 2^55; a multiple of the sum's unit. */
void cpb_pair_sums_deposit(cpb_pair_sums *sums, size_t i, size_t j, int64_t whole, int exponent);
/* Adds the product of two doubles, as above. */
void cpb_pair_sums_product(cpb_pair_sums *sums, size_t i, size_t j, double x, double y);
/* Adds all sums of another object; the space must have been reserved. */
void cpb_pair_sums_add(cpb_pair_sums *sums, const cpb_pair_sums *other);

cpb_wide_int cpb_pair_sums_at(const cpb_pair_sums *sums, size_t i, size_t j);

/* Number of words that sum (i,j) needs; the others only repeat its sign. */
size_t cpb_pair_sums_needed(const cpb_pair_sums *sums, size_t i, size_t j);
/* Sets it from that many words. */
void cpb_pair_sums_set(cpb_pair_sums *sums, size_t i, size_t j, const uint32_t *word);

#endif

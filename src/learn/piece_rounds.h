/* Shared by rounds over pieces of the data: row ids, column extremes, the farthest rows, and the properties in
 * which two pieces must agree. */
#ifndef CPB_LEARN_PIECE_ROUNDS_H
#define CPB_LEARN_PIECE_ROUNDS_H

#include <stdbool.h>

#include "capball/status.h"

enum { CPB_SAFE_EXPONENT = 250 }; /* sums of squares of numbers up to 2^this are safe in double */

/* ids of the rows of a block: ids[i], or first + i. */
typedef struct cpb_row_ids {
  const uint64_t *ids;
  uint64_t first;
} cpb_row_ids;

static inline uint64_t cpb_row_id(cpb_row_ids ids, size_t i) {
  return ids.ids != NULL ? ids.ids[i] : ids.first + i;
}

/* A row by its distance; `at` is its position. */
typedef struct cpb_far_row {
  double dist2;
  uint64_t id;
  size_t at;
} cpb_far_row;

/* Ties in favour of the smaller id. */
static inline bool cpb_is_farther(cpb_far_row a, cpb_far_row b) {
  return a.dist2 > b.dist2 || (a.dist2 == b.dist2 && a.id < b.id);
}

/* For qsort: the farthest first. */
int cpb_farthest_first(const void *a, const void *b);

/* Widens the extremes of d columns by those of more rows; `first`: there were none before. 0 is never -0: the
 * order of arrival must not show. */
void cpb_columns_widen(double *low, double *high, bool first, const double *more_low, const double *more_high,
                       size_t d);

/* The exponent of a unit in which squares of all differences are safe; 0 if they already are. */
int cpb_columns_exponent(const double *low, const double *high, size_t d);

/* The properties in which two pieces must agree. */
typedef struct cpb_round {
  size_t d;
  uint64_t round;
  bool same_options, same_center;
} cpb_round;

/* CPB_OK when the second may be merged into the first; a == b: they are the same object. */
cpb_status cpb_round_check(const void *a, const void *b, cpb_round ours, cpb_round theirs, cpb_error *error);

/* CPB_OK when a piece may restart with the round of `whole`: two distinct objects of the same dimension. */
cpb_status cpb_round_check_restart(const void *piece, const void *whole, size_t d, size_t other,
                                   cpb_error *error);

cpb_status cpb_fail_round_empty(cpb_error *error, uint64_t round);
cpb_status cpb_fail_round_unseen(cpb_error *error);
cpb_status cpb_fail_round_no_ball(cpb_error *error);

#endif

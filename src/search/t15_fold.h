/* Folds: short rows whose distances are at most, and whose products are at least, those of the rows themselves (T15).
 *
 *   F(x) = (P x', rho),   rho^2 = |x'|^2 - |P x'|^2        x', q' as in float_filter.h
 *   |F(x) - F(q)| <= |x' - q'|     <F(x), F(q)> >= <x', q'>
 *
 * for every P of norm at most 1, since rho = |(I - P^T P)^(1/2) x'|: directions that suit the rows badly cost time, and
 * never an answer. Folded rows are rows of floats, to which the filter in bytes applies; for cosines, whose x' have length
 * 1, their metric is L2.
 *
 * Folds nest: level j has the first directions[j] of the directions, and its own rho. The numbers of a row are those that each
 * level adds to the one before, and its rho. */
#ifndef CPB_SEARCH_T15_FOLD_H
#define CPB_SEARCH_T15_FOLD_H

#include "base/memory.h"
#include "search/float_filter.h"

enum {
  CPB_FOLD_LEVELS = 4,
  CPB_FOLD_MOST = 512,                /* directions of the last level, .. */
  CPB_FOLD_FIRST = CPB_PANEL_COLS - 1 /* .. and of the first */
};

/* How many directions each level has: ascending, zeros behind the last level. */
typedef struct cpb_fold_levels {
  size_t directions[CPB_FOLD_LEVELS];
} cpb_fold_levels;

size_t cpb_fold_levels_count(const cpb_fold_levels *levels);
/* Whether rows of d columns can be folded so. */
bool cpb_fold_levels_fit(const cpb_fold_levels *levels, size_t d);

typedef struct cpb_fold {
  size_t d, directions; /* of the last level */
  size_t levels;
  size_t end[CPB_FOLD_LEVELS]; /* directions of each level */
  size_t columns; /* of the first level, whose codes all rows are compared by: its directions and rho */
  size_t numbers; /* of a row: all directions, and the rho of each level */
  float *panels;  /* P, transposed: number k of direction j at panels[(j / COLS * d + k) * COLS + j % COLS] */
  double *wide;   /* P: directions x d, the same numbers */
  cpb_float_filter rows; /* of folded rows, first level */
  double error;          /* of a product in single precision, per |x'| */
  cpb_memory memory;
} cpb_fold;

/* A fold for rows of a metric with these directions, one after the other. *contracts: whether the norm of P is at most 1; if not,
 * there is no fold. NULL without memory, too. */
cpb_fold *cpb_fold_new(cpb_metric metric, size_t d, const cpb_fold_levels *levels, const float *directions,
                       bool *contracts);
void cpb_fold_free(cpb_fold *fold);

/* The first number of a level, and how many it has without its rho, which follows them. */
static inline size_t cpb_fold_first(const cpb_fold *fold, size_t level) {
  return level == 0 ? 0 : fold->end[level - 1] + level;
}
static inline size_t cpb_fold_count(const cpb_fold *fold, size_t level) {
  return level == 0 ? fold->end[0] : fold->end[level] - fold->end[level - 1];
}

/* Working memory for rows. */
typedef struct cpb_fold_room {
  float *factors, *start;
  cpb_memory memory;
} cpb_fold_room;

enum { CPB_FOLD_ROWS = 8 * CPB_PANEL_ROWS }; /* that are folded at once */
bool cpb_fold_room_new(cpb_fold_room *room, size_t d);

/* Folds `count` rows, writing their numbers one after the other: error[i * levels + j] is a bound of what the numbers up to level
 * j lack, fault[i] is 0 or the fault of a row. What is written for a row out of range for single precision is out of range,
 * too. */
void cpb_fold_rows(const cpb_fold *fold, const cpb_float_filter *numbers, cpb_view rows, size_t first,
                   size_t count, cpb_fold_room *room, float *to, float *error, int *fault);

/* The same for a query, of which all members of query_scale are known. */
void cpb_fold_query(const cpb_fold *fold, const cpb_float_filter *numbers, const double *query,
                    const cpb_query_scale *query_scale, cpb_fold_room *room, float *to, float *error);

/* A fold of principal directions of the sample. No levels: those with which a query of rows like the sample is expected to take
 * the least time, or none if codes of all numbers take less. *chosen may be NULL, too, if the sample is too small. False
 * without memory. */
bool cpb_fold_choose(const cpb_float_filter *numbers, cpb_view sample, const cpb_fold_levels *levels,
                     cpb_fold **chosen);

#endif

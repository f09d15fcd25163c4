/* Folds: short rows whose distances are at most, and whose products are at least, those of the rows themselves (T15).
 *
 *   F(x) = (P x', rho),   rho^2 = |x'|^2 - |P x'|^2        x', q' as in float_filter.h
 *   |F(x) - F(q)| <= |x' - q'|     <F(x), F(q)> >= <x', q'>
 *
 * for every P of norm at most 1, since rho = |(I - P^T P)^(1/2) x'|: directions that suit the rows badly cost time, and
 * never an answer. Folded rows are rows of floats, to which the filter in bytes applies; for cosines, whose x' have length
 * 1, their metric is L2. */
#ifndef CPB_SEARCH_T15_FOLD_H
#define CPB_SEARCH_T15_FOLD_H

#include "base/memory.h"
#include "search/float_filter.h"

enum { CPB_FOLD_MOST = CPB_PANEL_COLS - 1 }; /* directions: with rho the columns of a panel */

typedef struct cpb_fold {
  size_t d, directions;
  size_t columns;        /* of folded rows: the directions and rho */
  float *panel;          /* P, transposed: number k of direction j at panel[k * CPB_PANEL_COLS + j] */
  double *wide;          /* P: directions x d, the same numbers */
  cpb_float_filter rows; /* of folded rows */
  double error;          /* of a product in single precision, per |x'| */
  cpb_memory memory;
} cpb_fold;

/* A fold for rows of a metric with these directions, count x d. *contracts: whether the norm of P is at most 1; if not,
 * there is no fold. NULL without memory, too. */
cpb_fold *cpb_fold_new(cpb_metric metric, size_t d, size_t count, const float *directions, bool *contracts);
void cpb_fold_free(cpb_fold *fold);

/* Working memory for rows. */
typedef struct cpb_fold_room {
  float *factors, *start;
  cpb_memory memory;
} cpb_fold_room;

enum { CPB_FOLD_ROWS = 8 * CPB_PANEL_ROWS }; /* that are folded at once */
bool cpb_fold_room_new(cpb_fold_room *room, size_t d);

/* Folds `count` rows, writing their columns one after the other: error[i] is a bound of |F(x) - to_i|, fault[i] is 0 or
 * the fault of a row. What is written for a row out of range for single precision is out of range, too. */
void cpb_fold_rows(const cpb_fold *fold, const cpb_float_filter *numbers, cpb_view rows, size_t first,
                   size_t count, cpb_fold_room *room, float *to, float *error, int *fault);

/* The same for a query, of which all members of query_scale are known: in double. Returns the bound of the error. */
double cpb_fold_query(const cpb_fold *fold, const cpb_float_filter *numbers, const double *query,
                      const cpb_query_scale *query_scale, double *z, double *to);

/* A fold of so many of the principal directions of the sample. 0: of as many as a query of rows like the sample is expected
 * to take the least time with, or none if codes of all numbers take less. *chosen may be NULL, too, if the sample is too
 * small. False without memory. */
bool cpb_fold_choose(const cpb_float_filter *numbers, cpb_view sample, size_t directions, cpb_fold **chosen);

#endif

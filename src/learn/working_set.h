/* Copies of rows of the data: the farthest from a centre, on which a ball is solved exactly, a sample, the rows near
 * the edge of an SVDD, and columns of its hull. */
#ifndef CPB_LEARN_WORKING_SET_H
#define CPB_LEARN_WORKING_SET_H

#include <stdbool.h>

#include "core/state_bytes.h"
#include "learn/hull.h"

enum { CPB_WORKING_ROWS = 4096 };

/* A row by its rank, mostly a squared distance; `at` is its position. */
typedef struct cpb_far_row {
  double dist2;
  uint64_t id;
  size_t at;
} cpb_far_row;

/* The order of ranks: ties in favour of the smaller id. */
static inline bool cpb_is_farther(cpb_far_row a, cpb_far_row b) {
  return a.dist2 > b.dist2 || (a.dist2 == b.dist2 && a.id < b.id);
}

/* For qsort: the farthest first. */
int cpb_farthest_first(const void *a, const void *b);

typedef struct cpb_working_set {
  size_t d, count, room;
  double *rows;        /* count rows of d */
  uint64_t *tag;       /* the row's number in the data */
  double *dist2;       /* to the centre used last */
  double *weight;      /* of SVDD; the ball ignores it */
  bool *set_aside;     /* entering it did not help; cleared when something else does */
  cpb_far_row *places; /* scratch of cpb_working_set_ranked */
  bool bounded;        /* rows were dropped: further ones are needed only if they rank before `bound` */
  cpb_far_row bound;
} cpb_working_set;

void cpb_working_set_free(cpb_working_set *set);
void cpb_working_set_clear(cpb_working_set *set);

/* Allocates space for `count` rows in all. */
cpb_status cpb_working_set_reserve(cpb_working_set *set, size_t count);

/* Cannot fail if the space was reserved. */
cpb_status cpb_working_set_add(cpb_working_set *set, const double *row, uint64_t tag, double dist2,
                               double weight);
void cpb_working_set_move(cpb_working_set *set, size_t from, size_t to);

/* The places of the rows in the order of their ranks: dist2, or the nearness of dist2 to *edge. */
cpb_far_row *cpb_working_set_ranked(const cpb_working_set *set, const double *edge);

/* Keeps the first `most` of these places, in the order of their rows, and sets the bound. */
void cpb_working_set_take(cpb_working_set *set, cpb_far_row *places, size_t most);

/* Keeps the `most` rows with the largest dist2, ties in favour of smaller tags. */
void cpb_working_set_keep(cpb_working_set *set, size_t most);

/* Whether a row of this rank may still be needed. */
static inline bool cpb_working_set_wants(const cpb_working_set *set, double rank, uint64_t id) {
  return !set->bounded || cpb_is_farther((cpb_far_row){rank, id, 0}, set->bound);
}

/* Adds the rows of another set in descending order of dist2, then ascending tags. Without `repeats` every tag is added
 * once, if it is new. */
cpb_status cpb_working_set_join(cpb_working_set *set, const cpb_working_set *more, bool repeats);

/* The rows as bytes: the number of rows, and for each the arrays of the table, all of 8 bytes and the last of d. */
void cpb_working_set_carry(cpb_state *s, cpb_working_set *set, const cpb_state_member *table, size_t members);

/* Solves the ball of the set on the hull (columns (p, |p|^2)), continuing from its present columns: T10. Stops
 * when no row is farther than (1+tolerance) value. *entered counts columns. */
cpb_status cpb_working_set_solve(cpb_working_set *set, cpb_hull *hull, double tolerance, size_t *entered);

/* The concave form of capped_dual.h over few rows with caps, solved exactly, plus a fixed part:
 *
 *   maximise  height + sum a_i |p_i|^2 - |point + sum a_i p_i|^2     over  0 <= a_i <= cap_i, sum a = weight
 *
 * The rows are those near the edge of a filling: it is undecided which of them are full, empty or in part,
 * while all others are far from it. At most d+1 rows are in part; they are the columns of a hull. */
typedef struct cpb_margin {
  const cpb_loops *loops;
  cpb_working_set *set; /* the rows p; their weights are the caps */
  size_t first;         /* the row taken in part at the start; all others are full or empty */
  cpb_hull_full fixed;  /* the fixed part; its point is the caller's and is modified */
  double tolerance;     /* rows may stay on the wrong side of the edge by this share of it */
  double *weight;       /* count numbers: a start, then the solution */
} cpb_margin;

cpb_status cpb_margin_solve(cpb_margin *margin);

/* sum a|x|^2 - |sum a x|^2 about the mean, which is written to `mean`: a lower bound of R^2 for any
 * multipliers a >= 0 of sum 1. */
double cpb_working_set_dual(const cpb_working_set *set, const cpb_loops *loops, const double *multiplier,
                            double *mean);

#endif

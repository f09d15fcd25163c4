/* Copies of rows of the data: the farthest from a centre, on which a ball is solved exactly, a sample, the rows near
 * the edge of an SVDD, and columns of its hull. */
#ifndef CPB_BALL_WORKING_SET_H
#define CPB_BALL_WORKING_SET_H

#include <math.h>
#include <stdbool.h>

#include "base/best.h"
#include "base/state_bytes.h"
#include "ball/hull.h"

enum { CPB_WORKING_ROWS = 4096 };

typedef struct cpb_working_set {
  size_t d, count, room;
  double *rows;      /* count rows of d */
  uint64_t *tag;     /* the row's number in the data */
  double *dist2;     /* to the centre used last */
  double *weight;    /* of SVDD; the ball ignores it */
  bool *set_aside;   /* entering it did not help; cleared when something else does */
  cpb_ranked *order; /* scratch */
  /* Which rows cpb_working_set_keep prefers: large dist2, or those near *edge; of equal ones smaller tags. */
  const double *edge;
  void (*drop)(void *context, size_t row); /* is called before a row is dropped; or NULL */
  void *context;
  bool bounded; /* rows were dropped: further ones are needed only if they come before `bound` */
  cpb_ranked bound;
} cpb_working_set;

void cpb_working_set_free(cpb_working_set *set);
void cpb_working_set_clear(cpb_working_set *set);

/* Allocates space for `count` rows in all. */
cpb_status cpb_working_set_reserve(cpb_working_set *set, size_t count);

/* Cannot fail if the space was reserved. */
cpb_status cpb_working_set_add(cpb_working_set *set, const double *row, uint64_t tag, double dist2,
                               double weight);
void cpb_working_set_move(cpb_working_set *set, size_t from, size_t to);

/* Keeps the `most` rows that are preferred, in their order. */
void cpb_working_set_keep(cpb_working_set *set, size_t most);

/* Where a row comes in the order of preference: smaller is better. */
static inline double cpb_working_set_key(const cpb_working_set *set, double dist2) {
  return set->edge == NULL ? -dist2 : fabs(dist2 - *set->edge);
}

/* Whether keep could still choose such a row. */
static inline bool cpb_working_set_wants(const cpb_working_set *set, double dist2, uint64_t id) {
  double key = cpb_working_set_key(set, dist2);
  return !set->bounded || key < set->bound.key || (key == set->bound.key && id < set->bound.id);
}

/* Adds the rows of another set by descending dist2, then ascending tags; without `repeats` only new tags. */
cpb_status cpb_working_set_join(cpb_working_set *set, const cpb_working_set *more, bool repeats);

/* The rows as bytes: the number of rows, and for each the arrays of the table, all of 8 bytes and the last of d. */
void cpb_working_set_serialize(cpb_state *s, cpb_working_set *set, const cpb_state_member *table,
                               size_t members);

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

#endif

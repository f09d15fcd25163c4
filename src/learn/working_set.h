/* The working set: copies of the farthest rows of a pass, on which a ball is solved exactly. */
#ifndef CPB_LEARN_WORKING_SET_H
#define CPB_LEARN_WORKING_SET_H

#include <stdbool.h>

#include "learn/hull.h"

enum { CPB_WORKING_ROWS = 4096 };

typedef struct cpb_working_set {
  size_t d, count, room;
  double *rows;    /* count rows of d */
  uint64_t *tag;   /* the row's number in the data */
  double *dist2;   /* to the centre used last */
  bool *set_aside; /* entering it did not help; cleared when something else does */
} cpb_working_set;

void cpb_working_set_free(cpb_working_set *set);

/* Allocates space for `count` rows in all. */
cpb_status cpb_working_set_reserve(cpb_working_set *set, size_t count);

cpb_status cpb_working_set_add(cpb_working_set *set, const double *row, uint64_t tag, double dist2);

/* Adds the rows of another set whose tags are new; *count is their number. */
cpb_status cpb_working_set_join(cpb_working_set *set, const cpb_working_set *more, size_t *count);

/* Keeps the `most` rows with the largest dist2, ties in favour of smaller tags. */
cpb_status cpb_working_set_keep(cpb_working_set *set, size_t most);

/* Sorts by descending dist2, then ascending tag; removes duplicate tags, which have equal dist2. */
cpb_status cpb_working_set_sort(cpb_working_set *set);

/* Solves the ball of the set on the hull (columns (p, |p|^2)), continuing from its present columns: T10. Stops
 * when no row is farther than (1+tolerance) value. *entered counts columns. */
cpb_status cpb_working_set_solve(cpb_working_set *set, cpb_hull *hull, double tolerance, size_t *entered);

/* sum a|x|^2 - |sum a x|^2 about the mean, which is written to `mean`: a lower bound of R^2 for any
 * multipliers a >= 0 of sum 1. */
double cpb_working_set_dual(const cpb_working_set *set, const cpb_loops *loops, const double *multiplier,
                            double *mean);

#endif

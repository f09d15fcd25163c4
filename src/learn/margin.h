/* The concave form of capped_dual.h over few rows with caps, solved exactly, plus a fixed part:
 *
 *   maximise  height + sum a_i |p_i|^2 - |point + sum a_i p_i|^2     over  0 <= a_i <= cap_i, sum a = weight
 *
 * The rows are those near the edge of a filling: it is undecided which of them are full, empty or in part,
 * while all others are far from it. At most dim+1 rows are in part; they are the columns of a hull. */
#ifndef CPB_LEARN_MARGIN_H
#define CPB_LEARN_MARGIN_H

#include "learn/hull.h"

typedef struct cpb_margin {
  /* the problem, set by the caller */
  const cpb_loops *loops;
  size_t d, count;
  const double *rows;  /* count rows p of d */
  const double *cap;   /* theirs */
  size_t first;        /* the row taken in part at the start; all others are full or empty */
  cpb_hull_full fixed; /* the fixed part; its point is the caller's and is modified */
  double tolerance;    /* rows may stay on the wrong side of the edge by this share of it */
  /* the result */
  double *weight; /* count numbers: a start, then the solution */
  double *point;  /* d coordinates, of the fixed part and the rows together */
} cpb_margin;

cpb_status cpb_margin_solve(cpb_margin *margin);

#endif

/* The point of a convex hull where a concave form is largest, kept while columns come one by one.
 *
 *   maximise  sum_k w_k q_k - |sum_k w_k p_k|^2      over  w >= 0, sum w = 1
 *
 * Columns (p_k, q_k) with q_k = |p_k|^2 make it the dual of the enclosing ball (T10), columns that are
 * means of points the dual of SVDD (T11), and q = 0 the point of the hull nearest to 0: one solver for
 * all. It is Wolfe's active-set method: the columns with w_k > 0 stay affinely independent, and the
 * matrix of the columns (unit, p_k) is kept as an orthonormal basis times a triangle, so that columns
 * that almost coincide cost no more digits than they must. */
#ifndef CPB_LEARN_HULL_H
#define CPB_LEARN_HULL_H

#include <stdbool.h>

#include "loop/table.h"

typedef struct cpb_hull {
  const cpb_loops *loops;
  size_t dim, room, count;
  double unit;      /* a length like those of the columns, > 0 */
  double *p;        /* count rows of dim */
  double *q;        /* count numbers, as the next two */
  double *weight;   /* > 0, sum 1 */
  uint64_t *tag;    /* the caller's name of the column */
  double *point;    /* sum w p, dim coordinates */
  double value;     /* sum w q - |point|^2 */
  double *basis;    /* count orthonormal rows of dim+1 */
  double *triangle; /* column k holds its k+1 coefficients at triangle + k*room */
  double *scratch;  /* a column with its 1, and two vectors of weights */
} cpb_hull;

/* An empty hull that owns nothing yet but its point. ENOMEM leaves it fit for cpb_hull_free. */
cpb_status cpb_hull_init(cpb_hull *hull, const cpb_loops *loops, size_t dim, double unit);
void cpb_hull_free(cpb_hull *hull);

/* Lets a column in and moves to the optimum over what is there, dropping columns that lost their
 * weight (perhaps the new one). *better: the value grew. p is copied. */
cpb_status cpb_hull_enter(cpb_hull *hull, const double *p, double q, uint64_t tag, bool *better);

#endif

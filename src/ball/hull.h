/* The point of a convex hull where a concave form is largest, updated as columns are added one at a time.
 *
 *   maximise  sum_k w_k q_k - |sum_k w_k p_k|^2      over  w >= 0, sum w = 1
 *
 * Columns (p_k, q_k) with q_k = |p_k|^2 make it the dual of the enclosing ball (T10), columns that are
 * means of points the dual of SVDD (T11), and q = 0 the point of the hull nearest to 0: one solver for
 * all. It is Wolfe's active-set method: the columns with w_k > 0 stay affinely independent, and the
 * matrix of the columns (unit, p_k) is stored as an orthonormal basis times a triangle, so that columns
 * that almost coincide lose no more digits than they must.
 *
 * Columns may have a cap, w_k <= cap_k. A column that reaches it leaves the active set, like one that reaches 0,
 * and continues to count in `full`; `left` notifies the caller, who may enter it again from there. */
#ifndef CPB_BALL_HULL_H
#define CPB_BALL_HULL_H

#include <stdbool.h>

#include "loops/vector.h"
#include "loops/table.h"

/* Columns at their caps: the sums of cap times p, q and 1. */
typedef struct cpb_hull_full {
  double *point; /* dim numbers, owned by the caller; NULL: there are none */
  double height, weight;
} cpb_hull_full;

/* A column without its p. */
typedef struct cpb_hull_column {
  double q, cap;
  double weight; /* in the hull > 0, sum 1 - full.weight */
  uint64_t tag;  /* the caller's identifier */
} cpb_hull_column;

typedef struct cpb_hull {
  const cpb_loops *loops;
  size_t dim, room, count;
  double unit; /* a typical length of the columns, > 0 */
  double *p;   /* count rows of dim */
  cpb_hull_column *column;
  double *point; /* sum w p, dim coordinates */
  double value;  /* sum w q - |point|^2 */
  cpb_hull_full full;
  void (*left)(void *context, uint64_t tag, bool full); /* NULL: not called */
  void *context;
  double *basis;    /* count orthonormal rows of dim+1 */
  double *triangle; /* column k holds its k+1 coefficients at triangle + k*room */
  double *scratch;  /* a column with its 1, and two vectors of weights */
} cpb_hull;

/* An empty hull that owns only its point so far. After ENOMEM cpb_hull_free may still be called. */
cpb_status cpb_hull_init(cpb_hull *hull, const cpb_loops *loops, size_t dim, double unit);

/* Allocates space for `count` columns and one more. */
cpb_status cpb_hull_reserve(cpb_hull *hull, size_t count);
void cpb_hull_free(cpb_hull *hull);

/* Enters a column and moves to the optimum over the columns present, dropping those that lost their weight
 * (perhaps the new one). *better: the value grew. p is copied. */
cpb_status cpb_hull_enter(cpb_hull *hull, const double *p, double q, uint64_t tag, bool *better);

/* The same with a cap, and an initial weight: 0, the cap when it comes from `full`, or any for the first column. */
cpb_status cpb_hull_enter_capped(cpb_hull *hull, const double *p, cpb_hull_column column, bool *better);

/* A lower bound of the exact value of these weights, for columns with q = |p|^2 or a mean of such: `value` minus
 * what rounding can have added to it. q may have been rounded as a product of p is, and p as a difference; other
 * rounding errors of the columns are up to the caller. */
double cpb_hull_lower(const cpb_hull *hull);

/* The same for columns that are sums over `rows` rows: `rounding_bound` bounds what rounding can have added to a column,
 * unit_error is the error of one such sum relative to its size. */
double cpb_hull_proven(const cpb_hull *hull, double rounding_bound, double unit_error, uint64_t rows);

/* That unit_error, for rows of d columns: chains of additions over columns, groups and this many blocks of rows. */
double cpb_sum_error(size_t d, size_t blocks);

#endif

/* The concave form of hull.h over a simplex with caps, for many rows:
 *
 *   maximise  sum a_i q_i - |sum a_i p_i|^2      over  0 <= a_i <= cap_i, sum a = 1
 *
 * Its corners are fillings: the caps of some rows in full, one row in part. The filling that is best at
 * a point takes the rows with the highest score q_i - 2<p_i,point> + |point|^2; it is one column of a
 * hull, and its value is an upper bound of the maximum. SVDD has p = x, q = |x|^2, so that the score is
 * the squared distance (T11); q = 0 is the nearest point of a reduced hull, which a nu-SVM computes. */
#ifndef CPB_BALL_CAPPED_DUAL_H
#define CPB_BALL_CAPPED_DUAL_H

#include "capball/exec.h"
#include "ball/hull.h"

typedef struct cpb_capped_dual {
  /* the problem, set by the caller */
  const cpb_loops *loops;
  const cpb_exec *exec;
  cpb_view x;           /* the rows p, plus origin */
  const double *origin; /* x.cols coordinates, NULL = 0; with squares the mean of the rows */
  int exponent;         /* of the unit of x: centres are rounded to doubles in the data's own unit */
  bool squares;         /* q = |p|^2; else q = 0 */
  const double *caps;   /* n numbers, or NULL */
  double cap;           /* of every row when caps is NULL */
  double gap;           /* wanted, relative */
  size_t max_iterations;
  double *multipliers; /* n, or NULL */
  cpb_error *error;    /* for the error when exec's caller stops it; or NULL */
  /* the result */
  double *point;       /* x.cols coordinates: a start, then the best point found */
  double *center;      /* x.cols coordinates or NULL: origin + point, rounded once */
  double upper, lower; /* bounds of the maximum; upper is the value of the filling at `center`, lower (with
                          squares) is below the exact maximum despite rounding */
  double edge;         /* score of the row that is taken in part, at `point` */
  size_t iterations;
} cpb_capped_dual;

cpb_status cpb_capped_dual_solve(cpb_capped_dual *dual);

/* Progress from a gap of 1 to the requested one, on a logarithmic scale: 0 .. 1. */
double cpb_gap_progress(double gap, double wanted);

#endif

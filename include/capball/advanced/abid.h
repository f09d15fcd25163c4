/* How evenly rows are spread over the sphere, as a function of the scale.
 *
 * Advanced: can change between releases. */
#ifndef CAPBALL_ADVANCED_ABID_H
#define CAPBALL_ADVANCED_ABID_H

#include "capball/exec.h"
#include "capball/view.h"

CPB_BEGIN

/* T9: the angle-based intrinsic dimension, of data and of their images on the sphere.
 *
 * ABID = 1 / mean cos^2 of the angle between two rows. For unit rows Y it is n^2 / |Y^T Y|_F^2, at least 1
 * and at most min(n, columns): how many directions the rows fill evenly. As a function of the scale s it
 * says how well S(x) spreads data over the sphere; it often has two maxima with a dip between them. */

/** Which pairs the mean is over; values are fixed. */
typedef enum cpb_pairs {
  CPB_PAIRS_ALL = 0,      /* each row with every row and itself:  n^2 / F,  F = |Y^T Y|_F^2 */
  CPB_PAIRS_DISTINCT = 1, /* without itself:  n(n-1) / (F-n); inf where all pairs are orthogonal */
} cpb_pairs;

/** ABID of the rows x - center.                                                                   T9
 *  x       n rows of d, any dtype                                      borrowed for the call
 *  center  d coordinates or NULL
 *  Rows at the centre have no direction and are skipped. EROW for a row with NaN or inf, EINVAL if no
 *  pair remains. Relative error <= 1e-12; identical bits for any number of threads.
 *  Allocates a copy of the rows in double; thread-safe. */
CPB_CALL cpb_status cpb_abid_original(cpb_view x, const double *center, cpb_pairs pairs, double *abid,
                                      const cpb_exec *exec, cpb_error *error);

/** Scales, and arrays for the results. */
typedef struct cpb_abid_scales {
  const double *s; /* count scales > 0 */
  size_t count;
  double *abid;  /* count numbers, caller's */
  double *slope; /* dABID/dlog s: count numbers, caller's, or NULL */
} cpb_abid_scales;

/** ABID of S(x - center) at given scales, and its slope.                          T9
 *    F(s) = sum_ij h_i^2 h_j^2 <u_i,u_j>^2 + 2|sum_i h_i z_i u_i|^2 + (sum_i z_i^2)^2
 *  with the directions u = x/|x|, h = 2|x|s/(|x|^2+s^2) and z = (s^2-|x|^2)/(|x|^2+s^2).
 *  The double sum is computed from second moments, about n d^2/2 operations per scale, or from the Gram
 *  matrix, which is never stored, n^2(d+count)/2 in total: whichever is cheaper.
 *  Errors, bits, memory and threads as above; rows at the centre are included, as the pole. */
CPB_CALL cpb_status cpb_abid_embedded(cpb_view x, const double *center, cpb_pairs pairs,
                                      cpb_abid_scales scales, const cpb_exec *exec, cpb_error *error);

/** One point of a curve as a function of s. */
typedef struct cpb_curve_point {
  double s, value;
} cpb_curve_point;

/** One maximum of a curve. */
typedef struct cpb_abid_maximum {
  double s, abid;
} cpb_abid_maximum;

/** ABID of S(x - center) as a function of s, with a cost of evaluation independent of n and d. */
typedef struct cpb_abid_curve cpb_abid_curve;

/** Creates *curve, owned by the caller.                                                            T9
 *  bins    > 0: linear interpolation in log|x| between the bounds of this many bins, placed by count
 *          and by width; error below 1e-3 for 32
 *          0: interpolation at Chebyshev nodes of log|x|, as many as 1e-13 needs (about 20 for
 *          norms within a factor of 2, 35 for 10, 80 for 1000); 256 bins if norms differ by more than 1e18
 *  Rows, errors and threads as in cpb_abid_embedded; the cost is the same as for as many scales. */
CPB_CALL cpb_status cpb_abid_curve_new(cpb_view x, const double *center, size_t bins, cpb_abid_curve **curve,
                                       const cpb_exec *exec, cpb_error *error);
CPB_API void cpb_abid_curve_free(cpb_abid_curve *curve);

/** The curve at one scale; slope may be NULL. Thread-safe. EINVAL for s <= 0, or if there are no pairs. */
CPB_CALL cpb_status cpb_abid_curve_at(const cpb_abid_curve *curve, double s, cpb_pairs pairs, double *abid,
                                      double *slope, cpb_error *error);

/** The mean of |x - center| over the rows, the natural unit of s. 0 if all rows are at the centre. */
CPB_API double cpb_abid_curve_mean_norm(const cpb_abid_curve *curve);

/** All local maxima with low < s < high, highest first: sign changes of the derivative from + to - on a
 *  logarithmic grid of 100 values per factor of 10, refined by bisection; relative error of s 1e-9. Of maxima
 *  closer than the grid, only one may be found.                      T9
 *  maxima  array of `room` elements, caller's; *found is the number written. 0 < low < high.
 *  Thread-safe, allocates nothing. */
CPB_CALL cpb_status cpb_abid_curve_maxima(const cpb_abid_curve *curve, double low, double high,
                                          cpb_pairs pairs, cpb_abid_maximum *maxima, size_t room,
                                          size_t *found, cpb_error *error);

CPB_END
#endif

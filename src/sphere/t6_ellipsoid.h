/* T6: caps whose regions are ellipsoids. */
#ifndef CPB_SPHERE_T6_ELLIPSOID_H
#define CPB_SPHERE_T6_ELLIPSOID_H

#include "capball/region.h"

/** The cap of {|W(x-c)| <= r} (or its complement, or a half-space) under y = S(W(x-m)), T6:
 *  the cap T3 gives for the ball (W(c-m), r).
 *  m        d coordinates or NULL for 0
 *  region   its W is the whitening of the map
 *  scratch  d*d + d doubles, caller's (a half-space solves with W in it)
 *  As exact as T3 for the centre W(c-m), which is known to d u |W||c-m|: up to r1/r2 times d u of its length
 *  for semi-axes r1 > r2. */
cpb_status cpb_cap_from_ellipsoid(const cpb_region *region, const double *m, double s, double *scratch,
                                  cpb_cap *cap, cpb_error *error);

/** The ellipsoid a cap is under y = S(W(x-m)), T6: centre m + W^-1 c_y, metric W, radius r_y.
 *  region   region->c is the caller's; region->W is set to W
 *  scratch  d*d + d doubles, caller's (W is factorised in it) */
cpb_status cpb_ellipsoid_from_cap(const cpb_cap *cap, const double *W, const double *m, double s,
                                  double *scratch, cpb_region *region, cpb_error *error);

/** W, upper triangular with W^T W = G, of a symmetric positive definite G: then
 *  (x-c)^T G (x-c) = |W(x-c)|^2.                                                              T6
 *  G, W   d*d row-major; may be the same array. EINVAL with the pivot when G is not definite, and
 *         with the two elements when it is not symmetric within 1e-9. */
cpb_status cpb_whitening_from_metric(const double *G, size_t d, double *W, cpb_error *error);

/* cpb_cap_from_ellipsoid for a W that is known to be invertible: only a half-space factorises it. */
cpb_status cpb_cap_by_whitening(const cpb_region *region, const double *m, double s, double *scratch,
                                cpb_cap *cap, cpb_error *error);

#endif

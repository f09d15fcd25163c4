/* Laws of regions that the public headers do not offer one by one, and what they share: T3, T5 to T7. */
#ifndef CPB_SPHERE_REGIONS_H
#define CPB_SPHERE_REGIONS_H

#include "capball/region.h"
#include "loops/vector.h"

/* ---- The names of the kinds of regions. ---- */

/** A static name: "empty", "ball", "halfspace", "complement", "punctured", "everything". */
const char *cpb_region_kind_name(cpb_region_kind kind);

/* ---- T5, T6: caps whose regions are ellipsoids; cpb_map_cap and cpb_map_region choose between them. ---- */

/** The image of a cap under the pole v = (u,w), w != 0: an ellipsoid of revolution about u.   T5
 *    c = s(p'+b u)/a, semi-axis r = s sigma/|a| across u and along = |w| r
 *  cap     complete for this v
 *  v       NULL: e, which is T3
 *  region  region->c and, unless v is NULL, region->axis are the caller's, d coordinates each; kinds as in T3.
 *          axis is set to NULL for a round region (u = 0) and for kinds without axes.
 *  r and along keep every digit; c is known to u s/|a|, because p holds pole and centre in the same
 *  coordinates. EINVAL unless |v| = 1 within 1e-9. */
cpb_status cpb_spheroid_from_cap(const cpb_cap *cap, double s, const double *v, cpb_region *region,
                                 cpb_error *error);

/** The cap of a region under a *given* pole v. EINVAL unless its metric is the pole's: a half-space,
 *  or axis parallel to u and along/r = |w| within 1e-9 (round for u = 0).                     T5
 *    z = c-su, t = [z, -<z,u>/w], then T3 for the ball (t, r) in the hyperplane orthogonal to v */
cpb_status cpb_cap_from_spheroid(const cpb_region *region, double s, const double *v, cpb_cap *cap,
                                 cpb_error *error);

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

/** The pole under which an oblate ellipsoid of revolution (0 < along <= r) is a cap:
 *    w = along/r, u = +-axis sqrt((r-along)(r+along))/r, with the sign of <c,axis>.           T5
 *  v    caller's, d+1 coordinates. A prolate ellipsoid (along > r) is EINVAL: use T6. */
cpb_status cpb_pole_from_spheroid(const cpb_region *region, double *v, cpb_error *error);

/** W, upper triangular with W^T W = G, of a symmetric positive definite G: then
 *  (x-c)^T G (x-c) = |W(x-c)|^2.                                                              T6
 *  G, W   d*d row-major; may be the same array. EINVAL with the pivot when G is not definite, and
 *         with the two elements when it is not symmetric within 1e-9. */
cpb_status cpb_whitening_from_metric(const double *G, size_t d, double *W, cpb_error *error);

/* ---- T7: the scale that puts data on one side of the sphere. ---- */

/** The smallest s for which every |x| <= max_norm has colatitude (angle to e) <= phi:
 *  s = max_norm / tan(phi/2).  phi = pi/2 is the hemisphere: y0 >= 0 <=> |x| <= s.            T7
 *  max_norm > 0 finite, 0 < phi < pi; NaN otherwise, and if s underflows. */
double cpb_hemisphere_scale(double max_norm, double phi);

/* ---- The cap of a ball from the distance of its centre, and checks. ---- */

/* What T3 needs to know of a ball with centre t and radius r at scale s: p = toward (t/h2) + p0 v, t orthogonal to
 * the pole v. Lengths are divided by 2^exponent, which cancels in every ratio. */
typedef struct cpb_lift {
  double toward, h2, p0, b, sigma, a;
  int exponent;
} cpb_lift;

/* center is the sum of squares of the centre; r = 0 lifts a point. EINVAL when sigma or a is below
 * the smallest normal double: such a cap would come back as another region. */
cpb_status cpb_lift_ball(cpb_squares center, double r, double s, cpb_lift *lift, cpb_error *error);

/* The coordinate of p along a coordinate t of the centre. */
static inline double cpb_lift_toward(const cpb_lift *lift, double t) {
  return lift->toward * (ldexp(t, -lift->exponent) / lift->h2);
}

/* EINVAL unless the cap is not NULL, is finite and consistent: |p| = 1 and sigma^2 = 1-b^2 within 1e-6. */
cpb_status cpb_check_cap(const cpb_cap *cap, cpb_error *error);

/* EINVAL unless the region is not NULL and what its kind needs is finite and in its domain. */
cpb_status cpb_check_region(const cpb_region *region, cpb_error *error);

/* Messages that several laws share. */
cpb_status cpb_fail_halfspace(cpb_error *error, double h, double s);
cpb_status cpb_fail_axis_and_whitening(cpb_error *error);

/* EINVAL unless |axis| = 1 within 1e-9; *length is its length. */
cpb_status cpb_check_axis(const double *axis, size_t d, double *length, cpb_error *error);

/* cpb_cap_from_ellipsoid for a W that is known to be invertible: only a half-space factorises it. */
cpb_status cpb_cap_by_whitening(const cpb_region *region, const double *m, double s, double *scratch,
                                cpb_cap *cap, cpb_error *error);

static inline void cpb_cap_set(cpb_cap *cap, double b, double sigma, double a) {
  cap->b = b;
  cap->sigma = sigma;
  cap->a = a;
}

/* T3 and T5 in one, for a region, a scale and a pole v that have been checked; v NULL: e. */
cpb_status cpb_cap_under(const cpb_region *region, double s, const double *v, cpb_cap *cap, cpb_error *error);

/* EINVAL when c or r left the range of double. */
cpb_status cpb_check_result(const cpb_region *region, double s, double a, cpb_error *error);

#endif

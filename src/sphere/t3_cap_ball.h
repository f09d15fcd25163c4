/* T3: what the laws of regions share: checks, messages, the cap of a ball from the distance of its centre. */
#ifndef CPB_SPHERE_T3_CAP_BALL_H
#define CPB_SPHERE_T3_CAP_BALL_H

#include "capball/region.h"
#include "loops/vector.h"

/** A static name: "empty", "ball", "halfspace", "complement", "punctured", "everything". */
const char *cpb_region_kind_name(cpb_region_kind kind);

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

static inline void cpb_cap_set(cpb_cap *cap, double b, double sigma, double a) {
  cap->b = b;
  cap->sigma = sigma;
  cap->a = a;
}

/* EINVAL when c or r left the range of double. */
cpb_status cpb_check_result(const cpb_region *region, double s, double a, cpb_error *error);

#endif

/* T3: caps on the sphere are balls, half-spaces and complements of balls. */
#include <float.h>

#include "base/elementary.h"
#include "base/fail.h"
#include "sphere/t3_cap_ball.h"
#include "sphere/t5_spheroid.h"
#include "sphere/t2_pole.h"

const char *cpb_region_kind_name(cpb_region_kind kind) {
  static const char *const names[] = {
      [CPB_EMPTY] = "empty",           [CPB_BALL] = "ball",           [CPB_HALFSPACE] = "halfspace",
      [CPB_COMPLEMENT] = "complement", [CPB_PUNCTURED] = "punctured", [CPB_EVERYTHING] = "everything"};
  return (unsigned)kind <= CPB_EVERYTHING ? names[kind] : "unknown";
}

cpb_status cpb_fail_halfspace(cpb_error *error, double h, double s) {
  return cpb_fail(error, CPB_WHY_BEYOND_DOUBLE, "region",
                  "no double holds the cap of a half-space with offset %g at scale s = %g", h, s);
}

cpb_status cpb_fail_axis_and_whitening(cpb_error *error) {
  return cpb_fail(error, CPB_WHY_EXCLUSIVE, "region", "region has an axis and a W: only one of them");
}

cpb_status cpb_check_cap(const cpb_cap *cap, cpb_error *error) {
  if (cap == NULL || cap->p == NULL) return cpb_fail_missing(error, cap == NULL ? "cap" : "cap->p");
  if (cap->d == 0) return cpb_fail_dimension(error, "cap", 0);
  if (!cpb_all_finite(cap->p, cap->d + 1)) return cpb_fail_not_finite(error, "cap", "cap's p");
  bool within = cap->b >= -1 && cap->b <= 1;
  double off = within ? cap->sigma * cap->sigma - (1 - cap->b) * (1 + cap->b) : 0;
  if (isnan(cap->b) || isnan(cap->a) || !(cap->sigma >= 0) || !(fabs(off) <= 1e-6))
    return cpb_fail(error, CPB_WHY_CAP_INCOMPLETE, "cap",
                    "cap is not complete: b = %.17g, sigma = %.17g, a = %.17g", cap->b, cap->sigma, cap->a);
  double length = cpb_norm(cap->p, cap->d + 1);
  if (fabs(length - 1) <= 1e-6) return CPB_OK;
  return cpb_fail(error, CPB_WHY_DOMAIN, "cap", "cap's p must have length 1, got |p| = %.17g", length);
}

/* EINVAL unless a = b+<p,v>. */
static cpb_status check_cap_under(const cpb_cap *cap, const double *v, cpb_error *error) {
  if (!(fabs(cap->b) <= 1)) return CPB_OK;
  double along = v == NULL ? cap->p[cap->d] : cpb_dot_from(0, cap->p, v, cap->d + 1);
  if (fabs(cap->a - (cap->b + along)) <= 1e-6) return CPB_OK;
  return cpb_fail(error, CPB_WHY_CAP_INCOMPLETE, "cap", "cap's a = %.17g is not b+<p,v> = %.17g%+.17g",
                  cap->a, cap->b, along);
}

static cpb_status check_size(double size, const char *argument, const char *name, cpb_error *error) {
  if (size > 0 && size < INFINITY) return CPB_OK;
  return cpb_fail_domain(error, argument, size, "%s must be > 0 and finite", name);
}

cpb_status cpb_check_region(const cpb_region *region, cpb_error *error) {
  if (region == NULL) return cpb_fail_missing(error, "region");
  if (region->d == 0) return cpb_fail_dimension(error, "region", 0);
  if ((unsigned)region->kind > CPB_EVERYTHING)
    return cpb_fail(error, CPB_WHY_CHOICE, "region", "region has unknown kind %d", (int)region->kind);
  if (region->kind == CPB_EMPTY || region->kind == CPB_EVERYTHING) return CPB_OK;
  if (region->c == NULL) return cpb_fail_missing(error, "region->c");
  if (!cpb_all_finite(region->c, region->d)) return cpb_fail_not_finite(error, "region", "region's c");
  if (region->kind == CPB_PUNCTURED) return CPB_OK;
  if (region->kind == CPB_HALFSPACE) {
    if (!isfinite(region->r))
      return cpb_fail_domain(error, "region->r", region->r, "half-space offset must be finite");
    if (!(cpb_norm(region->c, region->d) > 0))
      return cpb_fail(error, CPB_WHY_DOMAIN, "region->c", "half-space normal must not be 0");
    return CPB_OK;
  }
  cpb_status status = check_size(region->r, "region->r", "radius r", error);
  if (status == CPB_OK && region->axis != NULL)
    status = check_size(region->along, "region->along", "semi-axis along", error);
  return status;
}

static cpb_region_kind kind_of_cap(const cpb_cap *cap) {
  bool closed = cap->sigma == 0; /* b = +-1 exactly; a small ball has b rounded to 1, but sigma > 0 */
  if (cap->b > 1 || (closed && cap->b > 0)) return CPB_EMPTY;
  if (cap->b < -1 || (closed && cap->a == 0)) return CPB_EVERYTHING;
  if (closed) return CPB_PUNCTURED;
  return cap->a > 0 ? CPB_BALL : cap->a < 0 ? CPB_COMPLEMENT : CPB_HALFSPACE;
}

/* A region without a metric of its own: round, with c = 0 and r = 0. */
static void clear_region(cpb_region *region, cpb_region_kind kind, size_t d) {
  region->kind = kind;
  region->d = d;
  for (size_t i = 0; i < d; i++) region->c[i] = 0;
  region->r = region->along = 0;
  region->axis = NULL;
  region->W = NULL;
}

cpb_status cpb_check_result(const cpb_region *region, double s, double a, cpb_error *error) {
  if (isfinite(region->r) && cpb_all_finite(region->c, region->d)) return CPB_OK;
  return cpb_fail(error, CPB_WHY_BEYOND_DOUBLE, "cap",
                  "the region of this cap overflows: s = %.17g, a = %.17g", s, a);
}

cpb_status cpb_cap_complete(cpb_cap *cap, const double *v, cpb_error *error) {
  if (cap == NULL || cap->p == NULL) return cpb_fail_missing(error, cap == NULL ? "cap" : "cap->p");
  if (cap->d == 0) return cpb_fail_dimension(error, "cap", 0);
  size_t n = cap->d + 1;
  if (isnan(cap->b)) return cpb_fail(error, CPB_WHY_NOT_FINITE, "cap", "cap's b is NaN");
  if (!cpb_all_finite(cap->p, n)) return cpb_fail_not_finite(error, "cap", "cap's p");
  if (v != NULL && !cpb_all_finite(v, n)) return cpb_fail_not_finite(error, "v", "pole v");
  cpb_squares squares = cpb_squares_of(cap->p, n);
  if (squares.sum.hi == 0) return cpb_fail(error, CPB_WHY_DOMAIN, "cap", "cap's p is 0 and has no direction");

  /* All differences are computed before the division by |p|, which would round their terms. */
  for (size_t i = 0; i < n; i++) cap->p[i] = ldexp(cap->p[i], -squares.exponent);
  double length = cpb_squares_root(&squares, squares.exponent), b = ldexp(cap->b, -squares.exponent);
  double rise = isinf(b) ? b : v == NULL ? b + cap->p[n - 1] : cpb_dot_from(b, cap->p, v, n);
  cap->a = rise / length;
  cap->b = b / length;
  cap->sigma = fabs(b) < length ? sqrt((length - b) / length * ((length + b) / length)) : 0;
  for (size_t i = 0; i < n; i++) cap->p[i] /= length;
  return CPB_OK;
}

static double within_one(double b) { return b > 1 ? 1 : b < -1 ? -1 : b; }

cpb_status cpb_lift_ball(cpb_squares center, double r, double s, cpb_lift *lift, cpb_error *error) {
  /* |c|-r = (|c|^2-r^2)/(|c|+r) in twofold precision: for r near |c| >> s the rounding of |c| alone
   * would move h2 by |c|/s units in the last place. */
  cpb_squares difference = center;
  cpb_squares_add(&difference, r, -1);
  int unit = difference.exponent, exponent = ilogb(s) > unit ? ilogb(s) : unit;
  double sum = cpb_squares_root(&center, unit) + ldexp(r, -unit);
  double gap = sum > 0 ? cpb_twofold_value(difference.sum) / sum : 0;
  double far = ldexp(sum, unit - exponent), near = ldexp(gap, unit - exponent);
  double scale = ldexp(s, -exponent), h1 = cpb_hypot(far, scale), h2 = cpb_hypot(near, scale);
  double s1 = scale / h1, s2 = scale / h2, tilt = far / h1 * (near / h2);
  *lift = (cpb_lift){.toward = 2 * s1,
                     .h2 = h2,
                     .p0 = within_one(s1 * s2 - tilt),
                     .b = within_one(s1 * s2 + tilt),
                     .sigma = 2 * s1 * (ldexp(r, -exponent) / h2),
                     .a = 2 * s1 * s2,
                     .exponent = exponent};
  if (lift->a >= DBL_MIN && (r == 0 || lift->sigma >= DBL_MIN)) return CPB_OK;
  return cpb_fail(error, CPB_WHY_BEYOND_DOUBLE, "region",
                  "no double holds the cap of a ball with |c| = %g, r = %g at scale s = %g",
                  cpb_squares_root(&center, 0), r, s);
}

/* EMPTY (b = 2) or EVERYTHING (b = -2): no point of the sphere is on the boundary, so scores have one sign. */
static void cap_of_constant(double b, const double *v, cpb_cap *cap) {
  for (size_t i = 0; i <= cap->d; i++) cap->p[i] = v != NULL ? v[i] : i == cap->d ? 1 : 0;
  cpb_cap_set(cap, b, 0, b + 1);
}

/* The ball of radius r around t = [z, -<z,u>/w], z = c-su, orthogonal to v; t is built in the memory of p.
 * sign = -1: its complement, for r = 0 everything but c. */
static cpb_status cap_of_ball(const cpb_region *region, double r, double sign, double s, const double *v,
                              cpb_cap *cap, cpb_error *error) {
  size_t d = region->d;
  for (size_t i = 0; i < d; i++) cap->p[i] = v == NULL ? region->c[i] : fma(-s, v[i], region->c[i]);
  cap->p[d] = v == NULL ? 0 : -cpb_dot_from(0, cap->p, v, d) / v[d];
  if (v != NULL && !cpb_all_finite(cap->p, d + 1))
    return cpb_fail(error, CPB_WHY_BEYOND_DOUBLE, "region",
                    "the region is too far from the scale s = %g and the pole's w = %g", s, v[d]);
  cpb_lift lift;
  cpb_status status = cpb_lift_ball(cpb_squares_of(cap->p, d + 1), r, s, &lift, error);
  if (status != CPB_OK) return status;
  for (size_t i = 0; i <= d; i++) {
    double toward = cpb_lift_toward(&lift, cap->p[i]);
    cap->p[i] = sign * (v != NULL ? fma(lift.p0, v[i], toward) : i < d ? toward : lift.p0);
  }
  cpb_cap_set(cap, sign * (r == 0 ? 1 : lift.b), lift.sigma, sign * lift.a);
  return CPB_OK;
}

/* {<n,x> > h} for a normal of any length: the same half-space is {<n/|n|,x> > h/|n|}. */
static cpb_status cap_of_halfspace(const double *n, double h, double s, cpb_cap *cap, cpb_error *error) {
  int of_n = cpb_largest_exponent(n, cap->d, INT_MIN / 8), of_s = ilogb(s);
  int of_h = h == 0 ? INT_MIN / 8 : ilogb(h), exponent = of_n + of_s > of_h ? of_n + of_s : of_h;
  cpb_squares squares = cpb_squares_of(n, cap->d);
  double scale = ldexp(s, -of_s), offset = ldexp(h, -exponent);
  double across = ldexp(scale * cpb_squares_root(&squares, of_n), of_n + of_s - exponent);
  double length = cpb_hypot(offset, across);
  if (!(across / length >= DBL_MIN)) return cpb_fail_halfspace(error, h / cpb_squares_root(&squares, 0), s);
  for (size_t i = 0; i < cap->d; i++)
    cap->p[i] = ldexp(scale * ldexp(n[i], -of_n), of_n + of_s - exponent) / length;
  cap->p[cap->d] = -offset / length;
  cpb_cap_set(cap, offset / length, across / length, 0);
  return CPB_OK;
}

cpb_status cpb_cap_from_region(const cpb_region *region, double s, cpb_cap *cap, cpb_error *error) {
  cpb_status status = cpb_check_scale(s, error);
  if (status == CPB_OK) status = cpb_check_region(region, error);
  if (status != CPB_OK) return status;
  if (region->axis != NULL || region->W != NULL)
    return cpb_fail(error, CPB_WHY_REGION_METRIC, "region",
                    "region has %s: T3 takes round ones, see T5 and T6",
                    region->W != NULL ? "a whitening W" : "an axis");
  return cpb_cap_under(region, s, NULL, cap, error);
}

cpb_status cpb_cap_under(const cpb_region *region, double s, const double *v, cpb_cap *cap,
                         cpb_error *error) {
  if (cap == NULL || cap->p == NULL) return cpb_fail_missing(error, cap == NULL ? "cap" : "cap->p");
  cap->d = region->d;
  switch (region->kind) {
  case CPB_BALL: return cap_of_ball(region, region->r, 1, s, v, cap, error);
  case CPB_COMPLEMENT: return cap_of_ball(region, region->r, -1, s, v, cap, error);
  case CPB_PUNCTURED: return cap_of_ball(region, 0, -1, s, v, cap, error);
  case CPB_HALFSPACE: return cap_of_halfspace(region->c, region->r, s, cap, error);
  case CPB_EMPTY: cap_of_constant(2, v, cap); break;
  case CPB_EVERYTHING: cap_of_constant(-2, v, cap); break;
  }
  return CPB_OK;
}

/* <p,H> > 0 with H = [x, (s-<x,u>)/w]: the normal p' - (p0/w) u and the offset -s p0/w, for v = e sb. */
static void halfspace_of_cap(const cpb_cap *cap, double s, const double *v, cpb_region *region) {
  size_t d = cap->d;
  double slope = v == NULL ? -cap->b : cap->p[d] / v[d];
  for (size_t i = 0; i < d; i++) region->c[i] = v == NULL ? cap->p[i] : fma(-slope, v[i], cap->p[i]);
  double length = cpb_norm(region->c, d);
  for (size_t i = 0; i < d; i++) region->c[i] /= length;
  region->r = region->along = cpb_ratio_times(cpb_ratio_of(-s, length), slope);
}

cpb_status cpb_spheroid_from_cap(const cpb_cap *cap, double s, const double *v, cpb_region *region,
                                 cpb_error *error) {
  cpb_status status = cpb_check_scale(s, error);
  if (status == CPB_OK) status = cpb_check_cap(cap, error);
  if (status == CPB_OK && v != NULL) status = cpb_check_pole(cap->d, v, error);
  if (status == CPB_OK) status = check_cap_under(cap, v, error);
  if (status != CPB_OK) return status;
  if (region == NULL || region->c == NULL || (v != NULL && region->axis == NULL))
    return cpb_fail_missing(error, region == NULL      ? "region"
                                   : region->c == NULL ? "region->c"
                                                       : "region->axis");
  size_t d = cap->d;
  double *axis = region->axis, tilt = v == NULL ? 0 : cpb_norm(v, d);
  cpb_region_kind kind = kind_of_cap(cap);
  clear_region(region, kind, d);
  if (kind == CPB_EMPTY || kind == CPB_EVERYTHING) return CPB_OK;
  if (kind == CPB_HALFSPACE) {
    halfspace_of_cap(cap, s, v, region);
    return cpb_check_result(region, s, cap->a, error);
  }
  cpb_ratio ratio = cpb_ratio_of(s, cap->a);
  for (size_t i = 0; i < d; i++)
    region->c[i] = cpb_ratio_times(ratio, v == NULL ? cap->p[i] : fma(cap->b, v[i], cap->p[i]));
  region->r = fabs(cpb_ratio_times(ratio, cap->sigma));
  region->along = tilt > 0 ? fabs(v[d]) * region->r : region->r;
  if (tilt > 0 && kind != CPB_PUNCTURED) {
    for (size_t i = 0; i < d; i++) axis[i] = v[i] / tilt;
    region->axis = axis;
  }
  return cpb_check_result(region, s, cap->a, error);
}

cpb_status cpb_region_from_cap(const cpb_cap *cap, double s, cpb_region *region, cpb_error *error) {
  return cpb_spheroid_from_cap(cap, s, NULL, region, error);
}

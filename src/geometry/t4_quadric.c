/* T4: one quadratic form for balls, half-spaces, complements and caps. */
#include <float.h>

#include "core/fail.h"
#include "geometry/lift.h"
#include "geometry/regions.h"

static cpb_status check_quadric(const cpb_quadric *quadric, cpb_error *error) {
  if (quadric == NULL || quadric->m == NULL)
    return cpb_fail_missing(error, quadric == NULL ? "quadric" : "quadric->m");
  if (quadric->d == 0) return cpb_fail_dimension(error, "quadric", 0);
  if (!isfinite(quadric->k2) || !isfinite(quadric->k0) || !cpb_all_finite(quadric->m, quadric->d))
    return cpb_fail(error, CPB_WHY_NOT_FINITE, "quadric", "quadric is not finite: k2 = %g, k0 = %g",
                    quadric->k2, quadric->k0);
  if (!(quadric->root >= 0 && quadric->root < INFINITY))
    return cpb_fail_domain(error, "quadric", quadric->root, "quadric's root must be >= 0 and finite");
  return CPB_OK;
}

/* b-p0. Near the poles, where b and p0 agree, (|p'|-sigma)(|p'|+sigma)/(b+p0) preserves the digits that the
 * difference loses; near the equator it is the reverse. */
static double fall(const cpb_cap *cap) {
  double p0 = cap->p[cap->d];
  if (!(cap->b * p0 > 0 && fabs(cap->b) <= 1 && cap->sigma < fabs(cap->b))) return cap->b - p0;
  double across = cpb_norm(cap->p, cap->d);
  return (across - cap->sigma) * (across + cap->sigma) / cap->a;
}

cpb_status cpb_quadric_from_cap(const cpb_cap *cap, double s, cpb_quadric *quadric, cpb_error *error) {
  cpb_status status = cpb_check_scale(s, error);
  if (status == CPB_OK) status = cpb_check_cap_under(cap, NULL, error);
  if (status != CPB_OK) return status;
  if (quadric == NULL || quadric->m == NULL)
    return cpb_fail_missing(error, quadric == NULL ? "quadric" : "quadric->m");
  if (!isnormal(s * s))
    return cpb_fail(error, CPB_WHY_DOMAIN, "s", "s^2 must be a normal double, got s = %g", s);
  quadric->d = cap->d;
  for (size_t i = 0; i < cap->d; i++) quadric->m[i] = s * cap->p[i];
  quadric->k2 = cap->a;
  quadric->k0 = s * s * fall(cap);
  quadric->root = s * cap->sigma;
  return check_quadric(quadric, error);
}

cpb_status cpb_cap_from_quadric(const cpb_quadric *quadric, double s, cpb_cap *cap, cpb_error *error) {
  cpb_status status = cpb_check_scale(s, error);
  if (status == CPB_OK) status = check_quadric(quadric, error);
  if (status != CPB_OK) return status;
  if (cap == NULL || cap->p == NULL) return cpb_fail_missing(error, cap == NULL ? "cap" : "cap->p");

  /* Everything over 2^exponent, so that neither k0/s^2 nor |p|^2 leaves the range of double. */
  size_t d = cap->d = quadric->d;
  int of_s = ilogb(s), least = INT_MIN / 8;
  int exponent = cpb_largest_exponent(quadric->m, d, least) - of_s;
  exponent = cpb_largest_exponent(&quadric->k2, 1, exponent);
  exponent = cpb_largest_exponent(&quadric->k0, 1, exponent + 2 * of_s) - 2 * of_s;
  if (exponent < least / 2)
    return cpb_fail(error, CPB_WHY_CAP_INCOMPLETE, "quadric", "quadric is 0 = 0: no region");
  double unit = ldexp(s, -of_s), k2 = ldexp(quadric->k2, -exponent);
  double k0 = ldexp(quadric->k0 / unit / unit, -2 * of_s - exponent);
  double root = ldexp(quadric->root / unit, -of_s - exponent);
  for (size_t i = 0; i < d; i++) cap->p[i] = ldexp(quadric->m[i] / unit, -of_s - exponent);
  cap->p[d] = (k2 - k0) / 2;

  double length = cpb_norm(cap->p, d + 1), b = (k2 + k0) / 2;
  if (length == 0) { /* the form is constant on the sphere */
    cpb_cap_constant(cap, b > 0 ? CPB_EMPTY : CPB_EVERYTHING, NULL);
    return CPB_OK;
  }
  for (size_t i = 0; i <= d; i++) cap->p[i] /= length;
  cpb_cap_set(cap, b / length, root / length, k2 / length);
  /* Rounding must not carry a boundary out of [-1,1]. */
  if (fabs(cap->b) > 1 && (root > 0 || fabs(cap->b) <= 1 + 1e-12)) cap->b = copysign(1, cap->b);
  if (root == 0 && fabs(cap->b) >= 1 - 1e-12 && fabs(cap->b) < 1) cap->b = copysign(1, cap->b);
  if (fabs(cap->b) <= 1 && !(fabs(cap->sigma * cap->sigma - (1 - cap->b) * (1 + cap->b)) <= 1e-6))
    return cpb_fail(error, CPB_WHY_CAP_INCOMPLETE, "quadric", "quadric's root %g is not sqrt(|m|^2 - k2 k0)",
                    quadric->root);
  if ((quadric->k2 != 0 && fabs(cap->a) < DBL_MIN) || (quadric->root > 0 && cap->sigma < DBL_MIN))
    return cpb_fail(error, CPB_WHY_BEYOND_DOUBLE, "quadric",
                    "no double holds the cap of this quadric at scale s = %g", s);
  return CPB_OK;
}

/* True for a form without a zero (b outside [-1,1]): its root of 0 is no radius. */
static bool has_no_boundary(const cpb_quadric *quadric) {
  if (quadric->root > 0) return false;
  double size = cpb_norm(quadric->m, quadric->d), product = quadric->k2 * quadric->k0;
  return product - size * size > 1e-12 * (product + size * size);
}

/* k0 after a move by sign t, in whichever of its two forms has the smaller terms:
 * k0 + 2<m,t> + k2|t|^2, or (|m|-root)(|m|+root)/k2 with the m after the move. */
static double moved_constant(const cpb_quadric *quadric, const double *t, double sign) {
  double k2 = quadric->k2, root = quadric->root, terms = fabs(quadric->k0);
  cpb_twofold sum = {quadric->k0, 0};
  cpb_squares moved = cpb_squares_none();
  for (size_t i = 0; i < quadric->d; i++) {
    double step = sign * t[i], m = quadric->m[i], after = fma(k2, step, m);
    if (!isfinite(after)) return NAN;
    cpb_squares_add(&moved, after, 1);
    cpb_twofold_add_product(&sum, 2 * m, step);
    cpb_twofold_add_product(&sum, k2 * step, step);
    terms += fabs(2 * m * step) + fabs(k2 * step * step);
  }
  if (!isfinite(root)) return NAN;
  double size = cpb_squares_root(&moved, 0);
  if (k2 == 0 || !((size * size + root * root) / fabs(k2) < terms) || has_no_boundary(quadric))
    return cpb_twofold_value(sum);
  cpb_squares_add(&moved, root, -1);
  return ldexp(cpb_twofold_value(moved.sum) / k2, 2 * moved.exponent);
}

void cpb_quadric_translate(cpb_quadric *quadric, const double *t) {
  quadric->k0 = moved_constant(quadric, t, 1);
  for (size_t i = 0; i < quadric->d; i++) quadric->m[i] = fma(quadric->k2, t[i], quadric->m[i]);
}

double cpb_quadric_value(const cpb_quadric *quadric, const double *x) {
  return moved_constant(quadric, x, -1);
}

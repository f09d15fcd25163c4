/* T5: caps under a general pole v = (u,w) are ellipsoids of revolution about u. */
#include "base/elementary.h"
#include "base/fail.h"
#include "sphere/t3_cap_ball.h"
#include "sphere/t5_spheroid.h"
#include "sphere/t2_pole.h"

static cpb_status fail_whitened(cpb_error *error) {
  return cpb_fail(error, CPB_WHY_REGION_METRIC, "region", "region has a whitening W: see T6");
}

static const double tolerance = 1e-9;

cpb_status cpb_check_axis(const double *axis, size_t d, double *length, cpb_error *error) {
  *length = cpb_all_finite(axis, d) ? cpb_norm(axis, d) : NAN;
  if (fabs(*length - 1) <= tolerance) return CPB_OK;
  return cpb_fail_domain(error, "axis", *length, "axis must have length 1");
}

/* The metric of a ball or complement must be the one the pole gives its caps. */
static cpb_status check_metric(const cpb_region *region, const double *v, cpb_error *error) {
  size_t d = region->d;
  double w = fabs(v[d]), ratio = region->axis == NULL ? 1 : region->along / region->r, length;
  if (region->axis == NULL) {
    double tilt = cpb_norm(v, d);
    if (tilt <= tolerance) return CPB_OK;
    return cpb_fail(error, CPB_WHY_REGION_METRIC, "region",
                    "a round region is not a cap under a pole with |u| = %.17g", tilt);
  }
  cpb_status status = cpb_check_axis(region->axis, d, &length, error);
  if (status != CPB_OK) return status;
  if (!(fabs(ratio - w) <= tolerance))
    return cpb_fail(error, CPB_WHY_REGION_METRIC, "region",
                    "the semi-axis along over that across, %.17g, is not the pole's |w| = %.17g", ratio, w);
  double part = cpb_dot_from(0, v, region->axis, d);
  cpb_squares off = cpb_squares_none();
  for (size_t i = 0; i < d; i++) cpb_squares_add(&off, v[i] - part * region->axis[i], 1);
  double across = cpb_squares_root(&off, 0);
  if (!(across <= tolerance))
    return cpb_fail(error, CPB_WHY_REGION_METRIC, "v",
                    "the pole's u is not along the axis: %.17g of it lies across", across);
  return CPB_OK;
}

/* p = (s n - h u, -h w)/D, b = (h - s<n,u>)/D, sigma = s sqrt(1-<n,u>^2)/D for the unit normal n. */
static cpb_status cap_of_halfspace(const cpb_region *region, double s, const double *v, cpb_cap *cap,
                                   cpb_error *error) {
  size_t d = region->d;
  double length = cpb_norm(region->c, d), h = region->r / length;
  double along = cpb_dot_from(0, region->c, v, d) / length, slope = h / s;
  cpb_squares across = cpb_squares_none();
  cpb_squares_add(&across, v[d], 1);
  for (size_t i = 0; i < d; i++) cpb_squares_add(&across, v[i] - along * (region->c[i] / length), 1);
  double rise = slope - along, room = cpb_squares_root(&across, 0), D = cpb_hypot(rise, room);
  for (size_t i = 0; i < d; i++) cap->p[i] = fma(-slope, v[i], region->c[i] / length) / D;
  cap->p[d] = -slope * v[d] / D;
  cpb_cap_set(cap, rise / D, room / D, 0);
  if (isfinite(D) && cap->sigma > 0) return CPB_OK;
  return cpb_fail_halfspace(error, h, s);
}

cpb_status cpb_cap_from_spheroid(const cpb_region *region, double s, const double *v, cpb_cap *cap,
                                 cpb_error *error) {
  cpb_status status = cpb_check_scale(s, error);
  if (status == CPB_OK) status = cpb_check_region(region, error);
  if (status == CPB_OK) status = cpb_check_pole(region->d, v, error);
  if (status != CPB_OK) return status;
  if (region->W != NULL) return fail_whitened(error);
  if (cap == NULL || cap->p == NULL) return cpb_fail_missing(error, cap == NULL ? "cap" : "cap->p");
  cap->d = region->d;
  if (region->kind == CPB_HALFSPACE) return cap_of_halfspace(region, s, v, cap, error);
  if (region->kind == CPB_BALL || region->kind == CPB_COMPLEMENT) status = check_metric(region, v, error);
  return status == CPB_OK ? cpb_cap_under(region, s, v, cap, error) : status;
}

cpb_status cpb_pole_from_spheroid(const cpb_region *region, double *v, cpb_error *error) {
  cpb_status status = cpb_check_region(region, error);
  if (status != CPB_OK) return status;
  if (v == NULL) return cpb_fail_missing(error, "v");
  if (region->W != NULL) return fail_whitened(error);
  if (region->kind != CPB_BALL && region->kind != CPB_COMPLEMENT)
    return cpb_fail(error, CPB_WHY_REGION_METRIC, "region", "a region of kind %s has no axes",
                    cpb_region_kind_name(region->kind));
  size_t d = region->d;
  double r = region->r, along = region->axis == NULL ? r : region->along, length = 1;
  if (along > r)
    return cpb_fail(error, CPB_WHY_REGION_METRIC, "region",
                    "a prolate ellipsoid (%.17g along its axis, %.17g across it) is not a cap: see T6", along,
                    r);
  if (region->axis != NULL) status = cpb_check_axis(region->axis, d, &length, error);
  if (status != CPB_OK) return status;
  double w = along / r, tilt = sqrt((r - along) / r * ((r + along) / r));
  if (region->axis != NULL && cpb_dot_from(0, region->c, region->axis, d) < 0) tilt = -tilt;
  for (size_t i = 0; i < d; i++) v[i] = region->axis == NULL ? 0 : tilt * (region->axis[i] / length);
  v[d] = w;
  if (w > 0) return CPB_OK;
  return cpb_fail(error, CPB_WHY_BEYOND_DOUBLE, "region",
                  "the ratio of the semi-axes %g and %g is below the smallest double", along, r);
}

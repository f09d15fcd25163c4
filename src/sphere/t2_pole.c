#include "sphere/t2_pole.h"

#include <math.h>

#include "base/fail.h"
#include "loops/table.h"

cpb_status cpb_check_pole(size_t d, const double *v, cpb_error *error) {
  if (v == NULL) return cpb_fail_missing(error, "v");
  double norm = sqrt(cpb_loops_here()->dot(v, v, d + 1));
  if (!(fabs(norm - 1) <= 1e-12))
    return cpb_fail(error, CPB_WHY_DOMAIN, "v", "pole v must have length 1, got |v| = %.17g", norm);
  if (v[d] == 0) return cpb_fail_count(error, "pole", 0, "the last coordinate w of the pole must not be 0");
  return CPB_OK;
}

static void add_multiple(size_t d, double factor, const double *u, double *y) {
  for (size_t i = 0; i < d; i++) y[i] += factor * u[i];
}

void cpb_pole_rotate(size_t d, const double *v, double *y) {
  double w = v[d], yu = cpb_loops_here()->dot(y, v, d), last = y[d];
  add_multiple(d, last - yu / (1 + fabs(w)), v, y);
  y[d] = w * last - copysign(1, w) * yu;
}

void cpb_pole_rotate_back(size_t d, const double *v, double *y) {
  double w = v[d], sign = copysign(1, w), yu = cpb_loops_here()->dot(y, v, d), last = y[d];
  add_multiple(d, -yu / (1 + fabs(w)) - sign * last, v, y);
  y[d] = yu + w * last;
}

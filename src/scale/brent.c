#include "scale/brent.h"

#include <math.h>

typedef struct point {
  double x, f;
} point;

/* The three best points, best first, and the last two steps. */
typedef struct search {
  double left, right, step, step_before;
  point best, second, third;
} search;

/* The step to the top of the parabola through the three points; NAN where it is not to be trusted. */
static double parabola_step(const search *s, double tolerance) {
  double a = (s->best.x - s->second.x) * (s->best.f - s->third.f),
         b = (s->best.x - s->third.x) * (s->best.f - s->second.f),
         top = (s->best.x - s->third.x) * b - (s->best.x - s->second.x) * a, bottom = 2 * (b - a);
  if (bottom == 0 || fabs(s->step_before) <= tolerance) return NAN;
  double step = -top / bottom, x = s->best.x + step;
  if (fabs(step) >= fabs(s->step_before) / 2 || x <= s->left || x >= s->right) return NAN;
  if (x - s->left < 2 * tolerance || s->right - x < 2 * tolerance)
    return copysign(tolerance, (s->left + s->right) / 2 - s->best.x);
  return step;
}

static void choose_step(search *s, double tolerance) {
  const double golden = 0.38196601125010515;
  double step = parabola_step(s, tolerance), middle = (s->left + s->right) / 2;
  s->step_before = s->step;
  if (isnan(step)) {
    s->step_before = (s->best.x >= middle ? s->left : s->right) - s->best.x;
    step = golden * s->step_before;
  }
  s->step = step;
}

static void take_point(search *s, point p) {
  if (p.f >= s->best.f) {
    *(p.x >= s->best.x ? &s->left : &s->right) = s->best.x;
    s->third = s->second;
    s->second = s->best;
    s->best = p;
    return;
  }
  *(p.x < s->best.x ? &s->left : &s->right) = p.x;
  if (p.f >= s->second.f || s->second.x == s->best.x) {
    s->third = s->second;
    s->second = p;
  } else if (p.f >= s->third.f || s->third.x == s->best.x || s->third.x == s->second.x)
    s->third = p;
}

double cpb_brent_maximum(double (*f)(const void *context, double x), const void *context, double left,
                         double right, double tolerance) {
  enum { MOST = 100 };
  double x = left + 0.38196601125010515 * (right - left);
  point start = {x, f(context, x)};
  search s = {left, right, 0, 0, start, start, start};
  for (int i = 0; i < MOST; i++) {
    double middle = (s.left + s.right) / 2;
    if (fabs(s.best.x - middle) + (s.right - s.left) / 2 <= 2 * tolerance) break;
    choose_step(&s, tolerance);
    double at = s.best.x + (fabs(s.step) >= tolerance ? s.step : copysign(tolerance, s.step));
    take_point(&s, (point){at, f(context, at)});
  }
  return s.best.x;
}

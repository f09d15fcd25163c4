/* T13: the lowest score of a row in a ball, and what it proves about rows that an engine did not return. */
#include <float.h>
#include <math.h>

#include "base/elementary.h"
#include "engine/t13_certificate.h"
#include "sphere/map_object.h"
#include "sphere/embedded_distance.h"

/* The point at t on the line through 0 and q, on its meridian: (2 s t, s^2-t^2)/(t^2+s^2). */
typedef struct place {
  double side, up, h; /* s/h, t/h, h = hypot(t,s) */
} place;

static place place_of(double t, double s) {
  double h = cpb_hypot(t, s);
  return (place){s / h, t / h, h};
}

/* p(q,r) on the same meridian, (p1, p0) of T3, with the quantities it is computed from. */
typedef struct axis {
  double norm, r, s;
  place far, near;
  double p1, p0;
} axis;

static axis axis_of(double norm, double r, double s) {
  place far = place_of(norm + r, s), near = place_of(norm - r, s);
  double p1 = 2 * far.side * (norm / near.h), p0 = far.side * near.side - far.up * near.up;
  return (axis){norm, r, s, far, near, p1, p0};
}

/* sin^2 of half the angle between p(q,r) and the end q+step of the ball, step = -D or D, for angles up to pi.
 * With t = q+step the sine of the angle is 2s(step(s^2+qt) + t r^2)/(h1 h2 (t^2+s^2)), in which only the effects of
 * step and r can cancel; the cosine is <p,S(t)>. */
static double half_sine2(const axis *p, double step) {
  place end = place_of(p->norm + step, p->s);
  double bend = end.side * end.side + p->norm / end.h * end.up;
  double shift = p->r / p->near.h * (p->r / end.h) * end.up;
  double sine = 2 * p->far.side * (step / p->near.h * bend + shift);
  double cosine = p->p0 * (end.side - end.up) * (end.side + end.up) + p->p1 * 2 * end.side * end.up;
  return cosine > 0 ? sine * sine / (2 * (1 + cosine)) : (1 - cosine) / 2;
}

double cpb_query_reach(double norm, double r, double s, double D) {
  bool domain = norm >= 0 && r >= 0 && D >= 0 && s > 0 && isfinite(norm) && isfinite(r) && isfinite(s);
  if (!domain) return NAN;
  axis p = axis_of(norm, r, s);
  if (isinf(D) || (D - norm) * p.p1 >= s * (1 + p.p0)) return 1; /* the antipode of p is at -s (1+p0)/p1 */
  return fmin(1, fmax(half_sine2(&p, -D), half_sine2(&p, D)));
}

double cpb_query_score_error(size_t d, cpb_dtype scores) {
  double given = scores == CPB_F32 ? 4 * 0x1p-24 : scores == CPB_F16 ? 4 * 0x1p-11 : 0;
  return 2 * ((double)d + 4) * 0x1p-24 + given;
}

/* An upper bound on the true distance for a computed D of stored rows: |x-q| = sqrt(norm^2+s^2) |y-S(q)|/|y+e|. Both
 * lengths change by no more than y and S(q) do, the second, computed by cpb_rise, by at most three times that. |y+e| is
 * 2s/sqrt(|x|^2+s^2), smallest at the far end of the ball; the factor 4 instead of 3 covers its own rounding. */
static double largest_distance(double norm, double s, double D, double error) {
  double lift = 2 * s / cpb_hypot(norm + D, s);
  return error < lift / 8 ? (D + 2 * error * cpb_hypot(norm, s) / lift) / (1 - 4 * error / lift) : INFINITY;
}

double cpb_query_floor(const cpb_map *map, double norm, double r, double D, double row_error,
                       double score_error) {
  static const double u64 = DBL_EPSILON / 2;
  bool domain = map != NULL && norm >= 0 && r >= 0 && D >= 0 && row_error >= 0 && score_error >= 0;
  if (!domain || cpb_check_round(map, NULL) != CPB_OK) return NAN;
  double s = map->options.s, of_double = cpb_query_row_error(map, CPB_F64);
  cpb_map_rounding z = cpb_map_rounding_of(map);
  double shift = u64 * z.times * (norm + z.shift); /* error of q itself */
  double truly = largest_distance(norm, s, D, row_error + of_double) * (1 + 64 * u64) + 2 * shift;
  if (!isfinite(truly)) return -INFINITY;
  double margin = row_error + score_error + 4 * of_double + 32 * u64 * (1 + (norm + r + truly) / s);
  return 1 - 2 * cpb_query_reach(norm, r, s, truly) - margin;
}

bool cpb_query_proves(uint64_t found, uint64_t count, uint64_t rows, double lowest, double least) {
  return found == rows || (found >= count && lowest < least);
}

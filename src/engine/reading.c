/* T13: distances from rows and from scores, and the lowest score in a ball, for the sphere and the lifts. */
#include "sphere/products.h"
#include "engine/reading.h"
#include "engine/t13_certificate.h"
#include "engine/t13_query.h"
#include "engine/t13_transform.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "capball/advanced/candidates.h"
#include "base/elementary.h"
#include "base/fail.h"
#include "base/rows.h"
#include "loops/chunk.h"
#include "loops/row_state.h"
#include "sphere/map_object.h"
#include "sphere/embedded_distance.h"

static const double u64 = DBL_EPSILON / 2;

cpb_status cpb_reading_of_transform(cpb_reading *reading, const cpb_transform *transform, double r,
                                    cpb_error *error) {
  if (transform == NULL) return cpb_fail_missing(error, "transform");
  size_t d = transform->options.d, cols = cpb_transform_cols(transform);
  *reading = (cpb_reading){transform->map, transform, d, cols, r};
  if (transform->map != NULL) return cpb_check_round(transform->map, error);
  bool lift = transform->facts.keeps == CPB_L2 && transform->facts.metric != CPB_L2;
  if (!lift)
    return cpb_fail_count(error, "transform", transform->options.kind,
                          "distances can be computed from rows of sphere, lift-ip and lift-cosine, not of "
                          "%s: the kind must be one of these",
                          transform->facts.name);
  if (r != 0)
    return cpb_fail_domain(error, "radius", r, "lifts have no balls: the radius of their queries must be 0");
  return CPB_OK;
}

/* ---- lifts ---- */

static bool is_cosine(const cpb_reading *reading) {
  return reading->lift->options.kind == CPB_TRANSFORM_LIFT_COSINE;
}

/* <p,y> = gain (norm^2 - |x-q|^2/L^2)/2 */
static double gain_of(const cpb_reading *reading, double norm) {
  return is_cosine(reading) ? 1 / (cpb_lift_roof * cpb_hypot(norm, 1 / cpb_lift_h)) : 1;
}

static double length_of_question(const cpb_reading *reading, double norm) {
  return is_cosine(reading) ? 1 : cpb_hypot(norm, 1);
}

static double coordinate_about_center(const cpb_reading *reading, cpb_view query, size_t i) {
  const double *m = reading->lift->options.center;
  return cpb_view_at(query, 0, i) - (m != NULL ? m[i] : 0);
}

static cpb_status lift_distances(const cpb_reading *reading, cpb_view query, cpb_view rows, double *distances,
                                 cpb_error *error) {
  size_t d = reading->d;
  double *q = malloc((2 * d + reading->cols) * sizeof *q), unit = cpb_transform_unit(reading->lift);
  if (q == NULL) return cpb_fail_memory(error, "a row of %zu columns", d);
  double *y = q + d, *step = y + reading->cols;
  cpb_status status = cpb_check_finite_row(query, 0, "queries", error);
  for (size_t i = 0; i < d; i++) q[i] = coordinate_about_center(reading, query, i);
  for (size_t row = 0; row < rows.rows && status == CPB_OK; row++) {
    status = cpb_check_finite_row(rows, row, "embedded", error);
    cpb_row_widen(rows, row, y);
    cpb_loops_here()->axpby(unit, y, -1, q, step, d);
    distances[row] = sqrt(cpb_loops_here()->dot(step, step, d));
  }
  free(q);
  return status;
}

static void lift_norms(const cpb_reading *reading, cpb_view queries, double *norms) {
  for (size_t i = 0; i < queries.rows; i++) {
    double sum = 0;
    for (size_t k = 0; k < reading->d; k++) {
      double z = coordinate_about_center(reading, cpb_view_slice(queries, i, 1), k);
      sum += z * z;
    }
    norms[i] = sqrt(sum) / reading->lift->options.max_norm;
  }
}

/* The rounding of the centre, in the unit of the lift. */
static double center_rounding(const cpb_reading *reading) {
  const double *m = reading->lift->options.center;
  if (m == NULL) return 0;
  return u64 * 4 * sqrt(cpb_loops_here()->dot(m, m, reading->d)) / reading->lift->options.max_norm;
}

static double lift_floor(const cpb_reading *reading, double norm, double D, double row_error,
                         double score_error) {
  double L = reading->lift->options.max_norm, gain = gain_of(reading, norm);
  double sums = ((double)reading->d + 64) * u64;
  double far = (D * (1 + sums) + cpb_transform_unit(reading->lift) * row_error) / L +
               2 * center_rounding(reading) + sums * norm;
  double margin = length_of_question(reading, norm) * row_error + score_error;
  return gain * (norm * norm - far * far) / 2 - margin - sums * gain * (1 + norm * norm + far * far);
}

/* How far y is from the surface of the lift at its first d coordinates. */
static double lift_off(const cpb_reading *reading, const double *y) {
  double unit = is_cosine(reading) ? cpb_lift_roof : 1, bend = is_cosine(reading) ? cpb_lift_h : 1;
  double t = unit * unit * cpb_loops_here()->dot(y, y, reading->d);
  double off = fabs(y[reading->d] + bend / 2 * t / unit);
  if (!is_cosine(reading)) return off;
  return fmax(off, fabs(sqrt(cpb_loops_here()->dot(y, y, reading->cols)) - 1));
}

/* ---- sphere or lift ---- */

cpb_status cpb_reading_prepare(const cpb_reading *reading, cpb_view queries, double *norms, double *p,
                               const cpb_exec *exec, cpb_error *error) {
  cpb_out out = cpb_rows_out(p, CPB_F64, queries.rows, reading->cols);
  if (reading->map == NULL) {
    cpb_status status = cpb_transform_apply(reading->lift, CPB_ROLE_QUERY, queries, out, exec, error);
    if (status == CPB_OK) lift_norms(reading, queries, norms);
    return status;
  }
  cpb_status status = cpb_query_norms(reading->map, queries, norms, exec, error);
  return status == CPB_OK ? cpb_query_balls(reading->map, queries, reading->r, out, exec, error) : status;
}

cpb_status cpb_reading_distances(const cpb_reading *reading, cpb_view query, cpb_view rows, double *distances,
                                 cpb_error *error) {
  return reading->map != NULL ? cpb_query_distances(reading->map, query, rows, distances, error)
                              : lift_distances(reading, query, rows, distances, error);
}

double cpb_reading_scored(const cpb_reading *reading, double norm, double score, const double *y) {
  if (reading->map == NULL) {
    double square = norm * norm - 2 * score / gain_of(reading, norm);
    return reading->lift->options.max_norm * sqrt(fmax(0, square));
  }
  double rise = cpb_rise(y[reading->d], cpb_loops_here()->dot(y, y, reading->d));
  return cpb_query_distance(norm, reading->r, reading->map->options.s, score, rise);
}

double cpb_reading_floor(const cpb_reading *reading, double norm, double D, double row_error,
                         double score_error) {
  return reading->map != NULL ? cpb_query_floor(reading->map, norm, reading->r, D, row_error, score_error)
                              : lift_floor(reading, norm, D, row_error, score_error);
}

double cpb_reading_row_error(const cpb_reading *reading, cpb_dtype dtype) {
  if (reading->map != NULL) return cpb_query_row_error(reading->map, dtype);
  double u = dtype == CPB_F64 ? u64 : dtype == CPB_F32 ? 0x1p-24 : dtype == CPB_F16 ? 0x1p-11 : NAN;
  return 16 * (u + u64) + center_rounding(reading);
}

double cpb_reading_off(const cpb_reading *reading, const double *y) {
  if (reading->map == NULL) return lift_off(reading, y);
  return fabs(sqrt(cpb_loops_here()->dot(y, y, reading->cols)) - 1);
}

double cpb_reading_size(const cpb_reading *reading, double norm) {
  bool unit = reading->map != NULL || is_cosine(reading);
  return unit ? 1 : length_of_question(reading, norm) * 1.125; /* |y|^2 <= 1 + 1/4 */
}

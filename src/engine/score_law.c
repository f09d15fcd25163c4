/* T13: distances from rows and from scores, and the lowest score in a ball, for the sphere and the lifts. */
#include "sphere/products.h"
#include "engine/score_law.h"
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

cpb_status cpb_score_law_of_transform(cpb_score_law *law, const cpb_transform *transform, double r,
                                      cpb_error *error) {
  if (transform == NULL) return cpb_fail_missing(error, "transform");
  size_t d = transform->options.d, cols = cpb_transform_cols(transform);
  *law = (cpb_score_law){transform->map, transform, d, cols, r};
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

static bool is_cosine(const cpb_score_law *law) {
  return law->lift->options.kind == CPB_TRANSFORM_LIFT_COSINE;
}

/* <p,y> = gain (norm^2 - |x-q|^2/L^2)/2 */
static double gain_of(const cpb_score_law *law, double norm) {
  return is_cosine(law) ? 1 / (cpb_lift_roof * cpb_hypot(norm, 1 / cpb_lift_h)) : 1;
}

static double length_of_question(const cpb_score_law *law, double norm) {
  return is_cosine(law) ? 1 : cpb_hypot(norm, 1);
}

static double coordinate_about_center(const cpb_score_law *law, cpb_view query, size_t i) {
  const double *m = law->lift->options.center;
  return cpb_view_at(query, 0, i) - (m != NULL ? m[i] : 0);
}

static cpb_status lift_distances(const cpb_score_law *law, cpb_view query, cpb_view rows, double *distances,
                                 cpb_error *error) {
  size_t d = law->d;
  double *q = malloc((2 * d + law->cols) * sizeof *q), unit = cpb_transform_unit(law->lift);
  if (q == NULL) return cpb_fail_memory(error, "a row of %zu columns", d);
  double *y = q + d, *step = y + law->cols;
  cpb_status status = cpb_check_finite_row(query, 0, "queries", error);
  for (size_t i = 0; i < d; i++) q[i] = coordinate_about_center(law, query, i);
  for (size_t row = 0; row < rows.rows && status == CPB_OK; row++) {
    status = cpb_check_finite_row(rows, row, "embedded", error);
    cpb_row_widen(rows, row, y);
    cpb_loops_here()->axpby(unit, y, -1, q, step, d);
    distances[row] = sqrt(cpb_loops_here()->dot(step, step, d));
  }
  free(q);
  return status;
}

static void lift_norms(const cpb_score_law *law, cpb_view queries, double *norms) {
  for (size_t i = 0; i < queries.rows; i++) {
    double sum = 0;
    for (size_t k = 0; k < law->d; k++) {
      double z = coordinate_about_center(law, cpb_view_slice(queries, i, 1), k);
      sum += z * z;
    }
    norms[i] = sqrt(sum) / law->lift->options.max_norm;
  }
}

/* The rounding of the centre, in the unit of the lift. */
static double center_rounding(const cpb_score_law *law) {
  const double *m = law->lift->options.center;
  if (m == NULL) return 0;
  return u64 * 4 * sqrt(cpb_loops_here()->dot(m, m, law->d)) / law->lift->options.max_norm;
}

static double lift_floor(const cpb_score_law *law, double norm, double D, double row_error,
                         double score_error) {
  double L = law->lift->options.max_norm, gain = gain_of(law, norm);
  double sums = ((double)law->d + 64) * u64;
  double far = (D * (1 + sums) + cpb_transform_unit(law->lift) * row_error) / L + 2 * center_rounding(law) +
               sums * norm;
  double margin = length_of_question(law, norm) * row_error + score_error;
  return gain * (norm * norm - far * far) / 2 - margin - sums * gain * (1 + norm * norm + far * far);
}

/* How far y is from the surface of the lift at its first d coordinates. */
static double lift_off(const cpb_score_law *law, const double *y) {
  double unit = is_cosine(law) ? cpb_lift_roof : 1, bend = is_cosine(law) ? cpb_lift_h : 1;
  double t = unit * unit * cpb_loops_here()->dot(y, y, law->d);
  double off = fabs(y[law->d] + bend / 2 * t / unit);
  if (!is_cosine(law)) return off;
  return fmax(off, fabs(sqrt(cpb_loops_here()->dot(y, y, law->cols)) - 1));
}

/* ---- sphere or lift ---- */

cpb_status cpb_score_law_prepare(const cpb_score_law *law, cpb_view queries, double *norms, double *p,
                                 const cpb_exec *exec, cpb_error *error) {
  cpb_out out = cpb_rows_out(p, CPB_F64, queries.rows, law->cols);
  if (law->map == NULL) {
    cpb_status status = cpb_transform_apply(law->lift, CPB_ROLE_QUERY, queries, out, exec, error);
    if (status == CPB_OK) lift_norms(law, queries, norms);
    return status;
  }
  cpb_status status = cpb_query_norms(law->map, queries, norms, exec, error);
  return status == CPB_OK ? cpb_query_balls(law->map, queries, law->r, out, exec, error) : status;
}

cpb_status cpb_score_law_distances(const cpb_score_law *law, cpb_view query, cpb_view rows, double *distances,
                                   cpb_error *error) {
  return law->map != NULL ? cpb_query_distances(law->map, query, rows, distances, error)
                          : lift_distances(law, query, rows, distances, error);
}

double cpb_score_law_scored(const cpb_score_law *law, double norm, double score, const double *y) {
  if (law->map == NULL) {
    double square = norm * norm - 2 * score / gain_of(law, norm);
    return law->lift->options.max_norm * sqrt(fmax(0, square));
  }
  double rise = cpb_rise(y[law->d], cpb_loops_here()->dot(y, y, law->d));
  return cpb_query_distance(norm, law->r, law->map->options.s, score, rise);
}

double cpb_score_law_floor(const cpb_score_law *law, double norm, double D, double row_error,
                           double score_error) {
  return law->map != NULL ? cpb_query_floor(law->map, norm, law->r, D, row_error, score_error)
                          : lift_floor(law, norm, D, row_error, score_error);
}

double cpb_score_law_row_error(const cpb_score_law *law, cpb_dtype dtype) {
  if (law->map != NULL) return cpb_query_row_error(law->map, dtype);
  double u = dtype == CPB_F64 ? u64 : dtype == CPB_F32 ? 0x1p-24 : dtype == CPB_F16 ? 0x1p-11 : NAN;
  return 16 * (u + u64) + center_rounding(law);
}

double cpb_score_law_off(const cpb_score_law *law, const double *y) {
  if (law->map == NULL) return lift_off(law, y);
  return fabs(sqrt(cpb_loops_here()->dot(y, y, law->cols)) - 1);
}

double cpb_score_law_size(const cpb_score_law *law, double norm) {
  bool unit = law->map != NULL || is_cosine(law);
  return unit ? 1 : length_of_question(law, norm) * 1.125; /* |y|^2 <= 1 + 1/4 */
}

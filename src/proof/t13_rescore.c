/* T13: original distances from embedded rows, or from the numbers an engine returns. */
#include <math.h>
#include <stdlib.h>

#include "capball/advanced/candidates.h"
#include "core/fail.h"
#include "core/rows.h"
#include "geometry/regions.h"
#include "geometry/products.h"
#include "geometry/t1_embed.h"
#include "loop/chunk.h"
#include "proof/proof_parts.h"
#include "batch/map_object.h"

cpb_status cpb_question_embed(const cpb_map *map, cpb_view query, cpb_question_point *point,
                              cpb_error *error) {
  size_t d = map->options.d;
  point->d = d;
  point->s = map->options.s;
  cpb_status status = cpb_map_embed(map, query, cpb_rows_out(point->image, CPB_F64, 1, d + 1), NULL, error);
  point->rise = cpb_rise(point->image[d], cpb_loops_here()->dot(point->image, point->image, d));
  return status;
}

double cpb_question_distance(const cpb_question_point *point, const double *y) {
  const cpb_loops *loops = cpb_loops_here();
  size_t d = point->d;
  double rise = cpb_rise(y[d], loops->dot(y, y, d));
  if (rise == 0) return INFINITY;
  double unit = cpb_unit_power(point->s); /* s^2 may exceed the range of double */
  double dist2_hat = loops->dist2(y, point->image, d + 1);
  return sqrt(cpb_original_dist2(dist2_hat, rise, point->rise, point->s * unit)) / unit;
}

static cpb_status measure(const cpb_question_point *point, cpb_view rows, double *row, double *distances,
                          cpb_error *error) {
  for (size_t i = 0; i < rows.rows; i++) {
    cpb_row_widen(rows, i, row);
    distances[i] = cpb_question_distance(point, row);
    if (isnan(distances[i]))
      return cpb_fail_row(error, CPB_WHY_ROW_OFF_SPHERE, "rows", i, "is not a point of the sphere");
  }
  return CPB_OK;
}

cpb_status cpb_query_distances(const cpb_map *map, cpb_view query, cpb_view rows, double *distances,
                               cpb_error *error) {
  cpb_status status = cpb_check_round(map, error);
  if (status != CPB_OK) return status;
  size_t d = map->options.d;
  status = cpb_check_view(query, "query", d, error);
  if (status == CPB_OK) status = cpb_check_view(rows, "rows", d + 1, error);
  if (status != CPB_OK) return status;
  if (query.rows != 1) return cpb_fail_rows(error, "query", query.rows, 1);
  if (rows.rows > 0 && distances == NULL) return cpb_fail_missing(error, "distances");
  status = cpb_check_finite_row(query, 0, "query", error);
  if (status != CPB_OK) return status;
  double *memory = malloc(2 * (d + 1) * sizeof *memory);
  if (memory == NULL) return cpb_fail_memory(error, "a row of %zu columns", d + 1);
  cpb_question_point point = {.image = memory};
  status = cpb_question_embed(map, query, &point, error);
  if (status == CPB_OK) status = measure(&point, rows, memory + d + 1, distances, error);
  free(memory);
  return status;
}

double cpb_query_distance(double norm, double r, double s, double score, double rise) {
  cpb_lift lift;
  bool domain = norm >= 0 && r >= 0 && s > 0 && isfinite(norm) && isfinite(r) && isfinite(s) && rise >= 0;
  if (!domain || isnan(score) || cpb_lift_ball(cpb_squares_of(&norm, 1), r, s, &lift, NULL) != CPB_OK)
    return NAN;
  if (rise == 0) return INFINITY;
  double b = r == 0 ? 1 : lift.b; /* exact, without the rounding of its terms */
  double unit = cpb_unit_power(fmax(r, s)), radius = r * unit, scale = s * unit;
  double beyond = 2 * scale * ((b - score) / (rise * lift.a)) * scale;
  return sqrt(fmax(0, radius * radius + beyond)) / unit;
}

/* T10 T11: models from rounds over pieces. */
#include <stdlib.h>

#include "core/fail.h"
#include "fit/fit_parts.h"
#include "learn/rounds_parts.h"
#include "learn/quantiles.h"
#include "learn/rounds_parts.h"

typedef struct ball_arrays {
  double *center, *multipliers;
  uint64_t *rows;
} ball_arrays;

static void arrays_free(ball_arrays *arrays) {
  free(arrays->center);
  free(arrays->multipliers);
  free(arrays->rows);
}

static cpb_status arrays_new(ball_arrays *arrays, size_t d, cpb_error *error) {
  *arrays = (ball_arrays){calloc(d, sizeof(double)), calloc(d + 1, sizeof(double)),
                          calloc(d + 1, sizeof(uint64_t))};
  if (arrays->center != NULL && arrays->multipliers != NULL && arrays->rows != NULL) return CPB_OK;
  arrays_free(arrays);
  return cpb_fail_memory(error, "a ball of %zu columns", d);
}

static cpb_status make_model(cpb_model_options *o, double *scores, size_t count, cpb_model **model,
                             cpb_error *error) {
  double quantiles[CPB_MODEL_QUANTILES];
  cpb_status status = cpb_check_ball(o, error);
  if (status != CPB_OK) return status;
  if (count > 0) {
    cpb_score_quantiles(scores, count, CPB_MODEL_QUANTILES, quantiles);
    o->quantiles = quantiles;
    o->quantile_count = CPB_MODEL_QUANTILES;
  }
  return cpb_model_new(o, model, error);
}

static cpb_status take_ball(const cpb_ball_rounds *from, const ball_arrays *arrays, cpb_model_options *o,
                            cpb_error *error) {
  cpb_ball_report report = {.size = sizeof report};
  cpb_ball_out out = {arrays->center, arrays->rows, arrays->multipliers};
  cpb_status status = cpb_ball_rounds_ball(from, &out, &report, error);
  o->radius = report.radius;
  o->gap = report.gap;
  o->lower_bound = report.lower_bound;
  o->converged = report.converged;
  o->support = o->listed = report.support;
  o->center = arrays->center;
  o->support_rows = arrays->rows;
  o->multipliers = arrays->multipliers;
  return status;
}

cpb_status cpb_model_from_ball_rounds(const cpb_ball_rounds *from, uint64_t rows, double *scores,
                                      size_t count, cpb_model **model, cpb_error *error) {
  if (from == NULL || model == NULL) return cpb_fail_missing(error, from == NULL ? "from" : "model");
  *model = NULL;
  cpb_model_options o;
  cpb_model_options_init(&o, sizeof o);
  o.d = from->d;
  o.rows = rows;
  ball_arrays arrays;
  cpb_status status = arrays_new(&arrays, o.d, error);
  if (status != CPB_OK) return status;
  status = take_ball(from, &arrays, &o, error);
  if (status == CPB_OK) status = make_model(&o, scores, count, model, error);
  arrays_free(&arrays);
  return status;
}

cpb_status cpb_model_from_svdd_rounds(const cpb_svdd_rounds *from, uint64_t rows, double *scores,
                                      size_t count, cpb_model **model, cpb_error *error) {
  if (from == NULL || model == NULL) return cpb_fail_missing(error, from == NULL ? "from" : "model");
  *model = NULL;
  cpb_model_options o;
  cpb_svdd_report report = {.size = sizeof report};
  cpb_model_options_init(&o, sizeof o);
  double *center = calloc(from->d, sizeof *center);
  if (center == NULL) return cpb_fail_memory(error, "%zu columns", from->d);
  cpb_status status = cpb_svdd_rounds_ball(from, center, &report, error);
  o.d = from->d;
  o.rows = rows;
  o.method = CPB_MODEL_EXACT;
  o.nu = from->options.nu;
  o.center = center;
  o.radius = report.radius;
  o.gap = report.gap;
  o.lower_bound = report.lower_bound;
  o.converged = report.converged;
  if (status == CPB_OK) status = make_model(&o, scores, count, model, error);
  free(center);
  return status;
}

/* T10 T11: models from rounds over pieces. */
#include <stdlib.h>

#include "core/fail.h"
#include "core/memory.h"
#include "fit/fit_parts.h"
#include "learn/piece_rounds.h"
#include "learn/rounds_parts.h"

static cpb_status make_model(cpb_model_options *o, const cpb_svdd_report *report, double *scores,
                             size_t count, cpb_model **model, cpb_error *error) {
  double quantiles[CPB_MODEL_QUANTILES];
  cpb_model_take_report(o, report);
  if (o->nu > 0) o->support = 0; /* the pieces have them */
  cpb_status status = cpb_check_ball(o, error);
  if (status != CPB_OK) return status;
  if (count > 0) {
    o->quantiles = quantiles;
    o->quantile_count = cpb_model_quantiles(scores, count, quantiles);
  }
  return cpb_model_new(o, model, error);
}

cpb_status cpb_model_from_ball_rounds(const cpb_ball_rounds *from, uint64_t rows, double *scores,
                                      size_t count, cpb_model **model, cpb_error *error) {
  if (from == NULL || model == NULL) return cpb_fail_missing(error, from == NULL ? "from" : "model");
  *model = NULL;
  size_t d = from->d;
  cpb_memory memory = {0};
  cpb_ball_report report = {.size = sizeof report};
  cpb_ball_out out = {.center = cpb_memory_zeros(&memory, d, sizeof(double)),
                      .rows = cpb_memory_zeros(&memory, d + 1, sizeof(uint64_t)),
                      .multipliers = cpb_memory_zeros(&memory, d + 1, sizeof(double))};
  cpb_status status = memory.failed ? cpb_fail_memory(error, "a ball of %zu columns", d)
                                    : cpb_ball_rounds_ball(from, &out, &report, error);
  cpb_model_options o;
  cpb_model_options_init(&o, sizeof o);
  o.d = d;
  o.rows = rows;
  cpb_svdd_report found = cpb_report_of_ball(&report);
  o.listed = report.support;
  o.center = out.center;
  o.support_rows = out.rows;
  o.multipliers = out.multipliers;
  if (status == CPB_OK) status = make_model(&o, &found, scores, count, model, error);
  cpb_memory_free(&memory);
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
  if (status == CPB_OK) status = make_model(&o, &report, scores, count, model, error);
  free(center);
  return status;
}

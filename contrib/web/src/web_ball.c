/* Enclosing balls, SVDD, and models with the rows that they find most unusual. */
#include <stdlib.h>
#include <string.h>

#include "capball/ball.h"
#include "base/fail.h"
#include "show/strange.h"
#include "web.h"

static cpb_text *counts(const uint64_t *numbers, size_t count) {
  cpb_text *list = web_new("[]");
  for (size_t i = 0; i < count; i++) list = cpb_json_append(list, web_new("I", (uint64_t)numbers[i]));
  return list;
}

WEB(enclosing_ball) char *web_enclosing_ball(const web_rows *rows, const char *text) {
  web_options o = web_open(text);
  size_t d = rows->view.cols;
  cpb_ball_options options;
  cpb_ball_report r = {.size = sizeof r};
  cpb_ball_options_init(&options, sizeof options);
  web_get_number(&o, "gap", &options.gap);
  web_get_count(&o, "maxPasses", &options.max_passes);
  cpb_ball_out out = {calloc(d + 1, sizeof(double)), calloc(d + 1, sizeof(uint64_t)),
                      calloc(d + 1, sizeof(double))};
  cpb_status status = o.status;
  if (out.center == NULL || out.rows == NULL || out.multipliers == NULL)
    status = cpb_fail_memory(&web_error, "a ball");
  if (status == CPB_OK) status = cpb_enclosing_ball(rows->view, &options, &out, &r, web_exec(), &web_error);
  status = web_close(&o, status);
  char *result =
      status != CPB_OK
          ? NULL
          : web_text(status, web_new("{s:V, s:f, s:f, s:f, s:b, s:I, s:o, s:V}", "center", out.center, d,
                                     "radius", r.radius, "lowerBound", r.lower_bound, "gap", r.gap,
                                     "converged", (int)r.converged, "passes", (uint64_t)r.passes, "support",
                                     counts(out.rows, r.support), "multipliers", out.multipliers, r.support));
  free(out.center);
  free(out.rows);
  free(out.multipliers);
  return result;
}

static const char *svdd_method(cpb_svdd_method method) {
  return cpb_model_method_name((cpb_model_method)(method + 1));
}
enum { SVDD_METHODS = CPB_SVDD_CAP_SVM_PAPER + 1 };

/* multipliers: one per row, the caller's, or NULL */
WEB(svdd) char *web_svdd(const web_rows *rows, const char *text, double *multipliers) {
  web_options o = web_open(text);
  size_t d = rows->view.cols;
  cpb_svdd_options options;
  cpb_svdd_report r = {.size = sizeof r};
  cpb_svdd_options_init(&options, sizeof options);
  web_get_number(&o, "nu", &options.nu);
  web_get_number(&o, "gap", &options.gap);
  web_get_count(&o, "maxIterations", &options.max_iterations);
  web_get_choice(&o, "method", cpb_svdd_method, svdd_method, SVDD_METHODS, &options.method);
  web_get_vector(&o, "weights", rows->view.rows, &options.weights);
  double *center = calloc(d + 1, sizeof *center);
  cpb_status status = center == NULL ? cpb_fail_memory(&web_error, "a centre") : o.status;
  if (status == CPB_OK)
    status = cpb_svdd(rows->view, &options, center, multipliers, &r, web_exec(), &web_error);
  status = web_close(&o, status);
  char *result =
      status != CPB_OK
          ? NULL
          : web_text(status, web_new("{s:V, s:f, s:o, s:o, s:f, s:b, s:I, s:I}", "center", center, d,
                                     "radius", r.radius, "objective", web_real(r.objective), "lowerBound",
                                     web_real(r.lower_bound), "gap", r.gap, "converged", (int)r.converged,
                                     "support", (uint64_t)r.support, "iterations", (uint64_t)r.iterations));
  free(center);
  return result;
}

/* ---- models ---- */

WEB(model_fit) cpb_model *web_model_fit(const web_rows *rows, const char *text) {
  web_options o = web_open(text);
  cpb_model_fit_options fit;
  cpb_model *model = NULL;
  cpb_model_fit_options_init(&fit, sizeof fit);
  web_get_number(&o, "nu", &fit.nu);
  web_get_number(&o, "gap", &fit.gap);
  web_get_choice(&o, "method", cpb_svdd_method, svdd_method, SVDD_METHODS, &fit.method);
  web_get_flag(&o, "whiten", &fit.whiten);
  web_get_number(&o, "ridge", &fit.ridge);
  web_get_flag(&o, "standardize", &fit.standardize);
  web_get_flag(&o, "robust", &fit.robust);
  web_get_flag(&o, "calibrate", &fit.calibrate);
  web_get_count_or(&o, "balls", "auto", &fit.balls);
  web_get_seed(&o, "seed", &fit.seed);
  web_get_number(&o, "contamination", &fit.contamination);
  web_get_vector(&o, "weights", rows->view.rows, &fit.weights);
  if (fit.weights != NULL) fit.weight_count = rows->view.rows;
  cpb_source source = web_source(rows);
  cpb_status status = o.status;
  if (status == CPB_OK) status = cpb_model_fit(&source, &fit, &model, NULL, web_exec(), &web_error);
  return web_close(&o, status) == CPB_OK ? model : NULL;
}

WEB(model_free) void web_model_free(cpb_model *model) { cpb_model_free(model); }

WEB(model_parse) cpb_model *web_model_parse(const char *text, const char *name) {
  cpb_model *model = NULL;
  return cpb_model_from_json(text, strlen(text), name, &model, &web_error) == CPB_OK ? model : NULL;
}

WEB(model_file) char *web_model_file(const cpb_model *model) {
  char *text = NULL;
  return cpb_model_to_json(model, &text, &web_error) == CPB_OK ? text : NULL;
}

WEB(model_sql) char *web_model_sql(const cpb_model *model) {
  char *text = NULL;
  return cpb_model_to_sql(model, NULL, &text, &web_error) == CPB_OK ? text : NULL;
}

WEB(model_json) char *web_model_json(const cpb_model *model) {
  cpb_model_options o = {.size = sizeof o};
  cpb_model_describe(model, &o);
  size_t numbers = o.center == NULL ? 0 : o.d;
  return web_text(CPB_OK,
                  web_new("{s:s, s:I, s:I, s:V, s:f, s:f, s:f, s:f, s:b, s:I, s:I, s:V, s:o}", "method",
                          cpb_model_method_name(o.method), "kind", (uint64_t)o.kind, "d", (uint64_t)o.d,
                          "center", o.center, numbers, "radius", o.radius, "threshold", o.threshold, "nu",
                          o.nu, "gap", o.gap, "converged", (int)o.converged, "rows", (uint64_t)o.rows,
                          "support", (uint64_t)o.support, "whiten", o.whiten,
                          o.whiten == NULL ? 0 : o.d * o.d, "columns", web_names(o.columns, o.d)));
}

WEB(model_scores) int web_model_scores(const cpb_model *model, const web_rows *x, double *scores) {
  cpb_out out = cpb_rows_out(scores, CPB_F64, x->view.rows, 1);
  cpb_status status = cpb_model_scores(model, x->view, out, web_exec(), &web_error);
  return status == CPB_OK ? 0 : status == CPB_EROW ? 1 : -1;
}

WEB(model_p_values)
void web_model_p_values(const cpb_model *model, const double *scores, size_t count, double *p) {
  for (size_t i = 0; i < count; i++) p[i] = cpb_model_p_value(model, scores[i]);
}

/* verdicts: -1 for an outlier, 1 for others */
WEB(model_verdicts)
void web_model_verdicts(const cpb_model *model, const double *scores, size_t count, int8_t *verdicts) {
  for (size_t i = 0; i < count; i++) verdicts[i] = cpb_model_is_outlier(model, scores[i]) ? -1 : 1;
}

static cpb_text *reasons_of(const cpb_model_options *model, const show_strange *strange) {
  cpb_text *list = web_new("[]");
  char buffer[32];
  for (size_t i = 0; i < strange->reason_count; i++) {
    const show_reason *r = &strange->reasons[i];
    const char *name = show_column_name(model, r->column, buffer, sizeof buffer);
    list = cpb_json_append(list, web_new("{s:I, s:s, s:f, s:f, s:f}", "column", (uint64_t)r->column, "name",
                                         name, "value", r->value, "center", r->center, "share", r->share));
  }
  return list;
}

/* The `count` rows with the lowest scores, and which columns make them so. */
WEB(model_strangest)
char *web_model_strangest(const cpb_model *model, const web_rows *x, const double *scores, size_t count) {
  cpb_model_options o = {.size = sizeof o};
  cpb_model_describe(model, &o);
  if (count > x->view.rows) count = x->view.rows;
  show_strange *strange = calloc(count + 1, sizeof *strange);
  cpb_text *list = web_new("[]");
  if (strange != NULL) show_strange_find(model, x->view, scores, x->view.rows, count, strange);
  for (size_t i = 0; strange != NULL && i < count; i++)
    list =
        cpb_json_append(list, web_new("{s:I, s:f, s:o, s:b, s:o}", "row", (uint64_t)strange[i].row, "score",
                                      strange[i].score, "rank", web_real(strange[i].rank), "outlier",
                                      (int)strange[i].outlier, "reasons", reasons_of(&o, &strange[i])));
  free(strange);
  return web_text(strange == NULL ? cpb_fail_memory(&web_error, "%zu rows", count) : CPB_OK, list);
}

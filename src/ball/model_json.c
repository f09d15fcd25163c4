/* A model as JSON, one key per line; see json_file.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/choice_names.h"
#include "capball/ball.h"
#include "ball/calibration_ranks.h"
#include "base/fail.h"
#include "files/json_file.h"
#include "sphere/t3_cap_ball.h"

enum { VERSION = 1, REGION_VERSION = 2, DIM_MAX = 1 << 24 };

/* ---- writing ---- */

static void put_rows(cpb_text *l, const uint64_t *rows, size_t count) {
  cpb_text_puts(l, rows == NULL ? "null" : "[");
  for (size_t i = 0; rows != NULL && i < count; i++)
    cpb_text_format(l, "%s%llu", i == 0 ? "" : ", ", (unsigned long long)rows[i]);
  if (rows != NULL) cpb_text_puts(l, "]");
}

static void put_support(cpb_text *l, const cpb_model_options *o) {
  cpb_json_put(l, "support", "{s:I, s:", "count", (uint64_t)o->support, "rows");
  put_rows(l, o->support_rows, o->listed);
  cpb_json_pack(l, ", s:V, s:V}", "multipliers", o->listed == 0 ? NULL : o->multipliers, o->listed, "vectors",
                o->vectors, o->listed * o->d);
}

static void put_balls(cpb_text *l, const cpb_model_options *o) {
  cpb_json_put(l, "balls", "{s:I, s:V, s:V, s:V, s:", "count", (uint64_t)o->balls, "centers", o->centers,
               o->balls * o->d, "radii", o->ball_radii, o->balls, "gaps", o->ball_gaps, o->balls, "rows");
  put_rows(l, o->ball_rows, o->balls);
  cpb_text_puts(l, "}");
}

/* "scale" and "cap"; null with a kernel and of several balls. */
static cpb_status put_cap(cpb_text *l, const cpb_model *model, const cpb_model_options *o, cpb_error *error) {
  if (o->kernel.kind != CPB_KERNEL_LINEAR || o->balls > 1) {
    cpb_json_put(l, "scale", "null");
    cpb_json_put(l, "cap", "null");
    return CPB_OK;
  }
  cpb_cap cap = {.d = o->d, .p = malloc((o->d + 1) * sizeof(double))};
  double scale;
  if (cap.p == NULL) return cpb_fail_memory(error, "%zu bytes", (o->d + 1) * sizeof(double));
  cpb_status status = cpb_model_cap(model, &scale, &cap, error);
  if (status == CPB_OK) {
    cpb_json_put(l, "scale", "f", scale);
    cpb_json_put(l, "cap", "{s:V, s:f, s:f, s:f}", "p", cap.p, o->d + 1, "b", cap.b, "sigma", cap.sigma, "a",
                 cap.a);
  }
  free(cap.p);
  return status;
}

static cpb_status put_model(cpb_text *l, const cpb_model *model, cpb_error *error) {
  cpb_model_options o = {.size = sizeof o};
  cpb_model_describe(model, &o);
  bool ball = o.kind == CPB_BALL;
  cpb_json_put_kind(l, "model", ball ? VERSION : REGION_VERSION);
  cpb_json_put(l, "dim", "I", (uint64_t)o.d);
  cpb_json_put_names(l, o.columns, o.d);
  cpb_json_put(l, "method", "s", cpb_model_method_name(o.method));
  if (!ball) cpb_json_put(l, "region", "s", cpb_region_kind_name(o.kind));
  cpb_json_put(l, "center", "V", o.center, o.d);
  cpb_json_put(l, "radius", "f", o.radius);
  cpb_json_put(l, "nu", "f", o.nu);
  cpb_json_put(l, "gap", "f", o.gap);
  cpb_json_put(l, "lower_bound", isnan(o.lower_bound) ? "null" : "f", o.lower_bound);
  cpb_json_put(l, "converged", "b", (int)o.converged);
  cpb_json_put(l, "rows", "I", o.rows);
  cpb_json_put(l, "whiten", "V", o.whiten, o.d * o.d);
  if (o.fill != NULL) cpb_json_put(l, "fill", "V", o.fill, o.d);
  if (o.balls > 1) put_balls(l, &o);
  cpb_json_put(l, "kernel", "{s:s, s:f, s:f, s:I}", "kind", cpb_kernel_names[o.kernel.kind], "gamma",
               o.kernel.gamma, "offset", o.kernel.offset, "degree", (uint64_t)o.kernel.degree);
  cpb_json_put(l, "norm2", "f", o.norm2);
  cpb_status status = put_cap(l, model, &o, error);
  cpb_json_put(l, "quantiles", "V", o.quantiles, o.quantile_count);
  if (o.threshold != 0) cpb_json_put(l, "threshold", "f", o.threshold);
  if (o.robust) cpb_json_put(l, "recipe", "s", "robust");
  if (o.notes != NULL) cpb_json_put(l, "notes", "s", o.notes);
  if (o.calibrated > 0)
    cpb_json_put(l, "calibration", "{s:I, s:V}", "rows", o.calibrated, "scores", o.calibration,
                 cpb_calibration_count(o.calibrated));
  put_support(l, &o);
  return status;
}

cpb_status cpb_model_to_json(const cpb_model *model, char **text, cpb_error *error) {
  if (model == NULL || text == NULL) return cpb_fail_missing(error, model == NULL ? "model" : "text");
  *text = NULL;
  cpb_text l = {0};
  cpb_status status = put_model(&l, model, error);
  if (status == CPB_OK) return cpb_json_finish(&l, "model", text, error);
  free(l.bytes);
  return status;
}

cpb_status cpb_model_save(const cpb_model *model, const char *path, cpb_error *error) {
  char *text = NULL;
  cpb_status status = cpb_model_to_json(model, &text, error);
  return cpb_json_save(status, text, path, error);
}

/* ---- reading ---- */

static cpb_kernel read_kernel(cpb_json_file *f) {
  const cpb_json *value = cpb_json_get(f->root, "kernel");
  const char *kind = cpb_json_string_of(cpb_json_get(value, "kind"));
  size_t i = 0;
  while (kind != NULL && cpb_kernel_names[i] != NULL && strcmp(kind, cpb_kernel_names[i]) != 0) i++;
  if (kind == NULL || cpb_kernel_names[i] == NULL)
    cpb_json_refuse(f, CPB_WHY_JSON_VALUE, "\"kernel\" must have a \"kind\": linear, rbf or polynomial");
  return (cpb_kernel){.kind = (cpb_kernel_kind)i,
                      .gamma = cpb_json_number(f, value, "gamma"),
                      .offset = cpb_json_number(f, value, "offset"),
                      .degree = (unsigned)cpb_json_count(f, value, "degree", 0, 1000)};
}

static void read_support(cpb_json_file *f, cpb_model_options *o) {
  const cpb_json *support = cpb_json_get(f->root, "support");
  o->support = cpb_json_count(f, support, "count", 0, INT64_MAX / 2);
  o->multipliers = cpb_json_numbers(f, support, "multipliers", SIZE_MAX, &o->listed);
  o->support_rows = cpb_json_row_numbers(f, support, o->listed);
  o->vectors = cpb_json_numbers(f, support, "vectors", o->listed * o->d, NULL);
}

static void read_balls(cpb_json_file *f, cpb_model_options *o) {
  const cpb_json *balls = cpb_json_get(f->root, "balls");
  if (balls == NULL) return;
  o->balls = cpb_json_count(f, balls, "count", 2, (long long)(SIZE_MAX / 64 / (o->d == 0 ? 1 : o->d)));
  o->centers = cpb_json_numbers(f, balls, "centers", o->balls * o->d, NULL);
  o->ball_radii = cpb_json_numbers(f, balls, "radii", o->balls, NULL);
  o->ball_gaps = cpb_json_numbers(f, balls, "gaps", o->balls, NULL);
  o->ball_rows = cpb_json_row_numbers(f, balls, o->balls);
}

static cpb_model_method read_method(cpb_json_file *f) {
  const char *word = cpb_json_string_of(cpb_json_get(f->root, "method"));
  for (int i = 0; word != NULL && i < CPB_MODEL_METHODS; i++)
    if (strcmp(word, cpb_model_method_name((cpb_model_method)i)) == 0) return (cpb_model_method)i;
  cpb_json_refuse(f, CPB_WHY_JSON_VALUE,
                  "method must be ball, exact, cap-svm, cap-svm-paper or region, got \"%.40s\"",
                  word == NULL ? "" : word);
  return 0;
}

/* Without the member: a ball, of a file that older releases read, too. */
static cpb_region_kind read_region(cpb_json_file *f) {
  const cpb_json *region = cpb_json_get(f->root, "region");
  const char *word = cpb_json_string_of(region);
  cpb_json_check_kind(f, "model", region == NULL ? VERSION : REGION_VERSION);
  if (region == NULL) return CPB_BALL;
  for (cpb_region_kind kind = CPB_HALFSPACE; word != NULL && kind <= CPB_COMPLEMENT; kind++)
    if (strcmp(word, cpb_region_kind_name(kind)) == 0) return kind;
  cpb_json_refuse(f, CPB_WHY_JSON_VALUE, "region must be complement or halfspace, got \"%.40s\"",
                  word == NULL ? "" : word);
  return CPB_BALL;
}

static void read_calibration(cpb_json_file *f, cpb_model_options *o) {
  const cpb_json *calibration = cpb_json_get(f->root, "calibration");
  if (calibration == NULL) return;
  o->calibrated = cpb_json_rows(f, calibration, "rows", 1, INT64_MAX / 2);
  o->calibration = cpb_json_numbers(f, calibration, "scores", cpb_calibration_count(o->calibrated), NULL);
}

/* The only recipe that there is. */
static bool is_robust(cpb_json_file *f) {
  const char *recipe = cpb_json_string_of(cpb_json_get(f->root, "recipe"));
  if (recipe != NULL && strcmp(recipe, "robust") == 0) return true;
  cpb_json_refuse(f, CPB_WHY_JSON_VALUE, "recipe must be robust, got \"%.40s\"",
                  recipe == NULL ? "" : recipe);
  return false;
}

static void read_options(cpb_json_file *f, cpb_model_options *o) {
  const cpb_json *root = f->root;
  o->kind = read_region(f);
  o->method = read_method(f);
  o->converged = cpb_json_is(cpb_json_get(root, "converged"), CPB_JSON_TRUE);
  o->d = cpb_json_count(f, root, "dim", 1, DIM_MAX);
  bool beyond = cpb_json_is(cpb_json_get(root, "lower_bound"), CPB_JSON_NULL); /* the range of double */
  o->lower_bound = beyond ? NAN : cpb_json_number(f, root, "lower_bound");
  o->radius = cpb_json_number(f, root, "radius");
  o->nu = cpb_json_number(f, root, "nu");
  o->gap = cpb_json_number(f, root, "gap");
  o->norm2 = cpb_json_number(f, root, "norm2");
  o->rows = cpb_json_rows(f, root, "rows", 0, INT64_MAX / 2);
  o->kernel = read_kernel(f);
  o->center = cpb_json_numbers(f, root, "center", o->d, NULL);
  o->whiten = cpb_json_numbers(f, root, "whiten", o->d * o->d, NULL);
  o->quantiles = cpb_json_numbers(f, root, "quantiles", SIZE_MAX, &o->quantile_count);
  if (cpb_json_get(root, "threshold") != NULL) o->threshold = cpb_json_number(f, root, "threshold");
  o->robust = cpb_json_get(root, "recipe") != NULL;
  o->notes = cpb_json_string_of(cpb_json_get(root, "notes"));
  if (o->robust && !is_robust(f)) return;
  read_calibration(f, o);
  read_support(f, o);
  read_balls(f, o);
  o->fill = cpb_json_numbers(f, root, "fill", o->d, NULL);
  o->columns = cpb_json_read_names(f, o->d);
}

static void *make(cpb_json_file *f) {
  cpb_model_options options;
  cpb_error why = {.row = -1};
  cpb_model *model = NULL;
  cpb_model_options_init(&options, sizeof options);
  read_options(f, &options);
  if (f->status == CPB_OK) cpb_json_made(f, cpb_model_new(&options, &model, &why), &why);
  cpb_json_check_sum(f);
  return model;
}

static void release(void *model) { cpb_model_free(model); }
static const cpb_json_kind kind = {"model", make, release};

cpb_status cpb_model_from_json(const char *text, size_t length, const char *name, cpb_model **model,
                               cpb_error *error) {
  return cpb_json_parse(&kind, text, length, name, model, error);
}

cpb_status cpb_model_load(const char *path, cpb_model **model, cpb_error *error) {
  return cpb_json_load(&kind, path, model, error);
}

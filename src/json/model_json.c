/* A model as JSON, one key per line. Numbers have 17 digits, so that reading gives the same bits; the
 * checksum is over the lines before it as they are written, and reading writes them again to compare. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "capball/advanced/flow.h"
#include "capball/ball.h"
#include "capball/file.h"
#include "core/fail.h"
#include "io/buffer.h"
#include "io/file_fail.h"
#include "json/json_file.h"
#include "io/input.h"

enum { VERSION = 1, DIM_MAX = 1 << 24 };

static const char *const kernel_names[] = {"linear", "rbf", "polynomial"};

/* ---- writing ---- */

static json_t *row_numbers(const uint64_t *rows, size_t count) {
  if (rows == NULL) return json_null();
  json_t *array = json_array();
  for (size_t i = 0; i < count; i++) array = cpb_json_append(array, json_integer((json_int_t)rows[i]));
  return array;
}

static json_t *kernel_value(const cpb_kernel *kernel) {
  return json_pack("{s:s, s:f, s:f, s:I}", "kind", kernel_names[kernel->kind], "gamma", kernel->gamma,
                   "offset", kernel->offset, "degree", (json_int_t)kernel->degree);
}

static json_t *numbers_or_null(const double *numbers, size_t count) {
  return numbers == NULL ? json_null() : cpb_json_vector(numbers, count);
}

static json_t *balls_value(const cpb_model_options *o) {
  return json_pack("{s:I, s:o, s:o, s:o, s:o}", "count", (json_int_t)o->balls, "centers",
                   cpb_json_vector(o->centers, o->balls * o->d), "radii",
                   numbers_or_null(o->ball_radii, o->balls), "gaps", numbers_or_null(o->ball_gaps, o->balls),
                   "rows", row_numbers(o->ball_rows, o->balls));
}

/* "scale" and "cap"; null with a kernel and of several balls. */
static cpb_status put_cap(cpb_json_lines *l, const cpb_model *model, const cpb_model_options *o,
                          cpb_error *error) {
  if (o->kernel.kind != CPB_KERNEL_LINEAR || o->balls > 1) {
    cpb_json_put(l, "scale", json_null());
    cpb_json_put(l, "cap", json_null());
    return CPB_OK;
  }
  cpb_cap cap = {.d = o->d, .p = malloc((o->d + 1) * sizeof(double))};
  double scale;
  if (cap.p == NULL) return cpb_fail_memory(error, "%zu bytes", (o->d + 1) * sizeof(double));
  cpb_status status = cpb_model_cap(model, &scale, &cap, error);
  if (status == CPB_OK) {
    cpb_json_put(l, "scale", json_real(scale));
    cpb_json_put(l, "cap",
                 json_pack("{s:o, s:f, s:f, s:f}", "p", cpb_json_vector(cap.p, o->d + 1), "b", cap.b, "sigma",
                           cap.sigma, "a", cap.a));
  }
  free(cap.p);
  return status;
}

static cpb_status put_model(cpb_json_lines *l, const cpb_model *model, cpb_error *error) {
  cpb_model_options o = {.size = sizeof o};
  cpb_model_describe(model, &o);
  cpb_json_put_kind(l, "model", VERSION);
  cpb_json_put(l, "dim", json_integer((json_int_t)o.d));
  if (o.columns != NULL) cpb_json_put(l, "columns", cpb_json_names(o.columns, o.d));
  cpb_json_put(l, "method", json_string(cpb_model_method_name(o.method)));
  cpb_json_put(l, "center", cpb_json_vector(o.center, o.d));
  cpb_json_put(l, "radius", json_real(o.radius));
  cpb_json_put(l, "nu", json_real(o.nu));
  cpb_json_put(l, "gap", json_real(o.gap));
  cpb_json_put(l, "lower_bound", isnan(o.lower_bound) ? json_null() : json_real(o.lower_bound));
  cpb_json_put(l, "converged", json_boolean(o.converged));
  cpb_json_put(l, "rows", json_integer((json_int_t)o.rows));
  cpb_json_put(l, "whiten", cpb_json_vector(o.whiten, o.d * o.d));
  if (o.fill != NULL) cpb_json_put(l, "fill", cpb_json_vector(o.fill, o.d));
  if (o.balls > 1) cpb_json_put(l, "balls", balls_value(&o));
  cpb_json_put(l, "kernel", kernel_value(&o.kernel));
  cpb_json_put(l, "norm2", json_real(o.norm2));
  cpb_status status = put_cap(l, model, &o, error);
  cpb_json_put(l, "quantiles", cpb_json_vector(o.quantiles, o.quantile_count));
  cpb_json_put(l, "support",
               json_pack("{s:I, s:o, s:o, s:o}", "count", (json_int_t)o.support, "rows",
                         row_numbers(o.support_rows, o.listed), "multipliers",
                         o.listed == 0 ? json_null() : cpb_json_vector(o.multipliers, o.listed), "vectors",
                         cpb_json_vector(o.vectors, o.listed * o.d)));
  return status;
}

cpb_status cpb_model_to_json(const cpb_model *model, char **text, cpb_error *error) {
  if (model == NULL || text == NULL) return cpb_fail_missing(error, model == NULL ? "model" : "text");
  *text = NULL;
  cpb_json_lines l = {0};
  cpb_status status = put_model(&l, model, error);
  if (status == CPB_OK) return cpb_json_finish(&l, "model", text, error);
  free(l.text);
  return status;
}

cpb_status cpb_model_save(const cpb_model *model, const char *path, cpb_error *error) {
  char *text = NULL;
  cpb_status status = cpb_model_to_json(model, &text, error);
  if (status == CPB_OK) status = cpb_write_whole(path, text, strlen(text), error);
  free(text);
  return status;
}

/* ---- reading ---- */

/* What reading allocates; freed in one place. */
typedef struct parts {
  double *center, *whiten, *quantiles, *multipliers, *vectors;
  double *centers, *ball_radii, *ball_gaps, *fill;
  uint64_t *rows, *ball_rows;
  const char **columns; /* the texts are the JSON's */
} parts;

static void parts_free(parts *p) {
  free(p->center);
  free(p->whiten);
  free(p->quantiles);
  free(p->multipliers);
  free(p->vectors);
  free(p->rows);
  free(p->centers);
  free(p->ball_radii);
  free(p->ball_gaps);
  free(p->ball_rows);
  free(p->fill);
  free((void *)(uintptr_t)p->columns);
}

static cpb_status read_rows(const json_t *support, const char *name, size_t count, uint64_t **rows,
                            cpb_error *error) {
  const json_t *array = json_object_get(support, "rows");
  if (array == NULL || json_is_null(array) || count == 0) return CPB_OK;
  if (json_array_size(array) != count)
    return cpb_file_fail(error, CPB_WHY_JSON_VALUE, name, "\"rows\" must be null or %zu numbers, got %zu",
                         count, json_array_size(array));
  *rows = malloc(count * sizeof **rows);
  if (*rows == NULL) return cpb_fail_memory(error, "%zu bytes", count * sizeof **rows);
  for (size_t i = 0; i < count; i++) {
    const json_t *row = json_array_get(array, i);
    if (!json_is_integer(row) || json_integer_value(row) < 0)
      return cpb_file_fail(error, CPB_WHY_JSON_VALUE, name, "\"rows\"[%zu] is not a whole number >= 0", i);
    (*rows)[i] = (uint64_t)json_integer_value(row);
  }
  return CPB_OK;
}

static cpb_status read_kernel(const json_t *root, const char *name, cpb_kernel *kernel, cpb_error *error) {
  const json_t *value = json_object_get(root, "kernel");
  const char *kind = json_string_value(json_object_get(value, "kind"));
  size_t degree = 0, i = 0;
  while (kind != NULL && i < 3 && strcmp(kind, kernel_names[i]) != 0) i++;
  if (kind == NULL || i == 3)
    return cpb_file_fail(error, CPB_WHY_JSON_VALUE, name,
                         "\"kernel\" must have a \"kind\": linear, rbf or polynomial");
  kernel->kind = (cpb_kernel_kind)i;
  cpb_status status = cpb_json_number(value, name, "gamma", &kernel->gamma, error);
  if (status == CPB_OK) status = cpb_json_number(value, name, "offset", &kernel->offset, error);
  if (status == CPB_OK) status = cpb_json_count(value, name, "degree", 0, 1000, &degree, error);
  kernel->degree = (unsigned)degree;
  return status;
}

static cpb_status read_support(const json_t *root, const char *name, cpb_model_options *o, parts *p,
                               cpb_error *error) {
  const json_t *support = json_object_get(root, "support");
  cpb_status status = cpb_json_count(support, name, "count", 0, INT64_MAX / 2, &o->support, error);
  if (status == CPB_OK)
    status = cpb_json_numbers(support, name, "multipliers", SIZE_MAX, &o->listed, &p->multipliers, error);
  if (status == CPB_OK) status = read_rows(support, name, o->listed, &p->rows, error);
  if (status == CPB_OK)
    status = cpb_json_numbers(support, name, "vectors", o->listed * o->d, NULL, &p->vectors, error);
  return status;
}

static cpb_status read_balls(const json_t *root, const char *name, cpb_model_options *o, parts *p,
                             cpb_error *error) {
  const json_t *balls = json_object_get(root, "balls");
  if (balls == NULL) return CPB_OK;
  cpb_status status = cpb_json_count(balls, name, "count", 2, SIZE_MAX / DIM_MAX / 64, &o->balls, error);
  if (status == CPB_OK)
    status = cpb_json_numbers(balls, name, "centers", o->balls * o->d, NULL, &p->centers, error);
  if (status == CPB_OK)
    status = cpb_json_numbers(balls, name, "radii", o->balls, NULL, &p->ball_radii, error);
  if (status == CPB_OK) status = cpb_json_numbers(balls, name, "gaps", o->balls, NULL, &p->ball_gaps, error);
  if (status == CPB_OK) status = read_rows(balls, name, o->balls, &p->ball_rows, error);
  return status;
}

static cpb_status read_method(const json_t *root, const char *name, cpb_model_method *method,
                              cpb_error *error) {
  const char *word = json_string_value(json_object_get(root, "method"));
  for (int i = 0; word != NULL && i < CPB_MODEL_METHODS; i++)
    if (strcmp(word, cpb_model_method_name((cpb_model_method)i)) == 0) {
      *method = (cpb_model_method)i;
      return CPB_OK;
    }
  return cpb_file_fail(error, CPB_WHY_JSON_VALUE, name,
                       "method must be ball, exact, cap-svm or cap-svm-paper, got \"%.40s\"",
                       word == NULL ? "" : word);
}

/* null is beyond double. */
static cpb_status read_bound(const json_t *root, const char *name, double *bound, cpb_error *error) {
  *bound = NAN;
  bool beyond = json_is_null(json_object_get(root, "lower_bound"));
  return beyond ? CPB_OK : cpb_json_number(root, name, "lower_bound", bound, error);
}

static cpb_status read_options(const json_t *root, const char *name, cpb_model_options *o, parts *p,
                               cpb_error *error) {
  cpb_status status = cpb_json_check_kind(root, name, "model", VERSION, error);
  if (status != CPB_OK) return status;
  status = read_method(root, name, &o->method, error);
  if (status != CPB_OK) return status;
  o->converged = json_is_true(json_object_get(root, "converged"));
  status = cpb_json_count(root, name, "dim", 1, DIM_MAX, &o->d, error);
  struct {
    const char *key;
    double *to;
  } numbers[] = {{"radius", &o->radius}, {"nu", &o->nu}, {"gap", &o->gap}, {"norm2", &o->norm2}};
  if (status == CPB_OK) status = read_bound(root, name, &o->lower_bound, error);
  for (size_t i = 0; status == CPB_OK && i < sizeof numbers / sizeof *numbers; i++)
    status = cpb_json_number(root, name, numbers[i].key, numbers[i].to, error);
  if (status == CPB_OK) status = cpb_json_rows(root, name, "rows", 0, INT64_MAX / 2, &o->rows, error);
  if (status == CPB_OK) status = read_kernel(root, name, &o->kernel, error);
  if (status == CPB_OK) status = cpb_json_numbers(root, name, "center", o->d, NULL, &p->center, error);
  if (status == CPB_OK) status = cpb_json_numbers(root, name, "whiten", o->d * o->d, NULL, &p->whiten, error);
  if (status == CPB_OK)
    status = cpb_json_numbers(root, name, "quantiles", SIZE_MAX, &o->quantile_count, &p->quantiles, error);
  if (status == CPB_OK) status = read_support(root, name, o, p, error);
  if (status == CPB_OK) status = read_balls(root, name, o, p, error);
  if (status == CPB_OK && json_object_get(root, "fill") != NULL)
    status = cpb_json_numbers(root, name, "fill", o->d, NULL, &p->fill, error);
  if (status == CPB_OK) status = cpb_json_read_names(root, name, o->d, &p->columns, error);
  o->columns = p->columns;
  o->center = p->center;
  o->whiten = p->whiten;
  o->quantiles = p->quantiles;
  o->multipliers = p->multipliers;
  o->support_rows = p->rows;
  o->vectors = p->vectors;
  o->centers = p->centers;
  o->ball_radii = p->ball_radii;
  o->ball_gaps = p->ball_gaps;
  o->ball_rows = p->ball_rows;
  o->fill = p->fill;
  return status;
}

cpb_status cpb_model_from_json(const char *text, size_t length, const char *name, cpb_model **model,
                               cpb_error *error) {
  if (text == NULL || model == NULL) return cpb_fail_missing(error, text == NULL ? "text" : "model");
  const char *called = name == NULL ? "model" : name;
  json_t *root;
  *model = NULL;
  cpb_status status = cpb_json_parse(text, length, called, &root, error);
  if (status != CPB_OK) return status;
  cpb_model_options options;
  cpb_model_options_init(&options, sizeof options);
  parts p = {0};
  cpb_error why = {.row = -1};
  status = read_options(root, called, &options, &p, error);
  if (status == CPB_OK) {
    status = cpb_model_new(&options, model, &why);
    if (status != CPB_OK) status = cpb_json_refused(called, &why, error);
  }
  if (status == CPB_OK) status = cpb_json_check_sum(root, called, text, length, error);
  if (status != CPB_OK) {
    cpb_model_free(*model);
    *model = NULL;
  }
  parts_free(&p);
  json_decref(root);
  return status;
}

cpb_status cpb_model_load(const char *path, cpb_model **model, cpb_error *error) {
  if (path == NULL || model == NULL) return cpb_fail_missing(error, path == NULL ? "path" : "model");
  cpb_buffer buffer = {NULL, 0};
  size_t length;
  const char *name;
  *model = NULL;
  cpb_status status = cpb_read_whole(path, &buffer, &length, &name, error);
  if (status == CPB_OK) status = cpb_model_from_json((const char *)buffer.bytes, length, name, model, error);
  cpb_buffer_free(&buffer);
  return status;
}

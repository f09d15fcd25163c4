/* A model as JSON, one key per line; see json_file.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "capball/ball.h"
#include "core/fail.h"
#include "io/file_fail.h"
#include "json/json_file.h"

enum { VERSION = 1, DIM_MAX = 1 << 24 };

static const char *const kernel_names[] = {"linear", "rbf", "polynomial"};

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
  cpb_json_put_kind(l, "model", VERSION);
  cpb_json_put(l, "dim", "I", (uint64_t)o.d);
  cpb_json_put_names(l, o.columns, o.d);
  cpb_json_put(l, "method", "s", cpb_model_method_name(o.method));
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
  cpb_json_put(l, "kernel", "{s:s, s:f, s:f, s:I}", "kind", kernel_names[o.kernel.kind], "gamma",
               o.kernel.gamma, "offset", o.kernel.offset, "degree", (uint64_t)o.kernel.degree);
  cpb_json_put(l, "norm2", "f", o.norm2);
  cpb_status status = put_cap(l, model, &o, error);
  cpb_json_put(l, "quantiles", "V", o.quantiles, o.quantile_count);
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

/* Everything reading allocates; freed in one place. */
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

static cpb_status read_rows(const cpb_json *support, const char *name, size_t count, uint64_t **rows,
                            cpb_error *error) {
  const cpb_json *array = cpb_json_get(support, "rows");
  if (array == NULL || cpb_json_is(array, CPB_JSON_NULL) || count == 0) return CPB_OK;
  if (cpb_json_size(array) != count)
    return cpb_file_fail(error, CPB_WHY_JSON_VALUE, name, "\"rows\" must be null or %zu numbers, got %zu",
                         count, cpb_json_size(array));
  *rows = malloc(count * sizeof **rows);
  if (*rows == NULL) return cpb_fail_memory(error, "%zu bytes", count * sizeof **rows);
  const cpb_json *row = cpb_json_first(array);
  for (size_t i = 0; i < count; i++, row = row->next) {
    if (!cpb_json_is(row, CPB_JSON_INTEGER) || row->integer < 0)
      return cpb_file_fail(error, CPB_WHY_JSON_VALUE, name, "\"rows\"[%zu] is not a whole number >= 0", i);
    (*rows)[i] = (uint64_t)row->integer;
  }
  return CPB_OK;
}

static cpb_status read_kernel(const cpb_json *root, const char *name, cpb_kernel *kernel, cpb_error *error) {
  const cpb_json *value = cpb_json_get(root, "kernel");
  const char *kind = cpb_json_string_of(cpb_json_get(value, "kind"));
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

static cpb_status read_support(const cpb_json *root, const char *name, cpb_model_options *o, parts *p,
                               cpb_error *error) {
  const cpb_json *support = cpb_json_get(root, "support");
  cpb_status status = cpb_json_count(support, name, "count", 0, INT64_MAX / 2, &o->support, error);
  if (status == CPB_OK)
    status = cpb_json_numbers(support, name, "multipliers", SIZE_MAX, &o->listed, &p->multipliers, error);
  if (status == CPB_OK) status = read_rows(support, name, o->listed, &p->rows, error);
  if (status == CPB_OK)
    status = cpb_json_numbers(support, name, "vectors", o->listed * o->d, NULL, &p->vectors, error);
  return status;
}

static cpb_status read_balls(const cpb_json *root, const char *name, cpb_model_options *o, parts *p,
                             cpb_error *error) {
  const cpb_json *balls = cpb_json_get(root, "balls");
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

static cpb_status read_method(const cpb_json *root, const char *name, cpb_model_method *method,
                              cpb_error *error) {
  const char *word = cpb_json_string_of(cpb_json_get(root, "method"));
  for (int i = 0; word != NULL && i < CPB_MODEL_METHODS; i++)
    if (strcmp(word, cpb_model_method_name((cpb_model_method)i)) == 0) {
      *method = (cpb_model_method)i;
      return CPB_OK;
    }
  return cpb_file_fail(error, CPB_WHY_JSON_VALUE, name,
                       "method must be ball, exact, cap-svm or cap-svm-paper, got \"%.40s\"",
                       word == NULL ? "" : word);
}

/* null means beyond the range of double. */
static cpb_status read_bound(const cpb_json *root, const char *name, double *bound, cpb_error *error) {
  *bound = NAN;
  bool beyond = cpb_json_is(cpb_json_get(root, "lower_bound"), CPB_JSON_NULL);
  return beyond ? CPB_OK : cpb_json_number(root, name, "lower_bound", bound, error);
}

static cpb_status read_options(const cpb_json *root, const char *name, cpb_model_options *o, parts *p,
                               cpb_error *error) {
  cpb_status status = cpb_json_check_kind(root, name, "model", VERSION, error);
  if (status != CPB_OK) return status;
  status = read_method(root, name, &o->method, error);
  if (status != CPB_OK) return status;
  o->converged = cpb_json_is(cpb_json_get(root, "converged"), CPB_JSON_TRUE);
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
  if (status == CPB_OK && cpb_json_get(root, "fill") != NULL)
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

static cpb_status make(const cpb_json_file *file, void **object, cpb_error *error) {
  cpb_model_options options;
  cpb_model_options_init(&options, sizeof options);
  parts p = {0};
  cpb_error why = {.row = -1};
  cpb_model *model = NULL;
  cpb_status status = read_options(file->root, file->name, &options, &p, error);
  if (status == CPB_OK && cpb_model_new(&options, &model, &why) != CPB_OK)
    status = cpb_json_refused(file->name, &why, error);
  if (status == CPB_OK) status = cpb_json_check_sum(file->root, file->name, file->text, file->length, error);
  parts_free(&p);
  *object = model;
  return status;
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

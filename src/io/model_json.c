/* A model as JSON, one key per line. Numbers have 17 digits, so that reading gives the same bits; the
 * checksum is over the lines before it as they are written, and reading writes them again to compare. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capball/file.h"
#include "capball/model.h"
#include "core/fail.h"
#include "io/buffer.h"
#include "io/file_fail.h"
#include "io/source.h"

enum { VERSION = 1, DIM_MAX = 1 << 24 };

static const char *const kernel_names[] = {"linear", "rbf", "polynomial"};

/* ---- writing ---- */

typedef struct lines {
  char *text;
  size_t used, room;
  bool failed;
} lines;

static void put(lines *l, const char *bytes) {
  size_t count = strlen(bytes);
  if (l->used + count + 1 > l->room && !l->failed) {
    char *larger = realloc(l->text, 2 * (l->used + count + 1));
    l->failed = larger == NULL;
    if (larger != NULL) {
      l->text = larger;
      l->room = 2 * (l->used + count + 1);
    }
  }
  if (l->failed) return;
  memcpy(l->text + l->used, bytes, count + 1);
  l->used += count;
}

/* Takes the value over. */
static void put_value(lines *l, const char *key, json_t *value) {
  char *text = value == NULL ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
  put(l, l->used == 0 ? "{\n  \"" : ",\n  \"");
  put(l, key);
  put(l, "\": ");
  if (text == NULL)
    l->failed = true;
  else
    put(l, text);
  free(text);
  json_decref(value);
}

static json_t *vector(const double *numbers, size_t count) {
  if (numbers == NULL) return json_null();
  json_t *array = json_array();
  for (size_t i = 0; i < count; i++) json_array_append_new(array, json_real(numbers[i]));
  return array;
}

static json_t *row_numbers(const uint64_t *rows, size_t count) {
  if (rows == NULL) return json_null();
  json_t *array = json_array();
  for (size_t i = 0; i < count; i++) json_array_append_new(array, json_integer((json_int_t)rows[i]));
  return array;
}

static json_t *kernel_value(const cpb_kernel *kernel) {
  return json_pack("{s:s, s:f, s:f, s:I}", "kind", kernel_names[kernel->kind], "gamma", kernel->gamma,
                   "offset", kernel->offset, "degree", (json_int_t)kernel->degree);
}

/* "scale" and "cap"; null with a kernel. */
static cpb_status put_cap(lines *l, const cpb_model *model, const cpb_model_options *o, cpb_error *error) {
  if (o->kernel.kind != CPB_KERNEL_LINEAR) {
    put_value(l, "scale", json_null());
    put_value(l, "cap", json_null());
    return CPB_OK;
  }
  cpb_cap cap = {.d = o->d, .p = malloc((o->d + 1) * sizeof(double))};
  double scale;
  if (cap.p == NULL) return cpb_fail_memory(error, (o->d + 1) * sizeof(double));
  cpb_status status = cpb_model_cap(model, &scale, &cap, error);
  if (status == CPB_OK) {
    put_value(l, "scale", json_real(scale));
    put_value(l, "cap",
              json_pack("{s:o, s:f, s:f, s:f}", "p", vector(cap.p, o->d + 1), "b", cap.b, "sigma", cap.sigma,
                        "a", cap.a));
  }
  free(cap.p);
  return status;
}

static cpb_status put_model(lines *l, const cpb_model *model, cpb_error *error) {
  cpb_model_options o = cpb_model_describe(model);
  put_value(l, "capball", json_pack("{s:s, s:i}", "kind", "model", "version", VERSION));
  put_value(l, "dim", json_integer((json_int_t)o.d));
  put_value(l, "method", json_string(o.method));
  put_value(l, "center", vector(o.center, o.d));
  put_value(l, "radius", json_real(o.radius));
  put_value(l, "nu", json_real(o.nu));
  put_value(l, "gap", json_real(o.gap));
  put_value(l, "lower_bound", json_real(o.lower_bound));
  put_value(l, "converged", json_boolean(o.converged));
  put_value(l, "rows", json_integer((json_int_t)o.rows));
  put_value(l, "whiten", vector(o.whiten, o.d * o.d));
  put_value(l, "kernel", kernel_value(&o.kernel));
  put_value(l, "norm2", json_real(o.norm2));
  cpb_status status = put_cap(l, model, &o, error);
  put_value(l, "quantiles", vector(o.quantiles, o.quantile_count));
  put_value(l, "support",
            json_pack("{s:I, s:o, s:o, s:o}", "count", (json_int_t)o.support, "rows",
                      row_numbers(o.support_rows, o.listed), "multipliers",
                      o.listed == 0 ? json_null() : vector(o.multipliers, o.listed), "vectors",
                      vector(o.vectors, o.listed * o.d)));
  return status;
}

/* FNV-1a, 64 bits, of the lines so far. */
static void put_checksum(lines *l) {
  uint64_t hash = 0xcbf29ce484222325u;
  char hex[17];
  for (size_t i = 0; i < l->used; i++) hash = (hash ^ (unsigned char)l->text[i]) * 0x100000001b3u;
  snprintf(hex, sizeof hex, "%016" PRIx64, hash);
  put_value(l, "checksum", json_string(hex));
}

cpb_status cpb_model_to_json(const cpb_model *model, char **text, cpb_error *error) {
  if (model == NULL || text == NULL) return cpb_fail(error, CPB_EINVAL, "model and text must not be NULL");
  *text = NULL;
  lines l = {0};
  cpb_status status = put_model(&l, model, error);
  if (status == CPB_OK && !l.failed) {
    put_checksum(&l);
    put(&l, "\n}\n");
  }
  if (status == CPB_OK && l.failed) status = cpb_fail(error, CPB_ENOMEM, "no memory for the text of a model");
  if (status == CPB_OK)
    *text = l.text;
  else
    free(l.text);
  return status;
}

cpb_status cpb_model_save(const char *path, const cpb_model *model, cpb_error *error) {
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
  uint64_t *rows;
} parts;

static void parts_free(parts *p) {
  free(p->center);
  free(p->whiten);
  free(p->quantiles);
  free(p->multipliers);
  free(p->vectors);
  free(p->rows);
}

static cpb_status read_number(const json_t *root, const char *name, const char *key, double *number,
                              cpb_error *error) {
  const json_t *value = json_object_get(root, key);
  if (!json_is_number(value)) return cpb_file_fail(error, CPB_EFORMAT, name, "\"%s\" must be a number", key);
  *number = json_number_value(value);
  return CPB_OK;
}

static cpb_status read_count(const json_t *root, const char *name, const char *key, json_int_t least,
                             json_int_t most, size_t *count, cpb_error *error) {
  const json_t *value = json_object_get(root, key);
  json_int_t number = json_integer_value(value);
  if (!json_is_integer(value) || number < least || number > most)
    return cpb_file_fail(error, CPB_EFORMAT, name,
                         "\"%s\" must be a whole number %" JSON_INTEGER_FORMAT " .. %" JSON_INTEGER_FORMAT,
                         key, least, most);
  *count = (size_t)number;
  return CPB_OK;
}

/* `count` numbers, or NULL for null; the caller frees them. count = SIZE_MAX: any, told in *found. */
static cpb_status read_vector(const json_t *root, const char *name, const char *key, size_t count,
                              size_t *found, double **numbers, cpb_error *error) {
  const json_t *array = json_object_get(root, key);
  *numbers = NULL;
  if (found != NULL) *found = 0;
  if (array == NULL || json_is_null(array)) return CPB_OK;
  size_t size = json_array_size(array);
  if (!json_is_array(array) || size == 0 || (count != SIZE_MAX && size != count))
    return cpb_file_fail(error, CPB_EFORMAT, name, "\"%s\" must be null or %zu numbers, got %zu", key, count,
                         size);
  *numbers = malloc(size * sizeof **numbers);
  if (*numbers == NULL) return cpb_fail_memory(error, size * sizeof **numbers);
  for (size_t i = 0; i < size; i++) {
    const json_t *number = json_array_get(array, i);
    if (!json_is_number(number))
      return cpb_file_fail(error, CPB_EFORMAT, name, "\"%s\"[%zu] is not a number", key, i);
    (*numbers)[i] = json_number_value(number);
  }
  if (found != NULL) *found = size;
  return CPB_OK;
}

static cpb_status read_rows(const json_t *support, const char *name, size_t count, uint64_t **rows,
                            cpb_error *error) {
  const json_t *array = json_object_get(support, "rows");
  if (array == NULL || json_is_null(array) || count == 0) return CPB_OK;
  if (json_array_size(array) != count)
    return cpb_file_fail(error, CPB_EFORMAT, name, "\"rows\" must be null or %zu numbers, got %zu", count,
                         json_array_size(array));
  *rows = malloc(count * sizeof **rows);
  if (*rows == NULL) return cpb_fail_memory(error, count * sizeof **rows);
  for (size_t i = 0; i < count; i++) {
    const json_t *row = json_array_get(array, i);
    if (!json_is_integer(row) || json_integer_value(row) < 0)
      return cpb_file_fail(error, CPB_EFORMAT, name, "\"rows\"[%zu] is not a whole number >= 0", i);
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
    return cpb_file_fail(error, CPB_EFORMAT, name,
                         "\"kernel\" must have a \"kind\": linear, rbf or polynomial");
  kernel->kind = (cpb_kernel_kind)i;
  cpb_status status = read_number(value, name, "gamma", &kernel->gamma, error);
  if (status == CPB_OK) status = read_number(value, name, "offset", &kernel->offset, error);
  if (status == CPB_OK) status = read_count(value, name, "degree", 0, 1000, &degree, error);
  kernel->degree = (unsigned)degree;
  return status;
}

static cpb_status read_support(const json_t *root, const char *name, cpb_model_options *o, parts *p,
                               cpb_error *error) {
  const json_t *support = json_object_get(root, "support");
  cpb_status status = read_count(support, name, "count", 0, INT64_MAX / 2, &o->support, error);
  if (status == CPB_OK)
    status = read_vector(support, name, "multipliers", SIZE_MAX, &o->listed, &p->multipliers, error);
  if (status == CPB_OK) status = read_rows(support, name, o->listed, &p->rows, error);
  if (status == CPB_OK)
    status = read_vector(support, name, "vectors", o->listed * o->d, NULL, &p->vectors, error);
  return status;
}

static cpb_status read_options(const json_t *root, const char *name, cpb_model_options *o, parts *p,
                               cpb_error *error) {
  const json_t *mark = json_object_get(root, "capball");
  const char *kind = json_string_value(json_object_get(mark, "kind"));
  size_t rows = 0;
  if (kind == NULL) return cpb_file_fail(error, CPB_EFORMAT, name, "has no \"capball\": {\"kind\": ..}");
  if (strcmp(kind, "model") != 0)
    return cpb_file_fail(error, CPB_EFORMAT, name, "holds a \"%.40s\", wanted a \"model\"", kind);
  if (json_integer_value(json_object_get(mark, "version")) != VERSION)
    return cpb_file_fail(error, CPB_EFORMAT, name, "is not of version %d", VERSION);
  o->method = json_string_value(json_object_get(root, "method"));
  o->converged = json_is_true(json_object_get(root, "converged"));
  cpb_status status = read_count(root, name, "dim", 1, DIM_MAX, &o->d, error);
  struct {
    const char *key;
    double *to;
  } numbers[] = {{"radius", &o->radius},
                 {"nu", &o->nu},
                 {"gap", &o->gap},
                 {"lower_bound", &o->lower_bound},
                 {"norm2", &o->norm2}};
  for (size_t i = 0; status == CPB_OK && i < sizeof numbers / sizeof *numbers; i++)
    status = read_number(root, name, numbers[i].key, numbers[i].to, error);
  if (status == CPB_OK) status = read_count(root, name, "rows", 0, INT64_MAX / 2, &rows, error);
  if (status == CPB_OK) status = read_kernel(root, name, &o->kernel, error);
  if (status == CPB_OK) status = read_vector(root, name, "center", o->d, NULL, &p->center, error);
  if (status == CPB_OK) status = read_vector(root, name, "whiten", o->d * o->d, NULL, &p->whiten, error);
  if (status == CPB_OK)
    status = read_vector(root, name, "quantiles", SIZE_MAX, &o->quantile_count, &p->quantiles, error);
  if (status == CPB_OK) status = read_support(root, name, o, p, error);
  o->rows = rows;
  o->center = p->center;
  o->whiten = p->whiten;
  o->quantiles = p->quantiles;
  o->multipliers = p->multipliers;
  o->support_rows = p->rows;
  o->vectors = p->vectors;
  return status;
}

/* Writes the model again: its checksum must be the file's. */
static cpb_status check_sum(const json_t *root, const char *name, const cpb_model *model, cpb_error *error) {
  const char *stored = json_string_value(json_object_get(root, "checksum"));
  static const char key[] = "\"checksum\": \"";
  char *text = NULL;
  if (stored == NULL) return cpb_file_fail(error, CPB_EFORMAT, name, "has no \"checksum\"");
  cpb_status status = cpb_model_to_json(model, &text, error);
  if (status != CPB_OK) return status == CPB_ENOMEM ? status : CPB_EFORMAT;
  const char *right = strstr(text, key) + sizeof key - 1;
  if (strlen(stored) != 16 || strncmp(stored, right, 16) != 0)
    status = cpb_file_fail(error, CPB_EFORMAT, name, "its numbers have checksum %.16s, but it says \"%.40s\"",
                           right, stored);
  free(text);
  return status;
}

cpb_status cpb_model_from_json(const char *text, size_t length, const char *name, cpb_model **model,
                               cpb_error *error) {
  if (text == NULL || model == NULL) return cpb_fail(error, CPB_EINVAL, "text and model must not be NULL");
  json_error_t where;
  const char *called = name == NULL ? "model" : name;
  *model = NULL;
  json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &where);
  if (root == NULL)
    return cpb_file_fail(error, CPB_EFORMAT, called, "line %d, column %d: %.100s", where.line, where.column,
                         where.text);
  cpb_model_options options = cpb_model_options_default();
  parts p = {0};
  cpb_error why = {.row = -1};
  cpb_status status = read_options(root, called, &options, &p, error);
  if (status == CPB_OK) {
    status = cpb_model_new(&options, model, &why);
    if (status != CPB_OK && status != CPB_ENOMEM)
      status = cpb_file_fail(error, CPB_EFORMAT, called, "%s", why.text);
    else if (status != CPB_OK)
      cpb_fail(error, status, "%s", why.text);
  }
  if (status == CPB_OK) status = check_sum(root, called, *model, error);
  if (status != CPB_OK) {
    cpb_model_free(*model);
    *model = NULL;
  }
  parts_free(&p);
  json_decref(root);
  return status;
}

cpb_status cpb_model_load(const char *path, cpb_model **model, cpb_error *error) {
  if (path == NULL || model == NULL) return cpb_fail(error, CPB_EINVAL, "path and model must not be NULL");
  cpb_buffer buffer = {NULL, 0};
  size_t length;
  const char *name;
  *model = NULL;
  cpb_status status = cpb_read_whole(path, &buffer, &length, &name, error);
  if (status == CPB_OK) status = cpb_model_from_json((const char *)buffer.bytes, length, name, model, error);
  cpb_buffer_free(&buffer);
  return status;
}

/* A sketch as JSON, one key per line; see json_file.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capball/advanced/flow.h"
#include "capball/file.h"
#include "capball/sketch.h"
#include "core/fail.h"
#include "io/buffer.h"
#include "io/file_fail.h"
#include "json/json_file.h"
#include "io/input.h"
#include "search/sketch_object.h"

enum { VERSION = 1, DIM_MAX = 1 << 24, BITS_MAX = 65536 };

/* ---- writing ---- */

/* [[steps, mean, worst], ..] */
static json_t *curve_value(const cpb_sketch_options *o) {
  json_t *array = json_array();
  for (size_t i = 0; i < o->curve_count; i++)
    array = cpb_json_append(
        array, json_pack("[I, f, f]", (json_int_t)o->curve[i].steps, o->curve[i].mean, o->curve[i].worst));
  return array;
}

cpb_status cpb_sketch_to_json(const cpb_sketch *sketch, char **text, cpb_error *error) {
  if (sketch == NULL || text == NULL) return cpb_fail_missing(error, sketch == NULL ? "sketch" : "text");
  cpb_sketch_options o = {.size = sizeof o};
  cpb_sketch_describe(sketch, &o);
  cpb_json_lines l = {0};
  char seed[24];
  snprintf(seed, sizeof seed, "%llu", (unsigned long long)o.seed); /* JSON's numbers end at 2^63 */
  cpb_json_put_kind(&l, "sketch", VERSION);
  cpb_json_put(&l, "dim", json_integer((json_int_t)o.d));
  cpb_json_put(&l, "bits", json_integer((json_int_t)o.bits));
  cpb_json_put(&l, "variant", json_string(cpb_sketch_kind_name(o.kind)));
  cpb_json_put(&l, "scale", json_real(o.s));
  cpb_json_put(&l, "center", cpb_json_vector(o.center, o.d));
  cpb_json_put(&l, "seed", json_string(seed));
  cpb_json_put(&l, "curve", curve_value(&o));
  cpb_json_put(&l, "normals", cpb_json_vector(o.normals, o.bits * (o.d + 1)));
  return cpb_json_finish(&l, "sketch", text, error);
}

cpb_status cpb_sketch_save(const cpb_sketch *sketch, const char *path, cpb_error *error) {
  char *text = NULL;
  cpb_status status = cpb_sketch_to_json(sketch, &text, error);
  if (status == CPB_OK) status = cpb_write_whole(path, text, strlen(text), error);
  free(text);
  return status;
}

/* ---- reading ---- */

/* What reading allocates; freed in one place. */
typedef struct parts {
  double *center, *normals;
  cpb_sketch_point *curve;
} parts;

static cpb_status read_kind(const json_t *root, const char *name, cpb_sketch_options *o, cpb_error *error) {
  const char *variant = json_string_value(json_object_get(root, "variant"));
  for (int kind = 0; variant != NULL && kind < CPB_SKETCH_KINDS; kind++)
    if (strcmp(variant, cpb_sketch_kind_name((cpb_sketch_kind)kind)) == 0) {
      o->kind = (cpb_sketch_kind)kind;
      return CPB_OK;
    }
  return cpb_file_fail(error, CPB_WHY_JSON_VALUE, name,
                       "\"variant\" must be embedded, centred, random-embedded or random-centred");
}

static cpb_status read_seed(const json_t *root, const char *name, uint64_t *seed, cpb_error *error) {
  const char *text = json_string_value(json_object_get(root, "seed"));
  *seed = 0;
  bool right = text != NULL && *text != 0;
  for (; right && *text != 0; text++) {
    uint64_t digit = (uint64_t)(unsigned char)*text - '0';
    right = digit <= 9 && *seed <= (UINT64_MAX - digit) / 10;
    *seed = 10 * *seed + digit;
  }
  return right ? CPB_OK
               : cpb_file_fail(error, CPB_WHY_JSON_VALUE, name,
                               "\"seed\" must be the digits of a number below 2^64");
}

static cpb_status read_curve(const json_t *root, const char *name, cpb_sketch_options *o, parts *p,
                             cpb_error *error) {
  const json_t *array = json_object_get(root, "curve");
  size_t count = json_array_size(array);
  if (!json_is_array(array))
    return cpb_file_fail(error, CPB_WHY_JSON_VALUE, name, "\"curve\" must be an array");
  p->curve = calloc(count + 1, sizeof *p->curve);
  if (p->curve == NULL) return cpb_fail_memory(error, "%zu bytes", count * sizeof *p->curve);
  for (size_t i = 0; i < count; i++) {
    const json_t *point = json_array_get(array, i), *steps = json_array_get(point, 0);
    const json_t *mean = json_array_get(point, 1), *worst = json_array_get(point, 2);
    if (json_array_size(point) != 3 || !json_is_integer(steps) || json_integer_value(steps) < 0 ||
        !json_is_number(mean) || !json_is_number(worst))
      return cpb_file_fail(error, CPB_WHY_JSON_VALUE, name, "\"curve\"[%zu] is not [steps, mean, worst]", i);
    p->curve[i] = (cpb_sketch_point){(uint64_t)json_integer_value(steps), json_number_value(mean),
                                     json_number_value(worst)};
  }
  o->curve_count = count;
  o->curve = count == 0 ? NULL : p->curve;
  return CPB_OK;
}

static cpb_status read_options(const json_t *root, const char *name, cpb_sketch_options *o, parts *p,
                               cpb_error *error) {
  cpb_status status = cpb_json_check_kind(root, name, "sketch", VERSION, error);
  if (status == CPB_OK) status = cpb_json_count(root, name, "dim", 1, DIM_MAX, &o->d, error);
  if (status == CPB_OK) status = cpb_json_count(root, name, "bits", 8, BITS_MAX, &o->bits, error);
  if (status == CPB_OK) status = read_kind(root, name, o, error);
  if (status == CPB_OK) status = cpb_json_number(root, name, "scale", &o->s, error);
  if (status == CPB_OK) status = cpb_json_numbers(root, name, "center", o->d, NULL, &p->center, error);
  if (status == CPB_OK) status = read_seed(root, name, &o->seed, error);
  if (status == CPB_OK) status = read_curve(root, name, o, p, error);
  if (status == CPB_OK)
    status = cpb_json_numbers(root, name, "normals", o->bits * (o->d + 1), NULL, &p->normals, error);
  o->center = p->center;
  o->normals = p->normals;
  return status;
}

static cpb_status make_sketch(const cpb_sketch_options *options, const char *name, cpb_sketch **sketch,
                              cpb_error *error) {
  cpb_error why = {.row = -1};
  cpb_status status = cpb_sketch_new(options, sketch, &why);
  return status == CPB_OK ? CPB_OK : cpb_json_refused(name, &why, error);
}

cpb_status cpb_sketch_from_json(const char *text, size_t length, const char *name, cpb_sketch **sketch,
                                cpb_error *error) {
  if (text == NULL || sketch == NULL) return cpb_fail_missing(error, text == NULL ? "text" : "sketch");
  const char *called = name == NULL ? "sketch" : name;
  json_t *root;
  *sketch = NULL;
  cpb_status status = cpb_json_parse(text, length, called, &root, error);
  if (status != CPB_OK) return status;
  cpb_sketch_options options;
  cpb_sketch_options_init(&options, sizeof options);
  parts p = {0};
  status = read_options(root, called, &options, &p, error);
  if (status == CPB_OK) status = make_sketch(&options, called, sketch, error);
  if (status == CPB_OK) status = cpb_json_check_sum(root, called, text, length, error);
  if (status != CPB_OK) {
    cpb_sketch_free(*sketch);
    *sketch = NULL;
  }
  free(p.center);
  free(p.normals);
  free(p.curve);
  json_decref(root);
  return status;
}

cpb_status cpb_sketch_load(const char *path, cpb_sketch **sketch, cpb_error *error) {
  if (path == NULL || sketch == NULL) return cpb_fail_missing(error, path == NULL ? "path" : "sketch");
  cpb_buffer buffer = {NULL, 0};
  size_t length;
  const char *name;
  *sketch = NULL;
  cpb_status status = cpb_read_whole(path, &buffer, &length, &name, error);
  if (status == CPB_OK)
    status = cpb_sketch_from_json((const char *)buffer.bytes, length, name, sketch, error);
  cpb_buffer_free(&buffer);
  return status;
}

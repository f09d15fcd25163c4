/* A sketch as JSON, one key per line; see json_file.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capball/sketch.h"
#include "core/fail.h"
#include "io/file_fail.h"
#include "json/json_file.h"
#include "sketch/sketch_object.h"

/* Version 2 has principal sketches; the other kinds are written as version 1, which earlier releases read. */
enum { VERSION = 1, VERSION_PRINCIPAL = 2, DIM_MAX = 1 << 24, BITS_MAX = 65536 };

/* ---- writing ---- */

/* [[steps, mean, worst], ..] */
static void put_curve(cpb_text *l, const cpb_sketch_options *o) {
  cpb_json_put(l, "curve", "[");
  for (size_t i = 0; i < o->curve_count; i++)
    cpb_json_pack(l, i == 0 ? "[I, f, f]" : ", [I, f, f]", o->curve[i].steps, o->curve[i].mean,
                  o->curve[i].worst);
  cpb_text_puts(l, "]");
}

static const char *const rotations[] = {"unknown", "random", "learned", "turned"};

static void put_principal(cpb_text *l, const cpb_sketch_options *o) {
  cpb_json_put(l, "bits_per", "I", (uint64_t)o->bits_per);
  cpb_json_put(l, "factors", "s", cpb_dtype_name(o->factors));
  cpb_json_put(l, "rotation", "s", rotations[o->rotation]);
  cpb_json_put(l, "spread", "f", o->spread);
}

cpb_status cpb_sketch_to_json(const cpb_sketch *sketch, char **text, cpb_error *error) {
  if (sketch == NULL || text == NULL) return cpb_fail_missing(error, sketch == NULL ? "sketch" : "text");
  cpb_sketch_options o = {.size = sizeof o};
  cpb_sketch_describe(sketch, &o);
  cpb_text l = {0};
  char seed[24];
  snprintf(seed, sizeof seed, "%llu", (unsigned long long)o.seed); /* JSON integers end at 2^63 */
  bool principal = o.kind == CPB_SKETCH_PRINCIPAL;
  cpb_json_put_kind(&l, "sketch", principal ? VERSION_PRINCIPAL : VERSION);
  cpb_json_put(&l, "dim", "I", (uint64_t)o.d);
  cpb_json_put(&l, "bits", "I", (uint64_t)o.bits);
  cpb_json_put(&l, "variant", "s", cpb_sketch_kind_name(o.kind));
  cpb_json_put(&l, "scale", "f", o.s);
  cpb_json_put(&l, "center", "V", o.center, o.d);
  cpb_json_put(&l, "seed", "s", seed);
  put_curve(&l, &o);
  if (principal) put_principal(&l, &o);
  cpb_json_put(&l, "normals", "V", o.normals, o.bits / o.bits_per * (o.d + 1));
  return cpb_json_finish(&l, "sketch", text, error);
}

cpb_status cpb_sketch_save(const cpb_sketch *sketch, const char *path, cpb_error *error) {
  char *text = NULL;
  cpb_status status = cpb_sketch_to_json(sketch, &text, error);
  return cpb_json_save(status, text, path, error);
}

/* ---- reading ---- */

/* Everything reading allocates; freed in one place. */
typedef struct parts {
  double *center, *normals;
  cpb_sketch_point *curve;
} parts;

static cpb_status read_kind(const cpb_json *root, const char *name, cpb_sketch_options *o, cpb_error *error) {
  const char *variant = cpb_json_string_of(cpb_json_get(root, "variant"));
  for (int kind = 0; variant != NULL && kind < CPB_SKETCH_KINDS; kind++)
    if (strcmp(variant, cpb_sketch_kind_name((cpb_sketch_kind)kind)) == 0) {
      o->kind = (cpb_sketch_kind)kind;
      return CPB_OK;
    }
  return cpb_file_fail(error, CPB_WHY_JSON_VALUE, name,
                       "\"variant\" must be embedded, centred, random-embedded, random-centred or principal");
}

/* The index of the string of a key among some names, `count` if it is none of them. */
static size_t read_choice(const cpb_json *root, const char *key, const char *const *names, size_t count) {
  const char *given = cpb_json_string_of(cpb_json_get(root, key));
  size_t i = 0;
  while (i < count && (given == NULL || strcmp(given, names[i]) != 0)) i++;
  return i;
}

static cpb_status read_principal(const cpb_json *root, const char *name, cpb_sketch_options *o,
                                 cpb_error *error) {
  static const char *const types[] = {"f16", "f32"};
  if (o->kind != CPB_SKETCH_PRINCIPAL) return CPB_OK;
  size_t type = read_choice(root, "factors", types, 2),
         rotation = read_choice(root, "rotation", rotations, 4);
  if (type == 2) return cpb_file_fail(error, CPB_WHY_JSON_VALUE, name, "\"factors\" must be f16 or f32");
  if (rotation == 4)
    return cpb_file_fail(error, CPB_WHY_JSON_VALUE, name,
                         "\"rotation\" must be unknown, random, learned or turned");
  o->factors = type == 0 ? CPB_F16 : CPB_F32;
  o->rotation = (cpb_sketch_rotation)rotation;
  cpb_status status = cpb_json_count(root, name, "bits_per", 1, 4, &o->bits_per, error);
  return status == CPB_OK ? cpb_json_number(root, name, "spread", &o->spread, error) : status;
}

/* Principal sketches have a version of their own. */
static cpb_status read_version(const cpb_json *root, const char *name, cpb_error *error) {
  const char *variant = cpb_json_string_of(cpb_json_get(root, "variant"));
  bool principal = variant != NULL && strcmp(variant, cpb_sketch_kind_name(CPB_SKETCH_PRINCIPAL)) == 0;
  return cpb_json_check_kind(root, name, "sketch", principal ? VERSION_PRINCIPAL : VERSION, error);
}

static cpb_status read_seed(const cpb_json *root, const char *name, uint64_t *seed, cpb_error *error) {
  const char *text = cpb_json_string_of(cpb_json_get(root, "seed"));
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

static cpb_status read_curve(const cpb_json *root, const char *name, cpb_sketch_options *o, parts *p,
                             cpb_error *error) {
  const cpb_json *array = cpb_json_get(root, "curve");
  size_t count = cpb_json_size(array);
  if (!cpb_json_is(array, CPB_JSON_ARRAY))
    return cpb_file_fail(error, CPB_WHY_JSON_VALUE, name, "\"curve\" must be an array");
  p->curve = calloc(count + 1, sizeof *p->curve);
  if (p->curve == NULL) return cpb_fail_memory(error, "%zu bytes", count * sizeof *p->curve);
  const cpb_json *point = cpb_json_first(array);
  for (size_t i = 0; i < count; i++, point = point->next) {
    const cpb_json *steps = cpb_json_size(point) == 3 ? point->first : NULL;
    const cpb_json *mean = steps == NULL ? NULL : steps->next, *worst = mean == NULL ? NULL : mean->next;
    if (!cpb_json_is(steps, CPB_JSON_INTEGER) || steps->integer < 0 || !cpb_json_is_number(mean) ||
        !cpb_json_is_number(worst))
      return cpb_file_fail(error, CPB_WHY_JSON_VALUE, name, "\"curve\"[%zu] is not [steps, mean, worst]", i);
    p->curve[i] = (cpb_sketch_point){(uint64_t)steps->integer, mean->real, worst->real};
  }
  o->curve_count = count;
  o->curve = count == 0 ? NULL : p->curve;
  return CPB_OK;
}

static cpb_status read_options(const cpb_json *root, const char *name, cpb_sketch_options *o, parts *p,
                               cpb_error *error) {
  cpb_status status = read_version(root, name, error);
  if (status == CPB_OK) status = cpb_json_count(root, name, "dim", 1, DIM_MAX, &o->d, error);
  if (status == CPB_OK) status = cpb_json_count(root, name, "bits", 8, BITS_MAX, &o->bits, error);
  if (status == CPB_OK) status = read_kind(root, name, o, error);
  if (status == CPB_OK) status = cpb_json_number(root, name, "scale", &o->s, error);
  if (status == CPB_OK) status = cpb_json_numbers(root, name, "center", o->d, NULL, &p->center, error);
  if (status == CPB_OK) status = read_seed(root, name, &o->seed, error);
  if (status == CPB_OK) status = read_curve(root, name, o, p, error);
  if (status == CPB_OK) status = read_principal(root, name, o, error);
  if (status == CPB_OK)
    status =
        cpb_json_numbers(root, name, "normals", o->bits / o->bits_per * (o->d + 1), NULL, &p->normals, error);
  o->center = p->center;
  o->normals = p->normals;
  return status;
}

static cpb_status make(const cpb_json_file *file, void **object, cpb_error *error) {
  cpb_sketch_options options;
  cpb_sketch_options_init(&options, sizeof options);
  parts p = {0};
  cpb_error why = {.row = -1};
  cpb_sketch *sketch = NULL;
  cpb_status status = read_options(file->root, file->name, &options, &p, error);
  if (status == CPB_OK && cpb_sketch_new(&options, &sketch, &why) != CPB_OK)
    status = cpb_json_refused(file->name, &why, error);
  if (status == CPB_OK) status = cpb_json_check_sum(file->root, file->name, file->text, file->length, error);
  free(p.center);
  free(p.normals);
  free(p.curve);
  *object = sketch;
  return status;
}

static void release(void *sketch) { cpb_sketch_free(sketch); }
static const cpb_json_kind kind = {"sketch", make, release};

cpb_status cpb_sketch_from_json(const char *text, size_t length, const char *name, cpb_sketch **sketch,
                                cpb_error *error) {
  return cpb_json_parse(&kind, text, length, name, sketch, error);
}

cpb_status cpb_sketch_load(const char *path, cpb_sketch **sketch, cpb_error *error) {
  return cpb_json_load(&kind, path, sketch, error);
}

/* A sketch as JSON, one key per line; see json_file.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capball/sketch.h"
#include "base/fail.h"
#include "files/json_file.h"
#include "sketch/t14_sketch.h"

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

cpb_status cpb_sketch_to_json(const cpb_sketch *sketch, char **text, cpb_error *error) {
  if (sketch == NULL || text == NULL) return cpb_fail_missing(error, sketch == NULL ? "sketch" : "text");
  const cpb_sketch_options o = sketch->options;
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
  if (principal) {
    cpb_json_put(&l, "bits_per", "I", (uint64_t)o.bits_per);
    cpb_json_put(&l, "factors", "s", cpb_dtype_name(o.factors));
    cpb_json_put(&l, "rotation", "s", rotations[o.rotation]);
    cpb_json_put(&l, "spread", "f", o.spread);
  }
  cpb_json_put(&l, "normals", "V", o.normals, o.bits / o.bits_per * (o.d + 1));
  return cpb_json_finish(&l, "sketch", text, error);
}

cpb_status cpb_sketch_save(const cpb_sketch *sketch, const char *path, cpb_error *error) {
  char *text = NULL;
  cpb_status status = cpb_sketch_to_json(sketch, &text, error);
  return cpb_json_save(status, text, path, error);
}

/* ---- reading ---- */

static size_t read_choice(cpb_json_file *f, const char *key, const char *const *names, size_t count,
                          const char *list) {
  const char *given = cpb_json_string_of(cpb_json_get(f->root, key));
  for (size_t i = 0; i < count && given != NULL; i++)
    if (strcmp(given, names[i]) == 0) return i;
  cpb_json_refuse(f, CPB_WHY_JSON_VALUE, "\"%s\" must be %s", key, list);
  return 0;
}

static void read_principal(cpb_json_file *f, cpb_sketch_options *o) {
  static const char *const types[] = {"f16", "f32"};
  if (o->kind != CPB_SKETCH_PRINCIPAL) return;
  o->factors = read_choice(f, "factors", types, 2, "f16 or f32") == 0 ? CPB_F16 : CPB_F32;
  o->rotation =
      (cpb_sketch_rotation)read_choice(f, "rotation", rotations, 4, "unknown, random, learned or turned");
  o->bits_per = cpb_json_count(f, f->root, "bits_per", 1, 4);
  o->spread = cpb_json_number(f, f->root, "spread");
}

static uint64_t read_seed(cpb_json_file *f) {
  const char *text = cpb_json_string_of(cpb_json_get(f->root, "seed"));
  char *end = NULL;
  bool digit = text != NULL && *text >= '0' && *text <= '9';
  errno = 0;
  uint64_t seed = digit ? strtoull(text, &end, 10) : 0;
  if (!digit || *end != 0 || errno != 0)
    cpb_json_refuse(f, CPB_WHY_JSON_VALUE, "\"seed\" must be the digits of a number below 2^64");
  return seed;
}

static void read_curve(cpb_json_file *f, cpb_sketch_options *o) {
  const cpb_json *array = cpb_json_get(f->root, "curve"), *point = cpb_json_first(array);
  size_t count = cpb_json_size(array);
  if (!cpb_json_is(array, CPB_JSON_ARRAY))
    cpb_json_refuse(f, CPB_WHY_JSON_VALUE, "\"curve\" must be an array");
  cpb_sketch_point *curve = count > 0 ? cpb_json_room(f, count, sizeof *curve) : NULL;
  for (size_t i = 0; curve != NULL && i < count; i++, point = point->next) {
    const cpb_json *steps = cpb_json_size(point) == 3 ? point->first : NULL;
    const cpb_json *mean = steps == NULL ? NULL : steps->next, *worst = mean == NULL ? NULL : mean->next;
    if (cpb_json_is(steps, CPB_JSON_INTEGER) && steps->integer >= 0 && cpb_json_is_number(mean) &&
        cpb_json_is_number(worst))
      curve[i] = (cpb_sketch_point){(uint64_t)steps->integer, mean->real, worst->real};
    else
      cpb_json_refuse(f, CPB_WHY_JSON_VALUE, "\"curve\"[%zu] is not [steps, mean, worst]", i);
  }
  o->curve_count = count;
  o->curve = curve;
}

static void *make(cpb_json_file *f) {
  cpb_sketch_options o;
  cpb_error why = {.row = -1};
  cpb_sketch *sketch = NULL;
  cpb_sketch_options_init(&o, sizeof o);
  const char *variant = cpb_json_string_of(cpb_json_get(f->root, "variant"));
  int kind = variant == NULL ? CPB_SKETCH_KINDS : 0; /* CPB_SKETCH_KINDS: none of them */
  while (kind < CPB_SKETCH_KINDS && strcmp(variant, cpb_sketch_kind_name((cpb_sketch_kind)kind)) != 0) kind++;
  cpb_json_check_kind(f, "sketch", kind == CPB_SKETCH_PRINCIPAL ? VERSION_PRINCIPAL : VERSION);
  o.d = cpb_json_count(f, f->root, "dim", 1, DIM_MAX);
  o.bits = cpb_json_count(f, f->root, "bits", 8, BITS_MAX);
  if (kind == CPB_SKETCH_KINDS)
    cpb_json_refuse(f, CPB_WHY_JSON_VALUE,
                    "\"variant\" must be embedded, centred, random-embedded, random-centred or principal");
  o.kind = (cpb_sketch_kind)kind;
  o.s = cpb_json_number(f, f->root, "scale");
  o.center = cpb_json_numbers(f, f->root, "center", o.d, NULL);
  o.seed = read_seed(f);
  read_curve(f, &o);
  read_principal(f, &o);
  if (f->status == CPB_OK)
    o.normals = cpb_json_numbers(f, f->root, "normals", o.bits / o.bits_per * (o.d + 1), NULL);
  if (f->status == CPB_OK) cpb_json_made(f, cpb_sketch_new(&o, &sketch, &why), &why);
  cpb_json_check_sum(f);
  return sketch;
}

static void release(void *sketch) { cpb_sketch_free(sketch); }
static const cpb_json_kind sketch_kind = {"sketch", make, release};

cpb_status cpb_sketch_from_json(const char *text, size_t length, const char *name, cpb_sketch **sketch,
                                cpb_error *error) {
  return cpb_json_parse(&sketch_kind, text, length, name, sketch, error);
}

cpb_status cpb_sketch_load(const char *path, cpb_sketch **sketch, cpb_error *error) {
  return cpb_json_load(&sketch_kind, path, sketch, error);
}

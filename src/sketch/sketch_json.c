/* A sketch as JSON, one key per line; see json_file.h. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capball/advanced/estimator.h"
#include "base/fail.h"
#include "files/json_file.h"
#include "sketch/t14_sketch.h"

/* Version 3 has joined sketches, and version 2 principal ones; the other kinds are written as version 1. */
enum { VERSION = 1, VERSION_PRINCIPAL = 2, VERSION_JOINED = 3, DIM_MAX = 1 << 24, BITS_MAX = 65536 };

/* ---- writing ---- */

static int version_of(cpb_sketch_kind kind) {
  return kind == CPB_SKETCH_JOINED      ? VERSION_JOINED
         : kind == CPB_SKETCH_PRINCIPAL ? VERSION_PRINCIPAL
                                        : VERSION;
}

/* What a code of a joined sketch stands for. */
static void put_joined(cpb_text *l, const cpb_sketch *sketch) {
  const cpb_sketch_options o = sketch->options;
  size_t numbers = 0;
  for (size_t i = 0; i < sketch->book_count; i++) numbers += 256 * sketch->books[i].count;
  double *wide = malloc((numbers + 2 * sketch->book_count) * sizeof *wide);
  if (wide == NULL) {
    l->failure = CPB_JSON_NO_MEMORY;
    return;
  }
  const double tables[] = {o.f_low, o.f_step, o.e_low, o.e_ratio, o.gamma};
  const double recall[] = {o.recall[0] >= 0 ? o.recall[0] : -1, o.recall[1] >= 0 ? o.recall[1] : -1};
  cpb_json_put(l, "form", "s", cpb_estimator_form_name(o.form));
  cpb_json_put(l, "directions", "I", (uint64_t)o.directions);
  cpb_json_put(l, "numbers", "I", (uint64_t)o.numbers);
  cpb_json_put(l, "tables", "V", tables, (size_t)5);
  cpb_json_put(l, "spread", "f", o.spread);
  cpb_json_put(l, "recall", "V", recall, (size_t)2);
  for (size_t i = 0; i < 2 * sketch->book_count; i++) wide[i] = o.books[i];
  cpb_json_put(l, "books", "V", wide, 2 * sketch->book_count);
  for (size_t i = 0; i < numbers; i++) wide[i] = (double)o.centres[i];
  cpb_json_put(l, "centres", "V", wide, numbers);
  free(wide);
}

static const char *const rotations[] = {"unknown", "random", "learned", "turned"};

cpb_status cpb_sketch_to_json(const cpb_sketch *sketch, char **text, cpb_error *error) {
  if (sketch == NULL || text == NULL) return cpb_fail_missing(error, sketch == NULL ? "sketch" : "text");
  const cpb_sketch_options o = sketch->options;
  cpb_text l = {0};
  char seed[24];
  snprintf(seed, sizeof seed, "%llu", (unsigned long long)o.seed); /* JSON integers end at 2^63 */
  bool principal = o.kind == CPB_SKETCH_PRINCIPAL;
  cpb_json_put_kind(&l, "sketch", version_of(o.kind));
  cpb_json_put(&l, "dim", "I", (uint64_t)o.d);
  cpb_json_put(&l, "bits", "I", (uint64_t)o.bits);
  cpb_json_put(&l, "variant", "s", cpb_sketch_kind_name(o.kind));
  cpb_json_put(&l, "scale", "f", o.s);
  cpb_json_put(&l, "center", "V", o.center, o.d);
  cpb_json_put(&l, "seed", "s", seed);
  if (o.kind < CPB_SKETCH_JOINED)
    cpb_json_put(&l, "curve", "[]"); /* of a training, which earlier releases read */
  else
    put_joined(&l, sketch);
  if (principal) {
    cpb_json_put(&l, "bits_per", "I", (uint64_t)o.bits_per);
    cpb_json_put(&l, "factors", "s", cpb_dtype_name(o.factors));
    cpb_json_put(&l, "rotation", "s", rotations[o.rotation]);
    cpb_json_put(&l, "spread", "f", o.spread);
  }
  cpb_json_put(&l, "normals", "V", o.normals, cpb_sketch_directions(&o) * (o.d + 1));
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

static void read_books(cpb_json_file *f, cpb_sketch_options *o) {
  size_t count = o->bits / 8, numbers = 0, found = 0;
  const double *pairs = cpb_json_numbers(f, f->root, "books", 2 * count, NULL);
  uint32_t *books = pairs == NULL ? NULL : cpb_json_room(f, 2 * count, sizeof *books);
  for (size_t i = 0; books != NULL && i < 2 * count; i++) {
    books[i] = pairs[i] >= 0 && pairs[i] <= DIM_MAX ? (uint32_t)pairs[i] : 0;
    if (i % 2 == 1) numbers += 256 * (size_t)books[i];
  }
  const double *centres = cpb_json_numbers(f, f->root, "centres", SIZE_MAX, &found);
  if (f->status == CPB_OK && found != numbers)
    cpb_json_refuse(f, CPB_WHY_JSON_VALUE, "\"centres\" has %zu numbers, wanted %zu", found, numbers);
  float *narrow = f->status == CPB_OK ? cpb_json_room(f, numbers, sizeof *narrow) : NULL;
  for (size_t i = 0; narrow != NULL && i < numbers; i++) narrow[i] = (float)centres[i];
  o->books = books;
  o->centres = narrow;
}

static void read_joined(cpb_json_file *f, cpb_sketch_options *o) {
  if (o->kind != CPB_SKETCH_JOINED) return;
  const char *form = cpb_json_string_of(cpb_json_get(f->root, "form"));
  int at = form == NULL ? CPB_SKETCH_FORMS : 0;
  while (at < CPB_SKETCH_FORMS && strcmp(form, cpb_estimator_form_name((cpb_sketch_form)at)) != 0) at++;
  if (at == CPB_SKETCH_FORMS) cpb_json_refuse(f, CPB_WHY_JSON_VALUE, "\"form\" is unknown");
  o->form = (cpb_sketch_form)at;
  o->directions = cpb_json_count(f, f->root, "directions", 1, DIM_MAX);
  o->numbers = cpb_json_count(f, f->root, "numbers", 0, 2);
  o->spread = cpb_json_number(f, f->root, "spread");
  const double *tables = cpb_json_numbers(f, f->root, "tables", 5, NULL);
  const double *recall = cpb_json_numbers(f, f->root, "recall", 2, NULL);
  if (tables == NULL || recall == NULL) return;
  o->f_low = tables[0];
  o->f_step = tables[1];
  o->e_low = tables[2];
  o->e_ratio = tables[3];
  o->gamma = tables[4];
  for (int i = 0; i < 2; i++) o->recall[i] = recall[i] >= 0 ? recall[i] : NAN;
  read_books(f, o);
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

static void *make(cpb_json_file *f) {
  cpb_sketch_options o;
  cpb_error why = {.row = -1};
  cpb_sketch *sketch = NULL;
  cpb_sketch_options_init(&o, sizeof o);
  const char *variant = cpb_json_string_of(cpb_json_get(f->root, "variant"));
  int kind = variant == NULL ? CPB_SKETCH_KINDS : 0; /* CPB_SKETCH_KINDS: none of them */
  while (kind < CPB_SKETCH_KINDS && strcmp(variant, cpb_sketch_kind_name((cpb_sketch_kind)kind)) != 0) kind++;
  cpb_json_check_kind(f, "sketch", version_of((cpb_sketch_kind)kind));
  o.d = cpb_json_count(f, f->root, "dim", 1, DIM_MAX);
  o.bits = cpb_json_count(f, f->root, "bits", 8, BITS_MAX);
  if (kind == CPB_SKETCH_KINDS)
    cpb_json_refuse(
        f, CPB_WHY_JSON_VALUE,
        "\"variant\" must be joined, principal, embedded, centred, random-embedded or random-centred");
  o.kind = (cpb_sketch_kind)kind;
  o.s = cpb_json_number(f, f->root, "scale");
  o.center = cpb_json_numbers(f, f->root, "center", o.d, NULL);
  o.seed = read_seed(f);
  read_principal(f, &o);
  read_joined(f, &o);
  if (f->status == CPB_OK)
    o.normals = cpb_json_numbers(f, f->root, "normals", cpb_sketch_directions(&o) * (o.d + 1), NULL);
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

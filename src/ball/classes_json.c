/* A classifier as JSON, one key per line; see json_file.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "capball/advanced/classes.h"
#include "files/json_file.h"

enum { VERSION = 1, DIM_MAX = 1 << 24, PLANES_MAX = 1 << 24 };

static void put_labels(cpb_text *l, const cpb_classes_options *o) {
  cpb_json_put(l, "classes", "");
  for (size_t i = 0; i < o->classes; i++) {
    cpb_text_puts(l, i == 0 ? "[" : ", ");
    cpb_json_string(l, o->labels[i]);
  }
  cpb_text_puts(l, "]");
}

static void put_planes(cpb_text *l, const cpb_classes_options *o) {
  cpb_json_put(l, "planes", "{s:I, s:[", "count", (uint64_t)o->planes, "class");
  for (size_t k = 0; k < o->planes; k++)
    cpb_text_format(l, "%s%llu", k == 0 ? "" : ", ", (unsigned long long)o->owners[k]);
  cpb_json_pack(l, "], s:V, s:V}", "w0", o->w0, o->planes, "w", o->w, o->planes * (o->d + 1));
}

static void put_classes(cpb_text *l, const cpb_classes_options *o) {
  cpb_json_put_kind(l, "classes", VERSION);
  cpb_json_put(l, "dim", "I", (uint64_t)o->d);
  cpb_json_put_names(l, o->columns, o->d);
  put_labels(l, o);
  cpb_json_put(l, "rule", "s", cpb_class_rule_name(o->rule));
  cpb_json_put(l, "rows", "I", o->rows);
  cpb_json_put(l, "scale", "f", o->s);
  cpb_json_put(l, "center", "V", o->center, o->d);
  cpb_json_put(l, "factors", "V", o->factors, o->d);
  cpb_json_put(l, "whiten", "V", o->whiten, o->d * o->d);
  put_planes(l, o);
}

cpb_status cpb_classes_to_json(const cpb_classes *classes, char **text, cpb_error *error) {
  if (classes == NULL || text == NULL) return cpb_fail_missing(error, classes == NULL ? "classes" : "text");
  cpb_classes_options o = {.size = sizeof o};
  cpb_classes_describe(classes, &o);
  cpb_text l = {0};
  put_classes(&l, &o);
  return cpb_json_finish(&l, "classifier", text, error);
}

cpb_status cpb_classes_save(const cpb_classes *classes, const char *path, cpb_error *error) {
  char *text = NULL;
  cpb_status status = cpb_classes_to_json(classes, &text, error);
  return cpb_json_save(status, text, path, error);
}

/* ---- reading ---- */

static void read_labels(cpb_json_file *f, cpb_classes_options *o) {
  const cpb_json *array = cpb_json_get(f->root, "classes"), *text = cpb_json_first(array);
  o->classes = cpb_json_size(array);
  const char **labels = cpb_json_room(f, o->classes + 1, sizeof *labels);
  bool whole = cpb_json_is(array, CPB_JSON_ARRAY) && o->classes >= 2;
  for (size_t i = 0; whole && labels != NULL && i < o->classes; i++, text = text->next)
    whole = (labels[i] = cpb_json_string_of(text)) != NULL;
  if (!whole) cpb_json_refuse(f, CPB_WHY_JSON_VALUE, "\"classes\" must be two texts or more");
  o->labels = labels;
}

static cpb_class_rule read_rule(cpb_json_file *f) {
  const char *word = cpb_json_string_of(cpb_json_get(f->root, "rule"));
  for (int i = 0; word != NULL && i < CPB_CLASS_RULES; i++)
    if (strcmp(word, cpb_class_rule_name((cpb_class_rule)i)) == 0) return (cpb_class_rule)i;
  cpb_json_refuse(f, CPB_WHY_JSON_VALUE, "rule must be softmax, one-vs-rest or largest, got \"%.40s\"",
                  word == NULL ? "" : word);
  return CPB_CLASS_SOFTMAX;
}

/* Numbers that are none of a class become one that no class has. */
static const uint64_t *read_owners(cpb_json_file *f, const cpb_json *planes, size_t count) {
  const double *numbers = cpb_json_numbers(f, planes, "class", count, NULL);
  uint64_t *owners = cpb_json_room(f, count, sizeof *owners);
  for (size_t k = 0; numbers != NULL && owners != NULL && k < count; k++)
    owners[k] = numbers[k] >= 0 && numbers[k] <= PLANES_MAX && numbers[k] == trunc(numbers[k])
                    ? (uint64_t)numbers[k]
                    : UINT64_MAX;
  return numbers == NULL ? NULL : owners;
}

static void *make(cpb_json_file *f) {
  cpb_classes_options o;
  cpb_classes *made = NULL;
  cpb_error why = {.row = -1};
  cpb_classes_options_init(&o, sizeof o);
  cpb_json_check_kind(f, "classes", VERSION);
  o.d = cpb_json_count(f, f->root, "dim", 1, DIM_MAX);
  read_labels(f, &o);
  o.rule = read_rule(f);
  o.rows = cpb_json_rows(f, f->root, "rows", 0, INT64_MAX / 2);
  o.s = cpb_json_number(f, f->root, "scale");
  o.center = cpb_json_numbers(f, f->root, "center", o.d, NULL);
  o.factors = cpb_json_numbers(f, f->root, "factors", o.d, NULL);
  o.whiten = cpb_json_numbers(f, f->root, "whiten", o.d * o.d, NULL);
  const cpb_json *planes = cpb_json_get(f->root, "planes");
  o.planes = cpb_json_count(f, planes, "count", 2, PLANES_MAX);
  o.owners = read_owners(f, planes, o.planes);
  o.w0 = cpb_json_numbers(f, planes, "w0", o.planes, NULL);
  o.w = cpb_json_numbers(f, planes, "w", o.planes * (o.d + 1), NULL);
  o.columns = cpb_json_read_names(f, o.d);
  if (f->status == CPB_OK) cpb_json_made(f, cpb_classes_new(&o, &made, &why), &why);
  cpb_json_check_sum(f);
  return made;
}

static void release(void *classes) { cpb_classes_free(classes); }
static const cpb_json_kind kind = {"classes", make, release};

cpb_status cpb_classes_from_json(const char *text, size_t length, const char *name, cpb_classes **classes,
                                 cpb_error *error) {
  return cpb_json_parse(&kind, text, length, name, classes, error);
}

cpb_status cpb_classes_load(const char *path, cpb_classes **classes, cpb_error *error) {
  return cpb_json_load(&kind, path, classes, error);
}

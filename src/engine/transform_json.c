/* A transform as JSON, one key per line; see json_file.h. A sphere has the format of a map. */
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/state_bytes.h"
#include "files/json_file.h"
#include "engine/t13_transform.h"

enum { VERSION = 1, DIM_MAX = 1 << 24 };

/* ---- writing ---- */

cpb_status cpb_transform_to_json(const cpb_transform *transform, char **text, cpb_error *error) {
  if (transform == NULL || text == NULL)
    return cpb_fail_missing(error, transform == NULL ? "transform" : "text");
  if (transform->map != NULL) return cpb_map_to_json(transform->map, NULL, text, error);
  const cpb_transform_options o = transform->options;
  cpb_text l = {0};
  cpb_json_put_kind(&l, "transform", VERSION);
  cpb_json_put(&l, "transform", "s", cpb_transform_about(o.kind).name);
  cpb_json_put(&l, "dim", "I", (uint64_t)o.d);
  cpb_json_put_names(&l, o.columns, o.d);
  cpb_json_put(&l, "center", "V", o.center, o.d);
  cpb_json_put(&l, "max_norm", "f", o.max_norm);
  return cpb_json_finish(&l, "transform", text, error);
}

cpb_status cpb_transform_save(const cpb_transform *transform, const char *path, cpb_error *error) {
  char *text = NULL;
  cpb_status status = cpb_transform_to_json(transform, &text, error);
  return cpb_json_save(status, text, path, error);
}

/* FNV-1a over the file without its origin: over its numbers only. */
cpb_status cpb_transform_fingerprint(const cpb_transform *transform, uint64_t *fingerprint,
                                     cpb_error *error) {
  char *text = NULL;
  if (fingerprint == NULL) return cpb_fail_missing(error, "fingerprint");
  cpb_status status = cpb_transform_to_json(transform, &text, error);
  *fingerprint = cpb_checksum(text, text == NULL ? 0 : strlen(text));
  free(text);
  return status;
}

/* ---- reading ---- */

static cpb_transform_kind read_kind(cpb_json_file *f) {
  const char *said = cpb_json_string_of(cpb_json_get(f->root, "transform"));
  cpb_error why;
  for (int i = 0; said != NULL && i < CPB_TRANSFORMS; i++)
    if (strcmp(said, cpb_transform_about((cpb_transform_kind)i).name) == 0) return (cpb_transform_kind)i;
  cpb_json_made(f, cpb_fail_choice(&why, "transform", -1), &why);
  return 0;
}

static cpb_transform *read_lift(cpb_json_file *f) {
  cpb_transform *transform = NULL;
  cpb_transform_options o;
  cpb_error why;
  cpb_transform_options_init(&o, sizeof o);
  cpb_json_check_kind(f, "transform", VERSION);
  cpb_json_check_sum(f);
  o.kind = read_kind(f);
  o.d = cpb_json_count(f, f->root, "dim", 1, DIM_MAX);
  o.max_norm = cpb_json_number(f, f->root, "max_norm");
  o.center = cpb_json_numbers(f, f->root, "center", o.d, NULL);
  o.columns = cpb_json_read_names(f, o.d);
  if (f->status == CPB_OK) cpb_json_made(f, cpb_transform_new(&o, &transform, &why), &why);
  return transform;
}

static void *make(cpb_json_file *f) {
  const char *said = cpb_json_string_of(cpb_json_get(cpb_json_get(f->root, "capball"), "kind"));
  if (said != NULL && strcmp(said, "transform") == 0) return read_lift(f);
  cpb_transform *transform = NULL;
  cpb_map *map = NULL;
  f->status = cpb_map_from_json(f->text, f->length, f->name, &map, f->error);
  if (f->status == CPB_OK) f->status = cpb_transform_of_map(map, &transform, f->error);
  cpb_map_free(map);
  return transform;
}

static void release(void *transform) { cpb_transform_free(transform); }
static const cpb_json_kind kind = {"transform", make, release};

cpb_status cpb_transform_from_json(const char *text, size_t length, const char *name,
                                   cpb_transform **transform, cpb_error *error) {
  return cpb_json_parse(&kind, text, length, name, transform, error);
}

cpb_status cpb_transform_load(const char *path, cpb_transform **transform, cpb_error *error) {
  return cpb_json_load(&kind, path, transform, error);
}

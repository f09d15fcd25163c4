/* A transform as JSON, one key per line; see json_file.h. A sphere has the format of a map. */
#include <stdlib.h>
#include <string.h>

#include "capball/transform.h"
#include "core/fail.h"
#include "core/state_bytes.h"
#include "json/json_file.h"
#include "json/transform_json.h"

enum { VERSION = 1, DIM_MAX = 1 << 24 };

/* ---- writing ---- */

cpb_status cpb_transform_to_json(const cpb_transform *transform, char **text, cpb_error *error) {
  if (transform == NULL || text == NULL)
    return cpb_fail_missing(error, transform == NULL ? "transform" : "text");
  if (cpb_transform_map(transform) != NULL)
    return cpb_map_to_json(cpb_transform_map(transform), NULL, text, error);
  cpb_transform_options o = {.size = sizeof o};
  cpb_transform_describe(transform, &o);
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

static cpb_status find_kind(const cpb_json *root, const char *name, cpb_transform_kind *kind,
                            cpb_error *error) {
  const char *said = cpb_json_string_of(cpb_json_get(root, "transform"));
  cpb_error why;
  for (int i = 0; said != NULL && i < CPB_TRANSFORMS; i++)
    if (strcmp(said, cpb_transform_about((cpb_transform_kind)i).name) == 0) {
      *kind = (cpb_transform_kind)i;
      return CPB_OK;
    }
  cpb_fail_choice(&why, "transform", -1);
  return cpb_json_refused(name, &why, error);
}

static cpb_status read_options(const cpb_json *root, const char *name, cpb_transform **transform,
                               cpb_error *error) {
  cpb_transform_options o;
  double *center = NULL;
  const char **columns = NULL;
  cpb_error why;
  cpb_transform_options_init(&o, sizeof o);
  cpb_status status = find_kind(root, name, &o.kind, error);
  if (status == CPB_OK) status = cpb_json_count(root, name, "dim", 1, DIM_MAX, &o.d, error);
  if (status == CPB_OK) status = cpb_json_number(root, name, "max_norm", &o.max_norm, error);
  if (status == CPB_OK) status = cpb_json_numbers(root, name, "center", o.d, NULL, &center, error);
  if (status == CPB_OK) status = cpb_json_read_names(root, name, o.d, &columns, error);
  o.center = center;
  o.columns = columns;
  if (status == CPB_OK && cpb_transform_new(&o, transform, &why) != CPB_OK)
    status = cpb_json_refused(name, &why, error);
  free(center);
  free((void *)(uintptr_t)columns);
  return status;
}

static cpb_status read_map(const cpb_json_file *file, cpb_transform **transform, cpb_error *error) {
  cpb_map *map = NULL;
  cpb_status status = cpb_map_from_json(file->text, file->length, file->name, &map, error);
  if (status == CPB_OK) status = cpb_transform_of_map(map, transform, error);
  cpb_map_free(map);
  return status;
}

static cpb_status make(const cpb_json_file *file, void **object, cpb_error *error) {
  const cpb_json *root = file->root;
  const char *name = file->name,
             *said = cpb_json_string_of(cpb_json_get(cpb_json_get(root, "capball"), "kind"));
  cpb_transform *transform = NULL;
  cpb_status status = CPB_OK;
  if (said == NULL || strcmp(said, "transform") != 0) {
    status = read_map(file, &transform, error);
  } else {
    status = cpb_json_check_kind(root, name, "transform", VERSION, error);
    if (status == CPB_OK) status = cpb_json_check_sum(root, name, file->text, file->length, error);
    if (status == CPB_OK) status = read_options(root, name, &transform, error);
  }
  *object = transform;
  return status;
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

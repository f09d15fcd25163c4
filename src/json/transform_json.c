/* A transform as JSON, one key per line; see json_file.h. A sphere is a map's file. */
#include <stdlib.h>
#include <string.h>

#include "capball/advanced/flow.h"
#include "capball/file.h"
#include "capball/transform.h"
#include "core/fail.h"
#include "io/buffer.h"
#include "io/input.h"
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
  cpb_json_lines l = {0};
  cpb_json_put_kind(&l, "transform", VERSION);
  cpb_json_put(&l, "transform", json_string(cpb_transform_about(o.kind).name));
  cpb_json_put(&l, "dim", json_integer((json_int_t)o.d));
  if (o.columns != NULL) cpb_json_put(&l, "columns", cpb_json_names(o.columns, o.d));
  cpb_json_put(&l, "center", cpb_json_vector(o.center, o.d));
  cpb_json_put(&l, "max_norm", json_real(o.max_norm));
  return cpb_json_finish(&l, "transform", text, error);
}

cpb_status cpb_transform_save(const cpb_transform *transform, const char *path, cpb_error *error) {
  char *text = NULL;
  cpb_status status = cpb_transform_to_json(transform, &text, error);
  if (status == CPB_OK) status = cpb_write_whole(path, text, strlen(text), error);
  free(text);
  return status;
}

/* FNV-1a over the file without an origin: its numbers and nothing else. */
cpb_status cpb_transform_fingerprint(const cpb_transform *transform, uint64_t *fingerprint,
                                     cpb_error *error) {
  char *text = NULL;
  if (fingerprint == NULL) return cpb_fail_missing(error, "fingerprint");
  cpb_status status = cpb_transform_to_json(transform, &text, error);
  *fingerprint = 0xcbf29ce484222325u;
  for (const char *c = text; c != NULL && *c != 0; c++)
    *fingerprint = (*fingerprint ^ (unsigned char)*c) * 0x100000001b3u;
  free(text);
  return status;
}

/* ---- reading ---- */

static cpb_status find_kind(const json_t *root, const char *name, cpb_transform_kind *kind,
                            cpb_error *error) {
  const char *said = json_string_value(json_object_get(root, "transform"));
  cpb_error why;
  for (int i = 0; said != NULL && i < CPB_TRANSFORMS; i++)
    if (strcmp(said, cpb_transform_about((cpb_transform_kind)i).name) == 0) {
      *kind = (cpb_transform_kind)i;
      return CPB_OK;
    }
  cpb_fail_choice(&why, "transform", -1);
  return cpb_json_refused(name, &why, error);
}

static cpb_status read_transform(const json_t *root, const char *name, const char *text, size_t length,
                                 cpb_transform **transform, cpb_error *error) {
  cpb_transform_options o;
  double *center = NULL;
  const char **columns = NULL;
  cpb_error why;
  cpb_transform_options_init(&o, sizeof o);
  cpb_status status = cpb_json_check_kind(root, name, "transform", VERSION, error);
  if (status == CPB_OK) status = cpb_json_check_sum(root, name, text, length, error);
  if (status == CPB_OK) status = find_kind(root, name, &o.kind, error);
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

static bool is_map(const json_t *root) {
  const char *kind = json_string_value(json_object_get(json_object_get(root, "capball"), "kind"));
  return kind == NULL || strcmp(kind, "transform") != 0;
}

static cpb_status read_map(const char *text, size_t length, const char *name, cpb_transform **transform,
                           cpb_error *error) {
  cpb_map *map = NULL;
  cpb_status status = cpb_map_from_json(text, length, name, &map, error);
  if (status == CPB_OK) status = cpb_transform_of_map(map, transform, error);
  cpb_map_free(map);
  return status;
}

cpb_status cpb_transform_from_json(const char *text, size_t length, const char *name,
                                   cpb_transform **transform, cpb_error *error) {
  if (text == NULL || transform == NULL) return cpb_fail_missing(error, text == NULL ? "text" : "transform");
  const char *called = name == NULL ? "transform" : name;
  json_t *root;
  *transform = NULL;
  cpb_status status = cpb_json_parse(text, length, called, &root, error);
  if (status != CPB_OK) return status;
  status = is_map(root) ? read_map(text, length, called, transform, error)
                        : read_transform(root, called, text, length, transform, error);
  json_decref(root);
  return status;
}

cpb_status cpb_transform_load(const char *path, cpb_transform **transform, cpb_error *error) {
  if (path == NULL || transform == NULL) return cpb_fail_missing(error, path == NULL ? "path" : "transform");
  cpb_buffer buffer = {NULL, 0};
  size_t length;
  const char *name;
  *transform = NULL;
  cpb_status status = cpb_read_whole(path, &buffer, &length, &name, error);
  if (status == CPB_OK)
    status = cpb_transform_from_json((const char *)buffer.bytes, length, name, transform, error);
  cpb_buffer_free(&buffer);
  return status;
}

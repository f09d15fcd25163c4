#include "dual_line.h"

static void set_number(json_t *object, const char *key, double value) {
  json_object_set_new(object, key, json_real(value));
}

static json_t *matrix_json(const double *W, size_t d) {
  json_t *rows = json_array();
  for (size_t i = 0; i < d; i++) json_array_append_new(rows, cli_json_vector(W + i * d, d));
  return rows;
}

static json_t *cap_json(const cpb_cap *cap) {
  json_t *object = json_object();
  json_object_set_new(object, "p", cli_json_vector(cap->p, cap->d + 1));
  set_number(object, "b", cap->b);
  set_number(object, "sigma", cap->sigma);
  set_number(object, "a", cap->a);
  return object;
}

static json_t *region_json(const cpb_region *region) {
  json_t *object = json_object();
  size_t d = region->d;
  switch (region->kind) {
  case CPB_EMPTY:
  case CPB_EVERYTHING: json_object_set_new(object, "d", json_integer((json_int_t)d)); break;
  case CPB_PUNCTURED: json_object_set_new(object, "c", cli_json_vector(region->c, d)); break;
  case CPB_HALFSPACE:
    json_object_set_new(object, "n", cli_json_vector(region->c, d));
    set_number(object, "h", region->r);
    break;
  case CPB_BALL:
  case CPB_COMPLEMENT:
    json_object_set_new(object, "c", cli_json_vector(region->c, d));
    if (region->axis != NULL) {
      json_object_set_new(object, "axis", cli_json_vector(region->axis, d));
      set_number(object, "r1", region->along);
      set_number(object, "r2", region->r);
      break;
    }
    if (region->W != NULL) json_object_set_new(object, "W", matrix_json(region->W, d));
    set_number(object, "r", region->r);
  }
  return object;
}

static const char *region_name(const cpb_region *region) {
  bool stretched = region->axis != NULL || region->W != NULL;
  if (region->kind == CPB_BALL && stretched) return "ellipsoid";
  return cpb_region_kind_name(region->kind);
}

json_t *dual_line_json(const dual_line *line) {
  json_t *object = json_object();
  if (line->id != NULL) json_object_set(object, "id", line->id);
  const cpb_region *region = &line->region;
  json_object_set_new(object, line->is_cap ? "cap" : region_name(region),
                      line->is_cap ? cap_json(&line->cap) : region_json(region));
  if (!line->carries) return object;
  bool own =
      !line->is_cap && region->W != NULL && (region->kind == CPB_BALL || region->kind == CPB_COMPLEMENT);
  if (line->pole != NULL) json_object_set_new(object, "pole", cli_json_vector(line->pole, line->d + 1));
  if (line->W != NULL && !own) json_object_set_new(object, "W", matrix_json(line->W, line->d));
  if (line->m != NULL) json_object_set_new(object, "m", cli_json_vector(line->m, line->d));
  return object;
}

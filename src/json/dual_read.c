#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capball/advanced/laws.h"
#include "geometry/ellipsoids.h"
#include "geometry/region_kind.h"
#include "geometry/vector.h"
#include "json/dual_line.h"

static bool refuse(dual_line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool refuse(dual_line *line, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line->fault, sizeof line->fault, format, arguments);
  va_end(arguments);
  return false;
}

double *dual_numbers(dual_line *line, size_t count) {
  double *numbers = calloc(count == 0 ? 1 : count, sizeof *numbers);
  line->no_memory |= numbers == NULL;
  return numbers;
}

/* |x|; NaN if it contains NaN or inf. */
static double length_of(const double *x, size_t n) { return cpb_all_finite(x, n) ? cpb_norm(x, n) : NAN; }

static bool read_number(dual_line *line, const cpb_json *object, const char *key, double *number) {
  const cpb_json *value = cpb_json_get(object, key);
  if (value == NULL) return refuse(line, "\"%s\" is missing", key);
  if (!cpb_json_is_number(value)) return refuse(line, "\"%s\" must be a number", key);
  *number = value->real;
  return true;
}

/* n numbers; n = 0: any count >= least, returned in *count. */
static bool read_vector(dual_line *line, const cpb_json *object, const char *key, size_t n, double **numbers,
                        size_t *count) {
  const cpb_json *value = cpb_json_get(object, key);
  if (value == NULL) return refuse(line, "\"%s\" is missing", key);
  size_t found = cpb_json_size(value);
  if (!cpb_json_is(value, CPB_JSON_ARRAY) || found == 0)
    return refuse(line, "\"%s\" must be an array of numbers", key);
  if (n != 0 && found != n)
    return refuse(line, "\"%s\" has %zu number%s, wanted %zu", key, found, found == 1 ? "" : "s", n);
  *numbers = dual_numbers(line, found);
  if (*numbers == NULL) return false;
  if (count != NULL) *count = found;
  const cpb_json *number = value->first;
  for (size_t i = 0; i < found; i++, number = number->next) {
    if (!cpb_json_is_number(number)) return refuse(line, "number %zu of \"%s\" is not a number", i, key);
    (*numbers)[i] = number->real;
  }
  return true;
}

static bool read_matrix(dual_line *line, const cpb_json *object, const char *key, double **matrix) {
  const cpb_json *rows = cpb_json_get(object, key);
  size_t d = line->d;
  if (!cpb_json_is(rows, CPB_JSON_ARRAY) || cpb_json_size(rows) != d)
    return refuse(line, "\"%s\" must be %zu rows of %zu numbers", key, d, d);
  *matrix = dual_numbers(line, d * d);
  if (*matrix == NULL) return false;
  const cpb_json *row = rows->first;
  for (size_t i = 0; i < d; i++, row = row->next) {
    const cpb_json *value = cpb_json_first(row);
    bool whole = cpb_json_size(row) == d;
    for (size_t j = 0; whole && j < d; j++, value = value->next) {
      whole = cpb_json_is_number(value);
      (*matrix)[i * d + j] = value->real;
    }
    if (!whole) return refuse(line, "row %zu of \"%s\" must be %zu numbers", i, key, d);
  }
  return true;
}

static bool known_keys(dual_line *line, const cpb_json *object, const char *where, const char *const *keys) {
  for (const cpb_json *member = object->first; member != NULL; member = member->next) {
    size_t i = 0;
    while (keys[i] != NULL && strcmp(keys[i], member->key) != 0) i++;
    if (keys[i] == NULL) return refuse(line, "%s has no \"%s\"", where, member->key);
  }
  return true;
}

/* Divides a vector by its length, which must not be 0; returns the length. */
static bool normalise(dual_line *line, const char *key, double *vector, size_t n, double *length) {
  *length = length_of(vector, n);
  if (!(*length > 0) || isinf(*length))
    return refuse(line, "\"%s\" has length %g and no direction", key, *length);
  for (size_t i = 0; i < n; i++) vector[i] /= *length;
  return true;
}

static bool read_center(dual_line *line, const cpb_json *object, const char *key) {
  if (!read_vector(line, object, key, line->d, &line->c, &line->d)) return false;
  line->region.c = line->c;
  return true;
}

static bool positive(dual_line *line, const char *key, double value) {
  return value > 0 && isfinite(value) ? true
                                      : refuse(line, "\"%s\" must be > 0 and finite, got %g", key, value);
}

/* A ball, an ellipsoid of revolution (axis, r1, r2), or any ellipsoid (W or G, r = 1 unless given). */
static bool read_bounded(dual_line *line, const cpb_json *object, const char *name) {
  static const char *const keys[] = {"c", "r", "axis", "r1", "r2", "W", "G", NULL};
  cpb_region *region = &line->region;
  if (!known_keys(line, object, name, keys) || !read_center(line, object, "c")) return false;
  bool axis = cpb_json_get(object, "axis") != NULL, metric = cpb_json_get(object, "G") != NULL;
  bool shaped = metric || cpb_json_get(object, "W") != NULL;
  if (axis && shaped) return refuse(line, "%s has both an axis and a matrix", name);
  if (axis) {
    double length;
    if (!read_vector(line, object, "axis", line->d, &line->axis, NULL) ||
        !normalise(line, "axis", line->axis, line->d, &length) ||
        !read_number(line, object, "r1", &region->along) || !read_number(line, object, "r2", &region->r))
      return false;
    region->axis = line->axis;
    return positive(line, "r1", region->along) && positive(line, "r2", region->r);
  }
  region->r = 1;
  bool optional = shaped && cpb_json_get(object, "r") == NULL;
  if (!optional && !read_number(line, object, "r", &region->r)) return false;
  region->along = region->r;
  if (shaped && !read_matrix(line, object, metric ? "G" : "W", &line->W)) return false;
  cpb_error error;
  if (metric && cpb_whitening_from_metric(line->W, line->d, line->W, &error) != CPB_OK)
    return refuse(line, "%s", error.text);
  region->W = line->W;
  return positive(line, "r", region->r);
}

static bool read_halfspace(dual_line *line, const cpb_json *object) {
  static const char *const keys[] = {"n", "h", NULL};
  double length;
  if (!known_keys(line, object, "halfspace", keys) || !read_center(line, object, "n") ||
      !read_number(line, object, "h", &line->region.r) || !normalise(line, "n", line->c, line->d, &length))
    return false;
  line->region.r /= length;
  return true;
}

/* Kinds without a vector: the dimension is that of the map or the pole, or given as "d". */
static bool read_whole(dual_line *line, const cpb_json *object, const char *name) {
  static const char *const keys[] = {"d", NULL};
  const cpb_json *d = cpb_json_get(object, "d");
  if (!known_keys(line, object, name, keys)) return false;
  double wanted = cpb_json_is_number(d) ? d->real : 0;
  if (d != NULL && !(wanted >= 1 && wanted <= 1 << 24 && wanted == trunc(wanted)))
    return refuse(line, "\"d\" must be a dimension >= 1");
  if (d != NULL && line->d != 0 && wanted != (double)line->d)
    return refuse(line, "\"d\" is %.17g, but the map has %zu", wanted, line->d);
  if (d != NULL) line->d = (size_t)wanted;
  if (line->d == 0) return refuse(line, "the dimension is not known: write {\"%s\":{\"d\":2}}", name);
  line->c = dual_numbers(line, line->d);
  if (line->c == NULL) return false;
  line->region.c = line->c;
  return true;
}

static bool read_cap(dual_line *line, const cpb_json *object) {
  static const char *const keys[] = {"p", "b", "sigma", "a", NULL};
  cpb_cap *cap = &line->cap;
  size_t count = 0, wanted = line->d == 0 ? 0 : line->d + 1;
  if (!known_keys(line, object, "cap", keys) || !read_vector(line, object, "p", wanted, &line->p, &count) ||
      !read_number(line, object, "b", &cap->b))
    return false;
  if (count < 2) return refuse(line, "\"p\" has 1 number, wanted at least 2");
  line->d = cap->d = count - 1;
  cap->p = line->p;
  cap->sigma = cap->a = NAN;
  bool complete = cpb_json_get(object, "sigma") != NULL && cpb_json_get(object, "a") != NULL;
  if (!complete) return true;
  if (!(fabs(length_of(cap->p, count) - 1) < 1e-9))
    return refuse(line, "a cap with sigma and a needs |p| = 1, got %.17g", length_of(cap->p, count));
  return read_number(line, object, "sigma", &cap->sigma) && read_number(line, object, "a", &cap->a);
}

static bool read_shape(dual_line *line, const char *name, const cpb_json *object) {
  cpb_region *region = &line->region;
  if (!cpb_json_is(object, CPB_JSON_OBJECT)) return refuse(line, "\"%s\" must be an object", name);
  line->is_cap = strcmp(name, "cap") == 0;
  if (line->is_cap) return read_cap(line, object);
  if (strcmp(name, "ellipsoid") == 0)
    region->kind = CPB_BALL;
  else
    for (int kind = CPB_EMPTY; kind <= CPB_EVERYTHING; kind++)
      if (strcmp(name, cpb_region_kind_name((cpb_region_kind)kind)) == 0)
        region->kind = (cpb_region_kind)kind;
  static const char *const point[] = {"c", NULL};
  bool read = false;
  switch (region->kind) {
  case CPB_BALL:
  case CPB_COMPLEMENT: read = read_bounded(line, object, name); break;
  case CPB_HALFSPACE: read = read_halfspace(line, object); break;
  case CPB_PUNCTURED: read = known_keys(line, object, name, point) && read_center(line, object, "c"); break;
  case CPB_EMPTY:
  case CPB_EVERYTHING: read = read_whole(line, object, name); break;
  }
  region->d = line->d;
  return read;
}

/* The map given in a line: a pole, or W and m. Needs the dimension. */
static bool read_carried(dual_line *line, const cpb_json *json) {
  bool pole = cpb_json_get(json, "pole") != NULL, W = cpb_json_get(json, "W") != NULL;
  if (pole && (W || line->W != NULL)) return refuse(line, "a line may contain a pole or W, not both");
  double length;
  if (pole && (!read_vector(line, json, "pole", line->d + 1, &line->pole, NULL) ||
               !normalise(line, "pole", line->pole, line->d + 1, &length)))
    return false;
  if (W && line->W != NULL)
    return refuse(line, "an ellipsoid has a matrix of its own beside the line's \"W\"");
  if (W && !read_matrix(line, json, "W", &line->W)) return false;
  bool round = line->region.kind == CPB_BALL || line->region.kind == CPB_COMPLEMENT;
  if (W && !line->is_cap && round) return refuse(line, "under \"W\" only an ellipsoid with this W is a cap");
  if (cpb_json_get(json, "m") == NULL) return true;
  if (line->W == NULL) return refuse(line, "\"m\" comes only with \"W\"");
  return read_vector(line, json, "m", line->d, &line->m, NULL);
}

bool dual_line_read(dual_line *line, const cpb_json *json, size_t d) {
  static const char *const shapes[] = {"ball",  "halfspace",  "complement", "ellipsoid", "cap",
                                       "empty", "everything", "punctured",  NULL};
  static const char *const others[] = {"id", "pole", "W", "m", NULL};
  *line = (dual_line){.d = d};
  if (!cpb_json_is(json, CPB_JSON_OBJECT)) return refuse(line, "a line must be a JSON object");
  const char *name = NULL;
  for (const cpb_json *member = json->first; member != NULL; member = member->next) {
    const char *key = member->key;
    size_t i = 0, k = 0;
    while (shapes[i] != NULL && strcmp(shapes[i], key) != 0) i++;
    while (others[k] != NULL && strcmp(others[k], key) != 0) k++;
    if (shapes[i] == NULL && others[k] == NULL) {
      return refuse(line,
                    "unknown \"%s\": a line has a ball, halfspace, complement, ellipsoid, cap, empty, "
                    "everything or punctured",
                    key);
    }
    if (shapes[i] != NULL && name != NULL) return refuse(line, "both \"%s\" and \"%s\"", name, key);
    if (shapes[i] != NULL) name = shapes[i];
  }
  if (name == NULL) return refuse(line, "neither a cap nor a region");
  return read_shape(line, name, cpb_json_get(json, name)) && read_carried(line, json);
}

void dual_line_clear(dual_line *line) {
  free(line->c);
  free(line->axis);
  free(line->p);
  free(line->pole);
  free(line->W);
  free(line->m);
}

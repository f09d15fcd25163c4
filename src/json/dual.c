/* T3 T5 T6: a region or a cap as a line of JSON, and its dual. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capball/advanced/laws.h"
#include "capball/map.h"
#include "capball/region.h"
#include "core/fail.h"
#include "core/sized.h"
#include "geometry/regions.h"
#include "geometry/vector.h"
#include "json/dual_line.h"
#include "text/json_text.h"

static const char *skip_blanks(const char *p, const char *end) {
  while (p < end && strchr(" \t\r\n", *p) != NULL && *p != 0) p++;
  return p;
}

/* The position after the closing quote of the string that begins at p, or end. */
static const char *skip_string(const char *p, const char *end) {
  for (p++; p < end && *p != '"'; p++)
    if (*p == '\\') p++;
  return p < end ? p + 1 : end;
}

/* The position after the value at p: brackets are counted, not checked. */
static const char *skip_value(const char *p, const char *end) {
  for (size_t depth = 0; p < end;) {
    if (depth == 0 && strchr(",}] \t\r\n", *p) != NULL) break;
    if (*p == '"') {
      p = skip_string(p, end);
      if (depth == 0) break;
      continue;
    }
    depth += *p == '{' || *p == '[';
    bool closes = *p == '}' || *p == ']';
    depth -= closes;
    p++;
    if (closes && depth == 0) break;
  }
  return p;
}

/* ENOMEM does not mean that the text is invalid. */
static cpb_status check_value(const char *text, size_t length) {
  cpb_json_fault fault;
  free(cpb_json_value(text, length, CPB_JSON_ANY | CPB_JSON_AS_REALS | CPB_JSON_LOOK, &fault));
  return fault.why == NULL ? CPB_OK : fault.no_memory ? CPB_ENOMEM : CPB_EFORMAT;
}

/* The value of the first "id" of the outermost object; false if the text is not such an object. */
static bool find_id(char *line, size_t length, char **begin, char **behind) {
  const char *end = line + length, *p = skip_blanks(line, end);
  if (p == end || *p != '{') return false;
  do {
    const char *key = skip_blanks(p + 1, end);
    if (key == end || *key != '"') return false;
    p = skip_string(key, end);
    bool found = p - key == 4 && memcmp(key, "\"id\"", 4) == 0;
    p = skip_blanks(p, end);
    if (p == end || *p != ':') return false;
    const char *value = skip_blanks(p + 1, end);
    p = skip_value(value, end);
    if (found) {
      *begin = line + (value - line);
      *behind = line + (p - line);
      return true;
    }
    p = skip_blanks(p, end);
  } while (p < end && *p == ',');
  return false;
}

/* Takes the id, any JSON value, out of a line and puts 0 in its place; the caller frees it, NULL: none. It is copied as
 * text: as a number it would be rounded, or might exceed 64 bits. EFORMAT if it is not a JSON value; ENOMEM. */
static cpb_status take_id(char **id, char *line, size_t length) {
  char *begin, *behind;
  *id = NULL;
  if (!find_id(line, length, &begin, &behind)) return CPB_OK;
  size_t size = (size_t)(behind - begin);
  cpb_status status = check_value(begin, size);
  if (status != CPB_OK) return status;
  *id = calloc(size + 1, 1);
  if (*id == NULL) return CPB_ENOMEM;
  memcpy(*id, begin, size);
  memset(begin, ' ', size);
  *begin = '0'; /* any value of sufficiently small size */
  return CPB_OK;
}

static void put_matrix(cpb_text *t, const double *W, size_t d) {
  for (size_t i = 0; i < d; i++) cpb_json_pack(t, i == 0 ? "[V" : ",V", W + i * d, d);
  cpb_text_puts(t, "]");
}

static void put_bounded(cpb_text *t, const cpb_region *region) {
  size_t d = region->d;
  cpb_json_pack(t, "{s:V,", "c", region->c, d);
  if (region->axis != NULL) {
    cpb_json_pack(t, "s:V,s:f,s:f}", "axis", region->axis, d, "r1", region->along, "r2", region->r);
    return;
  }
  if (region->W != NULL) {
    cpb_json_pack(t, "s:", "W");
    put_matrix(t, region->W, d);
    cpb_text_puts(t, ",");
  }
  cpb_json_pack(t, "s:f}", "r", region->r);
}

static void put_region(cpb_text *t, const cpb_region *region) {
  switch (region->kind) {
  case CPB_EMPTY:
  case CPB_EVERYTHING: cpb_json_pack(t, "{s:I}", "d", (uint64_t)region->d); break;
  case CPB_PUNCTURED: cpb_json_pack(t, "{s:V}", "c", region->c, region->d); break;
  case CPB_HALFSPACE: cpb_json_pack(t, "{s:V,s:f}", "n", region->c, region->d, "h", region->r); break;
  case CPB_BALL:
  case CPB_COMPLEMENT: put_bounded(t, region); break;
  }
}

static bool bounded(const cpb_region *region) {
  return region->kind == CPB_BALL || region->kind == CPB_COMPLEMENT;
}

static const char *region_name(const cpb_region *region) {
  bool stretched = region->axis != NULL || region->W != NULL;
  if (region->kind == CPB_BALL && stretched) return "ellipsoid";
  return cpb_region_kind_name(region->kind);
}

/* The map given in the line; an ellipsoid already contains its W. */
static void put_map(cpb_text *t, const dual_line *line) {
  bool named = !line->is_cap && line->region.W != NULL && bounded(&line->region);
  if (line->pole != NULL) cpb_json_pack(t, ",s:V", "pole", line->pole, line->d + 1);
  if (line->W != NULL && !named) {
    cpb_json_pack(t, ",s:", "W");
    put_matrix(t, line->W, line->d);
  }
  if (line->m != NULL) cpb_json_pack(t, ",s:V", "m", line->m, line->d);
}

/* The id comes first, as written. */
static cpb_status dual_line_text(const dual_line *line, const char *id, char **text, cpb_error *error) {
  cpb_text t = {.style = {.compact = true, .fewest = true, .long_exponent = true}};
  const cpb_cap *cap = &line->cap;
  cpb_text_puts(&t, id != NULL ? "{\"id\":" : "{");
  if (id != NULL) cpb_text_puts(&t, id);
  if (id != NULL) cpb_text_puts(&t, ",");
  cpb_json_pack(&t, "s:", line->is_cap ? "cap" : region_name(&line->region));
  if (line->is_cap)
    cpb_json_pack(&t, "{s:V,s:f,s:f,s:f}", "p", cap->p, cap->d + 1, "b", cap->b, "sigma", cap->sigma, "a",
                  cap->a);
  else
    put_region(&t, &line->region);
  if (line->carries) put_map(&t, line);
  cpb_text_puts(&t, "}");
  *text = t.bytes;
  if (t.failure == CPB_JSON_WHOLE) return CPB_OK;
  free(t.bytes);
  *text = NULL;
  if (t.failure == CPB_JSON_NO_MEMORY) return cpb_fail_memory(error, "an answer in JSON");
  return cpb_fail(error, CPB_WHY_DUAL_ANSWER, "line",
                  "JSON cannot represent the result: a number that is not finite, or no memory");
}

static bool reject(dual_line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool reject(dual_line *line, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line->fault, sizeof line->fault, format, arguments);
  va_end(arguments);
  return false;
}

/* Zeros, freed with the line. */
static double *dual_numbers(dual_line *line, size_t count) {
  return cpb_memory_zeros(&line->memory, count, sizeof(double));
}

/* |x|; NaN if it contains NaN or inf. */
static double length_of(const double *x, size_t n) { return cpb_all_finite(x, n) ? cpb_norm(x, n) : NAN; }

static bool read_number(dual_line *line, const cpb_json *object, const char *key, double *number) {
  const cpb_json *value = cpb_json_get(object, key);
  if (value == NULL) return reject(line, "\"%s\" is missing", key);
  if (!cpb_json_is_number(value)) return reject(line, "\"%s\" must be a number", key);
  *number = value->real;
  return true;
}

/* n numbers; n = 0: any count >= least, returned in *count. */
static bool read_vector(dual_line *line, const cpb_json *object, const char *key, size_t n, double **numbers,
                        size_t *count) {
  const cpb_json *value = cpb_json_get(object, key);
  if (value == NULL) return reject(line, "\"%s\" is missing", key);
  size_t found = cpb_json_size(value);
  if (!cpb_json_is(value, CPB_JSON_ARRAY) || found == 0)
    return reject(line, "\"%s\" must be an array of numbers", key);
  if (n != 0 && found != n)
    return reject(line, "\"%s\" has %zu number%s, wanted %zu", key, found, found == 1 ? "" : "s", n);
  *numbers = dual_numbers(line, found);
  if (*numbers == NULL) return false;
  if (count != NULL) *count = found;
  const cpb_json *number = value->first;
  for (size_t i = 0; i < found; i++, number = number->next) {
    if (!cpb_json_is_number(number)) return reject(line, "number %zu of \"%s\" is not a number", i, key);
    (*numbers)[i] = number->real;
  }
  return true;
}

static bool read_matrix(dual_line *line, const cpb_json *object, const char *key, double **matrix) {
  const cpb_json *rows = cpb_json_get(object, key);
  size_t d = line->d;
  if (!cpb_json_is(rows, CPB_JSON_ARRAY) || cpb_json_size(rows) != d)
    return reject(line, "\"%s\" must be %zu rows of %zu numbers", key, d, d);
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
    if (!whole) return reject(line, "row %zu of \"%s\" must be %zu numbers", i, key, d);
  }
  return true;
}

static bool known_keys(dual_line *line, const cpb_json *object, const char *where, const char *const *keys) {
  for (const cpb_json *member = object->first; member != NULL; member = member->next) {
    size_t i = 0;
    while (keys[i] != NULL && strcmp(keys[i], member->key) != 0) i++;
    if (keys[i] == NULL) return reject(line, "%s has no \"%s\"", where, member->key);
  }
  return true;
}

/* Divides a vector by its length, which must not be 0; returns the length. */
static bool normalise(dual_line *line, const char *key, double *vector, size_t n, double *length) {
  *length = length_of(vector, n);
  if (!(*length > 0) || isinf(*length))
    return reject(line, "\"%s\" has length %g and no direction", key, *length);
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
                                      : reject(line, "\"%s\" must be > 0 and finite, got %g", key, value);
}

/* A ball, an ellipsoid of revolution (axis, r1, r2), or any ellipsoid (W or G, r = 1 unless given). */
static bool read_bounded(dual_line *line, const cpb_json *object, const char *name) {
  static const char *const keys[] = {"c", "r", "axis", "r1", "r2", "W", "G", NULL};
  cpb_region *region = &line->region;
  if (!known_keys(line, object, name, keys) || !read_center(line, object, "c")) return false;
  bool axis = cpb_json_get(object, "axis") != NULL, metric = cpb_json_get(object, "G") != NULL;
  bool shaped = metric || cpb_json_get(object, "W") != NULL;
  if (axis && shaped) return reject(line, "%s has both an axis and a matrix", name);
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
    return reject(line, "%s", error.text);
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
    return reject(line, "\"d\" must be a dimension >= 1");
  if (d != NULL && line->d != 0 && wanted != (double)line->d)
    return reject(line, "\"d\" is %.17g, but the map has %zu", wanted, line->d);
  if (d != NULL) line->d = (size_t)wanted;
  if (line->d == 0) return reject(line, "the dimension is not known: write {\"%s\":{\"d\":2}}", name);
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
  if (count < 2) return reject(line, "\"p\" has 1 number, wanted at least 2");
  line->d = cap->d = count - 1;
  cap->p = line->p;
  cap->sigma = cap->a = NAN;
  bool complete = cpb_json_get(object, "sigma") != NULL && cpb_json_get(object, "a") != NULL;
  if (!complete) return true;
  if (!(fabs(length_of(cap->p, count) - 1) < 1e-9))
    return reject(line, "a cap with sigma and a needs |p| = 1, got %.17g", length_of(cap->p, count));
  return read_number(line, object, "sigma", &cap->sigma) && read_number(line, object, "a", &cap->a);
}

static bool read_shape(dual_line *line, const char *name, const cpb_json *object) {
  cpb_region *region = &line->region;
  if (!cpb_json_is(object, CPB_JSON_OBJECT)) return reject(line, "\"%s\" must be an object", name);
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
  if (pole && (W || line->W != NULL)) return reject(line, "a line may contain a pole or W, not both");
  double length;
  if (pole && (!read_vector(line, json, "pole", line->d + 1, &line->pole, NULL) ||
               !normalise(line, "pole", line->pole, line->d + 1, &length)))
    return false;
  if (W && line->W != NULL)
    return reject(line, "an ellipsoid has a matrix of its own beside the line's \"W\"");
  if (W && !read_matrix(line, json, "W", &line->W)) return false;
  bool round = line->region.kind == CPB_BALL || line->region.kind == CPB_COMPLEMENT;
  if (W && !line->is_cap && round) return reject(line, "under \"W\" only an ellipsoid with this W is a cap");
  if (cpb_json_get(json, "m") == NULL) return true;
  if (line->W == NULL) return reject(line, "\"m\" comes only with \"W\"");
  return read_vector(line, json, "m", line->d, &line->m, NULL);
}

/* Reads a line's JSON; d = 0 if the dimension is not known beforehand. False: see fault. */
bool dual_line_read(dual_line *line, const cpb_json *json, size_t d) {
  static const char *const shapes[] = {"ball",  "halfspace",  "complement", "ellipsoid", "cap",
                                       "empty", "everything", "punctured",  NULL};
  static const char *const others[] = {"id", "pole", "W", "m", NULL};
  *line = (dual_line){.d = d};
  if (!cpb_json_is(json, CPB_JSON_OBJECT)) return reject(line, "a line must be a JSON object");
  const char *name = NULL;
  for (const cpb_json *member = json->first; member != NULL; member = member->next) {
    const char *key = member->key;
    size_t i = 0, k = 0;
    while (shapes[i] != NULL && strcmp(shapes[i], key) != 0) i++;
    while (others[k] != NULL && strcmp(others[k], key) != 0) k++;
    if (shapes[i] == NULL && others[k] == NULL) {
      return reject(line,
                    "unknown \"%s\": a line has a ball, halfspace, complement, ellipsoid, cap, empty, "
                    "everything or punctured",
                    key);
    }
    if (shapes[i] != NULL && name != NULL) return reject(line, "both \"%s\" and \"%s\"", name, key);
    if (shapes[i] != NULL) name = shapes[i];
  }
  if (name == NULL) return reject(line, "neither a cap nor a region");
  return read_shape(line, name, cpb_json_get(json, name)) && read_carried(line, json);
}

void dual_line_clear(dual_line *line) { cpb_memory_free(&line->memory); }

CPB_DEFAULTS(cpb_dual_options, .size = sizeof(cpb_dual_options))

/* The pole of a line: its own, or that of the options; NULL is e, as always under W. */
static const double *pole_of(const cpb_dual_options *dual, const dual_line *line) {
  if (line->W != NULL) return NULL;
  return line->pole != NULL ? line->pole : dual->pole;
}

/* Entry i,j of W^T W. */
static double metric_at(const double *W, size_t d, size_t i, size_t j) {
  double sum = 0;
  for (size_t k = 0; k < d; k++) sum += W[k * d + i] * W[k * d + j];
  return sum;
}

/* An ellipsoid has the map's metric if its W^T W is a multiple k^2 of the map's: then |W(x-c)| = k |M(x-c)|, and M with
 * r/k is equivalent. False: it has another. */
static bool adopt_metric(const double *M, cpb_region *region) {
  size_t d = region->d;
  const double *W = region->W;
  if (W == NULL || memcmp(W, M, d * d * sizeof *W) == 0) return true;
  double k2 = metric_at(W, d, 0, 0) / metric_at(M, d, 0, 0);
  for (size_t i = 0; i < d; i++)
    for (size_t j = i; j < d; j++) {
      double size = sqrt(metric_at(M, d, i, i)) * sqrt(metric_at(M, d, j, j));
      if (!(fabs(metric_at(W, d, i, j) / k2 - metric_at(M, d, i, j)) <= 1e-9 * size)) return false;
    }
  region->W = M;
  region->r /= sqrt(k2);
  return true;
}

/* A prolate spheroid is not a cap under any pole; W = I + (r2/r1 - 1) a a^T maps it to the ball of radius r2, T6. */
static bool whiten_prolate(dual_line *line) {
  size_t d = line->d;
  const double *a = line->axis;
  line->W = dual_numbers(line, d * d);
  if (line->W == NULL) return false;
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j < d; j++)
      line->W[i * d + j] = (i == j) + (line->region.r / line->region.along - 1) * a[i] * a[j];
  line->region.axis = NULL;
  return true;
}

static cpb_status no_memory(cpb_error *error) { return cpb_fail_memory(error, "a line of JSON"); }

static cpb_status to_cap(const cpb_dual_options *dual, dual_line *line, cpb_error *error) {
  size_t d = line->d;
  line->p = dual_numbers(line, d + 1);
  if (line->p == NULL) return no_memory(error);
  line->cap = (cpb_cap){.d = d, .p = line->p};
  if (dual->map != NULL) return cpb_map_cap(dual->map, &line->region, &line->cap, error);
  bool prolate = line->region.axis != NULL && line->region.along > line->region.r;
  if (prolate && pole_of(dual, line) == NULL && !whiten_prolate(line)) return no_memory(error);
  if (line->W != NULL) {
    double *scratch = dual_numbers(line, d * d + d);
    if (scratch == NULL) return no_memory(error);
    line->region.W = line->W;
    return cpb_cap_from_ellipsoid(&line->region, line->m, dual->s, scratch, &line->cap, error);
  }
  /* An ellipsoid of revolution determines its pole if none was given. */
  if (line->region.axis != NULL && pole_of(dual, line) == NULL) {
    line->pole = dual_numbers(line, d + 1);
    if (line->pole == NULL) return no_memory(error);
    cpb_status status = cpb_pole_from_spheroid(&line->region, line->pole, error);
    if (status != CPB_OK) return status;
  }
  const double *v = pole_of(dual, line);
  if (v == NULL) return cpb_cap_from_region(&line->region, dual->s, &line->cap, error);
  return cpb_cap_from_spheroid(&line->region, dual->s, v, &line->cap, error);
}

static cpb_status to_region(const cpb_dual_options *dual, dual_line *line, cpb_error *error) {
  size_t d = line->d;
  line->c = dual_numbers(line, d);
  line->axis = dual_numbers(line, d);
  if (line->c == NULL || line->axis == NULL) return no_memory(error);
  line->region = (cpb_region){.d = d, .c = line->c, .axis = line->axis};
  if (dual->map != NULL) return cpb_map_region(dual->map, &line->cap, &line->region, error);
  const double *v = pole_of(dual, line);
  cpb_status status = CPB_OK;
  if (isnan(line->cap.sigma)) status = cpb_cap_complete(&line->cap, v, error);
  if (status != CPB_OK) return status;
  if (line->W != NULL) {
    double *scratch = dual_numbers(line, d * d + d);
    if (scratch == NULL) return no_memory(error);
    status = cpb_ellipsoid_from_cap(&line->cap, line->W, line->m, dual->s, scratch, &line->region, error);
    line->region.axis = NULL;
    return status;
  }
  if (v == NULL) return cpb_region_from_cap(&line->cap, dual->s, &line->region, error);
  return cpb_spheroid_from_cap(&line->cap, dual->s, v, &line->region, error);
}

/* The map's metric is found from its image of a bounded cap, {<v,y> >= 0}. NULL: it has none. */
static cpb_status find_metric(const cpb_map *map, dual_line *line, const double **metric, cpb_error *error) {
  cpb_map_options options = {.size = sizeof options};
  cpb_map_describe(map, &options);
  *metric = NULL;
  if (options.whiten == NULL) return CPB_OK;
  size_t d = options.d;
  double *p = dual_numbers(line, 3 * d + 1), *c = p + d + 1;
  if (p == NULL) return no_memory(error);
  p[d] = 1;
  if (options.pole != NULL) memcpy(p, options.pole, (d + 1) * sizeof *p);
  cpb_cap cap = {.d = d, .p = p, .b = 0, .sigma = NAN, .a = NAN};
  cpb_region region = {.d = d, .c = c, .axis = c + d};
  cpb_status status = cpb_map_region(map, &cap, &region, error);
  *metric = region.W;
  return status;
}

static cpb_status refuse(const char *why, cpb_error *error) {
  return cpb_fail(error, CPB_WHY_DUAL_LINE, "line", "%s", why);
}

/* Under a map a line must not contain one of its own, and ellipsoids must have the map's metric. */
static cpb_status check_under_map(const cpb_map *map, dual_line *line, cpb_error *error) {
  const double *metric;
  if (line->pole != NULL || line->m != NULL || (line->W != NULL && line->region.W == NULL))
    return refuse("the map is given; the line may not contain another", error);
  if (line->is_cap || line->region.W == NULL) return CPB_OK;
  cpb_status status = find_metric(map, line, &metric, error);
  if (status != CPB_OK || metric == NULL || adopt_metric(metric, &line->region)) return status;
  return refuse("under this map only ellipsoids of its metric are caps, and W^T W is not a multiple of it",
                error);
}

static cpb_status turn(const cpb_dual_options *dual, dual_line *line, cpb_error *error) {
  cpb_status status = dual->map != NULL ? check_under_map(dual->map, line, error) : CPB_OK;
  if (status == CPB_OK) status = (line->is_cap ? to_region : to_cap)(dual, line, error);
  line->is_cap = !line->is_cap;
  line->carries = dual->map == NULL;
  return status;
}

static cpb_status answer(const cpb_dual_options *dual, const cpb_json *json, const char *id, char **text,
                         cpb_error *error) {
  dual_line line;
  size_t d = dual->d;
  cpb_map_options of = {.size = sizeof of};
  if (dual->map != NULL) {
    cpb_map_describe(dual->map, &of);
    d = of.d;
  }
  cpb_status status = CPB_OK;
  if (!dual_line_read(&line, json, d))
    status = line.memory.failed ? no_memory(error) : refuse(line.fault, error);
  if (status == CPB_OK) status = turn(dual, &line, error);
  if (status == CPB_OK) status = dual_line_text(&line, id, text, error);
  dual_line_clear(&line);
  return status;
}

static cpb_status read_line(const char *line, size_t length, cpb_json **json, cpb_error *error) {
  cpb_json_fault fault;
  while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r')) length--;
  *json = cpb_json_value(line, length, CPB_JSON_AS_REALS, &fault);
  if (fault.why == NULL) return CPB_OK;
  if (fault.no_memory) return no_memory(error);
  char why[128];
  snprintf(why, sizeof why, "column %llu: not JSON: %s", fault.column, fault.why);
  return refuse(why, error);
}

static cpb_status answer_copy(const cpb_dual_options *dual, char *line, size_t length, char **text,
                              cpb_error *error) {
  char *id;
  cpb_json *json = NULL;
  cpb_status status = take_id(&id, line, length);
  if (status == CPB_ENOMEM) return no_memory(error);
  if (status != CPB_OK) return refuse("\"id\" is not a JSON value", error);
  status = read_line(line, length, &json, error);
  if (status == CPB_OK) status = answer(dual, json, id, text, error);
  free(json);
  free(id);
  return status;
}

cpb_status cpb_dual_line(const char *line, size_t length, const cpb_dual_options *options, char **answer_text,
                         cpb_error *error) {
  cpb_dual_options o = defaults;
  if (line == NULL || answer_text == NULL) return cpb_fail_missing(error, line == NULL ? "line" : "answer");
  *answer_text = NULL;
  cpb_status status = cpb_sized_take(&o, sizeof o, options, "dual options", error);
  if (status == CPB_OK && o.map == NULL) status = cpb_check_scale(o.s, error);
  if (status != CPB_OK) return status;
  char *copy = malloc(length + 1);
  if (copy == NULL) return no_memory(error);
  memcpy(copy, line, length);
  copy[length] = 0;
  status = answer_copy(&o, copy, length, answer_text, error);
  free(copy);
  return status;
}

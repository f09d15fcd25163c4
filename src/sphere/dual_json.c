/* T3 T5 T6: a region or a cap as a line of JSON, and its dual. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sphere/map_object.h"
#include "capball/advanced/laws.h"
#include "capball/region.h"
#include "base/fail.h"
#include "base/sized.h"
#include "sphere/t3_cap_ball.h"
#include "sphere/t5_spheroid.h"
#include "sphere/t6_ellipsoid.h"
#include "loops/vector.h"
#include "sphere/dual_json.h"
#include "base/json_text.h"

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
static cpb_status dual_line_text(const dual_line *line, const cpb_json *id, char **text, cpb_error *error) {
  cpb_text t = {.style = {.compact = true, .fewest = true, .long_exponent = true}};
  const cpb_cap *cap = &line->cap;
  bool given = cpb_json_is(id, CPB_JSON_RAW);
  cpb_text_puts(&t, given ? "{\"id\":" : "{");
  if (given) cpb_text_put(&t, id->string, id->count);
  if (given) cpb_text_puts(&t, ",");
  const cpb_region *region = &line->region;
  bool ellipsoid = region->kind == CPB_BALL && (region->axis != NULL || region->W != NULL);
  cpb_json_pack(&t, "s:",
                line->is_cap ? "cap"
                : ellipsoid  ? "ellipsoid"
                             : cpb_region_kind_name(region->kind));
  if (line->is_cap)
    cpb_json_pack(&t, "{s:V,s:f,s:f,s:f}", "p", cap->p, cap->d + 1, "b", cap->b, "sigma", cap->sigma, "a",
                  cap->a);
  else
    put_region(&t, region);
  if (line->carries) put_map(&t, line);
  cpb_text_puts(&t, "}");
  if (t.failure == CPB_JSON_WHOLE) {
    *text = t.bytes;
    return CPB_OK;
  }
  free(t.bytes);
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

static double *dual_numbers(dual_line *line, size_t count) {
  return cpb_memory_zeros(&line->memory, count, sizeof(double));
}

static bool read_number(dual_line *line, const cpb_json *object, const char *key, double *number) {
  const cpb_json *value = cpb_json_get(object, key);
  if (value == NULL) return reject(line, "\"%s\" is missing", key);
  if (!cpb_json_is_number(value)) return reject(line, "\"%s\" must be a number", key);
  *number = value->real;
  return true;
}

/* n numbers; n = 0: any count, returned in *count. */
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

static bool is_one_of(const char *const *words, const char *word) {
  while (*words != NULL && strcmp(*words, word) != 0) words++;
  return *words != NULL;
}

/* Divides a vector by its length, which must not be 0; returns the length, or 0 after an error. */
static double normalise(dual_line *line, const char *key, double *vector, size_t n) {
  double length = cpb_all_finite(vector, n) ? cpb_norm(vector, n) : NAN;
  if (!(length > 0) || isinf(length)) {
    reject(line, "\"%s\" has length %g and no direction", key, length);
    return 0;
  }
  for (size_t i = 0; i < n; i++) vector[i] /= length;
  return length;
}

static bool positive(dual_line *line, const char *key, double value) {
  return value > 0 && isfinite(value) ? true
                                      : reject(line, "\"%s\" must be > 0 and finite, got %g", key, value);
}

static bool read_spheroid(dual_line *line, const cpb_json *object) {
  cpb_region *region = &line->region;
  return read_vector(line, object, "axis", line->d, &region->axis, NULL) &&
         normalise(line, "axis", region->axis, line->d) > 0 &&
         read_number(line, object, "r1", &region->along) && read_number(line, object, "r2", &region->r) &&
         positive(line, "r1", region->along) && positive(line, "r2", region->r);
}

/* A ball, an ellipsoid of revolution, or any ellipsoid (W or G, r = 1 unless given). */
static bool read_bounded(dual_line *line, const cpb_json *object) {
  cpb_region *region = &line->region;
  if (!read_vector(line, object, "c", line->d, &region->c, &line->d)) return false;
  bool axis = cpb_json_get(object, "axis") != NULL, metric = cpb_json_get(object, "G") != NULL;
  bool shaped = metric || cpb_json_get(object, "W") != NULL;
  if (axis && shaped) return reject(line, "%s has both an axis and a matrix", object->key);
  if (axis) return read_spheroid(line, object);
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
  cpb_region *region = &line->region;
  if (!read_vector(line, object, "n", line->d, &region->c, &line->d) ||
      !read_number(line, object, "h", &region->r))
    return false;
  double length = normalise(line, "n", region->c, line->d);
  region->r /= length;
  return length > 0;
}

static bool read_punctured(dual_line *line, const cpb_json *object) {
  return read_vector(line, object, "c", line->d, &line->region.c, &line->d);
}

/* Kinds without a vector: the dimension is that of the map or the pole, or given as "d". */
static bool read_whole(dual_line *line, const cpb_json *object) {
  const cpb_json *d = cpb_json_get(object, "d");
  double wanted = cpb_json_is_number(d) ? d->real : 0;
  if (d != NULL && !(wanted >= 1 && wanted <= 1 << 24 && wanted == trunc(wanted)))
    return reject(line, "\"d\" must be a dimension >= 1");
  if (d != NULL && line->d != 0 && wanted != (double)line->d)
    return reject(line, "\"d\" is %.17g, but the map has %zu", wanted, line->d);
  if (d != NULL) line->d = (size_t)wanted;
  if (line->d == 0) return reject(line, "the dimension is not known: write {\"%s\":{\"d\":2}}", object->key);
  line->region.c = dual_numbers(line, line->d);
  return line->region.c != NULL;
}

static bool read_cap(dual_line *line, const cpb_json *object) {
  cpb_cap *cap = &line->cap;
  size_t count = 0, wanted = line->d == 0 ? 0 : line->d + 1;
  if (!read_vector(line, object, "p", wanted, &cap->p, &count) || !read_number(line, object, "b", &cap->b))
    return false;
  if (count < 2) return reject(line, "\"p\" has 1 number, wanted at least 2");
  line->is_cap = true;
  line->d = cap->d = count - 1;
  cap->sigma = cap->a = NAN;
  bool complete = cpb_json_get(object, "sigma") != NULL && cpb_json_get(object, "a") != NULL;
  if (!complete) return true;
  double length = cpb_all_finite(cap->p, count) ? cpb_norm(cap->p, count) : NAN;
  if (!(fabs(length - 1) < 1e-9))
    return reject(line, "a cap with sigma and a needs |p| = 1, got %.17g", length);
  return read_number(line, object, "sigma", &cap->sigma) && read_number(line, object, "a", &cap->a);
}

typedef struct shape {
  const char *name;
  cpb_region_kind kind; /* of a region */
  bool (*read)(dual_line *line, const cpb_json *object);
  const char *keys[8]; /* ends with NULL */
} shape;

static const shape shapes[] = {
    {"ball", CPB_BALL, read_bounded, {"c", "r", "axis", "r1", "r2", "W", "G"}},
    {"ellipsoid", CPB_BALL, read_bounded, {"c", "r", "axis", "r1", "r2", "W", "G"}},
    {"complement", CPB_COMPLEMENT, read_bounded, {"c", "r", "axis", "r1", "r2", "W", "G"}},
    {"halfspace", CPB_HALFSPACE, read_halfspace, {"n", "h"}},
    {"cap", CPB_EMPTY, read_cap, {"p", "b", "sigma", "a"}},
    {"empty", CPB_EMPTY, read_whole, {"d"}},
    {"everything", CPB_EVERYTHING, read_whole, {"d"}},
    {"punctured", CPB_PUNCTURED, read_punctured, {"c"}}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static bool read_shape(dual_line *line, const shape *of, const cpb_json *object) {
  if (!cpb_json_is(object, CPB_JSON_OBJECT)) return reject(line, "\"%s\" must be an object", of->name);
  for (const cpb_json *member = object->first; member != NULL; member = member->next)
    if (!is_one_of(of->keys, member->key)) return reject(line, "%s has no \"%s\"", of->name, member->key);
  line->region.kind = of->kind;
  bool read = of->read(line, object);
  line->region.d = line->d;
  return read;
}

/* The map given in a line: a pole, or W and m. Needs the dimension. */
static bool read_carried(dual_line *line, const cpb_json *json) {
  bool pole = cpb_json_get(json, "pole") != NULL, W = cpb_json_get(json, "W") != NULL;
  if (pole && (W || line->W != NULL)) return reject(line, "a line may contain a pole or W, not both");
  if (pole && (!read_vector(line, json, "pole", line->d + 1, &line->pole, NULL) ||
               normalise(line, "pole", line->pole, line->d + 1) == 0))
    return false;
  if (W && line->W != NULL)
    return reject(line, "an ellipsoid has a matrix of its own beside the line's \"W\"");
  if (W && !read_matrix(line, json, "W", &line->W)) return false;
  if (W && !line->is_cap && bounded(&line->region))
    return reject(line, "under \"W\" only an ellipsoid with this W is a cap");
  if (cpb_json_get(json, "m") == NULL) return true;
  if (line->W == NULL) return reject(line, "\"m\" comes only with \"W\"");
  return read_vector(line, json, "m", line->d, &line->m, NULL);
}

bool dual_line_read(dual_line *line, const cpb_json *json, size_t d) {
  static const char *const others[] = {"id", "pole", "W", "m", NULL};
  const shape *found = NULL;
  const cpb_json *object = NULL;
  *line = (dual_line){.d = d};
  if (!cpb_json_is(json, CPB_JSON_OBJECT)) return reject(line, "a line must be a JSON object");
  for (const cpb_json *member = json->first; member != NULL; member = member->next) {
    size_t i = 0;
    if (is_one_of(others, member->key)) continue;
    while (i < SHAPES && strcmp(shapes[i].name, member->key) != 0) i++;
    if (i == SHAPES)
      return reject(line,
                    "unknown \"%s\": a line has a ball, halfspace, complement, ellipsoid, cap, empty, "
                    "everything or punctured",
                    member->key);
    if (found != NULL) return reject(line, "both \"%s\" and \"%s\"", found->name, member->key);
    found = &shapes[i];
    object = member;
  }
  if (found == NULL) return reject(line, "neither a cap nor a region");
  return read_shape(line, found, object) && read_carried(line, json);
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
static void whiten_prolate(dual_line *line) {
  const double *a = line->region.axis;
  for (size_t i = 0, d = line->d; i < d; i++)
    for (size_t j = 0; j < d; j++)
      line->W[i * d + j] = (i == j) + (line->region.r / line->region.along - 1) * a[i] * a[j];
  line->region.axis = NULL;
}

static cpb_status no_memory(cpb_error *error) { return cpb_fail_memory(error, "a line of JSON"); }

/* An ellipsoid of revolution determines its W or its pole if none was given. */
static cpb_status to_cap(const cpb_dual_options *dual, dual_line *line, cpb_error *error) {
  size_t d = line->d;
  cpb_region *region = &line->region;
  bool lone = dual->map == NULL && region->axis != NULL && pole_of(dual, line) == NULL;
  bool prolate = lone && region->along > region->r;
  line->cap = (cpb_cap){.d = d, .p = dual_numbers(line, d + 1)};
  if (prolate) line->W = dual_numbers(line, d * d);
  if (lone && !prolate) line->pole = dual_numbers(line, d + 1);
  double *scratch = dual->map == NULL && line->W != NULL ? dual_numbers(line, d * d + d) : NULL;
  if (line->memory.failed) return no_memory(error);
  if (dual->map != NULL) return cpb_map_cap(dual->map, region, &line->cap, error);
  if (prolate) whiten_prolate(line);
  if (line->W != NULL) {
    region->W = line->W;
    return cpb_cap_from_ellipsoid(region, line->m, dual->s, scratch, &line->cap, error);
  }
  cpb_status status = lone ? cpb_pole_from_spheroid(region, line->pole, error) : CPB_OK;
  if (status != CPB_OK) return status;
  const double *v = pole_of(dual, line);
  if (v == NULL) return cpb_cap_from_region(region, dual->s, &line->cap, error);
  return cpb_cap_from_spheroid(region, dual->s, v, &line->cap, error);
}

static cpb_status to_region(const cpb_dual_options *dual, dual_line *line, cpb_error *error) {
  size_t d = line->d;
  line->region = (cpb_region){.d = d, .c = dual_numbers(line, d), .axis = dual_numbers(line, d)};
  double *scratch = dual->map == NULL && line->W != NULL ? dual_numbers(line, d * d + d) : NULL;
  if (line->memory.failed) return no_memory(error);
  if (dual->map != NULL) return cpb_map_region(dual->map, &line->cap, &line->region, error);
  const double *v = pole_of(dual, line);
  cpb_status status = CPB_OK;
  if (isnan(line->cap.sigma)) status = cpb_cap_complete(&line->cap, v, error);
  if (status != CPB_OK) return status;
  if (line->W != NULL) {
    status = cpb_ellipsoid_from_cap(&line->cap, line->W, line->m, dual->s, scratch, &line->region, error);
    line->region.axis = NULL;
    return status;
  }
  if (v == NULL) return cpb_region_from_cap(&line->cap, dual->s, &line->region, error);
  return cpb_spheroid_from_cap(&line->cap, dual->s, v, &line->region, error);
}

static cpb_status refuse(const char *why, cpb_error *error) {
  return cpb_fail(error, CPB_WHY_DUAL_LINE, "line", "%s", why);
}

/* Under a map a line must not contain one of its own, and ellipsoids must have the map's metric. */
static cpb_status check_under_map(const cpb_map *map, dual_line *line, cpb_error *error) {
  if (line->pole != NULL || line->m != NULL || (line->W != NULL && line->region.W == NULL))
    return refuse("the map is given; the line may not contain another", error);
  if (line->is_cap || map->metric == NULL || adopt_metric(map->metric, &line->region)) return CPB_OK;
  return refuse("under this map only ellipsoids of its metric are caps, and W^T W is not a multiple of it",
                error);
}

static cpb_status answer(const cpb_dual_options *dual, const cpb_json *json, char **text, cpb_error *error) {
  dual_line line;
  cpb_status status = CPB_OK;
  if (!dual_line_read(&line, json, dual->map != NULL ? dual->map->options.d : dual->d))
    status = line.memory.failed ? no_memory(error) : refuse(line.fault, error);
  if (status == CPB_OK && dual->map != NULL) status = check_under_map(dual->map, &line, error);
  if (status == CPB_OK) status = (line.is_cap ? to_region : to_cap)(dual, &line, error);
  line.is_cap = !line.is_cap;
  line.carries = dual->map == NULL;
  if (status == CPB_OK) status = dual_line_text(&line, cpb_json_get(json, "id"), text, error);
  dual_line_clear(&line);
  return status;
}

static cpb_status refuse_json(const cpb_json_fault *fault, cpb_error *error) {
  char why[128];
  if (fault->no_memory) return no_memory(error);
  if (fault->of_id) return refuse("\"id\" is not a JSON value", error);
  snprintf(why, sizeof why, "column %llu: not JSON: %s", fault->column, fault->why);
  return refuse(why, error);
}

cpb_status cpb_dual_line(const char *line, size_t length, const cpb_dual_options *options, char **answer_text,
                         cpb_error *error) {
  cpb_dual_options o = defaults;
  cpb_json_fault fault;
  if (line == NULL || answer_text == NULL) return cpb_fail_missing(error, line == NULL ? "line" : "answer");
  *answer_text = NULL;
  cpb_status status = cpb_sized_take(&o, sizeof o, options, "dual options", error);
  if (status == CPB_OK && o.map == NULL) status = cpb_check_scale(o.s, error);
  if (status != CPB_OK) return status;
  while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r')) length--;
  cpb_json *json = cpb_json_value(line, length, CPB_JSON_AS_REALS | CPB_JSON_RAW_ID, &fault);
  status = json == NULL ? refuse_json(&fault, error) : answer(&o, json, answer_text, error);
  free(json);
  return status;
}

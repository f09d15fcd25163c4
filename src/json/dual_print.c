#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "geometry/region_kind.h"
#include "io/number.h"
#include "json/dual_line.h"
#include "json/json_file.h"

/* JSON has no NaN and no inf: jansson makes NULL of them, and then the object is incomplete. */
static bool put(json_t *object, const char *key, json_t *value) {
  return json_object_set_new(object, key, value) == 0;
}

static json_t *matrix_json(const double *W, size_t d) {
  json_t *rows = json_array();
  for (size_t i = 0; i < d; i++)
    if (json_array_append_new(rows, cpb_json_vector(W + i * d, d)) != 0) {
      json_decref(rows);
      return NULL;
    }
  return rows;
}

/* The object, or NULL if something is missing in it. */
static json_t *if_complete(json_t *object, bool complete) {
  if (complete) return object;
  json_decref(object);
  return NULL;
}

static json_t *cap_json(const cpb_cap *cap) {
  json_t *object = json_object();
  bool complete = put(object, "p", cpb_json_vector(cap->p, cap->d + 1)) &&
                  put(object, "b", json_real(cap->b)) && put(object, "sigma", json_real(cap->sigma)) &&
                  put(object, "a", json_real(cap->a));
  return if_complete(object, complete);
}

static bool put_bounded(json_t *object, const cpb_region *region) {
  size_t d = region->d;
  if (!put(object, "c", cpb_json_vector(region->c, d))) return false;
  if (region->axis != NULL)
    return put(object, "axis", cpb_json_vector(region->axis, d)) &&
           put(object, "r1", json_real(region->along)) && put(object, "r2", json_real(region->r));
  if (region->W != NULL && !put(object, "W", matrix_json(region->W, d))) return false;
  return put(object, "r", json_real(region->r));
}

static json_t *region_json(const cpb_region *region) {
  json_t *object = json_object();
  size_t d = region->d;
  bool complete = false;
  switch (region->kind) {
  case CPB_EMPTY:
  case CPB_EVERYTHING: complete = put(object, "d", json_integer((json_int_t)d)); break;
  case CPB_PUNCTURED: complete = put(object, "c", cpb_json_vector(region->c, d)); break;
  case CPB_HALFSPACE:
    complete = put(object, "n", cpb_json_vector(region->c, d)) && put(object, "h", json_real(region->r));
    break;
  case CPB_BALL:
  case CPB_COMPLEMENT: complete = put_bounded(object, region); break;
  }
  return if_complete(object, complete);
}

static bool bounded(const cpb_region *region) {
  return region->kind == CPB_BALL || region->kind == CPB_COMPLEMENT;
}

static const char *region_name(const cpb_region *region) {
  bool stretched = region->axis != NULL || region->W != NULL;
  if (region->kind == CPB_BALL && stretched) return "ellipsoid";
  return cpb_region_kind_name(region->kind);
}

/* The map the line came with; an ellipsoid already names its W. */
static bool put_map(json_t *object, const dual_line *line) {
  bool named = !line->is_cap && line->region.W != NULL && bounded(&line->region);
  if (line->pole != NULL && !put(object, "pole", cpb_json_vector(line->pole, line->d + 1))) return false;
  if (line->W != NULL && !named && !put(object, "W", matrix_json(line->W, line->d))) return false;
  return line->m == NULL || put(object, "m", cpb_json_vector(line->m, line->d));
}

static json_t *line_json(const dual_line *line) {
  json_t *object = json_object();
  const cpb_region *region = &line->region;
  bool complete = line->is_cap ? put(object, "cap", cap_json(&line->cap))
                               : put(object, region_name(region), region_json(region));
  return if_complete(object, complete && (!line->carries || put_map(object, line)));
}

/* ---- as text ---- */

typedef struct growing {
  char *bytes;
  size_t length, room;
  bool failed; /* libjansson does not look at every answer */
} growing;

static int append(const char *bytes, size_t count, void *arg) {
  growing *g = arg;
  if (g->length + count + 1 > g->room) {
    size_t room = 2 * (g->length + count + 1);
    char *larger = realloc(g->bytes, room);
    if (larger == NULL) {
      g->failed = true;
      return -1;
    }
    g->bytes = larger;
    g->room = room;
  }
  memcpy(g->bytes + g->length, bytes, count);
  g->length += count;
  g->bytes[g->length] = 0;
  return 0;
}

/* libjansson hands over a number in one piece, with 17 digits: the fewest that bring it back go on. */
static int append_short(const char *bytes, size_t count, void *arg) {
  double value;
  bool number = count > 0 && (bytes[0] == '-' || (bytes[0] >= '0' && bytes[0] <= '9'));
  if (!number || memchr(bytes, '.', count) == NULL || !cpb_number_parse(bytes, count, &value))
    return append(bytes, count, arg);
  char digits[CPB_NUMBER_ROOM];
  size_t length = cpb_number_print_short(digits, &value, CPB_F64, 0);
  if (append(digits, length, arg) != 0) return -1;
  return strpbrk(digits, ".e") != NULL ? 0 : append(".0", 2, arg);
}

/* The id goes in front, behind the brace that opens the object. */
static bool put_id(const char *id, const growing *object, growing *g) {
  return append("{\"id\":", 6, g) == 0 && append(id, strlen(id), g) == 0 && append(",", 1, g) == 0 &&
         append(object->bytes + 1, object->length - 1, g) == 0;
}

cpb_status dual_line_text(const dual_line *line, const char *id, char **text, cpb_error *error) {
  growing plain = {.bytes = NULL}, named = {.bytes = NULL};
  json_t *object = line_json(line);
  if (object == NULL)
    return cpb_fail(error, CPB_WHY_DUAL_ANSWER, "line",
                    "JSON cannot say the result: a number that is not finite, or no memory");
  cpb_numeric numeric;
  cpb_status status = cpb_numeric_enter(&numeric, error);
  bool whole =
      status == CPB_OK &&
      json_dump_callback(object, append_short, &plain, JSON_COMPACT | JSON_REAL_PRECISION(17)) == 0 &&
      !plain.failed;
  if (status == CPB_OK) cpb_numeric_leave(&numeric);
  json_decref(object);
  if (whole && id != NULL) whole = put_id(id, &plain, &named);
  *text = !whole ? NULL : id != NULL ? named.bytes : plain.bytes;
  if (!whole || id != NULL) free(plain.bytes);
  if (!whole) free(named.bytes);
  return whole ? CPB_OK : cpb_fail_memory(error, "an answer in JSON");
}

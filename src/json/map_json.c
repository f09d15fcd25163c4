/* A map as JSON. Numbers have 17 digits and are written as reals (2.0, -0.0), so that reading gives the same bits; the
 * checksum is over exactly those digits. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capball/map.h"
#include "core/fail.h"
#include "core/sized.h"
#include "io/number.h"
#include "json/json_file.h"

enum { VERSION = 1, DIM_MAX = 1 << 24, PER_LINE = 4, ROW_PER_LINE = 8 };

typedef cpb_text text;

/* Names can contain any bytes: if a name is not UTF-8, its non-ASCII bytes are written as '?'. */
static void put_string(text *t, const char *string) {
  if (string == NULL) {
    cpb_text_puts(t, "null");
    return;
  }
  bool utf8 = cpb_is_utf8(string);
  cpb_text_puts(t, "\"");
  for (const char *c = string; *c != 0; c++) {
    unsigned char byte = (unsigned char)*c;
    if (byte < 0x20 || byte == 0x7f)
      cpb_text_format(t, "\\u%04x", byte);
    else if (byte >= 0x80 && !utf8)
      cpb_text_puts(t, "?");
    else
      cpb_text_format(t, "%s%c", byte == '"' || byte == '\\' ? "\\" : "", byte);
  }
  cpb_text_puts(t, "\"");
}

static void put_vector(text *t, const double *numbers, size_t count, size_t per_line) {
  if (numbers == NULL) {
    cpb_text_puts(t, "null");
    return;
  }
  cpb_text_puts(t, "[");
  for (size_t i = 0; i < count; i++) {
    cpb_text_puts(t, i == 0 && count <= per_line ? "" : i % per_line == 0 ? "\n    " : " ");
    cpb_json_real(t, numbers[i]);
    cpb_text_puts(t, i + 1 < count ? "," : "");
  }
  cpb_text_puts(t, "]");
}

/* ---- the numbers of the file and the checksum ---- */

typedef struct part {
  const char *key;
  const double *numbers;
  size_t count, per_line;
} part;

enum { PARTS = 4 };

static void list_parts(const cpb_map_options *map, part parts[PARTS]) {
  size_t row = map->d <= ROW_PER_LINE ? map->d : PER_LINE; /* a small matrix is written row by row */
  parts[0] = (part){"center", map->center, map->d, PER_LINE};
  parts[1] = (part){"pole", map->pole, map->d + 1, PER_LINE};
  parts[2] = (part){"whiten", map->whiten, map->d * map->d, row};
  parts[3] = (part){"toward", map->toward, map->d + 1, PER_LINE};
}

/* FNV-1a, 64 bits. */
static uint64_t hash_text(uint64_t hash, const char *bytes) {
  for (; *bytes != 0; bytes++) hash = (hash ^ (unsigned char)*bytes) * 0x100000001b3u;
  return hash;
}

static uint64_t hash_number(uint64_t hash, double value) {
  char digits[CPB_NUMBER_ROOM];
  cpb_number_print(digits, &value, CPB_F64, 0);
  return hash_text(hash_text(hash, " "), digits);
}

/* Over the text "dim <d> scale <s> center .. pole .. whiten .. toward ..", numbers with 17 digits,
 * "null" for an absent part. */
static uint64_t checksum(const cpb_map_options *map) {
  part parts[PARTS];
  list_parts(map, parts);
  uint64_t hash = hash_number(hash_text(0xcbf29ce484222325u, "dim"), (double)map->d);
  hash = hash_number(hash_text(hash, " scale"), map->s);
  for (size_t k = 0; k < PARTS; k++) {
    hash = hash_text(hash_text(hash, " "), parts[k].key);
    if (parts[k].numbers == NULL) hash = hash_text(hash, " null");
    for (size_t i = 0; parts[k].numbers != NULL && i < parts[k].count; i++)
      hash = hash_number(hash, parts[k].numbers[i]);
  }
  return hash;
}

static void print_checksum(char hex[17], const cpb_map_options *map) {
  snprintf(hex, 17, "%016" PRIx64, checksum(map));
}

/* ---- writing ---- */

static void put_names(text *t, const cpb_map_options *map) {
  if (map->columns == NULL) return;
  cpb_json_put(t, "columns", "[");
  for (size_t i = 0; i < map->d; i++) {
    cpb_text_puts(t, i == 0 ? "" : ", ");
    put_string(t, map->columns[i]);
  }
  cpb_text_puts(t, "]");
}

static void put_map(text *t, const cpb_map_options *map, const cpb_map_origin *origin) {
  part parts[PARTS];
  char hex[17];
  list_parts(map, parts);
  print_checksum(hex, map);
  cpb_json_put_kind(t, "map", VERSION);
  cpb_json_put(t, "dim", "I", (uint64_t)map->d);
  put_names(t, map);
  cpb_json_put(t, "scale", "f", map->s);
  for (size_t k = 0; k < PARTS; k++) {
    cpb_json_put(t, parts[k].key, "");
    put_vector(t, parts[k].numbers, parts[k].count, parts[k].per_line);
  }
  cpb_json_put(t, "goal", "");
  put_string(t, origin->goal);
  if (origin->evidence != NULL) cpb_json_put(t, "evidence", "");
  if (origin->evidence != NULL) cpb_text_puts(t, origin->evidence);
  cpb_json_put(t, "made_from", "{s:", "source");
  put_string(t, origin->source);
  cpb_json_pack(t, ", s:I}", "rows", origin->rows);
  cpb_json_put(t, "checksum", "s", hex);
  cpb_text_puts(t, "\n}\n");
}

static bool is_json(const char *string) {
  cpb_json *value;
  bool is = cpb_json_read(string, strlen(string), CPB_JSON_ANY, "evidence", &value, NULL) == CPB_OK;
  free(value);
  return is;
}

static const cpb_map_origin nowhere = {.size = sizeof(cpb_map_origin)};

cpb_status cpb_map_to_json(const cpb_map *map, const cpb_map_origin *given, char **json, cpb_error *error) {
  if (map == NULL || json == NULL) return cpb_fail_missing(error, map == NULL ? "map" : "text");
  *json = NULL;
  cpb_map_origin origin = nowhere;
  cpb_status status = cpb_sized_take(&origin, sizeof origin, given, "cpb_map_origin", error);
  if (status != CPB_OK) return status;
  if (origin.evidence != NULL && !is_json(origin.evidence))
    return cpb_fail(error, CPB_WHY_EVIDENCE, "origin.evidence", "origin.evidence is not JSON: \"%.40s\"",
                    origin.evidence);
  cpb_map_options described = {.size = sizeof described};
  cpb_map_describe(map, &described);
  text t = {.style = {.long_exponent = true}};
  cpb_numeric numeric;
  status = cpb_numeric_enter(&numeric, error);
  if (status != CPB_OK) return status;
  put_map(&t, &described, &origin);
  cpb_numeric_leave(&numeric);
  *json = t.bytes;
  if (t.failure == CPB_JSON_WHOLE) return CPB_OK;
  free(t.bytes);
  *json = NULL;
  return cpb_fail_memory(error, "the text of a map");
}

cpb_status cpb_map_save(const cpb_map *map, const char *path, const cpb_map_origin *origin,
                        cpb_error *error) {
  char *json = NULL;
  cpb_status status = cpb_map_to_json(map, origin, &json, error);
  return cpb_json_save(status, json, path, error);
}

/* ---- reading ---- */

static cpb_status read_shape(const cpb_json *root, const char *name, cpb_map_options *map, cpb_error *error) {
  cpb_status status = cpb_json_check_kind(root, name, "map", VERSION, error);
  if (status == CPB_OK) status = cpb_json_count(root, name, "dim", 1, DIM_MAX, &map->d, error);
  return status == CPB_OK ? cpb_json_number(root, name, "scale", &map->s, error) : status;
}

static cpb_status check_sum(const cpb_json *root, const char *name, const cpb_map_options *map,
                            cpb_error *error) {
  const char *stored = cpb_json_string_of(cpb_json_get(root, "checksum"));
  char hex[17];
  cpb_numeric numeric;
  cpb_status status = cpb_numeric_enter(&numeric, error);
  if (status != CPB_OK) return status;
  print_checksum(hex, map);
  cpb_numeric_leave(&numeric);
  return cpb_json_compare_sum(stored, name, hex, error);
}

static cpb_status make_map(const cpb_map_options *options, const char *name, cpb_map **map,
                           cpb_error *error) {
  cpb_error why;
  cpb_status status = cpb_map_new(options, map, &why);
  return status == CPB_OK ? CPB_OK : cpb_json_refused(name, &why, error);
}

static cpb_status read_map(const cpb_json *root, const char *name, cpb_map **map, cpb_error *error) {
  cpb_map_options options;
  cpb_map_options_init(&options, sizeof options);
  part parts[PARTS];
  double *numbers[PARTS] = {NULL};
  const char **columns = NULL;
  cpb_status status = read_shape(root, name, &options, error);
  if (status != CPB_OK) return status;
  list_parts(&options, parts);
  for (size_t k = 0; k < PARTS && status == CPB_OK; k++)
    status = cpb_json_numbers(root, name, parts[k].key, parts[k].count, NULL, &numbers[k], error);
  options.center = numbers[0];
  options.pole = numbers[1];
  options.whiten = numbers[2];
  options.toward = numbers[3];
  if (status == CPB_OK) status = cpb_json_read_names(root, name, options.d, &columns, error);
  options.columns = columns;
  if (status == CPB_OK) status = check_sum(root, name, &options, error);
  if (status == CPB_OK) status = make_map(&options, name, map, error);
  for (size_t k = 0; k < PARTS; k++) free(numbers[k]);
  free((void *)(uintptr_t)columns);
  return status;
}

static cpb_status make(const cpb_json_file *file, void **object, cpb_error *error) {
  cpb_map *map = NULL;
  cpb_status status = read_map(file->root, file->name, &map, error);
  *object = map;
  return status;
}

static void release(void *map) { cpb_map_free(map); }
static const cpb_json_kind kind = {"map", make, release};

cpb_status cpb_map_from_json(const char *json, size_t length, const char *name, cpb_map **map,
                             cpb_error *error) {
  return cpb_json_parse(&kind, json, length, name, map, error);
}

cpb_status cpb_map_load(const char *path, cpb_map **map, cpb_error *error) {
  return cpb_json_load(&kind, path, map, error);
}

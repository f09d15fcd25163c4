/* A map as JSON. Numbers have 17 digits and are written as reals (2.0, -0.0), so that reading gives the same bits; the
 * checksum is over exactly those digits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sphere/choice.h"
#include "sphere/map_object.h"
#include "base/fail.h"
#include "base/sized.h"
#include "base/state_bytes.h"
#include "files/number.h"
#include "files/json_file.h"

enum { VERSION = 1, DIM_MAX = 1 << 24, PER_LINE = 4, ROW_PER_LINE = 8 };

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

static uint64_t hash_text(uint64_t hash, const char *text) {
  return cpb_checksum_on(hash, text, strlen(text));
}

static uint64_t hash_number(uint64_t hash, double value) {
  char digits[CPB_NUMBER_ROOM];
  cpb_number_print(digits, &value, CPB_F64, 0);
  return hash_text(hash_text(hash, " "), digits);
}

/* Over "dim <d> scale <s> center .. pole .. whiten .. toward ..", with 17 digits, "null" for an absent part. */
static uint64_t checksum(const cpb_map_options *map) {
  part parts[PARTS];
  list_parts(map, parts);
  uint64_t hash = hash_number(cpb_checksum("dim", 3), (double)map->d);
  hash = hash_number(hash_text(hash, " scale"), map->s);
  for (size_t k = 0; k < PARTS; k++) {
    hash = hash_text(hash_text(hash, " "), parts[k].key);
    if (parts[k].numbers == NULL) hash = hash_text(hash, " null");
    for (size_t i = 0; parts[k].numbers != NULL && i < parts[k].count; i++)
      hash = hash_number(hash, parts[k].numbers[i]);
  }
  return hash;
}

/* ---- writing ---- */

static void put_map(cpb_text *t, const cpb_map_options *map, const cpb_map_origin *origin) {
  part parts[PARTS];
  list_parts(map, parts);
  cpb_json_put_kind(t, "map", VERSION);
  cpb_json_put(t, "dim", "I", (uint64_t)map->d);
  cpb_json_put_names(t, map->columns, map->d);
  cpb_json_put(t, "scale", "f", map->s);
  for (size_t k = 0; k < PARTS; k++) {
    t->style.per_line = parts[k].per_line;
    cpb_json_put(t, parts[k].key, "V", parts[k].numbers, parts[k].count);
  }
  cpb_json_put(t, "goal", "s", origin->goal);
  if (origin->evidence != NULL) cpb_json_put(t, "evidence", "");
  if (origin->evidence != NULL) cpb_text_puts(t, origin->evidence);
  cpb_json_put(t, "made_from", "{s:s, s:I}", "source", origin->source, "rows", origin->rows);
}

static const cpb_map_origin nowhere = {.size = sizeof(cpb_map_origin)};

cpb_status cpb_map_to_json(const cpb_map *map, const cpb_map_origin *given, char **json, cpb_error *error) {
  if (map == NULL || json == NULL) return cpb_fail_missing(error, map == NULL ? "map" : "text");
  *json = NULL;
  cpb_map_origin origin = nowhere;
  cpb_status status = cpb_sized_take(&origin, sizeof origin, given, "cpb_map_origin", error);
  if (status != CPB_OK) return status;
  const char *evidence = origin.evidence;
  cpb_json *value = NULL;
  bool valid = evidence == NULL ||
               cpb_json_read(evidence, strlen(evidence), CPB_JSON_ANY, "evidence", &value, NULL) == CPB_OK;
  free(value);
  if (!valid)
    return cpb_fail(error, CPB_WHY_EVIDENCE, "origin.evidence", "origin.evidence is not JSON: \"%.40s\"",
                    evidence);
  cpb_text t = {.style = {.long_exponent = true}};
  put_map(&t, &map->options, &origin);
  return cpb_json_finish_with(&t, checksum(&map->options), "map", json, error);
}

cpb_status cpb_map_save(const cpb_map *map, const char *path, const cpb_map_origin *origin,
                        cpb_error *error) {
  char *json = NULL;
  cpb_status status = cpb_map_to_json(map, origin, &json, error);
  return cpb_json_save(status, json, path, error);
}

/* ---- reading ---- */

static void *make(cpb_json_file *f) {
  cpb_map_options o;
  cpb_map *map = NULL;
  cpb_error why;
  cpb_map_options_init(&o, sizeof o);
  cpb_json_check_kind(f, "map", VERSION);
  o.d = cpb_json_count(f, f->root, "dim", 1, DIM_MAX);
  o.s = cpb_json_number(f, f->root, "scale");
  o.center = cpb_json_numbers(f, f->root, "center", o.d, NULL);
  o.pole = cpb_json_numbers(f, f->root, "pole", o.d + 1, NULL);
  o.whiten = cpb_json_numbers(f, f->root, "whiten", o.d * o.d, NULL);
  o.toward = cpb_json_numbers(f, f->root, "toward", o.d + 1, NULL);
  o.columns = cpb_json_read_names(f, o.d);
  if (f->status == CPB_OK) cpb_json_compare_sum(f, checksum(&o));
  if (f->status == CPB_OK) cpb_json_made(f, cpb_map_new(&o, &map, &why), &why);
  return map;
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

/* ---- the evidence for a scale, as it is stored in map files ---- */

_Static_assert(sizeof(cpb_curve_point) == 2 * sizeof(double), "pairs");
_Static_assert(sizeof(cpb_abid_maximum) == 2 * sizeof(double), "pairs");

/* points: an array of one of these pairs */
static void put_curve(cpb_text *t, const char *key, const void *points, size_t count) {
  cpb_json_pack(t, ",s:[", key);
  for (size_t i = 0; i < count; i++) {
    double pair[2];
    memcpy(pair, (const char *)points + i * sizeof pair, sizeof pair);
    cpb_json_pack(t, i == 0 ? "[f,f]" : ",[f,f]", pair[0], pair[1]);
  }
  cpb_text_puts(t, "]");
}

static void put_alternatives(cpb_text *t, const cpb_choice_facts *facts, cpb_goal goal) {
  const char *format = "s:f";
  cpb_json_pack(t, ",s:{", "alternatives");
  for (size_t other = 0; other < facts->alternative_count; other++)
    if (other != (size_t)goal && isfinite(facts->alternatives[other])) {
      cpb_json_pack(t, format, cpb_goal_name((cpb_goal)other), facts->alternatives[other]);
      format = ",s:f";
    }
  cpb_text_puts(t, "}");
}

static void put_evidence(cpb_text *t, const cpb_choice_facts *facts, const cpb_map_fit_options *of) {
  const char *measured = of->goal == CPB_GOAL_SPREAD   ? "abid"
                         : of->goal == CPB_GOAL_RECALL ? "recall"
                                                       : "norm";
  cpb_json_pack(t, "{s:f", measured, facts->value);
  if (of->goal == CPB_GOAL_RECALL)
    cpb_json_pack(t, ",s:f,s:I", "target", of->target, "neighbours", (uint64_t)of->k);
  put_alternatives(t, facts, of->goal);
  if (facts->abid_count > 0) {
    put_curve(t, "abid_curve", facts->abid, facts->abid_count);
    put_curve(t, "abid_maxima", facts->maxima, facts->maxima_count);
  }
  if (facts->ceiling_count > 0) put_curve(t, "recall_curve", facts->ceiling, facts->ceiling_count);
  cpb_text_puts(t, "}");
}

cpb_status cpb_choice_to_json(const cpb_choice *choice, const cpb_map_fit_options *options, char **text,
                              cpb_error *error) {
  if (choice == NULL || text == NULL) return cpb_fail_missing(error, choice == NULL ? "choice" : "text");
  cpb_map_fit_options of;
  cpb_map_fit_options_init(&of, sizeof of);
  cpb_status status = cpb_sized_take(&of, sizeof of, options, "map fit options", error);
  if (status != CPB_OK) return status;
  cpb_text t = {.style = {.compact = true, .fewest = true}};
  put_evidence(&t, cpb_choice_facts_of(choice), &of);
  *text = t.failure == CPB_JSON_WHOLE ? t.bytes : NULL;
  if (*text != NULL) return CPB_OK;
  free(t.bytes);
  return cpb_fail_memory(error, "the evidence for a scale");
}

#include "json/json_file.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "io/file_fail.h"
#include "json/json_read.h"

static void put_bytes(cpb_json_lines *l, const char *bytes, size_t count) {
  if (l->used + count + 1 > l->room && !l->failed) {
    char *larger = realloc(l->text, 2 * (l->used + count + 1));
    l->failed = larger == NULL;
    if (larger != NULL) {
      l->text = larger;
      l->room = 2 * (l->used + count + 1);
    }
  }
  if (l->failed) return;
  memcpy(l->text + l->used, bytes, count);
  l->used += count;
  l->text[l->used] = 0;
}

static void put(cpb_json_lines *l, const char *text) { put_bytes(l, text, strlen(text)); }

static int take(const char *bytes, size_t count, void *lines) {
  put_bytes(lines, bytes, count);
  return 0;
}

void cpb_json_put(cpb_json_lines *l, const char *key, json_t *value) {
  put(l, l->used == 0 ? "{\n  \"" : ",\n  \"");
  put(l, key);
  put(l, "\": ");
  /* json_dumps forgets to look whether there was memory for a key */
  if (value == NULL || json_dump_callback(value, take, l, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17)) != 0)
    l->failed = true;
  json_decref(value);
}

void cpb_json_put_kind(cpb_json_lines *l, const char *kind, int version) {
  cpb_json_put(l, "capball", json_pack("{s:s, s:i}", "kind", kind, "version", version));
}

json_t *cpb_json_append(json_t *array, json_t *value) {
  if (json_array_append_new(array, value) == 0) return array;
  json_decref(array);
  return NULL;
}

json_t *cpb_json_vector(const double *numbers, size_t count) {
  if (numbers == NULL) return json_null();
  json_t *array = json_array();
  for (size_t i = 0; i < count; i++) array = cpb_json_append(array, json_real(numbers[i]));
  return array;
}

/* FNV-1a, 64 bits. */
static const uint64_t nothing_hashed = 0xcbf29ce484222325u;

static uint64_t hash_bytes(uint64_t hash, const char *bytes, size_t count) {
  for (size_t i = 0; i < count; i++) hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3u;
  return hash;
}

/* Of the lines so far. */
static void put_checksum(cpb_json_lines *l) {
  char hex[17];
  snprintf(hex, sizeof hex, "%016" PRIx64, hash_bytes(nothing_hashed, l->text, l->used));
  cpb_json_put(l, "checksum", json_string(hex));
}

cpb_status cpb_json_finish(cpb_json_lines *l, const char *what, char **text, cpb_error *error) {
  if (!l->failed) put_checksum(l);
  put(l, "\n}\n");
  *text = l->text;
  if (!l->failed) return CPB_OK;
  free(l->text);
  *text = NULL;
  return cpb_fail_memory(error, "the text of a %s", what);
}

cpb_status cpb_json_parse(const char *text, size_t length, const char *name, json_t **root,
                          cpb_error *error) {
  return cpb_json_read(text, length, 0, name, root, error);
}

cpb_status cpb_json_check_kind(const json_t *root, const char *name, const char *wanted, int version,
                               cpb_error *error) {
  const json_t *mark = json_object_get(root, "capball");
  const char *kind = json_string_value(json_object_get(mark, "kind"));
  if (kind == NULL) return cpb_file_fail(error, CPB_WHY_FOREIGN, name, "has no \"capball\": {\"kind\": ..}");
  if (strcmp(kind, wanted) != 0)
    return cpb_file_fail(error, CPB_WHY_FOREIGN, name, "holds a \"%.40s\", wanted a \"%s\"", kind, wanted);
  json_int_t said = json_integer_value(json_object_get(mark, "version"));
  if (said != version)
    return cpb_file_fail(error, CPB_WHY_FILE_VERSION, name,
                         "is of version %" JSON_INTEGER_FORMAT ", wanted %d", said, version);
  return CPB_OK;
}

cpb_status cpb_json_number(const json_t *root, const char *name, const char *key, double *number,
                           cpb_error *error) {
  const json_t *value = json_object_get(root, key);
  if (!json_is_number(value))
    return cpb_file_fail(error, CPB_WHY_JSON_VALUE, name, "\"%s\" must be a number", key);
  *number = json_number_value(value);
  return CPB_OK;
}

cpb_status cpb_json_count(const json_t *root, const char *name, const char *key, json_int_t least,
                          json_int_t most, size_t *count, cpb_error *error) {
  uint64_t number = 0;
  if ((uint64_t)most > SIZE_MAX) most = (json_int_t)SIZE_MAX;
  cpb_status status = cpb_json_rows(root, name, key, least, most, &number, error);
  *count = (size_t)number;
  return status;
}

cpb_status cpb_json_rows(const json_t *root, const char *name, const char *key, json_int_t least,
                         json_int_t most, uint64_t *count, cpb_error *error) {
  const json_t *value = json_object_get(root, key);
  json_int_t number = json_integer_value(value);
  if (!json_is_integer(value) || number < least || number > most)
    return cpb_file_fail(error, CPB_WHY_JSON_VALUE, name,
                         "\"%s\" must be a whole number %" JSON_INTEGER_FORMAT " .. %" JSON_INTEGER_FORMAT,
                         key, least, most);
  *count = (uint64_t)number;
  return CPB_OK;
}

json_t *cpb_json_names(const char *const *names, size_t count) {
  json_t *array = json_array();
  for (size_t i = 0; i < count; i++) {
    json_t *name = json_string(names[i]); /* NULL where it is not UTF-8 */
    array = cpb_json_append(array, name != NULL ? name : json_string("?"));
  }
  return array;
}

cpb_status cpb_json_read_names(const json_t *root, const char *name, size_t count, const char ***names,
                               cpb_error *error) {
  const json_t *array = json_object_get(root, "columns");
  *names = NULL;
  if (array == NULL || json_is_null(array)) return CPB_OK;
  const char **texts = calloc(count, sizeof *texts);
  if (texts == NULL) return cpb_fail_memory(error, "%zu names", count);
  bool whole = json_array_size(array) == count;
  for (size_t i = 0; i < count && whole; i++)
    whole = (texts[i] = json_string_value(json_array_get(array, i))) != NULL;
  *names = texts;
  if (whole) return CPB_OK;
  return cpb_file_fail(error, CPB_WHY_JSON_VALUE, name, "\"columns\" must be null or %zu texts, got %zu",
                       count, json_array_size(array));
}

cpb_status cpb_json_numbers(const json_t *root, const char *name, const char *key, size_t count,
                            size_t *found, double **numbers, cpb_error *error) {
  const json_t *array = json_object_get(root, key);
  *numbers = NULL;
  if (found != NULL) *found = 0;
  if (array == NULL || json_is_null(array)) return CPB_OK;
  size_t size = json_array_size(array);
  if (!json_is_array(array) || size == 0 || (count != SIZE_MAX && size != count))
    return cpb_file_fail(error, CPB_WHY_JSON_VALUE, name, "\"%s\" must be null or %zu numbers, got %zu", key,
                         count, size);
  *numbers = malloc(size * sizeof **numbers);
  if (*numbers == NULL) return cpb_fail_memory(error, "%zu bytes", size * sizeof **numbers);
  for (size_t i = 0; i < size; i++) {
    const json_t *number = json_array_get(array, i);
    if (!json_is_number(number))
      return cpb_file_fail(error, CPB_WHY_JSON_VALUE, name, "\"%s\"[%zu] is not a number", key, i);
    (*numbers)[i] = json_number_value(number);
  }
  if (found != NULL) *found = size;
  return CPB_OK;
}

/* The length of the token at *p: a string, a number or word, or a single sign. */
static size_t token_length(const char *p, const char *end) {
  size_t i = 1;
  if (*p == '"') {
    while (p + i < end && p[i] != '"') i += p[i] == '\\' ? 2 : 1;
    return i + 1;
  }
  if (strchr("{}[]:,", *p) != NULL) return 1;
  while (p + i < end && strchr("{}[]:,\" \t\r\n", p[i]) == NULL) i++;
  return i;
}

/* The checksum of an object that was parsed before: of its tokens as they stand in the text, up to the one that says
 * "checksum", spaced as cpb_json_put spaces them. So it is that of the text as it was written, and remains so when
 * somebody breaks its lines anew. */
static uint64_t stored_sum(const char *p, const char *end) {
  static const char key[] = "\"checksum\"";
  uint64_t hash = nothing_hashed, before = hash;
  for (int depth = 0; p < end;) {
    if (strchr(" \t\r\n", *p) != NULL) {
      p++;
      continue;
    }
    size_t length = token_length(p, end);
    if (depth == 1 && length == sizeof key - 1 && memcmp(p, key, length) == 0) return before;
    depth += *p == '{' || *p == '[' ? 1 : *p == '}' || *p == ']' ? -1 : 0;
    before = hash;
    hash = hash_bytes(hash, p, length);
    bool new_line = depth == 1 && (*p == ',' || *p == '{');
    if (*p == ':' || *p == ',' || new_line)
      hash = hash_bytes(hash, new_line ? "\n  " : " ", new_line ? 3 : 1);
    p += length;
  }
  return before;
}

cpb_status cpb_json_check_sum(const json_t *root, const char *name, const char *text, size_t length,
                              cpb_error *error) {
  const char *said = json_string_value(json_object_get(root, "checksum"));
  char right[17];
  snprintf(right, sizeof right, "%016" PRIx64, stored_sum(text, text + length));
  return cpb_json_compare_sum(said, name, right, error);
}

cpb_status cpb_json_compare_sum(const char *said, const char *name, const char *right, cpb_error *error) {
  if (said == NULL) return cpb_file_fail(error, CPB_WHY_CHECKSUM, name, "has no \"checksum\"");
  if (strcmp(said, right) == 0) return CPB_OK;
  return cpb_file_fail(error, CPB_WHY_CHECKSUM, name, "its numbers have checksum %s, but it says \"%.40s\"",
                       right, said);
}

cpb_status cpb_json_refused(const char *name, const cpb_error *why, cpb_error *error) {
  if (why->status == CPB_ENOMEM) return cpb_fail_again(error, why);
  return cpb_file_fail(error, CPB_WHY_JSON_VALUE, name, "%s", why->text);
}

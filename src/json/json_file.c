#include "json/json_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capball/advanced/flow.h"
#include "core/fail.h"
#include "io/file_fail.h"
#include "io/input.h"

static void put_key(cpb_text *l, const char *key) {
  cpb_text_format(l, "%s\n  \"%s\": ", l->used == 0 ? "{" : ",", key);
}

void cpb_json_put(cpb_text *l, const char *key, const char *format, ...) {
  va_list list;
  put_key(l, key);
  va_start(list, format);
  cpb_json_pack_list(l, format, list);
  va_end(list);
}

void cpb_json_put_kind(cpb_text *l, const char *kind, int version) {
  cpb_json_put(l, "capball", "{s:s, s:I}", "kind", kind, "version", (uint64_t)version);
}

void cpb_json_put_names(cpb_text *l, const char *const *names, size_t count) {
  if (names == NULL) return;
  put_key(l, "columns");
  for (size_t i = 0; i < count; i++) {
    cpb_text_puts(l, i == 0 ? "[" : ", ");
    cpb_json_string(l, cpb_is_utf8(names[i]) ? names[i] : "?");
  }
  cpb_text_puts(l, "]");
}

/* FNV-1a, 64 bits. */
static const uint64_t nothing_hashed = 0xcbf29ce484222325u;

static uint64_t hash_bytes(uint64_t hash, const char *bytes, size_t count) {
  for (size_t i = 0; i < count; i++) hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3u;
  return hash;
}

cpb_status cpb_json_finish(cpb_text *l, const char *what, char **text, cpb_error *error) {
  char hex[17];
  uint64_t sum =
      l->bytes == NULL ? 0 : hash_bytes(nothing_hashed, l->bytes, l->used); /* of the lines so far */
  snprintf(hex, sizeof hex, "%016" PRIx64, sum);
  cpb_json_put(l, "checksum", "s", hex);
  cpb_text_puts(l, "\n}\n");
  *text = l->bytes;
  if (l->failure == CPB_JSON_WHOLE) return CPB_OK;
  free(l->bytes);
  *text = NULL;
  return cpb_fail_memory(error, "the text of a %s", what);
}

cpb_status cpb_json_save(cpb_status status, char *text, const char *path, cpb_error *error) {
  if (status == CPB_OK) status = cpb_write_whole(path, text, strlen(text), error);
  free(text);
  return status;
}

static void set_pointer(void *to, void *object) { memcpy(to, &object, sizeof object); }

cpb_status cpb_json_parse(const cpb_json_kind *kind, const char *text, size_t length, const char *name,
                          void *to, cpb_error *error) {
  if (text == NULL || to == NULL) return cpb_fail_missing(error, text == NULL ? "text" : kind->name);
  if (name == NULL) name = kind->name;
  cpb_json *root;
  void *object = NULL;
  cpb_status status = cpb_json_read(text, length, 0, name, &root, error);
  cpb_json_file file = {root, name, text, length};
  if (status == CPB_OK) status = kind->make(&file, &object, error);
  free(root);
  if (status != CPB_OK) kind->release(object);
  set_pointer(to, status == CPB_OK ? object : NULL);
  return status;
}

cpb_status cpb_json_load(const cpb_json_kind *kind, const char *path, void *to, cpb_error *error) {
  if (path == NULL || to == NULL) return cpb_fail_missing(error, path == NULL ? "path" : kind->name);
  cpb_buffer buffer = {NULL, 0};
  size_t length;
  const char *name;
  set_pointer(to, NULL);
  cpb_status status = cpb_read_whole(path, &buffer, &length, &name, error);
  if (status == CPB_OK) status = cpb_json_parse(kind, (const char *)buffer.bytes, length, name, to, error);
  cpb_buffer_free(&buffer);
  return status;
}

cpb_status cpb_json_check_kind(const cpb_json *root, const char *name, const char *wanted, int version,
                               cpb_error *error) {
  const cpb_json *mark = cpb_json_get(root, "capball");
  const char *kind = cpb_json_string_of(cpb_json_get(mark, "kind"));
  if (kind == NULL) return cpb_file_fail(error, CPB_WHY_FOREIGN, name, "has no \"capball\": {\"kind\": ..}");
  if (strcmp(kind, wanted) != 0)
    return cpb_file_fail(error, CPB_WHY_FOREIGN, name, "holds a \"%.40s\", wanted a \"%s\"", kind, wanted);
  long long said = cpb_json_integer_of(cpb_json_get(mark, "version"));
  if (said != version)
    return cpb_file_fail(error, CPB_WHY_FILE_VERSION, name, "is of version %lld, wanted %d", said, version);
  return CPB_OK;
}

cpb_status cpb_json_number(const cpb_json *root, const char *name, const char *key, double *number,
                           cpb_error *error) {
  const cpb_json *value = cpb_json_get(root, key);
  if (!cpb_json_is_number(value))
    return cpb_file_fail(error, CPB_WHY_JSON_VALUE, name, "\"%s\" must be a number", key);
  *number = value->real;
  return CPB_OK;
}

cpb_status cpb_json_count(const cpb_json *root, const char *name, const char *key, long long least,
                          long long most, size_t *count, cpb_error *error) {
  uint64_t number = 0;
  if ((uint64_t)most > SIZE_MAX) most = (long long)SIZE_MAX;
  cpb_status status = cpb_json_rows(root, name, key, least, most, &number, error);
  *count = (size_t)number;
  return status;
}

cpb_status cpb_json_rows(const cpb_json *root, const char *name, const char *key, long long least,
                         long long most, uint64_t *count, cpb_error *error) {
  const cpb_json *value = cpb_json_get(root, key);
  long long number = cpb_json_integer_of(value);
  if (!cpb_json_is(value, CPB_JSON_INTEGER) || number < least || number > most)
    return cpb_file_fail(error, CPB_WHY_JSON_VALUE, name, "\"%s\" must be a whole number %lld .. %lld", key,
                         least, most);
  *count = (uint64_t)number;
  return CPB_OK;
}

cpb_status cpb_json_read_names(const cpb_json *root, const char *name, size_t count, const char ***names,
                               cpb_error *error) {
  const cpb_json *array = cpb_json_get(root, "columns");
  *names = NULL;
  if (array == NULL || cpb_json_is(array, CPB_JSON_NULL)) return CPB_OK;
  const char **texts = calloc(count, sizeof *texts);
  if (texts == NULL) return cpb_fail_memory(error, "%zu names", count);
  bool whole = cpb_json_size(array) == count;
  const cpb_json *text = cpb_json_first(array);
  for (size_t i = 0; i < count && whole; i++, text = text->next)
    whole = (texts[i] = cpb_json_string_of(text)) != NULL;
  *names = texts;
  if (whole) return CPB_OK;
  return cpb_file_fail(error, CPB_WHY_JSON_VALUE, name, "\"columns\" must be null or %zu texts, got %zu",
                       count, cpb_json_size(array));
}

cpb_status cpb_json_numbers(const cpb_json *root, const char *name, const char *key, size_t count,
                            size_t *found, double **numbers, cpb_error *error) {
  const cpb_json *array = cpb_json_get(root, key);
  *numbers = NULL;
  if (found != NULL) *found = 0;
  if (array == NULL || cpb_json_is(array, CPB_JSON_NULL)) return CPB_OK;
  size_t size = cpb_json_size(array);
  if (!cpb_json_is(array, CPB_JSON_ARRAY) || size == 0 || (count != SIZE_MAX && size != count))
    return cpb_file_fail(error, CPB_WHY_JSON_VALUE, name, "\"%s\" must be null or %zu numbers, got %zu", key,
                         count, size);
  *numbers = malloc(size * sizeof **numbers);
  if (*numbers == NULL) return cpb_fail_memory(error, "%zu bytes", size * sizeof **numbers);
  const cpb_json *number = cpb_json_first(array);
  for (size_t i = 0; i < size; i++, number = number->next) {
    if (!cpb_json_is_number(number))
      return cpb_file_fail(error, CPB_WHY_JSON_VALUE, name, "\"%s\"[%zu] is not a number", key, i);
    (*numbers)[i] = number->real;
  }
  if (found != NULL) *found = size;
  return CPB_OK;
}

/* The length of the token at *p: a string, a number or word, or a single character. */
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

/* The checksum of an object that was parsed before: of its tokens as they are in the text, up to "checksum", with the
 * spacing of cpb_json_put. So it equals that of the text as written, even if its lines were broken differently. */
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

cpb_status cpb_json_check_sum(const cpb_json *root, const char *name, const char *text, size_t length,
                              cpb_error *error) {
  const char *said = cpb_json_string_of(cpb_json_get(root, "checksum"));
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

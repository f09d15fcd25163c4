#include "files/json_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capball/advanced/flow.h"
#include "base/fail.h"
#include "base/state_bytes.h"
#include "files/file_fail.h"
#include "files/input.h"

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
    cpb_json_string(l, names[i]);
  }
  cpb_text_puts(l, "]");
}

cpb_status cpb_json_finish_with(cpb_text *l, uint64_t sum, const char *what, char **text, cpb_error *error) {
  cpb_json_put(l, "checksum", "x", sum);
  cpb_text_puts(l, "\n}\n");
  *text = l->bytes;
  if (l->failure == CPB_JSON_WHOLE) return CPB_OK;
  free(l->bytes);
  *text = NULL;
  return cpb_fail_memory(error, "the text of a %s", what);
}

cpb_status cpb_json_finish(cpb_text *l, const char *what, char **text, cpb_error *error) {
  uint64_t sum = l->bytes == NULL ? 0 : cpb_checksum(l->bytes, l->used);
  return cpb_json_finish_with(l, sum, what, text, error);
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
  cpb_status status = cpb_json_read(text, length, 0, name, &root, error);
  cpb_json_file file = {.root = root, .name = name, .text = text, .length = length, .error = error};
  void *object = status == CPB_OK ? kind->make(&file) : NULL;
  if (status == CPB_OK) status = file.status;
  cpb_memory_free(&file.memory);
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

void cpb_json_refuse(cpb_json_file *f, cpb_reason reason, const char *format, ...) {
  char text[sizeof f->error->text];
  va_list list;
  if (f->status != CPB_OK) return;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  f->status = cpb_file_fail(f->error, reason, f->name, "%s", text);
}

void cpb_json_made(cpb_json_file *f, cpb_status status, const cpb_error *why) {
  if (status == CPB_ENOMEM && f->status == CPB_OK) f->status = cpb_fail_again(f->error, why);
  if (status != CPB_OK) cpb_json_refuse(f, CPB_WHY_JSON_VALUE, "%s", why->text);
}

void cpb_json_check_kind(cpb_json_file *f, const char *wanted, int version) {
  const cpb_json *mark = cpb_json_get(f->root, "capball");
  const char *kind = cpb_json_string_of(cpb_json_get(mark, "kind"));
  long long said = cpb_json_integer_of(cpb_json_get(mark, "version"));
  if (kind == NULL)
    cpb_json_refuse(f, CPB_WHY_FOREIGN, "has no \"capball\": {\"kind\": ..}");
  else if (strcmp(kind, wanted) != 0)
    cpb_json_refuse(f, CPB_WHY_FOREIGN, "holds a \"%.40s\", wanted a \"%s\"", kind, wanted);
  else if (said != version)
    cpb_json_refuse(f, CPB_WHY_FILE_VERSION, "is of version %lld, wanted %d", said, version);
}

double cpb_json_number(cpb_json_file *f, const cpb_json *object, const char *key) {
  const cpb_json *value = cpb_json_get(object, key);
  if (!cpb_json_is_number(value)) cpb_json_refuse(f, CPB_WHY_JSON_VALUE, "\"%s\" must be a number", key);
  return f->status == CPB_OK ? value->real : 0;
}

uint64_t cpb_json_rows(cpb_json_file *f, const cpb_json *object, const char *key, long long least,
                       long long most) {
  const cpb_json *value = cpb_json_get(object, key);
  long long number = cpb_json_integer_of(value);
  if (!cpb_json_is(value, CPB_JSON_INTEGER) || number < least || number > most)
    cpb_json_refuse(f, CPB_WHY_JSON_VALUE, "\"%s\" must be a whole number %lld .. %lld", key, least, most);
  return f->status == CPB_OK ? (uint64_t)number : 0;
}

size_t cpb_json_count(cpb_json_file *f, const cpb_json *object, const char *key, long long least,
                      long long most) {
  if ((uint64_t)most > SIZE_MAX) most = (long long)SIZE_MAX;
  return (size_t)cpb_json_rows(f, object, key, least, most);
}

void *cpb_json_room(cpb_json_file *f, size_t count, size_t size) {
  void *room = f->status == CPB_OK ? cpb_memory_zeros(&f->memory, count, size) : NULL;
  if (room == NULL && f->status == CPB_OK) f->status = cpb_fail_memory(f->error, "%zu bytes", count * size);
  return room;
}

const char **cpb_json_read_names(cpb_json_file *f, size_t count) {
  const cpb_json *array = cpb_json_get(f->root, "columns");
  if (array == NULL || cpb_json_is(array, CPB_JSON_NULL)) return NULL;
  const char **texts = cpb_json_room(f, count, sizeof *texts);
  bool whole = cpb_json_size(array) == count;
  const cpb_json *text = cpb_json_first(array);
  for (size_t i = 0; i < count && whole && texts != NULL; i++, text = text->next)
    whole = (texts[i] = cpb_json_string_of(text)) != NULL;
  if (!whole)
    cpb_json_refuse(f, CPB_WHY_JSON_VALUE, "\"columns\" must be null or %zu texts, got %zu", count,
                    cpb_json_size(array));
  return texts;
}

/* Whether the array is there; a fault unless it has `count` elements. */
static bool has_array(cpb_json_file *f, const cpb_json *array, const char *key, size_t count) {
  size_t size = cpb_json_size(array);
  if (array == NULL || cpb_json_is(array, CPB_JSON_NULL)) return false;
  if (size == 0 || (count != SIZE_MAX && size != count))
    cpb_json_refuse(f, CPB_WHY_JSON_VALUE, "\"%s\" must be null or %zu numbers, got %zu", key, count, size);
  return f->status == CPB_OK;
}

double *cpb_json_numbers(cpb_json_file *f, const cpb_json *object, const char *key, size_t count,
                         size_t *found) {
  const cpb_json *array = cpb_json_get(object, key), *number = cpb_json_first(array);
  bool is_there = has_array(f, array, key, count);
  size_t size = is_there ? cpb_json_size(array) : 0;
  double *numbers = is_there ? cpb_json_room(f, size, sizeof *numbers) : NULL;
  for (size_t i = 0; numbers != NULL && i < size; i++, number = number->next) {
    if (!cpb_json_is_number(number))
      cpb_json_refuse(f, CPB_WHY_JSON_VALUE, "\"%s\"[%zu] is not a number", key, i);
    numbers[i] = number->real;
  }
  if (found != NULL) *found = size;
  return numbers;
}

uint64_t *cpb_json_row_numbers(cpb_json_file *f, const cpb_json *object, size_t count) {
  const cpb_json *array = cpb_json_get(object, "rows"), *row = cpb_json_first(array);
  uint64_t *rows =
      count > 0 && has_array(f, array, "rows", count) ? cpb_json_room(f, count, sizeof *rows) : NULL;
  for (size_t i = 0; rows != NULL && i < count; i++, row = row->next) {
    if (!cpb_json_is(row, CPB_JSON_INTEGER) || row->integer < 0)
      cpb_json_refuse(f, CPB_WHY_JSON_VALUE, "\"rows\"[%zu] is not a whole number >= 0", i);
    rows[i] = (uint64_t)row->integer;
  }
  return rows;
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
  uint64_t hash = cpb_checksum(NULL, 0), before = hash;
  for (int depth = 0; p < end;) {
    if (strchr(" \t\r\n", *p) != NULL) {
      p++;
      continue;
    }
    size_t length = token_length(p, end);
    if (depth == 1 && length == sizeof key - 1 && memcmp(p, key, length) == 0) return before;
    depth += *p == '{' || *p == '[' ? 1 : *p == '}' || *p == ']' ? -1 : 0;
    before = hash;
    hash = cpb_checksum_on(hash, p, length);
    bool new_line = depth == 1 && (*p == ',' || *p == '{');
    if (*p == ':' || *p == ',' || new_line)
      hash = cpb_checksum_on(hash, new_line ? "\n  " : " ", new_line ? 3 : 1);
    p += length;
  }
  return before;
}

void cpb_json_check_sum(cpb_json_file *f) {
  cpb_json_compare_sum(f, stored_sum(f->text, f->text + f->length));
}

void cpb_json_compare_sum(cpb_json_file *f, uint64_t right) {
  const char *said = cpb_json_string_of(cpb_json_get(f->root, "checksum"));
  char is[17];
  snprintf(is, sizeof is, "%016" PRIx64, right);
  if (said == NULL)
    cpb_json_refuse(f, CPB_WHY_CHECKSUM, "has no \"checksum\"");
  else if (strcmp(said, is) != 0)
    cpb_json_refuse(f, CPB_WHY_CHECKSUM, "its numbers have checksum %s, but it says \"%.40s\"", is, said);
}

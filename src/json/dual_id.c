/* Ids pass through as text: jansson would round reals and refuse integers beyond 63 bits. */
#include <stdlib.h>
#include <string.h>

#include "json/dual_line.h"

static const char *skip_blanks(const char *p, const char *end) {
  while (p < end && strchr(" \t\r\n", *p) != NULL && *p != 0) p++;
  return p;
}

/* Behind the closing quote of the string that begins at p, or end. */
static const char *skip_string(const char *p, const char *end) {
  for (p++; p < end && *p != '"'; p++)
    if (*p == '\\') p++;
  return p < end ? p + 1 : end;
}

/* Behind the value at p: brackets are counted, not checked. */
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

static size_t digits(const char **p) {
  size_t count = strspn(*p, "0123456789");
  *p += count;
  return count;
}

/* -?(0|[1-9][0-9]*)(.[0-9]+)?([eE][+-]?[0-9]+)? */
static bool is_number(const char *p) {
  if (*p == '-') p++;
  bool zero = *p == '0';
  size_t whole = digits(&p);
  if (whole == 0 || (zero && whole > 1)) return false;
  if (*p == '.' && (p++, digits(&p) == 0)) return false;
  if (*p == 'e' || *p == 'E') {
    p++;
    if (*p == '+' || *p == '-') p++;
    if (digits(&p) == 0) return false;
  }
  return *p == 0;
}

static bool is_value(const char *text) {
  if (*text == '-' || (*text >= '0' && *text <= '9')) return is_number(text);
  json_t *value = json_loads(text, JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL, NULL);
  json_decref(value);
  return value != NULL;
}

/* The value of the first "id" of the outermost object; false where the text is no such object. */
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

bool dual_id_take(dual_id *id, char *line, size_t length) {
  char *begin, *behind;
  id->text = NULL;
  if (!find_id(line, length, &begin, &behind)) return true;
  size_t size = (size_t)(behind - begin);
  id->text = calloc(size + 1, 1);
  if (id->text == NULL) return false;
  memcpy(id->text, begin, size);
  memset(begin, ' ', size);
  if (size > 0) *begin = '0'; /* any value will do: this one fits */
  if (size > 0 && strlen(id->text) == size && is_value(id->text)) return true;
  free(id->text);
  id->text = NULL;
  return false;
}

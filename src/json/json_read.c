#define _POSIX_C_SOURCE 200809L
#include "json/json_read.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "io/file_fail.h"
#include "io/number.h"

enum { DEEPEST = 512, INTEGER_ROOM = 32 };

typedef struct parser {
  const char *start, *p, *end;
  const char *why; /* the first fault; NULL: none */
  bool no_memory;
  unsigned how, depth;
} parser;

static json_t *refuse(parser *t, const char *why) {
  if (t->why == NULL) t->why = why;
  return NULL;
}

static json_t *or_no_memory(parser *t, json_t *value) {
  if (value == NULL && t->why == NULL) {
    t->no_memory = true;
    t->why = "no memory";
  }
  return value;
}

static void skip_blanks(parser *t) {
  while (t->p < t->end && (*t->p == ' ' || *t->p == '\t' || *t->p == '\n' || *t->p == '\r')) t->p++;
}

static bool take(parser *t, char c) {
  skip_blanks(t);
  if (t->p == t->end || *t->p != c) return false;
  t->p++;
  return true;
}

/* ---- numbers ---- */

static size_t skip_digits(parser *t) {
  const char *from = t->p;
  while (t->p < t->end && *t->p >= '0' && *t->p <= '9') t->p++;
  return (size_t)(t->p - from);
}

static json_t *read_integer(parser *t, const char *from) {
  char digits[INTEGER_ROOM];
  size_t length = (size_t)(t->p - from);
  if (length >= sizeof digits) return refuse(t, "too big integer");
  memcpy(digits, from, length);
  digits[length] = 0;
  errno = 0;
  long long number = strtoll(digits, NULL, 10);
  return errno == ERANGE ? refuse(t, "too big integer") : or_no_memory(t, json_integer(number));
}

static json_t *read_number(parser *t) {
  const char *from = t->p;
  bool real = false;
  if (*t->p == '-') t->p++;
  const char *first = t->p;
  size_t digits = skip_digits(t);
  if (digits == 0 || (digits > 1 && *first == '0')) return refuse(t, "a number that is none");
  if (t->p < t->end && *t->p == '.') {
    real = true;
    t->p++;
    if (skip_digits(t) == 0) return refuse(t, "a number that is none");
  }
  if (t->p < t->end && (*t->p == 'e' || *t->p == 'E')) {
    real = true;
    t->p++;
    if (t->p < t->end && (*t->p == '+' || *t->p == '-')) t->p++;
    if (skip_digits(t) == 0) return refuse(t, "a number that is none");
  }
  double number = 0;
  if (!real && (t->how & CPB_JSON_REALS) == 0) return read_integer(t, from);
  if ((t->how & CPB_JSON_LOOK) == 0 && !cpb_number_parse(from, (size_t)(t->p - from), &number))
    return refuse(t, "real number overflow");
  return or_no_memory(t, json_real(number));
}

/* ---- strings ---- */

static int hex_digit(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : -1;
}

/* The four digits behind \u; < 0: none. */
static int32_t read_unit(parser *t) {
  int32_t unit = 0;
  for (int i = 0; i < 4; i++) {
    int digit = t->p < t->end ? hex_digit(*t->p) : -1;
    if (digit < 0) return -1;
    unit = unit << 4 | digit;
    t->p++;
  }
  return unit;
}

static size_t put_utf8(char *to, uint32_t c) {
  if (c < 0x80) {
    to[0] = (char)c;
    return 1;
  }
  size_t more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
  to[0] = (char)(lead[more] | c >> 6 * more);
  for (size_t i = 1; i <= more; i++) to[i] = (char)(0x80 | (c >> 6 * (more - i) & 0x3f));
  return more + 1;
}

/* One \uXXXX, or two of them that are one character; 0 after a refusal. */
static size_t read_escaped(parser *t, char *to) {
  int32_t unit = read_unit(t), second = -1;
  bool high = unit >= 0xd800 && unit < 0xdc00;
  if (high && t->end - t->p > 2 && t->p[0] == '\\' && t->p[1] == 'u') {
    t->p += 2;
    second = read_unit(t);
  }
  bool low = second >= 0xdc00 && second < 0xe000;
  bool none = unit < 0 || (unit == 0 && (t->how & CPB_JSON_LOOK) == 0);
  if (none || (high && !low) || (unit >= 0xdc00 && unit < 0xe000)) {
    refuse(t, "an invalid \\u escape");
    return 0;
  }
  uint32_t c =
      high ? 0x10000 + ((uint32_t)(unit - 0xd800) << 10) + (uint32_t)(second - 0xdc00) : (uint32_t)unit;
  return put_utf8(to, c);
}

static size_t read_escape(parser *t, char *to) {
  static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
  char letter = t->p < t->end ? *t->p++ : 0;
  const char *found = letter == 0 ? NULL : strchr(letters, letter);
  if (letter == 'u') return read_escaped(t, to);
  if (found == NULL) refuse(t, "an invalid escape");
  if (found != NULL) *to = meant[found - letters];
  return found != NULL;
}

/* What stands between two quotes, ended by a 0 that it does not hold; the caller frees it. No escape is shorter than
 * what it means. */
static char *read_text(parser *t, size_t *length) {
  char *text = malloc((size_t)(t->end - t->p) + 1);
  *length = 0;
  if (text == NULL) or_no_memory(t, NULL);
  while (text != NULL && t->why == NULL) {
    char c = t->p < t->end ? *t->p++ : 0;
    if (c == '"') {
      text[*length] = 0;
      return text;
    }
    if (c == '\\')
      *length += read_escape(t, text + *length);
    else if ((unsigned char)c < 0x20)
      refuse(t, t->p == t->end ? "premature end of input" : "a control character in a string");
    else
      text[(*length)++] = c;
  }
  free(text);
  return NULL;
}

static bool is_utf8(const char *text, size_t length) {
  for (size_t i = 0; i < length;) {
    unsigned char c = (unsigned char)text[i];
    size_t more = c < 0x80                ? 0
                  : c >= 0xc2 && c < 0xe0 ? 1
                  : (c & 0xf0) == 0xe0    ? 2
                  : c >= 0xf0 && c < 0xf5 ? 3
                                          : 9;
    if (more == 9 || more >= length - i) return false;
    for (size_t k = 1; k <= more; k++)
      if (((unsigned char)text[i + k] & 0xc0) != 0x80) return false;
    unsigned char next = more == 0 ? 0 : (unsigned char)text[i + 1];
    if ((c == 0xe0 && next < 0xa0) || (c == 0xf0 && next < 0x90) || (c == 0xed && next > 0x9f) ||
        (c == 0xf4 && next > 0x8f))
      return false;
    i += more + 1;
  }
  return true;
}

static char *read_checked(parser *t, size_t *length) {
  char *text = read_text(t, length);
  if (text == NULL || is_utf8(text, *length)) return text;
  free(text);
  refuse(t, "a string that is not UTF-8");
  return NULL;
}

static json_t *read_string(parser *t) {
  size_t length;
  char *text = read_checked(t, &length);
  json_t *value = text == NULL ? NULL : or_no_memory(t, json_stringn(text, length));
  free(text);
  return value;
}

/* ---- what holds others ---- */

static json_t *read_value(parser *t);

static json_t *read_array(parser *t) {
  json_t *array = or_no_memory(t, json_array());
  if (array == NULL || take(t, ']')) return array;
  do {
    json_t *value = read_value(t);
    if (value == NULL) break;
    if (json_array_append_new(array, value) != 0) or_no_memory(t, NULL);
  } while (t->why == NULL && take(t, ','));
  if (t->why == NULL && !take(t, ']')) refuse(t, "']' expected");
  if (t->why == NULL) return array;
  json_decref(array);
  return NULL;
}

static void read_member(parser *t, json_t *object) {
  size_t length;
  skip_blanks(t);
  if (t->p == t->end || *t->p++ != '"') {
    refuse(t, "string or '}' expected");
    return;
  }
  char *key = read_checked(t, &length);
  if (key == NULL) return;
  if ((t->how & CPB_JSON_LOOK) == 0 && json_object_get(object, key) != NULL)
    refuse(t, "duplicate object key");
  if (t->why == NULL && !take(t, ':')) refuse(t, "':' expected");
  json_t *value = t->why == NULL ? read_value(t) : NULL;
  if (value != NULL && json_object_set_new_nocheck(object, key, value) != 0) or_no_memory(t, NULL);
  free(key);
}

static json_t *read_object(parser *t) {
  json_t *object = or_no_memory(t, json_object());
  if (object == NULL || take(t, '}')) return object;
  do read_member(t, object);
  while (t->why == NULL && take(t, ','));
  if (t->why == NULL && !take(t, '}')) refuse(t, "'}' expected");
  if (t->why == NULL) return object;
  json_decref(object);
  return NULL;
}

static bool take_word(parser *t, const char *word) {
  size_t length = strlen(word);
  if ((size_t)(t->end - t->p) < length || memcmp(t->p, word, length) != 0) return false;
  t->p += length;
  return true;
}

static json_t *read_nested(parser *t, json_t *(*read)(parser *)) {
  t->p++;
  if (t->depth == DEEPEST) return refuse(t, "nested too deeply");
  t->depth++;
  json_t *value = read(t);
  t->depth--;
  return value;
}

static json_t *read_value(parser *t) {
  skip_blanks(t);
  if (t->p == t->end) return refuse(t, "premature end of input");
  switch (*t->p) {
  case '{': return read_nested(t, read_object);
  case '[': return read_nested(t, read_array);
  case '"': t->p++; return read_string(t);
  case 't': return take_word(t, "true") ? json_true() : refuse(t, "invalid token");
  case 'f': return take_word(t, "false") ? json_false() : refuse(t, "invalid token");
  case 'n': return take_word(t, "null") ? json_null() : refuse(t, "invalid token");
  default:
    return *t->p == '-' || (*t->p >= '0' && *t->p <= '9') ? read_number(t) : refuse(t, "invalid token");
  }
}

static cpb_json_fault fault_of(const parser *t) {
  cpb_json_fault fault = {t->why, t->no_memory, 1, 1};
  for (const char *p = t->start; p < t->p; p++) {
    fault.column = *p == '\n' ? 1 : fault.column + 1;
    fault.line += *p == '\n';
  }
  return fault;
}

static json_t *read_text_of(parser *t) {
  skip_blanks(t);
  bool any = (t->how & CPB_JSON_ANY) != 0;
  if (!any && (t->p == t->end || (*t->p != '{' && *t->p != '['))) return refuse(t, "'[' or '{' expected");
  json_t *value = read_value(t);
  skip_blanks(t);
  if (t->why == NULL && t->p != t->end) refuse(t, "end of file expected");
  if (t->why == NULL) return value;
  json_decref(value);
  return NULL;
}

json_t *cpb_json_value(const char *text, size_t length, unsigned how, cpb_json_fault *fault) {
  parser t = {.start = text, .p = text, .end = text + length, .how = how};
  cpb_numeric numeric;
  json_t *value = NULL;
  if (cpb_numeric_enter(&numeric, NULL) != CPB_OK)
    or_no_memory(&t, NULL);
  else {
    value = read_text_of(&t);
    cpb_numeric_leave(&numeric);
  }
  *fault = fault_of(&t);
  return value;
}

cpb_status cpb_json_read(const char *text, size_t length, unsigned how, const char *name, json_t **value,
                         cpb_error *error) {
  cpb_json_fault fault;
  *value = cpb_json_value(text, length, how, &fault);
  if (fault.why == NULL) return CPB_OK;
  if (fault.no_memory) return cpb_fail_memory(error, "JSON of %zu bytes", length);
  return cpb_file_fail(error, CPB_WHY_JSON_SYNTAX, name, "line %llu, column %llu: not JSON: %s", fault.line,
                       fault.column, fault.why);
}

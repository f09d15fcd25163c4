#define _POSIX_C_SOURCE 200809L
#include "files/json_read.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "files/number.h"
#include "base/json_text.h"
#include "base/fail.h"
#include "base/state_bytes.h"
#include "files/file_fail.h"
#include "base/utf8.h"

enum { DEEPEST = 512 };

typedef struct parser {
  const char *start;    /* the text as given */
  char *copy, *p, *end; /* a copy, in which strings are decoded in place */
  const char *why;      /* the first fault; NULL: none */
  bool no_memory, bad_id;
  unsigned how, depth;
  cpb_json *nodes; /* space for all */
  size_t count, slots;
  size_t *slot; /* hash table of member names: 1 + the index of the node */
} parser;

static cpb_json *refuse(parser *t, const char *why) {
  if (t->why == NULL) t->why = why;
  return NULL;
}

static cpb_json *new_node(parser *t, cpb_json_type type) {
  cpb_json *node = &t->nodes[t->count++];
  *node = (cpb_json){.type = type};
  return node;
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

static bool skip_one_of(parser *t, const char *set) {
  bool found = *t->p != 0 && strchr(set, *t->p) != NULL;
  t->p += found;
  return found;
}

static cpb_json *read_integer(parser *t, const char *from) {
  errno = 0;
  long long number = strtoll(from, NULL, 10);
  if (errno == ERANGE) return refuse(t, "too big integer");
  cpb_json *node = new_node(t, CPB_JSON_INTEGER);
  node->integer = number;
  node->real = (double)number;
  return node;
}

static cpb_json *read_number(parser *t) {
  const char *from = t->p, *first = from + (*from == '-');
  double number = 0;
  skip_one_of(t, "-");
  size_t digits = skip_digits(t);
  bool right = digits == 1 || (digits > 1 && *first != '0');
  bool point = right && skip_one_of(t, ".");
  if (point) right = skip_digits(t) > 0;
  bool power = right && skip_one_of(t, "eE");
  if (power) skip_one_of(t, "+-");
  if (power) right = skip_digits(t) > 0;
  if (!right) return refuse(t, "a number that is none");
  if (!point && !power && (t->how & CPB_JSON_AS_REALS) == 0) return read_integer(t, from);
  if ((t->how & CPB_JSON_LOOK) == 0 && !cpb_number_parse(from, (size_t)(t->p - from), &number))
    return refuse(t, "real number overflow");
  cpb_json *node = new_node(t, CPB_JSON_REAL);
  node->real = number;
  return node;
}

/* ---- strings ---- */

/* The four digits after \u; < 0: invalid. */
static int32_t read_unit(parser *t) {
  int32_t unit = 0;
  for (int i = 0; i < 4; i++) {
    static const char digits[] = "0123456789abcdefABCDEF";
    const char *found = t->p < t->end && *t->p != 0 ? strchr(digits, *t->p) : NULL;
    if (found == NULL) return -1;
    int32_t digit = (int32_t)(found - digits);
    unit = unit << 4 | (digit < 16 ? digit : digit - 6);
    t->p++;
  }
  return unit;
}

/* One \uXXXX, or a surrogate pair; 0 after an error. */
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
  return cpb_utf8_put(to, c);
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

/* Also checks the bytes after an embedded 0. */
static bool is_utf8(const char *text, size_t length) {
  while (cpb_is_utf8(text)) {
    size_t part = strlen(text);
    if (part == length) return true;
    text += part + 1;
    length -= part + 1;
  }
  return false;
}

/* The text up to the quote, decoded in place: no escape is shorter than what it encodes. NULL after an error. */
static const char *read_text(parser *t, size_t *length) {
  char *text = t->p;
  *length = 0;
  while (t->why == NULL) {
    char c = t->p < t->end ? *t->p++ : 0;
    if (c == '"') {
      text[*length] = 0;
      if (!is_utf8(text, *length)) refuse(t, "a string that is not UTF-8");
      break;
    }
    if (c == '\\')
      *length += read_escape(t, text + *length);
    else if ((unsigned char)c < 0x20)
      refuse(t, t->p == t->end ? "premature end of input" : "a control character in a string");
    else
      text[(*length)++] = c;
  }
  return t->why == NULL ? text : NULL;
}

static cpb_json *read_string(parser *t) {
  size_t length;
  const char *text = read_text(t, &length);
  if (text == NULL) return NULL;
  cpb_json *node = new_node(t, CPB_JSON_STRING);
  node->string = text;
  node->count = length;
  return node;
}

/* ---- arrays and objects ---- */

static cpb_json *read_value(parser *t);

/* Whether the object already has this name; if not, adds it for the next node. */
static bool has_name(parser *t, const cpb_json *object, const char *key) {
  size_t mask = t->slots - 1, owner = (size_t)(object - t->nodes);
  size_t at = (size_t)(cpb_checksum(key, strlen(key)) ^ owner * 0x9e3779b97f4a7c15u) & mask;
  for (; t->slot[at] != 0; at = (at + 1) & mask) {
    const cpb_json *other = &t->nodes[t->slot[at] - 1];
    if (other->owner == object && strcmp(other->key, key) == 0) return true;
  }
  t->slot[at] = t->count + 1;
  return false;
}

/* A value as its text: as a number it would be rounded, or might exceed 64 bits. */
static cpb_json *read_raw(parser *t) {
  unsigned how = t->how;
  skip_blanks(t);
  const char *from = t->start + (t->p - t->copy);
  t->how |= CPB_JSON_LOOK;
  cpb_json *value = read_value(t);
  t->how = how;
  bool closed = value != NULL && value->type >= CPB_JSON_STRING;
  bool apart = closed || t->p == t->end || strchr(",}] \t\r\n", *t->p) != NULL;
  if (value == NULL || !apart) {
    t->bad_id = !t->no_memory;
    return refuse(t, "not a JSON value");
  }
  value->type = CPB_JSON_RAW;
  value->string = from;
  value->count = (size_t)(t->start + (t->p - t->copy) - from);
  return value;
}

static cpb_json *read_member(parser *t, cpb_json *object) {
  size_t length;
  skip_blanks(t);
  if (t->p == t->end || *t->p++ != '"') return refuse(t, "string or '}' expected");
  bool raw =
      (t->how & CPB_JSON_RAW_ID) != 0 && t->depth == 1 && t->end - t->p > 2 && memcmp(t->p, "id\"", 3) == 0;
  const char *key = read_text(t, &length);
  if (key == NULL) return NULL;
  if ((t->how & CPB_JSON_LOOK) == 0 && has_name(t, object, key)) return refuse(t, "duplicate object key");
  if (!take(t, ':')) return refuse(t, "':' expected");
  cpb_json *value = raw ? read_raw(t) : read_value(t);
  if (value == NULL) return NULL;
  value->key = key;
  value->owner = object;
  return value;
}

static cpb_json *read_nested(parser *t, cpb_json_type type, char close) {
  t->p++;
  if (t->depth++ == DEEPEST) return refuse(t, "nested too deeply");
  cpb_json *whole = new_node(t, type), **last = &whole->first;
  for (bool more = !take(t, close); more; more = take(t, ',')) {
    cpb_json *value = type == CPB_JSON_OBJECT ? read_member(t, whole) : read_value(t);
    if (value == NULL) return NULL;
    *last = value;
    last = &value->next;
    whole->count++;
  }
  t->depth--;
  if (whole->count == 0 || take(t, close)) return whole;
  return refuse(t, type == CPB_JSON_OBJECT ? "'}' expected" : "']' expected");
}

static cpb_json *read_word(parser *t, const char *word, cpb_json_type type) {
  if (strncmp(t->p, word, strlen(word)) != 0) return refuse(t, "invalid token");
  t->p += strlen(word);
  return new_node(t, type);
}

static cpb_json *read_value(parser *t) {
  skip_blanks(t);
  if (t->p == t->end) return refuse(t, "premature end of input");
  switch (*t->p) {
  case '{': return read_nested(t, CPB_JSON_OBJECT, '}');
  case '[': return read_nested(t, CPB_JSON_ARRAY, ']');
  case '"': t->p++; return read_string(t);
  case 't': return read_word(t, "true", CPB_JSON_TRUE);
  case 'f': return read_word(t, "false", CPB_JSON_FALSE);
  case 'n': return read_word(t, "null", CPB_JSON_NULL);
  default:
    return *t->p == '-' || (*t->p >= '0' && *t->p <= '9') ? read_number(t) : refuse(t, "invalid token");
  }
}

/* Space for the largest possible number of values, a copy of the text after them, and twice the space for names. */
static bool make_room(parser *t, size_t length) {
  size_t values = 1, names = 1;
  for (size_t i = 0; i < length; i++) {
    values += t->start[i] == ',' || t->start[i] == '[' || t->start[i] == '{';
    names += t->start[i] == ':';
  }
  for (t->slots = 4; t->slots < 2 * names; t->slots *= 2) {
  }
  bool fits = values < (SIZE_MAX - length - 1) / sizeof *t->nodes;
  t->nodes = fits ? malloc(values * sizeof *t->nodes + length + 1) : NULL;
  t->slot = calloc(t->slots, sizeof *t->slot);
  if (t->nodes == NULL || t->slot == NULL) return false;
  t->copy = t->p = (char *)(t->nodes + values);
  t->end = t->copy + length;
  memcpy(t->copy, t->start, length);
  *t->end = 0; /* ends every token */
  return true;
}

cpb_json *cpb_json_value(const char *text, size_t length, unsigned how, cpb_json_fault *fault) {
  parser t = {.start = text, .how = how};
  t.no_memory = !make_room(&t, length);
  if (t.no_memory) refuse(&t, "no memory");
  if (!t.no_memory) {
    skip_blanks(&t);
    if ((how & CPB_JSON_ANY) == 0 && *t.p != '{' && *t.p != '[')
      refuse(&t, "'[' or '{' expected");
    else
      read_value(&t);
    skip_blanks(&t);
    if (t.why == NULL && t.p != t.end) refuse(&t, "end of file expected");
  }
  *fault = (cpb_json_fault){t.why, t.no_memory, t.bad_id, 1, 1};
  for (const char *p = text; p < text + (t.p - t.copy); p++) {
    fault->column = *p == '\n' ? 1 : fault->column + 1;
    fault->line += *p == '\n';
  }
  free(t.slot);
  if (t.why == NULL) return t.nodes;
  free(t.nodes);
  return NULL;
}

cpb_status cpb_json_read(const char *text, size_t length, unsigned how, const char *name, cpb_json **value,
                         cpb_error *error) {
  cpb_json_fault fault;
  *value = cpb_json_value(text, length, how, &fault);
  if (fault.why == NULL) return CPB_OK;
  if (fault.no_memory) return cpb_fail_memory(error, "JSON of %zu bytes", length);
  return cpb_file_fail(error, CPB_WHY_JSON_SYNTAX, name, "line %llu, column %llu: not JSON: %s", fault.line,
                       fault.column, fault.why);
}

/* ---- access to values ---- */

const cpb_json *cpb_json_get(const cpb_json *object, const char *key) {
  if (object == NULL || object->type != CPB_JSON_OBJECT) return NULL;
  const cpb_json *member = object->first;
  while (member != NULL && strcmp(member->key, key) != 0) member = member->next;
  return member;
}

const cpb_json *cpb_json_first(const cpb_json *array) {
  return array != NULL && array->type == CPB_JSON_ARRAY ? array->first : NULL;
}

size_t cpb_json_size(const cpb_json *array) {
  return array != NULL && array->type == CPB_JSON_ARRAY ? array->count : 0;
}

bool cpb_json_is(const cpb_json *value, cpb_json_type type) { return value != NULL && value->type == type; }

bool cpb_json_is_number(const cpb_json *value) {
  return cpb_json_is(value, CPB_JSON_INTEGER) || cpb_json_is(value, CPB_JSON_REAL);
}

long long cpb_json_integer_of(const cpb_json *value) {
  return cpb_json_is(value, CPB_JSON_INTEGER) ? value->integer : 0;
}

const char *cpb_json_string_of(const cpb_json *value) {
  return cpb_json_is(value, CPB_JSON_STRING) ? value->string : NULL;
}

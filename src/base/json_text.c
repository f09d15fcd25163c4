#include "base/json_text.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "base/utf8.h"

/* ---- text that grows ---- */

static void fail(cpb_text *t, cpb_json_failure failure) {
  if (t->failure == CPB_JSON_WHOLE) t->failure = failure;
}

char *cpb_text_extend(cpb_text *t, size_t count) {
  size_t size = t->used + count + 1;
  if (t->failure == CPB_JSON_NO_MEMORY) return NULL;
  if (size > t->room) {
    char *larger = realloc(t->bytes, 2 * size);
    if (larger == NULL) {
      fail(t, CPB_JSON_NO_MEMORY);
      return NULL;
    }
    t->bytes = larger;
    t->room = 2 * size;
  }
  char *added = t->bytes + t->used;
  t->used += count;
  t->bytes[t->used] = 0;
  return added;
}

void cpb_text_put(cpb_text *t, const char *bytes, size_t count) {
  char *to = cpb_text_extend(t, count);
  if (to != NULL) memcpy(to, bytes, count);
}

void cpb_text_puts(cpb_text *t, const char *string) { cpb_text_put(t, string, strlen(string)); }

void cpb_text_format(cpb_text *t, const char *format, ...) {
  char piece[512];
  va_list list;
  va_start(list, format);
  int length = vsnprintf(piece, sizeof piece, format, list);
  va_end(list);
  cpb_text_put(t, piece, length < (int)sizeof piece ? (size_t)length : sizeof piece - 1);
}

/* ---- numbers ---- */

size_t cpb_print_fewest(char to[CPB_JSON_NUMBER_ROOM], double value) { return cpb_digits_f64(to, value); }

/* Turns e+07 into e7. */
static void shorten_exponent(char *digits) {
  char *to = strchr(digits, 'e');
  if (to == NULL) return;
  const char *from = ++to;
  if (*from == '-') to++;
  if (*from == '-' || *from == '+') from++;
  while (*from == '0' && from[1] != 0) from++;
  memmove(to, from, strlen(from) + 1);
}

/* ---- values ---- */

/* With 17 digits, or the fewest, always marked as a real: 2.0, not 2; '.' in every locale. */
static void put_real(cpb_text *t, double value) {
  char digits[CPB_JSON_NUMBER_ROOM];
  if (!isfinite(value)) fail(t, CPB_JSON_UNSAYABLE);
  cpb_digits_rounded(digits, value, DBL_DECIMAL_DIG);
  bool power = strchr(digits, 'e') != NULL && strchr(digits, '.') == NULL; /* 1e+22 */
  if (t->style.fewest) cpb_digits_f64(digits, value);
  if (!t->style.long_exponent || (t->style.fewest && power)) shorten_exponent(digits);
  if (strpbrk(digits, ".e") == NULL) strcat(digits, ".0");
  cpb_text_puts(t, digits);
}

/* Control characters, and those that change the direction of text, are escaped: the text keeps them, a terminal that shows
 * it does not act on them. */
static void put_escaped(cpb_text *t, const char *character, size_t length) {
  static const char letters[] = "\"\\bfnrt", meant[] = "\"\\\b\f\n\r\t";
  const char *found = length == 1 ? strchr(meant, *character) : NULL;
  uint32_t code = cpb_utf8_code(character, length);
  if (found != NULL)
    cpb_text_format(t, "\\%c", letters[found - meant]);
  else if (!cpb_is_printable(code))
    cpb_text_format(t, "\\u%04x", (unsigned)code);
  else
    cpb_text_put(t, character, length);
}

void cpb_json_string(cpb_text *t, const char *string) {
  char *decoded = string == NULL || cpb_is_utf8(string) ? NULL : cpb_utf8_copy(string);
  if (string == NULL) {
    cpb_text_puts(t, "null");
    return;
  }
  if (!cpb_is_utf8(string) && decoded == NULL) fail(t, CPB_JSON_NO_MEMORY);
  if (decoded != NULL) string = decoded;
  cpb_text_puts(t, "\"");
  for (size_t length; *string != 0 && t->failure == CPB_JSON_WHOLE; string += length)
    put_escaped(t, string, length = cpb_utf8_length(string));
  cpb_text_puts(t, "\"");
  free(decoded);
}

static void put_comma(cpb_text *t) { cpb_text_puts(t, t->style.compact ? "," : ", "); }

void cpb_json_vector(cpb_text *t, const double *numbers, size_t count) {
  size_t per_line = t->style.per_line == 0 || count <= t->style.per_line ? count : t->style.per_line;
  cpb_text_puts(t, numbers == NULL ? "null" : "[");
  for (size_t i = 0; numbers != NULL && i < count; i++) {
    if (per_line < count && i % per_line == 0)
      cpb_text_puts(t, i == 0 ? "\n    " : ",\n    ");
    else if (i > 0)
      put_comma(t);
    put_real(t, numbers[i]);
  }
  if (numbers != NULL) cpb_text_puts(t, "]");
}

static void put_value(cpb_text *t, const cpb_text *value) {
  if (value == NULL)
    fail(t, CPB_JSON_NO_MEMORY);
  else if (value->failure != CPB_JSON_WHOLE)
    fail(t, value->failure);
  else
    cpb_text_put(t, value->bytes, value->used);
}

void cpb_json_pack_list(cpb_text *t, const char *format, va_list list) {
  for (; *format != 0; format++) {
    const double *numbers;
    cpb_text *value;
    switch (*format) {
    case ' ': break;
    case ',': put_comma(t); break;
    case ':': cpb_text_puts(t, t->style.compact ? ":" : ": "); break;
    case 's': cpb_json_string(t, va_arg(list, const char *)); break;
    case 'f': put_real(t, va_arg(list, double)); break;
    case 'I': cpb_text_format(t, "%" PRIu64, va_arg(list, uint64_t)); break;
    case 'x': cpb_text_format(t, "\"%016" PRIx64 "\"", va_arg(list, uint64_t)); break;
    case 'b': cpb_text_puts(t, va_arg(list, int) != 0 ? "true" : "false"); break;
    case 'V':
      numbers = va_arg(list, const double *);
      cpb_json_vector(t, numbers, va_arg(list, size_t));
      break;
    case 'o':
      value = va_arg(list, cpb_text *);
      put_value(t, value);
      cpb_json_free(value);
      break;
    default: cpb_text_put(t, format, 1);
    }
  }
}

void cpb_json_pack(cpb_text *t, const char *format, ...) {
  va_list list;
  va_start(list, format);
  cpb_json_pack_list(t, format, list);
  va_end(list);
}

/* ---- values built step by step ---- */

cpb_text *cpb_json_new(cpb_json_style style, const char *format, ...) {
  va_list list;
  cpb_text unused = {.style = style}, *value = calloc(1, sizeof *value);
  if (value != NULL) value->style = style;
  va_start(list, format);
  cpb_json_pack_list(value != NULL ? value : &unused, format, list); /* frees the values in the list */
  va_end(list);
  free(unused.bytes);
  return value;
}

void cpb_json_free(cpb_text *value) {
  if (value != NULL) free(value->bytes);
  free(value);
}

/* Inserts before the closing bracket. */
static cpb_text *grow(cpb_text *whole, const char *key, cpb_text *value) {
  if (whole != NULL && whole->failure == CPB_JSON_WHOLE) {
    char end[2] = {whole->bytes[--whole->used], 0};
    if (whole->used > 1) put_comma(whole);
    if (key != NULL) cpb_json_pack(whole, "s:", key);
    put_value(whole, value);
    cpb_text_puts(whole, end);
  }
  cpb_json_free(value);
  return whole;
}

cpb_text *cpb_json_append(cpb_text *array, cpb_text *value) { return grow(array, NULL, value); }

cpb_text *cpb_json_set(cpb_text *object, const char *key, cpb_text *value) {
  return grow(object, key, value);
}

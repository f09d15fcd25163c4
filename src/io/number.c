#define _POSIX_C_SOURCE 200809L
#include "io/number.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "core/rows.h"

cpb_status cpb_numeric_enter(cpb_numeric *numeric, cpb_error *error) {
  numeric->own = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
  if (numeric->own == (locale_t)0) return cpb_fail(error, CPB_ENOMEM, "no memory for the C locale");
  numeric->before = uselocale(numeric->own);
  return CPB_OK;
}

void cpb_numeric_leave(cpb_numeric *numeric) {
  uselocale(numeric->before);
  freelocale(numeric->own);
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* digits * 10^scale, right to the last bit because both factors are exact doubles. False when that
 * is not so (or when the text is no plain decimal): then strtod has the word. */
static bool parse_short(const char *p, const char *end, double *value) {
  static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  bool negative = p < end && *p == '-';
  if (p < end && (*p == '-' || *p == '+')) p++;
  uint64_t digits = 0;
  const char *first = p, *point = NULL;
  for (; p < end && (is_digit(*p) || (*p == '.' && point == NULL)); p++) {
    if (*p == '.')
      point = p;
    else
      digits = 10 * digits + (uint64_t)(*p - '0');
  }
  ptrdiff_t count = p - first - (point != NULL);
  if (p != end || count < 1 || count > 19 || digits > 1ull << 53) return false;
  ptrdiff_t decimals = point == NULL ? 0 : end - point - 1;
  double size = (double)digits / power[decimals];
  *value = negative ? -size : size;
  return true;
}

static bool parse_any(const char *text, size_t length, double *value) {
  char copy[2048]; /* the longest exact decimal of a double has 1077 characters */
  if (length == 0 || length >= sizeof copy) return false;
  memcpy(copy, text, length);
  copy[length] = 0;
  if (strpbrk(copy, "xX(") != NULL) return false; /* hexadecimal and nan(..) are C, not data */
  char *end;
  errno = 0;
  *value = strtod(copy, &end);
  return end == copy + length && !(errno == ERANGE && isinf(*value));
}

bool cpb_number_parse(const char *text, size_t length, double *value) {
  const char *end = text + length;
  while (text < end && (*text == ' ' || *text == '\t')) text++;
  while (text < end && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r')) end--;
  return parse_short(text, end, value) || parse_any(text, (size_t)(end - text), value);
}

size_t cpb_number_print(char to[CPB_NUMBER_ROOM], const void *elements, cpb_dtype dtype, size_t i) {
  int length = 0;
  double real = cpb_view_at(cpb_rows(elements, dtype, 1, i + 1), 0, i);
  switch (dtype) {
  case CPB_F32: length = snprintf(to, CPB_NUMBER_ROOM, "%.9g", real); break;
  case CPB_F64: length = snprintf(to, CPB_NUMBER_ROOM, "%.17g", real); break;
  case CPB_F16: length = snprintf(to, CPB_NUMBER_ROOM, "%.5g", real); break;
  case CPB_U8:
  case CPB_I8:
  case CPB_I32: length = snprintf(to, CPB_NUMBER_ROOM, "%.0f", real); break;
  case CPB_I64: length = snprintf(to, CPB_NUMBER_ROOM, "%" PRId64, ((const int64_t *)elements)[i]); break;
  }
  return (size_t)length;
}

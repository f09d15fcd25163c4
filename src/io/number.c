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
  if (numeric->own == (locale_t)0) return cpb_fail_memory(error, "the C locale");
  numeric->before = uselocale(numeric->own);
  return CPB_OK;
}

void cpb_numeric_leave(cpb_numeric *numeric) {
  uselocale(numeric->before);
  freelocale(numeric->own);
}

/* The powers of ten that are exact doubles. */
static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                               1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* digits * 10^scale, right to the last bit because both factors are exact doubles. False when that
 * is not so (or when the text is no plain decimal): then strtod has the word. */
static bool parse_short(const char *p, const char *end, double *value) {
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

/* Decimal digits of n, at least `least` of them; returns their number. */
static size_t print_digits(char *to, uint64_t n, size_t least) {
  char reversed[CPB_NUMBER_ROOM];
  size_t count = 0;
  for (; n != 0 || count < least; n /= 10) reversed[count++] = (char)('0' + n % 10);
  for (size_t i = 0; i < count; i++) to[i] = reversed[count - 1 - i];
  return count;
}

/* A whole number below 2^53, all digits; what "%.17g" prints, sooner. */
static size_t print_whole(char *to, double value) {
  size_t sign = value < 0;
  to[0] = '-';
  size_t length = sign + print_digits(to + sign, (uint64_t)fabs(value), 1);
  to[length] = 0;
  return length;
}

/* Decimals of a number of so many digits, 1e-4 <= size < 1e9. */
static size_t decimals_of(double size, int digits) {
  size_t decimals = (size_t)digits + 3;
  for (double limit = 1e-3; size >= limit && decimals > 0; limit *= 10) decimals--;
  return decimals;
}

/* At most nine digits of 1e-4 <= |value| < 1e9. The product is rounded once, in the sixteenth digit, which moves
 * the ninth at a tie at most: any of the two is near enough to bring the same float back. */
static size_t print_decimal(char *to, double value, int digits) {
  size_t length = value < 0;
  double size = fabs(value);
  size_t decimals = decimals_of(size, digits);
  uint64_t unit = (uint64_t)power[decimals], scaled = (uint64_t)rint(size * power[decimals]);
  to[0] = '-';
  length += print_digits(to + length, scaled / unit, 1);
  to[length] = '.';
  size_t fraction = print_digits(to + length + 1, scaled % unit, decimals);
  while (fraction > 0 && to[length + fraction] == '0') fraction--;
  length += fraction == 0 ? 0 : fraction + 1;
  to[length] = 0;
  return length;
}

static size_t print_real(char *to, double value, int digits) {
  double size = fabs(value);
  if (size < (digits < 17 ? power[digits] : 0x1p53) && value == trunc(value) && (size > 0 || !signbit(value)))
    return print_whole(to, value);
  if (digits <= 9 && digits > 5 && size >= 1e-4 && size < 1e9) return print_decimal(to, value, digits);
  return (size_t)snprintf(to, CPB_NUMBER_ROOM, "%.*g", digits, value);
}

size_t cpb_number_print(char to[CPB_NUMBER_ROOM], const void *elements, cpb_dtype dtype, size_t i) {
  if (dtype == CPB_I64)
    return (size_t)snprintf(to, CPB_NUMBER_ROOM, "%" PRId64, ((const int64_t *)elements)[i]);
  double value = cpb_view_at(cpb_rows(elements, dtype, 1, i + 1), 0, i);
  return print_real(to, value, dtype == CPB_F32 ? 9 : dtype == CPB_F16 ? 5 : 17);
}

/* Without a look at the text: a number of 8 digits over a power of ten is a double rounded once. */
static bool is_float_of(float value, int digits) {
  double size = fabs((double)value);
  size_t decimals = decimals_of(size, digits);
  return (float)(rint(size * power[decimals]) / power[decimals]) == fabsf(value);
}

static size_t print_short_float(char *to, float value) {
  double size = fabs((double)value);
  int digits = 7;
  bool plain = size >= 1e-4 && size < 1e9;
  while (digits < 9 && plain && !is_float_of(value, digits)) digits++;
  for (; digits < 9 && !plain; digits++) {
    size_t length = print_real(to, value, digits);
    if (strtof(to, NULL) == value) return length;
  }
  return print_real(to, value, digits);
}

size_t cpb_number_print_short(char to[CPB_NUMBER_ROOM], const void *elements, cpb_dtype dtype, size_t i) {
  if (dtype == CPB_F32) return print_short_float(to, ((const float *)elements)[i]);
  if (dtype != CPB_F64) return cpb_number_print(to, elements, dtype, i);
  double value = ((const double *)elements)[i];
  bool whole = value == trunc(value) && fabs(value) < 0x1p53;
  if (whole) return print_real(to, value, 17);
  char longer[CPB_NUMBER_ROOM];
  size_t length = print_real(longer, value, 16);
  if (strtod(longer, NULL) != value) return print_real(to, value, 17); /* then 15 do not do, either */
  size_t shorter = print_real(to, value, 15);
  if (strtod(to, NULL) == value) return shorter;
  memcpy(to, longer, length + 1);
  return length;
}

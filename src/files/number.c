#include "files/number.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "base/rows.h"

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* digits / 10^decimals, rounded once because both are exact doubles; false if they are not, or for other texts. */
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
  double size = (double)digits / cpb_powers_of_ten[decimals];
  *value = negative ? -size : size;
  return true;
}

/* ---- long decimals ---- */

/* No double, and no tie between two, has more than 768 digits; of the others only matters whether they are all 0. */
enum { SIGNIFICANT = 800, EXPONENT_MAX = 100000 };

/* "e-12" to the end; saturates far beyond what any number of digits can compensate. */
static bool take_exponent(const char *p, const char *end, int64_t *exponent) {
  if (p == end) return true;
  if (*p != 'e' && *p != 'E') return false;
  bool negative = ++p < end && *p == '-';
  if (p < end && (*p == '-' || *p == '+')) p++;
  int64_t size = 0;
  const char *first = p;
  for (; p < end && is_digit(*p); p++)
    if (size < INT64_MAX / 100) size = 10 * size + (*p - '0');
  *exponent += negative ? -size : size;
  return p == end && p > first;
}

/* The same number as 0.DIGITSe.. in fewer than `room` bytes, for strtod. Returns the length; 0: not a decimal. */
static size_t shorten(const char *p, const char *end, char *to, size_t room) {
  char digits[SIGNIFICANT];
  size_t count = 0;
  int64_t exponent = 0, most = EXPONENT_MAX;
  bool any = false, point = false, rest = false; /* rest: a digit after the last one stored is not 0 */
  while (p < end && (*p == ' ' || (*p >= '\t' && *p <= '\r'))) p++; /* like strtod */
  bool negative = p < end && *p == '-';
  if (p < end && (*p == '-' || *p == '+')) p++;
  for (; p < end && (is_digit(*p) || (*p == '.' && !point)); p++) {
    if (*p == '.') {
      point = true;
      continue;
    }
    bool leading = count == 0 && *p == '0', stored = !leading && count < SIGNIFICANT;
    if (stored) digits[count++] = *p;
    rest = rest || (!stored && *p != '0');
    exponent += point ? -leading : !leading;
    any = true;
  }
  if (!any || !take_exponent(p, end, &exponent)) return 0;
  exponent = count == 0 ? 0 : exponent < -most ? -most : exponent > most ? most : exponent;
  return (size_t)snprintf(to, room, "%s0.%.*s%se%" PRId64, negative ? "-" : "", (int)count, digits,
                          rest ? "1" : "", exponent);
}

/* Whether strtod accepts the whole text; *data: whether it is valid in a file. Hexadecimal and nan(..) are C only. */
static bool parse_c(const char *text, size_t length, double *value, bool *data) {
  char copy[SIGNIFICANT + 64], *end;
  if (length < sizeof copy)
    memcpy(copy, text, length);
  else
    length = shorten(text, text + length, copy, sizeof copy);
  copy[length] = 0;
  errno = 0;
  *value = cpb_digits_read(copy, &end);
  *data = strpbrk(copy, "xX(") == NULL && !(errno == ERANGE && isinf(*value));
  return length > 0 && end == copy + length;
}

static void trim(const char **text, const char **end) {
  while (*text < *end && (**text == ' ' || **text == '\t')) ++*text;
  while (*text < *end && ((*end)[-1] == ' ' || (*end)[-1] == '\t' || (*end)[-1] == '\r')) --*end;
}

bool cpb_number_parse(const char *text, size_t length, double *value) {
  const char *end = text + length;
  bool data;
  trim(&text, &end);
  return parse_short(text, end, value) || (parse_c(text, (size_t)(end - text), value, &data) && data);
}

bool cpb_number_is_refused(const char *text, size_t length) {
  const char *end = text + length;
  double value;
  bool data;
  trim(&text, &end);
  length = (size_t)(end - text);
  bool hex_float = memchr(text, 'p', length) != NULL || memchr(text, 'P', length) != NULL;
  return parse_c(text, length, &value, &data) && !data && (isinf(value) || (hex_float && !isnan(value)));
}

/* Decimal digits of n, at least `least` of them; returns their number. */
static size_t print_digits(char *to, uint64_t n, size_t least) {
  char reversed[CPB_NUMBER_ROOM];
  size_t count = 0;
  for (; n != 0 || count < least; n /= 10) reversed[count++] = (char)('0' + n % 10);
  for (size_t i = 0; i < count; i++) to[i] = reversed[count - 1 - i];
  return count;
}

/* The decimals of a number printed with this many digits, 1e-4 <= size < 1e9. */
static size_t decimals_of(double size, int digits) {
  size_t decimals = (size_t)digits + 3;
  for (double limit = 1e-3; size >= limit && decimals > 0; limit *= 10) decimals--;
  return decimals;
}

/* At most nine digits of 1e-4 <= |value| < 1e9. The product is rounded once, in the sixteenth digit, which can change
 * the ninth only at a tie: either result is close enough to read back as the same float. */
static size_t print_decimal(char *to, double value, int digits) {
  size_t length = value < 0;
  double size = fabs(value);
  size_t decimals = decimals_of(size, digits);
  uint64_t unit = (uint64_t)cpb_powers_of_ten[decimals],
           scaled = (uint64_t)rint(size * cpb_powers_of_ten[decimals]);
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
  if (size < (digits < 17 ? cpb_powers_of_ten[digits] : 0x1p53) && value == trunc(value) &&
      (size > 0 || !signbit(value))) { /* an integer below 2^53, all digits; the output of "%.17g", faster */
    to[0] = '-';
    size_t length = (value < 0) + print_digits(to + (value < 0), (uint64_t)size, 1);
    to[length] = 0;
    return length;
  }
  if (digits <= 9 && digits > 5 && size >= 1e-4 && size < 1e9) return print_decimal(to, value, digits);
  return cpb_digits_rounded(to, value, digits);
}

size_t cpb_number_print(char to[CPB_NUMBER_ROOM], const void *elements, cpb_dtype dtype, size_t i) {
  if (dtype == CPB_I64)
    return (size_t)snprintf(to, CPB_NUMBER_ROOM, "%" PRId64, ((const int64_t *)elements)[i]);
  double value = cpb_view_at(cpb_rows(elements, dtype, 1, i + 1), 0, i);
  return print_real(to, value, dtype == CPB_F32 ? 9 : dtype == CPB_F16 ? 5 : 17);
}

/* Without parsing the text: a number of 8 digits divided by a power of ten is a double rounded once. */
static bool is_float_of(float value, int digits) {
  double size = fabs((double)value);
  size_t decimals = decimals_of(size, digits);
  return (float)(rint(size * cpb_powers_of_ten[decimals]) / cpb_powers_of_ten[decimals]) == fabsf(value);
}

static size_t print_short_float(char *to, float value) {
  double size = fabs((double)value);
  if (!(size >= 1e-4 && size < 1e9)) return cpb_digits_f32(to, value);
  int digits = FLT_DIG;
  while (digits < FLT_DECIMAL_DIG && !is_float_of(value, digits)) digits++;
  return print_real(to, value, digits);
}

size_t cpb_number_print_short(char to[CPB_NUMBER_ROOM], const void *elements, cpb_dtype dtype, size_t i) {
  if (dtype == CPB_F32) return print_short_float(to, ((const float *)elements)[i]);
  double value = dtype == CPB_F64 ? ((const double *)elements)[i] : 0;
  bool whole = value == trunc(value) && fabs(value) < 0x1p53;
  return whole ? cpb_number_print(to, elements, dtype, i) : cpb_digits_f64(to, value);
}

#include "base/digits.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system.h"

const double cpb_powers_of_ten[23] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                      1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* The differences between the two types. A decimal of `sure` digits survives a round trip through any normal
 * number of the type, so fewer digits need not be tried: %g drops trailing zeros. */
typedef struct type {
  int sure, most;
  double least_normal;
  bool is_float;
} type;

static const type f64 = {DBL_DIG, DBL_DECIMAL_DIG, DBL_MIN, false};
static const type f32 = {FLT_DIG, FLT_DECIMAL_DIG, (double)FLT_MIN, true};

static bool comes_back(const type *t, const char *text, double value) {
  return (t->is_float ? (double)strtof(text, NULL) : strtod(text, NULL)) == value;
}

/* Increments the last digit of a string with an exponent; false if a carry would need a new digit. */
static bool step_up(char *text) {
  char *p = strpbrk(text, "e");
  while (p != NULL && p > text && *--p == '9') *p = '0';
  if (p == NULL || *p < '0' || *p > '8') return false;
  ++*p;
  return true;
}

/* Below a power of two the numbers are half as far apart as above it: the nearest decimal can be below and too far
 * away while the next one above is close enough. */
static bool print_above(const type *t, char *to, double value, int digits) {
  int exponent;
  if (fabs(frexp(value, &exponent)) != 0.5) return false;
  int length = snprintf(to, CPB_DIGITS_ROOM, "%.*e", digits - 1, value);
  return length < CPB_DIGITS_ROOM && step_up(to) && comes_back(t, to, value);
}

static size_t print(char *to, double value, int digits) {
  return (size_t)snprintf(to, CPB_DIGITS_ROOM, "%.*g", digits, value);
}

static bool print_with(const type *t, char *to, double value, int digits) {
  if (print(to, value, digits) >= CPB_DIGITS_ROOM) return false;
  return comes_back(t, to, value) || print_above(t, to, value, digits);
}

/* Counts down from the maximum: most numbers need it, and if N digits are not enough, fewer are not either. */
static size_t print_fewest(const type *t, char *to, double value) {
  uintptr_t before = cpb_sys_enter_c_locale();
  char shorter[CPB_DIGITS_ROOM];
  int digits = t->most, least = fabs(value) < t->least_normal ? 1 : t->sure;
  for (; digits > least && print_with(t, shorter, value, digits - 1); digits--) strcpy(to, shorter);
  size_t length = digits == t->most ? print(to, value, digits) : strlen(to);
  cpb_sys_leave_c_locale(before);
  return length;
}

size_t cpb_digits_f64(char to[CPB_DIGITS_ROOM], double value) { return print_fewest(&f64, to, value); }

size_t cpb_digits_f32(char to[CPB_DIGITS_ROOM], float value) { return print_fewest(&f32, to, (double)value); }

size_t cpb_digits_rounded(char to[CPB_DIGITS_ROOM], double value, int digits) {
  uintptr_t before = cpb_sys_enter_c_locale();
  size_t length = print(to, value, digits);
  cpb_sys_leave_c_locale(before);
  return length;
}

double cpb_digits_read(const char *text, char **end) {
  uintptr_t before = cpb_sys_enter_c_locale();
  double value = strtod(text, end);
  cpb_sys_leave_c_locale(before);
  return value;
}

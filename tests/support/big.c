#include "support/big.h"

#include <stdlib.h>

enum { ARENA = 1 << 17 };

static mpfr_t arena[ARENA];
static size_t used, ready;

void big_reset(void) { used = 0; }
size_t big_mark(void) { return used; }
void big_release(size_t mark) { used = mark; }

static big fresh(void) {
  if (used == ARENA) abort(); /* the test forgot big_reset() */
  if (used == ready) mpfr_init2(arena[ready++], BIG_BITS);
  return arena[used++];
}

big big_of(double x) {
  big z = fresh();
  mpfr_set_d(z, x, MPFR_RNDN);
  return z;
}
big big_add(big x, big y) {
  big z = fresh();
  mpfr_add(z, x, y, MPFR_RNDN);
  return z;
}
big big_sub(big x, big y) {
  big z = fresh();
  mpfr_sub(z, x, y, MPFR_RNDN);
  return z;
}
big big_mul(big x, big y) {
  big z = fresh();
  mpfr_mul(z, x, y, MPFR_RNDN);
  return z;
}
big big_div(big x, big y) {
  big z = fresh();
  mpfr_div(z, x, y, MPFR_RNDN);
  return z;
}
big big_sqrt(big x) {
  big z = fresh();
  mpfr_sqrt(z, x, MPFR_RNDN);
  return z;
}
big big_neg(big x) {
  big z = fresh();
  mpfr_neg(z, x, MPFR_RNDN);
  return z;
}
big big_abs(big x) {
  big z = fresh();
  mpfr_abs(z, x, MPFR_RNDN);
  return z;
}
big big_tan(big x) {
  big z = fresh();
  mpfr_tan(z, x, MPFR_RNDN);
  return z;
}
big big_atan(big x) {
  big z = fresh();
  mpfr_atan(z, x, MPFR_RNDN);
  return z;
}
big big_scale2(big x, long power) {
  big z = fresh();
  mpfr_mul_2si(z, x, power, MPFR_RNDN);
  return z;
}
big big_square(big x) { return big_mul(x, x); }
big big_hypot(big x, big y) { return big_sqrt(big_add(big_square(x), big_square(y))); }
double big_to_double(big x) { return mpfr_get_d(x, MPFR_RNDN); }

void big_vector(const double *x, size_t n, big *to) {
  for (size_t i = 0; i < n; i++) to[i] = big_of(x[i]);
}
big big_dot(const big *x, const big *y, size_t n) {
  big sum = big_of(0);
  for (size_t i = 0; i < n; i++) mpfr_fma(sum, x[i], y[i], sum, MPFR_RNDN);
  return sum;
}
big big_norm(const big *x, size_t n) { return big_sqrt(big_dot(x, x, n)); }

static double in_units(big error, big unit, double u) {
  if (mpfr_zero_p(error)) return 0;
  return big_to_double(big_div(big_abs(error), big_mul(big_abs(unit), big_of(u))));
}

double big_error_in(double got, big want, big unit, double u) {
  size_t mark = big_mark();
  double error = in_units(big_sub(big_of(got), want), unit, u);
  big_release(mark);
  return error;
}
double big_error(double got, big want, big unit) { return big_error_in(got, want, unit, 0x1p-53); }
double big_relative_error(double got, big want) { return big_error(got, want, want); }

double big_vector_error(const double *got, const big *want, size_t n, big unit) {
  big sum = big_of(0);
  for (size_t i = 0; i < n; i++) sum = big_add(sum, big_square(big_sub(big_of(got[i]), want[i])));
  return in_units(big_sqrt(sum), unit, 0x1p-53);
}

/* Inline: sums of squares and products that neither overflow nor cancel: two doubles hold each sum, a power
 * of two holds its range. For single objects (a ball, a cap); rows of data go through src/loops. */
#ifndef CPB_LOOPS_VECTOR_H
#define CPB_LOOPS_VECTOR_H

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/* A sum hi+lo of doubles: what rounding drops from hi is added to lo. For numbers of one sign it is accurate to a few
 * units in the last place, however many there are. */
typedef struct cpb_twofold {
  double hi, lo;
} cpb_twofold;

static inline void cpb_twofold_add(cpb_twofold *to, double x) {
  double sum = to->hi + x, kept = sum - to->hi;
  to->lo += (to->hi - (sum - kept)) + (x - kept);
  to->hi = sum;
}

static inline void cpb_twofold_add_product(cpb_twofold *to, double x, double y) {
  double product = x * y;
  to->lo += fma(x, y, -product);
  cpb_twofold_add(to, product);
}

static inline double cpb_twofold_value(cpb_twofold of) { return of.hi + of.lo; }

/* The sum of squares times 4^exponent; every term is added at unit size. */
typedef struct cpb_squares {
  cpb_twofold sum;
  int exponent;
} cpb_squares;

static inline cpb_squares cpb_squares_none(void) { return (cpb_squares){{0, 0}, INT_MIN / 8}; }

/* Adds sign x^2, x finite. */
static inline void cpb_squares_add(cpb_squares *sum, double x, double sign) {
  if (x == 0) return;
  int exponent = ilogb(x);
  if (exponent > sum->exponent) {
    sum->sum.hi = ldexp(sum->sum.hi, 2 * (sum->exponent - exponent));
    sum->sum.lo = ldexp(sum->sum.lo, 2 * (sum->exponent - exponent));
    sum->exponent = exponent;
  }
  double unit = ldexp(x, -sum->exponent);
  cpb_twofold_add_product(&sum->sum, sign * unit, unit);
}

static inline cpb_squares cpb_squares_of(const double *x, size_t n) {
  cpb_squares sum = cpb_squares_none();
  for (size_t i = 0; i < n; i++) cpb_squares_add(&sum, x[i], 1);
  return sum;
}

/* The root of the sum, divided by 2^shift. */
static inline double cpb_squares_root(const cpb_squares *sum, int shift) {
  return ldexp(sqrt(cpb_twofold_value(sum->sum)), sum->exponent - shift);
}

/* |x|, within one rounding whenever the norm is a double. */
static inline double cpb_norm(const double *x, size_t n) {
  cpb_squares sum = cpb_squares_of(x, n);
  return cpb_squares_root(&sum, 0);
}

/* start + <x,y> as if summed in twice the precision. */
static inline double cpb_dot_from(double start, const double *x, const double *y, size_t n) {
  cpb_twofold sum = {start, 0};
  for (size_t i = 0; i < n; i++) cpb_twofold_add_product(&sum, x[i], y[i]);
  return cpb_twofold_value(sum);
}

/* s/a as mantissas and exponent, so that (s/a) x leaves the range of double only if it must. */
typedef struct cpb_ratio {
  double s, a;
  int exponent;
} cpb_ratio;

static inline cpb_ratio cpb_ratio_of(double s, double a) {
  int up, down;
  double top = frexp(s, &up), bottom = frexp(a, &down);
  return (cpb_ratio){top, bottom, up - down};
}

static inline double cpb_ratio_times(cpb_ratio ratio, double x) {
  return ldexp(ratio.s * x / ratio.a, ratio.exponent);
}

/* The exponent of the largest coordinate, or least if all are smaller. */
static inline int cpb_largest_exponent(const double *x, size_t n, int least) {
  for (size_t i = 0; i < n; i++)
    if (x[i] != 0 && ilogb(x[i]) > least) least = ilogb(x[i]);
  return least;
}

static inline bool cpb_all_finite(const double *x, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!isfinite(x[i])) return false;
  return true;
}

#endif

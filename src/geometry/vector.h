/* Sums of squares and products that neither overflow nor cancel: two doubles hold each sum, a power
 * of two holds its range. For single objects (a ball, a cap); rows of data go through src/loop. */
#ifndef CPB_GEOMETRY_VECTOR_H
#define CPB_GEOMETRY_VECTOR_H

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/* The sum (hi+lo) 4^exponent of squares; every term is added at unit size. */
typedef struct cpb_squares {
  double hi, lo;
  int exponent;
} cpb_squares;

static inline cpb_squares cpb_squares_none(void) { return (cpb_squares){0, 0, INT_MIN / 8}; }

/* hi+lo += x, exactly: lo takes what hi cannot hold. */
static inline void cpb_twofold_add(double *hi, double *lo, double x) {
  double sum = *hi + x, kept = sum - *hi;
  *lo += (*hi - (sum - kept)) + (x - kept);
  *hi = sum;
}

/* hi+lo += x y. */
static inline void cpb_twofold_add_product(double *hi, double *lo, double x, double y) {
  double product = x * y;
  *lo += fma(x, y, -product);
  cpb_twofold_add(hi, lo, product);
}

/* Adds sign x^2, x finite. */
static inline void cpb_squares_add(cpb_squares *sum, double x, double sign) {
  if (x == 0) return;
  int exponent = ilogb(x);
  if (exponent > sum->exponent) {
    sum->hi = ldexp(sum->hi, 2 * (sum->exponent - exponent));
    sum->lo = ldexp(sum->lo, 2 * (sum->exponent - exponent));
    sum->exponent = exponent;
  }
  double unit = ldexp(x, -sum->exponent);
  cpb_twofold_add_product(&sum->hi, &sum->lo, sign * unit, unit);
}

static inline cpb_squares cpb_squares_of(const double *x, size_t n) {
  cpb_squares sum = cpb_squares_none();
  for (size_t i = 0; i < n; i++) cpb_squares_add(&sum, x[i], 1);
  return sum;
}

/* The root of the sum, divided by 2^shift. */
static inline double cpb_squares_root(const cpb_squares *sum, int shift) {
  return ldexp(sqrt(sum->hi + sum->lo), sum->exponent - shift);
}

/* |x|, within one rounding whenever the norm is a double. */
static inline double cpb_norm(const double *x, size_t n) {
  cpb_squares sum = cpb_squares_of(x, n);
  return cpb_squares_root(&sum, 0);
}

/* start + <x,y> as if summed in twice the precision. */
static inline double cpb_dot_from(double start, const double *x, const double *y, size_t n) {
  double hi = start, lo = 0;
  for (size_t i = 0; i < n; i++) cpb_twofold_add_product(&hi, &lo, x[i], y[i]);
  return hi + lo;
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

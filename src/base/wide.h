/* Inline: double arithmetic with unbounded exponents: every operation gives the same bits as on doubles wherever these
 * neither overflow nor underflow. For the few sums that do. */
#ifndef CPB_BASE_WIDE_H
#define CPB_BASE_WIDE_H

#include <limits.h>
#include <math.h>

/* m 2^e with 1/2 <= |m| < 1, or m = 0 with the smallest e. */
typedef struct cpb_wide {
  double m;
  int e;
} cpb_wide;

/* x 2^e, x finite */
static inline cpb_wide cpb_wide_of(double x, int e) {
  int shift;
  if (x == 0) return (cpb_wide){0, INT_MIN / 4};
  double m = frexp(x, &shift);
  return (cpb_wide){m, e + shift};
}

static inline cpb_wide cpb_wide_times(cpb_wide a, cpb_wide b) { return cpb_wide_of(a.m * b.m, a.e + b.e); }

static inline cpb_wide cpb_wide_plus(cpb_wide a, cpb_wide b) {
  enum { UNSEEN = 60 }; /* less than half a unit in the last place */
  cpb_wide large = a.e < b.e ? b : a, small = a.e < b.e ? a : b;
  if (small.m == 0 || large.e - small.e > UNSEEN) return large;
  return cpb_wide_of(large.m + ldexp(small.m, small.e - large.e), large.e);
}

static inline cpb_wide cpb_wide_root(cpb_wide a) {
  int odd = a.e & 1;
  return cpb_wide_of(sqrt(odd ? 2 * a.m : a.m), (a.e - odd) / 2);
}

/* a/b, rounded to a double; likewise a single cpb_wide below. */
static inline double cpb_wide_ratio(cpb_wide a, cpb_wide b) { return ldexp(a.m / b.m, a.e - b.e); }
static inline double cpb_wide_round(cpb_wide a) { return ldexp(a.m, a.e); }

#endif

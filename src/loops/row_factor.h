/* Inline. T1 for one row: the factor of its numbers, and its last number, from its sums.
 *
 * Every loop of every instruction set computes exactly this, for one row or in a loop over many that the compiler vectorises:
 * there are no branches, conditions are joined by &, and everything is inlined. */
#ifndef CPB_LOOPS_ROW_FACTOR_H
#define CPB_LOOPS_ROW_FACTOR_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "loops/lane_inline.h"

/* Rows of floats, halves and bytes with results in float: sums in double, rounded once. */
typedef struct row_factor {
  float factor, last; /* out = factor * in; embedding also writes `last` */
  bool fine;          /* false: call careful(); for a short row, first try doubles */
} row_factor;

/* Within these limits products of floats neither overflow nor lose digits. NaN and inf fail too. */
#define FACTOR_LEAST 0x1p-100f
#define FACTOR_MOST 0x1p100f
/* How far from 1 the square length of a row of floats may be to count as a unit row. */
#define UNIT_SLACK 0x1p-20

LANE_INLINE bool factor_in_range(float factor) { return (factor >= FACTOR_LEAST) & (factor <= FACTOR_MOST); }

/* y = (2s x, s^2-n)/(n+s^2) */
LANE_INLINE row_factor embed_factor(double n, double s) {
  double s2 = s * s, inverse = 1 / (n + s2);
  float factor = (float)(2 * s * inverse);
  return (row_factor){factor, (float)((s2 - n) * inverse), factor_in_range(factor)};
}

/* x = 2s y'/|y+e|^2 for |y| = 1, n = |y'|^2 */
LANE_INLINE row_factor unembed_factor(double n, double y0, double s) {
  double rise = 1 + y0, gap = fma(rise, rise, n);
  float factor = (float)(2 * s / gap);
  bool unit = fabs(gap - 2 * rise) <= UNIT_SLACK; /* = |y|^2 - 1 */
  return (row_factor){factor, 0, unit & factor_in_range(factor)};
}

/* Rows of doubles, or results in double. */
typedef struct double_factor {
  double factor, last; /* out = factor * in; embedding also writes `last` */
  bool fine;           /* false: call careful() */
} double_factor;

/* Between these limits sums of squares have neither overflowed nor lost digits. NaN and inf fail too. */
#define SUM_LEAST 1e-150
#define SUM_MOST 1e150
/* The least |y'|^2 in the south, and the least factor of a row of doubles. */
#define NORM_LEAST 1e-280
#define FACTOR_LEAST_F64 1e-290
/* The largest length of a result, so that it fits its type with any centre a loop accepts. */
#define RESULT_MOST_F32 0x1p100
#define RESULT_MOST_F64 0x1p900

/* y = (2s x, s^2-n)/(n+s^2) */
LANE_INLINE double_factor embed_double(double n, double s) {
  double s2 = s * s, q = n + s2;
  return (double_factor){2 * s / q, (s2 - n) / q, (s >= SUM_LEAST) & (q >= SUM_LEAST) & (q <= SUM_MOST)};
}

/* x = s y'/(|y|+y0), for y of any length; n = |y'|^2. In the south |y|+y0 = n/(|y|-y0), which loses nothing. */
LANE_INLINE double_factor unembed_double(double n, double y0, double s, double most) {
  double square = y0 * y0, length2 = n + square, length = sqrt(length2);
  bool north = y0 >= 0, whole = (length2 >= SUM_LEAST) & (length2 <= SUM_MOST) & (north | (n >= NORM_LEAST));
  double rise = length + y0, fall = s * (length - y0), over = north ? s : fall, under = north ? rise : n;
  double factor = over / under;
  return (double_factor){factor, 0, whole & (factor >= FACTOR_LEAST_F64) & (factor * length <= most)};
}

/* Rows of d <= CPB_SHORT_MOST floats: in pairs of floats, unevaluated sums h + l, good to about 2^-45. That is nearly what
 * doubles do, without widening the numbers, and the division is that of floats. */
typedef struct float_pair {
  float h, l;
} float_pair;

/* The constants of a map for such rows. */
typedef struct short_scale {
  float_pair square, twice, twice_square; /* s^2, 2s, 2s^2 */
  float most;                             /* limit of n+s^2, or of 1/|y+e|^2 */
} short_scale;

enum { CPB_SHORT_MOST = 4 };
/* Up to this limit, and down to its inverse, the low part of a pair does not underflow. */
#define SHORT_SQUARE_MOST 0x1p60f
#define SHORT_SCALE_MOST 0x1p20

LANE_INLINE float_pair pair_of(double x) {
  float h = (float)x;
  return (float_pair){h, (float)(x - (double)h)};
}

LANE_INLINE short_scale short_scale_of(double s) {
  if (!(s >= 1 / SHORT_SCALE_MOST && s <= SHORT_SCALE_MOST)) return (short_scale){.most = -1};
  return (short_scale){pair_of(s * s), pair_of(2 * s), pair_of(2 * (s * s)), SHORT_SQUARE_MOST};
}

LANE_INLINE float_pair pair_square(float x) {
  float h = x * x;
  return (float_pair){h, fmaf(x, x, -h)};
}

/* of two that are not negative */
LANE_INLINE float_pair pair_sum(float_pair a, float_pair b) {
  float h = a.h + b.h, larger = a.h > b.h ? a.h : b.h, smaller = a.h < b.h ? a.h : b.h;
  float lost = smaller - (h - larger);
  return (float_pair){h, lost + (a.l + b.l)};
}

LANE_INLINE float_pair pair_norm(const float *x, size_t d) {
  float_pair n = pair_square(x[0]);
#pragma GCC unroll 5
  for (size_t j = 1; j < d; j++) n = pair_sum(n, pair_square(x[j]));
  return n;
}

LANE_INLINE float_pair pair_inverse(float_pair x) {
  float h = 1 / x.h;
  return (float_pair){h, h * fmaf(-x.l, h, fmaf(-x.h, h, 1))};
}

/* a b - c as one number; c is 0, or 1 for a product up to 2: then below 1/2 the difference is rounded too */
LANE_INLINE float pair_product_less(float_pair a, float_pair b, float c) {
  float h = a.h * b.h;
  return (h - c) + fmaf(a.h, b.l, fmaf(a.l, b.h, fmaf(a.h, b.h, -h)));
}

/* y = (2s x, s^2-n)/(n+s^2); the last is 2s^2/(n+s^2) - 1 */
LANE_INLINE row_factor short_embed(const float *x, size_t d, const short_scale *s) {
  float_pair q = pair_sum(pair_norm(x, d), s->square), inverse = pair_inverse(q);
  return (row_factor){pair_product_less(s->twice, inverse, 0), pair_product_less(s->twice_square, inverse, 1),
                      q.h <= s->most};
}

/* x = 2s y'/|y+e|^2 for |y| = 1; y0 = y[d] */
LANE_INLINE row_factor short_unembed(const float *y, size_t d, const short_scale *s) {
  float rise = 1 + y[d], lost = y[d] - (rise - 1);
  float_pair square = pair_square(rise);
  square.l = fmaf(rise + rise, lost, square.l);
  float_pair gap = pair_sum(pair_norm(y, d), square), inverse = pair_inverse(gap);
  float excess = gap.h - (rise + rise); /* |y|^2 - 1 */
  return (row_factor){pair_product_less(s->twice, inverse, 0), 0,
                      (fabsf(excess) <= (float)UNIT_SLACK) & (inverse.h <= s->most)};
}

/* The factor of a row of d <= CPB_SHORT_MOST numbers x, followed by y0 for the inverse. Not fine: use doubles. */
LANE_INLINE row_factor short_factor(const float *x, size_t d, bool embedding, const short_scale *scale) {
  return embedding ? short_embed(x, d, scale) : short_unembed(x, d, scale);
}

#endif

/* T1 for float rows: the factor of a row from its sums, in double, rounded once; for rows of up to
 * CPB_SHORT_MOST numbers in pairs of floats instead, where these hold them.
 *
 * Every loop of every instruction set computes exactly this. */
#ifndef CPB_LOOP_ROW_FACTOR_H
#define CPB_LOOP_ROW_FACTOR_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct row_factor {
  float factor, last; /* out = factor * in; embedding also writes `last` */
  bool fine;          /* false: leave the row to the careful way; a short row first to the doubles */
} row_factor;

/* Within these, products of floats neither overflow nor lose digits. NaN and inf fail too. */
#define FACTOR_LEAST 0x1p-100f
#define FACTOR_MOST 0x1p100f
/* How far from 1 the square length of a row of floats may be to count as a unit row. */
#define UNIT_SLACK 0x1p-20

static inline bool factor_in_range(float factor) { return factor >= FACTOR_LEAST && factor <= FACTOR_MOST; }

/* y = (2s x, s^2-n)/(n+s^2) */
static inline row_factor embed_factor(double n, double s) {
  double s2 = s * s, inverse = 1 / (n + s2);
  float factor = (float)(2 * s * inverse);
  return (row_factor){factor, (float)((s2 - n) * inverse), factor_in_range(factor)};
}

/* x = 2s y'/|y+e|^2 for |y| = 1, n = |y'|^2 */
static inline row_factor unembed_factor(double n, double y0, double s) {
  double rise = 1 + y0, gap = fma(rise, rise, n);
  float factor = (float)(2 * s / gap);
  bool unit = fabs(gap - 2 * rise) <= UNIT_SLACK; /* = |y|^2 - 1 */
  return (row_factor){factor, 0, unit && factor_in_range(factor)};
}

/* A double as the sum of two floats. */
typedef struct short_number {
  float h, l;
} short_number;

/* The map's numbers for rows of up to CPB_SHORT_MOST. */
typedef struct short_scale {
  short_number square, twice, twice_square; /* s^2, 2s, 2s^2 */
  float most;                               /* what n+s^2, or 1/|y+e|^2, may be */
} short_scale;

enum { CPB_SHORT_MOST = 4 };
/* Up to here, or one over it, there is room for what the smaller number of a pair holds. */
#define SHORT_SQUARE_MOST 0x1p60f
#define SHORT_SCALE_MOST 0x1p20

static inline short_number short_number_of(double x) {
  float h = (float)x;
  return (short_number){h, (float)(x - (double)h)};
}

static inline short_scale short_scale_of(double s) {
  if (!(s >= 1 / SHORT_SCALE_MOST && s <= SHORT_SCALE_MOST)) return (short_scale){.most = -1};
  return (short_scale){short_number_of(s * s), short_number_of(2 * s), short_number_of(2 * (s * s)),
                       SHORT_SQUARE_MOST};
}

#define REAL float
#define REAL_FMA fmaf
#define REAL_ABS fabsf
#define REAL_MAX(a, b) ((a) > (b) ? (a) : (b))
#define REAL_MIN(a, b) ((a) < (b) ? (a) : (b))
#define REAL_SAME(x) ((float)(x))
#define REAL_BELOW(x, most) ((x) <= (most))
#define SHORT(name) short_##name
#include "loop/short_factor.inc"

/* Of a row of d <= CPB_SHORT_MOST numbers x, which when unembedding y0 follows. Not fine: take the doubles.
 */
static inline row_factor short_factor(const float *x, size_t d, bool embedding, const short_scale *scale) {
  short_factors f = short_factors_of(x, d, embedding, scale);
  return (row_factor){f.factor, f.last, f.fine};
}

#endif

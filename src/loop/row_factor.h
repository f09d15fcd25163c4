/* T1 for float rows: the factor of a row from its sums, in double, rounded once.
 *
 * Every loop of every instruction set computes exactly this. */
#ifndef CPB_LOOP_ROW_FACTOR_H
#define CPB_LOOP_ROW_FACTOR_H

#include <math.h>
#include <stdbool.h>

typedef struct row_factor {
  float factor, last; /* out = factor * in; embedding also writes `last` */
  bool fine;          /* false: leave the row to the careful way */
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

#endif

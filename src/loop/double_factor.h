/* T1 for rows of doubles, or results in double: the factor of a row from its sums.
 *
 * Every loop of every instruction set computes exactly this. */
#ifndef CPB_LOOP_DOUBLE_FACTOR_H
#define CPB_LOOP_DOUBLE_FACTOR_H

#include <math.h>
#include <stdbool.h>

typedef struct double_factor {
  double factor, last; /* out = factor * in; embedding also writes `last` */
  bool fine;           /* false: leave the row to the careful way */
} double_factor;

/* Between these, sums of squares have neither overflowed nor lost digits. NaN and inf fail too. */
#define SUM_LEAST 1e-150
#define SUM_MOST 1e150
/* The least |y'|^2 in the south, and the least factor of a row of doubles. */
#define NORM_LEAST 1e-280
#define FACTOR_LEAST_F64 1e-290
/* What the length of a result may be, so that it fits its type with any centre a loop is given. */
#define RESULT_MOST_F32 0x1p100
#define RESULT_MOST_F64 0x1p900

/* y = (2s x, s^2-n)/(n+s^2) */
static inline double_factor embed_double(double n, double s) {
  double s2 = s * s, q = n + s2;
  return (double_factor){2 * s / q, (s2 - n) / q, s >= SUM_LEAST && q >= SUM_LEAST && q <= SUM_MOST};
}

/* x = s y'/(|y|+y0), for y of any length; n = |y'|^2. In the south |y|+y0 = n/(|y|-y0), which loses nothing. */
static inline double_factor unembed_double(double n, double y0, double s, double most) {
  double square = y0 * y0, length2 = n + square, length = sqrt(length2);
  bool north = y0 >= 0, whole = length2 >= SUM_LEAST && length2 <= SUM_MOST && (north || n >= NORM_LEAST);
  double factor = north ? s / (length + y0) : s * (length - y0) / n;
  return (double_factor){factor, 0, whole && factor >= FACTOR_LEAST_F64 && factor * length <= most};
}

#endif

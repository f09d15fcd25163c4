/* Inline: the double-precision loops, in ordinary C: included by one stub per instruction set, which is compiled with the
 * flags of that set. The compiler vectorises the inner loops over 16 lanes, which also fix the order of sums. */
#ifndef CPB_LOOPS_LANES_F64_H
#define CPB_LOOPS_LANES_F64_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "loops/lane_inline.h"
#include "loops/table.h"

/* Adds halves; written out, as the compiler does not unroll a loop over the width. */
static double add_lanes(const double lane[CPB_LANES]) {
  double eight[8], four[4], two[2];
  for (int j = 0; j < 8; j++) eight[j] = lane[j] + lane[j + 8];
  for (int j = 0; j < 4; j++) four[j] = eight[j] + eight[j + 4];
  for (int j = 0; j < 2; j++) two[j] = four[j] + four[j + 2];
  return two[0] + two[1];
}

/* A reduction: `term` is an expression in x[i], y[i]. Calls through a pointer would not be vectorised. */
#define REDUCTION(name, term)                                                                                \
  static double name##_chunk(const double *x, const double *y, size_t n) {                                   \
    double lane[CPB_LANES] = {0};                                                                            \
    size_t i = 0;                                                                                            \
    for (; i + CPB_LANES <= n; i += CPB_LANES)                                                               \
      for (size_t j = 0; j < CPB_LANES; j++) {                                                               \
        double a = x[i + j], b = y[i + j];                                                                   \
        lane[j] += (term);                                                                                   \
      }                                                                                                      \
    for (size_t j = 0; i + j < n; j++) {                                                                     \
      double a = x[i + j], b = y[i + j];                                                                     \
      lane[j] += (term);                                                                                     \
    }                                                                                                        \
    return add_lanes(lane);                                                                                  \
  }                                                                                                          \
  static double name(const double *x, const double *y, size_t n) {                                           \
    double sum = 0;                                                                                          \
    for (size_t i = 0; i < n; i += CPB_CHUNK)                                                                \
      sum += name##_chunk(x + i, y + i, n - i < CPB_CHUNK ? n - i : CPB_CHUNK);                              \
    return sum;                                                                                              \
  }

REDUCTION(dot, a *b)
REDUCTION(dist2, (a - b) * (a - b))
REDUCTION(sum2, (a + b) * (a + b))
#undef REDUCTION

static void axpby(double alpha, const double *x, double beta, const double *y, double *z, size_t n) {
  for (size_t i = 0; i < n; i++) {
    double scaled = alpha * x[i];
    z[i] = scaled + beta * y[i];
  }
}

static bool span(const double *restrict x, size_t n, double *restrict low, double *restrict high) {
  double lane[CPB_LANES] = {0}, sum = 0;
  size_t i = 0;
  for (; i + CPB_LANES <= n; i += CPB_LANES)
    for (size_t j = 0; j < CPB_LANES; j++) {
      double a = x[i + j];
      low[i + j] = a < low[i + j] ? a : low[i + j];
      high[i + j] = a > high[i + j] ? a : high[i + j];
      lane[j] += a - a; /* 0, or NaN from then on */
    }
  for (; i < n; i++) {
    low[i] = x[i] < low[i] ? x[i] : low[i];
    high[i] = x[i] > high[i] ? x[i] : high[i];
    sum += x[i] - x[i];
  }
  return add_lanes(lane) + sum == 0;
}

/* The parts of the first n numbers at each pointer; returns the sum of the absolute remainders. */
static double split_parts(const double *restrict x, size_t n, const double *restrict coarse,
                          const double *restrict fine, double *restrict coarse_sum,
                          double *restrict fine_sum) {
  double lane[CPB_LANES] = {0}, rest = 0;
  size_t i = 0;
  for (; i + CPB_LANES <= n; i += CPB_LANES)
    for (size_t j = 0; j < CPB_LANES; j++) {
      double part = (x[i + j] + coarse[i + j]) - coarse[i + j], left = x[i + j] - part;
      double small = (left + fine[i + j]) - fine[i + j];
      coarse_sum[i + j] += part;
      fine_sum[i + j] += small;
      lane[j] += fabs(left - small);
    }
  for (; i < n; i++) {
    double part = (x[i] + coarse[i]) - coarse[i], left = x[i] - part;
    double small = (left + fine[i]) - fine[i];
    coarse_sum[i] += part;
    fine_sum[i] += small;
    rest += fabs(left - small);
  }
  return add_lanes(lane) + rest;
}

static bool split(const double *x, size_t n, const double *magic, double *sum) {
  return split_parts(x, n, magic, magic + n, sum, sum + n) == 0;
}

static size_t first_above(const double *x, size_t n, double least) {
  size_t i = 0;
  for (int64_t above = 0; i + CPB_LANES <= n; i += CPB_LANES) {
    for (size_t j = 0; j < CPB_LANES; j++) above |= islessequal(x[i + j], least) ? 0 : 1;
    if (above != 0) break;
  }
  while (i < n && islessequal(x[i], least)) i++;
  return i;
}

/* Numbers in a type that holds them exactly. */
#define CONVERSION(name, less, more)                                                                         \
  static void name(const void *from, size_t n, more *to) {                                                   \
    const less *x = from;                                                                                    \
    for (size_t i = 0; i < n; i++) to[i] = (more)x[i];                                                       \
  }

CONVERSION(widen_f32, float, double)
CONVERSION(widen_u8, uint8_t, double)
CONVERSION(widen_i8, int8_t, double)
CONVERSION(floats_u8, uint8_t, float)
CONVERSION(floats_i8, int8_t, float)
#undef CONVERSION

static void widen_f64(const void *from, size_t n, double *to) { memcpy(to, from, n * sizeof *to); }

/* Half to double by moving the bits into a float that is 2^112 too small and scaling back: exact, including
 * subnormals; exponent 31 (inf, NaN) is corrected by a select. */
static void widen_f16(const void *from, size_t n, double *to) {
  const uint16_t *x = from;
  for (size_t i = 0; i < n; i++) {
    uint32_t magnitude = (uint32_t)(x[i] & 0x7fff) << 13, sign = (uint32_t)(x[i] & 0x8000) << 16;
    uint32_t special = magnitude >= 0x0f800000u ? magnitude | 0x7f800000u : 0;
    uint32_t bits = special ? (special | sign) : (magnitude | sign);
    float value;
    memcpy(&value, &bits, sizeof value);
    to[i] = special ? (double)value : (double)value * 0x1p112;
  }
}

static void narrow(const double *from, size_t n, float *to) {
  for (size_t i = 0; i < n; i++) to[i] = (float)from[i];
}

/* Sixteen lanes as two vectors of the compiler: otherwise gcc processes half of them one at a time. */
typedef float spread_f32v __attribute__((vector_size(8 * sizeof(float))));
typedef double spread_f64v __attribute__((vector_size(8 * sizeof(double))));
typedef struct spread_lanes {
  spread_f64v half[2];
} spread_lanes;

#define REAL float
#define REAL_BITS int32_t
#define TYPED(name) name##_f32
#include "loops/rows_dist2.inc"
#include "loops/rows_split.inc"
#undef REAL
#undef REAL_BITS
#undef TYPED
#define REAL double
#define REAL_BITS int64_t
#define TYPED(name) name##_f64
#include "loops/rows_dist2.inc"
#include "loops/rows_split.inc"
#include "loops/spread.inc"
#undef REAL
#undef REAL_BITS
#undef TYPED

#endif

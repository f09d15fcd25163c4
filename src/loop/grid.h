/* Rows rounded to a grid, as the bytes that panels multiply; included once per instruction set. Sums of codes and of
 * their squares are integers below 2^24 in each lane (cpb_grid_most columns), exact in float. */
#ifndef CPB_LOOP_GRID_H
#define CPB_LOOP_GRID_H

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "loop/table.h"

/* Sixteen lanes in the compiler's vector extension: otherwise gcc uses vectors of four. */
typedef float grid_f32 __attribute__((vector_size(CPB_LANES * sizeof(float))));
typedef int32_t grid_i32 __attribute__((vector_size(CPB_LANES * sizeof(int32_t))));
typedef int8_t grid_i8 __attribute__((vector_size(CPB_LANES)));

typedef float grid_eight __attribute__((vector_size(8 * sizeof(float))));
typedef float grid_four __attribute__((vector_size(4 * sizeof(float))));

static inline __attribute__((always_inline)) float add_float_lanes(const grid_f32 *lanes) {
  grid_eight eight[2];
  grid_four four[2];
  memcpy(eight, lanes, sizeof eight);
  eight[0] += eight[1];
  memcpy(four, eight, sizeof four);
  four[0] += four[1];
  return (four[0][0] + four[0][2]) + (four[0][1] + four[0][3]);
}

/* The first `count` numbers, at most sixteen, then zeros. */
static inline __attribute__((always_inline)) void grid_load(const float *x, size_t count, grid_f32 *to) {
  if (count >= CPB_LANES) {
    memcpy(to, x, sizeof *to);
    return;
  }
#ifdef CPB_LOOP_LANES_H
  lanes_f32 part = lanes_part_f32(x, count);
#else
  float part[CPB_LANES] = {0};
  for (size_t j = 0; j < count; j++) part[j] = x[j];
#endif
  memcpy(to, &part, sizeof *to);
}

/* Floats >= 0 are ordered like their bits, and the maximum of integers does not depend on the order. */
static float reach(float *restrict z, const float *restrict center, size_t n) {
  int32_t largest = 0;
  for (size_t i = 0; i < n; i++) {
    float difference = z[i] - center[i];
    int32_t bits;
    memcpy(&bits, &difference, sizeof bits);
    bits &= INT32_MAX;
    largest = bits > largest ? bits : largest;
    z[i] = difference;
  }
  float size;
  memcpy(&size, &largest, sizeof size);
  return size;
}

/* A row minus its centres: sums of squares and the largest bits so far, per lane. */
typedef struct number_lanes {
  grid_f32 square;
  grid_i32 largest;
} number_lanes;

static inline __attribute__((always_inline)) void number_add(number_lanes *lanes, const grid_f32 *about,
                                                             const grid_f32 *z) {
  grid_i32 bits, is_larger;
  memcpy(&bits, z, sizeof bits);
  bits &= INT32_MAX;
  is_larger = bits > lanes->largest;
  lanes->square += *about * *about;
  lanes->largest = (bits & is_larger) | (lanes->largest & ~is_larger);
}

static float number(const float *restrict x, size_t n, float unit, const float *restrict center,
                    const float *restrict middle, float *restrict z, float *size2) {
  number_lanes lanes = {{0}, {0}};
  for (size_t i = 0; i < n; i += CPB_LANES) {
    grid_f32 about, from, less;
    grid_load(x + i, n - i, &about);
    grid_load(center + i, n - i, &from);
    grid_load(middle + i, n - i, &less);
    about = unit * (about - from);
    less = about - less;
    number_add(&lanes, &about, &less);
    memcpy(z + i, &less, sizeof less);
  }
  int32_t most = 0;
  for (size_t j = 0; j < CPB_LANES; j++) most = lanes.largest[j] > most ? lanes.largest[j] : most;
  *size2 = add_float_lanes(&lanes.square);
  float size;
  memcpy(&size, &most, sizeof size);
  return size;
}

/* Sums of the codes of a row, of their squares and of the squared rounding errors, per lane. */
typedef struct grid_sums {
  grid_f32 sum, square, left;
} grid_sums;

static inline __attribute__((always_inline)) void grid_lanes(const grid_f32 *z, float per_step,
                                                             grid_sums *sums, int8_t *to) {
  const float to_whole = 0x1.8p23f; /* adding and subtracting it rounds to the nearest integer */
  grid_f32 steps = *z * per_step, code = (steps + to_whole) - to_whole, rest = steps - code;
  sums->sum += code;
  sums->square += code * code;
  sums->left += rest * rest;
  grid_i8 bytes = __builtin_convertvector(__builtin_convertvector(code, grid_i32), grid_i8);
  memcpy(to, &bytes, sizeof bytes);
}

static void grid(const float *restrict z, size_t n, float per_step, int8_t *restrict to, size_t step,
                 cpb_gridded *about) {
  enum { LINE = CPB_BYTES_LINE };
  grid_sums sums = {{0}, {0}, {0}};
  for (size_t i = 0; i < n; i += CPB_LANES) {
    grid_f32 some;
    grid_load(z + i, n - i, &some);
    grid_lanes(&some, per_step, &sums, to + i / LINE * step + i % LINE);
  }
  float sum = add_float_lanes(&sums.sum), square = add_float_lanes(&sums.square);
  bool known = sum > -0x1p31f && sum < 0x1p31f && square < 0x1p31f; /* not for numbers that are not finite */
  about->sum = known ? (int32_t)sum : 0;
  about->square = known ? (int32_t)square : 0;
  about->rest = known ? add_float_lanes(&sums.left) : INFINITY;
}

static void flip(const uint8_t *restrict x, size_t n, uint8_t bits, int8_t *restrict to, size_t step,
                 cpb_gridded *about) {
  enum { LINE = CPB_BYTES_LINE };
  *about = (cpb_gridded){0, 0, 0};
  for (size_t i = 0; i < n; i += LINE, to += step) {
    size_t count = n - i < LINE ? n - i : LINE;
    for (size_t j = 0; j < count; j++) {
      int8_t code = (int8_t)(uint8_t)(x[i + j] ^ bits);
      to[j] = code;
      about->sum += code;
      about->square += code * code;
    }
  }
}

/* The entries of a table that lanes_f64.h, products and this file provide. */
#define COMMON_LOOPS                                                                                         \
  .widen = {[CPB_F32] = widen_f32,                                                                           \
            [CPB_F64] = widen_f64,                                                                           \
            [CPB_F16] = widen_f16,                                                                           \
            [CPB_U8] = widen_u8,                                                                             \
            [CPB_I8] = widen_i8},                                                                            \
  .narrow = narrow, .dot = dot, .dist2 = dist2, .sum2 = sum2, .axpby = axpby, .span = span, .split = split,  \
  .rows_span = {[CPB_F32] = rows_span_f32, [CPB_F64] = rows_span_f64},                                       \
  .rows_split = {[CPB_F32] = rows_split_f32, [CPB_F64] = rows_split_f64},                                    \
  .rows_dist2 = {[CPB_F32] = rows_dist2_f32, [CPB_F64] = rows_dist2_f64}, .first_above = first_above,        \
  .spread_f32 = spread_f32, .spread_f64 = spread_f64,                                                        \
  .floats = {[CPB_U8] = floats_u8, [CPB_I8] = floats_i8}, .reach = reach, .number = number, .grid = grid,    \
  .flip = flip

#endif

/* Rows rounded to a grid, as the bytes that panels multiply; included once per instruction set. Sums of codes and of
 * their squares are integers below 2^24 in each lane (cpb_grid_most columns), exact in float. */
#ifndef CPB_LOOP_GRID_H
#define CPB_LOOP_GRID_H

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "loop/lane_inline.h"
#include "loop/table.h"

enum { LINE = CPB_BYTES_LINE, MIDDLE = 128 };

/* Sixteen lanes in the compiler's vector extension: otherwise gcc uses vectors of four. */
typedef float grid_f32 __attribute__((vector_size(CPB_LANES * sizeof(float))));
typedef int32_t grid_i32 __attribute__((vector_size(CPB_LANES * sizeof(int32_t))));
typedef int8_t grid_i8 __attribute__((vector_size(CPB_LANES)));
typedef float grid_eight __attribute__((vector_size(8 * sizeof(float))));
typedef float grid_four __attribute__((vector_size(4 * sizeof(float))));

LANE_INLINE float add_float_lanes(const grid_f32 *lanes) {
  grid_eight eight[2];
  grid_four four[2];
  memcpy(eight, lanes, sizeof eight);
  eight[0] += eight[1];
  memcpy(four, eight, sizeof four);
  four[0] += four[1];
  return (four[0][0] + four[0][2]) + (four[0][1] + four[0][3]);
}

/* The first `count` numbers, at most sixteen, then zeros. */
LANE_INLINE void grid_load(const float *x, size_t count, grid_f32 *to) {
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

/* `count` numbers from number i on, at most sixteen: unit (x-center), and the same minus the middle. */
LANE_INLINE void shift_lanes(const float *x, const cpb_shift *by, size_t i, size_t count, grid_f32 *about,
                             grid_f32 *z) {
  grid_f32 from, less;
  grid_load(x + i, count, about);
  grid_load(by->center + i, count, &from);
  grid_load(by->middle + i, count, &less);
  *about = by->unit * (*about - from);
  *z = *about - less;
}

/* Sums of squares and the largest bits so far, per lane. Floats >= 0 are ordered like their bits, and the maximum of
 * integers does not depend on the order. */
typedef struct number_sums {
  grid_f32 square;
  grid_i32 largest;
} number_sums;

LANE_INLINE void number_lanes(const float *x, const cpb_shift *by, size_t i, size_t count, float *to,
                              number_sums *sums) {
  grid_f32 about, z;
  grid_i32 bits, is_larger;
  shift_lanes(x, by, i, count, &about, &z);
  memcpy(&bits, &z, sizeof bits);
  bits &= INT32_MAX;
  is_larger = bits > sums->largest;
  sums->square += about * about;
  sums->largest = (bits & is_larger) | (sums->largest & ~is_larger);
  if (to != NULL) memcpy(to + i, &z, sizeof z);
}

static float number(const float *x, size_t n, const cpb_shift *by, float *z, float *size2) {
  const cpb_shift shift = *by;
  number_sums sums = {{0}, {0}};
  int32_t bits[CPB_LANES], most = 0;
  float size;
  size_t i = 0;
  for (; i + CPB_LANES <= n; i += CPB_LANES) number_lanes(x, &shift, i, CPB_LANES, z, &sums);
  if (i < n) number_lanes(x, &shift, i, n - i, z, &sums);
  memcpy(bits, &sums.largest, sizeof bits);
  for (size_t j = 0; j < CPB_LANES; j++) most = bits[j] > most ? bits[j] : most;
  memcpy(&size, &most, sizeof size);
  *size2 = add_float_lanes(&sums.square);
  return size;
}

/* Sums of the codes of a row, of their squares and of the squared rounding errors, per lane. */
typedef struct grid_sums {
  grid_f32 sum, square, left;
} grid_sums;

LANE_INLINE void grid_lanes(const float *x, const cpb_shift *by, size_t i, size_t count, float per_step,
                            int8_t *to, size_t step, grid_sums *sums) {
  const float to_whole = 0x1.8p23f; /* adding and subtracting it rounds to the nearest integer */
  grid_f32 about, z;
  shift_lanes(x, by, i, count, &about, &z);
  grid_f32 steps = z * per_step, code = (steps + to_whole) - to_whole, rest = steps - code;
  sums->sum += code;
  sums->square += code * code;
  sums->left += rest * rest;
  grid_i8 bytes = __builtin_convertvector(__builtin_convertvector(code, grid_i32), grid_i8);
  memcpy(to + i / LINE * step + i % LINE, &bytes, sizeof bytes);
}

static void grid(const float *x, size_t n, const cpb_shift *by, float per_step, int8_t *to, size_t step,
                 cpb_gridded *about) {
  const cpb_shift shift = *by;
  grid_sums sums = {{0}, {0}, {0}};
  size_t i = 0;
  for (; i + CPB_LANES <= n; i += CPB_LANES) grid_lanes(x, &shift, i, CPB_LANES, per_step, to, step, &sums);
  if (i < n) grid_lanes(x, &shift, i, n - i, per_step, to, step, &sums);
  float sum = add_float_lanes(&sums.sum), square = add_float_lanes(&sums.square);
  bool known = sum > -0x1p31f && sum < 0x1p31f && square < 0x1p31f; /* not for numbers that are not finite */
  *about = known ? (cpb_gridded){(int32_t)sum, (int32_t)square, add_float_lanes(&sums.left)}
                 : (cpb_gridded){0, 0, INFINITY};
}

/* Whole lines of bytes. Compilers add products of 16 bits in pairs, which is much faster than to add bytes: sums of c
 * follow from squares of c and of c+1. */
LANE_INLINE void flip_lines(const uint8_t *restrict x, size_t lines, uint8_t bits, int8_t *restrict to,
                            size_t step, int32_t *square, int32_t *next_square) {
  const uint8_t raised = bits ^ MIDDLE;
  for (size_t i = 0; i < lines; i++)
    for (size_t j = 0; j < LINE; j++) to[i * step + j] = (int8_t)(uint8_t)(x[i * LINE + j] ^ bits);
  for (size_t i = 0; i < lines * LINE; i++) {
    uint8_t above = x[i] ^ raised;
    int16_t code = (int16_t)(above - MIDDLE), next = (int16_t)(above - (MIDDLE - 1));
    *square += code * code;
    *next_square += next * next;
  }
}

static void flip(const uint8_t *x, size_t n, uint8_t bits, int8_t *to, size_t step, cpb_gridded *about) {
  size_t lines = n / LINE, rest = n % LINE;
  int32_t square = 0, next_square = 0, padded = (int32_t)((lines + (rest > 0)) * LINE);
  flip_lines(x, lines, bits, to, step, &square, &next_square);
  if (rest > 0) {
    uint8_t last[LINE];
    memset(last, bits, sizeof last);
    memcpy(last, x + lines * LINE, rest);
    flip_lines(last, 1, bits, to + lines * step, step, &square, &next_square);
  }
  *about = (cpb_gridded){(next_square - square - padded) / 2, square, 0};
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
  .floats = {[CPB_U8] = floats_u8, [CPB_I8] = floats_i8}, .number = number, .grid = grid, .flip = flip

#endif

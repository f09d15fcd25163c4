/* Inline: rows rounded to a grid, as the bytes that panels multiply; included once per instruction set. Sums of codes and of
 * their squares are integers below 2^24 in each lane (CPB_GRID_MOST columns), exact in float. */
#ifndef CPB_LOOPS_GRID_H
#define CPB_LOOPS_GRID_H

#include <math.h>
#include <string.h>

#include "loops/lanes.h"

enum { LINE = CPB_BYTES_LINE, MIDDLE = 128, QUARTER = CPB_LANES / 4 };

/* Adding and subtracting it rounds to the nearest integer; the sum has the integer in its last bits. */
static const float to_whole = 0x1.8p23f;

LANE_INLINE float plus(float a, float b) { return a + b; }
LANE_INLINE float larger(float a, float b) { return a > b ? a : b; }

/* One number of each row, by the fixed tree: lane j with j+8, then +4, +2, +1. */
LANE_INLINE void fold_rows(float (*of)(float, float), float lanes[][CPB_LANES], size_t rows, float *to) {
  float four[CPB_LANES][QUARTER];
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < QUARTER; j++)
      four[i][j] = of(of(lanes[i][j], lanes[i][j + 2 * QUARTER]),
                      of(lanes[i][j + QUARTER], lanes[i][j + 3 * QUARTER]));
  for (size_t i = 0; i < rows; i++) to[i] = of(of(four[i][0], four[i][2]), of(four[i][1], four[i][3]));
}

typedef int32_t grid_i32 __attribute__((vector_size(sizeof(vec_f32))));

/* unit (x-center) of sixteen numbers from number i on, and the same minus the middle */
LANE_INLINE lanes_f32 about_of(lanes_f32 x, const cpb_shift *by, size_t i) {
  return lanes_times_f32(lanes_less_f32(x, lanes_load_f32(by->center + i)), by->unit);
}
LANE_INLINE lanes_f32 z_of(lanes_f32 about, const cpb_shift *by, size_t i) {
  return lanes_less_f32(about, lanes_load_f32(by->middle + i));
}

typedef struct number_lanes {
  lanes_f32 square, largest;
} number_lanes;

LANE_INLINE number_lanes number_more(number_lanes sums, lanes_f32 x, const cpb_shift *by, size_t i) {
  lanes_f32 about = about_of(x, by, i), z = z_of(about, by, i);
  EACH_VECTOR(k, VECTORS_f32) {
    vec_f32 size = (vec_f32)((grid_i32)z.part[k] & INT32_MAX);
    sums.square.part[k] += about.part[k] * about.part[k];
    sums.largest.part[k] = vec_max_f32(size, sums.largest.part[k]);
  }
  return sums;
}

static void number(const float *const *x, const float *const *next, size_t rows, size_t n,
                   const cpb_shift *by, float *largest, float *size2) {
  const cpb_shift shift = *by;
  float square[CPB_LANES][CPB_LANES], size[CPB_LANES][CPB_LANES];
  for (size_t row = 0; row < rows; row++) {
    const float *from = x[row], *soon = next == NULL ? from : next[row];
    number_lanes sums = {0};
    size_t i = 0;
    for (; i + CPB_LANES <= n; i += CPB_LANES) {
      lanes_prefetch(soon + i);
      sums = number_more(sums, lanes_load_f32(from + i), &shift, i);
    }
    if (i < n) sums = number_more(sums, lanes_part_f32(from + i, n - i), &shift, i);
    lanes_store_f32(square[row], sums.square);
    lanes_store_f32(size[row], sums.largest);
  }
  fold_rows(plus, square, rows, size2);
  fold_rows(larger, size, rows, largest);
}

/* Sums of codes, of their squares and of the squared rounding errors. */
typedef struct grid_lanes {
  lanes_f32 sum, square, rest;
} grid_lanes;

LANE_INLINE grid_lanes grid_more(grid_lanes sums, lanes_f32 x, const cpb_shift *by, size_t i, float per_step,
                                 int8_t *to) {
  lanes_f32 z = z_of(about_of(x, by, i), by, i);
  EACH_VECTOR(k, VECTORS_f32) {
    vec_f32 steps = z.part[k] * per_step, raised = steps + to_whole, code = raised - to_whole;
    vec_f32 rest = steps - code;
    sums.sum.part[k] += code;
    sums.square.part[k] += code * code;
    sums.rest.part[k] += rest * rest;
    vec_store_low_bytes(to + k * VEC_F32, raised);
  }
  return sums;
}

static void grid(const float *const *x, const float *const *next, size_t rows, size_t n, const cpb_shift *by,
                 float per_step, int8_t *to, size_t step, cpb_gridded *about) {
  const cpb_shift shift = *by;
  float lanes[3][CPB_LANES][CPB_LANES], sum[3][CPB_LANES];
  for (size_t row = 0; row < rows; row++, to += LINE) {
    const float *from = x[row], *soon = next == NULL ? from : next[row];
    grid_lanes sums = {0};
    int8_t *line = to;
    size_t i = 0;
    for (; i + CPB_LANES <= n; i += CPB_LANES) {
      lanes_prefetch(soon + i);
      sums = grid_more(sums, lanes_load_f32(from + i), &shift, i, per_step, line + i % LINE);
      if (i % LINE == LINE - CPB_LANES) line += step;
    }
    if (i < n) sums = grid_more(sums, lanes_part_f32(from + i, n - i), &shift, i, per_step, line + i % LINE);
    lanes_store_f32(lanes[0][row], sums.sum);
    lanes_store_f32(lanes[1][row], sums.square);
    lanes_store_f32(lanes[2][row], sums.rest);
  }
  for (size_t i = 0; i < 3; i++) fold_rows(plus, lanes[i], rows, sum[i]);
  for (size_t row = 0; row < rows; row++)
    about[row] = (cpb_gridded){(int32_t)sum[0][row], (int32_t)sum[1][row], sum[2][row]};
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

static void thresholds(const int32_t *term, float factor, int32_t *threshold) {
  for (size_t j = 0; j < CPB_BYTES_COLS; j++) {
    int32_t rise = cpb_bytes_rise(factor * (float)term[j]);
    threshold[j] = -(term[j] == INT32_MAX ? INT32_C(1) << 30 : rise);
  }
}

/* |x_i-c|^2 of rows of bytes, with the bits of dist2 on widened rows; what is beyond the end of a row and of c is 0. */
#define ROWS_DIST2(type)                                                                                     \
  LANE_INLINE lanes_f64 dist2_more_##type(lanes_f64 sum, const void *x, const double *c) {                   \
    lanes_f64 z = lanes_widen(lanes_load_##type(x)), y = lanes_load_f64(c);                                  \
    EACH_VECTOR(k, VECTORS_f64) {                                                                            \
      vec_f64 apart = z.part[k] - y.part[k];                                                                 \
      sum.part[k] += apart * apart;                                                                          \
    }                                                                                                        \
    return sum;                                                                                              \
  }                                                                                                          \
  static void rows_dist2_##type(const void *rows, size_t stride, size_t n, size_t d, const double *c,        \
                                double *dist2) {                                                             \
    const uint8_t *x = rows;                                                                                 \
    for (size_t row = 0; row < n; row++, x += stride) {                                                      \
      double sum = 0;                                                                                        \
      for (size_t start = 0; start < d; start += CPB_CHUNK) {                                                \
        size_t end = d - start < CPB_CHUNK ? d : start + CPB_CHUNK, i = start;                               \
        lanes_f64 lane = {0};                                                                                \
        for (; i + CPB_LANES <= end; i += CPB_LANES) lane = dist2_more_##type(lane, x + i, c + i);           \
        if (i < end) {                                                                                       \
          uint8_t last[CPB_LANES] = {0};                                                                     \
          double of_c[CPB_LANES] = {0};                                                                      \
          memcpy(last, x + i, end - i);                                                                      \
          memcpy(of_c, c + i, (end - i) * sizeof *c);                                                        \
          lane = dist2_more_##type(lane, last, of_c);                                                        \
        }                                                                                                    \
        sum += lanes_sum(lane);                                                                              \
      }                                                                                                      \
      dist2[row] = sum;                                                                                      \
    }                                                                                                        \
  }
ROWS_DIST2(u8)
ROWS_DIST2(i8)
#undef ROWS_DIST2

/* |x-y|^2 and <x,y> of rows of bytes, as integers. */
#define OF_BYTES(name, type)                                                                                 \
  static int32_t whole_dist2_##name(const void *a, const void *b, size_t n) {                                \
    const type *x = a, *y = b;                                                                               \
    int32_t sum = 0;                                                                                         \
    for (size_t i = 0; i < n; i++) {                                                                         \
      int16_t z = (int16_t)(x[i] - y[i]);                                                                    \
      sum += z * z;                                                                                          \
    }                                                                                                        \
    return sum;                                                                                              \
  }                                                                                                          \
  static int32_t whole_dot_##name(const void *a, const void *b, size_t n) {                                  \
    const type *x = a, *y = b;                                                                               \
    int32_t sum = 0;                                                                                         \
    for (size_t i = 0; i < n; i++) sum += (int16_t)x[i] * (int16_t)y[i];                                     \
    return sum;                                                                                              \
  }
OF_BYTES(u8, uint8_t)
OF_BYTES(i8, int8_t)
#undef OF_BYTES

/* Minus the largest of their opposites is the smallest. */
static float keys(const int32_t *sum, const int32_t *term, float of_sum, float of_term, float *key) {
  lanes_f32 opposite;
  float most[CPB_LANES];
  EACH_VECTOR(k, VECTORS_f32) opposite.part[k] = (vec_f32){0} - INFINITY;
  for (size_t j = 0; j < CPB_BYTES_COLS; j += VEC_F32) {
    grid_i32 of, bits, always;
    memcpy(&of, sum + j, sizeof of);
    vec_f32 x = __builtin_convertvector(of, vec_f32) * of_sum;
    memcpy(&of, term + j, sizeof of);
    x += __builtin_convertvector(of, vec_f32) * of_term;
    always = (grid_i32)(of == INT32_MAX);
    bits = ((grid_i32)x & ~always) | ((grid_i32)((vec_f32){0} - INFINITY) & always);
    x = (vec_f32)bits;
    memcpy(key + j, &x, sizeof x);
    opposite.part[j / VEC_F32 % VECTORS_f32] = vec_max_f32(-x, opposite.part[j / VEC_F32 % VECTORS_f32]);
  }
  lanes_store_f32(most, opposite);
  float largest = most[0];
  for (size_t j = 1; j < CPB_LANES; j++) largest = larger(most[j], largest);
  return -largest;
}

static void fine_products(const int8_t *const *x, size_t count, const int16_t *y, size_t n, int32_t *to) {
  for (size_t row = 0; row < count; row++) {
    const int8_t *of = x[row];
    int32_t sum = 0;
    for (size_t first = 0; first < n; first += CPB_LANES)
      for (size_t i = 0; i < CPB_LANES; i++) sum += (int16_t)of[first + i] * y[first + i];
    to[row] = sum;
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
  .rows_dist2 = {[CPB_F32] = rows_dist2_f32,                                                                 \
                 [CPB_F64] = rows_dist2_f64,                                                                 \
                 [CPB_U8] = rows_dist2_u8,                                                                   \
                 [CPB_I8] = rows_dist2_i8},                                                                  \
  .whole_dist2 = {[CPB_U8] = whole_dist2_u8, [CPB_I8] = whole_dist2_i8},                                     \
  .whole_dot = {[CPB_U8] = whole_dot_u8, [CPB_I8] = whole_dot_i8}, .first_above = first_above,               \
  .spread_f32 = spread_f32, .spread_f64 = spread_f64,                                                        \
  .floats = {[CPB_U8] = floats_u8, [CPB_I8] = floats_i8}, .number = number, .grid = grid, .flip = flip,      \
  .thresholds = thresholds, .keys = keys, .fine_products = fine_products

#endif

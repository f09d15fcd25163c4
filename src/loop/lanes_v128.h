/* Sixteen lanes in registers of 128 bits, in the compilers' vector extensions: SSE2, NEON and wasm's v128 from one
 * text. Where an instruction set has no fused multiply-add, that of floats is made from doubles, to the same bit. */
#ifndef CPB_LOOP_LANES_V128_H
#define CPB_LOOP_LANES_V128_H

#include <math.h>
#include <stdint.h>
#include <string.h>
#if defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "loop/lane_inline.h"
#include "loop/table.h"

typedef float v128_f32 __attribute__((vector_size(16)));
typedef double v128_f64 __attribute__((vector_size(16)));
typedef uint64_t v128_u64 __attribute__((vector_size(16)));
typedef int64_t v128_i64 __attribute__((vector_size(16)));
typedef uint32_t v128_u32 __attribute__((vector_size(16)));
typedef int32_t v128_i32 __attribute__((vector_size(16)));
typedef float v64_f32 __attribute__((vector_size(8)));
typedef uint16_t v64_u16 __attribute__((vector_size(8)));
typedef uint8_t v32_u8 __attribute__((vector_size(4)));
typedef int8_t v32_i8 __attribute__((vector_size(4)));

typedef struct lanes_f32 {
  v128_f32 part[4];
} lanes_f32;
typedef struct lanes_f64 {
  v128_f64 part[8];
} lanes_f64;

/* Rows walked side by side, and whether stores can pass the cache. */
enum { LANES_STREAMS = 1, LANES_FEW_STREAMS = 1, LANES_BYPASS = false };

/* What a walk needs of the machine: a line fetched early, and an end to what was stored past the cache. */
LANE_INLINE void lanes_prefetch(const void *p) { __builtin_prefetch(p); }
LANE_INLINE void lanes_fence(void) {}

LANE_INLINE v128_f32 v128_choose(v128_i32 mask, v128_f32 a, v128_f32 b) {
  return (v128_f32)((mask & (v128_i32)a) | (~mask & (v128_i32)b));
}
/* all bits set in lanes [from, to) of the four lanes that start at `base` */
LANE_INLINE v128_i32 lane_mask(size_t base, size_t from, size_t to) {
  v128_i32 lane = (v128_i32){0, 1, 2, 3} + (int)base;
  return (lane >= (int)from) & (lane < (int)to);
}

LANE_INLINE lanes_f32 load_f32(const void *p) {
  lanes_f32 x;
  memcpy(&x, p, sizeof x);
  return x;
}
LANE_INLINE lanes_f32 load_u8(const void *p) {
  v32_u8 bytes[4];
  lanes_f32 x;
  memcpy(bytes, p, sizeof bytes);
  for (int k = 0; k < 4; k++) x.part[k] = __builtin_convertvector(bytes[k], v128_f32);
  return x;
}
LANE_INLINE lanes_f32 load_i8(const void *p) {
  v32_i8 bytes[4];
  lanes_f32 x;
  memcpy(bytes, p, sizeof bytes);
  for (int k = 0; k < 4; k++) x.part[k] = __builtin_convertvector(bytes[k], v128_f32);
  return x;
}
/* The bits of a half make a float 2^112 too small; exponent 31 (inf, NaN) is put right by a choice. */
LANE_INLINE v128_f32 halves(v64_u16 bits) {
  v128_u32 x = __builtin_convertvector(bits, v128_u32), magnitude = (x & 0x7fff) << 13,
           sign = (x & 0x8000) << 16;
  v128_f32 finite = (v128_f32)(magnitude | sign) * 0x1p112f,
           special = (v128_f32)(magnitude | sign | 0x7f800000u);
  return v128_choose((v128_i32)(magnitude >= 0x0f800000u), special, finite);
}
LANE_INLINE lanes_f32 load_f16(const void *p) {
  v64_u16 bits[4];
  lanes_f32 x;
  memcpy(bits, p, sizeof bits);
  for (int k = 0; k < 4; k++) x.part[k] = halves(bits[k]);
  return x;
}

#define LANES_PARTS
/* Only lanes [from, to) are read from p+lane, the others are 0. */
LANE_INLINE lanes_f32 part_f32(const void *p, size_t from, size_t to) {
  float copy[CPB_LANES] = {0};
  for (size_t i = from; i < to; i++) copy[i] = ((const float *)p)[i];
  return load_f32(copy);
}
LANE_INLINE lanes_f32 part_u8(const void *p, size_t from, size_t to) {
  uint8_t copy[CPB_LANES] = {0};
  for (size_t i = from; i < to; i++) copy[i] = ((const uint8_t *)p)[i];
  return load_u8(copy);
}
LANE_INLINE lanes_f32 part_i8(const void *p, size_t from, size_t to) {
  int8_t copy[CPB_LANES] = {0};
  for (size_t i = from; i < to; i++) copy[i] = ((const int8_t *)p)[i];
  return load_i8(copy);
}
LANE_INLINE lanes_f32 part_f16(const void *p, size_t from, size_t to) {
  uint16_t copy[CPB_LANES] = {0};
  for (size_t i = from; i < to; i++) copy[i] = ((const uint16_t *)p)[i];
  return load_f16(copy);
}

LANE_INLINE lanes_f32 lanes_times(lanes_f32 x, float factor) {
  for (int k = 0; k < 4; k++) x.part[k] *= factor;
  return x;
}
LANE_INLINE lanes_f32 lanes_plus(lanes_f32 x, lanes_f32 y) {
  for (int k = 0; k < 4; k++) x.part[k] += y.part[k];
  return x;
}
LANE_INLINE lanes_f32 lanes_less(lanes_f32 x, lanes_f32 y) {
  for (int k = 0; k < 4; k++) x.part[k] -= y.part[k];
  return x;
}
/* lanes [from, to) from a, the others from b */
LANE_INLINE lanes_f32 lanes_choose(lanes_f32 a, lanes_f32 b, size_t from, size_t to) {
  for (size_t k = 0; k < 4; k++) a.part[k] = v128_choose(lane_mask(4 * k, from, to), a.part[k], b.part[k]);
  return a;
}
LANE_INLINE lanes_f32 lanes_set(lanes_f32 x, size_t lane, float value) {
  v128_f32 same = {value, value, value, value};
  return lanes_choose((lanes_f32){{same, same, same, same}}, x, lane, lane + 1);
}
/* lanes below `lane` from a, the others from b */
LANE_INLINE lanes_f32 lanes_join(lanes_f32 a, lanes_f32 b, size_t lane) {
  return lanes_choose(a, b, 0, lane);
}

LANE_INLINE void store_lanes(float *p, lanes_f32 x) { memcpy(p, &x, sizeof x); }
LANE_INLINE void lanes_stream(float *p, lanes_f32 x) { memcpy(p, &x, sizeof x); }
LANE_INLINE void store_part(float *p, lanes_f32 x, size_t from, size_t to) {
  float copy[CPB_LANES];
  store_lanes(copy, x);
  for (size_t i = from; i < to; i++) p[i] = copy[i];
}

LANE_INLINE lanes_f64 lanes_zero(void) { return (lanes_f64){{{0, 0}}}; }

/* sum + x*x per lane; the square of a float is exact in double */
LANE_INLINE lanes_f64 add_square_f32(lanes_f64 sum, const void *p) {
  v64_f32 x[8];
  memcpy(x, p, sizeof x);
  for (int k = 0; k < 8; k++) {
    v128_f64 two = __builtin_convertvector(x[k], v128_f64);
    sum.part[k] += two * two;
  }
  return sum;
}
LANE_INLINE lanes_f64 lanes_add_square(lanes_f64 sum, lanes_f32 x) { return add_square_f32(sum, &x); }

/* Sixteen doubles, for rows of doubles and results in double. */
LANE_INLINE lanes_f64 wide_f32(const void *p) {
  v64_f32 x[8];
  lanes_f64 wide;
  memcpy(x, p, sizeof x);
  for (int k = 0; k < 8; k++) wide.part[k] = __builtin_convertvector(x[k], v128_f64);
  return wide;
}
LANE_INLINE lanes_f64 wide_f64(const void *p) {
  lanes_f64 x;
  memcpy(&x, p, sizeof x);
  return x;
}
LANE_INLINE lanes_f32 lanes_narrow(lanes_f64 x) {
  v64_f32 two[8];
  lanes_f32 narrow;
  for (int k = 0; k < 8; k++) two[k] = __builtin_convertvector(x.part[k], v64_f32);
  memcpy(&narrow, two, sizeof narrow);
  return narrow;
}
LANE_INLINE lanes_f64 lanes_widen(lanes_f32 x) { return wide_f32(&x); }
LANE_INLINE lanes_f64 wide_part_f32(const void *p, size_t from, size_t to) {
  return lanes_widen(part_f32(p, from, to));
}
LANE_INLINE lanes_f64 wide_part_f64(const void *p, size_t from, size_t to) {
  double copy[CPB_LANES] = {0};
  for (size_t i = from; i < to; i++) copy[i] = ((const double *)p)[i];
  return wide_f64(copy);
}
LANE_INLINE lanes_f64 wide_times(lanes_f64 x, double factor) {
  for (int k = 0; k < 8; k++) x.part[k] *= factor;
  return x;
}
LANE_INLINE lanes_f64 wide_less(lanes_f64 x, lanes_f64 y) {
  for (int k = 0; k < 8; k++) x.part[k] -= y.part[k];
  return x;
}
LANE_INLINE lanes_f64 wide_plus(lanes_f64 x, lanes_f64 y) {
  for (int k = 0; k < 8; k++) x.part[k] += y.part[k];
  return x;
}
/* sum + x*y per lane, two roundings */
LANE_INLINE lanes_f64 wide_add_product(lanes_f64 sum, lanes_f64 x, lanes_f64 y) {
  for (int k = 0; k < 8; k++) sum.part[k] += x.part[k] * y.part[k];
  return sum;
}
LANE_INLINE lanes_f64 wide_add_exact(lanes_f64 sum, lanes_f64 x, lanes_f64 y) {
  return wide_add_product(sum, x, y);
}
LANE_INLINE void store_wide(double *p, lanes_f64 x) { memcpy(p, &x, sizeof x); }
LANE_INLINE void stream_wide(double *p, lanes_f64 x) { memcpy(p, &x, sizeof x); }
LANE_INLINE void store_wide_part(double *p, lanes_f64 x, size_t from, size_t to) {
  double copy[CPB_LANES];
  store_wide(copy, x);
  for (size_t i = from; i < to; i++) p[i] = copy[i];
}
LANE_INLINE lanes_f64 wide_join(lanes_f64 a, lanes_f64 b, size_t lane) {
  double copy[CPB_LANES];
  store_wide(copy, b);
  store_wide_part(copy, a, 0, lane);
  return wide_f64(copy);
}
LANE_INLINE lanes_f64 wide_set(lanes_f64 x, size_t lane, double value) {
  double copy[CPB_LANES];
  store_wide(copy, x);
  copy[lane] = value;
  return wide_f64(copy);
}

/* the fixed tree: lane j with j+8, then +4, +2, +1 */
LANE_INLINE double lanes_sum(lanes_f64 x) {
  for (int width = 4; width > 0; width /= 2)
    for (int k = 0; k < width; k++) x.part[k] += x.part[k + width];
  return x.part[0][0] + x.part[0][1];
}

/* Vectors of floats, for products with panels. */
typedef v128_f32 vec_f32;
LANE_INLINE vec_f32 vec_load_f32(const float *p) {
  vec_f32 x;
  memcpy(&x, p, sizeof x);
  return x;
}
LANE_INLINE void vec_store_f32(float *p, vec_f32 x) { memcpy(p, &x, sizeof x); }
LANE_INLINE vec_f32 vec_spread_f32(float x) { return (vec_f32){x, x, x, x}; }
LANE_INLINE vec_f32 vec_max_f32(vec_f32 x, vec_f32 y) { return v128_choose(x > y, x, y); }
/* bit j: x_j > y_j */
LANE_INLINE unsigned vec_above_f32(vec_f32 x, vec_f32 y) {
  v128_i32 bit = (x > y) & (v128_i32){1, 2, 4, 8};
  return (unsigned)((bit[0] | bit[1]) | (bit[2] | bit[3]));
}

/* Vectors of doubles, for tiles of a matrix product. */
typedef v128_f64 vec_f64;
LANE_INLINE vec_f64 vec_load_f64(const double *p) {
  vec_f64 x;
  memcpy(&x, p, sizeof x);
  return x;
}
LANE_INLINE void vec_store_f64(double *p, vec_f64 x) { memcpy(p, &x, sizeof x); }
LANE_INLINE vec_f64 vec_spread_f64(double x) { return (vec_f64){x, x}; }
LANE_INLINE vec_f64 vec_add_f64(vec_f64 x, vec_f64 y) { return x + y; }

#if defined(__aarch64__)
enum { VEC_F32 = 4, PANEL_VECTORS = 4, VEC_F64 = 2, TILE_VECTORS = 4 };
LANE_INLINE vec_f32 vec_fma_f32(vec_f32 x, vec_f32 y, vec_f32 sum) {
  return (vec_f32)vfmaq_f32((float32x4_t)sum, (float32x4_t)x, (float32x4_t)y);
}
LANE_INLINE vec_f64 vec_fma_f64(vec_f64 x, vec_f64 y, vec_f64 sum) {
  return (vec_f64)vfmaq_f64((float64x2_t)sum, (float64x2_t)x, (float64x2_t)y);
}
#else
enum { VEC_F32 = 4, PANEL_VECTORS = 2, VEC_F64 = 2, TILE_VECTORS = 2 };
LANE_INLINE vec_f64 vec_fma_f64(vec_f64 x, vec_f64 y, vec_f64 sum) {
  return (vec_f64){fma(x[0], y[0], sum[0]), fma(x[1], y[1], sum[1])};
}
/* x y is exact in double; its sum is rounded to odd, so that rounding it once more, to float, gives what one rounding
 * of the exact number gives. NaN has no sign here: it stays. */
LANE_INLINE v64_f32 v64_fma(v64_f32 x, v64_f32 y, v64_f32 sum) {
  v128_f64 a = __builtin_convertvector(x, v128_f64) * __builtin_convertvector(y, v128_f64);
  v128_f64 b = __builtin_convertvector(sum, v128_f64), hi = a + b, kept = hi - a;
  v128_f64 lo = (a - (hi - kept)) + (b - kept);
  v128_i64 step = (v128_i64)(lo < 0) - (v128_i64)(lo > 0), negative = (v128_i64)(hi < 0);
  v128_i64 bits = (v128_i64)hi, even = (bits & 1) - 1;
  return __builtin_convertvector((v128_f64)(bits + (((step ^ negative) - negative) & even)), v64_f32);
}
LANE_INLINE vec_f32 vec_fma_f32(vec_f32 x, vec_f32 y, vec_f32 sum) {
  v64_f32 a[2], b[2], c[2];
  memcpy(a, &x, sizeof a);
  memcpy(b, &y, sizeof b);
  memcpy(c, &sum, sizeof c);
  for (int k = 0; k < 2; k++) c[k] = v64_fma(a[k], b[k], c[k]);
  memcpy(&sum, c, sizeof sum);
  return sum;
}
#endif

/* Words of codes. */
typedef v128_u64 vec_u64;
enum { VEC_U64 = 2 };
LANE_INLINE vec_u64 vec_load_u64(const uint64_t *p) {
  vec_u64 x;
  memcpy(&x, p, sizeof x);
  return x;
}
LANE_INLINE void vec_store_u64(uint64_t *p, vec_u64 x) { memcpy(p, &x, sizeof x); }
LANE_INLINE vec_u64 vec_spread_u64(uint64_t x) { return (vec_u64){x, x}; }
LANE_INLINE vec_u64 vec_xor_u64(vec_u64 x, vec_u64 y) { return x ^ y; }
LANE_INLINE vec_u64 vec_add_u64(vec_u64 x, vec_u64 y) { return x + y; }
/* Sums of neighbouring bits, pairs, fours, then of bytes. */
LANE_INLINE vec_u64 vec_ones_u64(vec_u64 x) {
  x -= x >> 1 & 0x5555555555555555u;
  x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
  x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
  x += x >> 8;
  x += x >> 16;
  return (x + (x >> 32)) & 0x7f;
}
/* From any address; lanes i and i^1 change places; low32(x) low32(y). */
LANE_INLINE vec_u64 vec_any_u64(const void *p) {
  vec_u64 x;
  memcpy(&x, p, sizeof x);
  return x;
}
LANE_INLINE vec_u64 vec_swap_u64(vec_u64 x) { return (vec_u64){x[1], x[0]}; }
LANE_INLINE vec_u64 vec_right_u64(vec_u64 x, int bits) { return x >> bits; }
LANE_INLINE vec_u64 vec_left_u64(vec_u64 x, int bits) { return x << bits; }
LANE_INLINE vec_u64 vec_product_u32(vec_u64 x, vec_u64 y) {
#if defined(__aarch64__)
  return (vec_u64)vmull_u32(vmovn_u64((uint64x2_t)x), vmovn_u64((uint64x2_t)y));
#elif defined(__SSE2__)
  return (vec_u64)_mm_mul_epu32((__m128i)x, (__m128i)y);
#else
  return (x & 0xffffffffu) * (y & 0xffffffffu);
#endif
}
LANE_INLINE unsigned vec_below_u64(vec_u64 x, vec_u64 y) {
  v128_i64 bit = (v128_i64)(x < y);
  return (unsigned)((bit[0] & 1) | (bit[1] & 2));
}

#endif

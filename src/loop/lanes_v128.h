/* Sixteen lanes in registers of 128 bits, in the compilers' vector extensions: SSE2, NEON and wasm's v128 from one
 * text. Where an instruction set has no fused multiply-add, it is computed from sums and products, to the same bit. */
#ifndef CPB_LOOP_LANES_V128_H
#define CPB_LOOP_LANES_V128_H

#include <math.h>
#include <stdint.h>
#include <string.h>
#if defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__wasm_simd128__)
#include <wasm_simd128.h>
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
/* The halves of four floats as doubles, and back; whether any bit is set. */
#if defined(__wasm_simd128__)
LANE_INLINE v128_f64 low_half(v128_f32 x) { return (v128_f64)wasm_f64x2_promote_low_f32x4((v128_t)x); }
LANE_INLINE v128_f64 high_half(v128_f32 x) {
  return (v128_f64)wasm_f64x2_promote_low_f32x4(wasm_i32x4_shuffle((v128_t)x, (v128_t)x, 2, 3, 2, 3));
}
LANE_INLINE v128_f32 join_halves(v128_f64 low, v128_f64 high) {
  return (v128_f32)wasm_i64x2_shuffle(wasm_f32x4_demote_f64x2_zero((v128_t)low),
                                      wasm_f32x4_demote_f64x2_zero((v128_t)high), 0, 2);
}
LANE_INLINE bool any_bit(v128_i64 x) { return wasm_v128_any_true((v128_t)x); }
#elif defined(__SSE2__)
LANE_INLINE v128_f64 low_half(v128_f32 x) { return (v128_f64)_mm_cvtps_pd((__m128)x); }
LANE_INLINE v128_f64 high_half(v128_f32 x) {
  return (v128_f64)_mm_cvtps_pd(_mm_movehl_ps((__m128)x, (__m128)x));
}
LANE_INLINE v128_f32 join_halves(v128_f64 low, v128_f64 high) {
  return (v128_f32)_mm_movelh_ps(_mm_cvtpd_ps((__m128d)low), _mm_cvtpd_ps((__m128d)high));
}
LANE_INLINE bool any_bit(v128_i64 x) {
  return _mm_movemask_epi8(_mm_cmpeq_epi32((__m128i)x, _mm_setzero_si128())) != 0xffff;
}
#else
LANE_INLINE v128_f64 low_half(v128_f32 x) { return (v128_f64){x[0], x[1]}; }
LANE_INLINE v128_f64 high_half(v128_f32 x) { return (v128_f64){x[2], x[3]}; }
LANE_INLINE v128_f32 join_halves(v128_f64 low, v128_f64 high) {
  return (v128_f32){(float)low[0], (float)low[1], (float)high[0], (float)high[1]};
}
LANE_INLINE bool any_bit(v128_i64 x) { return (x[0] | x[1]) != 0; }
#endif

/* a+b = sum + rest, exactly (Knuth). */
typedef struct v128_two {
  v128_f64 sum, rest;
} v128_two;
LANE_INLINE v128_two two_sum(v128_f64 a, v128_f64 b) {
  v128_f64 sum = a + b, kept = sum - a;
  return (v128_two){sum, (a - (sum - kept)) + (b - kept)};
}
/* a+b rounded to odd: if it is inexact, the neighbour whose last bit is 1. NaN has no sign here: it stays. */
LANE_INLINE v128_f64 sum_to_odd(v128_f64 a, v128_f64 b) {
  v128_two two = two_sum(a, b);
  v128_i64 step = (v128_i64)(two.rest < 0) - (v128_i64)(two.rest > 0), negative = (v128_i64)(two.sum < 0);
  v128_i64 bits = (v128_i64)two.sum, even = (bits & 1) - 1;
  return (v128_f64)(bits + (((step ^ negative) - negative) & even));
}

/* Whether rounding x to float can differ from rounding the number that x was rounded from: x is half way between two
 * floats, or below the normal floats, where there are more ways to be half way. */
LANE_INLINE v128_i64 may_be_half_way(v128_f64 x) {
  v128_i32 lower = (v128_i32)x & (v128_i32){0x1fffffff, 0, 0x1fffffff, 0};
  v128_i64 half = (v128_i64)(lower == (v128_i32){0x10000000, 1, 0x10000000, 1});
  return half | ((v128_i64)(x < 0x1p-126) & (v128_i64)(x > -0x1p-126) & (v128_i64)(x != 0));
}
/* noinline: rarely called, and inlining doubles the code size of a panel. */
static __attribute__((noinline, unused)) v128_f32 sums_to_odd(v128_f64 a, v128_f64 b, v128_f64 c,
                                                              v128_f64 d) {
  return join_halves(sum_to_odd(a, c), sum_to_odd(b, d));
}
/* x y is exact in double; where the rounding of its sum matters, it is rounded to odd, so that rounding it once more,
 * to float, gives what one rounding of the exact number gives. */
LANE_INLINE vec_f32 vec_fma_f32(vec_f32 x, vec_f32 y, vec_f32 sum) {
  v128_f64 a = low_half(x) * low_half(y), b = high_half(x) * high_half(y);
  v128_f64 c = low_half(sum), d = high_half(sum), low = a + c, high = b + d;
  if (__builtin_expect(any_bit(may_be_half_way(low) | may_be_half_way(high)), 0))
    return sums_to_odd(a, b, c, d);
  return join_halves(low, high);
}

LANE_INLINE v128_f64 v128_abs(v128_f64 x) { return (v128_f64)((v128_i64)x & INT64_MAX); }
/* x = high + low, of 26 bits each (Veltkamp). */
LANE_INLINE v128_two v128_split(v128_f64 x) {
  v128_f64 scaled = x * 0x1.0000002p27, high = scaled - (scaled - x);
  return (v128_two){high, x - high};
}
/* Whether all products and sums below are exact: nothing overflows, and a product is 0 or far from underflow. */
LANE_INLINE bool fma_is_regular(v128_f64 x, v128_f64 y, v128_f64 sum, v128_f64 product) {
  v128_f64 size = v128_abs(product);
  v128_i64 most = (v128_i64)(v128_abs(x) < 0x1p990) & (v128_i64)(v128_abs(y) < 0x1p990) &
                  (v128_i64)(v128_abs(sum) < 0x1p990) & (v128_i64)(size < 0x1p990);
  v128_i64 least = (v128_i64)(size > 0x1p-900) | (v128_i64)(x == 0) | (v128_i64)(y == 0);
  return !any_bit(~(most & least));
}
/* x y + sum, rounded once: Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008; a and b are the
 * parts of x and y. */
LANE_INLINE v128_f64 fma_regular(v128_f64 product, v128_two a, v128_two b, v128_f64 sum) {
  v128_f64 rest = a.rest * b.rest - (((product - a.sum * b.sum) - a.rest * b.sum) - a.sum * b.rest);
  v128_two lower = two_sum(sum, rest), upper = two_sum(product, lower.sum);
  return upper.sum + sum_to_odd(lower.rest, upper.rest);
}
/* noinline: called for tiles with numbers out of the usual range only (products_v128.h). */
static __attribute__((noinline, unused)) vec_f64 vec_fma_f64(vec_f64 x, vec_f64 y, vec_f64 sum) {
  v128_f64 product = x * y;
  if (__builtin_expect(!fma_is_regular(x, y, sum, product), 0))
    return (vec_f64){fma(x[0], y[0], sum[0]), fma(x[1], y[1], sum[1])};
  v128_f64 exact = fma_regular(product, v128_split(x), v128_split(y), sum);
  v128_i64 none = (v128_i64)(product == 0); /* whose sign counts if the sum is 0 as well */
  return (v128_f64)((none & (v128_i64)(product + sum)) | (~none & (v128_i64)exact));
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

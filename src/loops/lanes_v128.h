/* Inline: vectors of 128 bits in the compilers' vector extensions: SSE2, NEON and wasm's v128 from one source; lanes.h has what all
 * instruction sets share. Where there is no fused multiply-add, it is computed from sums and products, to the same bit. */
#ifndef CPB_LOOPS_LANES_V128_H
#define CPB_LOOPS_LANES_V128_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#if defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__wasm_simd128__)
#include <wasm_simd128.h>
#endif

#include "loops/lane_inline.h"

typedef float vec_f32 __attribute__((vector_size(16)));
typedef double vec_f64 __attribute__((vector_size(16)));
typedef uint64_t vec_u64 __attribute__((vector_size(16)));
typedef float vec_half __attribute__((vector_size(8))); /* as many floats as vec_f64 has doubles */
typedef int64_t v128_i64 __attribute__((vector_size(16)));
typedef uint32_t v128_u32 __attribute__((vector_size(16)));
typedef int32_t v128_i32 __attribute__((vector_size(16)));
typedef uint16_t v64_u16 __attribute__((vector_size(8)));
typedef uint8_t v32_u8 __attribute__((vector_size(4)));
typedef int8_t v32_i8 __attribute__((vector_size(4)));
/* Ranges of rows in lockstep, those of rows of any type, and whether there are non-temporal stores. */
enum { LANES_STREAMS = 1, LANES_FEW_STREAMS = 1, LANES_BYPASS = false, LANES_JOIN = false };

LANE_INLINE void lanes_prefetch(const void *p) { __builtin_prefetch(p); }
LANE_INLINE void lanes_fence(void) {}
LANE_INLINE void vec_stream_f32(float *p, vec_f32 x) { memcpy(p, &x, sizeof x); }
LANE_INLINE void vec_stream_f64(double *p, vec_f64 x) { memcpy(p, &x, sizeof x); }
LANE_INLINE void vec_stream_narrow_f64(float *p, vec_f64 x) { p[0] = (float)x[0], p[1] = (float)x[1]; }

LANE_INLINE vec_f64 vec_widen(vec_half x) { return __builtin_convertvector(x, vec_f64); }
LANE_INLINE vec_half vec_narrow(vec_f64 x) { return __builtin_convertvector(x, vec_half); }
LANE_INLINE vec_f32 vec_halves(vec_half a, vec_half b) { return (vec_f32){a[0], a[1], b[0], b[1]}; }
LANE_INLINE vec_f32 vec_load_u8(const uint8_t *p) {
  v32_u8 bytes;
  memcpy(&bytes, p, sizeof bytes);
  return __builtin_convertvector(bytes, vec_f32);
}
LANE_INLINE vec_f32 vec_load_i8(const int8_t *p) {
  v32_i8 bytes;
  memcpy(&bytes, p, sizeof bytes);
  return __builtin_convertvector(bytes, vec_f32);
}
LANE_INLINE void vec_store_low_bytes(int8_t *p, vec_f32 x) {
  v32_i8 bytes = __builtin_convertvector((v128_i32)x, v32_i8);
  memcpy(p, &bytes, sizeof bytes);
}

/* Lanes first, first+1, .. of sixteen, as far as they are below `count`: all bits set. */
typedef v128_i32 vec_mask_f32;
typedef v128_i64 vec_mask_f64;
LANE_INLINE vec_mask_f32 vec_mask_of_f32(size_t first, size_t count) {
  return (v128_i32){0, 1, 2, 3} < (int32_t)count - (int32_t)first;
}
LANE_INLINE vec_mask_f64 vec_mask_of_f64(size_t first, size_t count) {
  return (v128_i64){0, 1} < (int64_t)count - (int64_t)first;
}
LANE_INLINE vec_f32 vec_part_f32(vec_mask_f32 mask, const float *p) {
  vec_f32 x = {0};
  for (size_t j = 0; j < 4; j++)
    if (mask[j] != 0) x[j] = p[j];
  return x;
}
LANE_INLINE vec_f64 vec_part_f64(vec_mask_f64 mask, const double *p) {
  return (vec_f64){mask[0] != 0 ? p[0] : 0, mask[1] != 0 ? p[1] : 0};
}
LANE_INLINE void vec_store_part_f32(vec_mask_f32 mask, float *p, vec_f32 x) {
  for (size_t j = 0; j < 4; j++)
    if (mask[j] != 0) p[j] = x[j];
}
LANE_INLINE void vec_store_part_f64(vec_mask_f64 mask, double *p, vec_f64 x) {
  for (size_t j = 0; j < 2; j++)
    if (mask[j] != 0) p[j] = x[j];
}
/* Lanes of the mask from a, the others from b. */
LANE_INLINE vec_f32 vec_choose_f32(vec_mask_f32 mask, vec_f32 a, vec_f32 b) {
  return (vec_f32)((mask & (v128_i32)a) | (~mask & (v128_i32)b));
}
LANE_INLINE vec_f64 vec_choose_f64(vec_mask_f64 mask, vec_f64 a, vec_f64 b) {
  return (vec_f64)((mask & (v128_i64)a) | (~mask & (v128_i64)b));
}
/* The bits of a half make a float 2^112 too small; exponent 31 (inf, NaN) is corrected by a choice. */
LANE_INLINE vec_f32 vec_load_f16(const uint16_t *p) {
  v64_u16 bits;
  memcpy(&bits, p, sizeof bits);
  v128_u32 x = __builtin_convertvector(bits, v128_u32), magnitude = (x & 0x7fff) << 13,
           sign = (x & 0x8000) << 16;
  vec_f32 finite = (vec_f32)(magnitude | sign) * 0x1p112f,
          special = (vec_f32)(magnitude | sign | 0x7f800000u);
  return vec_choose_f32((v128_i32)(magnitude >= 0x0f800000u), special, finite);
}

/* sum + x y, where the product is exact */
LANE_INLINE vec_f64 vec_add_exact(vec_f64 sum, vec_f64 x, vec_f64 y) { return sum + x * y; }
LANE_INLINE vec_f32 vec_max_f32(vec_f32 x, vec_f32 y) { return vec_choose_f32(x > y, x, y); }
/* bit j: x_j > y_j */
LANE_INLINE unsigned vec_above_f32(vec_f32 x, vec_f32 y) {
  v128_i32 bit = (x > y) & (v128_i32){1, 2, 4, 8};
  return (unsigned)((bit[0] | bit[1]) | (bit[2] | bit[3]));
}
LANE_INLINE double vec_sum_f64(vec_f64 x) { return x[0] + x[1]; }
/* Lanes of two vectors a and b: index j < lanes of a is lane j of a, then those of b follow. */
typedef const int32_t *vec_index;
LANE_INLINE vec_index vec_index_of_f32(const int32_t *at) { return at; }
LANE_INLINE vec_index vec_index_of_f64(const int32_t *at) { return at; }
LANE_INLINE vec_f32 vec_pick_f32(vec_f32 a, vec_index index, vec_f32 b) {
  vec_f32 both[2] = {a, b};
  const float *x = (const float *)both;
  return (vec_f32){x[index[0]], x[index[1]], x[index[2]], x[index[3]]};
}
LANE_INLINE vec_f64 vec_pick_f64(vec_f64 a, vec_index index, vec_f64 b) {
  vec_f64 both[2] = {a, b};
  const double *x = (const double *)both;
  return (vec_f64){x[index[0]], x[index[1]]};
}

enum { FOLDED_ROWS = 1 };
LANE_INLINE void vec_sums(const vec_f64 *x, double *sums) { *sums = vec_sum_f64(*x); }

#if defined(__aarch64__)
enum { VEC_F32 = 4, VEC_F64 = 2, VEC_U64 = 2, PANEL_VECTORS = 4, TILE_VECTORS = 4 };
LANE_INLINE vec_f32 vec_fma_f32(vec_f32 x, vec_f32 y, vec_f32 sum) {
  return (vec_f32)vfmaq_f32((float32x4_t)sum, (float32x4_t)x, (float32x4_t)y);
}
LANE_INLINE vec_f64 vec_fma_f64(vec_f64 x, vec_f64 y, vec_f64 sum) {
  return (vec_f64)vfmaq_f64((float64x2_t)sum, (float64x2_t)x, (float64x2_t)y);
}
#else
enum { VEC_F32 = 4, VEC_F64 = 2, VEC_U64 = 2, PANEL_VECTORS = 2, TILE_VECTORS = 2 };
/* The halves of four floats as doubles, and back; whether any bit is set. */
#if defined(__wasm_simd128__)
LANE_INLINE vec_f64 low_half(vec_f32 x) { return (vec_f64)wasm_f64x2_promote_low_f32x4((v128_t)x); }
LANE_INLINE vec_f64 high_half(vec_f32 x) {
  return (vec_f64)wasm_f64x2_promote_low_f32x4(wasm_i32x4_shuffle((v128_t)x, (v128_t)x, 2, 3, 2, 3));
}
LANE_INLINE vec_f32 join_halves(vec_f64 low, vec_f64 high) {
  return (vec_f32)wasm_i64x2_shuffle(wasm_f32x4_demote_f64x2_zero((v128_t)low),
                                     wasm_f32x4_demote_f64x2_zero((v128_t)high), 0, 2);
}
LANE_INLINE bool any_bit(v128_i64 x) { return wasm_v128_any_true((v128_t)x); }
#elif defined(__SSE2__)
LANE_INLINE vec_f64 low_half(vec_f32 x) { return (vec_f64)_mm_cvtps_pd((__m128)x); }
LANE_INLINE vec_f64 high_half(vec_f32 x) {
  return (vec_f64)_mm_cvtps_pd(_mm_movehl_ps((__m128)x, (__m128)x));
}
LANE_INLINE vec_f32 join_halves(vec_f64 low, vec_f64 high) {
  return (vec_f32)_mm_movelh_ps(_mm_cvtpd_ps((__m128d)low), _mm_cvtpd_ps((__m128d)high));
}
LANE_INLINE bool any_bit(v128_i64 x) {
  return _mm_movemask_epi8(_mm_cmpeq_epi32((__m128i)x, _mm_setzero_si128())) != 0xffff;
}
#else
LANE_INLINE vec_f64 low_half(vec_f32 x) { return (vec_f64){x[0], x[1]}; }
LANE_INLINE vec_f64 high_half(vec_f32 x) { return (vec_f64){x[2], x[3]}; }
LANE_INLINE vec_f32 join_halves(vec_f64 low, vec_f64 high) {
  return (vec_f32){(float)low[0], (float)low[1], (float)high[0], (float)high[1]};
}
LANE_INLINE bool any_bit(v128_i64 x) { return (x[0] | x[1]) != 0; }
#endif

/* a+b = sum + rest, exactly (Knuth). */
typedef struct v128_two {
  vec_f64 sum, rest;
} v128_two;
LANE_INLINE v128_two two_sum(vec_f64 a, vec_f64 b) {
  vec_f64 sum = a + b, kept = sum - a;
  return (v128_two){sum, (a - (sum - kept)) + (b - kept)};
}
/* a+b rounded to odd: if it is inexact, the neighbour whose last bit is 1. NaN has no sign here: it stays. */
LANE_INLINE vec_f64 sum_to_odd(vec_f64 a, vec_f64 b) {
  v128_two two = two_sum(a, b);
  v128_i64 step = (v128_i64)(two.rest < 0) - (v128_i64)(two.rest > 0), negative = (v128_i64)(two.sum < 0);
  v128_i64 bits = (v128_i64)two.sum, even = (bits & 1) - 1;
  return (vec_f64)(bits + (((step ^ negative) - negative) & even));
}

/* Whether rounding x to float can differ from rounding the number that x was rounded from: x is half way between two
 * floats, or below the normal floats, where there are more ways to be half way. */
LANE_INLINE v128_i64 may_be_half_way(vec_f64 x) {
  v128_i32 lower = (v128_i32)x & (v128_i32){0x1fffffff, 0, 0x1fffffff, 0};
  v128_i64 half = (v128_i64)(lower == (v128_i32){0x10000000, 1, 0x10000000, 1});
  return half | ((v128_i64)(x < 0x1p-126) & (v128_i64)(x > -0x1p-126) & (v128_i64)(x != 0));
}
/* noinline: rarely called, and inlining doubles the code size of a panel. */
static __attribute__((noinline, unused)) vec_f32 sums_to_odd(vec_f64 a, vec_f64 b, vec_f64 c, vec_f64 d) {
  return join_halves(sum_to_odd(a, c), sum_to_odd(b, d));
}
/* x y is exact in double; where the rounding of its sum matters, it is rounded to odd, so that rounding it once more,
 * to float, gives what one rounding of the exact number gives. */
LANE_INLINE vec_f32 vec_fma_f32(vec_f32 x, vec_f32 y, vec_f32 sum) {
  vec_f64 a = low_half(x) * low_half(y), b = high_half(x) * high_half(y);
  vec_f64 c = low_half(sum), d = high_half(sum), low = a + c, high = b + d;
  if (__builtin_expect(any_bit(may_be_half_way(low) | may_be_half_way(high)), 0))
    return sums_to_odd(a, b, c, d);
  return join_halves(low, high);
}

LANE_INLINE vec_f64 v128_abs(vec_f64 x) { return (vec_f64)((v128_i64)x & INT64_MAX); }
/* x = high + low, of 26 bits each (Veltkamp). */
LANE_INLINE v128_two v128_split(vec_f64 x) {
  vec_f64 scaled = x * 0x1.0000002p27, high = scaled - (scaled - x);
  return (v128_two){high, x - high};
}
/* Whether all products and sums below are exact: nothing overflows, and a product is 0 or far from underflow. */
LANE_INLINE bool fma_is_regular(vec_f64 x, vec_f64 y, vec_f64 sum, vec_f64 product) {
  vec_f64 size = v128_abs(product);
  v128_i64 most = (v128_i64)(v128_abs(x) < 0x1p990) & (v128_i64)(v128_abs(y) < 0x1p990) &
                  (v128_i64)(v128_abs(sum) < 0x1p990) & (v128_i64)(size < 0x1p990);
  v128_i64 least = (v128_i64)(size > 0x1p-900) | (v128_i64)(x == 0) | (v128_i64)(y == 0);
  return !any_bit(~(most & least));
}
/* x y + sum, rounded once: Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008; a and b are the
 * parts of x and y. */
LANE_INLINE vec_f64 fma_regular(vec_f64 product, v128_two a, v128_two b, vec_f64 sum) {
  vec_f64 rest = a.rest * b.rest - (((product - a.sum * b.sum) - a.rest * b.sum) - a.sum * b.rest);
  v128_two lower = two_sum(sum, rest), upper = two_sum(product, lower.sum);
  return upper.sum + sum_to_odd(lower.rest, upper.rest);
}
/* noinline: called for tiles with numbers out of the usual range only (products_v128.h). */
static __attribute__((noinline, unused)) vec_f64 vec_fma_f64(vec_f64 x, vec_f64 y, vec_f64 sum) {
  vec_f64 product = x * y;
  if (__builtin_expect(!fma_is_regular(x, y, sum, product), 0))
    return (vec_f64){fma(x[0], y[0], sum[0]), fma(x[1], y[1], sum[1])};
  vec_f64 exact = fma_regular(product, v128_split(x), v128_split(y), sum);
  v128_i64 none = (v128_i64)(product == 0); /* whose sign counts if the sum is 0 as well */
  return vec_choose_f64(none, product + sum, exact);
}
#endif

/* Sums of neighbouring bits, pairs, fours, then of bytes. */
LANE_INLINE vec_u64 vec_ones_u64(vec_u64 x) {
  x -= x >> 1 & 0x5555555555555555u;
  x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
  x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
  x += x >> 8;
  x += x >> 16;
  return (x + (x >> 32)) & 0x7f;
}
/* Lanes i and i^1 swapped; low32(x) low32(y); bit j: x_j < y_j. */
LANE_INLINE vec_u64 vec_swap_u64(vec_u64 x) { return (vec_u64){x[1], x[0]}; }
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

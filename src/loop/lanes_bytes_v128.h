/* Vectors of four 32-bit sums of products of bytes, for SSE2 and wasm: pairs of 16 bits are added, so that nothing
 * saturates. */
#ifndef CPB_LOOP_LANES_BYTES_V128_H
#define CPB_LOOP_LANES_BYTES_V128_H

#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__wasm_simd128__)
#include <wasm_simd128.h>
#endif

#include "loop/lane_inline.h"

typedef int32_t vec_i32 __attribute__((vector_size(16)));
typedef int16_t vec_i16 __attribute__((vector_size(16)));
typedef uint16_t vec_u16 __attribute__((vector_size(16)));
enum { VEC_I32 = 4, BYTES_VECTORS = 2 };

LANE_INLINE vec_i32 vec_load_i32(const void *p) {
  vec_i32 x;
  memcpy(&x, p, sizeof x);
  return x;
}
LANE_INLINE void vec_store_i32(int32_t *p, vec_i32 x) { memcpy(p, &x, sizeof x); }
LANE_INLINE vec_i32 vec_spread_i32(int32_t x) { return (vec_i32){x, x, x, x}; }
/* the four bytes at p in every lane */
LANE_INLINE vec_i32 vec_spread_word(const int8_t *p) {
  int32_t word;
  memcpy(&word, p, sizeof word);
  return vec_spread_i32(word);
}
/* lane by lane the sum of two products of 16 bits */
LANE_INLINE vec_i32 vec_pair_products(vec_i16 a, vec_i16 b) {
#if defined(__SSE2__)
  return (vec_i32)_mm_madd_epi16((__m128i)a, (__m128i)b);
#elif defined(__wasm_simd128__)
  return (vec_i32)wasm_i32x4_dot_i16x8((v128_t)a, (v128_t)b);
#endif
}
/* lane by lane sum + the four products of bytes of a and b */
LANE_INLINE vec_i32 vec_add_products(vec_i32 sum, vec_i32 a_signed, vec_i32 b_unsigned) {
  vec_i16 a = (vec_i16)a_signed, b_even = (vec_i16)b_unsigned & 255;
  vec_i16 b_odd = (vec_i16)((vec_u16)b_unsigned >> 8);
  vec_i16 a_even = (vec_i16)((vec_u16)a << 8) >> 8;
  return sum + vec_pair_products(a_even, b_even) + vec_pair_products(a >> 8, b_odd);
}
LANE_INLINE vec_i32 vec_max_i32(vec_i32 x, vec_i32 y) {
  vec_i32 above = x > y;
  return (above & x) | (~above & y);
}
/* bit j: x_j > y_j */
LANE_INLINE unsigned vec_above_i32(vec_i32 x, vec_i32 y) {
  vec_i32 bit = (x > y) & (vec_i32){1, 2, 4, 8};
  return (unsigned)((bit[0] | bit[1]) | (bit[2] | bit[3]));
}

#endif

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

typedef int32_t bytes_vec __attribute__((vector_size(16)));
typedef int16_t vec_i16 __attribute__((vector_size(16)));
typedef uint16_t vec_u16 __attribute__((vector_size(16)));
enum { bytes_WIDTH = 4, bytes_MOST = 2 };

LANE_INLINE bytes_vec bytes_load(const void *p) {
  bytes_vec x;
  memcpy(&x, p, sizeof x);
  return x;
}
LANE_INLINE void bytes_store(int32_t *p, bytes_vec x) { memcpy(p, &x, sizeof x); }
LANE_INLINE bytes_vec bytes_spread(int32_t x) { return (bytes_vec){x, x, x, x}; }
/* lane by lane the sum of two products of 16 bits */
LANE_INLINE bytes_vec vec_pair_products(vec_i16 a, vec_i16 b) {
#if defined(__SSE2__)
  return (bytes_vec)_mm_madd_epi16((__m128i)a, (__m128i)b);
#elif defined(__wasm_simd128__)
  return (bytes_vec)wasm_i32x4_dot_i16x8((v128_t)a, (v128_t)b);
#endif
}
/* lane by lane sum + the four products of bytes, signed in `word` and unsigned in `line` */
LANE_INLINE bytes_vec bytes_add(bytes_vec sum, bytes_vec line, bytes_vec word) {
  vec_i16 a = (vec_i16)word, b_even = (vec_i16)line & 255;
  vec_i16 b_odd = (vec_i16)((vec_u16)line >> 8);
  vec_i16 a_even = (vec_i16)((vec_u16)a << 8) >> 8;
  return sum + vec_pair_products(a_even, b_even) + vec_pair_products(a >> 8, b_odd);
}
LANE_INLINE bytes_vec bytes_max(bytes_vec x, bytes_vec y) {
  bytes_vec above = x > y;
  return (above & x) | (~above & y);
}
/* bit j: x_j > y_j */
LANE_INLINE unsigned bytes_above(bytes_vec x, bytes_vec y) {
  bytes_vec bit = (x > y) & (bytes_vec){1, 2, 4, 8};
  return (unsigned)((bit[0] | bit[1]) | (bit[2] | bit[3]));
}

#endif

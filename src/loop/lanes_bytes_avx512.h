/* Vectors of sixteen 32-bit sums of products of bytes, for processors with VNNI. */
#ifndef CPB_LOOP_LANES_BYTES_AVX512_H
#define CPB_LOOP_LANES_BYTES_AVX512_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "loop/lane_inline.h"

typedef __m512i vec_i32;
enum { VEC_I32 = 16, BYTES_VECTORS = 4 };

LANE_INLINE vec_i32 vec_load_i32(const void *p) { return _mm512_loadu_si512(p); }
LANE_INLINE void vec_store_i32(int32_t *p, vec_i32 x) { _mm512_storeu_si512(p, x); }
LANE_INLINE vec_i32 vec_spread_i32(int32_t x) { return _mm512_set1_epi32(x); }
/* the four bytes at p in every lane */
LANE_INLINE vec_i32 vec_spread_word(const int8_t *p) {
  int32_t word;
  memcpy(&word, p, sizeof word);
  return _mm512_set1_epi32(word);
}
/* lane by lane sum + the four products of bytes of a and b */
LANE_INLINE vec_i32 vec_add_products(vec_i32 sum, vec_i32 a_signed, vec_i32 b_unsigned) {
  return _mm512_dpbusd_epi32(sum, b_unsigned, a_signed);
}
LANE_INLINE vec_i32 vec_max_i32(vec_i32 x, vec_i32 y) { return _mm512_max_epi32(x, y); }
/* bit j: x_j > y_j */
LANE_INLINE unsigned vec_above_i32(vec_i32 x, vec_i32 y) { return _mm512_cmpgt_epi32_mask(x, y); }

#endif

/* Vectors of eight 32-bit sums of products of bytes: pairs of 16 bits are added, so that nothing saturates. */
#ifndef CPB_LOOP_LANES_BYTES_AVX2_H
#define CPB_LOOP_LANES_BYTES_AVX2_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "loop/lane_inline.h"

typedef __m256i vec_i32;
enum { VEC_I32 = 8, BYTES_VECTORS = 1 };

LANE_INLINE vec_i32 vec_load_i32(const void *p) { return _mm256_loadu_si256(p); }
LANE_INLINE void vec_store_i32(int32_t *p, vec_i32 x) { _mm256_storeu_si256((void *)p, x); }
LANE_INLINE vec_i32 vec_spread_i32(int32_t x) { return _mm256_set1_epi32(x); }
/* the four bytes at p in every lane */
LANE_INLINE vec_i32 vec_spread_word(const int8_t *p) {
  int32_t word;
  memcpy(&word, p, sizeof word);
  return _mm256_set1_epi32(word);
}
/* lane by lane sum + the four products of bytes of a and b */
LANE_INLINE vec_i32 vec_add_products(vec_i32 sum, vec_i32 a_signed, vec_i32 b_unsigned) {
  vec_i32 a_even = _mm256_srai_epi16(_mm256_slli_epi16(a_signed, 8), 8),
          a_odd = _mm256_srai_epi16(a_signed, 8);
  vec_i32 b_even = _mm256_and_si256(b_unsigned, _mm256_set1_epi16(255)),
          b_odd = _mm256_srli_epi16(b_unsigned, 8);
  sum = _mm256_add_epi32(sum, _mm256_madd_epi16(a_even, b_even));
  return _mm256_add_epi32(sum, _mm256_madd_epi16(a_odd, b_odd));
}
LANE_INLINE vec_i32 vec_max_i32(vec_i32 x, vec_i32 y) { return _mm256_max_epi32(x, y); }
/* bit j: x_j > y_j */
LANE_INLINE unsigned vec_above_i32(vec_i32 x, vec_i32 y) {
  return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(x, y)));
}

#endif

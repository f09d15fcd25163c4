/* Words of codes on AVX2. Bits are counted by looking up half bytes. */
#ifndef CPB_LOOP_LANES_U64_AVX2_H
#define CPB_LOOP_LANES_U64_AVX2_H

#include <immintrin.h>

#include "loop/lane_inline.h"
#include "loop/table.h"

typedef __m256i vec_u64;
enum { VEC_U64 = 4 };

LANE_INLINE vec_u64 vec_load_u64(const uint64_t *p) { return _mm256_load_si256((const void *)p); }
LANE_INLINE void vec_store_u64(uint64_t *p, vec_u64 x) { _mm256_store_si256((void *)p, x); }
LANE_INLINE vec_u64 vec_spread_u64(uint64_t x) { return _mm256_set1_epi64x((long long)x); }
LANE_INLINE vec_u64 vec_xor_u64(vec_u64 x, vec_u64 y) { return _mm256_xor_si256(x, y); }
LANE_INLINE vec_u64 vec_add_u64(vec_u64 x, vec_u64 y) { return _mm256_add_epi64(x, y); }
LANE_INLINE vec_u64 vec_ones_u64(vec_u64 x) {
  __m256i low = _mm256_set1_epi8(15),
          table = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1,
                                   2, 2, 3, 2, 3, 3, 4);
  __m256i bytes = _mm256_add_epi8(_mm256_shuffle_epi8(table, _mm256_and_si256(x, low)),
                                  _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(x, 4), low)));
  return _mm256_sad_epu8(bytes, _mm256_setzero_si256());
}
/* From any address; lanes i and i^1 change places; low32(x) low32(y). */
LANE_INLINE vec_u64 vec_any_u64(const void *p) { return _mm256_loadu_si256(p); }
LANE_INLINE vec_u64 vec_swap_u64(vec_u64 x) { return _mm256_shuffle_epi32(x, 0x4e); }
LANE_INLINE vec_u64 vec_product_u32(vec_u64 x, vec_u64 y) { return _mm256_mul_epu32(x, y); }
LANE_INLINE vec_u64 vec_right_u64(vec_u64 x, int bits) { return _mm256_srli_epi64(x, bits); }
LANE_INLINE vec_u64 vec_left_u64(vec_u64 x, int bits) { return _mm256_slli_epi64(x, bits); }
/* Distances and limits are far below 2^63: the signed comparison is the right one. */
LANE_INLINE unsigned vec_below_u64(vec_u64 x, vec_u64 y) {
  return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(y, x)));
}

#endif

/* Words of codes on AVX-512. Where the compiler may use VPOPCNTDQ bits are counted by it, else by looking up
 * half bytes. */
#ifndef CPB_LOOP_LANES_U64_AVX512_H
#define CPB_LOOP_LANES_U64_AVX512_H

#include <immintrin.h>

#include "loop/lane_inline.h"
#include "loop/table.h"

typedef __m512i vec_u64;
enum { VEC_U64 = 8 };

LANE_INLINE vec_u64 vec_load_u64(const uint64_t *p) { return _mm512_load_si512(p); }
LANE_INLINE void vec_store_u64(uint64_t *p, vec_u64 x) { _mm512_store_si512(p, x); }
LANE_INLINE vec_u64 vec_spread_u64(uint64_t x) { return _mm512_set1_epi64((long long)x); }
LANE_INLINE vec_u64 vec_xor_u64(vec_u64 x, vec_u64 y) { return _mm512_xor_si512(x, y); }
LANE_INLINE vec_u64 vec_add_u64(vec_u64 x, vec_u64 y) { return _mm512_add_epi64(x, y); }
LANE_INLINE vec_u64 vec_ones_u64(vec_u64 x) {
#if defined(__AVX512VPOPCNTDQ__)
  return _mm512_popcnt_epi64(x);
#else
  __m512i low = _mm512_set1_epi8(15);
  __m512i table = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
  __m512i bytes = _mm512_add_epi8(_mm512_shuffle_epi8(table, _mm512_and_si512(x, low)),
                                  _mm512_shuffle_epi8(table, _mm512_and_si512(_mm512_srli_epi16(x, 4), low)));
  return _mm512_sad_epu8(bytes, _mm512_setzero_si512());
#endif
}
/* From any address; lanes i and i^1 change places; low32(x) low32(y). */
LANE_INLINE vec_u64 vec_any_u64(const void *p) { return _mm512_loadu_si512(p); }
LANE_INLINE vec_u64 vec_swap_u64(vec_u64 x) { return _mm512_shuffle_epi32(x, _MM_PERM_BADC); }
LANE_INLINE vec_u64 vec_product_u32(vec_u64 x, vec_u64 y) { return _mm512_mul_epu32(x, y); }
LANE_INLINE vec_u64 vec_right_u64(vec_u64 x, unsigned bits) { return _mm512_srli_epi64(x, bits); }
LANE_INLINE vec_u64 vec_left_u64(vec_u64 x, unsigned bits) { return _mm512_slli_epi64(x, bits); }
LANE_INLINE unsigned vec_below_u64(vec_u64 x, vec_u64 y) { return _mm512_cmplt_epu64_mask(x, y); }

#endif

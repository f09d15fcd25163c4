#include "loops/lanes.h"
#include "sketch/sketch_loops.h"

LANE_INLINE lanes_f32 lanes_four(const float *p) {
  return (lanes_f32){{_mm512_broadcast_f32x4(_mm_loadu_ps(p))}};
}
LANE_INLINE float lanes_sum_f32(lanes_f32 x) {
  __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(x.part[0]), _mm512_extractf32x8_ps(x.part[0], 1));
  __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
LANE_INLINE float lanes_largest(lanes_f32 x) { return _mm512_reduce_max_ps(x.part[0]); }
LANE_INLINE void lanes_fours(lanes_f32 of, float *to) {
  __m512 x = _mm512_add_ps(of.part[0], _mm512_permute_ps(of.part[0], 0x4e));
  x = _mm512_add_ps(x, _mm512_permute_ps(x, 0xb1));
  __m512i firsts = _mm512_set_epi32(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 12, 8, 4, 0);
  _mm_storeu_ps(to, _mm512_castps512_ps128(_mm512_permutexvar_ps(firsts, x)));
}
LANE_INLINE void lanes_bytes(lanes_f32 x, uint64_t *word) {
  _mm_storeu_si128((__m128i *)(void *)word, _mm512_cvtepi32_epi8(_mm512_cvttps_epi32(x.part[0])));
}

#include "sketch/levels_loop.inc"

enum { VEC_U8 = 64, QUERIES_AT_ONCE = 4 };
typedef uint8_t vec_u8 __attribute__((vector_size(VEC_U8)));

LANE_INLINE vec_u8 vec_table(const uint8_t *p) {
  return (vec_u8)_mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)p));
}
LANE_INLINE vec_u8 vec_look_up(vec_u8 table, vec_u8 at) {
  return (vec_u8)_mm512_shuffle_epi8((__m512i)table, (__m512i)at);
}

#include "sketch/nibble_scan.inc"

const cpb_sketch_loops cpb_sketch_avx512 = {choose_levels, scan_nibbles};

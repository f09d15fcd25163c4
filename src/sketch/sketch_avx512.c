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
LANE_INLINE vec_i32 vec_least(vec_i32 x, vec_i32 y) {
  return (vec_i32)_mm512_min_epi32((__m512i)x, (__m512i)y);
}
LANE_INLINE int32_t vec_least_lane(vec_i32 x) { return _mm512_reduce_min_epi32((__m512i)x); }
#include "sketch/nearest_loop.inc"

enum { VEC_U8 = 64, QUERIES_AT_ONCE = 2 };
typedef uint8_t vec_u8 __attribute__((vector_size(VEC_U8)));

/* Sixteen tables of 16 bytes; the high bits of a code select among their values. */
typedef struct byte_parts {
  __m512i low;
  __mmask64 bit[4]; /* 4, 5, 6 and 7 of each code */
} byte_parts;

LANE_INLINE byte_parts parts_of(vec_u8 code) {
  __m512i c = (__m512i)code;
  return (byte_parts){(__m512i)(code & 15),
                      {_mm512_movepi8_mask(_mm512_slli_epi16(c, 3)),
                       _mm512_movepi8_mask(_mm512_slli_epi16(c, 2)),
                       _mm512_movepi8_mask(_mm512_slli_epi16(c, 1)), _mm512_movepi8_mask(c)}};
}
LANE_INLINE __m512i table_at(const uint8_t *table) {
  return _mm512_broadcast_i32x4(_mm_load_si128((const __m128i *)(const void *)table));
}
LANE_INLINE __m512i look_up_two(const uint8_t *table, const byte_parts *p) {
  __m512i value = _mm512_shuffle_epi8(table_at(table), p->low);
  return _mm512_mask_shuffle_epi8(value, p->bit[0], table_at(table + 16), p->low);
}
LANE_INLINE __m512i look_up_four(const uint8_t *table, const byte_parts *p) {
  return _mm512_mask_blend_epi8(p->bit[1], look_up_two(table, p), look_up_two(table + 32, p));
}
LANE_INLINE vec_u8 look_up(const uint8_t *table, byte_parts p) {
  __m512i low = _mm512_mask_blend_epi8(p.bit[2], look_up_four(table, &p), look_up_four(table + 64, &p));
  __m512i high =
      _mm512_mask_blend_epi8(p.bit[2], look_up_four(table + 128, &p), look_up_four(table + 192, &p));
  return (vec_u8)_mm512_mask_blend_epi8(p.bit[3], low, high);
}

#include "sketch/byte_scan.inc"

const cpb_sketch_loops cpb_sketch_avx512 = {choose_levels, find_nearest, scan_bytes};
const cpb_sketch_loops cpb_sketch_avx512vbmi = {choose_levels, find_nearest, cpb_sketch_scan_vbmi};

#include "loops/lanes.h"
#include "sketch/sketch_loops.h"

LANE_INLINE lanes_f32 lanes_four(const float *p) {
  __m256 twice = _mm256_broadcast_ps((const __m128 *)(const void *)p);
  return (lanes_f32){{twice, twice}};
}
LANE_INLINE float lanes_sum_f32(lanes_f32 x) {
  __m256 eight = _mm256_add_ps(x.part[0], x.part[1]);
  __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
LANE_INLINE float lanes_largest(lanes_f32 x) {
  __m256 eight = _mm256_max_ps(x.part[0], x.part[1]);
  __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}
LANE_INLINE void lanes_fours(lanes_f32 of, float *to) {
  EACH_VECTOR(k, VECTORS_f32) {
    __m256 x = _mm256_add_ps(of.part[k], _mm256_permute_ps(of.part[k], 0x4e));
    x = _mm256_add_ps(x, _mm256_permute_ps(x, 0xb1));
    to[2 * k] = _mm256_cvtss_f32(x);
    to[2 * k + 1] = _mm_cvtss_f32(_mm256_extractf128_ps(x, 1));
  }
}
LANE_INLINE void lanes_bytes(lanes_f32 x, uint64_t *word) {
  __m256i pairs = _mm256_packs_epi32(_mm256_cvttps_epi32(x.part[0]), _mm256_cvttps_epi32(x.part[1]));
  pairs = _mm256_permute4x64_epi64(pairs, 0xd8); /* packing works within halves */
  __m128i bytes = _mm_packus_epi16(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1));
  _mm_storeu_si128((__m128i *)(void *)word, bytes);
}

#include "sketch/levels_loop.inc"
LANE_INLINE vec_i32 vec_least(vec_i32 x, vec_i32 y) {
  return (vec_i32)_mm256_min_epi32((__m256i)x, (__m256i)y);
}
LANE_INLINE int32_t vec_least_lane(vec_i32 x) {
  __m128i four = _mm_min_epi32(_mm256_castsi256_si128((__m256i)x), _mm256_extracti128_si256((__m256i)x, 1));
  four = _mm_min_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_min_epi32(four, _mm_shuffle_epi32(four, 0xb1)));
}
#include "sketch/nearest_loop.inc"

enum { VEC_U8 = 32, QUERIES_AT_ONCE = 2 };
typedef uint8_t vec_u8 __attribute__((vector_size(VEC_U8)));

/* Sixteen tables of 16 bytes; the high bits of a code select among their values. */
typedef struct byte_parts {
  __m256i low, bit[4]; /* bit 4, 5, 6 and 7 of each code as its highest one */
} byte_parts;

LANE_INLINE byte_parts parts_of(vec_u8 code) {
  __m256i c = (__m256i)code;
  return (byte_parts){(__m256i)(code & 15),
                      {_mm256_slli_epi16(c, 3), _mm256_slli_epi16(c, 2), _mm256_slli_epi16(c, 1), c}};
}
LANE_INLINE __m256i look_up_four(const uint8_t *table, const byte_parts *p) {
  __m256i value[4];
  for (size_t i = 0; i < 4; i++) {
    __m256i twice =
        _mm256_broadcastsi128_si256(_mm_load_si128((const __m128i *)(const void *)(table + 16 * i)));
    value[i] = _mm256_shuffle_epi8(twice, p->low);
  }
  return _mm256_blendv_epi8(_mm256_blendv_epi8(value[0], value[1], p->bit[0]),
                            _mm256_blendv_epi8(value[2], value[3], p->bit[0]), p->bit[1]);
}
LANE_INLINE vec_u8 look_up(const uint8_t *table, byte_parts p) {
  __m256i low = _mm256_blendv_epi8(look_up_four(table, &p), look_up_four(table + 64, &p), p.bit[2]);
  __m256i high = _mm256_blendv_epi8(look_up_four(table + 128, &p), look_up_four(table + 192, &p), p.bit[2]);
  return (vec_u8)_mm256_blendv_epi8(low, high, p.bit[3]);
}

#include "sketch/byte_scan.inc"

const cpb_sketch_loops cpb_sketch_avx2 = {choose_levels, find_nearest, scan_bytes};

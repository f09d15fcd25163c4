#include <immintrin.h>

#include "loop/lane_inline.h"
#include "sketch/nibble_scan.h"

typedef __m256i vec_u8;
enum { VEC_U8 = 32, QUERIES_AT_ONCE = 2 };

LANE_INLINE vec_u8 vec_load(const uint8_t *p) { return _mm256_loadu_si256((const __m256i *)p); }
LANE_INLINE vec_u8 vec_zero(void) { return _mm256_setzero_si256(); }
LANE_INLINE vec_u8 vec_low_nibbles(vec_u8 x) { return _mm256_and_si256(x, _mm256_set1_epi8(15)); }
LANE_INLINE vec_u8 vec_high_nibbles(vec_u8 x) { return vec_low_nibbles(_mm256_srli_epi16(x, 4)); }
LANE_INLINE vec_u8 vec_table(const uint8_t *p) {
  return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)p));
}
LANE_INLINE vec_u8 vec_look_up(vec_u8 table, vec_u8 at) { return _mm256_shuffle_epi8(table, at); }
LANE_INLINE vec_u8 vec_add8(vec_u8 x, vec_u8 y) { return _mm256_add_epi8(x, y); }
LANE_INLINE vec_u8 vec_add16(vec_u8 x, vec_u8 y) { return _mm256_add_epi16(x, y); }
LANE_INLINE vec_u8 vec_odd16(vec_u8 x) { return _mm256_srli_epi16(x, 8); }
LANE_INLINE vec_u8 vec_even16(vec_u8 sum, vec_u8 odd) {
  return _mm256_sub_epi16(sum, _mm256_slli_epi16(odd, 8));
}

LANE_INLINE uint64_t estimate_eight(__m128i sums, const float *factors, const cpb_scan_query *query,
                                    float *estimates) {
  __m256 along = _mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(sums));
  along = _mm256_add_ps(_mm256_mul_ps(_mm256_set1_ps(query->scale), along), _mm256_set1_ps(query->start));
  __m256 part = _mm256_mul_ps(_mm256_loadu_ps(factors + CPB_SCAN_ROWS), along);
  __m256 estimate = _mm256_sub_ps(_mm256_loadu_ps(factors), part);
  _mm256_storeu_ps(estimates, estimate);
  return (uint64_t)_mm256_movemask_ps(_mm256_cmp_ps(estimate, _mm256_set1_ps(query->limit), _CMP_LE_OQ));
}

LANE_INLINE uint64_t vec_estimate(vec_u8 sums, const float *factors, const cpb_scan_query *query,
                                  float *estimates) {
  uint64_t low = estimate_eight(_mm256_castsi256_si128(sums), factors, query, estimates);
  return low | estimate_eight(_mm256_extracti128_si256(sums, 1), factors + 8, query, estimates + 8) << 8;
}

#include "sketch/nibble_scan.inc"

void cpb_nibbles_avx2(cpb_nibble_scan *scan);
void cpb_nibbles_avx2(cpb_nibble_scan *scan) { scan_nibbles(scan); }

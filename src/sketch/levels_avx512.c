#include <immintrin.h>
#include <math.h>
#include <stdbool.h>

#include "loop/lane_inline.h"
#include "sketch/levels_loop.h"

typedef __m512 lanes;
typedef struct wide_lanes {
  __m512d low, high;
} wide_lanes;

LANE_INLINE lanes lanes_load(const float *p) { return _mm512_loadu_ps(p); }
LANE_INLINE lanes lanes_set(float x) { return _mm512_set1_ps(x); }
LANE_INLINE lanes lanes_four(const float *p) { return _mm512_broadcast_f32x4(_mm_loadu_ps(p)); }
LANE_INLINE lanes lanes_each(const float *p) {
  __m512i from = _mm512_set_epi32(3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0);
  return _mm512_permutexvar_ps(from, _mm512_castps128_ps512(_mm_loadu_ps(p)));
}
LANE_INLINE lanes lanes_add(lanes x, lanes y) { return _mm512_add_ps(x, y); }
LANE_INLINE lanes lanes_times(lanes x, lanes y) { return _mm512_mul_ps(x, y); }
LANE_INLINE lanes lanes_least(lanes x, lanes y) { return _mm512_min_ps(x, y); }
LANE_INLINE lanes lanes_most(lanes x, lanes y) { return _mm512_max_ps(x, y); }
LANE_INLINE lanes lanes_size(lanes x) { return _mm512_abs_ps(x); }
LANE_INLINE lanes lanes_signed(lanes x, lanes y) {
  return _mm512_or_ps(x, _mm512_and_ps(y, _mm512_set1_ps(-0.0f)));
}
LANE_INLINE lanes lanes_whole(lanes x) {
  return _mm512_roundscale_ps(x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}
LANE_INLINE lanes lanes_add_from(lanes sum, lanes x, lanes y, lanes least) {
  return _mm512_mask_add_ps(sum, _mm512_cmp_ps_mask(y, least, _CMP_GE_OQ), sum, x);
}
LANE_INLINE float lanes_sum(lanes x) {
  __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
  __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
LANE_INLINE float lanes_largest(lanes x) {
  __m256 eight = _mm256_max_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
  __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}
LANE_INLINE void lanes_fours(lanes x, float *to) {
  x = _mm512_add_ps(x, _mm512_permute_ps(x, 0x4e));
  x = _mm512_add_ps(x, _mm512_permute_ps(x, 0xb1));
  __m512i firsts = _mm512_set_epi32(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 12, 8, 4, 0);
  _mm_storeu_ps(to, _mm512_castps512_ps128(_mm512_permutexvar_ps(firsts, x)));
}
LANE_INLINE void lanes_bytes(lanes x, uint64_t *word) {
  __m128i bytes = _mm512_cvtepi32_epi8(_mm512_cvttps_epi32(x));
  word[0] = (uint64_t)_mm_cvtsi128_si64(bytes);
  word[1] = (uint64_t)_mm_extract_epi64(bytes, 1);
}
LANE_INLINE uint64_t lanes_positive(lanes x) {
  return (uint16_t)~_mm512_movepi32_mask(_mm512_castps_si512(x));
}

LANE_INLINE wide_lanes wide_zero(void) { return (wide_lanes){_mm512_setzero_pd(), _mm512_setzero_pd()}; }
LANE_INLINE __m512d low_half(lanes x) { return _mm512_cvtps_pd(_mm512_castps512_ps256(x)); }
LANE_INLINE __m512d high_half(lanes x) { return _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1)); }
LANE_INLINE wide_lanes wide_add(wide_lanes sum, lanes x) {
  sum.low = _mm512_add_pd(sum.low, low_half(x));
  sum.high = _mm512_add_pd(sum.high, high_half(x));
  return sum;
}
LANE_INLINE wide_lanes wide_add_product(wide_lanes sum, lanes x, lanes y) {
  sum.low = _mm512_fmadd_pd(low_half(x), low_half(y), sum.low);
  sum.high = _mm512_fmadd_pd(high_half(x), high_half(y), sum.high);
  return sum;
}
LANE_INLINE double wide_sum(wide_lanes x) {
  __m512d eight = _mm512_add_pd(x.low, x.high);
  __m256d four = _mm256_add_pd(_mm512_castpd512_pd256(eight), _mm512_extractf64x4_pd(eight, 1));
  __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
  return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

#include "sketch/levels_loop.inc"

cpb_levels_loop cpb_levels_avx512;
void cpb_levels_avx512(const cpb_levels_job *job) { choose_levels(job); }

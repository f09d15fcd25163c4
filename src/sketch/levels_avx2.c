#include <immintrin.h>
#include <math.h>
#include <stdbool.h>

#include "loop/lane_inline.h"
#include "sketch/levels_loop.h"

typedef struct lanes {
  __m256 low, high;
} lanes;
typedef struct wide_lanes {
  __m256d at[4];
} wide_lanes;

LANE_INLINE lanes lanes_load(const float *p) { return (lanes){_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
LANE_INLINE lanes lanes_set(float x) { return (lanes){_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
LANE_INLINE lanes lanes_four(const float *p) {
  __m256 twice = _mm256_broadcast_ps((const __m128 *)(const void *)p);
  return (lanes){twice, twice};
}
LANE_INLINE lanes lanes_each(const float *p) {
  __m256 four = _mm256_broadcast_ps((const __m128 *)(const void *)p);
  return (lanes){_mm256_permutevar_ps(four, _mm256_set_epi32(1, 1, 1, 1, 0, 0, 0, 0)),
                 _mm256_permutevar_ps(four, _mm256_set_epi32(3, 3, 3, 3, 2, 2, 2, 2))};
}
LANE_INLINE lanes lanes_add(lanes x, lanes y) {
  return (lanes){_mm256_add_ps(x.low, y.low), _mm256_add_ps(x.high, y.high)};
}
LANE_INLINE lanes lanes_times(lanes x, lanes y) {
  return (lanes){_mm256_mul_ps(x.low, y.low), _mm256_mul_ps(x.high, y.high)};
}
LANE_INLINE lanes lanes_least(lanes x, lanes y) {
  return (lanes){_mm256_min_ps(x.low, y.low), _mm256_min_ps(x.high, y.high)};
}
LANE_INLINE lanes lanes_most(lanes x, lanes y) {
  return (lanes){_mm256_max_ps(x.low, y.low), _mm256_max_ps(x.high, y.high)};
}
LANE_INLINE lanes lanes_size(lanes x) {
  __m256 sign = _mm256_set1_ps(-0.0f);
  return (lanes){_mm256_andnot_ps(sign, x.low), _mm256_andnot_ps(sign, x.high)};
}
LANE_INLINE lanes lanes_signed(lanes x, lanes y) {
  __m256 sign = _mm256_set1_ps(-0.0f);
  return (lanes){_mm256_or_ps(x.low, _mm256_and_ps(y.low, sign)),
                 _mm256_or_ps(x.high, _mm256_and_ps(y.high, sign))};
}
LANE_INLINE lanes lanes_whole(lanes x) {
  return (lanes){_mm256_round_ps(x.low, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC),
                 _mm256_round_ps(x.high, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)};
}
LANE_INLINE __m256 eight_from(__m256 x, __m256 y, __m256 least) {
  return _mm256_and_ps(x, _mm256_cmp_ps(y, least, _CMP_GE_OQ));
}
LANE_INLINE lanes lanes_add_from(lanes sum, lanes x, lanes y, lanes least) {
  return (lanes){_mm256_add_ps(sum.low, eight_from(x.low, y.low, least.low)),
                 _mm256_add_ps(sum.high, eight_from(x.high, y.high, least.high))};
}
LANE_INLINE float lanes_sum(lanes x) {
  __m256 eight = _mm256_add_ps(x.low, x.high);
  __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
LANE_INLINE float lanes_largest(lanes x) {
  __m256 eight = _mm256_max_ps(x.low, x.high);
  __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}
LANE_INLINE __m256 fours_of_eight(__m256 x) {
  x = _mm256_add_ps(x, _mm256_permute_ps(x, 0x4e));
  return _mm256_add_ps(x, _mm256_permute_ps(x, 0xb1));
}
LANE_INLINE void lanes_fours(lanes x, float *to) {
  __m256 low = fours_of_eight(x.low), high = fours_of_eight(x.high);
  to[0] = _mm256_cvtss_f32(low);
  to[1] = _mm_cvtss_f32(_mm256_extractf128_ps(low, 1));
  to[2] = _mm256_cvtss_f32(high);
  to[3] = _mm_cvtss_f32(_mm256_extractf128_ps(high, 1));
}
LANE_INLINE void lanes_bytes(lanes x, uint64_t *word) {
  __m256i pairs = _mm256_packs_epi32(_mm256_cvttps_epi32(x.low), _mm256_cvttps_epi32(x.high));
  pairs = _mm256_permute4x64_epi64(pairs, 0xd8); /* packing works within halves */
  __m128i bytes = _mm_packus_epi16(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1));
  word[0] = (uint64_t)_mm_cvtsi128_si64(bytes);
  word[1] = (uint64_t)_mm_extract_epi64(bytes, 1);
}
LANE_INLINE uint64_t lanes_positive(lanes x) {
  return (uint16_t) ~(_mm256_movemask_ps(x.low) | _mm256_movemask_ps(x.high) << 8);
}

LANE_INLINE wide_lanes wide_zero(void) {
  __m256d zero = _mm256_setzero_pd();
  return (wide_lanes){{zero, zero, zero, zero}};
}
LANE_INLINE wide_lanes wide_add(wide_lanes sum, lanes x) {
  sum.at[0] = _mm256_add_pd(sum.at[0], _mm256_cvtps_pd(_mm256_castps256_ps128(x.low)));
  sum.at[1] = _mm256_add_pd(sum.at[1], _mm256_cvtps_pd(_mm256_extractf128_ps(x.low, 1)));
  sum.at[2] = _mm256_add_pd(sum.at[2], _mm256_cvtps_pd(_mm256_castps256_ps128(x.high)));
  sum.at[3] = _mm256_add_pd(sum.at[3], _mm256_cvtps_pd(_mm256_extractf128_ps(x.high, 1)));
  return sum;
}
LANE_INLINE __m256d wide_product(__m128 x, __m128 y, __m256d sum) {
  return _mm256_fmadd_pd(_mm256_cvtps_pd(x), _mm256_cvtps_pd(y), sum);
}
LANE_INLINE wide_lanes wide_add_product(wide_lanes sum, lanes x, lanes y) {
  sum.at[0] = wide_product(_mm256_castps256_ps128(x.low), _mm256_castps256_ps128(y.low), sum.at[0]);
  sum.at[1] = wide_product(_mm256_extractf128_ps(x.low, 1), _mm256_extractf128_ps(y.low, 1), sum.at[1]);
  sum.at[2] = wide_product(_mm256_castps256_ps128(x.high), _mm256_castps256_ps128(y.high), sum.at[2]);
  sum.at[3] = wide_product(_mm256_extractf128_ps(x.high, 1), _mm256_extractf128_ps(y.high, 1), sum.at[3]);
  return sum;
}
LANE_INLINE double wide_sum(wide_lanes x) {
  __m256d four = _mm256_add_pd(_mm256_add_pd(x.at[0], x.at[2]), _mm256_add_pd(x.at[1], x.at[3]));
  __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
  return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

#include "sketch/levels_loop.inc"

cpb_levels_loop cpb_levels_avx2;
void cpb_levels_avx2(const cpb_levels_job *job) { choose_levels(job); }

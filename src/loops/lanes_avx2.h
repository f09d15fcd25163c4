/* Inline: vectors of AVX2; lanes.h has what all instruction sets share. */
#ifndef CPB_LOOPS_LANES_AVX2_H
#define CPB_LOOPS_LANES_AVX2_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#include "loops/lane_inline.h"

typedef float vec_f32 __attribute__((vector_size(32)));
typedef double vec_f64 __attribute__((vector_size(32)));
typedef uint64_t vec_u64 __attribute__((vector_size(32)));
typedef float vec_half __attribute__((vector_size(16))); /* as many floats as vec_f64 has doubles */
/* Numbers of a vector; vectors of tiles and of panels, which with their sums fill the registers. */
enum { VEC_F32 = 8, VEC_F64 = 4, VEC_U64 = 4, TILE_VECTORS = 2, PANEL_VECTORS = 2 };
/* Ranges of rows in lockstep, so that sums fit in sixteen registers, those of rows of any type, and whether there are
 * non-temporal stores. */
enum { LANES_STREAMS = 2, LANES_FEW_STREAMS = 1, LANES_BYPASS = true, LANES_JOIN = false };

/* Prefetch of a cache line, and the fence after non-temporal stores. */
LANE_INLINE void lanes_prefetch(const void *p) { _mm_prefetch(p, _MM_HINT_T0); }
LANE_INLINE void lanes_fence(void) { _mm_sfence(); }
LANE_INLINE void vec_stream_f32(float *p, vec_f32 x) { _mm256_stream_ps(p, x); }
LANE_INLINE void vec_stream_f64(double *p, vec_f64 x) { _mm256_stream_pd(p, x); }
LANE_INLINE void vec_stream_narrow_f64(float *p, vec_f64 x) { _mm_stream_ps(p, _mm256_cvtpd_ps(x)); }

LANE_INLINE vec_f64 vec_widen(vec_half x) { return _mm256_cvtps_pd(x); }
LANE_INLINE vec_half vec_narrow(vec_f64 x) { return _mm256_cvtpd_ps(x); }
LANE_INLINE vec_f32 vec_halves(vec_half low, vec_half high) { return _mm256_set_m128(high, low); }
LANE_INLINE vec_f32 vec_load_u8(const uint8_t *p) {
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p)));
}
LANE_INLINE vec_f32 vec_load_i8(const int8_t *p) {
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p)));
}
LANE_INLINE void vec_store_low_bytes(int8_t *p, vec_f32 x) {
  __m256i low = _mm256_shuffle_epi8((__m256i)x, _mm256_set1_epi32(0x0c080400));
  low = _mm256_permutevar8x32_epi32(low, _mm256_setr_epi32(0, 4, 0, 4, 0, 4, 0, 4));
  _mm_storel_epi64((__m128i *)p, _mm256_castsi256_si128(low));
}
LANE_INLINE vec_f32 vec_load_f16(const uint16_t *p) {
  return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
}

/* Lanes first, first+1, .. of sixteen, as far as they are below `count`: all bits set. */
typedef __m256i vec_mask_f32;
typedef __m256i vec_mask_f64;
LANE_INLINE vec_mask_f32 vec_mask_of_f32(size_t first, size_t count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count - (int)first),
                            _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
LANE_INLINE vec_mask_f64 vec_mask_of_f64(size_t first, size_t count) {
  return _mm256_cmpgt_epi64(_mm256_set1_epi64x((long long)count - (long long)first),
                            _mm256_setr_epi64x(0, 1, 2, 3));
}
LANE_INLINE vec_f32 vec_part_f32(vec_mask_f32 mask, const float *p) { return _mm256_maskload_ps(p, mask); }
LANE_INLINE vec_f64 vec_part_f64(vec_mask_f64 mask, const double *p) { return _mm256_maskload_pd(p, mask); }
LANE_INLINE void vec_store_part_f32(vec_mask_f32 mask, float *p, vec_f32 x) {
  _mm256_maskstore_ps(p, mask, x);
}
LANE_INLINE void vec_store_part_f64(vec_mask_f64 mask, double *p, vec_f64 x) {
  _mm256_maskstore_pd(p, mask, x);
}
/* Lanes of the mask from a, the others from b. */
LANE_INLINE vec_f32 vec_choose_f32(vec_mask_f32 mask, vec_f32 a, vec_f32 b) {
  return _mm256_blendv_ps(b, a, _mm256_castsi256_ps(mask));
}
LANE_INLINE vec_f64 vec_choose_f64(vec_mask_f64 mask, vec_f64 a, vec_f64 b) {
  return _mm256_blendv_pd(b, a, _mm256_castsi256_pd(mask));
}

LANE_INLINE vec_f32 vec_fma_f32(vec_f32 x, vec_f32 y, vec_f32 sum) { return _mm256_fmadd_ps(x, y, sum); }
LANE_INLINE vec_f64 vec_fma_f64(vec_f64 x, vec_f64 y, vec_f64 sum) { return _mm256_fmadd_pd(x, y, sum); }
/* sum + x y, where the product is exact */
LANE_INLINE vec_f64 vec_add_exact(vec_f64 sum, vec_f64 x, vec_f64 y) { return vec_fma_f64(x, y, sum); }
LANE_INLINE vec_f32 vec_max_f32(vec_f32 x, vec_f32 y) { return _mm256_max_ps(x, y); }
/* bit j: x_j > y_j */
LANE_INLINE unsigned vec_above_f32(vec_f32 x, vec_f32 y) {
  return (unsigned)_mm256_movemask_ps(_mm256_cmp_ps(x, y, _CMP_GT_OQ));
}
LANE_INLINE unsigned vec_above_f64(vec_f64 x, vec_f64 y) {
  return (unsigned)_mm256_movemask_pd(_mm256_cmp_pd(x, y, _CMP_GT_OQ));
}

/* The end of the fixed tree: lane j with j+2, then +1. */
LANE_INLINE double vec_sum_f64(vec_f64 x) {
  __m128d two = _mm_add_pd(_mm256_castpd256_pd128(x), _mm256_extractf128_pd(x, 1));
  return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

#define LANES_BLOCKS
/* Lanes of two vectors a and b: index j < VEC_F64 is lane j of a, then those of b follow. Permutations use the lowest
 * three bits of every 32, the choice between a and b the sign. */
typedef __m256i vec_index;
LANE_INLINE vec_index vec_index_of_halves(__m256i at) {
  return _mm256_or_si256(at, _mm256_slli_epi32(at, 28));
}
LANE_INLINE vec_index vec_index_of_f32(const int32_t *at) {
  return vec_index_of_halves(_mm256_loadu_si256((const void *)at));
}
LANE_INLINE vec_index vec_index_of_f64(const int32_t *at) {
  __m256i twice = _mm256_slli_epi64(_mm256_cvtepi32_epi64(_mm_loadu_si128((const void *)at)), 1);
  __m256i next = _mm256_slli_epi64(_mm256_or_si256(twice, _mm256_set1_epi64x(1)), 32);
  return vec_index_of_halves(_mm256_or_si256(twice, next));
}
LANE_INLINE vec_f32 vec_pick_f32(vec_f32 a, vec_index index, vec_f32 b) {
  return _mm256_blendv_ps(_mm256_permutevar8x32_ps(a, index), _mm256_permutevar8x32_ps(b, index),
                          _mm256_castsi256_ps(index));
}
LANE_INLINE vec_f64 vec_pick_f64(vec_f64 a, vec_index index, vec_f64 b) {
  return _mm256_castps_pd(vec_pick_f32(_mm256_castpd_ps(a), index, _mm256_castpd_ps(b)));
}

/* Every `stride`th number. */
LANE_INLINE vec_f32 vec_gather_f32(const float *p, size_t stride) {
  __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_i32gather_ps(p, _mm256_mullo_epi32(lane, _mm256_set1_epi32((int)stride)), 4);
}
LANE_INLINE vec_f64 vec_gather_f64(const double *p, size_t stride) {
  return (vec_f64){p[0], p[stride], p[2 * stride], p[3 * stride]};
}

/* vec_sum_f64() of four rows at once. */
enum { FOLDED_ROWS = 4 };
LANE_INLINE void vec_sums(const vec_f64 *x, double *sums) {
  __m256d even =
      _mm256_add_pd(_mm256_permute2f128_pd(x[0], x[2], 0x20), _mm256_permute2f128_pd(x[0], x[2], 0x31));
  __m256d odd =
      _mm256_add_pd(_mm256_permute2f128_pd(x[1], x[3], 0x20), _mm256_permute2f128_pd(x[1], x[3], 0x31));
  _mm256_storeu_pd(sums, _mm256_add_pd(_mm256_unpacklo_pd(even, odd), _mm256_unpackhi_pd(even, odd)));
}

/* Bits that are set, by a table of half bytes. */
LANE_INLINE vec_u64 vec_ones_u64(vec_u64 x) {
  __m256i low = _mm256_set1_epi8(15), bits = (__m256i)x;
  __m256i table = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
  __m256i bytes =
      _mm256_add_epi8(_mm256_shuffle_epi8(table, _mm256_and_si256(bits, low)),
                      _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(bits, 4), low)));
  return (vec_u64)_mm256_sad_epu8(bytes, _mm256_setzero_si256());
}
/* Lanes i and i^1 swapped; low32(x) low32(y); bit j: x_j < y_j, for numbers far below 2^63. */
LANE_INLINE vec_u64 vec_swap_u64(vec_u64 x) { return (vec_u64)_mm256_shuffle_epi32((__m256i)x, 0x4e); }
LANE_INLINE vec_u64 vec_product_u32(vec_u64 x, vec_u64 y) {
  return (vec_u64)_mm256_mul_epu32((__m256i)x, (__m256i)y);
}
LANE_INLINE unsigned vec_below_u64(vec_u64 x, vec_u64 y) {
  return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64((__m256i)y, (__m256i)x)));
}

#endif

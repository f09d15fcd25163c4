/* Inline: vectors of AVX-512; lanes.h has what all instruction sets share. */
#ifndef CPB_LOOPS_LANES_AVX512_H
#define CPB_LOOPS_LANES_AVX512_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#include "loops/lane_inline.h"

typedef float vec_f32 __attribute__((vector_size(64)));
typedef double vec_f64 __attribute__((vector_size(64)));
typedef uint64_t vec_u64 __attribute__((vector_size(64)));
typedef float vec_half __attribute__((vector_size(32))); /* as many floats as vec_f64 has doubles */
/* Numbers of a vector; vectors of tiles and of panels, which with their sums fill the registers. */
enum { VEC_F32 = 16, VEC_F64 = 8, VEC_U64 = 8, TILE_VECTORS = 4, PANEL_VECTORS = 4 };
/* Ranges of rows in lockstep, those of rows of any type, and whether there are non-temporal stores. */
enum { LANES_STREAMS = 4, LANES_FEW_STREAMS = 2, LANES_BYPASS = true, LANES_JOIN = true };

/* Prefetch of a cache line, and the fence after non-temporal stores. */
LANE_INLINE void lanes_prefetch(const void *p) { _mm_prefetch(p, _MM_HINT_T0); }
LANE_INLINE void lanes_fence(void) { _mm_sfence(); }
LANE_INLINE void vec_stream_f32(float *p, vec_f32 x) { _mm512_stream_ps(p, x); }
LANE_INLINE void vec_stream_f64(double *p, vec_f64 x) { _mm512_stream_pd(p, x); }
LANE_INLINE void vec_stream_narrow_f64(float *p, vec_f64 x) { _mm256_stream_ps(p, _mm512_cvtpd_ps(x)); }

LANE_INLINE vec_f64 vec_widen(vec_half x) { return _mm512_cvtps_pd(x); }
#define LANES_WIDEN
LANE_INLINE vec_half vec_low_half(vec_f32 x) { return _mm512_castps512_ps256(x); }
LANE_INLINE vec_half vec_high_half(vec_f32 x) { return _mm512_extractf32x8_ps(x, 1); }
LANE_INLINE vec_half vec_narrow(vec_f64 x) { return _mm512_cvtpd_ps(x); }
LANE_INLINE vec_f32 vec_halves(vec_half low, vec_half high) {
  return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
}
LANE_INLINE vec_f32 vec_load_u8(const uint8_t *p) {
  return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p)));
}
LANE_INLINE vec_f32 vec_load_i8(const int8_t *p) {
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p)));
}
LANE_INLINE void vec_store_low_bytes(int8_t *p, vec_f32 x) {
  _mm_storeu_si128((__m128i *)p, _mm512_cvtepi32_epi8((__m512i)x));
}
LANE_INLINE vec_f32 vec_load_f16(const uint16_t *p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}

/* Lanes first, first+1, .. of sixteen, as far as they are below `count`. */
typedef __mmask16 vec_mask_f32;
typedef __mmask8 vec_mask_f64;
LANE_INLINE vec_mask_f32 vec_mask_of_f32(size_t first, size_t count) {
  return (__mmask16)(((1u << count) - 1) >> first);
}
LANE_INLINE vec_mask_f64 vec_mask_of_f64(size_t first, size_t count) {
  return (__mmask8)(((1u << count) - 1) >> first);
}
LANE_INLINE vec_f32 vec_part_f32(vec_mask_f32 mask, const float *p) { return _mm512_maskz_loadu_ps(mask, p); }
LANE_INLINE vec_f64 vec_part_f64(vec_mask_f64 mask, const double *p) {
  return _mm512_maskz_loadu_pd(mask, p);
}
LANE_INLINE void vec_store_part_f32(vec_mask_f32 mask, float *p, vec_f32 x) {
  _mm512_mask_storeu_ps(p, mask, x);
}
LANE_INLINE void vec_store_part_f64(vec_mask_f64 mask, double *p, vec_f64 x) {
  _mm512_mask_storeu_pd(p, mask, x);
}
/* Lanes of the mask from a, the others from b. */
LANE_INLINE vec_f32 vec_choose_f32(vec_mask_f32 mask, vec_f32 a, vec_f32 b) {
  return _mm512_mask_mov_ps(b, mask, a);
}
LANE_INLINE vec_f64 vec_choose_f64(vec_mask_f64 mask, vec_f64 a, vec_f64 b) {
  return _mm512_mask_mov_pd(b, mask, a);
}

LANE_INLINE vec_f32 vec_fma_f32(vec_f32 x, vec_f32 y, vec_f32 sum) { return _mm512_fmadd_ps(x, y, sum); }
LANE_INLINE vec_f64 vec_fma_f64(vec_f64 x, vec_f64 y, vec_f64 sum) { return _mm512_fmadd_pd(x, y, sum); }
/* sum + x y, where the product is exact */
LANE_INLINE vec_f64 vec_add_exact(vec_f64 sum, vec_f64 x, vec_f64 y) { return vec_fma_f64(x, y, sum); }
LANE_INLINE vec_f32 vec_max_f32(vec_f32 x, vec_f32 y) { return _mm512_max_ps(x, y); }
/* bit j: x_j > y_j */
LANE_INLINE unsigned vec_above_f32(vec_f32 x, vec_f32 y) { return _mm512_cmp_ps_mask(x, y, _CMP_GT_OQ); }
LANE_INLINE unsigned vec_above_f64(vec_f64 x, vec_f64 y) { return _mm512_cmp_pd_mask(x, y, _CMP_GT_OQ); }

/* The end of the fixed tree: lane j with j+4, then +2, +1. */
LANE_INLINE double vec_sum_f64(vec_f64 x) {
  __m256d four = _mm256_add_pd(_mm512_castpd512_pd256(x), _mm512_extractf64x4_pd(x, 1));
  __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
  return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

#define LANES_BLOCKS
/* Lanes of two vectors a and b: index j < VEC_F64 is lane j of a, then those of b follow. */
typedef __m512i vec_index;
LANE_INLINE vec_index vec_index_of_f32(const int32_t *at) { return _mm512_loadu_si512(at); }
LANE_INLINE vec_index vec_index_of_f64(const int32_t *at) {
  return _mm512_cvtepi32_epi64(_mm256_loadu_si256((const void *)at));
}
LANE_INLINE vec_f32 vec_pick_f32(vec_f32 a, vec_index index, vec_f32 b) {
  return _mm512_permutex2var_ps(a, index, b);
}
LANE_INLINE vec_f64 vec_pick_f64(vec_f64 a, vec_index index, vec_f64 b) {
  return _mm512_permutex2var_pd(a, index, b);
}

/* Every `stride`th number. */
LANE_INLINE vec_f32 vec_gather_f32(const float *p, size_t stride) {
  __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  return _mm512_i32gather_ps(_mm512_mullo_epi32(lane, _mm512_set1_epi32((int)stride)), p, 4);
}
LANE_INLINE vec_f64 vec_gather_f64(const double *p, size_t stride) {
  __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm512_i32gather_pd(_mm256_mullo_epi32(lane, _mm256_set1_epi32((int)stride)), p, 8);
}

/* vec_sum_f64() of eight rows at once. Rows k and k+4 share a vector from where lane j has been added to j+4, so that
 * their sums come out in order. */
enum { FOLDED_ROWS = 8 };
LANE_INLINE void vec_sums_of_pairs(const vec_f64 *four, double *sums) {
  __m512i across = _mm512_setr_epi64(2, 3, 8, 9, 6, 7, 12, 13);
  __m512d two[2];
#pragma GCC unroll 2
  for (size_t k = 0; k < 2; k++)
    two[k] = _mm512_add_pd(_mm512_mask_blend_pd(0xcc, four[k], four[k + 2]),
                           _mm512_permutex2var_pd(four[k], across, four[k + 2]));
  _mm512_storeu_pd(sums, _mm512_add_pd(_mm512_mask_blend_pd(0xaa, two[0], two[1]),
                                       _mm512_shuffle_pd(two[0], two[1], 0x55)));
}
LANE_INLINE void vec_sums(const vec_f64 *x, double *sums) {
  vec_f64 four[4];
#pragma GCC unroll 4
  for (size_t k = 0; k < 4; k++)
    four[k] =
        _mm512_add_pd(_mm512_mask_blend_pd(0xf0, x[k], x[k + 4]), _mm512_shuffle_f64x2(x[k], x[k + 4], 0x4e));
  vec_sums_of_pairs(four, sums);
}

/* Four floats of a and four of b as doubles, minus four y if there are any; the masks of both. */
#define LANES_PAIRS
LANE_INLINE vec_f64 vec_pair_f32(const float *a, const float *b, const float *y) {
  __m256 x = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(a)), _mm_loadu_ps(b), 1);
  return _mm512_cvtps_pd(y == NULL ? x : _mm256_sub_ps(x, _mm256_broadcast_ps((const __m128 *)y)));
}
LANE_INLINE vec_mask_f64 vec_mask_of_pair(size_t count) {
  return (vec_mask_f64)(vec_mask_of_f64(0, count) * 0x11);
}

/* Bits that are set, by VPOPCNTDQ where the compiler may use it, otherwise by a table of half bytes. */
LANE_INLINE vec_u64 vec_ones_u64(vec_u64 x) {
#if defined(__AVX512VPOPCNTDQ__)
  return (vec_u64)_mm512_popcnt_epi64((__m512i)x);
#else
  __m512i low = _mm512_set1_epi8(15), bits = (__m512i)x;
  __m512i table = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
  __m512i bytes =
      _mm512_add_epi8(_mm512_shuffle_epi8(table, _mm512_and_si512(bits, low)),
                      _mm512_shuffle_epi8(table, _mm512_and_si512(_mm512_srli_epi16(bits, 4), low)));
  return (vec_u64)_mm512_sad_epu8(bytes, _mm512_setzero_si512());
#endif
}
/* Lanes i and i^1 swapped; low32(x) low32(y); bit j: x_j < y_j. */
LANE_INLINE vec_u64 vec_swap_u64(vec_u64 x) {
  return (vec_u64)_mm512_shuffle_epi32((__m512i)x, _MM_PERM_BADC);
}
LANE_INLINE vec_u64 vec_product_u32(vec_u64 x, vec_u64 y) {
  return (vec_u64)_mm512_mul_epu32((__m512i)x, (__m512i)y);
}
LANE_INLINE unsigned vec_below_u64(vec_u64 x, vec_u64 y) {
  return _mm512_cmplt_epu64_mask((__m512i)x, (__m512i)y);
}

#endif

/* Sixteen lanes on AVX-512: one register of floats, two of doubles. */
#ifndef CPB_LOOP_LANES_AVX512_H
#define CPB_LOOP_LANES_AVX512_H

#include <immintrin.h>

#include "loop/lane_inline.h"
#include "loop/table.h"

typedef __m512 lanes_f32;
typedef struct lanes_f64 {
  __m512d low, high;
} lanes_f64;

/* Rows walked side by side, and whether stores can pass the cache. */
enum { LANES_STREAMS = 4, LANES_FEW_STREAMS = 2, LANES_BYPASS = true };

/* What a walk needs of the machine: a line fetched early, and an end to what was stored past the cache. */
LANE_INLINE void lanes_prefetch(const void *p) { _mm_prefetch(p, _MM_HINT_T0); }
LANE_INLINE void lanes_fence(void) { _mm_sfence(); }

/* lanes [from, to) */
LANE_INLINE __mmask16 lane_mask(size_t from, size_t to) { return (__mmask16)((1u << to) - (1u << from)); }

LANE_INLINE lanes_f32 load_f32(const void *p) { return _mm512_loadu_ps(p); }
LANE_INLINE lanes_f32 load_u8(const void *p) {
  return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(p)));
}
LANE_INLINE lanes_f32 load_i8(const void *p) {
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(p)));
}
LANE_INLINE lanes_f32 load_f16(const void *p) { return _mm512_cvtph_ps(_mm256_loadu_si256(p)); }

#define LANES_PARTS
/* Only lanes [from, to) are read from p+lane, the others are 0. */
LANE_INLINE lanes_f32 part_f32(const void *p, size_t from, size_t to) {
  return _mm512_maskz_loadu_ps(lane_mask(from, to), p);
}
LANE_INLINE lanes_f32 part_u8(const void *p, size_t from, size_t to) {
  return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(lane_mask(from, to), p)));
}
LANE_INLINE lanes_f32 part_i8(const void *p, size_t from, size_t to) {
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(lane_mask(from, to), p)));
}
LANE_INLINE lanes_f32 part_f16(const void *p, size_t from, size_t to) {
  return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(lane_mask(from, to), p));
}

LANE_INLINE lanes_f32 lanes_times(lanes_f32 x, float factor) {
  return _mm512_mul_ps(x, _mm512_set1_ps(factor));
}
LANE_INLINE lanes_f32 lanes_plus(lanes_f32 x, lanes_f32 y) { return _mm512_add_ps(x, y); }
LANE_INLINE lanes_f32 lanes_less(lanes_f32 x, lanes_f32 y) { return _mm512_sub_ps(x, y); }
LANE_INLINE lanes_f32 lanes_set(lanes_f32 x, size_t lane, float value) {
  return _mm512_mask_broadcastss_ps(x, (__mmask16)(1u << lane), _mm_set_ss(value));
}
/* lanes below `lane` from a, the others from b */
LANE_INLINE lanes_f32 lanes_join(lanes_f32 a, lanes_f32 b, size_t lane) {
  return _mm512_mask_mov_ps(b, lane_mask(0, lane), a);
}

LANE_INLINE void store_lanes(float *p, lanes_f32 x) { _mm512_storeu_ps(p, x); }
LANE_INLINE void lanes_stream(float *p, lanes_f32 x) { _mm512_stream_ps(p, x); }
LANE_INLINE void store_part(float *p, lanes_f32 x, size_t from, size_t to) {
  _mm512_mask_storeu_ps(p, lane_mask(from, to), x);
}

LANE_INLINE lanes_f64 lanes_zero(void) { return (lanes_f64){_mm512_setzero_pd(), _mm512_setzero_pd()}; }

/* sum + x*x per lane; the square of a float is exact in double, so fusing changes nothing */
LANE_INLINE lanes_f64 lanes_add_square(lanes_f64 sum, lanes_f32 x) {
  __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(x));
  __m512d high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1));
  sum.low = _mm512_fmadd_pd(low, low, sum.low);
  sum.high = _mm512_fmadd_pd(high, high, sum.high);
  return sum;
}

/* the same for sixteen floats in memory, from where widening costs half */
LANE_INLINE lanes_f64 add_square_f32(lanes_f64 sum, const void *p) {
  const float *x = p;
  __m512d low = _mm512_cvtps_pd(_mm256_loadu_ps(x)), high = _mm512_cvtps_pd(_mm256_loadu_ps(x + 8));
  sum.low = _mm512_fmadd_pd(low, low, sum.low);
  sum.high = _mm512_fmadd_pd(high, high, sum.high);
  return sum;
}

/* Sixteen doubles, for rows of doubles and results in double. */
LANE_INLINE lanes_f64 lanes_widen(lanes_f32 x) {
  return (lanes_f64){_mm512_cvtps_pd(_mm512_castps512_ps256(x)),
                     _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1))};
}
LANE_INLINE lanes_f32 lanes_narrow(lanes_f64 x) {
  return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(x.low)), _mm512_cvtpd_ps(x.high), 1);
}
LANE_INLINE lanes_f64 wide_f32(const void *p) {
  const float *x = p;
  return (lanes_f64){_mm512_cvtps_pd(_mm256_loadu_ps(x)), _mm512_cvtps_pd(_mm256_loadu_ps(x + 8))};
}
LANE_INLINE lanes_f64 wide_f64(const void *p) {
  const double *x = p;
  return (lanes_f64){_mm512_loadu_pd(x), _mm512_loadu_pd(x + 8)};
}
LANE_INLINE lanes_f64 wide_part_f32(const void *p, size_t from, size_t to) {
  return lanes_widen(part_f32(p, from, to));
}
LANE_INLINE lanes_f64 wide_part_f64(const void *p, size_t from, size_t to) {
  __mmask16 mask = lane_mask(from, to);
  const double *x = p;
  return (lanes_f64){_mm512_maskz_loadu_pd((__mmask8)mask, x),
                     _mm512_maskz_loadu_pd((__mmask8)(mask >> 8), x + 8)};
}
/* bytes, converted without floats in between */
#define LANES_WIDE_BYTES
LANE_INLINE lanes_f64 wide_integers(__m512i low, __m512i high) {
  return (lanes_f64){_mm512_cvtepi64_pd(low), _mm512_cvtepi64_pd(high)};
}
LANE_INLINE lanes_f64 wide_of_u8(__m128i x) {
  return wide_integers(_mm512_cvtepu8_epi64(x), _mm512_cvtepu8_epi64(_mm_unpackhi_epi64(x, x)));
}
LANE_INLINE lanes_f64 wide_of_i8(__m128i x) {
  return wide_integers(_mm512_cvtepi8_epi64(x), _mm512_cvtepi8_epi64(_mm_unpackhi_epi64(x, x)));
}
LANE_INLINE lanes_f64 wide_u8(const void *p) {
  const char *x = p;
  return wide_integers(_mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)x)),
                       _mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)(x + 8))));
}
LANE_INLINE lanes_f64 wide_i8(const void *p) {
  const char *x = p;
  return wide_integers(_mm512_cvtepi8_epi64(_mm_loadl_epi64((const __m128i *)x)),
                       _mm512_cvtepi8_epi64(_mm_loadl_epi64((const __m128i *)(x + 8))));
}
LANE_INLINE lanes_f64 wide_part_u8(const void *p, size_t from, size_t to) {
  return wide_of_u8(_mm_maskz_loadu_epi8(lane_mask(from, to), p));
}
LANE_INLINE lanes_f64 wide_part_i8(const void *p, size_t from, size_t to) {
  return wide_of_i8(_mm_maskz_loadu_epi8(lane_mask(from, to), p));
}
LANE_INLINE lanes_f64 wide_times(lanes_f64 x, double factor) {
  __m512d f = _mm512_set1_pd(factor);
  return (lanes_f64){_mm512_mul_pd(x.low, f), _mm512_mul_pd(x.high, f)};
}
LANE_INLINE lanes_f64 wide_less(lanes_f64 x, lanes_f64 y) {
  return (lanes_f64){_mm512_sub_pd(x.low, y.low), _mm512_sub_pd(x.high, y.high)};
}
LANE_INLINE lanes_f64 wide_plus(lanes_f64 x, lanes_f64 y) {
  return (lanes_f64){_mm512_add_pd(x.low, y.low), _mm512_add_pd(x.high, y.high)};
}
/* sum + x*y per lane, two roundings */
LANE_INLINE lanes_f64 wide_add_product(lanes_f64 sum, lanes_f64 x, lanes_f64 y) {
  return (lanes_f64){_mm512_add_pd(sum.low, _mm512_mul_pd(x.low, y.low)),
                     _mm512_add_pd(sum.high, _mm512_mul_pd(x.high, y.high))};
}
/* the same where products are exact */
LANE_INLINE lanes_f64 wide_add_exact(lanes_f64 sum, lanes_f64 x, lanes_f64 y) {
  return (lanes_f64){_mm512_fmadd_pd(x.low, y.low, sum.low), _mm512_fmadd_pd(x.high, y.high, sum.high)};
}
LANE_INLINE lanes_f64 wide_join(lanes_f64 a, lanes_f64 b, size_t lane) {
  __mmask16 mask = lane_mask(0, lane);
  return (lanes_f64){_mm512_mask_mov_pd(b.low, (__mmask8)mask, a.low),
                     _mm512_mask_mov_pd(b.high, (__mmask8)(mask >> 8), a.high)};
}
LANE_INLINE lanes_f64 wide_set(lanes_f64 x, size_t lane, double value) {
  __mmask16 mask = lane_mask(lane, lane + 1);
  __m512d same = _mm512_set1_pd(value);
  return (lanes_f64){_mm512_mask_mov_pd(x.low, (__mmask8)mask, same),
                     _mm512_mask_mov_pd(x.high, (__mmask8)(mask >> 8), same)};
}
LANE_INLINE void store_wide(double *p, lanes_f64 x) {
  _mm512_storeu_pd(p, x.low);
  _mm512_storeu_pd(p + 8, x.high);
}
LANE_INLINE void stream_wide(double *p, lanes_f64 x) {
  _mm512_stream_pd(p, x.low);
  _mm512_stream_pd(p + 8, x.high);
}
LANE_INLINE void store_wide_part(double *p, lanes_f64 x, size_t from, size_t to) {
  __mmask16 mask = lane_mask(from, to);
  _mm512_mask_storeu_pd(p, (__mmask8)mask, x.low);
  _mm512_mask_storeu_pd(p + 8, (__mmask8)(mask >> 8), x.high);
}

/* the fixed tree: lane j with j+8, then +4, +2, +1 */
LANE_INLINE double lanes_sum(lanes_f64 x) {
  __m512d eight = _mm512_add_pd(x.low, x.high);
  __m256d four = _mm256_add_pd(_mm512_castpd512_pd256(eight), _mm512_extractf64x4_pd(eight, 1));
  __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
  return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

/* lanes_sum() of eight rows at once. Rows k and k+4 share a vector from where lane j has been added to j+4, so that their sums
 * come out in order. */
enum { FOLDED_ROWS = 8 };
LANE_INLINE void lanes_folded_pairs(const __m512d *four, double *sums) {
  __m512i across = _mm512_setr_epi64(2, 3, 8, 9, 6, 7, 12, 13);
  __m512d two[2];
#pragma GCC unroll 2
  for (size_t k = 0; k < 2; k++)
    two[k] = _mm512_add_pd(_mm512_mask_blend_pd(0xcc, four[k], four[k + 2]),
                           _mm512_permutex2var_pd(four[k], across, four[k + 2]));
  _mm512_storeu_pd(sums, _mm512_add_pd(_mm512_mask_blend_pd(0xaa, two[0], two[1]),
                                       _mm512_shuffle_pd(two[0], two[1], 0x55)));
}
/* From where lane j has been added to j+8. */
LANE_INLINE void lanes_folded_sums(const __m512d *x, double *sums) {
  __m512d four[4];
#pragma GCC unroll 4
  for (size_t k = 0; k < 4; k++)
    four[k] =
        _mm512_add_pd(_mm512_mask_blend_pd(0xf0, x[k], x[k + 4]), _mm512_shuffle_f64x2(x[k], x[k + 4], 0x4e));
  lanes_folded_pairs(four, sums);
}

/* Vectors of doubles, for tiles of a matrix product. */
typedef __m512d vec_f64;
enum { VEC_F64 = 8, TILE_VECTORS = 4 };

LANE_INLINE vec_f64 vec_load_f64(const double *p) { return _mm512_loadu_pd(p); }
LANE_INLINE void vec_store_f64(double *p, vec_f64 x) { _mm512_storeu_pd(p, x); }
LANE_INLINE vec_f64 vec_spread_f64(double x) { return _mm512_set1_pd(x); }
LANE_INLINE vec_f64 vec_add_f64(vec_f64 x, vec_f64 y) { return _mm512_add_pd(x, y); }
LANE_INLINE vec_f64 vec_fma_f64(vec_f64 x, vec_f64 y, vec_f64 sum) { return _mm512_fmadd_pd(x, y, sum); }

#define LANES_PICK
/* Lanes of two vectors a and b: index j < VEC_F64 is lane j of a, then those of b follow. */
typedef __m512i vec_index;
LANE_INLINE vec_index vec_index_of_f64(const int32_t *at) {
  return _mm512_cvtepi32_epi64(_mm256_loadu_si256((const void *)at));
}
LANE_INLINE vec_f64 vec_pick_f64(vec_f64 a, vec_index index, vec_f64 b) {
  return _mm512_permutex2var_pd(a, index, b);
}
LANE_INLINE vec_index vec_index_of_f32(const int32_t *at) { return _mm512_loadu_si512(at); }
LANE_INLINE __m512 vec_pick_f32(__m512 a, vec_index index, __m512 b) {
  return _mm512_permutex2var_ps(a, index, b);
}
/* Four numbers of a and four of b as doubles, minus four y. */
#define LANES_PAIRS
LANE_INLINE vec_f64 vec_pair_f64(const double *a, const double *b) {
  return _mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_loadu_pd(a)), _mm256_loadu_pd(b), 1);
}
LANE_INLINE __m256 vec_fours(const float *a, const float *b) {
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(a)), _mm_loadu_ps(b), 1);
}
LANE_INLINE vec_f64 vec_pair_f32(const float *a, const float *b) { return _mm512_cvtps_pd(vec_fours(a, b)); }
LANE_INLINE vec_f64 vec_pair_less_f64(const double *a, const double *b, const double *y) {
  return _mm512_sub_pd(vec_pair_f64(a, b), _mm512_broadcast_f64x4(_mm256_loadu_pd(y)));
}
LANE_INLINE vec_f64 vec_pair_less_f32(const float *a, const float *b, const float *y) {
  return _mm512_cvtps_pd(_mm256_sub_ps(vec_fours(a, b), _mm256_broadcast_ps((const __m128 *)y)));
}
/* Every `stride`th number. */
LANE_INLINE vec_f64 vec_gather_f64(const double *p, size_t stride) {
  __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm512_i32gather_pd(_mm256_mullo_epi32(lane, _mm256_set1_epi32((int)stride)), p, 8);
}
LANE_INLINE __m512 vec_gather_f32(const float *p, size_t stride) {
  __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  return _mm512_i32gather_ps(_mm512_mullo_epi32(lane, _mm512_set1_epi32((int)stride)), p, 4);
}
/* The first `count` lanes, the others 0. */
typedef __mmask8 vec_mask;
LANE_INLINE vec_mask vec_mask_of(size_t count) { return (vec_mask)lane_mask(0, count); }
LANE_INLINE vec_mask vec_mask_of_pair(size_t count) { return (vec_mask)(lane_mask(0, count) * 0x11); }
LANE_INLINE vec_f64 vec_keep(vec_mask mask, vec_f64 x) { return _mm512_maskz_mov_pd(mask, x); }
/* x, or x - y computed in the type of both, as doubles */
LANE_INLINE vec_f64 vec_wide_f64(const double *x) { return vec_load_f64(x); }
LANE_INLINE vec_f64 vec_wide_f32(const float *x) { return _mm512_cvtps_pd(_mm256_loadu_ps(x)); }
LANE_INLINE vec_f64 vec_wide_less_f64(const double *x, const double *y) {
  return _mm512_sub_pd(vec_load_f64(x), vec_load_f64(y));
}
LANE_INLINE vec_f64 vec_wide_less_f32(const float *x, const float *y) {
  return _mm512_cvtps_pd(_mm256_sub_ps(_mm256_loadu_ps(x), _mm256_loadu_ps(y)));
}
LANE_INLINE unsigned vec_above_f64(vec_f64 x, vec_f64 y) { return _mm512_cmp_pd_mask(x, y, _CMP_GT_OQ); }
LANE_INLINE void vec_store_narrow(float *p, vec_f64 x) { _mm256_storeu_ps(p, _mm512_cvtpd_ps(x)); }
LANE_INLINE void vec_stream_narrow(float *p, vec_f64 x) { _mm256_stream_ps(p, _mm512_cvtpd_ps(x)); }
LANE_INLINE void vec_stream_f64(double *p, vec_f64 x) { _mm512_stream_pd(p, x); }
LANE_INLINE void vec_stream_f32(float *p, __m512 x) { _mm512_stream_ps(p, x); }

/* Vectors of floats, for products with panels. */
typedef __m512 vec_f32;
enum { VEC_F32 = 16, PANEL_VECTORS = 4 };

LANE_INLINE vec_f32 vec_load_f32(const float *p) { return _mm512_loadu_ps(p); }
LANE_INLINE void vec_store_f32(float *p, vec_f32 x) { _mm512_storeu_ps(p, x); }
LANE_INLINE vec_f32 vec_spread_f32(float x) { return _mm512_set1_ps(x); }
LANE_INLINE vec_f32 vec_fma_f32(vec_f32 x, vec_f32 y, vec_f32 sum) { return _mm512_fmadd_ps(x, y, sum); }
LANE_INLINE vec_f32 vec_max_f32(vec_f32 x, vec_f32 y) { return _mm512_max_ps(x, y); }
/* bit j: x_j > y_j */
LANE_INLINE unsigned vec_above_f32(vec_f32 x, vec_f32 y) { return _mm512_cmp_ps_mask(x, y, _CMP_GT_OQ); }

/* Words of codes. Bits are counted by VPOPCNTDQ where the compiler may use it, otherwise by a table of half bytes. */
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
/* Unaligned load; lanes i and i^1 swapped; low32(x) low32(y). */
LANE_INLINE vec_u64 vec_any_u64(const void *p) { return _mm512_loadu_si512(p); }
LANE_INLINE vec_u64 vec_swap_u64(vec_u64 x) { return _mm512_shuffle_epi32(x, _MM_PERM_BADC); }
LANE_INLINE vec_u64 vec_product_u32(vec_u64 x, vec_u64 y) { return _mm512_mul_epu32(x, y); }
LANE_INLINE vec_u64 vec_right_u64(vec_u64 x, unsigned bits) { return _mm512_srli_epi64(x, bits); }
LANE_INLINE vec_u64 vec_left_u64(vec_u64 x, unsigned bits) { return _mm512_slli_epi64(x, bits); }
LANE_INLINE unsigned vec_below_u64(vec_u64 x, vec_u64 y) { return _mm512_cmplt_epu64_mask(x, y); }

#endif

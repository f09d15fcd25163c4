/* Sixteen lanes on AVX2: two registers of floats, four of doubles. */
#ifndef CPB_LOOP_LANES_AVX2_H
#define CPB_LOOP_LANES_AVX2_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "loop/lane_inline.h"
#include "loop/table.h"

typedef struct lanes_f32 {
  __m256 low, high;
} lanes_f32;
/* Members, not an array: gcc keeps arrays of registers in memory. */
typedef struct lanes_f64 {
  __m256d q0, q1, q2, q3;
} lanes_f64;

/* Rows that are summed together, so that sums fit in sixteen registers, and whether non-temporal stores are used. */
enum { LANES_STREAMS = 2, LANES_FEW_STREAMS = 1, LANES_BYPASS = true };

/* Prefetch of a cache line, and the fence after non-temporal stores. */
LANE_INLINE void lanes_prefetch(const void *p) { _mm_prefetch(p, _MM_HINT_T0); }
LANE_INLINE void lanes_fence(void) { _mm_sfence(); }

/* all bits set in lanes [from, to) of the eight lanes that start at `base` */
LANE_INLINE __m256i lane_mask(size_t base, size_t from, size_t to) {
  __m256i lane = _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32((int)base));
  return _mm256_and_si256(_mm256_cmpgt_epi32(_mm256_set1_epi32((int)to), lane),
                          _mm256_cmpgt_epi32(lane, _mm256_set1_epi32((int)from - 1)));
}

LANE_INLINE lanes_f32 load_f32(const void *p) {
  const float *x = p;
  return (lanes_f32){_mm256_loadu_ps(x), _mm256_loadu_ps(x + 8)};
}
LANE_INLINE lanes_f32 bytes_u8(__m128i x) {
  return (lanes_f32){_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(x)),
                     _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_srli_si128(x, 8)))};
}
LANE_INLINE lanes_f32 bytes_i8(__m128i x) {
  return (lanes_f32){_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(x)),
                     _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(x, 8)))};
}
LANE_INLINE lanes_f32 load_u8(const void *p) { return bytes_u8(_mm_loadu_si128(p)); }
LANE_INLINE lanes_f32 load_i8(const void *p) { return bytes_i8(_mm_loadu_si128(p)); }
LANE_INLINE lanes_f32 load_f16(const void *p) {
  const __m128i *x = p;
  return (lanes_f32){_mm256_cvtph_ps(_mm_loadu_si128(x)), _mm256_cvtph_ps(_mm_loadu_si128(x + 1))};
}

#define LANES_PARTS
/* Only lanes [from, to) are read from p+lane, the others are 0. */
LANE_INLINE lanes_f32 part_f32(const void *p, size_t from, size_t to) {
  const float *x = p;
  return (lanes_f32){_mm256_maskload_ps(x, lane_mask(0, from, to)),
                     _mm256_maskload_ps(x + 8, lane_mask(8, from, to))};
}
/* AVX2 has no masked load of bytes: two loads from the ends of the readable range meet in the middle. */
LANE_INLINE __m128i bytes_at(__m128i bytes, size_t lane) {
  __m128i lanes = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  return _mm_shuffle_epi8(bytes, _mm_sub_epi8(lanes, _mm_set1_epi8((char)lane)));
}
LANE_INLINE __m128i load_4(const uint8_t *p) {
  int32_t four;
  memcpy(&four, p, sizeof four);
  return _mm_cvtsi32_si128(four);
}
LANE_INLINE __m128i part_bytes(const void *p, size_t from, size_t to) {
  const uint8_t *x = p;
  size_t count = to - from;
  if (count >= 8)
    return _mm_or_si128(bytes_at(_mm_loadl_epi64((const void *)(x + from)), from),
                        bytes_at(_mm_loadl_epi64((const void *)(x + to - 8)), to - 8));
  if (count >= 4) return _mm_or_si128(bytes_at(load_4(x + from), from), bytes_at(load_4(x + to - 4), to - 4));
  __m128i bytes = _mm_setzero_si128();
  for (size_t i = from; i < to; i++) bytes = _mm_or_si128(bytes, bytes_at(_mm_cvtsi32_si128(x[i]), i));
  return bytes;
}
LANE_INLINE lanes_f32 part_u8(const void *p, size_t from, size_t to) {
  return bytes_u8(part_bytes(p, from, to));
}
LANE_INLINE lanes_f32 part_i8(const void *p, size_t from, size_t to) {
  return bytes_i8(part_bytes(p, from, to));
}
LANE_INLINE lanes_f32 part_f16(const void *p, size_t from, size_t to) {
  const __m128i *x = p;
  __m128i low = _mm_setzero_si128(), high = low;
  if (from < 8 && from < to) low = part_bytes(x, 2 * from, to < 8 ? 2 * to : 16);
  if (to > 8 && from < to) high = part_bytes(x + 1, from < 8 ? 0 : 2 * (from - 8), 2 * (to - 8));
  return (lanes_f32){_mm256_cvtph_ps(low), _mm256_cvtph_ps(high)};
}

LANE_INLINE lanes_f32 lanes_times(lanes_f32 x, float factor) {
  __m256 f = _mm256_set1_ps(factor);
  return (lanes_f32){_mm256_mul_ps(x.low, f), _mm256_mul_ps(x.high, f)};
}
LANE_INLINE lanes_f32 lanes_plus(lanes_f32 x, lanes_f32 y) {
  return (lanes_f32){_mm256_add_ps(x.low, y.low), _mm256_add_ps(x.high, y.high)};
}
LANE_INLINE lanes_f32 lanes_less(lanes_f32 x, lanes_f32 y) {
  return (lanes_f32){_mm256_sub_ps(x.low, y.low), _mm256_sub_ps(x.high, y.high)};
}
/* lanes [from, to) from a, the others from b */
LANE_INLINE lanes_f32 lanes_choose(lanes_f32 a, lanes_f32 b, size_t from, size_t to) {
  return (lanes_f32){_mm256_blendv_ps(b.low, a.low, _mm256_castsi256_ps(lane_mask(0, from, to))),
                     _mm256_blendv_ps(b.high, a.high, _mm256_castsi256_ps(lane_mask(8, from, to)))};
}
LANE_INLINE lanes_f32 lanes_set(lanes_f32 x, size_t lane, float value) {
  __m256 same = _mm256_set1_ps(value);
  return lanes_choose((lanes_f32){same, same}, x, lane, lane + 1);
}
/* lanes below `lane` from a, the others from b */
LANE_INLINE lanes_f32 lanes_join(lanes_f32 a, lanes_f32 b, size_t lane) {
  return lanes_choose(a, b, 0, lane);
}

LANE_INLINE void store_lanes(float *p, lanes_f32 x) {
  _mm256_storeu_ps(p, x.low);
  _mm256_storeu_ps(p + 8, x.high);
}
LANE_INLINE void lanes_stream(float *p, lanes_f32 x) {
  _mm256_stream_ps(p, x.low);
  _mm256_stream_ps(p + 8, x.high);
}
LANE_INLINE void store_part(float *p, lanes_f32 x, size_t from, size_t to) {
  _mm256_maskstore_ps(p, lane_mask(0, from, to), x.low);
  _mm256_maskstore_ps(p + 8, lane_mask(8, from, to), x.high);
}

LANE_INLINE lanes_f64 lanes_zero(void) {
  __m256d zero = _mm256_setzero_pd();
  return (lanes_f64){zero, zero, zero, zero};
}

/* sum + x*x per lane of sixteen floats in memory, where widening costs half; the square of a float is exact in double, so
 * fusing changes nothing */
LANE_INLINE __m256d add_square_of_4(__m256d sum, const float *x) {
  __m256d four = _mm256_cvtps_pd(_mm_loadu_ps(x));
  return _mm256_fmadd_pd(four, four, sum);
}
LANE_INLINE lanes_f64 add_square_f32(lanes_f64 sum, const void *p) {
  const float *x = p;
  return (lanes_f64){add_square_of_4(sum.q0, x), add_square_of_4(sum.q1, x + 4),
                     add_square_of_4(sum.q2, x + 8), add_square_of_4(sum.q3, x + 12)};
}

/* the same of lanes, through memory: from registers it costs twice as much */
LANE_INLINE lanes_f64 lanes_add_square(lanes_f64 sum, lanes_f32 x) {
  _Alignas(32) float line[CPB_LANES];
  _mm256_store_ps(line, x.low);
  _mm256_store_ps(line + 8, x.high);
  __asm__("" : "+m"(line));
  return add_square_f32(sum, line);
}

/* Sixteen doubles, for rows of doubles and results in double. */
LANE_INLINE lanes_f64 lanes_widen(lanes_f32 x) {
  return (lanes_f64){
      _mm256_cvtps_pd(_mm256_castps256_ps128(x.low)), _mm256_cvtps_pd(_mm256_extractf128_ps(x.low, 1)),
      _mm256_cvtps_pd(_mm256_castps256_ps128(x.high)), _mm256_cvtps_pd(_mm256_extractf128_ps(x.high, 1))};
}
LANE_INLINE __m256 narrow_two(__m256d a, __m256d b) {
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(a)), _mm256_cvtpd_ps(b), 1);
}
LANE_INLINE lanes_f32 lanes_narrow(lanes_f64 x) {
  return (lanes_f32){narrow_two(x.q0, x.q1), narrow_two(x.q2, x.q3)};
}
LANE_INLINE lanes_f64 wide_f32(const void *p) {
  const float *x = p;
  return (lanes_f64){_mm256_cvtps_pd(_mm_loadu_ps(x)), _mm256_cvtps_pd(_mm_loadu_ps(x + 4)),
                     _mm256_cvtps_pd(_mm_loadu_ps(x + 8)), _mm256_cvtps_pd(_mm_loadu_ps(x + 12))};
}
LANE_INLINE lanes_f64 wide_f64(const void *p) {
  const double *x = p;
  return (lanes_f64){_mm256_loadu_pd(x), _mm256_loadu_pd(x + 4), _mm256_loadu_pd(x + 8),
                     _mm256_loadu_pd(x + 12)};
}
/* all bits set in lanes [from, to) of the four lanes that start at `base` */
LANE_INLINE __m256i wide_mask(size_t base, size_t from, size_t to) {
  __m256i lane = _mm256_add_epi64(_mm256_setr_epi64x(0, 1, 2, 3), _mm256_set1_epi64x((long long)base));
  return _mm256_and_si256(_mm256_cmpgt_epi64(_mm256_set1_epi64x((long long)to), lane),
                          _mm256_cmpgt_epi64(lane, _mm256_set1_epi64x((long long)from - 1)));
}
LANE_INLINE lanes_f64 wide_part_f32(const void *p, size_t from, size_t to) {
  return lanes_widen(part_f32(p, from, to));
}
LANE_INLINE __m256d part_of_4(const double *x, size_t base, size_t from, size_t to) {
  return _mm256_maskload_pd(x + base, wide_mask(base, from, to));
}
LANE_INLINE lanes_f64 wide_part_f64(const void *p, size_t from, size_t to) {
  return (lanes_f64){part_of_4(p, 0, from, to), part_of_4(p, 4, from, to), part_of_4(p, 8, from, to),
                     part_of_4(p, 12, from, to)};
}
LANE_INLINE lanes_f64 wide_times(lanes_f64 x, double factor) {
  __m256d f = _mm256_set1_pd(factor);
  return (lanes_f64){_mm256_mul_pd(x.q0, f), _mm256_mul_pd(x.q1, f), _mm256_mul_pd(x.q2, f),
                     _mm256_mul_pd(x.q3, f)};
}
LANE_INLINE lanes_f64 wide_less(lanes_f64 x, lanes_f64 y) {
  return (lanes_f64){_mm256_sub_pd(x.q0, y.q0), _mm256_sub_pd(x.q1, y.q1), _mm256_sub_pd(x.q2, y.q2),
                     _mm256_sub_pd(x.q3, y.q3)};
}
LANE_INLINE lanes_f64 wide_plus(lanes_f64 x, lanes_f64 y) {
  return (lanes_f64){_mm256_add_pd(x.q0, y.q0), _mm256_add_pd(x.q1, y.q1), _mm256_add_pd(x.q2, y.q2),
                     _mm256_add_pd(x.q3, y.q3)};
}
/* sum + x*y per lane, two roundings */
LANE_INLINE lanes_f64 wide_add_product(lanes_f64 sum, lanes_f64 x, lanes_f64 y) {
  lanes_f64 products = {_mm256_mul_pd(x.q0, y.q0), _mm256_mul_pd(x.q1, y.q1), _mm256_mul_pd(x.q2, y.q2),
                        _mm256_mul_pd(x.q3, y.q3)};
  return wide_plus(sum, products);
}
/* the same where products are exact */
LANE_INLINE lanes_f64 wide_add_exact(lanes_f64 sum, lanes_f64 x, lanes_f64 y) {
  return (lanes_f64){_mm256_fmadd_pd(x.q0, y.q0, sum.q0), _mm256_fmadd_pd(x.q1, y.q1, sum.q1),
                     _mm256_fmadd_pd(x.q2, y.q2, sum.q2), _mm256_fmadd_pd(x.q3, y.q3, sum.q3)};
}
LANE_INLINE __m256d choose_of_4(__m256d a, __m256d b, size_t base, size_t from, size_t to) {
  return _mm256_blendv_pd(b, a, _mm256_castsi256_pd(wide_mask(base, from, to)));
}
LANE_INLINE lanes_f64 wide_choose(lanes_f64 a, lanes_f64 b, size_t from, size_t to) {
  return (lanes_f64){choose_of_4(a.q0, b.q0, 0, from, to), choose_of_4(a.q1, b.q1, 4, from, to),
                     choose_of_4(a.q2, b.q2, 8, from, to), choose_of_4(a.q3, b.q3, 12, from, to)};
}
LANE_INLINE lanes_f64 wide_join(lanes_f64 a, lanes_f64 b, size_t lane) { return wide_choose(a, b, 0, lane); }
LANE_INLINE lanes_f64 wide_set(lanes_f64 x, size_t lane, double value) {
  __m256d same = _mm256_set1_pd(value);
  return wide_choose((lanes_f64){same, same, same, same}, x, lane, lane + 1);
}
LANE_INLINE void store_wide(double *p, lanes_f64 x) {
  _mm256_storeu_pd(p, x.q0);
  _mm256_storeu_pd(p + 4, x.q1);
  _mm256_storeu_pd(p + 8, x.q2);
  _mm256_storeu_pd(p + 12, x.q3);
}
LANE_INLINE void stream_wide(double *p, lanes_f64 x) {
  _mm256_stream_pd(p, x.q0);
  _mm256_stream_pd(p + 4, x.q1);
  _mm256_stream_pd(p + 8, x.q2);
  _mm256_stream_pd(p + 12, x.q3);
}
LANE_INLINE void store_wide_part(double *p, lanes_f64 x, size_t from, size_t to) {
  _mm256_maskstore_pd(p, wide_mask(0, from, to), x.q0);
  _mm256_maskstore_pd(p + 4, wide_mask(4, from, to), x.q1);
  _mm256_maskstore_pd(p + 8, wide_mask(8, from, to), x.q2);
  _mm256_maskstore_pd(p + 12, wide_mask(12, from, to), x.q3);
}

/* the fixed tree: lane j with j+8, then +4, +2, +1 */
LANE_INLINE double lanes_sum(lanes_f64 x) {
  __m256d low = _mm256_add_pd(x.q0, x.q2), high = _mm256_add_pd(x.q1, x.q3);
  __m256d four = _mm256_add_pd(low, high);
  __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
  return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

/* lanes_sum() of four rows at once, from where lane j has been added to j+8 and j+4. */
enum { FOLDED_ROWS = 4 };
LANE_INLINE void lanes_folded_sums(const __m256d *x, double *sums) {
  __m256d even =
      _mm256_add_pd(_mm256_permute2f128_pd(x[0], x[2], 0x20), _mm256_permute2f128_pd(x[0], x[2], 0x31));
  __m256d odd =
      _mm256_add_pd(_mm256_permute2f128_pd(x[1], x[3], 0x20), _mm256_permute2f128_pd(x[1], x[3], 0x31));
  _mm256_storeu_pd(sums, _mm256_add_pd(_mm256_unpacklo_pd(even, odd), _mm256_unpackhi_pd(even, odd)));
}

/* Vectors of doubles, for tiles of a matrix product. */
typedef __m256d vec_f64;
enum { VEC_F64 = 4, TILE_VECTORS = 2 };

LANE_INLINE vec_f64 vec_load_f64(const double *p) { return _mm256_loadu_pd(p); }
LANE_INLINE void vec_store_f64(double *p, vec_f64 x) { _mm256_storeu_pd(p, x); }
LANE_INLINE vec_f64 vec_spread_f64(double x) { return _mm256_set1_pd(x); }
LANE_INLINE vec_f64 vec_add_f64(vec_f64 x, vec_f64 y) { return _mm256_add_pd(x, y); }
LANE_INLINE vec_f64 vec_fma_f64(vec_f64 x, vec_f64 y, vec_f64 sum) { return _mm256_fmadd_pd(x, y, sum); }

#define LANES_PICK
/* Lanes of two vectors a and b: index j < VEC_F64 is lane j of a, then those of b follow. Permutations use the lowest
 * three bits, the choice between a and b the sign. */
typedef __m256i vec_index;
LANE_INLINE vec_index vec_index_of_f32(const int32_t *at) {
  __m256i index = _mm256_loadu_si256((const void *)at);
  return _mm256_or_si256(index, _mm256_slli_epi32(index, 28));
}
LANE_INLINE __m256 vec_pick_f32(__m256 a, vec_index index, __m256 b) {
  return _mm256_blendv_ps(_mm256_permutevar8x32_ps(a, index), _mm256_permutevar8x32_ps(b, index),
                          _mm256_castsi256_ps(index));
}
LANE_INLINE vec_index vec_index_of_f64(const int32_t *at) {
  int32_t halves[2 * VEC_F64];
  for (size_t i = 0; i < 2 * VEC_F64; i++) halves[i] = 2 * at[i / 2] + (int32_t)(i % 2);
  return vec_index_of_f32(halves);
}
LANE_INLINE vec_f64 vec_pick_f64(vec_f64 a, vec_index index, vec_f64 b) {
  return _mm256_castps_pd(vec_pick_f32(_mm256_castpd_ps(a), index, _mm256_castpd_ps(b)));
}
/* Every `stride`th number. */
LANE_INLINE vec_f64 vec_gather_f64(const double *p, size_t stride) {
  return _mm256_setr_pd(p[0], p[stride], p[2 * stride], p[3 * stride]);
}
LANE_INLINE __m256 vec_gather_f32(const float *p, size_t stride) {
  __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_i32gather_ps(p, _mm256_mullo_epi32(lane, _mm256_set1_epi32((int)stride)), 4);
}
/* The first `count` lanes, the others 0. */
typedef __m256d vec_mask;
LANE_INLINE vec_mask vec_mask_of(size_t count) { return _mm256_castsi256_pd(wide_mask(0, 0, count)); }
LANE_INLINE vec_f64 vec_keep(vec_mask mask, vec_f64 x) { return _mm256_and_pd(mask, x); }
/* x, or x - y computed in the type of both, as doubles */
LANE_INLINE vec_f64 vec_wide_f64(const double *x) { return vec_load_f64(x); }
LANE_INLINE vec_f64 vec_wide_f32(const float *x) { return _mm256_cvtps_pd(_mm_loadu_ps(x)); }
LANE_INLINE vec_f64 vec_wide_less_f64(const double *x, const double *y) {
  return _mm256_sub_pd(vec_load_f64(x), vec_load_f64(y));
}
LANE_INLINE vec_f64 vec_wide_less_f32(const float *x, const float *y) {
  return _mm256_cvtps_pd(_mm_sub_ps(_mm_loadu_ps(x), _mm_loadu_ps(y)));
}
LANE_INLINE unsigned vec_above_f64(vec_f64 x, vec_f64 y) {
  return (unsigned)_mm256_movemask_pd(_mm256_cmp_pd(x, y, _CMP_GT_OQ));
}
LANE_INLINE void vec_store_narrow(float *p, vec_f64 x) { _mm_storeu_ps(p, _mm256_cvtpd_ps(x)); }
LANE_INLINE void vec_stream_narrow(float *p, vec_f64 x) { _mm_stream_ps(p, _mm256_cvtpd_ps(x)); }
LANE_INLINE void vec_stream_f64(double *p, vec_f64 x) { _mm256_stream_pd(p, x); }
LANE_INLINE void vec_stream_f32(float *p, __m256 x) { _mm256_stream_ps(p, x); }

/* Vectors of floats, for products with panels. */
typedef __m256 vec_f32;
enum { VEC_F32 = 8, PANEL_VECTORS = 2 };

LANE_INLINE vec_f32 vec_load_f32(const float *p) { return _mm256_loadu_ps(p); }
LANE_INLINE void vec_store_f32(float *p, vec_f32 x) { _mm256_storeu_ps(p, x); }
LANE_INLINE vec_f32 vec_spread_f32(float x) { return _mm256_set1_ps(x); }
LANE_INLINE vec_f32 vec_fma_f32(vec_f32 x, vec_f32 y, vec_f32 sum) { return _mm256_fmadd_ps(x, y, sum); }
LANE_INLINE vec_f32 vec_max_f32(vec_f32 x, vec_f32 y) { return _mm256_max_ps(x, y); }
/* bit j: x_j > y_j */
LANE_INLINE unsigned vec_above_f32(vec_f32 x, vec_f32 y) {
  return (unsigned)_mm256_movemask_ps(_mm256_cmp_ps(x, y, _CMP_GT_OQ));
}

/* Words of codes. Bits are counted by a table of half bytes. */
typedef __m256i vec_u64;
enum { VEC_U64 = 4 };

LANE_INLINE vec_u64 vec_load_u64(const uint64_t *p) { return _mm256_load_si256((const void *)p); }
LANE_INLINE void vec_store_u64(uint64_t *p, vec_u64 x) { _mm256_store_si256((void *)p, x); }
LANE_INLINE vec_u64 vec_spread_u64(uint64_t x) { return _mm256_set1_epi64x((long long)x); }
LANE_INLINE vec_u64 vec_xor_u64(vec_u64 x, vec_u64 y) { return _mm256_xor_si256(x, y); }
LANE_INLINE vec_u64 vec_add_u64(vec_u64 x, vec_u64 y) { return _mm256_add_epi64(x, y); }
LANE_INLINE vec_u64 vec_ones_u64(vec_u64 x) {
  __m256i low = _mm256_set1_epi8(15),
          table = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1,
                                   2, 2, 3, 2, 3, 3, 4);
  __m256i bytes = _mm256_add_epi8(_mm256_shuffle_epi8(table, _mm256_and_si256(x, low)),
                                  _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(x, 4), low)));
  return _mm256_sad_epu8(bytes, _mm256_setzero_si256());
}
/* Unaligned load; lanes i and i^1 swapped; low32(x) low32(y). */
LANE_INLINE vec_u64 vec_any_u64(const void *p) { return _mm256_loadu_si256(p); }
LANE_INLINE vec_u64 vec_swap_u64(vec_u64 x) { return _mm256_shuffle_epi32(x, 0x4e); }
LANE_INLINE vec_u64 vec_product_u32(vec_u64 x, vec_u64 y) { return _mm256_mul_epu32(x, y); }
LANE_INLINE vec_u64 vec_right_u64(vec_u64 x, int bits) { return _mm256_srli_epi64(x, bits); }
LANE_INLINE vec_u64 vec_left_u64(vec_u64 x, int bits) { return _mm256_slli_epi64(x, bits); }
/* Signed comparison: distances and limits are far below 2^63. */
LANE_INLINE unsigned vec_below_u64(vec_u64 x, vec_u64 y) {
  return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(y, x)));
}

#endif

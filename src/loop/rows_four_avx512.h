/* T1 for rows of four doubles, or results in double, on AVX-512: eight rows at a time, two to a register.
 *
 * What is known of a row (norm, factor, last number) is in one register for all eight, in the order in which sums of pairs
 * leave it: rows 0 4 2 6 1 5 3 7. */
#ifndef CPB_LOOP_ROWS_FOUR_AVX512_H
#define CPB_LOOP_ROWS_FOUR_AVX512_H

#include "loop/rows_eight_avx512.h"

enum { FOUR = 4, FOUR_PAIRS = EIGHT / 2 };

/* Rows 2k and 2k+1. */
LANE_INLINE __m512d four_pair(eight_shape shape, const char *in, size_t k) {
  size_t a = 2 * k * (FOUR + 1), b = a + FOUR + 1;
  if (shape.embedding) return eight_at(shape, in, k * EIGHT);
  if (shape.types.in_f32) {
    const float *x = (const float *)in;
    return _mm512_cvtps_pd(
        _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(x + a)), _mm_loadu_ps(x + b), 1));
  }
  const double *x = (const double *)in;
  return _mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_loadu_pd(x + a)), _mm256_loadu_pd(x + b), 1);
}

/* In the order of lanes_sum(): number j with j+2, then j+1. */
LANE_INLINE __m512d four_norms(const __m512d *pair) {
  __m512i across = _mm512_setr_epi64(2, 3, 8, 9, 6, 7, 12, 13);
  __m512d square[FOUR_PAIRS], two[2];
#pragma GCC unroll 4
  for (size_t k = 0; k < FOUR_PAIRS; k++) square[k] = _mm512_mul_pd(pair[k], pair[k]);
#pragma GCC unroll 2
  for (size_t k = 0; k < 2; k++)
    two[k] = _mm512_add_pd(_mm512_mask_blend_pd(0xcc, square[2 * k], square[2 * k + 1]),
                           _mm512_permutex2var_pd(square[2 * k], across, square[2 * k + 1]));
  return _mm512_add_pd(_mm512_mask_blend_pd(0xaa, two[0], two[1]), _mm512_shuffle_pd(two[0], two[1], 0x55));
}

/* The last numbers of rows that have five. */
LANE_INLINE __m512d four_lasts(eight_shape shape, const char *in) {
  __m512i pick = _mm512_setr_epi64(0, 0, 8, 8, 5, 5, 13, 13);
  __m512d last[FOUR_PAIRS];
#pragma GCC unroll 4
  for (size_t k = 0; k < FOUR_PAIRS; k++) last[k] = eight_at(shape, in, 2 * k * (FOUR + 1) + FOUR);
  return _mm512_mask_blend_pd(0xaa, _mm512_permutex2var_pd(last[0], pick, last[1]),
                              _mm512_permutex2var_pd(last[2], pick, last[3]));
}

/* Pairs of rows times their factors. */
LANE_INLINE void four_times(__m512d *pair, __m512d factor) {
  pair[0] = _mm512_mul_pd(pair[0], _mm512_permutexvar_pd(_mm512_setr_epi64(0, 0, 0, 0, 4, 4, 4, 4), factor));
  pair[1] = _mm512_mul_pd(pair[1], _mm512_permutexvar_pd(_mm512_setr_epi64(2, 2, 2, 2, 6, 6, 6, 6), factor));
  pair[2] = _mm512_mul_pd(pair[2], _mm512_permutexvar_pd(_mm512_setr_epi64(1, 1, 1, 1, 5, 5, 5, 5), factor));
  pair[3] = _mm512_mul_pd(pair[3], _mm512_permutexvar_pd(_mm512_setr_epi64(3, 3, 3, 3, 7, 7, 7, 7), factor));
}

/* Rows with a last number each, as lines: of a pair, the last numbers and the next pair. */
LANE_INLINE void four_joined(const __m512d *pair, __m512d last, __m512d *line) {
  line[0] = _mm512_permutex2var_pd(pair[0], _mm512_setr_epi64(0, 1, 2, 3, 8, 4, 5, 6), last);
  line[1] = _mm512_permutex2var_pd(pair[0], _mm512_setr_epi64(7, 12, 0, 0, 0, 0, 10, 0), last);
  line[1] = _mm512_permutex2var_pd(line[1], _mm512_setr_epi64(0, 1, 8, 9, 10, 11, 6, 12), pair[1]);
  line[2] = _mm512_permutex2var_pd(pair[1], _mm512_setr_epi64(5, 6, 7, 14, 0, 0, 0, 0), last);
  line[2] = _mm512_permutex2var_pd(line[2], _mm512_setr_epi64(0, 1, 2, 3, 8, 9, 10, 11), pair[2]);
  line[3] = _mm512_permutex2var_pd(pair[2], _mm512_setr_epi64(9, 4, 5, 6, 7, 13, 0, 0), last);
  line[3] = _mm512_permutex2var_pd(line[3], _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 8, 9), pair[3]);
  line[4] = _mm512_permutex2var_pd(pair[3], _mm512_setr_epi64(2, 3, 11, 4, 5, 6, 7, 15), last);
}

/* The lines of the results of eight rows; false when one of them needs care. */
LANE_INLINE bool four_lines(eight_shape shape, const double *taken, double s, const char *in, __m512d *line) {
  __m512d center = _mm512_broadcast_f64x4(_mm256_loadu_pd(taken)), pair[FOUR_PAIRS];
#pragma GCC unroll 4
  for (size_t k = 0; k < FOUR_PAIRS; k++) {
    pair[k] = four_pair(shape, in, k);
    if (shape.embedding) pair[k] = _mm512_sub_pd(pair[k], center);
  }
  __m512d n = four_norms(pair);
  eight_factors f = shape.embedding ? eight_embed_factors(n, s)
                                    : eight_unembed_factors(n, four_lasts(shape, in), s, result_most(shape));
  four_times(pair, f.factor);
  if (shape.embedding)
    four_joined(pair, f.last, line);
  else {
#pragma GCC unroll 4
    for (size_t k = 0; k < FOUR_PAIRS; k++) line[k] = _mm512_sub_pd(pair[k], center);
  }
  return f.fine;
}

#endif

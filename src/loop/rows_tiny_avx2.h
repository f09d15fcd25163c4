/* T1 for rows of up to CPB_SHORT_MOST floats on AVX2: eight rows at a time, by columns. */
#ifndef CPB_LOOP_ROWS_TINY_AVX2_H
#define CPB_LOOP_ROWS_TINY_AVX2_H

#include "loop/lanes_avx2.h"
#include "loop/rows_singly.h"

#define REAL __m256
#define REAL_FMA _mm256_fmadd_ps
#define REAL_ABS(x) _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x)
#define REAL_MAX _mm256_max_ps
#define REAL_MIN _mm256_min_ps
#define REAL_SAME _mm256_set1_ps
#define REAL_BELOW(x, most) (_mm256_movemask_ps(_mm256_cmp_ps(x, _mm256_set1_ps(most), _CMP_LE_OQ)) == 0xff)
#define SHORT(name) eight_##name
#include "loop/short_factor.inc"

enum { EIGHT = 8 };

/* Eight rows; false when one of them needs care (then nothing is written). */
LANE_INLINE bool map_eight(const cpb_rows_job *job, const short_scale *scale, bool embedding, bool centered,
                           size_t d, size_t first) {
  const float *in = (const float *)job->in + first * job->in_stride;
  float *out = (float *)job->out + first * job->out_stride;
  __m256i rows =
      _mm256_mullo_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32((int)job->in_stride));
  __m256 column[CPB_SHORT_MOST + 1];
  const float *high = job->center.high, *low = job->center.low;
#pragma GCC unroll 5
  for (size_t j = 0; j < d + (embedding ? 0 : 1); j++) {
    column[j] = _mm256_i32gather_ps(in + j, rows, 4);
    if (centered && embedding) column[j] = column[j] - _mm256_set1_ps(high[j]) - _mm256_set1_ps(low[j]);
  }
  eight_factors f = eight_factors_of(column, d, embedding, scale);
  if (!f.fine) return false;
  float result[CPB_SHORT_MOST + 1][EIGHT];
#pragma GCC unroll 5
  for (size_t j = 0; j < d; j++) {
    __m256 x = _mm256_mul_ps(column[j], f.factor);
    if (centered && !embedding) x = x + _mm256_set1_ps(low[j]) + _mm256_set1_ps(high[j]);
    _mm256_storeu_ps(result[j], x);
  }
  if (embedding) _mm256_storeu_ps(result[d], f.last);
  _Static_assert(CPB_SHORT_MOST == 4, "columns are written one by one");
#pragma GCC unroll 8
  for (size_t r = 0; r < EIGHT; r++, out += job->out_stride) {
    if (d > 3) out[3] = result[3][r];
    if (d > 2) out[2] = result[2][r];
    if (d > 1) out[1] = result[1][r];
    out[0] = result[0][r];
    if (embedding) out[d] = result[d][r];
  }
  return true;
}

LANE_INLINE void tiny_of(const cpb_rows_job *job, bool embedding, bool centered, size_t d) {
  const short_scale scale = short_scale_of(job->s);
  size_t row = 0;
  for (; row + EIGHT <= job->n; row += EIGHT)
    if (__builtin_expect(!map_eight(job, &scale, embedding, centered, d, row), 0))
      walk_singly(job, row, EIGHT);
  walk_singly(job, row, job->n - row);
}

/* d becomes a constant. */
LANE_INLINE void tiny_rows(const cpb_rows_job *job, bool embedding, bool centered) {
#pragma GCC unroll 4
  for (size_t d = 1; d <= CPB_SHORT_MOST; d++)
    if (job->d == d) tiny_of(job, embedding, centered, d);
}

enum { SHORT_MOST = CPB_SHORT_MOST };

static bool short_rows_stream(const cpb_rows_job *job) {
  (void)job;
  return false;
}

static void short_rows(const cpb_rows_job *job) {
  if (job->embedding)
    tiny_rows(job, true, job->center.high != NULL);
  else
    tiny_rows(job, false, job->center.high != NULL);
}

#include "loop/short_unplanned.inc"

#endif

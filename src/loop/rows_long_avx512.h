/* T1 for long rows of floats on AVX-512.
 *
 * Four ranges of rows in lockstep, as in rows_walk.inc, line by line: sixteen numbers of the row to be written, and the same
 * sixteen of the next row, which is summed. Rows begin at any position in the cache lines of the output, the same one in all
 * ranges: a line of the output is joined from two of results, so that input loads stay aligned with the row. */
#ifndef CPB_LOOP_ROWS_LONG_AVX512_H
#define CPB_LOOP_ROWS_LONG_AVX512_H

#include "loop/rows_float.h"

#include "loop/rows_walk.inc"

static const cpb_rows_walk lines_walk = {"lines", "rows_long_avx512.h"};

enum { LONG_STREAMS = 4 };

/* The current rows, one of every range: `in` is summed, the row `back` bytes before it is written. */
typedef struct long_ranges {
  const char *in[LONG_STREAMS];
  char *out[LONG_STREAMS];
  lanes_f32 line[LONG_STREAMS]; /* the last results, of which `carried` are not written yet */
  size_t back;
} long_ranges;

typedef struct long_answers {
  float factor[LONG_STREAMS], last[LONG_STREAMS];
  unsigned fine; /* a bit each */
} long_answers;

enum { ALL_FINE = (1 << LONG_STREAMS) - 1 };

/* embed_factor() and unembed_factor() of four rows */
LANE_INLINE void answer_four(const cpb_rows_job *job, bool embedding, __m256d n, __m256d y0,
                             long_answers *f) {
  __m256d twice = _mm256_set1_pd(2 * job->s), one = _mm256_set1_pd(1);
  __m128 factor, last = _mm_setzero_ps();
  unsigned unit = ALL_FINE;
  if (embedding) {
    __m256d s2 = _mm256_set1_pd(job->s * job->s), inverse = one / (n + s2);
    factor = _mm256_cvtpd_ps(twice * inverse);
    last = _mm256_cvtpd_ps((s2 - n) * inverse);
  } else {
    __m256d rise = one + y0, gap = _mm256_fmadd_pd(rise, rise, n), excess = gap - (rise + rise);
    factor = _mm256_cvtpd_ps(twice / gap);
    unit = _mm256_cmp_pd_mask(_mm256_andnot_pd(_mm256_set1_pd(-0.0), excess), _mm256_set1_pd(UNIT_SLACK),
                              _CMP_LE_OQ);
  }
  f->fine = unit & _mm_cmp_ps_mask(factor, _mm_set1_ps(FACTOR_LEAST), _CMP_GE_OQ) &
            _mm_cmp_ps_mask(factor, _mm_set1_ps(FACTOR_MOST), _CMP_LE_OQ);
  _mm_storeu_ps(f->factor, factor);
  _mm_storeu_ps(f->last, last);
}

/* lanes_sum() of four rows */
LANE_INLINE __m256d four_sums(const lanes_f64 *x) {
  __m512d eight[4], four[2];
#pragma GCC unroll 4
  for (size_t r = 0; r < 4; r++) eight[r] = _mm512_add_pd(x[r].low, x[r].high);
#pragma GCC unroll 2
  for (size_t r = 0; r < 2; r++)
    four[r] = _mm512_add_pd(_mm512_mask_blend_pd(0xf0, eight[2 * r], eight[2 * r + 1]),
                            _mm512_shuffle_f64x2(eight[2 * r], eight[2 * r + 1], 0x4e));
  __m512d two = _mm512_add_pd(_mm512_shuffle_f64x2(four[0], four[1], 0x88),
                              _mm512_shuffle_f64x2(four[0], four[1], 0xdd));
  __m512d one = _mm512_add_pd(two, _mm512_permute_pd(two, 0x55));
  return _mm512_castpd512_pd256(_mm512_maskz_compress_pd(0x55, one));
}

/* Index that selects lanes `at` .. of one register and then those of a second. */
LANE_INLINE __m512i lanes_from(size_t at) {
  __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  return _mm512_add_epi32(lane, _mm512_set1_epi32((int)at));
}

/* Numbers i .. i+count-1 of the centre, then 0; loaded once for all ranges. */
typedef struct long_center {
  lanes_f32 high, low;
} long_center;

LANE_INLINE lanes_f32 long_part(const float *p, size_t count) {
  return count == CPB_LANES ? load_f32(p) : part_f32(p, 0, count);
}

LANE_INLINE long_center long_center_at(const cpb_rows_job *job, row_kind kind, size_t i, size_t count) {
  if (!kind.centered) return (long_center){_mm512_setzero_ps(), _mm512_setzero_ps()};
  return (long_center){long_part(job->center.high + i, count),
                       job->center.twofold ? long_part(job->center.low + i, count) : _mm512_setzero_ps()};
}

/* The same numbers of a row; embedding, about the centre. */
LANE_INLINE lanes_f32 long_numbers(row_kind kind, const char *in, size_t i, size_t count,
                                   long_center center) {
  lanes_f32 x = long_part((const float *)in + i, count);
  return kind.embedding && kind.centered ? lanes_less(lanes_less(x, center.high), center.low) : x;
}

/* Adds a line to the sums; widening costs half from memory. */
LANE_INLINE void long_sum(row_kind kind, const long_ranges *ranges, size_t i, size_t count,
                          long_center center, lanes_f64 *sum) {
  EACH_STREAM
  for (size_t r = 0; r < LONG_STREAMS; r++)
    if (count < CPB_LANES || (kind.embedding && kind.centered))
      sum[r] = lanes_add_square(sum[r], long_numbers(kind, ranges->in[r], i, count, center));
    else
      sum[r] = add_square_f32(sum[r], ranges->in[r] + i * sizeof(float));
}

/* The same line of the result of a row that is written. */
LANE_INLINE lanes_f32 long_result(row_kind kind, const long_ranges *ranges, size_t r, size_t i, size_t count,
                                  long_center center, float factor) {
  lanes_f32 y = lanes_times(long_numbers(kind, ranges->in[r] - ranges->back, i, count, center), factor);
  return kind.embedding || !kind.centered ? y : lanes_plus(lanes_plus(y, center.low), center.high);
}

/* Once per line. */
LANE_INLINE void long_prefetch(const long_ranges *ranges, size_t k, size_t ahead) {
  EACH_STREAM
  for (size_t r = 0; r < LONG_STREAMS; r++) lanes_prefetch(ranges->in[r] + k * sizeof(float) + ahead);
}

/* A whole line of the output. */
LANE_INLINE void long_store(const cpb_rows_job *job, float *out, lanes_f32 line) {
  if (job->stream)
    lanes_stream(out, line);
  else
    _mm512_store_ps(out, line);
}

/* Writes what remains of the current lines. */
LANE_INLINE void flush_long(const long_ranges *ranges, size_t carried) {
  EACH_STREAM
  for (size_t r = 0; r < LONG_STREAMS; r++)
    store_part((float *)ranges->out[r] - CPB_LANES, ranges->line[r], CPB_LANES - carried, CPB_LANES);
}

/* Rows that need care, or that begin within a line that others began: their end is treated as carried. */
LANE_INLINE void long_singly(const cpb_rows_job *job, long_ranges *ranges, size_t rows, size_t row) {
  EACH_STREAM
  for (size_t r = 0; r < LONG_STREAMS; r++) {
    cpb_rows_plain_some(job, r * rows + row, 1);
    ranges->line[r] = load_f32((const float *)ranges->out[r] + job->out_stride - CPB_LANES);
  }
}

LANE_INLINE long_ranges long_begin(const cpb_rows_job *job, size_t rows, size_t row_bytes) {
  long_ranges ranges = {.back = 0};
  EACH_STREAM
  for (size_t r = 0; r < LONG_STREAMS; r++) {
    ranges.in[r] = (const char *)job->in + r * rows * row_bytes;
    ranges.out[r] = (char *)job->out + r * rows * job->out_stride * sizeof(float);
    ranges.line[r] = _mm512_setzero_ps();
  }
  return ranges;
}

/* To the next row; writing lags one row behind. */
LANE_INLINE void long_advance(const cpb_rows_job *job, long_ranges *ranges, bool written, size_t row_bytes) {
  ranges->back = row_bytes;
  EACH_STREAM
  for (size_t r = 0; r < LONG_STREAMS; r++) {
    ranges->in[r] += row_bytes;
    if (written) ranges->out[r] += job->out_stride * sizeof(float);
  }
}

LANE_INLINE void long_answers_of(const cpb_rows_job *job, row_kind kind, const long_ranges *ranges,
                                 const lanes_f64 *sum, long_answers *f) {
  __m256d y0 = _mm256_setzero_pd();
  size_t d = job->d;
  const char *const *in = ranges->in;
  if (!kind.embedding)
    y0 = _mm256_cvtps_pd(_mm_setr_ps(((const float *)in[0])[d], ((const float *)in[1])[d],
                                     ((const float *)in[2])[d], ((const float *)in[3])[d]));
  answer_four(job, kind.embedding, four_sums(sum), y0, f);
}

/* Layout of a row: `whole` numbers in complete lines, then `count` more; the last part of a result has `length`. */
typedef struct long_lines {
  size_t whole, count, length;
} long_lines;

LANE_INLINE long_lines long_lines_of(const cpb_rows_job *job, bool embedding) {
  size_t count = job->d % CPB_LANES;
  return (long_lines){job->d - count, count, count + (embedding ? 1 : 0)};
}

/* Numbers k .. k+15 of every result, after those carried, which completes a line. */
LANE_INLINE void long_write(const cpb_rows_job *job, row_kind kind, long_ranges *ranges, size_t k,
                            size_t phase, long_center center, const long_answers *f) {
  __m512i shift = lanes_from(CPB_LANES - phase);
  EACH_STREAM
  for (size_t r = 0; r < LONG_STREAMS; r++) {
    lanes_f32 y = long_result(kind, ranges, r, k, CPB_LANES, center, f->factor[r]);
    long_store(job, (float *)ranges->out[r] + k - phase, _mm512_permutex2var_ps(ranges->line[r], shift, y));
    ranges->line[r] = y;
  }
}

/* The end of every result: an incomplete line is carried to the next row. */
LANE_INLINE void long_write_end(const cpb_rows_job *job, row_kind kind, long_ranges *ranges, long_lines lines,
                                size_t phase, long_center center, const long_answers *f) {
  __m512i shift = lanes_from(CPB_LANES - phase), waits = lanes_from(lines.length);
  EACH_STREAM
  for (size_t r = 0; r < LONG_STREAMS; r++) {
    lanes_f32 y = long_result(kind, ranges, r, lines.whole, lines.count, center, f->factor[r]);
    if (kind.embedding) y = lanes_set(y, lines.count, f->last[r]);
    if (phase + lines.length >= CPB_LANES)
      long_store(job, (float *)ranges->out[r] + lines.whole - phase,
                 _mm512_permutex2var_ps(ranges->line[r], shift, y));
    ranges->line[r] = _mm512_permutex2var_ps(ranges->line[r], waits, y);
  }
}

/* Round i writes row i-1 of every range and sums row i; the last one is summed again, for nothing. */
LANE_INLINE void long_walk(const cpb_rows_job *asked, row_kind kind, size_t rows) {
  const cpb_rows_job own = *asked, *job = &own; /* local copy: cannot alias the output */
  const long_lines lines = long_lines_of(job, kind.embedding);
  size_t row_bytes = job->in_stride * kind.size;
  size_t ahead = prefetch_distance(row_bytes, kind.size, sizeof(float));
  long_ranges ranges = long_begin(job, rows, row_bytes);
  long_answers f = {.fine = 0};
  size_t carried = 0;
  for (size_t i = 0; i <= rows; i++) {
    size_t phase = group_phase(ranges.out[0], sizeof(float));
    bool write = f.fine == ALL_FINE && carried == phase;
    if (!write && i > 0) {
      flush_long(&ranges, carried);
      long_singly(job, &ranges, rows, i - 1);
    }
    lanes_f64 sum[LONG_STREAMS];
    EACH_STREAM
    for (size_t r = 0; r < LONG_STREAMS; r++) sum[r] = lanes_zero();
    for (size_t k = 0; k < lines.whole; k += CPB_LANES) {
      long_center center = long_center_at(job, kind, k, CPB_LANES);
      if (write) long_write(job, kind, &ranges, k, phase, center, &f);
      long_prefetch(&ranges, k, ahead);
      long_sum(kind, &ranges, k, CPB_LANES, center, sum);
    }
    long_center center = long_center_at(job, kind, lines.whole, lines.count);
    if (write) long_write_end(job, kind, &ranges, lines, phase, center, &f);
    if (lines.count > 0) long_sum(kind, &ranges, lines.whole, lines.count, center, sum);
    long_answers_of(job, kind, &ranges, sum, &f);
    if (i > 0) carried = (phase + lines.length) % CPB_LANES;
    long_advance(job, &ranges, i > 0, i + 1 < rows ? row_bytes : 0);
  }
  flush_long(&ranges, carried);
  lanes_fence();
}

LANE_INLINE size_t long_ranges_of(const cpb_rows_job *job, row_kind kind) {
  size_t rows = job->n / LONG_STREAMS / CPB_LANES * CPB_LANES;
  if (rows > 0) long_walk(job, kind, rows);
  return rows * LONG_STREAMS;
}

/* Rows that are not contiguous and the last few are left to walk_all(), without non-temporal stores. */
LANE_INLINE void long_rows(const cpb_rows_job *job, row_kind kind) {
  row_kind about = kind, bare = kind;
  about.centered = true, bare.centered = false;
  size_t done = 0;
  if (walk_streams(job)) done = kind.centered ? long_ranges_of(job, about) : long_ranges_of(job, bare);
  walk_all(job, kind, done, false);
}

#endif

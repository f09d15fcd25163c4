/* T1 for rows of two to four doubles, or results in double, on AVX-512: eight rows at a time; of two or three by columns.
 *
 * Eight rows are a whole number of lines on both sides. Their columns are taken out of the lines of the input, become
 * those of the result, and are put together to the lines of the output. Loops over them are unrolled, so that all stays in
 * registers. */
#ifndef CPB_LOOP_ROWS_COLUMN_AVX512_H
#define CPB_LOOP_ROWS_COLUMN_AVX512_H

#include "loop/rows_four_avx512.h"

enum { COLUMNS_MOST = 3, COLUMNS = COLUMNS_MOST + 1, LINES = FOUR + 1 };

/* Eight lanes out of two to four registers: which of the first two, or of the next ones. */
typedef struct column_pick {
  __m512i first; /* lane k of register j, j < 2: 8 j + k */
  __m512i
      next; /* of three: what is taken already (0..7), or lanes of the third (8..15); of four: of the last two */
  __mmask8 last; /* of four: lanes from the last two */
} column_pick;

typedef struct column_plan {
  column_pick column[COLUMNS]; /* column j out of the lines of the input */
  __m512i
      floats[COLUMNS / 2];   /* columns 2p, 2p+1 out of the first and the last sixteen floats of the input */
  column_pick line[COLUMNS]; /* line k out of the columns of the result */
  double center[FOUR], s;
  bool stream;
} column_plan;

/* Whether rows are so short, and lie without gaps. */
static bool by_columns(const cpb_rows_job *job) {
  size_t in_cols = job->d + (job->embedding ? 0 : 1), out_cols = job->d + (job->embedding ? 1 : 0);
  return job->d >= 2 && job->d <= FOUR && job->in_stride == in_cols && job->out_stride == out_cols;
}

/* Lane k of register j is at[..] = 8 j + k. */
static column_pick column_pick_of(const size_t at[EIGHT], size_t count) {
  int64_t first[EIGHT], next[EIGHT];
  column_pick pick = {.last = 0};
  for (size_t lane = 0; lane < EIGHT; lane++) {
    bool later = at[lane] >= 2 * EIGHT;
    first[lane] = (int64_t)(at[lane] % (2 * EIGHT));
    next[lane] = count == 4 ? first[lane] : (int64_t)(later ? at[lane] - EIGHT : lane);
    if (later) pick.last |= (__mmask8)lane_mask(lane, lane + 1);
  }
  pick.first = _mm512_loadu_si512(first);
  pick.next = _mm512_loadu_si512(next);
  return pick;
}

static __m512i floats_pick_of(size_t pair, size_t cols) {
  int32_t at[2 * EIGHT];
  for (size_t lane = 0; lane < 2 * EIGHT; lane++) {
    size_t number = lane % EIGHT * cols + 2 * pair + lane / EIGHT;
    at[lane] = (int32_t)(number < 2 * EIGHT ? number : number + 4 * EIGHT - cols * EIGHT);
  }
  return _mm512_loadu_si512(at);
}

static void plan_columns(const cpb_rows_job *job, bool stream, column_plan *plan) {
  size_t at[EIGHT];
  for (size_t j = 0; j < job->in_stride && job->d <= COLUMNS_MOST; j++) {
    for (size_t row = 0; row < EIGHT; row++) at[row] = row * job->in_stride + j;
    plan->column[j] = column_pick_of(at, job->in_stride);
  }
  for (size_t pair = 0; 2 * pair < job->in_stride && job->d <= COLUMNS_MOST; pair++)
    plan->floats[pair] = floats_pick_of(pair, job->in_stride);
  for (size_t k = 0; k < job->out_stride && job->d <= COLUMNS_MOST; k++) {
    for (size_t lane = 0; lane < EIGHT; lane++) {
      size_t number = k * EIGHT + lane;
      at[lane] = number % job->out_stride * EIGHT + number / job->out_stride;
    }
    plan->line[k] = column_pick_of(at, job->out_stride);
  }
  for (size_t j = 0; j < job->d; j++) plan->center[j] = job->center.taken[j];
  plan->s = job->s;
  plan->stream = stream;
}

LANE_INLINE __m512d column_picked(const column_pick *pick, const __m512d *from, size_t count) {
  __m512d x = _mm512_permutex2var_pd(from[0], pick->first, from[1]);
  if (count == 3) x = _mm512_permutex2var_pd(x, pick->next, from[2]);
  if (count == 4)
    x = _mm512_mask_mov_pd(x, pick->last, _mm512_permutex2var_pd(from[2], pick->first, from[3]));
  return x;
}

typedef float floats_pair[2 * EIGHT];

/* Columns of floats: widened as they lie in memory, which costs half; compilers would take them from the register. */
LANE_INLINE void float_columns(const column_plan *plan, const float *in, size_t cols, __m512d *x) {
  __m512 first = _mm512_loadu_ps(in), last = _mm512_loadu_ps(in + (cols - 2) * EIGHT);
#pragma GCC unroll 2
  for (size_t j = 0; j < cols; j += 2) {
    _Alignas(64) floats_pair pair;
    _mm512_store_ps(pair, _mm512_permutex2var_ps(first, plan->floats[j / 2], last));
    __asm__("" : "+m"(pair));
    x[j] = _mm512_cvtps_pd(_mm256_load_ps(pair));
    if (j + 1 < cols) x[j + 1] = _mm512_cvtps_pd(_mm256_load_ps(pair + EIGHT));
  }
}

LANE_INLINE void columns_at(const column_plan *plan, eight_shape shape, const char *in, size_t cols,
                            __m512d *x) {
  __m512d line[COLUMNS];
#pragma GCC unroll 8
  for (size_t k = 0; k < cols; k++) line[k] = eight_at(shape, in, k * EIGHT);
#pragma GCC unroll 8
  for (size_t j = 0; j < cols; j++) x[j] = column_picked(&plan->column[j], line, cols);
}

/* In the order of lanes_sum(): column j with j+2, then j+1. */
LANE_INLINE __m512d column_norm(const __m512d *x, size_t d) {
  __m512d square[COLUMNS_MOST];
#pragma GCC unroll 8
  for (size_t j = 0; j < d; j++) square[j] = _mm512_mul_pd(x[j], x[j]);
#pragma GCC unroll 8
  for (size_t j = 2; j < d; j++) square[j - 2] = _mm512_add_pd(square[j - 2], square[j]);
  return _mm512_add_pd(square[0], square[1]);
}

/* Squares of floats are exact, so they can be summed in one step. */
LANE_INLINE eight_factors column_factors(const column_plan *plan, eight_shape shape, const __m512d *x) {
  size_t d = shape.columns;
  if (shape.embedding) {
    __m512d n = column_norm(x, d);
    return d == 2 ? eight_embed_once(n, plan->s) : eight_embed_factors(n, plan->s);
  }
  if (!shape.types.in_f32) return eight_unembed_factors(column_norm(x, d), x[d], plan->s, result_most(shape));
  __m512d n = _mm512_mul_pd(x[0], x[0]);
  if (d == 3) n = _mm512_fmadd_pd(x[2], x[2], n);
  n = _mm512_fmadd_pd(x[1], x[1], n);
  return eight_unembed_near(n, _mm512_fmadd_pd(x[d], x[d], n), x[d], plan->s, result_most(shape));
}

/* The columns of the results of eight rows; false when one of them needs care. */
LANE_INLINE bool column_results(const column_plan *plan, eight_shape shape, const char *in, __m512d *x) {
  size_t d = shape.columns, cols = d + (shape.embedding ? 0 : 1);
  if (shape.types.in_f32)
    float_columns(plan, (const float *)in, cols, x);
  else
    columns_at(plan, shape, in, cols, x);
#pragma GCC unroll 8
  for (size_t j = 0; j < d; j++)
    if (shape.embedding) x[j] = _mm512_sub_pd(x[j], _mm512_set1_pd(plan->center[j]));
  eight_factors f = column_factors(plan, shape, x);
#pragma GCC unroll 8
  for (size_t j = 0; j < d; j++) {
    x[j] = _mm512_mul_pd(x[j], f.factor);
    if (!shape.embedding) x[j] = _mm512_sub_pd(x[j], _mm512_set1_pd(plan->center[j]));
  }
  if (shape.embedding) x[d] = f.last;
  return f.fine;
}

/* The lines of the results of eight rows; false when one of them needs care. */
LANE_INLINE bool column_lines(const column_plan *plan, eight_shape shape, const char *in, __m512d *line) {
  size_t in_bytes = EIGHT * (shape.columns + (shape.embedding ? 0 : 1)) * in_size(shape);
  const size_t ahead = shape.types.out_f32 ? EIGHT_AHEAD : EIGHT_AHEAD / 2; /* of more ranges, less */
#pragma GCC unroll 8
  for (size_t i = 0; i < in_bytes; i += sizeof(__m512d)) lanes_prefetch(in + i + ahead);
  if (shape.columns == FOUR) return four_lines(shape, plan->center, plan->s, in, line);
  size_t cols = shape.columns + (shape.embedding ? 1 : 0);
  __m512d x[COLUMNS];
  bool fine = column_results(plan, shape, in, x);
#pragma GCC unroll 8
  for (size_t k = 0; k < cols; k++) line[k] = column_picked(&plan->line[k], x, cols);
  return fine;
}

/* Eight rows, or nothing when one of them needs care. */
LANE_INLINE bool map_columns(const column_plan *plan, eight_shape shape, const char *in, char *out) {
  size_t cols = shape.columns + (shape.embedding ? 1 : 0);
  __m512d line[LINES];
  if (__builtin_expect(!column_lines(plan, shape, in, line), 0)) return false;
#pragma GCC unroll 8
  for (size_t k = 0; k < cols; k++)
    write_eight(plan->stream, shape, 0xff, line[k], out + k * EIGHT * out_size(shape));
  return true;
}

/* Sixteen rows of results in float, or nothing. */
LANE_INLINE bool map_columns_narrowed(const column_plan *plan, eight_shape shape, const char *in, char *out) {
  size_t cols = shape.columns + (shape.embedding ? 1 : 0);
  size_t eight_bytes = EIGHT * (shape.columns + (shape.embedding ? 0 : 1)) * in_size(shape);
  __m512d line[2 * LINES];
  bool fine = column_lines(plan, shape, in, line);
  fine &= column_lines(plan, shape, in + eight_bytes, line + cols);
  if (__builtin_expect(!fine, 0)) return false;
#pragma GCC unroll 8
  for (size_t k = 0; k < cols; k++) {
    __m512 y = lanes_narrow((lanes_f64){line[2 * k], line[2 * k + 1]});
    if (plan->stream)
      _mm512_stream_ps((float *)out + 2 * k * EIGHT, y);
    else
      _mm512_storeu_ps((float *)out + 2 * k * EIGHT, y);
  }
  return true;
}

#endif

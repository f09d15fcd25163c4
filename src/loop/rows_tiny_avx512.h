/* T1 for rows of up to CPB_SHORT_MOST floats on AVX-512: sixteen rows at a time, by columns.
 *
 * Sixteen rows are a whole number of lines on both sides. Their columns are taken out of the lines of the
 * input, become those of the result by short_factor.inc, and are put together to the lines of the output. Four
 * ranges of rows take turns, which keeps memory busy. */
#ifndef CPB_LOOP_ROWS_TINY_AVX512_H
#define CPB_LOOP_ROWS_TINY_AVX512_H

#include "loop/lanes_avx512.h"
#include "loop/rows_made_avx512.h"
#include "loop/rows_singly.h"

#define REAL __m512
#define REAL_FMA _mm512_fmadd_ps
#define REAL_ABS _mm512_abs_ps
#define REAL_MAX _mm512_max_ps
#define REAL_MIN _mm512_min_ps
#define REAL_SAME _mm512_set1_ps
#define REAL_BELOW(x, most) (_mm512_cmp_ps_mask(x, _mm512_set1_ps(most), _CMP_LE_OQ) == 0xffff)
#define SHORT(name) sixteen_##name
#include "loop/short_factor.inc"

enum { TINY_ROWS = 16, TINY_MOST = CPB_SHORT_MOST, TINY_COLUMNS = TINY_MOST + 1 };

/* Sixteen lanes out of up to TINY_COLUMNS registers: lane k of register j is index[..] = 16 j + k, of which
 * instructions look at the part that says which of two registers; `pair` are the lanes from registers 2p,
 * 2p+1. */
typedef struct tiny_pick {
  __m512i index;
  __mmask16 pair[(TINY_COLUMNS + 1) / 2];
} tiny_pick;

typedef struct tiny_plan {
  tiny_pick column[TINY_COLUMNS]; /* column j out of the lines of the input */
  tiny_pick line[TINY_COLUMNS];   /* line k out of the columns of the result */
  __mmask16 own[TINY_COLUMNS];    /* lanes of line k that are written */
} tiny_plan;

/* What is known when a loop is compiled; `stream` before it starts. */
typedef struct tiny_shape {
  size_t d, in_stride, out_stride;
  bool embedding, centered, stream;
} tiny_shape;

static tiny_pick pick_of(const size_t at[TINY_ROWS]) {
  tiny_pick pick = {0};
  int32_t index[TINY_ROWS];
  for (size_t lane = 0; lane < TINY_ROWS; lane++) {
    index[lane] = (int32_t)(at[lane] % (2 * TINY_ROWS));
    pick.pair[at[lane] / (2 * TINY_ROWS)] |= lane_mask(lane, lane + 1);
  }
  pick.index = _mm512_loadu_si512(index);
  return pick;
}

static void plan_tiny(tiny_shape shape, tiny_plan *plan) {
  size_t at[TINY_ROWS], columns = shape.d + (shape.embedding ? 1 : 0);
  for (size_t j = 0; j < shape.in_stride; j++) {
    for (size_t row = 0; row < TINY_ROWS; row++) at[row] = row * shape.in_stride + j;
    plan->column[j] = pick_of(at);
  }
  for (size_t k = 0; k < shape.out_stride; k++) {
    plan->own[k] = 0;
    for (size_t lane = 0; lane < TINY_ROWS; lane++) {
      size_t number = k * TINY_ROWS + lane, row = number / shape.out_stride, j = number % shape.out_stride;
      if (j < columns) plan->own[k] |= lane_mask(lane, lane + 1);
      at[lane] = j < columns ? j * TINY_ROWS + row : 0;
    }
    plan->line[k] = pick_of(at);
  }
}

LANE_INLINE __m512 picked(const tiny_pick *pick, const __m512 *from, size_t count) {
  __m512 x = _mm512_permutex2var_ps(from[0], pick->index, from[count > 1 ? 1 : 0]);
#pragma GCC unroll 5
  for (size_t k = 2; k + 1 < count; k += 2)
    x = _mm512_mask_mov_ps(x, pick->pair[k / 2], _mm512_permutex2var_ps(from[k], pick->index, from[k + 1]));
  if (count > 2 && count % 2 == 1) /* of an index modulo 32 a permutation of one takes the low four bits */
    x = _mm512_mask_permutexvar_ps(x, pick->pair[count / 2], pick->index, from[count - 1]);
  return x;
}

/* The map's numbers. */
typedef struct tiny_numbers {
  short_scale scale;
  float high[TINY_MOST], low[TINY_MOST];
} tiny_numbers;

/* Sixteen rows; false when one of them needs care (then nothing is written). */
LANE_INLINE bool tiny_block(const tiny_plan *plan, const tiny_numbers *of, tiny_shape shape, const float *in,
                            float *out) {
  __m512 line[TINY_COLUMNS], x[TINY_COLUMNS];
#pragma GCC unroll 5
  for (size_t k = 0; k < shape.in_stride; k++) {
    lanes_prefetch((const char *)(in + k * TINY_ROWS) + PREFETCH_BYTES);
    line[k] = _mm512_loadu_ps(in + k * TINY_ROWS);
  }
#pragma GCC unroll 5
  for (size_t j = 0; j < shape.d + (shape.embedding ? 0 : 1); j++) {
    x[j] = picked(&plan->column[j], line, shape.in_stride);
    if (shape.centered && shape.embedding)
      x[j] = x[j] - _mm512_set1_ps(of->high[j]) - _mm512_set1_ps(of->low[j]);
  }
  sixteen_factors f =
      shape.embedding ? sixteen_embed(x, shape.d, &of->scale) : sixteen_unembed(x, shape.d, &of->scale);
  if (__builtin_expect(!f.fine, 0)) return false;
#pragma GCC unroll 5
  for (size_t j = 0; j < shape.d; j++) {
    x[j] = x[j] * f.factor;
    if (shape.centered && !shape.embedding)
      x[j] = x[j] + _mm512_set1_ps(of->low[j]) + _mm512_set1_ps(of->high[j]);
  }
  if (shape.embedding) x[shape.d] = f.last;
#pragma GCC unroll 5
  for (size_t k = 0; k < shape.out_stride; k++) {
    __m512 y = picked(&plan->line[k], x, shape.d + (shape.embedding ? 1 : 0));
    if (shape.stream)
      _mm512_stream_ps(out + k * TINY_ROWS, y);
    else if (shape.embedding || shape.out_stride == shape.d)
      _mm512_storeu_ps(out + k * TINY_ROWS, y);
    else
      _mm512_mask_storeu_ps(out + k * TINY_ROWS, plan->own[k], y);
  }
  return true;
}

/* From row `first` on. */
LANE_INLINE void tiny_walk(const cpb_rows_job *job, tiny_shape shape, size_t first) {
  size_t blocks = (job->n - first) / TINY_ROWS, per_range = blocks / STREAMS;
  tiny_plan planned;
  plan_tiny(shape, &planned);
  /* copies that no row written can be taken to change: they stay in registers where they fit */
  const tiny_plan plan = planned;
  tiny_numbers of = {.scale = short_scale_of(job->s)};
  for (size_t j = 0; shape.centered && j < shape.d; j++) {
    of.high[j] = job->center.high[j];
    of.low[j] = job->center.low[j];
  }
  const float *in = (const float *)job->in + first * shape.in_stride;
  float *out = (float *)job->out + first * shape.out_stride;
  for (size_t i = 0; i < blocks; i++) {
    size_t turn = i / STREAMS, range = i % STREAMS;
    size_t row = (turn < per_range ? range * per_range + turn : i) * TINY_ROWS;
    if (!tiny_block(&plan, &of, shape, in + row * shape.in_stride, out + row * shape.out_stride))
      walk_singly(job, first + row, TINY_ROWS);
  }
  walk_singly(job, first + blocks * TINY_ROWS, job->n - first - blocks * TINY_ROWS);
}

/* Halves and bytes are made to floats about the centre, so many blocks at a time, and one time before they are needed. */
enum { TINY_MADE = 4 };
typedef float tiny_room[TINY_MADE * TINY_MOST * TINY_ROWS];

LANE_INLINE void tiny_made_walk(const cpb_rows_job *job, tiny_shape shape, size_t first) {
  enum { TOGETHER = TINY_MADE * TINY_ROWS };
  const size_t row_bytes = shape.d * cpb_dtype_size(job->in_type), lines = TINY_MADE * shape.d;
  size_t count = (job->n - first) / TOGETHER, per_range = count / STREAMS;
  tiny_plan planned;
  plan_tiny(shape, &planned);
  const tiny_plan plan = planned;
  const tiny_numbers of = {.scale = short_scale_of(job->s)};
  const char *in = (const char *)job->in + first * row_bytes;
  float *out = (float *)job->out + first * shape.out_stride;
  rows_make *make = make_of(job->in_type);
  rows_center_lines center;
  plan_center(job, shape.d, lines, &center);
  _Alignas(64) tiny_room made[2];
  size_t row = 0, next = 0; /* turn 0 is the first of the first range */
  if (count > 0) make(in, lines, &center, made[0]);
  for (size_t i = 0; i < count; i++, row = next) {
    size_t turn = (i + 1) / STREAMS, range = (i + 1) % STREAMS;
    next = (turn < per_range ? range * per_range + turn : i + 1) * TOGETHER;
    if (i + 1 < count) make(in + next * row_bytes, lines, &center, made[(i + 1) % 2]);
    for (size_t k = 0; k < TOGETHER; k += TINY_ROWS)
      if (!tiny_block(&plan, &of, shape, made[i % 2] + k * shape.d, out + (row + k) * shape.out_stride))
        walk_singly(job, first + row + k, TINY_ROWS);
  }
  walk_singly(job, first + count * TOGETHER, job->n - first - count * TOGETHER);
}

/* Everything of the shape becomes a constant; padded rows have one float beyond d on either side. */
LANE_INLINE void tiny_rows_of(const cpb_rows_job *job, tiny_shape shape, bool padded, size_t first) {
  shape.in_stride = shape.d + (padded || !shape.embedding ? 1 : 0);
  shape.out_stride = shape.d + (padded || shape.embedding ? 1 : 0);
  tiny_walk(job, shape, first);
}

typedef void tiny_loop(const cpb_rows_job *job, bool padded, bool stream, size_t first);

/* A function each, like beside like: many small ones are compiled, and packed, better than a large one. */
#define TINY_LOOP(name, columns, forth, about)                                                               \
  static __attribute__((noinline)) void name(const cpb_rows_job *job, bool padded, bool stream,              \
                                             size_t first) {                                                 \
    tiny_shape shape = {.d = columns, .embedding = forth, .centered = about, .stream = stream};              \
    if (padded)                                                                                              \
      tiny_rows_of(job, shape, true, first);                                                                 \
    else                                                                                                     \
      tiny_rows_of(job, shape, false, first);                                                                \
  }
#define TINY_MADE_LOOP(columns)                                                                              \
  static __attribute__((noinline)) void tiny_made_##columns(const cpb_rows_job *job, bool padded,            \
                                                            bool stream, size_t first) {                     \
    (void)padded;                                                                                            \
    tiny_made_walk(job, (tiny_shape){columns, columns, columns + 1, true, false, stream}, first);            \
  }
#define TINY_LOOPS(columns)                                                                                  \
  TINY_MADE_LOOP(columns)                                                                                    \
  TINY_LOOP(tiny_forth_##columns, columns, true, false)                                                      \
  TINY_LOOP(tiny_forth_about_##columns, columns, true, true)                                                 \
  TINY_LOOP(tiny_back_##columns, columns, false, false)                                                      \
  TINY_LOOP(tiny_back_about_##columns, columns, false, true)
TINY_LOOPS(1)
TINY_LOOPS(2)
TINY_LOOPS(3)
TINY_LOOPS(4)
#undef TINY_LOOPS
#undef TINY_MADE_LOOP
#undef TINY_LOOP

/* By columns, then embedding or not, about a centre or not. */
static tiny_loop *const tiny_loops[TINY_MOST][2][2] = {
    {{tiny_back_1, tiny_back_about_1}, {tiny_forth_1, tiny_forth_about_1}},
    {{tiny_back_2, tiny_back_about_2}, {tiny_forth_2, tiny_forth_about_2}},
    {{tiny_back_3, tiny_back_about_3}, {tiny_forth_3, tiny_forth_about_3}},
    {{tiny_back_4, tiny_back_about_4}, {tiny_forth_4, tiny_forth_about_4}}};

static tiny_loop *const tiny_made_loops[TINY_MOST] = {tiny_made_1, tiny_made_2, tiny_made_3, tiny_made_4};

/* Past the cache where rows begin lines and none of them is padded; halves and bytes never are. */
static void tiny_rows(const cpb_rows_job *job) {
  tiny_loop *loop = job->in_type == CPB_F32 ? tiny_loops[job->d - 1][job->embedding][job->center.high != NULL]
                                            : tiny_made_loops[job->d - 1];
  bool padded = job->embedding ? job->in_stride > job->d : job->out_stride > job->d;
  size_t skip = rows_to_group(job, sizeof(float));
  bool stream = job->stream && !padded && skip < job->n;
  if (!stream) skip = 0;
  walk_singly(job, 0, skip);
  loop(job, padded, stream, skip);
  if (stream) lanes_fence();
}

#endif

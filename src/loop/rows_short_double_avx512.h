/* T1 for short rows of doubles, or results in double, on AVX-512: eight rows at a time. rows_double_plan.inc says when.
 *
 * Eight rows are a whole number of lines on both sides, so they have a fixed plan: for every lane of every output
 * line, which input number, which row's factor and which number of the centre it takes. Norms of eight rows are
 * summed by a transposing tree in the order of lanes_sum(). Ranges of rows take turns; with results in float of two
 * eights, which are whole lines of the cache. */
#ifndef CPB_LOOP_ROWS_SHORT_DOUBLE_AVX512_H
#define CPB_LOOP_ROWS_SHORT_DOUBLE_AVX512_H

#include <string.h>

#include "loop/rows_column_avx512.h"
#include "loop/rows_eight_avx512.h"

enum {
  SHORT_DOUBLES = 47,
  SHORT_WIDENED = 63,
  SHORT_NARROWED = 30,
  SHORT_SMALL = 40
}; /* measured: beyond, the walk is faster */

/* Lines of one row, and then the line where it ends, which is put together, if there is one. Places are in bytes within
 * the block's input. */
typedef struct eight_run {
  size_t lines, from;
  size_t row, column; /* of the lines' factor and centre */
  __m512i source;     /* index into the 16 numbers from `start`; embedding: 8 of them and eight ones */
  __m512i factor;     /* index into the rows' factors (0..7) and last coordinates (8..15) */
  __m512d center;     /* what is subtracted, from a number or from a result */
  size_t start;
  __mmask8 own; /* lanes of the last line that are written; 0: there is none */
} eight_run;

/* Line k of the output. */
static void plan_end(const cpb_rows_job *job, size_t k, eight_run *run) {
  int64_t source[EIGHT], factor[EIGHT];
  double center[EIGHT];
  size_t start = SIZE_MAX;
  for (size_t lane = 0; lane < EIGHT; lane++) {
    size_t number = k * EIGHT + lane, row = number / job->out_stride, column = number % job->out_stride;
    bool scaled = column < job->d, last = job->embedding && column == job->d;
    size_t from = row * job->in_stride + column;
    if (scaled && from < start) start = from;
    source[lane] = scaled ? (int64_t)from : -1;
    factor[lane] = (int64_t)(row + (last ? EIGHT : 0));
    center[lane] = scaled ? job->center.taken[column] : 0;
    if (scaled || last) run->own |= (__mmask8)(1u << lane);
  }
  if (start == SIZE_MAX) start = 0;
  for (size_t lane = 0; lane < EIGHT; lane++)
    source[lane] = source[lane] < 0 ? EIGHT : source[lane] - (int64_t)start; /* a one */
  run->start = start * cpb_dtype_size(job->in_type);
  run->source = _mm512_loadu_si512(source);
  run->factor = _mm512_loadu_si512(factor);
  run->center = _mm512_loadu_pd(center);
}

/* What is known before it starts. */
typedef struct eight_plan {
  eight_run run[EIGHT];
  size_t runs;
  __m512i lasts; /* where the last numbers of the rows are */
  const double *center;
  size_t eights;    /* of a row, the last of which may be part of one: */
  __mmask8 in_last; /* its lanes */
  double s;
  size_t ahead; /* bytes from what is written to what is fetched */
  bool stream;
  column_plan columns; /* of rows that go by columns; else all before it */
} eight_plan;

static void plan_eight_runs(const cpb_rows_job *job, eight_plan *plan) {
  plan->runs = 0;
  for (size_t k = 0; k < job->out_stride;) {
    eight_run *run = &plan->run[plan->runs++];
    run->row = k * EIGHT / job->out_stride;
    run->column = k * EIGHT % job->out_stride;
    run->from = (run->row * job->in_stride + run->column) * cpb_dtype_size(job->in_type);
    run->lines = run->column < job->d ? (job->d - run->column) / EIGHT : 0;
    if (run->column + EIGHT == job->out_stride) run->lines = 0; /* alone it is cheaper put together */
    k += run->lines;
    run->own = 0;
    if (run->column + run->lines * EIGHT < job->out_stride) plan_end(job, k++, run);
  }
}

static void plan_eights(const cpb_rows_job *job, bool stream, eight_plan *plan) {
  if (by_columns(job)) {
    plan_columns(job, stream, &plan->columns);
    return;
  }
  plan_eight_runs(job, plan);
  int64_t lasts[EIGHT];
  for (size_t row = 0; row < EIGHT; row++) lasts[row] = (int64_t)(row * job->in_stride + job->d);
  plan->lasts = _mm512_loadu_si512(lasts);
  plan->center = job->center.taken;
  plan->eights = (job->d + EIGHT - 1) / EIGHT;
  plan->in_last = (__mmask8)lane_mask(0, job->d - (plan->eights - 1) * EIGHT);
  plan->s = job->s;
  size_t turn = job->in_stride * cpb_dtype_size(job->in_type) * EIGHT * (job->out_type == CPB_F32 ? 2 : 1);
  plan->ahead = turn < EIGHT_AHEAD ? EIGHT_AHEAD : turn;
  plan->stream = stream;
}

/* The squares of eight `k` of every row, more than there were; of the first two there were none. */
LANE_INLINE void add_squares(const eight_plan *plan, eight_shape shape, const char *in, size_t stride,
                             size_t k, bool first, __m512d *sum) {
  __m512d center = _mm512_loadu_pd(plan->center + k * EIGHT);
  __mmask8 own = k + 1 < plan->eights ? 0xff : plan->in_last;
#pragma GCC unroll 8
  for (size_t r = 0; r < EIGHT; r++) {
    __m512d x = eight_at(shape, in + r * stride, k * EIGHT);
    if (shape.embedding) x = _mm512_sub_pd(center, x); /* the same square, and x comes straight from memory */
    x = _mm512_maskz_mul_pd(own, x, x);
    sum[r] = first ? x : _mm512_add_pd(sum[r], x);
  }
}

/* Lane j with j+8, then with j+4 of rows k and k+4, for k = 0 .. 3. */
LANE_INLINE void pair_sums(const eight_plan *plan, eight_shape shape, const char *in, size_t stride,
                           __m512d *pair) {
  __m512d even[EIGHT], odd[EIGHT];
  add_squares(plan, shape, in, stride, 0, true, even);
  if (plan->eights > 1) {
    add_squares(plan, shape, in, stride, 1, true, odd);
    for (size_t k = 2; k < plan->eights; k += 2) {
      add_squares(plan, shape, in, stride, k, false, even);
      if (k + 1 < plan->eights) add_squares(plan, shape, in, stride, k + 1, false, odd);
    }
#pragma GCC unroll 8
    for (size_t r = 0; r < EIGHT; r++) even[r] = _mm512_add_pd(even[r], odd[r]);
  }
#pragma GCC unroll 4
  for (size_t k = 0; k < 4; k++)
    pair[k] = _mm512_add_pd(_mm512_mask_blend_pd(0xf0, even[k], even[k + 4]),
                            _mm512_shuffle_f64x2(even[k], even[k + 4], 0x4e));
}

/* Then j+2, then j+1. */
LANE_INLINE __m512d eight_norms_of(const eight_plan *plan, eight_shape shape, const char *in, size_t stride) {
  __m512i across = _mm512_setr_epi64(2, 3, 8, 9, 6, 7, 12, 13);
  __m512d pair[4], two[2];
  pair_sums(plan, shape, in, stride, pair);
#pragma GCC unroll 2
  for (size_t k = 0; k < 2; k++)
    two[k] = _mm512_add_pd(_mm512_mask_blend_pd(0xcc, pair[k], pair[k + 2]),
                           _mm512_permutex2var_pd(pair[k], across, pair[k + 2]));
  return _mm512_add_pd(_mm512_mask_blend_pd(0xaa, two[0], two[1]), _mm512_shuffle_pd(two[0], two[1], 0x55));
}

/* The last numbers of eight rows. */
LANE_INLINE __m512d eight_lasts(const eight_plan *plan, eight_shape shape, const char *in) {
  return shape.types.in_f32 ? _mm512_cvtps_pd(_mm512_i64gather_ps(plan->lasts, in, 4))
                            : _mm512_i64gather_pd(plan->lasts, in, 8);
}

LANE_INLINE eight_factors eight_factors_of(const eight_plan *plan, eight_shape shape, const char *in,
                                           __m512d n) {
  return shape.embedding
             ? eight_embed_factors(n, plan->s)
             : eight_unembed_factors(n, eight_lasts(plan, shape, in), plan->s, result_most(shape));
}

LANE_INLINE __m512d eight_results(eight_shape shape, __m512d x, __m512d factor, __m512d center) {
  return shape.embedding ? _mm512_mul_pd(_mm512_sub_pd(x, center), factor)
                         : _mm512_sub_pd(_mm512_mul_pd(x, factor), center);
}

/* What stays the same for eight rows, and where the next line goes. */
typedef struct eight_way {
  const char *in;
  char *out;
  size_t ahead;
  bool stream;
} eight_way;

LANE_INLINE void write_lines(const eight_run *run, eight_shape shape, eight_way *way, __m512d factor,
                             const double *center) {
  const char *in = way->in + run->from;
  size_t lines = run->lines;
  ONE_TEXT
  do {
    lanes_prefetch(in + way->ahead);
    __m512d x = eight_results(shape, eight_at(shape, in, 0), factor, _mm512_loadu_pd(center));
    write_eight(way->stream, shape, 0xff, x, way->out);
    in += EIGHT * in_size(shape);
    way->out += EIGHT * out_size(shape);
    center += EIGHT;
  } while (--lines > 0);
}

LANE_INLINE void write_end(const eight_run *run, eight_shape shape, eight_way *way, eight_factors f) {
  const char *in = way->in + run->start;
  lanes_prefetch(in + way->ahead);
  __m512d next = shape.embedding ? _mm512_set1_pd(1) : eight_at(shape, in, EIGHT);
  __m512d x = _mm512_permutex2var_pd(eight_at(shape, in, 0), run->source, next);
  __m512d factor = shape.embedding ? _mm512_permutex2var_pd(f.factor, run->factor, f.last)
                                   : _mm512_permutexvar_pd(run->factor, f.factor);
  write_eight(way->stream, shape, run->own, eight_results(shape, x, factor, run->center), way->out);
  way->out += EIGHT * out_size(shape);
}

LANE_INLINE void write_rows(const eight_plan *plan, eight_shape shape, const char *in, char *out,
                            eight_factors f) {
  double factor[EIGHT];
  _mm512_storeu_pd(factor, f.factor);
  eight_way way = {in, out, plan->ahead, plan->stream};
  const double *center = plan->center;
  const eight_run *run = plan->run, *end = run + plan->runs;
  ONE_TEXT
  for (; run < end; run++) {
    if (run->lines > 0) write_lines(run, shape, &way, _mm512_set1_pd(factor[run->row]), center + run->column);
    if (run->own != 0) write_end(run, shape, &way, f);
  }
}

typedef struct stage_source {
  size_t size;
  __m512 (*load)(const void *row);
  __m512 (*part)(const void *row, size_t from, size_t to);
} stage_source;

static const stage_source stage_f32 = {4, load_f32, part_f32}, stage_f16 = {2, load_f16, part_f16},
                          stage_u8 = {1, load_u8, part_u8}, stage_i8 = {1, load_i8, part_i8};

/* A run of `length` numbers as floats; writes up to sixteen more. */
LANE_INLINE void stage_run(const stage_source *source, const char *in, size_t length, float *out) {
  size_t i = 0;
  for (; i + CPB_LANES <= length; i += CPB_LANES) {
    lanes_prefetch(in + i * source->size + EIGHT_AHEAD);
    store_lanes(out + i, source->load(in + i * source->size));
  }
  if (i < length) store_lanes(out + i, source->part(in + i * source->size, 0, length - i));
}

static void stage_run_of(cpb_dtype type, const char *in, size_t length, float *out) {
  switch (type) {
  case CPB_F32: stage_run(&stage_f32, in, length, out); break;
  case CPB_F16: stage_run(&stage_f16, in, length, out); break;
  case CPB_U8: stage_run(&stage_u8, in, length, out); break;
  default: stage_run(&stage_i8, in, length, out);
  }
}

static rows_singly singly_small;

/* Rows one of which needs care. */
LANE_INLINE void rows_with_care(const cpb_rows_job *job, eight_shape shape, size_t row, size_t rows) {
  if (shape.made)
    singly_small(job, row, rows);
  else
    doubles_singly(job, shape.types, row, rows);
}

LANE_INLINE char *out_at(const cpb_rows_job *job, eight_shape shape, size_t row) {
  return (char *)job->out + row * job->out_stride * out_size(shape);
}

/* Turns of so many rows, which lie in ranges of `per_range` turns. */
typedef struct eight_turns {
  size_t first, rows, ranges, per_range, count;
} eight_turns;

/* Rows that are a line or two together come from more ranges. Measured. */
LANE_INLINE size_t eight_ranges(eight_shape shape) {
  return shape.columns > 0 && !shape.types.out_f32 && !shape.made ? 8 : 2;
}

LANE_INLINE eight_turns turns_of(const cpb_rows_job *job, eight_shape shape, size_t rows, size_t first,
                                 size_t after) {
  size_t left = job->n - first, count = left > after ? (left - after) / rows : 0,
         ranges = eight_ranges(shape);
  return (eight_turns){first, rows, ranges, count / ranges, count};
}

/* The first row of turn i. */
LANE_INLINE size_t row_of_eights(const eight_turns *turns, size_t i) {
  size_t turn = i / turns->ranges, range = i % turns->ranges;
  return turns->first + (turn < turns->per_range ? range * turns->per_range + turn : i) * turns->rows;
}

/* Turns that are made, one after the other in a ring, with room for what is read too far: of about sixteen numbers times
 * eight at least. */
enum { EIGHTS_AHEAD = 2, EIGHTS_RING = 4 };
typedef float eights_room[EIGHT * SHORT_SMALL + 2 * CPB_LANES];

LANE_INLINE size_t eights_made(size_t d) { return (CPB_LANES + d - 1) / d; }

LANE_INLINE void make_eights(const cpb_rows_job *job, const eight_turns *turns, size_t i, eights_room *ring) {
  if (i >= turns->count) return;
  size_t row_bytes = job->in_stride * cpb_dtype_size(job->in_type);
  stage_run_of(job->in_type, (const char *)job->in + row_of_eights(turns, i) * row_bytes,
               turns->rows * job->in_stride, ring[i % EIGHTS_RING]);
}

/* The rows of turn i, made or as they are. */
LANE_INLINE const char *turn_at(const cpb_rows_job *job, eight_shape shape, const eight_turns *turns,
                                size_t i, eights_room *ring) {
  return shape.made ? (const char *)ring[i % EIGHTS_RING]
                    : (const char *)job->in + row_of_eights(turns, i) * job->in_stride * in_size(shape);
}

/* Columns are taken of all that are written together, or every eight that is made for itself. */
LANE_INLINE void walk_columns(const cpb_rows_job *job, const column_plan *given, eight_shape shape,
                              const eight_turns *turns, eights_room *ring) {
  const column_plan columns = *given;
  size_t at_once = shape.made ? EIGHT : turns->rows, bytes = job->in_stride * in_size(shape) * at_once;
  for (size_t i = 0; i < turns->count; i++) {
    size_t row = row_of_eights(turns, i), end = row + turns->rows;
    if (shape.made) make_eights(job, turns, i + EIGHTS_AHEAD, ring);
    for (const char *in = turn_at(job, shape, turns, i, ring); row < end; row += at_once, in += bytes) {
      char *out = out_at(job, shape, row);
      if (!(shape.types.out_f32 ? map_columns_narrowed(&columns, shape, in, out)
                                : map_columns(&columns, shape, in, out)))
        rows_with_care(job, shape, row, at_once);
    }
  }
}

/* Eight rows under way. */
typedef struct eight_step {
  size_t row;
  const char *in;
  __m512d norms;
  eight_factors f;
} eight_step;

LANE_INLINE void finish_step(const cpb_rows_job *job, const eight_plan *plan, eight_shape shape,
                             const eight_step *step) {
  if (__builtin_expect(step->f.fine, 1))
    write_rows(plan, shape, step->in, out_at(job, shape, step->row), step->f);
  else
    rows_with_care(job, shape, step->row, EIGHT);
}

/* Embedding, norms are known first, factors a step later, and one later rows are written: one step for all would wait for its
 * divisions longer than a processor looks ahead. Unembedding is not faster so: it has roots to take, which fill its time. */
LANE_INLINE void walk_rows(const cpb_rows_job *job, const eight_plan *plan, eight_shape shape,
                           const eight_turns *turns, eights_room *ring) {
  const size_t lag = shape.embedding ? 2 : 0;
  size_t stride = job->in_stride * in_size(shape), per_turn = turns->rows / EIGHT,
         steps = turns->count * per_turn;
  eight_step written, known = {.in = job->in}, summed = {.in = job->in};
  for (size_t i = 0, turn = 0, k = 0; steps > 0 && i < steps + lag; i++) {
    written = known, known = summed; /* what is written makes room in the ring */
    if (lag > 0 && i >= lag) finish_step(job, plan, shape, &written);
    if (lag > 0 && i > 0) known.f = eight_factors_of(plan, shape, known.in, known.norms);
    if (i >= steps) continue;
    if (k == 0) {
      if (shape.made) make_eights(job, turns, turn + EIGHTS_AHEAD, ring);
      summed.row = row_of_eights(turns, turn);
      summed.in = turn_at(job, shape, turns, turn, ring);
    } else {
      summed.row += EIGHT;
      summed.in += EIGHT * stride;
    }
    summed.norms = eight_norms_of(plan, shape, summed.in, stride);
    if (++k == per_turn) k = 0, turn++;
    if (lag > 0) continue;
    summed.f = eight_factors_of(plan, shape, summed.in, summed.norms);
    finish_step(job, plan, shape, &summed);
  }
}

/* Rows from `first` on, but for the last `after`. Gives back how many were done. */
LANE_INLINE size_t walk_eights(const cpb_rows_job *asked, const eight_plan *plan, eight_shape shape,
                               size_t first, size_t after) {
  const cpb_rows_job own = *asked, *job = &own; /* which no row written can be taken to change */
  size_t together = (shape.made ? eights_made(job->d) : eights_together(shape.types)) * EIGHT;
  const eight_turns turns = turns_of(job, shape, together, first, after);
  _Alignas(64) eights_room ring[EIGHTS_RING];
  for (size_t i = 0; shape.made && i < EIGHTS_AHEAD; i++) make_eights(job, &turns, i, ring);
  if (shape.columns > 0)
    walk_columns(job, &plan->columns, shape, &turns, ring);
  else
    walk_rows(job, plan, shape, &turns, ring);
  return turns.count * together;
}

typedef size_t eights_loop(const cpb_rows_job *job, const eight_plan *plan, size_t first, size_t after);

/* A function each, as in rows_tiny_avx512.h. */
#define EIGHTS_LOOP(name, forth, of_types, cols, small)                                                      \
  static __attribute__((noinline)) size_t name(const cpb_rows_job *job, const eight_plan *plan,              \
                                               size_t first, size_t after) {                                 \
    return walk_eights(job, plan, (eight_shape){forth, of_types, cols, small}, first, after);                \
  }
#define EIGHTS_LOOPS(cols)                                                                                   \
  EIGHTS_LOOP(eights_forth_##cols, true, doubles_to_doubles, cols, false)                                    \
  EIGHTS_LOOP(eights_back_##cols, false, doubles_to_doubles, cols, false)                                    \
  EIGHTS_LOOP(eights_forth_widened_##cols, true, floats_to_doubles, cols, false)                             \
  EIGHTS_LOOP(eights_back_widened_##cols, false, floats_to_doubles, cols, false)                             \
  EIGHTS_LOOP(eights_forth_narrowed_##cols, true, doubles_to_floats, cols, false)                            \
  EIGHTS_LOOP(eights_back_narrowed_##cols, false, doubles_to_floats, cols, false)                            \
  EIGHTS_LOOP(eights_made_##cols, true, floats_to_doubles, cols, true)
EIGHTS_LOOPS(0)
EIGHTS_LOOPS(2)
EIGHTS_LOOPS(3)
EIGHTS_LOOPS(4)
#undef EIGHTS_LOOPS
#undef EIGHTS_LOOP

/* By columns, then types, then embedding or not. */
#define EIGHTS_LOOPS(cols)                                                                                   \
  {                                                                                                          \
    {eights_back_##cols, eights_forth_##cols}, {eights_back_widened_##cols, eights_forth_widened_##cols},    \
        {eights_back_narrowed_##cols, eights_forth_narrowed_##cols}, {                                       \
      NULL, eights_made_##cols                                                                               \
    }                                                                                                        \
  }
static eights_loop *const eights_loops[][4][2] = {
    [0] = EIGHTS_LOOPS(0), [2] = EIGHTS_LOOPS(2), [3] = EIGHTS_LOOPS(3), [4] = EIGHTS_LOOPS(4)};
#undef EIGHTS_LOOPS

static size_t eights_of(const cpb_rows_job *job, const eight_plan *plan, size_t first, size_t after) {
  size_t types = job->in_type > CPB_F64 ? 3 : job->in_type == CPB_F32 ? 1 : job->out_type == CPB_F32 ? 2 : 0;
  return eights_loops[by_columns(job) ? job->d : 0][types][job->embedding](job, plan, first, after);
}

/* Rows before the first that can be written past the cache, as it begins a line and none is padded; n when there is none. */
static size_t short_skip(const cpb_rows_job *job) {
  size_t row_bytes = job->out_stride * cpb_dtype_size(job->out_type);
  if (!job->stream || job->out_stride > job->d + (job->embedding ? 1 : 0)) return job->n;
  for (size_t row = 0; row < CPB_LANES && row < job->n; row++)
    if (((uintptr_t)job->out + row * row_bytes) % sizeof(__m512d) == 0) return row;
  return job->n;
}

static bool short_doubles_stream(const cpb_rows_job *job) { return short_skip(job) < job->n; }

/* In rows at most one number apart. Eights are read up to a line too far: the last rows go one by one. */
static void short_doubles(const cpb_rows_job *job) {
  eight_types types = {job->in_type == CPB_F32, job->out_type == CPB_F32};
  size_t skip = short_skip(job);
  bool stream = skip < job->n;
  if (!stream) skip = 0;
  eight_plan plan;
  plan_eights(job, stream, &plan);
  doubles_singly(job, types, 0, skip);
  size_t done = skip + eights_of(job, &plan, skip, 2 * EIGHT / job->in_stride + 1);
  if (stream) lanes_fence();
  doubles_singly(job, types, done, job->n - done);
}

/* Rows of halves or bytes that lie one after the other: by way of floats, which hold them. */
static void short_made(const cpb_rows_job *job) {
  size_t skip = short_skip(job);
  bool stream = skip < job->n;
  if (!stream) skip = 0;
  cpb_rows_job floats = *job;
  floats.in_type = CPB_F32;
  eight_plan plan;
  plan_eights(&floats, stream, &plan);
  singly_small(job, 0, skip);
  size_t done = skip + eights_of(job, &plan, skip, 0);
  if (stream) lanes_fence();
  singly_small(job, done, job->n - done);
}

/* Rows far apart are put one after the other, so many numbers at a time; halves and bytes as floats. */
enum { STAGE = 2048 };

typedef struct short_stage {
  double in[STAGE + CPB_LANES]; /* or floats */
  const cpb_rows_job *job;
  size_t first; /* row of the job */
} short_stage;

static void stage_careful(void *context, size_t row) {
  const short_stage *stage = context;
  stage->job->careful(stage->job->context, stage->first + row);
}

static void stage_in(const cpb_rows_job *job, size_t first, size_t count, size_t cols, void *to) {
  size_t row_bytes = job->in_stride * cpb_dtype_size(job->in_type);
  size_t run = job->in_stride == cols ? count * cols : cols;
  const char *in = (const char *)job->in + first * row_bytes;
  for (size_t done = 0; done < count * cols; done += run, in += row_bytes)
    if (job->in_type == CPB_F64)
      memcpy((double *)to + done, in, run * sizeof(double));
    else
      stage_run_of(job->in_type, in, run, (float *)to + done);
}

/* The first stage ends where lines begin that go past the cache. */
static void short_staged(const cpb_rows_job *job) {
  if (job->in_type > CPB_F64 && job->in_stride == job->d && job->embedding) {
    short_made(job);
    return;
  }
  short_stage stage;
  stage.job = job;
  size_t cols = job->d + (job->embedding ? 0 : 1), most = STAGE / cols / CPB_LANES * CPB_LANES;
  size_t skip = short_skip(job), out_bytes = job->out_stride * cpb_dtype_size(job->out_type);
  bool stream = skip < job->n;
  cpb_rows_job part = *job;
  part.in_type = job->in_type == CPB_F64 ? CPB_F64 : CPB_F32;
  part.in = stage.in;
  part.in_stride = cols;
  part.careful = stage_careful;
  part.context = &stage;
  eight_plan plan;
  plan_eights(&part, stream, &plan);
  for (size_t first = 0; first < job->n; first += part.n) {
    bool before = stream && first < skip;
    part.n = before ? skip : job->n - first < most ? job->n - first : most;
    part.out = (char *)job->out + first * out_bytes;
    stage.first = first;
    stage_in(job, first, part.n, cols, stage.in);
    size_t done = before ? 0 : eights_of(&part, &plan, 0, 0);
    doubles_singly(&part, (eight_types){part.in_type == CPB_F32, job->out_type == CPB_F32}, done,
                   part.n - done);
  }
  if (stream) lanes_fence();
}

#endif

/* T1 for short rows of doubles, or results in double, on AVX-512: eight rows at a time. rows_double_plan.inc says when.
 *
 * Eight rows are a whole number of lines on both sides, so a block has a fixed plan: for every lane of every output
 * line, which input number, which row's factor and which number of the centre it takes. Norms of eight rows are
 * summed by a transposing tree in the order of lanes_sum(). Four ranges of rows take turns. */
#ifndef CPB_LOOP_ROWS_SHORT_DOUBLE_AVX512_H
#define CPB_LOOP_ROWS_SHORT_DOUBLE_AVX512_H

#include <string.h>

#include "loop/lanes_avx512.h"
#include "loop/rows_double.h"

#include "loop/rows_walk.inc"

enum { SHORT_DOUBLES = 15, EIGHT = 8 };

/* The types of rows and results; not both floats. */
typedef struct eight_types {
  bool in_f32, out_f32;
} eight_types;

static const eight_types doubles_to_doubles = {false, false}, floats_to_doubles = {true, false},
                         doubles_to_floats = {false, true};

/* Rows one by one, with ordinary stores: what blocks leave over. */
LANE_INLINE void rows_singly(const cpb_rows_job *job, eight_types types, bool embedding, size_t first,
                             size_t count) {
  const row_source *source = types.in_f32 ? &double_source_f32 : &double_source_f64;
  walk(job, (row_kind){source, embedding, types.out_f32}, false, 1, first, count);
}

static __attribute__((noinline)) void doubles_singly(const cpb_rows_job *job, eight_types types, size_t first,
                                                     size_t count) {
  if (types.in_f32)
    job->embedding ? rows_singly(job, floats_to_doubles, true, first, count)
                   : rows_singly(job, floats_to_doubles, false, first, count);
  else if (types.out_f32)
    job->embedding ? rows_singly(job, doubles_to_floats, true, first, count)
                   : rows_singly(job, doubles_to_floats, false, first, count);
  else
    job->embedding ? rows_singly(job, doubles_to_doubles, true, first, count)
                   : rows_singly(job, doubles_to_doubles, false, first, count);
}

typedef struct eight_line {
  __m512i source; /* index into the 16 numbers from `start`; embedding: 8 of them and eight ones */
  __m512i factor; /* index into the rows' factors (0..7) and last coordinates (8..15) */
  __m512d center; /* what is subtracted, from a number or from a result */
  size_t start;   /* within the block's input */
  __mmask8 own;   /* lanes that are written */
} eight_line;

static void plan_eight_line(const cpb_rows_job *job, size_t k, eight_line *line) {
  int64_t source[EIGHT], factor[EIGHT];
  double center[EIGHT];
  size_t start = SIZE_MAX;
  line->own = 0;
  for (size_t lane = 0; lane < EIGHT; lane++) {
    size_t number = k * EIGHT + lane, row = number / job->out_stride, column = number % job->out_stride;
    bool scaled = column < job->d, last = job->embedding && column == job->d;
    size_t from = row * job->in_stride + column;
    if (scaled && from < start) start = from;
    source[lane] = scaled ? (int64_t)from : -1;
    factor[lane] = (int64_t)(row + (last ? EIGHT : 0));
    center[lane] = scaled ? job->center.taken[column] : 0;
    if (scaled || last) line->own |= (__mmask8)(1u << lane);
  }
  line->start = start == SIZE_MAX ? 0 : start;
  for (size_t lane = 0; lane < EIGHT; lane++)
    source[lane] = source[lane] < 0 ? EIGHT : source[lane] - (int64_t)line->start; /* a one */
  line->source = _mm512_loadu_si512(source);
  line->factor = _mm512_loadu_si512(factor);
  line->center = _mm512_loadu_pd(center);
}

/* What is known when a loop is compiled. */
typedef struct eight_shape {
  bool embedding, stream, two; /* two: rows of more than eight numbers */
  eight_types types;
} eight_shape;

/* Eight numbers of a row, or those of a mask and else 0. */
LANE_INLINE __m512d eight_at(eight_shape shape, const char *row, size_t i) {
  return shape.types.in_f32 ? _mm512_cvtps_pd(_mm256_loadu_ps((const float *)row + i))
                            : _mm512_loadu_pd((const double *)row + i);
}
LANE_INLINE __m512d some_at(eight_shape shape, __mmask8 mask, const char *row, size_t i) {
  return shape.types.in_f32 ? _mm512_cvtps_pd(_mm256_maskz_loadu_ps(mask, (const float *)row + i))
                            : _mm512_maskz_loadu_pd(mask, (const double *)row + i);
}
LANE_INLINE size_t in_size(eight_shape shape) { return shape.types.in_f32 ? sizeof(float) : sizeof(double); }
LANE_INLINE size_t out_size(eight_shape shape) {
  return shape.types.out_f32 ? sizeof(float) : sizeof(double);
}

typedef struct eight_numbers {
  __m512d low, high; /* the centre at the first eight numbers of a row, and at the next */
  __mmask8 in_low, in_high;
  double s;
} eight_numbers;

/* One row's sums of lane j with j+8. */
LANE_INLINE __m512d row_eight(const eight_numbers *of, eight_shape shape, const char *row) {
  __m512d x = some_at(shape, of->in_low, row, 0);
  if (shape.embedding) x = _mm512_sub_pd(x, of->low);
  x = _mm512_mul_pd(x, x);
  if (!shape.two) return x;
  __m512d y = some_at(shape, of->in_high, row, EIGHT);
  if (shape.embedding) y = _mm512_sub_pd(y, of->high);
  return _mm512_add_pd(x, _mm512_mul_pd(y, y));
}

/* Lane j with j+4 of rows k and k+4, for k = 0 .. 3; then j+2, then j+1. */
LANE_INLINE __m512d eight_norms_of(const eight_numbers *of, eight_shape shape, const char *in,
                                   size_t stride) {
  __m512i across = _mm512_setr_epi64(2, 3, 8, 9, 6, 7, 12, 13);
  __m512d pair[4], two[2];
#pragma GCC unroll 4
  for (size_t k = 0; k < 4; k++) {
    __m512d a = row_eight(of, shape, in + k * stride), b = row_eight(of, shape, in + (k + 4) * stride);
    pair[k] = _mm512_add_pd(_mm512_mask_blend_pd(0xf0, a, b), _mm512_shuffle_f64x2(a, b, 0x4e));
  }
#pragma GCC unroll 2
  for (size_t k = 0; k < 2; k++)
    two[k] = _mm512_add_pd(_mm512_mask_blend_pd(0xcc, pair[k], pair[k + 2]),
                           _mm512_permutex2var_pd(pair[k], across, pair[k + 2]));
  return _mm512_add_pd(_mm512_mask_blend_pd(0xaa, two[0], two[1]), _mm512_shuffle_pd(two[0], two[1], 0x55));
}

typedef struct eight_factors {
  __m512d factor, last;
  bool fine;
} eight_factors;

LANE_INLINE __mmask8 at_least(__m512d x, double least) {
  return _mm512_cmp_pd_mask(x, _mm512_set1_pd(least), _CMP_GE_OQ);
}
LANE_INLINE __mmask8 at_most(__m512d x, double most) {
  return _mm512_cmp_pd_mask(x, _mm512_set1_pd(most), _CMP_LE_OQ);
}

/* embed_double() of double_factor.h for eight rows */
LANE_INLINE eight_factors eight_embed_factors(__m512d n, double s) {
  __m512d s2 = _mm512_set1_pd(s * s), q = _mm512_add_pd(n, s2);
  return (eight_factors){_mm512_div_pd(_mm512_set1_pd(2 * s), q), _mm512_div_pd(_mm512_sub_pd(s2, n), q),
                         s >= SUM_LEAST && (at_least(q, SUM_LEAST) & at_most(q, SUM_MOST)) == 0xff};
}

/* unembed_double() of double_factor.h for eight rows */
LANE_INLINE eight_factors eight_unembed_factors(__m512d n, __m512d y0, double s, double most) {
  __m512d length2 = _mm512_add_pd(n, _mm512_mul_pd(y0, y0)), length = _mm512_sqrt_pd(length2);
  __mmask8 north = at_least(y0, 0);
  __m512d over =
      _mm512_mask_mul_pd(_mm512_set1_pd(s), (__mmask8)~north, _mm512_set1_pd(s), _mm512_sub_pd(length, y0));
  __m512d factor = _mm512_div_pd(over, _mm512_mask_add_pd(n, north, length, y0));
  __mmask8 fine =
      at_least(length2, SUM_LEAST) & at_most(length2, SUM_MOST) & (north | at_least(n, NORM_LEAST));
  fine &= at_least(factor, FACTOR_LEAST_F64) & at_most(_mm512_mul_pd(factor, length), most);
  return (eight_factors){factor, _mm512_setzero_pd(), fine == 0xff};
}

LANE_INLINE void store_eight(eight_shape shape, char *out, __mmask8 own, __m512d x) {
  if (shape.types.out_f32 && shape.stream)
    _mm256_stream_ps((float *)out, _mm512_cvtpd_ps(x));
  else if (shape.types.out_f32)
    _mm256_mask_storeu_ps(out, own, _mm512_cvtpd_ps(x));
  else if (shape.stream)
    _mm512_stream_pd((double *)out, x);
  else
    _mm512_mask_storeu_pd(out, own, x);
}

LANE_INLINE void write_eight(const eight_line *line, eight_shape shape, const char *in, char *out,
                             eight_factors f) {
  __m512d next = shape.embedding ? _mm512_set1_pd(1) : eight_at(shape, in, line->start + EIGHT);
  __m512d x = _mm512_permutex2var_pd(eight_at(shape, in, line->start), line->source, next);
  __m512d factor = _mm512_permutex2var_pd(f.factor, line->factor, f.last);
  x = shape.embedding ? _mm512_mul_pd(_mm512_sub_pd(x, line->center), factor)
                      : _mm512_sub_pd(_mm512_mul_pd(x, factor), line->center);
  store_eight(shape, out, line->own, x);
}

/* The last numbers of eight rows. */
LANE_INLINE __m512d eight_lasts(const cpb_rows_job *job, eight_shape shape, const char *in) {
  __m512i row = _mm512_mullo_epi64(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7),
                                   _mm512_set1_epi64((long long)job->in_stride));
  in += job->d * in_size(shape);
  return shape.types.in_f32 ? _mm512_cvtps_pd(_mm512_i64gather_ps(row, in, 4))
                            : _mm512_i64gather_pd(row, in, 8);
}

LANE_INLINE bool map_eight(const cpb_rows_job *job, const eight_numbers *of, const eight_line *lines,
                           eight_shape shape, const char *in, char *out) {
  size_t bytes = job->in_stride * in_size(shape), step = EIGHT * out_size(shape);
  __m512d n = eight_norms_of(of, shape, in, bytes);
  eight_factors f = shape.embedding
                        ? eight_embed_factors(n, of->s)
                        : eight_unembed_factors(n, eight_lasts(job, shape, in), of->s,
                                                shape.types.out_f32 ? RESULT_MOST_F32 : RESULT_MOST_F64);
  if (__builtin_expect(!f.fine, 0)) return false;
  for (size_t at = 0; at < EIGHT * bytes; at += 64) lanes_prefetch(in + at + PREFETCH_BYTES);
  for (size_t k = 0; k < job->out_stride; k++) write_eight(&lines[k], shape, in, out + k * step, f);
  return true;
}

/* From row `first` on. A block is read up to a line too far: unless there is room for it, the last rows go one by
 * one. */
LANE_INLINE void walk_eights(const cpb_rows_job *asked, eight_shape shape, bool room, size_t first) {
  const cpb_rows_job own = *asked, *job = &own; /* which no row written can be taken to change */
  size_t rows = job->n - first, after = room ? 0 : 2 * EIGHT / job->in_stride + 1;
  size_t blocks = rows > after ? (rows - after) / EIGHT : 0, per_range = blocks / STREAMS;
  eight_line lines[SHORT_DOUBLES + 1];
  for (size_t k = 0; k < job->out_stride; k++) plan_eight_line(job, k, &lines[k]);
  const double *m = job->center.taken;
  eight_numbers of = {_mm512_loadu_pd(m), _mm512_loadu_pd(m + EIGHT), 0, 0, job->s};
  of.in_low = (__mmask8)lane_mask(0, job->d < EIGHT ? job->d : EIGHT);
  of.in_high = (__mmask8)lane_mask(0, job->d < EIGHT ? 0 : job->d - EIGHT);
  size_t in_bytes = job->in_stride * in_size(shape), out_bytes = job->out_stride * out_size(shape);
  const char *in = (const char *)job->in + first * in_bytes;
  char *out = (char *)job->out + first * out_bytes;
  for (size_t i = 0; i < blocks; i++) {
    size_t turn = i / STREAMS, range = i % STREAMS;
    size_t row = (turn < per_range ? range * per_range + turn : i) * EIGHT;
    if (!map_eight(job, &of, lines, shape, in + row * in_bytes, out + row * out_bytes))
      doubles_singly(job, shape.types, first + row, EIGHT);
  }
  doubles_singly(job, shape.types, first + blocks * EIGHT, rows - blocks * EIGHT);
}

LANE_INLINE void short_doubles_of(const cpb_rows_job *job, eight_shape shape, bool room) {
  size_t skip = rows_to_group(job, out_size(shape));
  bool padded = job->out_stride > job->d + (shape.embedding ? 1 : 0);
  if (job->stream && !padded && skip < job->n) {
    doubles_singly(job, shape.types, 0, skip);
    shape.stream = true;
    walk_eights(job, shape, room, skip);
    lanes_fence();
  } else {
    shape.stream = false;
    walk_eights(job, shape, room, 0);
  }
}

LANE_INLINE void short_doubles_by(const cpb_rows_job *job, eight_types types, bool room) {
  if (job->embedding && job->d > EIGHT)
    short_doubles_of(job, (eight_shape){true, false, true, types}, room);
  else if (job->embedding)
    short_doubles_of(job, (eight_shape){true, false, false, types}, room);
  else if (job->d > EIGHT)
    short_doubles_of(job, (eight_shape){false, false, true, types}, room);
  else
    short_doubles_of(job, (eight_shape){false, false, false, types}, room);
}

static __attribute__((noinline)) void short_doubles_in(const cpb_rows_job *job, bool room) {
  short_doubles_by(job, doubles_to_doubles, room);
}

/* In rows at most one number apart. */
static void short_doubles(const cpb_rows_job *job) { short_doubles_in(job, false); }
static void short_widened(const cpb_rows_job *job) { short_doubles_by(job, floats_to_doubles, false); }
static void short_narrowed(const cpb_rows_job *job) { short_doubles_by(job, doubles_to_floats, false); }

/* Rows of other types, or results, go by way of doubles, so many of these at a time. */
enum { STAGE = 2048, STAGE_ROWS = STAGE / 2 };

typedef struct short_stage {
  double in[STAGE + CPB_LANES], out[STAGE + CPB_LANES];
  bool careful[STAGE_ROWS];
} short_stage;

static void stage_careful(void *context, size_t row) { ((short_stage *)context)->careful[row] = true; }

/* A run of `length` numbers; writes up to sixteen more. */
LANE_INLINE void stage_run(const row_source *source, const char *in, size_t length, double *out) {
  size_t i = 0;
  for (; i + CPB_LANES <= length; i += CPB_LANES) {
    lanes_prefetch(in + i * source->size + PREFETCH_BYTES);
    store_wide(out + i, source->load(in + i * source->size));
  }
  if (i < length) store_wide(out + i, source->part(in + i * source->size, 0, length - i));
}

static void stage_in(const cpb_rows_job *job, size_t first, size_t count, size_t cols, double *out) {
  size_t row_bytes = job->in_stride * cpb_dtype_size(job->in_type);
  size_t run = job->in_stride == cols ? count * cols : cols;
  const char *in = (const char *)job->in + first * row_bytes;
  for (size_t done = 0; done < count * cols; done += run, in += row_bytes) switch (job->in_type) {
    case CPB_F32: stage_run(&double_source_f32, in, run, out + done); break;
    case CPB_F64: stage_run(&double_source_f64, in, run, out + done); break;
    case CPB_F16: stage_run(&double_source_f16, in, run, out + done); break;
    case CPB_U8: stage_run(&double_source_u8, in, run, out + done); break;
    default: stage_run(&double_source_i8, in, run, out + done);
    }
}

/* Doubles to floats, past the cache where lines begin. */
static void stage_out(const double *from, size_t length, bool stream, float *to) {
  size_t i = 0;
  bool past = stream && (uintptr_t)to % sizeof(lanes_f32) == 0;
  for (; i + CPB_LANES <= length; i += CPB_LANES)
    if (past)
      lanes_stream(to + i, lanes_narrow(wide_f64(from + i)));
    else
      store_lanes(to + i, lanes_narrow(wide_f64(from + i)));
  if (i < length) store_part(to + i, lanes_narrow(wide_part_f64(from + i, 0, length - i)), 0, length - i);
}

static void stage_results(const cpb_rows_job *job, const short_stage *stage, size_t first, size_t count,
                          size_t cols) {
  float *out = (float *)job->out + first * job->out_stride;
  if (job->out_stride == cols && memchr(stage->careful, true, count) == NULL) {
    stage_out(stage->out, count * cols, job->stream, out);
    return;
  }
  for (size_t row = 0; row < count; row++, out += job->out_stride)
    if (!stage->careful[row]) stage_out(stage->out + row * cols, cols, false, out);
}

static void short_staged(const cpb_rows_job *job) {
  short_stage stage;
  size_t in_cols = job->d + (job->embedding ? 0 : 1), out_cols = job->d + (job->embedding ? 1 : 0);
  size_t most = STAGE / (job->d + 1) / CPB_LANES * CPB_LANES;
  bool narrow = job->out_type == CPB_F32;
  cpb_rows_job part = *job;
  part.in_type = part.out_type = CPB_F64;
  part.in = stage.in;
  part.in_stride = in_cols;
  part.careful = stage_careful;
  part.context = &stage;
  if (narrow) part.stream = false, part.out = stage.out, part.out_stride = out_cols;
  for (size_t first = 0; first < job->n; first += part.n) {
    part.n = job->n - first < most ? job->n - first : most;
    if (!narrow) part.out = (double *)job->out + first * job->out_stride;
    memset(stage.careful, 0, part.n);
    stage_in(job, first, part.n, in_cols, stage.in);
    short_doubles_in(&part, true);
    if (narrow) stage_results(job, &stage, first, part.n, out_cols);
    for (size_t row = 0; row < part.n; row++)
      if (stage.careful[row]) job->careful(job->context, first + row);
  }
  if (narrow) lanes_fence();
}

#endif

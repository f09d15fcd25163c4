/* T1 in float, for f32 results of f32, f16, u8 and i8 rows: the arithmetic of rows_walk.inc and rows_block.inc. Sums
 * and factors are double, rounded once. */
#ifndef CPB_LOOP_ROWS_FLOAT_H
#define CPB_LOOP_ROWS_FLOAT_H

#include "loop/lanes.h"

#include "loop/row_factor.h"

enum { STREAMS = LANES_STREAMS };
typedef lanes_f32 row_line;
typedef float row_number;
typedef row_factor row_answer;
typedef lanes_f64 row_sum;

/* Constants of a walk. The type of `any` rows is the job's and is tested at every load: a walk per type would cost
 * more code than it gains speed. Otherwise it is f32. */
typedef struct row_kind {
  size_t size; /* bytes of an element */
  bool any, embedding, centered;
} row_kind;

LANE_INLINE row_kind row_kind_of(const cpb_rows_job *job, bool any, bool embedding) {
  bool centered = job->center.high != NULL;
  return any ? (row_kind){cpb_dtype_size(job->in_type), true, embedding, centered}
             : (row_kind){sizeof(float), false, embedding, centered};
}

/* Sixteen numbers at p. */
LANE_INLINE lanes_f32 numbers_at(const cpb_rows_job *job, row_kind kind, const void *p) {
  if (!kind.any) return load_f32(p);
  switch (job->in_type) {
  case CPB_F16: return load_f16(p);
  case CPB_U8: return load_u8(p);
  case CPB_I8: return load_i8(p);
  default: return load_f32(p);
  }
}
/* Only lanes [from, to) are read. noinline: inlining doubles the code size of every walk. */
static __attribute__((noinline)) void part_of_any(cpb_dtype type, const void *p, size_t from, size_t to,
                                                  float *lanes) {
  switch (type) {
  case CPB_F16: store_lanes(lanes, part_f16(p, from, to)); break;
  case CPB_U8: store_lanes(lanes, part_u8(p, from, to)); break;
  case CPB_I8: store_lanes(lanes, part_i8(p, from, to)); break;
  default: store_lanes(lanes, part_f32(p, from, to));
  }
}
LANE_INLINE lanes_f32 part_at(const cpb_rows_job *job, row_kind kind, const void *p, size_t from, size_t to) {
  if (!kind.any) return part_f32(p, from, to);
  float lanes[CPB_LANES];
  part_of_any(job->in_type, p, from, to, lanes);
  return load_f32(lanes);
}

LANE_INLINE size_t streams_of(row_kind kind) {
  (void)kind;
  return STREAMS;
}

/* Numbers i .. i+15 of a row; embedding: minus the centre. */
LANE_INLINE lanes_f32 row_lanes(const cpb_rows_job *job, row_kind kind, const char *in, size_t i) {
  lanes_f32 x = numbers_at(job, kind, in + i * kind.size);
  if (!kind.embedding || !kind.centered) return x;
  x = lanes_less(x, load_f32(job->center.high + i));
  return job->center.twofold ? lanes_less(x, load_f32(job->center.low + i)) : x;
}

/* Numbers i+from .. i+to-1, in lanes from .. to-1; the others are 0 and are not read. */
LANE_INLINE lanes_f32 row_part(const cpb_rows_job *job, row_kind kind, const char *in, ptrdiff_t i,
                               size_t from, size_t to) {
  lanes_f32 x = part_at(job, kind, in + i * (ptrdiff_t)kind.size, from, to);
  if (!kind.embedding || !kind.centered) return x;
  x = lanes_less(x, part_f32(job->center.high + i, from, to));
  return job->center.twofold ? lanes_less(x, part_f32(job->center.low + i, from, to)) : x;
}

/* Numbers i .. i+15 of a result; inverse: plus the centre. */
LANE_INLINE lanes_f32 result_lanes(const cpb_rows_job *job, row_kind kind, lanes_f32 x, float factor,
                                   size_t i) {
  lanes_f32 y = lanes_times(x, factor);
  if (kind.embedding || !kind.centered) return y;
  if (job->center.twofold) y = lanes_plus(y, load_f32(job->center.low + i));
  return lanes_plus(y, load_f32(job->center.high + i));
}

LANE_INLINE lanes_f32 result_part(const cpb_rows_job *job, row_kind kind, lanes_f32 x, float factor,
                                  ptrdiff_t i, size_t from, size_t to) {
  lanes_f32 y = lanes_times(x, factor);
  if (kind.embedding || !kind.centered) return y;
  if (job->center.twofold) y = lanes_plus(y, part_f32(job->center.low + i, from, to));
  return lanes_plus(y, part_f32(job->center.high + i, from, to));
}

LANE_INLINE row_sum sum_none(void) { return lanes_zero(); }

/* Adds the squares of numbers i .. i+15; they are exact in double. */
LANE_INLINE row_sum sum_lanes(const cpb_rows_job *job, row_kind kind, row_sum sum, const char *in, size_t i) {
  if (kind.any || (kind.embedding && kind.centered))
    return lanes_add_square(sum, row_lanes(job, kind, in, i));
  return add_square_f32(sum, in + i * kind.size);
}

/* Rows of floats are not summed in chunks. */
LANE_INLINE bool sum_chunk_ends(size_t done) {
  (void)done;
  return false;
}
LANE_INLINE row_sum sum_chunk(row_sum sum) { return sum; }

/* The last numbers, fewer than sixteen. */
LANE_INLINE row_sum sum_part(const cpb_rows_job *job, row_kind kind, row_sum sum, const char *in, size_t i) {
  return lanes_add_square(sum, row_part(job, kind, in, (ptrdiff_t)i, 0, job->d - i));
}

/* noinline: such rows are rare here, and inlining would increase the code size of every walk. */
static __attribute__((noinline)) row_factor factor_of_short(const float *x, size_t d, bool embedding,
                                                            double s) {
  short_scale scale = short_scale_of(s);
  return short_factor(x, d, embedding, &scale);
}

/* The factor of a row of at most CPB_SHORT_MOST numbers, otherwise one that is not fine. */
LANE_INLINE row_factor factor_if_short(const cpb_rows_job *job, row_kind kind, const char *in) {
  if (job->d > CPB_SHORT_MOST) return (row_factor){.fine = false};
  float x[CPB_LANES];
  store_lanes(x, row_part(job, kind, in, 0, 0, job->d + (kind.embedding ? 0 : 1)));
  return factor_of_short(x, job->d, kind.embedding, job->s);
}

/* The number after the first d; the inverse reads f32 only. */
LANE_INLINE double last_number(const cpb_rows_job *job, row_kind kind, const char *in) {
  (void)kind;
  return (double)((const float *)in)[job->d];
}

LANE_INLINE row_factor answer_of_norm(const cpb_rows_job *job, bool embedding, double n, double last) {
  return embedding ? embed_factor(n, job->s) : unembed_factor(n, last, job->s);
}

LANE_INLINE row_factor answer_of(const cpb_rows_job *job, row_kind kind, const char *in, row_sum sum) {
  row_factor f = factor_if_short(job, kind, in);
  if (f.fine) return f;
  return answer_of_norm(job, kind.embedding, lanes_sum(sum), kind.embedding ? 0 : last_number(job, kind, in));
}

/* Stores of results. */
LANE_INLINE size_t result_size(row_kind kind) {
  (void)kind;
  return sizeof(float);
}
LANE_INLINE void result_store(row_kind kind, char *out, lanes_f32 x) {
  (void)kind;
  store_lanes((float *)out, x);
}
LANE_INLINE void result_stream(row_kind kind, char *out, lanes_f32 x) {
  (void)kind;
  lanes_stream((float *)out, x);
}
LANE_INLINE void result_store_part(row_kind kind, char *out, lanes_f32 x, size_t from, size_t to) {
  (void)kind;
  store_part((float *)out, x, from, to);
}
LANE_INLINE void result_store_last(row_kind kind, char *out, float last) {
  (void)kind;
  *(float *)out = last;
}
LANE_INLINE void line_store(float *p, lanes_f32 x) { store_lanes(p, x); }
LANE_INLINE lanes_f32 line_join(lanes_f32 a, lanes_f32 b, size_t lane) { return lanes_join(a, b, lane); }
LANE_INLINE lanes_f32 line_set(lanes_f32 x, size_t lane, float last) { return lanes_set(x, lane, last); }

/* Needed by rows_block.inc only. */
#ifdef LANES_PICK
#define ROW_REAL(name) name##_f32
enum { ROW_VEC = VEC_F32 };

static bool rows_twofold(const cpb_rows_job *job) { return job->center.high != NULL && job->center.twofold; }
static bool rows_bare(const cpb_rows_job *job) { return job->center.high == NULL; }
static void copy_center(const cpb_rows_job *job, float *to) {
  for (size_t i = 0; job->center.high != NULL && i < job->d; i++) to[i] = job->center.high[i];
}
/* The centre of many rows, `period` numbers apart; elsewhere a zero that changes no number when it is subtracted or
 * added. */
static void repeat_center(const cpb_rows_job *job, size_t period, size_t count, float *high, float *low) {
  const float none = job->embedding ? 0.0f : -0.0f;
  for (size_t i = 0, column = 0; i < count; i++, column = column + 1 < period ? column + 1 : 0) {
    bool some = job->center.high != NULL && column < job->d;
    high[i] = some ? job->center.high[column] : none;
    low[i] = some ? job->center.low[column] : none;
  }
}
static void set_center(cpb_rows_job *job, const float *high, const float *low) {
  job->center.high = high;
  job->center.low = low;
}
LANE_INLINE vec_f32 vec_about(vec_f32 x, bool twofold, const float *high, const float *low) {
  if (twofold) x = x + vec_load_f32(low);
  return x + vec_load_f32(high);
}
LANE_INLINE void vec_write(bool narrow, bool stream, char *out, vec_f32 x) {
  (void)narrow;
  if (stream)
    vec_stream_f32((float *)out, x);
  else
    vec_store_f32((float *)out, x);
}

/* Fused: squares of floats are exact in double. */
LANE_INLINE vec_f64 vec_add_square(vec_f64 sum, vec_f64 x) { return vec_fma_f64(x, x, sum); }

enum { FEW_LEAST = 1, FEW_DIRECT = true, FEW_STAGED_BACK = false };
typedef short_scale short_numbers;
LANE_INLINE short_numbers short_numbers_of(const cpb_rows_job *job) { return short_scale_of(job->s); }
LANE_INLINE row_factor answer_of_few(const cpb_rows_job *job, const short_numbers *scale, bool embedding,
                                     const float *x, size_t d) {
  (void)job;
  return short_factor(x, d, embedding, scale);
}
#endif

#endif

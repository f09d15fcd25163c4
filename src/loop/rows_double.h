/* T1 in double, for rows of doubles or results in double: the arithmetic of rows_walk.inc and rows_block.inc. Sums
 * have the order of dot: sixteen lanes within chunks of CPB_CHUNK, chunks in order. */
#ifndef CPB_LOOP_ROWS_DOUBLE_H
#define CPB_LOOP_ROWS_DOUBLE_H

#include "loop/lanes.h"

#include "loop/row_factor.h"

LANE_INLINE lanes_f64 wide_f16(const void *p) { return lanes_widen(load_f16(p)); }
LANE_INLINE lanes_f64 wide_part_f16(const void *p, size_t from, size_t to) {
  return lanes_widen(part_f16(p, from, to));
}
#ifndef LANES_WIDE_BYTES
LANE_INLINE lanes_f64 wide_u8(const void *p) { return lanes_widen(load_u8(p)); }
LANE_INLINE lanes_f64 wide_i8(const void *p) { return lanes_widen(load_i8(p)); }
LANE_INLINE lanes_f64 wide_part_u8(const void *p, size_t from, size_t to) {
  return lanes_widen(part_u8(p, from, to));
}
LANE_INLINE lanes_f64 wide_part_i8(const void *p, size_t from, size_t to) {
  return lanes_widen(part_i8(p, from, to));
}
#endif

/* Constants of a walk. The types of `any` rows and results are the job's and are tested at every load and store: a
 * walk per pair of types would cost more code than it gains speed. Otherwise both are f64. */
typedef struct row_kind {
  size_t size;                 /* bytes of an element */
  bool any, embedding, narrow; /* narrow: results are f32 */
} row_kind;

LANE_INLINE row_kind row_kind_of(const cpb_rows_job *job, bool any, bool embedding) {
  return any ? (row_kind){cpb_dtype_size(job->in_type), true, embedding, job->out_type == CPB_F32}
             : (row_kind){sizeof(double), false, embedding, false};
}

/* Sixteen numbers at p. */
LANE_INLINE lanes_f64 numbers_at(const cpb_rows_job *job, row_kind kind, const void *p) {
  if (!kind.any) return wide_f64(p);
  switch (job->in_type) {
  case CPB_F32: return wide_f32(p);
  case CPB_F16: return wide_f16(p);
  case CPB_U8: return wide_u8(p);
  case CPB_I8: return wide_i8(p);
  default: return wide_f64(p);
  }
}
/* Only lanes [from, to) are read. noinline: inlining doubles the code size of every walk. */
static __attribute__((noinline)) void part_of_any(cpb_dtype type, const void *p, size_t from, size_t to,
                                                  double *lanes) {
  switch (type) {
  case CPB_F32: store_wide(lanes, wide_part_f32(p, from, to)); break;
  case CPB_F16: store_wide(lanes, wide_part_f16(p, from, to)); break;
  case CPB_U8: store_wide(lanes, wide_part_u8(p, from, to)); break;
  case CPB_I8: store_wide(lanes, wide_part_i8(p, from, to)); break;
  default: store_wide(lanes, wide_part_f64(p, from, to));
  }
}
LANE_INLINE lanes_f64 part_at(const cpb_rows_job *job, row_kind kind, const void *p, size_t from, size_t to) {
  if (!kind.any) return wide_part_f64(p, from, to);
  double lanes[CPB_LANES];
  part_of_any(job->in_type, p, from, to, lanes);
  return wide_f64(lanes);
}

/* Fewer ranges for rows of any type, for the sake of code size. */
enum { STREAMS = LANES_STREAMS };
LANE_INLINE size_t streams_of(row_kind kind) { return kind.any ? LANES_FEW_STREAMS : STREAMS; }

typedef lanes_f64 row_line;
typedef double row_number;
typedef double_factor row_answer;
typedef struct row_sum {
  lanes_f64 lanes;
  double chunks;
} row_sum;

/* Numbers i .. i+15 of a row; embedding: minus the centre. */
LANE_INLINE lanes_f64 row_lanes(const cpb_rows_job *job, row_kind kind, const char *in, size_t i) {
  lanes_f64 x = numbers_at(job, kind, in + i * kind.size);
  return kind.embedding ? wide_less(x, wide_f64(job->center.taken + i)) : x;
}

/* Numbers i+from .. i+to-1, in lanes from .. to-1; the others are 0 and are not read. */
LANE_INLINE lanes_f64 row_part(const cpb_rows_job *job, row_kind kind, const char *in, ptrdiff_t i,
                               size_t from, size_t to) {
  lanes_f64 x = part_at(job, kind, in + i * (ptrdiff_t)kind.size, from, to);
  return kind.embedding ? wide_less(x, wide_part_f64(job->center.taken + i, from, to)) : x;
}

/* Numbers i .. i+15 of a result; inverse: plus the centre. */
LANE_INLINE lanes_f64 result_lanes(const cpb_rows_job *job, row_kind kind, lanes_f64 x, double factor,
                                   size_t i) {
  lanes_f64 y = wide_times(x, factor);
  return kind.embedding ? y : wide_less(y, wide_f64(job->center.taken + i));
}

LANE_INLINE lanes_f64 result_part(const cpb_rows_job *job, row_kind kind, lanes_f64 x, double factor,
                                  ptrdiff_t i, size_t from, size_t to) {
  lanes_f64 y = wide_times(x, factor);
  return kind.embedding ? y : wide_less(y, wide_part_f64(job->center.taken + i, from, to));
}

LANE_INLINE row_sum sum_none(void) { return (row_sum){lanes_zero(), 0}; }

/* Adds the squares of numbers i .. i+15. */
LANE_INLINE row_sum sum_lanes(const cpb_rows_job *job, row_kind kind, row_sum sum, const char *in, size_t i) {
  lanes_f64 x = row_lanes(job, kind, in, i);
  sum.lanes = wide_add_product(sum.lanes, x, x);
  return sum;
}

/* After `done` numbers of a row. */
LANE_INLINE bool sum_chunk_ends(size_t done) { return done % CPB_CHUNK == 0; }
LANE_INLINE row_sum sum_chunk(row_sum sum) {
  return (row_sum){lanes_zero(), sum.chunks + lanes_sum(sum.lanes)};
}

/* The last numbers, fewer than sixteen. */
LANE_INLINE row_sum sum_part(const cpb_rows_job *job, row_kind kind, row_sum sum, const char *in, size_t i) {
  lanes_f64 x = row_part(job, kind, in, (ptrdiff_t)i, 0, job->d - i);
  sum.lanes = wide_add_product(sum.lanes, x, x);
  return sum;
}

/* The number after the first d; the inverse reads f32 and f64 only. */
LANE_INLINE double last_number(const cpb_rows_job *job, row_kind kind, const char *in) {
  return kind.size == sizeof(double) ? ((const double *)in)[job->d] : (double)((const float *)in)[job->d];
}

LANE_INLINE double_factor answer_of_norm(const cpb_rows_job *job, bool embedding, double n, double last) {
  if (embedding) return embed_double(n, job->s);
  return unembed_double(n, last, job->s, job->out_type == CPB_F32 ? RESULT_MOST_F32 : RESULT_MOST_F64);
}

LANE_INLINE double_factor answer_of(const cpb_rows_job *job, row_kind kind, const char *in, row_sum sum) {
  double last = kind.embedding ? 0 : last_number(job, kind, in);
  return answer_of_norm(job, kind.embedding, sum.chunks + lanes_sum(sum.lanes), last);
}

/* Stores of results. */
LANE_INLINE size_t result_size(row_kind kind) { return kind.narrow ? sizeof(float) : sizeof(double); }
LANE_INLINE void result_store(row_kind kind, char *out, lanes_f64 x) {
  if (kind.narrow)
    store_lanes((float *)out, lanes_narrow(x));
  else
    store_wide((double *)out, x);
}
LANE_INLINE void result_stream(row_kind kind, char *out, lanes_f64 x) {
  if (kind.narrow)
    lanes_stream((float *)out, lanes_narrow(x));
  else
    stream_wide((double *)out, x);
}
LANE_INLINE void result_store_part(row_kind kind, char *out, lanes_f64 x, size_t from, size_t to) {
  if (kind.narrow)
    store_part((float *)out, lanes_narrow(x), from, to);
  else
    store_wide_part((double *)out, x, from, to);
}
LANE_INLINE void result_store_last(row_kind kind, char *out, double last) {
  if (kind.narrow)
    *(float *)out = (float)last;
  else
    *(double *)out = last;
}
LANE_INLINE void line_store(double *p, lanes_f64 x) { store_wide(p, x); }
LANE_INLINE lanes_f64 line_join(lanes_f64 a, lanes_f64 b, size_t lane) { return wide_join(a, b, lane); }
LANE_INLINE lanes_f64 line_set(lanes_f64 x, size_t lane, double last) { return wide_set(x, lane, last); }

/* Needed by rows_block.inc only. */
#ifdef LANES_PICK
#define ROW_REAL(name) name##_f64
enum { ROW_VEC = VEC_F64, FEW_MOST = 2, FEW_DIRECT = false, FEW_STAGED_BACK = true };

static bool rows_twofold(const cpb_rows_job *job) {
  (void)job;
  return false;
}
static bool rows_bare(const cpb_rows_job *job) {
  (void)job;
  return false;
}
static void copy_center(const cpb_rows_job *job, double *to) {
  for (size_t i = 0; i < job->d; i++) to[i] = job->center.taken[i];
}
/* The centre of many rows, `period` numbers apart; 0 in between. */
static void repeat_center(const cpb_rows_job *job, size_t period, size_t count, double *taken,
                          double *unused) {
  (void)unused;
  for (size_t i = 0, column = 0; i < count; i++, column = column + 1 < period ? column + 1 : 0)
    taken[i] = column < job->d ? job->center.taken[column] : 0;
}
static void set_center(cpb_rows_job *job, const double *taken, const double *unused) {
  (void)unused;
  job->center.taken = taken;
}
LANE_INLINE vec_f64 vec_about(vec_f64 x, bool twofold, const double *taken, const double *unused) {
  (void)twofold, (void)unused;
  return x - vec_load_f64(taken);
}
LANE_INLINE void vec_write(bool narrow, bool stream, char *out, vec_f64 x) {
  if (narrow && stream)
    vec_stream_narrow((float *)out, x);
  else if (narrow)
    vec_store_narrow((float *)out, x);
  else if (stream)
    vec_stream_f64((double *)out, x);
  else
    vec_store_f64((double *)out, x);
}

LANE_INLINE vec_f64 vec_add_square(vec_f64 sum, vec_f64 x) { return sum + x * x; }

/* The factor of a row of few numbers, which are summed in the order of lanes_sum(). */
typedef int short_numbers;
LANE_INLINE short_numbers short_numbers_of(const cpb_rows_job *job) {
  (void)job;
  return 0;
}
LANE_INLINE double_factor answer_of_few(const cpb_rows_job *job, const short_numbers *unused, bool embedding,
                                        const double *x, size_t d) {
  (void)unused;
  double even = d > 2 ? x[0] * x[0] + x[2] * x[2] : x[0] * x[0];
  double odd = d > 3 ? x[1] * x[1] + x[3] * x[3] : d > 1 ? x[1] * x[1] : 0;
  return answer_of_norm(job, embedding, even + odd, embedding ? 0 : x[d]);
}
#endif

#endif

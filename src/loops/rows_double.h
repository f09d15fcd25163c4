/* T1 in double, for rows of doubles or results in double: the arithmetic of rows_walk.inc and rows_block.inc. Sums
 * have the order of dot: sixteen lanes within chunks of CPB_CHUNK, chunks in order. */
#ifndef CPB_LOOPS_ROWS_DOUBLE_H
#define CPB_LOOPS_ROWS_DOUBLE_H

#include "loops/lanes.h"

#include "loops/row_factor.h"

#define ROW_TYPE CPB_F64
#define ROW_REAL(name) name##_f64
enum { ROW_VEC = VEC_F64 };
typedef double row_number;
typedef lanes_f64 row_line;
typedef double_factor row_answer;

/* Sixteen numbers of a type. */
LANE_INLINE lanes_f64 numbers_of(cpb_dtype type, const void *p) {
  switch (type) {
  case CPB_F32: return lanes_wide_f32(p);
  case CPB_F16: return lanes_widen(lanes_load_f16(p));
  case CPB_U8: return lanes_widen(lanes_load_u8(p));
  case CPB_I8: return lanes_widen(lanes_load_i8(p));
  default: return lanes_load_f64(p);
  }
}

enum { CENTER_HAS_REST = false };
LANE_INLINE const double *center_of(const cpb_rows_job *job) { return job->center.wide; }
LANE_INLINE const double *center_rest_of(const cpb_rows_job *job) { return (void)job, NULL; }

LANE_INLINE lanes_f64 sum_squares(lanes_f64 sum, lanes_f64 x) { return lanes_add_product(sum, x, x); }
LANE_INLINE lanes_f64 sum_squares_at(lanes_f64 sum, const void *p) {
  return sum_squares(sum, lanes_load_f64(p));
}
LANE_INLINE lanes_f64 sum_squares_kept(lanes_f64 sum, lanes_f64 x, double *kept) {
  lanes_store_f64(kept, x);
  return sum_squares(sum, x);
}
/* After `done` numbers of a row. */
LANE_INLINE bool sum_chunk_ends(size_t done) { return done % CPB_CHUNK == 0; }

LANE_INLINE double_factor answer_of_norm(const cpb_rows_job *job, bool embedding, double n, double last) {
  if (embedding) return embed_double(n, job->s);
  return unembed_double(n, last, job->s, job->out_type == CPB_F32 ? RESULT_MOST_F32 : RESULT_MOST_F64);
}

/* Needed by rows_block.inc only. */
#ifdef LANES_BLOCKS
LANE_INLINE vec_f64 vec_add_square(vec_f64 sum, vec_f64 x) { return sum + x * x; }

/* The factor of a row of few numbers. */
typedef int short_numbers;
LANE_INLINE short_numbers short_numbers_of(const cpb_rows_job *job) { return (void)job, 0; }
LANE_INLINE double_factor answer_of_few(const cpb_rows_job *job, const short_numbers *unused, bool embedding,
                                        const double *x, size_t d) {
  (void)unused;
  double even = d > 2 ? x[0] * x[0] + x[2] * x[2] : x[0] * x[0]; /* the order of dot */
  double odd = d > 3 ? x[1] * x[1] + x[3] * x[3] : x[1] * x[1];
  return answer_of_norm(job, embedding, d > 1 ? even + odd : even, embedding ? 0 : x[d]);
}
#endif

#endif

/* Inline. T1 in float, for f32 results of f32, f16, u8 and i8 rows: the arithmetic of rows_walk.inc and rows_block.inc. Sums
 * and factors are double, rounded once. */
#ifndef CPB_LOOPS_ROWS_FLOAT_H
#define CPB_LOOPS_ROWS_FLOAT_H

#include "loops/lanes.h"

#include "loops/row_factor.h"

#define ROW_TYPE CPB_F32
#define ROW_REAL(name) name##_f32
enum { ROW_VEC = VEC_F32 };
typedef float row_number;
typedef lanes_f32 row_line;
typedef row_factor row_answer;

/* Sixteen numbers of a type. */
LANE_INLINE lanes_f32 numbers_of(cpb_dtype type, const void *p) {
  switch (type) {
  case CPB_F16: return lanes_load_f16(p);
  case CPB_U8: return lanes_load_u8(p);
  case CPB_I8: return lanes_load_i8(p);
  default: return lanes_load_f32(p);
  }
}

/* The centre is their sum; NULL: 0 */
enum { CENTER_HAS_REST = true };
LANE_INLINE const float *center_of(const cpb_rows_job *job) { return job->center.high; }
LANE_INLINE const float *center_rest_of(const cpb_rows_job *job) {
  return job->center.high != NULL && job->center.twofold ? job->center.low : NULL;
}

/* Squares are exact in double. Rows of floats are not summed in chunks. */
LANE_INLINE lanes_f64 sum_squares(lanes_f64 sum, lanes_f32 x) {
  lanes_f64 wide = lanes_widen(x);
  return lanes_add_exact(sum, wide, wide);
}
LANE_INLINE lanes_f64 sum_squares_at(lanes_f64 sum, const void *p) {
  lanes_f64 wide = lanes_wide_f32(p);
  return lanes_add_exact(sum, wide, wide);
}
/* The numbers are also stored, and widened from memory, which costs half of widening registers. */
LANE_INLINE lanes_f64 sum_squares_kept(lanes_f64 sum, lanes_f32 x, float *kept) {
  typedef float line[CPB_LANES];
  lanes_store_f32(kept, x);
  __asm__("" : "+m"(*(line *)kept));
  return sum_squares_at(sum, kept);
}
LANE_INLINE bool sum_chunk_ends(size_t done) { return (void)done, false; }

LANE_INLINE row_factor answer_of_norm(const cpb_rows_job *job, bool embedding, double n, float last) {
  return embedding ? embed_factor(n, job->s) : unembed_factor(n, (double)last, job->s);
}

/* Needed by rows_block.inc only. */
#ifdef LANES_BLOCKS
/* Fused: squares of floats are exact in double. */
LANE_INLINE vec_f64 vec_add_square(vec_f64 sum, vec_f64 x) { return vec_fma_f64(x, x, sum); }

enum { FEW_MOST = CPB_SHORT_MOST };
typedef short_scale short_numbers;
LANE_INLINE short_numbers short_numbers_of(const cpb_rows_job *job) { return short_scale_of(job->s); }
LANE_INLINE row_factor answer_of_few(const cpb_rows_job *job, const short_numbers *scale, bool embedding,
                                     const float *x, size_t d) {
  (void)job;
  return short_factor(x, d, embedding, scale);
}
#endif

#endif

/* Rows in registers of 128 bits: by the walk where it pays. */
#include "loop/lanes_v128.h"

#if defined(__aarch64__)
#define WALK_BYTES
#endif
enum { BLOCK_FLOATS = 0, BLOCK_SMALL = 0 };

#include "loop/rows_plan.inc"

cpb_rows_loop *cpb_double_rows_v128(const cpb_rows_job *job);

extern const cpb_loops cpb_loops_plain;

/* Measured with SSE2, whose sixteen registers are too few for sixteen lanes of doubles: plain C serves shorter rows, and
 * bytes, up to four times as fast. */
static bool walk_pays(const cpb_rows_job *job) {
#if defined(__aarch64__)
  (void)job;
  return true;
#else
  return !in_floats(job) || (job->d >= 32 && (job->in_type == CPB_F32 || job->in_type == CPB_F16));
#endif
}

cpb_rows_loop *cpb_rows_v128(const cpb_rows_job *job) {
  return walk_pays(job) ? plan_rows(job, cpb_double_rows_v128) : cpb_loops_plain.rows(job);
}

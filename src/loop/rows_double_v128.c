/* Rows of doubles, and results in double, in registers of 128 bits: by the walk with NEON. With SSE2, measured, plain C is
 * up to four times as fast: sixteen lanes of doubles leave it no register. */
#include "loop/lanes_v128.h"
#include "loop/layer_rows.h"

cpb_rows_loop *cpb_double_rows_v128(const cpb_rows_job *job);

#if defined(__aarch64__)
enum { BLOCK_DOUBLES = 0, BLOCK_SMALL = 0 };

#include "loop/rows_double_plan.inc"

cpb_rows_loop *cpb_double_rows_v128(const cpb_rows_job *job) { return plan_doubles(job); }
#else
cpb_rows_loop *cpb_double_rows_v128(const cpb_rows_job *job) {
  (void)job;
  return cpb_rows_plain;
}
#endif

extern const cpb_layer_loops cpb_layer_v128;
const cpb_layer_loops cpb_layer_v128 = {.real = {layer_f32, layer_f64}, .fence = layer_fence};

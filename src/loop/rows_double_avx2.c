/* Rows of doubles, and results in double, on AVX2. */
#include "loop/lanes_avx2.h"

enum { BLOCK_DOUBLES = 31, BLOCK_SMALL = 31 };

#include "loop/rows_double_plan.inc"

#include "loop/layer_rows.h"

cpb_rows_loop *cpb_double_rows_avx2(const cpb_rows_job *job) { return plan_doubles(job); }

extern const cpb_layer_loops cpb_layer_avx2;
const cpb_layer_loops cpb_layer_avx2 = {.real = {layer_f32, layer_f64}, .fence = layer_fence};

/* Rows of doubles, and results in double, on AVX-512. */
#include "loop/rows_short_double_avx512.h"

#include "loop/rows_double_plan.inc"

#include "loop/layer_rows.h"

cpb_rows_loop *cpb_double_rows_avx512(const cpb_rows_job *job) { return plan_doubles(job); }

extern const cpb_layer_loops cpb_layer_avx512;
const cpb_layer_loops cpb_layer_avx512 = {.sums = {layer_sums_f32, layer_sums_f64},
                                          .gradient = {layer_gradient_f32, layer_gradient_f64},
                                          .fence = layer_fence};

/* Rows of doubles, and results in double, on AVX-512. */
#include "loop/rows_short_double_avx512.h"

#include "loop/rows_double_plan.inc"

#include "loop/layer_rows.h"

static void layer_sums_kept(const void *row, const void *g, size_t d, double *kept, double sums[3]) {
  layer_sums_of(&double_source_f32, row, g, d, sums, kept);
}
static void layer_gradient_kept(const cpb_layer_line *line) {
  layer_gradient_of((row_kind){&double_source_f64, false, true}, line);
}

cpb_rows_loop *cpb_double_rows_avx512(const cpb_rows_job *job) { return plan_doubles(job); }

extern const cpb_layer_loops cpb_layer_avx512;
const cpb_layer_loops cpb_layer_avx512 = {.sums = {layer_sums_f32, layer_sums_f64},
                                          .gradient = {layer_gradient_f32, layer_gradient_f64},
                                          .sums_kept = layer_sums_kept,
                                          .gradient_kept = layer_gradient_kept,
                                          .fence = layer_fence};

/* Rows of doubles, and results in double, on AVX-512. */
#include "loop/lanes_avx512.h"

enum { FEW_LEAST = 2 };

#include "loop/rows_double.h"

#include "loop/rows_plan.inc"

#include "loop/layer_rows.h"

static void layer_kept(cpb_layer_line *lines, size_t count, size_t d) {
  layer_lines((layer_kind){.wide = false, .keeps = true}, lines, count, d);
}

const cpb_rows_rule *const cpb_double_rules_avx512 = double_rules;
const cpb_layer_loops cpb_layer_avx512 = {
    .real = {layer_f32, layer_f64}, .kept = layer_kept, .fence = lanes_fence};

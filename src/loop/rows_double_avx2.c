/* Rows of doubles, and results in double, on AVX2. */
#include "loop/lanes_avx2.h"

enum { FEW_LEAST = 4 };

#include "loop/rows_double.h"

#include "loop/rows_plan.inc"

#include "loop/layer_rows.h"

const cpb_rows_rule *const cpb_double_rules_avx2 = double_rules;
const cpb_layer_loops cpb_layer_avx2 = {.real = {layer_f32, layer_f64}, .fence = lanes_fence};

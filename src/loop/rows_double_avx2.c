/* Rows of doubles, and results in double, on AVX2: all of them by the walk, short ones of halves and bytes as doubles. */
#include "loop/lanes_avx2.h"

enum { SHORT_DOUBLES = 0, SHORT_WIDENED = 0, SHORT_NARROWED = 0, SHORT_SMALL = 31 };

static bool short_doubles_stream(const cpb_rows_job *job) {
  (void)job;
  return false;
}

static cpb_rows_loop short_doubles, short_staged;

#include "loop/rows_double_plan.inc"

#include "loop/layer_rows.h"

static void short_doubles(const cpb_rows_job *job) { walk_f64_f64(job); }
static void short_staged(const cpb_rows_job *job) { staged(job); }

cpb_rows_loop *cpb_double_rows_avx2(const cpb_rows_job *job) { return plan_doubles(job); }

extern const cpb_layer_loops cpb_layer_avx2;
const cpb_layer_loops cpb_layer_avx2 = {.real = {layer_f32, layer_f64}, .fence = layer_fence};

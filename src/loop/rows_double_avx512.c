/* Rows of doubles, and results in double, on AVX-512. */
#include "loop/lanes_avx512.h"

enum { BLOCK_DOUBLES = 15, BLOCK_ANY = 31, FEW_LEAST = 2, FEW_STAGED = true };

#include "loop/rows_double.h"

#include "loop/rows_plan.inc"

#include "loop/layer_rows.h"

/* Elements around the converted ones are readable. */
LANE_INLINE lanes_f64 kept_part(const void *p, size_t from, size_t to) {
  (void)from, (void)to;
  return wide_f64(p);
}
static const layer_source layer_source_kept = {sizeof(double), wide_f64, kept_part};

static void layer_kept(cpb_layer_line *line, size_t d, size_t start) {
  const layer_kind kind = {&layer_source_f32, {&layer_source_kept, {.narrow = true}}, true};
  (void)start; /* a single chunk */
  layer_chunk_of(kind, line, d, 0);
}

const cpb_rows_rule *const cpb_double_rules_avx512 = double_rules;
const cpb_layer_loops cpb_layer_avx512 = {
    .real = {layer_f32, layer_f64}, .kept = layer_kept, .fence = layer_fence};

#include "loops/lanes_avx512.h"

#include "sphere/layer_rows.inc"

static void layer_kept(cpb_layer_line *lines, size_t count, size_t d) {
  layer_lines((layer_kind){.wide = false, .keeps = true}, lines, count, d);
}

const cpb_layer_loops cpb_layer_avx512 = {
    .real = {layer_f32, layer_f64}, .kept = layer_kept, .fence = lanes_fence};

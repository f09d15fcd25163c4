#include "loops/lanes_avx2.h"

#include "sphere/layer_rows.inc"

const cpb_layer_loops cpb_layer_avx2 = {.real = {layer_f32, layer_f64}, .fence = lanes_fence};

#include "loops/lanes_v128.h"

#include "sphere/layer_rows.inc"

const cpb_layer_loops cpb_layer_v128 = {.real = {layer_f32, layer_f64}, .fence = lanes_fence};

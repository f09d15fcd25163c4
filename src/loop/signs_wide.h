/* The signs of a row of a panel, as two sets of columns. */
#ifndef CPB_LOOP_SIGNS_WIDE_H
#define CPB_LOOP_SIGNS_WIDE_H

#include "loop/lanes.h"

static void signs(const float *values, float margin, uint64_t *above, uint64_t *unsure) {
  vec_f32 high = vec_spread_f32(margin), low = vec_spread_f32(-margin);
  uint64_t up = 0, down = 0;
#pragma GCC unroll 8
  for (size_t j = 0; j < CPB_PANEL_COLS; j += VEC_F32) {
    vec_f32 value = vec_load_f32(values + j);
    up |= (uint64_t)vec_above_f32(value, high) << j;
    down |= (uint64_t)vec_above_f32(low, value) << j;
  }
  *above = up;
  *unsure = ~(up | down);
}

#endif

/* spread.inc of floats in the lanes of an instruction set: the last line of a row is read as part of one, not put together
 * in memory, where it could not be read back before it had arrived. */
#ifndef CPB_LOOP_SPREAD_WIDE_H
#define CPB_LOOP_SPREAD_WIDE_H

#include "loop/lanes.h"

static double spread_f32(const float *x, size_t n, float unit, const float *center, float *to, size_t step) {
  double sum = 0;
  for (size_t start = 0; start < n; start += CPB_CHUNK) {
    size_t end = n - start < CPB_CHUNK ? n : start + CPB_CHUNK, i = start;
    lanes_f64 lane = lanes_zero();
    for (; i + CPB_LANES <= end; i += CPB_LANES, to += step) {
      lanes_f32 z = lanes_times(lanes_less(load_f32(x + i), load_f32(center + i)), unit);
      lane = lanes_add_square(lane, z);
      store_lanes(to, z);
    }
    if (i < end) {
      lanes_f32 from = part_f32(x + i, 0, end - i), z;
      z = lanes_times(lanes_less(from, part_f32(center + i, 0, end - i)), unit);
      lane = lanes_add_square(lane, z);
      store_part(to, z, 0, end - i);
    }
    sum += lanes_sum(lane);
  }
  return sum;
}

#endif

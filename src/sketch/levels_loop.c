/* The reference loop, and the choice of the one to use. */
#include "sketch/levels_loop.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "loop/lane_inline.h"
#include "loop/table.h"

typedef struct lanes {
  float at[CPB_LEVELS_LANES];
} lanes;
typedef struct wide_lanes {
  double at[CPB_LEVELS_LANES];
} wide_lanes;

#define EACH_LANE(result)                                                                                    \
  lanes to;                                                                                                  \
  for (size_t i = 0; i < CPB_LEVELS_LANES; i++) to.at[i] = (result);                                         \
  return to

LANE_INLINE lanes lanes_load(const float *p) { EACH_LANE(p[i]); }
LANE_INLINE lanes lanes_set(float x) { EACH_LANE(x); }
LANE_INLINE lanes lanes_four(const float *p) { EACH_LANE(p[i % 4]); }
LANE_INLINE lanes lanes_each(const float *p) { EACH_LANE(p[i / 4]); }
LANE_INLINE lanes lanes_add(lanes x, lanes y) { EACH_LANE(x.at[i] + y.at[i]); }
LANE_INLINE lanes lanes_times(lanes x, lanes y) { EACH_LANE(x.at[i] * y.at[i]); }
LANE_INLINE lanes lanes_least(lanes x, lanes y) { EACH_LANE(x.at[i] < y.at[i] ? x.at[i] : y.at[i]); }
LANE_INLINE lanes lanes_most(lanes x, lanes y) { EACH_LANE(x.at[i] > y.at[i] ? x.at[i] : y.at[i]); }
LANE_INLINE lanes lanes_size(lanes x) { EACH_LANE(fabsf(x.at[i])); }
LANE_INLINE lanes lanes_signed(lanes x, lanes y) { EACH_LANE(copysignf(x.at[i], y.at[i])); }
LANE_INLINE lanes lanes_whole(lanes x) { EACH_LANE((float)(int)x.at[i]); }
LANE_INLINE lanes lanes_add_from(lanes sum, lanes x, lanes y, lanes least) {
  EACH_LANE(sum.at[i] + (y.at[i] >= least.at[i] ? x.at[i] : 0));
}
LANE_INLINE float lanes_sum(lanes x) {
  for (size_t half = CPB_LEVELS_LANES / 2; half > 0; half /= 2)
    for (size_t i = 0; i < half; i++) x.at[i] += x.at[i + half];
  return x.at[0];
}
LANE_INLINE float lanes_largest(lanes x) {
  for (size_t i = 1; i < CPB_LEVELS_LANES; i++) x.at[0] = x.at[i] > x.at[0] ? x.at[i] : x.at[0];
  return x.at[0];
}
LANE_INLINE void lanes_fours(lanes x, float *to) {
  for (size_t i = 0; i < 4; i++)
    to[i] = (x.at[4 * i] + x.at[4 * i + 2]) + (x.at[4 * i + 1] + x.at[4 * i + 3]);
}
LANE_INLINE void lanes_bytes(lanes x, uint64_t *word) {
  word[0] = word[1] = 0;
  for (size_t i = 0; i < CPB_LEVELS_LANES; i++) word[i / 8] |= (uint64_t)x.at[i] << 8 * (i % 8);
}
LANE_INLINE uint64_t lanes_positive(lanes x) {
  uint64_t set = 0;
  for (size_t i = 0; i < CPB_LEVELS_LANES; i++) set |= (uint64_t)!signbit(x.at[i]) << i;
  return set;
}

LANE_INLINE wide_lanes wide_zero(void) { return (wide_lanes){{0}}; }
LANE_INLINE wide_lanes wide_add(wide_lanes sum, lanes x) {
  for (size_t i = 0; i < CPB_LEVELS_LANES; i++) sum.at[i] += (double)x.at[i];
  return sum;
}
LANE_INLINE wide_lanes wide_add_product(wide_lanes sum, lanes x, lanes y) {
  for (size_t i = 0; i < CPB_LEVELS_LANES; i++) sum.at[i] += (double)x.at[i] * (double)y.at[i];
  return sum;
}
LANE_INLINE double wide_sum(wide_lanes x) {
  for (size_t half = CPB_LEVELS_LANES / 2; half > 0; half /= 2)
    for (size_t i = 0; i < half; i++) x.at[i] += x.at[i + half];
  return x.at[0];
}

#include "sketch/levels_loop.inc"

cpb_levels_loop cpb_levels_avx2, cpb_levels_avx512;

cpb_levels_loop *cpb_levels_loop_here(void) {
#if defined(__x86_64__) && !defined(CPB_PLAIN_LOOPS) && !defined(CPB_NO_AVX)
  const char *name = cpb_loops_here()->name;
  if (strcmp(name, "avx2") == 0) return cpb_levels_avx2;
  if (strncmp(name, "avx512", 6) == 0 || strcmp(name, "amx") == 0) return cpb_levels_avx512;
#endif
  return choose_levels;
}

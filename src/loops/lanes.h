/* Inline: sixteen lanes of floats or doubles in the vectors of an instruction set: of the header that was included before, or else
 * of the one the file is compiled for. */
#ifndef CPB_LOOPS_LANES_H
#define CPB_LOOPS_LANES_H

#include <string.h>

#include "loops/table.h"

#if defined(CPB_LOOPS_LANES_AVX512_H) || defined(CPB_LOOPS_LANES_AVX2_H) || defined(CPB_LOOPS_LANES_V128_H)
/* chosen */
#elif defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#include "loops/lanes_avx512.h"
#elif defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#include "loops/lanes_avx2.h"
#else
#include "loops/lanes_v128.h"
#endif

/* Unrolled, so that vectors stay in registers. */
#define EACH_VECTOR(k, count) _Pragma("GCC unroll 8") for (size_t k = 0; k < (count); k++)

/* For joining lines: lanes from any position of one vector on. */
static const int32_t lanes_ramp[2 * CPB_LANES] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                                  11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                                  22, 23, 24, 25, 26, 27, 28, 29, 30, 31};

/* Doubles are stored as floats, too. */
LANE_INLINE void vec_store_narrow_f64(float *p, vec_f64 x) {
  vec_half half = vec_narrow(x);
  memcpy(p, &half, sizeof half);
}
LANE_INLINE void vec_store_narrow_f32(float *p, vec_f32 x) { memcpy(p, &x, sizeof x); }
LANE_INLINE void vec_stream_narrow_f32(float *p, vec_f32 x) { vec_stream_f32(p, x); }

#define REAL float
#define LANES(name) name##_f32
enum { VECTORS_f32 = CPB_LANES / VEC_F32, VEC_f32 = VEC_F32 };
#include "loops/lanes_real.inc"
#undef REAL
#undef LANES
#define REAL double
#define LANES(name) name##_f64
enum { VECTORS_f64 = CPB_LANES / VEC_F64, VEC_f64 = VEC_F64 };
#include "loops/lanes_real.inc"
#undef REAL
#undef LANES

/* Sixteen numbers of other types. */
LANE_INLINE lanes_f32 lanes_load_u8(const void *p) {
  lanes_f32 x;
  EACH_VECTOR(k, VECTORS_f32) x.part[k] = vec_load_u8((const uint8_t *)p + k * VEC_F32);
  return x;
}
LANE_INLINE lanes_f32 lanes_load_i8(const void *p) {
  lanes_f32 x;
  EACH_VECTOR(k, VECTORS_f32) x.part[k] = vec_load_i8((const int8_t *)p + k * VEC_F32);
  return x;
}
LANE_INLINE lanes_f32 lanes_load_f16(const void *p) {
  lanes_f32 x;
  EACH_VECTOR(k, VECTORS_f32) x.part[k] = vec_load_f16((const uint16_t *)p + k * VEC_F32);
  return x;
}

/* Floats as doubles, minus y, computed in their own type, if there is any. */
LANE_INLINE vec_f64 vec_wide_f32(const float *x, const float *y) {
  vec_half half, less;
  memcpy(&half, x, sizeof half);
  if (y != NULL) {
    memcpy(&less, y, sizeof less);
    half -= less;
  }
  return vec_widen(half);
}
LANE_INLINE vec_f64 vec_wide_f64(const double *x, const double *y) {
  return y == NULL ? vec_load_f64(x) : vec_load_f64(x) - vec_load_f64(y);
}
LANE_INLINE lanes_f64 lanes_wide_f32(const void *p) {
  lanes_f64 x;
  EACH_VECTOR(k, VECTORS_f64) x.part[k] = vec_wide_f32((const float *)p + k * VEC_F64, NULL);
  return x;
}
LANE_INLINE lanes_f32 lanes_narrow(lanes_f64 x) {
  lanes_f32 y;
  EACH_VECTOR(k, VECTORS_f32)
  y.part[k] = vec_halves(vec_narrow(x.part[2 * k]), vec_narrow(x.part[2 * k + 1]));
  return y;
}
#ifndef LANES_WIDEN
/* Through memory: widening from registers costs twice as much. */
LANE_INLINE lanes_f64 lanes_widen(lanes_f32 x) {
  _Alignas(64) float line[CPB_LANES];
  lanes_store_f32(line, x);
  __asm__("" : "+m"(line));
  return lanes_wide_f32(line);
}
#else
LANE_INLINE lanes_f64 lanes_widen(lanes_f32 x) {
  return (lanes_f64){{vec_widen(vec_low_half(x.part[0])), vec_widen(vec_high_half(x.part[0]))}};
}
#endif

/* sum + x y per lane: with two roundings, or where products are exact, as those of floats are */
LANE_INLINE lanes_f64 lanes_add_product(lanes_f64 sum, lanes_f64 x, lanes_f64 y) {
  EACH_VECTOR(k, VECTORS_f64) sum.part[k] += x.part[k] * y.part[k];
  return sum;
}
LANE_INLINE lanes_f64 lanes_add_exact(lanes_f64 sum, lanes_f64 x, lanes_f64 y) {
  EACH_VECTOR(k, VECTORS_f64) sum.part[k] = vec_add_exact(sum.part[k], x.part[k], y.part[k]);
  return sum;
}

/* The fixed tree: lane j with j+8, then +4, +2, +1; as far as whole vectors are added, and to its end. */
LANE_INLINE vec_f64 lanes_fold(lanes_f64 x) {
#pragma GCC unroll 3
  for (size_t width = VECTORS_f64 / 2; width > 0; width /= 2)
    EACH_VECTOR(k, width) x.part[k] += x.part[k + width];
  return x.part[0];
}
LANE_INLINE double lanes_sum(lanes_f64 x) { return vec_sum_f64(lanes_fold(x)); }

/* Words of codes. */
LANE_INLINE vec_u64 vec_load_u64(const void *p) {
  vec_u64 x;
  memcpy(&x, p, sizeof x);
  return x;
}

#endif

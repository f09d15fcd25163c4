/* NEON. Other processors with vectors of 128 bits have no common instruction that looks up bytes, and use the plain loop. */
#if defined(__aarch64__)
#include <arm_neon.h>

#include "loop/lane_inline.h"
#include "sketch/nibble_scan.h"

typedef uint8x16_t vec_u8;
enum { VEC_U8 = 16, QUERIES_AT_ONCE = 4 };

LANE_INLINE vec_u8 vec_load(const uint8_t *p) { return vld1q_u8(p); }
LANE_INLINE vec_u8 vec_zero(void) { return vdupq_n_u8(0); }
LANE_INLINE vec_u8 vec_low_nibbles(vec_u8 x) { return vandq_u8(x, vdupq_n_u8(15)); }
LANE_INLINE vec_u8 vec_high_nibbles(vec_u8 x) { return vshrq_n_u8(x, 4); }
LANE_INLINE vec_u8 vec_table(const uint8_t *p) { return vld1q_u8(p); }
LANE_INLINE vec_u8 vec_look_up(vec_u8 table, vec_u8 at) { return vqtbl1q_u8(table, at); }
LANE_INLINE vec_u8 vec_add8(vec_u8 x, vec_u8 y) { return vaddq_u8(x, y); }
LANE_INLINE vec_u8 vec_add16(vec_u8 x, vec_u8 y) {
  return vreinterpretq_u8_u16(vaddq_u16(vreinterpretq_u16_u8(x), vreinterpretq_u16_u8(y)));
}
LANE_INLINE vec_u8 vec_odd16(vec_u8 x) {
  return vreinterpretq_u8_u16(vshrq_n_u16(vreinterpretq_u16_u8(x), 8));
}
LANE_INLINE vec_u8 vec_even16(vec_u8 sum, vec_u8 odd) {
  uint16x8_t above = vshlq_n_u16(vreinterpretq_u16_u8(odd), 8);
  return vreinterpretq_u8_u16(vsubq_u16(vreinterpretq_u16_u8(sum), above));
}

LANE_INLINE uint64_t estimate_four(uint16x4_t sums, const float *factors, const cpb_scan_query *query,
                                   float *estimates) {
  float32x4_t along = vcvtq_f32_u32(vmovl_u16(sums));
  along = vaddq_f32(vmulq_f32(vdupq_n_f32(query->scale), along), vdupq_n_f32(query->start));
  float32x4_t estimate = vsubq_f32(vld1q_f32(factors), vmulq_f32(vld1q_f32(factors + CPB_SCAN_ROWS), along));
  static const uint32_t bits[4] = {1, 2, 4, 8};
  vst1q_f32(estimates, estimate);
  return vaddvq_u32(vandq_u32(vcleq_f32(estimate, vdupq_n_f32(query->limit)), vld1q_u32(bits)));
}

LANE_INLINE uint64_t vec_estimate(vec_u8 sums, const float *factors, const cpb_scan_query *query,
                                  float *estimates) {
  uint16x8_t wide = vreinterpretq_u16_u8(sums);
  uint64_t low = estimate_four(vget_low_u16(wide), factors, query, estimates);
  return low | estimate_four(vget_high_u16(wide), factors + 4, query, estimates + 4) << 4;
}

#include "sketch/nibble_scan.inc"

void cpb_nibbles_v128(cpb_nibble_scan *scan);
void cpb_nibbles_v128(cpb_nibble_scan *scan) { scan_nibbles(scan); }
#else
typedef int cpb_no_nibbles; /* a translation unit must not be empty */
#endif

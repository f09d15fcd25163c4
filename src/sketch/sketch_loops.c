/* The loops for vectors of 128 bits, the reference loops, and the choice of those to use. Except for NEON, processors with such
 * vectors have no common instruction that looks up bytes. */
#include <math.h>
#include <string.h>

#include "loops/lanes.h"
#include "sketch/sketch_loops.h"

LANE_INLINE lanes_f32 lanes_four(const float *p) {
  vec_f32 x = vec_load_f32(p);
  return (lanes_f32){{x, x, x, x}};
}
LANE_INLINE float sum_four(vec_f32 x) { return (x[0] + x[2]) + (x[1] + x[3]); }
LANE_INLINE float lanes_sum_f32(lanes_f32 x) {
  return sum_four((x.part[0] + x.part[2]) + (x.part[1] + x.part[3]));
}
LANE_INLINE float lanes_largest(lanes_f32 x) {
  vec_f32 four = vec_max_f32(vec_max_f32(x.part[0], x.part[1]), vec_max_f32(x.part[2], x.part[3]));
  return fmaxf(fmaxf(four[0], four[1]), fmaxf(four[2], four[3]));
}
LANE_INLINE void lanes_fours(lanes_f32 x, float *to) {
  EACH_VECTOR(k, VECTORS_f32) to[k] = sum_four(x.part[k]);
}
LANE_INLINE void lanes_bytes(lanes_f32 x, uint64_t *word) {
  float at[CPB_LEVELS_LANES];
  lanes_store_f32(at, x);
  word[0] = word[1] = 0;
  for (size_t i = 0; i < CPB_LEVELS_LANES; i++) word[i / 8] |= (uint64_t)at[i] << 8 * (i % 8);
}

#include "sketch/levels_loop.inc"
LANE_INLINE vec_i32 vec_least(vec_i32 x, vec_i32 y) {
  vec_i32 less = x < y;
  return (x & less) | (y & ~less);
}
LANE_INLINE int32_t vec_least_lane(vec_i32 x) {
  int32_t least = x[0];
  for (size_t k = 1; k < VEC_F32; k++) least = x[k] < least ? x[k] : least;
  return least;
}
#include "sketch/nearest_loop.inc"

static unsigned sum_of(const cpb_byte_scan *s, const uint8_t *codes, const uint8_t *tables, size_t row) {
  unsigned sum = 0;
  codes += cpb_scan_lane(row);
  for (size_t j = 0; j < s->bytes; j++) sum += tables[256 * j + codes[j * CPB_SCAN_ROWS]];
  return sum;
}

static void scan_plain(cpb_byte_scan *s) {
  for (size_t block = 0; block < s->blocks; block++) {
    const uint8_t *codes = s->codes + block * s->bytes * CPB_SCAN_ROWS;
    const float *size2 = s->factors + block * 2 * CPB_SCAN_ROWS, *f = size2 + CPB_SCAN_ROWS;
    for (size_t q = 0; q < s->queries; q++) {
      cpb_scan_query *query = &s->query[q];
      float estimates[CPB_SCAN_ROWS];
      uint64_t below = 0;
      for (size_t i = 0; i < CPB_SCAN_ROWS; i++) {
        float along = query->scale * (float)sum_of(s, codes, query->tables, i) + query->start;
        estimates[i] = size2[i] - f[i] * along;
        below |= (uint64_t)(estimates[i] <= query->limit) << i;
      }
      if (below != 0) query->limit = s->found(s->context, q, block, below, estimates);
    }
  }
}

static const cpb_sketch_loops plain = {choose_levels, find_nearest, scan_plain};

#if defined(__aarch64__) && !defined(CPB_PLAIN_LOOPS) && !defined(CPB_NO_V128)
enum { VEC_U8 = 16, QUERIES_AT_ONCE = 4 };
typedef uint8_t vec_u8 __attribute__((vector_size(VEC_U8)));

typedef vec_u8 byte_parts;
LANE_INLINE byte_parts parts_of(vec_u8 code) { return code; }
/* Four tables of 64 bytes; beyond its end each leaves what the others found. */
LANE_INLINE vec_u8 look_up(const uint8_t *table, byte_parts code) {
  uint8x16_t value = vqtbl4q_u8(vld1q_u8_x4(table), (uint8x16_t)code);
  for (uint8_t i = 64; i != 0; i = (uint8_t)(i + 64))
    value = vqtbx4q_u8(value, vld1q_u8_x4(table + i), (uint8x16_t)(code - i));
  return (vec_u8)value;
}

#include "sketch/byte_scan.inc"

static const cpb_sketch_loops v128 = {choose_levels, find_nearest, scan_bytes};
#endif

void (*cpb_sketch_scan_vbmi_here(void))(cpb_byte_scan *scan) {
#if defined(CPB_WIDE_LOOPS)
  if (__builtin_cpu_supports("avx512vbmi")) return cpb_sketch_scan_vbmi;
#endif
  return NULL;
}

const cpb_sketch_loops *cpb_sketch_loops_here(void) {
  const char *name = cpb_loops_here()->name;
  if (strcmp(name, "plain") == 0) return &plain;
#if defined(CPB_WIDE_LOOPS)
  if (strcmp(name, "avx2") == 0) return &cpb_sketch_avx2;
  if (strncmp(name, "avx512", 6) == 0 || strcmp(name, "amx") == 0)
    return cpb_sketch_scan_vbmi_here() != NULL ? &cpb_sketch_avx512vbmi : &cpb_sketch_avx512;
#endif
#if defined(__aarch64__) && !defined(CPB_PLAIN_LOOPS) && !defined(CPB_NO_V128)
  return &v128;
#else
  return &plain;
#endif
}

/* The scan with permutations of bytes: a table of 256 bytes is four registers. */
#include "loops/lanes.h"
#include "sketch/sketch_loops.h"

enum { VEC_U8 = 64, QUERIES_AT_ONCE = 4 };
typedef uint8_t vec_u8 __attribute__((vector_size(VEC_U8)));
typedef int32_t vec_i32 __attribute__((vector_size(VEC_U8)));
typedef vec_u8 byte_parts;

LANE_INLINE byte_parts parts_of(vec_u8 code) { return code; }
LANE_INLINE __m512i half_at(const uint8_t *table, __m512i code) {
  return _mm512_permutex2var_epi8(_mm512_load_si512(table), code, _mm512_load_si512(table + 64));
}
LANE_INLINE vec_u8 look_up(const uint8_t *table, byte_parts p) {
  __m512i code = (__m512i)p;
  return (vec_u8)_mm512_mask_blend_epi8(_mm512_movepi8_mask(code), half_at(table, code),
                                        half_at(table + 128, code));
}

#include "sketch/byte_scan.inc"

void cpb_sketch_scan_vbmi(cpb_byte_scan *scan) { scan_bytes(scan); }

/* Products of bytes, four of which are added at once (VNNI): the avx512vnni table. Vectors of sixteen 32-bit sums. */
#include <immintrin.h>

#include "loop/lane_inline.h"
#include "loop/table.h"

typedef __m512i bytes_vec;
enum { bytes_WIDTH = 16, bytes_MOST = 4 };

LANE_INLINE bytes_vec bytes_load(const void *p) { return _mm512_loadu_si512(p); }
LANE_INLINE void bytes_store(int32_t *p, bytes_vec x) { _mm512_storeu_si512(p, x); }
LANE_INLINE bytes_vec bytes_spread(int32_t x) { return _mm512_set1_epi32(x); }
LANE_INLINE bytes_vec bytes_max(bytes_vec x, bytes_vec y) { return _mm512_max_epi32(x, y); }
LANE_INLINE unsigned bytes_above(bytes_vec x, bytes_vec y) { return _mm512_cmpgt_epi32_mask(x, y); }
LANE_INLINE bytes_vec bytes_add(bytes_vec sum, bytes_vec line, bytes_vec word) {
  return _mm512_dpbusd_epi32(sum, line, word);
}
#include "loop/panel_bytes.inc"

void cpb_panel_bytes_vnni(const cpb_panel_bytes *panel);
void cpb_panel_bytes_vnni(const cpb_panel_bytes *panel) { bytes_products(panel); }

void cpb_scan_bytes_vnni(const cpb_panel_bytes *panel);
void cpb_scan_bytes_vnni(const cpb_panel_bytes *panel) { bytes_scan(panel); }

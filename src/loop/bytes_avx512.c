/* Products of bytes for processors that add four of them at once (VNNI); the avx512vnni table takes them. Vectors of sixteen
 * 32-bit sums. */
#include <immintrin.h>
#include <stdbool.h>
#include <string.h>

#include "loop/lane_inline.h"
#include "loop/table.h"

#define PANEL(name) bytes_##name
typedef cpb_panel_bytes bytes_job;
typedef int32_t bytes_value;
typedef __m512i bytes_vec;
enum { bytes_WIDTH = 16, bytes_MOST = 4, bytes_LINE = CPB_BYTES_LINE / CPB_BYTES_WORD };
enum { PANEL_STEP = CPB_BYTES_COLS * CPB_BYTES_WORD };
_Static_assert((int)CPB_BYTES_ROWS == (int)CPB_PANEL_ROWS && (int)CPB_BYTES_COLS == (int)CPB_PANEL_COLS,
               "panel.inc serves both");

LANE_INLINE bytes_vec bytes_load(const void *p) { return _mm512_loadu_si512(p); }
LANE_INLINE void bytes_store(int32_t *p, bytes_vec x) { _mm512_storeu_si512(p, x); }
LANE_INLINE bytes_vec bytes_spread(int32_t x) { return _mm512_set1_epi32(x); }
LANE_INLINE bytes_vec bytes_max(bytes_vec x, bytes_vec y) { return _mm512_max_epi32(x, y); }
LANE_INLINE unsigned bytes_above(bytes_vec x, bytes_vec y) { return _mm512_cmpgt_epi32_mask(x, y); }
LANE_INLINE size_t bytes_depth(const cpb_panel_bytes *p) { return p->words; }

/* The four bytes at p in every lane. */
LANE_INLINE bytes_vec bytes_word(const int8_t *p) {
  int32_t word;
  memcpy(&word, p, sizeof word);
  return _mm512_set1_epi32(word);
}

LANE_INLINE void bytes_terms(const cpb_panel_bytes *p, size_t row, size_t word, size_t column, size_t count,
                             size_t vectors, bytes_vec sum[CPB_PANEL_ROWS][bytes_MOST]) {
  const int8_t *a = p->a + cpb_bytes_at(p->words, row, word * CPB_BYTES_WORD);
  const uint8_t *b = p->b + word * PANEL_STEP + column * CPB_BYTES_WORD;
  for (size_t w = 0; w < count; w++, a += CPB_BYTES_WORD, b += PANEL_STEP) {
    bytes_vec line[bytes_MOST];
#pragma GCC unroll 4
    for (size_t v = 0; v < vectors; v++) line[v] = bytes_load(b + v * bytes_WIDTH * CPB_BYTES_WORD);
#pragma GCC unroll 6
    for (size_t i = 0; i < CPB_PANEL_ROWS; i++) {
      bytes_vec four = bytes_word(a + i * CPB_BYTES_LINE);
#pragma GCC unroll 4
      for (size_t v = 0; v < vectors; v++) sum[i][v] = _mm512_dpbusd_epi32(sum[i][v], line[v], four);
    }
  }
}
#include "loop/panel.inc"
#undef PANEL

void cpb_panel_bytes_vnni(const cpb_panel_bytes *panel);
void cpb_panel_bytes_vnni(const cpb_panel_bytes *panel) { bytes_products(panel); }

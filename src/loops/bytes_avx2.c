/* Products of bytes for processors without VNNI, used by the avx2 and avx512 tables for indexes, which store rows as
 * bytes. Vectors of eight 32-bit sums. */
#include <immintrin.h>

#include "loops/lane_inline.h"
#include "loops/table.h"

typedef __m256i bytes_vec;
enum { bytes_WIDTH = 8, bytes_MOST = 1 };

LANE_INLINE bytes_vec bytes_load(const void *p) { return _mm256_loadu_si256(p); }
LANE_INLINE void bytes_store(int32_t *p, bytes_vec x) { _mm256_storeu_si256((void *)p, x); }
LANE_INLINE bytes_vec bytes_spread(int32_t x) { return _mm256_set1_epi32(x); }
LANE_INLINE bytes_vec bytes_max(bytes_vec x, bytes_vec y) { return _mm256_max_epi32(x, y); }
LANE_INLINE unsigned bytes_above(bytes_vec x, bytes_vec y) {
  return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(x, y)));
}
/* Pairs of 16 bits are added, so that nothing saturates. */
LANE_INLINE bytes_vec bytes_add(bytes_vec sum, bytes_vec line, bytes_vec word) {
  bytes_vec a_even = _mm256_srai_epi16(_mm256_slli_epi16(word, 8), 8), a_odd = _mm256_srai_epi16(word, 8);
  bytes_vec b_even = _mm256_and_si256(line, _mm256_set1_epi16(255)), b_odd = _mm256_srli_epi16(line, 8);
  sum = _mm256_add_epi32(sum, _mm256_madd_epi16(a_even, b_even));
  return _mm256_add_epi32(sum, _mm256_madd_epi16(a_odd, b_odd));
}
#include "loops/panel_bytes.inc"

void cpb_scan_bytes_avx2(const cpb_panel_bytes *panel);
void cpb_scan_bytes_avx2(const cpb_panel_bytes *panel) { bytes_scan(panel); }
void cpb_sum_bytes_avx2(const cpb_panel_sums *panels);
void cpb_sum_bytes_avx2(const cpb_panel_sums *panels) { bytes_sums(panels); }

/* Products of bytes, four of which are added at once (VNNI): the avx512vnni table. Vectors of sixteen 32-bit sums. */
#include <immintrin.h>
#include <stdbool.h>

#include "loops/lane_inline.h"
#include "loops/table.h"

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
#include "loops/panel_bytes.inc"

void cpb_panel_bytes_vnni(const cpb_panel_bytes *panel);
void cpb_panel_bytes_vnni(const cpb_panel_bytes *panel) { bytes_products(panel); }

/* ---- one row, until no column can be found ---- */

/* Sums of the words that have been read, of every column: the value, b c and b. */
typedef struct partial_sums {
  bytes_vec value[ONE_VECTORS], product[ONE_VECTORS], b[ONE_VECTORS];
} partial_sums;

LANE_INLINE void add_word(const cpb_panel_bytes *p, size_t i, partial_sums *sum) {
  const size_t word = p->partial->order[i];
  const uint8_t *b = p->b + word * PANEL_STEP,
                *ahead = p->b + p->partial->order[i + CPB_PARTIAL_STEP] * PANEL_STEP;
  bytes_vec a = bytes_word(p->a + cpb_bytes_at(p->words, 0, word * CPB_BYTES_WORD));
#pragma GCC unroll 4
  for (size_t v = 0; v < ONE_VECTORS; v++) {
    bytes_vec line = bytes_load(b + v * CPB_BYTES_LINE);
    __builtin_prefetch(ahead + v * CPB_BYTES_LINE);
    sum->value[v] = bytes_add(sum->value[v], line, a);
    sum->product[v] =
        bytes_add(sum->product[v], line, _mm512_xor_si512(line, bytes_spread(INT32_C(-0x7f7f7f80))));
    sum->b[v] = bytes_add(sum->b[v], line, bytes_spread(0x01010101));
  }
}

LANE_INLINE unsigned eight_left(__m256i value, __m256i square, __m512d rest, __m512d per_square) {
  __m512d most = _mm512_mul_pd(_mm512_cvtepi32_pd(square), per_square);
  return _mm512_cmp_pd_mask(_mm512_add_pd(_mm512_cvtepi32_pd(value), rest), most, _CMP_GT_OQ);
}

/* Whether any column can be found, after so many steps. */
LANE_INLINE bool any_left(const cpb_partial *partial, size_t steps, const partial_sums *sum) {
  enum { MIDDLE_BITS = 7, OF_STEP = CPB_PARTIAL_STEP * CPB_BYTES_WORD << 2 * MIDDLE_BITS };
  __m512d per_square = _mm512_set1_pd(partial->per_square);
  __m512d rest = _mm512_set1_pd(partial->other_sum[steps - 1] + CPB_PARTIAL_SLACK +
                                partial->other_square[steps - 1] / (4 * partial->per_square));
  unsigned left = 0;
#pragma GCC unroll 4
  for (size_t v = 0; v < ONE_VECTORS; v++) { /* c^2 = b c - 128 b + 128^2 */
    bytes_vec square = _mm512_sub_epi32(sum->product[v], _mm512_slli_epi32(sum->b[v], MIDDLE_BITS));
    square = _mm512_add_epi32(square, bytes_spread((int32_t)steps * OF_STEP));
    left |=
        eight_left(_mm512_castsi512_si256(sum->value[v]), _mm512_castsi512_si256(square), rest, per_square) |
        eight_left(_mm512_extracti64x4_epi64(sum->value[v], 1), _mm512_extracti64x4_epi64(square, 1), rest,
                   per_square);
  }
  return left != 0;
}

static void scan_partial(const cpb_panel_bytes *p) {
  partial_sums sum = {0};
  size_t words = p->words, steps = 0, i = 0;
  bytes_start_one(p, sum.value);
  for (; i < CPB_PARTIAL_STEP; i++)
#pragma GCC unroll 4
    for (size_t v = 0; v < ONE_VECTORS; v++)
      __builtin_prefetch(p->b + p->partial->order[words + i] * PANEL_STEP + v * CPB_BYTES_LINE);
  for (i = 0; i + CPB_PARTIAL_STEP <= words;) {
    for (size_t end = i + CPB_PARTIAL_STEP; i < end; i++) add_word(p, i, &sum);
    if (!any_left(p->partial, ++steps, &sum)) break;
  }
  bool left = i + CPB_PARTIAL_STEP > words;
  for (; left && i < words; i++) add_word(p, i, &sum);
  p->partial->words += i;
  if (left) bytes_report_one(p, sum.value);
}

void cpb_scan_bytes_vnni(const cpb_panel_bytes *panel);
void cpb_scan_bytes_vnni(const cpb_panel_bytes *panel) {
  if (panel->partial != NULL)
    scan_partial(panel);
  else
    bytes_scan(panel);
}

void cpb_sum_bytes_vnni(const cpb_panel_sums *panels);
void cpb_sum_bytes_vnni(const cpb_panel_sums *panels) { bytes_sums(panels); }

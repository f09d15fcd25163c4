/* Products with a panel in registers: CPB_PANEL_ROWS rows of up to PANEL_VECTORS vectors at a time, which
 * the lane header chooses so that the sums and one row of the panel fill the register file.
 *
 * A panel too deep for the first cache is cut along k, and a few tiles share each piece; a chain is set aside
 * and taken up again, so the cut is not seen in its bits. */
#ifndef CPB_LOOP_PANEL_WIDE_H
#define CPB_LOOP_PANEL_WIDE_H

#include "loop/terms_both.h"

enum { PANEL_WHOLE = 160, PANEL_DEPTH = 96, PANEL_TILES = 4, PANEL_BLOCK = PANEL_TILES * CPB_PANEL_ROWS };

typedef float panel_values[CPB_PANEL_COLS];

/* Whether anything is above its threshold: seldom, so that the largest value of each column is asked first.
 */
LANE_INLINE bool panel_any(const cpb_panel *p, size_t column, size_t vectors,
                           vec_f32 sum[CPB_PANEL_ROWS][PANEL_VECTORS]) {
  unsigned any = 0;
#pragma GCC unroll 4
  for (size_t v = 0; v < vectors; v++) {
    vec_f32 largest = sum[0][v];
#pragma GCC unroll 6
    for (size_t i = 1; i < CPB_PANEL_ROWS; i++) largest = vec_max_f32(largest, sum[i][v]);
    any |= vec_above_f32(largest, vec_load_f32(p->threshold + column + v * VEC_F32));
  }
  return any != 0;
}

LANE_INLINE uint64_t panel_columns(size_t column, size_t vectors) {
  return UINT64_MAX >> (CPB_PANEL_COLS - vectors * VEC_F32) << column;
}

/* Terms [from, to) of columns [column, column + vectors VEC_F32) of CPB_PANEL_ROWS rows. */
LANE_INLINE void panel_part(const cpb_panel *p, size_t row, size_t from, size_t to, size_t column,
                            size_t vectors, panel_values *value, uint64_t *told) {
  vec_f32 sum[CPB_PANEL_ROWS][PANEL_VECTORS];
#pragma GCC unroll 6
  for (size_t i = 0; i < CPB_PANEL_ROWS; i++)
#pragma GCC unroll 4
    for (size_t v = 0; v < vectors; v++)
      sum[i][v] =
          from == 0 ? vec_spread_f32(p->start[row + i]) : vec_load_f32(value[i] + column + v * VEC_F32);
  const float *a = p->a + cpb_panel_at(p->k, row, from), *b = p->b + from * CPB_PANEL_COLS + column;
  size_t k = from;
  for (; k + CPB_PANEL_LINE <= to; k += CPB_PANEL_LINE) {
    terms_f32(a, CPB_PANEL_LINE, 1, b, CPB_PANEL_COLS, CPB_PANEL_LINE, vectors, sum);
    a += CPB_PANEL_LINE * CPB_PANEL_ROWS;
    b += CPB_PANEL_LINE * CPB_PANEL_COLS;
  }
  terms_f32(a, CPB_PANEL_LINE, 1, b, CPB_PANEL_COLS, to - k, vectors, sum);
  if (to == p->k && !panel_any(p, column, vectors, sum)) return;
  *told |= panel_columns(column, vectors);
#pragma GCC unroll 6
  for (size_t i = 0; i < CPB_PANEL_ROWS; i++)
#pragma GCC unroll 4
    for (size_t v = 0; v < vectors; v++) vec_store_f32(value[i] + column + v * VEC_F32, sum[i][v]);
}

/* Gives the columns whose values were written: those of parts with something above its threshold. */
static uint64_t panel_tile(const cpb_panel *p, size_t row, size_t from, size_t to, panel_values *value) {
  size_t vectors = (p->columns + VEC_F32 - 1) / VEC_F32, v = 0;
  uint64_t told = 0;
  for (; v + PANEL_VECTORS <= vectors; v += PANEL_VECTORS)
    panel_part(p, row, from, to, v * VEC_F32, PANEL_VECTORS, value, &told);
#pragma GCC unroll 4
  for (size_t few = PANEL_VECTORS - 1; few > 0; few--)
    if (vectors - v == few) panel_part(p, row, from, to, v * VEC_F32, few, value, &told);
  return told;
}

static void panel_tell(const cpb_panel *p, size_t row, size_t end, panel_values *value, uint64_t told) {
  told &= UINT64_MAX >> (CPB_PANEL_COLS - p->columns);
  for (size_t i = 0; i < CPB_PANEL_ROWS && row + i < end; i++) {
    uint64_t above = 0;
    for (size_t j = 0; j < p->columns; j += VEC_F32)
      above |= (uint64_t)vec_above_f32(vec_load_f32(value[i] + j), vec_load_f32(p->threshold + j)) << j;
    if ((above & told) != 0) p->found(p->context, row + i, above & told, value[i]);
  }
}

static void panel(const cpb_panel *p) {
  _Alignas(64) panel_values value[PANEL_BLOCK] = {0};
  bool whole = p->k <= PANEL_WHOLE;
  size_t block = whole ? CPB_PANEL_ROWS : PANEL_BLOCK, depth = whole ? p->k + 1 : PANEL_DEPTH;
  if (p->columns == 0) return;
  for (size_t first = 0; first < p->rows; first += block) {
    size_t end = p->rows - first < block ? p->rows : first + block;
    for (size_t from = 0; from == 0 || from < p->k; from += depth)
      for (size_t row = first; row < end; row += CPB_PANEL_ROWS) {
        size_t to = p->k - from < depth ? p->k : from + depth;
        uint64_t told = panel_tile(p, row, from, to, value + (row - first));
        if (to == p->k && told != 0) panel_tell(p, row, end, value + (row - first), told);
      }
  }
}

#endif

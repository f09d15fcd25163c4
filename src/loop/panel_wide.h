/* Products with a panel in registers: CPB_PANEL_ROWS rows of up to PANEL_VECTORS vectors at a time, which
 * the lane header chooses so that the sums and one row of the panel fill the register file. */

typedef struct panel_tile {
  float value[CPB_PANEL_ROWS][CPB_PANEL_COLS];
  uint64_t above[CPB_PANEL_ROWS];
} panel_tile;

/* Columns [column, column + vectors VEC_F32) of CPB_PANEL_ROWS rows; values are written where one is above.
 */
LANE_INLINE void panel_part(const cpb_panel *p, size_t row, size_t column, size_t vectors, panel_tile *tile) {
  vec_f32 sum[CPB_PANEL_ROWS][PANEL_VECTORS];
#pragma GCC unroll 6
  for (size_t i = 0; i < CPB_PANEL_ROWS; i++)
#pragma GCC unroll 4
    for (size_t v = 0; v < vectors; v++) sum[i][v] = vec_spread_f32(p->start[row + i]);
  const float *a = p->a + row * p->a_row, *b = p->b + column;
  for (size_t k = 0; k < p->k; k++, a++, b += CPB_PANEL_COLS) {
    vec_f32 line[PANEL_VECTORS];
#pragma GCC unroll 4
    for (size_t v = 0; v < vectors; v++) line[v] = vec_load_f32(b + v * VEC_F32);
#pragma GCC unroll 6
    for (size_t i = 0; i < CPB_PANEL_ROWS; i++) {
      vec_f32 factor = vec_spread_f32(a[i * p->a_row]);
#pragma GCC unroll 4
      for (size_t v = 0; v < vectors; v++) sum[i][v] = vec_fma_f32(factor, line[v], sum[i][v]);
    }
  }
#pragma GCC unroll 6
  for (size_t i = 0; i < CPB_PANEL_ROWS; i++)
#pragma GCC unroll 4
    for (size_t v = 0; v < vectors; v++) {
      size_t at = column + v * VEC_F32;
      vec_store_f32(tile->value[i] + at, sum[i][v]);
      tile->above[i] |= (uint64_t)vec_above_f32(sum[i][v], vec_load_f32(p->threshold + at)) << at;
    }
}

LANE_INLINE void panel_rows(const cpb_panel *p, size_t row, panel_tile *tile) {
  for (size_t i = 0; i < CPB_PANEL_ROWS; i++) tile->above[i] = 0;
  size_t vectors = (p->columns + VEC_F32 - 1) / VEC_F32, v = 0;
  for (; v + PANEL_VECTORS <= vectors; v += PANEL_VECTORS)
    panel_part(p, row, v * VEC_F32, PANEL_VECTORS, tile);
#pragma GCC unroll 4
  for (size_t few = PANEL_VECTORS - 1; few > 0; few--)
    if (vectors - v == few) panel_part(p, row, v * VEC_F32, few, tile);
}

static void panel(const cpb_panel *p) {
  uint64_t used = p->columns == CPB_PANEL_COLS ? UINT64_MAX : ((uint64_t)1 << p->columns) - 1;
  panel_tile tile;
  for (size_t row = 0; row < p->rows; row += CPB_PANEL_ROWS) {
    panel_rows(p, row, &tile);
    size_t count = p->rows - row < CPB_PANEL_ROWS ? p->rows - row : CPB_PANEL_ROWS;
    for (size_t i = 0; i < count; i++)
      if ((tile.above[i] & used) != 0) p->found(p->context, row + i, tile.above[i] & used, tile.value[i]);
  }
}

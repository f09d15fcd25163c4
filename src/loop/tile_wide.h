/* The tile of a matrix product in registers: six rows of TILE_VECTORS vectors at a time, which the lane
 * header chooses so that the sums and one row of b fill the register file. */

LANE_INLINE void tile_part(const cpb_tile *t, size_t column) {
  vec_f64 sum[CPB_TILE_ROWS][TILE_VECTORS];
  for (size_t i = 0; i < CPB_TILE_ROWS; i++)
    for (size_t v = 0; v < TILE_VECTORS; v++) sum[i][v] = vec_spread(0);
  const double *a = t->a, *b = t->b + column;
  for (size_t k = 0; k < t->k; k++, a += t->a_k, b += t->b_k) {
    vec_f64 row[TILE_VECTORS];
#pragma GCC unroll 4
    for (size_t v = 0; v < TILE_VECTORS; v++) row[v] = vec_load(b + v * VEC_F64);
#pragma GCC unroll 6
    for (size_t i = 0; i < CPB_TILE_ROWS; i++) {
      vec_f64 factor = vec_spread(a[i * t->a_row]);
#pragma GCC unroll 4
      for (size_t v = 0; v < TILE_VECTORS; v++) sum[i][v] = vec_fma(factor, row[v], sum[i][v]);
    }
  }
  for (size_t i = 0; i < CPB_TILE_ROWS; i++)
    for (size_t v = 0; v < TILE_VECTORS; v++) {
      double *c = t->c + i * t->c_row + column + v * VEC_F64;
      vec_store(c, vec_add(vec_load(c), sum[i][v]));
    }
}

static void tile(const cpb_tile *t) {
  for (size_t column = 0; column < CPB_TILE_COLS; column += TILE_VECTORS * VEC_F64) tile_part(t, column);
}

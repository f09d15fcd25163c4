/* The heart of every matrix product, included once per real with REAL, VEC, WIDTH, MOST, LOAD, SPREAD, FMA
 * and TERMS defined: `terms` more terms of the chains of CPB_TILE_ROWS rows of a and `vectors` vectors of
 * columns of b, sum(i,j) = fma(a[i*a_row + k*a_k], b[k*b_k + j], sum(i,j)),   k = 0, 1, .. The sums and one
 * row of b stay in registers. Tiles of double serve Gram and moment matrices, panels of float search. */
LANE_INLINE void TERMS(const REAL *a, size_t a_row, size_t a_k, const REAL *b, size_t b_k, size_t terms,
                       size_t vectors, VEC sum[CPB_TILE_ROWS][MOST]) {
  for (size_t k = 0; k < terms; k++, a += a_k, b += b_k) {
    VEC line[MOST];
#pragma GCC unroll 4
    for (size_t v = 0; v < vectors; v++) line[v] = LOAD(b + v * WIDTH);
#pragma GCC unroll 6
    for (size_t i = 0; i < CPB_TILE_ROWS; i++) {
      VEC factor = SPREAD(a[i * a_row]);
#pragma GCC unroll 4
      for (size_t v = 0; v < vectors; v++) sum[i][v] = FMA(factor, line[v], sum[i][v]);
    }
  }
}

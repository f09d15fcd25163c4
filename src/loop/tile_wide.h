/* The tile of a matrix product in registers: six rows of TILE_VECTORS vectors at a time, which the lane
 * header chooses so that the sums and one row of b fill the register file. */
#ifndef CPB_LOOP_TILE_WIDE_H
#define CPB_LOOP_TILE_WIDE_H

#include "loop/terms_both.h"

LANE_INLINE void tile_part(const cpb_tile *t, size_t column) {
  double *c = t->c + column;
  size_t c_row = t->c_row;
  bool fresh = t->fresh; /* which nothing written can be taken to change */
  vec_f64 sum[CPB_TILE_ROWS][TILE_VECTORS];
  for (size_t i = 0; i < CPB_TILE_ROWS; i++)
    for (size_t v = 0; v < TILE_VECTORS; v++) sum[i][v] = vec_spread_f64(0);
  terms_f64(t->a, t->a_row, t->a_k, t->b + column, t->b_k, t->k, TILE_VECTORS, sum);
  for (size_t i = 0; i < CPB_TILE_ROWS; i++)
    for (size_t v = 0; v < TILE_VECTORS; v++) {
      double *at = c + i * c_row + v * VEC_F64;
      vec_store_f64(at, vec_add_f64(fresh ? vec_spread_f64(0) : vec_load_f64(at), sum[i][v]));
    }
}

static void tile(const cpb_tile *t) {
  for (size_t column = 0; column < CPB_TILE_COLS; column += TILE_VECTORS * VEC_F64) tile_part(t, column);
}

#endif

/* The tile of a matrix product where fused multiply-adds are computed from sums and products (lanes_v128.h). The range
 * of a tile is checked once, and its factors are split once, not per product. */
#ifndef CPB_LOOP_TILE_V128_H
#define CPB_LOOP_TILE_V128_H

#include "loop/lanes_v128.h"
#include "loop/products_wide.h"

/* Whether x is 0 or of medium size, so that no product of two and no sum of products leaves the range in which
 * fma_regular is exact. */
LANE_INLINE v128_i64 is_medium(v128_f64 x) {
  v128_f64 size = v128_abs(x);
  return ((v128_i64)(size > 0x1p-450) & (v128_i64)(size < 0x1p450)) | (v128_i64)(x == 0);
}

static bool tile_is_regular(const cpb_tile *t) {
  v128_i64 medium = {-1, -1};
  for (size_t k = 0; k < t->k; k++) {
    const double *a = t->a + k * t->a_k, *b = t->b + k * t->b_k;
    for (size_t i = 0; i < CPB_TILE_ROWS; i++) medium &= is_medium(vec_spread_f64(a[i * t->a_row]));
    for (size_t j = 0; j < CPB_TILE_COLS; j += VEC_F64) medium &= is_medium(vec_load_f64(b + j));
  }
  return !any_bit(~medium);
}

/* TILE_VECTORS vectors of columns of b at a time. Sums start at 0, so that none is -0, whose sign would be lost. */
LANE_INLINE void tile_part_regular(const cpb_tile *t, size_t column) {
  vec_f64 sum[CPB_TILE_ROWS][TILE_VECTORS];
  for (size_t i = 0; i < CPB_TILE_ROWS; i++)
    for (size_t v = 0; v < TILE_VECTORS; v++) sum[i][v] = vec_spread_f64(0);
  for (size_t k = 0; k < t->k; k++) {
    const double *a = t->a + k * t->a_k, *b = t->b + k * t->b_k + column;
    vec_f64 line[TILE_VECTORS];
    v128_two parts[TILE_VECTORS];
    v128_i64 bits = {0, 0};
    for (size_t v = 0; v < TILE_VECTORS; v++) {
      line[v] = vec_load_f64(b + v * VEC_F64);
      bits |= (v128_i64)line[v];
      parts[v] = v128_split(line[v]);
    }
    if (!any_bit(bits)) continue; /* zeros: most of a diagonal whitening */
    for (size_t i = 0; i < CPB_TILE_ROWS; i++) {
      vec_f64 factor = vec_spread_f64(a[i * t->a_row]);
      v128_two factors = v128_split(factor);
      for (size_t v = 0; v < TILE_VECTORS; v++)
        sum[i][v] = fma_regular(factor * line[v], factors, parts[v], sum[i][v]);
    }
  }
  for (size_t i = 0; i < CPB_TILE_ROWS; i++)
    for (size_t v = 0; v < TILE_VECTORS; v++) {
      double *at = t->c + column + i * t->c_row + v * VEC_F64;
      vec_store_f64(at, vec_add_f64(t->fresh ? vec_spread_f64(0) : vec_load_f64(at), sum[i][v]));
    }
}

static void tile_v128(const cpb_tile *t) {
  if (!tile_is_regular(t))
    tile(t);
  else
    for (size_t column = 0; column < CPB_TILE_COLS; column += TILE_VECTORS * VEC_F64)
      tile_part_regular(t, column);
}

#endif

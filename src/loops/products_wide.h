/* Inline: tiles and panels of matrix products, signs, and rows laid out for panels, in the vectors of the lane header. */
#ifndef CPB_LOOPS_PRODUCTS_WIDE_H
#define CPB_LOOPS_PRODUCTS_WIDE_H

#include "loops/lanes.h"

/* The inner loop of every matrix product: adds `terms` terms to the chains of CPB_TILE_ROWS rows of a and `vectors` vectors of
 * columns of b, sum(i,j) = fma(a[i*a_row + k*a_k], b[k*b_k + j], sum(i,j)), k = 0, 1, .. The sums and one row of b stay in
 * registers; two terms at a time are 7 % faster. Tiles of double serve Gram and moment matrices, panels of float serve search. */
#define TERMS(type, real, width, most)                                                                       \
  LANE_INLINE void terms_##type(const real *a, size_t a_row, size_t a_k, const real *b, size_t b_k,          \
                                size_t terms, size_t vectors, vec_##type sum[CPB_TILE_ROWS][most]) {         \
    _Pragma("GCC unroll 2") for (size_t k = 0; k < terms; k++, a += a_k, b += b_k) {                         \
      vec_##type line[most];                                                                                 \
      _Pragma("GCC unroll 4") for (size_t v = 0; v < vectors; v++) line[v] =                                 \
          vec_load_##type(b + v * (width));                                                                  \
      _Pragma("GCC unroll 6") for (size_t i = 0; i < CPB_TILE_ROWS; i++) {                                   \
        vec_##type factor = vec_spread_##type(a[i * a_row]);                                                 \
        _Pragma("GCC unroll 4") for (size_t v = 0; v < vectors; v++) sum[i][v] =                             \
            vec_fma_##type(factor, line[v], sum[i][v]);                                                      \
      }                                                                                                      \
    }                                                                                                        \
  }
TERMS(f64, double, VEC_F64, TILE_VECTORS)
TERMS(f32, float, VEC_F32, PANEL_VECTORS)
#undef TERMS

/* The tile of a matrix product: six rows of TILE_VECTORS vectors at a time, which the lane header chooses so that the sums and one
 * row of b fill the register file. */
LANE_INLINE void tile_part(const cpb_tile *t, size_t column) {
  double *c = t->c + column;
  size_t c_row = t->c_row;
  bool fresh = t->fresh; /* local copy: cannot alias the output */
  /* in registers, as every loop over it is unrolled */
  vec_f64 sum[CPB_TILE_ROWS][TILE_VECTORS];
  EACH_VECTOR(i, CPB_TILE_ROWS) EACH_VECTOR(v, TILE_VECTORS) sum[i][v] = vec_spread_f64(0);
  terms_f64(t->a, t->a_row, t->a_k, t->b + column, t->b_k, t->k, TILE_VECTORS, sum);
  EACH_VECTOR(i, CPB_TILE_ROWS) EACH_VECTOR(v, TILE_VECTORS) {
    double *at = c + i * c_row + v * VEC_F64;
    vec_store_f64(at, (fresh ? vec_spread_f64(0) : vec_load_f64(at)) + sum[i][v]);
  }
}

static void tile(const cpb_tile *t) {
  for (size_t column = 0; column < CPB_TILE_COLS; column += TILE_VECTORS * VEC_F64) tile_part(t, column);
}

#define PANEL(name) panel_##name
typedef cpb_panel panel_job;
typedef float panel_value;
typedef vec_f32 panel_vec;
enum { panel_WIDTH = VEC_F32, panel_MOST = PANEL_VECTORS, panel_LINE = CPB_PANEL_LINE };
LANE_INLINE panel_vec panel_load(const float *p) { return vec_load_f32(p); }
LANE_INLINE void panel_store(float *p, panel_vec x) { vec_store_f32(p, x); }
LANE_INLINE panel_vec panel_spread(float x) { return vec_spread_f32(x); }
LANE_INLINE panel_vec panel_max(panel_vec x, panel_vec y) { return vec_max_f32(x, y); }
LANE_INLINE unsigned panel_above(panel_vec x, panel_vec y) { return vec_above_f32(x, y); }
LANE_INLINE size_t panel_depth(const cpb_panel *p) { return p->k; }
LANE_INLINE void panel_terms(const cpb_panel *p, size_t row, size_t k, size_t column, size_t count,
                             size_t vectors, panel_vec sum[CPB_PANEL_ROWS][PANEL_VECTORS]) {
  terms_f32(p->a + cpb_panel_at(p->k, row, k), CPB_PANEL_LINE, 1, p->b + k * CPB_PANEL_COLS + column,
            CPB_PANEL_COLS, count, vectors, sum);
}
#include "loops/panel.inc"
#undef PANEL

/* The signs of a row of a panel, as two sets of columns. */
static void signs(const float *values, float margin, uint64_t *above, uint64_t *unsure) {
  vec_f32 high = vec_spread_f32(margin), low = vec_spread_f32(-margin);
  uint64_t up = 0, down = 0;
#pragma GCC unroll 8
  for (size_t j = 0; j < CPB_PANEL_COLS; j += VEC_F32) {
    vec_f32 value = vec_load_f32(values + j);
    up |= (uint64_t)vec_above_f32(value, high) << j;
    down |= (uint64_t)vec_above_f32(low, value) << j;
  }
  *above = up;
  *unsure = ~(up | down);
}

/* spread.inc for floats: the last line of a row is loaded with a mask instead of being assembled in memory, where a
 * load would wait for the stores. */
static double spread_f32(const float *x, size_t n, float unit, const float *center, float *to, size_t step) {
  double sum = 0;
  for (size_t start = 0; start < n; start += CPB_CHUNK) {
    size_t end = n - start < CPB_CHUNK ? n : start + CPB_CHUNK;
    lanes_f64 lane = {0};
    for (size_t i = start; i < end; i += CPB_LANES, to += step) {
      bool whole = i + CPB_LANES <= end;
      lanes_f32 z = whole ? lanes_load_f32(x + i) : lanes_part_f32(x + i, end - i);
      lanes_f32 m = whole ? lanes_load_f32(center + i) : lanes_part_f32(center + i, end - i);
      z = lanes_times_f32(lanes_less_f32(z, m), unit);
      lane = lanes_add_exact(lane, lanes_widen(z), lanes_widen(z));
      if (whole)
        lanes_store_f32(to, z);
      else
        lanes_store_part_f32(to, z, end - i);
    }
    sum += lanes_sum(lane);
  }
  return sum;
}

#endif

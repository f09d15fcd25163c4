/* Inline: products on 128-bit registers without fused multiply-adds (SSE2, wasm): tiles of doubles and vectors of bytes. */
#ifndef CPB_LOOPS_PRODUCTS_V128_H
#define CPB_LOOPS_PRODUCTS_V128_H

#include "loops/lanes_v128.h"
#include "loops/products_wide.h"

/* The tile of a matrix product where fused multiply-adds are computed from sums and products (lanes_v128.h). The range
 * of a tile is checked once, and its factors are split once, not per product. */

/* Whether x is 0 or of medium size, so that no product of two and no sum of products leaves the range in which
 * fma_regular is exact. */
LANE_INLINE v128_i64 is_medium(vec_f64 x) {
  vec_f64 size = v128_abs(x);
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
      vec_store_f64(at, (t->fresh ? vec_spread_f64(0) : vec_load_f64(at)) + sum[i][v]);
    }
}

static void tile_v128(const cpb_tile *t) {
  if (!tile_is_regular(t))
    tile(t);
  else
    for (size_t column = 0; column < CPB_TILE_COLS; column += TILE_VECTORS * VEC_F64)
      tile_part_regular(t, column);
}

/* Vectors of four 32-bit sums of products of bytes, for SSE2 and wasm: no sum of a pair of 16 bits saturates. */
typedef int32_t bytes_vec __attribute__((vector_size(16)));
typedef int16_t vec_i16 __attribute__((vector_size(16)));
typedef uint16_t vec_u16 __attribute__((vector_size(16)));
typedef uint32_t vec_u32 __attribute__((vector_size(16)));
enum { bytes_WIDTH = 4, bytes_MOST = 2 };

LANE_INLINE bytes_vec bytes_load(const void *p) {
  bytes_vec x;
  memcpy(&x, p, sizeof x);
  return x;
}
LANE_INLINE void bytes_store(int32_t *p, bytes_vec x) { memcpy(p, &x, sizeof x); }
LANE_INLINE bytes_vec bytes_spread(int32_t x) { return (bytes_vec){x, x, x, x}; }
/* lane by lane the sum of two products of 16 bits */
LANE_INLINE bytes_vec vec_pair_products(vec_i16 a, vec_i16 b) {
#if defined(__SSE2__)
  return (bytes_vec)_mm_madd_epi16((__m128i)a, (__m128i)b);
#elif defined(__wasm_simd128__)
  return (bytes_vec)wasm_i32x4_dot_i16x8((v128_t)a, (v128_t)b);
#else
  bytes_vec x = (bytes_vec)a, y = (bytes_vec)b;
  bytes_vec x_low = (bytes_vec)((vec_u32)x << 16) >> 16, y_low = (bytes_vec)((vec_u32)y << 16) >> 16;
  return x_low * y_low + (x >> 16) * (y >> 16);
#endif
}
/* lane by lane sum + the four products of bytes, signed in `word` and unsigned in `line` */
LANE_INLINE bytes_vec bytes_add(bytes_vec sum, bytes_vec line, bytes_vec word) {
  vec_i16 a = (vec_i16)word, b_even = (vec_i16)line & 255;
  vec_i16 b_odd = (vec_i16)((vec_u16)line >> 8), a_even = (vec_i16)((vec_u16)a << 8) >> 8;
  return sum + vec_pair_products(a_even, b_even) + vec_pair_products(a >> 8, b_odd);
}
LANE_INLINE bytes_vec bytes_max(bytes_vec x, bytes_vec y) {
  bytes_vec above = x > y;
  return (above & x) | (~above & y);
}
/* bit j: x_j > y_j */
LANE_INLINE unsigned bytes_above(bytes_vec x, bytes_vec y) {
  bytes_vec bit = (x > y) & (bytes_vec){1, 2, 4, 8};
  return (unsigned)((bit[0] | bit[1]) | (bit[2] | bit[3]));
}

#endif

#include "loop/block_product.h"

static void add_depth(const cpb_loops *loops, const cpb_product *p, size_t first, size_t k) {
  for (size_t column = 0; column < p->cols; column += CPB_TILE_COLS)
    for (size_t row = 0; row < p->rows; row += CPB_TILE_ROWS) {
      cpb_tile tile = {.k = k,
                       .a = p->a + row * p->a_row + first * p->a_k,
                       .a_row = p->a_row,
                       .a_k = p->a_k,
                       .b = p->b + first * p->b_k + column,
                       .b_k = p->b_k,
                       .c = p->c + row * p->c_row + column,
                       .c_row = p->c_row};
      loops->tile(&tile);
    }
}

void cpb_product_add(const cpb_loops *loops, const cpb_product *p) {
  for (size_t first = 0; first < p->k; first += CPB_PRODUCT_DEPTH) {
    size_t left = p->k - first;
    add_depth(loops, p, first, left < CPB_PRODUCT_DEPTH ? left : CPB_PRODUCT_DEPTH);
  }
}

#include "loops/block_product.h"

/* Two loops, because whether a prefetch is for writing must be a constant. */
static void fetch(cpb_ahead *ahead, bool for_writing) {
  enum { LINE = 64, SECOND_CACHE = 2 };
  size_t left = (size_t)(ahead->end - ahead->at);
  const char *at = ahead->at, *end = at + (left < ahead->step ? left : ahead->step);
  if (for_writing)
    for (; at < end; at += LINE) __builtin_prefetch(at, 1, SECOND_CACHE);
  else
    for (; at < end; at += LINE) __builtin_prefetch(at, 0, SECOND_CACHE);
  ahead->at = end;
}

/* Terms first .. first+k-1 of all elements; ahead may be NULL. */
static void add_depth(const cpb_loops *loops, const cpb_product *p, size_t first, size_t k, bool fresh,
                      cpb_ahead *ahead) {
  for (size_t column = 0; column < p->cols; column += CPB_TILE_COLS)
    for (size_t row = 0; row < p->rows; row += CPB_TILE_ROWS) {
      cpb_tile tile = {.k = k,
                       .a = p->a + row * p->a_row + first * p->a_k,
                       .a_row = p->a_row,
                       .a_k = p->a_k,
                       .b = p->b + first * p->b_k + column,
                       .b_k = p->b_k,
                       .c = p->c + row * p->c_row + column,
                       .c_row = p->c_row,
                       .fresh = fresh};
      for (size_t i = 0; ahead != NULL && i < CPB_AHEAD; i++) fetch(&ahead[i], i == CPB_AHEAD_WRITTEN);
      loops->tile(&tile);
    }
}

static size_t depth_at(const cpb_product *p, size_t first) {
  return p->k - first < CPB_PRODUCT_DEPTH ? p->k - first : CPB_PRODUCT_DEPTH;
}

/* No terms at all are one depth of none. */
void cpb_product_set(const cpb_loops *loops, const cpb_product *p, cpb_ahead ahead[CPB_AHEAD]) {
  add_depth(loops, p, 0, depth_at(p, 0), true, ahead);
  for (size_t first = CPB_PRODUCT_DEPTH; first < p->k; first += CPB_PRODUCT_DEPTH)
    add_depth(loops, p, first, depth_at(p, first), false, ahead);
}

void cpb_product_add(const cpb_loops *loops, const cpb_product *p) {
  for (size_t first = 0; first < p->k; first += CPB_PRODUCT_DEPTH)
    add_depth(loops, p, first, depth_at(p, first), false, NULL);
}

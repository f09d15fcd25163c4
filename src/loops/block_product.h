/* Products of whole blocks, cut into tiles. */
#ifndef CPB_LOOPS_BLOCK_PRODUCT_H
#define CPB_LOOPS_BLOCK_PRODUCT_H

#include "loops/table.h"

/* a b, elements addressed as in cpb_tile; rows a multiple of CPB_TILE_ROWS, cols of CPB_TILE_COLS. k is divided every
 * CPB_PRODUCT_DEPTH terms, which keeps a panel of b in the first-level cache and the chains of sums short. */
enum { CPB_PRODUCT_DEPTH = 96 };

typedef struct cpb_product {
  size_t rows, cols, k;
  const double *a;
  size_t a_row, a_k;
  const double *b;
  size_t b_k;
  double *c;
  size_t c_row;
} cpb_product;

/* Memory that is needed soon: every tile prefetches `step` more bytes of it into the second-level cache. */
typedef struct cpb_ahead {
  const char *at, *end;
  size_t step;
} cpb_ahead;

/* What a product prefetches: rows that will be read, memory that will be written, and its own b. */
enum { CPB_AHEAD_READ, CPB_AHEAD_WRITTEN, CPB_AHEAD_B, CPB_AHEAD };

/* c = a b; c is overwritten. */
void cpb_product_set(const cpb_loops *loops, const cpb_product *product, cpb_ahead ahead[CPB_AHEAD]);
/* c += a b */
void cpb_product_add(const cpb_loops *loops, const cpb_product *product);

static inline size_t cpb_round_up(size_t n, size_t step) { return (n + step - 1) / step * step; }

#endif

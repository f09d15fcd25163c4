/* The tile of a matrix product, as it is defined. */
#ifndef CPB_LOOP_TILE_PLAIN_H
#define CPB_LOOP_TILE_PLAIN_H

#include "loop/table.h"

#include <math.h>

static void tile(const cpb_tile *t) {
  for (size_t i = 0; i < CPB_TILE_ROWS; i++)
    for (size_t j = 0; j < CPB_TILE_COLS; j++) {
      double sum = 0;
      for (size_t k = 0; k < t->k; k++) sum = fma(t->a[i * t->a_row + k * t->a_k], t->b[k * t->b_k + j], sum);
      double *c = &t->c[i * t->c_row + j];
      *c = (t->fresh ? 0 : *c) + sum;
    }
}

#endif

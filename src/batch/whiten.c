#include "batch/whiten.h"

#include <string.h>

/* Number (k, column) of a product's right side: panels of CPB_TILE_COLS columns, whose rows follow each other, so
 * that a panel is one run of memory. */
static size_t panel_at(size_t d, size_t k, size_t column) {
  return column / CPB_TILE_COLS * CPB_TILE_COLS * d + k * CPB_TILE_COLS + column % CPB_TILE_COLS;
}

void cpb_whiten_columns(size_t d, const double *W, double *to) {
  memset(to, 0, d * cpb_whiten_stride(d) * sizeof *to);
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j < d; j++) to[panel_at(d, j, i)] = W[i * d + j];
}

void cpb_whiten_load(const cpb_loops *loops, cpb_view rows, const double *m, double *z) {
  size_t d = rows.cols, stride = cpb_whiten_stride(d), row_bytes = rows.stride * cpb_dtype_size(rows.dtype);
  for (size_t i = 0; i < rows.rows; i++, z += stride) {
    loops->widen[rows.dtype]((const char *)rows.data + i * row_bytes, d, z);
    if (m != NULL) loops->axpby(1, z, -1, m, z, d);
  }
}

void cpb_whiten_rows(const cpb_loops *loops, size_t d, const double *columns, size_t count, const double *x,
                     double *z) {
  size_t stride = cpb_whiten_stride(d), rows = cpb_round_up(count, CPB_TILE_ROWS);
  memset(z, 0, rows * stride * sizeof *z);
  for (size_t column = 0; column < stride; column += CPB_TILE_COLS) {
    cpb_product product = {.rows = rows,
                           .cols = CPB_TILE_COLS,
                           .k = d,
                           .a = x,
                           .a_row = stride,
                           .a_k = 1,
                           .b = columns + panel_at(d, 0, column),
                           .b_k = CPB_TILE_COLS,
                           .c = z + column,
                           .c_row = stride};
    cpb_product_add(loops, &product);
  }
}

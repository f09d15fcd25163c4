#include "batch/whiten.h"

#include <stdlib.h>
#include <string.h>

#include "core/rows.h"

/* Index of element (k, column) of a product's right side: panels of CPB_TILE_COLS columns whose rows are
 * contiguous, so that a panel is one run of memory. */
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
    const char *row = (const char *)rows.data + i * row_bytes;
    bool wide = rows.dtype == CPB_F64 && m != NULL;
    if (!wide) loops->widen[rows.dtype](row, d, z);
    if (m != NULL) loops->axpby(1, wide ? (const double *)row : z, -1, m, z, d);
  }
}

/* A prefetch plan for a whole block in `steps` steps; none if its rows have wide gaps. */
static cpb_ahead ahead_of(cpb_view rows, size_t steps) {
  enum { LINE = 64 };
  size_t bytes = rows.rows * rows.stride * cpb_dtype_size(rows.dtype);
  if (rows.rows == 0 || rows.stride > 2 * rows.cols) return (cpb_ahead){NULL, NULL, 0};
  return (cpb_ahead){rows.data, (const char *)rows.data + bytes, cpb_round_up(bytes / steps + 1, LINE)};
}

static size_t tiles_of(size_t rows, size_t d) {
  size_t depths = cpb_round_up(d, CPB_PRODUCT_DEPTH) / CPB_PRODUCT_DEPTH;
  return rows / CPB_TILE_ROWS * depths * (cpb_whiten_stride(d) / CPB_TILE_COLS);
}

void cpb_whiten_rows(const cpb_loops *loops, size_t d, const double *columns, size_t count, double *x,
                     double *z, cpb_whiten_soon soon) {
  size_t stride = cpb_whiten_stride(d), rows = cpb_round_up(count, CPB_TILE_ROWS);
  size_t tiles = tiles_of(rows, d);
  cpb_ahead ahead[] = {ahead_of(soon.read, tiles), ahead_of(soon.written, tiles)};
  memset(x + count * stride, 0, (rows - count) * stride * sizeof *x);
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
    cpb_product_set(loops, &product, ahead);
  }
}

double *cpb_whiten_room(size_t d) {
  return aligned_alloc(64, 2 * CPB_WHITEN_ROWS * cpb_whiten_stride(d) * sizeof(double));
}

cpb_whiten_soon cpb_whiten_look_ahead(cpb_view rows, size_t next, cpb_out out) {
  size_t left = rows.rows - next;
  cpb_view read = cpb_view_slice(rows, next, left < CPB_WHITEN_ROWS ? left : CPB_WHITEN_ROWS);
  return (cpb_whiten_soon){read, cpb_view_of(out)};
}

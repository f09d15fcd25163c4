/* Blocks of rows through a square matrix, z = W x, at the speed of the register tiles. */
#ifndef CPB_BATCH_WHITEN_H
#define CPB_BATCH_WHITEN_H

#include "loop/block_product.h"

/* Rows of a block: whole tiles, and a whole number of lines of any output. */
enum { CPB_WHITEN_ROWS = 96 };

/* Rows of a block are so far apart; W in columns has d times as many numbers. */
static inline size_t cpb_whiten_stride(size_t d) { return cpb_round_up(d, CPB_TILE_COLS); }

/* to <- W as cpb_whiten_rows takes it. */
void cpb_whiten_columns(size_t d, const double *W, double *to);

/* z <- x - m of the rows of a view, at most CPB_WHITEN_ROWS; m may be NULL. */
void cpb_whiten_load(const cpb_loops *loops, cpb_view rows, const double *m, double *z);

/* z_i <- W x_i for `count` rows, at most CPB_WHITEN_ROWS; both have room for that many. */
void cpb_whiten_rows(const cpb_loops *loops, size_t d, const double *columns, size_t count, const double *x,
                     double *z);

#endif

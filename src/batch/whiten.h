/* Blocks of rows through a square matrix, z = W x, at the speed of the register tiles. */
#ifndef CPB_BATCH_WHITEN_H
#define CPB_BATCH_WHITEN_H

#include "loop/block_product.h"

/* Rows of a block: whole tiles, and a whole number of cache lines of any output. */
enum { CPB_WHITEN_ROWS = 96 };

/* Stride of the rows of a block; W in columns takes d times as many numbers. */
static inline size_t cpb_whiten_stride(size_t d) { return cpb_round_up(d, CPB_TILE_COLS); }

/* to <- W in the layout that cpb_whiten_rows uses, fastest if aligned to 64 bytes. */
void cpb_whiten_columns(size_t d, const double *W, double *to);

/* z <- x - m for the rows of a view, at most CPB_WHITEN_ROWS; m may be NULL. */
void cpb_whiten_load(const cpb_loops *loops, cpb_view rows, const double *m, double *z);

/* What to prefetch during a block: the rows of the next one, none after the last, and the memory of this one's
 * results. */
typedef struct cpb_whiten_soon {
  cpb_view read, written;
} cpb_whiten_soon;

/* For the block that ends before row `next`. */
cpb_whiten_soon cpb_whiten_look_ahead(cpb_view rows, size_t next, cpb_out out);

/* z_i <- W x_i for `count` rows, at most CPB_WHITEN_ROWS; both arrays have space for that many. Rows of x that pad
 * the last tile are set to 0. Memory needed soon is prefetched meanwhile. */
void cpb_whiten_rows(const cpb_loops *loops, size_t d, const double *columns, size_t count, double *x,
                     double *z, cpb_whiten_soon soon);

/* Uninitialised space for two blocks, to be freed by the caller; NULL when out of memory. */
double *cpb_whiten_room(size_t d);

#endif

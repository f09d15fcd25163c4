/* Blocks of rows through a square matrix, z = W x, at the speed of the register tiles. */
#ifndef CPB_BATCH_WHITEN_H
#define CPB_BATCH_WHITEN_H

#include "loop/block_product.h"

/* Rows of a block: whole tiles, and a whole number of lines of any output. */
enum { CPB_WHITEN_ROWS = 96 };

/* Rows of a block are so far apart; W in columns has d times as many numbers. */
static inline size_t cpb_whiten_stride(size_t d) { return cpb_round_up(d, CPB_TILE_COLS); }

/* to <- W as cpb_whiten_rows takes it, fastest where it begins with a line of 64 bytes. */
void cpb_whiten_columns(size_t d, const double *W, double *to);

/* z <- x - m of the rows of a view, at most CPB_WHITEN_ROWS; m may be NULL. */
void cpb_whiten_load(const cpb_loops *loops, cpb_view rows, const double *m, double *z);

/* What follows a block: the rows of the next one, none after the last, and the place of this one's results. */
typedef struct cpb_whiten_soon {
  cpb_view read, written;
} cpb_whiten_soon;

/* After the rows before `next`. */
cpb_whiten_soon cpb_whiten_look_ahead(cpb_view rows, size_t next, cpb_out out);

/* z_i <- W x_i for `count` rows, at most CPB_WHITEN_ROWS; both have room for that many. Rows of x that only complete
 * the last tile become 0. What is wanted soon is fetched meanwhile. */
void cpb_whiten_rows(const cpb_loops *loops, size_t d, const double *columns, size_t count, double *x,
                     double *z, cpb_whiten_soon soon);

/* Room for two blocks, with anything in it, to be freed; NULL where there is none. */
double *cpb_whiten_room(size_t d);

#endif

/* The map object and the rows it is applied to. */
#ifndef CPB_SPHERE_MAP_OBJECT_H
#define CPB_SPHERE_MAP_OBJECT_H

#include <float.h>
#include <math.h>

#include "capball/map.h"
#include "base/memory.h"
#include "loops/block_product.h"
#include "loops/table.h"
#include "base/blocks.h"

struct cpb_map {
  cpb_map_options options; /* as given, for cpb_map_describe; its pointers point into `memory` */
  /* used for rows; NULL where the map has none */
  const double *center, *whiten;
  double *pole;     /* of length 1 to the last bit */
  double *mirror;   /* unit normal of the reflection that swaps `toward` and e */
  double *unwhiten; /* W^-1 */
  double *metric,
      *center_with_pole;   /* with whitening: L W and m + s W^-1 u, a whitening that holds the pole too */
  const float *high, *low; /* the centre in two floats; NULL where they cannot hold it */
  bool twofold;            /* the low float is not always 0 */
  const double *wide;      /* the centre for loops over doubles; NULL where it is 0 */
  double center_most;      /* the largest |m_i| */
  /* with whitening: W and W^-1 in the layout for blocks of rows, and the map that follows W or precedes W^-1 */
  double *whiten_columns, *unwhiten_columns;
  cpb_map *bare;
  cpb_memory memory;
};

/* S about a centre, NULL for 0, with the pole e. */
cpb_status cpb_map_plain(size_t d, double s, const double *center, cpb_map **map, cpb_error *error);

/* One row of a map with any centre, pole and reflection, of any dtype; also handles the rows that the special
 * loops decline. `row` counts in x and y. Not for whitened maps: their rows are processed in blocks. */
typedef struct cpb_map_rows {
  const cpb_map *map;
  void (*one)(void *rows, size_t row); /* cpb_map_embed_row or cpb_map_unembed_row */
  const cpb_loops *loops;
  cpb_view in;
  cpb_out out;
  size_t first; /* of in and out within the caller's rows, to report faults */
  cpb_first_fault *fault;
} cpb_map_rows;

/* rows: a cpb_map_rows */
void cpb_map_embed_row(void *rows, size_t row);
void cpb_map_unembed_row(void *rows, size_t row);

/* Sets the row to NaN and records the fault. */
void cpb_map_fail_row(const cpb_map_rows *rows, size_t row, cpb_fault fault);

/* ---- A map prepared for calls of one row each: what cpb_map_embed decides for all its rows is decided once. ---- */

typedef struct cpb_map_one {
  cpb_map_rows rows;
  cpb_rows_job job;
  cpb_rows_loop *loop; /* NULL: rows must go through cpb_map_embed or cpb_map_unembed */
} cpb_map_one;

/* dtype: f32 or f64, of both rows and results */
void cpb_map_one_init(cpb_map_one *one, const cpb_map *map, bool embedding, cpb_dtype dtype);

/* The image of a row, or its preimage; both are aligned, of the length the map demands, and do not overlap. Has the bits and the
 * messages of cpb_map_embed and cpb_map_unembed. Thread-safe. */
cpb_status cpb_map_one_apply(const cpb_map_one *one, const void *in, void *out, cpb_error *error);

/* Whether the numbers are finite in the type. */
static inline bool cpb_fits(cpb_dtype dtype, const double *x, size_t count) {
  double most = dtype == CPB_F32 ? (double)FLT_MAX : DBL_MAX;
  bool all = true;
  for (size_t i = 0; i < count; i++) all &= fabs(x[i]) <= most;
  return all;
}

/* ---- Blocks of rows through a square matrix, z = W x, at the speed of the register tiles. ---- */

/* Rows of a block: whole tiles, and a whole number of cache lines of any output. */
enum { CPB_WHITEN_ROWS = 96 };

/* Stride of the rows of a block; W in columns takes d times as many numbers. */
static inline size_t cpb_whiten_stride(size_t d) { return cpb_round_up(d, CPB_TILE_COLS); }

/* to <- W in the layout that cpb_whiten_rows uses, fastest if aligned to 64 bytes. */
void cpb_whiten_columns(size_t d, const double *W, double *to);

/* z <- x - m for the rows of a view, at most CPB_WHITEN_ROWS; m may be NULL. */
void cpb_whiten_load(const cpb_loops *loops, cpb_view rows, const double *m, double *z);

/* What to prefetch during a block: the rows of the next one, and the memory of this one's results. */
typedef struct cpb_whiten_prefetch {
  cpb_view read, written;
} cpb_whiten_prefetch;

/* For the block that ends before row `next`. */
cpb_whiten_prefetch cpb_whiten_look_ahead(cpb_view rows, size_t next, cpb_out out);

/* z_i <- W x_i for `count` rows, at most CPB_WHITEN_ROWS; both arrays have space for that many. Rows of x that pad
 * the last tile are set to 0. Memory needed soon is prefetched meanwhile. */
void cpb_whiten_rows(const cpb_loops *loops, size_t d, const double *columns, size_t count, double *x,
                     double *z, cpb_whiten_prefetch soon);

/* Processes at most CPB_WHITEN_ROWS rows; `room` holds two blocks. */
typedef void cpb_whiten_block(void *arg, size_t first, size_t count, double *room);

/* Calls it for the rows first .. first+count-1; false when out of memory. */
bool cpb_whiten_blocks(size_t d, size_t first, size_t count, cpb_whiten_block *block, void *arg);

#endif

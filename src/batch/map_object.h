/* The map object and the rows it is applied to. */
#ifndef CPB_BATCH_MAP_OBJECT_H
#define CPB_BATCH_MAP_OBJECT_H

#include <float.h>
#include <math.h>

#include "capball/map.h"
#include "loop/table.h"
#include "parallel/blocks.h"

struct cpb_map {
  cpb_map_options options; /* as given, for cpb_map_describe; its pointers point into `numbers` */
  /* used for rows; NULL where the map has none */
  const double *center, *whiten;
  double *pole;            /* of length 1 to the last bit */
  double *mirror;          /* unit normal of the reflection that swaps `toward` and e */
  double *unwhiten;        /* W^-1 */
  double *metric, *onset;  /* with whitening: L W and m + s W^-1 u, a whitening that holds the pole too */
  const float *high, *low; /* the centre in two floats; NULL where they cannot hold it */
  bool twofold;            /* the low float is not always 0 */
  const double *taken[2];  /* what loops over doubles subtract: -m unembedding, m embedding; or zeros */
  double center_most;      /* the largest |m_i| */
  /* with whitening: W and W^-1 in the layout for blocks of rows, and the map that follows W or precedes W^-1 */
  double *whiten_columns, *unwhiten_columns;
  cpb_map *bare;
  double numbers[];
};

/* One row of a map with any centre, pole and reflection, of any dtype; also handles the rows that the special
 * loops decline. `row` counts in x and y. Not for whitened maps: their rows are processed in blocks. */
typedef struct cpb_map_rows cpb_map_rows;
struct cpb_map_rows {
  const cpb_map *map;
  void (*one)(const cpb_map_rows *rows, size_t row); /* cpb_map_embed_row or cpb_map_unembed_row */
  const cpb_loops *loops;
  cpb_view in;
  cpb_out out;
  size_t first; /* of in and out within the caller's rows, to report faults */
  cpb_first_fault *fault;
};

void cpb_map_embed_row(const cpb_map_rows *rows, size_t row);
void cpb_map_unembed_row(const cpb_map_rows *rows, size_t row);

/* Sets the row to NaN and records the fault. */
void cpb_map_fail_row(const cpb_map_rows *rows, size_t row, cpb_fault fault);

/* Whether the numbers are finite in the type. */
static inline bool cpb_fits(cpb_dtype dtype, const double *x, size_t count) {
  double most = dtype == CPB_F32 ? (double)FLT_MAX : DBL_MAX;
  bool all = true;
  for (size_t i = 0; i < count; i++) all &= fabs(x[i]) <= most;
  return all;
}

#endif

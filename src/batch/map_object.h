/* The map object and the rows it is applied to. */
#ifndef CPB_BATCH_MAP_OBJECT_H
#define CPB_BATCH_MAP_OBJECT_H

#include "capball/map.h"
#include "loop/table.h"
#include "parallel/blocks.h"

struct cpb_map {
  cpb_map_options options; /* as given, for describing; its pointers view into `numbers` */
  /* what the rows use; NULL where the map has none */
  const double *center, *whiten;
  double *pole;            /* of length 1 to the last bit */
  double *mirror;          /* unit normal of the reflection that swaps `toward` and e */
  double *unwhiten;        /* W^-1 */
  double *metric, *onset;  /* with whitening: L W and m + s W^-1 u, a whitening that holds the pole too */
  const float *high, *low; /* the centre in two floats; NULL where they cannot hold it */
  const double
      *taken[2];      /* -m and m, or zeros: what the loops over doubles subtract, unembedding, embedding */
  double center_most; /* the largest |m_i| */
  double numbers[];
};

/* One row of a map with any centre, pole, whitening and reflection, of any dtype; the row that the
 * special loops give back is also done here. `row` counts in x and y. scratch: 2d doubles, needed
 * only with whitening. */
typedef struct cpb_map_rows cpb_map_rows;
struct cpb_map_rows {
  const cpb_map *map;
  void (*one)(const cpb_map_rows *rows, size_t row); /* cpb_map_embed_row or cpb_map_unembed_row */
  const cpb_loops *loops;
  cpb_view in;
  cpb_out out;
  size_t first; /* of in and out within the caller's rows, for naming a fault */
  double *scratch;
  cpb_first_fault *fault;
};

void cpb_map_embed_row(const cpb_map_rows *rows, size_t row);
void cpb_map_unembed_row(const cpb_map_rows *rows, size_t row);

#endif

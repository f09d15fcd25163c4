/* Rows of T12 in sixteen lanes: three sums in one pass, and the gradient, two rows added. rows_double.h comes first. */
#ifndef CPB_LOOP_LAYER_ROWS_H
#define CPB_LOOP_LAYER_ROWS_H

#include "loop/rows_double.h"

enum { LAYER_AHEAD = 1024, LAYER_LINE = 64 };

/* The sums of dot over sixteen more numbers. */
typedef struct layer_lanes {
  lanes_f64 row2, product, g2;
} layer_lanes;

LANE_INLINE void layer_add(layer_lanes *sum, lanes_f64 x, lanes_f64 g) {
  sum->row2 = wide_add_product(sum->row2, x, x);
  sum->product = wide_add_product(sum->product, x, g);
  sum->g2 = wide_add_product(sum->g2, g, g);
}

LANE_INLINE void layer_sums_of(const row_source *source, const char *row, const char *g, size_t d,
                               double sums[3]) {
  size_t size = source->size;
  sums[0] = sums[1] = sums[2] = 0;
  for (size_t start = 0; start < d; start += CPB_CHUNK) {
    size_t end = d - start < CPB_CHUNK ? d : start + CPB_CHUNK, i = start;
    layer_lanes sum = {lanes_zero(), lanes_zero(), lanes_zero()};
    for (; i + CPB_LANES <= end; i += CPB_LANES) {
      for (size_t line = 0; line < CPB_LANES * size; line += LAYER_LINE) {
        lanes_prefetch(row + i * size + line + LAYER_AHEAD);
        lanes_prefetch(g + i * size + line + LAYER_AHEAD);
      }
      layer_add(&sum, source->load(row + i * size), source->load(g + i * size));
    }
    if (i < end)
      layer_add(&sum, source->part(row + i * size, 0, end - i), source->part(g + i * size, 0, end - i));
    sums[0] += lanes_sum(sum.row2);
    sums[1] += lanes_sum(sum.product);
    sums[2] += lanes_sum(sum.g2);
  }
}

LANE_INLINE void layer_add_of(row_kind kind, const cpb_layer_line *line, bool stream) {
  size_t d = line->d, i = 0, size = kind.source->size;
  const char *g = line->g, *row = line->row;
  char *out = line->out;
  for (; i + CPB_LANES <= d; i += CPB_LANES) {
    lanes_f64 z = wide_plus(wide_times(kind.source->load(g + i * size), line->toward_g),
                            wide_times(kind.source->load(row + i * size), line->toward_row));
    if (stream)
      result_stream(kind, out + i * size, z);
    else
      result_store(kind, out + i * size, z);
  }
  if (i == d) return;
  lanes_f64 z = wide_plus(wide_times(kind.source->part(g + i * size, 0, d - i), line->toward_g),
                          wide_times(kind.source->part(row + i * size, 0, d - i), line->toward_row));
  result_store_part(kind, out + i * size, z, 0, d - i);
}

/* Past the cache only where the row begins a line. */
LANE_INLINE void layer_gradient_of(row_kind kind, const cpb_layer_line *line) {
  if (line->stream && (uintptr_t)line->out % LAYER_LINE == 0)
    layer_add_of(kind, line, true);
  else
    layer_add_of(kind, line, false);
}

static void layer_sums_f32(const void *row, const void *g, size_t d, double sums[3]) {
  layer_sums_of(&double_source_f32, row, g, d, sums);
}
static void layer_sums_f64(const void *row, const void *g, size_t d, double sums[3]) {
  layer_sums_of(&double_source_f64, row, g, d, sums);
}
static void layer_gradient_f32(const cpb_layer_line *line) {
  layer_gradient_of((row_kind){&double_source_f32, false, true}, line);
}
static void layer_gradient_f64(const cpb_layer_line *line) {
  layer_gradient_of((row_kind){&double_source_f64, false, false}, line);
}

static void layer_fence(void) { lanes_fence(); }

#endif

/* Rows of T12 in sixteen lanes: three sums in one pass, and the gradient, two rows added. rows_double.h and
 * rows_walk.inc come first. */
#ifndef CPB_LOOP_LAYER_ROWS_H
#define CPB_LOOP_LAYER_ROWS_H

#include "loop/group_phase.h"
#include "loop/rows_double.h"

enum { LAYER_AHEAD = 1024, LAYER_LINE = 64 };

/* The sums of dot over sixteen more numbers. */
typedef struct layer_lanes {
  lanes_f64 row2, product, g2;
} layer_lanes;

/* Products of floats are exact in double. */
LANE_INLINE lanes_f64 layer_product(const row_source *source, lanes_f64 sum, lanes_f64 x, lanes_f64 y) {
  return source->size == sizeof(float) ? wide_add_exact(sum, x, y) : wide_add_product(sum, x, y);
}

LANE_INLINE void layer_add(const row_source *source, layer_lanes *sum, lanes_f64 x, lanes_f64 g) {
  sum->row2 = layer_product(source, sum->row2, x, x);
  sum->product = layer_product(source, sum->product, x, g);
  sum->g2 = layer_product(source, sum->g2, g, g);
}

/* The lines of sixteen numbers. */
LANE_INLINE void layer_fetch(const char *row, const char *g, size_t at, size_t size) {
  for (size_t line = at; line < at + CPB_LANES * size; line += LAYER_LINE) {
    lanes_prefetch(row + line);
    lanes_prefetch(g + line);
  }
}

/* Sixteen more numbers of both; kept, unless that is NULL. */
LANE_INLINE void layer_take(const row_source *source, layer_lanes *sum, lanes_f64 x, lanes_f64 g, size_t i,
                            double *kept) {
  layer_add(source, sum, x, g);
  if (kept == NULL) return;
  store_wide(kept + i, x);
  store_wide(kept + CPB_LAYER_KEPT + i, g);
}

LANE_INLINE void layer_sums_of(const row_source *source, const char *row, const char *g, size_t d,
                               double sums[3], double *kept) {
  size_t size = source->size;
  sums[0] = sums[1] = sums[2] = 0;
  for (size_t start = 0; start < d; start += CPB_CHUNK) {
    size_t end = d - start < CPB_CHUNK ? d : start + CPB_CHUNK, i = start;
    layer_lanes sum = {lanes_zero(), lanes_zero(), lanes_zero()};
    for (; i + CPB_LANES <= end; i += CPB_LANES) {
      layer_fetch(row, g, i * size + LAYER_AHEAD, size);
      layer_take(source, &sum, source->load(row + i * size), source->load(g + i * size), i, kept);
    }
    if (i < end)
      layer_take(source, &sum, source->part(row + i * size, 0, end - i),
                 source->part(g + i * size, 0, end - i), i, kept);
    sums[0] += lanes_sum(sum.row2);
    sums[1] += lanes_sum(sum.product);
    sums[2] += lanes_sum(sum.g2);
  }
}

/* Numbers i .. i+15 */
LANE_INLINE lanes_f64 layer_lanes_at(row_kind kind, const cpb_layer_line *line, size_t i) {
  size_t at = i * kind.source->size;
  return wide_plus(wide_times(kind.source->load((const char *)line->g + at), line->toward_g),
                   wide_times(kind.source->load((const char *)line->row + at), line->toward_row));
}

/* Numbers i+from .. i+to-1, in lanes from .. to-1 */
LANE_INLINE lanes_f64 layer_part_at(row_kind kind, const cpb_layer_line *line, ptrdiff_t i, size_t from,
                                    size_t to) {
  ptrdiff_t at = i * (ptrdiff_t)kind.source->size;
  return wide_plus(wide_times(kind.source->part((const char *)line->g + at, from, to), line->toward_g),
                   wide_times(kind.source->part((const char *)line->row + at, from, to), line->toward_row));
}

LANE_INLINE void layer_store(row_kind kind, const cpb_layer_line *line) {
  size_t i = 0, size = result_size(kind), d = line->d;
  char *out = line->out;
  for (; i + CPB_LANES <= d; i += CPB_LANES)
    result_store(kind, out + i * size, layer_lanes_at(kind, line, i));
  if (i < d)
    result_store_part(kind, out + i * size, layer_part_at(kind, line, (ptrdiff_t)i, 0, d - i), 0, d - i);
  if (line->has_last) result_store_last(kind, out + d * size, line->last);
}

LANE_INLINE lanes_f64 layer_carried(row_kind kind, const char *line) {
  return kind.narrow ? wide_f32(line) : wide_f64(line);
}

/* In whole aligned groups; the group where a row ends is joined with the next one's beginning. */
LANE_INLINE void layer_stream(row_kind kind, const cpb_layer_line *line) {
  size_t d = line->d, length = d + line->has_last, i = 0, size = result_size(kind);
  size_t phase = group_phase(line->out, size);
  bool far = d * size > 2 * LAYER_AHEAD; /* else sums have fetched the next rows, too */
  cpb_layer_carry *carry = line->carry;
  char *out = line->out;
  if (phase != 0) {
    lanes_f64 own = layer_part_at(kind, line, -(ptrdiff_t)phase, phase, CPB_LANES);
    if (carry->bytes > 0)
      result_stream(kind, out - phase * size, line_join(layer_carried(kind, carry->line), own, phase));
    else
      result_store_part(kind, out - phase * size, own, phase, CPB_LANES);
    i = CPB_LANES - phase;
  }
  for (; i + CPB_LANES <= d; i += CPB_LANES) {
    if (far) layer_fetch(line->next_row, line->next_g, i * size, size);
    result_stream(kind, out + i * size, layer_lanes_at(kind, line, i));
  }
  carry->bytes = (length - i) % CPB_LANES * size;
  if (i == length) return;
  lanes_f64 tail = layer_part_at(kind, line, (ptrdiff_t)i, 0, d - i);
  if (line->has_last) tail = line_set(tail, d - i, line->last);
  carry->out = out + i * size;
  if (carry->bytes > 0)
    result_store(kind, carry->line, tail);
  else
    result_stream(kind, out + i * size, tail);
}

/* A row that is shorter than a group does not reach the next one. */
LANE_INLINE void layer_gradient_of(row_kind kind, const cpb_layer_line *line) {
  const cpb_layer_line own = *line; /* which nothing written can be taken to change */
  if (LANES_BYPASS && own.carry != NULL && own.d >= CPB_LANES)
    layer_stream(kind, &own);
  else
    layer_store(kind, &own);
}

static void layer_sums_f32(const void *row, const void *g, size_t d, double sums[3]) {
  layer_sums_of(&double_source_f32, row, g, d, sums, NULL);
}
static void layer_sums_f64(const void *row, const void *g, size_t d, double sums[3]) {
  layer_sums_of(&double_source_f64, row, g, d, sums, NULL);
}
static void layer_gradient_f32(const cpb_layer_line *line) {
  layer_gradient_of((row_kind){&double_source_f32, false, true}, line);
}
static void layer_gradient_f64(const cpb_layer_line *line) {
  layer_gradient_of((row_kind){&double_source_f64, false, false}, line);
}

static void layer_fence(void) { lanes_fence(); }

#endif

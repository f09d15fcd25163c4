/* Rows of T12 in sixteen lanes: three sums in one pass over a row, and the gradient of the row before as the sum of
 * two rows. rows_double.h and rows_walk.inc come first. */
#ifndef CPB_LOOP_LAYER_ROWS_H
#define CPB_LOOP_LAYER_ROWS_H

#include "loop/rows_double.h"

#include "loop/rows_walk.inc"

enum { LAYER_AHEAD = 2048, LAYER_FETCHED = 64 };

/* Constants of a loop: rows are f64, or f32; the numbers that are summed are stored, and written from there. */
typedef struct layer_kind {
  bool wide, keeps;
} layer_kind;

LANE_INLINE row_kind layer_results(layer_kind kind) { return (row_kind){.narrow = !kind.wide}; }

/* Numbers i .. i+count-1 of a row of floats or doubles, then zeros. */
LANE_INLINE lanes_f64 layer_lanes(bool wide, const void *row, size_t i, size_t count) {
  const double *x = (const double *)row + (wide ? i : 0);
  const float *narrow = (const float *)row + (wide ? 0 : i);
  if (count < CPB_LANES) return wide ? lanes_part_f64(x, count) : lanes_widen(lanes_part_f32(narrow, count));
  return wide ? lanes_load_f64(x) : lanes_wide_f32(narrow);
}

/* The sums of dot over a chunk. */
typedef struct layer_sums {
  lanes_f64 row2, product, g2;
} layer_sums;

/* Products of floats are exact in double. */
LANE_INLINE lanes_f64 layer_product(layer_kind kind, lanes_f64 sum, lanes_f64 x, lanes_f64 y) {
  return kind.wide ? lanes_add_product(sum, x, y) : lanes_add_exact(sum, x, y);
}

LANE_INLINE void layer_sum(layer_kind kind, const cpb_layer_line *line, layer_sums *sums, size_t i,
                           size_t count) {
  const size_t size = kind.wide ? sizeof(double) : sizeof(float);
  for (size_t far = i * size; far < (i + CPB_LANES) * size; far += LAYER_FETCHED) {
    lanes_prefetch((const char *)line->next_row + far + LAYER_AHEAD);
    lanes_prefetch((const char *)line->next_g + far + LAYER_AHEAD);
  }
  lanes_f64 x = layer_lanes(kind.wide, line->next_row, i, count);
  lanes_f64 g = layer_lanes(kind.wide, line->next_g, i, count);
  sums->row2 = layer_product(kind, sums->row2, x, x);
  sums->product = layer_product(kind, sums->product, x, g);
  sums->g2 = layer_product(kind, sums->g2, g, g);
  if (!kind.keeps) return;
  lanes_store_f64(line->kept + i, x);
  lanes_store_f64(line->kept + i + CPB_LAYER_KEPT, g);
}

/* The same numbers of the gradient. */
LANE_INLINE lanes_f64 layer_result(layer_kind kind, const cpb_layer_line *line, size_t i, size_t count) {
  const bool wide = kind.wide || kind.keeps;
  return lanes_plus_f64(lanes_times_f64(layer_lanes(wide, line->g, i, count), line->toward_g),
                        lanes_times_f64(layer_lanes(wide, line->row, i, count), line->toward_row));
}

/* How a row is written, as in rows_walk.inc: it begins at `phase` in its group; `before` has the results before the next ones.
 * Where the beginning of the group is not carried, the row is written with ordinary stores. */
typedef struct layer_way {
  bool carries, stream;
  row_phase phase;
  vec_f64 before;
} layer_way;

/* Where results are stored whose last `count` are carried. */
LANE_INLINE char *layer_carried(layer_kind kind, cpb_layer_carry *carry, size_t count) {
  return (char *)carry + sizeof carry->before + count * result_size(layer_results(kind)) -
         VEC_F64 * result_size(layer_results(kind));
}

LANE_INLINE layer_way layer_way_of(layer_kind kind, const cpb_layer_line *line, size_t d) {
  layer_way way = {.carries = LANES_BYPASS && line->carry != NULL && line->out != NULL && d >= CPB_LANES};
  if (!way.carries) return way;
  way.phase = row_phase_of(group_phase(line->out, result_size(layer_results(kind)), VEC_F64));
  way.stream = line->carry->bytes > 0 || way.phase.begun == 0;
  way.before = result_load(layer_results(kind), layer_carried(kind, line->carry, way.phase.begun));
  return way;
}

/* The first `length` of sixteen numbers from number i on. */
LANE_INLINE void layer_put(layer_kind kind, const cpb_layer_line *line, layer_way *way, size_t i,
                           size_t length, lanes_f64 y) {
  const row_kind results = layer_results(kind);
  write_line(results, (row_way){way->stream, true},
             (char *)line->out + (i - (way->stream ? way->phase.begun : 0)) * result_size(results),
             way->phase, way->before, y, length);
  if (way->carries) way->before = lanes_last_f64(way->before, y, length);
}

/* The results before the next ones, or before the next row, after `done` of this one: those of an incomplete group are
 * carried. */
LANE_INLINE void layer_save(layer_kind kind, const cpb_layer_line *line, const layer_way *way, size_t done,
                            bool whole) {
  const size_t size = result_size(layer_results(kind)), carried = (way->phase.begun + done) % VEC_F64;
  vec_write(!kind.wide, false, layer_carried(kind, line->carry, carried), way->before);
  line->carry->out = (char *)line->out + (done - carried) * size;
  if (way->stream || whole) line->carry->bytes = carried * size;
}

/* One function for all cases: a chunk is written, or summed, or written while the next row is summed. A row that is
 * shorter than sixteen numbers may not reach the next group, and is not carried. */
LANE_INLINE void layer_chunk_of(layer_kind kind, cpb_layer_line *line, size_t d, size_t start) {
  const cpb_layer_line own = *line; /* local copy: cannot alias the output */
  const size_t end = d - start < CPB_CHUNK ? d : start + CPB_CHUNK, last = own.has_last ? 1 : 0;
  layer_way way = layer_way_of(kind, &own, d);
  layer_sums sums = {0};
  size_t i = start;
  for (; i + CPB_LANES <= end; i += CPB_LANES) {
    if (own.next_row != NULL) layer_sum(kind, &own, &sums, i, CPB_LANES);
    if (own.out != NULL) layer_put(kind, &own, &way, i, CPB_LANES, layer_result(kind, &own, i, CPB_LANES));
  }
  if (i < end && own.next_row != NULL) layer_sum(kind, &own, &sums, i, end - i);
  line->sums[0] = (start == 0 ? 0 : own.sums[0]) + lanes_sum(sums.row2);
  line->sums[1] = (start == 0 ? 0 : own.sums[1]) + lanes_sum(sums.product);
  line->sums[2] = (start == 0 ? 0 : own.sums[2]) + lanes_sum(sums.g2);
  if (own.out == NULL) return;
  if (end == d && d - i + last > 0) {
    lanes_f64 y = layer_result(kind, &own, i, d - i);
    layer_put(kind, &own, &way, i, d - i + last, last > 0 ? lanes_end_f64(y, d - i, own.last) : y);
  }
  if (way.carries) layer_save(kind, &own, &way, end == d ? d + last : end, end == d);
}

static void layer_f32(cpb_layer_line *line, size_t d, size_t start) {
  layer_chunk_of((layer_kind){.wide = false}, line, d, start);
}
static void layer_f64(cpb_layer_line *line, size_t d, size_t start) {
  layer_chunk_of((layer_kind){.wide = true}, line, d, start);
}

#endif

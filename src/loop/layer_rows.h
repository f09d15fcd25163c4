/* Rows of T12 in sixteen lanes: three sums in one pass over a row, and the gradient of the row before as the sum of
 * two rows. rows_double.h and rows_walk.inc come first. */
#ifndef CPB_LOOP_LAYER_ROWS_H
#define CPB_LOOP_LAYER_ROWS_H

#include "loop/rows_double.h"

enum { LAYER_AHEAD = 2048, LAYER_FETCHED = 64 };

/* How rows of a type are read. */
typedef struct layer_source {
  size_t size; /* bytes of an element */
  lanes_f64 (*load)(const void *p);
  lanes_f64 (*part)(const void *p, size_t from, size_t to);
} layer_source;

static const layer_source layer_source_f32 = {4, wide_f32, wide_part_f32};
static const layer_source layer_source_f64 = {8, wide_f64, wide_part_f64};

/* How rows are written: their source, and whether results are f32. */
typedef struct layer_target {
  const layer_source *source;
  row_kind row;
} layer_target;

/* Constants of a loop: what is summed, what is written, and whether converted numbers are stored. */
typedef struct layer_kind {
  const layer_source *summed;
  layer_target written;
  bool keeps;
} layer_kind;

/* The sums of dot over a chunk. */
typedef struct layer_sums {
  lanes_f64 row2, product, g2;
} layer_sums;

/* Products of floats are exact in double. */
LANE_INLINE lanes_f64 layer_product(layer_kind kind, lanes_f64 sum, lanes_f64 x, lanes_f64 y) {
  return kind.summed->size == sizeof(float) ? wide_add_exact(sum, x, y) : wide_add_product(sum, x, y);
}

/* Numbers i .. i+15 of both. */
LANE_INLINE void layer_take(layer_kind kind, layer_sums *sums, lanes_f64 x, lanes_f64 g, double *kept) {
  sums->row2 = layer_product(kind, sums->row2, x, x);
  sums->product = layer_product(kind, sums->product, x, g);
  sums->g2 = layer_product(kind, sums->g2, g, g);
  if (!kind.keeps) return;
  store_wide(kept, x);
  store_wide(kept + CPB_LAYER_KEPT, g);
}

/* Sixteen numbers of the next row. */
LANE_INLINE void layer_sum(layer_kind kind, const cpb_layer_line *line, layer_sums *sums, size_t i) {
  size_t size = kind.summed->size;
  const char *row = (const char *)line->next_row + i * size, *g = (const char *)line->next_g + i * size;
  for (size_t far = LAYER_AHEAD; far < LAYER_AHEAD + CPB_LANES * size; far += LAYER_FETCHED) {
    lanes_prefetch(row + far);
    lanes_prefetch(g + far);
  }
  layer_take(kind, sums, kind.summed->load(row), kind.summed->load(g), line->kept + i);
}

LANE_INLINE void layer_sum_part(layer_kind kind, const cpb_layer_line *line, layer_sums *sums, size_t i,
                                size_t count) {
  size_t at = i * kind.summed->size;
  layer_take(kind, sums, kind.summed->part((const char *)line->next_row + at, 0, count),
             kind.summed->part((const char *)line->next_g + at, 0, count), line->kept + i);
}

/* Numbers i .. i+15 of the gradient. */
LANE_INLINE lanes_f64 layer_lanes_at(layer_target kind, const cpb_layer_line *line, size_t i) {
  size_t at = i * kind.source->size;
  return wide_plus(wide_times(kind.source->load((const char *)line->g + at), line->toward_g),
                   wide_times(kind.source->load((const char *)line->row + at), line->toward_row));
}

/* Numbers i+from .. i+to-1, in lanes from .. to-1 */
LANE_INLINE lanes_f64 layer_part_at(layer_target kind, const cpb_layer_line *line, ptrdiff_t i, size_t from,
                                    size_t to) {
  ptrdiff_t at = i * (ptrdiff_t)kind.source->size;
  return wide_plus(wide_times(kind.source->part((const char *)line->g + at, from, to), line->toward_g),
                   wide_times(kind.source->part((const char *)line->row + at, from, to), line->toward_row));
}

/* The first lanes from the carried ones, the others from x. */
LANE_INLINE void layer_stream_joined(layer_target kind, char *group, const char *waiting, lanes_f64 x,
                                     size_t lane) {
  if (kind.row.narrow)
    lanes_stream((float *)group, lanes_join(load_f32(waiting), lanes_narrow(x), lane));
  else
    stream_wide((double *)group, wide_join(wide_f64(waiting), x, lane));
}

/* Non-temporal stores write whole aligned groups; the group in which a row ends is joined with the beginning of the
 * next row. */
LANE_INLINE void layer_begin(layer_target kind, const cpb_layer_line *line, size_t phase) {
  char *group = (char *)line->out - phase * result_size(kind.row);
  lanes_f64 own = layer_part_at(kind, line, -(ptrdiff_t)phase, phase, CPB_LANES);
  if (line->carry->bytes > 0)
    layer_stream_joined(kind, group, line->carry->line, own, phase);
  else
    result_store_part(kind.row, group, own, phase, CPB_LANES);
}

LANE_INLINE void layer_put(layer_target kind, const cpb_layer_line *line, bool stream, size_t i) {
  char *out = (char *)line->out + i * result_size(kind.row);
  if (stream)
    result_stream(kind.row, out, layer_lanes_at(kind, line, i));
  else
    result_store(kind.row, out, layer_lanes_at(kind, line, i));
}

/* The rest of the row, from number i on, is carried to the next. */
LANE_INLINE void layer_wait(layer_target kind, const cpb_layer_line *line, size_t i, size_t d) {
  size_t size = result_size(kind.row), length = d + line->has_last;
  line->carry->bytes = (length - i) % CPB_LANES * size;
  line->carry->out = (char *)line->out + i * size;
  if (i == length) return;
  lanes_f64 tail = layer_part_at(kind, line, (ptrdiff_t)i, 0, d - i);
  if (line->has_last) tail = line_set(tail, d - i, line->last);
  if (line->carry->bytes > 0)
    result_store(kind.row, line->carry->line, tail);
  else
    result_stream(kind.row, line->carry->out, tail);
}

LANE_INLINE void layer_store_end(layer_target kind, const cpb_layer_line *line, size_t i, size_t d) {
  size_t size = result_size(kind.row);
  char *out = line->out;
  if (i < d)
    result_store_part(kind.row, out + i * size, layer_part_at(kind, line, (ptrdiff_t)i, 0, d - i), 0, d - i);
  if (line->has_last) result_store_last(kind.row, out + d * size, line->last);
}

/* A line without its first numbers. */
LANE_INLINE cpb_layer_line layer_rest(layer_target kind, cpb_layer_line line, size_t count) {
  line.row = (const char *)line.row + count * kind.source->size;
  line.g = (const char *)line.g + count * kind.source->size;
  line.out = (char *)line.out + count * result_size(kind.row);
  return line;
}

/* One function for all cases: a chunk is written, or summed, or written while the next row is summed. A row that is
 * shorter than a group does not reach the next one, and uses ordinary stores. */
LANE_INLINE void layer_chunk_of(layer_kind kind, cpb_layer_line *line, size_t d, size_t start) {
  bool stream = LANES_BYPASS && line->carry != NULL && d >= CPB_LANES;
  size_t phase = stream ? group_phase(line->out, result_size(kind.written.row)) : 0;
  size_t begun = phase > 0 ? CPB_LANES - phase : 0, end = d - start < CPB_CHUNK ? d : start + CPB_CHUNK;
  size_t groups = line->out != NULL ? (d - begun) / CPB_LANES * CPB_LANES : 0, i = start;
  if (phase > 0 && start == 0) layer_begin(kind.written, line, phase);
  const cpb_layer_line rest =
      layer_rest(kind.written, *line, begun); /* local copy: cannot alias the output */
  layer_sums sums = {lanes_zero(), lanes_zero(), lanes_zero()};
  for (; i + CPB_LANES <= end; i += CPB_LANES) {
    if (line->next_row != NULL) layer_sum(kind, &rest, &sums, i);
    if (i < groups) layer_put(kind.written, &rest, LANES_BYPASS && line->carry != NULL, i);
  }
  if (i < end && line->next_row != NULL) layer_sum_part(kind, line, &sums, i, end - i);
  line->sums[0] = (start == 0 ? 0 : line->sums[0]) + lanes_sum(sums.row2);
  line->sums[1] = (start == 0 ? 0 : line->sums[1]) + lanes_sum(sums.product);
  line->sums[2] = (start == 0 ? 0 : line->sums[2]) + lanes_sum(sums.g2);
  if (line->out == NULL || end < d) return;
  if (stream)
    layer_wait(kind.written, line, begun + groups, d);
  else
    layer_store_end(kind.written, line, groups, d);
}

static const layer_target layer_floats = {&layer_source_f32, {.narrow = true}};
static const layer_target layer_doubles = {&layer_source_f64, {.narrow = false}};

static void layer_f32(cpb_layer_line *line, size_t d, size_t start) {
  layer_chunk_of((layer_kind){&layer_source_f32, layer_floats, false}, line, d, start);
}
static void layer_f64(cpb_layer_line *line, size_t d, size_t start) {
  layer_chunk_of((layer_kind){&layer_source_f64, layer_doubles, false}, line, d, start);
}

static void layer_fence(void) { lanes_fence(); }

#endif

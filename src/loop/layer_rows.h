/* Rows of T12 in sixteen lanes: three sums in one pass over a row, and the gradient of the row before as the sum of
 * two rows; two ranges in lockstep, where their sums fit in the registers. rows_double.h and rows_walk.inc come first. */
#ifndef CPB_LOOP_LAYER_ROWS_H
#define CPB_LOOP_LAYER_ROWS_H

#include "loop/rows_double.h"

#include "loop/rows_walk.inc"

enum { LAYER_AHEAD = 2048, LAYER_FETCHED = 64, LAYER_LONG = 1024 }; /* bytes */
enum { LAYER_LOCKSTEP = VECTORS_f64 > 2 ? 1 : 2, LAYER_SUMS = 3 };

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

/* Adds to the sums of the next row. Products of floats are exact in double. */
LANE_INLINE void layer_sum(layer_kind kind, const cpb_layer_line *line, lanes_f64 *sums, size_t i,
                           size_t count) {
  const size_t size = kind.wide ? sizeof(double) : sizeof(float);
  EACH_VECTOR(k, CPB_LANES * size / LAYER_FETCHED) {
    lanes_prefetch((const char *)line->next_row + i * size + k * LAYER_FETCHED + LAYER_AHEAD);
    lanes_prefetch((const char *)line->next_g + i * size + k * LAYER_FETCHED + LAYER_AHEAD);
  }
  lanes_f64 x = layer_lanes(kind.wide, line->next_row, i, count);
  lanes_f64 g = layer_lanes(kind.wide, line->next_g, i, count);
  const lanes_f64 terms[LAYER_SUMS][2] = {{x, x}, {x, g}, {g, g}};
  EACH_VECTOR(k, LAYER_SUMS)
  sums[k] = kind.wide ? lanes_add_product(sums[k], terms[k][0], terms[k][1])
                      : lanes_add_exact(sums[k], terms[k][0], terms[k][1]);
  if (!kind.keeps) return;
  lanes_store_f64(line->kept + i, x);
  lanes_store_f64(line->kept + i + CPB_LAYER_KEPT, g);
}

/* The same numbers of the gradient. */
LANE_INLINE lanes_f64 layer_result(layer_kind kind, const cpb_layer_line *line, size_t i, size_t count) {
  const bool wide = kind.wide || kind.keeps;
  const void *row = kind.keeps ? line->kept : line->row,
             *g = kind.keeps ? line->kept + CPB_LAYER_KEPT : line->g;
  return lanes_plus_f64(lanes_times_f64(layer_lanes(wide, g, i, count), line->toward_g),
                        lanes_times_f64(layer_lanes(wide, row, i, count), line->toward_row));
}

/* How a row is written, as in rows_walk.inc: it begins after `begun` numbers of a vector; `before` has the last results,
 * floats or doubles. Where the beginning of the vector is not carried, the row is written with ordinary stores. */
typedef struct layer_way {
  bool carries, stream;
  size_t begun;
  vec_index shift;
  vec_f64 before;
} layer_way;

LANE_INLINE layer_way layer_way_of(layer_kind kind, const cpb_layer_line *line, size_t d) {
  const size_t size = result_size(layer_results(kind)), group = sizeof(vec_f64) / size;
  layer_way way = {.carries = LANES_BYPASS && line->carry != NULL && line->out != NULL && d >= CPB_LANES};
  if (!way.carries) return way;
  way.begun = group_phase(line->out, size, group);
  way.stream = line->carry->bytes > 0 || way.begun == 0;
  way.shift = (kind.wide ? vec_index_of_f64 : vec_index_of_f32)(lanes_ramp + (group - way.begun));
  memcpy(&way.before, line->carry->last + sizeof line->carry->last - sizeof way.before, sizeof way.before);
  return way;
}

/* The first `length` of sixteen numbers from number i on. */
LANE_INLINE void layer_put(layer_kind kind, const cpb_layer_line *line, layer_way *way, size_t i,
                           size_t length, lanes_f64 y) {
  char *out = (char *)line->out + i * result_size(layer_results(kind));
  if (!way->stream && length == CPB_LANES)
    result_store_vectors(layer_results(kind), false, out, y, CPB_LANES);
  else if (!way->stream && kind.wide)
    lanes_store_part_f64((double *)out, y, length);
  else if (!way->stream)
    lanes_store_part_f32((float *)out, lanes_narrow(y), length);
  if (way->carries && kind.wide)
    way->before = lanes_carry_f64((double *)out, way->stream, way->begun, way->shift, way->before, y, length);
  else if (way->carries)
    way->before = (vec_f64)lanes_carry_f32((float *)out, way->stream, way->begun, way->shift,
                                           (vec_f32)way->before, lanes_narrow(y), length);
}

/* Sixteen numbers of every line, or the `count` last ones: of the row that is written, then of the next. All are read before
 * any is written: a store delays loads from addresses that differ by a multiple of 4096, as those of ranges often do. */
LANE_INLINE void layer_step(layer_kind kind, const cpb_layer_line *lines, size_t ranges, layer_way *ways,
                            lanes_f64 *sums, size_t i, size_t count) {
  const bool ends = count < CPB_LANES && lines->has_last;
  if (lines->out != NULL && count + ends > 0) {
    lanes_f64 y[LAYER_LOCKSTEP];
    EACH_STREAM
    for (size_t r = 0; r < ranges; r++)
      y[r] = count > 0 ? layer_result(kind, &lines[r], i, count) : (lanes_f64){0};
    EACH_STREAM
    for (size_t r = 0; r < ranges; r++) {
      if (ends) y[r] = lanes_end_f64(y[r], count, lines[r].last);
      layer_put(kind, &lines[r], &ways[r], i, count + ends, y[r]);
    }
  }
  if (lines->next_row == NULL || count == 0) return;
  EACH_STREAM
  for (size_t r = 0; r < ranges; r++) layer_sum(kind, &lines[r], sums + r * LAYER_SUMS, i, count);
}

/* By vectors: compilers clear structures with memset. */
LANE_INLINE void layer_clear(lanes_f64 *sums, size_t count) {
  EACH_VECTOR(k, count) EACH_VECTOR(j, VECTORS_f64) sums[k].part[j] = (vec_f64){0};
}

/* Rows that are shorter than sixteen numbers may not reach the next group, and are not carried. */
LANE_INLINE void layer_rows(layer_kind kind, cpb_layer_line *lines, size_t ranges, size_t d) {
  cpb_layer_line own[LAYER_LOCKSTEP]; /* local copies: cannot alias the output */
  layer_way ways[LAYER_LOCKSTEP];
  EACH_STREAM
  for (size_t r = 0; r < ranges; r++) {
    own[r] = lines[r];
    ways[r] = layer_way_of(kind, &own[r], d);
  }
  lanes_f64 sums[LAYER_LOCKSTEP * LAYER_SUMS];
  double totals[LAYER_LOCKSTEP * LAYER_SUMS] = {0};
  layer_clear(sums, ranges * LAYER_SUMS);
  size_t i = 0;
  for (; i + CPB_LANES <= d; i += CPB_LANES) {
    layer_step(kind, own, ranges, ways, sums, i, CPB_LANES);
    if (!sum_chunk_ends(i + CPB_LANES)) continue;
    EACH_VECTOR(k, ranges * LAYER_SUMS) totals[k] += lanes_sum(sums[k]);
    layer_clear(sums, ranges * LAYER_SUMS);
  }
  layer_step(kind, own, ranges, ways, sums, i, d - i);
  EACH_VECTOR(k, ranges * LAYER_SUMS) totals[k] += lanes_sum(sums[k]);
  EACH_STREAM
  for (size_t r = 0; r < ranges; r++) {
    memcpy(lines[r].sums, totals + r * LAYER_SUMS, sizeof lines[r].sums);
    if (!ways[r].carries) continue;
    const size_t size = result_size(layer_results(kind)), length = d + own[r].has_last;
    own[r].carry->bytes = (ways[r].begun + length) * size % sizeof(vec_f64);
    own[r].carry->out = (char *)own[r].out + length * size - own[r].carry->bytes;
    memcpy(own[r].carry->last + sizeof own[r].carry->last - sizeof(vec_f64), &ways[r].before,
           sizeof(vec_f64));
  }
}

/* Short rows, and those that are kept, take turns. */
LANE_INLINE void layer_lines(layer_kind kind, cpb_layer_line *lines, size_t count, size_t d) {
  if (!kind.keeps && LAYER_LOCKSTEP > 1 && count == LAYER_LOCKSTEP &&
      d * result_size(layer_results(kind)) >= LAYER_LONG)
    layer_rows(kind, lines, LAYER_LOCKSTEP, d);
  else
    for (size_t r = 0; r < count; r++) layer_rows(kind, &lines[r], 1, d);
}

static void layer_f32(cpb_layer_line *lines, size_t count, size_t d) {
  layer_lines((layer_kind){.wide = false}, lines, count, d);
}
static void layer_f64(cpb_layer_line *lines, size_t count, size_t d) {
  layer_lines((layer_kind){.wide = true}, lines, count, d);
}

#endif

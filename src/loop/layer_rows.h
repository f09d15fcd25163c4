/* Rows of T12 in sixteen lanes: three sums in one pass over a row, and the gradient of the row before as the sum of
 * two rows; two ranges in lockstep, where their sums fit in the registers. rows_double.h and rows_walk.inc come first. */
#ifndef CPB_LOOP_LAYER_ROWS_H
#define CPB_LOOP_LAYER_ROWS_H

#include "loop/rows_double.h"

#include "loop/rows_walk.inc"

enum { LAYER_AHEAD = 2048, LAYER_FETCHED = 64, LAYER_LOCKSTEP = VECTORS_f64 > 2 ? 1 : 2, LAYER_SUMS = 4 };

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

/* Products of floats are exact in double. */
LANE_INLINE lanes_f64 layer_product(layer_kind kind, lanes_f64 sum, lanes_f64 x, lanes_f64 y) {
  return kind.wide ? lanes_add_product(sum, x, y) : lanes_add_exact(sum, x, y);
}

/* Adds to the sums of the next row. */
LANE_INLINE void layer_sum(layer_kind kind, const cpb_layer_line *line, lanes_f64 *sums, size_t i,
                           size_t count) {
  const size_t size = kind.wide ? sizeof(double) : sizeof(float);
  EACH_VECTOR(k, CPB_LANES * size / LAYER_FETCHED) {
    lanes_prefetch((const char *)line->next_row + i * size + k * LAYER_FETCHED + LAYER_AHEAD);
    lanes_prefetch((const char *)line->next_g + i * size + k * LAYER_FETCHED + LAYER_AHEAD);
  }
  lanes_f64 x = layer_lanes(kind.wide, line->next_row, i, count);
  lanes_f64 g = layer_lanes(kind.wide, line->next_g, i, count);
  sums[0] = layer_product(kind, sums[0], x, x);
  sums[1] = layer_product(kind, sums[1], x, g);
  sums[2] = layer_product(kind, sums[2], g, g);
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

/* How a row is written, as in rows_walk.inc: it begins at `phase` in its group of two vectors, in the second one if `far`.
 * Where the beginning of the group is not carried, the row is written with ordinary stores. */
enum { LAYER_GROUP = 2 * VEC_F64 };
typedef struct layer_way {
  bool carries, stream, far;
  row_phase phase;
  vec_f64 before[2]; /* the results before the next ones */
} layer_way;

/* Where results are stored whose last `count` are carried. */
LANE_INLINE char *layer_carried(layer_kind kind, cpb_layer_carry *carry, size_t count) {
  return carry->line - (LAYER_GROUP - count) * result_size(layer_results(kind));
}

LANE_INLINE layer_way layer_way_of(layer_kind kind, const cpb_layer_line *line, size_t d) {
  const size_t size = result_size(layer_results(kind));
  layer_way way = {.carries = LANES_BYPASS && line->carry != NULL && line->out != NULL && d >= CPB_LANES};
  if (!way.carries) return way;
  way.phase = row_phase_of(group_phase(line->out, size, LAYER_GROUP));
  way.far = way.phase.begun >= VEC_F64;
  way.stream = line->carry->bytes > 0 || way.phase.begun == 0;
  const char *carried = layer_carried(kind, line->carry, way.phase.begun);
  EACH_VECTOR(k, 2) way.before[k] = result_load(layer_results(kind), carried + k * VEC_F64 * size);
  return way;
}

/* The first `length` of sixteen numbers from number i on. */
LANE_INLINE void layer_put(layer_kind kind, const cpb_layer_line *line, layer_way *way, size_t i,
                           size_t length, lanes_f64 y) {
  const row_kind results = layer_results(kind);
  const size_t begun = way->phase.begun, size = result_size(results);
  lanes_f64 later = {{way->before[1]}}; /* by a vector */
  EACH_VECTOR(k, VECTORS_f64 - 1) later.part[k + 1] = y.part[k];
  if (way->stream)
    result_store_vectors(results, true, (char *)line->out + (i - begun) * size,
                         way->far ? lanes_join_f64(way->before[0], way->phase.shift, later)
                                  : lanes_join_f64(way->before[1], way->phase.shift, y),
                         length == CPB_LANES ? CPB_LANES : (begun + length) / LAYER_GROUP * LAYER_GROUP);
  else
    write_line(results, (row_way){false, false}, (char *)line->out + i * size, way->phase, way->before[1], y,
               length);
  if (!way->carries) return;
  way->before[0] = lanes_last_f64(way->before[0], later, length);
  way->before[1] = lanes_last_f64(way->before[1], y, length);
}

/* The results before the next row: those of an incomplete group are carried. */
LANE_INLINE void layer_save(layer_kind kind, const cpb_layer_line *line, const layer_way *way,
                            size_t length) {
  const size_t size = result_size(layer_results(kind)), carried = (way->phase.begun + length) % LAYER_GROUP;
  char *to = layer_carried(kind, line->carry, carried);
  EACH_VECTOR(k, 2) vec_write(!kind.wide, false, to + k * VEC_F64 * size, way->before[k]);
  line->carry->out = (char *)line->out + (length - carried) * size;
  line->carry->bytes = carried * size;
}

/* Sixteen numbers of every line, or the `count` last ones: written, then replaced by those of the next row, which are
 * summed. All are read before any is written: a store delays loads from addresses that differ by a multiple of 4096, which
 * those of ranges often do. */
LANE_INLINE void layer_step(layer_kind kind, const cpb_layer_line *lines, size_t ranges, layer_way *ways,
                            lanes_f64 *sums, size_t i, size_t count) {
  const bool ends = count < CPB_LANES && lines->has_last;
  if (lines->out != NULL && count + ends > 0) {
    lanes_f64 y[LAYER_LOCKSTEP];
    EACH_STREAM
    for (size_t r = 0; r < ranges; r++) y[r] = layer_result(kind, &lines[r], i, count);
    EACH_STREAM
    for (size_t r = 0; r < ranges; r++)
      layer_put(kind, &lines[r], &ways[r], i, count + ends,
                ends ? lanes_end_f64(y[r], count, lines[r].last) : y[r]);
  }
  if (lines->next_row == NULL || count == 0) return;
  EACH_STREAM
  for (size_t r = 0; r < ranges; r++) layer_sum(kind, &lines[r], sums + r * LAYER_SUMS, i, count);
}

/* Adds the sums of a chunk to those of the rows. */
LANE_INLINE void layer_add(lanes_f64 *sums, size_t ranges, double *totals) {
  const size_t at_once = ranges * LAYER_SUMS < FOLDED_ROWS ? ranges * LAYER_SUMS : FOLDED_ROWS;
  for (size_t k = 0; k < ranges * LAYER_SUMS; k += at_once) sum_chunk(sums + k, at_once, totals + k);
  EACH_VECTOR(k, ranges * LAYER_SUMS) sums[k] = (lanes_f64){0};
}

/* Rows that are shorter than sixteen numbers may not reach the next group, and are not carried. */
LANE_INLINE void layer_rows(layer_kind kind, cpb_layer_line *lines, size_t ranges, size_t d) {
  cpb_layer_line own[] = {lines[0], lines[ranges - 1]}; /* local copies: cannot alias the output */
  own[1].kept = own[0].kept + 2 * CPB_LAYER_KEPT;
  layer_way ways[] = {layer_way_of(kind, &own[0], d), layer_way_of(kind, &own[1], d)};
  lanes_f64 sums[LAYER_LOCKSTEP * LAYER_SUMS];
  EACH_VECTOR(k, ranges * LAYER_SUMS) sums[k] = (lanes_f64){0};
  double totals[LAYER_LOCKSTEP * LAYER_SUMS + FOLDED_ROWS] = {0};
  size_t i = 0;
  for (; i + CPB_LANES <= d; i += CPB_LANES) {
    layer_step(kind, own, ranges, ways, sums, i, CPB_LANES);
    if (sum_chunk_ends(i + CPB_LANES)) layer_add(sums, ranges, totals);
  }
  layer_step(kind, own, ranges, ways, sums, i, d - i);
  layer_add(sums, ranges, totals);
  EACH_STREAM
  for (size_t r = 0; r < ranges; r++) {
    memcpy(lines[r].sums, totals + r * LAYER_SUMS, sizeof lines[r].sums);
    if (ways[r].carries) layer_save(kind, &own[r], &ways[r], d + own[r].has_last);
  }
}

LANE_INLINE void layer_lines(layer_kind kind, cpb_layer_line *lines, size_t count, size_t d) {
  if (count == LAYER_LOCKSTEP)
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

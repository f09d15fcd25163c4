/* T1 for rows of floats, halves and bytes in sixteen lanes, f32 results; lanes_<isa>.h comes first.
 *
 * A core waits for memory, so a walk takes four ranges of rows in lockstep: four streams keep more
 * misses under way than one. Large outputs bypass the cache in whole aligned lines; as rows have an
 * odd length, the line where one row ends and the next begins is put together from both. */
#ifndef CPB_LOOP_ROWS_WIDE_H
#define CPB_LOOP_ROWS_WIDE_H

#include <stdint.h>

#include "loop/row_factor.h"

typedef struct row_source {
  size_t size; /* bytes of an element */
  lanes_f32 (*load)(const void *p);
  lanes_f32 (*part)(const void *p, size_t from, size_t to);
  lanes_f64 (*add_square)(lanes_f64 sum, const void *p);
} row_source;

LANE_INLINE lanes_f64 add_square_f16(lanes_f64 sum, const void *p) {
  return lanes_add_square(sum, load_f16(p));
}
LANE_INLINE lanes_f64 add_square_u8(lanes_f64 sum, const void *p) {
  return lanes_add_square(sum, load_u8(p));
}
LANE_INLINE lanes_f64 add_square_i8(lanes_f64 sum, const void *p) {
  return lanes_add_square(sum, load_i8(p));
}

/* An inlined walk sees these as constants: one body serves every element type. */
static const row_source source_f32 = {4, load_f32, part_f32, add_square_f32};
static const row_source source_f16 = {2, load_f16, part_f16, add_square_f16};
static const row_source source_u8 = {1, load_u8, part_u8, add_square_u8};
static const row_source source_i8 = {1, load_i8, part_i8, add_square_i8};

/* What is known of rows when a walk is compiled. */
typedef struct row_kind {
  const row_source *source;
  bool embedding, centered;
} row_kind;

/* Numbers i .. i+15 of a row; embedding, about the centre. */
LANE_INLINE lanes_f32 row_lanes(const cpb_rows_job *job, row_kind kind, const char *in, size_t i) {
  lanes_f32 x = kind.source->load(in + i * kind.source->size);
  if (!kind.embedding || !kind.centered) return x;
  return lanes_less(lanes_less(x, load_f32(job->center.high + i)), load_f32(job->center.low + i));
}

/* The same of numbers i+from .. i+to-1, in lanes from .. to-1; the others are 0 and are not read. */
LANE_INLINE lanes_f32 row_part(const cpb_rows_job *job, row_kind kind, const char *in, ptrdiff_t i,
                               size_t from, size_t to) {
  lanes_f32 x = kind.source->part(in + i * (ptrdiff_t)kind.source->size, from, to);
  if (!kind.embedding || !kind.centered) return x;
  return lanes_less(lanes_less(x, part_f32(job->center.high + i, from, to)),
                    part_f32(job->center.low + i, from, to));
}

/* Numbers i .. i+15 of a result; unembedding, about the centre. */
LANE_INLINE lanes_f32 result_lanes(const cpb_rows_job *job, row_kind kind, lanes_f32 x, float factor,
                                   size_t i) {
  lanes_f32 y = lanes_times(x, factor);
  if (kind.embedding || !kind.centered) return y;
  return lanes_plus(lanes_plus(y, load_f32(job->center.low + i)), load_f32(job->center.high + i));
}

LANE_INLINE lanes_f32 result_part(const cpb_rows_job *job, row_kind kind, lanes_f32 x, float factor,
                                  ptrdiff_t i, size_t from, size_t to) {
  lanes_f32 y = lanes_times(x, factor);
  if (kind.embedding || !kind.centered) return y;
  return lanes_plus(lanes_plus(y, part_f32(job->center.low + i, from, to)),
                    part_f32(job->center.high + i, from, to));
}

enum { STREAMS = 4, PREFETCH_BYTES = 4096 };

/* Long rows are summed a whole row before they are written, so what is fetched early waits for longer: from
 * a kilobyte on, less ahead leaves more of the first-level cache to the rows under way. */
static inline size_t prefetch_distance(size_t row_bytes) { return row_bytes < 1024 ? PREFETCH_BYTES : 1536; }

/* Stands before loops over the streams: unrolled, what each stream sums stays in registers. */
#define EACH_STREAM _Pragma("GCC unroll 4")

/* A range of rows under way. The first `carried` lanes of `line` wait for the row that completes them. */
typedef struct row_range {
  const char *in;
  float *out;
  size_t row; /* within the job */
  lanes_f32 line;
  size_t carried;
} row_range;

/* The sums of squares of one row of every range, taken side by side. */
typedef struct row_sums {
  lanes_f64 sum[STREAMS];
  size_t done;  /* floats of each row, whole sixteens */
  size_t ahead; /* bytes from what is summed to what is fetched */
} row_sums;

LANE_INLINE row_sums sums_begin(size_t streams, size_t ahead) {
  row_sums sums;
  EACH_STREAM
  for (size_t r = 0; r < streams; r++) sums.sum[r] = lanes_zero();
  sums.done = 0;
  sums.ahead = ahead;
  return sums;
}

/* Sixteen more of the rows that begin `skip` bytes after those of the ranges. */
LANE_INLINE void sums_add(const cpb_rows_job *job, row_kind kind, const row_range *ranges, size_t streams,
                          size_t skip, row_sums *sums) {
  EACH_STREAM
  for (size_t r = 0; r < streams; r++) {
    const char *in = ranges[r].in + skip, *p = in + sums->done * kind.source->size;
    lanes_prefetch(p + sums->ahead);
    if (kind.embedding && kind.centered)
      sums->sum[r] = lanes_add_square(sums->sum[r], row_lanes(job, kind, in, sums->done));
    else
      sums->sum[r] = kind.source->add_square(sums->sum[r], p);
  }
  sums->done += CPB_LANES;
}

/* The factor of a row of up to CPB_SHORT_MOST numbers, or one that is not fine. */
LANE_INLINE row_factor factor_if_short(const cpb_rows_job *job, row_kind kind, const char *in) {
  if (job->d > CPB_SHORT_MOST) return (row_factor){.fine = false};
  float x[CPB_LANES];
  store_lanes(x, row_part(job, kind, in, 0, 0, job->d + (kind.embedding ? 0 : 1)));
  short_scale scale = short_scale_of(job->s);
  return short_factor(x, job->d, kind.embedding, &scale);
}

LANE_INLINE void sums_finish(const cpb_rows_job *job, row_kind kind, const row_range *ranges, size_t streams,
                             size_t skip, row_sums *sums, row_factor *f) {
  size_t d = job->d;
  while (sums->done + CPB_LANES <= d) sums_add(job, kind, ranges, streams, skip, sums);
  EACH_STREAM
  for (size_t r = 0; r < streams; r++) {
    const char *in = ranges[r].in + skip;
    f[r] = factor_if_short(job, kind, in);
    if (f[r].fine) continue;
    if (sums->done < d)
      sums->sum[r] =
          lanes_add_square(sums->sum[r], row_part(job, kind, in, (ptrdiff_t)sums->done, 0, d - sums->done));
    double n = lanes_sum(sums->sum[r]);
    f[r] =
        kind.embedding ? embed_factor(n, job->s) : unembed_factor(n, (double)((const float *)in)[d], job->s);
  }
}

LANE_INLINE void store_row(const cpb_rows_job *job, row_kind kind, const char *in, float *out, row_factor f) {
  size_t d = job->d, i = 0;
  for (; i + CPB_LANES <= d; i += CPB_LANES)
    store_lanes(out + i, result_lanes(job, kind, row_lanes(job, kind, in, i), f.factor, i));
  if (i < d) {
    ptrdiff_t at = (ptrdiff_t)i;
    lanes_f32 rest = row_part(job, kind, in, at, 0, d - i);
    store_part(out + i, result_part(job, kind, rest, f.factor, at, 0, d - i), 0, d - i);
  }
  if (kind.embedding) out[d] = f.last;
}

LANE_INLINE void flush(row_range *range) {
  if (range->carried > 0) store_part(range->out - range->carried, range->line, 0, range->carried);
  range->carried = 0;
}

static inline size_t line_phase(const float *p) { return (uintptr_t)p / sizeof(float) % CPB_LANES; }

/* Rows before the first that begins a line; n when none does. */
static size_t rows_to_line(const cpb_rows_job *job) {
  for (size_t row = 0; row < CPB_LANES; row++)
    if (line_phase((float *)job->out + row * job->out_stride) == 0) return row < job->n ? row : job->n;
  return job->n;
}

/* Rows that reach the next line, written past the cache in whole lines: `phase` is where in its line every
 * range's row begins. Between the lines the rows `skip` bytes on are summed (skip > 0), so that reading and
 * writing go on together. */
LANE_INLINE void stream_rows(const cpb_rows_job *job, row_kind kind, row_range *ranges, size_t streams,
                             const row_factor *f, size_t phase, size_t skip, row_sums *next) {
  size_t d = job->d, length = d + (kind.embedding ? 1 : 0), i = 0;
  if (phase != 0) {
    ptrdiff_t before = -(ptrdiff_t)phase;
    i = CPB_LANES - phase;
    EACH_STREAM
    for (size_t r = 0; r < streams; r++) {
      row_range *range = &ranges[r];
      lanes_f32 own = row_part(job, kind, range->in, before, phase, CPB_LANES);
      own = result_part(job, kind, own, f[r].factor, before, phase, CPB_LANES);
      if (range->carried > 0)
        lanes_stream(range->out - phase, lanes_join(range->line, own, phase));
      else
        store_part(range->out - phase, own, phase, CPB_LANES);
      range->carried = 0;
    }
  }
  for (; i + CPB_LANES <= d; i += CPB_LANES) {
    if (skip > 0) sums_add(job, kind, ranges, streams, skip, next);
    EACH_STREAM
    for (size_t r = 0; r < streams; r++)
      lanes_stream(ranges[r].out + i,
                   result_lanes(job, kind, row_lanes(job, kind, ranges[r].in, i), f[r].factor, i));
  }
  EACH_STREAM
  for (size_t r = 0; r < streams; r++) {
    row_range *range = &ranges[r];
    ptrdiff_t at = (ptrdiff_t)i;
    lanes_f32 tail = row_part(job, kind, range->in, at, 0, d - i);
    tail = result_part(job, kind, tail, f[r].factor, at, 0, d - i);
    if (kind.embedding) tail = lanes_set(tail, d - i, f[r].last);
    range->carried = (length - i) % CPB_LANES;
    if (length - i == CPB_LANES) lanes_stream(range->out + i, tail);
    range->line = tail;
  }
}

/* `streams` ranges of `rows` rows each, from row `first` on, in lockstep. */
LANE_INLINE void walk(const cpb_rows_job *asked, row_kind kind, bool stream, size_t streams, size_t first,
                      size_t rows) {
  const cpb_rows_job own = *asked, *job = &own; /* which no row written can be taken to change */
  size_t row_bytes = job->in_stride * kind.source->size, ahead = prefetch_distance(row_bytes);
  row_range ranges[STREAMS];
  for (size_t r = 0; r < streams; r++) {
    size_t row = first + r * rows;
    ranges[r].in = (const char *)job->in + row * row_bytes;
    ranges[r].out = (float *)job->out + row * job->out_stride;
    ranges[r].row = row;
    ranges[r].carried = 0;
  }
  row_factor f[STREAMS];
  row_sums sums = sums_begin(streams, ahead);
  if (rows > 0) sums_finish(job, kind, ranges, streams, 0, &sums, f);
  for (size_t i = 0; i < rows; i++) {
    size_t skip = i + 1 < rows ? row_bytes : 0;
    bool fine = true;
    for (size_t r = 0; r < streams; r++) fine &= f[r].fine;
    sums = sums_begin(streams, ahead);
    if (stream && fine)
      stream_rows(job, kind, ranges, streams, f, line_phase(ranges[0].out), skip, &sums);
    else
      for (size_t r = 0; r < streams; r++) {
        if (stream) flush(&ranges[r]);
        if (f[r].fine)
          store_row(job, kind, ranges[r].in, ranges[r].out, f[r]);
        else
          job->careful(job->context, ranges[r].row);
      }
    if (skip > 0) sums_finish(job, kind, ranges, streams, skip, &sums, f);
    for (size_t r = 0; r < streams; r++) {
      ranges[r].in += row_bytes;
      ranges[r].out += job->out_stride;
      ranges[r].row++;
    }
  }
  if (stream)
    for (size_t r = 0; r < streams; r++) flush(&ranges[r]);
}

/* Rows that reach the next line from wherever in a line they begin can be written past the cache. */
static bool walk_streams(const cpb_rows_job *job, bool embedding) {
  return job->d >= CPB_LANES && job->out_stride == job->d + (embedding ? 1 : 0);
}

/* Ranges of a multiple of 16 rows begin at the same place in their lines. */
LANE_INLINE void walk_all(const cpb_rows_job *job, row_kind kind) {
  size_t rows = job->n / STREAMS / CPB_LANES * CPB_LANES, done = rows * STREAMS;
  if (job->stream && walk_streams(job, kind.embedding)) {
    walk(job, kind, true, STREAMS, 0, rows);
    walk(job, kind, true, 1, done, job->n - done);
    lanes_fence();
  } else {
    walk(job, kind, false, STREAMS, 0, rows);
    walk(job, kind, false, 1, done, job->n - done);
  }
}

/* Float rows one by one, with ordinary stores: what blocks of rows leave over. */
static __attribute__((noinline)) void walk_singly(const cpb_rows_job *job, bool embedding, size_t first,
                                                  size_t count) {
  bool centered = job->center.high != NULL;
  if (embedding && centered)
    walk(job, (row_kind){&source_f32, true, true}, false, 1, first, count);
  else if (embedding)
    walk(job, (row_kind){&source_f32, true, false}, false, 1, first, count);
  else if (centered)
    walk(job, (row_kind){&source_f32, false, true}, false, 1, first, count);
  else
    walk(job, (row_kind){&source_f32, false, false}, false, 1, first, count);
}

#endif

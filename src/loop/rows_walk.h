/* Rows walked in sixteen lanes, whatever their arithmetic: rows_float.h or rows_double.h comes first.
 *
 * A core waits for memory, so a walk takes STREAMS ranges of rows in lockstep: four streams keep more
 * misses under way than one. Where LANES_BYPASS says so, large outputs bypass the cache in whole aligned groups of sixteen numbers; as rows
 * have an odd length, the group where one row ends and the next begins is put together from both. */
#ifndef CPB_LOOP_ROWS_WALK_H
#define CPB_LOOP_ROWS_WALK_H

#include <stdint.h>

enum { PREFETCH_BYTES = 4096 };

/* Long rows are summed a whole row before they are written, so what is fetched early waits for longer: from
 * a kilobyte on, less ahead leaves more of the first-level cache to the rows under way. */
static inline size_t prefetch_distance(size_t row_bytes) { return row_bytes < 1024 ? PREFETCH_BYTES : 1536; }

/* Stands before loops over the streams: unrolled, what each stream sums stays in registers. */
#define EACH_STREAM _Pragma("GCC unroll 4")

/* A range of rows under way. The first `carried` lanes of `line` wait for the row that completes them. */
typedef struct row_range {
  const char *in;
  char *out;
  size_t row; /* within the job */
  row_line line;
  size_t carried;
} row_range;

/* The sums of squares of one row of every range, taken side by side. */
typedef struct row_sums {
  row_sum sum[STREAMS];
  size_t done;  /* numbers of each row, whole sixteens */
  size_t ahead; /* bytes from what is summed to what is fetched */
} row_sums;

LANE_INLINE row_sums sums_begin(size_t streams, size_t ahead) {
  row_sums sums;
  EACH_STREAM
  for (size_t r = 0; r < streams; r++) sums.sum[r] = sum_none();
  sums.done = 0;
  sums.ahead = ahead;
  return sums;
}

/* Sixteen more of the rows that begin `skip` bytes after those of the ranges. */
LANE_INLINE void sums_add(const cpb_rows_job *job, row_kind kind, const row_range *ranges, size_t streams,
                          size_t skip, row_sums *sums) {
  EACH_STREAM
  for (size_t r = 0; r < streams; r++) {
    const char *in = ranges[r].in + skip;
    lanes_prefetch(in + sums->done * kind.source->size + sums->ahead);
    sums->sum[r] = sum_lanes(job, kind, sums->sum[r], in, sums->done);
  }
  sums->done += CPB_LANES;
}

LANE_INLINE void sums_finish(const cpb_rows_job *job, row_kind kind, const row_range *ranges, size_t streams,
                             size_t skip, row_sums *sums, row_answer *f) {
  while (sums->done + CPB_LANES <= job->d) sums_add(job, kind, ranges, streams, skip, sums);
  EACH_STREAM
  for (size_t r = 0; r < streams; r++) {
    const char *in = ranges[r].in + skip;
    if (sums->done < job->d) sums->sum[r] = sum_part(job, kind, sums->sum[r], in, sums->done);
    f[r] = answer_of(job, kind, in, sums->sum[r]);
  }
}

LANE_INLINE void store_row(const cpb_rows_job *job, row_kind kind, const char *in, char *out, row_answer f) {
  size_t d = job->d, i = 0, size = result_size(kind);
  for (; i + CPB_LANES <= d; i += CPB_LANES)
    result_store(kind, out + i * size, result_lanes(job, kind, row_lanes(job, kind, in, i), f.factor, i));
  if (i < d) {
    ptrdiff_t at = (ptrdiff_t)i;
    row_line rest = row_part(job, kind, in, at, 0, d - i);
    rest = result_part(job, kind, rest, f.factor, at, 0, d - i);
    result_store_part(kind, out + i * size, rest, 0, d - i);
  }
  if (kind.embedding) result_store_last(kind, out + d * size, f.last);
}

LANE_INLINE void flush(row_kind kind, row_range *range) {
  if (range->carried > 0)
    result_store_part(kind, range->out - range->carried * result_size(kind), range->line, 0, range->carried);
  range->carried = 0;
}

/* Where in its group of sixteen a number of the output lies. */
static inline size_t group_phase(const char *p, size_t size) { return (uintptr_t)p / size % CPB_LANES; }

/* Rows before the first that begins a group; n when none does. */
static inline size_t rows_to_group(const cpb_rows_job *job, size_t size) {
  for (size_t row = 0; row < CPB_LANES; row++)
    if (group_phase((const char *)job->out + row * job->out_stride * size, size) == 0)
      return row < job->n ? row : job->n;
  return job->n;
}

/* Rows that reach the next group, written past the cache in whole groups: `phase` is where in its group every
 * range's row begins. Between the groups the rows `skip` bytes on are summed (skip > 0), so that reading and
 * writing go on together. */
LANE_INLINE void stream_rows(const cpb_rows_job *job, row_kind kind, row_range *ranges, size_t streams,
                             const row_answer *f, size_t phase, size_t skip, row_sums *next) {
  size_t d = job->d, length = d + (kind.embedding ? 1 : 0), i = 0, size = result_size(kind);
  if (phase != 0) {
    ptrdiff_t before = -(ptrdiff_t)phase;
    i = CPB_LANES - phase;
    EACH_STREAM
    for (size_t r = 0; r < streams; r++) {
      row_range *range = &ranges[r];
      row_line own = row_part(job, kind, range->in, before, phase, CPB_LANES);
      own = result_part(job, kind, own, f[r].factor, before, phase, CPB_LANES);
      if (range->carried > 0)
        result_stream(kind, range->out - phase * size, line_join(range->line, own, phase));
      else
        result_store_part(kind, range->out - phase * size, own, phase, CPB_LANES);
      range->carried = 0;
    }
  }
  for (; i + CPB_LANES <= d; i += CPB_LANES) {
    if (skip > 0) sums_add(job, kind, ranges, streams, skip, next);
    EACH_STREAM
    for (size_t r = 0; r < streams; r++)
      result_stream(kind, ranges[r].out + i * size,
                    result_lanes(job, kind, row_lanes(job, kind, ranges[r].in, i), f[r].factor, i));
  }
  EACH_STREAM
  for (size_t r = 0; r < streams; r++) {
    row_range *range = &ranges[r];
    ptrdiff_t at = (ptrdiff_t)i;
    row_line tail = row_part(job, kind, range->in, at, 0, d - i);
    tail = result_part(job, kind, tail, f[r].factor, at, 0, d - i);
    if (kind.embedding) tail = line_set(tail, d - i, f[r].last);
    range->carried = (length - i) % CPB_LANES;
    if (length - i == CPB_LANES) result_stream(kind, range->out + i * size, tail);
    range->line = tail;
  }
}

/* `streams` ranges of `rows` rows each, from row `first` on, in lockstep. */
LANE_INLINE void walk(const cpb_rows_job *asked, row_kind kind, bool stream, size_t streams, size_t first,
                      size_t rows) {
  const cpb_rows_job own = *asked, *job = &own; /* which no row written can be taken to change */
  size_t row_bytes = job->in_stride * kind.source->size, ahead = prefetch_distance(row_bytes);
  size_t size = result_size(kind), out_bytes = job->out_stride * size;
  row_range ranges[STREAMS];
  for (size_t r = 0; r < streams; r++) {
    size_t row = first + r * rows;
    ranges[r].in = (const char *)job->in + row * row_bytes;
    ranges[r].out = (char *)job->out + row * out_bytes;
    ranges[r].row = row;
    ranges[r].carried = 0;
  }
  row_answer f[STREAMS];
  row_sums sums = sums_begin(streams, ahead);
  if (rows > 0) sums_finish(job, kind, ranges, streams, 0, &sums, f);
  for (size_t i = 0; i < rows; i++) {
    size_t skip = i + 1 < rows ? row_bytes : 0;
    bool fine = true;
    for (size_t r = 0; r < streams; r++) fine &= f[r].fine;
    sums = sums_begin(streams, ahead);
    if (stream && fine)
      stream_rows(job, kind, ranges, streams, f, group_phase(ranges[0].out, size), skip, &sums);
    else
      for (size_t r = 0; r < streams; r++) {
        if (stream) flush(kind, &ranges[r]);
        if (f[r].fine)
          store_row(job, kind, ranges[r].in, ranges[r].out, f[r]);
        else
          job->careful(job->context, ranges[r].row);
      }
    if (skip > 0) sums_finish(job, kind, ranges, streams, skip, &sums, f);
    for (size_t r = 0; r < streams; r++) {
      ranges[r].in += row_bytes;
      ranges[r].out += out_bytes;
      ranges[r].row++;
    }
  }
  if (stream)
    for (size_t r = 0; r < streams; r++) flush(kind, &ranges[r]);
}

/* Rows that reach the next group from wherever in a group they begin can be written past the cache. */
static bool walk_streams(const cpb_rows_job *job) {
  return LANES_BYPASS && job->d >= CPB_LANES && job->out_stride == job->d + (job->embedding ? 1 : 0);
}

/* Ranges of a multiple of 16 rows begin at the same place in their groups. The few rows beyond them go singly. */
LANE_INLINE void walk_all(const cpb_rows_job *job, row_kind kind) {
  size_t rows = STREAMS > 1 ? job->n / STREAMS / CPB_LANES * CPB_LANES : 0, done = rows * STREAMS;
  if (rows > 0 && job->stream && walk_streams(job)) {
    walk(job, kind, true, STREAMS, 0, rows);
    lanes_fence();
  } else if (rows > 0) {
    walk(job, kind, false, STREAMS, 0, rows);
  }
  walk(job, kind, false, 1, done, job->n - done);
}

#endif

/* T1 for float rows in sixteen lanes; lanes_<isa>.h comes first.
 *
 * A core waits for memory, so a walk takes four ranges of rows in lockstep: four streams keep more
 * misses under way than one. Large outputs bypass the cache in whole aligned lines; as rows have an
 * odd length, the line where one row ends and the next begins is put together from both. */
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
LANE_INLINE void sums_add(const row_source *source, const row_range *ranges, size_t streams, size_t skip,
                          row_sums *sums) {
  EACH_STREAM
  for (size_t r = 0; r < streams; r++) {
    const char *p = ranges[r].in + skip + sums->done * source->size;
    _mm_prefetch(p + sums->ahead, _MM_HINT_T0);
    sums->sum[r] = source->add_square(sums->sum[r], p);
  }
  sums->done += CPB_LANES;
}

/* The factor of a row of up to CPB_SHORT_MOST numbers, or one that is not fine. */
static inline row_factor factor_if_short(const cpb_rows_job *job, const row_source *source, bool embedding,
                                         const char *in) {
  if (job->d > CPB_SHORT_MOST) return (row_factor){.fine = false};
  float x[CPB_LANES];
  store_lanes(x, source->part(in, 0, job->d + (embedding ? 0 : 1)));
  short_scale scale = short_scale_of(job->s);
  return short_factor(x, job->d, embedding, &scale);
}

LANE_INLINE void sums_finish(const cpb_rows_job *job, const row_source *source, bool embedding,
                             const row_range *ranges, size_t streams, size_t skip, row_sums *sums,
                             row_factor *f) {
  size_t d = job->d;
  while (sums->done + CPB_LANES <= d) sums_add(source, ranges, streams, skip, sums);
  EACH_STREAM
  for (size_t r = 0; r < streams; r++) {
    const char *in = ranges[r].in + skip, *rest = in + sums->done * source->size;
    f[r] = factor_if_short(job, source, embedding, in);
    if (f[r].fine) continue;
    if (sums->done < d) sums->sum[r] = lanes_add_square(sums->sum[r], source->part(rest, 0, d - sums->done));
    double n = lanes_sum(sums->sum[r]);
    f[r] = embedding ? embed_factor(n, job->s) : unembed_factor(n, (double)((const float *)in)[d], job->s);
  }
}

LANE_INLINE void store_row(const cpb_rows_job *job, const row_source *source, bool embedding, const char *in,
                           float *out, row_factor f) {
  size_t d = job->d, i = 0;
  for (; i + CPB_LANES <= d; i += CPB_LANES)
    store_lanes(out + i, lanes_times(source->load(in + i * source->size), f.factor));
  if (i < d)
    store_part(out + i, lanes_times(source->part(in + i * source->size, 0, d - i), f.factor), 0, d - i);
  if (embedding) out[d] = f.last;
}

LANE_INLINE void flush(row_range *range) {
  if (range->carried > 0) store_part(range->out - range->carried, range->line, 0, range->carried);
  range->carried = 0;
}

static inline size_t line_phase(const float *p) { return (uintptr_t)p / sizeof(float) % CPB_LANES; }

/* Rows before the first that begins a line; n when none does. */
static size_t rows_to_line(const cpb_rows_job *job) {
  for (size_t row = 0; row < CPB_LANES; row++)
    if (line_phase(job->out + row * job->out_stride) == 0) return row < job->n ? row : job->n;
  return job->n;
}

/* Rows that reach the next line, written past the cache in whole lines: `phase` is where in its line every
 * range's row begins. Between the lines the rows `skip` bytes on are summed (skip > 0), so that reading and
 * writing go on together. */
LANE_INLINE void stream_rows(const cpb_rows_job *job, const row_source *source, bool embedding,
                             row_range *ranges, size_t streams, const row_factor *f, size_t phase,
                             size_t skip, row_sums *next) {
  size_t d = job->d, length = d + (embedding ? 1 : 0), i = 0;
  if (phase != 0) {
    i = CPB_LANES - phase;
    EACH_STREAM
    for (size_t r = 0; r < streams; r++) {
      row_range *range = &ranges[r];
      lanes_f32 own =
          lanes_times(source->part(range->in - phase * source->size, phase, CPB_LANES), f[r].factor);
      if (range->carried > 0)
        stream_lanes(range->out - phase, lanes_join(range->line, own, phase));
      else
        store_part(range->out - phase, own, phase, CPB_LANES);
      range->carried = 0;
    }
  }
  for (; i + CPB_LANES <= d; i += CPB_LANES) {
    if (skip > 0) sums_add(source, ranges, streams, skip, next);
    EACH_STREAM
    for (size_t r = 0; r < streams; r++)
      stream_lanes(ranges[r].out + i,
                   lanes_times(source->load(ranges[r].in + i * source->size), f[r].factor));
  }
  EACH_STREAM
  for (size_t r = 0; r < streams; r++) {
    row_range *range = &ranges[r];
    lanes_f32 tail = lanes_times(source->part(range->in + i * source->size, 0, d - i), f[r].factor);
    if (embedding) tail = lanes_set(tail, d - i, f[r].last);
    range->carried = (length - i) % CPB_LANES;
    if (length - i == CPB_LANES) stream_lanes(range->out + i, tail);
    range->line = tail;
  }
}

/* `streams` ranges of `rows` rows each, from row `first` on, in lockstep. */
LANE_INLINE void walk(const cpb_rows_job *job, const row_source *source, bool embedding, bool stream,
                      size_t streams, size_t first, size_t rows) {
  row_range ranges[STREAMS];
  for (size_t r = 0; r < streams; r++) {
    size_t row = first + r * rows;
    ranges[r].in = (const char *)job->in + row * job->in_stride * source->size;
    ranges[r].out = job->out + row * job->out_stride;
    ranges[r].row = row;
    ranges[r].carried = 0;
  }
  size_t row_bytes = job->in_stride * source->size, ahead = prefetch_distance(row_bytes);
  row_factor f[STREAMS];
  row_sums sums = sums_begin(streams, ahead);
  if (rows > 0) sums_finish(job, source, embedding, ranges, streams, 0, &sums, f);
  for (size_t i = 0; i < rows; i++) {
    size_t skip = i + 1 < rows ? row_bytes : 0;
    bool fine = true;
    for (size_t r = 0; r < streams; r++) fine &= f[r].fine;
    sums = sums_begin(streams, ahead);
    if (stream && fine)
      stream_rows(job, source, embedding, ranges, streams, f, line_phase(ranges[0].out), skip, &sums);
    else
      for (size_t r = 0; r < streams; r++) {
        if (stream) flush(&ranges[r]);
        if (f[r].fine)
          store_row(job, source, embedding, ranges[r].in, ranges[r].out, f[r]);
        else
          job->careful(job->context, ranges[r].row);
      }
    if (skip > 0) sums_finish(job, source, embedding, ranges, streams, skip, &sums, f);
    for (size_t r = 0; r < streams; r++) {
      ranges[r].in += row_bytes;
      ranges[r].out += job->out_stride;
      ranges[r].row++;
    }
  }
  if (stream)
    for (size_t r = 0; r < streams; r++) flush(&ranges[r]);
}

/* Float rows one by one, with ordinary stores. */
static __attribute__((noinline)) void walk_singly(const cpb_rows_job *job, bool embedding, size_t first,
                                                  size_t count) {
  if (embedding)
    walk(job, &source_f32, true, false, 1, first, count);
  else
    walk(job, &source_f32, false, false, 1, first, count);
}

/* Rows that reach the next line from wherever in a line they begin can be written past the cache. */
static bool walk_streams(const cpb_rows_job *job, bool embedding) {
  return job->d >= CPB_LANES && job->out_stride == job->d + (embedding ? 1 : 0);
}

/* Ranges of a multiple of 16 rows begin at the same place in their lines. */
LANE_INLINE void walk_all(const cpb_rows_job *job, const row_source *source, bool embedding) {
  size_t rows = job->n / STREAMS / CPB_LANES * CPB_LANES, done = rows * STREAMS;
  if (job->stream && walk_streams(job, embedding)) {
    walk(job, source, embedding, true, STREAMS, 0, rows);
    walk(job, source, embedding, true, 1, done, job->n - done);
    _mm_sfence();
  } else {
    walk(job, source, embedding, false, STREAMS, 0, rows);
    walk(job, source, embedding, false, 1, done, job->n - done);
  }
}

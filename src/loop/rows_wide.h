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
} row_source;

/* An inlined walk sees these as constants: one body serves every element type. */
static const row_source source_f32 = {4, load_f32, part_f32};
static const row_source source_f16 = {2, load_f16, part_f16};
static const row_source source_u8 = {1, load_u8, part_u8};
static const row_source source_i8 = {1, load_i8, part_i8};

enum { STREAMS = 4, PREFETCH_BYTES = 4096 };

/* A range of rows under way. The first `carried` lanes of `line` wait for the row that completes them. */
typedef struct row_range {
  const char *in;
  float *out;
  size_t row; /* within the job */
  lanes_f32 line;
  size_t carried;
} row_range;

/* The factors of one row of every range, their sums taken side by side. */
LANE_INLINE void factors_of_rows(const cpb_rows_job *job, const row_source *source, bool embedding,
                                 const row_range *ranges, size_t streams, row_factor *f) {
  lanes_f64 sum[STREAMS];
  for (size_t r = 0; r < streams; r++) sum[r] = lanes_zero();
  size_t d = job->d, i = 0;
  for (; i + CPB_LANES <= d; i += CPB_LANES)
    for (size_t r = 0; r < streams; r++) {
      const char *p = ranges[r].in + i * source->size;
      _mm_prefetch(p + PREFETCH_BYTES, _MM_HINT_T0);
      sum[r] = lanes_add_square(sum[r], source->load(p));
    }
  for (size_t r = 0; r < streams; r++) {
    const char *in = ranges[r].in;
    if (i < d) sum[r] = lanes_add_square(sum[r], source->part(in + i * source->size, 0, d - i));
    double n = lanes_sum(sum[r]);
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

/* Rows of whole lines past the cache: `phase` is where in its line every range's row begins. */
LANE_INLINE void stream_rows(const cpb_rows_job *job, const row_source *source, bool embedding,
                             row_range *ranges, size_t streams, const row_factor *f, size_t phase) {
  size_t d = job->d, length = d + (embedding ? 1 : 0), i = 0;
  if (phase != 0) {
    i = CPB_LANES - phase;
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
  for (; i + CPB_LANES <= d; i += CPB_LANES)
    for (size_t r = 0; r < streams; r++)
      stream_lanes(ranges[r].out + i,
                   lanes_times(source->load(ranges[r].in + i * source->size), f[r].factor));
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
  for (size_t i = 0; i < rows; i++) {
    row_factor f[STREAMS];
    bool fine = true;
    factors_of_rows(job, source, embedding, ranges, streams, f);
    for (size_t r = 0; r < streams; r++) fine &= f[r].fine;
    if (stream && fine)
      stream_rows(job, source, embedding, ranges, streams, f, line_phase(ranges[0].out));
    else
      for (size_t r = 0; r < streams; r++) {
        if (stream) flush(&ranges[r]);
        if (f[r].fine)
          store_row(job, source, embedding, ranges[r].in, ranges[r].out, f[r]);
        else
          job->careful(job->context, ranges[r].row);
      }
    for (size_t r = 0; r < streams; r++) {
      ranges[r].in += job->in_stride * source->size;
      ranges[r].out += job->out_stride;
      ranges[r].row++;
    }
  }
  if (stream)
    for (size_t r = 0; r < streams; r++) flush(&ranges[r]);
}

/* Ranges of a multiple of 16 rows begin at the same place in their lines. */
LANE_INLINE void walk_all(const cpb_rows_job *job, const row_source *source, bool embedding) {
  size_t rows = job->n / STREAMS / CPB_LANES * CPB_LANES, done = rows * STREAMS;
  bool whole_lines = job->d >= 2 * CPB_LANES && job->out_stride == job->d + (embedding ? 1 : 0);
  if (job->stream && whole_lines) {
    walk(job, source, embedding, true, STREAMS, 0, rows);
    walk(job, source, embedding, true, 1, done, job->n - done);
    _mm_sfence();
  } else {
    walk(job, source, embedding, false, STREAMS, 0, rows);
    walk(job, source, embedding, false, 1, done, job->n - done);
  }
}

static void embed_f16(const cpb_rows_job *job) { walk_all(job, &source_f16, true); }
static void embed_u8(const cpb_rows_job *job) { walk_all(job, &source_u8, true); }
static void embed_i8(const cpb_rows_job *job) { walk_all(job, &source_i8, true); }

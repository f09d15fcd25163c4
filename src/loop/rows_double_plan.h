/* Which walk serves which rows of doubles, or results in double. Before this come lanes_<isa>.h and the short rows
 * of the instruction set:
 *   SHORT_DOUBLES         the longest rows that short_doubles() serves better than the walk
 *   short_doubles(job)    doubles to doubles, in rows at most one number apart
 *   short_staged(job)     rows of any other type or lie, or f32 results
 * Unembedding, and in short rows, halves and bytes are made floats first, some thousand at a time. */
#ifndef CPB_LOOP_ROWS_DOUBLE_PLAN_H
#define CPB_LOOP_ROWS_DOUBLE_PLAN_H

#include "loop/rows_double.h"

#include "loop/rows_walk.h"

static void walk_f32_f64(const cpb_rows_job *job) {
  walk_all(job, (row_kind){&double_source_f32, true, false});
}
static void walk_f64_f64(const cpb_rows_job *job) {
  walk_all(job, (row_kind){&double_source_f64, true, false});
}
static void walk_f64_f32(const cpb_rows_job *job) {
  walk_all(job, (row_kind){&double_source_f64, true, true});
}
static void walk_f16_f64(const cpb_rows_job *job) {
  walk_all(job, (row_kind){&double_source_f16, true, false});
}
static void walk_u8_f64(const cpb_rows_job *job) {
  walk_all(job, (row_kind){&double_source_u8, true, false});
}
static void walk_i8_f64(const cpb_rows_job *job) {
  walk_all(job, (row_kind){&double_source_i8, true, false});
}
static void back_f32_f64(const cpb_rows_job *job) {
  walk_all(job, (row_kind){&double_source_f32, false, false});
}
static void back_f64_f64(const cpb_rows_job *job) {
  walk_all(job, (row_kind){&double_source_f64, false, false});
}
static void back_f64_f32(const cpb_rows_job *job) {
  walk_all(job, (row_kind){&double_source_f64, false, true});
}
static void back_f32_f32(const cpb_rows_job *job) {
  walk_all(job, (row_kind){&double_source_f32, false, true});
}

enum { STAGED = 8192 };

typedef struct staged_rows {
  const cpb_rows_job *job;
  size_t first;
} staged_rows;

static void staged_careful(void *context, size_t row) {
  const staged_rows *staged = context;
  staged->job->careful(staged->job->context, staged->first + row);
}

/* One row as floats; writes up to a line more. */
LANE_INLINE void floats_of_row(const char *in, size_t size, lanes_f32 (*load)(const void *),
                               lanes_f32 (*part)(const void *, size_t, size_t), size_t length, float *out) {
  size_t i = 0;
  for (; i + CPB_LANES <= length; i += CPB_LANES) store_lanes(out + i, load(in + i * size));
  if (i < length) store_lanes(out + i, part(in + i * size, 0, length - i));
}

static void stage_floats(const cpb_rows_job *job, size_t row, size_t count, size_t cols, float *out) {
  size_t size = job->in_type == CPB_F16 ? 2 : 1, run = job->in_stride == cols ? count * cols : cols;
  const char *in = (const char *)job->in + row * job->in_stride * size;
  for (size_t done = 0; done < count * cols; done += run, in += job->in_stride * size) switch (job->in_type) {
    case CPB_F16: floats_of_row(in, size, load_f16, part_f16, run, out + done); break;
    case CPB_U8: floats_of_row(in, size, load_u8, part_u8, run, out + done); break;
    default: floats_of_row(in, size, load_i8, part_i8, run, out + done);
    }
}

static cpb_rows_loop *plan_doubles(const cpb_rows_job *job);

cpb_rows_loop cpb_double_rows_plain;

/* Rows of halves or bytes, which must not be longer than STAGED / CPB_LANES. */
static void staged(const cpb_rows_job *job) {
  float rows[STAGED + CPB_LANES];
  size_t cols = job->d + (job->embedding ? 0 : 1), most = STAGED / cols / CPB_LANES * CPB_LANES;
  cpb_rows_job part = *job;
  part.in = rows;
  part.in_type = CPB_F32;
  part.in_stride = cols;
  part.careful = staged_careful;
  cpb_rows_loop *serve = plan_doubles(&part);
  for (size_t first = 0; first < job->n; first += most) {
    staged_rows of = {job, first};
    part.n = job->n - first < most ? job->n - first : most;
    part.out = (char *)job->out + first * job->out_stride * (job->out_type == CPB_F64 ? 8 : 4);
    part.context = &of;
    stage_floats(job, first, part.n, cols, rows);
    serve(&part);
  }
}

typedef struct double_rule {
  cpb_dtype in, out;
  size_t most;   /* numbers in a row */
  bool in_close; /* rows must lie at most one number apart; short results must anyway */
  cpb_rows_loop *embed, *unembed;
} double_rule;

/* The first line that fits is taken. */
static const double_rule doubles[] = {
    {CPB_F64, CPB_F64, SHORT_DOUBLES, true, short_doubles, short_doubles},
    {CPB_F64, CPB_F64, SHORT_DOUBLES, false, short_staged, short_staged},
    {CPB_F64, CPB_F64, SIZE_MAX, false, walk_f64_f64, back_f64_f64},
    {CPB_F64, CPB_F32, SHORT_DOUBLES, false, short_staged, back_f64_f32},
    {CPB_F64, CPB_F32, SIZE_MAX, false, walk_f64_f32, back_f64_f32},
    {CPB_F32, CPB_F64, SHORT_DOUBLES, false, short_staged, short_staged},
    {CPB_F32, CPB_F64, SIZE_MAX, false, walk_f32_f64, back_f32_f64},
    {CPB_F32, CPB_F32, SIZE_MAX, false, NULL, back_f32_f32},
    {CPB_F16, CPB_F64, SHORT_DOUBLES, false, short_staged, NULL},
    {CPB_F16, CPB_F64, SIZE_MAX, false, walk_f16_f64, NULL},
    {CPB_U8, CPB_F64, SHORT_DOUBLES, false, short_staged, NULL},
    {CPB_U8, CPB_F64, SIZE_MAX, false, walk_u8_f64, NULL},
    {CPB_I8, CPB_F64, SHORT_DOUBLES, false, short_staged, NULL},
    {CPB_I8, CPB_F64, SIZE_MAX, false, walk_i8_f64, NULL},
};

static bool double_fits(const double_rule *rule, const cpb_rows_job *job) {
  if (rule->in != job->in_type || rule->out != job->out_type || job->d > rule->most) return false;
  if (rule->in_close && job->in_stride > job->d + 1) return false;
  return rule->most == SIZE_MAX || job->out_stride <= job->d + 1;
}

/* Rows of halves or bytes unembedded are few and seldom long: the longer ones go as plain C has them. */
static cpb_rows_loop *plan_doubles(const cpb_rows_job *job) {
  if (!job->embedding && job->in_type >= CPB_F16)
    return job->d < STAGED / CPB_LANES ? staged : cpb_double_rows_plain;
  for (size_t i = 0; i < sizeof doubles / sizeof *doubles; i++)
    if (double_fits(&doubles[i], job)) return job->embedding ? doubles[i].embed : doubles[i].unembed;
  return cpb_double_rows_plain;
}

#endif

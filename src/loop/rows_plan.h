/* The plan of an instruction set: which walk serves which rows. Before this come its lanes and its short
 * rows: SHORT_MOST               the longest rows that short_rows() serves better than the walk
 *   short_rows(job)          floats in rows at most one number apart
 *   short_rows_stream(job)   whether it can write them past the cache */
#ifndef CPB_LOOP_ROWS_PLAN_H
#define CPB_LOOP_ROWS_PLAN_H

#include "loop/rows_singly.h"

/* Short rows of other types, or far apart, are put one after the other as floats, so many of these at a time.
 */
enum { STAGED = 8192 };

typedef struct staged_rows {
  const cpb_rows_job *job;
  size_t first;
} staged_rows;

static void staged_careful(void *context, size_t row) {
  const staged_rows *staged = context;
  staged->job->careful(staged->job->context, staged->first + row);
}

/* `count` runs of `length` numbers, `stride` apart; writes up to a line more. */
LANE_INLINE void gather_floats(const row_source *source, const char *in, size_t stride, size_t length,
                               size_t count, float *out) {
  for (size_t k = 0; k < count; k++, in += stride * source->size, out += length) {
    size_t i = 0;
    for (; i + CPB_LANES <= length; i += CPB_LANES) store_lanes(out + i, source->load(in + i * source->size));
    if (i < length) store_lanes(out + i, source->part(in + i * source->size, 0, length - i));
  }
}

LANE_INLINE void map_staged(const cpb_rows_job *job, const row_source *source) {
  float rows[STAGED + CPB_LANES];
  size_t cols = job->d + (job->embedding ? 0 : 1), most = STAGED / cols / CPB_LANES * CPB_LANES;
  size_t count = job->stream ? rows_to_group(job, sizeof(float)) : 0; /* so that the others begin lines */
  for (size_t first = 0; first < job->n; first += count, count = most) {
    if (count == 0 || count > most) count = most;
    if (count > job->n - first) count = job->n - first;
    const char *in = (const char *)job->in + first * job->in_stride * source->size;
    if (job->in_stride == cols)
      gather_floats(source, in, 0, count * cols, 1, rows);
    else
      gather_floats(source, in, job->in_stride, cols, count, rows);
    staged_rows staged = {job, first};
    cpb_rows_job part = *job;
    part.n = count;
    part.in = rows;
    part.in_type = CPB_F32;
    part.in_stride = cols;
    part.out = (float *)job->out + first * job->out_stride;
    part.careful = staged_careful;
    part.context = &staged;
    short_rows(&part);
  }
}

LANE_INLINE void map_walk(const cpb_rows_job *job, const row_source *source, bool embedding) {
  if (job->center.high != NULL)
    walk_all(job, (row_kind){source, embedding, true});
  else
    walk_all(job, (row_kind){source, embedding, false});
}

static void walk_f32(const cpb_rows_job *job) { map_walk(job, &source_f32, true); }
static void walk_f16(const cpb_rows_job *job) { map_walk(job, &source_f16, true); }
static void walk_u8(const cpb_rows_job *job) { map_walk(job, &source_u8, true); }
static void walk_i8(const cpb_rows_job *job) { map_walk(job, &source_i8, true); }
static void walk_back_f32(const cpb_rows_job *job) { map_walk(job, &source_f32, false); }

static void staged_f32(const cpb_rows_job *job) { map_staged(job, &source_f32); }
static void staged_f16(const cpb_rows_job *job) { map_staged(job, &source_f16); }
static void staged_u8(const cpb_rows_job *job) { map_staged(job, &source_u8); }
static void staged_i8(const cpb_rows_job *job) { map_staged(job, &source_i8); }

/* Where rows lie: in rows at most one number apart, or anywhere. */
typedef enum rows_lie { CLOSE, ANYWHERE } rows_lie;

/* One line of the plan: rows of this type, length and lie, embedded, or unembedded. */
typedef struct rows_rule {
  cpb_dtype in;
  size_t most; /* numbers in a row */
  rows_lie lie;
  cpb_rows_loop *embed, *unembed;
} rows_rule;

/* The first line that fits is taken. f32 results. */
static const rows_rule plan[] = {
    {CPB_F32, SHORT_MOST, CLOSE, short_rows, short_rows},
    {CPB_F32, CPB_LANES - 1, ANYWHERE, staged_f32, staged_f32},
    {CPB_F32, SIZE_MAX, ANYWHERE, walk_f32, walk_back_f32},
    {CPB_F16, CPB_LANES - 1, ANYWHERE, staged_f16, NULL},
    {CPB_F16, SIZE_MAX, ANYWHERE, walk_f16, NULL},
    {CPB_U8, CPB_LANES - 1, ANYWHERE, staged_u8, NULL},
    {CPB_U8, SIZE_MAX, ANYWHERE, walk_u8, NULL},
    {CPB_I8, CPB_LANES - 1, ANYWHERE, staged_i8, NULL},
    {CPB_I8, SIZE_MAX, ANYWHERE, walk_i8, NULL},
};

/* Short rows must not lie farther apart in the output than by a free place, and those that the walk could
 * write past the cache, and short_rows() not, are the walk's. */
static bool rule_fits(const rows_rule *rule, const cpb_rows_job *job) {
  if (rule->in != job->in_type || job->d > rule->most) return false;
  if (rule->most == SIZE_MAX) return true;
  if (job->out_stride > job->d + 1 || job->d > SHORT_MOST) return false;
  if (rule->lie == CLOSE && job->in_stride > job->d + 1) return false;
  return !job->stream || short_rows_stream(job) || !walk_streams(job);
}

/* Rows whose arithmetic is double are planned elsewhere. */
static bool in_floats(const cpb_rows_job *job) {
  return job->out_type == CPB_F32 && (job->embedding ? job->in_type != CPB_F64 : job->in_type == CPB_F32);
}

static cpb_rows_loop *plan_rows(const cpb_rows_job *job, cpb_rows_loop *(*doubles)(const cpb_rows_job *)) {
  if (!in_floats(job)) return doubles(job);
  for (size_t i = 0; i < sizeof plan / sizeof *plan; i++)
    if (rule_fits(&plan[i], job)) return job->embedding ? plan[i].embed : plan[i].unembed;
  return NULL;
}

#endif

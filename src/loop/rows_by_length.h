/* T1 for rows of every type: short ones by the instruction set's own loops, the others by the walk of
 * rows_wide.h. Before it come these, for floats in rows at most one number apart:
 *   is_short(job, embedding)              whether the next two serve such rows better than the walk
 *   embed_short(job), unembed_short(job)  what they write past the cache is not yet fenced */

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

LANE_INLINE void map_staged(const cpb_rows_job *job, const row_source *source, bool embedding) {
  float rows[STAGED + CPB_LANES];
  size_t cols = job->d + (embedding ? 0 : 1), most = STAGED / cols / CPB_LANES * CPB_LANES;
  size_t count = job->stream ? rows_to_line(job) : 0; /* so that the others begin lines */
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
    part.in_stride = cols;
    part.out = job->out + first * job->out_stride;
    part.careful = staged_careful;
    part.context = &staged;
    (embedding ? embed_short : unembed_short)(&part);
  }
}

LANE_INLINE void map_rows(const cpb_rows_job *job, const row_source *source, bool embedding) {
  bool ready = source == &source_f32 && job->in_stride <= job->d + 1; /* can be taken where they are */
  if (!is_short(job, embedding) || (!ready && job->d >= CPB_LANES)) {
    walk_all(job, source, embedding);
    return;
  }
  if (!ready)
    map_staged(job, source, embedding);
  else if (embedding)
    embed_short(job);
  else
    unembed_short(job);
  _mm_sfence();
}

static void embed_f32(const cpb_rows_job *job) { map_rows(job, &source_f32, true); }
static void embed_f16(const cpb_rows_job *job) { map_rows(job, &source_f16, true); }
static void embed_u8(const cpb_rows_job *job) { map_rows(job, &source_u8, true); }
static void embed_i8(const cpb_rows_job *job) { map_rows(job, &source_i8, true); }
static void unembed_f32(const cpb_rows_job *job) { map_rows(job, &source_f32, false); }

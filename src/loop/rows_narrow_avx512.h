/* T1 for short float rows (d < 32) on AVX-512: sixteen rows at a time; rows_wide.h comes first.
 *
 * Sixteen rows are a whole number of lines on both sides, so a block has a fixed plan: for every lane
 * of every output line, which input float and which row's factor it takes. Norms of sixteen rows are
 * summed by a transposing tree in the order of lanes_sum() (d > 4); tiny rows (d <= 4) have their factors
 * from columns, by short_factor.h. */

enum { NARROW_MOST = 31, NARROW_STREAMED = 26, ROWS = 16, HALF = 8 };
enum { TINY_MOST = CPB_SHORT_MOST, NARROW_STREAMS = 3 };

#define REAL __m512
#define REAL_FMA _mm512_fmadd_ps
#define REAL_ABS _mm512_abs_ps
#define REAL_MAX _mm512_max_ps
#define REAL_MIN _mm512_min_ps
#define REAL_SAME _mm512_set1_ps
#define REAL_BELOW(x, most) (_mm512_cmp_ps_mask(x, _mm512_set1_ps(most), _CMP_LE_OQ) == 0xffff)
#define SHORT(name) sixteen_##name
#include "loop/short_factor.h"

/* What is known when a loop is compiled, or at least before it starts. */
typedef struct narrow_shape {
  size_t d, in_stride, out_stride;
  bool embedding, stream, tiny; /* tiny: d <= TINY_MOST */
  size_t fours;                 /* floats of a row that are looked at, in fours; for d > TINY_MOST */
} narrow_shape;

typedef struct narrow_line {
  __m512i source; /* index into the 32 floats from `start`; embedding: 16 of them and sixteen ones */
  __m512i factor; /* index into the rows' factors (0..15) and last coordinates (16..31) */
  size_t start;   /* within the block's input */
  __mmask16 own;  /* lanes that are written */
} narrow_line;

typedef struct narrow_plan {
  __m512i column[TINY_MOST + 1];    /* index of column j of row r in the block, modulo 32 */
  __mmask16 pair[TINY_MOST + 1][3]; /* rows of that column in lines 2k, 2k+1 */
  narrow_line line[NARROW_MOST + 1];
} narrow_plan;

/* The map's numbers: in every lane, and as tiny rows need them. */
typedef struct narrow_scale {
  lanes_f64 square, twice; /* s^2, 2s */
  short_scale tiny;
} narrow_scale;

/* Where a lane of the output lies. */
typedef struct narrow_place {
  size_t row, column;
} narrow_place;

/* Plans one line of output from `place` on, and moves `place` past it. */
static void plan_line(const cpb_rows_job *job, bool embedding, narrow_place *place, narrow_line *line) {
  int32_t source[ROWS], factor[ROWS];
  bool found = false;
  line->start = 0;
  line->own = 0;
  for (size_t lane = 0; lane < ROWS; lane++) {
    bool scaled = place->column < job->d, last = embedding && place->column == job->d;
    size_t from = place->row * job->in_stride + place->column;
    if (scaled && !found) line->start = from;
    found |= scaled;
    source[lane] = (int32_t)(scaled ? from - line->start : ROWS); /* 1 times the last coordinate */
    factor[lane] = (int32_t)(last ? place->row + ROWS : place->row);
    if (scaled || last) line->own |= lane_mask(lane, lane + 1);
    if (++place->column == job->out_stride) place->column = 0, place->row++;
  }
  line->source = _mm512_loadu_si512(source);
  line->factor = _mm512_loadu_si512(factor);
}

static void plan_columns(size_t stride, narrow_plan *plan) {
  for (size_t j = 0; j < stride; j++) {
    int32_t index[ROWS];
    for (size_t k = 0; k < 3; k++) plan->pair[j][k] = 0;
    for (size_t r = 0; r < ROWS; r++) {
      size_t at = r * stride + j;
      index[r] = (int32_t)(at % (2 * ROWS));
      plan->pair[j][at / (2 * ROWS)] |= lane_mask(r, r + 1);
    }
    plan->column[j] = _mm512_loadu_si512(index);
  }
}

static void plan_block(const cpb_rows_job *job, bool embedding, narrow_plan *plan) {
  narrow_place place = {0, 0};
  for (size_t k = 0; k < job->out_stride; k++) plan_line(job, embedding, &place, &plan->line[k]);
  if (job->d <= TINY_MOST) plan_columns(job->in_stride, plan);
}

LANE_INLINE lanes_f64 widen_lanes(__m512 x) {
  return (lanes_f64){_mm512_cvtps_pd(_mm512_castps512_ps256(x)),
                     _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1))};
}

LANE_INLINE __m512 narrow_lanes(lanes_f64 x) {
  return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(x.low)), _mm512_cvtpd_ps(x.high), 1);
}

LANE_INLINE lanes_f64 plus(lanes_f64 a, lanes_f64 b) {
  return (lanes_f64){_mm512_add_pd(a.low, b.low), _mm512_add_pd(a.high, b.high)};
}

LANE_INLINE lanes_f64 minus(lanes_f64 a, lanes_f64 b) {
  return (lanes_f64){_mm512_sub_pd(a.low, b.low), _mm512_sub_pd(a.high, b.high)};
}

LANE_INLINE lanes_f64 times(lanes_f64 a, lanes_f64 b) {
  return (lanes_f64){_mm512_mul_pd(a.low, b.low), _mm512_mul_pd(a.high, b.high)};
}

/* a*b + c, rounded once */
LANE_INLINE lanes_f64 fused(lanes_f64 a, lanes_f64 b, lanes_f64 c) {
  return (lanes_f64){_mm512_fmadd_pd(a.low, b.low, c.low), _mm512_fmadd_pd(a.high, b.high, c.high)};
}

LANE_INLINE lanes_f64 same(double x) { return (lanes_f64){_mm512_set1_pd(x), _mm512_set1_pd(x)}; }

/* Column j of the sixteen rows in `lines` consecutive lines. */
LANE_INLINE __m512 column_of(const narrow_plan *plan, const __m512 *line, size_t lines, size_t j) {
  __m512 column = _mm512_permutex2var_ps(line[0], plan->column[j], line[lines > 1 ? 1 : 0]);
  for (size_t k = 2; k + 1 < lines; k += 2)
    column = _mm512_mask_mov_ps(column, plan->pair[j][k / 2],
                                _mm512_permutex2var_ps(line[k], plan->column[j], line[k + 1]));
  if (lines > 2 &&
      lines % 2 == 1) /* of an index modulo 32 a permutation of one line takes the low four bits */
    column = _mm512_mask_permutexvar_ps(column, plan->pair[j][lines / 2], plan->column[j], line[lines - 1]);
  return column;
}

/* One row's sums of lane j and j+8. Reads whole eights; `left` are the lanes of the last one that count. */
LANE_INLINE __m512d eight_lanes(const float *row, size_t eights, __mmask8 left) {
  __m512d x[4];
  for (size_t k = 0; k < eights; k++) {
    __m256 eight = _mm256_loadu_ps(row + 8 * k);
    x[k] = k + 1 < eights ? _mm512_cvtps_pd(eight) : _mm512_maskz_cvtps_pd(left, eight);
  }
  __m512d even = _mm512_mul_pd(x[0], x[0]);
  if (eights > 2) even = _mm512_fmadd_pd(x[2], x[2], even);
  if (eights < 4) return _mm512_fmadd_pd(x[1], x[1], even);
  return _mm512_add_pd(even, _mm512_fmadd_pd(x[3], x[3], _mm512_mul_pd(x[1], x[1])));
}

/* Four floats of a and four of b. Put together in memory, they need no shuffle once they are wide. */
LANE_INLINE __m256 two_fours(const float *a, const float *b) {
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(a)), _mm_loadu_ps(b), 1);
}

/* The sums of lane j, j+4 and j+8 of rows a and b of five to twelve floats, by fours; `left` as above. */
LANE_INLINE __m512d fours_of_pair(const float *a, const float *b, size_t fours, __mmask8 left) {
  __m512d x[3];
  for (size_t k = 0; k < fours; k++) {
    __m256 both = two_fours(a + 4 * k, b + 4 * k);
    x[k] = k + 1 < fours ? _mm512_cvtps_pd(both) : _mm512_maskz_cvtps_pd(left, both);
  }
  __m512d sum = _mm512_mul_pd(x[0], x[0]);
  if (fours > 2) sum = _mm512_fmadd_pd(x[2], x[2], sum);
  return _mm512_fmadd_pd(x[1], x[1], sum);
}

/* Lane j with j+4: those of a, then those of b. */
LANE_INLINE __m512d pair_lanes(const float *a, const float *b, size_t fours, __mmask8 left) {
  if (fours < 4) return fours_of_pair(a, b, fours, left);
  __m512d x = eight_lanes(a, fours / 2, left), y = eight_lanes(b, fours / 2, left);
  return _mm512_add_pd(_mm512_mask_blend_pd(0xf0, x, y), _mm512_shuffle_f64x2(x, y, 0x4e));
}

/* Square norms of eight rows: the tree of lanes_sum() on all of them at once. The rows are taken in the order
 * in which their sums come out one after the other. */
LANE_INLINE __m512d eight_norms(const float *rows, size_t stride, size_t fours, __mmask8 left) {
  __m512i across = _mm512_setr_epi64(2, 3, 8, 9, 6, 7, 12, 13);
  __m512d four[4], two[2];
  for (size_t k = 0; k < 4; k++)
    four[k] = pair_lanes(rows + k * stride, rows + (k + 4) * stride, fours, left);
  for (size_t k = 0; k < 2; k++)
    two[k] = _mm512_add_pd(_mm512_mask_blend_pd(0xcc, four[k], four[k + 2]),
                           _mm512_permutex2var_pd(four[k], across, four[k + 2]));
  return _mm512_add_pd(_mm512_mask_blend_pd(0xaa, two[0], two[1]), _mm512_shuffle_pd(two[0], two[1], 0x55));
}

/* The lanes of the last load of a row (below four fours: of two rows) that count. */
static inline __mmask8 last_lanes(size_t d, size_t fours) {
  if (fours < 4) return (__mmask8)(lane_mask(0, d - 4 * (fours - 1)) * 0x11);
  return (__mmask8)lane_mask(0, d - 4 * (fours - 2));
}

LANE_INLINE lanes_f64 over(lanes_f64 a, lanes_f64 b) {
  return (lanes_f64){_mm512_div_pd(a.low, b.low), _mm512_div_pd(a.high, b.high)};
}

LANE_INLINE bool all_in_range(__m512 factor) {
  return _mm512_mask_cmp_ps_mask(_mm512_cmp_ps_mask(factor, _mm512_set1_ps(FACTOR_LEAST), _CMP_GE_OQ), factor,
                                 _mm512_set1_ps(FACTOR_MOST), _CMP_LE_OQ) == 0xffff;
}

/* NaN may pass: it does not pass all_in_range() of the factor made from it. */
LANE_INLINE bool all_within(lanes_f64 x, double most) {
  enum { LARGER_MAGNITUDE = 3, WITHOUT_SIGN = 2 << 2 };
  __m512d largest = _mm512_range_pd(x.low, x.high, LARGER_MAGNITUDE | WITHOUT_SIGN);
  return _mm512_cmp_pd_mask(largest, _mm512_set1_pd(most), _CMP_LE_OQ) == 0xff;
}

typedef struct block_factors {
  __m512 factor, last;
  bool fine;
} block_factors;

/* embed_factor() of row_factor.h for sixteen rows */
LANE_INLINE block_factors embed_factors(lanes_f64 n, const narrow_scale *scale) {
  lanes_f64 inverse = over(same(1), plus(n, scale->square));
  __m512 factor = narrow_lanes(times(scale->twice, inverse));
  return (block_factors){factor, narrow_lanes(times(minus(scale->square, n), inverse)), all_in_range(factor)};
}

/* unembed_factor() of row_factor.h for sixteen rows */
LANE_INLINE block_factors unembed_factors(lanes_f64 n, lanes_f64 y0, const narrow_scale *scale) {
  lanes_f64 rise = plus(same(1), y0), gap = fused(rise, rise, n);
  __m512 factor = narrow_lanes(over(scale->twice, gap));
  bool unit = all_within(fused(same(-2), rise, gap), UNIT_SLACK);
  return (block_factors){factor, _mm512_setzero_ps(), unit && all_in_range(factor)};
}

LANE_INLINE block_factors tiny_factors(const narrow_plan *plan, const short_scale *scale, narrow_shape shape,
                                       const float *in) {
  size_t stride = shape.in_stride;
  __m512 line[TINY_MOST + 1], column[TINY_MOST + 1];
  for (size_t k = 0; k < stride; k++) line[k] = _mm512_loadu_ps(in + k * ROWS);
  for (size_t j = 0; j < shape.d + (shape.embedding ? 0 : 1); j++)
    column[j] = column_of(plan, line, stride, j);
  sixteen_factors f =
      shape.embedding ? sixteen_embed(column, shape.d, scale) : sixteen_unembed(column, shape.d, scale);
  return (block_factors){f.factor, f.last, f.fine};
}

LANE_INLINE block_factors factors_of_block(const narrow_plan *plan, const narrow_scale *scale,
                                           narrow_shape shape, const float *in) {
  if (shape.tiny) return tiny_factors(plan, &scale->tiny, shape, in);
  size_t d = shape.d, stride = shape.in_stride;
  __mmask8 left = last_lanes(d, shape.fours);
  lanes_f64 norms = {eight_norms(in, stride, shape.fours, left),
                     eight_norms(in + HALF * stride, stride, shape.fours, left)};
  if (shape.embedding) return embed_factors(norms, scale);
  __m512i row = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  __m512i at = _mm512_mullo_epi32(row, _mm512_set1_epi32((int)stride));
  return unembed_factors(norms, widen_lanes(_mm512_i32gather_ps(at, in + d, 4)), scale);
}

LANE_INLINE void prefetch_line(const float *in, size_t line) {
  _mm_prefetch((const char *)(in + line * ROWS) + PREFETCH_BYTES, _MM_HINT_T0);
}

/* Sixteen rows; false when one of them needs care (then nothing is written). */
LANE_INLINE bool narrow_block(const narrow_plan *plan, const narrow_scale *scale, narrow_shape shape,
                              const float *in, float *out) {
  block_factors f = factors_of_block(plan, scale, shape, in);
  if (!f.fine) return false;
  for (size_t k = shape.out_stride; k < shape.in_stride; k++) prefetch_line(in, k);
  for (size_t k = 0; k < shape.out_stride; k++) {
    const narrow_line *l = &plan->line[k];
    const float *p = in + l->start;
    if (k < shape.in_stride) prefetch_line(in, k);
    __m512 next = shape.embedding ? _mm512_set1_ps(1) : _mm512_loadu_ps(p + ROWS);
    __m512 x = _mm512_permutex2var_ps(_mm512_loadu_ps(p), l->source, next);
    x = _mm512_mul_ps(x, _mm512_permutex2var_ps(f.factor, l->factor, f.last));
    if (shape.stream)
      _mm512_stream_ps(out + k * ROWS, x);
    else if (shape.embedding || shape.out_stride == shape.d)
      _mm512_storeu_ps(out + k * ROWS, x);
    else
      _mm512_mask_storeu_ps(out + k * ROWS, l->own, x);
  }
  return true;
}

/* Rows one by one, with ordinary stores. */
static __attribute__((noinline)) void walk_singly(const cpb_rows_job *job, bool embedding, size_t first,
                                                  size_t count) {
  if (embedding)
    walk(job, &source_f32, true, false, 1, first, count);
  else
    walk(job, &source_f32, false, false, 1, first, count);
}

LANE_INLINE void narrow_walk(const cpb_rows_job *job, narrow_shape shape, size_t first) {
  narrow_plan planned;
  plan_block(job, shape.embedding, &planned);
  /* copies that no row written can be taken to change: they stay in registers where they fit */
  const narrow_plan plan = planned;
  const narrow_scale scale = {same(job->s * job->s), same(2 * job->s), short_scale_of(job->s)};
  const float *in = (const float *)job->in + first * shape.in_stride;
  float *out = job->out + first * shape.out_stride;
  /* the last block is left to the walk, as others may read a little past their rows, and so are those that
   * do not fill the streams */
  size_t blocks = (job->n - first) / ROWS;
  if (blocks > 0) blocks--;
  size_t streams = shape.tiny ? STREAMS : NARROW_STREAMS;
  size_t per_range = blocks / streams, done = streams * per_range;
  for (size_t i = 0; i < per_range; i++)
    for (size_t r = 0; r < streams; r++) {
      size_t row = (r * per_range + i) * ROWS;
      if (__builtin_expect(
              !narrow_block(&plan, &scale, shape, in + row * shape.in_stride, out + row * shape.out_stride),
              0))
        walk_singly(job, shape.embedding, first + row, ROWS);
    }
  walk_singly(job, shape.embedding, first + done * ROWS, job->n - first - done * ROWS);
}

/* Rows before the first that begins a line; n when none does. */
static size_t rows_to_line(const cpb_rows_job *job) {
  for (size_t row = 0; row < ROWS; row++)
    if (line_phase(job->out + row * job->out_stride) == 0) return row < job->n ? row : job->n;
  return job->n;
}

/* From row `first` on, d <= TINY_MOST; input and output rows have `in_pad` and `out_pad` floats beyond d. The
 * cases make all of the shape a constant. */
LANE_INLINE void narrow_tiny(const cpb_rows_job *job, bool embedding, bool stream, size_t in_pad,
                             size_t out_pad, size_t first) {
  narrow_shape shape = {0, in_pad, out_pad, embedding, stream, true, 0};
  switch (job->d) {
  case 1: shape.d = 1, shape.in_stride += 1, shape.out_stride += 1, narrow_walk(job, shape, first); return;
  case 2: shape.d = 2, shape.in_stride += 2, shape.out_stride += 2, narrow_walk(job, shape, first); return;
  case 3: shape.d = 3, shape.in_stride += 3, shape.out_stride += 3, narrow_walk(job, shape, first); return;
  default: shape.d = 4, shape.in_stride += 4, shape.out_stride += 4, narrow_walk(job, shape, first);
  }
}

/* The same of larger d; a constant is how much of a row there is. */
LANE_INLINE void narrow_more(const cpb_rows_job *job, bool embedding, bool stream, size_t first) {
  narrow_shape shape = {job->d, job->in_stride, job->out_stride, embedding, stream, false, 0};
  switch ((job->d + 3) / 4) {
  case 2: shape.fours = 2, narrow_walk(job, shape, first); return;
  case 3: shape.fours = 3, narrow_walk(job, shape, first); return;
  case 4: shape.fours = 4, narrow_walk(job, shape, first); return;
  case 5:
  case 6: shape.fours = 6, narrow_walk(job, shape, first); return;
  default: shape.fours = 8, narrow_walk(job, shape, first);
  }
}

LANE_INLINE void narrow_stream(const cpb_rows_job *job, bool embedding, size_t skip) {
  walk_singly(job, embedding, 0, skip);
  if (job->d > TINY_MOST)
    narrow_more(job, embedding, true, skip);
  else
    narrow_tiny(job, embedding, true, embedding ? 0 : 1, embedding ? 1 : 0, skip);
  _mm_sfence();
}

LANE_INLINE void narrow_rows(const cpb_rows_job *job, bool embedding) {
  size_t skip = rows_to_line(job);
  bool padded = embedding ? job->in_stride > job->d : job->out_stride > job->d;
  if (job->stream && skip < job->n && !padded)
    narrow_stream(job, embedding, skip);
  else if (job->d > TINY_MOST)
    narrow_more(job, embedding, false, 0);
  else if (padded)
    narrow_tiny(job, embedding, false, 1, 1, 0);
  else
    narrow_tiny(job, embedding, false, embedding ? 0 : 1, embedding ? 1 : 0, 0);
}

static bool is_narrow(const cpb_rows_job *job) {
  size_t most = job->stream ? NARROW_STREAMED : NARROW_MOST; /* measured: beyond, the walk is faster */
  return job->d <= most && job->in_stride <= job->d + 1 && job->out_stride <= job->d + 1;
}

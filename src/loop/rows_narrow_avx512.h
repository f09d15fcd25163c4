/* T1 for short float rows on AVX-512: sixteen rows at a time; rows_wide.h comes first.
 *
 * Sixteen rows are a whole number of lines on both sides, so a block has a fixed plan: for every lane
 * of every output line, which input float and which row's factor it takes. Norms of sixteen rows are
 * summed by a transposing tree in the order of lanes_sum() (d > 4); tiny rows (d <= 4) have their factors
 * from columns, by short_factor.h.
 *
 * Memory is kept busy by walking four ranges of rows at once. Where a block is a few lines, or its output
 * stays in the cache, it is enough that the ranges take turns. Longer blocks would come to memory in bursts:
 * they are written in lockstep, a line of every range, and what the next blocks need is worked out between
 * the lines.
 */

enum {
  NARROW_MOST = 40, /* measured: beyond, the walk is faster */
  ROWS = 16,
  HALF = 8,
  PAIRS = 8
};
enum { TINY_MOST = CPB_SHORT_MOST };

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
  bool lockstep;
  size_t fours; /* floats of a row that are looked at, in fours; for d > TINY_MOST */
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

/* Where the lanes of a line of the output lie. */
typedef struct narrow_place {
  __m512i row, column;
} narrow_place;

LANE_INLINE __m512i all_lanes(size_t x) { return _mm512_set1_epi32((int)x); }

/* Moves lanes beyond the end of their row to the rows they belong to. */
static narrow_place in_rows(narrow_place place, size_t stride) {
  __mmask16 beyond;
  while ((beyond = _mm512_cmpge_epi32_mask(place.column, all_lanes(stride))) != 0) {
    place.column = _mm512_mask_sub_epi32(place.column, beyond, place.column, all_lanes(stride));
    place.row = _mm512_mask_add_epi32(place.row, beyond, place.row, all_lanes(1));
  }
  return place;
}

static void plan_line(const cpb_rows_job *job, bool embedding, narrow_place place, narrow_line *line) {
  __mmask16 scaled = _mm512_cmplt_epi32_mask(place.column, all_lanes(job->d));
  __mmask16 last = embedding ? _mm512_cmpeq_epi32_mask(place.column, all_lanes(job->d)) : 0;
  __m512i from = _mm512_add_epi32(_mm512_mullo_epi32(place.row, all_lanes(job->in_stride)), place.column);
  line->start = (size_t)_mm512_mask_reduce_min_epi32(scaled, from);
  line->source = _mm512_mask_sub_epi32(all_lanes(ROWS), scaled, from, all_lanes(line->start)); /* else 1 */
  line->factor = _mm512_mask_add_epi32(place.row, last, place.row, all_lanes(ROWS));
  line->own = scaled | last;
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
  narrow_place place = {all_lanes(0),
                        _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)};
  for (size_t k = 0; k < job->out_stride; k++) {
    place = in_rows(place, job->out_stride);
    plan_line(job, embedding, place, &plan->line[k]);
    place.column = _mm512_add_epi32(place.column, all_lanes(ROWS));
  }
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
  __m512d x[NARROW_MOST / 8];
  for (size_t k = 0; k < eights; k++) {
    __m256 eight = _mm256_loadu_ps(row + 8 * k);
    x[k] = k + 1 < eights ? _mm512_cvtps_pd(eight) : _mm512_maskz_cvtps_pd(left, eight);
  }
  __m512d even = _mm512_mul_pd(x[0], x[0]);
  for (size_t k = 2; k < eights; k += 2) even = _mm512_fmadd_pd(x[k], x[k], even);
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

/* Square norms of eight rows from the pair_lanes() of rows k and k+4: the tree of lanes_sum() on all of them
 * at once. With rows so paired their sums come out one after the other. */
LANE_INLINE __m512d eight_norms(const __m512d *pair) {
  __m512i across = _mm512_setr_epi64(2, 3, 8, 9, 6, 7, 12, 13);
  __m512d two[2];
  for (size_t k = 0; k < 2; k++)
    two[k] = _mm512_add_pd(_mm512_mask_blend_pd(0xcc, pair[k], pair[k + 2]),
                           _mm512_permutex2var_pd(pair[k], across, pair[k + 2]));
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

/* Pair `pair` (0..PAIRS-1) of a block: the sums of two of its rows, in the order of eight_norms(). */
LANE_INLINE __m512d pair_of_block(narrow_shape shape, const float *in, size_t pair) {
  const float *row = in + (pair / (HALF / 2) * HALF + pair % (HALF / 2)) * shape.in_stride;
  return pair_lanes(row, row + HALF / 2 * shape.in_stride, shape.fours, last_lanes(shape.d, shape.fours));
}

LANE_INLINE block_factors factors_of_norms(const narrow_scale *scale, narrow_shape shape, const float *in,
                                           lanes_f64 norms) {
  if (shape.embedding) return embed_factors(norms, scale);
  __m512i row = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  __m512i at = _mm512_mullo_epi32(row, _mm512_set1_epi32((int)shape.in_stride));
  return unembed_factors(norms, widen_lanes(_mm512_i32gather_ps(at, in + shape.d, 4)), scale);
}

LANE_INLINE void write_line(const narrow_line *line, narrow_shape shape, const float *in, float *out,
                            block_factors f) {
  const float *p = in + line->start;
  __m512 next = shape.embedding ? _mm512_set1_ps(1) : _mm512_loadu_ps(p + ROWS);
  __m512 x = _mm512_permutex2var_ps(_mm512_loadu_ps(p), line->source, next);
  x = _mm512_mul_ps(x, _mm512_permutex2var_ps(f.factor, line->factor, f.last));
  if (shape.stream)
    _mm512_stream_ps(out, x);
  else if (shape.embedding || shape.out_stride == shape.d)
    _mm512_storeu_ps(out, x);
  else
    _mm512_mask_storeu_ps(out, line->own, x);
}

LANE_INLINE void prefetch_line(const float *in, size_t line) {
  _mm_prefetch((const char *)(in + line * ROWS) + PREFETCH_BYTES, _MM_HINT_T0);
}

/* Square norms of half a block, the first (0) or the second (1). */
LANE_INLINE __m512d norms_of_half(narrow_shape shape, const float *in, size_t half) {
  __m512d pair[HALF / 2];
  for (size_t k = 0; k < HALF / 2; k++) pair[k] = pair_of_block(shape, in, half * (HALF / 2) + k);
  return eight_norms(pair);
}

LANE_INLINE block_factors factors_of_block(const narrow_plan *plan, const narrow_scale *scale,
                                           narrow_shape shape, const float *in) {
  if (shape.tiny) return tiny_factors(plan, &scale->tiny, shape, in);
  lanes_f64 norms = {norms_of_half(shape, in, 0), norms_of_half(shape, in, 1)};
  return factors_of_norms(scale, shape, in, norms);
}

/* Blocks of rows from row `first` of the job on, in STREAMS ranges of `per_range`; the rest, fewer than
 * STREAMS, follow the last range. */
typedef struct narrow_blocks {
  size_t first, count, per_range;
  const float *in;
  float *out;
} narrow_blocks;

LANE_INLINE void walk_in_turns(const cpb_rows_job *job, const narrow_plan *plan, const narrow_scale *scale,
                               narrow_shape shape, narrow_blocks blocks) {
  for (size_t i = 0; i < blocks.count; i++) {
    size_t turn = i / STREAMS, range = i % STREAMS;
    size_t row = (turn < blocks.per_range ? range * blocks.per_range + turn : i) * ROWS;
    const float *in = blocks.in + row * shape.in_stride;
    float *out = blocks.out + row * shape.out_stride;
    block_factors f = factors_of_block(plan, scale, shape, in);
    if (__builtin_expect(!f.fine, 0)) {
      walk_singly(job, shape.embedding, blocks.first + row, ROWS);
      continue;
    }
    for (size_t k = shape.out_stride; k < shape.in_stride; k++) prefetch_line(in, k);
    for (size_t k = 0; k < shape.out_stride; k++) {
      if (k < shape.in_stride) prefetch_line(in, k);
      write_line(&plan->line[k], shape, in, out + k * ROWS, f);
    }
  }
}

/* What is known of the blocks to be written next, one of each range. */
typedef struct narrow_ahead {
  __m512d pair[STREAMS][PAIRS];
  block_factors f[STREAMS];
} narrow_ahead;

/* It is worked out in these pieces: a pair of rows of every range, for every pair, then the factors of a
 * range, for every range. */
enum { PIECES = PAIRS + STREAMS };

LANE_INLINE void work_ahead(const narrow_scale *scale, narrow_shape shape, const float *in, size_t in_step,
                            size_t piece, narrow_ahead *ahead) {
  if (piece < PAIRS) {
    EACH_STREAM
    for (size_t r = 0; r < STREAMS; r++)
      ahead->pair[r][piece] = pair_of_block(shape, in + r * in_step, piece);
  } else {
    size_t r = piece - PAIRS;
    lanes_f64 norms = {eight_norms(ahead->pair[r]), eight_norms(ahead->pair[r] + HALF / 2)};
    ahead->f[r] = factors_of_norms(scale, shape, in + r * in_step, norms);
  }
}

/* Returns the blocks done: as many of every range. */
LANE_INLINE size_t walk_in_lockstep(const cpb_rows_job *job, const narrow_plan *plan,
                                    const narrow_scale *scale, narrow_shape shape, narrow_blocks blocks) {
  size_t in_step = blocks.per_range * ROWS * shape.in_stride;
  size_t out_step = blocks.per_range * ROWS * shape.out_stride;
  const float *in = blocks.in, *next = in;
  float *out = blocks.out;
  narrow_ahead ahead;
  if (blocks.per_range > 0)
    for (size_t piece = 0; piece < PIECES; piece++) work_ahead(scale, shape, in, in_step, piece, &ahead);
  for (size_t i = 0; i < blocks.per_range; i++) {
    block_factors f[STREAMS];
    bool fine = true;
    EACH_STREAM
    for (size_t r = 0; r < STREAMS; r++) {
      f[r] = ahead.f[r];
      fine &= f[r].fine;
    }
    if (i + 1 < blocks.per_range) next += ROWS * shape.in_stride;
    size_t piece = 0;
    for (size_t k = 0; fine && k < shape.out_stride; k++) {
      EACH_STREAM
      for (size_t r = 0; r < STREAMS; r++) {
        prefetch_line(in + r * in_step, k);
        write_line(&plan->line[k], shape, in + r * in_step, out + r * out_step + k * ROWS, f[r]);
      }
      for (; piece * shape.out_stride < (k + 1) * PIECES; piece++)
        work_ahead(scale, shape, next, in_step, piece, &ahead);
    }
    for (; piece < PIECES; piece++) work_ahead(scale, shape, next, in_step, piece, &ahead);
    for (size_t r = 0; r < STREAMS; r++) {
      if (shape.out_stride < shape.in_stride) prefetch_line(in + r * in_step, shape.out_stride);
      if (!fine) walk_singly(job, shape.embedding, blocks.first + (r * blocks.per_range + i) * ROWS, ROWS);
    }
    in += ROWS * shape.in_stride;
    out += ROWS * shape.out_stride;
  }
  return blocks.per_range * STREAMS;
}

/* `count` blocks from row `first` on; returns how many were done. */
LANE_INLINE size_t walk_blocks(const cpb_rows_job *job, narrow_shape shape, size_t first, size_t count) {
  if (count == 0) return 0;
  narrow_plan planned;
  plan_block(job, shape.embedding, &planned);
  /* copies that no row written can be taken to change: they stay in registers where they fit */
  const narrow_plan plan = planned;
  const narrow_scale scale = {same(job->s * job->s), same(2 * job->s), short_scale_of(job->s)};
  narrow_blocks blocks = {first, count, count / STREAMS, (const float *)job->in + first * shape.in_stride,
                          job->out + first * shape.out_stride};
  if (shape.lockstep && shape.fours >= 4) return walk_in_lockstep(job, &plan, &scale, shape, blocks);
  walk_in_turns(job, &plan, &scale, shape, blocks);
  return count;
}

LANE_INLINE void narrow_walk(const cpb_rows_job *job, narrow_shape shape, size_t first) {
  size_t rows = job->n - first, after = ROWS / shape.in_stride + 1; /* blocks are read up to a line too far */
  first += ROWS * walk_blocks(job, shape, first, rows > after ? (rows - after) / ROWS : 0);
  walk_singly(job, shape.embedding, first, job->n - first);
}

/* From row `first` on, d <= TINY_MOST; input and output rows have `in_pad` and `out_pad` floats beyond d. The
 * cases make all of the shape a constant. */
LANE_INLINE void narrow_tiny(const cpb_rows_job *job, bool embedding, bool stream, size_t in_pad,
                             size_t out_pad, size_t first) {
  narrow_shape shape = {0, in_pad, out_pad, embedding, stream, true, false, 0};
  switch (job->d) {
  case 1: shape.d = 1, shape.in_stride += 1, shape.out_stride += 1, narrow_walk(job, shape, first); return;
  case 2: shape.d = 2, shape.in_stride += 2, shape.out_stride += 2, narrow_walk(job, shape, first); return;
  case 3: shape.d = 3, shape.in_stride += 3, shape.out_stride += 3, narrow_walk(job, shape, first); return;
  default: shape.d = 4, shape.in_stride += 4, shape.out_stride += 4, narrow_walk(job, shape, first);
  }
}

/* The same of larger d; a constant is how much of a row there is. */
LANE_INLINE void narrow_more(const cpb_rows_job *job, bool embedding, bool stream, bool lockstep,
                             size_t first) {
  narrow_shape shape = {job->d, job->in_stride, job->out_stride, embedding, stream, false, lockstep, 0};
  switch ((job->d + 3) / 4) {
  case 2: shape.fours = 2, narrow_walk(job, shape, first); return;
  case 3: shape.fours = 3, narrow_walk(job, shape, first); return;
  case 4: shape.fours = 4, narrow_walk(job, shape, first); return;
  case 5:
  case 6: shape.fours = 6, narrow_walk(job, shape, first); return;
  case 7:
  case 8: shape.fours = 8, narrow_walk(job, shape, first); return;
  default: shape.fours = 10, narrow_walk(job, shape, first);
  }
}

/* Rows in place go in lockstep from so many on: of fewer, the blocks it leaves over would be too many. */
enum { LOCKSTEP_ROWS = 64 * ROWS };

/* Whether blocks that begin lines can be written past the cache: none where no row begins one. */
static bool narrow_streams(const cpb_rows_job *job, bool embedding) {
  bool padded = embedding ? job->in_stride > job->d && job->d <= TINY_MOST : job->out_stride > job->d;
  return !padded && rows_to_line(job) < job->n;
}

LANE_INLINE void narrow_rows(const cpb_rows_job *job, bool embedding) {
  bool padded = embedding ? job->in_stride > job->d : job->out_stride > job->d;
  if (job->stream && narrow_streams(job, embedding)) {
    size_t skip = rows_to_line(job);
    walk_singly(job, embedding, 0, skip);
    if (job->d > TINY_MOST)
      narrow_more(job, embedding, true, true, skip);
    else
      narrow_tiny(job, embedding, true, embedding ? 0 : 1, embedding ? 1 : 0, skip);
  } else if (job->d > TINY_MOST && job->in == job->out && job->n >= LOCKSTEP_ROWS)
    narrow_more(job, embedding, false, true, 0);
  else if (job->d > TINY_MOST)
    narrow_more(job, embedding, false, false, 0);
  else if (padded)
    narrow_tiny(job, embedding, false, 1, 1, 0);
  else
    narrow_tiny(job, embedding, false, embedding ? 0 : 1, embedding ? 1 : 0, 0);
}

static bool is_short(const cpb_rows_job *job, bool embedding) {
  if (job->d > NARROW_MOST || job->out_stride > job->d + 1) return false;
  return !job->stream || narrow_streams(job, embedding) || !walk_streams(job, embedding);
}

static void embed_short(const cpb_rows_job *job) { narrow_rows(job, true); }
static void unembed_short(const cpb_rows_job *job) { narrow_rows(job, false); }

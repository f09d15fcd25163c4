/* T1 for short float rows on AVX-512, longer than tiny ones: sixteen rows at a time.
 *
 * Sixteen rows are a whole number of lines on both sides, so a block has a fixed plan: for every lane
 * of every output line, which input float and which row's factor it takes. Norms of sixteen rows are
 * summed by a transposing tree in the order of lanes_sum().
 *
 * Memory is kept busy by walking several ranges of rows at once. Where a block is a few lines, or its output
 * stays in the cache, it is enough that the ranges take turns. Longer blocks would come to memory in bursts:
 * they are written in lockstep, a line of every range, and what the next blocks need is worked out between
 * the lines.
 *
 * A centre is subtracted where numbers are read, from registers where they are summed, and added where lines are written:
 * there it lies in memory as the lines of the output lie, repeated for sixteen rows. Halves and bytes, and floats about a
 * centre of two floats a number, are made to rows of floats without one, a block at a time, and some blocks before they are
 * needed: what is stored reaches the cache before it is read in other pieces. */
#ifndef CPB_LOOP_ROWS_NARROW_AVX512_H
#define CPB_LOOP_ROWS_NARROW_AVX512_H

#include "loop/lanes_avx512.h"
#include "loop/rows_tiny_avx512.h"

enum {
  NARROW_MOST = 31,                          /* measured: beyond, rows_long_avx512.h is faster, */
  NARROW_ABOUT_MOST = CENTER_LINES_MOST - 1, /* and about a centre, or of rows that are made, from here on */
  ROWS = 16,
  HALF = 8,
  PAIRS = 8,
  PIECES_MOST = 3 /* of a row about a centre: three fours, or three eights */
};

/* What is known before a loop starts; `embedding`, `centered`, `fours` and mostly `twofold` when it is compiled. */
typedef struct narrow_shape {
  size_t d, in_stride, out_stride;
  bool embedding, centered, twofold;
  bool stream, lockstep;
  size_t fours;    /* floats of a row that are looked at, in fours */
  size_t after;    /* rows at the end that go singly, as blocks are read too far */
  rows_make *make; /* NULL: rows are as they are */
} narrow_shape;

typedef struct narrow_line {
  __m512i source; /* index into the 32 floats from `start`; embedding: 16 of them and sixteen ones */
  __m512i factor; /* index into the rows' factors (0..15) and last coordinates (16..31) */
  size_t start;   /* within the block's input */
  __mmask16 own;  /* lanes that are written */
} narrow_line;

typedef struct narrow_plan {
  narrow_line line[NARROW_MOST + 1];
} narrow_plan;

/* What is worked out once for all blocks. */
typedef struct narrow_known {
  narrow_plan plan;
  rows_center_lines center; /* if there is one */
} narrow_known;

/* The map's numbers, in every lane. */
typedef struct narrow_scale {
  lanes_f64 square, twice;    /* s^2, 2s */
  __m256 center[PIECES_MOST]; /* as rows are summed: by fours, each twice, or by eights */
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

static __attribute__((noinline)) void plan_block(const cpb_rows_job *job, bool embedding, narrow_plan *plan) {
  narrow_place place = {all_lanes(0),
                        _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)};
  for (size_t k = 0; k < job->out_stride; k++) {
    place = in_rows(place, job->out_stride);
    plan_line(job, embedding, place, &plan->line[k]);
    place.column = _mm512_add_epi32(place.column, all_lanes(ROWS));
  }
}

static rows_make *narrow_make_of(const cpb_rows_job *job) {
  return is_made(job) ? make_of(job->in_type) : NULL;
}

static void know_narrow(const cpb_rows_job *job, narrow_known *known) {
  plan_block(job, job->embedding, &known->plan);
  if (narrow_make_of(job) != NULL)
    plan_center(job, job->in_stride, job->in_stride, &known->center);
  else if (job->center.high != NULL)
    plan_center(job, job->out_stride, job->out_stride, &known->center);
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

/* Piece k of what is summed, about the centre if there is one. */
LANE_INLINE __m256 piece_about(const narrow_scale *scale, __m256 x, size_t k) {
  if (scale == NULL) return x;
  return _mm256_sub_ps(x, scale->center[k]);
}

/* One row's sums of lane j and j+8. Reads whole eights; `left` are the lanes of the last one that count. */
LANE_INLINE __m512d eight_lanes(const narrow_scale *scale, const float *row, size_t eights, __mmask8 left) {
  __m512d x[(NARROW_MOST + 7) / 8];
  for (size_t k = 0; k < eights; k++) {
    __m256 eight = piece_about(scale, _mm256_loadu_ps(row + 8 * k), k);
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

LANE_INLINE __m256 twice_four(const float *a) { return _mm256_broadcast_ps((const __m128 *)a); }

/* The sums of lane j, j+4 and j+8 of rows a and b of five to twelve floats, by fours; `left` as above. */
LANE_INLINE __m512d fours_of_pair(const narrow_scale *scale, const float *a, const float *b, size_t fours,
                                  __mmask8 left) {
  __m512d x[3];
  for (size_t k = 0; k < fours; k++) {
    __m256 both = piece_about(scale, two_fours(a + 4 * k, b + 4 * k), k);
    x[k] = k + 1 < fours ? _mm512_cvtps_pd(both) : _mm512_maskz_cvtps_pd(left, both);
  }
  __m512d sum = _mm512_mul_pd(x[0], x[0]);
  if (fours > 2) sum = _mm512_fmadd_pd(x[2], x[2], sum);
  return _mm512_fmadd_pd(x[1], x[1], sum);
}

/* Lane j with j+4: those of a, then those of b. */
LANE_INLINE __m512d pair_lanes(const narrow_scale *scale, const float *a, const float *b, size_t fours,
                               __mmask8 left) {
  if (fours < 4) return fours_of_pair(scale, a, b, fours, left);
  __m512d x = eight_lanes(scale, a, fours / 2, left), y = eight_lanes(scale, b, fours / 2, left);
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

/* What is subtracted from the numbers of a row; NULL: nothing */
LANE_INLINE const narrow_scale *taken_off(const narrow_scale *scale, narrow_shape shape) {
  return shape.centered && shape.embedding ? scale : NULL;
}

/* Pair `pair` (0..PAIRS-1) of a block: the sums of two of its rows, in the order of eight_norms(). */
LANE_INLINE __m512d pair_of_block(const narrow_scale *scale, narrow_shape shape, const float *in,
                                  size_t pair) {
  const float *row = in + (pair / (HALF / 2) * HALF + pair % (HALF / 2)) * shape.in_stride;
  return pair_lanes(taken_off(scale, shape), row, row + HALF / 2 * shape.in_stride, shape.fours,
                    last_lanes(shape.d, shape.fours));
}

LANE_INLINE block_factors factors_of_norms(const narrow_scale *scale, narrow_shape shape, const float *in,
                                           lanes_f64 norms) {
  if (shape.embedding) return embed_factors(norms, scale);
  __m512i row = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  __m512i at = _mm512_mullo_epi32(row, _mm512_set1_epi32((int)shape.in_stride));
  return unembed_factors(norms, widen_lanes(_mm512_i32gather_ps(at, in + shape.d, 4)), scale);
}

LANE_INLINE void write_line(const narrow_plan *plan, const rows_center_lines *center, size_t k,
                            narrow_shape shape, const float *in, float *out, block_factors f) {
  const narrow_line *line = &plan->line[k];
  const float *p = in + line->start;
  __m512 next = shape.embedding ? _mm512_set1_ps(1) : _mm512_loadu_ps(p + ROWS);
  __m512 x = _mm512_permutex2var_ps(_mm512_loadu_ps(p), line->source, next);
  if (shape.centered && shape.embedding) x = lanes_less(x, center->high[k]);
  x = _mm512_mul_ps(x, _mm512_permutex2var_ps(f.factor, line->factor, f.last));
  if (shape.centered && !shape.embedding) {
    if (shape.twofold) x = lanes_plus(x, center->low[k]);
    x = lanes_plus(x, center->high[k]);
  }
  if (shape.stream)
    _mm512_stream_ps(out, x);
  else if (shape.embedding || shape.out_stride == shape.d)
    _mm512_storeu_ps(out, x);
  else
    _mm512_mask_storeu_ps(out, line->own, x);
}

LANE_INLINE void prefetch_line(const float *in, size_t line, size_t ahead) {
  lanes_prefetch((const char *)(in + line * ROWS) + ahead);
}

/* Square norms of half a block, the first (0) or the second (1). */
LANE_INLINE __m512d norms_of_half(const narrow_scale *scale, narrow_shape shape, const float *in,
                                  size_t half) {
  __m512d pair[HALF / 2];
#pragma GCC unroll 4
  for (size_t k = 0; k < HALF / 2; k++) pair[k] = pair_of_block(scale, shape, in, half * (HALF / 2) + k);
  return eight_norms(pair);
}

LANE_INLINE lanes_f64 norms_of_block(const narrow_scale *scale, narrow_shape shape, const float *in) {
  __m512d norms[2];
  ONE_TEXT
  for (size_t half = 0; half < 2; half++) norms[half] = norms_of_half(scale, shape, in, half);
  return (lanes_f64){norms[0], norms[1]};
}

/* Ranges that take turns, and bytes from what is read to what is fetched: many, and less each, are faster; measured. */
enum { TURNS = 8, TURNS_AHEAD = 1024 };

/* Blocks of rows from row `first` of the job on, in TURNS or STREAMS ranges of `per_range`; the rest, fewer than ranges,
 * follow the last one. */
typedef struct narrow_blocks {
  size_t first, count, per_range;
  const float *in;
  float *out;
} narrow_blocks;

static inline size_t row_of_turn(const narrow_blocks *blocks, size_t i) {
  size_t turn = i / TURNS, range = i % TURNS;
  return (turn < blocks->per_range ? range * blocks->per_range + turn : i) * ROWS;
}

/* A block under way: first its norms are known, a turn later its factors, and one later it is written. One turn for all
 * would wait for its division longer than a processor looks ahead. */
typedef struct narrow_turn {
  size_t row;
  const float *in;
  lanes_f64 norms;
  block_factors f;
} narrow_turn;

/* Blocks that are made, one after the other in a ring. */
enum { MADE_AHEAD = 2, MADE_RING = 4 };
typedef float narrow_room[(NARROW_ABOUT_MOST + 2) * ROWS]; /* and a line, as blocks are read too far */

LANE_INLINE void make_turn(const cpb_rows_job *job, narrow_shape shape, const rows_center_lines *center,
                           const narrow_blocks *blocks, size_t i, narrow_room *ring) {
  size_t row_bytes = shape.in_stride * cpb_dtype_size(job->in_type);
  if (i < blocks->count)
    shape.make((const char *)job->in + (blocks->first + row_of_turn(blocks, i)) * row_bytes, shape.in_stride,
               center, ring[i % MADE_RING]);
}

LANE_INLINE void write_block(const cpb_rows_job *job, const narrow_plan *plan,
                             const rows_center_lines *center, narrow_shape shape, bool made, narrow_turn turn,
                             const narrow_blocks *blocks) {
  if (__builtin_expect(!turn.f.fine, 0)) {
    walk_singly(job, blocks->first + turn.row, ROWS);
    return;
  }
  float *out = blocks->out + turn.row * shape.out_stride;
  size_t fetched = made ? 0 : shape.in_stride;
  for (size_t k = shape.out_stride; k < fetched; k++) prefetch_line(turn.in, k, TURNS_AHEAD);
  for (size_t k = 0; k < shape.out_stride; k++) {
    if (k < fetched) prefetch_line(turn.in, k, TURNS_AHEAD);
    write_line(plan, center, k, shape, turn.in, out + k * ROWS, turn.f);
  }
}

LANE_INLINE void walk_in_turns(const cpb_rows_job *job, const narrow_plan *plan,
                               const rows_center_lines *center, const narrow_scale *scale, narrow_shape shape,
                               narrow_blocks blocks) {
  bool makes = shape.embedding && !shape.centered && shape.make != NULL;
  _Alignas(64) narrow_room ring[MADE_RING];
  for (size_t i = 0; makes && i < MADE_AHEAD; i++) make_turn(job, shape, center, &blocks, i, ring);
  narrow_turn written, known = {.in = blocks.in}, summed = {.in = blocks.in};
  for (size_t i = 0; i < blocks.count + 2; i++) {
    written = known, known = summed; /* what is written makes room in the ring */
    if (i >= 2) write_block(job, plan, center, shape, makes, written, &blocks);
    if (i >= 1) known.f = factors_of_norms(scale, shape, known.in, known.norms);
    if (makes) make_turn(job, shape, center, &blocks, i + MADE_AHEAD, ring);
    if (i < blocks.count) {
      summed.row = row_of_turn(&blocks, i);
      summed.in = makes ? ring[i % MADE_RING] : blocks.in + summed.row * shape.in_stride;
      summed.norms = norms_of_block(scale, shape, summed.in);
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
    ONE_TEXT
    for (size_t r = 0; r < STREAMS; r++)
      ahead->pair[r][piece] = pair_of_block(scale, shape, in + r * in_step, piece);
  } else {
    size_t r = piece - PAIRS;
    lanes_f64 norms = {eight_norms(ahead->pair[r]), eight_norms(ahead->pair[r] + HALF / 2)};
    ahead->f[r] = factors_of_norms(scale, shape, in + r * in_step, norms);
  }
}

/* Returns the blocks done: as many of every range. Round i writes block i-1 of every range and works block i out, the last
 * one once more: the text of both is there once. */
LANE_INLINE size_t walk_in_lockstep(const cpb_rows_job *job, const narrow_plan *plan,
                                    const rows_center_lines *center, const narrow_scale *scale,
                                    narrow_shape shape, narrow_blocks blocks) {
  size_t in_step = blocks.per_range * ROWS * shape.in_stride;
  size_t out_step = blocks.per_range * ROWS * shape.out_stride;
  const float *in = blocks.in, *next = in;
  float *out = blocks.out;
  narrow_ahead ahead;
  for (size_t i = 0; blocks.per_range > 0 && i <= blocks.per_range; i++) {
    block_factors f[STREAMS];
    bool write = i > 0, fine = write;
    EACH_STREAM
    for (size_t r = 0; write && r < STREAMS; r++) {
      f[r] = ahead.f[r];
      fine &= f[r].fine;
    }
    if (write && i < blocks.per_range) next += ROWS * shape.in_stride;
    for (size_t k = 0, piece = 0; k < shape.out_stride; k++) {
      EACH_STREAM
      for (size_t r = 0; fine && r < STREAMS; r++) {
        prefetch_line(in + r * in_step, k, PREFETCH_BYTES);
        write_line(plan, center, k, shape, in + r * in_step, out + r * out_step + k * ROWS, f[r]);
      }
      for (; piece * shape.out_stride < (k + 1) * PIECES; piece++)
        work_ahead(scale, shape, next, in_step, piece, &ahead);
    }
    if (!write) continue;
    for (size_t r = 0; r < STREAMS; r++) {
      if (shape.out_stride < shape.in_stride)
        prefetch_line(in + r * in_step, shape.out_stride, PREFETCH_BYTES);
      if (!fine) walk_singly(job, blocks.first + (r * blocks.per_range + i - 1) * ROWS, ROWS);
    }
    in += ROWS * shape.in_stride;
    out += ROWS * shape.out_stride;
  }
  return blocks.per_range * STREAMS;
}

LANE_INLINE __m256 center_piece(const float *center, size_t fours, size_t k) {
  return fours < 4 ? twice_four(center + 4 * k) : _mm256_loadu_ps(center + 8 * k);
}

LANE_INLINE narrow_scale scale_of(const cpb_rows_job *job, narrow_shape shape) {
  narrow_scale scale = {.square = same(job->s * job->s), .twice = same(2 * job->s)};
  size_t pieces = !shape.centered || !shape.embedding ? 0 : shape.fours < 4 ? shape.fours : shape.fours / 2;
#pragma GCC unroll 3
  for (size_t k = 0; k < pieces; k++) {
    scale.center[k] = center_piece(job->center.high, shape.fours, k);
  }
  return scale;
}

/* `count` blocks from row `first` on; returns how many were done. */
LANE_INLINE size_t walk_blocks(const cpb_rows_job *job, const narrow_known *known, narrow_shape shape,
                               size_t first, size_t count) {
  if (count == 0) return 0;
  /* copies that no row written can be taken to change: they stay in registers where they fit */
  const narrow_plan plan = known->plan;
  const narrow_scale scale = scale_of(job, shape);
  bool lockstep = shape.lockstep && shape.fours >= 4 && shape.make == NULL;
  narrow_blocks blocks = {first, count, count / (lockstep ? STREAMS : TURNS),
                          (const float *)job->in + first * shape.in_stride,
                          (float *)job->out + first * shape.out_stride};
  if (lockstep) return walk_in_lockstep(job, &plan, &known->center, &scale, shape, blocks);
  walk_in_turns(job, &plan, &known->center, &scale, shape, blocks);
  return count;
}

LANE_INLINE void narrow_walk(const cpb_rows_job *job, const narrow_known *known, narrow_shape shape,
                             size_t first) {
  size_t rows = job->n - first, blocks = rows > shape.after ? (rows - shape.after) / ROWS : 0;
  first += ROWS * walk_blocks(job, known, shape, first, blocks);
  walk_singly(job, first, job->n - first);
}

/* From row `first` on. */
typedef void narrow_loop(const cpb_rows_job *job, const narrow_known *known, const narrow_shape *shape,
                         size_t first);

/* A function each, as in rows_tiny_avx512.h; a constant is how much of a row there is. Whether a centre has two floats a
 * number is one where blocks go in lockstep, which a question a line would slow down. */
#define NARROW_LOOP(name, some, forth, about, by_two)                                                        \
  static __attribute__((noinline)) void name(const cpb_rows_job *job, const narrow_known *known,             \
                                             const narrow_shape *given, size_t first) {                      \
    narrow_shape shape = *given;                                                                             \
    shape.embedding = forth, shape.centered = about, shape.twofold = by_two, shape.fours = some;             \
    narrow_walk(job, known, shape, first);                                                                   \
  }
#define NARROW_LOOPS(some, by_two)                                                                           \
  NARROW_LOOP(narrow_forth_##some, some, true, false, false)                                                 \
  NARROW_LOOP(narrow_forth_floats_##some, some, true, true, false)                                           \
  NARROW_LOOP(narrow_back_##some, some, false, false, false)                                                 \
  NARROW_LOOP(narrow_back_about_##some, some, false, true, by_two)
NARROW_LOOPS(2, given->twofold)
NARROW_LOOPS(3, given->twofold)
NARROW_LOOPS(4, true)
NARROW_LOOPS(6, true)
NARROW_LOOP(narrow_back_floats_4, 4, false, true, false)
NARROW_LOOP(narrow_back_floats_6, 6, false, true, false)
NARROW_LOOP(narrow_forth_8, 8, true, false, false)
NARROW_LOOP(narrow_back_8, 8, false, false, false)
#undef NARROW_LOOPS
#undef NARROW_LOOP

/* By fours (two, three, or an even number), then embedding or not, and the kind of centre. */
#define NARROW_ROW(some, back_floats)                                                                        \
  {                                                                                                          \
    {narrow_back_##some, back_floats, narrow_back_about_##some}, {                                           \
      narrow_forth_##some, narrow_forth_floats_##some                                                        \
    }                                                                                                        \
  }
static narrow_loop *const narrow_loops[][2][CENTERS] = {NARROW_ROW(2, narrow_back_about_2),
                                                        NARROW_ROW(3, narrow_back_about_3),
                                                        NARROW_ROW(4, narrow_back_floats_4),
                                                        NARROW_ROW(6, narrow_back_floats_6),
                                                        {{narrow_back_8}, {narrow_forth_8}}};
#undef NARROW_ROW

static narrow_loop *narrow_loop_of(const cpb_rows_job *job) {
  size_t fours = (job->d + 3) / 4;
  center_kind center = narrow_make_of(job) == NULL ? kind_of_center(job) : NO_CENTER;
  return narrow_loops[fours < 4 ? fours - 2 : (fours + 1) / 2][job->embedding][center];
}

/* Rows in place go in lockstep from so many on: of fewer, the blocks it leaves over would be too many. */
enum { LOCKSTEP_ROWS = 64 * ROWS };

/* Whether blocks that begin lines can be written past the cache: none where no row begins one. */
static bool narrow_streams(const cpb_rows_job *job) {
  return (job->embedding || job->out_stride == job->d) && rows_to_group(job, sizeof(float)) < job->n;
}

/* Staged rows are at hand, with room for a line after them; what keeps memory busy would only delay them. */
static void narrow_rows(const cpb_rows_job *job, const narrow_known *known, bool staged) {
  bool stream = job->stream && narrow_streams(job);
  narrow_shape shape = {.d = job->d,
                        .in_stride = job->in_stride,
                        .out_stride = job->out_stride,
                        .twofold = job->center.twofold,
                        .stream = stream,
                        .lockstep = !staged && (stream || (job->in == job->out && job->n >= LOCKSTEP_ROWS)),
                        .after = staged ? 0 : ROWS / job->in_stride + 1,
                        .make = narrow_make_of(job)};
  size_t skip = stream ? rows_to_group(job, sizeof(float)) : 0;
  walk_singly(job, 0, skip);
  narrow_loop_of(job)(job, known, &shape, skip);
  if (stream) lanes_fence();
}

enum { SHORT_MOST = NARROW_ABOUT_MOST, SHORT_MADE_MOST = NARROW_ABOUT_MOST, SHORT_BARE_MOST = NARROW_MOST };

#define SHORT_MADE is_made
/* Blocks of longer rows go in lockstep, and rows that are made do not. */
enum { SHORT_FLOATS_MADE_MOST = 15 };

static bool short_rows_stream(const cpb_rows_job *job) { return narrow_streams(job); }

typedef narrow_known short_known;

static void know_short(const cpb_rows_job *job, short_known *known) {
  if (job->d > TINY_MOST) know_narrow(job, known);
}

/* Rows with room for a line after them. */
static void short_rows_known(const cpb_rows_job *job, const short_known *known) {
  if (job->d <= TINY_MOST)
    tiny_rows(job);
  else
    narrow_rows(job, known, true);
}

static void short_rows(const cpb_rows_job *job) {
  narrow_known known;
  if (job->d <= TINY_MOST) {
    tiny_rows(job);
    return;
  }
  know_narrow(job, &known);
  narrow_rows(job, &known, false);
}

#endif

/* T1 for rows of up to CPB_SHORT_MOST floats on AVX-512: sixteen rows at a time, by columns.
 *
 * Sixteen rows are a whole number of lines on both sides. Numbers stay in lines of rows that lie one after the other;
 * columns are taken out of them only to find the factors, by short_factor.inc, which come back to the lines. Several
 * ranges of rows take turns, which keeps memory busy. */
#ifndef CPB_LOOP_ROWS_TINY_AVX512_H
#define CPB_LOOP_ROWS_TINY_AVX512_H

#include "loop/lanes_avx512.h"
#include "loop/rows_made_avx512.h"
#include "loop/rows_singly.h"

#define REAL __m512
#define REAL_FMA _mm512_fmadd_ps
#define REAL_ABS _mm512_abs_ps
#define REAL_MAX _mm512_max_ps
#define REAL_MIN _mm512_min_ps
#define REAL_SAME _mm512_set1_ps
#define REAL_BELOW(x, most) (_mm512_cmp_ps_mask(x, _mm512_set1_ps(most), _CMP_LE_OQ) == 0xffff)
#define SHORT(name) sixteen_##name
#include "loop/short_factor.inc"

enum { TINY_ROWS = 16, TINY_MOST = CPB_SHORT_MOST, TINY_COLUMNS = TINY_MOST + 1 };
enum { TINY_AHEAD = 2048 /* bytes from what is read to what is fetched; measured */ };

/* Sixteen lanes out of up to TINY_COLUMNS registers: lane k of register j is index[..] = 16 j + k, of which
 * instructions look at the part that says which of two registers; `pair` are the lanes from registers 2p,
 * 2p+1. */
typedef struct tiny_pick {
  __m512i index;
  __mmask16 pair[(TINY_COLUMNS + 1) / 2];
} tiny_pick;

/* A line of the output: lanes out of one or two lines of the rows; `last` are those of last numbers, `own` all that are
 * written. */
typedef struct tiny_line {
  __m512i index;
  __mmask16 last, own;
} tiny_line;

typedef struct tiny_plan {
  __m512i close[TINY_MOST]; /* line k of the rows alone, out of two of an input with a place between rows */
  tiny_pick column[TINY_MOST]; /* column j of three out of the lines of the rows */
  tiny_pick last;              /* the last numbers out of the lines of the input */
  __m512i spread[TINY_MOST];   /* which of the factors of three the lanes of line k take */
  tiny_line line[TINY_COLUMNS];
} tiny_plan;

/* What is known when a loop is compiled; `stream` before it starts. */
typedef struct tiny_shape {
  size_t d, in_stride, out_stride;
  bool embedding, centered, twofold, stream;
} tiny_shape;

/* Where tiny_columns() leaves a row: what is cheapest for two and four. */
LANE_INLINE size_t lane_of_row(size_t row, size_t d) {
  if (d == 2) return row % 8 / 2 * 4 + row / 8 * 2 + row % 2;
  return d == 4 ? row % 4 * 4 + row / 4 : row;
}

/* Number i of the rows alone in an input with a place between rows. */
LANE_INLINE size_t apart(size_t i, size_t d) { return i / d * (d + 1) + i % d; }

/* The first line of these that line k of the rows alone takes numbers from; it takes none beyond the next. */
LANE_INLINE size_t apart_from(size_t k, size_t d) { return apart(k * TINY_ROWS, d) / TINY_ROWS; }

/* The number of the rows alone at place i of an output with a number more; of that one, the number before it, or after. */
LANE_INLINE size_t together(size_t i, size_t d, bool before) {
  size_t column = i % (d + 1);
  return i / (d + 1) * d + (before && column == d ? d - 1 : column);
}

/* The lines of the rows alone that line k of such an output takes numbers from. */
LANE_INLINE size_t together_from(size_t k, size_t d) { return together(k * TINY_ROWS, d, false) / TINY_ROWS; }
LANE_INLINE size_t together_to(size_t k, size_t d) {
  return together(k * TINY_ROWS + TINY_ROWS - 1, d, true) / TINY_ROWS;
}

static tiny_pick pick_of(const size_t at[TINY_ROWS]) {
  tiny_pick pick = {0};
  int32_t index[TINY_ROWS];
  for (size_t lane = 0; lane < TINY_ROWS; lane++) {
    index[lane] = (int32_t)(at[lane] % (2 * TINY_ROWS));
    pick.pair[at[lane] / (2 * TINY_ROWS)] |= lane_mask(lane, lane + 1);
  }
  pick.index = _mm512_loadu_si512(index);
  return pick;
}

static tiny_line line_of(size_t k, size_t d, bool embedding) {
  tiny_line line = {.own = 0};
  int32_t index[TINY_ROWS];
  bool one = together_from(k, d) == together_to(k, d);
  for (size_t lane = 0; lane < TINY_ROWS; lane++) {
    size_t i = k * TINY_ROWS + lane, row = i / (d + 1);
    bool last = i % (d + 1) == d;
    index[lane] = (int32_t)(last ? lane_of_row(row, d) + (one ? TINY_ROWS : 0)
                                 : together(i, d, false) - together_from(k, d) * TINY_ROWS);
    if (last) line.last |= lane_mask(lane, lane + 1);
  }
  line.index = _mm512_loadu_si512(index);
  line.own = embedding ? 0xffff : (__mmask16)~line.last;
  return line;
}

static void plan_tiny(tiny_shape shape, tiny_plan *plan) {
  size_t at[TINY_ROWS], d = shape.d;
  for (size_t k = 0; k < d; k++) {
    int32_t close[TINY_ROWS], spread[TINY_ROWS];
    for (size_t lane = 0; lane < TINY_ROWS; lane++) {
      size_t i = k * TINY_ROWS + lane;
      close[lane] = (int32_t)(apart(i, d) - apart_from(k, d) * TINY_ROWS);
      spread[lane] = (int32_t)(i / d);
    }
    plan->close[k] = _mm512_loadu_si512(close);
    plan->spread[k] = _mm512_loadu_si512(spread);
    for (size_t row = 0; row < TINY_ROWS; row++) at[row] = row * d + k;
    plan->column[k] = pick_of(at);
  }
  for (size_t row = 0; row < TINY_ROWS; row++) at[lane_of_row(row, d)] = row * (d + 1) + d;
  plan->last = pick_of(at);
  for (size_t k = 0; k <= d; k++) plan->line[k] = line_of(k, d, shape.embedding);
}

LANE_INLINE __m512 picked(const tiny_pick *pick, const __m512 *from, size_t count) {
  __m512 x = _mm512_permutex2var_ps(from[0], pick->index, from[count > 1 ? 1 : 0]);
#pragma GCC unroll 5
  for (size_t k = 2; k + 1 < count; k += 2)
    x = _mm512_mask_mov_ps(x, pick->pair[k / 2], _mm512_permutex2var_ps(from[k], pick->index, from[k + 1]));
  if (count > 2 && count % 2 == 1) /* of an index modulo 32 a permutation of one takes the low four bits */
    x = _mm512_mask_permutexvar_ps(x, pick->pair[count / 2], pick->index, from[count - 1]);
  return x;
}

/* The columns of rows that lie one after the other, rows in the order of lane_of_row(). */
LANE_INLINE void tiny_columns(const tiny_plan *plan, size_t d, const __m512 *row, __m512 *x) {
  if (d == 1) x[0] = row[0];
  if (d == 2) {
    x[0] = _mm512_shuffle_ps(row[0], row[1], 0x88);
    x[1] = _mm512_shuffle_ps(row[0], row[1], 0xdd);
  }
  for (size_t j = 0; d == 3 && j < 3; j++) x[j] = picked(&plan->column[j], row, 3);
  if (d == 4) {
    __m512d first = _mm512_castps_pd(_mm512_unpacklo_ps(row[0], row[1])),
            second = _mm512_castps_pd(_mm512_unpackhi_ps(row[0], row[1])),
            third = _mm512_castps_pd(_mm512_unpacklo_ps(row[2], row[3])),
            fourth = _mm512_castps_pd(_mm512_unpackhi_ps(row[2], row[3]));
    x[0] = _mm512_castpd_ps(_mm512_unpacklo_pd(first, third));
    x[1] = _mm512_castpd_ps(_mm512_unpackhi_pd(first, third));
    x[2] = _mm512_castpd_ps(_mm512_unpacklo_pd(second, fourth));
    x[3] = _mm512_castpd_ps(_mm512_unpackhi_pd(second, fourth));
  }
}

/* The factors of the rows of line k. */
LANE_INLINE __m512 tiny_spread(const tiny_plan *plan, size_t d, __m512 factor, size_t k) {
  if (d == 1) return factor;
  if (d == 2) return k == 0 ? _mm512_unpacklo_ps(factor, factor) : _mm512_unpackhi_ps(factor, factor);
  if (d == 3) return _mm512_permutexvar_ps(plan->spread[k], factor);
  return k == 0   ? _mm512_permute_ps(factor, 0x00)
         : k == 1 ? _mm512_permute_ps(factor, 0x55)
         : k == 2 ? _mm512_permute_ps(factor, 0xaa)
                  : _mm512_permute_ps(factor, 0xff);
}

/* The map's numbers; the centre as it lies in the lines of the rows. */
typedef struct tiny_numbers {
  short_scale scale;
  __m512 high[TINY_MOST], low[TINY_MOST];
} tiny_numbers;

/* Of rows of two or four all lines have the same centre. */
LANE_INLINE size_t center_line(size_t k, size_t d) { return d == 3 ? k : 0; }

LANE_INLINE void write_tiny(tiny_shape shape, __mmask16 own, __m512 y, float *out) {
  if (shape.stream)
    _mm512_stream_ps(out, y);
  else if (shape.embedding || shape.out_stride == shape.d)
    _mm512_storeu_ps(out, y);
  else
    _mm512_mask_storeu_ps(out, own, y);
}

/* Line k of an output with a number, or a place, after each row. */
LANE_INLINE __m512 joined_line(const tiny_plan *plan, tiny_shape shape, const __m512 *row, __m512 last,
                               size_t k) {
  const tiny_line *line = &plan->line[k];
  size_t from = together_from(k, shape.d), to = together_to(k, shape.d);
  if (from == to) return _mm512_permutex2var_ps(row[from], line->index, last);
  __m512 y = _mm512_permutex2var_ps(row[from], line->index, row[to]);
  return shape.embedding ? _mm512_mask_permutexvar_ps(y, line->last, line->index, last) : y;
}

/* Sixteen rows under way: their numbers, about the centre, and what their factors divide by. */
typedef struct tiny_block {
  __m512 row[TINY_MOST];
  sixteen_below below;
} tiny_block;

LANE_INLINE tiny_block read_tiny(const tiny_plan *plan, const tiny_numbers *of, tiny_shape shape,
                                 const float *in) {
  tiny_block block;
  __m512 line[TINY_COLUMNS], x[TINY_COLUMNS];
#pragma GCC unroll 5
  for (size_t k = 0; k < shape.in_stride; k++) {
    lanes_prefetch((const char *)(in + k * TINY_ROWS) + TINY_AHEAD);
    line[k] = _mm512_loadu_ps(in + k * TINY_ROWS);
  }
#pragma GCC unroll 4
  for (size_t k = 0; k < shape.d; k++) {
    size_t from = apart_from(k, shape.d);
    __m512 row = shape.in_stride == shape.d
                     ? line[k]
                     : _mm512_permutex2var_ps(line[from], plan->close[k], line[from + 1]);
    if (shape.centered && shape.embedding) row = lanes_less(row, of->high[center_line(k, shape.d)]);
    block.row[k] = row;
  }
  tiny_columns(plan, shape.d, block.row, x);
  if (!shape.embedding) x[shape.d] = picked(&plan->last, line, shape.d + 1);
  block.below =
      shape.embedding ? sixteen_embed_below(x, shape.d, &of->scale) : sixteen_unembed_below(x, shape.d);
  return block;
}

/* False when a row needs care (then nothing is written). */
LANE_INLINE bool finish_tiny(const tiny_plan *plan, const tiny_numbers *of, tiny_shape shape,
                             tiny_block block, float *out) {
  sixteen_factors f =
      shape.embedding ? sixteen_embed(block.below, &of->scale) : sixteen_unembed(block.below, &of->scale);
  if (__builtin_expect(!f.fine, 0)) return false;
  __m512 row[TINY_MOST];
#pragma GCC unroll 4
  for (size_t k = 0; k < shape.d; k++) {
    row[k] = block.row[k] * tiny_spread(plan, shape.d, f.factor, k);
    if (shape.twofold && !shape.embedding) row[k] = lanes_plus(row[k], of->low[center_line(k, shape.d)]);
    if (shape.centered && !shape.embedding) row[k] = lanes_plus(row[k], of->high[center_line(k, shape.d)]);
  }
#pragma GCC unroll 5
  for (size_t k = 0; k < shape.out_stride; k++)
    write_tiny(shape, plan->line[k].own,
               shape.out_stride == shape.d ? row[k] : joined_line(plan, shape, row, f.last, k),
               out + k * TINY_ROWS);
  return true;
}

static tiny_numbers tiny_numbers_of(const cpb_rows_job *job, tiny_shape shape) {
  tiny_numbers of = {.scale = short_scale_of(job->s)};
  for (size_t k = 0; shape.centered && k < shape.d; k++) {
    float high[TINY_ROWS], low[TINY_ROWS];
    for (size_t lane = 0; lane < TINY_ROWS; lane++) {
      high[lane] = job->center.high[(k * TINY_ROWS + lane) % shape.d];
      low[lane] = job->center.low[(k * TINY_ROWS + lane) % shape.d];
    }
    of.high[k] = _mm512_loadu_ps(high);
    of.low[k] = _mm512_loadu_ps(low);
  }
  return of;
}

/* From row `first` on. */
LANE_INLINE void tiny_walk(const cpb_rows_job *job, tiny_shape shape, size_t first) {
  const size_t ranges = shape.embedding || shape.d == 3 ? 6 : 8; /* that take turns; measured */
  size_t blocks = (job->n - first) / TINY_ROWS, per_range = blocks / ranges;
  tiny_plan planned;
  plan_tiny(shape, &planned);
  /* copies that no row written can be taken to change: they stay in registers where they fit */
  const tiny_plan plan = planned;
  const tiny_numbers of = tiny_numbers_of(job, shape);
  const float *in = (const float *)job->in + first * shape.in_stride;
  float *out = (float *)job->out + first * shape.out_stride;
  /* whether a block waits for its division while the next is read; measured */
  const size_t lag = !shape.embedding && shape.d % 2 == 0 && shape.out_stride == shape.d ? 1 : 0;
  tiny_block block = {0}, ahead = {0};
  size_t row = 0, next = 0;
  for (size_t i = 0; i < blocks + (blocks > 0 ? lag : 0); i++, block = ahead, row = next) {
    size_t at = i < blocks ? i : blocks - 1, turn = at / ranges, range = at % ranges;
    next = (turn < per_range ? range * per_range + turn : at) * TINY_ROWS;
    ahead = read_tiny(&plan, &of, shape, in + next * shape.in_stride);
    if (lag == 0) block = ahead, row = next;
    if (i >= lag && !finish_tiny(&plan, &of, shape, block, out + row * shape.out_stride))
      walk_singly(job, first + row, TINY_ROWS);
  }
  walk_singly(job, first + blocks * TINY_ROWS, job->n - first - blocks * TINY_ROWS);
}

/* Rows that are made, so many blocks at a time, and one time before they are needed. */
enum { TINY_MADE = 4 };
typedef float tiny_room[TINY_MADE * TINY_MOST * TINY_ROWS];

LANE_INLINE void tiny_made_walk(const cpb_rows_job *job, tiny_shape shape, size_t first) {
  enum { TOGETHER = TINY_MADE * TINY_ROWS };
  const size_t row_bytes = shape.d * cpb_dtype_size(job->in_type), lines = TINY_MADE * shape.d;
  size_t count = (job->n - first) / TOGETHER, per_range = count / STREAMS;
  tiny_plan planned;
  plan_tiny(shape, &planned);
  const tiny_plan plan = planned;
  const tiny_numbers of = tiny_numbers_of(job, shape);
  const char *in = (const char *)job->in + first * row_bytes;
  float *out = (float *)job->out + first * shape.out_stride;
  rows_make *make = make_of(job->in_type);
  rows_center_lines center;
  plan_center(job, shape.d, lines, &center);
  _Alignas(64) tiny_room made[2];
  size_t row = 0, next = 0; /* turn 0 is the first of the first range */
  if (count > 0) make(in, lines, &center, made[0]);
  for (size_t i = 0; i < count; i++, row = next) {
    size_t turn = (i + 1) / STREAMS, range = (i + 1) % STREAMS;
    next = (turn < per_range ? range * per_range + turn : i + 1) * TOGETHER;
    if (i + 1 < count) make(in + next * row_bytes, lines, &center, made[(i + 1) % 2]);
    for (size_t k = 0; k < TOGETHER; k += TINY_ROWS)
      if (!finish_tiny(&plan, &of, shape, read_tiny(&plan, &of, shape, made[i % 2] + k * shape.d),
                       out + (row + k) * shape.out_stride))
        walk_singly(job, first + row + k, TINY_ROWS);
  }
  walk_singly(job, first + count * TOGETHER, job->n - first - count * TOGETHER);
}

/* Everything of the shape becomes a constant; padded rows have one float beyond d on either side. */
LANE_INLINE void tiny_rows_of(const cpb_rows_job *job, tiny_shape shape, bool padded, size_t first) {
  shape.in_stride = shape.d + (padded || !shape.embedding ? 1 : 0);
  shape.out_stride = shape.d + (padded || shape.embedding ? 1 : 0);
  tiny_walk(job, shape, first);
}

typedef void tiny_loop(const cpb_rows_job *job, bool padded, bool stream, size_t first);

/* A function each, like beside like: many small ones are compiled, and packed, better than a large one. */
#define TINY_LOOP(name, columns, forth, about, by_two)                                                       \
  static __attribute__((noinline)) void name(const cpb_rows_job *job, bool padded, bool stream,              \
                                             size_t first) {                                                 \
    tiny_shape shape = {                                                                                     \
        .d = columns, .embedding = forth, .centered = about, .twofold = by_two, .stream = stream};           \
    if (padded)                                                                                              \
      tiny_rows_of(job, shape, true, first);                                                                 \
    else                                                                                                     \
      tiny_rows_of(job, shape, false, first);                                                                \
  }
#define TINY_MADE_LOOP(columns)                                                                              \
  static __attribute__((noinline)) void tiny_made_##columns(const cpb_rows_job *job, bool padded,            \
                                                            bool stream, size_t first) {                     \
    (void)padded;                                                                                            \
    tiny_made_walk(job, (tiny_shape){columns, columns, columns + 1, true, false, false, stream}, first);     \
  }
#define TINY_LOOPS(columns)                                                                                  \
  TINY_MADE_LOOP(columns)                                                                                    \
  TINY_LOOP(tiny_forth_##columns, columns, true, false, false)                                               \
  TINY_LOOP(tiny_back_##columns, columns, false, false, false)                                               \
  TINY_LOOP(tiny_back_about_##columns, columns, false, true, true)
#define TINY_FLOATS_LOOPS(columns)                                                                           \
  TINY_LOOPS(columns)                                                                                        \
  TINY_LOOP(tiny_forth_floats_##columns, columns, true, true, false)                                         \
  TINY_LOOP(tiny_back_floats_##columns, columns, false, true, false)
TINY_LOOPS(1)
TINY_FLOATS_LOOPS(2)
TINY_FLOATS_LOOPS(3)
TINY_FLOATS_LOOPS(4)
#undef TINY_FLOATS_LOOPS
#undef TINY_LOOPS
#undef TINY_MADE_LOOP
#undef TINY_LOOP

/* By columns, then embedding or not, and the kind of centre. */
#define TINY_ROW(columns)                                                                                    \
  {                                                                                                          \
    {tiny_back_##columns, tiny_back_floats_##columns, tiny_back_about_##columns}, {                          \
      tiny_forth_##columns, tiny_forth_floats_##columns                                                      \
    }                                                                                                        \
  }
static tiny_loop *const tiny_loops[TINY_MOST][2][CENTERS] = {
    {{tiny_back_1, tiny_back_about_1, tiny_back_about_1}, {tiny_forth_1}},
    TINY_ROW(2),
    TINY_ROW(3),
    TINY_ROW(4)};
#undef TINY_ROW

static tiny_loop *const tiny_made_loops[TINY_MOST] = {tiny_made_1, tiny_made_2, tiny_made_3, tiny_made_4};

/* Past the cache where rows begin lines and none of them is padded; halves and bytes never are. */
static void tiny_rows(const cpb_rows_job *job) {
  tiny_loop *loop = is_made(job) ? tiny_made_loops[job->d - 1]
                                 : tiny_loops[job->d - 1][job->embedding][kind_of_center(job)];
  bool padded = job->embedding ? job->in_stride > job->d : job->out_stride > job->d;
  size_t skip = rows_to_group(job, sizeof(float));
  bool stream = job->stream && !padded && skip < job->n;
  if (!stream) skip = 0;
  walk_singly(job, 0, skip);
  loop(job, padded, stream, skip);
  if (stream) lanes_fence();
}

#endif

/* Every hot loop, listed once. One table per instruction set; all tables give the same bits.
 *
 * That is by construction: sums run in 16 virtual lanes that are added as a fixed tree, fused
 * multiply-adds stand only where the product is exact or the definition asks for them (tiles, short rows),
 * and every division and root is the IEEE one. loop_plain.c is the reference; the others are judged by it. */
#ifndef CPB_LOOP_TABLE_H
#define CPB_LOOP_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capball/view.h"
#include "core/arithmetic.h"
#include "loop/panel_bytes.h"

enum { CPB_LANES = 16, CPB_CHUNK = 256 };

/* The centre m of a map: d numbers, and CPB_LANES places beyond that may be read. */
typedef struct cpb_rows_center {
  const float *high, *low; /* two floats whose sum it is; NULL: 0. Where arithmetic is in floats */
  bool twofold;            /* false: low is 0 throughout, and need not be looked at */
  const double *taken;     /* what is subtracted: m when embedding, else -m. Where it is in doubles */
} cpb_rows_center;

/* The largest number a centre may have, for f32 and f64 results. */
#define CPB_CENTER_MOST_F32 0x1p100
#define CPB_CENTER_MOST_F64 0x1p900

/* n rows through T1 (pole e) about a centre, forth or back; results are f32 or f64. Strides in elements.
 * in == out (in place) is allowed when both have the same type and stride.
 * The arithmetic is in floats for f32 results of f32, f16, u8 and i8 rows, and of f32 rows back: embedding takes
 * z = (x - high) - low for x, unembedding gives (x + low) + high. Else it is in doubles, rounded at the end.
 * A row whose numbers leave the range where its factors are safe, or that is not a plain finite (in floats,
 * unembedding: unit) row, is not written: careful(context, row) is called instead. */
typedef struct cpb_rows_job {
  bool embedding;
  cpb_dtype in_type, out_type;
  size_t n, d;
  const void *in;
  size_t in_stride;
  void *out;
  size_t out_stride;
  double s;
  cpb_rows_center center;
  bool stream; /* the output is large and not read again soon: bypass the cache */
  void (*careful)(void *context, size_t row);
  void *context;
} cpb_rows_job;

typedef void cpb_rows_loop(const cpb_rows_job *job);

/* One line of the plan of an instruction set: rows of these types, which are sets, and lengths go by this walk.
 *   blocks            sixteen rows at a time
 *   ranges            several ranges of rows in lockstep
 *   lines             the same, line by line of the output */
typedef struct cpb_rows_rule {
  const char *walk;               /* NULL: the end of the plan */
  unsigned in, out;               /* bit 1 << type */
  size_t least, most;             /* numbers in a row */
  cpb_rows_loop *embed, *unembed; /* NULL: not by this walk */
  const char *else_walk;          /* that serves results that are not packed; NULL: the same */
} cpb_rows_rule;

enum {
  CPB_RULE_F32 = 1 << CPB_F32,
  CPB_RULE_F64 = 1 << CPB_F64,
  CPB_RULE_SMALL = 1 << CPB_F16 | 1 << CPB_U8 | 1 << CPB_I8,
  CPB_RULE_ANY = CPB_RULE_F32 | CPB_RULE_F64 | CPB_RULE_SMALL
};

/* Rows in plain C, which serves whatever no faster loop does; and only those of a job from `first` on. */
cpb_rows_loop cpb_rows_plain;
void cpb_rows_plain_some(const cpb_rows_job *job, size_t first, size_t count);

/* The end of a row that is written past the cache: it waits for the next row, to be written with its beginning. */
typedef struct cpb_layer_carry {
  _Alignas(64) char line[CPB_LANES * sizeof(double)];
  char *out;
  size_t bytes; /* of the line, from its beginning */
} cpb_layer_carry;

/* Rows of T12, all of one real, f32 (0) or f64 (1), on their way: one is written while the next of its range is summed,
 * so that reading and writing go on together. */
typedef struct cpb_layer_line {
  const void *row, *g;
  void *out; /* NULL: nothing is written */
  double toward_g, toward_row, last;
  bool has_last;                 /* one more number is written, last */
  const void *next_row, *next_g; /* NULL: nothing is summed */
  double sums[3];                /* <row,row>, <row,g>, <g,g> of the next, with the bits of dot */
  double *
      kept; /* of the next, where they are kept: its row and, CPB_LAYER_KEPT places further, g as doubles; CPB_LANES
                   places before and beyond may be read */
  cpb_layer_carry
      *carry; /* past the cache: of the row before, which ends where this one begins, or nothing; NULL: not */
} cpb_layer_line;

/* out = toward_g g + toward_row row with the bits of axpby, rounded to the real; of d numbers the chunk that begins at
 * `start`, chunks in order; those of several lines may take turns. */
typedef void cpb_layer_loop(cpb_layer_line *line, size_t d, size_t start);

enum { CPB_LAYER_KEPT = 256 };

typedef struct cpb_layer_loops {
  cpb_layer_loop *real[2];
  /* The same for f32 rows of at most CPB_LAYER_KEPT numbers, which are widened once: row and g are what was kept of them.
   * NULL: it would not pay. */
  cpb_layer_loop *kept;
  void (*fence)(void); /* ends what goes past the cache */
} cpb_layer_loops;

/* One tile of a matrix product, c += a b: element (i,k) of a at a[i*a_row + k*a_k], (k,j) of b at
 * b[k*b_k + j], (i,j) of c at c[i*c_row + j]. Each element is one chain of fused multiply-adds over k,
 * from 0, added to c at its end, or to 0 where c is fresh: not read, whatever it holds. Where a product is cut into tiles
 * is never seen in its bits. */
enum { CPB_TILE_ROWS = 6, CPB_TILE_COLS = 32 };

typedef struct cpb_tile {
  size_t k;
  const double *a;
  size_t a_row, a_k;
  const double *b;
  size_t b_k;
  double *c;
  size_t c_row;
  bool fresh;
} cpb_tile;

/* Products of rows with a panel of columns in single precision, looked at while they are in registers:
 *   value(i,j) = one chain of fused multiply-adds a(i,k) b(k,j) over k, from start[i]
 * found() is told of every row i that has a column with value(i,j) > threshold[j]: the set of these columns,
 * bit j, and their values at values[j]. Rows come in order; found() may raise thresholds, which is seen from
 * the next CPB_PANEL_ROWS rows on at the latest. With all thresholds -inf every row is told. No value may be
 * NaN. a      rows in groups of CPB_PANEL_ROWS, interleaved by cache lines: number k of row i is
 *        a[cpb_panel_at(panel.k, i, k)]; the last group is whole, with any finite numbers in its rest
 * start  one number per row of these groups
 * b      row k of the panel at b + k*CPB_PANEL_COLS, aligned to 64 bytes; columns beyond `columns` are 0 */
enum { CPB_PANEL_ROWS = CPB_TILE_ROWS, CPB_PANEL_COLS = 64, CPB_PANEL_LINE = 16 };

typedef struct cpb_panel {
  size_t rows, k, columns; /* columns <= CPB_PANEL_COLS */
  const float *a;
  const float *start;
  const float *b;
  const float *threshold; /* CPB_PANEL_COLS; those beyond `columns` are not looked at */
  void (*found)(void *context, size_t row, uint64_t columns, const float *values);
  void *context;
} cpb_panel;

/* Floats of a group of rows of this depth: whole lines. */
static inline size_t cpb_panel_group(size_t depth) {
  return (depth + CPB_PANEL_LINE - 1) / CPB_PANEL_LINE * CPB_PANEL_LINE * CPB_PANEL_ROWS;
}

static inline size_t cpb_panel_at(size_t depth, size_t i, size_t k) {
  return i / CPB_PANEL_ROWS * cpb_panel_group(depth) + k / CPB_PANEL_LINE * CPB_PANEL_LINE * CPB_PANEL_ROWS +
         i % CPB_PANEL_ROWS * CPB_PANEL_LINE + k % CPB_PANEL_LINE;
}

/* Hamming distances of codes to one query, looked at while they are in registers. Codes lie in groups of
 * CPB_CODE_GROUP: word j of code i of group g at codes[(g*words + j)*CPB_CODE_GROUP + i]. found() is told of
 * every group that has a code with distance < limit, in order: the set of these codes, bit i, and all
 * distances of the group; what it gives back is the limit from then on. */
enum { CPB_CODE_GROUP = 8 };

typedef struct cpb_hamming {
  size_t groups, words;
  const uint64_t *codes; /* aligned to 64 bytes */
  const uint64_t *query; /* words */
  uint64_t limit;
  uint64_t (*found)(void *context, size_t group, unsigned below, const uint64_t *distances);
  void *context;
} cpb_hamming;

/* Sums over bytes that tell rows from changed ones; whole numbers, so every table gives the same. */
enum { CPB_DIGEST_LANES = 8, CPB_DIGEST_STRIPE = 64 };

typedef struct cpb_loops {
  const char *name;

  /* n elements of the dtype (table index) to double, exactly. */
  void (*widen[5])(const void *from, size_t n, double *to);
  /* n doubles rounded to nearest f32. */
  void (*narrow)(const double *from, size_t n, float *to);

  /* Sums over any n: 16 lanes within chunks of CPB_CHUNK, chunks in order. */
  double (*dot)(const double *x, const double *y, size_t n);
  double (*dist2)(const double *x, const double *y, size_t n); /* sum (x-y)^2 */
  double (*sum2)(const double *x, const double *y, size_t n);  /* sum (x+y)^2 */

  /* z = alpha x + beta y, two products and a sum per element; z may be x or y. */
  void (*axpby)(double alpha, const double *x, double beta, const double *y, double *z, size_t n);

  /* low = min(low, x), high = max(high, x) element by element; false when an x is NaN or inf. */
  bool (*span)(const double *x, size_t n, double *low, double *high);

  /* Splits each x into multiples of two quanta, q0 > q1 (magic[i] = 1.5 2^52 q0, magic[n+i] = 1.5 2^52 q1),
   * and what is left, and adds the multiples to sum[i] and sum[n+i]; false when something was left. Exact
   * while |x| < 2^40 q0, q0 <= 2^40 q1 and no more than 2^12 rows have been added. */
  bool (*split)(const double *x, size_t n, const double *magic, double *sum);
  /* dist2[i] = |x_i-c|^2 of n rows of d elements, with the bits of dist2; by dtype, NULL where rows
   * are widened first. */
  void (*rows_dist2[5])(const void *x, size_t stride, size_t n, size_t d, const double *c, double *dist2);

  /* z = unit (x-center) of n numbers, rounded to f32: sixteen to a line, lines `step` floats apart; gives the
   * sum of squares, for f32 of the rounded numbers. */
  double (*spread_f32)(const float *x, size_t n, float unit, const float *center, float *z, size_t step);
  double (*spread_f64)(const double *x, size_t n, double unit, const double *center, float *z, size_t step);
  /* n bytes as floats; by dtype, NULL for all but u8 and i8 */
  void (*floats[5])(const void *from, size_t n, float *to);

  /* The first i < n with x[i] > least or x[i] NaN; n when there is none. */
  size_t (*first_above)(const double *x, size_t n, double least);

  /* Which walk serves which rows: the plan of rows in floats, then of those in doubles. The first line that fits is taken, and
   * plain C where none does. */
  const cpb_rows_rule *const *rows[2];

  const cpb_layer_loops *layer;

  void (*tile)(const cpb_tile *tile);
  void (*panel)(const cpb_panel *panel);
  /* Of CPB_PANEL_COLS values: the set of those > margin, and of those neither > margin nor < -margin. */
  void (*signs)(const float *values, float margin, uint64_t *above, uint64_t *unsure);

  void (*hamming)(const cpb_hamming *hamming);

  /* digest_keys.h has the definition */
  void (*digest)(const void *bytes, size_t count, uint64_t sums[CPB_DIGEST_LANES]);

  /* z -= center of n floats; gives the largest |z|. */
  float (*reach)(float *z, const float *center, size_t n);
  /* Spread and reach at once, z = unit (x-center) - middle of n floats, with zeros up to the next sixteen; size2 is the sum
   * of squares before the middle is taken, in sixteen lanes of single precision. */
  float (*number)(const float *x, size_t n, float unit, const float *center, const float *middle, float *z,
                  float *size2);
  /* n <= CPB_GRID_MOST numbers as codes round(per_step z), which are at most 127, and zeros after them up to
   * the next sixteen: 64 to a line, lines `step` bytes apart. */
  void (*grid)(const float *z, size_t n, float per_step, int8_t *to, size_t step, cpb_gridded *about);
  /* The same for bytes, of which `bits` are turned over: 128 takes 128 from u8, 0 leaves i8 as they are. */
  void (*flip)(const uint8_t *x, size_t n, uint8_t bits, int8_t *to, size_t step, cpb_gridded *about);
  /* NULL where products of floats are as fast. */
  void (*panel_bytes)(const cpb_panel_bytes *panel);
  /* The same for base rows that are kept as panels of columns while the rows are queries, one or many; never NULL. What b
   * holds beyond its words is multiplied with zeros of a: it may be anything that can be read, of whole lines of a. */
  void (*scan_bytes)(const cpb_panel_bytes *panel);
} cpb_loops;

/* The loop for these rows. It serves any run of the rows that begins a multiple of CPB_LANES rows after the first, so it is
 * asked for once per call. */
cpb_rows_loop *cpb_rows_of(const cpb_loops *loops, const cpb_rows_job *job);

/* The table this machine runs best, or the one CPB_ISA=plain|v128|avx2|avx512|avx512vnni|amx asks for if the machine
 * has it. Look it up once per call, not per row. */
const cpb_loops *cpb_loops_here(void);

/* What the tables are made of that is compiled apart from them. */
extern const cpb_rows_rule *const cpb_float_rules_v128, *const cpb_double_rules_v128;
extern const cpb_rows_rule *const cpb_float_rules_avx2, *const cpb_double_rules_avx2;
extern const cpb_rows_rule *const cpb_float_rules_avx512, *const cpb_double_rules_avx512;
extern const cpb_layer_loops cpb_layer_v128, cpb_layer_avx2, cpb_layer_avx512;

/* All tables this machine can run, plain first; for tests and benchmarks. */
enum { CPB_TABLES = 6 };
size_t cpb_loops_all(const cpb_loops *tables[CPB_TABLES]);

#endif

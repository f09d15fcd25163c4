/* The loops that modules share. There is one table per instruction set; all tables give identical bits.
 *
 * This holds by construction: sums run in 16 virtual lanes that are added as a fixed tree, fused multiply-adds are used only
 * where the product is exact or the definition requires them (tiles, short rows), and every division and square root is the
 * IEEE one. loop_plain.c is the reference that the others are tested against. */
#ifndef CPB_LOOPS_TABLE_H
#define CPB_LOOPS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capball/view.h"
#include "base/arithmetic.h"

/* Which tables there are besides the plain one. */
#if defined(__x86_64__) && !defined(CPB_PLAIN_LOOPS) && !defined(CPB_NO_AVX)
#define CPB_WIDE_LOOPS
#endif

/* 128-bit registers that follow IEEE 754; those of 32-bit ARM do not. */
#if (defined(__SSE2__) || defined(__aarch64__) || defined(__wasm_simd128__)) && !defined(CPB_PLAIN_LOOPS) && \
    !defined(CPB_NO_V128)
#define CPB_V128_LOOPS
#endif

enum { CPB_LANES = 16, CPB_CHUNK = 256 };

/* The centre m of a map: d numbers, followed by CPB_LANES zeros. */
typedef struct cpb_rows_center {
  const float *high, *low; /* for arithmetic in float: m = high + low; NULL: 0 */
  bool twofold;            /* false: low is 0 everywhere and is not read */
  const double *wide;      /* for arithmetic in double; NULL: 0 */
} cpb_rows_center;

/* The largest element of a centre, for f32 and f64 results. */
#define CPB_CENTER_MOST_F32 0x1p100
#define CPB_CENTER_MOST_F64 0x1p900

/* T1 (pole e) about a centre for n rows, or its inverse; results are f32 or f64. Strides in elements.
 * in == out (in place) is allowed when both have the same type and stride.
 * The arithmetic is in float for f32 results of f32, f16, u8 and i8 rows, and for the inverse from f32 to f32: embedding uses
 * z = (x - high) - low for x, the inverse returns (x + low) + high. Otherwise it is in double, rounded at the end.
 * A row whose numbers leave the range in which its factors are safe, or that is not finite (in float, inverse: not of length
 * 1), is not written: careful(context, row) is called instead. */
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

/* A way to process rows:
 *   blocks            sixteen rows at a time
 *   ranges            several ranges of rows in lockstep */
typedef struct cpb_rows_walk {
  const char *name, *file; /* file: of src/loops */
} cpb_rows_walk;

/* One line of the plan of an instruction set: which function serves rows of these sets of types and these lengths. */
typedef struct cpb_rows_rule {
  const cpb_rows_walk *walk;      /* NULL: the end of the plan */
  unsigned in, out;               /* sets of types, bit 1 << type */
  size_t least, most;             /* numbers in a row */
  cpb_rows_loop *embed, *unembed; /* NULL: not by this walk */
} cpb_rows_rule;

enum {
  CPB_RULE_F32 = 1 << CPB_F32,
  CPB_RULE_F64 = 1 << CPB_F64,
  CPB_RULE_SMALL = 1 << CPB_F16 | 1 << CPB_U8 | 1 << CPB_I8,
  CPB_RULE_ANY = CPB_RULE_F32 | CPB_RULE_F64 | CPB_RULE_SMALL
};

/* Rows in plain C, used where there is no faster loop; _some: only `count` rows of a job from `first` on. */
cpb_rows_loop cpb_rows_plain;
void cpb_rows_plain_some(const cpb_rows_job *job, size_t first, size_t count);

/* One tile of a matrix product, c += a b: element (i,k) of a at a[i*a_row + k*a_k], (k,j) of b at b[k*b_k + j], (i,j)
 * of c at c[i*c_row + j]. Each element is one chain of fused multiply-adds over k, starting at 0, added to c at the
 * end; if c is fresh it is overwritten and not read. How a product is divided into tiles does not change its bits. */
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

/* Products of rows with a panel of columns in single precision, compared while they are in registers:
 *   value(i,j) = one chain of fused multiply-adds a(i,k) b(k,j) over k, from start[i]
 * found() is called for every row i that has a column with value(i,j) > threshold[j]: with the set of these columns, bit j,
 * and their values at values[j]. Rows come in order; found() may raise thresholds, which takes effect after at most
 * CPB_PANEL_ROWS more rows. With all thresholds -inf it is called for every row. No value may be NaN.
 * a      rows in groups of CPB_PANEL_ROWS, interleaved by cache lines: number k of row i is
 *        a[cpb_panel_at(panel.k, i, k)]; the last group is complete, padded with any finite numbers
 * start  one number per row of these groups
 * b      row k of the panel at b + k*CPB_PANEL_COLS, aligned to 64 bytes; columns beyond `columns` are 0 */
enum { CPB_PANEL_ROWS = CPB_TILE_ROWS, CPB_PANEL_COLS = 64, CPB_PANEL_LINE = 16 };

typedef struct cpb_panel {
  size_t rows, k, columns; /* columns <= CPB_PANEL_COLS */
  const float *a;
  const float *start;
  const float *b;
  const float *threshold; /* CPB_PANEL_COLS; those beyond `columns` are ignored */
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

/* Products of rows of bytes with a panel of columns of bytes, exact in 32 bits and compared while they are in registers:
 *   value(i,j) = start[i] + sum over k of a(i,k) b(k,j),      a in -128..127, b in 0..255
 * found() is called as for cpb_panel: in order, for every row i that has a column with value(i,j) > threshold[j]; it may raise
 * thresholds, which takes effect some rows later. No value may exceed 32 bits.
 *
 * Numbers are stored four to a word, padded with zeros. a has the layout of cpb_panel, but in groups of CPB_BYTES_GROUP rows:
 * number k of row i is a[cpb_bytes_at(words, i, k)]; the last group is complete. b is aligned to 64 bytes and padded with words
 * of zeros to a whole line of a: number k of column j is b[cpb_bytes_panel_at(k, j)]. */
enum {
  CPB_BYTES_ROWS = 6,
  CPB_BYTES_GROUP = 48,
  CPB_BYTES_COLS = 64,
  CPB_BYTES_WORD = 4,
  CPB_BYTES_LINE = 64
};

/* unit (x-center) - middle, number by number */
typedef struct cpb_shift {
  float unit;
  const float *center, *middle;
} cpb_shift;

/* A row of codes: their sum, the sum of their squares, and the squared rounding error in steps. */
typedef struct cpb_gridded {
  int32_t sum, square;
  float rest;
} cpb_gridded;

enum { CPB_GRID_MOST = 16384 }; /* columns; longer rows could exceed 32 bits */

/* What a row adds to its sums, in steps, as an integer: too high, never too low, and not below -CPB_RISE_MOST. */
enum { CPB_RISE_MOST = 1 << 28 };
static inline int32_t cpb_bytes_rise(float rise) {
  const float most = CPB_RISE_MOST;
  rise += (rise < 0 ? -rise : rise) * 0x1p-21f + 1;
  rise = rise > -most ? rise : -most;
  rise = rise < most ? rise : 0x1p30f;
  return (int32_t)rise;
}

/* How a scan of one row can end before the last word of a panel. With c = b - 128, every column has
 *   threshold >= per_square * (sum of c^2) - CPB_PARTIAL_SLACK
 * and therefore, as a c <= per_square c^2 + a^2 / (4 per_square), is not found if for some of the words
 *   value + 128 * (sum of a of the others) + (sum of a^2 of the others) / (4 per_square)
 *     <= per_square * (sum of c^2) - CPB_PARTIAL_SLACK
 * A loop may leave a panel if this holds for all columns; it need not look. */
enum { CPB_PARTIAL_STEP = 8, CPB_PARTIAL_SLACK = 4 };

typedef struct cpb_partial {
  const uint16_t
      *order; /* of the words; then of the first CPB_PARTIAL_STEP words of the next panel, to be prefetched */
  const double *other_sum, *other_square; /* of a: after CPB_PARTIAL_STEP words, after twice as many, .. */
  double per_square;
  size_t words; /* to which the loop adds those that it read */
} cpb_partial;

typedef struct cpb_panel_bytes {
  size_t rows, words, columns; /* columns <= CPB_BYTES_COLS */
  const int8_t *a;
  const int32_t *start;
  const uint8_t *b;
  const int32_t *threshold; /* CPB_BYTES_COLS; those beyond `columns` are ignored */
  cpb_partial *partial;     /* unless NULL: of one row and CPB_BYTES_COLS columns, for scan_bytes */
  void (*found)(void *context, size_t row, uint64_t columns, const int32_t *values);
  void *context;
} cpb_panel_bytes;

static inline size_t cpb_bytes_words(size_t depth) { return (depth + CPB_BYTES_WORD - 1) / CPB_BYTES_WORD; }

/* Bytes of a group of rows of so many words: whole lines. */
static inline size_t cpb_bytes_group(size_t words) {
  size_t lines = (words * CPB_BYTES_WORD + CPB_BYTES_LINE - 1) / CPB_BYTES_LINE;
  return lines * CPB_BYTES_LINE * CPB_BYTES_GROUP;
}

static inline size_t cpb_bytes_at(size_t words, size_t i, size_t k) {
  return i / CPB_BYTES_GROUP * cpb_bytes_group(words) +
         k / CPB_BYTES_LINE * CPB_BYTES_LINE * CPB_BYTES_GROUP + i % CPB_BYTES_GROUP * CPB_BYTES_LINE +
         k % CPB_BYTES_LINE;
}

/* One row against many panels: sums[i * CPB_BYTES_COLS + j] is the value of column j of panel i. `a` and `b` are as in
 * cpb_panel_bytes; no value may exceed 32 bits. */
typedef struct cpb_panel_sums {
  size_t panels, words;
  const int8_t *a;
  int32_t start;
  const uint8_t *b;
  int32_t *sums;
} cpb_panel_sums;

enum { CPB_FINE_NUMBERS = 1024, CPB_FINE_MOST = 8191 }; /* so that sums fit 32 bits */

/* Bytes of a panel of so many words, rounded up to whole lines: zeros. */
static inline size_t cpb_bytes_panel(size_t words) {
  enum { LINE_OF_WORDS = CPB_BYTES_LINE / CPB_BYTES_WORD };
  size_t lines = (words + LINE_OF_WORDS - 1) / LINE_OF_WORDS;
  return lines * LINE_OF_WORDS * CPB_BYTES_COLS * CPB_BYTES_WORD;
}

static inline size_t cpb_bytes_panel_at(size_t k, size_t j) {
  return (k / CPB_BYTES_WORD * CPB_BYTES_COLS + j) * CPB_BYTES_WORD + k % CPB_BYTES_WORD;
}

/* Hamming distances of codes to one query, compared while they are in registers. Codes are stored in groups of
 * CPB_CODE_GROUP: word j of code i of group g at codes[(g*words + j)*CPB_CODE_GROUP + i]. found() is called, in
 * order, for every group that has a code with distance < limit: with the set of these codes, bit i, and all distances
 * of the group; it returns the new limit. */
enum { CPB_CODE_GROUP = 8 };

typedef struct cpb_hamming {
  size_t groups, words;
  const uint64_t *codes; /* aligned to 64 bytes */
  const uint64_t *query; /* words */
  uint64_t limit;
  uint64_t (*found)(void *context, size_t group, unsigned below, const uint64_t *distances);
  void *context;
} cpb_hamming;

/* Sums over bytes that detect changed rows; integers, so every table gives the same. */
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

  /* Splits each x into multiples of two quanta, q0 > q1 (magic[i] = 1.5 2^52 q0, magic[n+i] = 1.5 2^52 q1), and a
   * remainder, and adds the multiples to sum[i] and sum[n+i]; false if a remainder is not 0. Exact while |x| < 2^40
   * q0, q0 <= 2^40 q1 and at most 2^12 rows have been added. */
  bool (*split)(const double *x, size_t n, const double *magic, double *sum);

  /* Both of `count` columns of n rows; by dtype, NULL where rows must be widened first. */
  bool (*rows_span[5])(const void *x, size_t stride, size_t n, size_t count, double *low, double *high);
  bool (*rows_split[5])(const void *x, size_t stride, size_t n, size_t count, const double *magic,
                        double *sum);

  /* dist2[i] = |x_i-c|^2 of n rows of d elements, with the bits of dist2; NULL for types that must be widened */
  void (*rows_dist2[5])(const void *x, size_t stride, size_t n, size_t d, const double *c, double *dist2);

  /* |x-y|^2 and <x,y> of two rows of n <= CPB_GRID_MOST bytes, as integers; by dtype, NULL for all but u8 and i8 */
  int32_t (*whole_dist2[5])(const void *x, const void *y, size_t n);
  int32_t (*whole_dot[5])(const void *x, const void *y, size_t n);

  /* z = unit (x-center) of n numbers, rounded to f32: sixteen to a line, lines `step` floats apart; returns the sum
   * of squares, for f32 of the rounded numbers. */
  double (*spread_f32)(const float *x, size_t n, float unit, const float *center, float *z, size_t step);
  double (*spread_f64)(const double *x, size_t n, double unit, const double *center, float *z, size_t step);
  /* n bytes as floats; by dtype, NULL for all but u8 and i8 */
  void (*floats[5])(const void *from, size_t n, float *to);

  /* The first i < n with x[i] > least or x[i] NaN; n when there is none. */
  size_t (*first_above)(const double *x, size_t n, double least);

  /* Which loop serves which rows: the plan for arithmetic in float, then in double. The first line that matches
   * applies, and plain C if none does. */
  const cpb_rows_rule *const *rows[2];

  void (*tile)(const cpb_tile *tile);
  void (*panel)(const cpb_panel *panel);
  /* Of CPB_PANEL_COLS values: the set of those > margin, and of those neither > margin nor < -margin. */
  void (*signs)(const float *values, float margin, uint64_t *above, uint64_t *unsure);

  void (*hamming)(const cpb_hamming *hamming);

  /* digest.h has the definition */
  void (*digest)(const void *bytes, size_t count, uint64_t sums[CPB_DIGEST_LANES]);

  /* z = unit (x-center) - middle of rows of n floats, at most CPB_LANES rows: the largest |z| of each, and the sum of
   * squares before the middle is subtracted, in sixteen lanes of floats. Centre and middle are padded with zeros to a
   * multiple of sixteen. As many other rows are prefetched, unless next is NULL. */
  void (*number)(const float *const *x, const float *const *next, size_t rows, size_t n,
                 const cpb_shift *shift, float *largest, float *size2);
  /* The same numbers, finite, n <= CPB_GRID_MOST, as codes round(per_step z), at most 127 in absolute value, padded with
   * zeros to a multiple of sixteen: 64 to a line, lines of a row `step` bytes apart, rows a line. */
  void (*grid)(const float *const *x, const float *const *next, size_t rows, size_t n, const cpb_shift *shift,
               float per_step, int8_t *to, size_t step, cpb_gridded *about);
  /* The same for bytes, in which `bits` are inverted: 128 subtracts 128 from u8, 0 copies i8. Padded to whole lines. */
  void (*flip)(const uint8_t *x, size_t n, uint8_t bits, int8_t *to, size_t step, cpb_gridded *about);
  /* threshold[j] = -cpb_bytes_rise(factor term[j]) of CPB_BYTES_COLS columns; a term INT32_MAX rises without limit */
  void (*thresholds)(const int32_t *term, float factor, int32_t *threshold);
  /* NULL where products of floats are as fast. */
  void (*panel_bytes)(const cpb_panel_bytes *panel);
  /* The same where the panel holds base rows and the rows are queries, one or many; never NULL. What b has after its
   * words is multiplied by zeros of a: it may be anything, but must be readable up to a whole line of a. */
  void (*scan_bytes)(const cpb_panel_bytes *panel);
  /* The values of one row of a and all columns of panels that follow one another, COLS of each. */
  void (*sum_bytes)(const cpb_panel_sums *panels);
  /* key[j] = of_sum sum[j] + of_term term[j] of CPB_BYTES_COLS columns, each product rounded, -inf where a term is INT32_MAX;
   * returns the smallest. */
  float (*keys)(const int32_t *sum, const int32_t *term, float of_sum, float of_term, float *key);
  /* to[i] = <x_i,y> of n <= CPB_FINE_NUMBERS codes, a multiple of CPB_LANES, and numbers up to CPB_FINE_MOST in absolute value. */
  void (*fine_products)(const int8_t *const *x, size_t count, const int16_t *y, size_t n, int32_t *to);
} cpb_loops;

/* The loop for these rows. It can be called for a part of them that begins a multiple of CPB_LANES rows after the first. Look it
 * up once per call. */
cpb_rows_loop *cpb_rows_of(const cpb_loops *loops, const cpb_rows_job *job);

/* The fastest table that this processor supports, or the one named by CPB_ISA=plain|v128|avx2|avx512|avx512vnni|amx
 * if it is supported. Look it up once per call, not per row. */
const cpb_loops *cpb_loops_here(void);

/* Parts of the tables that are compiled separately. */
extern const cpb_rows_rule *const cpb_float_rules_v128, *const cpb_double_rules_v128;
extern const cpb_rows_rule *const cpb_float_rules_avx2, *const cpb_double_rules_avx2;
extern const cpb_rows_rule *const cpb_float_rules_avx512, *const cpb_double_rules_avx512;

/* All tables that this processor supports, plain first; for tests and benchmarks. */
enum { CPB_TABLES = 6 };
size_t cpb_loops_all(const cpb_loops *tables[CPB_TABLES]);

#endif

/* T14: the loops of sketches that are compiled for every instruction set. All give the same bits. */
#ifndef CPB_SKETCH_SKETCH_LOOPS_H
#define CPB_SKETCH_SKETCH_LOOPS_H

#include <stddef.h>
#include <stdint.h>

/* ---- The levels of rows, for sketches of earlier releases. ---- */

/* Projections are padded with zeros to a multiple of this. */
enum { CPB_LEVELS_LANES = 16 };

static inline size_t cpb_levels_padded(size_t n) {
  return (n + CPB_LEVELS_LANES - 1) / CPB_LEVELS_LANES * CPB_LEVELS_LANES;
}

/* |c|^2 in single precision, <c,v> with the error of a sum of doubles, and |v|^2 exactly. */
typedef struct cpb_levels_chosen {
  double c2, along, v2;
} cpb_levels_chosen;

/* Chooses the levels v of each row whose direction is nearest to that of c among a few steps, and writes them as bits. */
typedef struct cpb_levels_job {
  const float *c; /* rows of n numbers and zeros */
  size_t rows, n, stride, bits_per;
  uint8_t *codes;
  size_t code_stride;
  cpb_levels_chosen *chosen; /* of each row */
} cpb_levels_job;

/* ---- The nearest of the 256 centres of a byte. ---- */

/* What a byte of a code stands for: directions first .. first+count-1. */
typedef struct cpb_book {
  size_t first, count;
  const float *centres; /* 256 numbers for each direction */
} cpb_book;

/* codes[i code_stride] = the centre b that is nearest to row i of x, `count` numbers at i stride: the one with the least
 * (|x|^2 + |b|^2)/2 - <x,b>, sums in the order of the directions, each step rounded once, and the result cut to 15 bits; the first
 * of equal ones.
 *   half   256: |b|^2/2 */
typedef struct cpb_nearest {
  const cpb_book *book;
  const float *half, *x;
  size_t rows, stride;
  uint8_t *codes;
  size_t code_stride;
} cpb_nearest;

/* ---- Estimates of blocks of rows for a few queries, a byte of a code at a time by table lookup.
 *
 *   sum      = sum over the bytes j of a code of table[256 j + byte j]       at most 65535
 *   estimate = size2 - f (scale sum + start)                                 each operation rounded to float
 * found() is called for every block with an estimate <= limit, blocks in order and the queries of a block in order: the set
 * of these rows, bit i for row i, and all estimates of the block. It returns the limit from then on.
 *
 * Every block has CPB_SCAN_ROWS rows. Its codes are stored by bytes: byte j of row i at j*CPB_SCAN_ROWS +
 * cpb_scan_lane(i), an order in which the sums of a vector come out in the order of rows. Its factors are CPB_SCAN_ROWS of
 * size2 and then as many of f. ---- */

enum { CPB_SCAN_ROWS = 64, CPB_SCAN_QUERIES = 4 };

typedef struct cpb_scan_query {
  const uint8_t *tables; /* 256 for each byte of a code, aligned to 64 bytes */
  float scale, start, limit;
} cpb_scan_query;

typedef struct cpb_byte_scan {
  size_t blocks, bytes;
  const uint8_t *codes;
  const float *factors;
  size_t queries; /* 1 .. CPB_SCAN_QUERIES */
  cpb_scan_query query[CPB_SCAN_QUERIES];
  float (*found)(void *context, size_t query, size_t block, uint64_t below, const float *estimates);
  void *context;
} cpb_byte_scan;

static inline size_t cpb_scan_lane(size_t row) { return row % 16 * 4 + row / 16 % 2 * 2 + row / 32; }

typedef struct cpb_sketch_loops {
  void (*levels)(const cpb_levels_job *job);
  void (*nearest)(const cpb_nearest *job);
  void (*scan)(cpb_byte_scan *scan);
} cpb_sketch_loops;

/* Those of the instruction set of cpb_loops_here(). */
const cpb_sketch_loops *cpb_sketch_loops_here(void);
/* The scan that needs AVX-512 VBMI; NULL: not compiled, or this processor has none. */
void (*cpb_sketch_scan_vbmi_here(void))(cpb_byte_scan *scan);
extern const cpb_sketch_loops cpb_sketch_avx2, cpb_sketch_avx512, cpb_sketch_avx512vbmi;
void cpb_sketch_scan_vbmi(cpb_byte_scan *scan);

#endif

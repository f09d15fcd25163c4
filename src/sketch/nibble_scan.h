/* Estimates of blocks of rows for a few queries, four bits of a code at a time by table lookup.
 *
 *   sum      = sum over the nibbles j of a code of table[16 j + nibble j]       at most 65535
 *   estimate = size2 - f (scale sum + start)                                    each operation rounded to float
 * found() is called for every block with an estimate <= limit, blocks in order and the queries of a block in order: the set
 * of these rows, bit i for row i, and all estimates of the block. It returns the limit from then on.
 *
 * Every block has CPB_SCAN_ROWS rows. Its codes are stored by bytes: byte j of row i at j*CPB_SCAN_ROWS +
 * cpb_scan_lane(i), an order in which sums of 16 bits come out in the order of rows. Its factors are CPB_SCAN_ROWS of
 * size2 and then as many of f. Values of a table are at most 255/fold: so many may be added as bytes. */
#ifndef CPB_SKETCH_NIBBLE_SCAN_H
#define CPB_SKETCH_NIBBLE_SCAN_H

#include <stddef.h>
#include <stdint.h>

enum { CPB_SCAN_ROWS = 64, CPB_SCAN_QUERIES = 4 };

typedef struct cpb_scan_query {
  const uint8_t *tables; /* 32 bytes for each byte of a code: for its low and its high nibble */
  float scale, start, limit;
} cpb_scan_query;

typedef struct cpb_nibble_scan {
  size_t blocks, bytes;
  size_t fold; /* 1, 2 or 4 */
  const uint8_t *codes;
  const float *factors;
  size_t queries; /* 1 .. CPB_SCAN_QUERIES */
  cpb_scan_query query[CPB_SCAN_QUERIES];
  float (*found)(void *context, size_t query, size_t block, uint64_t below, const float *estimates);
  void *context;
} cpb_nibble_scan;

static inline size_t cpb_scan_lane(size_t row) {
  return row < CPB_SCAN_ROWS / 2 ? 2 * row : 2 * (row - CPB_SCAN_ROWS / 2) + 1;
}

typedef void cpb_nibble_loop(cpb_nibble_scan *scan);

/* The loop for the instruction set of cpb_loops_here(). All give the same estimates. */
cpb_nibble_loop *cpb_nibble_loop_here(void);

#endif

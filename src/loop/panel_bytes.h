/* Products of rows of bytes with a panel of columns of bytes, exact in 32 bits and compared while they are in registers:
 *   value(i,j) = start[i] + sum over k of a(i,k) b(k,j),      a in -128..127, b in 0..255
 * found() is called as for cpb_panel: in order, for every row i that has a column with value(i,j) > threshold[j]; it may raise
 * thresholds, which takes effect after at most CPB_PANEL_ROWS more rows. No value may exceed 32 bits.
 *
 * Numbers are stored four to a word, padded with zeros. a has the layout of cpb_panel, but in groups of CPB_BYTES_GROUP rows:
 * number k of row i is a[cpb_bytes_at(words, i, k)]; the last group is complete. b is aligned to 64 bytes and padded with words
 * of zeros to a whole line of a: number k of column j is b[cpb_bytes_panel_at(k, j)]. */
#ifndef CPB_LOOP_PANEL_BYTES_H
#define CPB_LOOP_PANEL_BYTES_H

#include <stddef.h>
#include <stdint.h>

enum {
  CPB_BYTES_ROWS = 6,
  CPB_BYTES_GROUP = 48,
  CPB_BYTES_COLS = 64,
  CPB_BYTES_WORD = 4,
  CPB_BYTES_LINE = 64
};

/* A row of codes: their sum, the sum of their squares, and the squared rounding error in steps. */
typedef struct cpb_gridded {
  int32_t sum, square;
  float rest;
} cpb_gridded;

enum { CPB_GRID_MOST = 16384 }; /* columns; longer rows could exceed 32 bits */

typedef struct cpb_panel_bytes {
  size_t rows, words, columns; /* columns <= CPB_BYTES_COLS */
  const int8_t *a;
  const int32_t *start;
  const uint8_t *b;
  const int32_t *threshold; /* CPB_BYTES_COLS; those beyond `columns` are ignored */
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

/* Bytes of a panel of so many words, rounded up to whole lines: zeros. */
static inline size_t cpb_bytes_panel(size_t words) {
  enum { LINE_OF_WORDS = CPB_BYTES_LINE / CPB_BYTES_WORD };
  size_t lines = (words + LINE_OF_WORDS - 1) / LINE_OF_WORDS;
  return lines * LINE_OF_WORDS * CPB_BYTES_COLS * CPB_BYTES_WORD;
}

static inline size_t cpb_bytes_panel_at(size_t k, size_t j) {
  return (k / CPB_BYTES_WORD * CPB_BYTES_COLS + j) * CPB_BYTES_WORD + k % CPB_BYTES_WORD;
}

#endif

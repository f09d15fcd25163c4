/* Products of bytes with a panel in registers, as panel_wide.h has those of floats: CPB_BYTES_ROWS rows of up
 * to BYTES_VECTORS vectors at a time, and a panel too deep for the first cache is cut along its words. */
#ifndef CPB_LOOP_PANEL_BYTES_WIDE_H
#define CPB_LOOP_PANEL_BYTES_WIDE_H

#include "loop/lanes_bytes_avx512.h"
#include "loop/panel_bytes.h"

#include <stdbool.h>

enum { BYTES_WHOLE = 160, BYTES_DEPTH = 96, BYTES_TILES = 4, BYTES_BLOCK = BYTES_TILES * CPB_BYTES_ROWS };
enum { LINE_WORDS = CPB_BYTES_LINE / CPB_BYTES_WORD, PANEL_STEP = CPB_BYTES_COLS * CPB_BYTES_WORD };

typedef int32_t bytes_values[CPB_BYTES_COLS];

/* Whether anything is above its threshold: seldom, so that the largest value of each column is asked first. */
LANE_INLINE bool bytes_any(const cpb_panel_bytes *p, size_t column, size_t vectors,
                           vec_i32 sum[CPB_BYTES_ROWS][BYTES_VECTORS]) {
  unsigned any = 0;
#pragma GCC unroll 4
  for (size_t v = 0; v < vectors; v++) {
    vec_i32 largest = sum[0][v];
#pragma GCC unroll 6
    for (size_t i = 1; i < CPB_BYTES_ROWS; i++) largest = vec_max_i32(largest, sum[i][v]);
    any |= vec_above_i32(largest, vec_load_i32(p->threshold + column + v * VEC_I32));
  }
  return any != 0;
}

LANE_INLINE void bytes_terms(const int8_t *a, const uint8_t *b, size_t words, size_t vectors,
                             vec_i32 sum[CPB_BYTES_ROWS][BYTES_VECTORS]) {
  for (size_t w = 0; w < words; w++, a += CPB_BYTES_WORD, b += PANEL_STEP) {
    vec_i32 line[BYTES_VECTORS];
#pragma GCC unroll 4
    for (size_t v = 0; v < vectors; v++) line[v] = vec_load_i32(b + v * VEC_I32 * CPB_BYTES_WORD);
#pragma GCC unroll 6
    for (size_t i = 0; i < CPB_BYTES_ROWS; i++) {
      vec_i32 word = vec_spread_word(a + i * CPB_BYTES_LINE);
#pragma GCC unroll 4
      for (size_t v = 0; v < vectors; v++) sum[i][v] = vec_add_products(sum[i][v], word, line[v]);
    }
  }
}

/* Words [from, to) of columns [column, column + vectors VEC_I32) of CPB_BYTES_ROWS rows. */
LANE_INLINE void bytes_part(const cpb_panel_bytes *p, size_t row, size_t from, size_t to, size_t column,
                            size_t vectors, bytes_values *value, uint64_t *told) {
  vec_i32 sum[CPB_BYTES_ROWS][BYTES_VECTORS];
#pragma GCC unroll 6
  for (size_t i = 0; i < CPB_BYTES_ROWS; i++)
#pragma GCC unroll 4
    for (size_t v = 0; v < vectors; v++)
      sum[i][v] =
          from == 0 ? vec_spread_i32(p->start[row + i]) : vec_load_i32(value[i] + column + v * VEC_I32);
  const int8_t *a = p->a + cpb_bytes_at(p->words, row, from * CPB_BYTES_WORD);
  const uint8_t *b = p->b + from * PANEL_STEP + column * CPB_BYTES_WORD;
  size_t word = from;
  for (; word + LINE_WORDS <= to; word += LINE_WORDS) {
    bytes_terms(a, b, LINE_WORDS, vectors, sum);
    a += CPB_BYTES_LINE * CPB_BYTES_GROUP;
    b += LINE_WORDS * PANEL_STEP;
  }
  bytes_terms(a, b, to - word, vectors, sum);
  if (to == p->words && !bytes_any(p, column, vectors, sum)) return;
  *told |= UINT64_MAX >> (CPB_BYTES_COLS - vectors * VEC_I32) << column;
#pragma GCC unroll 6
  for (size_t i = 0; i < CPB_BYTES_ROWS; i++)
#pragma GCC unroll 4
    for (size_t v = 0; v < vectors; v++) vec_store_i32(value[i] + column + v * VEC_I32, sum[i][v]);
}

/* Gives the columns whose values were written: those of parts with something above its threshold. */
static uint64_t bytes_tile(const cpb_panel_bytes *p, size_t row, size_t from, size_t to,
                           bytes_values *value) {
  size_t vectors = (p->columns + VEC_I32 - 1) / VEC_I32, v = 0;
  uint64_t told = 0;
  for (; v + BYTES_VECTORS <= vectors; v += BYTES_VECTORS)
    bytes_part(p, row, from, to, v * VEC_I32, BYTES_VECTORS, value, &told);
#pragma GCC unroll 4
  for (size_t few = BYTES_VECTORS - 1; few > 0; few--)
    if (vectors - v == few) bytes_part(p, row, from, to, v * VEC_I32, few, value, &told);
  return told;
}

static void bytes_tell(const cpb_panel_bytes *p, size_t row, size_t end, bytes_values *value, uint64_t told) {
  told &= UINT64_MAX >> (CPB_BYTES_COLS - p->columns);
  for (size_t i = 0; i < CPB_BYTES_ROWS && row + i < end; i++) {
    uint64_t above = 0;
    for (size_t j = 0; j < p->columns; j += VEC_I32)
      above |= (uint64_t)vec_above_i32(vec_load_i32(value[i] + j), vec_load_i32(p->threshold + j)) << j;
    if ((above & told) != 0) p->found(p->context, row + i, above & told, value[i]);
  }
}

static void panel_bytes_wide(const cpb_panel_bytes *p) {
  _Alignas(64) bytes_values value[BYTES_BLOCK] = {0};
  bool whole = p->words <= BYTES_WHOLE;
  size_t block = whole ? CPB_BYTES_ROWS : BYTES_BLOCK, depth = whole ? p->words + 1 : BYTES_DEPTH;
  if (p->columns == 0) return;
  for (size_t first = 0; first < p->rows; first += block) {
    size_t end = p->rows - first < block ? p->rows : first + block;
    for (size_t from = 0; from == 0 || from < p->words; from += depth)
      for (size_t row = first; row < end; row += CPB_BYTES_ROWS) {
        size_t to = p->words - from < depth ? p->words : from + depth;
        uint64_t told = bytes_tile(p, row, from, to, value + (row - first));
        if (to == p->words && told != 0) bytes_tell(p, row, end, value + (row - first), told);
      }
  }
}

#endif

#define _POSIX_C_SOURCE 200809L
#include "search/index_word_order.h"

#include <string.h>

#include "search/index_codes.h"

enum { ROWS = 16, PANELS = 4, MIDDLE = 128 };

/* Subtracts the squared differences to ROWS rows of a panel, word by word, from the keys. */
static void add_panel(const cpb_index *index, const int8_t *codes, double g, const cpb_index_block *block,
                      size_t at, size_t row, cpb_ranked *word) {
  enum { BYTES = ROWS * CPB_BYTES_WORD };
  size_t words = index->byte_filter.words;
  const uint8_t *b = block->codes + (at * words + row) * CPB_BYTES_WORD;
  double h = cpb_codes_run(block, at).step;
  for (size_t i = 0; i < words; i++, b += CPB_INDEX_PANEL * CPB_BYTES_WORD) {
    const int8_t *from = codes + cpb_bytes_at(words, 0, i * CPB_BYTES_WORD);
    int16_t four[CPB_BYTES_WORD] = {from[0], from[1], from[2], from[3]}, a[BYTES];
    int32_t query = 0, rows = 0, product = 0;
    for (size_t k = 0; k < BYTES; k += CPB_BYTES_WORD) memcpy(a + k, four, sizeof four);
    for (size_t k = 0; k < BYTES; k++) {
      int16_t c = (int16_t)(b[k] - MIDDLE);
      query += a[k] * a[k], rows += c * c, product += a[k] * c;
    }
    word[i].key -= g * g * query + h * h * rows - 2 * g * h * product;
  }
}

/* From the last word on. */
static void sum_others(size_t words, const int8_t *codes, cpb_word_order *order) {
  int32_t sum = 0, square = 0;
  for (size_t i = words; i > 0; i--) {
    if (i % CPB_PARTIAL_STEP == 0) {
      order->other_sum[i / CPB_PARTIAL_STEP - 1] = MIDDLE * (double)sum;
      order->other_square[i / CPB_PARTIAL_STEP - 1] = square;
    }
    const int8_t *a = codes + cpb_bytes_at(words, 0, (size_t)order->words[i - 1] * CPB_BYTES_WORD);
    for (size_t k = 0; k < CPB_BYTES_WORD; k++) sum += a[k], square += a[k] * a[k];
  }
}

void cpb_word_order_find(const cpb_index *index, const int8_t *codes, double step, cpb_word_order *order) {
  size_t words = index->byte_filter.words;
  cpb_ranked *word = order->room;
  for (size_t i = 0; i < words; i++) word[i] = (cpb_ranked){0, i};
  for (size_t i = 0; i < PANELS; i++) {
    const cpb_index_block *block = &index->blocks[i * index->block_count / PANELS];
    size_t at = i * block->count / PANELS / CPB_INDEX_PANEL * CPB_INDEX_PANEL;
    add_panel(index, codes, step, block, at, i * ROWS, word);
  }
  cpb_ranked_sort(word, words);
  for (size_t i = 0; i < words + CPB_PARTIAL_STEP; i++)
    order->words[i] = (uint16_t)(i < words ? word[i].id : words + word[i - words].id);
  sum_others(words, codes, order);
}

/* Codes interleaved as the Hamming loop reads them. */
#ifndef CPB_SKETCH_CODE_GROUPS_H
#define CPB_SKETCH_CODE_GROUPS_H

#include <string.h>

#include "loop/table.h"

/* Word j of a code, little-endian, padded with 0. */
static inline uint64_t cpb_code_word(const uint8_t *code, size_t bytes, size_t j) {
  uint64_t word = 0;
  size_t left = bytes - 8 * j, count = left < 8 ? left : 8;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  if (count == 8)
    memcpy(&word, code + 8 * j, 8);
  else
#endif
    for (size_t k = 0; k < count; k++) word |= (uint64_t)code[8 * j + k] << 8 * k;
  return word;
}

static inline size_t cpb_code_words(size_t bytes) { return (bytes + 7) / 8; }

static inline size_t cpb_code_group_count(size_t n) { return (n + CPB_CODE_GROUP - 1) / CPB_CODE_GROUP; }

#endif

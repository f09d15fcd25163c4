/* Signs and Hamming distances, as they are defined. */
#ifndef CPB_LOOP_HAMMING_PLAIN_H
#define CPB_LOOP_HAMMING_PLAIN_H

#include "loop/table.h"

static void signs(const float *values, float margin, uint64_t *above, uint64_t *unsure) {
  *above = *unsure = 0;
  for (size_t j = 0; j < CPB_PANEL_COLS; j++) {
    uint64_t bit = (uint64_t)1 << j;
    if (values[j] > margin)
      *above |= bit;
    else if (!(values[j] < -margin))
      *unsure |= bit;
  }
}

/* Sums of neighbouring bits, pairs, fours; a product adds the bytes. */
static uint64_t ones(uint64_t x) {
  x -= x >> 1 & 0x5555555555555555u;
  x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
  x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
  return x * 0x0101010101010101u >> 56;
}

static void hamming(const cpb_hamming *h) {
  const uint64_t *codes = h->codes;
  uint64_t limit = h->limit;
  for (size_t group = 0; group < h->groups; group++) {
    uint64_t distance[CPB_CODE_GROUP] = {0};
    unsigned below = 0;
    for (size_t j = 0; j < h->words; j++, codes += CPB_CODE_GROUP)
      for (size_t i = 0; i < CPB_CODE_GROUP; i++) distance[i] += ones(codes[i] ^ h->query[j]);
    for (size_t i = 0; i < CPB_CODE_GROUP; i++)
      if (distance[i] < limit) below |= 1u << i;
    if (below != 0) limit = h->found(h->context, group, below, distance);
  }
}

#endif

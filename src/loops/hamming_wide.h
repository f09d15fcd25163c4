/* Inline: hamming distances in registers: the eight codes of a group side by side, one word of each at a time. */
#ifndef CPB_LOOPS_HAMMING_WIDE_H
#define CPB_LOOPS_HAMMING_WIDE_H

#include "loops/lanes.h"

enum { GROUP_VECTORS = CPB_CODE_GROUP / VEC_U64 };

/* `words` is a constant where codes are short: the query then stays in registers for the whole scan. */
LANE_INLINE void hamming_scan(const cpb_hamming *h, size_t words) {
  const uint64_t *codes = h->codes, *query = h->query;
  vec_u64 limit = h->limit + (vec_u64){0};
  for (size_t group = 0, groups = h->groups; group < groups; group++) {
    vec_u64 sum[GROUP_VECTORS];
    unsigned below = 0;
#pragma GCC unroll 2
    for (size_t v = 0; v < GROUP_VECTORS; v++) sum[v] = (vec_u64){0};
#pragma GCC unroll 4
    for (size_t j = 0; j < words; j++, codes += CPB_CODE_GROUP) {
      uint64_t word = query[j];
#pragma GCC unroll 2
      for (size_t v = 0; v < GROUP_VECTORS; v++)
        sum[v] += vec_ones_u64(word ^ vec_load_u64(codes + v * VEC_U64));
    }
#pragma GCC unroll 2
    for (size_t v = 0; v < GROUP_VECTORS; v++) below |= vec_below_u64(sum[v], limit) << v * VEC_U64;
    if (below == 0) continue;
    _Alignas(64) uint64_t distance[CPB_CODE_GROUP];
    memcpy(distance, sum, sizeof sum);
    limit = h->found(h->context, group, below, distance) + (vec_u64){0};
  }
}

static void hamming_wide(const cpb_hamming *h) {
  switch (h->words) {
  case 1: hamming_scan(h, 1); break;
  case 2: hamming_scan(h, 2); break;
  case 4: hamming_scan(h, 4); break;
  case 8: hamming_scan(h, 8); break;
  case 16: hamming_scan(h, 16); break;
  default: hamming_scan(h, h->words);
  }
}

#endif

/* The digest of bytes in registers: the eight sums stay there. */
#ifndef CPB_LOOP_DIGEST_WIDE_H
#define CPB_LOOP_DIGEST_WIDE_H

#include "loop/digest_keys.h"
#include "loop/lanes.h"

enum { DIGEST_VECTORS = CPB_DIGEST_LANES / VEC_U64 };

typedef struct digest_sums {
  vec_u64 sum[DIGEST_VECTORS];
} digest_sums;

LANE_INLINE void digest_stripe(digest_sums *d, const uint64_t *keys, const unsigned char *bytes) {
#pragma GCC unroll 4
  for (size_t v = 0; v < DIGEST_VECTORS; v++) {
    vec_u64 word = vec_any_u64(bytes + v * sizeof word);
    vec_u64 keyed = vec_xor_u64(word, vec_any_u64(keys + v * VEC_U64));
    vec_u64 added = vec_add_u64(vec_product_u32(keyed, vec_right_u64(keyed, 32)), vec_swap_u64(word));
    d->sum[v] = vec_add_u64(d->sum[v], added);
  }
}

/* x times a number of 32 bits. */
LANE_INLINE vec_u64 digest_times(vec_u64 x, vec_u64 factor) {
  vec_u64 high = vec_product_u32(vec_right_u64(x, 32), factor);
  return vec_add_u64(vec_product_u32(x, factor), vec_left_u64(high, 32));
}

LANE_INLINE void digest_scramble(digest_sums *d) {
  vec_u64 factor = vec_spread_u64(DIGEST_FACTOR);
#pragma GCC unroll 4
  for (size_t v = 0; v < DIGEST_VECTORS; v++) {
    vec_u64 folded = vec_xor_u64(d->sum[v], vec_right_u64(d->sum[v], 47));
    vec_u64 key = vec_any_u64(digest_keys + DIGEST_ROUND + v * VEC_U64);
    d->sum[v] = digest_times(vec_xor_u64(folded, key), factor);
  }
}

static void digest(const void *bytes, size_t count, uint64_t sums[CPB_DIGEST_LANES]) {
  const unsigned char *from = bytes;
  unsigned char tail[CPB_DIGEST_STRIPE];
  size_t stripe = 0;
  digest_sums d;
  for (size_t v = 0; v < DIGEST_VECTORS; v++) d.sum[v] = vec_any_u64(digest_start + v * VEC_U64);
  for (size_t round = DIGEST_ROUND * CPB_DIGEST_STRIPE; count >= round; count -= round) {
#pragma GCC unroll 16
    for (size_t s = 0; s < DIGEST_ROUND; s++, from += CPB_DIGEST_STRIPE)
      digest_stripe(&d, digest_keys + s, from);
    digest_scramble(&d);
  }
  for (; count >= CPB_DIGEST_STRIPE; count -= CPB_DIGEST_STRIPE, from += CPB_DIGEST_STRIPE)
    digest_stripe(&d, digest_keys + stripe++, from);
  digest_tail(from, count, tail);
  digest_stripe(&d, digest_keys + stripe, tail);
  digest_scramble(&d);
  memcpy(sums, d.sum, sizeof d.sum);
}

#endif

/* Inline: the digest of bytes, in vectors or by its definition. It detects rows that were changed by accident or by another program;
 * it does not protect against an attacker who searches for two sets of rows with the same digest.
 *
 * Eight sums of 64 bits run over stripes of 64 bytes. For a word w in lane i, of stripe s of a round of DIGEST_ROUND,
 *   sums[i] += low32(w^k) high32(w^k),  sums[i^1] += w,  k = digest_keys[s+i]
 * and after a round each sum is folded, keyed and multiplied, so that the order of rounds matters. The remaining bytes, padded
 * with zeros, are one more stripe. */
#ifndef CPB_LOOPS_DIGEST_H
#define CPB_LOOPS_DIGEST_H

#include <string.h>

#include "loops/table.h"

enum { DIGEST_ROUND = 16 };
#define DIGEST_FACTOR 0x9e3779b1u /* 32 bits, odd */

/* splitmix64 from 0: the keys of a round and of its end, then the initial sums. */
static const uint64_t digest_keys[DIGEST_ROUND + CPB_DIGEST_LANES] = {
    0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f, 0xf88bb8a8724c81ec, 0x1b39896a51a8749b,
    0x53cb9f0c747ea2ea, 0x2c829abe1f4532e1, 0xc584133ac916ab3c, 0x3ee5789041c98ac3, 0xf3b8488c368cb0a6,
    0x657eecdd3cb13d09, 0xc2d326e0055bdef6, 0x8621a03fe0bbdb7b, 0x8e1f7555983aa92f, 0xb54e0f1600cc4d19,
    0x84bb3f97971d80ab, 0x7d29825c75521255, 0xc3cf17102b7f7f86, 0x3466e9a083914f64, 0xd81a8d2b5a4485ac,
    0xdb01602b100b9ed7, 0xa9038a921825f10d, 0xedf5f1d90dca2f6a, 0x54496ad67bd2634c};
static const uint64_t digest_start[CPB_DIGEST_LANES] = {
    0xdd7c01d4f5407269, 0x935e82f1db4c4f7b, 0x69b82ebc92233300, 0x40d29eb57de1d510,
    0xa2f09dabb45c6316, 0xee521d7a0f4d3872, 0xf16952ee72f3454f, 0x377d35dea8e40225};

static inline void digest_tail(const unsigned char *from, size_t count,
                               unsigned char tail[CPB_DIGEST_STRIPE]) {
  memset(tail, 0, CPB_DIGEST_STRIPE);
  if (count > 0) memcpy(tail, from, count);
}

/* One stripe, and the end of a round. */
#ifdef CPB_LOOPS_LANES_H
enum { DIGEST_VECTORS = CPB_DIGEST_LANES / VEC_U64 };

typedef struct digest_sums {
  vec_u64 sum[DIGEST_VECTORS];
} digest_sums;

LANE_INLINE void digest_stripe(digest_sums *d, const uint64_t *keys, const unsigned char *bytes) {
#pragma GCC unroll 4
  for (size_t v = 0; v < DIGEST_VECTORS; v++) {
    vec_u64 word = vec_load_u64(bytes + v * sizeof word);
    vec_u64 keyed = word ^ vec_load_u64(keys + v * VEC_U64);
    d->sum[v] += vec_product_u32(keyed, keyed >> 32) + vec_swap_u64(word);
  }
}

/* x times a number of 32 bits. */
LANE_INLINE vec_u64 digest_times(vec_u64 x, vec_u64 factor) {
  return vec_product_u32(x, factor) + (vec_product_u32(x >> 32, factor) << 32);
}

LANE_INLINE void digest_scramble(digest_sums *d) {
#pragma GCC unroll 4
  for (size_t v = 0; v < DIGEST_VECTORS; v++) {
    vec_u64 key = vec_load_u64(digest_keys + DIGEST_ROUND + v * VEC_U64);
    d->sum[v] = digest_times(d->sum[v] ^ d->sum[v] >> 47 ^ key, DIGEST_FACTOR + (vec_u64){0});
  }
}
#else
typedef struct digest_sums {
  uint64_t sum[CPB_DIGEST_LANES];
} digest_sums;

static void digest_stripe(digest_sums *d, const uint64_t *keys, const unsigned char *bytes) {
  for (size_t i = 0; i < CPB_DIGEST_LANES; i++) {
    uint64_t word;
    memcpy(&word, bytes + i * sizeof word, sizeof word);
    uint64_t keyed = word ^ keys[i];
    d->sum[i] += (keyed & 0xffffffffu) * (keyed >> 32);
    d->sum[i ^ 1] += word;
  }
}

static void digest_scramble(digest_sums *d) {
  const uint64_t *keys = digest_keys + DIGEST_ROUND;
  for (size_t i = 0; i < CPB_DIGEST_LANES; i++)
    d->sum[i] = (d->sum[i] ^ d->sum[i] >> 47 ^ keys[i]) * DIGEST_FACTOR;
}
#endif

static void digest(const void *bytes, size_t count, uint64_t sums[CPB_DIGEST_LANES]) {
  enum { ROUND_BYTES = DIGEST_ROUND * CPB_DIGEST_STRIPE };
  const unsigned char *from = bytes;
  unsigned char tail[CPB_DIGEST_STRIPE];
  size_t stripe = 0;
  digest_sums d;
  memcpy(&d, digest_start, sizeof d);
  for (; count >= ROUND_BYTES; count -= ROUND_BYTES) {
#pragma GCC unroll 4
    for (size_t s = 0; s < DIGEST_ROUND; s++, from += CPB_DIGEST_STRIPE)
      digest_stripe(&d, digest_keys + s, from);
    digest_scramble(&d);
  }
  for (; count >= CPB_DIGEST_STRIPE; count -= CPB_DIGEST_STRIPE, from += CPB_DIGEST_STRIPE)
    digest_stripe(&d, digest_keys + stripe++, from);
  digest_tail(from, count, tail);
  digest_stripe(&d, digest_keys + stripe, tail);
  digest_scramble(&d);
  memcpy(sums, &d, sizeof d);
}

#endif

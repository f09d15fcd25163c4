/* The digest of bytes, as it is defined. */
#ifndef CPB_LOOP_DIGEST_PLAIN_H
#define CPB_LOOP_DIGEST_PLAIN_H

#include <string.h>

#include "loop/digest_keys.h"

static uint64_t low_half(uint64_t x) { return x & 0xffffffffu; }

static void digest_stripe(uint64_t sums[CPB_DIGEST_LANES], uint64_t keys[CPB_DIGEST_LANES],
                          const unsigned char *bytes) {
  for (size_t i = 0; i < CPB_DIGEST_LANES; i++) {
    uint64_t word, keyed;
    memcpy(&word, bytes + i * sizeof word, sizeof word);
    keyed = word ^ keys[i];
    sums[i] += low_half(keyed) * (keyed >> 32);
    sums[i ^ 1] += word;
    keys[i] += DIGEST_STEP;
  }
}

static void digest_scramble(uint64_t sums[CPB_DIGEST_LANES], const uint64_t keys[CPB_DIGEST_LANES]) {
  for (size_t i = 0; i < CPB_DIGEST_LANES; i++) sums[i] = (sums[i] ^ sums[i] >> 47 ^ keys[i]) * DIGEST_FACTOR;
}

static void digest(const void *bytes, size_t count, uint64_t sums[CPB_DIGEST_LANES]) {
  const unsigned char *from = bytes;
  uint64_t keys[CPB_DIGEST_LANES];
  unsigned char tail[CPB_DIGEST_STRIPE];
  memcpy(keys, digest_keys, sizeof keys);
  memcpy(sums, digest_start, sizeof digest_start);
  for (size_t stripe = 1; count >= CPB_DIGEST_STRIPE; stripe++, count -= CPB_DIGEST_STRIPE) {
    digest_stripe(sums, keys, from);
    from += CPB_DIGEST_STRIPE;
    if (stripe % DIGEST_ROUND == 0) digest_scramble(sums, keys);
  }
  digest_tail(from, count, tail);
  digest_stripe(sums, keys, tail);
  digest_scramble(sums, keys);
}

#endif

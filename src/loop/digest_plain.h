/* The digest of bytes, by its definition. */
#ifndef CPB_LOOP_DIGEST_PLAIN_H
#define CPB_LOOP_DIGEST_PLAIN_H

#include "loop/digest_keys.h"

static uint64_t low_half(uint64_t x) { return x & 0xffffffffu; }

static void digest_stripe(uint64_t sums[CPB_DIGEST_LANES], const uint64_t *keys, const unsigned char *bytes) {
  for (size_t i = 0; i < CPB_DIGEST_LANES; i++) {
    uint64_t word;
    memcpy(&word, bytes + i * sizeof word, sizeof word);
    uint64_t keyed = word ^ keys[i];
    sums[i] += low_half(keyed) * (keyed >> 32);
    sums[i ^ 1] += word;
  }
}

static void digest_scramble(uint64_t sums[CPB_DIGEST_LANES]) {
  const uint64_t *keys = digest_keys + DIGEST_ROUND;
  for (size_t i = 0; i < CPB_DIGEST_LANES; i++) sums[i] = (sums[i] ^ sums[i] >> 47 ^ keys[i]) * DIGEST_FACTOR;
}

static void digest(const void *bytes, size_t count, uint64_t sums[CPB_DIGEST_LANES]) {
  const unsigned char *from = bytes;
  unsigned char tail[CPB_DIGEST_STRIPE];
  size_t stripe = 0;
  memcpy(sums, digest_start, sizeof digest_start);
  for (; count >= CPB_DIGEST_STRIPE; count -= CPB_DIGEST_STRIPE, from += CPB_DIGEST_STRIPE) {
    digest_stripe(sums, digest_keys + stripe, from);
    stripe = (stripe + 1) % DIGEST_ROUND;
    if (stripe == 0) digest_scramble(sums);
  }
  digest_tail(from, count, tail);
  digest_stripe(sums, digest_keys + stripe, tail);
  digest_scramble(sums);
}

#endif

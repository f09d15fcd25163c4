/* Inline: a seeded stream of random numbers: splitmix64. */
#ifndef CPB_BASE_RANDOM_H
#define CPB_BASE_RANDOM_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "base/elementary.h"

typedef struct cpb_random {
  uint64_t state;
} cpb_random;

/* Every bit of the result depends on every bit of z; different z, different results. */
static inline uint64_t cpb_mix(uint64_t z) {
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

static inline uint64_t cpb_random_bits(cpb_random *random) {
  return cpb_mix(random->state += 0x9e3779b97f4a7c15u);
}

/* 0 .. n-1; the bias, n/2^64, is negligible for the sizes sampled here. */
static inline size_t cpb_random_below(cpb_random *random, size_t n) {
  return (size_t)(cpb_random_bits(random) % n);
}

/* In (0,1]. */
static inline double cpb_random_uniform(cpb_random *random) {
  return (double)((cpb_random_bits(random) >> 11) + 1) * 0x1p-53;
}

/* Mean 0, variance 1. */
static inline double cpb_random_gauss(cpb_random *random) {
  double size = sqrt(-2 * cpb_log(cpb_random_uniform(random)));
  return size * cpb_cos(6.283185307179586 * cpb_random_uniform(random));
}

#endif

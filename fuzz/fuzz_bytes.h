/* Numbers out of the bytes of a fuzzer, zeros when they are used up. */
#ifndef FUZZ_FUZZ_BYTES_H
#define FUZZ_FUZZ_BYTES_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct fuzz_bytes {
  const unsigned char *at;
  size_t left;
} fuzz_bytes;

static inline unsigned fuzz_byte(fuzz_bytes *from) {
  if (from->left == 0) return 0;
  from->left--;
  return *from->at++;
}

/* 0 .. limit-1 */
static inline size_t fuzz_below(fuzz_bytes *from, size_t limit) {
  size_t number = fuzz_byte(from);
  if (limit > 256) number = number << 8 | fuzz_byte(from);
  return number % limit;
}

/* A number as one meets them, or as one fears them. */
static inline double fuzz_number(fuzz_bytes *from) {
  static const double feared[] = {0,      -0.0,  1,      -1,       1e-310,
                                  5e-324, 1e308, -1e308, INFINITY, -INFINITY,
                                  NAN,    1e154, 1e-154, 1e16,     9007199254740993.0,
                                  0.1,    65504, 65520,  127,      128,
                                  255,    256,   -128,   -129};
  unsigned kind = fuzz_byte(from);
  double number = 0;
  if (kind < 24) return feared[kind];
  if (kind < 200) return ((double)kind - 112) / 8;
  unsigned char bits[8];
  for (size_t i = 0; i < 8; i++) bits[i] = (unsigned char)fuzz_byte(from);
  memcpy(&number, bits, sizeof number);
  return number;
}

static inline void fuzz_numbers(fuzz_bytes *from, double *numbers, size_t count) {
  for (size_t i = 0; i < count; i++) numbers[i] = from->left > 0 ? fuzz_number(from) : (double)(i % 7);
}

#endif

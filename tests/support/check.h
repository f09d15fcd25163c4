/* Shared by all tests: cmocka, seeded random numbers, and law_holds(), which compares a measured error with its
 * bound and writes the line from which docs/reference/numerics.md is generated. */
#ifndef CPB_TEST_CHECK_H
#define CPB_TEST_CHECK_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define U32 0x1p-24
#define U64 0x1p-53

/* Sanitizers check the code paths, the other builds the numbers: under sanitizers a part of the random cases is
 * enough. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_SANITIZED 1
#elif defined(__has_feature)
#define TEST_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define TEST_SANITIZED 0
#endif

/* A seeded stream of random numbers (splitmix64). */
typedef struct test_rng {
  uint64_t state;
} test_rng;

uint64_t test_bits(test_rng *rng);
double test_uniform(test_rng *rng);                              /* [0,1) */
double test_gauss(test_rng *rng);                                /* mean 0, variance 1 */
double test_log_uniform(test_rng *rng, double low, double high); /* exp of uniform on [log low, log high] */
size_t test_below(test_rng *rng, size_t n);                      /* 0 .. n-1 */
void test_direction(test_rng *rng, size_t n, double *unit);      /* uniform on the sphere of R^n */

/* The bits of x as a half; what is too large becomes the largest. */
uint16_t test_half(double x);

/* Fails the test when worst > bound or worst is NaN; otherwise appends one tab-separated line
 * "law what real bound worst" to the file named by CPB_NUMERICS (if set). Errors are in units of u,
 * 2^-24 for real "f32" and 2^-53 for "f64". */
void law_holds(const char *law, const char *what, const char *real, double worst, double bound);

/* worst = max(worst, error), keeping NaN. */
void test_worst(double *worst, double error);

/* Fails with the library's own message when status is not the expected one. */
void test_status(int status, int wanted, const char *sentence);

/* A double rounded to f32 and back. gcc 12.2 at -O2 drops (double)(float)x on two neighbours that it vectorises; it must
 * round a volatile float. */
static inline double test_round_f32(double value) {
  volatile float rounded = (float)value;
  return (double)rounded;
}

#endif

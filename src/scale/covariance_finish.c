/* From exact sums to mean and covariance: n^2 cov_ij = n sum x_i x_j - sum x_i sum x_j, computed exactly; the only
 * roundings are of this number and of two divisions by n. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "parallel/blocks.h"
#include "scale/covariance_parts.h"
#include "scale/exact_sum.h"

/* Sign and magnitude. Products of two doubles span 2^-2148 .. 2^2048, times n and a square of n. */
enum { MOST_WORDS = 320 };
typedef struct big {
  bool negative;
  int first; /* word 0 counts 2^(32 first) */
  size_t words;
  uint32_t word[MOST_WORDS];
} big;

static void trim(big *a) {
  while (a->words > 0 && a->word[a->words - 1] == 0) a->words--;
}

static void big_load(big *a, cpb_wide_int from) {
  a->first = from.first;
  a->words = from.words;
  a->negative = from.words > 0 && from.word[from.words - 1] >> 31 != 0;
  uint64_t carry = a->negative ? 1 : 0;
  for (size_t k = 0; k < from.words; k++) {
    carry += a->negative ? (uint32_t)~from.word[k] : from.word[k];
    a->word[k] = (uint32_t)carry;
    carry >>= 32;
  }
  trim(a);
}

static void big_multiply(big *c, const big *a, const big *b) {
  c->negative = a->negative != b->negative;
  c->first = a->first + b->first;
  c->words = a->words + b->words;
  memset(c->word, 0, c->words * sizeof *c->word);
  for (size_t i = 0; i < a->words; i++) {
    uint64_t carry = 0;
    for (size_t j = 0; j < b->words; j++) {
      carry += (uint64_t)a->word[i] * b->word[j] + c->word[i + j];
      c->word[i + j] = (uint32_t)carry;
      carry >>= 32;
    }
    c->word[i + b->words] = (uint32_t)carry;
  }
  trim(c);
}

static void big_count(big *a, uint64_t n) {
  *a = (big){.words = 2, .word = {(uint32_t)n, (uint32_t)(n >> 32)}};
  trim(a);
}

/* Word `place` of a, counted from 2^0; 0 outside its range. */
static uint32_t word_at(const big *a, int place) {
  int k = place - a->first;
  return k < 0 || k >= (int)a->words ? 0 : a->word[k];
}

static int end_of(const big *a) { return a->first + (int)a->words; }

static int compare_magnitudes(const big *a, const big *b, int first, int end) {
  for (int place = end - 1; place >= first; place--) {
    uint32_t x = word_at(a, place), y = word_at(b, place);
    if (x != y) return x < y ? -1 : 1;
  }
  return 0;
}

/* c = a - b. */
static void big_subtract(big *c, const big *a, const big *b) {
  if (a->words == 0 || b->words == 0) { /* the first word of 0 may be anywhere */
    *c = a->words == 0 ? *b : *a;
    c->negative = a->words == 0 ? !b->negative : a->negative;
    return;
  }
  int first = a->first < b->first ? a->first : b->first;
  int end = (end_of(a) > end_of(b) ? end_of(a) : end_of(b)) + 1;
  bool add = a->negative != b->negative, swap = !add && compare_magnitudes(a, b, first, end) < 0;
  const big *large = swap ? b : a, *small = swap ? a : b;
  c->first = first;
  c->words = (size_t)(end - first);
  c->negative = swap ? !b->negative : a->negative;
  int64_t carry = 0;
  for (int place = first; place < end; place++) {
    int64_t y = word_at(small, place), sum = carry + (int64_t)word_at(large, place) + (add ? y : -y);
    c->word[place - first] = (uint32_t)(sum & 0xffffffff);
    carry = sum < 0 ? -1 : sum >> 32;
  }
  trim(c);
}

/* a / n^2. */
static double big_over_square(const big *a, uint64_t n) {
  enum { USED = 4 }; /* at least 97 bits */
  double value = 0;
  if (a->words == 0) return 0;
  size_t from = a->words > USED ? a->words - USED : 0;
  for (size_t k = from; k < a->words; k++) value = value * 0x1p-32 + (double)a->word[k];
  value = value / (double)n / (double)n;
  return ldexp(a->negative ? -value : value, 32 * (end_of(a) - 1));
}

typedef struct finish {
  const cpb_covariance *c;
  double *matrix;
  _Atomic size_t beyond; /* the first i*d + j beyond double */
} finish;

static void meet_beyond(finish *f, size_t at) {
  size_t known = atomic_load(&f->beyond);
  while (at < known && !atomic_compare_exchange_weak(&f->beyond, &known, at)) {
  }
}

static double element(const cpb_pair_sums *sums, size_t i, size_t j, uint64_t n) {
  big xi, xj, xx, count, left, right, difference;
  size_t one = sums->columns - 1;
  big_load(&xi, cpb_pair_sums_at(sums, i, one));
  big_load(&xj, cpb_pair_sums_at(sums, j, one));
  big_load(&xx, cpb_pair_sums_at(sums, i, j));
  big_count(&count, n);
  big_multiply(&left, &count, &xx);
  big_multiply(&right, &xi, &xj);
  big_subtract(&difference, &left, &right);
  return big_over_square(&difference, n);
}

static void finish_row(void *arg, size_t block, size_t i, size_t count) {
  (void)block;
  (void)count;
  finish *f = arg;
  size_t d = f->c->d;
  for (size_t j = i; j < d; j++) {
    double value = element(&f->c->sums, i, j, f->c->rows);
    f->matrix[i * d + j] = f->matrix[j * d + i] = value;
    if (isinf(value)) meet_beyond(f, i * d + j);
  }
}

/* The sum of column i as in cpb_statistics, so that the means agree. */
static double mean_of(const cpb_covariance *c, size_t i) {
  cpb_exact_sum sum;
  cpb_exact_clear(&sum);
  cpb_wide_int from = cpb_pair_sums_at(&c->sums, i, c->d);
  int at = from.first - CPB_EXACT_LOWEST / 32;
  size_t words = from.words;
  while (words > 0 && at + (int)words > CPB_EXACT_DIGITS) words--; /* such words only repeat the sign */
  for (size_t k = 0; k < words; k++) sum.digit[at + (int)k] = from.word[k];
  if (words > 0 && from.word[words - 1] >> 31 != 0) sum.digit[at + (int)words - 1] -= (int64_t)1 << 32;
  sum.first = words > 0 ? at : 0;
  sum.end = sum.first + (int)words;
  return cpb_exact_mean(&sum, c->rows);
}

cpb_status cpb_covariance_finish(cpb_covariance *c, double *mean, double *matrix, const cpb_exec *exec,
                                 cpb_error *error) {
  if (c == NULL) return cpb_fail_missing(error, "covariance");
  if (c->rows == 0)
    return cpb_fail(error, CPB_WHY_NO_ROWS, "covariance",
                    "there are no rows, and so no mean and no covariance");
  cpb_status status = cpb_covariance_flush(c, exec, error);
  if (status != CPB_OK) return status;
  for (size_t i = 0; mean != NULL && i < c->d; i++) mean[i] = mean_of(c, i);
  if (matrix == NULL) return CPB_OK;
  finish f = {.c = c, .matrix = matrix};
  atomic_init(&f.beyond, SIZE_MAX);
  cpb_blocks_run(&(cpb_blocks){c->d, 1, finish_row, &f}, exec);
  size_t beyond = atomic_load(&f.beyond);
  if (beyond == SIZE_MAX) return CPB_OK;
  return cpb_fail(error, CPB_WHY_BEYOND_DOUBLE, "covariance",
                  "the covariance of columns %zu and %zu is beyond double", beyond / c->d, beyond % c->d);
}

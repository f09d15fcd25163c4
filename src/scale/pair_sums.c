#include "scale/pair_sums.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"

static const uint64_t low_half = 0xffffffff;

static int floor_div(int a, int b) { return a / b - (a % b < 0); }
static int first_of(cpb_column_bits bits) { return floor_div(bits.low, 32); }
static bool is_zero(cpb_column_bits bits) { return bits.low > bits.high; }

static int bit_length(uint64_t n) {
  int bits = 0;
  for (; n > 0; n >>= 1) bits++;
  return bits;
}

static size_t pair_at(size_t columns, size_t i, size_t j) { return i * columns - i * (i + 1) / 2 + j; }
static size_t pair_count(size_t columns) { return columns * (columns + 1) / 2; }

static size_t words_needed(cpb_column_bits a, cpb_column_bits b, uint64_t terms) {
  if (is_zero(a) || is_zero(b) || terms == 0) return 0;
  int sign_bit = a.high + b.high + bit_length(terms);
  return (size_t)(floor_div(sign_bit, 32) - first_of(a) - first_of(b) + 1);
}

cpb_status cpb_pair_sums_new(cpb_pair_sums *sums, size_t columns, cpb_error *error) {
  *sums = (cpb_pair_sums){.columns = columns, .bits = malloc(columns * sizeof(cpb_column_bits))};
  if (sums->bits == NULL) return cpb_fail_memory(error, "sums of %zu columns", columns);
  for (size_t i = 0; i < columns; i++) sums->bits[i] = cpb_no_bits;
  return CPB_OK;
}

void cpb_pair_sums_free(cpb_pair_sums *sums) {
  free(sums->bits);
  free(sums->word);
  *sums = (cpb_pair_sums){0};
}

static uint32_t *word_of(const cpb_pair_sums *sums, size_t i, size_t j) {
  return sums->word + pair_at(sums->columns, i, j) * sums->words;
}

cpb_wide_int cpb_pair_sums_at(const cpb_pair_sums *sums, size_t i, size_t j) {
  if (cpb_pair_sums_needed(sums, i, j) == 0) return (cpb_wide_int){NULL, 0, 0};
  return (cpb_wide_int){word_of(sums, i, j), sums->words, first_of(sums->bits[i]) + first_of(sums->bits[j])};
}

size_t cpb_pair_sums_needed(const cpb_pair_sums *sums, size_t i, size_t j) {
  return words_needed(sums->bits[i], sums->bits[j], sums->terms);
}

/* ---- capacity ---- */

/* The widest sum is one of the columns with the largest and the lowest numbers. */
static size_t widest(const cpb_column_bits *bits, size_t columns, uint64_t terms) {
  size_t most = 0;
  for (size_t i = 0; i < columns; i++)
    for (size_t j = i; j < columns; j++) {
      size_t words = words_needed(bits[i], bits[j], terms);
      if (words > most) most = words;
    }
  return most;
}

/* to += from, both two's complement; `to` has enough words. */
static void add_wide(uint32_t *to, size_t words, cpb_wide_int from, int to_first) {
  if (from.words == 0) return;
  size_t shift = (size_t)(from.first - to_first);
  uint64_t sign = from.word[from.words - 1] >> 31 != 0 ? low_half : 0, carry = 0;
  for (size_t k = shift; k < words; k++) {
    uint64_t term = k - shift < from.words ? from.word[k - shift] : sign;
    carry += to[k] + term;
    to[k] = (uint32_t)carry;
    carry >>= 32;
  }
}

void cpb_pair_sums_add(cpb_pair_sums *sums, const cpb_pair_sums *other) {
  if (sums->words == 0) return; /* all are 0 */
  for (size_t i = 0; i < other->columns; i++)
    for (size_t j = i; j < other->columns; j++)
      add_wide(word_of(sums, i, j), sums->words, cpb_pair_sums_at(other, i, j),
               first_of(sums->bits[i]) + first_of(sums->bits[j]));
}

/* Converts all sums to other units. */
static cpb_status rebuild(cpb_pair_sums *sums, const cpb_column_bits *bits, size_t words, cpb_error *error) {
  size_t count = pair_count(sums->columns);
  uint32_t *word = words > SIZE_MAX / 4 / count ? NULL : calloc(count * words, sizeof *word);
  if (word == NULL) return cpb_fail_memory(error, "the products of %zu columns", sums->columns - 1);
  cpb_pair_sums other = *sums;
  cpb_column_bits *kept = sums->bits;
  other.bits = malloc(sums->columns * sizeof *other.bits);
  if (other.bits == NULL) {
    free(word);
    return cpb_fail_memory(error, "sums of %zu columns", sums->columns);
  }
  memcpy(other.bits, kept, sums->columns * sizeof *kept);
  memcpy(kept, bits, sums->columns * sizeof *kept);
  sums->word = word;
  sums->words = words;
  cpb_pair_sums_add(sums, &other);
  cpb_pair_sums_free(&other);
  return CPB_OK;
}

static bool same_units(const cpb_pair_sums *sums, const cpb_column_bits *bits) {
  for (size_t i = 0; i < sums->columns; i++)
    if (first_of(sums->bits[i]) != first_of(bits[i])) return false;
  return true;
}

cpb_status cpb_pair_sums_reserve(cpb_pair_sums *sums, const cpb_column_bits *bits, uint64_t terms,
                                 cpb_error *error) {
  cpb_column_bits *all = malloc(sums->columns * sizeof *all);
  if (all == NULL) return cpb_fail_memory(error, "sums of %zu columns", sums->columns);
  for (size_t i = 0; i < sums->columns; i++) {
    all[i] = sums->bits[i];
    cpb_bits_widen(&all[i], bits[i]);
  }
  size_t words = widest(all, sums->columns, sums->terms + terms);
  cpb_status status = CPB_OK;
  if (words > sums->words || !same_units(sums, all))
    status = rebuild(sums, all, words > sums->words ? words : sums->words, error);
  else
    memcpy(sums->bits, all, sums->columns * sizeof *all);
  if (status == CPB_OK) sums->terms += terms;
  free(all);
  return status;
}

/* ---- adding ---- */

/* word += v 2^32 at, v signed. */
static void add_signed(uint32_t *word, size_t words, size_t at, int64_t v) {
  for (; v != 0 && at < words; at++) {
    int64_t sum = (int64_t)word[at] + (v & (int64_t)low_half);
    word[at] = (uint32_t)(sum & (int64_t)low_half);
    v = (v - (v & (int64_t)low_half)) / ((int64_t)1 << 32) + sum / ((int64_t)1 << 32);
  }
}

void cpb_pair_sums_deposit(cpb_pair_sums *sums, size_t i, size_t j, int64_t whole, int exponent) {
  if (whole == 0) return;
  int place = exponent - 32 * (first_of(sums->bits[i]) + first_of(sums->bits[j]));
  for (; place < 0; place++) whole /= 2; /* a multiple of the unit */
  size_t at = (size_t)place / 32;
  int64_t low = whole & (int64_t)low_half, factor = (int64_t)1 << place % 32;
  uint32_t *word = word_of(sums, i, j);
  add_signed(word, sums->words, at, low * factor);
  add_signed(word, sums->words, at + 1, (whole - low) / ((int64_t)1 << 32) * factor);
}

/* x = high 2^(exponent+27) + low 2^exponent, both below 2^27. */
static void halves(double x, int64_t *high, int64_t *low, int *exponent) {
  int64_t whole = (int64_t)ldexp(frexp(x, exponent), 53);
  *exponent -= 53;
  *low = whole % ((int64_t)1 << 27);
  *high = whole / ((int64_t)1 << 27);
}

void cpb_pair_sums_product(cpb_pair_sums *sums, size_t i, size_t j, double x, double y) {
  int64_t xh, xl, yh, yl;
  int xe, ye;
  halves(x, &xh, &xl, &xe);
  halves(y, &yh, &yl, &ye);
  /* exponents may be below the sum's unit, but the products are multiples of it: the halves of a multiple of 2^low
   * are multiples of 2^low */
  cpb_pair_sums_deposit(sums, i, j, xl * yl, xe + ye);
  cpb_pair_sums_deposit(sums, i, j, xl * yh + xh * yl, xe + ye + 27);
  cpb_pair_sums_deposit(sums, i, j, xh * yh, xe + ye + 54);
}

void cpb_pair_sums_set(cpb_pair_sums *sums, size_t i, size_t j, const uint32_t *from) {
  size_t needed = cpb_pair_sums_needed(sums, i, j);
  uint32_t *word = word_of(sums, i, j);
  for (size_t k = 0; k < sums->words && needed > 0; k++)
    word[k] = k < needed ? from[k] : from[needed - 1] >> 31 != 0 ? (uint32_t)low_half : 0;
}

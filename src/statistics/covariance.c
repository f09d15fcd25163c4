#include "statistics/covariance_parts.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "loops/row_state.h"
#include "base/rows.h"
#include "loops/block_product.h"
#include "base/blocks.h"
#include "statistics/exact_sum.h"
#include "statistics/piece_fail.h"

static const uint64_t low_half = 0xffffffff;

static int floor_div(int a, int b) { return a / b - (a % b < 0); }
static int first_of(cpb_column_bits bits) { return floor_div(bits.low, 32); }
static bool is_zero(cpb_column_bits bits) { return bits.low > bits.high; }

static size_t words_needed(cpb_column_bits a, cpb_column_bits b, uint64_t terms) {
  if (is_zero(a) || is_zero(b) || terms == 0) return 0;
  int sign_bit = a.high + b.high + 64 - __builtin_clzll(terms);
  return (size_t)(floor_div(sign_bit, 32) - first_of(a) - first_of(b) + 1);
}

static uint32_t *word_of(const cpb_pair_sums *sums, size_t i, size_t j) {
  return sums->word + (i * sums->columns - i * (i + 1) / 2 + j) * sums->words;
}

/* Number of words that sum (i,j) needs; the others only repeat its sign. */
static size_t pair_sums_needed(const cpb_pair_sums *sums, size_t i, size_t j) {
  return words_needed(sums->bits[i], sums->bits[j], sums->terms);
}

static cpb_wide_int pair_sums_at(const cpb_pair_sums *sums, size_t i, size_t j) {
  if (pair_sums_needed(sums, i, j) == 0) return (cpb_wide_int){NULL, 0, 0};
  return (cpb_wide_int){word_of(sums, i, j), sums->words, first_of(sums->bits[i]) + first_of(sums->bits[j])};
}

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

/* Adds all sums of another object; the space must have been reserved. */
static void pair_sums_add(cpb_pair_sums *sums, const cpb_pair_sums *other) {
  if (sums->words == 0) return; /* all are 0 */
  for (size_t i = 0; i < other->columns; i++)
    for (size_t j = i; j < other->columns; j++)
      add_wide(word_of(sums, i, j), sums->words, pair_sums_at(other, i, j),
               first_of(sums->bits[i]) + first_of(sums->bits[j]));
}

/* Makes space for `terms` more terms from columns with these bits. On ENOMEM nothing has changed. */
static cpb_status pair_sums_reserve(cpb_pair_sums *sums, const cpb_column_bits *bits, uint64_t terms,
                                    cpb_error *error) {
  size_t columns = sums->columns, count = columns * (columns + 1) / 2;
  cpb_pair_sums grown = {.columns = columns, .terms = sums->terms + terms};
  bool fits = true;
  grown.bits = malloc(columns * sizeof *grown.bits);
  if (grown.bits == NULL) return cpb_fail_memory(error, "sums of %zu columns", columns);
  for (size_t i = 0; i < columns; i++) {
    grown.bits[i] = sums->bits[i];
    cpb_bits_widen(&grown.bits[i], bits[i]);
    fits &= first_of(grown.bits[i]) == first_of(sums->bits[i]);
  }
  size_t words = widest(grown.bits, columns, grown.terms);
  grown.words = words > sums->words ? words : sums->words;
  if (fits && words <= sums->words) {
    grown.word = sums->word;
  } else {
    grown.word = grown.words > SIZE_MAX / 4 / count ? NULL : calloc(count * grown.words, sizeof *grown.word);
    if (grown.word == NULL) {
      free(grown.bits);
      return cpb_fail_memory(error, "the products of %zu columns", columns - 1);
    }
    pair_sums_add(&grown, sums);
    free(sums->word);
  }
  free(sums->bits);
  *sums = grown;
  return CPB_OK;
}

/* word += v 2^32 at, v signed. */
static void add_signed(uint32_t *word, size_t words, size_t at, int64_t v) {
  for (; v != 0 && at < words; at++) {
    int64_t sum = (int64_t)word[at] + (v & (int64_t)low_half);
    word[at] = (uint32_t)(sum & (int64_t)low_half);
    v = (v - (v & (int64_t)low_half)) / ((int64_t)1 << 32) + sum / ((int64_t)1 << 32);
  }
}

/* Adds whole 2^exponent to sum (i,j), i <= j, |whole| < 2^55; a multiple of the sum's unit. */
static void pair_sums_deposit(cpb_pair_sums *sums, size_t i, size_t j, int64_t whole, int exponent) {
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

/* Adds the product of two doubles, as above. */
static void pair_sums_product(cpb_pair_sums *sums, size_t i, size_t j, double x, double y) {
  int64_t xh, xl, yh, yl;
  int xe, ye;
  halves(x, &xh, &xl, &xe);
  halves(y, &yh, &yl, &ye);
  /* exponents may be below the sum's unit, but the halves of a multiple of 2^low are multiples of 2^low */
  pair_sums_deposit(sums, i, j, xl * yl, xe + ye);
  pair_sums_deposit(sums, i, j, xl * yh + xh * yl, xe + ye + 27);
  pair_sums_deposit(sums, i, j, xh * yh, xe + ye + 54);
}

enum { SLAB = CPB_COVARIANCE_SLAB, LIMBS = CPB_LIMBS, MOST_COLUMNS = 1 << 14, BAND = 24, STRIP = 128 };

cpb_status cpb_covariance_new(size_t d, cpb_covariance **out, cpb_error *error) {
  if (out == NULL) return cpb_fail_missing(error, "covariance");
  *out = NULL;
  if (d < 1 || d > MOST_COLUMNS) return cpb_fail_count(error, "d", d, "d must be 1 .. %d", MOST_COLUMNS);
  cpb_covariance *c = calloc(1, sizeof *c);
  if (c == NULL) return cpb_fail_memory(error, "a covariance");
  c->d = d;
  size_t bands = cpb_round_up(d + 1, BAND), tiles = cpb_round_up(d + 1, CPB_TILE_COLS);
  c->wide = bands > tiles ? bands : tiles;
  c->sums = (cpb_pair_sums){.columns = d + 1, .bits = malloc((d + 1) * sizeof(cpb_column_bits))};
  if (c->sums.bits == NULL) {
    free(c);
    return cpb_fail_memory(error, "sums of %zu columns", d + 1);
  }
  for (size_t i = 0; i <= d; i++) c->sums.bits[i] = cpb_no_bits;
  *out = c;
  return CPB_OK;
}

void cpb_covariance_free(cpb_covariance *c) {
  if (c == NULL) return;
  free(c->sums.bits);
  free(c->sums.word);
  free(c->row);
  free(c->limb);
  free(c);
}

/* ---- a slab of rows into the sums ----
 * A number of column i is cut into limbs of 21 bits, x = 2^(high_i-20) (k_0 + k_1 2^-21 + k_2 2^-42 + ..),
 * |k| <= 2^20: then products of columns of limbs are exact in double, and those with l+m = t have the same unit. The
 * few numbers that are too small for the last limb are multiplied one at a time. */

enum { LIMB_BITS = 21, TOP_BITS = 20, NUMBERS_PER_LEFTOVER = 256 };

typedef struct slab {
  cpb_covariance *c;
  const cpb_loops *loops;
  cpb_column_bits *bits;          /* of this slab, d+1 */
  _Atomic size_t need[LIMBS + 1]; /* numbers, by how many limbs they need */
  size_t limbs;                   /* 1 .. LIMBS */
  size_t left;                    /* numbers that need more limbs */
} slab;

/* -1022 <= n <= 1023. */
static double power_of_2(int n) {
  uint64_t bits = (uint64_t)(n + 1023) << 52;
  double power;
  memcpy(&power, &bits, sizeof power);
  return power;
}

/* x != 0 is a multiple of 2^low, below 2^high. */
static cpb_column_bits bits_of_number(double x) {
  uint64_t bits, fraction;
  memcpy(&bits, &x, sizeof bits);
  fraction = bits & 0xfffffffffffffu;
  int exponent = (int)(bits >> 52 & 0x7ff);
  if (exponent > 0)
    fraction |= (uint64_t)1 << 52;
  else
    exponent = 1;
  return (cpb_column_bits){exponent - 1075 + __builtin_ctzll(fraction), exponent - 1022};
}

static void find_bits(slab *s) {
  const cpb_covariance *c = s->c;
  for (size_t i = 0; i <= c->d; i++) s->bits[i] = cpb_no_bits;
  for (size_t row = 0; row < c->held; row++)
    for (size_t i = 0; i <= c->d; i++) {
      double x = c->row[row * c->wide + i];
      if (x != 0) cpb_bits_widen(&s->bits[i], bits_of_number(x));
    }
}

static double *limb_at(const cpb_covariance *c, size_t limb, size_t row) {
  return c->limb + (limb * SLAB + row) * c->wide;
}

static void clear_limbs(const cpb_covariance *c, size_t row, size_t i) {
  for (size_t limb = 0; limb < LIMBS; limb++) limb_at(c, limb, row)[i] = 0;
}

/* t 2^-20 = x 2^-high; returns its number of limbs. 0: x is 0, or too small for LIMBS of them. */
static size_t cut_number(const cpb_covariance *c, double t, size_t row, size_t i) {
  static const double magic = 0x1.8p52;
  size_t used = 0;
  for (size_t limb = 0; limb < LIMBS; limb++) {
    double k = (t + magic) - magic;
    limb_at(c, limb, row)[i] = k;
    if (k != 0) used = limb + 1;
    t = (t - k) * (1 << LIMB_BITS);
  }
  if (t == 0) return used;
  clear_limbs(c, row, i);
  return 0;
}

static void cut_rows(void *arg, size_t block, size_t first, size_t count) {
  (void)block;
  slab *s = arg;
  const cpb_covariance *c = s->c;
  size_t need[LIMBS + 1] = {0};
  for (size_t row = first; row < first + count; row++)
    for (size_t i = 0; i <= c->d; i++) {
      double x = c->row[row * c->wide + i];
      int shift = TOP_BITS - s->bits[i].high;
      double t = x == 0 ? 0 : shift < 1000 && shift > -1000 ? x * power_of_2(shift) : ldexp(x, shift);
      need[cut_number(c, t, row, i)] += x != 0;
    }
  for (size_t limbs = 0; limbs <= LIMBS; limbs++) atomic_fetch_add(&s->need[limbs], need[limbs]);
}

/* As few limbs as leave only a few numbers over. */
static void choose_limbs(slab *s) {
  const cpb_covariance *c = s->c;
  size_t most = c->held * (c->d + 1) / NUMBERS_PER_LEFTOVER;
  s->left = s->need[0];
  for (s->limbs = LIMBS; s->limbs > 1 && s->left + s->need[s->limbs] <= most; s->limbs--)
    s->left += s->need[s->limbs];
  for (size_t limb = s->limbs; limb < LIMBS; limb++)
    for (size_t row = 0; row < c->held && s->left > 0; row++)
      for (size_t i = 0; i <= c->d; i++)
        if (limb_at(c, limb, row)[i] != 0) clear_limbs(c, row, i);
}

/* Sums of limbs [i0, i0+BAND) with [j0, j0+STRIP) whose indexes add up to t. */
static void multiply_limbs(const slab *s, size_t i0, size_t j0, size_t t, double *sums) {
  const cpb_covariance *c = s->c;
  memset(sums, 0, (size_t)BAND * STRIP * sizeof *sums);
  size_t left = cpb_round_up(c->d + 1 - j0, CPB_TILE_COLS), cols = left < STRIP ? left : STRIP;
  for (size_t l = t < s->limbs ? 0 : t - s->limbs + 1; l < s->limbs && l <= t; l++) {
    const double *a = limb_at(c, l, 0) + i0, *b = limb_at(c, t - l, 0) + j0;
    cpb_product p = {BAND, cols, c->held, a, 1, c->wide, b, c->wide, sums, STRIP};
    cpb_product_add(s->loops, &p);
  }
}

static void deposit_limbs(const slab *s, size_t i0, size_t j0, size_t t, const double *sums) {
  cpb_covariance *c = s->c;
  for (size_t i = i0; i < i0 + BAND && i <= c->d; i++)
    for (size_t j = j0 > i ? j0 : i; j < j0 + STRIP && j <= c->d; j++)
      pair_sums_deposit(&c->sums, i, j, (int64_t)sums[(i - i0) * STRIP + j - j0],
                        s->bits[i].high + s->bits[j].high - 2 * TOP_BITS - LIMB_BITS * (int)t);
}

static void add_band(void *arg, size_t band, size_t first, size_t count) {
  (void)first;
  (void)count;
  const slab *s = arg;
  double sums[(size_t)BAND * STRIP];
  size_t i0 = band * BAND;
  for (size_t j0 = i0 / CPB_TILE_COLS * CPB_TILE_COLS; j0 <= s->c->d; j0 += STRIP)
    for (size_t t = 0; t + 1 < 2 * s->limbs; t++) {
      multiply_limbs(s, i0, j0, t, sums);
      deposit_limbs(s, i0, j0, t, sums);
    }
}

static bool is_left_over(const slab *s, size_t row, size_t i) {
  bool any = false;
  for (size_t limb = 0; limb < s->limbs; limb++) any |= limb_at(s->c, limb, row)[i] != 0;
  return !any && s->c->row[row * s->c->wide + i] != 0;
}

static void add_left_over(const slab *s, size_t row, size_t i) {
  cpb_covariance *c = s->c;
  const double *x = c->row + row * c->wide;
  for (size_t j = 0; j <= c->d; j++)
    if (x[j] != 0 && !(j < i && is_left_over(s, row, j)))
      pair_sums_product(&c->sums, i < j ? i : j, i < j ? j : i, x[i], x[j]);
}

static void add_slab(slab *s, const cpb_exec *exec) {
  cpb_covariance *c = s->c;
  cpb_blocks_run(&(cpb_blocks){c->held, 32, cut_rows, s}, exec);
  choose_limbs(s);
  cpb_blocks_run(&(cpb_blocks){c->d + 1, BAND, add_band, s}, exec);
  for (size_t row = 0; row < c->held && s->left > 0; row++)
    for (size_t i = 0; i <= c->d; i++)
      if (is_left_over(s, row, i)) add_left_over(s, row, i);
}

/* Adds the held rows to the sums. */
static cpb_status covariance_flush(cpb_covariance *c, const cpb_exec *exec, cpb_error *error) {
  if (c->held == 0) return CPB_OK;
  slab s = {.c = c, .loops = cpb_loops_here(), .bits = malloc((c->d + 1) * sizeof *s.bits)};
  if (s.bits == NULL) return cpb_fail_memory(error, "%zu columns", c->d);
  find_bits(&s);
  cpb_status status = pair_sums_reserve(&c->sums, s.bits, c->held, error);
  if (status == CPB_OK) {
    add_slab(&s, exec);
    c->held = 0;
  }
  free(s.bits);
  return status;
}

static cpb_status make_room(cpb_covariance *c, const cpb_exec *exec, cpb_error *error) {
  if (c->held == SLAB) return covariance_flush(c, exec, error);
  if (c->row == NULL) c->row = calloc(SLAB * c->wide, sizeof *c->row);
  if (c->limb == NULL) c->limb = calloc(LIMBS * SLAB * c->wide, sizeof *c->limb);
  if (c->row != NULL && c->limb != NULL) return CPB_OK;
  return cpb_fail_memory(error, "%d rows of %zu columns", SLAB, c->d);
}

cpb_status cpb_covariance_update(cpb_covariance *c, cpb_view rows, const cpb_exec *exec, cpb_error *error) {
  if (c == NULL) return cpb_fail_missing(error, "covariance");
  cpb_status status = cpb_check_view(rows, "rows", c->d, error);
  const cpb_loops *loops = cpb_loops_here();
  size_t bytes = rows.stride * cpb_dtype_size(rows.dtype);
  for (size_t row = 0; row < rows.rows && status == CPB_OK; row++) {
    int fault = cpb_row_fault(loops, rows, row);
    if (fault != 0) {
      *(fault == CPB_FAULT_NAN ? &c->nan_rows : &c->inf_rows) += 1;
      continue;
    }
    status = make_room(c, exec, error);
    if (status != CPB_OK) break;
    double *to = c->row + c->held++ * c->wide;
    loops->widen[rows.dtype]((const char *)rows.data + row * bytes, c->d, to);
    to[c->d] = 1;
    c->rows++;
  }
  return status;
}

cpb_status cpb_covariance_merge(cpb_covariance *whole, const cpb_covariance *piece, const cpb_exec *exec,
                                cpb_error *error) {
  if (whole == NULL || piece == NULL || whole == piece) return cpb_fail_same_piece(error, "covariances");
  if (whole->d != piece->d) return cpb_fail_piece_columns(error, whole->d, piece->d);
  cpb_status status = covariance_flush(whole, exec, error);
  if (status == CPB_OK && piece->held > 0) status = make_room(whole, exec, error);
  if (status == CPB_OK) status = pair_sums_reserve(&whole->sums, piece->sums.bits, piece->sums.terms, error);
  if (status != CPB_OK) return status;
  pair_sums_add(&whole->sums, &piece->sums);
  if (piece->held > 0) memcpy(whole->row, piece->row, piece->held * piece->wide * sizeof *whole->row);
  whole->held = piece->held;
  whole->rows += piece->rows;
  whole->nan_rows += piece->nan_rows;
  whole->inf_rows += piece->inf_rows;
  return CPB_OK;
}

/* n^2 cov_ij = n sum x_i x_j - sum x_i sum x_j exactly: only this number and two divisions by n are rounded. */

/* Sign and magnitude, or two's complement. Products of two doubles span 2^-2148 .. 2^2048, times n and a square of n. */
enum { MOST_WORDS = 320 };
typedef struct big {
  bool negative;
  int first; /* word 0 counts 2^(32 first) */
  size_t words;
  uint32_t word[MOST_WORDS];
} big;

/* From two's complement to sign and magnitude, without zeros at the top. */
static void big_to_magnitude(big *a) {
  a->negative = a->words > 0 && a->word[a->words - 1] >> 31 != 0;
  uint64_t carry = 1;
  for (size_t k = 0; k < a->words && a->negative; k++) {
    carry += (uint32_t)~a->word[k];
    a->word[k] = (uint32_t)carry;
    carry >>= 32;
  }
  while (a->words > 0 && a->word[a->words - 1] == 0) a->words--;
}

static void big_load(big *a, cpb_wide_int from) {
  a->first = from.first;
  a->words = from.words;
  if (from.words > 0) memcpy(a->word, from.word, from.words * sizeof *from.word);
  big_to_magnitude(a);
}

/* sum += a b, or sum -= a b; the sum is two's complement and has enough words. */
static void big_add_product(big *sum, const big *a, const big *b, bool minus) {
  size_t shift = (size_t)(a->first + b->first - sum->first);
  bool negative = minus != (a->negative != b->negative);
  for (size_t i = 0; i < a->words; i++) {
    uint64_t product = 0;
    int64_t carry = 0;
    for (size_t j = 0; i + j + shift < sum->words && (j < b->words || product != 0 || carry != 0); j++) {
      product += j < b->words ? (uint64_t)a->word[i] * b->word[j] : 0;
      int64_t part = (int64_t)(uint32_t)product, total = sum->word[i + j + shift] + carry;
      total += negative ? -part : part;
      sum->word[i + j + shift] = (uint32_t)(total & (int64_t)low_half);
      carry = total < 0 ? -1 : total >> 32;
      product >>= 32;
    }
  }
}

static int product_end(const big *a, const big *b) {
  return a->first + b->first + (int)(a->words + b->words);
}

/* a / n^2. */
static double big_over_square(const big *a, uint64_t n) {
  enum { USED = 4 }; /* at least 97 bits */
  double value = 0;
  size_t from = a->words > USED ? a->words - USED : 0;
  for (size_t k = from; k < a->words; k++) value = value * 0x1p-32 + (double)a->word[k];
  value = value / (double)n / (double)n;
  return ldexp(a->negative ? -value : value, 32 * (a->first + (int)a->words - 1));
}

typedef struct finish {
  const cpb_covariance *c;
  double *matrix;
  _Atomic size_t beyond; /* the first i*d + j beyond double */
} finish;

static double element(const cpb_pair_sums *sums, size_t i, size_t j, uint64_t n) {
  big xi, xj, xx, count, difference;
  const uint32_t n_words[] = {(uint32_t)n, (uint32_t)(n >> 32), 0};
  size_t one = sums->columns - 1;
  big_load(&xi, pair_sums_at(sums, i, one));
  big_load(&xj, pair_sums_at(sums, j, one));
  big_load(&xx, pair_sums_at(sums, i, j));
  big_load(&count, (cpb_wide_int){n_words, 3, 0});
  int left = product_end(&count, &xx), right = product_end(&xi, &xj);
  int first = xx.first < xi.first + xj.first ? xx.first : xi.first + xj.first;
  difference.first = first;
  difference.words = (size_t)((left > right ? left : right) + 1 - first);
  memset(difference.word, 0, difference.words * sizeof *difference.word);
  big_add_product(&difference, &count, &xx, false);
  big_add_product(&difference, &xi, &xj, true);
  big_to_magnitude(&difference);
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
    if (isinf(value)) cpb_report_least(&f->beyond, i * d + j);
  }
}

/* The sum of column i as in cpb_statistics, so that the means agree. */
static double mean_of(const cpb_covariance *c, size_t i) {
  cpb_exact_sum sum;
  cpb_exact_clear(&sum);
  cpb_wide_int from = pair_sums_at(&c->sums, i, c->d);
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
  cpb_status status = covariance_flush(c, exec, error);
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

/* A covariance as bytes; see core/state_bytes.h.
 *
 *   "CPBCOVAR"  u32 version  u64 d  u64 rows  u64 NaN rows  u64 inf rows
 *   per column i32 low  i32 high                  (no columns and sums without rows; 0, -1 for a column of 0)
 *   per pair i <= j of columns, the last of which is 1: the words its sum needs, u32 each
 *   u64 FNV-1a of all before */

enum { VERSION = 1, LEAST_BIT = -1074, MOST_BIT = 1024, STATE_WORDS = 256 };
static const cpb_state_kind kind = {"CPBCOVAR", VERSION, "covariances", VERSION};

static const cpb_state_member counts[] = {CPB_MEMBER(U64, cpb_covariance, rows),
                                          CPB_MEMBER(U64, cpb_covariance, nan_rows),
                                          CPB_MEMBER(U64, cpb_covariance, inf_rows)};

static const cpb_state_member range[] = {CPB_MEMBER(I32, cpb_column_bits, low),
                                         CPB_MEMBER(I32, cpb_column_bits, high)};

/* The ranges of all columns; reading makes space for the sums. */
static void carry_columns(cpb_state *s, cpb_covariance *c) {
  size_t d = c->d, columns = 0; /* that are not all 0; each pair of them takes a word */
  cpb_column_bits *bits = s->reading ? malloc((d + 1) * sizeof *bits) : NULL;
  if (s->reading && bits == NULL) cpb_state_no_memory(s, "columns", d);
  for (size_t i = 0; i < d && s->status == CPB_OK; i++) {
    cpb_column_bits here = is_zero(c->sums.bits[i]) ? (cpb_column_bits){0, -1} : c->sums.bits[i];
    cpb_state_serialize_members(s, &here, CPB_STATE_TABLE(range), 0);
    bool zero = here.low == 0 && here.high == -1;
    cpb_state_require(s, zero || (here.low >= LEAST_BIT && here.high <= MOST_BIT && here.low < here.high),
                      "a column has impossible numbers");
    columns += !zero;
    if (bits != NULL) bits[i] = zero ? cpb_no_bits : here;
  }
  cpb_state_require(s, columns * (columns + 1) / 2 <= s->left / 4, "the state is truncated");
  if (s->reading && s->status == CPB_OK) {
    bits[d] = (cpb_column_bits){0, 1};
    s->status = pair_sums_reserve(&c->sums, bits, c->rows, s->error);
  }
  free(bits);
}

static void carry_sum(cpb_state *s, cpb_covariance *c, size_t i, size_t j) {
  size_t needed = pair_sums_needed(&c->sums, i, j);
  if (needed > STATE_WORDS) cpb_state_refuse(s, "a sum has impossible digits");
  if (needed == 0 || s->status != CPB_OK) return;
  uint32_t *word = word_of(&c->sums, i, j);
  for (size_t k = 0; k < needed; k++) word[k] = (uint32_t)cpb_state_number(s, word[k], 4);
  bool negative = word[needed - 1] >> 31 != 0;
  for (size_t k = needed; k < c->sums.words; k++) word[k] = negative ? (uint32_t)low_half : 0;
  uint64_t rows = word[0] | (uint64_t)(needed > 1 ? word[1] : 0) << 32;
  cpb_state_require(s, i != j || !negative, "a sum of squares is negative");
  cpb_state_require(s, i != c->d || rows == c->rows, "the sums do not match the number of rows");
}

static void carry(cpb_state *s, void **object) {
  cpb_covariance *c = *object;
  cpb_state_begin(s, &kind);
  size_t d = cpb_state_size(s, s->reading ? 0 : c->d);
  if (s->reading && s->status == CPB_OK) {
    cpb_error why;
    cpb_state_require(s, cpb_covariance_new(d, &c, &why) == CPB_OK, why.text);
    *object = c;
  }
  if (s->status != CPB_OK) return;
  cpb_state_serialize_members(s, c, CPB_STATE_TABLE(counts), 0);
  cpb_state_require(s, c->rows == 0 || d <= s->left / 8, "the state is truncated");
  if (c->rows > 0) carry_columns(s, c);
  for (size_t i = 0; i <= c->d && c->rows > 0 && s->status == CPB_OK; i++)
    for (size_t j = i; j <= c->d && s->status == CPB_OK; j++) carry_sum(s, c, i, j);
  cpb_state_end(s);
}

cpb_status cpb_covariance_serialize(cpb_covariance *c, void **bytes, size_t *count, const cpb_exec *exec,
                                    cpb_error *error) {
  if (c == NULL || bytes == NULL || count == NULL)
    return cpb_fail_missing(error, c == NULL ? "covariance" : bytes == NULL ? "bytes" : "count");
  *bytes = NULL;
  cpb_status status = covariance_flush(c, exec, error);
  return status != CPB_OK ? status : cpb_state_write(carry, c, bytes, count, error);
}

static void release(void *covariance) { cpb_covariance_free(covariance); }

cpb_status cpb_covariance_deserialize(const void *bytes, size_t count, const char *name, cpb_covariance **out,
                                      cpb_error *error) {
  return cpb_state_read(carry, release, "covariance", bytes, count, name, out, error);
}

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "batch/row_state.h"
#include "core/fail.h"
#include "core/rows.h"
#include "loop/block_product.h"
#include "parallel/blocks.h"
#include "scale/covariance_parts.h"
#include "scale/piece_fail.h"

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
  cpb_status status = cpb_pair_sums_new(&c->sums, d + 1, error);
  if (status != CPB_OK) {
    free(c);
    return status;
  }
  *out = c;
  return CPB_OK;
}

void cpb_covariance_free(cpb_covariance *c) {
  if (c == NULL) return;
  cpb_pair_sums_free(&c->sums);
  free(c->row);
  free(c->limb);
  free(c);
}

uint64_t cpb_covariance_rows(const cpb_covariance *c) { return c->rows; }
uint64_t cpb_covariance_bad_rows(const cpb_covariance *c) { return c->nan_rows + c->inf_rows; }

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
  for (size_t l = 0; l < s->limbs && l <= t; l++)
    if (t - l < s->limbs)
      cpb_product_add(s->loops, &(cpb_product){.rows = BAND,
                                               .cols = cols,
                                               .k = c->held,
                                               .a = limb_at(c, l, 0) + i0,
                                               .a_row = 1,
                                               .a_k = c->wide,
                                               .b = limb_at(c, t - l, 0) + j0,
                                               .b_k = c->wide,
                                               .c = sums,
                                               .c_row = STRIP});
}

static void deposit_limbs(const slab *s, size_t i0, size_t j0, size_t t, const double *sums) {
  cpb_covariance *c = s->c;
  for (size_t i = i0; i < i0 + BAND && i <= c->d; i++)
    for (size_t j = j0 > i ? j0 : i; j < j0 + STRIP && j <= c->d; j++)
      cpb_pair_sums_deposit(&c->sums, i, j, (int64_t)sums[(i - i0) * STRIP + j - j0],
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
      cpb_pair_sums_product(&c->sums, i < j ? i : j, i < j ? j : i, x[i], x[j]);
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

cpb_status cpb_covariance_flush(cpb_covariance *c, const cpb_exec *exec, cpb_error *error) {
  if (c->held == 0) return CPB_OK;
  slab s = {.c = c, .loops = cpb_loops_here(), .bits = malloc((c->d + 1) * sizeof *s.bits)};
  if (s.bits == NULL) return cpb_fail_memory(error, "%zu columns", c->d);
  find_bits(&s);
  cpb_status status = cpb_pair_sums_reserve(&c->sums, s.bits, c->held, error);
  if (status == CPB_OK) {
    add_slab(&s, exec);
    c->held = 0;
  }
  free(s.bits);
  return status;
}

/* ---- taking rows in ---- */

static cpb_status make_room(cpb_covariance *c, const cpb_exec *exec, cpb_error *error) {
  if (c->held == SLAB) return cpb_covariance_flush(c, exec, error);
  if (c->row == NULL) c->row = calloc(SLAB * c->wide, sizeof *c->row);
  if (c->limb == NULL) c->limb = calloc(LIMBS * SLAB * c->wide, sizeof *c->limb);
  if (c->row != NULL && c->limb != NULL) return CPB_OK;
  return cpb_fail_memory(error, "%d rows of %zu columns", SLAB, c->d);
}

static void hold(cpb_covariance *c, const cpb_loops *loops, cpb_view rows, size_t row) {
  double *to = c->row + c->held++ * c->wide;
  loops->widen[rows.dtype]((const char *)rows.data + row * rows.stride * cpb_dtype_size(rows.dtype), c->d,
                           to);
  to[c->d] = 1;
  c->rows++;
}

cpb_status cpb_covariance_update(cpb_covariance *c, cpb_view rows, const cpb_exec *exec, cpb_error *error) {
  if (c == NULL) return cpb_fail_missing(error, "covariance");
  cpb_status status = cpb_check_view(rows, "rows", c->d, error);
  const cpb_loops *loops = cpb_loops_here();
  for (size_t row = 0; row < rows.rows && status == CPB_OK; row++) {
    int fault = cpb_row_fault(loops, rows, row);
    if (fault != 0) {
      *(fault == CPB_FAULT_NAN ? &c->nan_rows : &c->inf_rows) += 1;
      continue;
    }
    status = make_room(c, exec, error);
    if (status == CPB_OK) hold(c, loops, rows, row);
  }
  return status;
}

cpb_status cpb_covariance_merge(cpb_covariance *whole, const cpb_covariance *piece, const cpb_exec *exec,
                                cpb_error *error) {
  if (whole == NULL || piece == NULL || whole == piece) return cpb_fail_same_piece(error, "covariances");
  if (whole->d != piece->d) return cpb_fail_piece_columns(error, whole->d, piece->d);
  cpb_status status = cpb_covariance_flush(whole, exec, error);
  if (status == CPB_OK && piece->held > 0) status = make_room(whole, exec, error);
  if (status == CPB_OK)
    status = cpb_pair_sums_reserve(&whole->sums, piece->sums.bits, piece->sums.terms, error);
  if (status != CPB_OK) return status;
  cpb_pair_sums_add(&whole->sums, &piece->sums);
  if (piece->held > 0) memcpy(whole->row, piece->row, piece->held * piece->wide * sizeof *whole->row);
  whole->held = piece->held;
  whole->rows += piece->rows;
  whole->nan_rows += piece->nan_rows;
  whole->inf_rows += piece->inf_rows;
  return CPB_OK;
}

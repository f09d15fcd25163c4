/* A covariance as bytes; see core/state_bytes.h.
 *
 *   "CPBCOVAR"  u32 version  u64 d  u64 rows  u64 NaN rows  u64 inf rows
 *   per column i32 low  i32 high                  (no columns and sums without rows; 0, -1 for a column of 0)
 *   per pair i <= j of columns, the last of which is 1: the words its sum needs, u32 each
 *   u64 FNV-1a of all before */
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "core/state_bytes.h"
#include "scale/covariance_parts.h"

enum { VERSION = 1, LEAST_BIT = -1074, MOST_BIT = 1024 };
static const cpb_state_kind kind = {"CPBCOVAR", VERSION, "covariances", VERSION};

static void put_all(cpb_state_out *to, void *covariance) {
  const cpb_covariance *c = covariance;
  cpb_put_bytes(to, kind.mark, 8);
  cpb_put_number(to, VERSION, 4);
  cpb_put_number(to, c->d, 8);
  cpb_put_number(to, c->rows, 8);
  cpb_put_number(to, c->nan_rows, 8);
  cpb_put_number(to, c->inf_rows, 8);
  const cpb_pair_sums *sums = &c->sums;
  for (size_t i = 0; i < c->d && c->rows > 0; i++) {
    cpb_column_bits bits = sums->bits[i].low > sums->bits[i].high ? (cpb_column_bits){0, -1} : sums->bits[i];
    cpb_put_number(to, (uint64_t)bits.low, 4);
    cpb_put_number(to, (uint64_t)bits.high, 4);
  }
  for (size_t i = 0; i <= c->d && c->rows > 0; i++)
    for (size_t j = i; j <= c->d; j++) {
      size_t needed = cpb_pair_sums_needed(sums, i, j);
      cpb_wide_int sum = cpb_pair_sums_at(sums, i, j);
      for (size_t k = 0; k < needed; k++) cpb_put_number(to, sum.word[k], 4);
    }
  cpb_put_checksum(to);
}

cpb_status cpb_covariance_serialize(cpb_covariance *c, void **bytes, size_t *count, const cpb_exec *exec,
                                    cpb_error *error) {
  if (c == NULL || bytes == NULL || count == NULL)
    return cpb_fail_missing(error, c == NULL ? "covariance" : bytes == NULL ? "bytes" : "count");
  *bytes = NULL;
  cpb_status status = cpb_covariance_flush(c, exec, error);
  return status != CPB_OK ? status : cpb_state_write(put_all, c, bytes, count, error);
}

/* ---- reading ---- */

static void get_bits(cpb_state_in *from, cpb_column_bits *bits, size_t d) {
  size_t columns = 0; /* that are not 0; each pair of them takes a word */
  for (size_t i = 0; i < d && from->status == CPB_OK; i++) {
    bits[i].low = (int)(int32_t)(uint32_t)cpb_get_number(from, 4);
    bits[i].high = (int)(int32_t)(uint32_t)cpb_get_number(from, 4);
    if (bits[i].low == 0 && bits[i].high == -1) {
      bits[i] = cpb_no_bits;
      continue;
    }
    if (bits[i].low < LEAST_BIT || bits[i].high > MOST_BIT || bits[i].low >= bits[i].high)
      cpb_state_refuse(from, "a column has impossible numbers");
    columns++;
  }
  bits[d] = (cpb_column_bits){0, 1};
  if (from->status == CPB_OK && columns * (columns + 1) / 2 > from->left / 4)
    cpb_state_refuse(from, "the state is truncated");
}

static void get_sum(cpb_state_in *from, cpb_covariance *c, size_t i, size_t j) {
  size_t needed = cpb_pair_sums_needed(&c->sums, i, j);
  uint32_t word[256] = {0};
  if (needed > 256) cpb_state_refuse(from, "a sum has impossible digits");
  if (needed == 0 || from->status != CPB_OK) return;
  for (size_t k = 0; k < needed; k++) word[k] = (uint32_t)cpb_get_number(from, 4);
  if (i == j && word[needed - 1] >> 31 != 0) cpb_state_refuse(from, "a sum of squares is negative");
  if (i == c->d && (word[0] | (uint64_t)(needed > 1 ? word[1] : 0) << 32) != c->rows)
    cpb_state_refuse(from, "the sums are not of as many rows as it says");
  cpb_pair_sums_set(&c->sums, i, j, word);
}

static void get_sums(cpb_state_in *from, cpb_covariance *c) {
  size_t d = c->d;
  cpb_column_bits *bits = malloc((d + 1) * sizeof *bits);
  if (bits == NULL) from->status = cpb_fail_memory(from->error, "%zu columns", d);
  if (bits != NULL) get_bits(from, bits, d);
  if (from->status == CPB_OK) from->status = cpb_pair_sums_reserve(&c->sums, bits, c->rows, from->error);
  free(bits);
  for (size_t i = 0; i <= d && from->status == CPB_OK; i++)
    for (size_t j = i; j <= d && from->status == CPB_OK; j++) get_sum(from, c, i, j);
}

static void get_all(cpb_state_in *from, cpb_covariance **out) {
  cpb_error why;
  cpb_state_begin(from, &kind);
  size_t d = cpb_get_size(from);
  uint64_t rows = cpb_get_number(from, 8);
  uint64_t nan_rows = cpb_get_number(from, 8), inf_rows = cpb_get_number(from, 8);
  if (from->status == CPB_OK && rows > 0 && d > from->left / 8)
    cpb_state_refuse(from, "the state is truncated");
  if (from->status == CPB_OK && cpb_covariance_new(d, out, &why) != CPB_OK) cpb_state_refuse(from, why.text);
  if (from->status != CPB_OK) return;
  cpb_covariance *c = *out;
  c->rows = rows;
  c->nan_rows = nan_rows;
  c->inf_rows = inf_rows;
  if (rows > 0) get_sums(from, c);
  cpb_state_end(from);
}

cpb_status cpb_covariance_deserialize(const void *bytes, size_t count, const char *name, cpb_covariance **out,
                                      cpb_error *error) {
  if (bytes == NULL || out == NULL) return cpb_fail_missing(error, bytes == NULL ? "bytes" : "covariance");
  *out = NULL;
  cpb_state_in from = {bytes, count, name == NULL ? "state" : name, CPB_OK, error, 0};
  get_all(&from, out);
  if (from.status == CPB_OK) return CPB_OK;
  cpb_covariance_free(*out);
  *out = NULL;
  return from.status;
}

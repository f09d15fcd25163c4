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

enum { VERSION = 1, LEAST_BIT = -1074, MOST_BIT = 1024, MOST_WORDS = 256 };
static const cpb_state_kind kind = {"CPBCOVAR", VERSION, "covariances", VERSION};

static const cpb_state_member counts[] = {
    CPB_MEMBER(SIZE, cpb_covariance, d), CPB_MEMBER(U64, cpb_covariance, rows),
    CPB_MEMBER(U64, cpb_covariance, nan_rows), CPB_MEMBER(U64, cpb_covariance, inf_rows)};

static const cpb_state_member range[] = {CPB_MEMBER(I32, cpb_column_bits, low),
                                         CPB_MEMBER(I32, cpb_column_bits, high)};

static void write_columns(cpb_state *s, const cpb_covariance *c) {
  for (size_t i = 0; i < c->d; i++) {
    cpb_column_bits bits = c->sums.bits[i];
    if (bits.low > bits.high) bits = (cpb_column_bits){0, -1};
    cpb_state_carry_members(s, &bits, CPB_STATE_TABLE(range), 0);
  }
}

static void read_bits(cpb_state *s, cpb_column_bits *bits, size_t d) {
  size_t columns = 0; /* that are not all 0; each pair of them takes a word */
  for (size_t i = 0; i < d && s->status == CPB_OK; i++) {
    cpb_state_carry_members(s, &bits[i], CPB_STATE_TABLE(range), 0);
    if (bits[i].low == 0 && bits[i].high == -1) {
      bits[i] = cpb_no_bits;
      continue;
    }
    cpb_state_require(s, bits[i].low >= LEAST_BIT && bits[i].high <= MOST_BIT && bits[i].low < bits[i].high,
                      "a column has impossible numbers");
    columns++;
  }
  bits[d] = (cpb_column_bits){0, 1};
  cpb_state_require(s, columns * (columns + 1) / 2 <= s->left / 4, "the state is truncated");
}

static void read_columns(cpb_state *s, cpb_covariance *c) {
  cpb_column_bits *bits = malloc((c->d + 1) * sizeof *bits);
  if (bits == NULL)
    cpb_state_no_memory(s, "columns", c->d);
  else
    read_bits(s, bits, c->d);
  if (s->status == CPB_OK) s->status = cpb_pair_sums_reserve(&c->sums, bits, c->rows, s->error);
  free(bits);
}

static void carry_sum(cpb_state *s, cpb_covariance *c, size_t i, size_t j) {
  size_t needed = cpb_pair_sums_needed(&c->sums, i, j);
  uint32_t word[MOST_WORDS] = {0};
  if (needed > MOST_WORDS) cpb_state_refuse(s, "a sum has impossible digits");
  if (needed == 0 || s->status != CPB_OK) return;
  if (!s->reading) memcpy(word, cpb_pair_sums_at(&c->sums, i, j).word, needed * sizeof *word);
  for (size_t k = 0; k < needed; k++) word[k] = (uint32_t)cpb_state_number(s, word[k], 4);
  if (!s->reading) return;
  cpb_state_require(s, i != j || word[needed - 1] >> 31 == 0, "a sum of squares is negative");
  uint64_t rows = word[0] | (uint64_t)(needed > 1 ? word[1] : 0) << 32;
  cpb_state_require(s, i != c->d || rows == c->rows, "the sums do not match the number of rows");
  cpb_pair_sums_set(&c->sums, i, j, word);
}

static void make(cpb_state *s, const cpb_covariance *said, void **object) {
  cpb_error why;
  cpb_covariance *c;
  cpb_state_require(s, said->rows == 0 || said->d <= s->left / 8, "the state is truncated");
  if (s->status != CPB_OK) return;
  if (cpb_covariance_new(said->d, &c, &why) != CPB_OK) {
    cpb_state_refuse(s, why.text);
    return;
  }
  c->rows = said->rows;
  c->nan_rows = said->nan_rows;
  c->inf_rows = said->inf_rows;
  *object = c;
}

static void carry(cpb_state *s, void **object) {
  cpb_covariance said = {0};
  cpb_state_begin(s, &kind);
  cpb_state_carry_members(s, s->reading ? &said : *object, CPB_STATE_TABLE(counts), 0);
  if (s->reading) make(s, &said, object);
  cpb_covariance *c = *object;
  if (s->status != CPB_OK) return;
  if (c->rows > 0 && s->reading) read_columns(s, c);
  if (c->rows > 0 && !s->reading) write_columns(s, c);
  for (size_t i = 0; i <= c->d && c->rows > 0 && s->status == CPB_OK; i++)
    for (size_t j = i; j <= c->d && s->status == CPB_OK; j++) carry_sum(s, c, i, j);
  cpb_state_end(s);
}

cpb_status cpb_covariance_serialize(cpb_covariance *c, void **bytes, size_t *count, const cpb_exec *exec,
                                    cpb_error *error) {
  if (c == NULL || bytes == NULL || count == NULL)
    return cpb_fail_missing(error, c == NULL ? "covariance" : bytes == NULL ? "bytes" : "count");
  *bytes = NULL;
  cpb_status status = cpb_covariance_flush(c, exec, error);
  return status != CPB_OK ? status : cpb_state_write(carry, c, bytes, count, error);
}

static void release(void *covariance) { cpb_covariance_free(covariance); }

cpb_status cpb_covariance_deserialize(const void *bytes, size_t count, const char *name, cpb_covariance **out,
                                      cpb_error *error) {
  return cpb_state_read(carry, release, "covariance", bytes, count, name, out, error);
}

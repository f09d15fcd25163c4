/* A tail as bytes; see core/state_bytes.h.
 *
 *   "CPBTAILS"  u32 version  u64 d  f64 nu  f64 gap  u64 max rounds
 *   u64 round  i32 exponent  i32 octave  f64 total  f64 edge  d f64 center
 *   u64 rows;  round 0 with rows: d f64 low, d f64 high
 *   2 (d+2) sums, each  u32 first digit  u32 digits, per digit  i64
 *   u64 bins, per bin  u32 bin  u64 weight
 *   u64 rows near the edge, per row  u64 id  f64 weight  f64 distance^2  d f64
 *   u64 columns, per column  f64 height  f64 weight  d f64
 *   f64 doubt  f64 upper  f64 lower  f64 edge  u64 stalls  u32 done  d f64 origin  d f64 best
 *   u64 FNV-1a of all before */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "core/state_bytes.h"
#include "learn/tail_parts.h"

enum { VERSION = 1 };
static const cpb_state_kind kind = {"CPBTAILS", VERSION, "tails", VERSION};

static const cpb_state_member option_table[] = {CPB_MEMBER(F64, cpb_svdd_options, nu),
                                                CPB_MEMBER(F64, cpb_svdd_options, gap),
                                                CPB_MEMBER(SIZE, cpb_svdd_options, max_iterations)};

static const cpb_state_member question_table[] = {
    CPB_MEMBER(U64, cpb_tail_question, round),   CPB_MEMBER(I32, cpb_tail_question, exponent),
    CPB_MEMBER(I32, cpb_tail_question, octave),  CPB_MEMBER(FINITE, cpb_tail_question, total),
    CPB_MEMBER(FINITE, cpb_tail_question, edge), CPB_MEMBER_ROWS(cpb_tail_question, center)};

static const cpb_state_member row_table[] = {
    CPB_MEMBER_EACH(U64, cpb_tail_rows, id), CPB_MEMBER_EACH(FINITE, cpb_tail_rows, weight),
    CPB_MEMBER_EACH(FINITE, cpb_tail_rows, dist2), CPB_MEMBER_ROWS(cpb_tail_rows, p)};

static const cpb_state_member column_table[] = {CPB_MEMBER_EACH(FINITE, cpb_tail_known, q),
                                                CPB_MEMBER_EACH(FINITE, cpb_tail_known, mass),
                                                CPB_MEMBER_ROWS(cpb_tail_known, p)};

static const cpb_state_member known_table[] = {
    CPB_MEMBER(FINITE, cpb_tail_known, doubt), CPB_MEMBER(F64, cpb_tail_known, upper),
    CPB_MEMBER(F64, cpb_tail_known, lower),    CPB_MEMBER(FINITE, cpb_tail_known, edge),
    CPB_MEMBER(U64, cpb_tail_known, stalls),   CPB_MEMBER(FLAG, cpb_tail_known, done),
    CPB_MEMBER_ROWS(cpb_tail_known, origin),   CPB_MEMBER_ROWS(cpb_tail_known, best)};

static bool within(int x, int limit) { return x >= -limit && x <= limit; }

static void carry_round(cpb_state *s, cpb_tail *tail) {
  cpb_tail_question *ask = &tail->ask;
  cpb_state_carry_members(s, ask, CPB_STATE_TABLE(question_table), tail->d);
  cpb_state_require(s, within(ask->exponent, 1100) && within(ask->octave, 2200), "its unit cannot be");
  cpb_state_require(s, ask->round == 0 || ask->total > 0, "its weight cannot be");
  tail->got.rows = cpb_state_number(s, tail->got.rows, 8);
  if (ask->round == 0 && tail->got.rows > 0) cpb_state_doubles(s, tail->got.low, 2 * tail->d); /* and high */
  for (size_t k = 0; k < cpb_tail_sums(tail) && s->status == CPB_OK; k++) cpb_state_sum(s, &tail->got.sum[k]);
}

static void write_bins(cpb_state *s, const uint64_t *bins) {
  uint64_t used = 0;
  for (size_t b = 0; b < CPB_TAIL_BINS; b++) used += bins[b] > 0;
  cpb_state_number(s, used, 8);
  for (size_t b = 0; b < CPB_TAIL_BINS; b++) {
    if (bins[b] == 0) continue;
    cpb_state_number(s, b, 4);
    cpb_state_number(s, bins[b], 8);
  }
}

static void read_bins(cpb_state *s, uint64_t *bins) {
  size_t count = cpb_state_count(s, 0, 12);
  for (size_t k = 0; k < count && s->status == CPB_OK; k++) {
    uint64_t b = cpb_state_number(s, 0, 4), weight = cpb_state_number(s, 0, 8);
    if (b >= CPB_TAIL_BINS)
      cpb_state_refuse(s, "a bin has an impossible number");
    else
      bins[b] = weight;
  }
}

static void carry_rows(cpb_state *s, cpb_tail *tail) {
  cpb_tail_rows *rows = &tail->got.near_edge;
  size_t count = cpb_state_count(s, rows->count, (tail->d + 3) * 8);
  cpb_state_require(s, count <= CPB_TAIL_ROWS, "it has too many rows");
  if (s->reading && s->status == CPB_OK && cpb_tail_rows_room(rows, tail->d) != CPB_OK)
    cpb_state_no_memory(s, "columns", tail->d);
  for (size_t i = 0; i < count && s->status == CPB_OK; i++) {
    cpb_state_carry_record(s, rows, CPB_STATE_TABLE(row_table), tail->d, i);
    cpb_state_require(s, rows->weight[i] > 0 && rows->dist2[i] >= 0, "a row has an impossible weight");
  }
  if (s->reading && s->status == CPB_OK) cpb_tail_take_rows(tail, count);
}

static void carry_known(cpb_state *s, cpb_tail *tail) {
  cpb_tail_known *known = &tail->known;
  size_t count = cpb_state_count(s, known->column_count, (tail->d + 2) * 8);
  if (s->reading && cpb_tail_columns_room(tail, count) != CPB_OK) cpb_state_no_memory(s, "columns", count);
  cpb_state_carry_records(s, known, CPB_STATE_TABLE(column_table), tail->d, count);
  known->column_count = count;
  cpb_state_carry_members(s, known, CPB_STATE_TABLE(known_table), tail->d);
  cpb_state_require(s, known->upper >= 0 && !isnan(known->lower), "its bounds cannot be");
}

static void make(cpb_state *s, void **object, const cpb_svdd_options *options, size_t d) {
  cpb_tail *made = NULL;
  cpb_error why;
  if (s->status == CPB_OK && cpb_tail_new(d, options, &made, &why) != CPB_OK) cpb_state_refuse(s, why.text);
  *object = made;
}

static void carry(cpb_state *s, void **object) {
  cpb_tail *tail = *object;
  cpb_svdd_options options;
  cpb_svdd_options_init(&options, sizeof options);
  cpb_state_begin(s, &kind);
  size_t d = cpb_state_count(s, s->reading ? 0 : tail->d, 8);
  cpb_state_carry_members(s, s->reading ? &options : &tail->options, CPB_STATE_TABLE(option_table), 0);
  if (s->reading) make(s, object, &options, d);
  if (s->status != CPB_OK) return;
  tail = *object;
  carry_round(s, tail);
  if (s->reading)
    read_bins(s, tail->got.bins);
  else
    write_bins(s, tail->got.bins);
  carry_rows(s, tail);
  carry_known(s, tail);
  cpb_state_end(s);
}

/* Rows near the edge go in order: equal states are equal bytes. */
cpb_status cpb_tail_serialize(const cpb_tail *tail, void **bytes, size_t *count, cpb_error *error) {
  if (tail == NULL || bytes == NULL || count == NULL)
    return cpb_fail_missing(error, tail == NULL ? "tail" : bytes == NULL ? "bytes" : "count");
  *bytes = NULL;
  cpb_tail ordered = *tail;
  ordered.got.near_edge = (cpb_tail_rows){0};
  cpb_status status = cpb_tail_sort(&tail->got.near_edge, tail->d, &ordered.got.near_edge);
  status = status != CPB_OK ? cpb_fail_memory(error, "%zu rows", tail->got.near_edge.count)
                            : cpb_state_write(carry, &ordered, bytes, count, error);
  cpb_tail_rows_free(&ordered.got.near_edge);
  return status;
}

static void release(void *tail) { cpb_tail_free(tail); }

cpb_status cpb_tail_deserialize(const void *bytes, size_t count, const char *name, cpb_tail **out,
                                cpb_error *error) {
  void *read = NULL;
  cpb_status status =
      cpb_state_read(carry, release, "tail", bytes, count, name, out == NULL ? NULL : &read, error);
  if (out != NULL) *out = read;
  return status;
}

/* Rounds of SVDD as bytes; see core/state_bytes.h.
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
#include "learn/svdd_rounds_parts.h"

enum { VERSION = 1 };
static const cpb_state_kind kind = {"CPBTAILS", VERSION, "rounds of SVDD", VERSION};

static const cpb_state_member option_table[] = {CPB_MEMBER(F64, cpb_svdd_options, nu),
                                                CPB_MEMBER(F64, cpb_svdd_options, gap),
                                                CPB_MEMBER(SIZE, cpb_svdd_options, max_iterations)};

static const cpb_state_member question_table[] = {
    CPB_MEMBER(U64, cpb_svdd_rounds_question, round),   CPB_MEMBER(I32, cpb_svdd_rounds_question, exponent),
    CPB_MEMBER(I32, cpb_svdd_rounds_question, octave),  CPB_MEMBER(FINITE, cpb_svdd_rounds_question, total),
    CPB_MEMBER(FINITE, cpb_svdd_rounds_question, edge), CPB_MEMBER_ROWS(cpb_svdd_rounds_question, center)};

static const cpb_state_member row_table[] = {
    CPB_MEMBER_EACH(U64, cpb_svdd_rounds_rows, id), CPB_MEMBER_EACH(FINITE, cpb_svdd_rounds_rows, weight),
    CPB_MEMBER_EACH(FINITE, cpb_svdd_rounds_rows, dist2), CPB_MEMBER_ROWS(cpb_svdd_rounds_rows, p)};

static const cpb_state_member column_table[] = {CPB_MEMBER_EACH(FINITE, cpb_svdd_rounds_known, q),
                                                CPB_MEMBER_EACH(FINITE, cpb_svdd_rounds_known, mass),
                                                CPB_MEMBER_ROWS(cpb_svdd_rounds_known, p)};

static const cpb_state_member known_table[] = {
    CPB_MEMBER(FINITE, cpb_svdd_rounds_known, doubt), CPB_MEMBER(F64, cpb_svdd_rounds_known, upper),
    CPB_MEMBER(F64, cpb_svdd_rounds_known, lower),    CPB_MEMBER(FINITE, cpb_svdd_rounds_known, edge),
    CPB_MEMBER(U64, cpb_svdd_rounds_known, stalls),   CPB_MEMBER(FLAG, cpb_svdd_rounds_known, done),
    CPB_MEMBER_ROWS(cpb_svdd_rounds_known, origin),   CPB_MEMBER_ROWS(cpb_svdd_rounds_known, best)};

static bool within(int x, int limit) { return x >= -limit && x <= limit; }

static void carry_round(cpb_state *s, cpb_svdd_rounds *rounds) {
  cpb_svdd_rounds_question *ask = &rounds->ask;
  cpb_state_carry_members(s, ask, CPB_STATE_TABLE(question_table), rounds->d);
  cpb_state_require(s, within(ask->exponent, 1100) && within(ask->octave, 2200), "the unit is out of range");
  cpb_state_require(s, ask->round == 0 || ask->total > 0, "the total weight is not positive");
  rounds->got.rows = cpb_state_number(s, rounds->got.rows, 8);
  if (ask->round == 0 && rounds->got.rows > 0)
    cpb_state_doubles(s, rounds->got.low, 2 * rounds->d); /* and high */
  for (size_t k = 0; k < cpb_svdd_rounds_sums(rounds) && s->status == CPB_OK; k++)
    cpb_state_sum(s, &rounds->got.sum[k]);
}

static void write_bins(cpb_state *s, const uint64_t *bins) {
  uint64_t used = 0;
  for (size_t b = 0; b < CPB_SVDD_ROUNDS_BINS; b++) used += bins[b] > 0;
  cpb_state_number(s, used, 8);
  for (size_t b = 0; b < CPB_SVDD_ROUNDS_BINS; b++) {
    if (bins[b] == 0) continue;
    cpb_state_number(s, b, 4);
    cpb_state_number(s, bins[b], 8);
  }
}

static void read_bins(cpb_state *s, uint64_t *bins) {
  size_t count = cpb_state_count(s, 0, 12);
  for (size_t k = 0; k < count && s->status == CPB_OK; k++) {
    uint64_t b = cpb_state_number(s, 0, 4), weight = cpb_state_number(s, 0, 8);
    if (b >= CPB_SVDD_ROUNDS_BINS)
      cpb_state_refuse(s, "a bin has an impossible number");
    else
      bins[b] = weight;
  }
}

static void carry_rows(cpb_state *s, cpb_svdd_rounds *rounds) {
  cpb_svdd_rounds_rows *rows = &rounds->got.near_edge;
  size_t count = cpb_state_count(s, rows->count, (rounds->d + 3) * 8);
  cpb_state_require(s, count <= CPB_SVDD_ROUNDS_ROWS, "it has too many rows");
  if (s->reading && s->status == CPB_OK && cpb_svdd_rounds_rows_room(rows, rounds->d) != CPB_OK)
    cpb_state_no_memory(s, "columns", rounds->d);
  for (size_t i = 0; i < count && s->status == CPB_OK; i++) {
    cpb_state_carry_record(s, rows, CPB_STATE_TABLE(row_table), rounds->d, i);
    cpb_state_require(s, rows->weight[i] > 0 && rows->dist2[i] >= 0, "a row has an impossible weight");
  }
  if (s->reading && s->status == CPB_OK) cpb_svdd_rounds_take_rows(rounds, count);
}

static void carry_known(cpb_state *s, cpb_svdd_rounds *rounds) {
  cpb_svdd_rounds_known *known = &rounds->known;
  size_t count = cpb_state_count(s, known->column_count, (rounds->d + 2) * 8);
  if (s->reading && cpb_svdd_rounds_columns_room(rounds, count) != CPB_OK)
    cpb_state_no_memory(s, "columns", count);
  cpb_state_carry_records(s, known, CPB_STATE_TABLE(column_table), rounds->d, count);
  known->column_count = count;
  cpb_state_carry_members(s, known, CPB_STATE_TABLE(known_table), rounds->d);
  cpb_state_require(s, known->upper >= 0 && !isnan(known->lower), "the bounds are impossible");
}

static void make(cpb_state *s, void **object, const cpb_svdd_options *options, size_t d) {
  cpb_svdd_rounds *made = NULL;
  cpb_error why;
  if (s->status == CPB_OK && cpb_svdd_rounds_new(d, options, &made, &why) != CPB_OK)
    cpb_state_refuse(s, why.text);
  *object = made;
}

static void carry(cpb_state *s, void **object) {
  cpb_svdd_rounds *rounds = *object;
  cpb_svdd_options options;
  cpb_svdd_options_init(&options, sizeof options);
  cpb_state_begin(s, &kind);
  size_t d = cpb_state_count(s, s->reading ? 0 : rounds->d, 8);
  cpb_state_carry_members(s, s->reading ? &options : &rounds->options, CPB_STATE_TABLE(option_table), 0);
  if (s->reading) make(s, object, &options, d);
  if (s->status != CPB_OK) return;
  rounds = *object;
  carry_round(s, rounds);
  if (s->reading)
    read_bins(s, rounds->got.bins);
  else
    write_bins(s, rounds->got.bins);
  carry_rows(s, rounds);
  carry_known(s, rounds);
  cpb_state_end(s);
}

/* Sorts the rows near the edge: equal states have equal bytes. */
cpb_status cpb_svdd_rounds_serialize(const cpb_svdd_rounds *rounds, void **bytes, size_t *count,
                                     cpb_error *error) {
  if (rounds == NULL || bytes == NULL || count == NULL)
    return cpb_fail_missing(error, rounds == NULL ? "rounds" : bytes == NULL ? "bytes" : "count");
  *bytes = NULL;
  cpb_svdd_rounds ordered = *rounds;
  ordered.got.near_edge = (cpb_svdd_rounds_rows){0};
  cpb_status status = cpb_svdd_rounds_sort(&rounds->got.near_edge, rounds->d, &ordered.got.near_edge);
  status = status != CPB_OK ? cpb_fail_memory(error, "%zu rows", rounds->got.near_edge.count)
                            : cpb_state_write(carry, &ordered, bytes, count, error);
  cpb_svdd_rounds_rows_free(&ordered.got.near_edge);
  return status;
}

static void release(void *rounds) { cpb_svdd_rounds_free(rounds); }

cpb_status cpb_svdd_rounds_deserialize(const void *bytes, size_t count, const char *name,
                                       cpb_svdd_rounds **out, cpb_error *error) {
  return cpb_state_read(carry, release, "rounds", bytes, count, name, out, error);
}

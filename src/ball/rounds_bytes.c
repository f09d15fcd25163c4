/* The states of rounds as bytes; see core/state_bytes.h. Rows are sorted first: equal states have equal bytes. */
#include <math.h>

#include "base/fail.h"
#include "ball/piece_rounds.h"

static bool within(int x, int limit) { return x >= -limit && x <= limit; }

/* Rounds of an enclosing ball:
 *
 *   "CPBCORES"  u32 version  u64 d  f64 gap  u64 max passes  u32 method  u64 round  u32 done  i32 exponent
 *   u64 rows of all  u64 rows of the round  f64 largest^2  f64 lower^2  f64 proven^2
 *   per column  round 0, with rows: f64 low  f64 high; else f64 origin  f64 point  f64 center
 *   u64 staged rows, per row  u64 id  f64 distance^2  d f64
 *   u64 working rows, per row  u64 id  f64 distance^2  d f64
 *   u64 support, per row  u64 id  f64 multiplier
 *   u64 active columns; where there are some f64 unit  f64 value  d f64 point, and of column k
 *     u64 id  f64 weight  f64 |p|^2  d f64 p  d+1 f64 of the basis  k+1 f64 of the triangle
 *   u64 iterations  f64 radius  f64 lower  f64 gap  d f64 center   (the best ball; radius inf: none)
 *   u64 FNV-1a of all before */

static const cpb_state_kind ball_kind = {"CPBCORES", 2, "rounds of enclosing balls", 2};

static const cpb_state_member ball_option_table[] = {CPB_MEMBER(F64, cpb_ball_options, gap),
                                                     CPB_MEMBER(SIZE, cpb_ball_options, max_passes),
                                                     CPB_MEMBER(U32, cpb_ball_options, method)};

static const cpb_state_member ball_round_table[] = {
    CPB_MEMBER(U64, cpb_ball_rounds, round),     CPB_MEMBER(FLAG, cpb_ball_rounds, done),
    CPB_MEMBER(I32, cpb_ball_rounds, exponent),  CPB_MEMBER(U64, cpb_ball_rounds, rows),
    CPB_MEMBER(U64, cpb_ball_rounds, rows_seen), CPB_MEMBER(FINITE, cpb_ball_rounds, largest2),
    CPB_MEMBER(FINITE, cpb_ball_rounds, lower2), CPB_MEMBER(FINITE, cpb_ball_rounds, proven2)};

static const cpb_state_member set_table[] = {CPB_MEMBER_EACH(U64, cpb_working_set, tag),
                                             CPB_MEMBER_EACH(FINITE, cpb_working_set, dist2),
                                             CPB_MEMBER_ROWS(cpb_working_set, rows)};

static const cpb_state_member support_table[] = {CPB_MEMBER_EACH(U64, cpb_ball_rounds, support_row),
                                                 CPB_MEMBER_EACH(FINITE, cpb_ball_rounds, multiplier)};

static const cpb_state_member best_table[] = {
    CPB_MEMBER(SIZE, cpb_ball_rounds, iterations), CPB_MEMBER(F64, cpb_ball_rounds, best.radius),
    CPB_MEMBER(FINITE, cpb_ball_rounds, best.lower_bound), CPB_MEMBER(FINITE, cpb_ball_rounds, best.gap),
    CPB_MEMBER_ROWS(cpb_ball_rounds, best_center)};

static void serialize_ball_round(cpb_state *s, cpb_ball_rounds *rounds) {
  cpb_state_serialize_members(s, rounds, CPB_STATE_TABLE(ball_round_table), 0);
  cpb_state_require(s, within(rounds->exponent, 1100), "the unit is out of range");
  if (rounds->round > 0) cpb_state_doubles(s, rounds->origin, 3 * rounds->d); /* and point and center */
  if (rounds->round == 0 && rounds->rows_seen > 0)
    cpb_state_doubles(s, rounds->low, 2 * rounds->d); /* and high */
}

static void serialize_support(cpb_state *s, cpb_ball_rounds *rounds) {
  size_t count = cpb_state_count(s, rounds->support_count, 16);
  cpb_state_require(s, count <= rounds->d + 1, "the support has too many rows");
  if (count == 0 || s->status != CPB_OK) return;
  cpb_state_serialize_records(s, rounds, CPB_STATE_TABLE(support_table), 0, count);
  rounds->support_count = count;
}

static const cpb_state_member column_numbers[] = {CPB_MEMBER(U64, cpb_hull_column, tag),
                                                  CPB_MEMBER(FINITE, cpb_hull_column, weight),
                                                  CPB_MEMBER(FINITE, cpb_hull_column, q)};

static void serialize_column(cpb_state *s, cpb_hull *hull, size_t k) {
  if (s->reading) hull->column[k].cap = INFINITY;
  cpb_state_serialize_members(s, &hull->column[k], CPB_STATE_TABLE(column_numbers), 0);
  cpb_state_doubles(s, hull->p + k * hull->dim, hull->dim);
  cpb_state_doubles(s, hull->basis + k * (hull->dim + 1), hull->dim + 1);
  cpb_state_doubles(s, hull->triangle + k * hull->room, k + 1);
  if (s->status == CPB_OK)
    cpb_state_require(s, hull->triangle[k * hull->room + k] != 0, "an active column depends on the others");
}

static void serialize_hull(cpb_state *s, cpb_hull *hull) {
  size_t count = cpb_state_count(s, hull->count, (2 * hull->dim + 5) * 8);
  cpb_state_require(s, count <= hull->dim + 1, "there are too many active columns");
  if (count == 0 || s->status != CPB_OK) return;
  if (s->reading && cpb_hull_reserve(hull, count) != CPB_OK) {
    cpb_state_no_memory(s, "rows", count);
    return;
  }
  cpb_state_doubles(s, &hull->unit, 1);
  cpb_state_doubles(s, &hull->value, 1);
  cpb_state_doubles(s, hull->point, hull->dim);
  for (size_t k = 0; k < count && s->status == CPB_OK; k++) serialize_column(s, hull, k);
  if (s->status == CPB_OK) cpb_state_require(s, hull->unit > 0, "the unit of the hull is not positive");
  hull->count = s->status == CPB_OK ? count : 0;
}

static void serialize_ball(cpb_state *s, void **object) {
  cpb_ball_rounds *rounds = *object;
  cpb_ball_options options;
  cpb_ball_options_init(&options, sizeof options);
  cpb_state_begin(s, &ball_kind);
  size_t d = cpb_state_count(s, s->reading ? 0 : rounds->d, 8);
  cpb_state_serialize_members(s, s->reading ? &options : &rounds->options, CPB_STATE_TABLE(ball_option_table),
                              0);
  if (s->reading && s->status == CPB_OK) {
    cpb_error why;
    cpb_state_require(s, cpb_ball_rounds_new(d, &options, &rounds, &why) == CPB_OK, why.text);
    *object = rounds;
  }
  if (s->status != CPB_OK) return;
  serialize_ball_round(s, rounds);
  cpb_working_set_serialize(s, &rounds->staged, CPB_STATE_TABLE(set_table));
  cpb_working_set_serialize(s, &rounds->set, CPB_STATE_TABLE(set_table));
  serialize_support(s, rounds);
  serialize_hull(s, &rounds->hull);
  cpb_state_serialize_members(s, rounds, CPB_STATE_TABLE(best_table), d);
  cpb_state_require(s, rounds->best.radius >= 0, "a radius is negative");
  cpb_state_end(s);
}

cpb_status cpb_ball_rounds_serialize(const cpb_ball_rounds *rounds, void **bytes, size_t *count,
                                     cpb_error *error) {
  if (rounds == NULL || bytes == NULL || count == NULL)
    return cpb_fail_missing(error, rounds == NULL ? "rounds" : bytes == NULL ? "bytes" : "count");
  *bytes = NULL;
  cpb_ball_rounds ordered = *rounds;
  ordered.staged = (cpb_working_set){.d = rounds->d};
  cpb_status status = cpb_working_set_join(&ordered.staged, &rounds->staged, false);
  status = status != CPB_OK ? cpb_fail_memory(error, "%zu rows", rounds->staged.count)
                            : cpb_state_write(serialize_ball, &ordered, bytes, count, error);
  cpb_working_set_free(&ordered.staged);
  return status;
}

static void free_ball(void *rounds) { cpb_ball_rounds_free(rounds); }

cpb_status cpb_ball_rounds_deserialize(const void *bytes, size_t count, const char *name,
                                       cpb_ball_rounds **out, cpb_error *error) {
  return cpb_state_read(serialize_ball, free_ball, "rounds", bytes, count, name, out, error);
}

/* Rounds of SVDD:
 *
 *   "CPBTAILS"  u32 version  u64 d  f64 nu  f64 gap  u64 max rounds
 *   u64 round  i32 exponent  i32 octave  f64 total  f64 edge  d f64 center
 *   u64 rows;  round 0 with rows: d f64 low, d f64 high
 *   2 (d+2) sums, each  u32 first digit  u32 digits, per digit  i64
 *   u64 bins, per bin  u32 bin  u64 weight
 *   u64 rows near the edge, per row  u64 id  f64 weight  f64 distance^2  d f64
 *   u64 columns, per column  f64 height  f64 weight  d f64
 *   f64 rounding_bound  f64 upper  f64 lower  f64 edge  u64 stalls  u32 done  d f64 origin  d f64 best
 *   u64 FNV-1a of all before */

static const cpb_state_kind svdd_kind = {"CPBTAILS", 1, "rounds of SVDD", 1};

static const cpb_state_member svdd_option_table[] = {CPB_MEMBER(F64, cpb_svdd_options, nu),
                                                     CPB_MEMBER(F64, cpb_svdd_options, gap),
                                                     CPB_MEMBER(SIZE, cpb_svdd_options, max_iterations)};

static const cpb_state_member question_table[] = {
    CPB_MEMBER(U64, cpb_svdd_question, round),   CPB_MEMBER(I32, cpb_svdd_question, exponent),
    CPB_MEMBER(I32, cpb_svdd_question, octave),  CPB_MEMBER(FINITE, cpb_svdd_question, total),
    CPB_MEMBER(FINITE, cpb_svdd_question, edge), CPB_MEMBER_ROWS(cpb_svdd_question, center)};

static const cpb_state_member row_table[] = {
    CPB_MEMBER_EACH(U64, cpb_working_set, tag), CPB_MEMBER_EACH(FINITE, cpb_working_set, weight),
    CPB_MEMBER_EACH(FINITE, cpb_working_set, dist2), CPB_MEMBER_ROWS(cpb_working_set, rows)};

static const cpb_state_member column_table[] = {CPB_MEMBER_EACH(FINITE, cpb_working_set, dist2),
                                                CPB_MEMBER_EACH(FINITE, cpb_working_set, weight),
                                                CPB_MEMBER_ROWS(cpb_working_set, rows)};

static const cpb_state_member known_table[] = {CPB_MEMBER(FINITE, cpb_svdd_known, rounding_bound),
                                               CPB_MEMBER(F64, cpb_svdd_known, upper),
                                               CPB_MEMBER(F64, cpb_svdd_known, lower),
                                               CPB_MEMBER(FINITE, cpb_svdd_known, edge),
                                               CPB_MEMBER(U64, cpb_svdd_known, stalls),
                                               CPB_MEMBER(FLAG, cpb_svdd_known, done),
                                               CPB_MEMBER_ROWS(cpb_svdd_known, origin),
                                               CPB_MEMBER_ROWS(cpb_svdd_known, best)};

static void serialize_svdd_round(cpb_state *s, cpb_svdd_rounds *rounds) {
  cpb_svdd_question *ask = &rounds->ask;
  cpb_state_serialize_members(s, ask, CPB_STATE_TABLE(question_table), rounds->d);
  cpb_state_require(s, within(ask->exponent, 1100) && within(ask->octave, 2200), "the unit is out of range");
  cpb_state_require(s, ask->round == 0 || ask->total > 0, "the total weight is not positive");
  rounds->got.rows = cpb_state_number(s, rounds->got.rows, 8);
  if (ask->round == 0 && rounds->got.rows > 0)
    cpb_state_doubles(s, rounds->got.low, 2 * rounds->d); /* and high */
  for (size_t k = 0; k < cpb_svdd_sums(rounds) && s->status == CPB_OK; k++)
    cpb_state_sum(s, &rounds->got.sum[k]);
}

static void serialize_bins(cpb_state *s, uint64_t *bins) {
  size_t used = 0;
  for (size_t b = 0; b < CPB_EDGE_BINS; b++) used += bins[b] > 0;
  used = cpb_state_count(s, used, 12);
  for (size_t k = 0, b = 0; k < used && s->status == CPB_OK; k++, b++) {
    while (!s->reading && bins[b] == 0) b++;
    b = (size_t)cpb_state_number(s, b, 4);
    uint64_t weight = cpb_state_number(s, bins[b < CPB_EDGE_BINS ? b : 0], 8);
    if (b < CPB_EDGE_BINS)
      bins[b] = weight;
    else
      cpb_state_refuse(s, "a bin has an impossible number");
  }
}

static void serialize_rows(cpb_state *s, cpb_svdd_rounds *rounds) {
  cpb_working_set *rows = &rounds->got.near_edge;
  cpb_working_set_serialize(s, rows, CPB_STATE_TABLE(row_table));
  cpb_state_require(s, rows->count <= CPB_EDGE_ROWS, "it has too many rows");
  for (size_t i = 0; i < rows->count; i++)
    cpb_state_require(s, rows->weight[i] > 0 && rows->dist2[i] >= 0, "a row has an impossible weight");
}

static void serialize_known(cpb_state *s, cpb_svdd_rounds *rounds) {
  cpb_svdd_known *known = &rounds->known;
  cpb_working_set_serialize(s, &known->columns, CPB_STATE_TABLE(column_table));
  cpb_state_serialize_members(s, known, CPB_STATE_TABLE(known_table), rounds->d);
  cpb_state_require(s, known->upper >= 0 && !isnan(known->lower), "the bounds are impossible");
}

static void serialize_svdd(cpb_state *s, void **object) {
  cpb_svdd_rounds *rounds = *object;
  cpb_svdd_options options;
  cpb_svdd_options_init(&options, sizeof options);
  cpb_state_begin(s, &svdd_kind);
  size_t d = cpb_state_count(s, s->reading ? 0 : rounds->d, 8);
  cpb_state_serialize_members(s, s->reading ? &options : &rounds->options, CPB_STATE_TABLE(svdd_option_table),
                              0);
  if (s->reading && s->status == CPB_OK) {
    cpb_error why;
    cpb_state_require(s, cpb_svdd_rounds_new(d, &options, &rounds, &why) == CPB_OK, why.text);
    *object = rounds;
  }
  if (s->status != CPB_OK) return;
  serialize_svdd_round(s, rounds);
  serialize_bins(s, rounds->got.bins);
  serialize_rows(s, rounds);
  serialize_known(s, rounds);
  cpb_state_end(s);
}

cpb_status cpb_svdd_rounds_serialize(const cpb_svdd_rounds *rounds, void **bytes, size_t *count,
                                     cpb_error *error) {
  if (rounds == NULL || bytes == NULL || count == NULL)
    return cpb_fail_missing(error, rounds == NULL ? "rounds" : bytes == NULL ? "bytes" : "count");
  *bytes = NULL;
  cpb_svdd_rounds ordered = *rounds;
  ordered.got.near_edge = (cpb_working_set){.d = rounds->d};
  cpb_status status = cpb_working_set_join(&ordered.got.near_edge, &rounds->got.near_edge, true);
  status = status != CPB_OK ? cpb_fail_memory(error, "%zu rows", rounds->got.near_edge.count)
                            : cpb_state_write(serialize_svdd, &ordered, bytes, count, error);
  cpb_working_set_free(&ordered.got.near_edge);
  return status;
}

static void free_svdd(void *rounds) { cpb_svdd_rounds_free(rounds); }

cpb_status cpb_svdd_rounds_deserialize(const void *bytes, size_t count, const char *name,
                                       cpb_svdd_rounds **out, cpb_error *error) {
  return cpb_state_read(serialize_svdd, free_svdd, "rounds", bytes, count, name, out, error);
}

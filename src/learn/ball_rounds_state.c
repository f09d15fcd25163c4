/* Rounds of an enclosing ball as bytes; see core/state_bytes.h.
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
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "core/state_bytes.h"
#include "learn/ball_rounds_parts.h"

enum { VERSION = 2 };
static const cpb_state_kind kind = {"CPBCORES", VERSION, "rounds of enclosing balls", VERSION};

static const cpb_state_member option_table[] = {CPB_MEMBER(F64, cpb_ball_options, gap),
                                                CPB_MEMBER(SIZE, cpb_ball_options, max_passes),
                                                CPB_MEMBER(U32, cpb_ball_options, method)};

static const cpb_state_member round_table[] = {
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
    CPB_MEMBER(FINITE, cpb_ball_rounds, best.lower), CPB_MEMBER(FINITE, cpb_ball_rounds, best.gap),
    CPB_MEMBER_ROWS(cpb_ball_rounds, best.center)};

static void carry_round(cpb_state *s, cpb_ball_rounds *rounds) {
  cpb_state_carry_members(s, rounds, CPB_STATE_TABLE(round_table), 0);
  cpb_state_require(s, rounds->exponent >= -1100 && rounds->exponent <= 1100, "the unit is out of range");
  if (rounds->round > 0) cpb_state_doubles(s, rounds->origin, 3 * rounds->d); /* and point and center */
  if (rounds->round == 0 && rounds->rows_seen > 0)
    cpb_state_doubles(s, rounds->low, 2 * rounds->d); /* and high */
}

static void carry_set(cpb_state *s, cpb_working_set *set) {
  size_t count = cpb_state_count(s, set->count, (set->d + 2) * 8);
  if (s->reading && cpb_working_set_reserve(set, count) != CPB_OK) cpb_state_no_memory(s, "rows", count);
  cpb_state_carry_records(s, set, CPB_STATE_TABLE(set_table), set->d, count);
  if (s->reading && count > 0 && s->status == CPB_OK)
    memset(set->set_aside, 0, count * sizeof *set->set_aside);
  if (s->reading && s->status == CPB_OK) set->count = count;
}

static void carry_support(cpb_state *s, cpb_ball_rounds *rounds) {
  size_t count = cpb_state_count(s, rounds->support_count, 16);
  cpb_state_require(s, count <= rounds->d + 1, "the support has too many rows");
  if (count == 0 || s->status != CPB_OK) return;
  if (s->reading) {
    rounds->support_row = malloc(count * sizeof *rounds->support_row);
    rounds->multiplier = malloc(count * sizeof *rounds->multiplier);
    if (rounds->support_row == NULL || rounds->multiplier == NULL) cpb_state_no_memory(s, "rows", count);
  }
  cpb_state_carry_records(s, rounds, CPB_STATE_TABLE(support_table), 0, count);
  rounds->support_count = count;
}

static void carry_column(cpb_state *s, cpb_hull *hull, size_t k) {
  uint64_t tag = cpb_state_number(s, hull->tag[k], 8);
  if (s->reading) {
    hull->tag[k] = tag;
    hull->cap[k] = INFINITY;
  }
  cpb_state_doubles(s, &hull->weight[k], 1);
  cpb_state_doubles(s, &hull->q[k], 1);
  cpb_state_doubles(s, hull->p + k * hull->dim, hull->dim);
  cpb_state_doubles(s, hull->basis + k * (hull->dim + 1), hull->dim + 1);
  cpb_state_doubles(s, hull->triangle + k * hull->room, k + 1);
  if (s->status == CPB_OK)
    cpb_state_require(s, hull->triangle[k * hull->room + k] != 0, "an active column depends on the others");
}

static void carry_hull(cpb_state *s, cpb_hull *hull) {
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
  for (size_t k = 0; k < count && s->status == CPB_OK; k++) carry_column(s, hull, k);
  if (s->status == CPB_OK) cpb_state_require(s, hull->unit > 0, "the unit of the hull is not positive");
  hull->count = s->status == CPB_OK ? count : 0;
}

static void make(cpb_state *s, void **object, cpb_ball_options *options, size_t d) {
  cpb_ball_rounds *made = NULL;
  cpb_error why;
  cpb_state_require(s, d <= s->left / 8, "the state is truncated");
  if (s->status == CPB_OK && cpb_ball_rounds_new(d, options, &made, &why) != CPB_OK)
    cpb_state_refuse(s, why.text);
  *object = made;
}

static void carry(cpb_state *s, void **object) {
  cpb_ball_rounds *rounds = *object;
  cpb_ball_options options;
  cpb_ball_options_init(&options, sizeof options);
  cpb_state_begin(s, &kind);
  size_t d = cpb_state_size(s, s->reading ? 0 : rounds->d);
  cpb_state_carry_members(s, s->reading ? &options : &rounds->options, CPB_STATE_TABLE(option_table), 0);
  if (s->reading) make(s, object, &options, d);
  if (s->status != CPB_OK) return;
  rounds = *object;
  carry_round(s, rounds);
  carry_set(s, &rounds->staged);
  carry_set(s, &rounds->set);
  carry_support(s, rounds);
  carry_hull(s, &rounds->hull);
  cpb_state_carry_members(s, rounds, CPB_STATE_TABLE(best_table), d);
  cpb_state_require(s, rounds->best.radius >= 0, "a radius is negative");
  cpb_state_end(s);
}

/* Sorts the staged rows first: equal states have equal bytes. */
cpb_status cpb_ball_rounds_serialize(const cpb_ball_rounds *rounds, void **bytes, size_t *count,
                                     cpb_error *error) {
  if (rounds == NULL || bytes == NULL || count == NULL)
    return cpb_fail_missing(error, rounds == NULL ? "rounds" : bytes == NULL ? "bytes" : "count");
  *bytes = NULL;
  cpb_ball_rounds ordered = *rounds;
  size_t added;
  ordered.staged = (cpb_working_set){.d = rounds->d};
  cpb_status status = cpb_working_set_join(&ordered.staged, &rounds->staged, &added);
  if (status == CPB_OK) status = cpb_working_set_sort(&ordered.staged);
  if (status != CPB_OK) status = cpb_fail_memory(error, "%zu rows", rounds->staged.count);
  if (status == CPB_OK) status = cpb_state_write(carry, &ordered, bytes, count, error);
  cpb_working_set_free(&ordered.staged);
  return status;
}

static void release(void *rounds) { cpb_ball_rounds_free(rounds); }

cpb_status cpb_ball_rounds_deserialize(const void *bytes, size_t count, const char *name,
                                       cpb_ball_rounds **out, cpb_error *error) {
  return cpb_state_read(carry, release, "rounds", bytes, count, name, out, error);
}

/* A core-set as bytes; see core/state_bytes.h.
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
#include "learn/core_parts.h"

enum { VERSION = 2 };
static const cpb_state_kind kind = {"CPBCORES", VERSION, "core-sets", VERSION};

static void put_set(cpb_state_out *to, const cpb_working_set *set) {
  cpb_put_number(to, set->count, 8);
  for (size_t i = 0; i < set->count; i++) {
    cpb_put_number(to, set->tag[i], 8);
    cpb_put_double(to, set->dist2[i]);
    cpb_put_doubles(to, set->rows + i * set->d, set->d);
  }
}

static void put_hull(cpb_state_out *to, const cpb_hull *hull) {
  cpb_put_number(to, hull->count, 8);
  if (hull->count == 0) return;
  cpb_put_double(to, hull->unit);
  cpb_put_double(to, hull->value);
  cpb_put_doubles(to, hull->point, hull->dim);
  for (size_t k = 0; k < hull->count; k++) {
    cpb_put_number(to, hull->tag[k], 8);
    cpb_put_double(to, hull->weight[k]);
    cpb_put_double(to, hull->q[k]);
    cpb_put_doubles(to, hull->p + k * hull->dim, hull->dim);
    cpb_put_doubles(to, hull->basis + k * (hull->dim + 1), hull->dim + 1);
    cpb_put_doubles(to, hull->triangle + k * hull->room, k + 1);
  }
}

static void put_all(cpb_state_out *to, void *object) {
  const cpb_core *core = object;
  cpb_put_bytes(to, kind.mark, 8);
  cpb_put_number(to, VERSION, 4);
  cpb_put_number(to, core->d, 8);
  cpb_put_double(to, core->options.gap);
  cpb_put_number(to, core->options.max_passes, 8);
  cpb_put_number(to, (uint64_t)core->options.method, 4);
  cpb_put_number(to, core->round, 8);
  cpb_put_number(to, core->done, 4);
  cpb_put_number(to, (uint64_t)core->exponent, 4);
  cpb_put_number(to, core->rows, 8);
  cpb_put_number(to, core->rows_seen, 8);
  cpb_put_double(to, core->largest2);
  cpb_put_double(to, core->lower2);
  cpb_put_double(to, core->proven2);
  if (core->round > 0) cpb_put_doubles(to, core->origin, 3 * core->d); /* with point and center */
  if (core->round == 0 && core->rows_seen > 0) {
    for (size_t j = 0; j < core->d; j++) cpb_put_double(to, core->low[j] + 0.);
    for (size_t j = 0; j < core->d; j++) cpb_put_double(to, core->high[j] + 0.);
  }
  put_set(to, &core->staged);
  put_set(to, &core->set);
  cpb_put_number(to, core->support_count, 8);
  for (size_t k = 0; k < core->support_count; k++) {
    cpb_put_number(to, core->support_row[k], 8);
    cpb_put_double(to, core->multiplier[k]);
  }
  put_hull(to, &core->hull);
  cpb_put_number(to, core->iterations, 8);
  cpb_put_double(to, core->best.radius);
  cpb_put_double(to, core->best.lower);
  cpb_put_double(to, core->best.gap);
  cpb_put_doubles(to, core->best.center, core->d);
  cpb_put_checksum(to);
}

/* What was staged is put in order first: equal states are equal bytes. */
cpb_status cpb_core_serialize(const cpb_core *core, void **bytes, size_t *count, cpb_error *error) {
  if (core == NULL || bytes == NULL || count == NULL)
    return cpb_fail_missing(error, core == NULL ? "core" : bytes == NULL ? "bytes" : "count");
  *bytes = NULL;
  cpb_core ordered = *core;
  size_t added;
  ordered.staged = (cpb_working_set){.d = core->d};
  cpb_status status = cpb_working_set_join(&ordered.staged, &core->staged, &added);
  if (status == CPB_OK) status = cpb_working_set_sort(&ordered.staged);
  if (status != CPB_OK) status = cpb_fail_memory(error, "%zu rows", core->staged.count);
  if (status == CPB_OK) status = cpb_state_write(put_all, &ordered, bytes, count, error);
  cpb_working_set_free(&ordered.staged);
  return status;
}

/* ---- reading ---- */

static void no_memory(cpb_state_in *from, size_t rows) {
  if (from->status == CPB_OK) from->status = cpb_fail_memory(from->error, "%zu rows", rows);
}

static void get_set(cpb_state_in *from, cpb_working_set *set) {
  size_t count = cpb_get_count(from, (set->d + 2) * 8);
  double *row = malloc(set->d * sizeof *row);
  if (row == NULL) no_memory(from, 1);
  for (size_t i = 0; i < count && from->status == CPB_OK; i++) {
    uint64_t tag = cpb_get_number(from, 8);
    double dist2 = 0;
    cpb_get_doubles(from, &dist2, 1);
    cpb_get_doubles(from, row, set->d);
    if (from->status == CPB_OK && cpb_working_set_add(set, row, tag, dist2) != CPB_OK) no_memory(from, count);
  }
  free(row);
}

static void get_support(cpb_state_in *from, cpb_core *core) {
  size_t count = cpb_get_count(from, 16);
  if (count > core->d + 1) cpb_state_refuse(from, "the support has too many rows");
  if (count == 0 || from->status != CPB_OK) return;
  core->support_row = malloc(count * sizeof *core->support_row);
  core->multiplier = malloc(count * sizeof *core->multiplier);
  if (core->support_row == NULL || core->multiplier == NULL) {
    no_memory(from, count);
    return;
  }
  for (size_t k = 0; k < count; k++) {
    core->support_row[k] = cpb_get_number(from, 8);
    cpb_get_doubles(from, &core->multiplier[k], 1);
  }
  core->support_count = count;
}

static void get_column(cpb_state_in *from, cpb_hull *hull, size_t k) {
  hull->tag[k] = cpb_get_number(from, 8);
  hull->cap[k] = INFINITY;
  cpb_get_doubles(from, &hull->weight[k], 1);
  cpb_get_doubles(from, &hull->q[k], 1);
  cpb_get_doubles(from, hull->p + k * hull->dim, hull->dim);
  cpb_get_doubles(from, hull->basis + k * (hull->dim + 1), hull->dim + 1);
  cpb_get_doubles(from, hull->triangle + k * hull->room, k + 1);
  if (from->status == CPB_OK && hull->triangle[k * hull->room + k] == 0)
    cpb_state_refuse(from, "an active column depends on the others");
}

static void get_hull(cpb_state_in *from, cpb_hull *hull) {
  size_t count = cpb_get_count(from, (2 * hull->dim + 5) * 8);
  if (count > hull->dim + 1) cpb_state_refuse(from, "there are too many active columns");
  if (count == 0 || from->status != CPB_OK) return;
  if (cpb_hull_reserve(hull, count) != CPB_OK) {
    no_memory(from, count);
    return;
  }
  cpb_get_doubles(from, &hull->unit, 1);
  cpb_get_doubles(from, &hull->value, 1);
  cpb_get_doubles(from, hull->point, hull->dim);
  for (size_t k = 0; k < count && from->status == CPB_OK; k++) get_column(from, hull, k);
  if (from->status == CPB_OK && !(hull->unit > 0)) cpb_state_refuse(from, "its unit cannot be");
  hull->count = from->status == CPB_OK ? count : 0;
}

static void get_best(cpb_state_in *from, cpb_core *core) {
  core->iterations = cpb_get_size(from);
  core->best.radius = cpb_get_double(from);
  cpb_get_doubles(from, &core->best.lower, 1);
  cpb_get_doubles(from, &core->best.gap, 1);
  cpb_get_doubles(from, core->best.center, core->d);
  if (!(core->best.radius >= 0)) cpb_state_refuse(from, "a radius is negative");
}

static void get_round(cpb_state_in *from, cpb_core *core) {
  core->round = cpb_get_number(from, 8);
  core->done = cpb_get_number(from, 4) != 0;
  core->exponent = (int)(int32_t)(uint32_t)cpb_get_number(from, 4);
  core->rows = cpb_get_number(from, 8);
  core->rows_seen = cpb_get_number(from, 8);
  cpb_get_doubles(from, &core->largest2, 1);
  cpb_get_doubles(from, &core->lower2, 1);
  cpb_get_doubles(from, &core->proven2, 1);
  if (core->exponent < -1100 || core->exponent > 1100) cpb_state_refuse(from, "its unit cannot be");
  if (core->round > 0) cpb_get_doubles(from, core->origin, 3 * core->d);
  if (core->round == 0 && core->rows_seen > 0) cpb_get_doubles(from, core->low, 2 * core->d); /* and high */
}

static void get_all(cpb_state_in *from, cpb_core **out) {
  cpb_error why;
  cpb_ball_options options;
  cpb_ball_options_init(&options, sizeof options);
  cpb_state_begin(from, &kind);
  size_t d = cpb_get_size(from);
  options.gap = cpb_get_double(from);
  options.max_passes = cpb_get_size(from);
  options.method = (cpb_ball_method)cpb_get_number(from, 4);
  if (from->status == CPB_OK && d > from->left / 8) cpb_state_refuse(from, "the state is truncated");
  if (from->status == CPB_OK && cpb_core_new(d, &options, out, &why) != CPB_OK)
    cpb_state_refuse(from, why.text);
  if (from->status != CPB_OK) return;
  cpb_core *core = *out;
  get_round(from, core);
  get_set(from, &core->staged);
  get_set(from, &core->set);
  get_support(from, core);
  get_hull(from, &core->hull);
  get_best(from, core);
  cpb_state_end(from);
}

cpb_status cpb_core_deserialize(const void *bytes, size_t count, const char *name, cpb_core **out,
                                cpb_error *error) {
  if (bytes == NULL || out == NULL) return cpb_fail_missing(error, bytes == NULL ? "bytes" : "core");
  *out = NULL;
  cpb_state_in from = {bytes, count, name == NULL ? "state" : name, CPB_OK, error, 0};
  get_all(&from, out);
  if (from.status == CPB_OK) return CPB_OK;
  cpb_core_free(*out);
  *out = NULL;
  return from.status;
}

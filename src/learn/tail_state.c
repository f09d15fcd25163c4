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

static void put_bins(cpb_state_out *to, const uint64_t *bins) {
  uint64_t used = 0;
  for (size_t b = 0; b < CPB_TAIL_BINS; b++) used += bins[b] > 0;
  cpb_put_number(to, used, 8);
  for (size_t b = 0; b < CPB_TAIL_BINS; b++) {
    if (bins[b] == 0) continue;
    cpb_put_number(to, b, 4);
    cpb_put_number(to, bins[b], 8);
  }
}

static void put_rows(cpb_state_out *to, const cpb_tail_rows *rows, size_t d) {
  cpb_put_number(to, rows->count, 8);
  for (size_t i = 0; i < rows->count; i++) {
    cpb_put_number(to, rows->id[i], 8);
    cpb_put_double(to, rows->weight[i]);
    cpb_put_double(to, rows->dist2[i]);
    cpb_put_doubles(to, rows->p + i * d, d);
  }
}

static void put_known(cpb_state_out *to, const cpb_tail_known *known, size_t d) {
  cpb_put_number(to, known->column_count, 8);
  for (size_t k = 0; k < known->column_count; k++) {
    cpb_put_double(to, known->q[k]);
    cpb_put_double(to, known->mass[k]);
    cpb_put_doubles(to, known->p + k * d, d);
  }
  cpb_put_double(to, known->doubt);
  cpb_put_double(to, known->upper);
  cpb_put_double(to, known->lower);
  cpb_put_double(to, known->edge);
  cpb_put_number(to, known->stalls, 8);
  cpb_put_number(to, known->done, 4);
  cpb_put_doubles(to, known->origin, d);
  cpb_put_doubles(to, known->best, d);
}

static void put_all(cpb_state_out *to, void *object) {
  const cpb_tail *tail = object;
  size_t d = tail->d;
  cpb_put_bytes(to, kind.mark, 8);
  cpb_put_number(to, VERSION, 4);
  cpb_put_number(to, d, 8);
  cpb_put_double(to, tail->options.nu);
  cpb_put_double(to, tail->options.gap);
  cpb_put_number(to, tail->options.max_iterations, 8);
  cpb_put_number(to, tail->ask.round, 8);
  cpb_put_number(to, (uint64_t)tail->ask.exponent, 4);
  cpb_put_number(to, (uint64_t)tail->ask.octave, 4);
  cpb_put_double(to, tail->ask.total);
  cpb_put_double(to, tail->ask.edge);
  cpb_put_doubles(to, tail->ask.center, d);
  cpb_put_number(to, tail->got.rows, 8);
  if (tail->ask.round == 0 && tail->got.rows > 0) {
    for (size_t j = 0; j < d; j++) cpb_put_double(to, tail->got.low[j] + 0.);
    for (size_t j = 0; j < d; j++) cpb_put_double(to, tail->got.high[j] + 0.);
  }
  for (size_t k = 0; k < cpb_tail_sums(tail); k++) cpb_put_sum(to, &tail->got.sum[k]);
  put_bins(to, tail->got.bins);
  put_rows(to, &tail->got.near_edge, d);
  put_known(to, &tail->known, d);
  cpb_put_checksum(to);
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
                            : cpb_state_write(put_all, &ordered, bytes, count, error);
  cpb_tail_rows_free(&ordered.got.near_edge);
  return status;
}

/* ---- reading ---- */

static int get_int(cpb_state_in *from) { return (int)(int32_t)(uint32_t)cpb_get_number(from, 4); }

static void get_bins(cpb_state_in *from, uint64_t *bins) {
  size_t count = cpb_get_count(from, 12);
  for (size_t k = 0; k < count && from->status == CPB_OK; k++) {
    uint64_t b = cpb_get_number(from, 4), weight = cpb_get_number(from, 8);
    if (b >= CPB_TAIL_BINS)
      cpb_state_refuse(from, "a bin has an impossible number");
    else
      bins[b] = weight;
  }
}

static void get_rows(cpb_state_in *from, cpb_tail *tail) {
  size_t count = cpb_get_count(from, (tail->d + 3) * 8);
  double *row = malloc(tail->d * sizeof *row);
  if (count > CPB_TAIL_ROWS) cpb_state_refuse(from, "it has too many rows");
  if (row == NULL && from->status == CPB_OK)
    from->status = cpb_fail_memory(from->error, "%zu columns", tail->d);
  for (size_t i = 0; i < count && from->status == CPB_OK; i++) {
    uint64_t id = cpb_get_number(from, 8);
    double numbers[2] = {0, 0};
    cpb_get_doubles(from, numbers, 2);
    cpb_get_doubles(from, row, tail->d);
    if (!(numbers[0] > 0 && numbers[1] >= 0)) cpb_state_refuse(from, "a row has an impossible weight");
    if (from->status == CPB_OK && cpb_tail_keep(tail, id, numbers[0], numbers[1], row) != CPB_OK)
      from->status = cpb_fail_memory(from->error, "%zu rows", count);
  }
  free(row);
}

static void get_known(cpb_state_in *from, cpb_tail *tail) {
  cpb_tail_known *known = &tail->known;
  size_t count = cpb_get_count(from, (tail->d + 2) * 8);
  double *numbers = malloc((tail->d + 2) * sizeof *numbers);
  if (numbers == NULL && from->status == CPB_OK)
    from->status = cpb_fail_memory(from->error, "%zu columns", tail->d);
  for (size_t k = 0; k < count && from->status == CPB_OK; k++) {
    cpb_get_doubles(from, numbers, tail->d + 2);
    if (from->status == CPB_OK && cpb_tail_add_column(tail, numbers + 2, numbers[0], numbers[1]) != CPB_OK)
      from->status = cpb_fail_memory(from->error, "%zu columns", count);
  }
  free(numbers);
  cpb_get_doubles(from, &known->doubt, 1);
  known->upper = cpb_get_double(from);
  known->lower = cpb_get_double(from);
  cpb_get_doubles(from, &known->edge, 1);
  known->stalls = cpb_get_number(from, 8);
  known->done = cpb_get_number(from, 4) != 0;
  cpb_get_doubles(from, known->origin, tail->d);
  cpb_get_doubles(from, known->best, tail->d);
  if (!(known->upper >= 0) || isnan(known->lower)) cpb_state_refuse(from, "its bounds cannot be");
}

static void get_round(cpb_state_in *from, cpb_tail *tail) {
  tail->ask.round = cpb_get_number(from, 8);
  tail->ask.exponent = get_int(from);
  tail->ask.octave = get_int(from);
  cpb_get_doubles(from, &tail->ask.total, 1);
  cpb_get_doubles(from, &tail->ask.edge, 1);
  cpb_get_doubles(from, tail->ask.center, tail->d);
  if (abs(tail->ask.exponent) > 1100 || abs(tail->ask.octave) > 2200)
    cpb_state_refuse(from, "its unit cannot be");
  if (tail->ask.round > 0 && !(tail->ask.total > 0)) cpb_state_refuse(from, "its weight cannot be");
  tail->got.rows = cpb_get_number(from, 8);
  if (tail->ask.round == 0 && tail->got.rows > 0) {
    cpb_get_doubles(from, tail->got.low, tail->d);
    cpb_get_doubles(from, tail->got.high, tail->d);
  }
  for (size_t k = 0; k < cpb_tail_sums(tail) && from->status == CPB_OK; k++)
    cpb_get_sum(from, &tail->got.sum[k]);
}

static void get_all(cpb_state_in *from, cpb_tail **out) {
  cpb_error why;
  cpb_svdd_options options;
  cpb_svdd_options_init(&options, sizeof options);
  cpb_state_begin(from, &kind);
  size_t d = cpb_get_count(from, 8);
  options.nu = cpb_get_double(from);
  options.gap = cpb_get_double(from);
  options.max_iterations = cpb_get_size(from);
  if (from->status == CPB_OK && cpb_tail_new(d, &options, out, &why) != CPB_OK)
    cpb_state_refuse(from, why.text);
  if (from->status != CPB_OK) return;
  get_round(from, *out);
  get_bins(from, (*out)->got.bins);
  get_rows(from, *out);
  get_known(from, *out);
  cpb_state_end(from);
}

cpb_status cpb_tail_deserialize(const void *bytes, size_t count, const char *name, cpb_tail **out,
                                cpb_error *error) {
  if (bytes == NULL || out == NULL) return cpb_fail_missing(error, bytes == NULL ? "bytes" : "tail");
  *out = NULL;
  cpb_state_in from = {bytes, count, name == NULL ? "state" : name, CPB_OK, error, 0};
  get_all(&from, out);
  if (from.status == CPB_OK) return CPB_OK;
  cpb_tail_free(*out);
  *out = NULL;
  return from.status;
}

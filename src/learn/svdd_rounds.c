/* T11 in pieces: what a round gathers; nothing depends on the order. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "batch/row_state.h"
#include "core/fail.h"
#include "core/sized.h"
#include "learn/distances.h"
#include "learn/own_rounds.h"
#include "learn/piece_rounds.h"
#include "learn/svdd_fail.h"
#include "learn/svdd_rounds_parts.h"

enum { BLOCK_ROWS = 4096, PER_OCTAVE = 16, HALF = CPB_SVDD_ROUNDS_BINS / 2 };

/* ---- the object ---- */

static bool allocate(cpb_svdd_rounds *rounds) {
  size_t d = rounds->d;
  double *numbers = d > SIZE_MAX / sizeof(double) / 8 ? NULL : calloc(5 * d, sizeof *numbers);
  rounds->ask.center = numbers;
  rounds->got.sum = d > SIZE_MAX / sizeof(cpb_exact_sum) / 2 - 2
                        ? NULL
                        : calloc(cpb_svdd_rounds_sums(rounds), sizeof *rounds->got.sum);
  rounds->got.bins = calloc(CPB_SVDD_ROUNDS_BINS, sizeof *rounds->got.bins);
  if (numbers == NULL || rounds->got.sum == NULL || rounds->got.bins == NULL) return false;
  rounds->got.low = numbers + d;
  rounds->got.high = numbers + 2 * d;
  rounds->known.origin = numbers + 3 * d;
  rounds->known.best = numbers + 4 * d;
  return true;
}

cpb_status cpb_svdd_rounds_new(size_t d, const cpb_svdd_options *given, cpb_svdd_rounds **rounds,
                               cpb_error *error) {
  cpb_svdd_options options;
  if (rounds == NULL) return cpb_fail_missing(error, "rounds");
  *rounds = NULL;
  cpb_svdd_options_init(&options, sizeof options);
  cpb_status status = cpb_sized_take(&options, sizeof options, given, "cpb_svdd_options", error);
  if (status == CPB_OK) status = cpb_svdd_check_options(&options, error);
  if (status == CPB_OK && d == 0) status = cpb_fail_count(error, "d", 0, "dimension d must be >= 1");
  if (status != CPB_OK) return status;
  options.weights = options.start = NULL;
  cpb_svdd_rounds *made = calloc(1, sizeof *made);
  if (made != NULL) {
    *made = (cpb_svdd_rounds){.loops = cpb_loops_here(), .d = d, .options = options};
    if (allocate(made)) {
      made->known.upper = INFINITY;
      cpb_svdd_rounds_clear(made);
      *rounds = made;
      return CPB_OK;
    }
  }
  cpb_svdd_rounds_free(made);
  return cpb_fail_memory(error, "SVDD rounds of dimension %zu", d);
}

void cpb_svdd_rounds_rows_free(cpb_svdd_rounds_rows *rows) {
  free(rows->id);
  free(rows->weight);
  *rows = (cpb_svdd_rounds_rows){0};
}

void cpb_svdd_rounds_free(cpb_svdd_rounds *rounds) {
  if (rounds == NULL) return;
  free(rounds->ask.center);
  free(rounds->got.sum);
  free(rounds->got.bins);
  cpb_svdd_rounds_rows_free(&rounds->got.near_edge);
  free(rounds->known.p);
  free(rounds->known.q);
  free(rounds);
}

void cpb_svdd_rounds_clear(cpb_svdd_rounds *rounds) {
  cpb_svdd_rounds_gathered *got = &rounds->got;
  got->rows = 0;
  got->near_edge.count = 0;
  for (size_t k = 0; k < cpb_svdd_rounds_sums(rounds); k++) cpb_exact_clear(&got->sum[k]);
  memset(got->bins, 0, CPB_SVDD_ROUNDS_BINS * sizeof *got->bins);
}

/* ---- rows near the edge ---- */

cpb_status cpb_svdd_rounds_rows_room(cpb_svdd_rounds_rows *rows, size_t d) {
  if (rows->room > 0) return CPB_OK;
  rows->id = malloc((CPB_SVDD_ROUNDS_ROWS + 1) * sizeof *rows->id);
  rows->weight = d > SIZE_MAX / sizeof(double) / (CPB_SVDD_ROUNDS_ROWS + 1) - 2
                     ? NULL
                     : malloc((CPB_SVDD_ROUNDS_ROWS + 1) * (d + 2) * sizeof *rows->weight);
  if (rows->id == NULL || rows->weight == NULL) {
    cpb_svdd_rounds_rows_free(rows);
    return CPB_ENOMEM;
  }
  rows->dist2 = rows->weight + CPB_SVDD_ROUNDS_ROWS + 1;
  rows->p = rows->dist2 + CPB_SVDD_ROUNDS_ROWS + 1;
  rows->room = CPB_SVDD_ROUNDS_ROWS;
  return CPB_OK;
}

static void set_row(cpb_svdd_rounds_rows *rows, size_t d, size_t to, const cpb_svdd_rounds_rows *from,
                    size_t i) {
  rows->id[to] = from->id[i];
  rows->weight[to] = from->weight[i];
  rows->dist2[to] = from->dist2[i];
  memcpy(rows->p + to * d, from->p + i * d, d * sizeof *rows->p);
}

/* i before j: farther from the edge, ties in favour of the larger id. */
static bool goes_first(const cpb_svdd_rounds *rounds, size_t i, size_t j) {
  const cpb_svdd_rounds_rows *rows = &rounds->got.near_edge;
  double a = fabs(rows->dist2[i] - rounds->ask.edge), b = fabs(rows->dist2[j] - rounds->ask.edge);
  return a > b || (a == b && rows->id[i] > rows->id[j]);
}

static void sift_down(cpb_svdd_rounds *rounds, size_t i) {
  cpb_svdd_rounds_rows *rows = &rounds->got.near_edge;
  size_t spare = CPB_SVDD_ROUNDS_ROWS,
         n = rows->count; /* the place behind the last is for the row that sinks */
  set_row(rows, rounds->d, spare, rows, i);
  for (size_t child; (child = 2 * i + 1) < n; i = child) {
    if (child + 1 < n && goes_first(rounds, child + 1, child)) child++;
    if (!goes_first(rounds, child, spare)) break;
    set_row(rows, rounds->d, i, rows, child);
  }
  set_row(rows, rounds->d, i, rows, spare);
}

/* A heap once it is full. */
void cpb_svdd_rounds_take_rows(cpb_svdd_rounds *rounds, size_t count) {
  rounds->got.near_edge.count = count;
  for (size_t i = CPB_SVDD_ROUNDS_ROWS / 2 + 1; count == CPB_SVDD_ROUNDS_ROWS && i-- > 0;)
    sift_down(rounds, i);
}

/* Drops a row: it is added to the sums if it is beyond or on the edge. */
static void let_go(cpb_svdd_rounds *rounds, double weight, double dist2, const double *p) {
  if (dist2 < rounds->ask.edge) return;
  cpb_exact_sum *sum = rounds->got.sum + (dist2 > rounds->ask.edge ? 0 : rounds->d + 2);
  for (size_t j = 0; j < rounds->d; j++) cpb_exact_add(&sum[j], weight * p[j]);
  cpb_exact_add(&sum[rounds->d], weight);
  cpb_exact_add(&sum[rounds->d + 1], weight * dist2);
}

cpb_status cpb_svdd_rounds_keep(cpb_svdd_rounds *rounds, uint64_t id, double weight, double dist2,
                                const double *p) {
  cpb_svdd_rounds_rows *rows = &rounds->got.near_edge;
  cpb_status status = cpb_svdd_rounds_rows_room(rows, rounds->d);
  if (status != CPB_OK) return status;
  double top = rows->count < CPB_SVDD_ROUNDS_ROWS ? INFINITY : fabs(rows->dist2[0] - rounds->ask.edge);
  double own = fabs(dist2 - rounds->ask.edge);
  if (own > top || (own == top && rows->count == CPB_SVDD_ROUNDS_ROWS && id > rows->id[0])) {
    let_go(rounds, weight, dist2, p);
    return CPB_OK;
  }
  size_t at = rows->count < CPB_SVDD_ROUNDS_ROWS ? rows->count++ : 0;
  if (at == 0 && rows->count == CPB_SVDD_ROUNDS_ROWS)
    let_go(rounds, rows->weight[0], rows->dist2[0], rows->p);
  rows->id[at] = id;
  rows->weight[at] = weight;
  rows->dist2[at] = dist2;
  memcpy(rows->p + at * rounds->d, p, rounds->d * sizeof *p);
  if (at > 0)
    cpb_svdd_rounds_take_rows(rounds, rows->count);
  else if (at == 0 && rows->count == CPB_SVDD_ROUNDS_ROWS)
    sift_down(rounds, 0);
  return CPB_OK;
}

/* ---- a block of rows ---- */

/* The ids and weights of a block; weights NULL: 1. */
typedef struct block_rows {
  cpb_row_ids ids;
  const double *weights;
} block_rows;

static double weight_at(block_rows block, size_t i) { return block.weights == NULL ? 1 : block.weights[i]; }

static size_t bin_of(const cpb_svdd_rounds *rounds, double dist2) {
  double v = fabs(dist2 - rounds->ask.edge);
  int at = 0;
  if (v > 0) {
    int octave;
    double part = frexp(v, &octave); /* 1/2 .. 1 */
    at = (octave - rounds->ask.octave + 96) * PER_OCTAVE + (int)((part - 0.5) * 2 * PER_OCTAVE);
    at = at < 0 ? 0 : at >= HALF ? HALF - 1 : at;
  }
  return dist2 > rounds->ask.edge ? (size_t)(HALF + at) : (size_t)(HALF - 1 - at);
}

static void row_of(const cpb_svdd_rounds *rounds, cpb_view x, size_t i, double *p) {
  cpb_scaled_row(rounds->loops, x, rounds->ask.exponent, i, p);
  rounds->loops->axpby(1, p, -1, rounds->ask.center, p, rounds->d);
}

typedef struct dist2_job {
  const cpb_svdd_rounds *rounds;
  cpb_view x;
  double *dist2;
} dist2_job;

static void dist2_block(void *argument, size_t block, size_t first, size_t count) {
  (void)block;
  dist2_job *job = argument;
  cpb_dist2_of_rows(job->rounds->loops, job->x, job->rounds->ask.exponent, first, count,
                    job->rounds->ask.center, job->dist2 + first);
}

static cpb_status gather(cpb_svdd_rounds *rounds, cpb_view x, block_rows block, const double *dist2,
                         double *p) {
  double unit = 0x1p62 / rounds->ask.total;
  cpb_status status = CPB_OK;
  for (size_t i = 0; status == CPB_OK && i < x.rows; i++) {
    double weight = weight_at(block, i);
    if (!(weight > 0)) continue;
    rounds->got.rows++;
    rounds->got.bins[bin_of(rounds, dist2[i])] += (uint64_t)(weight * unit);
    row_of(rounds, x, i, p);
    status = cpb_svdd_rounds_keep(rounds, cpb_row_id(block.ids, i), weight, dist2[i], p);
  }
  return status;
}

static void look_at_columns(cpb_svdd_rounds *rounds, cpb_view x, block_rows block, double *row) {
  for (size_t i = 0; i < x.rows; i++) {
    double weight = weight_at(block, i);
    if (!(weight > 0)) continue;
    cpb_scaled_row(rounds->loops, x, 0, i, row);
    cpb_columns_widen(rounds->got.low, rounds->got.high, rounds->got.rows == 0, row, row, rounds->d);
    for (size_t j = 0; j < rounds->d; j++) cpb_exact_add(&rounds->got.sum[j], row[j]);
    cpb_exact_add(&rounds->got.sum[rounds->d], weight);
    rounds->got.rows++;
  }
}

/* All errors are detected before anything is gathered. */
static cpb_status check_block(const cpb_svdd_rounds *rounds, cpb_view x, block_rows block,
                              const double *dist2, cpb_error *error) {
  for (size_t i = 0; i < x.rows; i++) {
    double weight = weight_at(block, i);
    if (!(weight >= 0 && weight < INFINITY)) return cpb_fail_weight(error, i, weight);
    if (weight == 0 || (rounds->ask.round > 0 && dist2[i] < INFINITY)) continue;
    int fault = cpb_row_fault(rounds->loops, x, i);
    if (fault != 0) return cpb_fault_report(i, fault, "x", error);
    if (rounds->ask.round > 0) return cpb_fail_round_unseen(error);
  }
  return CPB_OK;
}

static cpb_status update(cpb_svdd_rounds *rounds, cpb_view x, block_rows block, const cpb_exec *exec,
                         cpb_error *error) {
  if (rounds == NULL) return cpb_fail_missing(error, "rounds");
  cpb_status status = cpb_check_view(x, "x", rounds->d, error);
  if (status != CPB_OK || x.rows == 0) return status;
  double *numbers = malloc((x.rows + rounds->d) * sizeof *numbers), *dist2 = numbers;
  if (numbers == NULL || cpb_svdd_rounds_rows_room(&rounds->got.near_edge, rounds->d) != CPB_OK) {
    free(numbers);
    return cpb_fail_memory(error, "%zu rows", x.rows);
  }
  if (rounds->ask.round > 0) {
    dist2_job job = {rounds, x, dist2};
    cpb_blocks_run(&(cpb_blocks){x.rows, BLOCK_ROWS, dist2_block, &job}, exec);
  }
  status = check_block(rounds, x, block, dist2, error);
  if (status == CPB_OK && rounds->ask.round == 0) look_at_columns(rounds, x, block, numbers + x.rows);
  if (status == CPB_OK && rounds->ask.round > 0) status = gather(rounds, x, block, dist2, numbers + x.rows);
  free(numbers);
  return status;
}

cpb_status cpb_svdd_rounds_update(cpb_svdd_rounds *rounds, cpb_view rows, uint64_t first_id,
                                  const double *weights, const cpb_exec *exec, cpb_error *error) {
  return update(rounds, rows, (block_rows){{NULL, first_id}, weights}, exec, error);
}

cpb_status cpb_svdd_rounds_update_ids(cpb_svdd_rounds *rounds, cpb_view rows, const uint64_t *ids,
                                      const double *weights, const cpb_exec *exec, cpb_error *error) {
  if (ids == NULL && rows.rows > 0) return cpb_fail_missing(error, "ids");
  return update(rounds, rows, (block_rows){{ids, 0}, weights}, exec, error);
}

/* ---- pieces ---- */

static cpb_status check_alike(const cpb_svdd_rounds *a, const cpb_svdd_rounds *b, cpb_error *error) {
  if (a == NULL || b == NULL) return cpb_fail_missing(error, a == NULL ? "rounds" : "piece");
  const cpb_svdd_rounds_question *x = &a->ask, *y = &b->ask;
  cpb_round ours = {.d = a->d, .round = x->round}, theirs = {.d = b->d, .round = y->round};
  theirs.same_options = a->options.nu == b->options.nu && a->options.gap == b->options.gap;
  theirs.same_center =
      x->round == 0 || (a->d == b->d && x->exponent == y->exponent && x->edge == y->edge &&
                        x->total == y->total && memcmp(x->center, y->center, a->d * sizeof *x->center) == 0);
  return cpb_round_check(a, b, ours, theirs, error);
}

cpb_status cpb_svdd_rounds_merge(cpb_svdd_rounds *rounds, const cpb_svdd_rounds *piece, cpb_error *error) {
  cpb_status status = check_alike(rounds, piece, error);
  if (status != CPB_OK) return status;
  if (cpb_svdd_rounds_rows_room(&rounds->got.near_edge, rounds->d) != CPB_OK)
    return cpb_fail_memory(error, "%d rows", (int)CPB_SVDD_ROUNDS_ROWS);
  const cpb_svdd_rounds_gathered *from = &piece->got;
  if (rounds->ask.round == 0 && from->rows > 0)
    cpb_columns_widen(rounds->got.low, rounds->got.high, rounds->got.rows == 0, from->low, from->high,
                      rounds->d);
  for (size_t k = 0; k < cpb_svdd_rounds_sums(rounds); k++) {
    cpb_exact_sum sum = from->sum[k];
    cpb_exact_merge(&rounds->got.sum[k], &sum);
  }
  for (size_t k = 0; k < CPB_SVDD_ROUNDS_BINS; k++) rounds->got.bins[k] += from->bins[k];
  rounds->got.rows += from->rows;
  const cpb_svdd_rounds_rows *rows = &from->near_edge;
  for (size_t i = 0; i < rows->count; i++)
    cpb_svdd_rounds_keep(rounds, rows->id[i], rows->weight[i], rows->dist2[i], rows->p + i * rounds->d);
  return CPB_OK;
}

cpb_status cpb_svdd_rounds_restart(cpb_svdd_rounds *piece, const cpb_svdd_rounds *rounds, cpb_error *error) {
  if (piece == NULL || rounds == NULL) return cpb_fail_missing(error, piece == NULL ? "piece" : "rounds");
  cpb_status status = cpb_round_check_restart(piece, rounds, piece->d, rounds->d, error);
  if (status != CPB_OK) return status;
  double *center = piece->ask.center;
  memcpy(center, rounds->ask.center, rounds->d * sizeof *center);
  piece->options = rounds->options;
  piece->ask = rounds->ask;
  piece->ask.center = center;
  piece->known.column_count = 0;
  piece->known.upper = INFINITY;
  piece->known.done = rounds->known.done;
  cpb_svdd_rounds_clear(piece);
  return CPB_OK;
}

cpb_status cpb_svdd_rounds_sort(const cpb_svdd_rounds_rows *rows, size_t d, cpb_svdd_rounds_rows *sorted) {
  size_t n = rows->count;
  cpb_far_row *order = malloc((n + 1) * sizeof *order);
  cpb_status status = cpb_svdd_rounds_rows_room(sorted, d);
  if (order == NULL) status = CPB_ENOMEM;
  if (status == CPB_OK) {
    for (size_t i = 0; i < n; i++) order[i] = (cpb_far_row){rows->dist2[i], rows->id[i], i};
    qsort(order, n, sizeof *order, cpb_farthest_first);
    for (size_t k = 0; k < n; k++) set_row(sorted, d, k, rows, order[k].at);
    sorted->count = n;
  }
  free(order);
  return status;
}

/* T11 in pieces: what a round gathers, in an order that nothing depends on. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "batch/row_state.h"
#include "core/fail.h"
#include "core/sized.h"
#include "learn/distances.h"
#include "learn/own_rounds.h"
#include "learn/round_fail.h"
#include "learn/svdd_fail.h"
#include "learn/tail_parts.h"

enum { BLOCK_ROWS = 4096, PER_OCTAVE = 16, HALF = CPB_TAIL_BINS / 2 };

/* ---- the object ---- */

static bool allocate(cpb_tail *tail) {
  size_t d = tail->d;
  double *numbers = d > SIZE_MAX / sizeof(double) / 8 ? NULL : calloc(5 * d, sizeof *numbers);
  tail->ask.center = numbers;
  tail->got.sum = d > SIZE_MAX / sizeof(cpb_exact_sum) / 2 - 2
                      ? NULL
                      : calloc(cpb_tail_sums(tail), sizeof *tail->got.sum);
  tail->got.bins = calloc(CPB_TAIL_BINS, sizeof *tail->got.bins);
  if (numbers == NULL || tail->got.sum == NULL || tail->got.bins == NULL) return false;
  tail->got.low = numbers + d;
  tail->got.high = numbers + 2 * d;
  tail->known.origin = numbers + 3 * d;
  tail->known.best = numbers + 4 * d;
  return true;
}

cpb_status cpb_tail_new(size_t d, const cpb_svdd_options *given, cpb_tail **tail, cpb_error *error) {
  cpb_svdd_options options;
  if (tail == NULL) return cpb_fail_missing(error, "tail");
  *tail = NULL;
  cpb_svdd_options_init(&options, sizeof options);
  cpb_status status = cpb_sized_take(&options, sizeof options, given, "cpb_svdd_options", error);
  if (status == CPB_OK) status = cpb_svdd_check_options(&options, error);
  if (status == CPB_OK && d == 0) status = cpb_fail_count(error, "d", 0, "dimension d must be >= 1");
  if (status != CPB_OK) return status;
  options.weights = options.start = NULL;
  cpb_tail *made = calloc(1, sizeof *made);
  if (made != NULL) {
    *made = (cpb_tail){.loops = cpb_loops_here(), .d = d, .options = options};
    if (allocate(made)) {
      made->known.upper = INFINITY;
      cpb_tail_clear(made);
      *tail = made;
      return CPB_OK;
    }
  }
  cpb_tail_free(made);
  return cpb_fail_memory(error, "a tail of dimension %zu", d);
}

void cpb_tail_rows_free(cpb_tail_rows *rows) {
  free(rows->id);
  free(rows->weight);
  *rows = (cpb_tail_rows){0};
}

void cpb_tail_free(cpb_tail *tail) {
  if (tail == NULL) return;
  free(tail->ask.center);
  free(tail->got.sum);
  free(tail->got.bins);
  cpb_tail_rows_free(&tail->got.near_edge);
  free(tail->known.p);
  free(tail->known.q);
  free(tail);
}

void cpb_tail_clear(cpb_tail *tail) {
  cpb_tail_gathered *got = &tail->got;
  got->rows = 0;
  got->near_edge.count = 0;
  for (size_t k = 0; k < cpb_tail_sums(tail); k++) cpb_exact_clear(&got->sum[k]);
  memset(got->bins, 0, CPB_TAIL_BINS * sizeof *got->bins);
}

/* ---- rows near the edge ---- */

cpb_status cpb_tail_rows_room(cpb_tail_rows *rows, size_t d) {
  if (rows->room > 0) return CPB_OK;
  rows->id = malloc((CPB_TAIL_ROWS + 1) * sizeof *rows->id);
  rows->weight = d > SIZE_MAX / sizeof(double) / (CPB_TAIL_ROWS + 1) - 2
                     ? NULL
                     : malloc((CPB_TAIL_ROWS + 1) * (d + 2) * sizeof *rows->weight);
  if (rows->id == NULL || rows->weight == NULL) {
    cpb_tail_rows_free(rows);
    return CPB_ENOMEM;
  }
  rows->dist2 = rows->weight + CPB_TAIL_ROWS + 1;
  rows->p = rows->dist2 + CPB_TAIL_ROWS + 1;
  rows->room = CPB_TAIL_ROWS;
  return CPB_OK;
}

static void set_row(cpb_tail_rows *rows, size_t d, size_t to, const cpb_tail_rows *from, size_t i) {
  rows->id[to] = from->id[i];
  rows->weight[to] = from->weight[i];
  rows->dist2[to] = from->dist2[i];
  memcpy(rows->p + to * d, from->p + i * d, d * sizeof *rows->p);
}

/* i before j: farther from the edge, of equals the larger id. */
static bool goes_first(const cpb_tail *tail, size_t i, size_t j) {
  const cpb_tail_rows *rows = &tail->got.near_edge;
  double a = fabs(rows->dist2[i] - tail->ask.edge), b = fabs(rows->dist2[j] - tail->ask.edge);
  return a > b || (a == b && rows->id[i] > rows->id[j]);
}

static void sift_down(cpb_tail *tail, size_t i) {
  cpb_tail_rows *rows = &tail->got.near_edge;
  size_t spare = CPB_TAIL_ROWS, n = rows->count; /* the place behind the last is for the one that sinks */
  set_row(rows, tail->d, spare, rows, i);
  for (size_t child; (child = 2 * i + 1) < n; i = child) {
    if (child + 1 < n && goes_first(tail, child + 1, child)) child++;
    if (!goes_first(tail, child, spare)) break;
    set_row(rows, tail->d, i, rows, child);
  }
  set_row(rows, tail->d, i, rows, spare);
}

/* A row that is not kept: in the sums when it is beyond the edge, or upon it. */
static void let_go(cpb_tail *tail, double weight, double dist2, const double *p) {
  if (dist2 < tail->ask.edge) return;
  cpb_exact_sum *sum = tail->got.sum + (dist2 > tail->ask.edge ? 0 : tail->d + 2);
  for (size_t j = 0; j < tail->d; j++) cpb_exact_add(&sum[j], weight * p[j]);
  cpb_exact_add(&sum[tail->d], weight);
  cpb_exact_add(&sum[tail->d + 1], weight * dist2);
}

cpb_status cpb_tail_keep(cpb_tail *tail, uint64_t id, double weight, double dist2, const double *p) {
  cpb_tail_rows *rows = &tail->got.near_edge;
  cpb_status status = cpb_tail_rows_room(rows, tail->d);
  if (status != CPB_OK) return status;
  double top = rows->count < CPB_TAIL_ROWS ? INFINITY : fabs(rows->dist2[0] - tail->ask.edge);
  double own = fabs(dist2 - tail->ask.edge);
  if (own > top || (own == top && rows->count == CPB_TAIL_ROWS && id > rows->id[0])) {
    let_go(tail, weight, dist2, p);
    return CPB_OK;
  }
  size_t at = rows->count < CPB_TAIL_ROWS ? rows->count++ : 0;
  if (at == 0 && rows->count == CPB_TAIL_ROWS) let_go(tail, rows->weight[0], rows->dist2[0], rows->p);
  rows->id[at] = id;
  rows->weight[at] = weight;
  rows->dist2[at] = dist2;
  memcpy(rows->p + at * tail->d, p, tail->d * sizeof *p);
  if (at > 0 && rows->count == CPB_TAIL_ROWS)
    for (size_t i = CPB_TAIL_ROWS / 2 + 1; i-- > 0;) sift_down(tail, i);
  else if (at == 0 && rows->count == CPB_TAIL_ROWS)
    sift_down(tail, 0);
  return CPB_OK;
}

/* ---- a block of rows ---- */

typedef struct block_ids {
  const uint64_t *ids;
  uint64_t first;
  const double *weights;
} block_ids;

static double weight_at(block_ids ids, size_t i) { return ids.weights == NULL ? 1 : ids.weights[i]; }
static uint64_t id_at(block_ids ids, size_t i) { return ids.ids == NULL ? ids.first + i : ids.ids[i]; }

static size_t bin_of(const cpb_tail *tail, double dist2) {
  double v = fabs(dist2 - tail->ask.edge);
  int at = 0;
  if (v > 0) {
    int octave;
    double part = frexp(v, &octave); /* 1/2 .. 1 */
    at = (octave - tail->ask.octave + 96) * PER_OCTAVE + (int)((part - 0.5) * 2 * PER_OCTAVE);
    at = at < 0 ? 0 : at >= HALF ? HALF - 1 : at;
  }
  return dist2 > tail->ask.edge ? (size_t)(HALF + at) : (size_t)(HALF - 1 - at);
}

static void row_of(const cpb_tail *tail, cpb_view x, size_t i, double *p) {
  cpb_scaled_row(tail->loops, x, tail->ask.exponent, i, p);
  tail->loops->axpby(1, p, -1, tail->ask.center, p, tail->d);
}

typedef struct dist2_job {
  const cpb_tail *tail;
  cpb_view x;
  double *dist2;
} dist2_job;

static void dist2_block(void *argument, size_t block, size_t first, size_t count) {
  (void)block;
  dist2_job *job = argument;
  cpb_dist2_of_rows(job->tail->loops, job->x, job->tail->ask.exponent, first, count, job->tail->ask.center,
                    job->dist2 + first);
}

static cpb_status gather(cpb_tail *tail, cpb_view x, block_ids ids, const double *dist2, double *p) {
  double unit = 0x1p62 / tail->ask.total;
  cpb_status status = CPB_OK;
  for (size_t i = 0; status == CPB_OK && i < x.rows; i++) {
    double weight = weight_at(ids, i);
    if (!(weight > 0)) continue;
    tail->got.rows++;
    tail->got.bins[bin_of(tail, dist2[i])] += (uint64_t)(weight * unit);
    row_of(tail, x, i, p);
    status = cpb_tail_keep(tail, id_at(ids, i), weight, dist2[i], p);
  }
  return status;
}

static void widen_span(cpb_tail *tail, const double *low, const double *high) {
  for (size_t j = 0; j < tail->d; j++) {
    tail->got.low[j] = tail->got.rows == 0 ? low[j] : fmin(tail->got.low[j], low[j]);
    tail->got.high[j] = tail->got.rows == 0 ? high[j] : fmax(tail->got.high[j], high[j]);
  }
}

static void look_at_columns(cpb_tail *tail, cpb_view x, block_ids ids, double *row) {
  for (size_t i = 0; i < x.rows; i++) {
    double weight = weight_at(ids, i);
    if (!(weight > 0)) continue;
    cpb_scaled_row(tail->loops, x, 0, i, row);
    widen_span(tail, row, row);
    for (size_t j = 0; j < tail->d; j++) cpb_exact_add(&tail->got.sum[j], row[j]);
    cpb_exact_add(&tail->got.sum[tail->d], weight);
    tail->got.rows++;
  }
}

/* All that can be wrong is found before anything is gathered. */
static cpb_status check_block(const cpb_tail *tail, cpb_view x, block_ids ids, const double *dist2,
                              cpb_error *error) {
  cpb_first_fault first;
  cpb_first_fault_init(&first);
  for (size_t i = 0; i < x.rows; i++) {
    double weight = weight_at(ids, i);
    if (!(weight >= 0 && weight < INFINITY)) return cpb_fail_weight(error, i, weight);
    if (weight == 0 || (tail->ask.round > 0 && dist2[i] < INFINITY)) continue;
    int fault = cpb_row_fault(tail->loops, x, i);
    if (fault != 0) {
      cpb_first_fault_meet(&first, i, (cpb_fault)fault);
      return cpb_first_fault_report(&first, "x", error);
    }
    if (tail->ask.round > 0) return cpb_fail_round_unseen(error);
  }
  return CPB_OK;
}

static cpb_status update(cpb_tail *tail, cpb_view x, block_ids ids, const cpb_exec *exec, cpb_error *error) {
  if (tail == NULL) return cpb_fail_missing(error, "tail");
  cpb_status status = cpb_check_view(x, "x", tail->d, error);
  if (status != CPB_OK || x.rows == 0) return status;
  double *numbers = malloc((x.rows + tail->d) * sizeof *numbers), *dist2 = numbers;
  if (numbers == NULL || cpb_tail_rows_room(&tail->got.near_edge, tail->d) != CPB_OK) {
    free(numbers);
    return cpb_fail_memory(error, "%zu rows", x.rows);
  }
  if (tail->ask.round > 0) {
    dist2_job job = {tail, x, dist2};
    cpb_blocks_run(&(cpb_blocks){x.rows, BLOCK_ROWS, dist2_block, &job}, exec);
  }
  status = check_block(tail, x, ids, dist2, error);
  if (status == CPB_OK && tail->ask.round == 0) look_at_columns(tail, x, ids, numbers + x.rows);
  if (status == CPB_OK && tail->ask.round > 0) status = gather(tail, x, ids, dist2, numbers + x.rows);
  free(numbers);
  return status;
}

cpb_status cpb_tail_update(cpb_tail *tail, cpb_view rows, uint64_t first_id, const double *weights,
                           const cpb_exec *exec, cpb_error *error) {
  return update(tail, rows, (block_ids){NULL, first_id, weights}, exec, error);
}

cpb_status cpb_tail_update_ids(cpb_tail *tail, cpb_view rows, const uint64_t *ids, const double *weights,
                               const cpb_exec *exec, cpb_error *error) {
  if (ids == NULL && rows.rows > 0) return cpb_fail_missing(error, "ids");
  return update(tail, rows, (block_ids){ids, 0, weights}, exec, error);
}

/* ---- pieces ---- */

static cpb_status check_alike(const cpb_tail *a, const cpb_tail *b, cpb_error *error) {
  if (a == NULL || b == NULL) return cpb_fail_missing(error, a == NULL ? "tail" : "piece");
  const cpb_tail_question *x = &a->ask, *y = &b->ask;
  cpb_round ours = {.d = a->d, .round = x->round}, theirs = {.d = b->d, .round = y->round};
  theirs.same_options = a->options.nu == b->options.nu && a->options.gap == b->options.gap;
  theirs.same_center =
      x->round == 0 || (a->d == b->d && x->exponent == y->exponent && x->edge == y->edge &&
                        x->total == y->total && memcmp(x->center, y->center, a->d * sizeof *x->center) == 0);
  return cpb_round_check(a, b, ours, theirs, error);
}

cpb_status cpb_tail_merge(cpb_tail *tail, const cpb_tail *piece, cpb_error *error) {
  cpb_status status = check_alike(tail, piece, error);
  if (status != CPB_OK) return status;
  if (cpb_tail_rows_room(&tail->got.near_edge, tail->d) != CPB_OK)
    return cpb_fail_memory(error, "%d rows", (int)CPB_TAIL_ROWS);
  const cpb_tail_gathered *from = &piece->got;
  if (tail->ask.round == 0 && from->rows > 0) widen_span(tail, from->low, from->high);
  for (size_t k = 0; k < cpb_tail_sums(tail); k++) {
    cpb_exact_sum sum = from->sum[k];
    cpb_exact_merge(&tail->got.sum[k], &sum);
  }
  for (size_t k = 0; k < CPB_TAIL_BINS; k++) tail->got.bins[k] += from->bins[k];
  tail->got.rows += from->rows;
  const cpb_tail_rows *rows = &from->near_edge;
  for (size_t i = 0; i < rows->count; i++)
    cpb_tail_keep(tail, rows->id[i], rows->weight[i], rows->dist2[i], rows->p + i * tail->d);
  return CPB_OK;
}

cpb_status cpb_tail_restart(cpb_tail *piece, const cpb_tail *tail, cpb_error *error) {
  if (piece == NULL || tail == NULL) return cpb_fail_missing(error, piece == NULL ? "piece" : "tail");
  if (piece == tail) return cpb_fail_round_itself(error);
  if (piece->d != tail->d) return cpb_fail_round_dimensions(error, piece->d, tail->d);
  double *center = piece->ask.center;
  memcpy(center, tail->ask.center, tail->d * sizeof *center);
  piece->options = tail->options;
  piece->ask = tail->ask;
  piece->ask.center = center;
  piece->known.column_count = 0;
  piece->known.upper = INFINITY;
  piece->known.done = tail->known.done;
  cpb_tail_clear(piece);
  return CPB_OK;
}

static int farthest_first(const void *a, const void *b) {
  const double *x = a, *y = b; /* distance, id's place */
  return x[0] != y[0] ? (x[0] < y[0] ? 1 : -1) : (x[1] > y[1]) - (x[1] < y[1]);
}

typedef struct id_place {
  uint64_t id;
  size_t at;
} id_place;

static int first_id_first(const void *a, const void *b) {
  const id_place *x = a, *y = b;
  return x->id != y->id ? (x->id > y->id ? 1 : -1) : (x->at > y->at) - (x->at < y->at);
}

cpb_status cpb_tail_sort(const cpb_tail_rows *rows, size_t d, cpb_tail_rows *sorted) {
  size_t n = rows->count;
  id_place *places = malloc((n + 1) * sizeof *places);
  double(*order)[2] = malloc((n + 1) * sizeof *order);
  cpb_status status = cpb_tail_rows_room(sorted, d);
  if (places == NULL || order == NULL) status = CPB_ENOMEM;
  if (status == CPB_OK) {
    for (size_t i = 0; i < n; i++) places[i] = (id_place){rows->id[i], i};
    qsort(places, n, sizeof *places, first_id_first);
    for (size_t k = 0; k < n; k++) {
      order[k][0] = rows->dist2[places[k].at];
      order[k][1] = (double)k;
    }
    qsort(order, n, sizeof *order, farthest_first);
    for (size_t k = 0; k < n; k++) set_row(sorted, d, k, rows, places[(size_t)order[k][1]].at);
    sorted->count = n;
  }
  free(places);
  free(order);
  return status;
}

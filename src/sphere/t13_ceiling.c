/* T13: how much of exact nearest-neighbour search is preserved by the embedding.
 *
 * At scale s the embedded neighbours of q are the rows with the k smallest keys D/(N+s^2), where D = |x-q|^2 and N is
 * the squared norm about the centre. Two rows compare by the sign of D_i (N_j+s^2) - D_j (N_i+s^2), which is linear in
 * s^2: a row that is behind each of the k true neighbours both at the smallest scale and by distance is behind them at
 * every scale in between. So only rows matter that are as near as the k-th neighbour by distance, or on the sphere of the
 * smallest scale as near as the true neighbour that is farthest there. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/best.h"
#include "base/fail.h"
#include "base/rows.h"
#include "base/blocks.h"
#include "loops/block_product.h"
#include "loops/chunk.h"
#include "sphere/choice.h"
#include "statistics/weighted.h"

/* Queries are compared with all rows by products of directions, which may err by this share of the square of both norms
 * for each coordinate; rows that may matter are measured. Rounded keys may change places where the exact ones are equal. */
static const double product_error = 0x1p-50, underflow = 0x1p-480, margin = 1 + 0x1p-30;

typedef struct ceiling_job {
  const cpb_loops *loops;
  const cpb_directions *x; /* about the centre */
  const double *row;       /* n x stride: the rows, scaled so that the largest number is about 1 */
  const double *norm;      /* about the centre, scaled likewise */
  size_t k, queries, scales;
  const double *s2;
  double least_s2;
  double *found; /* queries x scales */
} ceiling_job;

/* Other rows that can be among the k nearest at some scale, ordered by id. */
typedef struct candidates {
  size_t count;
  uint64_t *id;
  double *distance2;
} candidates;

static double key_of(const ceiling_job *job, uint64_t row, double distance2, double s2) {
  return distance2 / (job->norm[row] * job->norm[row] + s2);
}

static double distance2_of(const ceiling_job *job, size_t query, size_t row) {
  size_t stride = job->x->stride;
  return job->loops->dist2(job->row + row * stride, job->row + query * stride, job->x->d);
}

/* Bounds of |x-q|^2 from the product of directions: (|x|-|q|)^2 + 2 |x| |q| (1-<u,v>). */
typedef struct bounds {
  double low, high;
} bounds;

static bounds bounds_of(const ceiling_job *job, size_t query, size_t row, double cosine) {
  double a = job->norm[row], b = job->norm[query], gap = a - b, sum = a + b;
  double distance2 = gap * gap + 2 * a * b * (1 - cosine);
  double error = sum * sum * (double)(job->x->d + 32) * product_error + underflow;
  return (bounds){distance2 - error, distance2 + error};
}

/* The k nearest others, as near->entry of ids. */
static void find_near(const ceiling_job *job, size_t query, const double *cosine, cpb_best *near) {
  near->count = 0;
  for (size_t row = 0; row < job->x->n; row++)
    if (row != query) cpb_best_offer(near, bounds_of(job, query, row, cosine[row * CPB_TILE_COLS]).high, row);
  double limit = near->entry[0].key;
  near->count = 0;
  for (size_t row = 0; row < job->x->n; row++)
    if (row != query && bounds_of(job, query, row, cosine[row * CPB_TILE_COLS]).low <= limit)
      cpb_best_offer(near, distance2_of(job, query, row), row);
}

static void find_candidates(const ceiling_job *job, size_t query, const double *cosine, const cpb_best *near,
                            candidates *c) {
  double limit = near->entry[0].key * margin + underflow, farthest = 0;
  for (size_t i = 0; i < near->count; i++) {
    double key = key_of(job, near->entry[i].id, near->entry[i].key, job->least_s2);
    if (!(key <= farthest)) farthest = key;
  }
  farthest *= margin;
  c->count = 0;
  for (size_t row = 0; row < job->x->n; row++) {
    double low = row == query ? INFINITY : bounds_of(job, query, row, cosine[row * CPB_TILE_COLS]).low;
    if (row == query || (low > limit && key_of(job, row, low, job->least_s2) > farthest)) continue;
    c->id[c->count] = row;
    c->distance2[c->count++] = distance2_of(job, query, row);
  }
}

/* How many of the k rows nearest by distance^2/(norm^2+s^2) are as near as the k-th by distance. */
static double count_found(const ceiling_job *job, const candidates *c, double s2, double limit,
                          cpb_best *near) {
  near->count = 0;
  for (size_t i = 0; i < c->count; i++) cpb_best_offer(near, key_of(job, c->id[i], c->distance2[i], s2), i);
  double found = 0;
  for (size_t i = 0; i < near->count; i++) found += c->distance2[near->entry[i].id] <= limit;
  return found;
}

static void ask(const ceiling_job *job, size_t query, const double *cosine, candidates *c, cpb_best *near) {
  find_near(job, query, cosine, near);
  double limit = near->entry[0].key, *found = job->found + query * job->scales;
  find_candidates(job, query, cosine, near, c);
  for (size_t k = 0; k < job->scales; k++) found[k] = count_found(job, c, job->s2[k], limit, near);
}

/* CPB_TILE_COLS queries. */
static cpb_status ask_some(void *argument, size_t task, cpb_error *error) {
  const ceiling_job *job = argument;
  const cpb_directions *x = job->x;
  size_t first = task * CPB_TILE_COLS, left = job->queries - first;
  size_t count = left < CPB_TILE_COLS ? left : CPB_TILE_COLS;
  cpb_memory memory = {0};
  double *b = cpb_memory_zeros(&memory, x->stride, CPB_TILE_COLS * sizeof *b);
  double *cosines = cpb_memory_take(&memory, x->rows, CPB_TILE_COLS * sizeof *cosines);
  candidates c = {0, cpb_memory_take(&memory, x->n, sizeof *c.id),
                  cpb_memory_take(&memory, x->n, sizeof *c.distance2)};
  cpb_best near = {job->k, 0, cpb_memory_take(&memory, job->k, sizeof *near.entry)};
  cpb_status status = memory.failed ? cpb_fail_memory(error, "%zu candidates", x->n) : CPB_OK;
  if (status == CPB_OK) {
    for (size_t i = 0; i < count; i++)
      for (size_t k = 0; k < x->d; k++) b[k * CPB_TILE_COLS + i] = x->unit[(first + i) * x->stride + k];
    cpb_product product = {.rows = x->rows,
                           .cols = CPB_TILE_COLS,
                           .k = x->d,
                           .a = x->unit,
                           .a_row = x->stride,
                           .a_k = 1,
                           .b = b,
                           .b_k = CPB_TILE_COLS,
                           .c = cosines,
                           .c_row = CPB_TILE_COLS};
    cpb_product_set(job->loops, &product, NULL);
    for (size_t i = 0; i < count; i++) ask(job, first + i, cosines + i, &c, &near);
  }
  cpb_memory_free(&memory);
  return status;
}

/* ---- preparation ---- */

/* The rows, divided by a power of two: distances of integers stay exact, and so do ties. */
static void scale_rows(const cpb_directions *x, cpb_view view, double *row, double *norm, int *shift) {
  double largest = 0;
  for (size_t i = 0; i < x->n; i++) {
    cpb_row_widen(view, i, row + i * x->stride);
    for (size_t k = 0; k < x->d; k++) largest = fmax(largest, fabs(row[i * x->stride + k]));
  }
  *shift = largest > 0 ? -ilogb(largest) : 0;
  for (size_t i = 0; i < x->n; i++) {
    norm[i] = ldexp(x->norm[i], *shift);
    for (size_t k = 0; k < x->d; k++) row[i * x->stride + k] = ldexp(row[i * x->stride + k], *shift);
  }
}

static void take_means(const double *found, size_t queries, size_t scales, size_t k, double *recall,
                       double *spread) {
  double asked = (double)queries;
  for (size_t i = 0; i < scales; i++) {
    double sum = 0, squares = 0;
    for (size_t q = 0; q < queries; q++) sum += found[q * scales + i];
    recall[i] = sum / (asked * (double)k);
    for (size_t q = 0; q < queries; q++) {
      double gap = found[q * scales + i] / (double)k - recall[i];
      squares += gap * gap;
    }
    if (spread != NULL) spread[i] = sqrt(squares) / asked;
  }
}

static cpb_status measure(const cpb_directions *x, cpb_memory *memory, cpb_view view, size_t k,
                          size_t queries, const double *s, size_t count, double *recall, double *spread,
                          const cpb_exec *exec, cpb_error *error) {
  double *norm = cpb_memory_take(memory, x->n, sizeof *norm), least = INFINITY;
  double *s2 = cpb_memory_take(memory, count, sizeof *s2);
  double *found = cpb_memory_zeros(memory, queries, count * sizeof *found);
  double *row = cpb_memory_zeros(memory, x->n, x->stride * sizeof *row);
  int shift;
  if (memory->failed) return cpb_fail_memory(error, "%zu queries", queries);
  scale_rows(x, view, row, norm, &shift);
  for (size_t i = 0; i < count; i++) {
    double scale = ldexp(s[i], shift);
    s2[i] = scale * scale;
    least = fmin(least, scale);
  }
  ceiling_job job = {.loops = cpb_loops_here(),
                     .x = x,
                     .row = row,
                     .norm = norm,
                     .k = k,
                     .queries = queries,
                     .scales = count,
                     .s2 = s2,
                     .least_s2 = least * least,
                     .found = found};
  size_t tasks = (queries + CPB_TILE_COLS - 1) / CPB_TILE_COLS;
  cpb_status status = cpb_exec_try(exec, tasks, ask_some, &job, error);
  if (status == CPB_OK) take_means(found, queries, count, k, recall, spread);
  return status;
}

cpb_status cpb_search_ceiling(cpb_view x, const double *center, size_t k, size_t queries, const double *s,
                              size_t count, double *recall, double *spread, const cpb_exec *exec,
                              cpb_error *error) {
  if (k == 0 || queries == 0)
    return cpb_fail(error, CPB_WHY_DOMAIN, "k", "k and queries must be at least 1, got %zu and %zu", k,
                    queries);
  if (x.rows <= k) return cpb_fail_count(error, "k", x.rows, "%zu neighbours need more than %zu rows", k, k);
  for (size_t i = 0; i < count; i++) {
    cpb_status status = cpb_check_scale(s[i], error);
    if (status != CPB_OK) return status;
  }
  cpb_memory memory = {0};
  cpb_directions rows;
  cpb_status status = cpb_directions_new(&rows, &memory, x, center, exec, error);
  if (status == CPB_OK)
    status = measure(&rows, &memory, x, k, queries < x.rows ? queries : x.rows, s, count, recall, spread,
                     exec, error);
  cpb_memory_free(&memory);
  return status;
}

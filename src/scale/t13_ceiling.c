/* T13: how much of exact nearest-neighbour search survives the embedding. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "parallel/blocks.h"
#include "scale/ceiling.h"
#include "core/best.h"
#include "core/fail.h"
#include "scale/directions.h"
#include "loop/table.h"

typedef struct ceiling_job {
  const cpb_loops *loops;
  const cpb_directions *x; /* the rows, scaled so that the largest number is near 1 */
  const double *norm2;     /* about the centre */
  size_t k, scales;
  const double *s2;
  double *found; /* queries x scales */
  _Atomic int out_of_memory;
} ceiling_job;

static void find_distances(const ceiling_job *job, size_t query, double *distance2) {
  const cpb_directions *x = job->x;
  const double *q = x->unit + query * x->stride;
  for (size_t i = 0; i < x->n; i++) distance2[i] = job->loops->dist2(x->unit + i * x->stride, q, x->d);
}

/* How many of the k rows nearest by distance^2/(norm^2+s^2) are as near as the k-th by distance. */
static double count_found(const ceiling_job *job, size_t query, double s2, const double *distance2,
                          double limit, cpb_best *near) {
  near->count = 0;
  for (size_t i = 0; i < job->x->n; i++)
    if (i != query) cpb_best_offer(near, distance2[i] / (job->norm2[i] + s2), i);
  double found = 0;
  for (size_t i = 0; i < near->count; i++) found += distance2[near->entry[i].id] <= limit;
  return found;
}

static void ask(void *argument, size_t query) {
  ceiling_job *job = argument;
  size_t n = job->x->n;
  double *distance2 = malloc(n * sizeof *distance2);
  cpb_best near = {job->k, 0, malloc(job->k * sizeof *near.entry)};
  if (distance2 == NULL || near.entry == NULL) {
    atomic_store(&job->out_of_memory, 1);
  } else {
    find_distances(job, query, distance2);
    for (size_t i = 0; i < n; i++)
      if (i != query) cpb_best_offer(&near, distance2[i], i);
    double limit = near.entry[0].key;
    for (size_t k = 0; k < job->scales; k++)
      job->found[query * job->scales + k] = count_found(job, query, job->s2[k], distance2, limit, &near);
  }
  free(distance2);
  free(near.entry);
}

/* Takes the rows themselves in place of their directions, all divided by the same power of two: whole numbers
 * then have exact distances, and ties are ties. */
static int unit_to_rows(cpb_directions *x, cpb_view rows, double *norm2) {
  double largest = 0;
  for (size_t i = 0; i < x->n; i++) {
    double *row = x->unit + i * x->stride;
    cpb_loops_here()->widen[rows.dtype](
        (const char *)rows.data + i * rows.stride * cpb_dtype_size(rows.dtype), x->d, row);
    for (size_t k = 0; k < x->d; k++) largest = fmax(largest, fabs(row[k]));
  }
  int shift = largest > 0 ? -ilogb(largest) : 0;
  for (size_t i = 0; i < x->n; i++) {
    double norm = ldexp(x->norm[i], shift), *row = x->unit + i * x->stride;
    norm2[i] = norm * norm;
    for (size_t k = 0; k < x->d; k++) row[k] = ldexp(row[k], shift);
  }
  return shift;
}

static void ask_one(void *arg, size_t block, size_t query, size_t count) {
  (void)block;
  (void)count;
  ask(arg, query);
}

static cpb_status measure(cpb_directions *x, cpb_view view, size_t k, size_t queries, const double *s,
                          size_t count, double *recall, double *spread, const cpb_exec *exec,
                          cpb_error *error) {
  double *norm2 = malloc((x->n + 2 * count + 1) * sizeof *norm2), *s2 = norm2 + x->n;
  double *found = calloc(queries * count + 1, sizeof *found);
  ceiling_job job = {cpb_loops_here(), x, norm2, k, count, s2, found, 0};
  cpb_status status = CPB_OK;
  if (norm2 == NULL || found == NULL) {
    atomic_store(&job.out_of_memory, 1);
  } else {
    int shift = unit_to_rows(x, view, norm2);
    for (size_t i = 0; i < count; i++) s2[i] = ldexp(s[i], shift) * ldexp(s[i], shift);
    status = cpb_blocks_run_told(&(cpb_blocks){queries, 1, ask_one, &job}, exec, error);
    for (size_t i = 0; i < count; i++) {
      double sum = 0, squares = 0, asked = (double)queries;
      for (size_t q = 0; q < queries; q++) sum += found[q * count + i];
      recall[i] = sum / (asked * (double)k);
      for (size_t q = 0; q < queries; q++) {
        double gap = found[q * count + i] / (double)k - recall[i];
        squares += gap * gap;
      }
      if (spread != NULL) spread[i] = sqrt(squares) / asked;
    }
  }
  free(norm2);
  free(found);
  if (atomic_load(&job.out_of_memory)) return cpb_fail_memory(error, "%zu queries", queries);
  return status;
}

cpb_status cpb_search_ceiling(cpb_view x, const double *center, size_t k, size_t queries, const double *s,
                              size_t count, double *recall, const cpb_exec *exec, cpb_error *error) {
  return cpb_ceiling_measure(x, center, k, queries, s, count, recall, NULL, exec, error);
}

cpb_status cpb_ceiling_measure(cpb_view x, const double *center, size_t k, size_t queries, const double *s,
                               size_t count, double *recall, double *spread, const cpb_exec *exec,
                               cpb_error *error) {
  if (count > 0 && (s == NULL || recall == NULL)) return cpb_fail_missing(error, s == NULL ? "s" : "recall");
  if (k == 0 || queries == 0)
    return cpb_fail(error, CPB_WHY_DOMAIN, "k", "k and queries must be at least 1, got %zu and %zu", k,
                    queries);
  if (x.rows <= k) return cpb_fail_count(error, "k", x.rows, "%zu neighbours need more than %zu rows", k, k);
  for (size_t i = 0; i < count; i++) {
    cpb_status status = cpb_check_scale(s[i], error);
    if (status != CPB_OK) return status;
  }
  cpb_directions rows;
  cpb_status status = cpb_directions_new(&rows, x, center, exec, error);
  if (status == CPB_OK)
    status = measure(&rows, x, k, queries < x.rows ? queries : x.rows, s, count, recall, spread, exec, error);
  cpb_directions_free(&rows);
  return status;
}

/* T13: candidates in the order of their exact distances, from the rows or from their images alone. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "batch/metric.h"
#include "batch/row_state.h"
#include "capball/sketch.h"
#include "core/best.h"
#include "core/fail.h"
#include "core/rows.h"

typedef struct ranking {
  const cpb_loops *loops;
  cpb_view base, queries;
  const cpb_map_options *map; /* of embedded rows; NULL: the base is the data */
  const cpb_hit *candidates;
  size_t count, k;
  cpb_hit *hits;
  double *images; /* of the queries, doubles; themselves without a map */
  cpb_first_fault query_fault, row_fault;
  _Atomic uint64_t foreign; /* the largest id beyond the base; 0: none */
  atomic_bool out_of_memory;
} ranking;

/* 1 + x0 of an image, which cancels in the south: |x'|^2/(1-x0) there. */
static int rise_of(const ranking *r, size_t row, double *rise) {
  size_t d = r->base.cols - 1;
  double last = cpb_view_at(r->base, row, d), length;
  *rise = 1 + last;
  if (last >= 0) return 0;
  cpb_metric metric = {.loops = r->loops, .x = r->base, .sign = 1};
  metric.x.cols = d;
  int fault = cpb_metric_length(&metric, row, &length);
  *rise = length * length / (1 - last);
  return fault;
}

/* |x-q|, or by |x-q|^2 = (|q|^2+s^2)(|x^-q^|^2/2)/(1+x0), (|q|^2+s^2) = 2 s^2/(1+q0). */
static int distance(const ranking *r, size_t query, double query_rise, size_t row, double *value) {
  cpb_metric metric = {.loops = r->loops, .x = r->base, .c = r->images + query * r->base.cols, .sign = 1};
  double rise;
  int fault = cpb_metric_length(&metric, row, value);
  if (fault != 0 || r->map == NULL) return fault;
  fault = rise_of(r, row, &rise);
  if (fault == 0) *value *= r->map->s / sqrt(rise * query_rise);
  return fault;
}

/* 1 + q0 of a query's image, by |q|^2 where it would cancel. */
static double rise_of_query(const ranking *r, size_t query) {
  if (r->map == NULL) return 1;
  size_t d = r->base.cols - 1;
  const double *y = r->images + query * (d + 1);
  return y[d] >= 0 ? 1 + y[d] : r->loops->dot(y, y, d) / (1 - y[d]);
}

static void meet_foreign(ranking *r, uint64_t id) {
  uint64_t known = atomic_load(&r->foreign);
  while (id > known && !atomic_compare_exchange_weak(&r->foreign, &known, id)) {
  }
}

static void rank_query(ranking *r, size_t query, cpb_ranked *entries) {
  cpb_best best = {r->k, 0, entries};
  double rise = rise_of_query(r, query);
  for (size_t i = 0; i < r->count; i++) {
    uint64_t id = r->candidates[query * r->count + i].id;
    double value;
    if (id >= r->base.rows) {
      meet_foreign(r, id);
      return;
    }
    int fault = distance(r, query, rise, (size_t)id, &value);
    if (fault != 0) {
      cpb_first_fault_meet(&r->row_fault, (size_t)id, (cpb_fault)fault);
      return;
    }
    cpb_best_offer(&best, value, id);
  }
  qsort(entries, best.count, sizeof *entries, cpb_ranked_compare);
  for (size_t i = 0; i < r->k; i++) r->hits[query * r->k + i] = (cpb_hit){entries[i].id, entries[i].key};
}

static void rank_queries(void *arg, size_t block, size_t first, size_t count) {
  ranking *r = arg;
  (void)block;
  cpb_ranked *entries = malloc(r->k * sizeof *entries);
  if (entries == NULL)
    atomic_store(&r->out_of_memory, true);
  else
    for (size_t query = first; query < first + count; query++) rank_query(r, query, entries);
  free(entries);
}

static cpb_status widen_queries(ranking *r, cpb_error *error) {
  size_t d = r->queries.cols;
  for (size_t i = 0; i < r->queries.rows; i++) {
    int fault = cpb_row_fault(r->loops, r->queries, i);
    if (fault != 0) cpb_first_fault_meet(&r->query_fault, i, (cpb_fault)fault);
    for (size_t k = 0; k < d && r->map == NULL; k++) r->images[i * d + k] = cpb_view_at(r->queries, i, k);
  }
  return cpb_first_fault_report(&r->query_fault, "queries", error);
}

static cpb_status rank(ranking *r, const cpb_map *map, const cpb_exec *exec, cpb_error *error) {
  enum { QUERIES_PER_TASK = 8 };
  if (r->queries.rows > 0 && (r->candidates == NULL || r->hits == NULL))
    return cpb_fail(error, CPB_EINVAL, "candidates and hits must not be NULL");
  if (r->k == 0 || r->k > r->count)
    return cpb_fail(error, CPB_EINVAL, "k must be 1 .. the number of candidates, %zu, got %zu", r->count,
                    r->k);
  cpb_first_fault_init(&r->query_fault);
  cpb_first_fault_init(&r->row_fault);
  r->loops = cpb_loops_here();
  r->images = malloc((r->queries.rows * r->base.cols + 1) * sizeof *r->images);
  if (r->images == NULL) return cpb_fail(error, CPB_ENOMEM, "no memory for %zu queries", r->queries.rows);
  cpb_status status = widen_queries(r, error);
  if (status == CPB_OK && map != NULL)
    status = cpb_map_embed(map, r->queries, cpb_rows_out(r->images, CPB_F64, r->queries.rows, r->base.cols),
                           exec, error);
  if (status == CPB_OK) {
    cpb_blocks blocks = {r->queries.rows, QUERIES_PER_TASK, rank_queries, r};
    cpb_blocks_run(&blocks, exec);
    status = cpb_first_fault_report(&r->row_fault, "base", error);
  }
  free(r->images);
  uint64_t foreign = atomic_load(&r->foreign);
  if (status == CPB_OK && foreign != 0)
    return cpb_fail(error, CPB_EINVAL, "candidate %llu is beyond the %zu rows of the base",
                    (unsigned long long)foreign, r->base.rows);
  if (status == CPB_OK && atomic_load(&r->out_of_memory))
    return cpb_fail(error, CPB_ENOMEM, "no memory for %zu neighbours", r->k);
  return status;
}

cpb_status cpb_rerank(cpb_view base, cpb_view queries, const cpb_hit *candidates, size_t count, size_t k,
                      cpb_hit *hits, const cpb_exec *exec, cpb_error *error) {
  cpb_status status = cpb_check_view(base, "base", base.cols, error);
  if (status == CPB_OK) status = cpb_check_view(queries, "queries", base.cols, error);
  if (status != CPB_OK) return status;
  ranking r = {
      .base = base, .queries = queries, .candidates = candidates, .count = count, .k = k, .hits = hits};
  return rank(&r, NULL, exec, error);
}

cpb_status cpb_rerank_embedded(const cpb_map *map, cpb_view embedded, cpb_view queries,
                               const cpb_hit *candidates, size_t count, size_t k, cpb_hit *hits,
                               const cpb_exec *exec, cpb_error *error) {
  if (map == NULL) return cpb_fail(error, CPB_EINVAL, "map must not be NULL");
  cpb_map_options options = cpb_map_describe(map);
  if (options.pole != NULL || options.whiten != NULL || options.toward != NULL)
    return cpb_fail(error, CPB_EINVAL, "embedded rows are ranked for maps of a centre and a scale alone");
  cpb_status status = cpb_check_view(embedded, "embedded", options.d + 1, error);
  if (status == CPB_OK) status = cpb_check_view(queries, "queries", options.d, error);
  if (status != CPB_OK) return status;
  ranking r = {.base = embedded,
               .queries = queries,
               .map = &options,
               .candidates = candidates,
               .count = count,
               .k = k,
               .hits = hits};
  return rank(&r, map, exec, error);
}

/* A typical k-th distance, from a few queries and the whole base. */
#include <stdlib.h>

#include "core/fail.h"
#include "core/median.h"
#include "core/rows.h"
#include "loop/chunk.h"
#include "scale/row_sample.h"
#include "proof/proof_parts.h"
#include "search/search_object.h"
#include "batch/map_object.h"

struct cpb_radius_sample {
  const cpb_map *map;
  size_t k;
  cpb_row_sample queries; /* rows of d doubles, in the metric of the map */
  cpb_search *search;     /* NULL before the first row of the base */
};

cpb_status cpb_radius_sample_new(const cpb_map *map, size_t k, size_t most, cpb_radius_sample **sample,
                                 cpb_error *error) {
  enum { USUAL = 64 };
  cpb_status status = cpb_check_round(map, error);
  if (status != CPB_OK) return status;
  if (sample == NULL) return cpb_fail_missing(error, "sample");
  if (k == 0) return cpb_fail_count(error, "k", 0, "k must be at least 1");
  *sample = calloc(1, sizeof **sample);
  if (*sample == NULL) return cpb_fail_memory(error, "a sample of queries");
  (*sample)->map = map;
  (*sample)->k = k;
  cpb_row_sample_init(&(*sample)->queries, most == 0 ? USUAL : most, map->options.d * sizeof(double), 0);
  return CPB_OK;
}

void cpb_radius_sample_free(cpb_radius_sample *sample) {
  if (sample == NULL) return;
  cpb_row_sample_free(&sample->queries);
  cpb_search_free(sample->search);
  free(sample);
}

/* z = W x: distances do not depend on the centre. x: d doubles of scratch space. */
static void to_metric(const cpb_map *map, cpb_view rows, size_t row, double *x, double *z) {
  const cpb_loops *loops = cpb_loops_here();
  size_t d = map->options.d;
  cpb_row_widen(rows, row, map->whiten != NULL ? x : z);
  for (size_t i = 0; map->whiten != NULL && i < d; i++) z[i] = loops->dot(map->whiten + i * d, x, d);
}

cpb_status cpb_radius_sample_queries(cpb_radius_sample *sample, cpb_view queries, uint64_t first_id,
                                     cpb_error *error) {
  if (sample == NULL) return cpb_fail_missing(error, "sample");
  size_t d = sample->map->options.d;
  cpb_status status = cpb_check_view(queries, "queries", d, error);
  if (status == CPB_OK && sample->search != NULL)
    status =
        cpb_fail(error, CPB_WHY_CALL_ORDER, "sample", "the base has been offered already: no more queries");
  if (status != CPB_OK) return status;
  double *memory = malloc(2 * d * sizeof *memory);
  if (memory == NULL) return cpb_fail_memory(error, "a row of %zu columns", d);
  for (size_t row = 0; row < queries.rows && status == CPB_OK; row++) {
    status = cpb_check_finite_row(queries, row, "queries", error);
    if (status != CPB_OK || cpb_row_sample_hash(0, first_id + row) > sample->queries.bound) continue;
    to_metric(sample->map, queries, row, memory, memory + d);
    status = cpb_row_sample_offer(&sample->queries, first_id + row, memory + d, error);
  }
  free(memory);
  return status;
}

static cpb_status start_search(cpb_radius_sample *sample, cpb_error *error) {
  cpb_row_sample *queries = &sample->queries;
  cpb_status status = cpb_row_sample_settle(queries, error);
  if (status != CPB_OK) return status;
  if (queries->count == 0)
    return cpb_fail(error, CPB_WHY_NO_ROWS, "sample", "a usual radius needs at least one query");
  cpb_search_options options;
  cpb_search_options_init(&options, sizeof options);
  options.metric = CPB_L2;
  options.k = sample->k;
  return cpb_search_new(cpb_rows(queries->rows, CPB_F64, queries->count, sample->map->options.d), &options,
                        &sample->search, error);
}

static cpb_status feed_whitened(cpb_radius_sample *sample, cpb_view rows, uint64_t first,
                                const cpb_exec *exec, cpb_error *error) {
  size_t d = sample->map->options.d;
  double *memory = malloc((rows.rows + 1) * d * sizeof *memory), *z = memory + d;
  if (memory == NULL) return cpb_fail_memory(error, "%zu rows", rows.rows);
  for (size_t row = 0; row < rows.rows; row++) to_metric(sample->map, rows, row, memory, z + row * d);
  cpb_status status = cpb_search_feed(sample->search, cpb_rows(z, CPB_F64, rows.rows, d), first, exec, error);
  free(memory);
  return status;
}

cpb_status cpb_radius_sample_base(cpb_radius_sample *sample, cpb_view rows, const cpb_exec *exec,
                                  cpb_error *error) {
  if (sample == NULL) return cpb_fail_missing(error, "sample");
  cpb_status status = cpb_check_view(rows, "rows", sample->map->options.d, error);
  if (status == CPB_OK && sample->search == NULL) status = start_search(sample, error);
  if (status != CPB_OK) return status;
  uint64_t first = cpb_search_rows(sample->search);
  return sample->map->whiten != NULL ? feed_whitened(sample, rows, first, exec, error)
                                     : cpb_search_feed(sample->search, rows, first, exec, error);
}

cpb_status cpb_radius_sample_median(cpb_radius_sample *sample, double *radius, cpb_error *error) {
  if (sample == NULL || radius == NULL) return cpb_fail_missing(error, sample == NULL ? "sample" : "radius");
  uint64_t rows = sample->search != NULL ? cpb_search_rows(sample->search) : 0;
  if (rows < sample->k)
    return cpb_fail_count(error, "k", rows, "%zu neighbours need a base of as many rows", sample->k);
  size_t n = sample->queries.count;
  double *all = malloc(n * sizeof *all);
  if (all == NULL) return cpb_fail_memory(error, "%zu distances", n);
  cpb_status status = CPB_OK;
  for (size_t i = 0; i < n && status == CPB_OK; i++) {
    const cpb_hit *hits;
    size_t count;
    status = cpb_search_hits(sample->search, i, &hits, &count, error);
    if (status == CPB_OK) all[i] = hits[sample->k - 1].value;
  }
  if (status == CPB_OK) *radius = cpb_median(all, n);
  free(all);
  return status;
}

/* T13: recommendations and radii from sources. */
#include <stdlib.h>

#include "batch/map_object.h"
#include "capball/query.h"
#include "core/fail.h"
#include "core/median.h"
#include "core/rows.h"
#include "core/sized.h"
#include "fit/fit_parts.h"
#include "loop/chunk.h"
#include "proof/proof_parts.h"
#include "scale/row_sample.h"
#include "search/search_object.h"

/* A hash sample of a source, in constant memory. */
typedef struct sampled {
  cpb_statistics *statistics;
  cpb_statistics_result facts;
} sampled;

static cpb_status read_sample(cpb_source *source, const char *name, size_t rows, uint64_t seed, bool skip_bad,
                              double from, double to, sampled *s, const cpb_exec *exec, cpb_error *error) {
  cpb_passes passes;
  cpb_statistics_fit_options options = {.sample = rows, .seed = seed, .skip_bad = skip_bad};
  cpb_status status = cpb_passes_init(&passes, source, 1, exec, error);
  if (status != CPB_OK) return status;
  passes.name = name;
  passes.from = from;
  passes.to = to;
  return cpb_gather(&passes, &options, false, &s->statistics, &s->facts, error);
}

cpb_status cpb_recommend_fit(cpb_source *base, cpb_source *queries, bool skip_bad,
                             const cpb_recommend_options *options, cpb_recommendation **recommendation,
                             const cpb_exec *exec, cpb_error *error) {
  sampled rows = {.statistics = NULL}, asking = {.statistics = NULL};
  cpb_recommend_options o;
  cpb_exec_part part;
  cpb_recommend_options_init(&o, sizeof o);
  cpb_status status = cpb_sized_take(&o, sizeof o, options, "recommend options", error);
  if (status == CPB_OK)
    status = read_sample(base, "base", o.sample, o.seed, skip_bad, 0, 0.1, &rows, exec, error);
  if (status == CPB_OK && queries != NULL)
    status = cpb_check_source_cols(queries, "queries", base->cols, error);
  if (status == CPB_OK && queries != NULL)
    status = read_sample(queries, "queries", o.queries, o.seed, skip_bad, 0.1, 0.15, &asking, exec, error);
  cpb_view none = {NULL, CPB_F32, 0, 0, 0};
  o.sample = rows.facts.sample.rows;
  if (status == CPB_OK)
    status = cpb_recommend(rows.facts.sample, queries != NULL ? asking.facts.sample : none, &o,
                           recommendation, cpb_exec_part_of(&part, exec, 0.15, 1), error);
  cpb_statistics_free(rows.statistics);
  cpb_statistics_free(asking.statistics);
  return status;
}

/* ---- a usual radius ---- */

/* A typical k-th distance: the median, over a few queries chosen by a hash of their numbers, of the exact k-th distance
 * to the whole base. */
typedef struct usual {
  const cpb_map *map;
  size_t k;
  cpb_row_sample queries; /* rows of d doubles, in the metric of the map */
  cpb_search *search;
} usual;

/* z = W x: distances do not depend on the centre. x: d doubles of scratch space. */
static void to_metric(const cpb_map *map, cpb_view rows, size_t row, double *x, double *z) {
  const cpb_loops *loops = cpb_loops_here();
  size_t d = map->options.d;
  cpb_row_widen(rows, row, map->whiten != NULL ? x : z);
  for (size_t i = 0; map->whiten != NULL && i < d; i++) z[i] = loops->dot(map->whiten + i * d, x, d);
}

typedef cpb_status take_block(usual *u, cpb_view block, uint64_t first, const cpb_exec *exec,
                              cpb_error *error);

static cpb_status take_queries(usual *u, cpb_view block, uint64_t first, const cpb_exec *exec,
                               cpb_error *error) {
  (void)exec;
  size_t d = u->map->options.d;
  cpb_status status = cpb_check_view(block, "queries", d, error);
  if (status != CPB_OK) return status;
  double *memory = malloc(2 * d * sizeof *memory);
  if (memory == NULL) return cpb_fail_memory(error, "a row of %zu columns", d);
  for (size_t row = 0; row < block.rows && status == CPB_OK; row++) {
    status = cpb_check_finite_row(block, row, "queries", error);
    if (status != CPB_OK || cpb_row_sample_hash(0, first + row) > u->queries.bound) continue;
    to_metric(u->map, block, row, memory, memory + d);
    status = cpb_row_sample_offer(&u->queries, first + row, memory + d, error);
  }
  free(memory);
  return status;
}

static cpb_status start_search(usual *u, cpb_error *error) {
  cpb_status status = cpb_row_sample_settle(&u->queries, error);
  if (status != CPB_OK) return status;
  if (u->queries.count == 0)
    return cpb_fail(error, CPB_WHY_NO_ROWS, "sample", "a usual radius needs at least one query");
  cpb_search_options options;
  cpb_search_options_init(&options, sizeof options);
  options.metric = CPB_L2;
  options.k = u->k;
  cpb_view queries = cpb_rows(u->queries.rows, CPB_F64, u->queries.count, u->map->options.d);
  return cpb_search_new(queries, &options, &u->search, error);
}

static cpb_status take_base(usual *u, cpb_view block, uint64_t first, const cpb_exec *exec,
                            cpb_error *error) {
  size_t d = u->map->options.d;
  cpb_status status = cpb_check_view(block, "rows", d, error);
  if (status != CPB_OK) return status;
  if (u->map->whiten == NULL) return cpb_search_feed(u->search, block, first, exec, error);
  double *memory = malloc((block.rows + 1) * d * sizeof *memory), *z = memory + d;
  if (memory == NULL) return cpb_fail_memory(error, "%zu rows", block.rows);
  for (size_t row = 0; row < block.rows; row++) to_metric(u->map, block, row, memory, z + row * d);
  status = cpb_search_feed(u->search, cpb_rows(z, CPB_F64, block.rows, d), first, exec, error);
  free(memory);
  return status;
}

static cpb_status find_median(usual *u, double *radius, cpb_error *error) {
  uint64_t rows = cpb_search_rows(u->search);
  size_t n = u->queries.count;
  if (rows < u->k)
    return cpb_fail_count(error, "k", rows, "%zu neighbours need a base of as many rows", u->k);
  double *all = malloc(n * sizeof *all);
  cpb_status status = all == NULL ? cpb_fail_memory(error, "%zu distances", n) : CPB_OK;
  for (size_t i = 0; i < n && status == CPB_OK; i++) {
    const cpb_hit *hits;
    size_t count;
    status = cpb_search_hits(u->search, i, &hits, &count, error);
    if (status == CPB_OK) all[i] = hits[u->k - 1].value;
  }
  if (status == CPB_OK) *radius = cpb_median(all, n);
  free(all);
  return status;
}

/* The share of a pass that is done; if the number of rows is unknown, this many blocks count as half. */
static double share_read(const cpb_source *source, uint64_t rows, size_t blocks) {
  enum { HALF = 64 };
  if (source->rows == CPB_ROWS_UNKNOWN) return (double)blocks / (double)(blocks + HALF);
  return source->rows > rows ? (double)rows / (double)source->rows : 1;
}

/* One pass, reported as from .. to; calls within it can be stopped, but report no progress themselves. */
static cpb_status offer(usual *u, cpb_source *source, take_block *take, double from, double to,
                        const cpb_exec *exec, cpb_error *error) {
  cpb_status status = source->rewind(source, error);
  cpb_view block;
  size_t blocks = 0;
  for (uint64_t first = 0; status == CPB_OK; first += block.rows) {
    double share = from + (to - from) * share_read(source, first, blocks++);
    cpb_exec_part part;
    status = cpb_exec_tell(exec, share, error);
    if (status == CPB_OK) status = source->next(source, &block, error);
    if (status != CPB_OK || block.rows == 0) break;
    status = take(u, block, first, cpb_exec_part_of(&part, exec, share, share), error);
    if (status == CPB_EROW) status = cpb_fail_later(error, first);
  }
  return status;
}

cpb_status cpb_radius_fit(const cpb_map *map, cpb_source *queries, cpb_source *base, size_t k, double *radius,
                          const cpb_exec *exec, cpb_error *error) {
  enum { QUERIES = 64 };
  if (queries == NULL || base == NULL) return cpb_fail_missing(error, queries == NULL ? "queries" : "base");
  if (radius == NULL) return cpb_fail_missing(error, "radius");
  cpb_status status = cpb_check_round(map, error);
  if (status != CPB_OK) return status;
  if (k == 0) return cpb_fail_count(error, "k", 0, "k must be at least 1");
  usual u = {.map = map, .k = k};
  cpb_row_sample_init(&u.queries, QUERIES, map->options.d * sizeof(double), 0);
  status = offer(&u, queries, take_queries, 0, 0.1, exec, error);
  if (status == CPB_OK) status = start_search(&u, error);
  if (status == CPB_OK) status = offer(&u, base, take_base, 0.1, 1, exec, error);
  if (status == CPB_OK) status = find_median(&u, radius, error);
  cpb_row_sample_free(&u.queries);
  cpb_search_free(u.search);
  return status;
}

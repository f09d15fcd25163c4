/* T13: recommendations and radii from sources. */
#include <stdlib.h>

#include "sphere/map_object.h"
#include "base/fail.h"
#include "base/median.h"
#include "base/rows.h"
#include "base/sized.h"
#include "statistics/statistics_fit.h"
#include "loops/chunk.h"
#include "search/t13_search.h"
#include "capball/query.h"
#include "capball/transform.h"
#include "sphere/embedded_distance.h"

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
  return cpb_gather(&passes, &options, CPB_GATHER_COLUMNS, &s->statistics, &s->facts, error);
}

cpb_status cpb_recommend_fit(cpb_source *base, cpb_source *queries, bool skip_bad,
                             const cpb_recommend_options *options, cpb_recommendation **recommendation,
                             const cpb_exec *exec, cpb_error *error) {
  sampled rows = {.statistics = NULL}, asking = {.statistics = NULL};
  cpb_recommend_options o;
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
                           recommendation, CPB_EXEC_PART(exec, 0.15, 1), error);
  cpb_statistics_free(rows.statistics);
  cpb_statistics_free(asking.statistics);
  return status;
}

/* ---- a usual radius: the median, over a few queries chosen by a hash of their numbers, of the exact k-th distance to
 * the whole base ---- */

/* The rows as doubles in the metric of the map, z = W x: distances do not depend on the centre. */
static double *in_metric(const cpb_map *map, cpb_view rows) {
  const cpb_loops *loops = cpb_loops_here();
  size_t d = rows.cols;
  double *z = malloc((rows.rows + 1) * d * sizeof *z);
  for (size_t row = 0; z != NULL && row < rows.rows; row++) {
    double *to = z + row * d, *x = map->whiten != NULL ? z + rows.rows * d : to;
    cpb_row_widen(rows, row, x);
    for (size_t i = 0; map->whiten != NULL && i < d; i++) to[i] = loops->dot(map->whiten + i * d, x, d);
  }
  return z;
}

static cpb_status start_search(const cpb_map *map, cpb_view queries, size_t k, cpb_search **search,
                               cpb_error *error) {
  cpb_search_options options;
  cpb_search_options_init(&options, sizeof options);
  options.metric = CPB_L2;
  options.k = k;
  double *z = in_metric(map, queries);
  if (z == NULL) return cpb_fail_memory(error, "%zu rows", queries.rows);
  cpb_status status =
      cpb_search_new(cpb_rows(z, CPB_F64, queries.rows, queries.cols), &options, search, error);
  free(z);
  return status;
}

static cpb_status feed_block(const cpb_map *map, cpb_search *search, cpb_view block, uint64_t first,
                             const cpb_exec *exec, cpb_error *error) {
  cpb_status status = cpb_check_view(block, "rows", map->options.d, error);
  if (status != CPB_OK) return status;
  if (map->whiten == NULL) return cpb_search_feed(search, block, first, exec, error);
  double *z = in_metric(map, block);
  if (z == NULL) return cpb_fail_memory(error, "%zu rows", block.rows);
  status = cpb_search_feed(search, cpb_rows(z, CPB_F64, block.rows, block.cols), first, exec, error);
  free(z);
  return status;
}

/* Calls within it can be stopped, but report no progress themselves. */
static cpb_status feed_base(const cpb_map *map, cpb_search *search, cpb_source *base, const cpb_exec *exec,
                            cpb_error *error) {
  enum { HALF = 64 }; /* if the number of rows is unknown, this many blocks count as half */
  cpb_status status = base->rewind(base, error);
  cpb_view block;
  uint64_t blocks = 0;
  for (uint64_t first = 0; status == CPB_OK; first += block.rows) {
    bool unknown = base->rows == CPB_ROWS_UNKNOWN;
    double done = (double)(unknown ? blocks++ : first), all = unknown ? done + HALF : (double)base->rows;
    double share = done < all ? done / all : 1;
    status = cpb_exec_tell(exec, share, error);
    if (status == CPB_OK) status = base->next(base, &block, error);
    if (status != CPB_OK || block.rows == 0) break;
    status = feed_block(map, search, block, first, CPB_EXEC_PART(exec, share, share), error);
    if (status == CPB_EROW) status = cpb_fail_later(error, first);
  }
  return status;
}

static cpb_status find_median(cpb_search *search, size_t queries, size_t k, double *radius,
                              cpb_error *error) {
  cpb_status status = cpb_check_k(k, cpb_search_rows(search), "k", "rows of the base", error);
  if (status != CPB_OK) return status;
  double *all = malloc(queries * sizeof *all);
  if (all == NULL) status = cpb_fail_memory(error, "%zu distances", queries);
  for (size_t i = 0; i < queries && status == CPB_OK; i++) {
    const cpb_hit *hits;
    size_t count;
    status = cpb_search_hits(search, i, &hits, &count, error);
    if (status == CPB_OK) all[i] = hits[k - 1].value;
  }
  if (status == CPB_OK) *radius = cpb_median(all, queries);
  free(all);
  return status;
}

/* k is checked before a search takes memory for it: a base that does not say how many rows it has is read into memory if many
 * are wanted. */
static cpb_status check_base(cpb_source **base, cpb_source *memory, size_t k, const cpb_exec *exec,
                             cpb_error *error) {
  enum { MANY = 256 };
  bool unknown = (*base)->rows == CPB_ROWS_UNKNOWN;
  if (unknown && k <= MANY) return CPB_OK;
  if (unknown) {
    cpb_status status = cpb_source_hold(*base, &memory->view, exec, error);
    if (status != CPB_OK) return status;
    *memory = cpb_source_from_view(memory->view);
    *base = memory;
  }
  return cpb_check_k(k, (*base)->rows, "k", "rows of the base", error);
}

cpb_status cpb_radius_fit(const cpb_map *map, cpb_source *queries, cpb_source *base, size_t k, double *radius,
                          const cpb_exec *exec, cpb_error *error) {
  enum { QUERIES = 64 };
  if (radius == NULL) return cpb_fail_missing(error, "radius");
  cpb_status status = cpb_check_readable(queries, "queries", error);
  if (status == CPB_OK) status = cpb_check_readable(base, "base", error);
  if (status == CPB_OK) status = cpb_check_round(map, error);
  if (status == CPB_OK && k == 0) status = cpb_fail_count(error, "k", 0, "k must be at least 1");
  if (status == CPB_OK) status = cpb_check_source_cols(queries, "queries", map->options.d, error);
  if (status != CPB_OK) return status;
  sampled asking = {.statistics = NULL};
  cpb_search *search = NULL;
  cpb_error why = {0};
  status = read_sample(queries, "queries", QUERIES, 0, false, 0, 0.1, &asking, exec, &why);
  size_t count = asking.facts.sample.rows;
  if (why.reason == CPB_WHY_NO_ROWS)
    status = cpb_fail(error, CPB_WHY_NO_ROWS, "sample", "a usual radius needs at least one query");
  else if (status != CPB_OK)
    status = cpb_fail_again(error, &why);
  cpb_source memory = {.size = sizeof memory};
  if (status == CPB_OK) status = check_base(&base, &memory, k, exec, error);
  if (status == CPB_OK) status = start_search(map, asking.facts.sample, k, &search, error);
  if (status == CPB_OK) status = feed_base(map, search, base, CPB_EXEC_PART(exec, 0.1, 1), error);
  cpb_free((void *)(uintptr_t)memory.view.data);
  if (status == CPB_OK) status = find_median(search, count, k, radius, error);
  cpb_statistics_free(asking.statistics);
  cpb_search_free(search);
  return status;
}

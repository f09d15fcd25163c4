/* T13: sorts candidates by exact distance, computed from the rows or from their images alone. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "loops/row_state.h"
#include "capball/advanced/feed.h"
#include "base/best.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/rows.h"
#include "base/sized.h"
#include "loops/table.h"
#include "base/blocks.h"
#include "base/id_set.h"
#include "search/measure.h"
#include "sphere/embedded_distance.h"
#include "sphere/map_object.h"

typedef struct ranking {
  const cpb_loops *loops;
  cpb_view base, queries;
  const cpb_map *map; /* of embedded rows; NULL: the base is the data */
  const cpb_hit *candidates;
  size_t count, k;
  cpb_hit *hits;
} ranking;

/* One query, and the scratch space of its task. */
typedef struct asked {
  cpb_query_image point; /* its image, or without a map the query itself in point.image */
  double *row;           /* base.cols */
  cpb_ranked *entries;   /* k */
  cpb_id_set met;
} asked;

static int distance(const ranking *r, const asked *a, size_t row, double *value) {
  if (r->map == NULL) return cpb_measure(r->loops, CPB_L2, r->base, row, a->point.image, NULL, value);
  cpb_row_widen(r->base, row, a->row);
  *value = cpb_query_image_distance(&a->point, a->row);
  return isnan(*value) ? CPB_FAULT_NAN : 0;
}

static cpb_status rank_query(const ranking *r, size_t query, asked *a, cpb_error *error) {
  cpb_best best = {r->k, 0, a->entries};
  cpb_status status = CPB_OK;
  if (r->map == NULL)
    cpb_row_widen(r->queries, query, a->point.image);
  else
    status = cpb_query_embed(r->map, cpb_view_slice(r->queries, query, 1), &a->point, error);
  if (status != CPB_OK) return status;
  cpb_id_set_empty(&a->met);
  for (size_t i = 0; i < r->count; i++) {
    uint64_t id = r->candidates[query * r->count + i].id;
    double value;
    if (id >= r->base.rows)
      return cpb_fail(error, CPB_WHY_NO_SUCH_ROW, "candidates",
                      "candidate %lld is not one of the %zu rows of the base", (long long)id, r->base.rows);
    if (!cpb_id_set_add(&a->met, id))
      return cpb_fail(error, CPB_WHY_ROW_TWICE, "candidates", "query %zu has a candidate twice", query);
    int fault = distance(r, a, (size_t)id, &value);
    if (fault != 0) return cpb_fault_report((size_t)id, fault, "base", error);
    cpb_best_offer(&best, value, id);
  }
  cpb_ranked_sort(a->entries, best.count);
  for (size_t i = 0; i < r->k; i++)
    r->hits[query * r->k + i] = (cpb_hit){a->entries[i].id, a->entries[i].key};
  return CPB_OK;
}

enum { QUERIES_PER_TASK = 8 };

static cpb_status rank_queries(void *arg, size_t task, cpb_error *error) {
  const ranking *r = arg;
  size_t query = task * QUERIES_PER_TASK, end = query + QUERIES_PER_TASK;
  cpb_memory memory = {0};
  asked a = {.met = cpb_id_set_take(&memory, r->count)};
  a.entries = cpb_memory_take(&memory, r->k, sizeof *a.entries);
  a.row = cpb_memory_take(&memory, r->base.cols, sizeof *a.row);
  a.point.image = cpb_memory_take(&memory, r->base.cols, sizeof *a.row);
  cpb_status status = memory.failed ? cpb_fail_memory(error, "%zu neighbours", r->k) : CPB_OK;
  for (; query < end && query < r->queries.rows && status == CPB_OK; query++)
    status = rank_query(r, query, &a, error);
  cpb_memory_free(&memory);
  return status;
}

static cpb_status check(const ranking *r, const cpb_exec *exec, cpb_error *error) {
  cpb_status status = r->map != NULL ? cpb_check_round(r->map, error) : CPB_OK;
  if (status != CPB_OK) return status;
  size_t d = r->map != NULL ? r->map->options.d : r->base.cols;
  status = r->map != NULL ? cpb_check_view(r->base, "embedded", d + 1, error)
                          : cpb_check_view(r->base, "base", d, error);
  if (status == CPB_OK) status = cpb_check_finite(r->queries, "queries", d, exec, error);
  if (status != CPB_OK) return status;
  if (r->queries.rows > 0 && (r->candidates == NULL || r->hits == NULL))
    return cpb_fail_missing(error, r->candidates == NULL ? "candidates" : "hits");
  return cpb_check_k(r->k, r->count, "k", "candidates", error);
}

static cpb_status rank(ranking *r, const cpb_exec *exec, cpb_error *error) {
  cpb_status status = check(r, exec, error);
  if (status != CPB_OK) return status;
  r->loops = cpb_loops_here();
  size_t tasks = (r->queries.rows + QUERIES_PER_TASK - 1) / QUERIES_PER_TASK;
  return cpb_exec_try(exec, tasks, rank_queries, r, error);
}

/* T13 T14: ranks candidates by rows in a store, and checks codes against rows. */

/* The distinct ids of all candidates, ascending; returns their number. */
static size_t list_ids(const cpb_hit *candidates, size_t all, uint64_t *ids) {
  size_t count = 0;
  for (size_t i = 0; i < all; i++) ids[i] = candidates[i].id;
  qsort(ids, all, sizeof *ids, cpb_compare_ids);
  for (size_t i = 0; i < all; i++)
    if (i == 0 || ids[i] != ids[i - 1]) ids[count++] = ids[i];
  return count;
}

/* Reads every candidate once, in the order of the ids. */
static cpb_status read_and_rank(ranking *r, const cpb_store *base, uint64_t *ids, cpb_hit *local,
                                const cpb_exec *exec, cpb_error *error) {
  size_t all = r->queries.rows * r->count, found = list_ids(r->candidates, all, ids);
  void *data = malloc((found + 1) * base->cols * cpb_dtype_size(base->dtype));
  if (data == NULL) return cpb_fail_memory(error, "%zu rows of %zu columns", found, base->cols);
  cpb_status status = base->get(base, ids, found, data, error);
  /* ranking uses positions among the rows read as ids; both orders are the same, so ties are resolved correctly */
  for (size_t i = 0; i < all; i++) {
    const uint64_t *at = bsearch(&r->candidates[i].id, ids, found, sizeof *ids, cpb_compare_ids);
    local[i] = (cpb_hit){(uint64_t)(at - ids), r->candidates[i].value};
  }
  r->base = cpb_rows(data, base->dtype, found, base->cols);
  r->candidates = local;
  if (status == CPB_OK) {
    status = rank(r, exec, error);
    if (status == CPB_EROW && error != NULL && error->row >= 0)
      status = cpb_fail_later(error, ids[error->row] - (uint64_t)error->row);
  }
  for (size_t i = 0; i < r->queries.rows * r->k && status == CPB_OK; i++) r->hits[i].id = ids[r->hits[i].id];
  free(data);
  return status;
}

CPB_DEFAULTS(cpb_rerank_options, .size = sizeof(cpb_rerank_options), .k = 10)

cpb_status cpb_rerank_store(const cpb_store *base, cpb_view queries, const cpb_hit *candidates, size_t count,
                            const cpb_rerank_options *options, cpb_hit *hits, const cpb_exec *exec,
                            cpb_error *error) {
  cpb_rerank_options o = defaults;
  if (base == NULL || base->get == NULL) return cpb_fail_missing(error, "base");
  if (candidates == NULL || hits == NULL)
    return cpb_fail_missing(error, candidates == NULL ? "candidates" : "hits");
  cpb_status status = cpb_sized_take(&o, sizeof o, options, "cpb_rerank_options", error);
  if (status != CPB_OK) return status;
  ranking r = {.base = base->view,
               .queries = queries,
               .map = o.map,
               .candidates = candidates,
               .count = count,
               .k = o.k,
               .hits = hits};
  if (base->get == cpb_view_get) return rank(&r, exec, error);
  size_t all = queries.rows * count;
  cpb_memory memory = {0};
  uint64_t *ids = cpb_memory_take(&memory, all, sizeof *ids);
  cpb_hit *local = cpb_memory_take(&memory, all, sizeof *local);
  status = memory.failed ? cpb_fail_memory(error, "%zu candidates", all)
                         : read_and_rank(&r, base, ids, local, exec, error);
  cpb_memory_free(&memory);
  return status;
}

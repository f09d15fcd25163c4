/* T13: sorts candidates by exact distance, computed from the rows or from their images alone. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "batch/map_object.h"
#include "batch/row_state.h"
#include "capball/query.h"
#include "core/best.h"
#include "core/fail.h"
#include "core/rows.h"
#include "search/measure.h"
#include "proof/question.h"
#include "proof/rerank_rows.h"

typedef struct ranking {
  const cpb_loops *loops;
  cpb_view base, queries;
  const cpb_map *map; /* of embedded rows; NULL: the base is the data */
  const cpb_hit *candidates;
  size_t count, k;
  cpb_hit *hits;
  cpb_first_fault query_fault, row_fault;
  _Atomic uint64_t foreign; /* the largest id beyond the base; 0: none */
  _Atomic size_t twice;     /* the first query with a duplicate candidate; SIZE_MAX: none */
  atomic_bool out_of_memory;
} ranking;

/* One query, and the scratch space of its task. */
typedef struct asked {
  cpb_question_point point; /* its image, or without a map the query itself in point.image */
  double *row;              /* base.cols */
  cpb_ranked *entries;      /* k */
  uint64_t *met;            /* hash set of 2^met_bits slots with linear probing; ids seen, + 1; 0: free */
  int met_bits;
} asked;

/* At most half full, so that a lookup takes one or two probes. */
static int places_for(size_t count) {
  int bits = 1;
  while (bits < 62 && ((size_t)1 << bits) < 2 * count) bits++;
  return bits;
}

/* Whether the id has occurred before in this query. */
static bool meet_again(asked *a, uint64_t id) {
  size_t last = ((size_t)1 << a->met_bits) - 1;
  size_t at = (size_t)(id * 0x9e3779b97f4a7c15u >> (64 - a->met_bits));
  while (a->met[at] != 0 && a->met[at] != id + 1) at = at < last ? at + 1 : 0;
  bool again = a->met[at] != 0;
  a->met[at] = id + 1;
  return again;
}

/* True if the query can be answered. */
static bool ask(ranking *r, size_t query, asked *a) {
  int fault = cpb_row_fault(r->loops, r->queries, query);
  if (fault != 0) {
    cpb_first_fault_meet(&r->query_fault, query, (cpb_fault)fault);
    return false;
  }
  cpb_view at = cpb_view_slice(r->queries, query, 1);
  if (r->map != NULL) return cpb_question_embed(r->map, at, &a->point, NULL) == CPB_OK;
  r->loops->widen[at.dtype](at.data, at.cols, a->point.image);
  return true;
}

static int distance(const ranking *r, const asked *a, size_t row, double *value) {
  if (r->map == NULL) return cpb_measure(r->loops, CPB_L2, r->base, row, a->point.image, NULL, value);
  cpb_view at = cpb_view_slice(r->base, row, 1);
  r->loops->widen[at.dtype](at.data, at.cols, a->row);
  *value = cpb_question_distance(&a->point, a->row);
  return isnan(*value) ? CPB_FAULT_NAN : 0;
}

static void meet_foreign(ranking *r, uint64_t id) {
  uint64_t known = atomic_load(&r->foreign);
  while (id > known && !atomic_compare_exchange_weak(&r->foreign, &known, id)) {
  }
}

static void meet_twice(ranking *r, size_t query) {
  size_t known = atomic_load(&r->twice);
  while (query < known && !atomic_compare_exchange_weak(&r->twice, &known, query)) {
  }
}

static void rank_query(ranking *r, size_t query, asked *a) {
  cpb_best best = {r->k, 0, a->entries};
  if (!ask(r, query, a)) return;
  memset(a->met, 0, sizeof *a->met << a->met_bits);
  for (size_t i = 0; i < r->count; i++) {
    uint64_t id = r->candidates[query * r->count + i].id;
    double value;
    if (id >= r->base.rows) {
      meet_foreign(r, id);
      return;
    }
    if (meet_again(a, id)) {
      meet_twice(r, query);
      return;
    }
    int fault = distance(r, a, (size_t)id, &value);
    if (fault != 0) {
      cpb_first_fault_meet(&r->row_fault, (size_t)id, (cpb_fault)fault);
      return;
    }
    cpb_best_offer(&best, value, id);
  }
  cpb_ranked_sort(a->entries, best.count);
  for (size_t i = 0; i < r->k; i++)
    r->hits[query * r->k + i] = (cpb_hit){a->entries[i].id, a->entries[i].key};
}

static void rank_queries(void *arg, size_t block, size_t first, size_t count) {
  ranking *r = arg;
  (void)block;
  asked a = {.entries = malloc(r->k * sizeof *a.entries),
             .row = malloc(2 * r->base.cols * sizeof *a.row),
             .met_bits = places_for(r->count)};
  a.met = malloc(sizeof *a.met << a.met_bits);
  if (a.entries == NULL || a.row == NULL || a.met == NULL)
    atomic_store(&r->out_of_memory, true);
  else {
    a.point.image = a.row + r->base.cols;
    for (size_t query = first; query < first + count; query++) rank_query(r, query, &a);
  }
  free(a.entries);
  free(a.row);
  free(a.met);
}

static cpb_status rank(ranking *r, const cpb_exec *exec, cpb_error *error) {
  enum { QUERIES_PER_TASK = 8 };
  if (r->queries.rows > 0 && (r->candidates == NULL || r->hits == NULL))
    return cpb_fail_missing(error, r->candidates == NULL ? "candidates" : "hits");
  if (r->k == 0 || r->k > r->count)
    return cpb_fail_count(error, "k", r->k, "k must be 1 .. the number of candidates, %zu", r->count);
  cpb_first_fault_init(&r->query_fault);
  cpb_first_fault_init(&r->row_fault);
  atomic_store(&r->twice, SIZE_MAX);
  r->loops = cpb_loops_here();
  cpb_blocks blocks = {r->queries.rows, QUERIES_PER_TASK, rank_queries, r};
  cpb_blocks_run(&blocks, exec);
  uint64_t foreign = atomic_load(&r->foreign);
  if (foreign != 0)
    return cpb_fail(error, CPB_WHY_NO_SUCH_ROW, "candidates",
                    "candidate %llu is beyond the %zu rows of the base", (unsigned long long)foreign,
                    r->base.rows);
  size_t twice = atomic_load(&r->twice);
  if (twice != SIZE_MAX)
    return cpb_fail(error, CPB_WHY_ROW_TWICE, "candidates", "query %zu has a candidate twice", twice);
  if (atomic_load(&r->out_of_memory)) return cpb_fail_memory(error, "%zu neighbours", r->k);
  cpb_status status = cpb_first_fault_report(&r->query_fault, "queries", error);
  return status == CPB_OK ? cpb_first_fault_report(&r->row_fault, "base", error) : status;
}

cpb_status cpb_rerank(cpb_view base, cpb_view queries, const cpb_hit *candidates, size_t count, size_t k,
                      cpb_hit *hits, const cpb_exec *exec, cpb_error *error) {
  cpb_status status = cpb_check_view(base, "base", base.cols, error);
  if (status == CPB_OK) status = cpb_check_view(queries, "queries", base.cols, error);
  if (status != CPB_OK) return status;
  ranking r = {
      .base = base, .queries = queries, .candidates = candidates, .count = count, .k = k, .hits = hits};
  return rank(&r, exec, error);
}

cpb_status cpb_rerank_embedded(const cpb_map *map, cpb_view embedded, cpb_view queries,
                               const cpb_hit *candidates, size_t count, size_t k, cpb_hit *hits,
                               const cpb_exec *exec, cpb_error *error) {
  cpb_status status = cpb_check_round(map, error);
  if (status != CPB_OK) return status;
  size_t d = map->options.d;
  status = cpb_check_view(embedded, "embedded", d + 1, error);
  if (status == CPB_OK) status = cpb_check_view(queries, "queries", d, error);
  if (status != CPB_OK) return status;
  ranking r = {.base = embedded,
               .queries = queries,
               .map = map,
               .candidates = candidates,
               .count = count,
               .k = k,
               .hits = hits};
  return rank(&r, exec, error);
}

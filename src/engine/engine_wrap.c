/* T13: transform, ask, rescore. */
#include <stdlib.h>

#include "capball/engine.h"
#include "core/fail.h"
#include "core/rows.h"
#include "engine/asked.h"

static cpb_status check_found(const uint64_t *ids, size_t queries, size_t count, size_t k, cpb_error *error) {
  for (size_t query = 0; query < queries; query++) {
    size_t found = 0;
    while (found < count && ids[query * count + found] != CPB_NO_ROW) found++;
    if (found < k)
      return cpb_fail_count(error, "ids", found, "the engine must find %zu rows for query %zu", k, query);
  }
  return CPB_OK;
}

typedef struct wrapping {
  float *rows, *asked;
  uint64_t *ids;
  cpb_hit *hits;
} wrapping;

static cpb_status ask(wrapping *w, cpb_view base, cpb_view queries, const cpb_transform *transform,
                      double radius, const cpb_door *door, const cpb_engine_question *like,
                      const cpb_exec *exec, cpb_error *error) {
  size_t cols = cpb_transform_cols(transform);
  cpb_engine_cost cost;
  cpb_engine_question question = *like;
  w->asked = malloc((queries.rows * cols + 1) * sizeof *w->asked);
  w->ids = malloc((queries.rows * like->count + 1) * sizeof *w->ids);
  w->hits = malloc((queries.rows * like->count + 1) * sizeof *w->hits);
  if (w->asked == NULL || w->ids == NULL || w->hits == NULL)
    return cpb_fail_memory(error, "%zu queries", queries.rows);
  cpb_status status = cpb_asked_rows(transform, base, false, &w->rows, exec, error);
  if (status == CPB_OK) status = cpb_asked_queries(transform, queries, radius, false, w->asked, exec, error);
  question.rows = cpb_rows(w->rows, CPB_F32, base.rows, cols);
  question.queries = cpb_rows(w->asked, CPB_F32, queries.rows, cols);
  if (status == CPB_OK) status = door->ask(door->self, &question, w->ids, &cost, exec, error);
  return status;
}

cpb_status cpb_engine_wrap(cpb_view base, cpb_view queries, const cpb_transform *transform, double radius,
                           const cpb_door *door, cpb_metric metric, size_t candidates, size_t k,
                           uint64_t seed, cpb_hit *hits, const cpb_exec *exec, cpb_error *error) {
  if (transform == NULL || door == NULL || hits == NULL)
    return cpb_fail_missing(error, transform == NULL ? "transform" : door == NULL ? "door" : "hits");
  size_t count = candidates < base.rows ? candidates : base.rows;
  if (k == 0 || k > count)
    return cpb_fail_count(error, "k", k, "k must be at least 1 and at most the %zu candidates", count);
  cpb_transform_options made = {.size = sizeof made};
  cpb_transform_describe(transform, &made);
  cpb_status status = cpb_check_view(base, "base", made.d, error);
  if (status == CPB_OK) status = cpb_check_view(queries, "queries", base.cols, error);
  if (status != CPB_OK) return status;
  wrapping w = {NULL, NULL, NULL, NULL};
  cpb_engine_question like = {.count = count, .metric = metric, .seed = seed};
  status = ask(&w, base, queries, transform, radius, door, &like, exec, error);
  if (status == CPB_OK) status = check_found(w.ids, queries.rows, count, k, error);
  if (status == CPB_OK) status = cpb_asked_distances(base, queries, w.ids, count, w.hits, exec, error);
  for (size_t i = 0; status == CPB_OK && i < queries.rows * k; i++) hits[i] = w.hits[i / k * count + i % k];
  free(w.rows);
  free(w.asked);
  free(w.ids);
  free(w.hits);
  return status;
}

/* T13: transform, ask, rescore. */
#include "capball/advanced/engine.h"
#include "core/fail.h"
#include "core/memory.h"
#include "core/rows.h"
#include "core/sized.h"
#include "engine/engine_input.h"
#include "recommend/recipe.h"

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
  cpb_view base, queries;
  const cpb_transform *transform;
  const cpb_engine_calls *engine;
  cpb_engine_question question;
  size_t room; /* candidates per query: those of one question, or of two */
  float *rows, *asked;
  uint64_t *ids, *answer;
  double *radii;
  cpb_hit *hits;
} wrapping;

static cpb_status open_wrapping(wrapping *w, cpb_memory *memory, const cpb_exec *exec, cpb_error *error) {
  size_t n = w->queries.rows, cols = cpb_transform_cols(w->transform);
  w->rows = cpb_memory_take(memory, w->base.rows, cols * sizeof *w->rows);
  w->asked = cpb_memory_take(memory, n, cols * sizeof *w->asked);
  w->answer = cpb_memory_take(memory, n, w->question.count * sizeof *w->answer);
  w->ids = cpb_memory_take(memory, n, w->room * sizeof *w->ids);
  w->hits = cpb_memory_take(memory, n, w->room * sizeof *w->hits);
  w->radii = cpb_memory_take(memory, n, sizeof *w->radii);
  if (memory->failed)
    return cpb_fail_memory(error, "%zu queries of %zu rows and %zu columns", n, w->base.rows, cols);
  for (size_t i = 0; i < n * w->room; i++) w->ids[i] = CPB_NO_ROW;
  w->question.rows = cpb_rows(w->rows, CPB_F32, w->base.rows, cols);
  w->question.queries = cpb_rows(w->asked, CPB_F32, n, cols);
  return cpb_prepare_rows(w->transform, w->base, false, w->rows, exec, error);
}

/* With balls of these radii, or (NULL) of radius r, 0 for points; w->hits holds what was found so far, nearest first. */
static cpb_status ask(wrapping *w, const double *radii, double r, const cpb_exec *exec, cpb_error *error) {
  size_t n = w->queries.rows, count = w->question.count;
  cpb_engine_cost cost;
  cpb_status status = cpb_prepare_queries(w->transform, w->queries, radii, r, false, w->asked, exec, error);
  if (status == CPB_OK) status = w->engine->ask(w->engine->self, &w->question, w->answer, &cost, exec, error);
  for (size_t i = 0; status == CPB_OK && i < n; i++)
    cpb_engine_join(w->answer + i * count, count, w->ids + i * w->room, w->room);
  if (status == CPB_OK)
    status = cpb_engine_distances(w->base, w->queries, w->ids, w->room, w->room, w->hits, exec, error);
  return status;
}

/* The second question is for balls of the k-th distance found. */
static cpb_status run(wrapping *w, double radius, size_t k, cpb_hit *hits, const cpb_exec *exec,
                      cpb_error *error) {
  size_t n = w->queries.rows;
  cpb_memory memory = {0};
  cpb_status status = open_wrapping(w, &memory, exec, error);
  if (status == CPB_OK) status = ask(w, NULL, radius, exec, error);
  if (status == CPB_OK) status = check_found(w->ids, n, w->room, k, error);
  if (status == CPB_OK && w->room > w->question.count) {
    for (size_t i = 0; i < n; i++) w->radii[i] = w->hits[i * w->room + k - 1].value;
    status = ask(w, w->radii, 0, exec, error);
  }
  for (size_t i = 0; status == CPB_OK && i < n * k; i++) hits[i] = w->hits[i / k * w->room + i % k];
  cpb_memory_free(&memory);
  return status;
}

/* Distances found are those of the original rows; the balls of a map that whitens are not. */
static cpb_status check_balls(const cpb_transform *transform, double radius, bool twice, cpb_error *error) {
  const cpb_map *map = cpb_transform_map(transform);
  cpb_map_options made = {.size = sizeof made};
  if (radius == 0 && !twice) return CPB_OK;
  if (map == NULL)
    return cpb_fail_domain(error, "radius", radius, "only maps of the sphere have balls: radius must be 0");
  cpb_map_describe(map, &made);
  if (twice && made.whiten != NULL)
    return cpb_fail_count(error, "twice", 1, "a map that whitens is asked once: twice must be 0");
  return CPB_OK;
}

CPB_DEFAULTS(cpb_wrap_options, .size = sizeof defaults, .k = 10, .candidates = 100, .metric = CPB_COSINE)

cpb_status cpb_engine_wrap(cpb_view base, cpb_view queries, const cpb_transform *transform,
                           const cpb_engine_calls *engine, const cpb_wrap_options *options, cpb_hit *hits,
                           const cpb_exec *exec, cpb_error *error) {
  cpb_wrap_options o = defaults;
  if (transform == NULL || engine == NULL || hits == NULL)
    return cpb_fail_missing(error, transform == NULL ? "transform" : engine == NULL ? "engine" : "hits");
  cpb_status status = cpb_sized_take(&o, sizeof o, options, "cpb_wrap_options", error);
  if (status != CPB_OK) return status;
  size_t count = o.candidates < base.rows ? o.candidates : base.rows;
  if (o.k == 0 || o.k > count)
    return cpb_fail_count(error, "k", o.k, "k must be at least 1 and at most the %zu candidates", count);
  cpb_transform_options made = {.size = sizeof made};
  cpb_transform_describe(transform, &made);
  status = cpb_check_view(base, "base", made.d, error);
  if (status == CPB_OK) status = cpb_check_view(queries, "queries", base.cols, error);
  if (status == CPB_OK) status = check_balls(transform, o.radius, o.twice, error);
  if (status != CPB_OK) return status;
  wrapping w = {.base = base,
                .queries = queries,
                .transform = transform,
                .engine = engine,
                .question = {.count = count, .metric = o.metric, .seed = o.seed},
                .room = o.twice ? 2 * count : count};
  return run(&w, o.radius, o.k, hits, exec, error);
}

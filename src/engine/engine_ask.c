/* T13: transform, ask, rescore. */
#include "engine/engine_ask.h"

#include <math.h>
#include <stdlib.h>

#include "sphere/map_object.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/rows.h"
#include "base/sized.h"
#include "loops/chunk.h"
#include "base/blocks.h"
#include "engine/t13_transform.h"
#include "engine/recipe.h"
#include "search/query_numbers.h"

/* Appends the ids of an answer that are new, as far as there is room; CPB_NO_ROW follows the last. */
static void join(const uint64_t *answer, size_t count, uint64_t *ids, size_t room) {
  size_t had = 0, now;
  while (had < room && ids[had] != CPB_NO_ROW) had++;
  now = had;
  for (size_t i = 0; i < count && now < room; i++) {
    size_t at = 0;
    while (at < had && ids[at] != answer[i]) at++;
    if (at == had && answer[i] != CPB_NO_ROW) ids[now++] = answer[i];
  }
}

typedef struct measuring {
  const cpb_asking *of;
  const uint64_t *ids;
  size_t stride, count;
  cpb_hit *hits;
} measuring;

static cpb_status measure_query(void *arg, size_t query, cpb_error *error) {
  const measuring *m = arg;
  const cpb_loops *loops = cpb_loops_here();
  size_t d = m->of->base.cols;
  double *q = malloc(2 * d * sizeof *q), *x = q + d;
  cpb_hit *hits = m->hits + query * m->count;
  if (q == NULL) return cpb_fail_memory(error, "a row");
  cpb_row_widen(m->of->queries, query, q);
  for (size_t i = 0; i < m->count; i++) {
    uint64_t id = m->ids[query * m->stride + i];
    hits[i] = (cpb_hit){id, INFINITY};
    if (id == CPB_NO_ROW) continue;
    cpb_row_widen(m->of->base, (size_t)id, x);
    loops->axpby(1, x, -1, q, x, d);
    hits[i].value = sqrt(loops->dot(x, x, d));
  }
  cpb_hits_by_distance(hits, m->count);
  free(q);
  return CPB_OK;
}

bool cpb_engine_distances(const cpb_asking *a, const uint64_t *ids, size_t stride, size_t count,
                          cpb_hit *hits) {
  measuring m = {a, ids, stride, count, hits};
  return cpb_exec_try(a->exec, a->queries.rows, measure_query, &m, a->error) == CPB_OK;
}

bool cpb_engine_prepare(cpb_asking *a) {
  a->rows = malloc(a->base.rows * cpb_transform_cols(a->transform) * sizeof *a->rows);
  if (a->rows == NULL) return cpb_fail_memory(a->error, "%zu transformed rows", a->base.rows) == CPB_OK;
  return cpb_prepare_rows(a->transform, a->base, a->lenient, a->rows, a->exec, a->error) == CPB_OK;
}

bool cpb_engine_ask(const cpb_asking *a, const double *radii, const double *r, size_t forms, size_t count,
                    uint64_t *ids, cpb_engine_cost *cost) {
  size_t cols = cpb_transform_cols(a->transform), n = a->queries.rows;
  float *asked = malloc(forms * n * cols * sizeof *asked);
  cpb_engine_question question = {.rows = cpb_rows(a->rows, CPB_F32, a->base.rows, cols),
                                  .queries = cpb_rows(asked, CPB_F32, forms * n, cols),
                                  .count = count,
                                  .metric = a->metric,
                                  .seed = a->seed};
  cpb_status status = asked == NULL ? cpb_fail_memory(a->error, "%zu queries", n) : CPB_OK;
  for (size_t form = 0; form < forms && status == CPB_OK; form++)
    status = cpb_prepare_queries(a->transform, a->queries, radii, r[form], a->lenient,
                                 asked + form * n * cols, a->exec, a->error);
  if (status == CPB_OK) status = a->engine->ask(a->engine->self, &question, ids, cost, a->exec, a->error);
  free(asked);
  return status == CPB_OK;
}

static bool check_found(const cpb_asking *a, const uint64_t *ids, size_t count, size_t k) {
  for (size_t query = 0; query < a->queries.rows; query++) {
    size_t found = 0;
    while (found < count && ids[query * count + found] != CPB_NO_ROW) found++;
    if (found < k)
      return cpb_fail_count(a->error, "ids", found, "the engine must find %zu rows for query %zu", k,
                            query) == CPB_OK;
  }
  return true;
}

bool cpb_engine_ask_twice(const cpb_asking *a, double r, size_t k, double usual, size_t count, size_t room,
                          uint64_t *ids, cpb_engine_cost *cost) {
  size_t n = a->queries.rows;
  cpb_engine_cost again = {NAN, NAN, NAN, 0};
  cpb_memory memory = {0};
  uint64_t *first = cpb_memory_take(&memory, n, count * sizeof *first);
  uint64_t *second = cpb_memory_take(&memory, n, count * sizeof *second);
  cpb_hit *hits = cpb_memory_take(&memory, n, count * sizeof *hits);
  double *radii = cpb_memory_take(&memory, n, sizeof *radii);
  if (memory.failed) cpb_fail_memory(a->error, "%zu candidates", 2 * n * count);
  bool done = !memory.failed && cpb_engine_ask(a, NULL, &r, 1, count, first, cost) &&
              (!isnan(usual) || check_found(a, first, count, k)) &&
              cpb_engine_distances(a, first, count, count, hits);
  for (size_t i = 0; i < n && done; i++) {
    double kth = hits[i * count + k - 1].value;
    radii[i] = isinf(kth) ? usual : kth;
  }
  done = done && cpb_engine_ask(a, radii, &r, 1, count, second, &again);
  cost->seconds += again.seconds;
  cost->query += again.query;
  for (size_t i = 0; i < n && done; i++) {
    for (size_t j = 0; j < room; j++) ids[i * room + j] = CPB_NO_ROW;
    join(second + i * count, count, ids + i * room, room);
    join(first + i * count, count, ids + i * room, room);
  }
  cpb_memory_free(&memory);
  return done;
}

/* ---- an engine for Euclidean search ---- */

/* Candidates of one question, or of two, by their distances. */
static bool run(cpb_asking *a, const cpb_wrap_options *o, size_t count, cpb_hit *hits) {
  size_t n = a->queries.rows, k = o->k, room = o->twice ? 2 * count : count;
  cpb_engine_cost cost;
  cpb_memory memory = {0};
  uint64_t *ids = cpb_memory_take(&memory, n, room * sizeof *ids);
  cpb_hit *found = cpb_memory_take(&memory, n, room * sizeof *found);
  if (memory.failed) cpb_fail_memory(a->error, "%zu candidates of %zu queries", room, n);
  bool done = !memory.failed && cpb_engine_prepare(a) &&
              (o->twice ? cpb_engine_ask_twice(a, o->radius, k, NAN, count, room, ids, &cost)
                        : cpb_engine_ask(a, NULL, &o->radius, 1, count, ids, &cost)) &&
              check_found(a, ids, room, k) && cpb_engine_distances(a, ids, room, room, found);
  for (size_t i = 0; done && i < n * k; i++) hits[i] = found[i / k * room + i % k];
  free(a->rows);
  cpb_memory_free(&memory);
  return done;
}

/* Distances found are those of the original rows; the balls of a map that whitens are not. */
static cpb_status check_balls(const cpb_transform *transform, double radius, bool twice, cpb_error *error) {
  if (radius == 0 && !twice) return CPB_OK;
  if (transform->map == NULL)
    return cpb_fail_domain(error, "radius", radius, "only maps of the sphere have balls: radius must be 0");
  if (twice && transform->map->whiten != NULL)
    return cpb_fail_count(error, "twice", 1, "a map that whitens is asked once: twice must be 0");
  return CPB_OK;
}

CPB_DEFAULTS(cpb_wrap_options, .size = sizeof defaults, .k = 10, .candidates = 100, .metric = CPB_COSINE)

cpb_status cpb_engine_wrap(cpb_view base, cpb_view queries, const cpb_transform *transform,
                           const cpb_engine_calls *engine, const cpb_wrap_options *options, cpb_hit *hits,
                           const cpb_exec *exec, cpb_error *error) {
  cpb_wrap_options o = defaults;
  if (transform == NULL || engine == NULL || engine->ask == NULL || hits == NULL)
    return cpb_fail_missing(error, transform == NULL ? "transform" : hits == NULL ? "hits" : "engine");
  cpb_status status = cpb_sized_take(&o, sizeof o, options, "cpb_wrap_options", error);
  if (status != CPB_OK) return status;
  size_t count = o.candidates < base.rows ? o.candidates : base.rows;
  status = cpb_check_k(o.k, count, "k", "candidates", error);
  if (status == CPB_OK) status = cpb_check_view(base, "base", transform->options.d, error);
  if (status == CPB_OK) status = cpb_check_view(queries, "queries", base.cols, error);
  if (status == CPB_OK) status = check_balls(transform, o.radius, o.twice, error);
  if (status != CPB_OK) return status;
  cpb_error unused;
  cpb_asking asking = {.engine = engine,
                       .transform = transform,
                       .base = base,
                       .queries = queries,
                       .metric = o.metric,
                       .seed = o.seed,
                       .exec = exec,
                       .error = error != NULL ? error : &unused};
  return run(&asking, &o, count, hits) ? CPB_OK : asking.error->status;
}

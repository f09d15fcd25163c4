/* T13: transform, ask, rescore. */
#include <math.h>
#include <stdlib.h>

#include "core/fail.h"
#include "core/memory.h"
#include "core/rows.h"
#include "core/sized.h"
#include "engine/engine_input.h"

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
              cpb_engine_check_found(a, ids, room, k) && cpb_engine_distances(a, ids, room, room, found);
  for (size_t i = 0; done && i < n * k; i++) hits[i] = found[i / k * room + i % k];
  free(a->rows);
  cpb_memory_free(&memory);
  return done;
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

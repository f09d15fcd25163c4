/* Questions to an engine about transformed rows, and its answers: shared by measuring and wrapping. */
#ifndef CPB_ENGINE_ENGINE_INPUT_H
#define CPB_ENGINE_ENGINE_INPUT_H

#include "capball/advanced/engine.h"
#include "capball/search.h"

typedef struct cpb_asking {
  const cpb_engine_calls *engine;
  const cpb_transform *transform;
  cpb_view base, queries;
  cpb_metric metric;
  uint64_t seed;
  bool lenient; /* see cpb_prepare_rows */
  float *rows;  /* the transformed base; set by cpb_engine_prepare, the caller frees it */
  const cpb_exec *exec;
  cpb_error *error; /* not NULL: set if one of these functions returns false */
} cpb_asking;

bool cpb_engine_prepare(cpb_asking *a);

/* The first `count` candidates of every query in each form: as the ball of radius r[form], 0 for a point, or (forms =
 * 1) of a radius of its own if `radii` is not NULL. */
bool cpb_engine_ask(const cpb_asking *a, const double *radii, const double *r, size_t forms, size_t count,
                    uint64_t *ids, cpb_engine_cost *cost);

/* Asks a second time with balls of the k-th distances found. ids: `room` of every query, the second answer, then what
 * only the first contains, then CPB_NO_ROW. usual: the radius where fewer than k were found; NaN: that is an error. */
bool cpb_engine_ask_twice(const cpb_asking *a, double r, size_t k, double usual, size_t count, size_t room,
                          uint64_t *ids, cpb_engine_cost *cost);

/* An error unless k candidates of every query were found. */
bool cpb_engine_check_found(const cpb_asking *a, const uint64_t *ids, size_t count, size_t k);

/* hits[i*count ..]: the first `count` ids of query i, from ids[i*stride], by distance |x-q|, inf where there is none. */
bool cpb_engine_distances(const cpb_asking *a, const uint64_t *ids, size_t stride, size_t count,
                          cpb_hit *hits);

#endif

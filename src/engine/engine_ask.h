/* Questions to an engine about transformed rows, and its answers: shared by measuring and wrapping. */
#ifndef CPB_ENGINE_ENGINE_ASK_H
#define CPB_ENGINE_ENGINE_ASK_H

#include "capball/advanced/engine.h"
#include "capball/search.h"

typedef struct cpb_asking {
  const cpb_engine_calls *engine;
  const cpb_transform *transform;
  cpb_view base, queries;
  cpb_metric metric;
  uint64_t seed;
  size_t held_rows;     /* as in cpb_wrap_options; .. */
  const uint64_t *held; /* .. NULL: the engine has all rows of the base */
  const bool *allowed;  /* NULL: all */
  bool lenient;         /* see cpb_prepare_rows */
  float *rows;          /* the transformed base; set by cpb_engine_prepare, the caller frees it */
  const cpb_exec *exec;
  cpb_error *error; /* not NULL: set if one of these functions returns false */
} cpb_asking;

/* The number of rows that the engine has, and one of them in the base. */
static inline size_t cpb_engine_rows(const cpb_asking *a) {
  return a->held != NULL ? a->held_rows : a->base.rows;
}
static inline uint64_t cpb_engine_row(const cpb_asking *a, size_t at) {
  return a->held != NULL ? a->held[at] : at;
}

/* EINVAL unless the engine's answer to a query is one of its rows. */
bool cpb_engine_check_id(double id, size_t query, size_t rows, cpb_error *error);

bool cpb_engine_prepare(cpb_asking *a);

/* The first `count` candidates of every query in each form: as the ball of radius r[form], 0 for a point, or (forms =
 * 1) of a radius of its own if `radii` is not NULL. No row twice, and only rows of the base. */
bool cpb_engine_ask(const cpb_asking *a, const double *radii, const double *r, size_t forms, size_t count,
                    uint64_t *ids, cpb_engine_cost *cost);

/* Asks a second time with balls of the k-th distances found.
 *   first, found   n x count: the first answer, and its cpb_engine_distances
 *   usual          the radius where fewer than k were found
 *   ids            `room` of every query: the second answer, then what only the first contains, then CPB_NO_ROW */
bool cpb_engine_ask_again(const cpb_asking *a, const uint64_t *first, const cpb_hit *found, size_t k,
                          double usual, size_t count, size_t room, uint64_t *ids, cpb_engine_cost *cost);

/* hits[i*count ..]: those of the first `count` ids of query i, from ids[i*stride], that are allowed, by distance |x-q|
 * and id, then CPB_NO_ROW at inf. */
bool cpb_engine_distances(const cpb_asking *a, const uint64_t *ids, size_t stride, size_t count,
                          cpb_hit *hits);

#endif

#include "engine/engine_input.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "capball/advanced/engine.h"
#include "capball/query.h"
#include "core/fail.h"
#include "core/rows.h"
#include "loop/table.h"
#include "parallel/tell.h"
#include "search/query_numbers.h"

/* Rows that were rejected are NaN throughout. */
static void clear_refused(float *rows, size_t n, size_t cols) {
  for (size_t i = 0; i < n; i++)
    if (isnan(rows[i * cols])) memset(rows + i * cols, 0, cols * sizeof *rows);
}

cpb_status cpb_engine_rows(const cpb_transform *transform, cpb_view x, bool lenient, float **out,
                           const cpb_exec *exec, cpb_error *error) {
  size_t cols = cpb_transform_cols(transform);
  *out = malloc((x.rows * cols + 1) * sizeof **out);
  if (*out == NULL) return cpb_fail_memory(error, "%zu rows of %zu columns", x.rows, cols);
  cpb_status status = cpb_transform_apply(transform, CPB_ROLE_BASE, x,
                                          cpb_rows_out(*out, CPB_F32, x.rows, cols), exec, error);
  if (status != CPB_EROW || !lenient) return status;
  clear_refused(*out, x.rows, cols);
  return CPB_OK;
}

static cpb_status ask(const cpb_transform *transform, cpb_view x, const double *radii, cpb_out out,
                      const cpb_exec *exec, cpb_error *error) {
  const cpb_map *map = cpb_transform_map(transform);
  if (radii == NULL) return cpb_transform_apply(transform, CPB_ROLE_QUERY, x, out, exec, error);
  return map == NULL ? cpb_fail_domain(error, "radius", radii[0],
                                       "only maps of the sphere have balls: radius must be 0")
                     : cpb_query_caps(map, x, radii, out, NULL, NULL, exec, error);
}

cpb_status cpb_engine_balls(const cpb_transform *transform, cpb_view x, const double *radii, bool lenient,
                            float *to, const cpb_exec *exec, cpb_error *error) {
  size_t cols = cpb_transform_cols(transform);
  cpb_status status = ask(transform, x, radii, cpb_rows_out(to, CPB_F32, x.rows, cols), exec, error);
  if (status != CPB_EROW || !lenient) return status;
  clear_refused(to, x.rows, cols);
  return CPB_OK;
}

cpb_status cpb_engine_queries(const cpb_transform *transform, cpb_view x, double radius, bool lenient,
                              float *to, const cpb_exec *exec, cpb_error *error) {
  if (radius == 0) return cpb_engine_balls(transform, x, NULL, lenient, to, exec, error);
  double *radii = malloc((x.rows + 1) * sizeof *radii);
  if (radii == NULL) return cpb_fail_memory(error, "%zu queries", x.rows);
  for (size_t i = 0; i <= x.rows; i++) radii[i] = radius;
  cpb_status status = cpb_engine_balls(transform, x, radii, lenient, to, exec, error);
  free(radii);
  return status;
}

/* ---- distances ---- */

typedef struct measuring {
  cpb_view base, queries;
  const uint64_t *ids;
  size_t count;
  cpb_hit *hits;
  atomic_bool no_memory;
} measuring;

static void widen(cpb_view rows, size_t row, double *to) {
  cpb_view at = cpb_view_slice(rows, row, 1);
  cpb_loops_here()->widen[at.dtype](at.data, at.cols, to);
}

static void measure_query(void *arg, size_t query) {
  measuring *m = arg;
  const cpb_loops *loops = cpb_loops_here();
  size_t d = m->base.cols;
  double *q = malloc(2 * d * sizeof *q), *x = q + d;
  cpb_hit *hits = m->hits + query * m->count;
  if (q == NULL) {
    atomic_store(&m->no_memory, true);
    return;
  }
  widen(m->queries, query, q);
  for (size_t i = 0; i < m->count; i++) {
    uint64_t id = m->ids[query * m->count + i];
    hits[i] = (cpb_hit){id, INFINITY};
    if (id == CPB_NO_ROW) continue;
    widen(m->base, (size_t)id, x);
    loops->axpby(1, x, -1, q, x, d);
    hits[i].value = sqrt(loops->dot(x, x, d));
  }
  cpb_hits_by_distance(hits, m->count);
  free(q);
}

cpb_status cpb_engine_distances(cpb_view base, cpb_view queries, const uint64_t *ids, size_t count,
                                cpb_hit *hits, const cpb_exec *exec, cpb_error *error) {
  measuring m = {.base = base, .queries = queries, .ids = ids, .count = count, .hits = hits};
  cpb_exec_run(exec, queries.rows, measure_query, &m);
  return atomic_load(&m.no_memory) ? cpb_fail_memory(error, "a row") : CPB_OK;
}

#include "engine/engine_input.h"

#include <math.h>
#include <stdlib.h>

#include "capball/advanced/engine.h"
#include "core/fail.h"
#include "loop/chunk.h"
#include "parallel/blocks.h"
#include "search/query_numbers.h"

void cpb_engine_join(const uint64_t *answer, size_t count, uint64_t *ids, size_t room) {
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
  cpb_view base, queries;
  const uint64_t *ids;
  size_t stride, count;
  cpb_hit *hits;
} measuring;

static cpb_status measure_query(void *arg, size_t query, cpb_error *error) {
  const measuring *m = arg;
  const cpb_loops *loops = cpb_loops_here();
  size_t d = m->base.cols;
  double *q = malloc(2 * d * sizeof *q), *x = q + d;
  cpb_hit *hits = m->hits + query * m->count;
  if (q == NULL) return cpb_fail_memory(error, "a row");
  cpb_row_widen(m->queries, query, q);
  for (size_t i = 0; i < m->count; i++) {
    uint64_t id = m->ids[query * m->stride + i];
    hits[i] = (cpb_hit){id, INFINITY};
    if (id == CPB_NO_ROW) continue;
    cpb_row_widen(m->base, (size_t)id, x);
    loops->axpby(1, x, -1, q, x, d);
    hits[i].value = sqrt(loops->dot(x, x, d));
  }
  cpb_hits_by_distance(hits, m->count);
  free(q);
  return CPB_OK;
}

cpb_status cpb_engine_distances(cpb_view base, cpb_view queries, const uint64_t *ids, size_t stride,
                                size_t count, cpb_hit *hits, const cpb_exec *exec, cpb_error *error) {
  measuring m = {
      .base = base, .queries = queries, .ids = ids, .stride = stride, .count = count, .hits = hits};
  return cpb_exec_try(exec, queries.rows, measure_query, &m, error);
}

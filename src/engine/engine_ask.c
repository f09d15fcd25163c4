/* T13: transform, ask, measure what was found. */
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
#include "base/best.h"
#include "base/id_set.h"
#include "search/measure.h"

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
  const cpb_asking *a = m->of;
  const cpb_loops *loops = cpb_loops_here();
  cpb_memory memory = {0};
  double *q = cpb_memory_take(&memory, a->base.cols, sizeof *q);
  cpb_ranked *ranked = cpb_memory_take(&memory, m->count, sizeof *ranked);
  cpb_status status = memory.failed ? cpb_fail_memory(error, "%zu candidates", m->count) : CPB_OK;
  size_t found = 0;
  if (status == CPB_OK) cpb_row_widen(a->queries, query, q);
  for (size_t i = 0; i < m->count && status == CPB_OK; i++) {
    uint64_t id = m->ids[query * m->stride + i];
    if (id == CPB_NO_ROW || (a->allowed != NULL && !a->allowed[id])) continue;
    int fault = cpb_measure(loops, CPB_L2, a->base, (size_t)id, q, NULL, &ranked[found].key);
    ranked[found++].id = id;
    if (fault != 0) status = cpb_fault_report((size_t)id, fault, "base", error);
  }
  cpb_ranked_sort(ranked, found);
  for (size_t i = 0; i < m->count && status == CPB_OK; i++)
    m->hits[query * m->count + i] =
        i < found ? (cpb_hit){ranked[i].id, ranked[i].key} : (cpb_hit){CPB_NO_ROW, INFINITY};
  cpb_memory_free(&memory);
  return status;
}

bool cpb_engine_distances(const cpb_asking *a, const uint64_t *ids, size_t stride, size_t count,
                          cpb_hit *hits) {
  measuring m = {a, ids, stride, count, hits};
  return cpb_exec_try(a->exec, a->queries.rows, measure_query, &m, a->error) == CPB_OK;
}

bool cpb_engine_prepare(cpb_asking *a) {
  if (a->held_rows > 0) return true;
  a->rows = malloc(a->base.rows * cpb_transform_cols(a->transform) * sizeof *a->rows);
  if (a->rows == NULL) return cpb_fail_memory(a->error, "%zu transformed rows", a->base.rows) == CPB_OK;
  return cpb_prepare_rows(a->transform, a->base, a->lenient, a->rows, a->exec, a->error) == CPB_OK;
}

bool cpb_engine_check_id(double id, size_t query, size_t rows, cpb_error *error) {
  return (id >= 0 && id < (double)rows && id == floor(id)) ||
         cpb_fail_domain(error, "ids", id,
                         "the engine's answer to query %zu must be rows 0 .. %zu, or -1 after the last",
                         query, rows - 1) == CPB_OK;
}

/* One answer: places among the engine's rows become rows of the base. */
static bool take_answer(const cpb_asking *a, size_t query, size_t count, uint64_t *ids, cpb_id_set *met) {
  cpb_id_set_empty(met);
  for (size_t i = 0; i < count; i++) {
    if (ids[i] == CPB_NO_ROW) continue;
    if (!cpb_engine_check_id((double)(int64_t)ids[i], query, cpb_engine_rows(a), a->error)) return false;
    ids[i] = cpb_engine_row(a, (size_t)ids[i]);
    if (!cpb_id_set_add(met, ids[i]))
      return cpb_fail_count(a->error, "ids", ids[i], "the engine must name a row once for query %zu",
                            query) == CPB_OK;
  }
  return true;
}

static bool take_answers(const cpb_asking *a, size_t forms, size_t count, uint64_t *ids) {
  cpb_memory memory = {0};
  cpb_id_set met = cpb_id_set_take(&memory, count);
  bool done = !memory.failed || cpb_fail_memory(a->error, "%zu candidates", count) == CPB_OK;
  for (size_t i = 0; i < forms * a->queries.rows && done; i++)
    done = take_answer(a, i % a->queries.rows, count, ids + i * count, &met);
  cpb_memory_free(&memory);
  return done;
}

bool cpb_engine_ask(const cpb_asking *a, const double *radii, const double *r, size_t forms, size_t count,
                    uint64_t *ids, cpb_engine_cost *cost) {
  size_t cols = cpb_transform_cols(a->transform), n = a->queries.rows;
  float *asked = malloc(forms * n * cols * sizeof *asked);
  cpb_engine_question question = {.rows = cpb_rows(a->rows, CPB_F32, cpb_engine_rows(a), cols),
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
  return status == CPB_OK && take_answers(a, forms, count, ids);
}

bool cpb_engine_ask_again(const cpb_asking *a, const uint64_t *first, const cpb_hit *found, size_t k,
                          double usual, size_t count, size_t room, uint64_t *ids, cpb_engine_cost *cost) {
  size_t n = a->queries.rows;
  cpb_engine_cost again = {NAN, NAN, NAN, 0};
  cpb_memory memory = {0};
  uint64_t *second = cpb_memory_take(&memory, n, count * sizeof *second);
  double *radii = cpb_memory_take(&memory, n, sizeof *radii);
  if (memory.failed) cpb_fail_memory(a->error, "%zu candidates", n * count);
  for (size_t i = 0; i < n && !memory.failed; i++) {
    double kth = found[i * count + k - 1].value;
    radii[i] = isinf(kth) ? usual : kth;
  }
  bool done = !memory.failed && cpb_engine_ask(a, radii, (const double[]){0}, 1, count, second, &again);
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

/* T13: an engine on one transform of the rows, and the quality of its answers. */
#include "engine/engine_trial.h"

#include <math.h>
#include <stdlib.h>

#include "core/fail.h"
#include "core/median.h"
#include "core/memory.h"
#include "core/rows.h"
#include "engine/engine_input.h"
#include "recommend/recipe.h"

cpb_status cpb_survey_find_truth(cpb_survey *s, const cpb_exec *exec, cpb_error *error) {
  size_t n = s->queries.rows, k = s->k;
  cpb_memory memory = {0};
  cpb_hit *hits = cpb_memory_take(&memory, n, k * sizeof *hits);
  double *middle = cpb_memory_take(&memory, n, sizeof *middle);
  s->kth = malloc(n * sizeof *s->kth);
  cpb_status status = memory.failed || s->kth == NULL
                          ? cpb_fail_memory(error, "%zu neighbours of %zu queries", k, n)
                          : cpb_knn(s->base, s->queries, k, CPB_L2, hits, exec, error);
  for (size_t i = 0; i < n && status == CPB_OK; i++) middle[i] = s->kth[i] = hits[i * k + k - 1].value;
  if (status == CPB_OK) s->radius = cpb_median(middle, n);
  cpb_memory_free(&memory);
  return status;
}

cpb_way cpb_way_of(const cpb_survey *s, cpb_transform_kind kind, double norms, uint64_t seed) {
  double r = kind == CPB_TRANSFORM_SPHERE ? s->radius : 0;
  return (cpb_way){.kind = kind,
                   .norms = norms,
                   .forms = r > 0 ? CPB_TRIAL_FORMS : 1,
                   .radii = {0, r / 2, r, 2 * r},
                   .seed = seed};
}

static cpb_status make_sphere(const cpb_survey *s, double norms, cpb_transform **transform,
                              cpb_error *error) {
  cpb_map_options options = {.size = sizeof options};
  cpb_map *map = NULL;
  cpb_map_describe(s->map, &options);
  options.s = norms * s->s;
  cpb_status status = cpb_map_new(&options, &map, error);
  if (status == CPB_OK) status = cpb_transform_of_map(map, transform, error);
  cpb_map_free(map);
  return status;
}

static cpb_status make_transform(const cpb_survey *s, const cpb_way *w, cpb_transform **transform,
                                 const cpb_exec *exec, cpb_error *error) {
  cpb_source source = cpb_source_from_view(s->base);
  return w->kind == CPB_TRANSFORM_SPHERE ? make_sphere(s, w->norms, transform, error)
                                         : cpb_transform_fit(&source, w->kind, false, transform, exec, error);
}

/* ---- the quality of the answers ---- */

/* Share of the true k among the first `count` candidates of each query. */
static cpb_status find_shares(const cpb_survey *s, const uint64_t *ids, size_t count, double *shares,
                              const cpb_exec *exec, cpb_error *error) {
  size_t n = s->queries.rows;
  cpb_hit *hits = malloc(n * count * sizeof *hits);
  if (hits == NULL) return cpb_fail_memory(error, "%zu candidates", n * count);
  cpb_status status = cpb_engine_distances(s->base, s->queries, ids, s->candidates, count, hits, exec, error);
  for (size_t i = 0; i < n && status == CPB_OK; i++) {
    size_t found = 0;
    while (found < s->k && hits[i * count + found].value <= s->kth[i] * (1 + 1e-12)) found++;
    shares[i] = (double)found / (double)s->k;
  }
  free(hits);
  return status;
}

double cpb_mean_of(const double *a, const double *b, size_t n, cpb_half half, double *error_of) {
  double sum = 0, squares = 0, count = 0;
  for (size_t i = n < 2 ? 0 : (size_t)half; i < n; i += 2, count++) {
    double value = b == NULL ? a[i] : a[i] - b[i];
    sum += value;
    squares += value * value;
  }
  double mean = sum / count;
  if (error_of != NULL) *error_of = sqrt(fmax(0, squares / count - mean * mean) / count);
  return mean;
}

static cpb_status judge_form(const cpb_survey *s, const uint64_t *ids, cpb_engine_trial *trial,
                             const cpb_shares *shares, const cpb_exec *exec, cpb_error *error) {
  size_t n = s->queries.rows;
  cpb_status status = find_shares(s, ids, s->k, shares->first, exec, error);
  if (status == CPB_OK) status = find_shares(s, ids, s->candidates, shares->all, exec, error);
  if (status != CPB_OK) return status;
  trial->recall = cpb_mean_of(shares->first, NULL, n, CPB_REPORTING, NULL);
  trial->rescored = cpb_mean_of(shares->all, NULL, n, CPB_REPORTING, &trial->error);
  trial->choosing_recall = cpb_mean_of(shares->first, NULL, n, CPB_CHOOSING, NULL);
  trial->choosing_rescored = cpb_mean_of(shares->all, NULL, n, CPB_CHOOSING, &trial->choosing_error);
  return CPB_OK;
}

/* ---- asking ---- */

/* An index of transformed rows. */
typedef struct stored {
  const cpb_survey *s;
  const cpb_transform *transform;
  float *rows;
} stored;

/* In all forms of the way, or with a ball of its own radius for every query. */
static cpb_status ask(const stored *of, const cpb_way *w, const double *radii, size_t count, uint64_t *ids,
                      cpb_engine_cost *cost, const cpb_exec *exec, cpb_error *error) {
  const cpb_survey *s = of->s;
  size_t cols = cpb_transform_cols(of->transform), n = s->queries.rows, forms = radii != NULL ? 1 : w->forms;
  float *asked = malloc(forms * n * cols * sizeof *asked);
  cpb_engine_question question = {.rows = cpb_rows(of->rows, CPB_F32, s->base.rows, cols),
                                  .queries = cpb_rows(asked, CPB_F32, forms * n, cols),
                                  .count = count,
                                  .metric = s->metric,
                                  .seed = w->seed};
  cpb_status status = asked == NULL ? cpb_fail_memory(error, "%zu queries", n) : CPB_OK;
  for (size_t form = 0; form < forms && status == CPB_OK; form++)
    status = cpb_prepare_queries(of->transform, s->queries, radii, w->radii[form], true,
                                 asked + form * n * cols, exec, error);
  if (status == CPB_OK) status = s->engine->ask(s->engine->self, &question, ids, cost, exec, error);
  free(asked);
  return status;
}

/* ---- twice ---- */

/* Half of the candidates each time, so that no more are rescored than with one query; the second time with balls of the
 * k-th distances found, the usual one where fewer were found. */
static cpb_status ask_twice(const stored *of, const cpb_way *w, uint64_t *ids, cpb_engine_cost *cost,
                            const cpb_exec *exec, cpb_error *error) {
  const cpb_survey *s = of->s;
  size_t n = s->queries.rows, count = s->candidates / 2 > s->k ? s->candidates / 2 : s->k;
  cpb_engine_cost again = {NAN, NAN, NAN, 0};
  cpb_memory memory = {0};
  uint64_t *first = cpb_memory_take(&memory, n, count * sizeof *first);
  uint64_t *second = cpb_memory_take(&memory, n, count * sizeof *second);
  cpb_hit *hits = cpb_memory_take(&memory, n, count * sizeof *hits);
  double *radii = cpb_memory_take(&memory, n, sizeof *radii);
  cpb_status status = memory.failed ? cpb_fail_memory(error, "%zu candidates", 2 * n * count)
                                    : ask(of, w, NULL, count, first, cost, exec, error);
  if (status == CPB_OK)
    status = cpb_engine_distances(s->base, s->queries, first, count, count, hits, exec, error);
  for (size_t i = 0; i < n && status == CPB_OK; i++) {
    double kth = hits[i * count + s->k - 1].value;
    radii[i] = isinf(kth) ? s->radius : kth;
  }
  if (status == CPB_OK) status = ask(of, w, radii, count, second, &again, exec, error);
  cost->seconds += again.seconds;
  cost->query += again.query;
  for (size_t i = 0; i < n && status == CPB_OK;
       i++) { /* the second answer, then what only the first contains */
    uint64_t *joined = ids + i * s->candidates;
    for (size_t j = 0; j < s->candidates; j++) joined[j] = CPB_NO_ROW;
    cpb_engine_join(second + i * count, count, joined, s->candidates);
    cpb_engine_join(first + i * count, count, joined, s->candidates);
  }
  cpb_memory_free(&memory);
  return status;
}

static cpb_status build_and_ask(const cpb_survey *s, const cpb_way *w, uint64_t *ids, cpb_engine_cost *cost,
                                const cpb_exec *exec, cpb_error *error) {
  cpb_transform *transform = NULL;
  stored of = {.s = s};
  cpb_status status = make_transform(s, w, &transform, exec, error);
  of.transform = transform;
  if (status == CPB_OK) of.rows = malloc(s->base.rows * cpb_transform_cols(transform) * sizeof *of.rows);
  if (status == CPB_OK)
    status = of.rows == NULL ? cpb_fail_memory(error, "%zu transformed rows", s->base.rows)
                             : cpb_prepare_rows(transform, s->base, true, of.rows, exec, error);
  if (status == CPB_OK)
    status = w->twice ? ask_twice(&of, w, ids, cost, exec, error)
                      : ask(&of, w, NULL, s->candidates, ids, cost, exec, error);
  free(of.rows);
  cpb_transform_free(transform);
  return status;
}

static cpb_engine_trial trial_of(const cpb_survey *s, const cpb_way *w, size_t form,
                                 const cpb_engine_cost *cost) {
  cpb_engine_trial trial = {.size = sizeof trial,
                            .name = cpb_transform_about(w->kind).name,
                            .kind = w->kind,
                            .scale = w->norms * s->s,
                            .norms = w->norms,
                            .radius = w->radii[form],
                            .twice = w->twice,
                            .cost = *cost,
                            .rows = s->base.rows};
  trial.cost.query /= (double)w->forms;
  return trial;
}

cpb_status cpb_way_try(const cpb_survey *s, const cpb_way *w, cpb_engine_trial *trials,
                       const cpb_shares *shares, const cpb_exec *exec, cpb_error *error) {
  size_t room = s->queries.rows * s->candidates;
  cpb_engine_cost cost = {NAN, NAN, NAN, 0};
  uint64_t *ids = malloc(w->forms * room * sizeof *ids);
  if (ids == NULL) return cpb_fail_memory(error, "%zu candidates", w->forms * room);
  cpb_status status = build_and_ask(s, w, ids, &cost, exec, error);
  for (size_t form = 0; form < w->forms && status == CPB_OK; form++) {
    trials[form] = trial_of(s, w, form, &cost);
    status = judge_form(s, ids + form * room, &trials[form], &shares[form], exec, error);
  }
  free(ids);
  return status;
}

/* T13: an engine on one transform of the rows, and the quality of its answers. */
#include "engine/engine_trial.h"

#include <math.h>
#include <stdlib.h>

#include "core/fail.h"
#include "core/median.h"
#include "core/rows.h"
#include "engine/asked.h"

cpb_status cpb_survey_find_truth(cpb_survey *s, const cpb_exec *exec, cpb_error *error) {
  size_t n = s->queries.rows, k = s->k;
  cpb_hit *hits = malloc(n * k * sizeof *hits);
  double *middle = malloc(n * sizeof *middle);
  s->kth = malloc(n * sizeof *s->kth);
  cpb_status status = hits == NULL || middle == NULL || s->kth == NULL
                          ? cpb_fail_memory(error, "%zu neighbours of %zu queries", k, n)
                          : cpb_knn(s->base, s->queries, k, CPB_L2, hits, exec, error);
  for (size_t i = 0; i < n && status == CPB_OK; i++) middle[i] = s->kth[i] = hits[i * k + k - 1].value;
  if (status == CPB_OK) s->radius = cpb_median(middle, n);
  free(middle);
  free(hits);
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
  size_t n = s->queries.rows, C = s->candidates;
  cpb_hit *hits = malloc(n * count * sizeof *hits);
  uint64_t *first = malloc(n * count * sizeof *first);
  cpb_status status =
      hits == NULL || first == NULL ? cpb_fail_memory(error, "%zu candidates", n * count) : CPB_OK;
  for (size_t i = 0; i < n * count && status == CPB_OK; i++) first[i] = ids[i / count * C + i % count];
  if (status == CPB_OK) status = cpb_asked_distances(s->base, s->queries, first, count, hits, exec, error);
  for (size_t i = 0; i < n && status == CPB_OK; i++) {
    size_t found = 0;
    while (found < s->k && hits[i * count + found].value <= s->kth[i] * (1 + 1e-12)) found++;
    shares[i] = (double)found / (double)s->k;
  }
  free(hits);
  free(first);
  return status;
}

/* Even queries choose and odd ones report, so that the reported figures are not biased by the choice; a single
 * query does both. */
typedef enum half { CHOOSING = 0, TELLING = 1 } half;

static double mean_of(const double *shares, size_t n, half of, double *error_of) {
  double sum = 0, squares = 0, count = 0;
  for (size_t i = n < 2 ? 0 : (size_t)of; i < n; i += 2, count++) {
    sum += shares[i];
    squares += shares[i] * shares[i];
  }
  double mean = sum / count;
  if (error_of != NULL) *error_of = sqrt(fmax(0, squares / count - mean * mean) / count);
  return mean;
}

static cpb_status judge_form(const cpb_survey *s, const uint64_t *ids, cpb_engine_trial *trial,
                             const cpb_exec *exec, cpb_error *error) {
  size_t n = s->queries.rows;
  double *recall = malloc(2 * n * sizeof *recall), *rescored = recall + n;
  if (recall == NULL) return cpb_fail_memory(error, "%zu shares", 2 * n);
  cpb_status status = find_shares(s, ids, s->k, recall, exec, error);
  if (status == CPB_OK) status = find_shares(s, ids, s->candidates, rescored, exec, error);
  if (status == CPB_OK) {
    trial->recall = mean_of(recall, n, TELLING, NULL);
    trial->rescored = mean_of(rescored, n, TELLING, &trial->error);
    trial->choosing_recall = mean_of(recall, n, CHOOSING, NULL);
    trial->choosing_rescored = mean_of(rescored, n, CHOOSING, NULL);
  }
  free(recall);
  return status;
}

/* ---- asking ---- */

static cpb_status ask_forms(const cpb_survey *s, const cpb_way *w, const cpb_transform *transform,
                            const float *rows, uint64_t *ids, cpb_engine_cost *cost, const cpb_exec *exec,
                            cpb_error *error) {
  size_t cols = cpb_transform_cols(transform), n = s->queries.rows;
  float *asked = malloc(w->forms * n * cols * sizeof *asked);
  if (asked == NULL) return cpb_fail_memory(error, "%zu queries", n);
  cpb_status status = CPB_OK;
  for (size_t form = 0; form < w->forms && status == CPB_OK; form++)
    status =
        cpb_asked_queries(transform, s->queries, w->radii[form], true, asked + form * n * cols, exec, error);
  cpb_engine_question question = {.rows = cpb_rows(rows, CPB_F32, s->base.rows, cols),
                                  .queries = cpb_rows(asked, CPB_F32, w->forms * n, cols),
                                  .count = s->candidates,
                                  .metric = s->metric,
                                  .seed = w->seed};
  if (status == CPB_OK) status = s->engine->ask(s->engine->self, &question, ids, cost, exec, error);
  free(asked);
  return status;
}

static cpb_status ask(const cpb_survey *s, const cpb_way *w, uint64_t *ids, cpb_engine_cost *cost,
                      const cpb_exec *exec, cpb_error *error) {
  cpb_transform *transform = NULL;
  float *rows = NULL;
  cpb_status status = make_transform(s, w, &transform, exec, error);
  if (status == CPB_OK) status = cpb_asked_rows(transform, s->base, true, &rows, exec, error);
  if (status == CPB_OK) status = ask_forms(s, w, transform, rows, ids, cost, exec, error);
  free(rows);
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
                            .cost = *cost,
                            .rows = s->base.rows};
  trial.cost.query /= (double)w->forms;
  return trial;
}

cpb_status cpb_way_try(const cpb_survey *s, const cpb_way *w, cpb_engine_trial *trials, const cpb_exec *exec,
                       cpb_error *error) {
  size_t room = s->queries.rows * s->candidates;
  cpb_engine_cost cost = {NAN, NAN, NAN, 0};
  uint64_t *ids = malloc(w->forms * room * sizeof *ids);
  if (ids == NULL) return cpb_fail_memory(error, "%zu candidates", w->forms * room);
  cpb_status status = ask(s, w, ids, &cost, exec, error);
  for (size_t form = 0; form < w->forms && status == CPB_OK; form++) {
    trials[form] = trial_of(s, w, form, &cost);
    status = judge_form(s, ids + form * room, &trials[form], exec, error);
  }
  free(ids);
  return status;
}

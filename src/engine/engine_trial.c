/* T13: an engine on one transform of the rows, and the quality of its answers. */
#include "engine/engine_trial.h"

#include <math.h>
#include <stdlib.h>

#include "core/fail.h"
#include "core/median.h"
#include "core/memory.h"

bool cpb_survey_find_truth(cpb_survey *s) {
  size_t n = s->of.queries.rows, k = s->k;
  cpb_memory memory = {0};
  cpb_hit *hits = cpb_memory_take(&memory, n, k * sizeof *hits);
  double *middle = cpb_memory_take(&memory, n, sizeof *middle);
  s->kth = malloc(n * sizeof *s->kth);
  bool room = !memory.failed && s->kth != NULL;
  if (!room) cpb_fail_memory(s->of.error, "%zu neighbours of %zu queries", k, n);
  bool done = room && cpb_knn(s->of.base, s->of.queries, k, CPB_L2, hits, s->of.exec, s->of.error) == CPB_OK;
  for (size_t i = 0; i < n && done; i++) middle[i] = s->kth[i] = hits[i * k + k - 1].value;
  if (done) s->radius = cpb_median(middle, n);
  cpb_memory_free(&memory);
  return done;
}

cpb_way cpb_way_of(const cpb_survey *s, cpb_transform_kind kind, double norms, uint64_t seed) {
  double r = kind == CPB_TRANSFORM_SPHERE ? s->radius : 0;
  return (cpb_way){.kind = kind,
                   .norms = norms,
                   .forms = r > 0 ? CPB_TRIAL_FORMS : 1,
                   .radii = {0, r / 2, r, 2 * r},
                   .seed = seed};
}

static bool make_sphere(const cpb_survey *s, double norms, cpb_transform **transform) {
  cpb_map_options options = {.size = sizeof options};
  cpb_map *map = NULL;
  cpb_map_describe(s->map, &options);
  options.s = norms * s->s;
  bool done = cpb_map_new(&options, &map, s->of.error) == CPB_OK &&
              cpb_transform_of_map(map, transform, s->of.error) == CPB_OK;
  cpb_map_free(map);
  return done;
}

static bool make_transform(const cpb_survey *s, const cpb_way *w, const cpb_exec *exec,
                           cpb_transform **transform) {
  if (w->kind == CPB_TRANSFORM_SPHERE) return make_sphere(s, w->norms, transform);
  cpb_source source = cpb_source_from_view(s->of.base);
  return cpb_transform_fit(&source, w->kind, false, transform, exec, s->of.error) == CPB_OK;
}

/* ---- the quality of the answers ---- */

/* Share of the true k among the first `count` candidates of each query. */
static bool find_shares(const cpb_survey *s, const cpb_asking *a, const uint64_t *ids, size_t count,
                        double *shares) {
  size_t n = a->queries.rows;
  cpb_hit *hits = malloc(n * count * sizeof *hits);
  if (hits == NULL) return cpb_fail_memory(a->error, "%zu candidates", n * count) == CPB_OK;
  bool done = cpb_engine_distances(a, ids, s->candidates, count, hits);
  for (size_t i = 0; i < n && done; i++) {
    size_t found = 0;
    while (found < s->k && hits[i * count + found].value <= s->kth[i] * (1 + 1e-12)) found++;
    shares[i] = (double)found / (double)s->k;
  }
  free(hits);
  return done;
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

static bool judge_form(const cpb_survey *s, const cpb_asking *a, const uint64_t *ids, cpb_engine_trial *trial,
                       const cpb_shares *shares) {
  size_t n = a->queries.rows;
  if (!find_shares(s, a, ids, s->k, shares->first) || !find_shares(s, a, ids, s->candidates, shares->all))
    return false;
  trial->recall = cpb_mean_of(shares->first, NULL, n, CPB_REPORTING, NULL);
  trial->rescored = cpb_mean_of(shares->all, NULL, n, CPB_REPORTING, &trial->error);
  trial->choosing_recall = cpb_mean_of(shares->first, NULL, n, CPB_CHOOSING, NULL);
  trial->choosing_rescored = cpb_mean_of(shares->all, NULL, n, CPB_CHOOSING, &trial->choosing_error);
  return true;
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
                            .rows = s->of.base.rows};
  trial.cost.query /= (double)w->forms;
  return trial;
}

bool cpb_way_try(const cpb_survey *s, const cpb_way *w, const cpb_exec *exec, cpb_engine_trial *trials,
                 const cpb_shares *shares) {
  size_t room = s->of.queries.rows * s->candidates;
  cpb_engine_cost cost = {NAN, NAN, NAN, 0};
  cpb_transform *transform = NULL;
  uint64_t *ids = malloc(w->forms * room * sizeof *ids);
  if (ids == NULL) cpb_fail_memory(s->of.error, "%zu candidates", w->forms * room);
  bool done = ids != NULL && make_transform(s, w, exec, &transform);
  cpb_asking asking = s->of;
  asking.transform = transform;
  asking.seed = w->seed;
  asking.exec = exec;
  /* twice: half of the candidates each time, so that no more are rescored than with one query */
  size_t half = s->candidates / 2 > s->k ? s->candidates / 2 : s->k;
  done =
      done && cpb_engine_prepare(&asking) &&
      (w->twice ? cpb_engine_ask_twice(&asking, w->radii[0], s->k, s->radius, half, s->candidates, ids, &cost)
                : cpb_engine_ask(&asking, NULL, w->radii, w->forms, s->candidates, ids, &cost));
  free(asking.rows);
  cpb_transform_free(transform);
  for (size_t form = 0; form < w->forms && done; form++) {
    trials[form] = trial_of(s, w, form, &cost);
    done = judge_form(s, &asking, ids + form * room, &trials[form], &shares[form]);
  }
  free(ids);
  return done;
}

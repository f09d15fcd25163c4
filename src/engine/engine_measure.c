/* T13: an engine on every transform, scale and query form. Query forms of one transform share an index: they are
 * asked together. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "capball/engine.h"
#include "capball/fit.h"
#include "core/fail.h"
#include "core/median.h"
#include "core/rows.h"
#include "core/sized.h"
#include "engine/asked.h"
#include "parallel/tell.h"
#include "scale/row_sample.h"

enum { FORMS = 4, SCALES = 6, TRIALS = 3 + FORMS * (SCALES + 2) };

struct cpb_engine_report {
  cpb_engine_facts facts;
  cpb_engine_trial trials[TRIALS];
};

static const cpb_engine_options defaults = {.size = sizeof(cpb_engine_options),
                                            .k = 10,
                                            .candidates = 100,
                                            .metric = CPB_COSINE,
                                            .sample = 100000,
                                            .queries = 1000,
                                            .seeds = 3};

void cpb_engine_options_init(cpb_engine_options *options, size_t size) {
  cpb_sized_init(options, size, &defaults, sizeof defaults);
}

void cpb_engine_report_free(cpb_engine_report *report) { free(report); }

void cpb_engine_report_describe(const cpb_engine_report *report, cpb_engine_facts *facts) {
  cpb_sized_give(facts, &report->facts, sizeof report->facts);
}

typedef struct survey {
  cpb_engine_options o;
  const cpb_door *door;
  cpb_view base, queries;
  cpb_row_sample rows, asking;
  double *kth; /* of the true neighbours of every query */
  double s;    /* the mean norm about the mean .. */
  cpb_map *map;
  cpb_engine_report *out;
} survey;

/* ---- rows and truth ---- */

/* The first `most` rows by the hash of their number. */
static cpb_status choose(cpb_view rows, size_t most, uint64_t seed, cpb_row_sample *sample, cpb_view *chosen,
                         cpb_error *error) {
  cpb_row_sample_init(sample, most, rows.cols * cpb_dtype_size(rows.dtype), seed);
  cpb_status status = CPB_OK;
  for (size_t i = 0; i < rows.rows && status == CPB_OK; i++)
    status = cpb_row_sample_offer(sample, i, cpb_view_slice(rows, i, 1).data, error);
  if (status == CPB_OK) status = cpb_row_sample_settle(sample, error);
  *chosen = cpb_rows(sample->rows, rows.dtype, sample->count, rows.cols);
  return status;
}

/* Without queries the last rows of the sample ask, and are no rows of the base. */
static cpb_status choose_rows(survey *s, cpb_view base, cpb_view queries, cpb_error *error) {
  size_t held = queries.rows > 0 ? 0 : s->o.queries < base.rows / 4 ? s->o.queries : base.rows / 4;
  size_t most = s->o.sample + held < base.rows ? s->o.sample + held : base.rows;
  cpb_status status = CPB_OK;
  s->base = base;
  if (most < base.rows || held > 0) status = choose(base, most, s->o.seed, &s->rows, &s->base, error);
  if (status != CPB_OK) return status;
  if (queries.rows > 0) {
    s->queries = queries;
    return queries.rows > s->o.queries
               ? choose(queries, s->o.queries, s->o.seed, &s->asking, &s->queries, error)
               : CPB_OK;
  }
  s->queries = cpb_view_slice(s->base, s->base.rows - held, held);
  s->base.rows -= held;
  return CPB_OK;
}

static cpb_status find_truth(survey *s, const cpb_exec *exec, cpb_error *error) {
  size_t n = s->queries.rows, k = s->o.k;
  cpb_hit *hits = malloc(n * k * sizeof *hits);
  double *middle = malloc(n * sizeof *middle);
  s->kth = malloc(n * sizeof *s->kth);
  cpb_status status = hits == NULL || middle == NULL || s->kth == NULL
                          ? cpb_fail_memory(error, "%zu neighbours of %zu queries", k, n)
                          : cpb_knn(s->base, s->queries, k, CPB_L2, hits, exec, error);
  for (size_t i = 0; i < n && status == CPB_OK; i++) middle[i] = s->kth[i] = hits[i * k + k - 1].value;
  if (status == CPB_OK) s->out->facts.radius = cpb_median(middle, n);
  free(middle);
  free(hits);
  return status;
}

static cpb_status find_scale(survey *s, const cpb_exec *exec, cpb_error *error) {
  cpb_map_fit_options options;
  cpb_source source = cpb_source_from_view(s->base);
  cpb_map_options found = {.size = sizeof found};
  cpb_map_fit_options_init(&options, sizeof options);
  cpb_status status = cpb_map_fit(&source, &options, &s->map, NULL, exec, error);
  if (status != CPB_OK) return status;
  cpb_map_describe(s->map, &found);
  s->s = s->out->facts.norm_mean = found.s;
  return CPB_OK;
}

/* ---- one transform ---- */

typedef struct way {
  cpb_transform *transform;
  cpb_transform_kind kind;
  double norms;        /* s in mean norms; NaN */
  size_t forms;        /* query forms .. */
  double radii[FORMS]; /* .. and their radii */
  uint64_t seed;
} way;

/* Share of the true k among the first `count` candidates of every query, and its standard error. */
static double share_found(const survey *s, const uint64_t *ids, size_t stride, size_t count, double *error_of,
                          cpb_hit *hits, uint64_t *first, const cpb_exec *exec, cpb_status *status,
                          cpb_error *error) {
  size_t n = s->queries.rows;
  double sum = 0, squares = 0;
  for (size_t i = 0; i < n * count; i++) first[i] = ids[i / count * stride + i % count];
  *status = cpb_asked_distances(s->base, s->queries, first, count, hits, exec, error);
  for (size_t i = 0; i < n && *status == CPB_OK; i++) {
    size_t found = 0;
    while (found < s->o.k && hits[i * count + found].value <= s->kth[i] * (1 + 1e-12)) found++;
    double share = (double)found / (double)s->o.k;
    sum += share;
    squares += share * share;
  }
  double mean = sum / (double)n;
  *error_of = sqrt(fmax(0, squares / (double)n - mean * mean) / (double)n);
  return mean;
}

static cpb_status judge_form(const survey *s, const uint64_t *ids, cpb_engine_trial *trial,
                             const cpb_exec *exec, cpb_error *error) {
  size_t room = s->queries.rows * s->o.candidates;
  cpb_hit *hits = malloc(room * sizeof *hits);
  uint64_t *first = malloc(room * sizeof *first);
  double ignored;
  cpb_status status = hits == NULL || first == NULL ? cpb_fail_memory(error, "%zu candidates", room) : CPB_OK;
  if (status == CPB_OK)
    trial->recall = share_found(s, ids, s->o.candidates, s->o.k, &ignored, hits, first, exec, &status, error);
  if (status == CPB_OK)
    trial->rescored = share_found(s, ids, s->o.candidates, s->o.candidates, &trial->error, hits, first, exec,
                                  &status, error);
  free(hits);
  free(first);
  return status;
}

static cpb_engine_trial trial_of(const survey *s, const way *w, size_t form, const cpb_engine_cost *cost) {
  cpb_engine_trial trial = {.size = sizeof trial,
                            .name = cpb_transform_about(w->kind).name,
                            .kind = w->kind,
                            .scale = w->norms * s->s,
                            .norms = w->norms,
                            .radius = w->radii[form],
                            .cost = *cost};
  trial.cost.query /= (double)w->forms;
  return trial;
}

static cpb_status ask_all(survey *s, const way *w, const float *rows, uint64_t *ids, cpb_engine_cost *cost,
                          const cpb_exec *exec, cpb_error *error) {
  size_t cols = cpb_transform_cols(w->transform), n = s->queries.rows;
  float *asked = malloc(w->forms * n * cols * sizeof *asked);
  if (asked == NULL) return cpb_fail_memory(error, "%zu queries", n);
  cpb_status status = CPB_OK;
  for (size_t form = 0; form < w->forms && status == CPB_OK; form++)
    status = cpb_asked_queries(w->transform, s->queries, w->radii[form], true, asked + form * n * cols, exec,
                               error);
  cpb_engine_question question = {.rows = cpb_rows(rows, CPB_F32, s->base.rows, cols),
                                  .queries = cpb_rows(asked, CPB_F32, w->forms * n, cols),
                                  .count = s->o.candidates,
                                  .metric = s->o.metric,
                                  .seed = w->seed};
  if (status == CPB_OK) status = s->door->ask(s->door->self, &question, ids, cost, exec, error);
  free(asked);
  return status;
}

static cpb_status try_way(survey *s, const way *w, cpb_engine_trial *trials, const cpb_exec *exec,
                          cpb_error *error) {
  size_t n = s->queries.rows, C = s->o.candidates;
  float *rows = NULL;
  cpb_engine_cost cost = {NAN, NAN, NAN, 0};
  uint64_t *ids = malloc(w->forms * n * C * sizeof *ids);
  if (ids == NULL) return cpb_fail_memory(error, "%zu candidates of %zu queries", C, n);
  cpb_status status = cpb_asked_rows(w->transform, s->base, true, &rows, exec, error);
  if (status == CPB_OK) status = ask_all(s, w, rows, ids, &cost, exec, error);
  for (size_t form = 0; form < w->forms && status == CPB_OK; form++) {
    trials[form] = trial_of(s, w, form, &cost);
    status = judge_form(s, ids + form * n * C, &trials[form], exec, error);
  }
  free(ids);
  free(rows);
  return status;
}

/* ---- which ---- */

static cpb_status rival(survey *s, cpb_transform_kind kind, way *w, const cpb_exec *exec, cpb_error *error) {
  cpb_source source = cpb_source_from_view(s->base);
  *w = (way){.kind = kind, .norms = NAN, .forms = 1, .seed = s->o.seed};
  return cpb_transform_fit(&source, kind, false, &w->transform, exec, error);
}

/* Points, and balls of half, once and twice the usual radius. */
static cpb_status sphere(const survey *s, double norms, way *w, cpb_error *error) {
  cpb_map_options options = {.size = sizeof options};
  cpb_map *map = NULL;
  double r = s->out->facts.radius;
  *w = (way){.kind = CPB_TRANSFORM_SPHERE,
             .norms = norms,
             .forms = r > 0 ? FORMS : 1,
             .radii = {0, r / 2, r, 2 * r},
             .seed = s->o.seed};
  cpb_map_describe(s->map, &options);
  options.s = norms * s->s;
  cpb_status status = cpb_map_new(&options, &map, error);
  if (status == CPB_OK) status = cpb_transform_of_map(map, &w->transform, error);
  cpb_map_free(map);
  return status;
}

static cpb_status add(survey *s, way *w, cpb_status made, const cpb_exec *exec, cpb_error *error) {
  cpb_engine_facts *facts = &s->out->facts;
  cpb_status status = made;
  if (status == CPB_OK) status = try_way(s, w, s->out->trials + facts->count, exec, error);
  if (status == CPB_OK) facts->count += w->forms;
  cpb_transform_free(w->transform);
  w->transform = NULL;
  return status;
}

static cpb_status add_rival(survey *s, cpb_transform_kind kind, const cpb_exec *exec, cpb_error *error) {
  way w;
  return add(s, &w, rival(s, kind, &w, exec, error), exec, error);
}

static cpb_status add_sphere(survey *s, double norms, const cpb_exec *exec, cpb_error *error) {
  way w;
  return add(s, &w, sphere(s, norms, &w, error), exec, error);
}

static int effort(const cpb_engine_trial *trial) { return 2 * (int)trial->kind + (trial->radius > 0); }

/* The best after rescoring; of those that so few queries cannot tell from it (half a point, its standard error, a point
 * at most) the best before, of those within half a point of that the simplest. */
static size_t best_of(const cpb_engine_facts *facts, bool spheres) {
  double most = 0, near = 0, first = 0;
  size_t pick = facts->count;
  for (size_t i = 0; i < facts->count; i++) {
    const cpb_engine_trial *t = &facts->trials[i];
    if ((spheres && t->kind != CPB_TRANSFORM_SPHERE) || t->rescored < most) continue;
    most = t->rescored;
    near = fmin(fmax(0.005, t->error), 0.01);
  }
  for (int turn = 0; turn < 2; turn++)
    for (size_t i = 0; i < facts->count; i++) {
      const cpb_engine_trial *t = &facts->trials[i];
      if ((spheres && t->kind != CPB_TRANSFORM_SPHERE) || t->rescored < most - near) continue;
      if (turn == 0)
        first = fmax(first, t->recall);
      else if (t->recall >= first - 0.005 &&
               (pick == facts->count || effort(t) < effort(&facts->trials[pick])))
        pick = i;
    }
  return pick;
}

static cpb_status try_spheres(survey *s, const cpb_exec *exec, cpb_error *error) {
  cpb_status status = CPB_OK;
  for (size_t i = 0; i < SCALES && status == CPB_OK; i++) {
    cpb_exec_part part;
    status = add_sphere(
        s, ldexp(0.5, (int)i),
        cpb_exec_part_of(&part, exec, (double)i / (SCALES + 2), (double)(i + 1) / (SCALES + 2)), error);
  }
  if (status != CPB_OK) return status;
  double best = s->out->trials[best_of(&s->out->facts, true)].norms, root2 = 0x1.6a09e667f3bcdp+0;
  status = add_sphere(s, best / root2, exec, error);
  return status == CPB_OK ? add_sphere(s, best * root2, exec, error) : status;
}

/* Only what the engine can rank by. */
static cpb_status try_all(survey *s, const cpb_exec *exec, cpb_error *error) {
  cpb_metric metric = s->o.metric;
  cpb_status status = add_rival(s, CPB_TRANSFORM_NONE, exec, error);
  if (status == CPB_OK && metric == CPB_COSINE) status = add_rival(s, CPB_TRANSFORM_NORMALIZE, exec, error);
  if (status == CPB_OK && metric == CPB_IP) status = add_rival(s, CPB_TRANSFORM_LIFT_IP, exec, error);
  if (status == CPB_OK && metric != CPB_L2) status = add_rival(s, CPB_TRANSFORM_LIFT_COSINE, exec, error);
  return status == CPB_OK ? try_spheres(s, exec, error) : status;
}

/* The pick once more under other seeds of the engine. */
static cpb_status find_spread(survey *s, const cpb_exec *exec, cpb_error *error) {
  cpb_engine_facts *facts = &s->out->facts;
  const cpb_engine_trial *pick = &s->out->trials[facts->pick];
  facts->low = facts->high = pick->rescored;
  cpb_status status = CPB_OK;
  for (size_t i = 1; i < s->o.seeds && status == CPB_OK; i++) {
    way w;
    cpb_engine_trial again[FORMS];
    status = pick->kind == CPB_TRANSFORM_SPHERE ? sphere(s, pick->norms, &w, error)
                                                : rival(s, pick->kind, &w, exec, error);
    w.forms = 1;
    w.radii[0] = pick->radius;
    w.seed = s->o.seed + i;
    if (status == CPB_OK) status = try_way(s, &w, again, exec, error);
    cpb_transform_free(w.transform);
    if (status != CPB_OK) break;
    facts->low = fmin(facts->low, again[0].rescored);
    facts->high = fmax(facts->high, again[0].rescored);
  }
  return status;
}

static void conclude(cpb_engine_report *out) {
  cpb_engine_facts *facts = &out->facts;
  facts->trials = out->trials;
  facts->pick = best_of(facts, false);
  const cpb_engine_trial *pick = &out->trials[facts->pick], *raw = &out->trials[facts->raw];
  double more = pick->rescored - raw->rescored, before = pick->recall - raw->recall;
  facts->helps = more > pick->error || (more >= -pick->error && before > 0.01);
}

static cpb_status run(survey *s, cpb_view base, cpb_view queries, const cpb_exec *exec, cpb_error *error) {
  cpb_engine_facts *facts = &s->out->facts;
  cpb_status status = choose_rows(s, base, queries, error);
  if (status != CPB_OK) return status;
  if (s->o.candidates > s->base.rows) s->o.candidates = s->base.rows;
  if (s->o.k == 0 || s->o.k > s->o.candidates)
    return cpb_fail_count(error, "k", s->o.k, "k must be at least 1 and at most the %zu candidates",
                          s->o.candidates);
  status = find_truth(s, exec, error);
  if (status == CPB_OK) status = find_scale(s, exec, error);
  facts->k = s->o.k;
  facts->candidates = s->o.candidates;
  facts->base_rows = s->base.rows;
  facts->queries = s->queries.rows;
  facts->trials = s->out->trials;
  if (status == CPB_OK) status = try_all(s, exec, error);
  if (status != CPB_OK) return status;
  conclude(s->out);
  return find_spread(s, exec, error);
}

cpb_status cpb_engine_measure(cpb_view base, cpb_view queries, const cpb_door *door,
                              const cpb_engine_options *options, cpb_engine_report **report,
                              const cpb_exec *exec, cpb_error *error) {
  survey s = {.o = defaults, .door = door};
  if (door == NULL || report == NULL) return cpb_fail_missing(error, door == NULL ? "door" : "report");
  *report = NULL;
  cpb_status status = cpb_sized_take(&s.o, sizeof s.o, options, "cpb_engine_options", error);
  if (status == CPB_OK && (unsigned)s.o.metric >= CPB_METRICS)
    status = cpb_fail_choice(error, "metric", (int)s.o.metric);
  if (status == CPB_OK) status = cpb_check_view(base, "base", base.cols, error);
  if (status == CPB_OK && queries.rows > 0) status = cpb_check_view(queries, "queries", base.cols, error);
  if (status != CPB_OK) return status;
  s.out = calloc(1, sizeof *s.out);
  if (s.out == NULL) return cpb_fail_memory(error, "a report");
  s.out->facts.size = sizeof s.out->facts;
  status = run(&s, base, queries, exec, error);
  cpb_row_sample_free(&s.rows);
  cpb_row_sample_free(&s.asking);
  cpb_map_free(s.map);
  free(s.kth);
  if (status == CPB_OK)
    *report = s.out;
  else
    free(s.out);
  return status;
}

/* T13: an engine on every transform, scale and query form. With many rows, a first round on a part of them finds
 * the ones that are far behind and not worth an index of all rows. */
#include <math.h>
#include <stdlib.h>

#include "sphere/map_object.h"
#include "loops/row_state.h"
#include "base/fail.h"
#include "base/median.h"
#include "base/memory.h"
#include "base/rows.h"
#include "base/sized.h"
#include "engine/engine_ask.h"
#include "base/tell.h"
#include "engine/recipe.h"
#include "statistics/row_sample.h"

enum { FORMS = 4, RIVALS = 4, SCALES = 6, WAYS = RIVALS + SCALES + 2 };
enum { TRIALS = FORMS * (WAYS + RIVALS + SCALES) + 2 }; /* one is asked twice, one under other seeds */

/* Behind the best of the first round by more than this share of the true neighbours. Small rounds are easy, so a
 * smaller deficit may still be made up. */
static const double FAR = 0.2;

/* ---- one index, queried in all query forms at once ---- */

/* Rows, queries and the ground truth. */
typedef struct survey {
  cpb_asking of; /* without a transform and its rows */
  size_t k, candidates;
  cpb_memory *memory;
  double *kth;   /* the k-th distance of every query */
  double radius; /* the median of kth */
  const cpb_map *map;
  double s; /* of the map: the mean norm about the mean */
} survey;

typedef struct way {
  cpb_transform_kind kind;
  double norms;        /* s of the sphere in mean norms; NaN without a sphere */
  size_t forms;        /* number of query forms */
  double radii[FORMS]; /* and their radii */
  bool twice;          /* of one form: query again, with balls of the k-th distance found */
  uint64_t seed;
} way;

/* The share of the true k of every query among the engine's first k, and among all its candidates. */
typedef struct query_shares {
  double *first, *all; /* one number per query each */
} query_shares;

static bool find_truth(survey *s) {
  size_t n = s->of.queries.rows, k = s->k;
  cpb_memory memory = {0};
  cpb_hit *hits = cpb_memory_take(&memory, n, k * sizeof *hits);
  double *middle = cpb_memory_take(&memory, n, sizeof *middle);
  s->kth = cpb_memory_take(s->memory, n, sizeof *s->kth);
  bool room = !memory.failed && s->kth != NULL;
  if (!room) cpb_fail_memory(s->of.error, "%zu neighbours of %zu queries", k, n);
  bool done = room && cpb_knn(s->of.base, s->of.queries, k, CPB_L2, hits, s->of.exec, s->of.error) == CPB_OK;
  for (size_t i = 0; i < n && done; i++) middle[i] = s->kth[i] = hits[i * k + k - 1].value;
  if (done) s->radius = cpb_median(middle, n);
  cpb_memory_free(&memory);
  return done;
}

/* With all its query forms: points, and on the sphere balls of half, one and two times the usual radius. */
static way way_of(const survey *s, cpb_transform_kind kind, double norms, uint64_t seed) {
  double r = kind == CPB_TRANSFORM_SPHERE ? s->radius : 0;
  return (way){
      .kind = kind, .norms = norms, .forms = r > 0 ? FORMS : 1, .radii = {0, r / 2, r, 2 * r}, .seed = seed};
}

static bool make_transform(const survey *s, const way *w, const cpb_exec *exec, cpb_transform **transform) {
  cpb_source source = cpb_source_from_view(s->of.base);
  if (w->kind != CPB_TRANSFORM_SPHERE)
    return cpb_transform_fit(&source, w->kind, false, transform, exec, s->of.error) == CPB_OK;
  cpb_map_options options = s->map->options;
  cpb_map *map = NULL;
  options.s = w->norms * s->s;
  bool done = cpb_map_new(&options, &map, s->of.error) == CPB_OK &&
              cpb_transform_of_map(map, transform, s->of.error) == CPB_OK;
  cpb_map_free(map);
  return done;
}

/* ---- the quality of the answers ---- */

/* Share of the true k among the first `count` candidates of each query. */
static bool find_shares(const survey *s, const cpb_asking *a, const uint64_t *ids, size_t count,
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

/* The mean of a[i] - b[i] (b = NULL: of a[i]) over one half of the queries, and its standard error. Even queries
 * choose and odd ones report, so that the reported figures are not biased by the choice; a single query does both. */
enum { CHOOSING, REPORTING };

static double mean_of(const double *a, const double *b, size_t n, size_t half, double *error_of) {
  double sum = 0, squares = 0, count = 0;
  for (size_t i = n < 2 ? 0 : half; i < n; i += 2, count++) {
    double value = b == NULL ? a[i] : a[i] - b[i];
    sum += value;
    squares += value * value;
  }
  double mean = sum / count;
  if (error_of != NULL) *error_of = sqrt(fmax(0, squares / count - mean * mean) / count);
  return mean;
}

static bool judge_form(const survey *s, const cpb_asking *a, const uint64_t *ids, cpb_engine_trial *trial,
                       const query_shares *shares) {
  size_t n = a->queries.rows;
  if (!find_shares(s, a, ids, s->k, shares->first) || !find_shares(s, a, ids, s->candidates, shares->all))
    return false;
  trial->recall = mean_of(shares->first, NULL, n, REPORTING, NULL);
  trial->rescored = mean_of(shares->all, NULL, n, REPORTING, &trial->error);
  trial->choosing_recall = mean_of(shares->first, NULL, n, CHOOSING, NULL);
  trial->choosing_rescored = mean_of(shares->all, NULL, n, CHOOSING, &trial->choosing_error);
  return true;
}

static cpb_engine_trial trial_of(const survey *s, const way *w, size_t form, const cpb_engine_cost *cost) {
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

static bool ask_twice(const survey *s, const cpb_asking *a, const way *w, uint64_t *ids,
                      cpb_engine_cost *cost) {
  /* half of the candidates each time, so that no more are rescored than with one query */
  size_t half = s->candidates / 2 > s->k ? s->candidates / 2 : s->k, n = a->queries.rows;
  cpb_memory memory = {0};
  uint64_t *first = cpb_memory_take(&memory, n, half * sizeof *first);
  cpb_hit *found = cpb_memory_take(&memory, n, half * sizeof *found);
  if (memory.failed) cpb_fail_memory(a->error, "%zu candidates", n * half);
  bool done = !memory.failed && cpb_engine_ask(a, NULL, w->radii, 1, half, first, cost) &&
              cpb_engine_distances(a, first, half, half, found) &&
              cpb_engine_ask_again(a, first, found, s->k, s->radius, half, s->candidates, ids, cost);
  cpb_memory_free(&memory);
  return done;
}

static bool run_way(const survey *s, const way *w, const cpb_exec *exec, cpb_engine_trial *trials,
                    const query_shares *shares) {
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
  done = done && cpb_engine_prepare(&asking) &&
         (w->twice ? ask_twice(s, &asking, w, ids, &cost)
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

/* ---- all of them ---- */

struct cpb_engine_report {
  cpb_engine_facts facts;
  cpb_engine_trial trials[TRIALS];
};

CPB_DEFAULTS(cpb_engine_options, .size = sizeof(cpb_engine_options), .k = 10, .candidates = 100,
             .metric = CPB_COSINE, .sample = 100000, .queries = 1000, .seeds = 3, .first = 10000)

void cpb_engine_report_free(cpb_engine_report *report) { free(report); }

void cpb_engine_report_describe(const cpb_engine_report *report, cpb_engine_facts *facts) {
  cpb_sized_give(facts, report == NULL ? NULL : &report->facts, sizeof report->facts);
}

typedef struct measuring {
  cpb_engine_options o;
  survey all, first; /* every row of the sample; the rows of the first round */
  cpb_row_sample rows, asking, first_rows;
  cpb_map *map;
  cpb_engine_report *out;
  cpb_memory memory; /* of the shares, and of the surveys */
  query_shares shares[TRIALS];
  size_t early;       /* trials of the first round */
  size_t asked, asks; /* indexes built so far, and about how many there will be */
} measuring;

/* ---- rows ---- */

/* Without queries, the last rows of the sample are the queries and are not part of the base. */
static bool choose_rows(measuring *m, cpb_view base, cpb_view queries) {
  cpb_asking *of = &m->all.of;
  size_t held = queries.rows > 0 ? 0 : m->o.queries < base.rows / 4 ? m->o.queries : base.rows / 4;
  size_t most = m->o.sample + held < base.rows ? m->o.sample + held : base.rows;
  of->base = base;
  of->queries = queries;
  if ((most < base.rows || held > 0) &&
      cpb_row_sample_draw(&m->rows, base, most, m->o.seed, &of->base, of->error) != CPB_OK)
    return false;
  if (queries.rows > m->o.queries)
    return cpb_row_sample_draw(&m->asking, queries, m->o.queries, m->o.seed, &of->queries, of->error) ==
           CPB_OK;
  if (queries.rows > 0) return true;
  of->queries = cpb_view_slice(of->base, of->base.rows - held, held);
  of->base.rows -= held;
  return true;
}

static bool find_scale(measuring *m) {
  cpb_map_fit_options options;
  cpb_source source = cpb_source_from_view(m->all.of.base);
  cpb_map_fit_options_init(&options, sizeof options);
  if (cpb_map_fit(&source, &options, &m->map, NULL, m->all.of.exec, m->all.of.error) != CPB_OK) return false;
  m->all.map = m->map;
  m->all.s = m->map->options.s;
  return true;
}

static bool has_first_round(const measuring *m) {
  return m->o.first > m->o.k && m->o.first < m->all.of.base.rows / 2;
}

/* The same share of candidates as with all rows, but at least 2 k. */
static bool prepare_first(measuring *m) {
  cpb_asking *of = &m->first.of;
  m->first = m->all;
  if (cpb_row_sample_draw(&m->first_rows, m->all.of.base, m->o.first, ~m->o.seed, &of->base, of->error) !=
      CPB_OK)
    return false;
  double share = (double)of->base.rows / (double)m->all.of.base.rows;
  size_t fewer = (size_t)ceil((double)m->all.candidates * share);
  if (fewer < 2 * m->o.k) fewer = 2 * m->o.k;
  if (fewer > m->all.candidates) fewer = m->all.candidates;
  m->first.candidates = fewer < of->base.rows ? fewer : of->base.rows;
  return find_truth(&m->first);
}

/* ---- the best ---- */

static int effort(const cpb_engine_trial *trial) {
  return 4 * (int)trial->kind + 2 * trial->twice + (trial->radius > 0);
}

/* Whether a trial is no more behind another one than one standard error of the difference, over the same queries. */
static bool is_close(const measuring *m, const double *to, const double *trial) {
  double error, behind = mean_of(to, trial, m->all.of.queries.rows, CHOOSING, &error);
  return behind <= error;
}

static bool is_of_all_rows(const measuring *m, size_t trial) {
  return m->out->trials[trial].rows == m->all.of.base.rows;
}

/* The criterion is the share of the true k among the candidates; within its noise the higher share among the first
 * k wins, and within the noise of that the simplest. `count` if there is none. */
static size_t best_of(const measuring *m, bool sphere) {
  const cpb_engine_trial *trials = m->out->trials;
  const query_shares *shares = m->shares;
  size_t count = m->out->facts.count, best = count, first = count, pick = count;
  bool allowed[TRIALS];
  for (size_t i = 0; i < count; i++) {
    allowed[i] = is_of_all_rows(m, i) && (!sphere || trials[i].kind == CPB_TRANSFORM_SPHERE);
    if (allowed[i] && (best == count || trials[i].choosing_rescored > trials[best].choosing_rescored))
      best = i;
  }
  for (size_t i = 0; i < count; i++) {
    allowed[i] = allowed[i] && is_close(m, shares[best].all, shares[i].all);
    if (allowed[i] && (first == count || trials[i].choosing_recall > trials[first].choosing_recall))
      first = i;
  }
  for (size_t i = 0; i < count; i++)
    if (allowed[i] && is_close(m, shares[first].first, shares[i].first) &&
        (pick == count || effort(&trials[i]) < effort(&trials[pick])))
      pick = i;
  return pick;
}

/* ---- rounds ---- */

/* Fills the trials after those there are. */
static bool try_way(measuring *m, const survey *s, const way *w) {
  cpb_exec_part part;
  size_t count = m->out->facts.count;
  double from = fmin(1, (double)m->asked / (double)m->asks),
         to = fmin(1, (double)++m->asked / (double)m->asks);
  return run_way(s, w, cpb_exec_part_of(&part, s->of.exec, from, to), m->out->trials + count,
                 m->shares + count);
}

static bool add(measuring *m, const survey *s, const way *w) {
  if (!try_way(m, s, w)) return false;
  m->out->facts.count += w->forms;
  return true;
}

static bool add_scale(measuring *m, double norms) {
  way w = way_of(&m->all, CPB_TRANSFORM_SPHERE, norms, m->o.seed);
  return add(m, &m->all, &w);
}

static bool is_wanted(const measuring *m, cpb_transform_kind kind) {
  bool asked = m->o.kinds == 0 || (m->o.kinds >> (unsigned)kind & 1) != 0;
  return cpb_recipe_suits(kind, m->o.metric) && asked;
}

/* Does nothing for what the first round has ruled out. */
static bool add_if_near(measuring *m, const survey *s, cpb_transform_kind kind, double norms) {
  const cpb_engine_trial *trials = m->out->trials;
  double best = 0, own = 0;
  for (size_t i = 0; i < m->early; i++) {
    bool same = trials[i].kind == kind && (isnan(norms) || trials[i].norms == norms);
    best = fmax(best, trials[i].choosing_rescored);
    if (same) own = fmax(own, trials[i].choosing_rescored);
  }
  way w = way_of(s, kind, norms, m->o.seed);
  return own < best - FAR || add(m, s, &w);
}

static bool try_all(measuring *m, const survey *s) {
  static const cpb_transform_kind rivals[] = {CPB_TRANSFORM_NORMALIZE, CPB_TRANSFORM_LIFT_IP,
                                              CPB_TRANSFORM_LIFT_COSINE};
  way raw = way_of(s, CPB_TRANSFORM_NONE, NAN, m->o.seed);
  m->out->facts.raw = m->out->facts.count;
  bool done = add(m, s, &raw);
  for (size_t i = 0; i < sizeof rivals / sizeof *rivals && done; i++)
    done = !is_wanted(m, rivals[i]) || add_if_near(m, s, rivals[i], NAN);
  for (int i = 0; i < SCALES && done && is_wanted(m, CPB_TRANSFORM_SPHERE); i++)
    done = add_if_near(m, s, CPB_TRANSFORM_SPHERE, ldexp(0.5, i));
  return done;
}

static bool refine(measuring *m) {
  const cpb_engine_facts *facts = &m->out->facts;
  size_t best = best_of(m, true);
  double root2 = 0x1.6a09e667f3bcdp+0;
  if (best == facts->count) return true;
  double norms = facts->trials[best].norms;
  return add_scale(m, norms / root2) && add_scale(m, norms * root2);
}

static way way_of_trial(const measuring *m, size_t at) {
  const cpb_engine_trial *t = &m->out->trials[at];
  return (way){.kind = t->kind,
               .norms = t->norms,
               .forms = 1,
               .radii = {t->radius},
               .twice = t->twice,
               .seed = m->o.seed};
}

/* The best sphere, queried again with balls of the distances found. */
static bool try_twice(measuring *m) {
  size_t best = best_of(m, true);
  if (best == m->out->facts.count || !(m->all.radius > 0)) return true;
  way w = way_of_trial(m, best);
  w.twice = true;
  return add(m, &m->all, &w);
}

static bool try_rounds(measuring *m) {
  m->asks = WAYS + 1 + m->o.seeds;
  if (has_first_round(m)) {
    m->asks += RIVALS + SCALES;
    if (!prepare_first(m) || !try_all(m, &m->first)) return false;
    m->early = m->out->facts.count;
  }
  return try_all(m, &m->all) && refine(m) && try_twice(m);
}

static bool find_spread(measuring *m) {
  cpb_engine_facts *facts = &m->out->facts;
  const cpb_engine_trial *again = m->out->trials + facts->count;
  facts->low = facts->high = m->out->trials[facts->pick].rescored;
  for (size_t i = 1; i < m->o.seeds; i++) {
    way w = way_of_trial(m, facts->pick);
    w.seed = m->o.seed + i;
    if (!try_way(m, &m->all, &w)) return false;
    facts->low = fmin(facts->low, again->rescored);
    facts->high = fmax(facts->high, again->rescored);
  }
  return true;
}

/* Close is what the criterion alone does not distinguish from the best. */
static void conclude(measuring *m) {
  cpb_engine_trial *trials = m->out->trials;
  cpb_engine_facts *facts = &m->out->facts;
  size_t best = facts->pick = best_of(m, false);
  for (size_t i = 0; i < facts->count; i++)
    if (is_of_all_rows(m, i) && trials[i].choosing_rescored > trials[best].choosing_rescored) best = i;
  for (size_t i = 0; i < facts->count; i++)
    trials[i].close = is_of_all_rows(m, i) && is_close(m, m->shares[best].all, m->shares[i].all);
  const cpb_engine_trial *pick = &trials[facts->pick], *raw = &trials[facts->raw];
  double more = pick->rescored - raw->rescored, before = pick->recall - raw->recall;
  facts->helps = more > pick->error || (more >= -pick->error && before > 0.01);
}

static bool hold_shares(measuring *m) {
  size_t n = m->all.of.queries.rows;
  for (size_t i = 0; i < TRIALS; i++)
    m->shares[i] = (query_shares){cpb_memory_take(&m->memory, n, sizeof(double)),
                                  cpb_memory_take(&m->memory, n, sizeof(double))};
  return !m->memory.failed || cpb_fail_memory(m->all.of.error, "%zu shares", 2 * TRIALS * n) == CPB_OK;
}

static void state_facts(measuring *m) {
  const survey *s = &m->all;
  m->out->facts = (cpb_engine_facts){.size = sizeof m->out->facts,
                                     .k = s->k,
                                     .candidates = s->candidates,
                                     .base_rows = s->of.base.rows,
                                     .queries = s->of.queries.rows,
                                     .radius = s->radius,
                                     .norm_mean = s->s,
                                     .trials = m->out->trials,
                                     .first_rows = has_first_round(m) ? m->o.first : 0};
}

static bool check_counts(survey *s) {
  if (s->of.queries.rows == 0)
    return cpb_fail_count(s->of.error, "queries", 0,
                          "at least 1 query is wanted: give some, or 4 rows or more") == CPB_OK;
  if (s->candidates > s->of.base.rows) s->candidates = s->of.base.rows;
  return cpb_check_k(s->k, s->candidates, "k", "candidates", s->of.error) == CPB_OK;
}

static bool run(measuring *m, cpb_view base, cpb_view queries) {
  if (!choose_rows(m, base, queries) || !check_counts(&m->all) || !find_truth(&m->all) || !find_scale(m) ||
      !hold_shares(m))
    return false;
  state_facts(m);
  if (!try_rounds(m)) return false;
  conclude(m);
  return find_spread(m);
}

static cpb_status check_options(const cpb_engine_options *o, cpb_error *error) {
  if ((unsigned)o->metric >= CPB_METRICS) return cpb_fail_choice(error, "metric", (int)o->metric);
  for (unsigned kind = 0; o->kinds >> kind != 0; kind++)
    if ((o->kinds >> kind & 1) != 0 && !cpb_recipe_suits((cpb_transform_kind)kind, o->metric))
      return cpb_fail_count(error, "kinds", kind, "transforms must suit an engine that ranks by %s",
                            cpb_metric_name(o->metric));
  return CPB_OK;
}

cpb_status cpb_engine_measure(cpb_view base, cpb_view queries, const cpb_engine_calls *engine,
                              const cpb_engine_options *options, cpb_engine_report **report,
                              const cpb_exec *exec, cpb_error *error) {
  measuring m = {.o = defaults};
  if (engine == NULL || engine->ask == NULL || report == NULL)
    return cpb_fail_missing(error, report == NULL ? "report" : "engine");
  *report = NULL;
  cpb_status status = cpb_sized_take(&m.o, sizeof m.o, options, "cpb_engine_options", error);
  if (status == CPB_OK) status = check_options(&m.o, error);
  if (status == CPB_OK) status = cpb_check_finite(base, "base", base.cols, exec, error);
  if (status == CPB_OK && queries.rows > 0)
    status = cpb_check_finite(queries, "queries", base.cols, exec, error);
  if (status != CPB_OK) return status;
  cpb_error unused;
  if (error == NULL) error = &unused;
  m.all =
      (survey){.of = {.engine = engine, .metric = m.o.metric, .lenient = true, .exec = exec, .error = error},
               .k = m.o.k,
               .candidates = m.o.candidates,
               .memory = &m.memory};
  m.out = calloc(1, sizeof *m.out);
  if (m.out == NULL) return cpb_fail_memory(error, "a report");
  bool done = run(&m, base, queries);
  if (done)
    *report = m.out;
  else
    free(m.out);
  cpb_row_sample_free(&m.rows);
  cpb_row_sample_free(&m.asking);
  cpb_row_sample_free(&m.first_rows);
  cpb_map_free(m.map);
  cpb_memory_free(&m.memory);
  return done ? CPB_OK : error->status;
}

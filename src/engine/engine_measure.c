/* T13: an engine on every transform, scale and query form. With many rows, a first round on a part of them finds
 * the ones that are far behind and not worth an index of all rows. */
#include <math.h>
#include <stdlib.h>

#include "batch/row_state.h"
#include "core/fail.h"
#include "core/rows.h"
#include "core/sized.h"
#include "engine/engine_trial.h"
#include "parallel/tell.h"
#include "recommend/recipe.h"
#include "scale/row_sample.h"

enum { RIVALS = 4, SCALES = 6, WAYS = RIVALS + SCALES + 2 };
enum {
  TRIALS = CPB_TRIAL_FORMS * (WAYS + RIVALS + SCALES) + 2
}; /* one is asked twice, one under other seeds */

/* Behind the best of the first round by more than this share of the true neighbours. Small rounds are easy, so a
 * smaller deficit may still be made up. */
static const double FAR = 0.2;

struct cpb_engine_report {
  cpb_engine_facts facts;
  cpb_engine_trial trials[TRIALS];
};

CPB_DEFAULTS(cpb_engine_options, .size = sizeof(cpb_engine_options), .k = 10, .candidates = 100,
             .metric = CPB_COSINE, .sample = 100000, .queries = 1000, .seeds = 3, .first = 10000)

void cpb_engine_report_free(cpb_engine_report *report) { free(report); }

void cpb_engine_report_describe(const cpb_engine_report *report, cpb_engine_facts *facts) {
  cpb_sized_give(facts, &report->facts, sizeof report->facts);
}

typedef struct measuring {
  cpb_engine_options o;
  cpb_survey all, first; /* every row of the sample; the rows of the first round */
  cpb_row_sample rows, asking, first_rows;
  cpb_map *map;
  cpb_engine_report *out;
  double *memory; /* of the shares */
  cpb_shares shares[TRIALS];
  size_t early;       /* trials of the first round */
  size_t asked, asks; /* indexes built so far, and about how many there will be */
} measuring;

/* ---- rows ---- */

/* Without queries, the last rows of the sample are the queries and are not part of the base. */
static cpb_status choose_rows(measuring *m, cpb_view base, cpb_view queries, cpb_error *error) {
  cpb_survey *s = &m->all;
  size_t held = queries.rows > 0 ? 0 : m->o.queries < base.rows / 4 ? m->o.queries : base.rows / 4;
  size_t most = m->o.sample + held < base.rows ? m->o.sample + held : base.rows;
  cpb_status status = CPB_OK;
  s->base = base;
  if (most < base.rows || held > 0)
    status = cpb_row_sample_draw(&m->rows, base, most, m->o.seed, &s->base, error);
  if (status != CPB_OK) return status;
  if (queries.rows > 0) {
    s->queries = queries;
    return queries.rows > m->o.queries
               ? cpb_row_sample_draw(&m->asking, queries, m->o.queries, m->o.seed, &s->queries, error)
               : CPB_OK;
  }
  s->queries = cpb_view_slice(s->base, s->base.rows - held, held);
  s->base.rows -= held;
  return CPB_OK;
}

static cpb_status find_scale(measuring *m, const cpb_exec *exec, cpb_error *error) {
  cpb_map_fit_options options;
  cpb_source source = cpb_source_from_view(m->all.base);
  cpb_map_options found = {.size = sizeof found};
  cpb_map_fit_options_init(&options, sizeof options);
  cpb_status status = cpb_map_fit(&source, &options, &m->map, NULL, exec, error);
  if (status != CPB_OK) return status;
  cpb_map_describe(m->map, &found);
  m->all.map = m->map;
  m->all.s = found.s;
  return CPB_OK;
}

static bool has_first_round(const measuring *m) {
  return m->o.first > m->o.k && m->o.first < m->all.base.rows / 2;
}

/* The same share of candidates as with all rows, but at least 2 k. */
static cpb_status prepare_first(measuring *m, const cpb_exec *exec, cpb_error *error) {
  m->first = m->all;
  m->first.kth = NULL;
  cpb_status status =
      cpb_row_sample_draw(&m->first_rows, m->all.base, m->o.first, ~m->o.seed, &m->first.base, error);
  double share = (double)m->first.base.rows / (double)m->all.base.rows;
  size_t fewer = (size_t)ceil((double)m->all.candidates * share);
  m->first.candidates = fewer > 2 * m->o.k ? fewer : 2 * m->o.k;
  if (m->first.candidates > m->all.candidates) m->first.candidates = m->all.candidates;
  if (m->first.candidates > m->first.base.rows) m->first.candidates = m->first.base.rows;
  return status == CPB_OK ? cpb_survey_find_truth(&m->first, exec, error) : status;
}

/* ---- the best ---- */

static int effort(const cpb_engine_trial *trial) {
  return 4 * (int)trial->kind + 2 * trial->twice + (trial->radius > 0);
}

/* Whether a trial is no more behind another one than one standard error of the difference, over the same queries. */
static bool is_close(const measuring *m, const double *to, const double *trial) {
  double error, behind = cpb_mean_of(to, trial, m->all.queries.rows, CPB_CHOOSING, &error);
  return behind <= error;
}

static bool is_of_all_rows(const measuring *m, size_t trial) {
  return m->out->trials[trial].rows == m->all.base.rows;
}

/* The criterion is the share of the true k among the candidates; within its noise the higher share among the first
 * k wins, and within the noise of that the simplest. `count` if there is none. */
static size_t best_of(const measuring *m, bool sphere) {
  const cpb_engine_trial *trials = m->out->trials;
  const cpb_shares *shares = m->shares;
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

static cpb_status try_way(measuring *m, const cpb_survey *s, const cpb_way *w, cpb_engine_trial *trials,
                          const cpb_exec *exec, cpb_error *error) {
  cpb_exec_part part;
  double from = fmin(1, (double)m->asked / (double)m->asks),
         to = fmin(1, (double)++m->asked / (double)m->asks);
  return cpb_way_try(s, w, trials, m->shares + (trials - m->out->trials),
                     cpb_exec_part_of(&part, exec, from, to), error);
}

static cpb_status add(measuring *m, const cpb_survey *s, cpb_transform_kind kind, double norms,
                      const cpb_exec *exec, cpb_error *error) {
  cpb_engine_facts *facts = &m->out->facts;
  cpb_way w = cpb_way_of(s, kind, norms, m->o.seed);
  cpb_status status = try_way(m, s, &w, m->out->trials + facts->count, exec, error);
  if (status == CPB_OK) facts->count += w.forms;
  return status;
}

static bool is_wanted(const measuring *m, cpb_transform_kind kind) {
  bool asked = m->o.kinds == 0 || (m->o.kinds >> (unsigned)kind & 1) != 0;
  return cpb_recipe_suits(kind, m->o.metric) && asked;
}

/* Whether the first round has ruled it out. */
static bool is_far_behind(const measuring *m, cpb_transform_kind kind, double norms) {
  const cpb_engine_trial *trials = m->out->trials;
  double best = 0, own = 0;
  for (size_t i = 0; i < m->early; i++) {
    bool same = trials[i].kind == kind && (isnan(norms) || trials[i].norms == norms);
    best = fmax(best, trials[i].choosing_rescored);
    if (same) own = fmax(own, trials[i].choosing_rescored);
  }
  return own < best - FAR;
}

static cpb_status add_if_near(measuring *m, const cpb_survey *s, cpb_transform_kind kind, double norms,
                              const cpb_exec *exec, cpb_error *error) {
  return is_far_behind(m, kind, norms) ? CPB_OK : add(m, s, kind, norms, exec, error);
}

static cpb_status try_scales(measuring *m, const cpb_survey *s, const cpb_exec *exec, cpb_error *error) {
  cpb_status status = CPB_OK;
  for (int i = 0; i < SCALES && status == CPB_OK; i++)
    status = add_if_near(m, s, CPB_TRANSFORM_SPHERE, ldexp(0.5, i), exec, error);
  return status;
}

static cpb_status try_all(measuring *m, const cpb_survey *s, const cpb_exec *exec, cpb_error *error) {
  static const cpb_transform_kind rivals[] = {CPB_TRANSFORM_NORMALIZE, CPB_TRANSFORM_LIFT_IP,
                                              CPB_TRANSFORM_LIFT_COSINE};
  m->out->facts.raw = m->out->facts.count;
  cpb_status status = add(m, s, CPB_TRANSFORM_NONE, NAN, exec, error);
  for (size_t i = 0; i < sizeof rivals / sizeof *rivals && status == CPB_OK; i++)
    if (is_wanted(m, rivals[i])) status = add_if_near(m, s, rivals[i], NAN, exec, error);
  if (status == CPB_OK && is_wanted(m, CPB_TRANSFORM_SPHERE)) status = try_scales(m, s, exec, error);
  return status;
}

/* Tries two more scales around the best. */
static cpb_status refine(measuring *m, const cpb_exec *exec, cpb_error *error) {
  const cpb_engine_facts *facts = &m->out->facts;
  size_t best = best_of(m, true);
  double root2 = 0x1.6a09e667f3bcdp+0;
  if (best == facts->count) return CPB_OK;
  double norms = facts->trials[best].norms;
  cpb_status status = add(m, &m->all, CPB_TRANSFORM_SPHERE, norms / root2, exec, error);
  return status == CPB_OK ? add(m, &m->all, CPB_TRANSFORM_SPHERE, norms * root2, exec, error) : status;
}

static cpb_way way_of_trial(const measuring *m, size_t at) {
  const cpb_engine_trial *t = &m->out->trials[at];
  return (cpb_way){.kind = t->kind,
                   .norms = t->norms,
                   .forms = 1,
                   .radii = {t->radius},
                   .twice = t->twice,
                   .seed = m->o.seed};
}

/* The best sphere, queried again with balls of the distances found. */
static cpb_status try_twice(measuring *m, const cpb_exec *exec, cpb_error *error) {
  cpb_engine_facts *facts = &m->out->facts;
  size_t best = best_of(m, true);
  if (best == facts->count || !(m->all.radius > 0)) return CPB_OK;
  cpb_way w = way_of_trial(m, best);
  w.twice = true;
  cpb_status status = try_way(m, &m->all, &w, m->out->trials + facts->count, exec, error);
  if (status == CPB_OK) facts->count++;
  return status;
}

static cpb_status try_rounds(measuring *m, const cpb_exec *exec, cpb_error *error) {
  cpb_status status = CPB_OK;
  m->asks = WAYS + 1 + m->o.seeds;
  if (has_first_round(m)) {
    m->asks += RIVALS + SCALES;
    status = prepare_first(m, exec, error);
    if (status == CPB_OK) status = try_all(m, &m->first, exec, error);
    m->early = m->out->facts.count;
  }
  if (status == CPB_OK) status = try_all(m, &m->all, exec, error);
  if (status == CPB_OK) status = refine(m, exec, error);
  return status == CPB_OK ? try_twice(m, exec, error) : status;
}

/* Repeats the chosen trial with other seeds of the engine. */
static cpb_status find_spread(measuring *m, const cpb_exec *exec, cpb_error *error) {
  cpb_engine_facts *facts = &m->out->facts;
  cpb_engine_trial *again = m->out->trials + facts->count;
  facts->low = facts->high = m->out->trials[facts->pick].rescored;
  cpb_status status = CPB_OK;
  for (size_t i = 1; i < m->o.seeds && status == CPB_OK; i++) {
    cpb_way w = way_of_trial(m, facts->pick);
    w.seed = m->o.seed + i;
    status = try_way(m, &m->all, &w, again, exec, error);
    if (status != CPB_OK) break;
    facts->low = fmin(facts->low, again->rescored);
    facts->high = fmax(facts->high, again->rescored);
  }
  return status;
}

/* Marks what the criterion alone does not distinguish from the best. */
static void mark_close(measuring *m) {
  cpb_engine_trial *trials = m->out->trials;
  size_t count = m->out->facts.count, best = m->out->facts.pick;
  for (size_t i = 0; i < count; i++)
    if (is_of_all_rows(m, i) && trials[i].choosing_rescored > trials[best].choosing_rescored) best = i;
  for (size_t i = 0; i < count; i++)
    trials[i].close = is_of_all_rows(m, i) && is_close(m, m->shares[best].all, m->shares[i].all);
}

static void conclude(measuring *m) {
  cpb_engine_report *out = m->out;
  cpb_engine_facts *facts = &out->facts;
  facts->pick = best_of(m, false);
  mark_close(m);
  const cpb_engine_trial *pick = &out->trials[facts->pick], *raw = &out->trials[facts->raw];
  double more = pick->rescored - raw->rescored, before = pick->recall - raw->recall;
  facts->helps = more > pick->error || (more >= -pick->error && before > 0.01);
}

/* Room for the shares of every trial. */
static cpb_status hold_shares(measuring *m, cpb_error *error) {
  size_t n = m->all.queries.rows;
  m->memory = malloc(2 * TRIALS * n * sizeof *m->memory);
  if (m->memory == NULL) return cpb_fail_memory(error, "%zu shares", 2 * TRIALS * n);
  for (size_t i = 0; i < TRIALS; i++)
    m->shares[i] = (cpb_shares){m->memory + 2 * i * n, m->memory + (2 * i + 1) * n};
  return CPB_OK;
}

static void state_facts(measuring *m) {
  cpb_engine_facts *facts = &m->out->facts;
  const cpb_survey *s = &m->all;
  facts->k = s->k;
  facts->candidates = s->candidates;
  facts->base_rows = s->base.rows;
  facts->queries = s->queries.rows;
  facts->radius = s->radius;
  facts->norm_mean = s->s;
  facts->trials = m->out->trials;
  facts->first_rows = has_first_round(m) ? m->o.first : 0;
}

static cpb_status run(measuring *m, cpb_view base, cpb_view queries, const cpb_exec *exec, cpb_error *error) {
  cpb_survey *s = &m->all;
  cpb_status status = choose_rows(m, base, queries, error);
  if (status != CPB_OK) return status;
  if (s->queries.rows == 0)
    return cpb_fail_count(error, "queries", 0, "at least 1 query is wanted: give some, or 4 rows or more");
  if (s->candidates > s->base.rows) s->candidates = s->base.rows;
  if (s->k == 0 || s->k > s->candidates)
    return cpb_fail_count(error, "k", s->k, "k must be at least 1 and at most the %zu candidates",
                          s->candidates);
  status = cpb_survey_find_truth(s, exec, error);
  if (status == CPB_OK) status = find_scale(m, exec, error);
  if (status == CPB_OK) status = hold_shares(m, error);
  if (status == CPB_OK) state_facts(m);
  if (status == CPB_OK) status = try_rounds(m, exec, error);
  if (status != CPB_OK) return status;
  conclude(m);
  return find_spread(m, exec, error);
}

static cpb_status check_options(const cpb_engine_options *o, cpb_error *error) {
  if ((unsigned)o->metric >= CPB_METRICS) return cpb_fail_choice(error, "metric", (int)o->metric);
  for (unsigned kind = 0; o->kinds >> kind != 0; kind++)
    if ((o->kinds >> kind & 1) != 0 && !cpb_recipe_suits((cpb_transform_kind)kind, o->metric))
      return cpb_fail_count(error, "kinds", kind, "transforms must suit an engine that ranks by %s",
                            cpb_metric_name(o->metric));
  return CPB_OK;
}

static void free_parts(measuring *m) {
  cpb_row_sample_free(&m->rows);
  cpb_row_sample_free(&m->asking);
  cpb_row_sample_free(&m->first_rows);
  cpb_map_free(m->map);
  free(m->all.kth);
  free(m->first.kth);
  free(m->memory);
}

cpb_status cpb_engine_measure(cpb_view base, cpb_view queries, const cpb_engine_calls *engine,
                              const cpb_engine_options *options, cpb_engine_report **report,
                              const cpb_exec *exec, cpb_error *error) {
  measuring m = {.o = defaults};
  if (engine == NULL || report == NULL) return cpb_fail_missing(error, engine == NULL ? "engine" : "report");
  *report = NULL;
  cpb_status status = cpb_sized_take(&m.o, sizeof m.o, options, "cpb_engine_options", error);
  if (status == CPB_OK) status = check_options(&m.o, error);
  if (status == CPB_OK) status = cpb_check_finite(base, "base", base.cols, exec, error);
  if (status == CPB_OK && queries.rows > 0)
    status = cpb_check_finite(queries, "queries", base.cols, exec, error);
  if (status != CPB_OK) return status;
  m.all = (cpb_survey){.engine = engine, .k = m.o.k, .candidates = m.o.candidates, .metric = m.o.metric};
  m.out = calloc(1, sizeof *m.out);
  if (m.out == NULL) return cpb_fail_memory(error, "a report");
  m.out->facts.size = sizeof m.out->facts;
  status = run(&m, base, queries, exec, error);
  free_parts(&m);
  if (status == CPB_OK)
    *report = m.out;
  else
    free(m.out);
  return status;
}

/* Measures every transform x index x query form on one sample, and chooses the best. */
#include "capball/advanced/statistics.h"

#include <math.h>
#include <stdlib.h>

#include "loops/row_state.h"
#include "capball/search.h"
#include "base/best.h"
#include "base/fail.h"
#include "base/median.h"
#include "base/memory.h"
#include "base/sized.h"
#include "base/tell.h"
#include "sphere/choice.h"
#include "statistics/row_sample.h"
#include "engine/ranks.h"

const char *cpb_engine_name(cpb_engine engine) {
  static const char *const names[CPB_ENGINES] = {
      [CPB_ENGINE_FLOAT] = "float", [CPB_ENGINE_INT8] = "int8", [CPB_ENGINE_BITS] = "bits"};
  return (unsigned)engine < CPB_ENGINES ? names[engine] : "unknown";
}

CPB_DEFAULTS(cpb_recommend_options, .size = sizeof(cpb_recommend_options), .k = 10, .sample = 100000,
             .queries = 1000, .metric = -1)

/* At most, for each index: two other transforms, five scales with two query forms each, two lifts. */
enum { ROWS_MOST = 42, CURVE = 64 };

struct cpb_recommendation {
  cpb_recommendation_facts facts; /* its pointers refer to the arrays below */
  cpb_recommend_row row[ROWS_MOST];
  const cpb_recommend_row *rows[ROWS_MOST];
  double curves[ROWS_MOST][CURVE];
  uint64_t candidates[CURVE];
  size_t per_index, first_of[CPB_RECIPES]; /* rows of an index, and where those of each recipe start */
};

void cpb_recommendation_free(cpb_recommendation *recommendation) { free(recommendation); }

void cpb_recommendation_describe(const cpb_recommendation *recommendation, cpb_recommendation_facts *facts) {
  cpb_sized_give(facts, recommendation == NULL ? NULL : &recommendation->facts, sizeof recommendation->facts);
}

static cpb_status check_options(const cpb_recommend_options *o, cpb_view base, cpb_error *error) {
  if ((unsigned)o->engine >= CPB_ENGINES) return cpb_fail_choice(error, "engine", (int)o->engine);
  if (o->metric < -1 || o->metric >= CPB_METRICS) return cpb_fail_choice(error, "metric", o->metric);
  if (o->queries == 0) return cpb_fail_count(error, "queries", 0, "at least 1 query is wanted");
  size_t rows = base.rows < o->sample ? base.rows : o->sample;
  if (o->k == 0 || o->k >= rows)
    return cpb_fail_count(error, "k", o->k, "k must be at least 1 and below the %zu rows of the %s", rows,
                          rows < base.rows ? "sample" : "base");
  return CPB_OK;
}

/* ---- recall and numbers of candidates from ranks ---- */

static size_t bytes_of(cpb_engine index, size_t cols) {
  if (index == CPB_ENGINE_BITS) return (cols + 7) / 8;
  return index == CPB_ENGINE_INT8 ? cols : 4 * cols;
}

/* Links the arrays and sets the numbers of candidates of the curves; k and base_rows are known.
 * measured   for each recipe (by its number, see cpb_recipes_new) the number of its query forms; 0: it does not suit
 *            the metric of the index */
static void begin(cpb_recommendation *of, const size_t measured[CPB_RECIPES]) {
  static const double steps[] = {1, 0x1.428a2f98d728bp+0, 0x1.965fea53d6e3dp+0}; /* powers of 2^(1/3) */
  cpb_recommendation_facts *facts = &of->facts;
  for (size_t i = 0; i < CURVE; i++) {
    double candidates = ceil(ldexp((double)facts->k * steps[i % 3], (int)(i / 3)));
    of->candidates[i] = candidates < (double)facts->base_rows ? (uint64_t)candidates : facts->base_rows;
  }
  of->per_index = 0;
  for (size_t i = 0; i < CPB_RECIPES; i++) {
    of->first_of[i] = of->per_index;
    of->per_index += measured[i];
  }
  for (size_t i = 0; i < ROWS_MOST; i++) {
    of->rows[i] = &of->row[i];
    of->row[i] = (cpb_recommend_row){.size = sizeof of->row[i], .curve = of->curves[i]};
  }
  facts->curve_count = CURVE;
  facts->candidates = of->candidates;
  facts->count = CPB_ENGINES * of->per_index;
  facts->rows = of->rows;
}

/* Neighbours of one query are correlated: the queries are the sample. */
static void set_errors(cpb_recommend_row *row, const uint64_t *ranks, size_t count, double queries) {
  double share = fmin(1, 0.99 + sqrt(0.99 * 0.01 / queries));
  size_t at = (size_t)ceil(share * (double)count);
  row->candidates_most = ranks[at < 1 ? 0 : at > count ? count - 1 : at - 1] + 1;
  if (row->candidates_most < row->candidates_for_99) row->candidates_most = row->candidates_for_99;
  row->recall_error = sqrt(row->recall * (1 - row->recall) / queries);
}

/* Fills recall, candidates, curve and bytes from the ranks of all true neighbours, which it sorts.
 * cols   of the base as stored */
static void take_ranks(cpb_recommendation *of, cpb_recommend_row *row, uint64_t *ranks, size_t count,
                       size_t cols) {
  double *curve = of->curves[row - of->row];
  qsort(ranks, count, sizeof *ranks, cpb_compare_ids);
  for (size_t i = 0, found = 0; i < CURVE; i++) {
    while (found < count && ranks[found] < of->candidates[i]) found++;
    curve[i] = (double)found / (double)count;
  }
  row->recall = curve[0]; /* of k candidates */
  row->candidates_for_99 = ranks[count - count / 100 - 1] + 1;
  set_errors(row, ranks, count, (double)of->facts.queries);
  row->bytes = bytes_of(row->index, cols);
}

/* ---- the choice ---- */

/* Simplest first: rows, then lifts, then the sphere, which needs a fit, then balls, which also need a radius. */
static int effort(const cpb_recommend_row *row) { return row->sphere ? 100 + row->ball : (int)row->kind; }

static bool is_better(const cpb_recommend_row *a, const cpb_recommend_row *b) {
  if (a->candidates_for_99 != b->candidates_for_99) return a->candidates_for_99 < b->candidates_for_99;
  if (a->recall != b->recall) return a->recall > b->recall;
  if (a->bytes != b->bytes) return a->bytes < b->bytes;
  return effort(a) < effort(b);
}

/* What a choice may be restricted to. */
enum { SIMPLE = 1, LIFT_IP = 2, LIFT_COSINE = 4, SPHERE = 8, ANY = 15 };

static int class_of(const cpb_recommend_row *row) {
  if (row->sphere) return SPHERE;
  return row->kind == CPB_TRANSFORM_LIFT_IP       ? LIFT_IP
         : row->kind == CPB_TRANSFORM_LIFT_COSINE ? LIFT_COSINE
                                                  : SIMPLE;
}

static bool is_simpler(const cpb_recommend_row *a, const cpb_recommend_row *b) {
  return effort(a) != effort(b) ? effort(a) < effort(b) : is_better(a, b);
}

/* The criterion is the fewest candidates for 99 %. Within its noise the higher recall wins, and within the noise of that
 * the simplest. */
static size_t best_of(const cpb_recommendation *of, cpb_engine engine, int allowed) {
  const cpb_recommend_row *rows[ROWS_MOST], *best = NULL, *pick = NULL;
  size_t first = (size_t)engine * of->per_index, count = 0;
  for (size_t i = first; i < first + of->per_index; i++)
    if ((class_of(&of->row[i]) & allowed) != 0) rows[count++] = &of->row[i];
  for (size_t i = 0; i < count; i++)
    if (best == NULL || is_better(rows[i], best)) best = rows[i];
  uint64_t most = best->candidates_most;
  for (size_t i = 0; i < count; i++)
    if (rows[i]->candidates_for_99 <= most && (pick == NULL || rows[i]->recall > pick->recall))
      pick = rows[i];
  double least = pick->recall - pick->recall_error;
  for (size_t i = 0; i < count; i++)
    if (rows[i]->candidates_for_99 <= most && rows[i]->recall >= least && is_simpler(rows[i], pick))
      pick = rows[i];
  return (size_t)(pick - of->row);
}

/* Chooses the best row of an index, and its alternatives. */
static void pick_rows(cpb_recommendation *of, cpb_engine engine) {
  cpb_recommendation_facts *facts = &of->facts;
  facts->pick = best_of(of, engine, ANY);
  const cpb_recommend_row *pick = &of->row[facts->pick];
  facts->rival = best_of(of, engine, pick->sphere ? ANY & ~SPHERE : SPHERE);
  facts->for_cosine = best_of(of, engine, ANY & ~LIFT_IP);
  facts->for_growing = best_of(of, engine, ANY & ~LIFT_COSINE);
  facts->poor = pick->recall < 0.5 && pick->candidates_for_99 > 10 * facts->k;
}

/* ---- rows ---- */

typedef struct survey {
  const cpb_recommend_options *options;
  cpb_view base, queries;
  cpb_row_sample base_sample, query_sample;
  cpb_truth truth;
  cpb_statistics *statistics;
  cpb_statistics_result facts;
  double spread;
  cpb_recipe recipes[CPB_RECIPES];
  cpb_memory memory; /* of the truth */
} survey;

static cpb_status choose(survey *s, cpb_view base, cpb_view queries, cpb_error *error) {
  const cpb_recommend_options *o = s->options;
  cpb_status status = CPB_OK;
  bool asked = queries.rows > 0;
  s->base = base;
  s->queries = asked ? queries : base;
  if (base.rows > o->sample)
    status = cpb_row_sample_draw(&s->base_sample, base, o->sample, o->seed, &s->base, error);
  if (status == CPB_OK && (!asked || queries.rows > o->queries))
    status = cpb_row_sample_draw(&s->query_sample, asked ? queries : s->base, o->queries, o->seed,
                                 &s->queries, error);
  return status;
}

/* ---- the truth ---- */

/* The hits of one query without itself, up to the distance of the k-th. */
static void take_hits(cpb_truth *t, size_t query, const cpb_hit *hits, size_t count) {
  bool alone = t->self[query] == UINT64_MAX; /* else it is its own nearest, or ties with it */
  t->kth[query] = hits[alone ? t->k - 1 : t->k].value;
  for (size_t i = 0; i < count && t->count[query] < t->most; i++)
    if (hits[i].id != t->self[query] && hits[i].value <= t->kth[query])
      t->ids[query * t->most + t->count[query]++] = hits[i].id;
}

static cpb_status find_truth(survey *s, bool asked, const cpb_exec *exec, cpb_error *error) {
  cpb_truth *t = &s->truth;
  size_t queries = s->queries.rows, k = s->options->k, own = asked ? 0 : 1;
  size_t others = s->base.rows - own, most = 2 * k < others ? 2 * k : others, wanted = most + own;
  cpb_hit *hits = malloc(queries * wanted * sizeof *hits);
  *t = (cpb_truth){.queries = queries,
                   .k = k,
                   .most = most,
                   .count = cpb_memory_zeros(&s->memory, queries, sizeof *t->count),
                   .ids = cpb_memory_zeros(&s->memory, queries, most * sizeof *t->ids),
                   .self = cpb_memory_zeros(&s->memory, queries, sizeof *t->self),
                   .kth = cpb_memory_zeros(&s->memory, queries, sizeof *t->kth)};
  if (hits == NULL || s->memory.failed) {
    free(hits);
    return cpb_fail_memory(error, "%zu neighbours of %zu queries", wanted, queries);
  }
  for (size_t q = 0; q < queries; q++) t->self[q] = asked ? UINT64_MAX : s->query_sample.ids[q];
  cpb_status status = cpb_knn(s->base, s->queries, wanted, CPB_L2, hits, exec, error);
  for (size_t q = 0; q < queries && status == CPB_OK; q++) take_hits(t, q, hits + q * wanted, wanted);
  free(hits);
  return status;
}

/* ---- centre and scales ---- */

static cpb_status find_facts(survey *s, cpb_error *error) {
  cpb_statistics_options options;
  cpb_statistics_options_init(&options, sizeof options);
  options.d = s->base.cols;
  options.dtype = s->base.dtype;
  options.seed = s->options->seed;
  cpb_status status = cpb_statistics_new(&options, &s->statistics, error);
  if (status == CPB_OK) status = cpb_statistics_update(s->statistics, s->base, 0, error);
  if (status == CPB_OK) status = cpb_statistics_begin_norms(s->statistics, error);
  if (status == CPB_OK) status = cpb_statistics_update(s->statistics, s->base, 0, error);
  s->facts.size = sizeof s->facts;
  if (status == CPB_OK) status = cpb_statistics_finish(s->statistics, &s->facts, error);
  if (status == CPB_OK && !(s->facts.norm_mean > 0 && s->facts.norm_mean < INFINITY))
    status = cpb_fail(error, CPB_WHY_NO_SCALE, "base",
                      "the mean norm of the base about its mean is %g, which cannot be a scale",
                      s->facts.norm_mean);
  return status;
}

static cpb_status find_spread(survey *s, const cpb_exec *exec, cpb_error *error) {
  cpb_goal_options options;
  cpb_goal_options_init(&options, sizeof options);
  cpb_choice *choice = NULL;
  options.goal = CPB_GOAL_SPREAD;
  options.k = s->facts.sample.rows; /* skips the curve of recall */
  cpb_status status = cpb_choose_scale(s->facts.sample, s->facts.mean, &options, &choice, exec, error);
  if (status != CPB_OK) return status;
  s->spread = cpb_choice_facts_of(choice)->s;
  cpb_choice_free(choice);
  return CPB_OK;
}

/* ---- measuring ---- */

/* Forms of its queries: points, and on the sphere balls. */
static size_t forms_of(const cpb_recipe *recipe) {
  return recipe->transform == NULL ? 0 : recipe->kind == CPB_TRANSFORM_SPHERE ? 2 : 1;
}

static cpb_status measure_recipe(survey *s, size_t recipe, cpb_recommendation *out, const cpb_exec *exec,
                                 cpb_error *error) {
  const cpb_recipe *of = &s->recipes[recipe];
  size_t numbers = s->truth.queries * s->truth.k, forms = forms_of(of);
  cpb_rank_job job = {.base = s->base,
                      .queries = s->queries,
                      .truth = &s->truth,
                      .recipe = of,
                      .radius = forms == 2 ? out->facts.radius : 0,
                      .center = s->facts.mean};
  uint64_t *memory = malloc(CPB_ENGINES * 2 * numbers * sizeof *memory), *ranks[CPB_ENGINES][2];
  if (memory == NULL) return cpb_fail_memory(error, "%zu ranks", numbers);
  for (size_t i = 0; i < (size_t)CPB_ENGINES * 2; i++) ranks[i / 2][i % 2] = memory + i * numbers;
  cpb_status status = cpb_ranks_measure(&job, ranks, exec, error);
  for (size_t i = 0; i < CPB_ENGINES * forms && status == CPB_OK; i++) {
    size_t engine = i / forms, form = i % forms;
    /* A ball of radius 0 is the point itself. */
    uint64_t *of_form = ranks[engine][job.radius > 0 ? form : 0];
    cpb_recommend_row *row = &out->row[engine * out->per_index + out->first_of[recipe] + form];
    row->sphere = forms == 2;
    row->kind = of->kind;
    row->name = cpb_transform_about(of->kind).name;
    row->metric = of->metric;
    row->scale = of->s;
    row->index = (cpb_engine)engine;
    row->ball = form == 1;
    take_ranks(out, row, of_form, numbers, cpb_transform_cols(of->transform));
  }
  free(memory);
  return status;
}

static cpb_status measure(survey *s, cpb_recommendation *out, const cpb_exec *exec, cpb_error *error) {
  cpb_status status = cpb_recipes_new(s->recipes, &s->facts, s->spread, s->options->metric, error);
  size_t forms[CPB_RECIPES];
  for (size_t i = 0; i < CPB_RECIPES; i++) forms[i] = forms_of(&s->recipes[i]);
  begin(out, forms);
  for (size_t i = 0; i < CPB_RECIPES && status == CPB_OK; i++) {
    if (forms[i] == 0) continue;
    double share = 1. / CPB_RECIPES;
    const cpb_exec *mine = CPB_EXEC_PART(exec, (double)i * share, (double)(i + 1) * share);
    status = measure_recipe(s, i, out, mine, error);
  }
  cpb_recipes_free(s->recipes);
  return status;
}

static cpb_status run(survey *s, bool asked, cpb_recommendation *out, const cpb_exec *exec,
                      cpb_error *error) {
  cpb_status status = find_truth(s, asked, CPB_EXEC_PART(exec, 0, 0.1), error);
  if (status == CPB_OK) status = find_facts(s, error);
  if (status == CPB_OK) status = find_spread(s, CPB_EXEC_PART(exec, 0.1, 0.15), error);
  if (status != CPB_OK) return status;
  out->facts = (cpb_recommendation_facts){.k = s->options->k,
                                          .base_rows = s->base.rows,
                                          .queries = s->queries.rows,
                                          .metric = s->options->metric,
                                          .norm_mean = s->facts.norm_mean,
                                          .radius = cpb_median(s->truth.kth, s->truth.queries)};
  status = measure(s, out, CPB_EXEC_PART(exec, 0.15, 1), error);
  if (status == CPB_OK) pick_rows(out, s->options->engine);
  return status;
}

cpb_status cpb_recommend(cpb_view base, cpb_view queries, const cpb_recommend_options *given,
                         cpb_recommendation **recommendation, const cpb_exec *exec, cpb_error *error) {
  if (recommendation == NULL) return cpb_fail_missing(error, "recommendation");
  *recommendation = NULL;
  if (base.cols == 0) return cpb_fail_no_columns(error, "base");
  cpb_recommend_options taken = defaults, *options = &taken;
  cpb_status status = cpb_sized_take(options, sizeof *options, given, "cpb_recommend_options", error);
  if (status == CPB_OK) status = check_options(options, base, error);
  if (status == CPB_OK) status = cpb_check_finite(base, "base", base.cols, exec, error);
  if (status == CPB_OK && queries.rows > 0)
    status = cpb_check_finite(queries, "queries", base.cols, exec, error);
  if (status != CPB_OK) return status;
  cpb_recommendation *made = calloc(1, sizeof *made);
  if (made == NULL) return cpb_fail_memory(error, "a recommendation");
  survey s = {.options = options};
  status = choose(&s, base, queries, error);
  if (status == CPB_OK) status = run(&s, queries.rows > 0, made, exec, error);
  cpb_row_sample_free(&s.base_sample);
  cpb_row_sample_free(&s.query_sample);
  cpb_statistics_free(s.statistics);
  cpb_memory_free(&s.memory);
  if (status == CPB_OK)
    *recommendation = made;
  else
    cpb_recommendation_free(made);
  return status;
}

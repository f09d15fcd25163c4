/* How an engine is measured: reported figures come from queries that did not choose, a first round drops what is
 * far behind and nothing else, every index is built once for all query forms. The engine is a plain loop that
 * counts calls. */
#include <stdbool.h>

#include "capball/capball.h"
#include "capball/advanced/engine.h"
#include "support/check.h"

enum { N = 900, Q = 40, D = 3, K = 4, C = 12 };

typedef struct counting {
  size_t asks, rows[64], queries[64], counts[64];
  size_t wrong_every; /* queries whose number is a multiple get the worst rows; 0: none */
} counting;

static double product(cpb_view a, size_t i, cpb_view b, size_t j, cpb_metric metric) {
  const float *x = (const float *)a.data + i * a.stride, *y = (const float *)b.data + j * b.stride;
  double xy = 0, xx = 0;
  for (size_t c = 0; c < a.cols; c++) {
    xy += (double)x[c] * (double)y[c];
    xx += (double)x[c] * (double)x[c];
  }
  if (metric == CPB_L2) return xy - xx / 2;
  return metric == CPB_COSINE && xx > 0 ? xy / sqrt(xx) : xy;
}

static void answer(const cpb_engine_question *q, size_t query, double sign, uint64_t *ids) {
  double best[N];
  size_t count = 0;
  for (size_t row = 0; row < q->rows.rows; row++) {
    double score = sign * product(q->rows, row, q->queries, query, q->metric);
    size_t at = count < q->count ? count++ : q->count;
    for (; at > 0 && best[at - 1] < score; at--)
      if (at < q->count) best[at] = best[at - 1], ids[at] = ids[at - 1];
    if (at < q->count) best[at] = score, ids[at] = row;
  }
}

static cpb_status ask(void *self, const cpb_engine_question *q, uint64_t *ids, cpb_engine_cost *cost,
                      const cpb_exec *exec, cpb_error *error) {
  counting *c = self;
  (void)exec, (void)error;
  assert_true(c->asks < 64);
  c->rows[c->asks] = q->rows.rows;
  c->queries[c->asks] = q->queries.rows;
  c->counts[c->asks++] = q->count;
  for (size_t i = 0; i < q->queries.rows; i++)
    answer(q, i, c->wrong_every > 0 && i % c->wrong_every == 0 ? -1 : 1, ids + i * q->count);
  cost->seconds = 0;
  return CPB_OK;
}

/* Far from the origin, so that cosines of raw rows are unrelated to distances. */
static void fill(float *rows, size_t count, uint64_t seed) {
  test_rng rng = {seed};
  for (size_t i = 0; i < count * D; i++) rows[i] = (float)test_gauss(&rng) + (i % D == 0 ? 3 : 0);
}

static cpb_engine_report *measure(counting *engine, size_t first, unsigned kinds, cpb_metric metric,
                                  cpb_engine_facts *facts) {
  static float base[N * D], queries[Q * D];
  cpb_engine_options options;
  cpb_engine_report *report = NULL;
  cpb_error error;
  cpb_engine_calls calls = {engine, ask};
  fill(base, N, 1);
  fill(queries, Q, 2);
  cpb_engine_options_init(&options, sizeof options);
  options.k = K;
  options.candidates = C;
  options.first = first;
  options.kinds = kinds;
  options.metric = metric;
  cpb_status status = cpb_engine_measure(cpb_rows(base, CPB_F32, N, D), cpb_rows(queries, CPB_F32, Q, D),
                                         &calls, &options, &report, NULL, &error);
  test_status((int)status, CPB_OK, error.text);
  *facts = (cpb_engine_facts){.size = sizeof *facts};
  cpb_engine_report_describe(report, facts);
  return report;
}

/* none, normalize, lift-cosine, eight scales, the best sphere asked twice, two more seeds of the chosen one. */
static void one_index_answers_all_query_forms(void **state) {
  (void)state;
  counting engine = {0};
  cpb_engine_facts f;
  cpb_engine_report *report = measure(&engine, 0, 0, CPB_COSINE, &f);
  assert_int_equal(engine.asks, 3 + 8 + 2 + 2);
  assert_int_equal(f.count, 3 + 8 * 4 + 1);
  assert_int_equal(f.first_rows, 0);
  for (size_t i = 3; i < 11; i++) assert_int_equal(engine.queries[i], 4 * Q);
  assert_int_equal(f.trials[f.pick].kind, CPB_TRANSFORM_LIFT_COSINE);
  assert_true(f.trials[f.pick].recall == 1);
  assert_true(f.helps);
  cpb_engine_report_free(report);
}

static void halves_of_the_queries_choose_and_tell(void **state) {
  (void)state;
  counting engine = {.wrong_every = 2};
  cpb_engine_facts f;
  cpb_engine_report *report = measure(&engine, 0, 1u << CPB_TRANSFORM_LIFT_COSINE, CPB_COSINE, &f);
  assert_int_equal(engine.asks, 2 + 2);
  assert_int_equal(f.count, 2);
  assert_true(f.trials[1].recall == 1 && f.trials[1].rescored == 1);
  assert_true(f.trials[1].choosing_recall == 0 && f.trials[1].choosing_rescored == 0);
  cpb_engine_report_free(report);
}

static void a_first_round_drops_what_is_far_behind(void **state) {
  (void)state;
  enum { FIRST = 300 };
  counting engine = {0};
  cpb_engine_facts f;
  cpb_engine_report *report = measure(&engine, FIRST, 0, CPB_COSINE, &f);
  double best = 0;
  size_t early = 0, kept = 0;
  assert_int_equal(f.first_rows, FIRST);
  for (; early < f.count && f.trials[early].rows == FIRST; early++)
    best = fmax(best, f.trials[early].choosing_rescored);
  assert_int_equal(early, 3 + 6 * 4);
  assert_int_equal(f.raw, early);
  assert_int_equal(f.trials[f.raw].kind, CPB_TRANSFORM_NONE);
  for (size_t i = 0; i < early; i++) {
    bool again = false;
    for (size_t j = early; j < f.count; j++)
      again |= f.trials[j].kind == f.trials[i].kind && f.trials[j].rows == N &&
               (isnan(f.trials[i].norms) || f.trials[j].norms == f.trials[i].norms);
    if (f.trials[i].choosing_rescored >= best - 0.2) assert_true(again);
    kept += again;
  }
  assert_true(kept < early);
  assert_int_equal(f.trials[f.pick].rows, N);
  size_t halves = 0; /* asking twice takes half of the candidates each time */
  for (size_t i = 0; i < engine.asks; i++) {
    bool half = engine.rows[i] != FIRST && engine.counts[i] == C / 2;
    assert_int_equal(engine.counts[i], engine.rows[i] == FIRST ? 2 * K : half ? C / 2 : C);
    halves += half;
  }
  assert_int_equal(halves, 2);
  cpb_engine_report_free(report);
}

static void the_metric_says_what_is_offered(void **state) {
  (void)state;
  counting engine = {0};
  cpb_engine_facts f;
  cpb_engine_report *report = measure(&engine, 0, 0, CPB_L2, &f);
  for (size_t i = 0; i < f.count; i++)
    assert_true(f.trials[i].kind == CPB_TRANSFORM_NONE || f.trials[i].kind == CPB_TRANSFORM_SPHERE);
  assert_int_equal(f.pick, f.raw);
  assert_false(f.helps);
  cpb_engine_report_free(report);
  cpb_engine_options options;
  cpb_error error;
  float rows[N * D];
  cpb_engine_calls calls = {&engine, ask};
  fill(rows, N, 1);
  cpb_engine_options_init(&options, sizeof options);
  options.kinds = 1u << CPB_TRANSFORM_LIFT_IP;
  cpb_status status = cpb_engine_measure(cpb_rows(rows, CPB_F32, N, D), cpb_rows(rows, CPB_F32, 1, D), &calls,
                                         &options, &report, NULL, &error);
  test_status((int)status, CPB_EINVAL, error.text);
  assert_null(report);
  assert_string_equal(error.text, "transforms must suit an engine that ranks by cosine, got 3");
}

/* With a ball of the k-th distance the k nearest come first; with one radius for all and only k candidates they do
 * not. */
static void own_radii_find_what_one_for_all_does_not(void **state) {
  (void)state;
  static float base[N * D], queries[Q * D];
  static cpb_hit once[Q * K], twice[Q * K], nearest[Q * K];
  cpb_view rows = cpb_rows(base, CPB_F32, N, D), asked = cpb_rows(queries, CPB_F32, Q, D);
  cpb_source source = cpb_source_from_view(rows);
  cpb_transform *sphere = NULL;
  cpb_error error;
  counting engine = {0};
  cpb_engine_calls calls = {&engine, ask};
  size_t right_once = 0, right_twice = 0;
  fill(base, N, 1);
  fill(queries, Q, 2);
  assert_int_equal(cpb_transform_fit(&source, CPB_TRANSFORM_SPHERE, false, &sphere, NULL, &error), CPB_OK);
  assert_int_equal(cpb_knn(rows, asked, K, CPB_L2, nearest, NULL, &error), CPB_OK);
  cpb_wrap_options options;
  cpb_wrap_options_init(&options, sizeof options);
  options.k = options.candidates = K;
  for (int again = 0; again < 2; again++) {
    options.twice = again;
    assert_int_equal(
        cpb_engine_wrap(rows, asked, sphere, &calls, &options, again ? twice : once, NULL, &error), CPB_OK);
  }
  assert_int_equal(engine.asks, 3);
  for (size_t i = 0; i < Q * K; i++) {
    assert_true(twice[i].value <= once[i].value);
    right_once += once[i].id == nearest[i].id;
    right_twice += twice[i].id == nearest[i].id;
  }
  assert_true(right_once < Q * K);
  assert_true(Q * K - right_twice < (Q * K - right_once) / 2);
  cpb_transform_free(sphere);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(one_index_answers_all_query_forms),
                                     cmocka_unit_test(halves_of_the_queries_choose_and_tell),
                                     cmocka_unit_test(a_first_round_drops_what_is_far_behind),
                                     cmocka_unit_test(the_metric_says_what_is_offered),
                                     cmocka_unit_test(own_radii_find_what_one_for_all_does_not)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

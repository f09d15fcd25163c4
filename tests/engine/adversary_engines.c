/* What is proven of the answers of an engine, and of rows that have left a fit: scripted engines that hold some of the
 * rows, return fewer than requested, or others than the best. CPB_ADVERSARY=N runs N times as many cases. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "capball/capball.h"
#include "capball/advanced/engine.h"
#include "capball/advanced/fitting.h"
#include "support/check.h"

enum { N = 160, D = 3, Q = 10, K = 3, TRIALS = 250 };

typedef enum script { RIGHT, FEWER, LEFT_OUT, ANY_ROWS } script;

typedef struct scripted {
  const float *rows; /* those it holds, D+2 columns at most; NULL: those of the question */
  size_t count, cols;
  script script;
  test_rng rng;
} scripted;

static double score(const scripted *e, const cpb_engine_question *q, size_t row, size_t query) {
  const float *rows = e->rows != NULL ? e->rows : q->rows.data, *p = q->queries.data;
  double product = 0, norm = 0;
  for (size_t i = 0; i < e->cols; i++) {
    double y = (double)rows[row * e->cols + i];
    product += y * (double)p[query * e->cols + i];
    norm += y * y;
  }
  return q->metric == CPB_COSINE ? product / sqrt(norm) : product;
}

static void answer(scripted *e, const cpb_engine_question *q, size_t query, uint64_t *ids) {
  double best[N];
  bool fewer = e->script == FEWER && query % 2 == 0 && q->count > K;
  size_t found = 0, most = q->count;
  for (size_t row = 0; row < e->count; row++) {
    bool out = e->script == LEFT_OUT && row > 3 * K && test_below(&e->rng, 4) == 0;
    double value = e->script == ANY_ROWS ? test_gauss(&e->rng) : score(e, q, row, query);
    size_t at = found;
    if (out) continue;
    for (; at > 0 && best[at - 1] < value; at--)
      if (at < most) best[at] = best[at - 1], ids[at] = ids[at - 1];
    if (at < most) best[at] = value, ids[at] = row;
    found += found < most;
  }
  if (fewer && found == most) { /* without one of its best */
    size_t at = test_below(&e->rng, 2);
    memmove(ids + at, ids + at + 1, (--found - at) * sizeof *ids);
  }
  for (; found < q->count; found++) ids[found] = CPB_NO_ROW;
}

static cpb_status ask(void *self, const cpb_engine_question *q, uint64_t *ids, cpb_engine_cost *cost,
                      const cpb_exec *exec, cpb_error *error) {
  scripted *e = self;
  (void)exec, (void)error;
  assert_true(e->rows == NULL ? q->rows.rows == e->count : q->rows.data == NULL);
  e->cols = q->queries.cols;
  for (size_t i = 0; i < q->queries.rows; i++) answer(e, q, i, ids + i * q->count);
  *cost = (cpb_engine_cost){0};
  return CPB_OK;
}

typedef struct wrapped {
  double x[N * D], q[Q * D];
  float y[N * (D + 2)];
  uint64_t held[N];
  bool allowed[N], proven[Q];
  size_t n, held_rows;
  cpb_transform *transform;
  cpb_wrap_options options;
  cpb_hit hits[Q * K];
} wrapped;

static cpb_transform_kind fit(wrapped *w, test_rng *rng) {
  static const cpb_transform_kind kinds[] = {CPB_TRANSFORM_SPHERE, CPB_TRANSFORM_LIFT_IP,
                                             CPB_TRANSFORM_LIFT_COSINE};
  cpb_transform_kind kind = kinds[test_below(rng, 3)];
  cpb_source source = cpb_source_from_view(cpb_rows(w->x, CPB_F64, w->n, D));
  cpb_error error;
  test_status((int)cpb_transform_fit(&source, kind, false, &w->transform, NULL, &error), CPB_OK, error.text);
  return kind;
}

/* Rows in clusters, some of which the engine holds, in its own order, and of which some are allowed. */
static cpb_transform_kind begin(wrapped *w, test_rng *rng) {
  *w = (wrapped){.n = 40 + test_below(rng, N - 39)};
  double near = test_log_uniform(rng, 1e-6, 1);
  for (size_t i = 0; i < w->n; i++)
    for (size_t k = 0; k < D; k++)
      w->x[i * D + k] = (double)(i % 5) + (k == i % D ? 3 : 0) + near * test_gauss(rng);
  for (size_t i = 0; i < Q * D; i++)
    w->q[i] = w->x[test_below(rng, w->n) * D + i % D] + near * test_gauss(rng);
  cpb_transform_kind kind = fit(w, rng);
  for (size_t i = w->n; i-- > 0;)
    if (test_below(rng, 5) != 0) w->held[w->held_rows++] = i;
  for (size_t i = 0; i < w->n; i++) w->allowed[i] = test_below(rng, 4) != 0;
  double held[N * D];
  for (size_t i = 0; i < w->held_rows; i++) memcpy(held + i * D, w->x + w->held[i] * D, D * sizeof *held);
  cpb_out y = cpb_rows_out(w->y, CPB_F32, w->held_rows, cpb_transform_cols(w->transform));
  assert_int_equal(cpb_transform_apply(w->transform, CPB_ROLE_BASE, cpb_rows(held, CPB_F64, w->held_rows, D),
                                       y, NULL, NULL),
                   CPB_OK);
  cpb_wrap_options_init(&w->options, sizeof w->options);
  w->options.k = K;
  w->options.candidates = K + test_below(rng, 12);
  w->options.metric = kind == CPB_TRANSFORM_LIFT_IP ? CPB_IP : CPB_COSINE;
  w->options.twice = kind == CPB_TRANSFORM_SPHERE && test_below(rng, 2);
  w->options.radius = kind == CPB_TRANSFORM_SPHERE && test_below(rng, 2) ? near : 0;
  w->options.proven = w->proven;
  return kind;
}

static bool may_be_found(const wrapped *w, size_t row) {
  bool held = w->options.held == NULL;
  for (size_t i = 0; i < w->options.held_rows; i++) held |= w->options.held[i] == row;
  return held && (w->options.allowed == NULL || w->allowed[row]);
}

static double distance(const wrapped *w, size_t row, size_t query) {
  double sum = 0;
  for (size_t k = 0; k < D; k++) {
    double gap = w->x[row * D + k] - w->q[query * D + k];
    sum += gap * gap;
  }
  return sqrt(sum);
}

/* Wrong if a row that is not in the answer is nearer than the k-th. */
static bool is_wrong(const wrapped *w, size_t query) {
  const cpb_hit *hits = w->hits + query * K;
  for (size_t row = 0; row < w->n; row++) {
    bool answered = false;
    for (size_t i = 0; i < K; i++) answered |= hits[i].id == row;
    if (!answered && may_be_found(w, row) && distance(w, row, query) < hits[K - 1].value * (1 - 1e-12))
      return true;
  }
  return false;
}

static void no_proof_is_wrong_if_the_engine_keeps_its_promise(void **state) {
  (void)state;
  static wrapped w;
  const char *times = getenv("CPB_ADVERSARY");
  size_t trials = TRIALS * (times == NULL ? 1 : (size_t)strtoul(times, NULL, 10));
  size_t asked[2] = {0}, proven[2] = {0}, few = 0;
  test_rng rng = {2050};
  for (size_t trial = 0; trial < trials; trial++) {
    begin(&w, &rng);
    w.options.certificate = trial % 2 == 0 ? CPB_CERTIFY_ENGINE : CPB_CERTIFY_ROWS;
    bool holds = test_below(&rng, 2) != 0;
    if (holds) w.options.held = w.held, w.options.held_rows = w.held_rows;
    if (test_below(&rng, 2) != 0) w.options.allowed = w.allowed;
    scripted e = {.rows = holds ? w.y : NULL,
                  .count = holds ? w.held_rows : w.n,
                  .script = (script)test_below(&rng, trial % 2 == 0 ? FEWER + 1 : ANY_ROWS + 1),
                  .rng = rng};
    cpb_engine_calls engine = {&e, ask};
    cpb_error error;
    size_t step = test_below(&rng, 2) ? 1 : Q;
    for (size_t i = 0; i < Q; i += step) {
      w.options.proven = w.proven + i;
      test_status((int)cpb_engine_wrap(cpb_rows(w.x, CPB_F64, w.n, D),
                                       cpb_rows(w.q + i * D, CPB_F64, step, D), w.transform, &engine,
                                       &w.options, w.hits + i * K, NULL, &error),
                  CPB_OK, error.text);
    }
    for (size_t i = 0; i < Q; i++) {
      asked[trial % 2]++;
      proven[trial % 2] += w.proven[i];
      if (w.proven[i] && is_wrong(&w, i)) fail_msg("trial %zu, query %zu: proven and wrong", trial, i);
      few += e.script == FEWER && !w.proven[i];
    }
    cpb_transform_free(w.transform);
  }
  print_message("by the engine %zu of %zu proven, by all rows %zu of %zu\n", proven[0], asked[0], proven[1],
                asked[1]);
  assert_true(proven[0] > asked[0] / 5 && proven[1] > asked[1] / 5 && few > 0);
}

static void refuse(wrapped *w, const char *text) {
  scripted e = {.rows = w->options.held != NULL ? w->y : NULL,
                .count = w->options.held != NULL ? w->held_rows : w->n};
  cpb_engine_calls engine = {&e, ask};
  cpb_error error;
  assert_int_equal(cpb_engine_wrap(cpb_rows(w->x, CPB_F64, w->n, D), cpb_rows(w->q, CPB_F64, Q, D),
                                   w->transform, &engine, &w->options, w->hits, NULL, &error),
                   CPB_EINVAL);
  if (strstr(error.text, text) == NULL) fail_msg("\"%s\" does not have \"%s\"", error.text, text);
}

static void what_cannot_be_certified(void **state) {
  (void)state;
  static wrapped w;
  test_rng rng = {7};
  while (begin(&w, &rng) != CPB_TRANSFORM_LIFT_IP) cpb_transform_free(w.transform);
  w.options.certificate = CPB_CERTIFY_ENGINE;
  w.options.metric = CPB_COSINE;
  refuse(&w, "the engine must rank by the scores of lift-ip, not by cosine");
  w.options.metric = CPB_IP;
  w.options.certificate = (cpb_certificate)3;
  refuse(&w, "there is no certificate 3");
  w.options.certificate = CPB_CERTIFY_ROWS;
  w.options.held = w.held;
  w.options.held_rows = w.held_rows;
  w.held[0] = w.n;
  refuse(&w, "there is no row");
  w.options.held_rows = 0;
  refuse(&w, "more than the number of rows that may be found, 0");
  w.options.held = NULL;
  w.options.held_rows = w.n - 1;
  refuse(&w, "rows of the base, got");
  w.options.held_rows = 0;
  w.options.allowed = w.allowed;
  memset(w.allowed, 0, sizeof w.allowed);
  w.allowed[5] = true;
  refuse(&w, "more than the number of rows that may be found, 1");
  cpb_transform_free(w.transform);
}

/* The drift of rows about (0,0), whose mean norm is 1. */
static double drift(double *sums, double x, double y, size_t count, int sign) {
  double center[2] = {0}, result = -1;
  for (size_t i = 0; i < count; i++)
    assert_int_equal(
        cpb_fit_drift(center, 1, cpb_rows((double[]){x, y}, CPB_F64, 1, 2), sign, sums, &result, NULL),
        CPB_OK);
  return result;
}

static void rows_that_come_and_go(void **state) {
  (void)state;
  double sums[4] = {0};
  drift(sums, 1, 0, 10, 1);
  assert_true(drift(sums, -1, 0, 10, 1) == 0);
  assert_true(drift(sums, 7, 0, 20, 1) == 3.5); /* mean (3.5,0), mean norm 4 */
  assert_true(drift(sums, 7, 0, 20, -1) == 0);
  assert_true(drift(sums, 1, 0, 10, -1) == 1); /* the mean has moved, the norms are the same */
  drift(sums, -1, 0, 10, -1);
  assert_true(sums[0] == 0 && drift(sums, 0.25, 0, 0, 1) == -1);
  drift(sums, 0.25, 0, 8, 1);
  assert_true(drift(sums, -0.25, 0, 8, 1) == 3); /* a quarter of the norm */
  assert_true(isinf(drift(sums, 1e308, 0, 40, 1)));
}

static void drift_of_degenerate_rows(void **state) {
  (void)state;
  double center[2] = {3, 3}, sums[4] = {0}, result, bad[] = {1, 2, NAN, 3};
  cpb_view same = cpb_rows(center, CPB_F64, 1, 2);
  cpb_error error;
  assert_int_equal(cpb_fit_drift(center, 0, same, 1, sums, &result, &error), CPB_OK);
  assert_true(result == 0);
  assert_int_equal(cpb_fit_drift(center, 0, cpb_rows(bad, CPB_F64, 1, 2), 1, sums, &result, &error), CPB_OK);
  assert_true(isinf(result) && sums[0] == 2);
  assert_int_equal(cpb_fit_drift(center, 0, cpb_rows(bad, CPB_F64, 2, 2), 1, sums, &result, &error),
                   CPB_EROW);
  assert_true(sums[0] == 2 && error.row == 1);
  assert_int_equal(cpb_fit_drift(center, -1, same, 1, sums, &result, &error), CPB_EINVAL);
  assert_int_equal(cpb_fit_drift(center, 1, same, 2, sums, &result, &error), CPB_EINVAL);
  assert_int_equal(cpb_fit_drift(center, 1, same, 1, NULL, &result, &error), CPB_EINVAL);
  assert_int_equal(cpb_fit_drift(center, 1, same, 1, sums, NULL, &error), CPB_EINVAL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_proof_is_wrong_if_the_engine_keeps_its_promise),
      cmocka_unit_test(what_cannot_be_certified),
      cmocka_unit_test(rows_that_come_and_go),
      cmocka_unit_test(drift_of_degenerate_rows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

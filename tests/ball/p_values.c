/* p-values of new rows: what is stored, the rule from its words, false discoveries, and that ordinary rows have small p-values as rarely
 * as they should. CPB_DRAWS: how many draws of each distribution, 200 by `make p-values`; default 12. */
#include <stdlib.h>
#include <string.h>

#include "ball/calibration_ranks.h"
#include "capball/advanced/rounds.h"
#include "capball/ball.h"
#include "support/check.h"

static int rising(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

static void stored_scores_give_p(void **state) {
  (void)state;
  enum { MOST = 10000 };
  static double scores[MOST], stored[MOST];
  test_rng rng = {5};
  for (size_t n = 1; n <= MOST; n = n < 300 ? n + 7 : n + 1777) {
    for (size_t i = 0; i < n; i++) scores[i] = floor(100 * test_gauss(&rng)) / (n % 2 == 0 ? 1 : 100);
    qsort(scores, n, sizeof *scores, rising);
    size_t count = 0;
    for (size_t rank = 1; rank <= n;) { /* the rule in words */
      stored[count++] = scores[rank - 1];
      size_t next = rank < 200 ? rank + 1 : (size_t)ceil((double)rank * 1.005);
      rank = rank < n && next > n ? n : next;
    }
    assert_int_equal(count, cpb_calibration_count(n));
    assert_true(count <= 1001 || n > MOST);
    for (size_t k = 0; k < 1000; k++) {
      double score = 130 * test_gauss(&rng), below = 0;
      if (k % 3 == 0) score = scores[test_below(&rng, n)];
      for (size_t i = 0; i < n; i++) below += scores[i] <= score;
      double p = cpb_calibration_p(stored, n, score), exact = (1 + below) / ((double)n + 1);
      assert_true(below < 200 ? p == exact : p >= exact && p <= 1.01 * exact);
    }
  }
  assert_true(isnan(cpb_calibration_p(stored, 5, NAN)));
}

static void discoveries_are_those_of_the_rule(void **state) {
  (void)state;
  enum { N = 60 };
  double p[N], most;
  test_rng rng = {8};
  for (size_t trial = 0; trial < 500; trial++) {
    double wanted = 0, rate = 0.02 + 0.9 * test_uniform(&rng);
    for (size_t i = 0; i < N; i++) p[i] = pow(test_uniform(&rng), (double)(1 + trial % 4));
    for (size_t i = 0; i < N; i++) {
      double rank = 0;
      for (size_t j = 0; j < N; j++) rank += p[j] <= p[i];
      if (p[i] <= rate * rank / N) wanted = fmax(wanted, p[i]);
    }
    test_status((int)cpb_discoveries(p, N, rate, &most, NULL), CPB_OK, "");
    assert_true(most == wanted);
  }
  p[3] = NAN;
  test_status((int)cpb_discoveries(p, N, 0.5, &most, NULL), CPB_OK, "");
  cpb_error error;
  assert_int_equal(cpb_discoveries(p, N, 1, &most, &error), CPB_EINVAL);
  assert_string_equal(error.argument, "rate");
}

/* ---- validity ---- */

enum { KINDS = 8, NEW = 2000, MOST_ROWS = 10000, MOST_COLUMNS = 8 };
static const struct {
  size_t n, d;
} sizes[KINDS] = {{60, 3}, {120, 4}, {400, 8}, {600, 5}, {1500, 6}, {2500, 4}, {200, 2}, {10000, 6}};

static void draw_row(size_t kind, test_rng *rng, size_t d, double *x) {
  double common = test_gauss(rng), which = test_uniform(rng);
  for (size_t j = 0; j < d; j++) {
    double g = test_gauss(rng);
    x[j] = kind == 1   ? g / sqrt(0.2 + test_uniform(rng))          /* longer tails */
           : kind == 2 ? g + 3 * common                             /* dependent columns */
           : kind == 3 ? g + (which < 0.5 ? 0 : 6)                  /* two clusters */
           : kind == 4 ? (j < 2 ? g : floor(2 * g + common))        /* discrete columns */
           : kind == 5 ? tan(3 * (test_uniform(rng) - 0.5)) + g / 9 /* heavy tails */
           : kind == 6 ? exp(g)                                     /* skew */
                       : g * (double)(1 + 9 * j);                   /* Gauss, in several units */
  }
}

typedef struct draw {
  double x[MOST_ROWS * MOST_COLUMNS], fresh[NEW * MOST_COLUMNS], scores[NEW], p[NEW];
} draw;

static cpb_model *fitted(const double *x, size_t n, size_t d) {
  cpb_model_fit_options options;
  cpb_model *model;
  cpb_error error = {0};
  cpb_model_fit_options_init(&options, sizeof options);
  options.robust = options.calibrate = true;
  cpb_source source = cpb_source_from_view(cpb_rows(x, CPB_F64, n, d));
  test_status((int)cpb_model_fit(&source, &options, &model, NULL, NULL, &error), CPB_OK, error.text);
  return model;
}

static void p_of_fresh(const cpb_model *model, draw *r, size_t d) {
  cpb_out out = cpb_rows_out(r->scores, CPB_F64, NEW, 1);
  test_status((int)cpb_model_scores(model, cpb_rows(r->fresh, CPB_F64, NEW, d), out, NULL, NULL), CPB_OK, "");
  for (size_t i = 0; i < NEW; i++) r->p[i] = cpb_model_p_value(model, r->scores[i]);
}

static size_t draws(void) {
  const char *asked = getenv("CPB_DRAWS");
  return asked != NULL ? (size_t)atoi(asked) : TEST_SANITIZED ? 4 : 12;
}

/* The share of ordinary rows with p <= a lies in [.6, 1.05] a, and for few draws in what chance adds to that: of n scores that share
 * has a standard deviation of sqrt(a/n). */
static void ordinary_rows_have_small_p_rarely(void **state) {
  (void)state;
  static const double levels[] = {0.01, 0.05, 0.1};
  size_t many = draws();
  draw *r = malloc(sizeof *r);
  assert_non_null(r);
  for (size_t kind = 0; kind < KINDS; kind++) {
    size_t n = sizes[kind].n, d = sizes[kind].d;
    double share[3] = {0}, false_rate = 0;
    for (size_t seed = 0; seed < many; seed++) {
      test_rng rng = {1000 * kind + seed};
      for (size_t i = 0; i < n; i++) draw_row(kind, &rng, d, r->x + i * d);
      for (size_t i = 0; i < NEW; i++) draw_row(kind, &rng, d, r->fresh + i * d);
      cpb_model *model = fitted(r->x, n, d);
      p_of_fresh(model, r, d);
      for (size_t i = 0; i < NEW; i++)
        for (size_t k = 0; k < 3; k++) share[k] += r->p[i] <= levels[k];
      for (size_t i = 0; i < NEW / 10; i++) /* a tenth is far out */
        for (size_t j = 0; j < d; j++) r->fresh[i * d + j] += 1e4;
      p_of_fresh(model, r, d);
      double most, wrong = 0, found = 0;
      test_status((int)cpb_discoveries(r->p, NEW, 0.1, &most, NULL), CPB_OK, "");
      for (size_t i = 0; i < NEW; i++) {
        found += r->p[i] <= most;
        wrong += r->p[i] <= most && i >= NEW / 10;
      }
      false_rate += found > 0 ? wrong / found : 0;
      cpb_model_free(model);
    }
    double calibrated = n > 2000 ? fmin((double)n / 3, 10000) : (double)n;
    for (size_t k = 0; k < 3; k++) {
      double a = levels[k], found = share[k] / (double)(many * NEW);
      double chance = many >= 200 ? 0 : 4 * sqrt(a / calibrated / (double)many);
      bool possible = a * ((double)n + 1) >= 1;
      print_message("kind %zu, %zu rows: p <= %.2f for %.4f of ordinary rows\n", kind, n, a, found);
      assert_true(found <= 1.05 * a + chance);
      assert_true(!possible || found >= 0.6 * a - chance || a * (double)n < 3);
    }
    print_message("kind %zu, %zu rows: %.4f of the discoveries at .1 are false\n", kind, n,
                  false_rate / (double)many);
    assert_true(false_rate / (double)many <= 0.11 + (many >= 200 ? 0 : 0.05));
  }
  free(r);
}

/* ---- models ---- */

static void a_file_keeps_them_and_threads_do_not_matter(void **state) {
  (void)state;
  static double x[3000 * 3];
  test_rng rng = {2};
  for (size_t i = 0; i < 3000 * 3; i++) x[i] = test_gauss(&rng);
  for (size_t n = 40; n <= 3000; n = n == 40 ? 900 : n == 900 ? 3000 : 4000) {
    cpb_model *model = fitted(x, n, 3), *again;
    cpb_model_options o = {.size = sizeof o}, q = {.size = sizeof q};
    char *text;
    test_status((int)cpb_model_to_json(model, &text, NULL), CPB_OK, "");
    test_status((int)cpb_model_from_json(text, strlen(text), NULL, &again, NULL), CPB_OK, "");
    cpb_model_describe(model, &o);
    cpb_model_describe(again, &q);
    assert_int_equal(o.calibrated, n > 2000 ? n / 3 : n);
    assert_int_equal(o.calibrated, q.calibrated);
    for (double score = -20; score < 5; score += 0.37)
      assert_true(cpb_model_p_value(model, score) == cpb_model_p_value(again, score));
    assert_true(cpb_model_p_value(model, -1e9) == 1 / ((double)o.calibrated + 1));
    assert_true(cpb_model_p_value(model, 1e9) == 1 && isnan(cpb_model_p_value(model, NAN)));
    free(text);
    cpb_model_free(model);
    cpb_model_free(again);
  }
}

static void without_them_p_is_nan(void **state) {
  (void)state;
  const double x[] = {0, 1, 2, 3, 4, 9};
  cpb_model_fit_options options;
  cpb_model *model;
  cpb_model_fit_options_init(&options, sizeof options);
  cpb_source source = cpb_source_from_view(cpb_rows(x, CPB_F64, 6, 1));
  test_status((int)cpb_model_fit(&source, &options, &model, NULL, NULL, NULL), CPB_OK, "");
  assert_true(isnan(cpb_model_p_value(model, 0)));
  cpb_model_free(model);
  options.calibrate = true; /* of any recipe */
  test_status((int)cpb_model_fit(&source, &options, &model, NULL, NULL, NULL), CPB_OK, "");
  assert_true(cpb_model_p_value(model, -1e6) == 1. / 7);
  cpb_model_free(model);
  source = cpb_source_from_view(cpb_rows(x, CPB_F64, 3, 1)); /* too few */
  test_status((int)cpb_model_fit(&source, &options, &model, NULL, NULL, NULL), CPB_OK, "");
  assert_true(isnan(cpb_model_p_value(model, 0)));
  cpb_model_free(model);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(stored_scores_give_p),
      cmocka_unit_test(discoveries_are_those_of_the_rule),
      cmocka_unit_test(a_file_keeps_them_and_threads_do_not_matter),
      cmocka_unit_test(without_them_p_is_nan),
      cmocka_unit_test(ordinary_rows_have_small_p_rarely),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The threshold of a model: the rule by which contamination gives it, the verdicts of scores, and what a column would have to be
 * for a row to be ordinary. */
#include <stdbool.h>

#include "capball/ball.h"
#include "ball/piece_rounds.h"
#include "support/check.h"

enum { N = 100, D = 2 };

/* The rule from its words, in whole numbers: share = percent/100. */
static double by_definition(const double *scores, const double *weights, size_t n, int percent) {
  double found = -INFINITY, total = 0;
  for (size_t i = 0; i < n; i++) total += weights == NULL ? 1 : weights[i];
  for (size_t i = 0; i < n; i++) {
    double below = 0;
    for (size_t k = 0; k < n; k++)
      if (scores[k] < scores[i]) below += weights == NULL ? 1 : weights[k];
    if (100 * below <= percent * total && scores[i] > found) found = scores[i];
  }
  return found;
}

static void the_rule_is_its_definition(void **state) {
  (void)state;
  double scores[N], weights[N], found;
  test_rng rng = {11};
  for (size_t seed = 0; seed < 100; seed++) {
    size_t n = 1 + seed;
    for (size_t i = 0; i < n; i++) {
      scores[i] = (double)test_below(&rng, seed % 2 == 0 ? 9 : 1000003) - 4;
      weights[i] = (double)test_below(&rng, 4);
    }
    weights[seed % n] = 1;
    for (int percent = 1; percent <= 50; percent++) {
      test_status((int)cpb_score_threshold(scores, NULL, n, percent / 100.0, &found, NULL), CPB_OK, "");
      assert_true(found == by_definition(scores, NULL, n, percent));
      test_status((int)cpb_score_threshold(scores, weights, n, percent / 100.0, &found, NULL), CPB_OK, "");
      double wanted = by_definition(scores, weights, n, percent);
      assert_true(found == wanted);
    }
  }
}

static cpb_model_fit_options asked(double nu, double contamination) {
  cpb_model_fit_options options;
  cpb_model_fit_options_init(&options, sizeof options);
  options.nu = nu;
  options.contamination = contamination;
  return options;
}

static cpb_model *fitted(const double *x, size_t n, const cpb_model_fit_options *options) {
  cpb_model *model;
  cpb_error error = {0};
  cpb_source source = cpb_source_from_view(cpb_rows(x, CPB_F64, n, D));
  test_status((int)cpb_model_fit(&source, options, &model, NULL, NULL, &error), CPB_OK, error.text);
  return model;
}

static double threshold_of(const cpb_model *model) {
  cpb_model_options o = {.size = sizeof o};
  cpb_model_describe(model, &o);
  return o.threshold;
}

static size_t outliers(const cpb_model *model, const double *x, size_t n) {
  double scores[2 * N];
  size_t count = 0;
  cpb_out out = cpb_rows_out(scores, CPB_F64, n, 1);
  test_status((int)cpb_model_scores(model, cpb_rows(x, CPB_F64, n, D), out, NULL, NULL), CPB_OK, "");
  for (size_t i = 0; i < n; i++) count += cpb_model_is_outlier(model, scores[i]);
  return count;
}

/* Rows of which no two are as far from the centre. */
static void spiral(double *x) {
  for (size_t i = 0; i < N; i++) {
    x[D * i] = sqrt((double)i) * cos((double)i);
    x[D * i + 1] = sqrt((double)i) * sin((double)i) + 0.001 * (double)(i * i % 17);
  }
}

static void contamination_is_the_share_of_outliers(void **state) {
  (void)state;
  double x[D * N];
  spiral(x);
  for (int percent = 1; percent <= 50; percent++) {
    cpb_model_fit_options wish = asked(percent % 3 == 0 ? 0 : 0.9, percent / 100.0);
    wish.whiten = percent % 2 == 0;
    wish.balls = percent % 5 == 0 ? 2 : 1;
    cpb_model *model = fitted(x, N, &wish);
    assert_int_equal(outliers(model, x, N), percent);
    cpb_model_free(model);
  }
}

static void rows_that_tie_have_one_verdict(void **state) {
  (void)state;
  double x[D * N];
  for (size_t i = 0; i < N; i++) { /* ten rows, ten times each */
    x[D * i] = (double)(i % 10 * (i % 10));
    x[D * i + 1] = (double)(i % 10);
  }
  for (int percent = 1; percent <= 50; percent++) {
    cpb_model_fit_options wish = asked(0.9, percent / 100.0);
    cpb_model *model = fitted(x, N, &wish);
    assert_int_equal(outliers(model, x, N), percent / 10 * 10);
    cpb_model_free(model);
  }
}

static void a_weight_counts_rows(void **state) {
  (void)state;
  double x[D * 2 * N], weights[N];
  spiral(x);
  size_t twice = N;
  for (size_t i = 0; i < N; i++) {
    weights[i] = 0.1 * (double)(1 + i % 2);
    if (i % 2 == 1) memcpy(x + D * twice++, x + D * i, D * sizeof *x);
  }
  cpb_model_fit_options wish = asked(0.9, 0.3), weighted = wish;
  wish.gap = weighted.gap = 1e-14;
  weighted.weights = weights;
  weighted.weight_count = N;
  cpb_model *one = fitted(x, N, &weighted), *other = fitted(x, twice, &wish);
  assert_true(fabs(threshold_of(one) - threshold_of(other)) <= 1e-9 * fabs(threshold_of(other)));
  assert_int_equal(outliers(one, x, twice), outliers(other, x, twice));
  cpb_model_free(one);
  cpb_model_free(other);
}

static void the_file_has_it(void **state) {
  (void)state;
  double x[D * N];
  char *text, *again;
  cpb_model *back;
  cpb_error error;
  spiral(x);
  cpb_model_fit_options wish = asked(0.9, 0.05), none = asked(0.9, 0);
  cpb_model *model = fitted(x, N, &wish), *plain = fitted(x, N, &none);
  test_status((int)cpb_model_to_json(model, &text, NULL), CPB_OK, "");
  test_status((int)cpb_model_from_json(text, strlen(text), NULL, &back, NULL), CPB_OK, "");
  test_status((int)cpb_model_to_json(back, &again, NULL), CPB_OK, "");
  assert_true(threshold_of(back) == threshold_of(model) && threshold_of(model) != 0);
  assert_string_equal(text, again);
  cpb_model_free(back);
  char *at = strstr(text, "\"threshold\": ");
  assert_non_null(at);
  memcpy(at + 13, "[", 1);
  assert_int_equal(cpb_model_from_json(text, strlen(text), NULL, &back, &error), CPB_EFORMAT);
  free(text);
  free(again);
  test_status((int)cpb_model_to_json(plain, &text, NULL), CPB_OK, "");
  assert_null(strstr(text, "threshold"));
  assert_true(threshold_of(plain) == 0);
  free(text);
  cpb_model_free(model);
  cpb_model_free(plain);
}

static void verdicts(void **state) {
  (void)state;
  const double c[D] = {1, -2};
  cpb_model_options o;
  cpb_model_options_init(&o, sizeof o);
  o.d = D;
  o.center = c;
  o.radius = 2;
  cpb_model *model;
  char *sql;
  cpb_error error;
  test_status((int)cpb_model_new(&o, &model, NULL), CPB_OK, "");
  assert_true(cpb_model_is_outlier(model, -DBL_TRUE_MIN) && !cpb_model_is_outlier(model, 0) &&
              !cpb_model_is_outlier(model, -0.0) && cpb_model_is_outlier(model, NAN));
  assert_false(cpb_model_is_outlier(NULL, -1));
  cpb_model_free(model);
  o.threshold = -5;
  test_status((int)cpb_model_new(&o, &model, NULL), CPB_OK, "");
  assert_true(cpb_model_is_outlier(model, nextafter(-5, -6)) && !cpb_model_is_outlier(model, -5));
  test_status((int)cpb_model_to_sql(model, NULL, &sql, NULL), CPB_OK, "");
  assert_string_equal(sql, "(x0 - 1)*(x0 - 1) + (x1 + 2)*(x1 + 2) <= 9");
  free(sql);
  cpb_model_free(model);
  o.threshold = INFINITY;
  assert_int_equal(cpb_model_new(&o, &model, &error), CPB_EINVAL);
  assert_string_equal(error.text, "threshold must be finite, got inf");
}

static void bad_shares_are_refused(void **state) {
  (void)state;
  const double x[2 * D] = {0, 0, 1, 1}, far[2 * D] = {0, 0, 1e200, 1};
  const double bad[] = {-0.1, 0.51, NAN, INFINITY};
  cpb_source source = cpb_source_from_view(cpb_rows(x, CPB_F64, 2, D));
  cpb_model *model;
  cpb_error error;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    cpb_model_fit_options wish = asked(0, bad[i]);
    assert_int_equal(cpb_model_fit(&source, &wish, &model, NULL, NULL, &error), CPB_EINVAL);
    assert_string_equal(error.argument, "contamination");
  }
  cpb_model_fit_options wish = asked(0, 0.1);
  cpb_source beyond = cpb_source_from_view(cpb_rows(far, CPB_F64, 2, D)); /* scores are no doubles */
  assert_int_equal(cpb_model_fit(&beyond, &wish, &model, NULL, NULL, &error), CPB_EROW);
  assert_null(model);
}

static double score_of(const cpb_model *model, const double *x) {
  double score;
  cpb_out out = cpb_rows_out(&score, CPB_F64, 1, 1);
  test_status((int)cpb_model_scores(model, cpb_rows(x, CPB_F64, 1, D), out, NULL, NULL), CPB_OK, "");
  return score;
}

/* Where ranges begin and end a row scores what it needs; and where there are none, less anywhere else. */
static size_t check_ranges(const cpb_model *model, const double *x, double needed, bool one) {
  double least[D], most[D];
  size_t empty = 0;
  test_status((int)cpb_model_ranges(model, x, least, most, NULL), CPB_OK, "");
  for (size_t j = 0; j < D; j++) {
    double row[D] = {x[0], x[1]}, at[4] = {least[j], most[j], (least[j] + most[j]) / 2, least[j] - 0.1};
    double scores[4];
    for (size_t k = 0; k < 4; k++) {
      row[j] = at[k];
      scores[k] = score_of(model, row);
    }
    double error = 1e-9 * (1 + fabs(needed) + fabs(scores[0]));
    assert_true(least[j] <= most[j] && scores[2] >= scores[0] - error);
    assert_true(least[j] == most[j] ||
                (scores[0] >= needed && scores[1] >= needed)); /* the ends are ordinary, too */
    empty += least[j] == most[j];
    if (!one) continue; /* another ball may be nearer there */
    assert_true(scores[3] < scores[0]);
    if (least[j] < most[j])
      assert_true(fabs(scores[0] - needed) <= error && fabs(scores[1] - needed) <= error);
    else
      assert_true(scores[0] <= needed + error);
  }
  return empty;
}

static void ranges_are_where_a_row_is_ordinary(void **state) {
  (void)state;
  double x[D * N];
  spiral(x);
  for (int kind = 0; kind < 5; kind++) {
    cpb_model_fit_options wish = asked(kind < 3 ? 0.3 : 0.9, kind == 3 ? 0.05 : 0);
    wish.whiten = kind == 1 || kind > 2;
    wish.robust = kind > 2;
    wish.balls = kind == 2 ? 3 : 1;
    cpb_model *model = fitted(x, N, &wish);
    cpb_model_options o = {.size = sizeof o};
    cpb_model_describe(model, &o);
    double needed = kind == 4 ? o.quantiles[(o.quantile_count - 1) / 100] : o.threshold;
    assert_true(kind < 3 ? needed == 0 : needed < 0);
    size_t empty = 0;
    for (size_t i = 0; i < N; i += 3) {
      double far[D] = {3 * x[D * i], x[D * i + 1] + 2};
      empty += check_ranges(model, x + D * i, needed, kind != 2);
      empty += check_ranges(model, far, needed, kind != 2);
    }
    assert_true(empty > 0 && empty < 4 * N / 3);
    cpb_model_free(model);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_rule_is_its_definition),
      cmocka_unit_test(contamination_is_the_share_of_outliers),
      cmocka_unit_test(rows_that_tie_have_one_verdict),
      cmocka_unit_test(a_weight_counts_rows),
      cmocka_unit_test(the_file_has_it),
      cmocka_unit_test(verdicts),
      cmocka_unit_test(bad_shares_are_refused),
      cmocka_unit_test(ranges_are_where_a_row_is_ordinary),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

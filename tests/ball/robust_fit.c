/* The recipe for outliers against its words, computed plainly; and what it promises about planted outliers, weights, equal
 * rows, columns of all kinds, threads and files. */
#include <stdlib.h>
#include <string.h>

#include "ball/robust_fit.h"
#include "capball/ball.h"
#include "support/check.h"

enum { N = 300, D = 4 };

/* ---- the recipe in plain words ---- */

static int rising(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

/* The least number of those marked that at least the share of them does not exceed. */
static double share_of(const double *numbers, const bool *marked, size_t n, double share) {
  double sorted[N];
  size_t count = 0;
  for (size_t i = 0; i < n; i++)
    if (marked == NULL || marked[i]) sorted[count++] = numbers[i];
  qsort(sorted, count, sizeof *sorted, rising);
  size_t at = (size_t)ceil(share * (double)count);
  return sorted[at == 0 ? 0 : at - 1];
}

/* a <- a^-1, without pivots: of a matrix that is positive definite. */
static void invert(double a[D][D]) {
  for (size_t k = 0; k < D; k++) {
    double pivot = a[k][k];
    a[k][k] = 1;
    for (size_t j = 0; j < D; j++) a[k][j] /= pivot;
    for (size_t i = 0; i < D; i++) {
      double factor = a[i][k];
      if (i == k) continue;
      a[i][k] = 0;
      for (size_t j = 0; j < D; j++) a[i][j] -= factor * a[k][j];
    }
  }
}

/* (covariance of the marked rows + ridge of its diagonal)^-1. */
static void metric_of(double x[N][D], const bool *marked, double ridge, double metric[D][D]) {
  double mean[D] = {0}, count = 0;
  memset(metric, 0, D * D * sizeof(double));
  for (size_t i = 0; i < N; i++) count += marked[i];
  for (size_t i = 0; i < N; i++)
    for (size_t j = 0; j < D && marked[i]; j++) mean[j] += x[i][j] / count;
  for (size_t i = 0; i < N; i++)
    for (size_t j = 0; j < D && marked[i]; j++)
      for (size_t k = 0; k < D; k++) metric[j][k] += (x[i][j] - mean[j]) * (x[i][k] - mean[k]) / count;
  for (size_t j = 0; j < D; j++) metric[j][j] *= 1 + ridge;
  invert(metric);
}

static void column_medians(double x[N][D], const bool *marked, double *median) {
  double column[N];
  for (size_t j = 0; j < D; j++) {
    for (size_t i = 0; i < N; i++) column[i] = x[i][j];
    median[j] = share_of(column, marked, N, 0.5);
  }
}

static void mark(const double *distance, bool *marked) {
  double most = fmin(share_of(distance, NULL, N, 0.75), 2.5 * share_of(distance, NULL, N, 0.5));
  for (size_t i = 0; i < N; i++) marked[i] = distance[i] <= most;
}

static void by_words(double x[N][D], bool *marked, double metric[D][D]) {
  double median[D], spread[D] = {0}, distance[N];
  column_medians(x, NULL, median);
  for (size_t j = 0; j < D; j++) {
    for (size_t i = 0; i < N; i++) spread[j] += (x[i][j] - median[j]) * (x[i][j] - median[j]) / N;
    spread[j] = sqrt(spread[j]);
  }
  for (size_t i = 0; i < N; i++) {
    distance[i] = 0;
    for (size_t j = 0; j < D; j++) distance[i] += fabs(x[i][j] - median[j]) / spread[j];
  }
  mark(distance, marked);
  metric_of(x, marked, 0.1, metric);
  column_medians(x, marked, median);
  for (size_t i = 0; i < N; i++) {
    distance[i] = 0;
    for (size_t j = 0; j < D; j++)
      for (size_t k = 0; k < D; k++)
        distance[i] += (x[i][j] - median[j]) * metric[j][k] * (x[i][k] - median[k]);
    distance[i] = sqrt(distance[i]);
  }
  mark(distance, marked);
  metric_of(x, marked, 0.1, metric);
}

static void rows_of(size_t kind, double x[N][D]) {
  test_rng rng = {kind + 1};
  for (size_t i = 0; i < N; i++) {
    for (size_t j = 0; j < D; j++) x[i][j] = test_gauss(&rng) * pow(10, (double)j);
    x[i][1] += 20 * x[i][0];
    if (kind == 1) x[i][2] = tan(test_uniform(&rng) * 3); /* heavy tails */
    if (kind == 2 && i % 4 == 0)
      for (size_t j = 0; j < D; j++) x[i][j] += 40 * pow(10, (double)j);
  }
}

static cpb_model_fit_options asked(double nu) {
  cpb_model_fit_options options;
  cpb_model_fit_options_init(&options, sizeof options);
  options.robust = true;
  options.nu = nu;
  return options;
}

static void the_fit_is_its_recipe(void **state) {
  (void)state;
  static double x[N][D];
  cpb_model_fit_options options = asked(0.9);
  for (size_t kind = 0; kind < 3; kind++) {
    bool marked[N];
    double metric[D][D], worst = 0;
    cpb_robust found = {0};
    cpb_memory memory = {0};
    rows_of(kind, x);
    by_words(x, marked, metric);
    cpb_status status =
        cpb_robust_fit(&found, &memory, cpb_rows(x, CPB_F64, N, D), &options, NULL, NULL, NULL);
    test_status((int)status, CPB_OK, "");
    for (size_t i = 0; i < N; i++) assert_true(found.weight[i] == (marked[i] ? 1 : 0));
    for (size_t j = 0; j < D; j++)
      for (size_t k = 0; k < D; k++) { /* W^T W */
        double sum = 0;
        for (size_t i = 0; i < D; i++) sum += found.W[i * D + j] * found.W[i * D + k];
        test_worst(&worst, fabs(sum - metric[j][k]) / sqrt(metric[j][j] * metric[k][k]));
      }
    assert_true(worst < 1e-9);
    free(found.W);
    free(found.notes.bytes);
    cpb_memory_free(&memory);
  }
}

/* ---- models ---- */

static cpb_model *fitted(const void *x, size_t n, size_t d, const cpb_model_fit_options *options,
                         const cpb_exec *exec) {
  cpb_model *model;
  cpb_error error = {0};
  cpb_source source = cpb_source_from_view(cpb_rows(x, CPB_F64, n, d));
  test_status((int)cpb_model_fit(&source, options, &model, NULL, exec, &error), CPB_OK, error.text);
  return model;
}

static cpb_model_options described(const cpb_model *model) {
  cpb_model_options o = {.size = sizeof o};
  cpb_model_describe(model, &o);
  return o;
}

static size_t outside(const cpb_model *model, const double *x, size_t n, size_t d) {
  size_t count = 0;
  double *scores = calloc(n, sizeof *scores);
  cpb_out out = cpb_rows_out(scores, CPB_F64, n, 1);
  test_status((int)cpb_model_scores(model, cpb_rows(x, CPB_F64, n, d), out, NULL, NULL), CPB_OK, "");
  for (size_t i = 0; i < n; i++) count += scores[i] < -1e-9;
  free(scores);
  return count;
}

/* 30 of 100 rows are planted in a far cluster: the centre is within .2 sigma of that of the others alone. */
static void a_far_cluster_does_not_move_the_ball(void **state) {
  (void)state;
  enum { CLEAN = 700, ALL = 1000, COLUMNS = 5 };
  static double x[ALL][COLUMNS];
  for (size_t seed = 0; seed < 20; seed++) {
    test_rng rng = {seed};
    double moved = 0, far = seed % 2 == 0 ? 8 : 100;
    for (size_t i = 0; i < ALL; i++)
      for (size_t j = 0; j < COLUMNS; j++) x[i][j] = test_gauss(&rng) + (i < CLEAN ? 0 : far);
    cpb_model_fit_options options = asked(0);
    cpb_model *clean = fitted(x, CLEAN, COLUMNS, &options, NULL),
              *all = fitted(x, ALL, COLUMNS, &options, NULL);
    for (size_t j = 0; j < COLUMNS; j++) {
      double step = described(clean).center[j] - described(all).center[j];
      moved += step * step;
    }
    assert_true(sqrt(moved) < 0.2);
    cpb_model_free(clean);
    cpb_model_free(all);
  }
}

static void nu_is_a_share_of_all_rows(void **state) {
  (void)state;
  static double x[N][D];
  rows_of(2, x);
  for (size_t percent = 1; percent < 100; percent += 7) {
    cpb_model_fit_options options = asked((double)percent / 100);
    cpb_model *model = fitted(x, N, D, &options, NULL);
    assert_in_range(outside(model, x[0], N, D), N * percent / 100 - 1, N * percent / 100);
    cpb_model_free(model);
  }
}

static void a_weight_counts_rows(void **state) {
  (void)state;
  static double x[N][D], twice[2 * N][D], weights[N];
  size_t count = 0;
  rows_of(1, x);
  for (size_t i = 0; i < N; i++) {
    weights[i] = (double)(i % 3);
    for (size_t k = 0; k < i % 3; k++) memcpy(twice[count++], x[i], sizeof x[i]);
  }
  cpb_model_fit_options options = asked(0.9), weighted = asked(0.9);
  weighted.weights = weights;
  weighted.weight_count = N;
  cpb_model *a = fitted(twice, count, D, &options, NULL), *b = fitted(x, N, D, &weighted, NULL);
  cpb_model_options p = described(a), q = described(b);
  for (size_t j = 0; j < D; j++) assert_true(fabs(p.center[j] - q.center[j]) < 1e-6 * pow(10, (double)j));
  for (size_t j = 0; j < D * D; j++) assert_true(fabs(p.whiten[j] - q.whiten[j]) < 1e-9);
  assert_true(fabs(p.radius - q.radius) < 1e-6);
  cpb_model_free(a);
  cpb_model_free(b);
}

static void the_order_of_rows_and_threads_do_not_matter(void **state) {
  (void)state;
  enum { MANY = 3000 };
  static double x[MANY][D], y[MANY][D];
  test_rng rng = {3};
  cpb_pool *pool;
  for (size_t i = 0; i < MANY; i++)
    for (size_t j = 0; j < D; j++) x[i][j] = floor(2 * test_gauss(&rng)); /* many rows tie */
  for (size_t i = 0; i < MANY; i++) memcpy(y[i], x[MANY - 1 - i], sizeof y[i]);
  cpb_model_fit_options options = asked(0.9);
  test_status((int)cpb_pool_new(3, &pool, NULL), CPB_OK, "");
  cpb_model *a = fitted(x, MANY, D, &options, NULL), *b = fitted(x, MANY, D, &options, cpb_pool_exec(pool));
  cpb_model *c = fitted(y, MANY, D, &options, NULL);
  char *one, *other;
  test_status((int)cpb_model_to_json(a, &one, NULL), CPB_OK, "");
  test_status((int)cpb_model_to_json(b, &other, NULL), CPB_OK, "");
  assert_string_equal(one, other);
  assert_memory_equal(described(a).whiten, described(c).whiten, D * D * sizeof(double));
  free(one);
  free(other);
  cpb_model_free(a);
  cpb_model_free(b);
  cpb_model_free(c);
  cpb_pool_free(pool);
}

/* ---- columns and rows of all kinds, and what is said of them ---- */

static void noted(const cpb_model *model, const char *part) {
  const char *notes = described(model).notes;
  if (notes == NULL || strstr(notes, part) == NULL)
    fail_msg("no \"%s\" in: %s", part, notes == NULL ? "" : notes);
}

static void every_kind_of_column_is_told(void **state) {
  (void)state;
  enum { COLUMNS = 6 };
  static double x[N][COLUMNS];
  static const char *const names[] = {"constant", "rare", "flag", "tail", "plain", "id"};
  test_rng rng = {9};
  for (size_t i = 0; i < N; i++) {
    x[i][0] = 7;
    x[i][1] = i % 100 == 0 ? 1000 : 3;
    x[i][2] = (double)(i % 2);
    x[i][3] = test_gauss(&rng) * (i % 10 == 1 ? 1e6 : 1);
    x[i][4] = test_gauss(&rng);
    x[i][5] = 1000 - 3 * (double)i;
  }
  cpb_model_fit_options options = asked(0.9);
  options.columns = names;
  cpb_model *model = fitted(x, N, COLUMNS, &options, NULL);
  noted(model,
        "1 column counts the rows, and is taken as a number: leave it out if it only names them: id\n");
  noted(model, "1 column is constant, and counts only for rows that differ there: constant\n");
  noted(
      model,
      "1 column does not vary among the ordinary rows, and is measured by its spread over all rows: rare\n");
  noted(model, "2 columns have two values, and are taken as numbers: rare, flag\n");
  noted(model, "1 column has heavy tails: its scale is that of the ordinary rows: tail\n");
  for (size_t j = 0; j < COLUMNS * COLUMNS; j++) assert_true(isfinite(described(model).whiten[j]));
  cpb_model_free(model);
}

static void few_rows_and_equal_rows_have_a_ball(void **state) {
  (void)state;
  static double x[N][60];
  test_rng rng = {4};
  for (size_t i = 0; i < N; i++)
    for (size_t j = 0; j < 60; j++) x[i][j] = test_gauss(&rng);
  cpb_model_fit_options options = asked(0.9);
  cpb_model *model = fitted(x, 40, 60, &options, NULL);
  noted(model, "fewer than 50 rows");
  noted(model, "more columns than rows");
  noted(model, "fewer than 5 rows a column: the ridge is 0.75 in place of 0.1\n");
  cpb_model_free(model);
  cpb_model_free(fitted(x, 2, 1, &options, NULL));
  for (size_t i = 0; i < N; i++)
    for (size_t j = 0; j < 60; j++) x[i][j] = i % 10 == 0 ? x[i][j] : 1;
  model = fitted(x, N, 60, &options, NULL);
  noted(model, "half of the rows or more are equally far");
  cpb_model_free(model);
}

static void huge_numbers_are_left_out(void **state) {
  (void)state;
  static double x[N][D];
  rows_of(0, x);
  x[5][2] = 1e300;
  x[6][0] = -1e308;
  cpb_model_fit_options options = asked(0.9);
  cpb_robust found = {0};
  cpb_memory memory = {0};
  test_status((int)cpb_robust_fit(&found, &memory, cpb_rows(x, CPB_F64, N, D), &options, NULL, NULL, NULL),
              CPB_OK, "");
  assert_true(found.weight[5] == 0 && found.weight[6] == 0 && isfinite(found.W[0]));
  free(found.W);
  free(found.notes.bytes);
  cpb_memory_free(&memory);
}

static void a_file_has_recipe_and_notes(void **state) {
  (void)state;
  static double x[N][D];
  rows_of(0, x);
  cpb_model_fit_options options = asked(0.9);
  cpb_model *model = fitted(x, N, D, &options, NULL), *again;
  char *text, *other;
  test_status((int)cpb_model_to_json(model, &text, NULL), CPB_OK, "");
  assert_non_null(strstr(text, "\"recipe\": \"robust\""));
  test_status((int)cpb_model_from_json(text, strlen(text), NULL, &again, NULL), CPB_OK, "");
  assert_true(described(again).robust);
  assert_string_equal(described(again).notes, described(model).notes);
  test_status((int)cpb_model_to_json(again, &other, NULL), CPB_OK, "");
  assert_string_equal(text, other);
  free(text);
  free(other);
  cpb_model_free(model);
  cpb_model_free(again);
}

/* Rows of one long cloud, of 4 and of 16, and few rows; a far cluster of outliers gets no ball of its own. */
static void auto_takes_several_balls_for_clouds_only(void **state) {
  (void)state;
  enum { MANY = 2000 };
  double *x = malloc(MANY * D * sizeof *x), scores[MANY];
  assert_non_null(x);
  for (size_t clouds = 1; clouds <= 16; clouds *= 4) {
    test_rng rng = {clouds};
    double at[16][D];
    for (size_t k = 0; k < 16 * D; k++) at[k / D][k % D] = clouds == 1 ? 0 : 9 * test_gauss(&rng);
    for (size_t i = 0; i < MANY; i++) {
      double common = 4 * test_gauss(&rng);
      size_t cloud = test_below(&rng, clouds);
      for (size_t j = 0; j < D; j++)
        x[i * D + j] =
            test_gauss(&rng) + (clouds == 1 ? common : 0) + at[cloud][j] + (i < MANY / 5 ? 200 : 0);
    }
    cpb_model_fit_options options = asked(0.9);
    options.balls = CPB_BALLS_AUTO;
    cpb_source source = cpb_source_from_view(cpb_rows(x, CPB_F64, MANY, D));
    cpb_model *model;
    cpb_error error = {0};
    test_status((int)cpb_model_fit(&source, &options, &model, NULL, NULL, &error), CPB_OK, error.text);
    cpb_model_options o = {.size = sizeof o};
    cpb_model_describe(model, &o);
    print_message("%zu clouds: %zu balls, %s", clouds, o.balls, strstr(o.notes, "ball"));
    assert_true(clouds == 1 ? o.balls <= 1 : o.balls > 4);
    cpb_out out = cpb_rows_out(scores, CPB_F64, MANY, 1);
    test_status((int)cpb_model_scores(model, cpb_rows(x, CPB_F64, MANY, D), out, NULL, NULL), CPB_OK, "");
    double best = -INFINITY, worst = INFINITY;
    for (size_t i = 0; i < MANY; i++)
      if (i < MANY / 5)
        best = fmax(best, scores[i]);
      else
        worst = fmin(worst, scores[i]);
    assert_true(best < worst);
    cpb_model_free(model);
  }
  cpb_model_fit_options options = asked(0.9);
  options.balls = CPB_BALLS_AUTO;
  cpb_source source = cpb_source_from_view(cpb_rows(x, CPB_F64, 200, D));
  cpb_model *model;
  test_status((int)cpb_model_fit(&source, &options, &model, NULL, NULL, NULL), CPB_OK, "");
  cpb_model_options o = {.size = sizeof o};
  cpb_model_describe(model, &o);
  assert_true(o.balls <= 1 && strstr(o.notes, "one ball: there are fewer than 20") != NULL);
  cpb_model_free(model);
  free(x);
}

static void what_does_not_go_is_refused(void **state) {
  (void)state;
  static double x[N][D], equal[N][D];
  rows_of(0, x);
  cpb_source source = cpb_source_from_view(cpb_rows(x, CPB_F64, N, D));
  cpb_model *model;
  cpb_error error;
  cpb_model_fit_options options = asked(0.9);
  options.robust = false;
  options.balls = CPB_BALLS_AUTO;
  assert_int_equal(cpb_model_fit(&source, &options, &model, NULL, NULL, &error), CPB_EINVAL);
  assert_string_equal(error.argument, "balls");
  options = asked(0.9);
  options.kernel.kind = CPB_KERNEL_RBF;
  assert_int_equal(cpb_model_fit(&source, &options, &model, NULL, NULL, &error), CPB_EINVAL);
  options = asked(0.9);
  cpb_source same = cpb_source_from_view(cpb_rows(equal, CPB_F64, N, D));
  assert_int_equal(cpb_model_fit(&same, &options, &model, NULL, NULL, &error), CPB_EINVAL);
  x[17][1] = NAN;
  assert_int_equal(cpb_model_fit(&source, &options, &model, NULL, NULL, &error), CPB_EROW);
  assert_int_equal(error.row, 17);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_fit_is_its_recipe),
      cmocka_unit_test(a_far_cluster_does_not_move_the_ball),
      cmocka_unit_test(nu_is_a_share_of_all_rows),
      cmocka_unit_test(a_weight_counts_rows),
      cmocka_unit_test(the_order_of_rows_and_threads_do_not_matter),
      cmocka_unit_test(every_kind_of_column_is_told),
      cmocka_unit_test(few_rows_and_equal_rows_have_a_ball),
      cmocka_unit_test(huge_numbers_are_left_out),
      cmocka_unit_test(a_file_has_recipe_and_notes),
      cmocka_unit_test(auto_takes_several_balls_for_clouds_only),
      cmocka_unit_test(what_does_not_go_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Several balls of one radius: groups of rows that lie apart, scores by the nearest centre, files, weights, and what is
 * refused. */
#include <stdlib.h>
#include <string.h>

#include "capball/advanced/rounds.h"
#include "capball/ball.h"
#include "base/random.h"
#include "support/check.h"

enum { CLOUDS = 4, EACH = 60, N = CLOUDS * EACH, D = 3 };

static double x[N][D];

/* Clouds of radius about 1 around the corners of a square of side 40. */
static cpb_view clouds(void) {
  cpb_random random = {5};
  for (size_t i = 0; i < N; i++)
    for (size_t j = 0; j < D; j++)
      x[i][j] = cpb_random_gauss(&random) + (j == 0   ? 40. * (double)(i % 2)
                                             : j == 1 ? 40. * (double)(i / 2 % 2)
                                                      : 0);
  return cpb_rows(x, CPB_F64, N, D);
}

static cpb_model *fitted(double nu, size_t balls, bool whiten, const double *weights) {
  cpb_model_fit_options o;
  cpb_model_fit_options_init(&o, sizeof o);
  o.nu = nu;
  o.balls = balls;
  o.whiten = whiten;
  o.weights = weights;
  o.weight_count = weights != NULL ? N : 0;
  cpb_source source = cpb_source_from_view(clouds());
  cpb_model *model = NULL;
  cpb_error error;
  test_status((int)cpb_model_fit(&source, &o, &model, NULL, NULL, &error), CPB_OK, error.text);
  return model;
}

static cpb_model_options described(const cpb_model *model) {
  cpb_model_options o = {.size = sizeof o};
  cpb_model_describe(model, &o);
  return o;
}

static double dist2(const double *a, const double *b) {
  double sum = 0;
  for (size_t j = 0; j < D; j++) sum += (a[j] - b[j]) * (a[j] - b[j]);
  return sum;
}

static void each_cloud_has_its_ball(void **state) {
  (void)state;
  cpb_model *model = fitted(0.2, CLOUDS, false, NULL);
  cpb_model_options o = described(model);
  assert_int_equal(o.balls, CLOUDS);
  assert_memory_equal(o.center, o.centers, D * sizeof(double));
  for (size_t k = 0; k < CLOUDS; k++) {
    assert_int_equal(o.ball_rows[k], EACH);
    assert_true(o.ball_gaps[k] <= 1e-9 && o.ball_radii[k] > 0.5 && o.ball_radii[k] < 4);
    /* as good as SVDD of its cloud alone */
    double own[EACH][D], center[D];
    size_t count = 0;
    for (size_t i = 0; i < N; i++)
      if (dist2(x[i], o.centers + k * D) < 400) memcpy(own[count++], x[i], sizeof x[i]);
    cpb_svdd_options options;
    cpb_svdd_options_init(&options, sizeof options);
    options.nu = 0.2;
    cpb_svdd_report report = {.size = sizeof report};
    assert_int_equal(count, EACH);
    test_status((int)cpb_svdd(cpb_rows(own, CPB_F64, EACH, D), &options, center, NULL, &report, NULL, NULL),
                CPB_OK, "");
    assert_memory_equal(center, o.centers + k * D, sizeof center);
    assert_true(report.radius == o.ball_radii[k]);
  }
  cpb_model_free(model);
}

/* The clouds are far apart and round: whitened as a whole, their columns shrink to different units; about the means of
 * their groups they stay as they are. */
static void whitening_is_that_within_the_clouds(void **state) {
  (void)state;
  cpb_model *whole = fitted(0.2, 1, true, NULL), *parts = fitted(0.2, CLOUDS, true, NULL);
  cpb_model_options one = described(whole), several = described(parts);
  assert_true(one.whiten[0] < 0.06 && one.whiten[D * D - 1] > 0.8);
  for (size_t i = 0; i < D; i++)
    for (size_t j = 0; j <= i; j++) {
      double w = several.whiten[i * D + j];
      assert_true(i == j ? w > 0.8 && w < 1.25 : w > -0.25 && w < 0.25);
    }
  assert_int_equal(several.balls, CLOUDS);
  cpb_model_free(whole);
  cpb_model_free(parts);
}

/* As many balls as rows: nothing is left within the groups, and the whitening of all rows stays. */
static void groups_of_one_row_keep_the_whitening(void **state) {
  (void)state;
  cpb_model_fit_options o;
  cpb_model_fit_options_init(&o, sizeof o);
  o.nu = 0.5;
  o.whiten = true;
  cpb_view eight = clouds();
  eight.rows = 8;
  cpb_source source = cpb_source_from_view(eight);
  cpb_model *one = NULL, *many = NULL;
  cpb_error error;
  test_status((int)cpb_model_fit(&source, &o, &one, NULL, NULL, &error), CPB_OK, error.text);
  o.balls = 8;
  cpb_status status = cpb_model_fit(&source, &o, &many, NULL, NULL, &error);
  if (status == CPB_OK)
    assert_memory_equal(described(one).whiten, described(many).whiten, D * D * sizeof(double));
  else
    assert_int_equal(error.reason, CPB_WHY_NO_RADIUS); /* every row is a centre */
  cpb_model_free(one);
  cpb_model_free(many);
}

static void scores_are_by_the_nearest_centre(void **state) {
  (void)state;
  cpb_model *model = fitted(0.2, CLOUDS, false, NULL);
  cpb_model_options o = described(model);
  double scores[N], parts[D];
  float narrow[N];
  size_t outside = 0;
  test_status((int)cpb_model_scores(model, clouds(), cpb_rows_out(scores, CPB_F64, N, 1), NULL, NULL), CPB_OK,
              "");
  test_status((int)cpb_model_scores(model, clouds(), cpb_rows_out(narrow, CPB_F32, N, 1), NULL, NULL), CPB_OK,
              "");
  for (size_t i = 0; i < N; i++) {
    double best = -INFINITY, sum = 0;
    const double *nearest = NULL, *center;
    for (size_t k = 0; k < CLOUDS; k++) {
      double score = o.radius * o.radius - dist2(x[i], o.centers + k * D);
      if (score > best) nearest = o.centers + k * D;
      best = fmax(best, score);
    }
    assert_true(fabs(scores[i] - best) <= 1e-12 * (1 + fabs(best)) && narrow[i] == (float)scores[i]);
    test_status((int)cpb_model_parts(model, x[i], parts, &center, NULL), CPB_OK, "");
    for (size_t j = 0; j < D; j++) sum += parts[j];
    assert_true(center == nearest && fabs(sum - dist2(x[i], center)) <= 1e-12 * sum);
    outside += scores[i] < -1e-12;
  }
  assert_true(outside <= N / 5 && outside + 2 >= N / 5);
  cpb_model_free(model);
}

static void files_bring_them_back(void **state) {
  (void)state;
  cpb_model *model = fitted(0.2, CLOUDS, true, NULL), *again = NULL;
  cpb_cap cap = {.d = D, .p = (double[D + 1]){0}};
  char *text = NULL, *twice = NULL, *sql = NULL;
  double scale;
  test_status((int)cpb_model_to_json(model, &text, NULL), CPB_OK, "");
  test_status((int)cpb_model_from_json(text, strlen(text), "text", &again, NULL), CPB_OK, "");
  test_status((int)cpb_model_to_json(again, &twice, NULL), CPB_OK, "");
  assert_string_equal(text, twice);
  test_status((int)cpb_model_cap(again, &scale, &cap, NULL), CPB_EINVAL, "");
  test_status((int)cpb_model_to_sql(again, NULL, &sql, NULL), CPB_OK, "");
  size_t joined = 0;
  for (const char *at = sql; (at = strstr(at, "\n OR ")) != NULL; at++) joined++;
  assert_int_equal(joined, CLOUDS - 1);
  cpb_free(text);
  cpb_free(twice);
  cpb_free(sql);
  cpb_model_free(model);
  cpb_model_free(again);
}

static void rows_without_weight_are_not_there(void **state) {
  (void)state;
  double weights[N];
  for (size_t i = 0; i < N; i++) weights[i] = i % CLOUDS == 3 ? 0 : 1;
  cpb_model *model = fitted(0.2, CLOUDS - 1, false, weights);
  cpb_model_options o = described(model);
  for (size_t k = 0; k < o.balls; k++) assert_false(o.centers[k * D] > 30 && o.centers[k * D + 1] > 30);
  cpb_model_free(model);
}

static void what_does_not_go_is_refused(void **state) {
  (void)state;
  cpb_model_fit_options o;
  cpb_model_fit_options_init(&o, sizeof o);
  cpb_source source = cpb_source_from_view(clouds());
  cpb_model *model = NULL;
  cpb_error error;
  o.nu = 0.5;
  o.balls = N + 1;
  test_status((int)cpb_model_fit(&source, &o, &model, NULL, NULL, &error), CPB_ESHAPE, error.text);
  assert_non_null(strstr(error.text, "240 rows for 241 balls"));
  o.balls = 2;
  o.kernel.kind = CPB_KERNEL_RBF;
  test_status((int)cpb_model_fit(&source, &o, &model, NULL, NULL, &error), CPB_EINVAL, error.text);
  cpb_model_options bad;
  cpb_model_options_init(&bad, sizeof bad);
  bad.d = D;
  bad.center = x[0];
  bad.radius = 1;
  bad.balls = 2;
  test_status((int)cpb_model_new(&bad, &model, &error), CPB_EINVAL, error.text);
  assert_non_null(strstr(error.text, "centers"));
}

/* More rows than are grouped from all starts: a sample finds the clouds, and all rows have their balls. */
static void many_rows_are_grouped_by_a_sample(void **state) {
  (void)state;
  enum { MANY = 40000 };
  double *rows = malloc(MANY * D * sizeof *rows), *weights = malloc(MANY * sizeof *weights);
  cpb_random random = {6};
  cpb_pool *pool;
  assert_non_null(rows);
  assert_non_null(weights);
  for (size_t i = 0; i < MANY; i++) {
    for (size_t j = 0; j < D; j++)
      rows[i * D + j] =
          cpb_random_gauss(&random) + (j == 0 ? 40. * (double)(i % 2) : 60. * (double)(j == 1 && i / 2 % 2));
    weights[i] = (double)(i % 3);
  }
  test_status((int)cpb_pool_new(3, &pool, NULL), CPB_OK, "");
  cpb_model_fit_options o;
  cpb_model_fit_options_init(&o, sizeof o);
  o.nu = 0.5;
  o.balls = CLOUDS;
  for (int weighted = 0; weighted < 2; weighted++) {
    cpb_source source = cpb_source_from_view(cpb_rows(rows, CPB_F64, MANY, D));
    cpb_model *one, *other;
    char *text, *again;
    o.weights = weighted ? weights : NULL;
    o.weight_count = weighted ? MANY : 0;
    test_status((int)cpb_model_fit(&source, &o, &one, NULL, NULL, NULL), CPB_OK, "");
    test_status((int)cpb_model_fit(&source, &o, &other, NULL, cpb_pool_exec(pool), NULL), CPB_OK, "");
    assert_int_equal(described(one).balls, CLOUDS);
    size_t counted[CLOUDS] = {0}; /* rows of weight 0 are as rows that are not there */
    for (size_t i = 0; i < MANY; i++) counted[i % CLOUDS] += !weighted || weights[i] > 0;
    for (size_t k = 0; k < CLOUDS; k++) {
      size_t fitted = described(one).ball_rows[k];
      assert_true(fitted == counted[0] || fitted == counted[1] || fitted == counted[2]);
    }
    test_status((int)cpb_model_to_json(one, &text, NULL), CPB_OK, "");
    test_status((int)cpb_model_to_json(other, &again, NULL), CPB_OK, "");
    assert_string_equal(text, again);
    free(text);
    free(again);
    cpb_model_free(one);
    cpb_model_free(other);
  }
  cpb_pool_free(pool);
  free(weights);
  free(rows);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_cloud_has_its_ball),
      cmocka_unit_test(whitening_is_that_within_the_clouds),
      cmocka_unit_test(groups_of_one_row_keep_the_whitening),
      cmocka_unit_test(scores_are_by_the_nearest_centre),
      cmocka_unit_test(files_bring_them_back),
      cmocka_unit_test(rows_without_weight_are_not_there),
      cmocka_unit_test(what_does_not_go_is_refused),
      cmocka_unit_test(many_rows_are_grouped_by_a_sample),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

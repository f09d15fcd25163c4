/* The scale for a goal: ceilings against a plain double loop, and each goal matches its definition. */
#include "sphere/choice.h"
#include "support/check.h"

#include <stdbool.h>

#include "capball/advanced/abid.h"

enum { N = TEST_SANITIZED ? 100 : 400, D = 6, K = 10 };

static double x[N * D];

static void fill(uint64_t seed, bool whole) {
  test_rng rng = {seed};
  for (size_t i = 0; i < N * D; i++) x[i] = whole ? (double)test_below(&rng, 5) : test_gauss(&rng);
}

static double dist2(const double *a, const double *b, size_t d) {
  double sum = 0;
  for (size_t k = 0; k < d; k++) sum += (a[k] - b[k]) * (a[k] - b[k]);
  return sum;
}

static int ascending(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

/* Recall of exact search among embedded points, by embedding them and sorting all distances. */
static double plain_ceiling(size_t queries, double s) {
  static double y[N][D + 1], far[N], near[N];
  for (size_t i = 0; i < N; i++) {
    double zero[D] = {0}, norm2 = dist2(x + i * D, zero, D);
    for (size_t k = 0; k < D; k++) y[i][k] = 2 * s * x[i * D + k] / (norm2 + s * s);
    y[i][D] = (s * s - norm2) / (norm2 + s * s);
  }
  double found = 0;
  for (size_t q = 0; q < queries; q++) {
    size_t count = 0;
    for (size_t i = 0; i < N; i++)
      if (i != q) {
        far[count] = dist2(x + i * D, x + q * D, D);
        near[count++] = dist2(y[i], y[q], D + 1);
      }
    qsort(far, count, sizeof *far, ascending);
    qsort(near, count, sizeof *near, ascending);
    for (size_t i = 0; i < N; i++)
      found += i != q && dist2(y[i], y[q], D + 1) <= near[K - 1] * (1 + 1e-12) &&
               dist2(x + i * D, x + q * D, D) <= far[K - 1];
  }
  return found / (double)(queries * K);
}

static void ceiling_is_the_plain_loop(void **state) {
  (void)state;
  static const double s[] = {0.3, 1, 2, 4, 16, 300};
  double recall[6], again[6];
  fill(1, false);
  cpb_error error;
  test_status(
      (int)cpb_search_ceiling(cpb_rows(x, CPB_F64, N, D), NULL, K, 50, s, 6, recall, NULL, NULL, &error),
      CPB_OK, error.text);
  for (size_t i = 0; i < 6; i++) assert_true(fabs(recall[i] - plain_ceiling(50, s[i])) <= 1e-12);
  assert_true(recall[1] < 0.9 && recall[5] > 0.99);
  cpb_pool *pool;
  test_status((int)cpb_pool_new(3, &pool, NULL), CPB_OK, "");
  cpb_search_ceiling(cpb_rows(x, CPB_F64, N, D), NULL, K, 50, s, 6, again, NULL, cpb_pool_exec(pool), NULL);
  assert_memory_equal(recall, again, sizeof recall);
  cpb_pool_free(pool);
  /* a change of unit changes nothing, however far */
  for (size_t i = 0; i < N * D; i++) x[i] = ldexp(x[i], 900);
  double big = ldexp(s[2], 900);
  cpb_search_ceiling(cpb_rows(x, CPB_F64, N, D), NULL, K, 50, &big, 1, again, NULL, NULL, NULL);
  assert_true(again[0] == recall[2]);
  /* rows with many equal distances: ties count as found */
  fill(2, true);
  big = 1e6;
  cpb_search_ceiling(cpb_rows(x, CPB_F64, N, D), NULL, K, 50, &big, 1, again, NULL, NULL, NULL);
  assert_true(again[0] == 1);
}

/* Few scales read fewer rows than many do, depending on the smallest: every answer is the same number. */
static void other_scales_change_nothing(void **state) {
  (void)state;
  static const double s[] = {0.05, 0.3, 1, 2, 4, 16, 300, 1e9};
  enum { SCALES = sizeof s / sizeof *s };
  double center[D] = {0.5, -0.25}, recall[SCALES], again[SCALES];
  for (int kind = 0; kind < 6; kind++) {
    fill(10 + (uint64_t)kind, kind % 3 == 1);
    for (size_t i = 0; kind % 3 == 2 && i < N * D; i++) x[i] *= pow(10, (double)(i / D % 7) - 3);
    for (size_t i = 0; kind % 3 == 2 && i < 20 * D; i++) x[i] = x[i % (3 * D)];
    const double *about = kind < 3 ? NULL : center;
    cpb_view rows = cpb_rows(x, CPB_F64, N, D);
    test_status((int)cpb_search_ceiling(rows, about, K, N, s, SCALES, recall, NULL, NULL, NULL), CPB_OK, "");
    for (size_t first = 1; first < SCALES; first += TEST_SANITIZED ? 3 : 1) {
      cpb_search_ceiling(rows, about, K, N, s + first, SCALES - first, again, NULL, NULL, NULL);
      assert_memory_equal(again, recall + first, (SCALES - first) * sizeof *again);
      cpb_search_ceiling(rows, about, K, N, s + first, 1, again, NULL, NULL, NULL);
      assert_true(again[0] == recall[first]);
    }
  }
}

/* The facts stay valid until the next choice. */
static void choose(cpb_view sample, const cpb_goal_options *options, cpb_choice_facts *facts) {
  static cpb_choice *choice;
  cpb_error error;
  cpb_choice_free(choice);
  test_status((int)cpb_choose_scale(sample, NULL, options, &choice, NULL, &error), CPB_OK, error.text);
  *facts = *cpb_choice_facts_of(choice);
}

static void each_goal(void **state) {
  (void)state;
  cpb_choice_facts choice;
  fill(3, false);
  cpb_view sample = cpb_rows(x, CPB_F64, N, D);
  cpb_goal_options options;
  cpb_goal_options_init(&options, sizeof options);
  options.norm_mean = 2.5;
  options.norm_median = 2.25;
  options.norm_max = 7;
  static const double wanted[] = {2.5, 2.25, 7};
  for (int goal = 0; goal < 3; goal++) {
    options.goal = (cpb_goal)goal;
    choose(sample, &options, &choice);
    assert_true(fabs(choice.s / wanted[goal] - 1) <= 4 * U64 && choice.value == wanted[goal]);
    assert_true(choice.alternatives[CPB_GOAL_MEDIAN] == 2.25 && isnan(choice.alternatives[CPB_GOAL_SPREAD]));
    assert_true(choice.abid_count == 0 && choice.ceiling_count == 0);
  }
  options.goal = CPB_GOAL_SPREAD;
  choose(sample, &options, &choice);
  double at_s;
  test_status((int)cpb_abid_embedded(sample, NULL, CPB_PAIRS_ALL,
                                     (cpb_abid_scales){&choice.s, 1, &at_s, NULL}, NULL, NULL),
              CPB_OK, "");
  assert_true(fabs(at_s / choice.value - 1) <= 1e-12);
  assert_int_equal(choice.abid_count, 20);
  for (size_t i = 0; i < 20; i++) assert_true(choice.abid[i].value <= choice.value);
  double most_even = choice.s;
  cpb_goal_options unknown;
  cpb_goal_options_init(&unknown, sizeof unknown);
  unknown.goal = CPB_GOAL_SPREAD;
  choose(sample, &unknown, &choice); /* norms are those of the sample then */
  for (int goal = 0; goal < CPB_GOALS; goal++) assert_true(choice.alternatives[goal] > 0);
  assert_true(choice.alternatives[CPB_GOAL_MEAN] == choice.sample_mean_norm);
  options.goal = CPB_GOAL_RECALL;
  static const double targets[] = {0.8, 0.9, 0.99};
  for (size_t t = 0; t < 3; t++) {
    options.target = targets[t];
    choose(sample, &options, &choice);
    double less = choice.s * pow(2, -0.5 / 11), recall[2], spread[2], two[2] = {less, choice.s};
    cpb_search_ceiling(sample, NULL, 10, 1000, two, 2, recall, spread, NULL, NULL);
    assert_true(recall[1] - spread[1] >= targets[t] && recall[1] == choice.value);
    assert_true(recall[0] - spread[0] < targets[t] && spread[1] > 0 && spread[1] < 0.02);
    for (size_t i = 1; i < choice.ceiling_count; i++)
      assert_true(choice.ceiling[i].s > choice.ceiling[i - 1].s);
    assert_true(choice.alternatives[CPB_GOAL_SPREAD] == most_even &&
                choice.alternatives[CPB_GOAL_RECALL] == choice.s);
  }
  assert_true(choice.s > most_even);
  assert_int_equal(choice.alternative_count, CPB_GOALS);
}

static void what_is_refused(void **state) {
  (void)state;
  cpb_error error;
  cpb_choice *choice;
  double zero[30] = {0}, s = 1, recall;
  cpb_goal_options options;
  cpb_goal_options_init(&options, sizeof options);
  cpb_view few = cpb_rows(zero, CPB_F64, 10, 3);
  assert_int_equal(cpb_choose_scale(few, NULL, &options, &choice, NULL, &error), CPB_EINVAL);
  assert_string_equal(error.text, "goal mean needs the norms of all rows, which are not known");
  options.norm_mean = 0;
  assert_int_equal(cpb_choose_scale(few, NULL, &options, &choice, NULL, &error), CPB_EINVAL);
  assert_string_equal(error.text, "the mean norm about the centre is 0, which cannot be a scale");
  options.goal = CPB_GOAL_SPREAD;
  assert_int_equal(cpb_choose_scale(few, NULL, &options, &choice, NULL, &error), CPB_EINVAL);
  assert_string_equal(error.text, "10 rows with mean norm 0 about the centre have no scale");
  few.rows = 0;
  assert_int_equal(cpb_choose_scale(few, NULL, &options, &choice, NULL, &error), CPB_EINVAL);
  options.goal = CPB_GOAL_RECALL;
  options.target = 1;
  assert_int_equal(cpb_choose_scale(few, NULL, &options, &choice, NULL, &error), CPB_EINVAL);
  assert_string_equal(error.text, "target must be > 0 and < 1, got 1");
  few.rows = 10;
  assert_int_equal(cpb_search_ceiling(few, NULL, 10, 5, &s, 1, &recall, NULL, NULL, &error), CPB_EINVAL);
  assert_string_equal(error.text, "10 neighbours need more than 10 rows, got 10");
  assert_int_equal(cpb_search_ceiling(few, NULL, 0, 5, &s, 1, &recall, NULL, NULL, &error), CPB_EINVAL);
  s = 0;
  assert_int_equal(cpb_search_ceiling(few, NULL, 3, 5, &s, 1, &recall, NULL, NULL, &error), CPB_EINVAL);
  zero[4] = NAN;
  s = 1;
  assert_int_equal(cpb_search_ceiling(few, NULL, 3, 5, &s, 1, &recall, NULL, NULL, &error), CPB_EROW);
  assert_string_equal(error.text, "x row 1 holds NaN");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(ceiling_is_the_plain_loop),
                                     cmocka_unit_test(other_scales_change_nothing),
                                     cmocka_unit_test(each_goal), cmocka_unit_test(what_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* T11: SVDD, checked by its primal and dual values recomputed, and against known cases. */
#include "capball/ball.h"

#include <float.h>

#include "ball/smo.h"
#include "support/check.h"
#include "support/point_sets.h"

enum { MOST_D = 40, MOST_N = 5000 };

typedef struct answer {
  double center[MOST_D], a[MOST_N];
  cpb_svdd_report report;
} answer;

static answer solve(const double *x, size_t n, size_t d, const cpb_svdd_options *options,
                    const cpb_exec *exec) {
  static answer a = {.report.size = sizeof a.report};
  cpb_error error = {0};
  test_status((int)cpb_svdd(cpb_rows(x, CPB_F64, n, d), options, a.center, a.a, &a.report, exec, &error),
              CPB_OK, error.text);
  return a;
}

static double *rows_of(uint64_t seed, size_t n, size_t d, int blobs) {
  test_rng rng = {seed};
  double *x = malloc(n * d * sizeof *x), middle[3][MOST_D];
  for (int b = 0; b < 3; b++)
    for (size_t j = 0; j < d; j++) middle[b][j] = blobs > 1 ? 10 * test_uniform(&rng) - 5 : 0;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < d; j++) x[i * d + j] = middle[i % 3][j] + test_gauss(&rng);
  return x;
}

static double dist2(const double *x, const double *c, size_t d) {
  double sum = 0;
  for (size_t j = 0; j < d; j++) sum += (x[j] - c[j]) * (x[j] - c[j]);
  return sum;
}

/* R^2 + C sum w max(0, |x-c|^2 - R^2) */
static double primal(const double *x, size_t n, size_t d, const double *w, double nu, const answer *a) {
  double total = 0, slack = 0, R2 = a->report.radius * a->report.radius;
  for (size_t i = 0; i < n; i++) {
    double weight = w == NULL ? 1 : w[i];
    total += weight;
    slack += weight * fmax(0, dist2(x + i * d, a->center, d) - R2);
  }
  return R2 + slack / (nu * total);
}

/* sum a|x|^2 - |sum a x|^2 about the centre, after checking the constraints. */
static double dual(const double *x, size_t n, size_t d, const double *w, double nu, const answer *a) {
  double sum = 0, total = 0, height = 0, norm2 = 0, mean[MOST_D] = {0};
  for (size_t i = 0; i < n; i++) total += w == NULL ? 1 : w[i];
  for (size_t i = 0; i < n; i++) {
    double cap = (w == NULL ? 1 : w[i]) / (nu * total);
    assert_true(a->a[i] >= 0 && a->a[i] <= cap * (1 + 1e-9) + 1e-15);
    sum += a->a[i];
    height += a->a[i] * dist2(x + i * d, a->center, d);
    for (size_t j = 0; j < d; j++) mean[j] += a->a[i] * (x[i * d + j] - a->center[j]);
  }
  assert_true(fabs(sum - 1) <= 1e-12);
  for (size_t j = 0; j < d; j++) norm2 += mean[j] * mean[j];
  return height - norm2;
}

static void the_gap_is_what_it_says(void **state) {
  (void)state;
  static const double nus[] = {0.01, 0.05, 0.1, 0.31, 0.5, 0.9, 1};
  double worst = 0;
  for (uint64_t i = 0; i < 700; i++) {
    point_set set = point_set_make(i, 12);
    double size = 0, nu = nus[i % 7];
    for (size_t k = 0; k < set.n * set.d; k++) size = fmax(size, fabs(set.x[k]));
    if (nu * (double)set.n < 1) nu = 1 / (double)set.n;
    if (size < 1e100 && size > 1e-100) {
      cpb_svdd_options options;
      cpb_svdd_options_init(&options, sizeof options);
      options.nu = nu;
      answer a = solve(set.x, set.n, set.d, &options, NULL);
      double upper = primal(set.x, set.n, set.d, NULL, nu, &a),
             lower = dual(set.x, set.n, set.d, NULL, nu, &a);
      double gap = upper > 0 ? (upper - lower) / upper : 0;
      if (!a.report.converged || gap > 1.1e-9)
        fail_msg("set %llu (%s, n = %zu, d = %zu, nu = %g): gap %g, reported %g after %zu",
                 (unsigned long long)i, set.name, set.n, set.d, nu, gap, a.report.gap, a.report.iterations);
      test_worst(&worst, fabs(gap));
    }
    free(set.x);
  }
  law_holds("T11", "relative gap of SVDD, 700 sets", "f64", worst / U64, 1.1e-9 / U64);
}

static void one_row_outside_of_n_is_the_enclosing_ball(void **state) {
  (void)state;
  enum { N = 400, D = 6 };
  double *x = rows_of(1, N, D, 1), center[D];
  cpb_ball_report ball = {.size = sizeof ball};
  cpb_ball_out out = {.center = center};
  test_status((int)cpb_enclosing_ball(cpb_rows(x, CPB_F64, N, D), NULL, &out, &ball, NULL, NULL), CPB_OK, "");
  cpb_svdd_options options;
  cpb_svdd_options_init(&options, sizeof options);
  options.nu = 1.0 / N;
  options.gap = 1e-13;
  answer a = solve(x, N, D, &options, NULL);
  assert_true(fabs(a.report.radius - ball.radius) <= 1e-9 * ball.radius);
  options.nu = 1;
  a = solve(x, N, D, &options, NULL);
  for (size_t j = 0; j < D; j++) {
    double mean = 0;
    for (size_t i = 0; i < N; i++) mean += x[i * D + j] / N;
    assert_true(fabs(mean - a.center[j]) <= 1e-12);
  }
  free(x);
}

static void a_weight_is_a_number_of_copies(void **state) {
  (void)state;
  enum { N = 300, D = 4 };
  double *x = rows_of(2, N, D, 1), *copies = malloc(3 * N * D * sizeof *copies), weights[N];
  size_t count = 0;
  test_rng rng = {9};
  for (size_t i = 0; i < N; i++) {
    size_t times = test_below(&rng, 4);
    weights[i] = (double)times;
    for (size_t k = 0; k < times; k++) memcpy(copies + D * count++, x + i * D, D * sizeof *x);
  }
  cpb_svdd_options options;
  cpb_svdd_options_init(&options, sizeof options);
  options.gap = 1e-13;
  answer many = solve(copies, count, D, &options, NULL);
  options.weights = weights;
  answer weighted = solve(x, N, D, &options, NULL);
  assert_true(fabs(dual(x, N, D, weights, 0.1, &weighted) / many.report.objective - 1) <= 1e-10);
  for (size_t j = 0; j < D; j++) assert_true(fabs(many.center[j] - weighted.center[j]) <= 1e-6);
  free(x);
  free(copies);
}

static void few_rows_of_large_weight_are_many(void **state) {
  (void)state;
  enum { N = 3, TIMES = 4 };
  double x[N] = {0, 1, 5}, copies[N * TIMES], weights[N];
  for (size_t i = 0; i < N * TIMES; i++) copies[i] = x[i / TIMES];
  for (size_t i = 0; i < N; i++) weights[i] = TIMES;
  cpb_svdd_options options;
  cpb_svdd_options_init(&options, sizeof options);
  options.nu = 0.25;
  answer many = solve(copies, N * TIMES, 1, &options, NULL);
  options.weights = weights;
  answer weighted = solve(x, N, 1, &options, NULL);
  assert_true(fabs(many.center[0] - weighted.center[0]) <= 1e-12);
  assert_true(fabs(many.report.objective - weighted.report.objective) <= 1e-12);
}

static void a_warm_start_saves_reads(void **state) {
  (void)state;
  enum { N = 5000, D = 10 };
  double *x = rows_of(3, N, D, 3);
  cpb_svdd_options options;
  cpb_svdd_options_init(&options, sizeof options);
  answer cold = solve(x, N, D, &options, NULL);
  options.start = cold.center;
  answer warm = solve(x, N, D, &options, NULL);
  assert_true(warm.report.converged && warm.report.iterations <= cold.report.iterations);
  assert_true(fabs(warm.report.objective / cold.report.objective - 1) <= 1e-9);
  free(x);
}

static void threads_and_dtypes_do_not_matter(void **state) {
  (void)state;
  enum { N = 20000, D = 20 };
  test_rng rng = {4};
  static float x[N * D];
  static double wide[N * D], one_a[N], many_a[N];
  double one[D], many[D];
  cpb_svdd_report first = {.size = sizeof first}, second = first;
  for (size_t i = 0; i < N * D; i++) wide[i] = (double)(x[i] = (float)test_gauss(&rng));
  test_status((int)cpb_svdd(cpb_rows(x, CPB_F32, N, D), NULL, one, one_a, &first, NULL, NULL), CPB_OK, "");
  test_status((int)cpb_svdd(cpb_rows(wide, CPB_F64, N, D), NULL, many, many_a, &second, NULL, NULL), CPB_OK,
              "");
  assert_memory_equal(one, many, sizeof one);
  for (size_t threads = 2; threads <= 4; threads++) {
    cpb_pool *pool;
    test_status((int)cpb_pool_new(threads, &pool, NULL), CPB_OK, "");
    test_status(
        (int)cpb_svdd(cpb_rows(x, CPB_F32, N, D), NULL, many, many_a, &second, cpb_pool_exec(pool), NULL),
        CPB_OK, "");
    assert_memory_equal(one, many, sizeof one);
    assert_memory_equal(one_a, many_a, sizeof one_a);
    assert_true(first.gap == second.gap && first.radius == second.radius);
    cpb_pool_free(pool);
  }
}

typedef struct ranked {
  double score;
  size_t row;
} ranked;

static int by_score(const void *a, const void *b) {
  double x = ((const ranked *)a)->score, y = ((const ranked *)b)->score;
  return (x > y) - (x < y);
}

static void ranks_of(const double *x, size_t n, size_t d, const double *center, double *rank) {
  ranked *all = malloc(n * sizeof *all);
  for (size_t i = 0; i < n; i++) all[i] = (ranked){dist2(x + i * d, center, d), i};
  qsort(all, n, sizeof *all, by_score);
  for (size_t i = 0; i < n; i++) rank[all[i].row] = (double)i;
  free(all);
}

static double spearman(const double *x, size_t n, size_t d, const double *c1, const double *c2) {
  static double r1[MOST_N], r2[MOST_N];
  double sum = 0, count = (double)n;
  ranks_of(x, n, d, c1, r1);
  ranks_of(x, n, d, c2, r2);
  for (size_t i = 0; i < n; i++) sum += (r1[i] - r2[i]) * (r1[i] - r2[i]);
  return 1 - 6 * sum / (count * (count * count - 1));
}

/* The paper's setting: with a hard negative the scheme is SVDD to the order of scores, with one C for
 * all it is not. */
static void a_hard_negative_makes_the_scheme_svdd(void **state) {
  (void)state;
  enum { N = 5000, D = 10 };
  for (int blobs = 1; blobs <= 3; blobs += 2) {
    double *x = rows_of(5, N, D, blobs);
    cpb_svdd_options options;
    cpb_svdd_options_init(&options, sizeof options);
    answer exact = solve(x, N, D, &options, NULL);
    options.method = CPB_SVDD_CAP_SVM;
    answer hard = solve(x, N, D, &options, NULL);
    options.method = CPB_SVDD_CAP_SVM_PAPER;
    answer paper = solve(x, N, D, &options, NULL);
    double with_hard = spearman(x, N, D, exact.center, hard.center);
    double with_paper = spearman(x, N, D, exact.center, paper.center);
    print_message("# %d blobs: Spearman with SVDD: cap-svm %.5f, cap-svm-paper %.5f; %.2f, %.2f, %.2f ms\n",
                  blobs, with_hard, with_paper, 1e3 * exact.report.seconds, 1e3 * hard.report.seconds,
                  1e3 * paper.report.seconds);
    assert_true(with_hard >= 0.999 && with_paper < with_hard);
    assert_true(hard.report.converged);
    free(x);
  }
}

/* The linear kernel is SVDD; so is a degree-1 polynomial with an offset; rbf has k(x,x) = 1, so that its objective
 * is at most 1 and its gap is checked with recomputed kernel rows. */
static void kernels_agree_with_what_they_are(void **state) {
  (void)state;
  enum { N = 400, D = 5 };
  static double a[N], row[N];
  double *x = rows_of(6, N, D, 3), norm2, center[D] = {0};
  cpb_view rows = cpb_rows(x, CPB_F64, N, D);
  cpb_svdd_options options;
  cpb_svdd_options_init(&options, sizeof options);
  cpb_svdd_report report = {.size = sizeof report};
  answer exact = solve(x, N, D, &options, NULL);
  static const cpb_kernel flat[] = {{CPB_KERNEL_LINEAR, 0, 0, 0}, {CPB_KERNEL_POLYNOMIAL, 1, 2, 1}};
  for (size_t k = 0; k < 2; k++) {
    test_status((int)cpb_kernel_svdd(rows, &flat[k], &options, a, &norm2, &report, NULL, NULL), CPB_OK, "");
    assert_true(report.converged && fabs(report.objective / exact.report.objective - 1) <= 1e-8);
    assert_true(fabs(report.radius / exact.report.radius - 1) <= 1e-4);
    memset(center, 0, sizeof center);
    for (size_t i = 0; i < N; i++)
      for (size_t j = 0; j < D; j++) center[j] += a[i] * x[i * D + j];
    assert_true(dist2(center, exact.center, D) <= 1e-6);
  }
  cpb_kernel rbf = {CPB_KERNEL_RBF, 0.2, 0, 0};
  test_status((int)cpb_kernel_svdd(rows, &rbf, &options, a, &norm2, &report, NULL, NULL), CPB_OK, "");
  double sum = 0, dual_value = 0;
  for (size_t i = 0; i < N; i++) {
    cpb_kernel_row(&rbf, rows, i, rows, row);
    assert_true(row[i] == 1 && a[i] >= 0 && a[i] <= 1 / (0.1 * N) * (1 + 1e-12));
    sum += a[i];
    dual_value += a[i];
    for (size_t j = 0; j < N; j++) dual_value -= a[i] * a[j] * row[j];
  }
  assert_true(report.converged && report.objective <= 1 && fabs(sum - 1) <= 1e-9);
  assert_true(fabs(dual_value - report.lower_bound) <= 1e-9);
  cpb_kernel steep = {CPB_KERNEL_POLYNOMIAL, 1e300, 0, 2};
  cpb_error error;
  assert_int_equal(cpb_kernel_svdd(rows, &steep, &options, a, &norm2, &report, NULL, &error), CPB_EROW);
  assert_string_equal(error.text, "x row 0 has a k(x,x) too large for a double");
  rbf.gamma = -1;
  assert_int_equal(cpb_kernel_svdd(rows, &rbf, &options, a, &norm2, &report, NULL, NULL), CPB_EINVAL);
  free(x);
}

/* The paper's scheme on embedded Gram rows (T8) is that on embedded rows where the kernel is linear; the
 * offset of a polynomial only moves the images; with one C it ends at the enclosing ball of the images. */
static void the_scheme_needs_only_products(void **state) {
  (void)state;
  enum { N = TEST_SANITIZED ? 150 : 300, D = 4 };
  static double a[N], exact_a[N];
  double *x = rows_of(8, N, D, 3), norm2, center[D];
  cpb_view rows = cpb_rows(x, CPB_F64, N, D);
  cpb_svdd_report report = {.size = sizeof report}, exact = report;
  static const cpb_kernel kernels[] = {{CPB_KERNEL_LINEAR, 0, 0, 0},
                                       {CPB_KERNEL_POLYNOMIAL, 1, 2, 1},
                                       {CPB_KERNEL_RBF, 0.1, 0, 0},
                                       {CPB_KERNEL_POLYNOMIAL, 0.1, 1, 2}};
  double worst_center = 0, worst_radius = 0, worst_ball = 0, worst_gap = 0;
  for (size_t k = 0; k < 4; k++)
    for (int paper = 0; paper < 2; paper++) {
      cpb_svdd_options options;
      cpb_svdd_options_init(&options, sizeof options);
      options.method = paper ? CPB_SVDD_CAP_SVM_PAPER : CPB_SVDD_CAP_SVM;
      test_status((int)cpb_kernel_svdd(rows, &kernels[k], &options, a, &norm2, &report, NULL, NULL), CPB_OK,
                  "");
      assert_true(report.converged && report.lower_bound <= report.objective);
      if (k < 2) {
        answer flat = solve(x, N, D, &options, NULL);
        memset(center, 0, sizeof center);
        for (size_t i = 0; i < N; i++)
          for (size_t j = 0; j < D; j++) center[j] += a[i] * x[i * D + j];
        test_worst(&worst_center, sqrt(dist2(center, flat.center, D)) / flat.report.radius);
        test_worst(&worst_radius, fabs(report.radius / flat.report.radius - 1));
      }
      options.method = CPB_SVDD_EXACT;
      if (paper) options.nu = 1.0 / N;
      test_status((int)cpb_kernel_svdd(rows, &kernels[k], &options, exact_a, NULL, &exact, NULL, NULL),
                  CPB_OK, "");
      if (paper) test_worst(&worst_ball, fabs(report.radius / exact.radius - 1));
      if (!paper) test_worst(&worst_gap, report.gap);
    }
  law_holds("T11", "cap-svm on Gram rows: centre and radius of that on rows", "f64",
            fmax(worst_center, worst_radius) / U64, 3e-5 / U64);
  law_holds("T11", "cap-svm-paper on Gram rows: radius of the enclosing ball", "f64", worst_ball / U64,
            1e-8 / U64);
  assert_true(worst_gap > 1e-9 && worst_gap <= 5e-3); /* near SVDD, not SVDD */
  free(x);
}

/* Twice the unit is four times the bounds, over all of double and beyond it: there the bound is NaN, and the gap
 * is still that of the bounds. */
static void bounds_go_with_the_square_of_the_unit(void **state) {
  (void)state;
  enum { N = 80, D = 3 };
  double *x = rows_of(11, N, D, 1), scaled[N * D];
  cpb_svdd_options options;
  cpb_svdd_options_init(&options, sizeof options);
  options.nu = 0.3;
  cpb_svdd_report base = solve(x, N, D, &options, NULL).report;
  for (int unit = -1000; unit <= 1020; unit++) {
    for (size_t i = 0; i < N * D; i++) scaled[i] = ldexp(x[i], unit);
    cpb_svdd_report report = solve(scaled, N, D, &options, NULL).report;
    double upper = ldexp(base.objective, 2 * unit), lower = ldexp(base.lower_bound, 2 * unit);
    double room = 2e-9 * upper + 4 * DBL_TRUE_MIN;
    bool beyond = isinf(upper) && isinf(lower);
    if (!(report.gap >= 0 && report.gap <= 1e-9 && report.converged))
      fail_msg("2^%d: gap %g", unit, report.gap);
    if (report.lower_bound > report.objective ||
        (beyond ? !isnan(report.lower_bound) : !(fabs(report.lower_bound - lower) <= room)))
      fail_msg("2^%d: bounds %g %g, wanted %g %g", unit, report.lower_bound, report.objective, lower, upper);
  }
  free(x);
}

/* Rows of any size: rbf by differences; products that are not normal doubles are rejected, not treated as 0. */
static void kernels_of_any_size(void **state) {
  (void)state;
  enum { N = 60, D = 3 };
  static double a[N], base_a[N], z[N];
  static const double units[] = {1, 1e-153, 1e-300, 1e153, 1e160, 1e300};
  double *x = rows_of(9, N, D, 1), scaled[N * D], norm2;
  cpb_svdd_report base, report;
  base = (cpb_svdd_report){.size = sizeof base};
  report = (cpb_svdd_report){.size = sizeof report};
  for (size_t u = 0; u < 6; u++) {
    for (size_t i = 0; i < N * D; i++) scaled[i] = units[u] * x[i];
    cpb_view rows = cpb_rows(scaled, CPB_F64, N, D);
    cpb_kernel rbf = {CPB_KERNEL_RBF, 0.2 / units[u] / units[u], 0, 0}, linear = {CPB_KERNEL_LINEAR, 0, 0, 0};
    bool can = isnormal(rbf.gamma); /* gamma itself is a double */
    cpb_error error = {0};
    if (can) {
      test_status((int)cpb_kernel_svdd(rows, &rbf, NULL, a, &norm2, &report, NULL, &error), CPB_OK,
                  error.text);
      if (u == 0) base = report;
      if (u == 0) memcpy(base_a, a, sizeof a);
      assert_true(fabs(report.objective / base.objective - 1) <= 1e-7 && report.converged);
      for (size_t i = 0; i < N; i++) assert_true(fabs(a[i] - base_a[i]) <= 1e-5);
    }
    cpb_status status = cpb_kernel_svdd(rows, &linear, NULL, a, &norm2, &report, NULL, &error);
    if (units[u] > 1e154) assert_int_equal(status, CPB_EROW);
    if (units[u] < 1e-154) assert_int_equal(status, CPB_EINVAL);
    if (units[u] == 1) assert_int_equal(status, CPB_OK);
    cpb_kernel tiny = {CPB_KERNEL_RBF, 1e-300, 0, 0};
    cpb_kernel_row(&tiny, rows, 0, rows, z);
    for (size_t i = 0; i < N; i++) assert_true(z[i] >= 0 && z[i] <= 1);
  }
  /* far from 0 by 1e8: the products have no digit of the differences */
  for (size_t i = 0; i < N * D; i++) scaled[i] = 1e8 + x[i];
  for (size_t i = 0; i < N * D; i++) x[i] = scaled[i] - 1e8;
  cpb_kernel rbf = {CPB_KERNEL_RBF, 0.2, 0, 0};
  static double near_z[N];
  for (size_t i = 0; i < N; i++) {
    cpb_kernel_row(&rbf, cpb_rows(scaled, CPB_F64, N, D), i, cpb_rows(scaled, CPB_F64, N, D), z);
    cpb_kernel_row(&rbf, cpb_rows(x, CPB_F64, N, D), i, cpb_rows(x, CPB_F64, N, D), near_z);
    assert_memory_equal(z, near_z, sizeof z);
  }
  free(x);
}

/* Stops at the n-th report; reported progress never decreases. */
typedef struct listener {
  size_t left, told;
  double last;
} listener;

static int listen_to(void *context, double share) {
  listener *l = context;
  assert_true(share >= l->last && share <= 1);
  l->last = share;
  l->told++;
  return l->left-- == 0;
}

static void progress_is_told_and_can_stop(void **state) {
  (void)state;
  enum { N = 3000, D = 6 };
  static double a[N];
  double *x = rows_of(12, N, D, 3), center[D] = {7};
  cpb_view rows = cpb_rows(x, CPB_F64, N, D), few = cpb_rows(x, CPB_F64, 300, D);
  cpb_kernel rbf = {CPB_KERNEL_RBF, 0.1, 0, 0};
  for (int way = 0; way < 6; way++) {
    cpb_svdd_options options;
    cpb_svdd_options_init(&options, sizeof options);
    options.method = (cpb_svdd_method)(way % 3);
    for (size_t stop = 0; stop < 2; stop++) {
      listener l = {stop == 0 ? SIZE_MAX : 0, 0, 0};
      cpb_exec exec;
      cpb_exec_init(&exec, sizeof exec);
      exec.progress = listen_to;
      exec.context = &l;
      a[0] = center[0] = 7;
      cpb_error error = {0};
      cpb_status status = way < 3 ? cpb_svdd(rows, &options, center, a, NULL, &exec, &error)
                                  : cpb_kernel_svdd(few, &rbf, &options, a, NULL, NULL, &exec, &error);
      if (stop == 0) test_status((int)status, CPB_OK, error.text);
      if (stop == 1 && l.told > 0) {
        assert_int_equal(status, CPB_ESTOPPED);
        assert_true(a[0] == 7 && center[0] == 7);
      }
      if (way < 3) assert_true(l.told > 0);
    }
  }
  free(x);
}

static void bad_input_gets_a_sentence(void **state) {
  (void)state;
  double x[] = {0, 1, 2, 3, 4, 5, 6, NAN}, center[2] = {7, 7}, weights[] = {1, -1, 1, 1};
  cpb_svdd_options options;
  cpb_svdd_options_init(&options, sizeof options);
  cpb_error error;
  cpb_view rows = cpb_rows(x, CPB_F64, 3, 2);
  static const double bad[] = {0, -0.1, 1.5, NAN, INFINITY};
  for (size_t i = 0; i < 5; i++) {
    options.nu = bad[i];
    assert_int_equal(cpb_svdd(rows, &options, center, NULL, NULL, NULL, &error), CPB_EINVAL);
  }
  assert_string_equal(error.text, "nu must lie in (0,1], got inf");
  options.nu = 0.1;
  assert_int_equal(cpb_svdd(rows, &options, center, NULL, NULL, NULL, &error), CPB_EINVAL);
  assert_non_null(strstr(error.text, "nu n must be >= 1"));
  options.nu = 0.5;
  options.weights = weights;
  assert_int_equal(cpb_svdd(rows, &options, center, NULL, NULL, NULL, &error), CPB_EINVAL);
  assert_string_equal(error.text, "weights row 1 must be >= 0 and finite, got -1");
  weights[0] = weights[1] = weights[2] = 0;
  assert_int_equal(cpb_svdd(rows, &options, center, NULL, NULL, NULL, &error), CPB_EINVAL);
  options.weights = NULL;
  assert_int_equal(cpb_svdd(cpb_rows(x, CPB_F64, 4, 2), &options, center, NULL, NULL, NULL, &error),
                   CPB_EROW);
  assert_string_equal(error.text, "x row 3 holds NaN");
  assert_int_equal(cpb_svdd(cpb_rows(x, CPB_F64, 0, 2), &options, center, NULL, NULL, NULL, &error),
                   CPB_EINVAL);
  assert_true(center[0] == 7 && center[1] == 7);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_gap_is_what_it_says),
      cmocka_unit_test(one_row_outside_of_n_is_the_enclosing_ball),
      cmocka_unit_test(a_weight_is_a_number_of_copies),
      cmocka_unit_test(few_rows_of_large_weight_are_many),
      cmocka_unit_test(a_warm_start_saves_reads),
      cmocka_unit_test(threads_and_dtypes_do_not_matter),
      cmocka_unit_test(a_hard_negative_makes_the_scheme_svdd),
      cmocka_unit_test(kernels_agree_with_what_they_are),
      cmocka_unit_test(the_scheme_needs_only_products),
      cmocka_unit_test(bounds_go_with_the_square_of_the_unit),
      cmocka_unit_test(kernels_of_any_size),
      cmocka_unit_test(progress_is_told_and_can_stop),
      cmocka_unit_test(bad_input_gets_a_sentence),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

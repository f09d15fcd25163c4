/* T13: rival transforms and exact lifts, checked against their formulas in MPFR, and by the order they preserve. */
#include <stdbool.h>

#include "capball/capball.h"
#include "capball/advanced/laws.h"
#include "support/big.h"
#include "support/check.h"

enum { MOST = 300 };
static const size_t dimensions[] = {1, 2, 3, 17, 64, MOST};
enum { DIMENSIONS = sizeof dimensions / sizeof *dimensions };

static cpb_transform *make(cpb_transform_kind kind, size_t d, const double *center, double max_norm) {
  cpb_transform_options options;
  cpb_transform_options_init(&options, sizeof options);
  cpb_transform *transform = NULL;
  cpb_error error = {.row = -1};
  options.kind = kind;
  options.d = d;
  options.center = cpb_transform_about(kind).centred ? center : NULL;
  options.max_norm = max_norm;
  test_status((int)cpb_transform_new(&options, &transform, &error), CPB_OK, error.text);
  return transform;
}

/* ---- the formulas ---- */

static big root2(void) { return big_sqrt(big_of(2)); }

/* The image as the header writes it; z = (x-m)/L. */
static void exact_image(cpb_transform_kind kind, cpb_role role, const big *z, size_t d, big L, big *y) {
  big t = big_dot(z, z, d), one = big_of(1);
  big roof = kind == CPB_TRANSFORM_LIFT_COSINE ? big_of(1.25) : big_of(1.03125), by = one;
  bool base = role == CPB_ROLE_BASE;
  y[d] = y[d + 1] = big_of(0);
  switch (kind) {
  case CPB_TRANSFORM_SPHERE: /* a map, t1_embed */
  case CPB_TRANSFORM_NONE:
  case CPB_TRANSFORM_CENTER: by = L; break;
  case CPB_TRANSFORM_NORMALIZE: by = big_div(one, big_sqrt(t)); break;
  case CPB_TRANSFORM_LIFT_IP: y[d] = base ? big_neg(big_scale2(t, -1)) : one; break;
  case CPB_TRANSFORM_LIFT_COSINE:
    y[d] = base ? big_neg(big_div(big_mul(root2(), t), big_of(2))) : big_div(one, root2());
    if (base) {
      big under = big_sub(big_sub(big_square(roof), t), big_scale2(big_square(t), -1));
      y[d + 1] = big_sqrt(under);
      by = big_div(one, roof);
    } else
      by = big_div(one, big_sqrt(big_add(t, big_of(0.5))));
    y[d] = big_mul(y[d], by);
    y[d + 1] = big_mul(y[d + 1], by);
    break;
  case CPB_TRANSFORM_IP_COSINE:
  case CPB_TRANSFORM_IP_L2:
    if (base) y[d] = big_sqrt(big_sub(big_square(roof), t));
    by = kind == CPB_TRANSFORM_IP_L2 ? L : base ? big_div(one, roof) : big_div(one, big_sqrt(t));
    y[d] = big_mul(y[d], by);
    break;
  }
  for (size_t i = 0; i < d; i++) y[i] = big_mul(z[i], by);
}

static double row_error(cpb_transform_kind kind, cpb_role role, const double *x, const double *center,
                        size_t d, double L, const void *got, cpb_dtype dtype) {
  static big z[MOST], want[MOST + 2];
  size_t cols = d + cpb_transform_about(kind).extra;
  big_reset();
  for (size_t i = 0; i < d; i++) {
    big at = big_of(x[i]);
    if (center != NULL && cpb_transform_about(kind).centred) at = big_sub(at, big_of(center[i]));
    z[i] = big_div(at, big_of(L));
  }
  exact_image(kind, role, z, d, big_of(L), want);
  double wide[MOST + 2];
  for (size_t i = 0; i < cols; i++)
    wide[i] = dtype == CPB_F32 ? (double)((const float *)got)[i] : ((const double *)got)[i];
  return big_vector_error(wide, want, cols, big_norm(want, cols)) * (dtype == CPB_F32 ? 0x1p-29 : 1);
}

static double norm_of(const double *x, size_t d) {
  double largest = 0, sum = 0;
  for (size_t i = 0; i < d; i++) largest = fmax(largest, fabs(x[i]));
  for (size_t i = 0; largest > 0 && i < d; i++) sum += x[i] / largest * (x[i] / largest);
  return largest * sqrt(sum);
}

/* A row of the given length; whole numbers with a whole centre subtract exactly. */
static void random_row(test_rng *rng, size_t d, double length, double *x) {
  test_direction(rng, d, x);
  for (size_t i = 0; i < d; i++) x[i] *= length;
}

static void formulas(void **state) {
  (void)state;
  test_rng rng = {131};
  double worst[2] = {0, 0};
  for (size_t kind = 0; kind < CPB_TRANSFORMS; kind++)
    for (size_t at = 0; at < DIMENSIONS; at++)
      for (int trial = 0; trial < 24; trial++) {
        size_t d = dimensions[at];
        static const double units[] = {1, 1e-100, 1e100, 255};
        double L = units[trial % 4] * (0.5 + test_uniform(&rng)), x[MOST];
        cpb_role role = trial % 2 == 0 ? CPB_ROLE_BASE : CPB_ROLE_QUERY;
        double share = trial < 8 ? 1 : trial < 16 ? test_uniform(&rng) : test_log_uniform(&rng, 1e-12, 1);
        if (role == CPB_ROLE_QUERY && trial > 18) share *= 1e6;
        random_row(&rng, d, L * share, x);
        if (trial < 8 && norm_of(x, d) > L) L = norm_of(x, d);
        cpb_transform *transform = make((cpb_transform_kind)kind, d, NULL, L);
        double y[MOST + 2];
        float narrow[MOST + 2];
        size_t cols = cpb_transform_cols(transform);
        cpb_error error = {.row = -1};
        cpb_view rows = cpb_rows(x, CPB_F64, 1, d);
        test_status(
            (int)cpb_transform_apply(transform, role, rows, cpb_rows_out(y, CPB_F64, 1, cols), NULL, &error),
            CPB_OK, error.text);
        test_worst(&worst[1], row_error((cpb_transform_kind)kind, role, x, NULL, d, L, y, CPB_F64));
        if (trial % 4 == 0 || trial % 4 == 3) { /* lengths that f32 holds */
          test_status((int)cpb_transform_apply(transform, role, rows, cpb_rows_out(narrow, CPB_F32, 1, cols),
                                               NULL, &error),
                      CPB_OK, error.text);
          test_worst(&worst[0], row_error((cpb_transform_kind)kind, role, x, NULL, d, L, narrow, CPB_F32));
        }
        cpb_transform_free(transform);
      }
  law_holds("T13", "transforms, normwise", "f32", worst[0], 2);
  law_holds("T13", "transforms, normwise", "f64", worst[1], 16);
}

/* Bytes about a whole centre: the differences are exact, so the bound is that of no centre. */
static void bytes_about_a_centre(void **state) {
  (void)state;
  enum { D = 48, N = 40 };
  test_rng rng = {132};
  uint8_t bytes[N * D];
  double center[D], x[N][D], y[D + 2], L = 0, worst = 0;
  for (size_t i = 0; i < D; i++) center[i] = (double)test_below(&rng, 256);
  for (size_t row = 0; row < N; row++) {
    double difference[D];
    for (size_t i = 0; i < D; i++) {
      bytes[row * D + i] = (uint8_t)test_below(&rng, 256);
      x[row][i] = bytes[row * D + i];
      difference[i] = x[row][i] - center[i];
    }
    L = fmax(L, norm_of(difference, D));
  }
  for (size_t kind = CPB_TRANSFORM_CENTER; kind <= CPB_TRANSFORM_LIFT_COSINE; kind++)
    for (size_t row = 0; row < N; row++) {
      cpb_transform *transform = make((cpb_transform_kind)kind, D, center, L);
      cpb_role role = row % 2 == 0 ? CPB_ROLE_BASE : CPB_ROLE_QUERY;
      size_t cols = cpb_transform_cols(transform);
      cpb_error error = {.row = -1};
      test_status((int)cpb_transform_apply(transform, role, cpb_rows(bytes + row * D, CPB_U8, 1, D),
                                           cpb_rows_out(y, CPB_F64, 1, cols), NULL, &error),
                  CPB_OK, error.text);
      test_worst(&worst, row_error((cpb_transform_kind)kind, role, x[row], center, D, L, y, CPB_F64));
      cpb_transform_free(transform);
    }
  law_holds("T13", "transforms of bytes about a centre", "f64", worst, 16);
}

/* ---- the order ---- */

static double product(const double *a, const double *b, size_t d) {
  double sum = 0;
  for (size_t i = 0; i < d; i++) sum += a[i] * b[i];
  return sum;
}

/* Larger is nearer. */
static double nearness(cpb_metric metric, const double *a, const double *b, size_t d) {
  double sum = 0;
  if (metric == CPB_IP) return product(a, b, d);
  if (metric == CPB_COSINE) return product(a, b, d) / sqrt(product(a, a, d) * product(b, b, d));
  for (size_t i = 0; i < d; i++) sum -= (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

/* Pairs of rows that differ by more than rounding have the same order after the lift. */
static void lifts_keep_the_order(void **state) {
  (void)state;
  enum { N = 120, Q = 12, D = 9 };
  test_rng rng = {133};
  static double x[(N + Q) * D], y[N * (D + 2)], q[Q * (D + 2)];
  double center[D] = {0}, L = 0;
  for (size_t i = 0; i < (N + Q) * D; i++) x[i] = 3 + test_gauss(&rng) * (double)(1 + i % 4);
  for (size_t kind = CPB_TRANSFORM_LIFT_IP; kind < CPB_TRANSFORMS; kind++) {
    cpb_transform_facts facts = cpb_transform_about((cpb_transform_kind)kind);
    for (size_t i = 0; i < D; i++) center[i] = facts.centred ? 3 : 0;
    test_status((int)cpb_max_norm(cpb_rows(x, CPB_F64, N, D), center, &L, NULL, NULL), CPB_OK, "");
    cpb_transform *transform = make((cpb_transform_kind)kind, D, center, L);
    size_t cols = cpb_transform_cols(transform), judged = 0;
    cpb_error error = {.row = -1};
    test_status((int)cpb_transform_apply(transform, CPB_ROLE_BASE, cpb_rows(x, CPB_F64, N, D),
                                         cpb_rows_out(y, CPB_F64, N, cols), NULL, &error),
                CPB_OK, error.text);
    test_status((int)cpb_transform_apply(transform, CPB_ROLE_QUERY, cpb_rows(x + N * D, CPB_F64, Q, D),
                                         cpb_rows_out(q, CPB_F64, Q, cols), NULL, &error),
                CPB_OK, error.text);
    for (size_t j = 0; j < Q; j++)
      for (size_t a = 0; a < N; a++)
        for (size_t b = 0; b < a; b++) {
          const double *from = x + (N + j) * D, *to = q + j * cols;
          double gap = nearness(facts.keeps, x + a * D, from, D) - nearness(facts.keeps, x + b * D, from, D);
          double lifted =
              nearness(facts.metric, y + a * cols, to, cols) - nearness(facts.metric, y + b * cols, to, cols);
          if (fabs(gap) < 1e-9) continue;
          assert_true((gap > 0) == (lifted > 0));
          judged++;
        }
    assert_true(judged > Q * N * (N - 1) / 2 * 9 / 10);
    cpb_transform_free(transform);
  }
}

/* ---- the edges ---- */

static void rows_without_an_image(void **state) {
  (void)state;
  const double x[] = {1, 2, NAN, 0, INFINITY, 1, 0, 0, 3, 4, 3.1, 4};
  double y[6 * 4];
  cpb_error error;
  static const struct {
    cpb_transform_kind kind;
    cpb_role role;
    int64_t first, bad;
  } cases[] = {
      {CPB_TRANSFORM_NONE, CPB_ROLE_BASE, 1, 2},      {CPB_TRANSFORM_NORMALIZE, CPB_ROLE_BASE, 1, 3},
      {CPB_TRANSFORM_LIFT_IP, CPB_ROLE_BASE, 1, 2},   {CPB_TRANSFORM_LIFT_COSINE, CPB_ROLE_BASE, 1, 3},
      {CPB_TRANSFORM_IP_COSINE, CPB_ROLE_BASE, 1, 3}, {CPB_TRANSFORM_IP_COSINE, CPB_ROLE_QUERY, 1, 3},
      {CPB_TRANSFORM_IP_L2, CPB_ROLE_BASE, 1, 3},     {CPB_TRANSFORM_IP_L2, CPB_ROLE_QUERY, 1, 2}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cpb_transform *transform = make(cases[i].kind, 2, NULL, 5);
    size_t cols = cpb_transform_cols(transform);
    int64_t bad = 0;
    cpb_status status = cpb_transform_apply(transform, cases[i].role, cpb_rows(x, CPB_F64, 6, 2),
                                            cpb_rows_out(y, CPB_F64, 6, cols), NULL, &error);
    assert_int_equal(status, CPB_EROW);
    assert_int_equal(error.row, cases[i].first);
    for (size_t row = 0; row < 6; row++) bad += isnan(y[row * cols]) && isnan(y[row * cols + cols - 1]);
    assert_int_equal(bad, cases[i].bad);
    cpb_transform_free(transform);
  }
  cpb_transform *transform = make(CPB_TRANSFORM_LIFT_COSINE, 2, NULL, 5);
  assert_int_equal(cpb_transform_apply(transform, CPB_ROLE_BASE, cpb_rows(x + 8, CPB_F64, 2, 2),
                                       cpb_rows_out(y, CPB_F64, 2, 4), NULL, &error),
                   CPB_EROW);
  assert_int_equal(error.row, 1);
  assert_non_null(strstr(error.text, "longer than 5, the longest row that transform lift-cosine"));
  cpb_transform_free(transform);
  transform = make(CPB_TRANSFORM_NONE, 1, NULL, 0);
  const double huge = 1e300;
  float narrow;
  assert_int_equal(cpb_transform_apply(transform, CPB_ROLE_BASE, cpb_rows(&huge, CPB_F64, 1, 1),
                                       cpb_rows_out(&narrow, CPB_F32, 1, 1), NULL, &error),
                   CPB_EROW);
  assert_true(isnan(narrow));
  assert_int_equal(cpb_transform_apply(transform, CPB_ROLE_BASE, cpb_rows(NULL, CPB_F64, 0, 1),
                                       cpb_rows_out(NULL, CPB_F64, 0, 1), NULL, &error),
                   CPB_OK);
  cpb_transform_free(transform);
}

static void options_outside_their_domain(void **state) {
  (void)state;
  const double center[] = {1, NAN};
  cpb_transform_options good;
  cpb_transform_options_init(&good, sizeof good);
  good.kind = CPB_TRANSFORM_LIFT_COSINE;
  good.d = 2;
  good.max_norm = 1;
  cpb_transform_options bad[] = {good, good, good, good, good, good, good};
  bad[0].size = 1;
  bad[1].kind = (cpb_transform_kind)CPB_TRANSFORMS;
  bad[2].d = 0;
  bad[3].center = center;
  bad[4].max_norm = 0;
  bad[5].max_norm = INFINITY;
  bad[6].kind = CPB_TRANSFORM_IP_L2, bad[6].center = center;
  cpb_transform *transform;
  cpb_error error;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_int_equal(cpb_transform_new(&bad[i], &transform, &error), CPB_EINVAL);
    assert_null(transform);
  }
  assert_null(cpb_transform_about((cpb_transform_kind)-1).name);
  transform = make(CPB_TRANSFORM_LIFT_COSINE, 2, NULL, 1);
  double x[4] = {0};
  assert_int_equal(cpb_transform_apply(transform, CPB_ROLE_BASE, cpb_rows(x, CPB_F64, 1, 2),
                                       cpb_rows_out(x, CPB_F64, 1, 4), NULL, &error),
                   CPB_ESHAPE);
  assert_int_equal(cpb_transform_apply(transform, (cpb_role)2, cpb_rows(x, CPB_F64, 0, 2),
                                       cpb_rows_out(x, CPB_F64, 0, 4), NULL, &error),
                   CPB_EINVAL);
  cpb_transform_free(transform);
  cpb_transform_free(NULL);
}

static void any_threads_same_bits(void **state) {
  (void)state;
  enum { N = 3000, D = 70 };
  static float x[N * D], y[2][N * (D + 2)];
  test_rng rng = {134};
  for (size_t i = 0; i < N * D; i++) x[i] = (float)test_gauss(&rng);
  double L;
  test_status((int)cpb_max_norm(cpb_rows(x, CPB_F32, N, D), NULL, &L, NULL, NULL), CPB_OK, "");
  cpb_transform *transform = make(CPB_TRANSFORM_LIFT_COSINE, D, NULL, L);
  for (size_t threads = 1; threads <= 3; threads += 2) {
    cpb_pool *pool;
    test_status((int)cpb_pool_new(threads, &pool, NULL), CPB_OK, "");
    test_status((int)cpb_transform_apply(transform, CPB_ROLE_BASE, cpb_rows(x, CPB_F32, N, D),
                                         cpb_rows_out(y[threads / 2], CPB_F32, N, D + 2), cpb_pool_exec(pool),
                                         NULL),
                CPB_OK, "");
    cpb_pool_free(pool);
  }
  assert_memory_equal(y[0], y[1], sizeof y[0]);
  cpb_transform_free(transform);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(formulas),
      cmocka_unit_test(bytes_about_a_centre),
      cmocka_unit_test(lifts_keep_the_order),
      cmocka_unit_test(rows_without_an_image),
      cmocka_unit_test(options_outside_their_domain),
      cmocka_unit_test(any_threads_same_bits),
  };
  return cmocka_run_group_tests_name("T13 transforms", tests, NULL, NULL);
}

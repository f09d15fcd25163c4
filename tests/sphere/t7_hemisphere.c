/* T7: the scale that puts data within an angle of the pole, and the norm it needs. */
#include "sphere/t7_hemisphere.h"
#include "support/check.h"

#include "capball/advanced/laws.h"
#include "capball/map.h"
#include "support/big.h"

/* The embedding T1 of a number x, in 512 bits: y0 and the colatitude 2 atan(|x|/s). */
static big big_y0(double x, double s) {
  big n = big_square(big_of(x)), s2 = big_square(big_of(s));
  return big_div(big_sub(s2, n), big_add(s2, n));
}
static big big_colatitude(double x, double s) {
  return big_mul(big_of(2), big_atan(big_div(big_of(x), big_of(s))));
}

static void north_is_within_s(void **state) {
  (void)state;
  test_rng rng = {7};
  for (int trial = 0; trial < 2000; trial++) {
    big_reset();
    double s = test_log_uniform(&rng, 1e-100, 1e100);
    assert_true(mpfr_sgn(big_y0(s, s)) == 0);
    assert_true(mpfr_sgn(big_y0(nextafter(s, 0), s)) > 0);
    assert_true(mpfr_sgn(big_y0(nextafter(s, INFINITY), s)) < 0);
    double scale = cpb_hemisphere_scale(s, acos(0));
    assert_true(scale >= s && scale <= s * (1 + 4 * U64));
    assert_true(mpfr_sgn(big_y0(s, scale)) >= 0);
  }
}

static void the_scale_of_an_angle(void **state) {
  (void)state;
  test_rng rng = {71};
  double worst = 0;
  for (int trial = 0; trial < 4000; trial++) {
    big_reset();
    double reach = test_log_uniform(&rng, 1e-100, 1e100), phi = test_uniform(&rng) * 3.14159265;
    if (trial % 4 == 0) phi = test_log_uniform(&rng, 1e-100, 1);
    if (!(phi > 0)) continue;
    double s = cpb_hemisphere_scale(reach, phi);
    test_worst(&worst, big_relative_error(s, big_div(big_of(reach), big_tan(big_of(phi / 2)))));
    /* strict with strict: a little more scale is inside, a little less is not */
    assert_true(mpfr_cmp_d(big_colatitude(reach, s * (1 + 8 * U64)), phi) < 0);
    assert_true(mpfr_cmp_d(big_colatitude(reach, s * (1 - 8 * U64)), phi) > 0);
  }
  law_holds("T7", "s of a colatitude", "f64", worst, 4);
}

static void outside_the_domain(void **state) {
  (void)state;
  static const double norms[] = {0, -1, NAN, INFINITY, -INFINITY},
                      angles[] = {0, -1, 3.2, 4 * 0.78539816339744831, NAN, INFINITY};
  for (size_t i = 0; i < 5; i++) assert_true(isnan(cpb_hemisphere_scale(norms[i], 1)));
  for (size_t i = 0; i < 6; i++) assert_true(isnan(cpb_hemisphere_scale(1, angles[i])));
  assert_true(isnan(cpb_hemisphere_scale(1e300, 1e-20)));   /* s would overflow */
  assert_true(isnan(cpb_hemisphere_scale(0x1p-1074, 3.1))); /* s would be 0 */
  assert_true(cpb_hemisphere_scale(0x1p-1074, 1) > 0);
}

static void the_largest_norm(void **state) {
  (void)state;
  enum { N = 5000, D = 300 };
  test_rng rng = {72};
  double worst = 0;
  static float x[N * 7];
  for (size_t i = 0; i < N * 7; i++) x[i] = (float)test_gauss(&rng);
  double center[7], want = 0;
  for (size_t i = 0; i < 7; i++) center[i] = test_gauss(&rng);
  for (size_t row = 0; row < N; row++) {
    double sum = 0;
    for (size_t i = 0; i < 5; i++) sum += pow((double)x[row * 7 + i] - center[i], 2);
    want = fmax(want, sqrt(sum));
  }
  static const size_t threads[] = {1, 2, 3, 8};
  double first = 0;
  for (size_t t = 0; t < 5; t++) {
    cpb_pool *pool = NULL;
    if (t > 0) test_status((int)cpb_pool_new(threads[t - 1], &pool, NULL), CPB_OK, "");
    double got = 0;
    cpb_view rows = {x, CPB_F32, N, 5, 7};
    test_status((int)cpb_max_norm(rows, center, &got, cpb_pool_exec(pool), NULL), CPB_OK, "");
    cpb_pool_free(pool);
    if (t == 0) first = got;
    assert_memory_equal(&got, &first, sizeof got);
  }
  assert_true(fabs(first / want - 1) <= 8 * U64);

  static double row[D];
  static big big_row[D];
  for (int trial = 0; trial < 200; trial++) { /* one row of any size, against 512 bits */
    big_reset();
    size_t d = 1 + test_below(&rng, D);
    double size = trial % 2 ? test_log_uniform(&rng, 1e-300, 1e300) : 1, got;
    for (size_t i = 0; i < d; i++) row[i] = size * test_gauss(&rng);
    big_vector(row, d, big_row);
    test_status((int)cpb_max_norm(cpb_rows(row, CPB_F64, 1, d), NULL, &got, NULL, NULL), CPB_OK, "");
    test_worst(&worst, big_relative_error(got, big_norm(big_row, d)));
  }
  law_holds("T7", "norm of a row, sizes 1e-300 .. 1e300", "f64", worst, 16);
}

static void norms_without_an_answer(void **state) {
  (void)state;
  double x[6] = {1, 2, 3, NAN, 5, INFINITY}, hole[2] = {NAN, 0}, got = 0, huge[2] = {1.7e308, 1.7e308};
  cpb_error error;
  assert_int_equal(cpb_max_norm(cpb_rows(x, CPB_F64, 3, 2), NULL, &got, NULL, &error), CPB_EROW);
  assert_string_equal(error.text, "x row 1 holds NaN");
  assert_true(isnan(got));
  assert_int_equal(cpb_max_norm(cpb_rows(x + 4, CPB_F64, 1, 2), NULL, &got, NULL, &error), CPB_EROW);
  assert_string_equal(error.text, "x row 0 holds inf");
  assert_int_equal(cpb_max_norm(cpb_rows(huge, CPB_F64, 1, 2), NULL, &got, NULL, &error), CPB_EROW);
  assert_non_null(strstr(error.text, "too large"));
  assert_int_equal(cpb_max_norm(cpb_rows(x, CPB_F64, 0, 2), NULL, &got, NULL, &error), CPB_EINVAL);
  assert_non_null(strstr(error.text, "0 rows"));
  assert_int_equal(cpb_max_norm(cpb_rows(x, CPB_F64, 1, 2), hole, &got, NULL, &error), CPB_EINVAL);
  assert_int_equal(cpb_max_norm(cpb_rows(x, CPB_F64, 1, 2), NULL, NULL, NULL, &error), CPB_EINVAL);
  assert_int_equal(cpb_max_norm(cpb_rows(x, CPB_F64, 1, 0), NULL, &got, NULL, &error), CPB_ESHAPE);
  assert_int_equal(cpb_max_norm(cpb_rows(x, CPB_I32, 1, 2), NULL, &got, NULL, NULL), CPB_EDTYPE);
  double zero[2] = {0, 0};
  test_status((int)cpb_max_norm(cpb_rows(zero, CPB_F64, 1, 2), NULL, &got, NULL, NULL), CPB_OK, "");
  assert_true(got == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(north_is_within_s),       cmocka_unit_test(the_scale_of_an_angle),
      cmocka_unit_test(outside_the_domain),      cmocka_unit_test(the_largest_norm),
      cmocka_unit_test(norms_without_an_answer),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

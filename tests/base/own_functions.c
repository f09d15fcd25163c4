/* The library's own hypot, exp, log, pow, sin, cos and tan against MPFR, to the last place: over their whole
 * range, at its ends, and where the argument is nearly one at which the result is 0, 1 or infinite. */
#include "base/elementary.h"
#include "support/big.h"
#include "support/check.h"

enum { DRAWS = 8000 };
static const double half_pi = 0x1.921fb54442d18p+0;

/* In units of the last place of the result; subnormal results have the place of the smallest normal one. */
static double last_places(double got, mpfr_t want) {
  double nearest = mpfr_get_d(want, MPFR_RNDN);
  if (isinf(nearest) || isnan(nearest) || isinf(got) || isnan(got))
    return got == nearest || (isnan(got) && isnan(nearest)) ? 0 : INFINITY;
  int exponent;
  frexp(nearest, &exponent);
  if (nearest == 0 || exponent < -1021) exponent = -1021;
  mpfr_t gap;
  mpfr_init2(gap, BIG_BITS);
  mpfr_sub_d(gap, want, got, MPFR_RNDN);
  mpfr_mul_2si(gap, gap, 53 - exponent, MPFR_RNDN);
  double places = fabs(mpfr_get_d(gap, MPFR_RNDN));
  mpfr_clear(gap);
  return places;
}

typedef int big_function(mpfr_ptr to, mpfr_srcptr x, mpfr_rnd_t round);
typedef int big_function2(mpfr_ptr to, mpfr_srcptr x, mpfr_srcptr y, mpfr_rnd_t round);

static double error1(double function(double), big_function *truth, double x) {
  mpfr_t want;
  mpfr_init2(want, BIG_BITS);
  mpfr_set_d(want, x, MPFR_RNDN);
  truth(want, want, MPFR_RNDN);
  double error = last_places(function(x), want);
  mpfr_clear(want);
  return error;
}

static double error2(double function(double, double), big_function2 *truth, double x, double y) {
  mpfr_t want, other;
  mpfr_inits2(BIG_BITS, want, other, (mpfr_ptr)NULL);
  mpfr_set_d(want, x, MPFR_RNDN);
  mpfr_set_d(other, y, MPFR_RNDN);
  truth(want, want, other, MPFR_RNDN);
  double error = last_places(function(x, y), want);
  mpfr_clears(want, other, (mpfr_ptr)NULL);
  return error;
}

static double either_sign(test_rng *rng, double x) { return test_bits(rng) & 1 ? x : -x; }

static void hypot_(void **state) {
  (void)state;
  test_rng rng = {1};
  double worst = 0;
  for (int i = 0; i < DRAWS; i++) {
    double x = test_log_uniform(&rng, 1e-323, 1e308), y = x * test_log_uniform(&rng, 1e-18, 1);
    test_worst(&worst, error2(cpb_hypot, mpfr_hypot, either_sign(&rng, x), either_sign(&rng, y)));
    test_worst(&worst, error2(cpb_hypot, mpfr_hypot, y, x));
  }
  static const double edge[] = {0,       0x1p-1074, 0x1p-1022, 1, 1.5, 3, 0x1p500, 0x1.fffffffffffffp1023,
                                INFINITY};
  for (size_t i = 0; i < 9; i++)
    for (size_t j = 0; j < 9; j++) test_worst(&worst, error2(cpb_hypot, mpfr_hypot, edge[i], edge[j]));
  assert_true(isnan(cpb_hypot(NAN, 1)) && isnan(cpb_hypot(1, NAN)) && isinf(cpb_hypot(-INFINITY, NAN)));
  assert_true(cpb_hypot(3, 4) == 5 && cpb_hypot(-0.0, -0.0) == 0);
  law_holds("functions", "hypot, in last places", "f64", worst, 1);
}

static void exp_(void **state) {
  (void)state;
  test_rng rng = {2};
  double worst = 0;
  for (int i = 0; i < DRAWS; i++) {
    test_worst(&worst, error1(cpb_exp, mpfr_exp, -750 + 1465 * test_uniform(&rng)));
    test_worst(&worst, error1(cpb_exp, mpfr_exp, either_sign(&rng, test_log_uniform(&rng, 1e-300, 1))));
  }
  static const double edge[] = {0,
                                0x1p-1074,
                                0x1p-54,
                                1,
                                0x1.62e42fefa39efp-1,
                                0x1.62e42fefa39efp-2,
                                709,
                                710,
                                745.2,
                                0x1.62e42fefa39efp+9,
                                0x1.62e42fefa39f0p+9,
                                746,
                                1e300,
                                INFINITY};
  for (size_t i = 0; i < sizeof edge / sizeof *edge; i++)
    for (double sign = -1; sign <= 1; sign += 2)
      test_worst(&worst, error1(cpb_exp, mpfr_exp, sign * edge[i]));
  assert_true(isnan(cpb_exp(NAN)) && cpb_exp(0) == 1);
  law_holds("functions", "exp, in last places", "f64", worst, 1);
}

static void log_(void **state) {
  (void)state;
  test_rng rng = {3};
  double worst = 0;
  for (int i = 0; i < DRAWS; i++) {
    test_worst(&worst, error1(cpb_log, mpfr_log, test_log_uniform(&rng, 1e-323, 1e308)));
    test_worst(&worst, error1(cpb_log, mpfr_log, 1 + either_sign(&rng, test_log_uniform(&rng, 1e-16, .5))));
  }
  static const double edge[] = {0,
                                0x1p-1074,
                                0x1p-1022,
                                0x1.6a09e667f3bccp-1,
                                0x1.6a09e667f3bcdp-1,
                                1,
                                0x1.fffffffffffffp-1,
                                0x1.0000000000001p0,
                                2,
                                0x1.fffffffffffffp1023,
                                INFINITY};
  for (size_t i = 0; i < sizeof edge / sizeof *edge; i++)
    test_worst(&worst, error1(cpb_log, mpfr_log, edge[i]));
  assert_true(isnan(cpb_log(NAN)) && isnan(cpb_log(-1)) && isnan(cpb_log(-INFINITY)) && cpb_log(1) == 0);
  law_holds("functions", "log, in last places", "f64", worst, 1);
}

static void pow_(void **state) {
  (void)state;
  test_rng rng = {4};
  double worst = 0;
  for (int i = 0; i < DRAWS; i++) {
    double x = test_log_uniform(&rng, 1e-300, 1e300), most = 745 / fmax(fabs(log(x)), 1e-3);
    test_worst(&worst, error2(cpb_pow, mpfr_pow, x, most * (2 * test_uniform(&rng) - 1)));
    test_worst(&worst, error2(cpb_pow, mpfr_pow, either_sign(&rng, test_log_uniform(&rng, .01, 100)),
                              (double)test_below(&rng, 12) - 3));
    x = 1 + either_sign(&rng, test_log_uniform(&rng, 1e-15, .5));
    test_worst(&worst, error2(cpb_pow, mpfr_pow, x, either_sign(&rng, test_log_uniform(&rng, 1, 1e12))));
  }
  static const double edge[] = {0, 0x1p-1074, 1e-300, .5, 1, 2, 3, 10, 1e300, INFINITY};
  for (size_t i = 0; i < 10; i++)
    for (size_t j = 0; j < 10; j++)
      for (int signs = 0; signs < 4; signs++) {
        double x = signs & 1 ? -edge[i] : edge[i], y = signs & 2 ? -edge[j] : edge[j];
        test_worst(&worst, error2(cpb_pow, mpfr_pow, x, y));
      }
  assert_true(cpb_pow(10, 3) == 1000 && cpb_pow(10, 22) == 1e22 && cpb_pow(NAN, 0) == 1 &&
              isnan(cpb_pow(NAN, 1)));
  law_holds("functions", "pow, in last places", "f64", worst, 1);
}

static void waves_of(const char *name, double function(double), big_function *truth) {
  test_rng rng = {5};
  double worst = 0;
  for (int i = 0; i < DRAWS; i++) {
    double quarter = half_pi * (double)test_below(&rng, 651), near = test_log_uniform(&rng, 1e-17, 1);
    test_worst(&worst, error1(function, truth, either_sign(&rng, fmin(1024, quarter + near))));
    test_worst(&worst, error1(function, truth, 7 * test_uniform(&rng)));
    test_worst(&worst, error1(function, truth, either_sign(&rng, test_log_uniform(&rng, 1e-323, 1))));
  }
  for (int k = 0; k < 652; k++)
    for (double x = nextafter(k * half_pi, -1), i = 0; i < 3; i++, x = nextafter(x, 2000))
      test_worst(&worst, error1(function, truth, x));
  assert_true(isnan(function(NAN)) && isnan(function(INFINITY)) && isnan(function(-1025)));
  law_holds("functions", name, "f64", worst, 1);
}

static void sin_(void **state) { (void)state, waves_of("sin, in last places", cpb_sin, mpfr_sin); }
static void cos_(void **state) { (void)state, waves_of("cos, in last places", cpb_cos, mpfr_cos); }
static void tan_(void **state) { (void)state, waves_of("tan, in last places", cpb_tan, mpfr_tan); }

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hypot_), cmocka_unit_test(exp_), cmocka_unit_test(log_), cmocka_unit_test(pow_),
      cmocka_unit_test(sin_),   cmocka_unit_test(cos_), cmocka_unit_test(tan_),
  };
  return cmocka_run_group_tests_name("own functions", tests, NULL, NULL);
}

/* T7: the scale that puts data within an angle of the pole, and the norm it needs. */
#include "support/check.h"

#include "capball/hemisphere.h"
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(north_is_within_s),
      cmocka_unit_test(the_scale_of_an_angle),
      cmocka_unit_test(outside_the_domain),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

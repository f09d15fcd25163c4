/* T4: one quadratic form for all regions; translation and change of scale. */
#include <stdbool.h>

#include "geometry/regions.h"
#include "support/check.h"

#include "capball/region.h"
#include "support/big.h"

enum { D = 5 };

static void random_vector(test_rng *rng, size_t d, double length, double *c) {
  test_direction(rng, d, c);
  for (size_t i = 0; i < d; i++) c[i] *= length;
}

static cpb_region random_ball(test_rng *rng, double *c, double span) {
  cpb_region region = {.kind = test_below(rng, 2) ? CPB_BALL : CPB_COMPLEMENT, .d = 1 + test_below(rng, D)};
  region.c = c;
  region.r = test_log_uniform(rng, 1 / span, span);
  random_vector(rng, region.d, test_log_uniform(rng, 1 / span, span), c);
  return region;
}

static cpb_quadric quadric_of(const cpb_region *region, double s, double *m) {
  double p[D + 1];
  cpb_cap cap = {.p = p};
  cpb_quadric quadric = {.m = m};
  cpb_error error = {0};
  test_status((int)cpb_cap_from_region(region, s, &cap, &error), CPB_OK, error.text);
  test_status((int)cpb_quadric_from_cap(&cap, s, &quadric, &error), CPB_OK, error.text);
  return quadric;
}

static cpb_region region_of(const cpb_quadric *quadric, double s, double *c) {
  double p[D + 1];
  cpb_cap cap = {.p = p};
  cpb_region region = {.c = c};
  cpb_error error = {0};
  test_status((int)cpb_cap_from_quadric(quadric, s, &cap, &error), CPB_OK, error.text);
  test_status((int)cpb_region_from_cap(&cap, s, &region, &error), CPB_OK, error.text);
  return region;
}

/* N of T3 with the sign of the kind, and |c|^2+r^2. */
static big big_N(const cpb_region *region, double s, big *size2) {
  big c[D], S = big_of(s), r = big_of(region->r);
  big_vector(region->c, region->d, c);
  big norm = big_norm(c, region->d);
  *size2 = big_add(big_square(norm), big_square(r));
  big N = big_mul(big_hypot(big_add(norm, r), S), big_hypot(big_sub(norm, r), S));
  return region->kind == CPB_COMPLEMENT ? big_neg(N) : N;
}

static big big_c2_minus_r2(const cpb_region *region) {
  big c[D];
  big_vector(region->c, region->d, c);
  return big_sub(big_dot(c, c, region->d), big_square(big_of(region->r)));
}

/* (k2, m, k0, root) = k2 (1, c, |c|^2-r^2, |r|), k2 = 2s^2/N. */
static void the_form_of_a_cap(void **state) {
  (void)state;
  test_rng rng = {4};
  double worst_k2 = 0, worst_m = 0, worst_k0 = 0, worst_root = 0;
  for (int trial = 0; trial < 6000; trial++) {
    big_reset();
    double c[D], m[D], s = test_log_uniform(&rng, 1e-6, 1e6);
    cpb_region region = random_ball(&rng, c, 1e6);
    if (trial % 4 == 0) region.r = fabs(c[0]) * (1 + 1e-9) + 1e-9;
    cpb_quadric quadric = quadric_of(&region, s, m);
    big size2, N = big_N(&region, s, &size2), k2 = big_div(big_mul(big_of(2), big_square(big_of(s))), N),
               M[D];
    big_vector(c, region.d, M);
    for (size_t i = 0; i < region.d; i++) M[i] = big_mul(k2, M[i]);
    test_worst(&worst_k2, big_relative_error(quadric.k2, k2));
    test_worst(&worst_m, big_vector_error(m, M, region.d, big_norm(M, region.d)));
    test_worst(&worst_k0, big_error(quadric.k0, big_mul(k2, big_c2_minus_r2(&region)), big_mul(k2, size2)));
    test_worst(&worst_root, big_relative_error(quadric.root, big_abs(big_mul(k2, big_of(region.r)))));
  }
  law_holds("T4", "cap -> quadric: k2", "f64", worst_k2, 8);
  law_holds("T4", "cap -> quadric: m", "f64", worst_m, 8);
  law_holds("T4", "cap -> quadric: k0, of k2(|c|^2+r^2)", "f64", worst_k0, 32);
  law_holds("T4", "cap -> quadric: root", "f64", worst_root, 8);
}

/* Read at one scale, written at another: the cap T3 has at the other scale. The form knows |c|-r
 * only through |c|^2-r^2, so the errors of p and b grow with (|c|^2+r^2+s^2)/N. */
static void the_scale_can_be_changed(void **state) {
  (void)state;
  test_rng rng = {41};
  double worst_cap = 0, worst_c = 0, worst_r = 0;
  for (int trial = 0; trial < 6000; trial++) {
    big_reset();
    double c[D], m[D], p[D + 1], back[D];
    double s = test_log_uniform(&rng, 1e-4, 1e4), other = test_log_uniform(&rng, 1e-4, 1e4);
    cpb_region region = random_ball(&rng, c, 1e4);
    cpb_quadric quadric = quadric_of(&region, s, m);
    cpb_cap cap = {.p = p};
    test_status((int)cpb_cap_from_quadric(&quadric, other, &cap, NULL), CPB_OK, "");
    size_t d = region.d;
    big size2, N = big_N(&region, other, &size2), s2 = big_square(big_of(other)), want[D + 1];
    big_vector(c, d, want);
    for (size_t i = 0; i < d; i++)
      want[i] = big_div(big_mul(big_mul(big_of(2 * other), want[i]), big_of(1)), N);
    big k0 = big_c2_minus_r2(&region), unit = big_div(big_add(size2, s2), big_abs(N));
    want[d] = big_div(big_sub(s2, k0), N);
    test_worst(&worst_cap, big_vector_error(p, want, d + 1, unit));
    test_worst(&worst_cap, big_error(cap.b, big_div(big_add(s2, k0), N), unit));
    cpb_region again = region_of(&quadric, other, back);
    assert_int_equal(again.kind, region.kind);
    big exact[D];
    big_vector(c, d, exact);
    test_worst(&worst_c, big_vector_error(back, exact, d, big_norm(exact, d)));
    test_worst(&worst_r, big_relative_error(again.r, big_of(region.r)));
  }
  law_holds("T4", "change of s: p and b, times (|c|^2+r^2+s^2)/N", "f64", worst_cap, 32);
  law_holds("T4", "change of s: c", "f64", worst_c, 16);
  law_holds("T4", "change of s: r", "f64", worst_r, 16);
}

static void a_move_moves_the_centre(void **state) {
  (void)state;
  test_rng rng = {42};
  double worst_c = 0, worst_r = 0, worst_k0 = 0;
  for (int trial = 0; trial < 6000; trial++) {
    big_reset();
    double c[D], m[D], t[D], got[D];
    cpb_region region = random_ball(&rng, c, 1e4);
    size_t d = region.d;
    random_vector(&rng, d, test_log_uniform(&rng, 1e-4, 1e4), t);
    double s = test_log_uniform(&rng, 1e-2, 1e2);
    cpb_quadric quadric = quadric_of(&region, s, m);
    cpb_quadric_translate(&quadric, t);
    big want[D], T[D], r = big_of(region.r);
    big_vector(c, d, want);
    big_vector(t, d, T);
    big reach = big_add(big_norm(want, d), big_norm(T, d));
    for (size_t i = 0; i < d; i++) want[i] = big_add(want[i], T[i]);
    for (size_t i = 0; i < d; i++) got[i] = m[i] / quadric.k2;
    test_worst(&worst_c, big_vector_error(got, want, d, reach));
    test_worst(&worst_r, big_relative_error(fabs(quadric.root / quadric.k2), r));
    big k0 = big_sub(big_dot(want, want, d), big_square(r));
    big unit = big_mul(big_add(reach, r), big_add(big_norm(want, d), r));
    test_worst(&worst_k0, big_error(quadric.k0 / quadric.k2, k0, unit));
  }
  law_holds("T4", "translation: c, of |c|+|t|", "f64", worst_c, 16);
  law_holds("T4", "translation: r", "f64", worst_r, 16);
  law_holds("T4", "translation: k0/k2, of (|c|+|t|+r)(|c+t|+r)", "f64", worst_k0, 32);
}

/* A ball of radius 1e-8 at distance 1e8, moved onto its centre and back. */
static void a_tiny_ball_far_away(void **state) {
  (void)state;
  test_rng rng = {43};
  double worst_c = 0, worst_r = 0;
  for (int trial = 0; trial < 2000; trial++) {
    double c[D], m[D], t[D], at[D], r = test_log_uniform(&rng, 1e-8, 1e-4),
                                    s = test_log_uniform(&rng, 1, 1e8);
    cpb_region region = {.kind = CPB_BALL, .d = 1 + test_below(&rng, D), .c = c, .r = r};
    random_vector(&rng, region.d, 1e8, c);
    cpb_quadric quadric = quadric_of(&region, s, m);
    for (size_t i = 0; i < region.d; i++) t[i] = -c[i];
    cpb_quadric_translate(&quadric, t);
    cpb_region here = region_of(&quadric, r, at);
    assert_int_equal(here.kind, CPB_BALL);
    test_worst(&worst_r, fabs(here.r / r - 1) / U64);
    for (size_t i = 0; i < region.d; i++) test_worst(&worst_c, fabs(at[i]) / 1e8 / U64);
    cpb_quadric_translate(&quadric, c);
    cpb_region back = region_of(&quadric, s, at);
    test_worst(&worst_r, fabs(back.r / r - 1) / U64);
    for (size_t i = 0; i < region.d; i++) test_worst(&worst_c, fabs(at[i] - c[i]) / 1e8 / U64);
  }
  law_holds("T4", "tiny far ball onto its centre and back: r", "f64", worst_r, 16);
  law_holds("T4", "tiny far ball onto its centre and back: c, of |c|", "f64", worst_c, 16);
}

/* |x-c|^2-r^2 = (|x|^2+s^2)(b-<p,S(x)>)/a, and both are Q(x)/k2. */
static void the_power_identity(void **state) {
  (void)state;
  test_rng rng = {44};
  double worst_identity = 0, worst_value = 0;
  for (int trial = 0; trial < 4000; trial++) {
    big_reset();
    double c[D], m[D], x[D], p[D + 1], s = test_log_uniform(&rng, 1e-2, 1e2);
    cpb_region region = random_ball(&rng, c, 1e2);
    size_t d = region.d;
    if (trial % 2) region.r = 1e-6;
    random_vector(&rng, d, test_log_uniform(&rng, 1e-2, 1e2), x);
    if (trial % 4 == 1)
      for (size_t i = 0; i < d; i++) x[i] = c[i] + 1e-6 * x[i];
    cpb_cap cap = {.p = p};
    test_status((int)cpb_cap_from_region(&region, s, &cap, NULL), CPB_OK, "");
    big C[D], X[D], P[D + 1], Y[D + 1], Z[D], s2 = big_square(big_of(s)), r = big_of(region.r);
    big_vector(c, d, C);
    big_vector(x, d, X);
    big_vector(p, d + 1, P);
    for (size_t i = 0; i < d; i++) Z[i] = big_sub(X[i], C[i]);
    big n = big_dot(X, X, d), q = big_add(n, s2);
    for (size_t i = 0; i < d; i++) Y[i] = big_div(big_mul(big_of(2 * s), X[i]), q);
    Y[d] = big_div(big_sub(s2, n), q);
    big power = big_sub(big_dot(Z, Z, d), big_square(r)), unit = big_div(q, big_of(cap.a));
    big lifted = big_mul(unit, big_sub(big_of(cap.b), big_dot(P, Y, d + 1)));
    test_worst(&worst_identity, fabs(big_to_double(big_div(big_sub(lifted, power), unit))) / U64);
    cpb_quadric quadric = quadric_of(&region, s, m);
    big reach = big_add(big_add(big_norm(X, d), big_norm(C, d)), r), near = big_add(big_norm(Z, d), r);
    test_worst(&worst_value,
               big_error(cpb_quadric_value(&quadric, x) / quadric.k2, power, big_mul(reach, near)));
  }
  law_holds("T4", "power identity, of (|x|^2+s^2)/a", "f64", worst_identity, 8);
  law_holds("T4", "Q(x)/k2, of (|x|+|c|+r)(|x-c|+r)", "f64", worst_value, 16);
}

static void halfspaces_and_caps_without_a_boundary(void **state) {
  (void)state;
  double n[2] = {0.6, -0.8}, m[2], t[2] = {5, 7}, c[2], p[3];
  cpb_region half = {.kind = CPB_HALFSPACE, .d = 2, .c = n, .r = 3};
  cpb_quadric quadric = quadric_of(&half, 2, m);
  assert_true(quadric.k2 == 0);
  cpb_quadric_translate(&quadric, t);
  cpb_region moved = region_of(&quadric, 11, c);
  assert_int_equal(moved.kind, CPB_HALFSPACE);
  assert_true(fabs(moved.r - (3 + 0.6 * 5 - 0.8 * 7)) <= 32 * U64);
  assert_true(fabs(c[0] - n[0]) + fabs(c[1] - n[1]) <= 8 * U64);

  double x0[2] = {1e8, -3e7}, back[2] = {-1e8, 3e7};
  cpb_region punctured = {.kind = CPB_PUNCTURED, .d = 2, .c = x0};
  quadric = quadric_of(&punctured, 1e8, m);
  cpb_quadric_translate(&quadric, back);
  moved = region_of(&quadric, 1e8, c);
  assert_int_equal(moved.kind, CPB_PUNCTURED);
  assert_true(hypot(c[0], c[1]) <= 16 * U64 * 1e8);

  cpb_region nothing = {.kind = CPB_EMPTY, .d = 2, .c = c}, all = {.kind = CPB_EVERYTHING, .d = 2, .c = c};
  quadric = quadric_of(&nothing, 2, m);
  cpb_quadric_translate(&quadric, t);
  assert_int_equal(region_of(&quadric, 3, c).kind, CPB_EMPTY);
  quadric = quadric_of(&all, 2, m);
  cpb_quadric_translate(&quadric, t);
  assert_int_equal(region_of(&quadric, 3, c).kind, CPB_EVERYTHING);
  p[0] = p[1] = 0, p[2] = 1;
  cpb_cap beyond = {.d = 2, .p = p, .b = -2};
  test_status((int)cpb_cap_complete(&beyond, NULL, NULL), CPB_OK, "");
  test_status((int)cpb_quadric_from_cap(&beyond, 2, &quadric, NULL), CPB_OK, "");
  cpb_quadric_translate(&quadric, t);
  assert_int_equal(region_of(&quadric, 3, c).kind, CPB_EVERYTHING);

  /* |x|^2 + s^2 has no sign on the sphere: p = 0 at this one scale. */
  m[0] = m[1] = 0;
  quadric = (cpb_quadric){.d = 2, .k2 = 1, .k0 = 9, .m = m};
  assert_int_equal(region_of(&quadric, 3, c).kind, CPB_EMPTY);
  quadric.k2 = -1, quadric.k0 = -9;
  assert_int_equal(region_of(&quadric, 3, c).kind, CPB_EVERYTHING);
  quadric.k2 = 0;
  assert_int_equal(region_of(&quadric, 3, c).kind, CPB_EVERYTHING);
  quadric.k0 = 9;
  assert_int_equal(region_of(&quadric, 3, c).kind, CPB_EMPTY);
}

/* A form of any size, read at any scale. */
static void sizes_at_the_ends_of_the_range(void **state) {
  (void)state;
  static const double scale[] = {1e-300, 1e-150, 1, 1e150, 1e300}, factor[] = {1e-300, 1, 1e300};
  for (size_t i = 0; i < 5; i++)
    for (size_t k = 0; k < 3; k++) {
      double m[1] = {3 * factor[k]}, p[2], s = scale[i]; /* (x-3)^2 < 4 */
      cpb_quadric quadric = {.d = 1, .k2 = factor[k], .k0 = 5 * factor[k], .root = 2 * factor[k], .m = m};
      cpb_cap cap = {.p = p};
      big_reset();
      big s2 = big_square(big_of(s)),
          N = big_mul(big_hypot(big_of(5), big_of(s)), big_hypot(big_of(1), big_of(s)));
      big a = big_div(big_mul(big_of(2), s2), N);
      cpb_status status = cpb_cap_from_quadric(&quadric, s, &cap, NULL);
      assert_int_equal(status, mpfr_cmp_d(a, 0x1p-1022) < 0 ? CPB_EINVAL : CPB_OK);
      if (status != CPB_OK) continue;
      assert_true(big_relative_error(cap.a, a) <= 8);
      assert_true(big_relative_error(cap.sigma, big_div(big_mul(big_of(4), big_of(s)), N)) <= 8);
      assert_true(big_error(cap.b, big_div(big_add(s2, big_of(5)), N), big_of(1)) <= 8);
      assert_true(big_error(p[1], big_div(big_sub(s2, big_of(5)), N), big_of(1)) <= 8);
    }
}

static void refuses(cpb_status status, const cpb_error *error, const char *words) {
  assert_int_equal(status, CPB_EINVAL);
  if (strstr(error->text, words) == NULL) fail_msg("\"%s\" lacks \"%s\"", error->text, words);
}

static void what_is_not_a_quadric(void **state) {
  (void)state;
  double m[1] = {3}, zero[1] = {0}, hole[1] = {NAN}, p[2] = {0.6, 0.8};
  cpb_quadric good = {.d = 1, .k2 = 1, .k0 = 5, .root = 2, .m = m}, quadric;
  cpb_cap cap = {.d = 1, .p = p, .b = 0, .sigma = 1, .a = 0.8};
  cpb_error error;
  refuses(cpb_quadric_from_cap(&cap, -1, &good, &error), &error, "got -1");
  refuses(cpb_quadric_from_cap(&cap, 1e-200, &good, &error), &error, "1e-200");
  refuses(cpb_quadric_from_cap(&cap, 1, NULL, &error), &error, "NULL");
  refuses(cpb_quadric_from_cap(NULL, 1, &good, &error), &error, "NULL");
  refuses(cpb_cap_from_quadric(&good, 0, &cap, &error), &error, "scale s");
  refuses(cpb_cap_from_quadric(NULL, 1, &cap, &error), &error, "NULL");
  refuses(cpb_cap_from_quadric(&good, 1, NULL, &error), &error, "NULL");
  quadric = good, quadric.k0 = INFINITY;
  refuses(cpb_cap_from_quadric(&quadric, 1, &cap, &error), &error, "inf");
  quadric = good, quadric.m = hole;
  refuses(cpb_cap_from_quadric(&quadric, 1, &cap, &error), &error, "not finite");
  quadric = good, quadric.root = -2;
  refuses(cpb_cap_from_quadric(&quadric, 1, &cap, &error), &error, "-2");
  quadric = good, quadric.root = 1;
  refuses(cpb_cap_from_quadric(&quadric, 1, &cap, &error), &error, "root 1 is not");
  quadric = (cpb_quadric){.d = 1, .m = zero};
  refuses(cpb_cap_from_quadric(&quadric, 1, &cap, &error), &error, "0 = 0");
  quadric = good, quadric.d = 0;
  refuses(cpb_cap_from_quadric(&quadric, 1, &cap, &error), &error, "dimension 0");
  assert_int_equal(cpb_cap_from_quadric(&good, NAN, &cap, NULL), CPB_EINVAL);
  assert_int_equal(cpb_quadric_from_cap(&cap, NAN, &good, NULL), CPB_EINVAL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_form_of_a_cap),
      cmocka_unit_test(the_scale_can_be_changed),
      cmocka_unit_test(a_move_moves_the_centre),
      cmocka_unit_test(a_tiny_ball_far_away),
      cmocka_unit_test(the_power_identity),
      cmocka_unit_test(halfspaces_and_caps_without_a_boundary),
      cmocka_unit_test(sizes_at_the_ends_of_the_range),
      cmocka_unit_test(what_is_not_a_quadric),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* T5: cap <-> ellipsoid of revolution under a general pole. */
#include <stdbool.h>

#include "sphere/t5_spheroid.h"
#include "support/check.h"

#include "capball/advanced/laws.h"
#include "capball/region.h"
#include "support/big.h"

enum { D = 6 };

/* A unit pole with |w| in [least,1] and either sign of w. */
static void random_pole(test_rng *rng, size_t d, double least, double *v) {
  double w = least + (1 - least) * test_uniform(rng), across = sqrt((1 - w) * (1 + w));
  test_direction(rng, d, v);
  for (size_t i = 0; i < d; i++) v[i] *= across;
  v[d] = test_below(rng, 2) ? w : -w;
}

static void random_vector(test_rng *rng, size_t d, double length, double *c) {
  test_direction(rng, d, c);
  for (size_t i = 0; i < d; i++) c[i] *= length;
}

static double distance(const double *x, const double *y, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += (x[i] - y[i]) * (x[i] - y[i]);
  return sqrt(sum);
}

static double norm(const double *x, size_t n) {
  double zero[D + 1] = {0};
  return distance(x, zero, n);
}

typedef struct errors {
  double p, b, sigma, a;
} errors;

/* cap -> spheroid -> cap with the same v, for caps with |a| and |w| not below `least`; errors are
 * divided by `grows`(a, w). */
static errors round_trips(uint64_t seed, double least, bool grows) {
  test_rng rng = {seed};
  errors worst = {0};
  for (int trial = 0; trial < 6000;) {
    size_t d = 1 + test_below(&rng, D);
    double p[D + 1], v[D + 1], c[D], axis[D], q[D + 1], s = test_log_uniform(&rng, 1e-3, 1e3);
    random_pole(&rng, d, least, v);
    test_direction(&rng, d + 1, p);
    cpb_cap cap = {.d = d, .p = p, .b = 1.9 * test_uniform(&rng) - 0.95}, back = {.p = q};
    test_status((int)cpb_cap_complete(&cap, v, NULL), CPB_OK, "");
    if (fabs(cap.a) < least) continue;
    trial++;
    cpb_region region = {.c = c, .axis = axis};
    cpb_error error = {0};
    test_status((int)cpb_spheroid_from_cap(&cap, s, v, &region, &error), CPB_OK, error.text);
    assert_int_equal(region.kind, cap.a > 0 ? CPB_BALL : CPB_COMPLEMENT);
    assert_true(region.axis == axis && region.W == NULL);
    assert_true(fabs(norm(axis, d) - 1) <= 8 * U64);
    test_status((int)cpb_cap_from_spheroid(&region, s, v, &back, &error), CPB_OK, error.text);
    double unit = grows ? U64 / fabs(cap.a * v[d]) : U64;
    test_worst(&worst.p, distance(p, q, d + 1) / unit);
    test_worst(&worst.b, fabs(back.b - cap.b) / unit);
    test_worst(&worst.sigma, fabs(back.sigma / cap.sigma - 1) / unit);
    test_worst(&worst.a, fabs(back.a / cap.a - 1) / unit);
  }
  return worst;
}

static void cap_to_spheroid_and_back(void **state) {
  (void)state;
  errors near = round_trips(5, 0.3, false), all = round_trips(51, 1e-3, true);
  law_holds("T5", "cap -> spheroid -> cap, |a|, |w| >= 0.3: p", "f64", near.p, 64);
  law_holds("T5", "cap -> spheroid -> cap, |a|, |w| >= 0.3: b", "f64", near.b, 64);
  law_holds("T5", "cap -> spheroid -> cap, |a|, |w| >= 0.3: sigma", "f64", near.sigma, 64);
  law_holds("T5", "cap -> spheroid -> cap, |a|, |w| >= 0.3: a", "f64", near.a, 64);
  law_holds("T5", "cap -> spheroid -> cap, times 1/|a w|: p, b", "f64", fmax(all.p, all.b), 64);
  law_holds("T5", "cap -> spheroid -> cap, times 1/|a w|: sigma, a", "f64", fmax(all.sigma, all.a), 64);
}

/* The radii keep every digit at any size; the centre shares the coordinates of p with the pole, so
 * it is known to s/a. */
static void spheroid_to_pole_to_cap_and_back(void **state) {
  (void)state;
  test_rng rng = {52};
  double worst_r = 0, worst_along = 0, worst_c = 0, near_c = 0;
  for (int trial = 0; trial < 8000; trial++) {
    double span = trial % 2 ? 3 : 1e6;
    size_t d = 1 + test_below(&rng, D);
    double c[D], axis[D], v[D + 1], p[D + 1], at[D], direction[D], s = test_log_uniform(&rng, 1 / span, span);
    double r = test_log_uniform(&rng, 1 / span, span);
    random_vector(&rng, d, test_log_uniform(&rng, 1 / span, span), c);
    test_direction(&rng, d, axis);
    cpb_region region = {.kind = trial % 4 < 2 ? CPB_BALL : CPB_COMPLEMENT, .d = d, .c = c, .r = r};
    region.axis = axis;
    region.along = r * (0.2 + 0.79 * test_uniform(&rng));
    cpb_cap cap = {.p = p};
    cpb_region back = {.c = at, .axis = direction};
    cpb_error error = {0};
    test_status((int)cpb_pole_from_spheroid(&region, v, &error), CPB_OK, error.text);
    assert_true(fabs(norm(v, d + 1) - 1) <= 8 * U64);
    double side = 0;
    for (size_t i = 0; i < d; i++) side += c[i] * v[i];
    assert_true(side >= -1e-12 * norm(c, d));
    test_status((int)cpb_cap_from_spheroid(&region, s, v, &cap, &error), CPB_OK, error.text);
    test_status((int)cpb_spheroid_from_cap(&cap, s, v, &back, &error), CPB_OK, error.text);
    assert_int_equal(back.kind, region.kind);
    test_worst(&worst_r, fabs(back.r / r - 1) / U64);
    test_worst(&worst_along, fabs(back.along / region.along - 1) / U64);
    test_worst(&worst_c, distance(c, at, d) / (norm(c, d) + s / fabs(cap.a)) / U64);
    if (span == 3) test_worst(&near_c, distance(c, at, d) / (norm(c, d) + r + s) / U64);
  }
  law_holds("T5", "spheroid -> pole -> cap -> spheroid: r", "f64", worst_r, 64);
  law_holds("T5", "spheroid -> pole -> cap -> spheroid: along", "f64", worst_along, 64);
  law_holds("T5", "spheroid -> pole -> cap -> spheroid: c, of |c|+s/|a|", "f64", worst_c, 64);
  law_holds("T5", "spheroid -> pole -> cap -> spheroid, sizes 1/3 .. 3: c, of |c|+r+s", "f64", near_c, 64);
}

/* S(x) = 2s H/|H|^2 - v, H = [x, (s-<x,u>)/w] (T2), in 512 bits with v made exactly unit. */
static void big_embed(const big *x, const big *v, size_t d, big s, big *y) {
  big H[D + 1];
  for (size_t i = 0; i < d; i++) H[i] = x[i];
  H[d] = big_div(big_sub(s, big_dot(x, v, d)), v[d]);
  big factor = big_div(big_mul(big_of(2), s), big_dot(H, H, d + 1));
  for (size_t i = 0; i <= d; i++) y[i] = big_sub(big_mul(factor, H[i]), v[i]);
}

static void big_unit(const double *v, size_t n, big *unit) {
  big_vector(v, n, unit);
  big length = big_norm(unit, n);
  for (size_t i = 0; i < n; i++) unit[i] = big_div(unit[i], length);
}

static double off_boundary(const cpb_cap *cap, const big *y) {
  big P[D + 1];
  big_vector(cap->p, cap->d + 1, P);
  return fabs(big_to_double(big_sub(big_dot(P, y, cap->d + 1), big_of(cap->b)))) / U64;
}

/* A point c + along cos(t) axis + r sin(t) across lies on the circle <p,y> = b; one at 1.1 and 0.9 of
 * it does not. */
static void boundaries_are_boundaries(void **state) {
  (void)state;
  test_rng rng = {53};
  double worst = 0;
  for (int trial = 0; trial < 3000; trial++) {
    big_reset();
    size_t d = 2 + test_below(&rng, D - 1);
    double c[D], v[D + 1], p[D + 1], across[D], axis[D], r = test_log_uniform(&rng, 0.3, 3), s = 1.5;
    random_pole(&rng, d, 0.3, v);
    random_vector(&rng, d, test_log_uniform(&rng, 0.3, 3), c);
    test_direction(&rng, d, across);
    for (size_t i = 0; i < d; i++) axis[i] = v[i] / norm(v, d);
    cpb_region region = {.kind = trial % 2 ? CPB_BALL : CPB_COMPLEMENT, .d = d, .c = c, .r = r};
    region.axis = axis;
    region.along = r * fabs(v[d]);
    cpb_cap cap = {.p = p};
    cpb_error error = {0};
    test_status((int)cpb_cap_from_spheroid(&region, s, v, &cap, &error), CPB_OK, error.text);
    big V[D + 1], A[D], U[D], X[D], Y[D + 1];
    big_unit(v, d + 1, V);
    big_unit(v, d, A);
    big_vector(across, d, U);
    big part = big_dot(U, A, d);
    for (size_t i = 0; i < d; i++) U[i] = big_sub(U[i], big_mul(part, A[i]));
    big length = big_norm(U, d), angle = big_of(6.3 * test_uniform(&rng)), t = big_tan(angle);
    big cosine = big_div(big_of(1), big_hypot(big_of(1), t)), sine = big_mul(t, cosine);
    for (int where = -1; where <= 1; where++) {
      big R = big_of(r * (1 + 0.1 * where)), along = big_mul(big_mul(R, big_abs(V[d])), cosine);
      for (size_t i = 0; i < d; i++)
        X[i] = big_add(big_add(big_of(c[i]), big_mul(along, A[i])),
                       big_mul(big_mul(R, sine), big_div(U[i], length)));
      big_embed(X, V, d, big_of(s), Y);
      double off = off_boundary(&cap, Y);
      if (where == 0)
        test_worst(&worst, off);
      else
        assert_true(off > 1e9);
    }
  }
  law_holds("T5", "boundary of the spheroid on the cap's boundary", "f64", worst, 64);
}

static void halfspaces_under_a_pole(void **state) {
  (void)state;
  test_rng rng = {54};
  double worst_n = 0, worst_h = 0, worst_boundary = 0;
  for (int trial = 0; trial < 3000; trial++) {
    big_reset();
    size_t d = 1 + test_below(&rng, D);
    double n[D], v[D + 1], p[D + 1], c[D], axis[D], s = test_log_uniform(&rng, 1e-3, 1e3);
    double h = s * 5 * (2 * test_uniform(&rng) - 1);
    random_pole(&rng, d, 0.3, v);
    test_direction(&rng, d, n);
    cpb_region region = {.kind = CPB_HALFSPACE, .d = d, .c = n, .r = h}, back = {.c = c, .axis = axis};
    cpb_cap cap = {.p = p};
    cpb_error error = {0};
    test_status((int)cpb_cap_from_spheroid(&region, s, v, &cap, &error), CPB_OK, error.text);
    assert_true(cap.a == 0 && fabs(norm(p, d + 1) - 1) <= 64 * U64);
    assert_true(fabs(cap.sigma * cap.sigma + cap.b * cap.b - 1) <= 64 * U64);
    test_status((int)cpb_spheroid_from_cap(&cap, s, v, &back, &error), CPB_OK, error.text);
    assert_int_equal(back.kind, CPB_HALFSPACE);
    test_worst(&worst_n, distance(c, n, d) / U64);
    test_worst(&worst_h, fabs(back.r - h) / (fabs(h) + s) / U64);
    big V[D + 1], N[D], X[D], Y[D + 1];
    big_unit(v, d + 1, V);
    big_unit(n, d, N);
    for (size_t i = 0; i < d; i++) X[i] = big_of(s * test_gauss(&rng));
    big step = big_sub(big_of(h), big_dot(N, X, d));
    for (size_t i = 0; i < d; i++) X[i] = big_add(X[i], big_mul(step, N[i]));
    big_embed(X, V, d, big_of(s), Y);
    test_worst(&worst_boundary, off_boundary(&cap, Y));
  }
  law_holds("T5", "half-space -> cap -> half-space, |w| >= 0.3: n", "f64", worst_n, 64);
  law_holds("T5", "half-space -> cap -> half-space, |w| >= 0.3: h, of |h|+s", "f64", worst_h, 64);
  law_holds("T5", "boundary of a half-space on the cap's boundary", "f64", worst_boundary, 64);
}

/* For v = e everything is T3, bit for bit in kind and round in metric. */
static void the_pole_e_is_t3(void **state) {
  (void)state;
  double c[2] = {3, -1}, e[3] = {0, 0, 1}, p[3], q[3], at[2], axis[2];
  static const cpb_region_kind kinds[] = {CPB_EMPTY,      CPB_BALL,      CPB_HALFSPACE,
                                          CPB_COMPLEMENT, CPB_PUNCTURED, CPB_EVERYTHING};
  for (size_t k = 0; k < 6; k++) {
    cpb_region region = {.kind = kinds[k], .d = 2, .c = c, .r = 2}, back = {.c = at, .axis = axis};
    cpb_cap cap = {.p = p}, same = {.p = q};
    test_status((int)cpb_cap_from_region(&region, 1.5, &cap, NULL), CPB_OK, "");
    test_status((int)cpb_cap_from_spheroid(&region, 1.5, e, &same, NULL), CPB_OK, "");
    assert_true(distance(p, q, 3) <= 4 * U64 && fabs(cap.b - same.b) <= 4 * U64);
    assert_true(fabs(cap.sigma - same.sigma) <= 4 * U64 && fabs(cap.a - same.a) <= 4 * U64);
    test_status((int)cpb_spheroid_from_cap(&same, 1.5, e, &back, NULL), CPB_OK, "");
    assert_int_equal(back.kind, kinds[k]);
    assert_true(back.axis == NULL && back.along == back.r);
  }
}

static void regions_without_axes(void **state) {
  (void)state;
  double v[3] = {0.48, 0.36, -0.8}, x0[2] = {2, -7}, p[3], at[2], axis[2];
  cpb_region region = {.kind = CPB_PUNCTURED, .d = 2, .c = x0}, back = {.c = at, .axis = axis};
  cpb_cap cap = {.p = p};
  test_status((int)cpb_cap_from_spheroid(&region, 3, v, &cap, NULL), CPB_OK, "");
  assert_true(cap.b == -1 && cap.sigma == 0 && cap.a < 0);
  test_status((int)cpb_spheroid_from_cap(&cap, 3, v, &back, NULL), CPB_OK, "");
  assert_int_equal(back.kind, CPB_PUNCTURED);
  assert_true(back.axis == NULL && distance(at, x0, 2) <= 1e3 * U64);
  static const cpb_region_kind kinds[] = {CPB_EMPTY, CPB_EVERYTHING};
  for (size_t k = 0; k < 2; k++) {
    region.kind = kinds[k];
    test_status((int)cpb_cap_from_spheroid(&region, 3, v, &cap, NULL), CPB_OK, "");
    assert_true(distance(p, v, 3) == 0);
    back.axis = axis;
    test_status((int)cpb_spheroid_from_cap(&cap, 3, v, &back, NULL), CPB_OK, "");
    assert_int_equal(back.kind, kinds[k]);
    assert_true(back.axis == NULL);
  }
}

static void refuses(cpb_status status, const cpb_error *error, const char *words) {
  assert_int_equal(status, CPB_EINVAL);
  if (strstr(error->text, words) == NULL) fail_msg("\"%s\" lacks \"%s\"", error->text, words);
}

static void what_is_refused(void **state) {
  (void)state;
  double c[2] = {1, 2}, axis[2] = {0.6, 0.8}, other[2] = {0.8, 0.6}, lengthy[2] = {1, 1}, p[3],
         W[4] = {1, 0, 0, 1};
  double v[3] = {0.36, 0.48, 0.8}, flat[3] = {0.6, 0.8, 0}, longer[3] = {0.36, 0.48, 0.9},
         hole[3] = {0, NAN, 1};
  cpb_region good = {.kind = CPB_BALL, .d = 2, .c = c, .r = 5, .axis = axis, .along = 4}, region;
  cpb_cap cap = {.p = p};
  cpb_error error;
  test_status((int)cpb_cap_from_spheroid(&good, 1, v, &cap, NULL), CPB_OK, "");
  refuses(cpb_cap_from_spheroid(&good, 1, flat, &cap, &error), &error, "must not be 0, got 0");
  refuses(cpb_cap_from_spheroid(&good, 1, longer, &cap, &error), &error, "got |v| = 1.08");
  refuses(cpb_cap_from_spheroid(&good, 1, hole, &cap, &error), &error, "got |v| = nan");
  refuses(cpb_cap_from_spheroid(&good, 1, NULL, &cap, &error), &error, "NULL");
  refuses(cpb_cap_from_spheroid(&good, -2, v, &cap, &error), &error, "got -2");
  refuses(cpb_cap_from_spheroid(NULL, 1, v, &cap, &error), &error, "NULL");
  refuses(cpb_cap_from_spheroid(&good, 1, v, NULL, &error), &error, "NULL");
  region = good, region.along = 4.5;
  refuses(cpb_cap_from_spheroid(&region, 1, v, &cap, &error), &error,
          "the semi-axis along over that across, 0.9");
  region = good, region.along = -1;
  refuses(cpb_cap_from_spheroid(&region, 1, v, &cap, &error), &error, "got -1");
  region = good, region.axis = other;
  refuses(cpb_cap_from_spheroid(&region, 1, v, &cap, &error), &error, "not along the axis");
  region = good, region.axis = lengthy;
  refuses(cpb_cap_from_spheroid(&region, 1, v, &cap, &error), &error, "got 1.414");
  region = good, region.axis = NULL;
  refuses(cpb_cap_from_spheroid(&region, 1, v, &cap, &error), &error, "round region");
  region = good, region.W = W;
  refuses(cpb_cap_from_spheroid(&region, 1, v, &cap, &error), &error, "T6");

  region = (cpb_region){.c = c, .axis = axis};
  refuses(cpb_spheroid_from_cap(&cap, 1, flat, &region, &error), &error, "must not be 0, got 0");
  refuses(cpb_spheroid_from_cap(&cap, 1, longer, &region, &error), &error, "got |v| = 1.08");
  refuses(cpb_spheroid_from_cap(&cap, NAN, v, &region, &error), &error, "nan");
  refuses(cpb_spheroid_from_cap(&cap, 1, v, NULL, &error), &error, "NULL");
  region.axis = NULL;
  refuses(cpb_spheroid_from_cap(&cap, 1, v, &region, &error), &error, "NULL");

  double pole[3];
  region = good, region.along = 6;
  refuses(cpb_pole_from_spheroid(&region, pole, &error), &error,
          "prolate ellipsoid (6 along its axis, 5 across it)");
  region = good, region.kind = CPB_HALFSPACE;
  refuses(cpb_pole_from_spheroid(&region, pole, &error), &error, "halfspace has no axes");
  region = good, region.axis = lengthy;
  refuses(cpb_pole_from_spheroid(&region, pole, &error), &error, "got 1.414");
  refuses(cpb_pole_from_spheroid(&good, NULL, &error), &error, "NULL");
  region = good, region.axis = NULL;
  test_status((int)cpb_pole_from_spheroid(&region, pole, NULL), CPB_OK, "");
  assert_true(pole[0] == 0 && pole[1] == 0 && pole[2] == 1);
  assert_int_equal(cpb_pole_from_spheroid(NULL, pole, NULL), CPB_EINVAL);
  assert_int_equal(cpb_cap_from_spheroid(&good, 1, flat, &cap, NULL), CPB_EINVAL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cap_to_spheroid_and_back),  cmocka_unit_test(spheroid_to_pole_to_cap_and_back),
      cmocka_unit_test(boundaries_are_boundaries), cmocka_unit_test(halfspaces_under_a_pole),
      cmocka_unit_test(the_pole_e_is_t3),          cmocka_unit_test(regions_without_axes),
      cmocka_unit_test(what_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Adversarial tests of regions: balls and caps over 1e+-300, near every edge of T3, against 512 bits; inconsistent
 * caps; what is rejected, and with which message. CPB_ADVERSARY=N runs N times as many cases. */
#include "support/check.h"

#include <stdbool.h>

#include "capball/region.h"
#include "support/big.h"

enum { D = 3, TRIALS = 2000 };

static size_t trials(void) {
  const char *times = getenv("CPB_ADVERSARY");
  return TRIALS * (times == NULL ? 1 : (size_t)strtoul(times, NULL, 10));
}

typedef struct truth {
  big p[D + 1], b, sigma, a;
} truth;

/* T3 by its definition. */
static truth truth_of(const double *c, double r, double s) {
  truth t;
  big C[D], S = big_of(s), R = big_of(r);
  big_vector(c, D, C);
  big norm = big_norm(C, D), far = big_add(norm, R), near = big_sub(norm, R);
  big h1 = big_hypot(far, S), h2 = big_hypot(near, S), s1 = big_div(S, h1), s2 = big_div(S, h2);
  big tilt = big_mul(big_div(far, h1), big_div(near, h2)), both = big_mul(s1, s2);
  for (size_t i = 0; i < D; i++) t.p[i] = big_mul(big_scale2(s1, 1), big_div(C[i], h2));
  t.p[D] = big_sub(both, tilt);
  t.b = big_add(both, tilt);
  t.sigma = big_mul(big_scale2(s1, 1), big_div(R, h2));
  t.a = big_scale2(both, 1);
  return t;
}

/* A length anywhere, or near another one. */
static double near_or_far(test_rng *rng, double other) {
  switch (test_below(rng, 5)) {
  case 0: return test_log_uniform(rng, 1e-300, 1e300);
  case 1: return other * (1 + (double)((int)test_below(rng, 9) - 4) * 0x1p-52);
  case 2: return other * (1 + test_gauss(rng) * test_log_uniform(rng, 1e-16, 1));
  case 3: return other * test_log_uniform(rng, 1e-20, 1e20);
  default: return other;
  }
}

/* How far a number is off, in units of u of its size, or of 1 for p and b. */
static double worst_of(const cpb_cap *cap, const truth *t) {
  double worst = big_error(cap->b, t->b, big_of(1));
  for (size_t i = 0; i <= D; i++) test_worst(&worst, big_error(cap->p[i], t->p[i], big_of(1)));
  test_worst(&worst, big_relative_error(cap->sigma, t->sigma));
  test_worst(&worst, big_relative_error(cap->a, t->a));
  return worst;
}

static void balls_over_the_range(void **state) {
  (void)state;
  test_rng rng = {2001};
  double worst = 0;
  size_t answered = 0, n = trials();
  for (size_t trial = 0; trial < n; trial++) {
    double direction[D], c[D], p[D + 1], back[D], s = test_log_uniform(&rng, 1e-300, 1e300);
    double size = fabs(near_or_far(&rng, s)), r = fabs(near_or_far(&rng, test_below(&rng, 2) ? size : s));
    if (!(size > 0 && size < 1e300 && r > 0 && r < 1e300)) continue;
    test_direction(&rng, D, direction);
    for (size_t i = 0; i < D; i++) c[i] = size * direction[i];
    cpb_region region = {.kind = CPB_BALL, .d = D, .c = c, .r = r}, again = {.c = back};
    cpb_cap cap = {.d = D, .p = p};
    cpb_error error;
    big_reset();
    truth t = truth_of(c, r, s);
    bool held = big_to_double(t.sigma) >= 0x1p-1022 && big_to_double(t.a) >= 0x1p-1022;
    cpb_status status = cpb_cap_from_region(&region, s, &cap, &error);
    bool edge = big_to_double(t.sigma) < 0x1p-1021 || big_to_double(t.a) < 0x1p-1021;
    if (!edge) assert_true((status == CPB_OK) == held); /* no error other than the documented one */
    if (status != CPB_OK) {
      assert_int_equal(status, CPB_EINVAL);
      assert_non_null(strstr(error.text, "no double holds"));
      continue;
    }
    answered++;
    double error_here = worst_of(&cap, &t), allowed = 8 + 0x1p-49 * size / s;
    if (!(error_here <= allowed))
      fail_msg("|c| = %a, r = %a, s = %a: %g u, allowed %g", size, r, s, error_here, allowed);
    if (size / s < 1e15) test_worst(&worst, error_here);
    if (cpb_region_from_cap(&cap, s, &again, &error) != CPB_OK) {
      assert_true(strstr(error.text, "overflow") != NULL); /* and nothing else */
      continue;
    }
    assert_int_equal(again.kind, CPB_BALL);
    assert_true(fabs(again.r / r - 1) <= (16 + 0x1p-49 * size / s) * U64);
  }
  assert_true(answered > n / 4);
  law_holds("T3", "caps of balls over 1e+-300, r near |c| and far", "f64", worst, 8);
}

/* Each number of a cap is changed in turn. */
static void contradictions(void **state) {
  (void)state;
  test_rng rng = {2002};
  for (size_t trial = 0; trial < trials() / 8; trial++) {
    double c[D], p[D + 1], x[D];
    for (size_t i = 0; i < D; i++) c[i] = test_gauss(&rng);
    cpb_region region = {.kind = CPB_BALL, .d = D, .c = c, .r = test_log_uniform(&rng, 1e-3, 1e3)};
    cpb_region out = {.c = x};
    cpb_cap cap = {.d = D, .p = p};
    cpb_error error;
    assert_int_equal(cpb_cap_from_region(&region, 1, &cap, NULL), CPB_OK);
    assert_int_equal(cpb_region_from_cap(&cap, 1, &out, NULL), CPB_OK);
    double shift = test_log_uniform(&rng, 1e-5, 0.5) * (test_below(&rng, 2) ? 1 : -1);
    switch (test_below(&rng, 4)) {
    case 0: cap.a += shift; break;
    case 1: cap.a = 0; break; /* sigma without a */
    case 2: cap.sigma = fabs(cap.sigma + (cap.sigma > 0.5 ? -1 : 1) * (0.01 + fabs(shift))); break;
    default: p[test_below(&rng, D + 1)] += 2 + fabs(shift); break;
    }
    double off = fmax(fabs(cap.a - (cap.b + p[D])), fabs(cap.sigma * cap.sigma - (1 - cap.b) * (1 + cap.b)));
    for (size_t i = 0; i <= D; i++) off = fmax(off, fabs(p[i]) - 1);
    cpb_status status = cpb_region_from_cap(&cap, 1, &out, &error);
    if (off > 1e-6) assert_int_equal(status, CPB_EINVAL);
    if (off < 1e-13)
      assert_int_equal(status, CPB_OK); /* within limits, small numbers may be wrong by their size */
    if (status != CPB_OK) assert_non_null(strstr(error.text, "cap"));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(balls_over_the_range),
      cmocka_unit_test(contradictions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

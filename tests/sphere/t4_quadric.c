/* T4: one quadratic form for all regions; change of scale, power of a point. */
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

/* {x : k2|x|^2 - 2<m,x> + k0 <= 0} of a cap at scale s. */
typedef struct quadric {
  double k2, m[D], k0;
} quadric;

static quadric quadric_of(const cpb_cap *cap, double s) {
  quadric q = {.k2 = cap->a, .k0 = s * s * (cap->b - cap->p[cap->d])};
  for (size_t i = 0; i < cap->d; i++) q.m[i] = s * cap->p[i];
  return q;
}

static cpb_cap cap_of(const cpb_region *region, double s, double *p) {
  cpb_cap cap = {.p = p};
  cpb_error error = {0};
  test_status((int)cpb_cap_from_region(region, s, &cap, &error), CPB_OK, error.text);
  return cap;
}

/* N of T3 with the sign of the kind. */
static big big_N(const cpb_region *region, double s) {
  big c[D], S = big_of(s), r = big_of(region->r);
  big_vector(region->c, region->d, c);
  big norm = big_norm(c, region->d);
  big N = big_mul(big_hypot(big_add(norm, r), S), big_hypot(big_sub(norm, r), S));
  return region->kind == CPB_COMPLEMENT ? big_neg(N) : N;
}

static big big_c2_minus_r2(const cpb_region *region) {
  big c[D];
  big_vector(region->c, region->d, c);
  return big_sub(big_dot(c, c, region->d), big_square(big_of(region->r)));
}

/* (k2, m, k0) = k2 (1, c, |c|^2-r^2), k2 = 2s^2/N; k0 is known to u s^2, because b and p0 cancel. */
static void the_form_of_a_cap(void **state) {
  (void)state;
  test_rng rng = {4};
  double worst_k2 = 0, worst_m = 0, worst_k0 = 0;
  for (int trial = 0; trial < 6000; trial++) {
    big_reset();
    double c[D], p[D + 1], s = test_log_uniform(&rng, 1e-6, 1e6);
    cpb_region region = random_ball(&rng, c, 1e6);
    if (trial % 4 == 0) region.r = fabs(c[0]) * (1 + 1e-9) + 1e-9;
    cpb_cap cap = cap_of(&region, s, p);
    quadric q = quadric_of(&cap, s);
    big s2 = big_square(big_of(s)), N = big_N(&region, s), k2 = big_div(big_mul(big_of(2), s2), N), M[D];
    big_vector(c, region.d, M);
    for (size_t i = 0; i < region.d; i++) M[i] = big_mul(k2, M[i]);
    test_worst(&worst_k2, big_relative_error(q.k2, k2));
    test_worst(&worst_m, big_vector_error(q.m, M, region.d, big_norm(M, region.d)));
    test_worst(&worst_k0, big_error(q.k0, big_mul(k2, big_c2_minus_r2(&region)), s2));
  }
  law_holds("T4", "cap -> quadric: k2", "f64", worst_k2, 8);
  law_holds("T4", "cap -> quadric: m", "f64", worst_m, 8);
  law_holds("T4", "cap -> quadric: k0, of s^2", "f64", worst_k0, 8);
}

/* The form of a cap read at another scale, p' = m/s, p0 = (k2-k0/s^2)/2, b = (k2+k0/s^2)/2, is the cap of the same
 * region there. */
static void the_scale_can_be_changed(void **state) {
  (void)state;
  test_rng rng = {41};
  double worst = 0;
  for (int trial = 0; trial < 6000; trial++) {
    double c[D], p[D + 1], other[D + 1], want[D + 1], s = test_log_uniform(&rng, 0.1, 10), t = 1 / s;
    cpb_region region = random_ball(&rng, c, 10);
    size_t d = region.d;
    cpb_cap cap = cap_of(&region, s, p), there = cap_of(&region, t, want);
    quadric q = quadric_of(&cap, s);
    for (size_t i = 0; i < d; i++) other[i] = q.m[i] / t;
    other[d] = (q.k2 - q.k0 / (t * t)) / 2;
    cpb_cap again = {.d = d, .p = other, .b = (q.k2 + q.k0 / (t * t)) / 2};
    test_status((int)cpb_cap_complete(&again, NULL, NULL), CPB_OK, "");
    double unit = (1 + s * s / (t * t)) / fabs(q.k2) * U64;
    test_worst(&worst, fabs(again.b - there.b) / unit);
    for (size_t i = 0; i <= d; i++) test_worst(&worst, fabs(other[i] - want[i]) / unit);
  }
  law_holds("T4", "change of s by cpb_cap_complete: p and b, of (1+s^2/t^2)/|k2|", "f64", worst, 16);
}

/* |x-c|^2-r^2 = (|x|^2+s^2)(b-<p,S(x)>)/a. */
static void the_power_identity(void **state) {
  (void)state;
  test_rng rng = {44};
  double worst = 0;
  for (int trial = 0; trial < 4000; trial++) {
    big_reset();
    double c[D], x[D], p[D + 1], s = test_log_uniform(&rng, 1e-2, 1e2);
    cpb_region region = random_ball(&rng, c, 1e2);
    size_t d = region.d;
    if (trial % 2) region.r = 1e-6;
    random_vector(&rng, d, test_log_uniform(&rng, 1e-2, 1e2), x);
    if (trial % 4 == 1)
      for (size_t i = 0; i < d; i++) x[i] = c[i] + 1e-6 * x[i];
    cpb_cap cap = cap_of(&region, s, p);
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
    test_worst(&worst, fabs(big_to_double(big_div(big_sub(lifted, power), unit))) / U64);
  }
  law_holds("T4", "power identity, of (|x|^2+s^2)/a", "f64", worst, 8);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_form_of_a_cap),
      cmocka_unit_test(the_scale_can_be_changed),
      cmocka_unit_test(the_power_identity),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

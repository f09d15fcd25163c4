/* T6: any ellipsoid <-> cap by whitening, and why the paper's Hypothesis does not hold. */
#include <stdbool.h>

#include "sphere/t6_ellipsoid.h"
#include "support/check.h"

#include "capball/advanced/laws.h"
#include "capball/region.h"
#include "support/big.h"

enum { D = 6 };

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
  double zero[D] = {0};
  return distance(x, zero, n);
}

/* W <- W H or H W, H the reflection along a random direction. */
static void turn(test_rng *rng, size_t d, double *W, bool left) {
  double h[D];
  test_direction(rng, d, h);
  for (size_t line = 0; line < d; line++) {
    size_t start = left ? line : line * d, step = left ? d : 1;
    double part = 0;
    for (size_t i = 0; i < d; i++) part += W[start + i * step] * h[i];
    for (size_t i = 0; i < d; i++) W[start + i * step] -= 2 * part * h[i];
  }
}

/* W = H1 diag H2 with singular values from 1 to cond, times size. */
static void random_whitening(test_rng *rng, size_t d, double cond, double size, double *W) {
  for (size_t i = 0; i < d * d; i++) W[i] = 0;
  for (size_t i = 0; i < d; i++) W[i * d + i] = size * test_log_uniform(rng, 1, cond);
  W[0] = size * cond;
  if (d > 1) W[d * d - 1] = size;
  turn(rng, d, W, true);
  turn(rng, d, W, false);
}

typedef struct errors {
  double c, r, n, h;
} errors;

static errors round_trips(uint64_t seed, double cond, bool per_cond) {
  test_rng rng = {seed};
  errors worst = {0};
  double u = per_cond ? U64 * cond : U64;
  for (int trial = 0; trial < 4000; trial++) {
    size_t d = 1 + test_below(&rng, D);
    double W[D * D], m[D], c[D], p[D + 1], at[D], scratch[D * D + D];
    double size = test_log_uniform(&rng, 1e-3, 1e3), s = test_log_uniform(&rng, 1e-3, 1e3);
    random_whitening(&rng, d, cond, 1 / size, W);
    random_vector(&rng, d, size * test_uniform(&rng), m);
    random_vector(&rng, d, size * test_log_uniform(&rng, 1e-3, 1e3), c);
    cpb_region region = {.kind = trial % 2 ? CPB_BALL : CPB_COMPLEMENT, .d = d, .c = c, .W = W};
    region.r = test_log_uniform(&rng, 1e-3, 1e3);
    if (trial % 4 == 0) {
      region.kind = CPB_HALFSPACE;
      test_direction(&rng, d, c);
      region.r = size * test_gauss(&rng);
    }
    cpb_cap cap = {.p = p};
    cpb_region back = {.c = at};
    cpb_error error = {0};
    const double *from = trial % 3 ? m : NULL;
    test_status((int)cpb_cap_from_ellipsoid(&region, from, s, scratch, &cap, &error), CPB_OK, error.text);
    test_status((int)cpb_ellipsoid_from_cap(&cap, W, from, s, scratch, &back, &error), CPB_OK, error.text);
    assert_int_equal(back.kind, region.kind);
    assert_true(back.W == W && back.axis == NULL);
    if (region.kind == CPB_HALFSPACE) {
      test_worst(&worst.n, distance(at, c, d) / u);
      test_worst(&worst.h, fabs(back.r - region.r) / (fabs(region.r) + size) / u);
    } else {
      test_worst(&worst.c, distance(at, c, d) / (norm(c, d) + norm(m, d)) / u);
      test_worst(&worst.r, fabs(back.r / region.r - 1) / U64);
    }
  }
  return worst;
}

static void ellipsoid_to_cap_and_back(void **state) {
  (void)state;
  /* p keeps W(c-m) within 4u of its length, and W^-1 may stretch that by cond(W). */
  errors calm = round_trips(6, 10, false), stretched = round_trips(60, 100, true);
  errors wild = round_trips(61, 1e8, true);
  law_holds("T6", "ellipsoid -> cap -> ellipsoid, cond(W) = 10: c, of |c|+|m|", "f64", calm.c, 64);
  law_holds("T6", "ellipsoid -> cap -> ellipsoid, cond(W) = 10: r", "f64", calm.r, 64);
  law_holds("T6", "half-space -> cap -> half-space, cond(W) = 10: n", "f64", calm.n, 64);
  law_holds("T6", "half-space -> cap -> half-space, cond(W) = 10: h, of |h|+size", "f64", calm.h, 64);
  law_holds("T6", "ellipsoid -> cap -> ellipsoid, cond(W) = 100, times cond: c", "f64", stretched.c, 8);
  law_holds("T6", "ellipsoid -> cap -> ellipsoid, cond(W) = 100: r", "f64", stretched.r, 8);
  law_holds("T6", "half-space -> cap -> half-space, cond(W) = 100, times cond: n, h", "f64",
            fmax(stretched.n, stretched.h), 8);
  law_holds("T6", "ellipsoid -> cap -> ellipsoid, cond(W) = 1e8, times cond: c", "f64", wild.c, 8);
  law_holds("T6", "ellipsoid -> cap -> ellipsoid, cond(W) = 1e8: r", "f64", wild.r, 8);
  law_holds("T6", "half-space -> cap -> half-space, cond(W) = 1e8, times cond: n, h", "f64",
            fmax(wild.n, wild.h), 8);
}

/* |W(x-c)|^2 - r^2 = (|y|^2+s^2)(b-<p,S(y)>)/a with y = W(x-m): T4's power identity, whitened. */
static void the_cap_is_the_image(void **state) {
  (void)state;
  test_rng rng = {62};
  double worst_ball = 0, worst_half = 0;
  for (int trial = 0; trial < 2000; trial++) {
    big_reset();
    size_t d = 1 + test_below(&rng, D);
    double W[D * D], m[D], c[D], x[D], p[D + 1], scratch[D * D + D], s = test_log_uniform(&rng, 0.1, 10);
    random_whitening(&rng, d, 10, 0.3, W);
    random_vector(&rng, d, 1, m);
    random_vector(&rng, d, test_log_uniform(&rng, 0.1, 10), c);
    random_vector(&rng, d, test_log_uniform(&rng, 0.1, 10), x);
    cpb_region region = {.kind = (cpb_region_kind)(1 + trial % 3), .d = d, .c = c, .W = W};
    region.r = test_log_uniform(&rng, 0.1, 10);
    cpb_cap cap = {.p = p};
    cpb_error error = {0};
    test_status((int)cpb_cap_from_ellipsoid(&region, m, s, scratch, &cap, &error), CPB_OK, error.text);
    big y[D], z[D], X[D], Y[D + 1], P[D + 1], C[D], s2 = big_square(big_of(s));
    big_vector(x, d, X);
    big_vector(c, d, C);
    big_vector(p, d + 1, P);
    for (size_t i = 0; i < d; i++) {
      y[i] = z[i] = big_of(0);
      for (size_t j = 0; j < d; j++) {
        y[i] = big_add(y[i], big_mul(big_of(W[i * d + j]), big_sub(X[j], big_of(m[j]))));
        z[i] = big_add(z[i], big_mul(big_of(W[i * d + j]), big_sub(X[j], C[j])));
      }
    }
    big n = big_dot(y, y, d), q = big_add(n, s2);
    for (size_t i = 0; i < d; i++) Y[i] = big_div(big_mul(big_of(2 * s), y[i]), q);
    Y[d] = big_div(big_sub(s2, n), q);
    big depth = big_sub(big_of(cap.b), big_dot(P, Y, d + 1));
    if (region.kind == CPB_HALFSPACE) {
      /* b - <p,S(y)> = -2s (<n,x> - h)/(q D |g|), D |g| the length of (s g, ..): a positive factor, so
       * the two vanish together; moved onto the plane, x must give 0. */
      big step = big_div(big_sub(big_of(region.r), big_dot(C, X, d)), big_dot(C, C, d));
      for (size_t i = 0; i < d; i++) {
        big Wn = big_of(0);
        for (size_t j = 0; j < d; j++) Wn = big_add(Wn, big_mul(big_of(W[i * d + j]), C[j]));
        y[i] = big_add(y[i], big_mul(step, Wn));
      }
      n = big_dot(y, y, d), q = big_add(n, s2);
      for (size_t i = 0; i < d; i++) Y[i] = big_div(big_mul(big_of(2 * s), y[i]), q);
      Y[d] = big_div(big_sub(s2, n), q);
      test_worst(&worst_half, big_error(cap.b, big_dot(P, Y, d + 1), big_of(1)));
      assert_true((mpfr_sgn(depth) < 0) == (mpfr_sgn(step) < 0));
    } else {
      big power = big_sub(big_dot(z, z, d), big_square(big_of(region.r))), unit = big_div(q, big_of(cap.a));
      test_worst(&worst_ball, fabs(big_to_double(big_sub(big_div(power, unit), depth))) / U64);
    }
  }
  law_holds("T6", "power identity of the whitened ellipsoid, of (|y|^2+s^2)/a", "f64", worst_ball, 16);
  law_holds("T6", "boundary of a half-space on the cap's boundary", "f64", worst_half, 64);
}

static void cholesky_of_a_metric(void **state) {
  (void)state;
  test_rng rng = {63};
  double worst = 0;
  for (int trial = 0; trial < 1000; trial++) {
    big_reset();
    size_t d = 1 + test_below(&rng, D);
    double A[D * D], G[D * D], W[D * D];
    random_whitening(&rng, d, 1e4, test_log_uniform(&rng, 1e-9, 1e9), A);
    for (size_t i = 0; i < d; i++)
      for (size_t j = 0; j <= i; j++) {
        double sum = 0;
        for (size_t k = 0; k < d; k++) sum += A[k * d + i] * A[k * d + j];
        G[i * d + j] = G[j * d + i] = sum;
      }
    cpb_error error = {0};
    test_status((int)cpb_whitening_from_metric(G, d, W, &error), CPB_OK, error.text);
    for (size_t i = 0; i < d; i++)
      for (size_t j = 0; j < d; j++) {
        if (j < i) assert_true(W[i * d + j] == 0);
        big sum = big_of(0);
        for (size_t k = 0; k < d; k++)
          sum = big_add(sum, big_mul(big_of(W[k * d + i]), big_of(W[k * d + j])));
        big unit = big_sqrt(big_mul(big_of(G[i * d + i]), big_of(G[j * d + j])));
        test_worst(&worst, big_error(G[i * d + j], sum, unit));
      }
    test_status((int)cpb_whitening_from_metric(G, d, G, &error), CPB_OK, error.text);
    assert_memory_equal(G, W, d * d * sizeof *G);
  }
  law_holds("T6", "W^T W = G, of sqrt(Gii Gjj)", "f64", worst, 8);
}

/* The paper's Hypothesis: chained embeddings reach every ellipsoid. Under a pole v = (u,w) the
 * boundary of a cap has the quadratic part a (I + u u^T/w^2): d-1 of its axes are equal. The ellipsoid
 * with axes 1, 2, 3 is therefore at a distance from all of them, while its whitening makes it a cap. */
static void three_distinct_axes(void **state) {
  (void)state;
  static const double G[3] = {1, 1. / 4, 1. / 9};
  double W[9] = {1, 0, 0, 0, 0.5, 0, 0, 0, 1. / 3}, c[3] = {5, -1, 2}, p[4], at[3], scratch[12];
  cpb_region region = {.kind = CPB_BALL, .d = 3, .c = c, .r = 1, .W = W}, back = {.c = at};
  cpb_cap cap = {.p = p};
  test_status((int)cpb_cap_from_ellipsoid(&region, NULL, 2, scratch, &cap, NULL), CPB_OK, "");
  test_status((int)cpb_ellipsoid_from_cap(&cap, W, NULL, 2, scratch, &back, NULL), CPB_OK, "");
  assert_true(back.kind == CPB_BALL && fabs(back.r - 1) <= 16 * U64 && distance(at, c, 3) <= 64 * U64);

  test_rng rng = {64};
  double gap = (1. / 4 - 1. / 9) / sqrt(2), closest = INFINITY;
  for (int trial = 0; trial < 100000; trial++) {
    double v[4], M[9], GM = 0, MM = 0, off = 0;
    test_direction(&rng, 4, v);
    for (size_t i = 0; i < 9; i++) M[i] = (i % 4 == 0) + v[i / 3] * v[i % 3] / (v[3] * v[3]);
    for (size_t i = 0; i < 9; i++) GM += i % 4 == 0 ? G[i / 4] * M[i] : 0;
    for (size_t i = 0; i < 9; i++) MM += M[i] * M[i];
    for (size_t i = 0; i < 9; i++) off += pow((i % 4 == 0 ? G[i / 4] : 0) - GM / MM * M[i], 2);
    if (sqrt(off) < closest) closest = sqrt(off);
  }
  assert_true(closest >= gap * (1 - 1e-12)); /* Hoffman and Wielandt: two eigenvalues must meet */
  assert_true(closest < 1.2 * gap);          /* and the search came near the bound, so it could fail */
}

static void regions_without_a_metric(void **state) {
  (void)state;
  double W[4] = {1, 2, -1, 3}, m[2] = {4, 5}, x0[2] = {-1, 6}, p[3], at[2], scratch[6];
  static const cpb_region_kind kinds[] = {CPB_EMPTY, CPB_EVERYTHING, CPB_PUNCTURED};
  for (size_t k = 0; k < 3; k++) {
    cpb_region region = {.kind = kinds[k], .d = 2, .c = x0, .W = W}, back = {.c = at};
    cpb_cap cap = {.p = p};
    test_status((int)cpb_cap_from_ellipsoid(&region, m, 3, scratch, &cap, NULL), CPB_OK, "");
    test_status((int)cpb_ellipsoid_from_cap(&cap, W, m, 3, scratch, &back, NULL), CPB_OK, "");
    assert_int_equal(back.kind, kinds[k]);
    if (kinds[k] == CPB_PUNCTURED) assert_true(distance(at, x0, 2) <= 256 * U64);
  }
}

static void refuses(cpb_status status, const cpb_error *error, const char *words) {
  assert_int_equal(status, CPB_EINVAL);
  if (strstr(error->text, words) == NULL) fail_msg("\"%s\" lacks \"%s\"", error->text, words);
}

static void what_is_refused(void **state) {
  (void)state;
  double c[2] = {1, 2}, W[4] = {1, 0, 0, 1}, flat[4] = {1, 2, 2, 4}, hole[4] = {1, 0, NAN, 1}, p[3], at[2],
         scratch[6];
  cpb_region good = {.kind = CPB_BALL, .d = 2, .c = c, .r = 1, .W = W}, region, back = {.c = at};
  cpb_cap cap = {.p = p};
  cpb_error error;
  test_status((int)cpb_cap_from_ellipsoid(&good, NULL, 1, scratch, &cap, NULL), CPB_OK, "");
  refuses(cpb_cap_from_ellipsoid(&good, NULL, 0, scratch, &cap, &error), &error, "got 0");
  refuses(cpb_cap_from_ellipsoid(&good, NULL, 1, NULL, &cap, &error), &error, "scratch");
  refuses(cpb_cap_from_ellipsoid(&good, NULL, 1, scratch, NULL, &error), &error, "NULL");
  refuses(cpb_cap_from_ellipsoid(NULL, NULL, 1, scratch, &cap, &error), &error, "NULL");
  region = good, region.W = NULL;
  refuses(cpb_cap_from_ellipsoid(&region, NULL, 1, scratch, &cap, &error), &error, "W");
  region = good, region.W = hole;
  refuses(cpb_cap_from_ellipsoid(&region, NULL, 1, scratch, &cap, &error), &error, "not finite");
  region = good, region.axis = c, region.along = 1;
  refuses(cpb_cap_from_ellipsoid(&region, NULL, 1, scratch, &cap, &error), &error, "axis");
  region = good, region.r = -4;
  refuses(cpb_cap_from_ellipsoid(&region, NULL, 1, scratch, &cap, &error), &error, "-4");
  region = good, region.kind = CPB_HALFSPACE, region.W = flat;
  refuses(cpb_cap_from_ellipsoid(&region, NULL, 1, scratch, &cap, &error), &error, "singular");
  test_status((int)cpb_cap_from_ellipsoid(&good, NULL, 1, scratch, &cap, NULL), CPB_OK, "");
  refuses(cpb_ellipsoid_from_cap(&cap, flat, NULL, 1, scratch, &back, &error), &error, "singular");
  refuses(cpb_ellipsoid_from_cap(&cap, NULL, NULL, 1, scratch, &back, &error), &error, "NULL");
  refuses(cpb_ellipsoid_from_cap(&cap, W, hole + 2, 1, scratch, &back, &error), &error, "centre m");
  refuses(cpb_ellipsoid_from_cap(&cap, W, NULL, -1, scratch, &back, &error), &error, "got -1");
  refuses(cpb_ellipsoid_from_cap(NULL, W, NULL, 1, scratch, &back, &error), &error, "NULL");
  double G[4] = {1, 2, 2, 3}, skew[4] = {2, 1, 0, 2}, zero[1] = {0};
  refuses(cpb_whitening_from_metric(G, 2, scratch, &error), &error, "pivot 1 is -1");
  refuses(cpb_whitening_from_metric(skew, 2, scratch, &error), &error, "G[1][0] = 0");
  refuses(cpb_whitening_from_metric(zero, 1, scratch, &error), &error, "pivot 0 is 0");
  refuses(cpb_whitening_from_metric(hole, 2, scratch, &error), &error, "not finite");
  refuses(cpb_whitening_from_metric(NULL, 2, scratch, &error), &error, "NULL");
  refuses(cpb_whitening_from_metric(G, 0, scratch, &error), &error, "dimension 0");
  assert_int_equal(cpb_whitening_from_metric(G, 2, scratch, NULL), CPB_EINVAL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ellipsoid_to_cap_and_back), cmocka_unit_test(the_cap_is_the_image),
      cmocka_unit_test(cholesky_of_a_metric),      cmocka_unit_test(three_distinct_axes),
      cmocka_unit_test(regions_without_a_metric),  cmocka_unit_test(what_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* T3: cap <-> ball, half-space, complement of a ball. */
#include <stdbool.h>

#include "sphere/t3_cap_ball.h"
#include "support/check.h"

#include "capball/region.h"
#include "support/big.h"

enum { D = 7 };

static double sign_of(cpb_region_kind kind) { return kind == CPB_COMPLEMENT ? -1 : 1; }

/* p, b, sigma, a of a ball or complement by the closed form in 512 bits. */
typedef struct big_cap {
  big p[D + 1], b, sigma, a;
} big_cap;

static void big_cap_of_ball(const cpb_region *region, double s, big_cap *cap) {
  size_t d = region->d;
  big c[D], two = big_of(2), S = big_of(s), r = big_of(region->r), sign = big_of(sign_of(region->kind));
  big_vector(region->c, d, c);
  big n = big_dot(c, c, d), far = big_add(big_sqrt(n), r), near = big_sub(big_sqrt(n), r);
  big N = big_mul(sign, big_mul(big_hypot(far, S), big_hypot(near, S)));
  big product = big_mul(far, near), s2 = big_square(S);
  for (size_t i = 0; i < d; i++) cap->p[i] = big_div(big_mul(two, big_mul(S, c[i])), N);
  cap->p[d] = big_div(big_sub(s2, product), N);
  cap->b = big_div(big_add(s2, product), N);
  cap->sigma = big_abs(big_div(big_mul(two, big_mul(S, r)), N));
  cap->a = big_div(big_mul(two, s2), N);
}

typedef struct errors {
  double p, b, sigma, a, c, r;
} errors;

static void measure_ball(const cpb_region *region, double s, errors *worst) {
  big_reset();
  double p[D + 1], c[D];
  cpb_cap cap = {.p = p};
  cpb_region back = {.c = c};
  cpb_error error = {0};
  test_status((int)cpb_cap_from_region(region, s, &cap, &error), CPB_OK, error.text);
  big_cap want;
  big_cap_of_ball(region, s, &want);
  test_worst(&worst->p, big_vector_error(p, want.p, region->d + 1, big_of(1)));
  test_worst(&worst->b, big_error(cap.b, want.b, big_of(1)));
  test_worst(&worst->sigma, big_relative_error(cap.sigma, want.sigma));
  test_worst(&worst->a, big_relative_error(cap.a, want.a));
  test_status((int)cpb_region_from_cap(&cap, s, &back, &error), CPB_OK, error.text);
  assert_int_equal(back.kind, region->kind);
  assert_int_equal(back.d, region->d);
  big exact[D];
  big_vector(region->c, region->d, exact);
  test_worst(&worst->c, big_vector_error(c, exact, region->d, big_norm(exact, region->d)));
  test_worst(&worst->r, big_relative_error(back.r, big_of(region->r)));
  assert_true(back.along == back.r && back.axis == NULL && back.W == NULL);
}

static void judge(const char *what, const errors *worst, double bound) {
  char line[96];
  const struct {
    const char *name;
    double error;
  } lines[] = {{"p", worst->p}, {"b", worst->b}, {"sigma", worst->sigma}, {"a", worst->a}};
  for (size_t i = 0; i < 4; i++) {
    snprintf(line, sizeof line, "%s: %s", what, lines[i].name);
    law_holds("T3", line, "f64", lines[i].error, bound);
  }
  snprintf(line, sizeof line, "%s -> cap -> %s: c", what, what);
  law_holds("T3", line, "f64", worst->c, 8);
  snprintf(line, sizeof line, "%s -> cap -> %s: r", what, what);
  law_holds("T3", line, "f64", worst->r, 8);
}

static void random_center(test_rng *rng, size_t d, double length, double *c) {
  test_direction(rng, d, c);
  for (size_t i = 0; i < d; i++) c[i] *= length;
}

static void balls_and_complements_keep_every_digit(void **state) {
  (void)state;
  test_rng rng = {3};
  for (int side = 0; side < 2; side++) {
    errors worst = {0};
    for (int trial = 0; trial < 6000; trial++) {
      double c[D], s = test_log_uniform(&rng, 1e-8, 1e8), r = test_log_uniform(&rng, 1e-8, 1e8);
      size_t d = 1 + test_below(&rng, D);
      random_center(&rng, d, test_log_uniform(&rng, 1e-8, 1e8), c);
      cpb_region region = {.kind = side ? CPB_COMPLEMENT : CPB_BALL, .d = d, .c = c, .r = r};
      measure_ball(&region, s, &worst);
    }
    judge(side ? "complement" : "ball", &worst, 8);
  }
}

/* r within 1e-15 .. 1e-1 of |c|, |c| up to 1e8 s: the centre's norm must be known beyond double. */
static void a_ball_through_the_origin_keeps_every_digit(void **state) {
  (void)state;
  test_rng rng = {31};
  errors worst = {0};
  for (int trial = 0; trial < 6000; trial++) {
    size_t d = 1 + test_below(&rng, D);
    double c[D], length = test_log_uniform(&rng, 1e-8, 1e8), s = length * test_log_uniform(&rng, 1e-8, 1e8);
    random_center(&rng, d, length, c);
    double off = test_log_uniform(&rng, 1e-15, 1e-1) * (test_below(&rng, 2) ? 1 : -1);
    if (trial % 16 == 0) off = 0;
    cpb_region region = {.kind = CPB_BALL, .d = d, .c = c, .r = length * (1 + off)};
    measure_ball(&region, s, &worst);
  }
  judge("ball with r near |c|", &worst, 8);
}

static void numbers_of_any_size(void **state) {
  (void)state;
  static const double size[] = {1e-150, 1e-75, 1, 1e75, 1e150};
  errors worst = {0};
  size_t refused = 0;
  for (size_t i = 0; i < 5; i++)
    for (size_t j = 0; j < 5; j++)
      for (size_t k = 0; k < 5; k++) {
        double c[2] = {0.6 * size[i], -0.8 * size[i]}, r = size[j], s = size[k], p[3], back[2];
        cpb_region region = {.kind = CPB_BALL, .d = 2, .c = c, .r = r};
        cpb_cap cap = {.p = p};
        cpb_error error = {0};
        big_reset();
        big_cap want;
        big_cap_of_ball(&region, s, &want);
        bool tiny = mpfr_cmp_d(want.a, 0x1p-1022) < 0 || mpfr_cmp_d(want.sigma, 0x1p-1022) < 0;
        cpb_status status = cpb_cap_from_region(&region, s, &cap, &error);
        assert_int_equal(status, tiny ? CPB_EINVAL : CPB_OK);
        refused += tiny;
        if (tiny) {
          assert_non_null(strstr(error.text, "no double holds"));
          continue;
        }
        test_worst(&worst.p, big_vector_error(p, want.p, 3, big_of(1)));
        test_worst(&worst.sigma, big_relative_error(cap.sigma, want.sigma));
        test_worst(&worst.a, big_relative_error(cap.a, want.a));
        cpb_region again = {.c = back};
        test_status((int)cpb_region_from_cap(&cap, s, &again, &error), CPB_OK, error.text);
        test_worst(&worst.r, fabs(again.r / r - 1) / U64);
        test_worst(&worst.c, hypot(back[0] - c[0], back[1] - c[1]) / hypot(size[i], size[j]) / U64);
      }
  assert_true(refused > 0 && refused < 30);
  law_holds("T3", "sizes 1e-150 .. 1e150: p", "f64", worst.p, 8);
  law_holds("T3", "sizes 1e-150 .. 1e150: sigma, a", "f64", fmax(worst.sigma, worst.a), 8);
  law_holds("T3", "sizes 1e-150 .. 1e150: r, c normwise", "f64", fmax(worst.r, worst.c), 8);
}

/* Near the ends of the range of double no intermediate result overflows. */
static void the_ends_of_the_range(void **state) {
  (void)state;
  static const double size[] = {0x1p-1060, 1e-300, 1e300, 1.7e308};
  for (size_t i = 0; i < 4; i++) {
    double c[3] = {size[i], 0, -size[i] / 2}, p[4], back[3];
    cpb_region region = {.kind = CPB_BALL, .d = 3, .c = c, .r = size[i] / 4}, again = {.c = back};
    cpb_cap cap = {.p = p};
    cpb_error error = {0};
    test_status((int)cpb_cap_from_region(&region, size[i], &cap, &error), CPB_OK, error.text);
    test_status((int)cpb_region_from_cap(&cap, size[i], &again, &error), CPB_OK, error.text);
    assert_true(fabs(again.r - region.r) <= 8 * U64 * region.r + 0x1p-1074);
    for (size_t k = 0; k < 3; k++) assert_true(fabs(back[k] - c[k]) <= 8 * U64 * size[i] + 0x1p-1074);
  }
}

static void halfspaces_keep_every_digit(void **state) {
  (void)state;
  test_rng rng = {32};
  errors worst = {0};
  for (int trial = 0; trial < 6000; trial++) {
    big_reset();
    size_t d = 1 + test_below(&rng, D);
    double n[D], p[D + 1], c[D], s = test_log_uniform(&rng, 1e-8, 1e8);
    double h = test_gauss(&rng) < 0 ? -test_log_uniform(&rng, 1e-8, 1e8) : test_log_uniform(&rng, 1e-8, 1e8);
    if (trial == 0) h = 0;
    test_direction(&rng, d, n);
    cpb_region region = {.kind = CPB_HALFSPACE, .d = d, .c = n, .r = h}, back = {.c = c};
    cpb_cap cap = {.p = p};
    cpb_error error = {0};
    test_status((int)cpb_cap_from_region(&region, s, &cap, &error), CPB_OK, error.text);
    big N[D], want[D + 1], S = big_of(s), H = big_of(h);
    big_vector(n, d, N);
    big across = big_mul(S, big_norm(N, d)), length = big_hypot(H, across);
    for (size_t i = 0; i < d; i++) want[i] = big_div(big_mul(S, N[i]), length);
    want[d] = big_neg(big_div(H, length));
    test_worst(&worst.p, big_vector_error(p, want, d + 1, big_of(1)));
    test_worst(&worst.b, big_relative_error(cap.b, big_neg(want[d])));
    test_worst(&worst.sigma, big_relative_error(cap.sigma, big_div(across, length)));
    test_worst(&worst.a, fabs(cap.a));
    test_status((int)cpb_region_from_cap(&cap, s, &back, &error), CPB_OK, error.text);
    assert_int_equal(back.kind, CPB_HALFSPACE);
    test_worst(&worst.c, big_vector_error(c, N, d, big_of(1)));
    test_worst(&worst.r, h == 0 ? fabs(back.r) : fabs(back.r - h) / fabs(h) / U64);
  }
  judge("half-space", &worst, 8);
}

/* A normal of any length means the same half-space. */
static void a_halfspace_normal_of_any_length(void **state) {
  (void)state;
  static const double length[] = {1e-200, 3, 1e200};
  double unit[2] = {0.6, -0.8}, p[3], q[3];
  cpb_region region = {.kind = CPB_HALFSPACE, .d = 2, .c = unit, .r = 5};
  cpb_cap cap = {.p = p}, other = {.p = q};
  test_status((int)cpb_cap_from_region(&region, 2, &cap, NULL), CPB_OK, "");
  for (size_t i = 0; i < 3; i++) {
    double n[2] = {unit[0] * length[i], unit[1] * length[i]};
    cpb_region longer = {.kind = CPB_HALFSPACE, .d = 2, .c = n, .r = 5 * length[i]};
    test_status((int)cpb_cap_from_region(&longer, 2, &other, NULL), CPB_OK, "");
    for (size_t k = 0; k < 3; k++) assert_true(fabs(p[k] - q[k]) <= 8 * U64);
    assert_true(fabs(cap.b - other.b) <= 8 * U64 && fabs(cap.sigma - other.sigma) <= 8 * U64);
  }
}

/* One line of the table of T3: p and b of any length, and what the cap is an image of. */
static void table_line(double p1, double p0, double b, double s, cpb_region_kind kind, double c, double r) {
  double p[2] = {p1, p0}, at[1] = {NAN};
  cpb_cap cap = {.d = 1, .p = p, .b = b};
  cpb_region region = {.c = at};
  cpb_error error = {0};
  test_status((int)cpb_cap_complete(&cap, NULL, &error), CPB_OK, error.text);
  test_status((int)cpb_region_from_cap(&cap, s, &region, &error), CPB_OK, error.text);
  if (region.kind != kind)
    fail_msg("p = (%g, %g), b = %g: %s instead of %s", p1, p0, b, cpb_region_kind_name(region.kind),
             cpb_region_kind_name(kind));
  assert_true(fabs(at[0] - c) <= 8 * U64 * fabs(c));
  assert_true(fabs(region.r - r) <= 8 * U64 * fabs(r));
}

static void every_cap_has_an_image(void **state) {
  (void)state;
  static const double length[] = {0.2, 1, 0x1p-530, 0x1p530};
  for (size_t i = 0; i < 4; i++) {
    double l = length[i];
    table_line(3 * l, 4 * l, 5 * l, 2, CPB_EMPTY, 0, 0);
    table_line(3 * l, 4 * l, 6 * l, 2, CPB_EMPTY, 0, 0);
    table_line(3 * l, 4 * l, INFINITY, 2, CPB_EMPTY, 0, 0);
    table_line(3 * l, 4 * l, 0, 2, CPB_BALL, 1.5, 2.5);
    table_line(3 * l, -4 * l, 4 * l, 2, CPB_HALFSPACE, 1, 8. / 3);
    table_line(-3 * l, 0, 0, 2, CPB_HALFSPACE, -1, 0);
    table_line(3 * l, -4 * l, 0, 2, CPB_COMPLEMENT, -1.5, 2.5);
    table_line(3 * l, 4 * l, -5 * l, 2, CPB_PUNCTURED, -6, 0);
    table_line(3 * l, -4 * l, -5 * l, 2, CPB_PUNCTURED, -2. / 3, 0);
    table_line(0, 1 * l, -1 * l, 2, CPB_EVERYTHING, 0, 0);
    table_line(0, 1 * l, 1 * l, 2, CPB_EMPTY, 0, 0);
    table_line(0, -1 * l, -1 * l, 2, CPB_PUNCTURED, 0, 0);
    table_line(3 * l, 4 * l, -6 * l, 2, CPB_EVERYTHING, 0, 0);
    table_line(3 * l, 4 * l, -INFINITY, 2, CPB_EVERYTHING, 0, 0);
  }
}

static void caps_without_a_boundary(void **state) {
  (void)state;
  double p[3], c[2] = {3, -4};
  cpb_cap cap = {.p = p};
  cpb_region region = {.kind = CPB_EMPTY, .d = 2, .c = c}, back = {.c = c};
  test_status((int)cpb_cap_from_region(&region, 5, &cap, NULL), CPB_OK, "");
  assert_true(p[0] == 0 && p[1] == 0 && p[2] == 1 && cap.b == 2 && cap.sigma == 0 && cap.a == 3);
  region.kind = CPB_EVERYTHING;
  region.c = NULL;
  test_status((int)cpb_cap_from_region(&region, 5, &cap, NULL), CPB_OK, "");
  assert_true(p[0] == 0 && p[1] == 0 && p[2] == 1 && cap.b == -2 && cap.sigma == 0 && cap.a == -1);
  region.kind = CPB_PUNCTURED;
  region.c = c;
  test_status((int)cpb_cap_from_region(&region, 5, &cap, NULL), CPB_OK, ""); /* S(x0) = (0.6, -0.8, 0) */
  assert_true(fabs(p[0] + 0.6) <= U64 && fabs(p[1] - 0.8) <= U64 && fabs(p[2]) <= U64);
  assert_true(cap.b == -1 && cap.sigma == 0 && fabs(cap.a + 1) <= 4 * U64);
  double again[2];
  back.c = again;
  test_status((int)cpb_region_from_cap(&cap, 5, &back, NULL), CPB_OK, "");
  assert_int_equal(back.kind, CPB_PUNCTURED);
  assert_true(hypot(again[0] - 3, again[1] + 4) <= 40 * U64);
}

/* The caps (p, b) of any length against 512 bits. |p| is rounded once, so sigma knows 1-|b| to one
 * unit; b and a know their value to the last digits even where b+p0 cancels. */
static void completing_a_cap(void **state) {
  (void)state;
  test_rng rng = {33};
  double worst_p = 0, worst_b = 0, worst_a = 0, worst_sigma = 0;
  for (int trial = 0; trial < 6000; trial++) {
    big_reset();
    size_t d = 1 + test_below(&rng, D), n = d + 1;
    double p[D + 1], v[D + 1], length = test_log_uniform(&rng, 1e-200, 1e200);
    bool pole = trial % 2;
    random_center(&rng, n, length, p);
    test_direction(&rng, n, v);
    double t = 0;
    for (size_t i = 0; i < n; i++) t += p[i] * (pole ? v[i] : i == d);
    double b = trial % 4 < 2 ? length * (2 * test_uniform(&rng) - 1)
                             : -t * (1 + test_log_uniform(&rng, 1e-15, 1e-1)); /* a cancels */
    if (fabs(b) >= length) b = 0.5 * length;
    big P[D + 1], V[D + 1], B = big_of(b);
    big_vector(p, n, P);
    big_vector(v, n, V);
    big L = big_norm(P, n), A = big_add(B, pole ? big_dot(P, V, n) : P[d]);
    big sigma = big_div(big_sqrt(big_mul(big_sub(L, B), big_add(L, B))), L);
    cpb_cap cap = {.d = d, .p = p, .b = b};
    cpb_error error = {0};
    test_status((int)cpb_cap_complete(&cap, pole ? v : NULL, &error), CPB_OK, error.text);
    for (size_t i = 0; i < n; i++) P[i] = big_div(P[i], L);
    test_worst(&worst_p, big_vector_error(p, P, n, big_of(1)));
    test_worst(&worst_b, big_relative_error(cap.b, big_div(B, L)));
    test_worst(&worst_a, big_relative_error(cap.a, big_div(A, L)));
    big room = big_sub(big_of(1), big_abs(big_div(B, L)));
    test_worst(&worst_sigma, big_error(cap.sigma, sigma, big_div(sigma, room)));
  }
  law_holds("T3", "complete: p", "f64", worst_p, 4);
  law_holds("T3", "complete: b", "f64", worst_b, 4);
  law_holds("T3", "complete: a", "f64", worst_a, 4);
  law_holds("T3", "complete: sigma, times 1-|b|", "f64", worst_sigma, 4);
}

/* The paper's Theorem 2 takes p0 > 0 and errs where |c|^2 > s^2+r^2. */
static void theorem_2_with_the_right_sign(void **state) {
  (void)state;
  double c[1] = {2}, p[2];
  cpb_region region = {.kind = CPB_BALL, .d = 1, .c = c, .r = 1};
  cpb_cap cap = {.p = p};
  test_status((int)cpb_cap_from_region(&region, 1, &cap, NULL), CPB_OK, "");
  big_reset();
  big root = big_sqrt(big_of(5)), want[2] = {big_div(big_of(2), root), big_div(big_of(-1), root)};
  assert_true(big_vector_error(p, want, 2, big_of(1)) <= 4);
  assert_true(big_relative_error(cap.b, want[0]) <= 4);
  /* p0 = +1/sqrt5 belongs to another ball: the same r at c (s^2+r^2)/|c|^2. */
  c[0] = 2 * (1. + 1) / (2 * 2);
  test_status((int)cpb_cap_from_region(&region, 1, &cap, NULL), CPB_OK, "");
  want[1] = big_neg(want[1]);
  assert_true(big_vector_error(p, want, 2, big_of(1)) <= 4);
}

static void the_angles_of_a_cap(void **state) {
  (void)state;
  test_rng rng = {34};
  double worst = 0;
  for (int trial = 0; trial < 1000; trial++) {
    big_reset();
    double c[1] = {test_log_uniform(&rng, 1e-3, 1e3)}, r = test_log_uniform(&rng, 1e-3, 1e3), s = 1, p[2];
    cpb_region region = {.kind = CPB_BALL, .d = 1, .c = c, .r = r};
    cpb_cap cap = {.p = p};
    test_status((int)cpb_cap_from_region(&region, s, &cap, NULL), CPB_OK, "");
    big far = big_atan(big_add(big_of(c[0]), big_of(r))), near = big_atan(big_sub(big_of(c[0]), big_of(r)));
    test_worst(&worst, big_error(atan2(cap.sigma, cap.b), big_sub(far, near), big_of(1)));
    test_worst(&worst, big_error(atan2(p[0], p[1]), big_add(far, near), big_of(1)));
  }
  law_holds("T3", "angles of a cap: radius and colatitude", "f64", worst, 8);
}

static void refuses(cpb_status status, const cpb_error *error, const char *words) {
  assert_int_equal(status, CPB_EINVAL);
  if (strstr(error->text, words) == NULL) fail_msg("\"%s\" lacks \"%s\"", error->text, words);
  assert_int_equal(error->row, -1);
}

static void what_is_not_a_region(void **state) {
  (void)state;
  double c[2] = {1, 2}, zero[2] = {0, 0}, p[3], hole[2] = {1, NAN}, W[4] = {1, 0, 0, 1};
  cpb_region ball = {.kind = CPB_BALL, .d = 2, .c = c, .r = 1}, region;
  cpb_cap cap = {.p = p}, none = {.p = NULL};
  cpb_error error;
  static const double bad_scale[] = {0, -1, NAN, INFINITY};
  for (size_t i = 0; i < 4; i++)
    refuses(cpb_cap_from_region(&ball, bad_scale[i], &cap, &error), &error, "scale s must be > 0");
  static const double bad_radius[] = {0, -3, NAN, INFINITY};
  for (size_t i = 0; i < 4; i++) {
    region = ball;
    region.r = bad_radius[i];
    refuses(cpb_cap_from_region(&region, 1, &cap, &error), &error, "radius r must be > 0");
  }
  region = ball, region.axis = c, region.along = 1;
  refuses(cpb_cap_from_region(&region, 1, &cap, &error), &error, "an axis");
  region = ball, region.W = W;
  refuses(cpb_cap_from_region(&region, 1, &cap, &error), &error, "a whitening W");
  region = ball, region.c = hole;
  refuses(cpb_cap_from_region(&region, 1, &cap, &error), &error, "not finite");
  region = ball, region.c = NULL;
  refuses(cpb_cap_from_region(&region, 1, &cap, &error), &error, "NULL");
  region = ball, region.d = 0;
  refuses(cpb_cap_from_region(&region, 1, &cap, &error), &error, "dimension 0");
  region = ball, region.kind = (cpb_region_kind)17;
  refuses(cpb_cap_from_region(&region, 1, &cap, &error), &error, "17");
  region = ball, region.kind = CPB_HALFSPACE, region.c = zero;
  refuses(cpb_cap_from_region(&region, 1, &cap, &error), &error, "normal");
  region = ball, region.kind = CPB_HALFSPACE, region.r = INFINITY;
  refuses(cpb_cap_from_region(&region, 1, &cap, &error), &error, "offset");
  refuses(cpb_cap_from_region(NULL, 1, &cap, &error), &error, "NULL");
  refuses(cpb_cap_from_region(&ball, 1, NULL, &error), &error, "NULL");
  refuses(cpb_cap_from_region(&ball, 1, &none, &error), &error, "NULL");
  assert_int_equal(cpb_cap_from_region(&ball, -1, &cap, NULL), CPB_EINVAL);
}

static void what_is_not_a_cap(void **state) {
  (void)state;
  double p[3] = {0.6, 0, 0.8}, c[2], hole[3] = {NAN, 0, 1}, zero[3] = {0, 0, 0};
  cpb_region region = {.c = c};
  cpb_cap good = {.d = 2, .p = p, .b = 0, .sigma = 1, .a = 0.8}, cap;
  cpb_error error;
  refuses(cpb_region_from_cap(&good, 0, &region, &error), &error, "scale s");
  refuses(cpb_region_from_cap(NULL, 1, &region, &error), &error, "NULL");
  refuses(cpb_region_from_cap(&good, 1, NULL, &error), &error, "NULL");
  cap = good, cap.sigma = 0.5;
  refuses(cpb_region_from_cap(&cap, 1, &region, &error), &error, "not complete");
  cap = good, cap.a = NAN;
  refuses(cpb_region_from_cap(&cap, 1, &region, &error), &error, "not complete");
  cap = good, cap.p = hole;
  refuses(cpb_region_from_cap(&cap, 1, &region, &error), &error, "not finite");
  cap = good, cap.a = 1e-300;
  refuses(cpb_region_from_cap(&cap, 1e10, &region, &error), &error, "is not b+<p,v>");
  double level[3] = {1, 0, 0};
  cap = good, cap.p = level, cap.b = 0, cap.sigma = 1, cap.a = 1e-300;
  refuses(cpb_region_from_cap(&cap, 1e10, &region, &error), &error, "overflows");
  cap.a = 1e-3; /* that of another cap */
  refuses(cpb_region_from_cap(&cap, 1, &region, &error), &error, "is not b+<p,v>");
  level[0] = 2;
  refuses(cpb_region_from_cap(&cap, 1, &region, &error), &error, "length 1");
  cap = good, cap.d = 0;
  refuses(cpb_region_from_cap(&cap, 1, &region, &error), &error, "dimension 0");
  cap = good, cap.p = zero;
  refuses(cpb_cap_complete(&cap, NULL, &error), &error, "p is 0");
  cap = good, cap.p = hole;
  refuses(cpb_cap_complete(&cap, NULL, &error), &error, "not finite");
  cap = good, cap.b = NAN;
  refuses(cpb_cap_complete(&cap, NULL, &error), &error, "NaN");
  cap = good;
  refuses(cpb_cap_complete(&cap, hole, &error), &error, "pole v");
  refuses(cpb_cap_complete(NULL, NULL, &error), &error, "NULL");
  assert_int_equal(cpb_region_from_cap(&good, NAN, &region, NULL), CPB_EINVAL);
  assert_int_equal(cpb_cap_complete(NULL, NULL, NULL), CPB_EINVAL);
}

static void kinds_have_names(void **state) {
  (void)state;
  static const char *const name[] = {"empty", "ball", "halfspace", "complement", "punctured", "everything"};
  for (int kind = 0; kind < 6; kind++)
    assert_string_equal(cpb_region_kind_name((cpb_region_kind)kind), name[kind]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(balls_and_complements_keep_every_digit),
      cmocka_unit_test(a_ball_through_the_origin_keeps_every_digit),
      cmocka_unit_test(numbers_of_any_size),
      cmocka_unit_test(the_ends_of_the_range),
      cmocka_unit_test(halfspaces_keep_every_digit),
      cmocka_unit_test(a_halfspace_normal_of_any_length),
      cmocka_unit_test(every_cap_has_an_image),
      cmocka_unit_test(caps_without_a_boundary),
      cmocka_unit_test(completing_a_cap),
      cmocka_unit_test(theorem_2_with_the_right_sign),
      cmocka_unit_test(the_angles_of_a_cap),
      cmocka_unit_test(what_is_not_a_region),
      cmocka_unit_test(what_is_not_a_cap),
      cmocka_unit_test(kinds_have_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

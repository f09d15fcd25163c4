/* T2: any pole, and whole maps: pole, centre, whitening, mirror. */
#include "sphere/t6_ellipsoid.h"
#include "support/big.h"
#include "support/check.h"

#include "capball/capball.h"
#include "sphere/t2_pole.h"

enum { D = 12 };

/* A unit vector of d+1 coordinates whose last one is w. */
static void random_pole(test_rng *rng, size_t d, double w, double *v) {
  test_direction(rng, d, v);
  double side = sqrt((1 - w) * (1 + w));
  for (size_t i = 0; i < d; i++) v[i] *= side;
  v[d] = w;
}

static double random_w(test_rng *rng) {
  double w = 0.1 + 0.9 * test_uniform(rng);
  return test_below(rng, 2) ? w : -w;
}

static cpb_map *new_map(const cpb_map_options *options) {
  cpb_map *map = NULL;
  cpb_error error = {.row = -1};
  test_status((int)cpb_map_new(options, &map, &error), CPB_OK, error.text);
  return map;
}

static void embed_one(const cpb_map *map, const double *x, size_t d, double *y) {
  cpb_error error = {.row = -1};
  test_status(
      (int)cpb_map_embed(map, cpb_rows(x, CPB_F64, 1, d), cpb_rows_out(y, CPB_F64, 1, d + 1), NULL, &error),
      CPB_OK, error.text);
}

static void unembed_one(const cpb_map *map, const double *y, size_t d, double *x) {
  cpb_error error = {.row = -1};
  test_status(
      (int)cpb_map_unembed(map, cpb_rows(y, CPB_F64, 1, d + 1), cpb_rows_out(x, CPB_F64, 1, d), NULL, &error),
      CPB_OK, error.text);
}

/* H = [x, (s-<x,u>)/w], exactly. */
static void big_lift(const double *x, const double *v, double s, size_t d, big *lift) {
  big along = big_of(s);
  for (size_t i = 0; i < d; i++) {
    lift[i] = big_of(x[i]);
    along = big_sub(along, big_mul(lift[i], big_of(v[i])));
  }
  lift[d] = big_div(along, big_of(v[d]));
}

static void embedding_with_a_pole(void **state) {
  (void)state;
  test_rng rng = {11};
  double worst_embed = 0, worst_back = 0;
  for (size_t c = 0; c < 4000; c++) {
    size_t d = 1 + test_below(&rng, D);
    double x[D], v[D + 1], y[D + 1], back[D], s = test_log_uniform(&rng, 1e-8, 1e8);
    random_pole(&rng, d, random_w(&rng), v);
    test_direction(&rng, d, x);
    double length = s * test_log_uniform(&rng, 1e-3, 1e3);
    for (size_t i = 0; i < d; i++) x[i] *= length;
    big lift[D + 1], want[D + 1], one = big_of(1);
    big_lift(x, v, s, d, lift);
    big norm2 = big_dot(lift, lift, d + 1);
    for (size_t i = 0; i <= d; i++)
      want[i] = big_sub(big_mul(big_of(2 * s), big_div(lift[i], norm2)), big_of(v[i]));
    cpb_map_options o;
    cpb_map_options_init(&o, sizeof o);
    o.d = d;
    o.s = s;
    o.pole = v;
    cpb_map *map = new_map(&o);
    embed_one(map, x, d, y);
    unembed_one(map, y, d, back);
    test_worst(&worst_embed, big_vector_error(y, want, d + 1, one) * fabs(v[d]));
    big exact[D];
    big_vector(x, d, exact);
    test_worst(&worst_back, big_vector_error(back, exact, d, big_div(norm2, big_of(s))));
    cpb_map_free(map);
    big_reset();
  }
  law_holds("T2", "embed with pole, |w| >= 0.1, times |w|", "f64", worst_embed, 16);
  law_holds("T2", "unembed(embed(x)) with pole, against |H|^2/s", "f64", worst_back, 16);
}

/* z <- L z. */
static void stretch(size_t d, const double *v, double *z) {
  double w = fabs(v[d]), along = 0;
  for (size_t i = 0; i < d; i++) along += z[i] * v[i];
  for (size_t i = 0; i < d; i++) z[i] += along / (w * (1 + w)) * v[i];
}

/* S(x,v,s) = R S(L(x-su), e, s), R orthogonal with Re = v. */
static void pole_is_an_affine_map_and_a_rotation(void **state) {
  (void)state;
  test_rng rng = {12};
  double worst = 0, worst_turn = 0;
  for (size_t c = 0; c < 3000; c++) {
    size_t d = 1 + test_below(&rng, D);
    double x[D], z[D], v[D + 1], y[D + 1], turned[D + 1], s = test_log_uniform(&rng, 1e-3, 1e3);
    random_pole(&rng, d, random_w(&rng), v);
    for (size_t i = 0; i < d; i++) {
      x[i] = s * test_gauss(&rng);
      z[i] = x[i] - s * v[i];
    }
    cpb_map_options o;
    cpb_map_options_init(&o, sizeof o);
    o.d = d;
    o.s = s;
    cpb_map *plain = new_map(&o);
    o.pole = v;
    cpb_map *map = new_map(&o);
    embed_one(map, x, d, y);
    stretch(d, v, z);
    embed_one(plain, z, d, turned);
    cpb_pole_rotate(d, v, turned);
    double gap = 0;
    for (size_t i = 0; i <= d; i++) gap = fmax(gap, fabs(y[i] - turned[i]));
    test_worst(&worst, gap * fabs(v[d]) / U64);
    double e[D + 1] = {0};
    e[d] = 1;
    cpb_pole_rotate(d, v, e);
    for (size_t i = 0; i <= d; i++) test_worst(&worst_turn, fabs(e[i] - v[i]) / U64);
    cpb_pole_rotate_back(d, v, turned);
    cpb_pole_rotate(d, v, turned);
    double norm2 = 0;
    for (size_t i = 0; i <= d; i++) norm2 += turned[i] * turned[i];
    test_worst(&worst_turn, fabs(norm2 - 1) / U64);
    cpb_map_free(plain);
    cpb_map_free(map);
  }
  law_holds("T2", "S(x,v) = R S(L(x-su)), times |w|", "f64", worst, 32);
  law_holds("T2", "R is orthogonal and turns e onto v", "f64", worst_turn, 32);
}

static void infinity_goes_to_the_antipole(void **state) {
  (void)state;
  double v[3] = {0.48, -0.64, -0.6}, x[2] = {INFINITY, 3}, y[3];
  cpb_map_options o;
  cpb_map_options_init(&o, sizeof o);
  o.d = 2;
  o.pole = v;
  cpb_map *map = new_map(&o);
  embed_one(map, x, 2, y);
  for (int i = 0; i < 3; i++) assert_true(fabs(y[i] + v[i]) <= 2 * U64);
  cpb_error error = {.row = -1};
  double minus[3] = {-0.48, 0.64, 0.6};
  cpb_status status =
      cpb_map_unembed(map, cpb_rows(minus, CPB_F64, 1, 3), cpb_rows_out(x, CPB_F64, 1, 2), NULL, &error);
  assert_true(status == CPB_EROW || fabs(x[0]) > 1e14 || fabs(x[1]) > 1e14);
  cpb_map_free(map);
}

static void wrong_poles(void **state) {
  (void)state;
  cpb_map *map = NULL;
  cpb_error error = {.row = -1};
  cpb_map_options o;
  cpb_map_options_init(&o, sizeof o);
  o.d = 2;
  double long_pole[3] = {0, 0.6, 0.9}, flat[3] = {0.6, 0.8, 0}, bad[3] = {NAN, 0, 1}, zero[3] = {0, 0, 0};
  o.pole = long_pole;
  assert_int_equal(cpb_map_new(&o, &map, &error), CPB_EINVAL);
  assert_non_null(strstr(error.text, "length 1, got |v| = 1.08"));
  o.pole = flat;
  assert_int_equal(cpb_map_new(&o, &map, &error), CPB_EINVAL);
  assert_non_null(strstr(error.text, "must not be 0"));
  o.pole = bad;
  assert_int_equal(cpb_map_new(&o, &map, &error), CPB_EINVAL);
  o.pole = NULL;
  o.toward = zero;
  assert_int_equal(cpb_map_new(&o, &map, &error), CPB_EINVAL);
  double unit[3] = {0, 0, 1}, singular[4] = {1, 2, 2, 4};
  o.toward = o.pole = unit;
  assert_int_equal(cpb_map_new(&o, &map, &error), CPB_EINVAL);
  o.toward = o.pole = NULL;
  o.whiten = singular;
  assert_int_equal(cpb_map_new(&o, &map, &error), CPB_EINVAL);
  assert_non_null(strstr(error.text, "invertible"));
  assert_null(map);
}

/* Data on a sphere: their mean direction is moved to e, so that they are around 0. */
static void mirror_turns_the_direction_onto_e(void **state) {
  (void)state;
  test_rng rng = {13};
  double worst = 0, worst_back = 0;
  for (size_t c = 0; c < 1000; c++) {
    size_t d = 1 + test_below(&rng, D);
    double toward[D + 1], x[D], y[D + 1], again[D + 1];
    test_direction(&rng, d + 1, toward);
    if (c % 10 == 0) {
      for (size_t i = 0; i < d; i++) toward[i] *= 1e-9;
      toward[d] = c % 20 == 0 ? 1 : -1;
    }
    for (size_t i = 0; i <= d; i++) toward[i] *= 1e5;
    cpb_map_options o;
    cpb_map_options_init(&o, sizeof o);
    o.d = d;
    o.toward = toward;
    cpb_map *map = new_map(&o);
    unembed_one(map, toward, d, x);
    for (size_t i = 0; i < d; i++) test_worst(&worst, fabs(x[i]) / U64);
    test_direction(&rng, d + 1, y);
    unembed_one(map, y, d, x);
    embed_one(map, x, d, again);
    for (size_t i = 0; i <= d; i++) test_worst(&worst_back, fabs(y[i] - again[i]) / U64);
    cpb_map_free(map);
  }
  law_holds("T2", "the direction given to the mirror unembeds to 0", "f64", worst, 16);
  law_holds("T2", "embed(unembed(y)) with a mirror", "f64", worst_back, 64);
}

typedef struct random_map {
  double center[D], pole[D + 1], whiten[D * D], toward[D + 1];
  cpb_map_options o;
} random_map;

static void make_random_map(test_rng *rng, size_t d, unsigned kind, random_map *m) {
  cpb_map_options_init(&m->o, sizeof m->o);
  m->o.d = d;
  m->o.s = test_log_uniform(rng, 0.3, 3);
  for (size_t i = 0; i < d; i++) m->center[i] = test_gauss(rng);
  for (size_t i = 0; i < d * d; i++) m->whiten[i] = 0.2 * test_gauss(rng) + (i % (d + 1) == 0 ? 1 : 0);
  random_pole(rng, d, 0.5 + 0.5 * test_uniform(rng), m->pole);
  test_direction(rng, d + 1, m->toward);
  if (kind & 1) m->o.center = m->center;
  if (kind & 2) m->o.whiten = m->whiten;
  if (kind & 4)
    m->o.pole = m->pole;
  else if (kind & 8)
    m->o.toward = m->toward;
}

/* For any map: a cap's region holds exactly the points whose images the cap holds, and maps back to the cap. */
static void caps_and_regions_of_every_map(void **state) {
  (void)state;
  test_rng rng = {14};
  double worst = 0;
  size_t kinds[6] = {0};
  for (unsigned c = 0; c < 6000; c++) {
    size_t d = 1 + test_below(&rng, 6);
    random_map m;
    make_random_map(&rng, d, c % 16, &m);
    cpb_map *map = new_map(&m.o);
    double p[D + 1], q[D + 1], center[D], axis[D], x[D], y[D + 1];
    test_direction(&rng, d + 1, p);
    cpb_cap cap = {d, p, 1.6 * test_uniform(&rng) - 0.8, NAN, NAN};
    if (c % 97 == 0) cap.b = 1.5;
    if (c % 101 == 0) cap.b = -1.5;
    cpb_region region = {.d = d, .c = center, .axis = axis};
    cpb_error error = {.row = -1};
    test_status((int)cpb_map_region(map, &cap, &region, &error), CPB_OK, error.text);
    kinds[region.kind]++;
    cpb_cap again = {d, q, 0, 0, 0};
    test_status((int)cpb_map_cap(map, &region, &again, &error), CPB_OK, error.text);
    bool moderate = region.kind == CPB_HALFSPACE ||
                    (region.kind != CPB_EMPTY && region.kind != CPB_EVERYTHING && region.r < 10 * m.o.s);
    if (moderate) {
      for (size_t i = 0; i <= d; i++) test_worst(&worst, fabs(p[i] - q[i]) / U64);
      test_worst(&worst, fabs(cap.b - again.b) / U64);
    }
    for (size_t k = 0; k < 8; k++) {
      for (size_t i = 0; i < d; i++) x[i] = m.o.s * 1.5 * test_gauss(&rng) + (m.o.center ? m.center[i] : 0);
      embed_one(map, x, d, y);
      double inside, image;
      assert_int_equal(cpb_region_scores(&region, cpb_rows(x, CPB_F64, 1, d),
                                         cpb_rows_out(&inside, CPB_F64, 1, 1), NULL, NULL),
                       CPB_OK);
      double product = -again.b;
      for (size_t i = 0; i <= d; i++) product += q[i] * y[i];
      assert_int_equal(cpb_cap_scores(&again, cpb_rows(y, CPB_F64, 1, d + 1),
                                      cpb_rows_out(&image, CPB_F64, 1, 1), NULL, NULL),
                       CPB_OK);
      if (region.kind != CPB_EMPTY && region.kind != CPB_EVERYTHING)
        assert_true(fabs(product - image) <= 1e-12);
      if (fabs(image) > 1e-11) assert_int_equal(inside >= 0, image >= 0);
    }
    cpb_map_free(map);
  }
  assert_true(kinds[CPB_EMPTY] && kinds[CPB_BALL] && kinds[CPB_COMPLEMENT] && kinds[CPB_EVERYTHING]);
  law_holds("T6", "cap -> region -> cap under maps of every kind, r < 10 s", "f64", worst, 256);
}

static void foreign_regions_are_refused(void **state) {
  (void)state;
  double W[4] = {2, 0, 0, 1}, other[4] = {2, 0, 0, 1.1}, c[2] = {0, 0}, p[3];
  cpb_map_options o;
  cpb_map_options_init(&o, sizeof o);
  o.d = 2;
  o.whiten = W;
  cpb_map *map = new_map(&o);
  cpb_region region = {.kind = CPB_BALL, .d = 2, .c = c, .r = 1, .along = 1};
  cpb_cap cap = {2, p, 0, 0, 0};
  cpb_error error = {.row = -1};
  assert_int_equal(cpb_map_cap(map, &region, &cap, &error), CPB_EINVAL);
  region.W = other;
  assert_int_equal(cpb_map_cap(map, &region, &cap, &error), CPB_EINVAL);
  assert_non_null(strstr(error.text, "1.1"));
  region.W = W;
  assert_int_equal(cpb_map_cap(map, &region, &cap, &error), CPB_OK);
  region.d = 1;
  assert_int_equal(cpb_map_cap(map, &region, &cap, &error), CPB_ESHAPE);
  cpb_map_free(map);
}

/* No point of the sphere is inside the cap of nothing, none is outside the cap of everything. */
static void constant_caps_have_one_sign(void **state) {
  (void)state;
  cpb_map_options o;
  cpb_map_options_init(&o, sizeof o);
  o.d = 2;
  cpb_map *map = new_map(&o);
  double y[9] = {0, 0, 1, 0, 0, -1, 0.6, 0, 0.8}, p[3], scores[3];
  cpb_region nothing = {.kind = CPB_EMPTY, .d = 2}, all = {.kind = CPB_EVERYTHING, .d = 2};
  cpb_cap cap = {.p = p};
  assert_int_equal(cpb_map_cap(map, &nothing, &cap, NULL), CPB_OK);
  assert_int_equal(
      cpb_cap_scores(&cap, cpb_rows(y, CPB_F64, 3, 3), cpb_rows_out(scores, CPB_F64, 3, 1), NULL, NULL),
      CPB_OK);
  for (int i = 0; i < 3; i++) assert_true(scores[i] < 0);
  assert_int_equal(cpb_map_cap(map, &all, &cap, NULL), CPB_OK);
  assert_int_equal(
      cpb_cap_scores(&cap, cpb_rows(y, CPB_F64, 3, 3), cpb_rows_out(scores, CPB_F64, 3, 1), NULL, NULL),
      CPB_OK);
  for (int i = 0; i < 3; i++) assert_true(scores[i] > 0);
  cpb_map_free(map);
}

static void singular_whitening_is_refused(void **state) {
  (void)state;
  double c[2] = {1, 2}, W[4] = {1, 1, 1, 1}, scratch[6], p[3];
  cpb_region region = {.kind = CPB_BALL, .d = 2, .c = c, .r = 1, .along = 1, .W = W};
  cpb_cap cap = {.p = p};
  cpb_error error = {.row = -1};
  assert_int_equal(cpb_cap_from_ellipsoid(&region, NULL, 1.5, scratch, &cap, &error), CPB_EINVAL);
  assert_non_null(strstr(error.text, "singular"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(embedding_with_a_pole),
      cmocka_unit_test(pole_is_an_affine_map_and_a_rotation),
      cmocka_unit_test(infinity_goes_to_the_antipole),
      cmocka_unit_test(wrong_poles),
      cmocka_unit_test(mirror_turns_the_direction_onto_e),
      cmocka_unit_test(caps_and_regions_of_every_map),
      cmocka_unit_test(foreign_regions_are_refused),
      cmocka_unit_test(constant_caps_have_one_sign),
      cmocka_unit_test(singular_whitening_is_refused),
  };
  return cmocka_run_group_tests_name("t2_pole", tests, NULL, NULL);
}

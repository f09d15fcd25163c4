/* T1: the embedding, its inverse, and the round trip, against MPFR and at every edge. */
#include "support/check.h"

#include <float.h>
#include <mpfr.h>

#include "capball/capball.h"

enum { BITS = 400, MOST_D = 4096 };

static const size_t dims[] = {1, 2, 3, 4, 10, 64, 100, 784, 4096};
enum { DIMS = sizeof dims / sizeof *dims };

static cpb_map *new_map(size_t d, double s) {
  cpb_map_options options;
  cpb_map_options_init(&options, sizeof options);
  options.d = d;
  options.s = s;
  cpb_map *map;
  cpb_error error = {.row = -1};
  test_status((int)cpb_map_new(&options, &map, &error), CPB_OK, error.text);
  return map;
}

/* |y - S(x-m)|, S in MPFR; m may be NULL. */
static double centered_error(const double *x, const double *m, size_t d, double s, const double *y) {
  mpfr_t n, q, t, sum;
  mpfr_inits2(BITS, n, q, t, sum, (mpfr_ptr)0);
  mpfr_set_zero(n, 1);
  mpfr_set_zero(sum, 1);
  for (size_t i = 0; i < d; i++) {
    mpfr_set_d(t, x[i], MPFR_RNDN);
    if (m != NULL) mpfr_sub_d(t, t, m[i], MPFR_RNDN);
    mpfr_fma(n, t, t, n, MPFR_RNDN);
  }
  mpfr_set_d(t, s, MPFR_RNDN);
  mpfr_sqr(t, t, MPFR_RNDN);
  mpfr_add(q, n, t, MPFR_RNDN);
  for (size_t i = 0; i <= d; i++) {
    if (i < d) {
      mpfr_set_d(t, x[i], MPFR_RNDN);
      if (m != NULL) mpfr_sub_d(t, t, m[i], MPFR_RNDN);
      mpfr_mul_d(t, t, s, MPFR_RNDN);
      mpfr_mul_2ui(t, t, 1, MPFR_RNDN);
    } else
      mpfr_sub(t, q, n, MPFR_RNDN), mpfr_sub(t, t, n, MPFR_RNDN);
    mpfr_div(t, t, q, MPFR_RNDN);
    mpfr_sub_d(t, t, y[i], MPFR_RNDN);
    mpfr_fma(sum, t, t, sum, MPFR_RNDN);
  }
  mpfr_sqrt(sum, sum, MPFR_RNDN);
  double error = mpfr_get_d(sum, MPFR_RNDU);
  mpfr_clears(n, q, t, sum, (mpfr_ptr)0);
  return error;
}

static double embed_error(const double *x, size_t d, double s, const double *y) {
  return centered_error(x, NULL, d, s, y);
}

/* | |y|-1 | */
static double length_error(const double *y, size_t n) {
  mpfr_t sum, t;
  mpfr_inits2(BITS, sum, t, (mpfr_ptr)0);
  mpfr_set_zero(sum, 1);
  for (size_t i = 0; i < n; i++) {
    mpfr_set_d(t, y[i], MPFR_RNDN);
    mpfr_fma(sum, t, t, sum, MPFR_RNDN);
  }
  mpfr_sqrt(sum, sum, MPFR_RNDN);
  mpfr_sub_ui(sum, sum, 1, MPFR_RNDN);
  double error = fabs(mpfr_get_d(sum, MPFR_RNDA));
  mpfr_clears(sum, t, (mpfr_ptr)0);
  return error;
}

static double distance(const double *a, const double *b, size_t n) {
  double scale = 0, sum = 0;
  for (size_t i = 0; i < n; i++) scale = fmax(scale, fmax(fabs(a[i]), fabs(b[i])));
  if (scale == 0) return 0;
  int exponent = ilogb(scale);
  for (size_t i = 0; i < n; i++) {
    double gap = scalbn(a[i], -exponent) - scalbn(b[i], -exponent);
    sum += gap * gap;
  }
  return scalbn(sqrt(sum), exponent);
}

static double norm(const double *a, size_t n) {
  double zero[MOST_D + 1] = {0};
  return distance(a, zero, n);
}

/* Rows as the data type holds them, and as doubles. */
typedef struct sample {
  double x[MOST_D], y[MOST_D + 1], back[MOST_D];
  float xf[MOST_D], yf[MOST_D + 1];
} sample;

static void through_f32(const cpb_map *map, size_t d, sample *p) {
  cpb_error error = {.row = -1};
  for (size_t i = 0; i < d; i++) p->x[i] = (double)(p->xf[i] = (float)p->x[i]);
  test_status((int)cpb_map_embed(map, cpb_rows(p->xf, CPB_F32, 1, d), cpb_rows_out(p->yf, CPB_F32, 1, d + 1),
                                 NULL, &error),
              CPB_OK, error.text);
  for (size_t i = 0; i <= d; i++) p->y[i] = (double)p->yf[i];
  float back[MOST_D];
  test_status((int)cpb_map_unembed(map, cpb_rows(p->yf, CPB_F32, 1, d + 1), cpb_rows_out(back, CPB_F32, 1, d),
                                   NULL, &error),
              CPB_OK, error.text);
  for (size_t i = 0; i < d; i++) p->back[i] = (double)back[i];
}

static void through_f64(const cpb_map *map, size_t d, sample *p) {
  cpb_error error = {.row = -1};
  test_status((int)cpb_map_embed(map, cpb_rows(p->x, CPB_F64, 1, d), cpb_rows_out(p->y, CPB_F64, 1, d + 1),
                                 NULL, &error),
              CPB_OK, error.text);
  test_status((int)cpb_map_unembed(map, cpb_rows(p->y, CPB_F64, 1, d + 1),
                                   cpb_rows_out(p->back, CPB_F64, 1, d), NULL, &error),
              CPB_OK, error.text);
}

/* Random rows with |x|/s from 1e-15 to 1e15 and s in 1e+-8; a few with one dominant coordinate. */
static void walk_interior(void (*through)(const cpb_map *, size_t, sample *), double u, const char *real,
                          double back_bound) {
  static sample p;
  test_rng rng = {3};
  double worst_embed = 0, worst_length = 0, worst_back = 0;
  for (size_t k = 0; k < DIMS; k++) {
    size_t d = dims[k], cases = (d > 1000 ? 100u : d > 500 ? 300u : 3000u) / (TEST_SANITIZED ? 30u : 1u);
    for (size_t c = 0; c < cases; c++) {
      double s = test_log_uniform(&rng, 1e-8, 1e8), length = s * test_log_uniform(&rng, 1e-15, 1e15);
      if (c % 3 == 0) length = s * test_log_uniform(&rng, 0.1, 10);
      test_direction(&rng, d, p.x);
      if (c % 5 == 0) p.x[test_below(&rng, d)] *= 1e4;
      for (size_t i = 0; i < d; i++) p.x[i] *= length;
      cpb_map *map = new_map(d, s);
      through(map, d, &p);
      cpb_map_free(map);
      test_worst(&worst_embed, embed_error(p.x, d, s, p.y) / u);
      test_worst(&worst_length, length_error(p.y, d + 1) / u);
      test_worst(&worst_back, distance(p.x, p.back, d) / norm(p.x, d) / u);
    }
  }
  law_holds("T1", "embed, normwise, d to 4096", real, worst_embed, 4);
  law_holds("T1", "length of an embedded row against 1, d to 4096", real, worst_length, 4);
  law_holds("T1", "unembed(embed(x)), normwise, |x|/s in 1e+-15", real, worst_back, back_bound);
}

static void interior_f32(void **state) {
  (void)state;
  walk_interior(through_f32, U32, "f32", 4);
}

static void interior_f64(void **state) {
  (void)state;
  walk_interior(through_f64, U64, "f64", 16);
}

static cpb_map *new_centered_map(size_t d, double s, const double *m) {
  cpb_map_options options;
  cpb_map_options_init(&options, sizeof options);
  options.d = d;
  options.s = s;
  options.center = m;
  cpb_map *map;
  cpb_error error;
  test_status((int)cpb_map_new(&options, &map, &error), CPB_OK, error.text);
  return map;
}

/* Rows about a centre from a thousandth to a thousand times as far away as s; the error of the inverse is relative
 * to |x| and to |x-m|, the length it is computed from. */
static void walk_centers(void (*through)(const cpb_map *, size_t, sample *), double u, const char *real,
                         double bound) {
  static sample p;
  static double m[MOST_D];
  test_rng rng = {8};
  double worst_embed = 0, worst_length = 0, worst_back = 0;
  for (size_t k = 0; k < DIMS; k++) {
    size_t d = dims[k], cases = (d > 1000 ? 100u : d > 500 ? 300u : 3000u) / (TEST_SANITIZED ? 30u : 1u);
    for (size_t c = 0; c < cases; c++) {
      double s = test_log_uniform(&rng, 1e-8, 1e8), length = s * test_log_uniform(&rng, 1e-3, 1e3);
      double away = s * test_log_uniform(&rng, 1e-3, 1e3), distance_back;
      test_direction(&rng, d, m);
      test_direction(&rng, d, p.x);
      for (size_t i = 0; i < d; i++) p.x[i] = length * p.x[i] + (m[i] *= away);
      cpb_map *map = new_centered_map(d, s, m);
      through(map, d, &p);
      cpb_map_free(map);
      distance_back = distance(p.x, m, d) + norm(p.x, d);
      test_worst(&worst_embed, centered_error(p.x, m, d, s, p.y) / u);
      test_worst(&worst_length, length_error(p.y, d + 1) / u);
      test_worst(&worst_back, distance(p.x, p.back, d) / distance_back / u);
    }
  }
  law_holds("T1", "embed about a centre, normwise, d to 4096", real, worst_embed, 4);
  law_holds("T1", "length of a row embedded about a centre", real, worst_length, 4);
  law_holds("T1", "unembed(embed(x)) about a centre, of |x-m|+|x|", real, worst_back, bound);
}

static void centers_f32(void **state) {
  (void)state;
  walk_centers(through_f32, U32, "f32", 4);
}

static void centers_f64(void **state) {
  (void)state;
  walk_centers(through_f64, U64, "f64", 16);
}

/* {0, smallest, tiny, 1, huge, largest} for x and s, where squares leave the range. */
static void ranges_f64(void **state) {
  (void)state;
  static const double sizes[] = {0, DBL_TRUE_MIN, 1e-310, 1e-300, 1e-160, 1e-150, 1e-80,
                                 1, 1e80,         1e150,  1e160,  1e300,  DBL_MAX};
  enum { SIZES = sizeof sizes / sizeof *sizes };
  static sample p;
  double worst = 0, worst_back = 0;
  for (size_t i = 0; i < SIZES; i++)
    for (size_t j = 1; j < SIZES; j++)
      for (size_t d = 1; d <= 3; d++) {
        double s = sizes[j];
        for (size_t k = 0; k < d; k++) p.x[k] = sizes[i] * (k == 0 ? 1 : k == 1 ? -0.5 : 0.25);
        cpb_map *map = new_map(d, s);
        cpb_error error;
        assert_int_equal(cpb_map_embed(map, cpb_rows(p.x, CPB_F64, 1, d),
                                       cpb_rows_out(p.y, CPB_F64, 1, d + 1), NULL, &error),
                         CPB_OK);
        test_worst(&worst, embed_error(p.x, d, s, p.y) / U64);
        double largest = 0;
        for (size_t k = 0; k < d; k++) largest = fmax(largest, fabs(p.y[k]));
        bool representable =
            sizes[i] >= 1e-300 && sizes[i] <= 1e300 && s >= 1e-300 && s <= 1e300 && largest >= 1e-290;
        int status = (int)cpb_map_unembed(map, cpb_rows(p.y, CPB_F64, 1, d + 1),
                                          cpb_rows_out(p.back, CPB_F64, 1, d), NULL, &error);
        if (representable) {
          test_status(status, CPB_OK, error.text);
          test_worst(&worst_back, distance(p.x, p.back, d) / norm(p.x, d) / U64);
        }
        cpb_map_free(map);
      }
  law_holds("T1", "embed, |x| and s from the smallest to the largest number", "f64", worst, 4);
  law_holds("T1", "unembed(embed(x)), |x| and s in 1e+-300", "f64", worst_back, 16);
}

static void ranges_f32(void **state) {
  (void)state;
  static const float sizes[] = {0, FLT_TRUE_MIN, 1e-40f, 1e-30f, 1e-10f, 1, 1e10f, 1e19f, 1e30f, FLT_MAX};
  static const double scales[] = {1e-300, 1e-100, 1e-30, 1e-5, 1, 1e5, 1e30, 1e100, 1e300};
  static sample p;
  double worst = 0;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (size_t j = 0; j < sizeof scales / sizeof *scales; j++)
      for (size_t d = 1; d <= 3; d++) {
        for (size_t k = 0; k < d; k++) p.x[k] = (double)(p.xf[k] = sizes[i] * (k == 0 ? 1.0f : 0.5f));
        cpb_map *map = new_map(d, scales[j]);
        assert_int_equal(cpb_map_embed(map, cpb_rows(p.xf, CPB_F32, 1, d),
                                       cpb_rows_out(p.yf, CPB_F32, 1, d + 1), NULL, NULL),
                         CPB_OK);
        for (size_t k = 0; k <= d; k++) p.y[k] = (double)p.yf[k];
        test_worst(&worst, embed_error(p.x, d, scales[j], p.y) / U32);
        cpb_map_free(map);
      }
  law_holds("T1", "embed, |x| over all of float, s in 1e+-300", "f32", worst, 4);
}

/* Every input type, both output types, against MPFR. */
static void every_dtype(void **state) {
  (void)state;
  static sample p;
  static unsigned char raw[8 * MOST_D];
  test_rng rng = {4};
  double worst32 = 0, worst64 = 0;
  for (cpb_dtype dtype = CPB_F32; dtype <= CPB_I8; dtype++)
    for (size_t k = 0; k < 7; k++)
      for (size_t c = 0; c < 20; c++) {
        size_t d = dims[k];
        for (size_t i = 0; i < d; i++) {
          double value = test_gauss(&rng);
          switch (dtype) {
          case CPB_F32: p.x[i] = (double)(((float *)raw)[i] = (float)value); break;
          case CPB_F64: p.x[i] = ((double *)raw)[i] = value; break;
          case CPB_F16:
            ((uint16_t *)raw)[i] = (uint16_t)(0x3c00 + test_below(&rng, 1024)),
                       p.x[i] = 1 + (((uint16_t *)raw)[i] & 1023) / 1024.0;
            break;
          case CPB_U8: p.x[i] = raw[i] = (uint8_t)test_bits(&rng); break;
          default: p.x[i] = ((int8_t *)raw)[i] = (int8_t)test_bits(&rng); break;
          }
        }
        double s = norm(p.x, d) * test_log_uniform(&rng, 0.1, 10) + 1e-3;
        cpb_map *map = new_map(d, s);
        assert_int_equal(
            cpb_map_embed(map, cpb_rows(raw, dtype, 1, d), cpb_rows_out(p.yf, CPB_F32, 1, d + 1), NULL, NULL),
            CPB_OK);
        for (size_t i = 0; i <= d; i++) p.y[i] = (double)p.yf[i];
        test_worst(&worst32, embed_error(p.x, d, s, p.y) / U32);
        assert_int_equal(
            cpb_map_embed(map, cpb_rows(raw, dtype, 1, d), cpb_rows_out(p.y, CPB_F64, 1, d + 1), NULL, NULL),
            CPB_OK);
        test_worst(&worst64, embed_error(p.x, d, s, p.y) / U64);
        cpb_map_free(map);
      }
  law_holds("T1", "embed of f32, f64, f16, u8, i8 rows", "f32", worst32, 4);
  law_holds("T1", "embed of f32, f64, f16, u8, i8 rows", "f64", worst64, 4);
}

/* y may have any length: S^-1 of its direction. */
static void any_length(void **state) {
  (void)state;
  test_rng rng = {5};
  double worst = 0;
  for (size_t c = 0; c < 2000; c++) {
    size_t d = 1 + test_below(&rng, 20);
    double x[20], y[21], back[20], s = test_log_uniform(&rng, 1e-3, 1e3);
    test_direction(&rng, d, x);
    double length = s * test_log_uniform(&rng, 1e-3, 1e3),
           stretch = ldexp(1, (int)test_below(&rng, 1200) - 600);
    for (size_t i = 0; i < d; i++) x[i] *= length;
    cpb_map *map = new_map(d, s);
    assert_int_equal(
        cpb_map_embed(map, cpb_rows(x, CPB_F64, 1, d), cpb_rows_out(y, CPB_F64, 1, d + 1), NULL, NULL),
        CPB_OK);
    for (size_t i = 0; i <= d; i++) y[i] *= stretch;
    assert_int_equal(
        cpb_map_unembed(map, cpb_rows(y, CPB_F64, 1, d + 1), cpb_rows_out(back, CPB_F64, 1, d), NULL, NULL),
        CPB_OK);
    test_worst(&worst, distance(x, back, d) / norm(x, d) / U64);
    cpb_map_free(map);
  }
  law_holds("T1", "unembed of a row of length 2^-600 .. 2^600", "f64", worst, 16);
}

/* The image of a row far away is next to -e, where y0/|y|+1 would cancel; lengths that are no powers of two round it. */
static void any_length_near_the_pole(void **state) {
  (void)state;
  cpb_map *map = new_map(2, 1);
  test_rng rng = {79};
  double worst = 0;
  for (int c = 0; c < 2000; c++) {
    double far = test_log_uniform(&rng, 1e3, 1e148), length = test_log_uniform(&rng, 1e-3, 1e3), back[2];
    double y[3] = {0.6 * length * 2 / far, 0.8 * length * 2 / far, -length};
    test_status(
        (int)cpb_map_unembed(map, cpb_rows(y, CPB_F64, 1, 3), cpb_rows_out(back, CPB_F64, 1, 2), NULL, NULL),
        CPB_OK, "unembed");
    double side = hypot(y[0], y[1]), exact = (hypot(side, length) + length) / side;
    test_worst(&worst, fabs(hypot(back[0], back[1]) - exact) / exact / 0x1p-53);
  }
  law_holds("T1", "unembed of a row of any length, |x|/s to 1e148", "f64", worst, 16);
  cpb_map_free(map);
}

static void poles_and_bad_rows(void **state) {
  (void)state;
  for (int wide = 0; wide < 2; wide++) {
    size_t d = wide ? 70 : 3, n = 40;
    cpb_map *map = new_map(d, 2);
    for (int real = 0; real < 2; real++) {
      cpb_dtype dtype = real ? CPB_F64 : CPB_F32;
      float *xf = calloc(n * d, 4), *yf = calloc(n * (d + 1), 4);
      double *xd = calloc(n * d, 8), *yd = calloc(n * (d + 1), 8);
      for (size_t i = 0; i < n * d; i++) xf[i] = (float)(xd[i] = (double)(i % 7) - 3);
      xf[5 * d] = -INFINITY, xd[5 * d] = -INFINITY;
      cpb_view x = real ? cpb_rows(xd, CPB_F64, n, d) : cpb_rows(xf, CPB_F32, n, d);
      cpb_out y = real ? cpb_rows_out(yd, CPB_F64, n, d + 1) : cpb_rows_out(yf, CPB_F32, n, d + 1);
      cpb_error error = {.row = -1};
      assert_int_equal(cpb_map_embed(map, x, y, NULL, &error), CPB_OK);
      for (size_t i = 0; i <= d; i++) {
        double v = real ? yd[5 * (d + 1) + i] : (double)yf[5 * (d + 1) + i];
        assert_true(v == (i == d ? -1 : 0));
      }
      xf[17 * d + 1] = NAN, xd[17 * d + 1] = NAN, xf[30 * d] = NAN, xd[30 * d] = NAN;
      assert_int_equal(cpb_map_embed(map, x, y, NULL, &error), CPB_EROW);
      assert_int_equal(error.row, 17);
      assert_string_equal(error.text, "x row 17 holds NaN");
      assert_int_equal(cpb_map_embed(map, x, y, NULL, NULL), CPB_EROW);
      assert_true(real ? yd[17 * (d + 1)] != yd[17 * (d + 1)] : yf[17 * (d + 1) + d] != yf[17 * (d + 1) + d]);
      assert_true(real ? yd[18 * (d + 1)] == yd[18 * (d + 1)] : yf[18 * (d + 1)] == yf[18 * (d + 1)]);

      memset(yf, 0, n * (d + 1) * 4), memset(yd, 0, n * (d + 1) * 8);
      for (size_t i = 0; i < n; i++) yf[i * (d + 1) + d] = 1, yd[i * (d + 1) + d] = 1;
      yf[9 * (d + 1) + d] = -1, yd[9 * (d + 1) + d] = -1;
      cpb_view from = real ? cpb_rows(yd, dtype, n, d + 1) : cpb_rows(yf, dtype, n, d + 1);
      cpb_out to = real ? cpb_rows_out(xd, dtype, n, d) : cpb_rows_out(xf, dtype, n, d);
      assert_int_equal(cpb_map_unembed(map, from, to, NULL, &error), CPB_EROW);
      assert_int_equal(error.row, 9);
      assert_non_null(strstr(error.text, "the pole -v"));
      assert_true(real ? xd[0] == 0 : xf[0] == 0);
      yf[9 * (d + 1) + d] = 0, yd[9 * (d + 1) + d] = 0;
      assert_int_equal(cpb_map_unembed(map, from, to, NULL, &error), CPB_EROW);
      assert_string_equal(error.text, "y row 9 is 0: it has no direction");
      yf[9 * (d + 1) + 1] = INFINITY, yd[9 * (d + 1) + 1] = INFINITY;
      assert_int_equal(cpb_map_unembed(map, from, to, NULL, &error), CPB_EROW);
      assert_string_equal(error.text, "y row 9 holds inf");
      yf[9 * (d + 1) + 1] = NAN, yd[9 * (d + 1) + 1] = NAN;
      assert_int_equal(cpb_map_unembed(map, from, to, NULL, &error), CPB_EROW);
      assert_string_equal(error.text, "y row 9 holds NaN");
      free(xf), free(yf), free(xd), free(yd);
    }
    cpb_map_free(map);
  }
}

static void overflow_is_said(void **state) {
  (void)state;
  cpb_map *map = new_map(2, 1e30);
  float y[] = {1e-10f, 0, -1, 0.6f, 0, 0.8f}, x[4];
  cpb_error error = {.row = -1};
  assert_int_equal(
      cpb_map_unembed(map, cpb_rows(y, CPB_F32, 2, 3), cpb_rows_out(x, CPB_F32, 2, 2), NULL, &error),
      CPB_EROW);
  assert_int_equal(error.row, 0);
  assert_non_null(strstr(error.text, "too large"));
  assert_true(x[0] != x[0] && x[2] == x[2]);
  cpb_map_free(map);
}

static void wrong_arguments(void **state) {
  (void)state;
  cpb_map_options o;
  cpb_map_options_init(&o, sizeof o);
  cpb_map *map = NULL;
  cpb_error error = {.row = -1};
  static const double bad[] = {0, -1, NAN, INFINITY, -INFINITY};
  for (size_t i = 0; i < 5; i++) {
    o.d = 3;
    o.s = bad[i];
    assert_int_equal(cpb_map_new(&o, &map, &error), CPB_EINVAL);
    assert_null(map);
  }
  assert_non_null(strstr(error.text, "scale s must be > 0"));
  o.s = 1;
  o.d = 0;
  assert_int_equal(cpb_map_new(&o, &map, &error), CPB_EINVAL);
  double center[3] = {0, NAN, 0};
  o.d = 3;
  o.center = center;
  assert_int_equal(cpb_map_new(&o, &map, &error), CPB_EINVAL);
  assert_string_equal(error.text, "coordinate 1 of the centre must be finite, got nan");

  map = new_map(3, 1);
  double x[12] = {0}, y[16];
  assert_int_equal(
      cpb_map_embed(map, cpb_rows(x, CPB_F64, 3, 4), cpb_rows_out(y, CPB_F64, 3, 4), NULL, &error),
      CPB_ESHAPE);
  assert_string_equal(error.text, "x has 4 columns, wanted 3");
  cpb_view narrow = {x, CPB_F64, 3, 3, 2};
  assert_int_equal(cpb_map_embed(map, narrow, cpb_rows_out(y, CPB_F64, 3, 4), NULL, &error), CPB_ESHAPE);
  assert_string_equal(error.text, "x has stride 2, smaller than its 3 columns");
  assert_int_equal(
      cpb_map_embed(map, cpb_rows(x, CPB_F64, 3, 3), cpb_rows_out(y, CPB_F64, 2, 4), NULL, &error),
      CPB_ESHAPE);
  assert_int_equal(
      cpb_map_embed(map, cpb_rows(x, CPB_F64, 3, 3), cpb_rows_out(y, CPB_U8, 3, 4), NULL, &error),
      CPB_EDTYPE);
  assert_int_equal(
      cpb_map_embed(map, cpb_rows(x, CPB_I32, 3, 3), cpb_rows_out(y, CPB_F64, 3, 4), NULL, &error),
      CPB_EDTYPE);
  assert_int_equal(
      cpb_map_embed(map, cpb_rows(x, CPB_F64, 3, 3), cpb_rows_out(x + 3, CPB_F64, 2, 4), NULL, &error),
      CPB_ESHAPE);
  assert_int_equal(
      cpb_map_embed(map, cpb_rows(y, CPB_F64, 3, 3), cpb_rows_out(y + 1, CPB_F64, 3, 4), NULL, &error),
      CPB_ESHAPE);
  assert_string_equal(error.text, "x and y overlap in memory");
  assert_int_equal(
      cpb_map_embed(map, cpb_rows(NULL, CPB_F64, 3, 3), cpb_rows_out(y, CPB_F64, 3, 4), NULL, &error),
      CPB_EINVAL);
  assert_int_equal(
      cpb_map_embed(map, cpb_rows(NULL, CPB_F64, 0, 3), cpb_rows_out(NULL, CPB_F64, 0, 4), NULL, &error),
      CPB_OK);
  assert_int_equal(
      cpb_map_unembed(map, cpb_rows(NULL, CPB_F32, 0, 4), cpb_rows_out(NULL, CPB_F32, 0, 3), NULL, &error),
      CPB_OK);
  assert_int_equal(
      cpb_map_embed(NULL, cpb_rows(x, CPB_F64, 3, 3), cpb_rows_out(y, CPB_F64, 3, 4), NULL, &error),
      CPB_EINVAL);
  cpb_map_free(map);
  cpb_map_free(NULL);
}

/* The same bits for 1, 2, 3, 8 threads, in place or not, for large (streamed) and small outputs. */
static void threads_and_places(void **state) {
  (void)state;
  static const size_t shape[][2] = {{3, TEST_SANITIZED ? 8000 : 200000},
                                    {10, 300},
                                    {100, TEST_SANITIZED ? 3000 : 90000},
                                    {784, 60},
                                    {4096, 20}};
  static const size_t threads[] = {1, 2, 3, 8};
  for (size_t k = 0; k < 5; k++) {
    size_t d = shape[k][0], n = shape[k][1], room = n * (d + 1);
    float *x = malloc(room * 4), *y = malloc(room * 4), *again = malloc(room * 4), *back = malloc(room * 4),
          *back2 = malloc(room * 4);
    test_rng rng = {6};
    for (size_t i = 0; i < n * d; i++) x[i] = (float)(test_uniform(&rng) - 0.5);
    x[(n - 1) * d] = NAN;
    x[(n / 2) * d] = 1e30f;
    cpb_map *map = new_map(d, 1.5);
    assert_int_equal(
        cpb_map_embed(map, cpb_rows(x, CPB_F32, n, d), cpb_rows_out(y, CPB_F32, n, d + 1), NULL, NULL),
        CPB_EROW);
    assert_int_equal(
        cpb_map_unembed(map, cpb_rows(y, CPB_F32, n, d + 1), cpb_rows_out(back, CPB_F32, n, d), NULL, NULL),
        CPB_EROW);
    for (size_t t = 0; t < 4; t++) {
      cpb_pool *pool;
      assert_int_equal(cpb_pool_new(threads[t], &pool, NULL), CPB_OK);
      const cpb_exec *exec = cpb_pool_exec(pool);
      cpb_error error = {.row = -1};
      memset(again, 1, room * 4);
      assert_int_equal(cpb_map_embed(map, cpb_rows(x, CPB_F32, n, d), cpb_rows_out(again, CPB_F32, n, d + 1),
                                     exec, &error),
                       CPB_EROW);
      assert_int_equal(error.row, (int64_t)n - 1);
      assert_memory_equal(y, again, room * 4);
      assert_int_equal(cpb_map_unembed(map, cpb_rows(again, CPB_F32, n, d + 1),
                                       cpb_rows_out(back2, CPB_F32, n, d), exec, &error),
                       CPB_EROW);
      assert_memory_equal(back, back2, n * d * 4);
      for (size_t i = 0; i < n; i++) memcpy(again + i * (d + 1), x + i * d, d * 4);
      cpb_view in_place = {again, CPB_F32, n, d, d + 1};
      assert_int_equal(cpb_map_embed(map, in_place, cpb_rows_out(again, CPB_F32, n, d + 1), exec, &error),
                       CPB_EROW);
      assert_memory_equal(y, again, room * 4);
      cpb_out back_in_place = {again, CPB_F32, n, d, d + 1};
      assert_int_equal(cpb_map_unembed(map, cpb_rows(again, CPB_F32, n, d + 1), back_in_place, exec, &error),
                       CPB_EROW);
      for (size_t i = 0; i < n; i++) assert_memory_equal(back + i * d, again + i * (d + 1), d * 4);
      cpb_pool_free(pool);
    }
    cpb_map_free(map);
    free(x), free(y), free(again), free(back), free(back2);
  }
}

/* The calls without a map have the bits of the map of that scale. */
static void without_a_map(void **state) {
  (void)state;
  enum { N = 50, D = 3 };
  double x[N * D], y[N * (D + 1)], same[N * (D + 1)], back[N * D], again[N * D];
  test_rng rng = {77};
  for (size_t i = 0; i < N * D; i++) x[i] = 4 * test_uniform(&rng) - 2;
  cpb_view rows = cpb_rows(x, CPB_F64, N, D), images = cpb_rows(y, CPB_F64, N, D + 1);
  cpb_map *map = new_map(D, 2.5);
  cpb_error error;
  test_status((int)cpb_embed(rows, cpb_rows_out(y, CPB_F64, N, D + 1), 2.5, &error), CPB_OK, error.text);
  test_status((int)cpb_map_embed(map, rows, cpb_rows_out(same, CPB_F64, N, D + 1), NULL, &error), CPB_OK,
              error.text);
  assert_memory_equal(y, same, sizeof y);
  test_status((int)cpb_unembed(images, cpb_rows_out(back, CPB_F64, N, D), 2.5, &error), CPB_OK, error.text);
  test_status((int)cpb_map_unembed(map, images, cpb_rows_out(again, CPB_F64, N, D), NULL, &error), CPB_OK,
              error.text);
  assert_memory_equal(back, again, sizeof back);
  cpb_map_free(map);
  assert_int_equal(cpb_embed(rows, cpb_rows_out(y, CPB_F64, N, D + 1), -1, &error), CPB_EINVAL);
  assert_string_equal(error.argument, "s");
  assert_int_equal(cpb_embed(rows, cpb_rows_out(y, CPB_F64, N, D), 1, &error), CPB_ESHAPE);
  assert_int_equal(cpb_unembed(images, cpb_rows_out(back, CPB_F64, N, D), 0, &error), CPB_EINVAL);
  assert_int_equal(cpb_unembed(rows, cpb_rows_out(back, CPB_F64, N, D), 1, &error), CPB_ESHAPE);
}

/* The paper's simplified inverse s y'/(1+y0) is useless far out; this one is not. */
static void far_out(void **state) {
  (void)state;
  cpb_map *map = new_map(1, 1);
  float x = 1e7f, y[2], back;
  test_status(
      (int)cpb_map_embed(map, cpb_rows(&x, CPB_F32, 1, 1), cpb_rows_out(y, CPB_F32, 1, 2), NULL, NULL),
      CPB_OK, "");
  test_status(
      (int)cpb_map_unembed(map, cpb_rows(y, CPB_F32, 1, 2), cpb_rows_out(&back, CPB_F32, 1, 1), NULL, NULL),
      CPB_OK, "");
  assert_true(fabs((double)back / 1e7 - 1) <= 4 * U32);
  assert_false(fabs((double)(y[0] / (1 + y[1])) / 1e7 - 1) <= 0.5);
  cpb_map_free(map);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(interior_f32),
      cmocka_unit_test(interior_f64),
      cmocka_unit_test(centers_f32),
      cmocka_unit_test(centers_f64),
      cmocka_unit_test(ranges_f64),
      cmocka_unit_test(ranges_f32),
      cmocka_unit_test(every_dtype),
      cmocka_unit_test(any_length),
      cmocka_unit_test(any_length_near_the_pole),
      cmocka_unit_test(poles_and_bad_rows),
      cmocka_unit_test(overflow_is_said),
      cmocka_unit_test(wrong_arguments),
      cmocka_unit_test(threads_and_places),
      cmocka_unit_test(without_a_map),
      cmocka_unit_test(far_out),
  };
  return cmocka_run_group_tests_name("t1_embed", tests, NULL, NULL);
}

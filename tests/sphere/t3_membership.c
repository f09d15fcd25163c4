/* T3: which points are inside. Scores of caps and regions, for rows of every dtype. */
#include <stdbool.h>

#include "support/check.h"

#include "capball/region.h"
#include "support/big.h"

enum { WIDE = 300 }; /* more than one chunk of 256 */

static void random_vector(test_rng *rng, size_t d, double length, double *c) {
  test_direction(rng, d, c);
  for (size_t i = 0; i < d; i++) c[i] *= length;
}

/* T1 in plain double. */
static void embed(const double *x, size_t d, double s, double *y) {
  double n = 0;
  for (size_t i = 0; i < d; i++) n += x[i] * x[i];
  for (size_t i = 0; i < d; i++) y[i] = 2 * s * x[i] / (n + s * s);
  y[d] = (s - sqrt(n)) * (s + sqrt(n)) / (n + s * s);
}

/* Balls at |c| ~ s with radii down to `least`: for points at 0.9r and 1.1r from the centre, embedded and stored as
 * `dtype`, the cap and the ball agree. */
static void no_point_is_misjudged(cpb_dtype dtype, double least, int balls) {
  test_rng rng = {35};
  enum { D = 3 };
  size_t by_product = 0;
  for (int ball = 0; ball < balls; ball++) {
    double c[D], p[D + 1], x[D], out[D], y[2][D + 1], s = test_log_uniform(&rng, 1e-3, 1e3), score[2];
    float y32[2][D + 1];
    random_vector(&rng, D, s * test_log_uniform(&rng, 0.5, 2), c);
    double r = s * test_log_uniform(&rng, least, 1);
    cpb_region region = {.kind = ball % 3 ? CPB_BALL : CPB_COMPLEMENT, .d = D, .c = c, .r = r};
    cpb_cap cap = {.p = p};
    test_status((int)cpb_cap_from_region(&region, s, &cap, NULL), CPB_OK, "");
    for (int k = 0; k < 2; k++) {
      test_direction(&rng, D, out);
      for (size_t i = 0; i < D; i++) x[i] = c[i] + (k ? 1.1 : 0.9) * r * out[i];
      embed(x, D, s, y[k]);
      double product = -cap.b;
      for (size_t i = 0; i <= D; i++) {
        y32[k][i] = (float)y[k][i];
        product += p[i] * (dtype == CPB_F32 ? (double)y32[k][i] : y[k][i]);
      }
      by_product += (product >= 0) != ((k == 0) == (region.kind == CPB_BALL));
    }
    cpb_view rows = cpb_rows(dtype == CPB_F32 ? (void *)y32 : (void *)y, dtype, 2, D + 1);
    test_status((int)cpb_cap_scores(&cap, rows, cpb_rows_out(score, CPB_F64, 2, 1), NULL, NULL), CPB_OK, "");
    bool ball_inside = region.kind == CPB_BALL;
    if ((score[0] >= 0) != ball_inside || (score[1] >= 0) == ball_inside)
      fail_msg("ball %d, r/s = %g: scores %g and %g", ball, r / s, score[0], score[1]);
  }
  assert_true(by_product > (size_t)balls / 100); /* the plain product would have failed */
}

static void caps_judge_as_their_balls_f64(void **state) {
  (void)state;
  no_point_is_misjudged(CPB_F64, 1e-9, 100000);
}

static void caps_judge_as_their_balls_f32(void **state) {
  (void)state;
  no_point_is_misjudged(CPB_F32, 1e-5, 100000);
}

/* <p,y>-b of caps of any b, against 512 bits with y and p as they are stored. */
static void the_score_of_a_cap(void **state) {
  (void)state;
  test_rng rng = {36};
  double worst = 0;
  for (int trial = 0; trial < 2000; trial++) {
    big_reset();
    size_t d = trial % 50 == 0 ? WIDE : 1 + test_below(&rng, 9), n = d + 1;
    static double p[WIDE + 1], y[WIDE + 1];
    test_direction(&rng, n, p);
    test_direction(&rng, n, y);
    cpb_cap cap = {.d = d, .p = p, .b = 2.4 * test_uniform(&rng) - 1.2};
    if (trial % 7 == 0) cap.b = trial % 2 ? 1 : -1;
    test_status((int)cpb_cap_complete(&cap, NULL, NULL), CPB_OK, "");
    double score;
    test_status((int)cpb_cap_scores(&cap, cpb_rows(y, CPB_F64, 1, n), cpb_rows_out(&score, CPB_F64, 1, 1),
                                    NULL, NULL),
                CPB_OK, "");
    static big P[WIDE + 1], Y[WIDE + 1];
    big_vector(p, n, P);
    big_vector(y, n, Y);
    test_worst(&worst, big_error(score, big_sub(big_dot(P, Y, n), big_of(cap.b)), big_of(1)));
  }
  law_holds("T3", "score of a cap, <p,y>-b", "f64", worst, 32);
  double p[2] = {0, 1}, y[2] = {0, 1}, score;
  cpb_cap cap = {.d = 1, .p = p, .b = INFINITY};
  cpb_view pole = cpb_rows(y, CPB_F64, 1, 2);
  test_status((int)cpb_cap_complete(&cap, NULL, NULL), CPB_OK, "");
  test_status((int)cpb_cap_scores(&cap, pole, cpb_rows_out(&score, CPB_F64, 1, 1), NULL, NULL), CPB_OK, "");
  assert_true(score == -INFINITY);
  cap.b = 2, cap.sigma = 0, cap.a = 3; /* empty: not even p itself is inside */
  test_status((int)cpb_cap_scores(&cap, pole, cpb_rows_out(&score, CPB_F64, 1, 1), NULL, NULL), CPB_OK, "");
  assert_true(score == -1);
}

/* Rows of every dtype: the same numbers, stored with a stride beyond the columns. */
typedef struct mixed_rows {
  _Alignas(8) unsigned char bytes[40 * (WIDE + 3) * 8];
  cpb_view view;
} mixed_rows;

static uint16_t half_of(int k) { /* k/8 for |k| <= 1024, exactly */
  unsigned sign = k < 0 ? 0x8000 : 0;
  unsigned magnitude = (unsigned)(k < 0 ? -k : k), exponent = 22;
  if (magnitude == 0) return 0;
  while (magnitude < 1024) magnitude <<= 1, exponent--;
  return (uint16_t)(sign | exponent << 10 | (magnitude & 1023));
}

static void fill_rows(test_rng *rng, cpb_dtype dtype, size_t n, size_t d, mixed_rows *rows) {
  rows->view = (cpb_view){rows->bytes, dtype, n, d, d + 3};
  for (size_t i = 0; i < n * (d + 3); i++) {
    int k = (int)test_below(rng, 201) - 100;
    switch (dtype) {
    case CPB_F32: ((float *)rows->bytes)[i] = (float)test_gauss(rng); break;
    case CPB_F64: ((double *)rows->bytes)[i] = test_gauss(rng); break;
    case CPB_F16: ((uint16_t *)rows->bytes)[i] = half_of(k); break;
    case CPB_U8: rows->bytes[i] = (unsigned char)(k + 100); break;
    default: ((int8_t *)rows->bytes)[i] = (int8_t)k; break;
    }
  }
}

static double element(cpb_view view, size_t row, size_t column) {
  size_t i = row * view.stride + column;
  switch (view.dtype) {
  case CPB_F32: return (double)((const float *)view.data)[i];
  case CPB_F64: return ((const double *)view.data)[i];
  case CPB_F16: {
    uint16_t half = ((const uint16_t *)view.data)[i];
    double magnitude = half & 0x7fff ? ldexp(1024 + (half & 1023), (half >> 10 & 31) - 25) : 0;
    return half & 0x8000 ? -magnitude : magnitude;
  }
  case CPB_U8: return ((const unsigned char *)view.data)[i];
  default: return ((const int8_t *)view.data)[i];
  }
}

/* The score by its definition in 512 bits, and the unit its error is measured in. */
static big big_score(const cpb_region *region, cpb_view x, size_t row, big *unit) {
  size_t d = region->d;
  static big z[WIDE], y[WIDE], a[WIDE];
  big r = big_of(region->r);
  if (region->kind == CPB_HALFSPACE) {
    big sum = big_of(0), size = big_abs(r);
    for (size_t i = 0; i < d; i++) {
      big term = big_mul(big_of(element(x, row, i)), big_of(region->c[i]));
      sum = big_add(sum, term), size = big_add(size, big_abs(term));
    }
    *unit = size;
    return big_sub(sum, r);
  }
  for (size_t i = 0; i < d; i++) z[i] = big_sub(big_of(element(x, row, i)), big_of(region->c[i]));
  big rho2 = big_dot(z, z, d);
  if (region->axis != NULL) { /* |z|^2 + k^2 ((r/along)^2 - 1) */
    big_vector(region->axis, d, a);
    big k = big_dot(z, a, d), ratio = big_div(r, big_of(region->along));
    rho2 = big_add(rho2, big_mul(big_square(k), big_sub(big_square(ratio), big_of(1))));
  }
  if (region->W != NULL) {
    for (size_t i = 0; i < d; i++) {
      y[i] = big_of(0);
      for (size_t j = 0; j < d; j++) y[i] = big_add(y[i], big_mul(big_of(region->W[i * d + j]), z[j]));
    }
    rho2 = big_dot(y, y, d);
  }
  *unit = big_add(rho2, big_square(r));
  if (region->kind == CPB_PUNCTURED) return rho2;
  big inside = big_sub(big_square(r), rho2);
  return region->kind == CPB_BALL ? inside : big_neg(inside);
}

static void score_one_dtype(test_rng *rng, cpb_region *region, cpb_dtype dtype, double worst[2]) {
  enum { N = 7 };
  static mixed_rows rows;
  double out64[N * 2];
  float out32[N * 2];
  fill_rows(rng, dtype, N, region->d, &rows);
  for (size_t i = 0; i < N * 2; i++) out64[i] = out32[i] = 77;
  cpb_error error = {0};
  test_status((int)cpb_region_scores(region, rows.view, (cpb_out){out64, CPB_F64, N, 1, 2}, NULL, &error),
              CPB_OK, error.text);
  test_status((int)cpb_region_scores(region, rows.view, (cpb_out){out32, CPB_F32, N, 1, 2}, NULL, &error),
              CPB_OK, error.text);
  for (size_t row = 0; row < N; row++) {
    assert_true(out64[2 * row + 1] == 77 && out32[2 * row + 1] == 77);
    assert_true(out32[2 * row] == (float)out64[2 * row]);
    if (region->kind == CPB_EMPTY || region->kind == CPB_EVERYTHING) {
      assert_true(out64[2 * row] == (region->kind == CPB_EMPTY ? -INFINITY : INFINITY));
      continue;
    }
    big_reset();
    big unit, want = big_score(region, rows.view, row, &unit);
    test_worst(&worst[region->W != NULL], big_error(out64[2 * row], want, unit));
  }
}

static void every_kind_metric_and_dtype(void **state) {
  (void)state;
  test_rng rng = {37};
  double worst[2] = {0};
  static double c[WIDE], axis[WIDE], W[40 * 40];
  static const size_t dims[] = {1, 2, 5, 17, 40, WIDE};
  for (size_t k = 0; k < 6; k++)
    for (int kind = 0; kind < 6; kind++)
      for (int metric = 0; metric < 4; metric++) /* round, oblate, prolate, any */
        for (int dtype = CPB_F32; dtype <= CPB_I8; dtype++) {
          size_t d = dims[k];
          if (metric > 0 && (kind != CPB_BALL && kind != CPB_COMPLEMENT)) continue;
          if (metric == 3 && d > 40) continue;
          test_direction(&rng, d, axis);
          test_direction(&rng, d, c);
          for (size_t i = 0; i < d * d && metric == 3; i++) W[i] = test_gauss(&rng) + 3 * (i % (d + 1) == 0);
          cpb_region region = {.kind = (cpb_region_kind)kind, .d = d, .c = c, .r = 2};
          if (metric == 1 || metric == 2) region.axis = axis, region.along = metric == 1 ? 0.25 : 9;
          if (metric == 3) region.W = W;
          score_one_dtype(&rng, &region, (cpb_dtype)dtype, worst);
        }
  law_holds("T3", "score of a region, round or of revolution, of r^2+rho^2", "f64", worst[0], 64);
  law_holds("T6", "score of an ellipsoid, of r^2+rho^2, any W of d <= 40", "f64", worst[1], 64);
}

/* W takes more than one chunk of rows and of columns. */
static void a_whitening_wider_than_a_chunk(void **state) {
  (void)state;
  test_rng rng = {38};
  static double W[WIDE * WIDE], c[WIDE], x[WIDE];
  for (size_t i = 0; i < WIDE * WIDE; i++) W[i] = i % (WIDE + 1) == 0 ? 2 : i % (WIDE + 1) == 1 ? 1 : 0;
  for (size_t i = 0; i < WIDE; i++) x[i] = test_gauss(&rng), c[i] = test_gauss(&rng);
  double want = 9, score;
  for (size_t i = 0; i < WIDE; i++) {
    double y = 2 * (x[i] - c[i]) + (i + 1 < WIDE ? x[i + 1] - c[i + 1] : 0);
    want -= y * y;
  }
  cpb_region region = {.kind = CPB_BALL, .d = WIDE, .c = c, .r = 3, .W = W};
  test_status((int)cpb_region_scores(&region, cpb_rows(x, CPB_F64, 1, WIDE),
                                     cpb_rows_out(&score, CPB_F64, 1, 1), NULL, NULL),
              CPB_OK, "");
  assert_true(fabs(score - want) <= 1e-12 * fabs(want));
}

static double score_of(const cpb_region *region, const double *x, cpb_dtype out, cpb_status wanted) {
  double score = 77;
  float narrow = 77;
  void *to = out == CPB_F64 ? (void *)&score : (void *)&narrow;
  cpb_error error = {0};
  test_status((int)cpb_region_scores(region, cpb_rows(x, CPB_F64, 1, region->d), cpb_rows_out(to, out, 1, 1),
                                     NULL, &error),
              (int)wanted, error.text);
  if (wanted == CPB_EROW) assert_non_null(strstr(error.text, "too large"));
  return out == CPB_F64 ? score : (double)narrow;
}

/* Where squares leave the range of double the sign is correct, or the row is reported as having no result. */
static void huge_and_tiny_coordinates(void **state) {
  (void)state;
  static const double size[] = {0x1p-1060, 1e-300, 1e-200, 1e-160, 1e-100, 1, 1e100, 1e150, 1e200, 1e300};
  double W[4] = {1, 0, 0, 1}, axis[2] = {0.6, 0.8}, n[2] = {0.6, 0.8};
  for (size_t i = 0; i < 10; i++)
    for (int metric = 0; metric < 3; metric++)
      for (int out = 0; out < 2; out++) {
        double l = size[i], c[2] = {4 * l, -3 * l}, in[2] = {4 * l, -3.5 * l}, off[2] = {4 * l, -1 * l};
        cpb_region region = {.kind = CPB_BALL, .d = 2, .c = c, .r = l};
        if (metric == 1) region.axis = axis, region.along = l;
        if (metric == 2) region.W = W;
        cpb_dtype real = out ? CPB_F32 : CPB_F64;
        cpb_status status = l > (out ? 1e19 : 1e154) ? CPB_EROW : CPB_OK;
        double inside = score_of(&region, in, real, status), outside = score_of(&region, off, real, status);
        region.kind = CPB_COMPLEMENT;
        double other = score_of(&region, in, real, status), same = score_of(&region, off, real, status);
        if (status == CPB_EROW)
          assert_true(isnan(inside) && isnan(outside) && isnan(other) && isnan(same));
        else
          assert_true(inside >= 0 && outside < 0 && other < 0 && same >= 0);
        if (status == CPB_OK && l > 1e-100 && l < 1e100 && !out)
          assert_true(fabs(inside / (0.75 * l * l) - 1) < 1e-14 && fabs(outside / (-3 * l * l) - 1) < 1e-14);
        if (metric > 0) continue;
        cpb_region plane = {.kind = CPB_HALFSPACE, .d = 2, .c = n, .r = 0};
        double below[2] = {-l, -l / 2}, above[2] = {l, -l / 2};
        status = out && l > 3e38 ? CPB_EROW : CPB_OK;
        double under = score_of(&plane, below, real, status), over = score_of(&plane, above, real, status);
        if (status == CPB_OK) assert_true(under < 0 && over >= 0);
        if (!out && l > 1e-290)
          assert_true(fabs(under + l) <= 8 * U64 * l && fabs(over / (0.2 * l) - 1) <= 16 * U64);
      }
  double edge[2] = {1.7e308, 1.7e308}, back[2] = {-1.7e308, -1.7e308};
  cpb_region plane = {.kind = CPB_HALFSPACE, .d = 2, .c = n, .r = -1e308};
  assert_true(isnan(score_of(&plane, edge, CPB_F64, CPB_EROW)));
  assert_true(isnan(score_of(&plane, back, CPB_F64, CPB_EROW)));
  double large[4] = {1e200, 0, 0, 1e-200}, point[2] = {1e-200, 1e200}, zero[2] = {0, 0};
  cpb_region mixed = {.kind = CPB_BALL, .d = 2, .c = zero, .r = 2, .W = large}; /* |W x|^2 = 2 */
  assert_true(fabs(score_of(&mixed, point, CPB_F64, CPB_OK) - 2) <= 16 * U64);
  double thin[2] = {1, 0}, away[2] = {2, 0}, near[2] = {0.5, 0};
  cpb_region needle = {.kind = CPB_BALL, .d = 2, .c = zero, .r = 1e-200, .axis = thin, .along = 1};
  assert_true(score_of(&needle, away, CPB_F64, CPB_OK) < 0 && score_of(&needle, near, CPB_F64, CPB_OK) >= 0);
}

/* A cap of radius 1e-200 about the pole: chords that no square can hold. */
static void a_cap_too_small_for_squares(void **state) {
  (void)state;
  double c[1] = {0}, p[2], y[2][2], score[2];
  cpb_region region = {.kind = CPB_BALL, .d = 1, .c = c, .r = 1e-200};
  cpb_cap cap = {.p = p};
  test_status((int)cpb_cap_from_region(&region, 1, &cap, NULL), CPB_OK, "");
  double in = 0.9e-200, out = 1.1e-200;
  embed(&in, 1, 1, y[0]);
  embed(&out, 1, 1, y[1]);
  test_status(
      (int)cpb_cap_scores(&cap, cpb_rows(y, CPB_F64, 2, 2), cpb_rows_out(score, CPB_F64, 2, 1), NULL, NULL),
      CPB_OK, "");
  assert_true(score[0] >= 0 && score[1] < 0);
}

static void rows_without_an_answer(void **state) {
  (void)state;
  enum { N = 5, D = 3 };
  double c[D] = {0.1, 0.2, 0.3}, axis[D] = {1, 0, 0}, W[D * D] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, score[N];
  for (int kind = 0; kind < 6; kind++)
    for (int metric = 0; metric < 3; metric++)
      for (int real = 0; real < 2; real++) {
        double x[N * D];
        float x32[N * D];
        for (size_t i = 0; i < N * D; i++) x[i] = (double)i / 8;
        x[1 * D + 2] = INFINITY, x[3 * D] = -INFINITY, x[3 * D + 1] = NAN;
        for (size_t i = 0; i < N * D; i++) x32[i] = (float)x[i];
        cpb_region region = {.kind = (cpb_region_kind)kind, .d = D, .c = c, .r = 1};
        if (metric == 1) region.axis = axis, region.along = 2;
        if (metric == 2) region.W = W;
        cpb_view view = cpb_rows(real ? (void *)x : (void *)x32, real ? CPB_F64 : CPB_F32, N, D);
        cpb_out out = cpb_rows_out(score, CPB_F64, N, 1);
        cpb_error error = {0};
        test_status((int)cpb_region_scores(&region, view, out, NULL, &error), CPB_EROW, error.text);
        assert_int_equal(error.row, 1);
        assert_string_equal(error.text, "x row 1 holds inf");
        for (size_t row = 0; row < N; row++) assert_true(isnan(score[row]) == (row == 1 || row == 3));
        view.data = (const char *)view.data + 2 * D * cpb_dtype_size(view.dtype);
        view.rows = out.rows = 3;
        test_status((int)cpb_region_scores(&region, view, out, NULL, &error), CPB_EROW, error.text);
        assert_string_equal(error.text, "x row 1 holds NaN");
        test_status((int)cpb_region_scores(&region, view, out, NULL, NULL), CPB_EROW, "");
      }
  double p[2] = {0.6, 0.8}, y[6] = {0.6, 0.8, NAN, 0, 1, -INFINITY};
  cpb_cap cap = {.d = 1, .p = p, .b = 0.5};
  cpb_error error = {0};
  test_status((int)cpb_cap_complete(&cap, NULL, NULL), CPB_OK, "");
  test_status(
      (int)cpb_cap_scores(&cap, cpb_rows(y, CPB_F64, 3, 2), cpb_rows_out(score, CPB_F64, 3, 1), NULL, &error),
      CPB_EROW, error.text);
  assert_string_equal(error.text, "y row 1 holds NaN");
  assert_true(fabs(score[0] - 0.5) <= 8 * U64 && isnan(score[1]) && isnan(score[2]));
  test_status((int)cpb_cap_scores(&cap, cpb_rows(y + 4, CPB_F64, 1, 2), cpb_rows_out(score, CPB_F64, 1, 1),
                                  NULL, &error),
              CPB_EROW, error.text);
  assert_string_equal(error.text, "y row 0 holds inf");
}

static void any_number_of_threads_gives_the_same_bits(void **state) {
  (void)state;
  enum { N = 20000, D = 11 };
  test_rng rng = {39};
  static const size_t threads[] = {1, 2, 3, 8};
  double *x = malloc(sizeof *x * N * D), *want = malloc(sizeof *x * N), *got = malloc(sizeof *x * N);
  double c[D], axis[D], W[D * D], p[D];
  assert_true(x != NULL && want != NULL && got != NULL);
  for (size_t i = 0; i < (size_t)N * D; i++) x[i] = test_gauss(&rng);
  x[(N - 1) * D] = NAN, x[777 * D + 4] = INFINITY;
  for (size_t i = 0; i < D * D; i++) W[i] = test_gauss(&rng);
  test_direction(&rng, D, c);
  test_direction(&rng, D, axis);
  test_direction(&rng, D, p);
  cpb_cap cap = {.d = D - 1, .p = p, .b = 0.3};
  test_status((int)cpb_cap_complete(&cap, NULL, NULL), CPB_OK, "");
  cpb_view rows = cpb_rows(x, CPB_F64, N, D);
  for (int what = 0; what < 4; what++) {
    cpb_region region = {.kind = CPB_BALL, .d = D, .c = c, .r = 3};
    if (what == 1) region.axis = axis, region.along = 1;
    if (what == 2) region.W = W;
    for (size_t t = 0; t < 5; t++) {
      cpb_pool *pool = NULL;
      cpb_error error = {0};
      if (t > 0) test_status((int)cpb_pool_new(threads[t - 1], &pool, &error), CPB_OK, error.text);
      cpb_out out = cpb_rows_out(t == 0 ? want : got, CPB_F64, N, 1);
      cpb_status status = what == 3 ? cpb_cap_scores(&cap, rows, out, cpb_pool_exec(pool), &error)
                                    : cpb_region_scores(&region, rows, out, cpb_pool_exec(pool), &error);
      test_status((int)status, CPB_EROW, error.text);
      assert_int_equal(error.row, 777);
      if (t > 0) assert_memory_equal(got, want, sizeof *got * N);
      cpb_pool_free(pool);
    }
  }
  free(x), free(want), free(got);
}

static void refuses(cpb_status status, cpb_status wanted, const cpb_error *error, const char *words) {
  assert_int_equal(status, wanted);
  if (strstr(error->text, words) == NULL) fail_msg("\"%s\" lacks \"%s\"", error->text, words);
}

static void shapes_that_do_not_fit(void **state) {
  (void)state;
  double c[2] = {1, 2}, p[3] = {0, 0, 1}, x[12] = {0}, score[4], twice[2] = {2, 0}, axis[2] = {1, 0};
  double W[4] = {1, 0, 0, 1}, hole[4] = {1, 0, NAN, 1};
  cpb_region ball = {.kind = CPB_BALL, .d = 2, .c = c, .r = 1}, region;
  cpb_cap cap = {.d = 2, .p = p, .b = 0, .sigma = 1, .a = 1}, half;
  cpb_view rows = cpb_rows(x, CPB_F64, 4, 2), lifted = cpb_rows(x, CPB_F64, 4, 3), view;
  cpb_out out = cpb_rows_out(score, CPB_F64, 4, 1), to;
  cpb_error error;
  refuses(cpb_region_scores(&ball, lifted, out, NULL, &error), CPB_ESHAPE, &error,
          "x has 3 columns, wanted 2");
  refuses(cpb_cap_scores(&cap, rows, out, NULL, &error), CPB_ESHAPE, &error, "y has 2 columns, wanted 3");
  view = rows, view.stride = 1;
  refuses(cpb_region_scores(&ball, view, out, NULL, &error), CPB_ESHAPE, &error, "stride 1");
  to = out, to.rows = 3;
  refuses(cpb_region_scores(&ball, rows, to, NULL, &error), CPB_ESHAPE, &error,
          "scores has 3 rows, wanted 4");
  to = out, to.cols = to.stride = 2;
  refuses(cpb_region_scores(&ball, rows, to, NULL, &error), CPB_ESHAPE, &error, "columns");
  to = out, to.dtype = CPB_U8;
  refuses(cpb_region_scores(&ball, rows, to, NULL, &error), CPB_EDTYPE, &error, "u8");
  view = rows, view.dtype = CPB_I64;
  refuses(cpb_region_scores(&ball, view, out, NULL, &error), CPB_EDTYPE, &error, "i64");
  view = rows, view.data = NULL;
  refuses(cpb_region_scores(&ball, view, out, NULL, &error), CPB_EINVAL, &error, "no data");
  to = out, to.data = x;
  refuses(cpb_region_scores(&ball, rows, to, NULL, &error), CPB_ESHAPE, &error, "overlap");
  refuses(cpb_cap_scores(&cap, lifted, to, NULL, &error), CPB_ESHAPE, &error, "overlap");
  refuses(cpb_region_scores(NULL, rows, out, NULL, &error), CPB_EINVAL, &error, "NULL");
  refuses(cpb_cap_scores(NULL, rows, out, NULL, &error), CPB_EINVAL, &error, "NULL");
  half = cap, half.sigma = NAN;
  refuses(cpb_cap_scores(&half, lifted, out, NULL, &error), CPB_EINVAL, &error, "not complete");
  region = ball, region.r = 0;
  refuses(cpb_region_scores(&region, rows, out, NULL, &error), CPB_EINVAL, &error, "got 0");
  region = ball, region.axis = twice, region.along = 1;
  refuses(cpb_region_scores(&region, rows, out, NULL, &error), CPB_EINVAL, &error, "length 1, got 2");
  region = ball, region.axis = axis, region.along = 1, region.W = W;
  refuses(cpb_region_scores(&region, rows, out, NULL, &error), CPB_EINVAL, &error, "only one");
  region = ball, region.W = hole;
  refuses(cpb_region_scores(&region, rows, out, NULL, &error), CPB_EINVAL, &error, "not finite");
  assert_int_equal(cpb_region_scores(&region, rows, out, NULL, NULL), CPB_EINVAL);
  view = cpb_rows(NULL, CPB_F32, 0, 2), to = cpb_rows_out(NULL, CPB_F32, 0, 1);
  test_status((int)cpb_region_scores(&ball, view, to, NULL, NULL), CPB_OK, "");
  view.cols = view.stride = 3;
  test_status((int)cpb_cap_scores(&cap, view, to, NULL, NULL), CPB_OK, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(caps_judge_as_their_balls_f64),
      cmocka_unit_test(caps_judge_as_their_balls_f32),
      cmocka_unit_test(the_score_of_a_cap),
      cmocka_unit_test(every_kind_metric_and_dtype),
      cmocka_unit_test(a_whitening_wider_than_a_chunk),
      cmocka_unit_test(huge_and_tiny_coordinates),
      cmocka_unit_test(a_cap_too_small_for_squares),
      cmocka_unit_test(rows_without_an_answer),
      cmocka_unit_test(any_number_of_threads_gives_the_same_bits),
      cmocka_unit_test(shapes_that_do_not_fit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

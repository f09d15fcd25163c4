/* T9: ABID against the pairwise loop and 512 bits, its slope, its curves and their maxima. */
#include "support/check.h"

#include "capball/advanced/abid.h"
#include "statistics/weighted.h"
#include "support/big.h"

enum { MOST_ROWS = 700, MOST_COLUMNS = 130 };

static double x[MOST_ROWS * MOST_COLUMNS], y[MOST_ROWS * (MOST_COLUMNS + 1)];

static cpb_view rows_of(size_t n, size_t d) { return cpb_rows(x, CPB_F64, n, d); }

static void fill(test_rng *rng, size_t n, size_t d, double spread) {
  for (size_t i = 0; i < n; i++) {
    double size = test_log_uniform(rng, 1, spread);
    for (size_t k = 0; k < d; k++) x[i * d + k] = size * test_gauss(rng);
  }
}

/* S(x) of every row, straight from T1. */
static void embed(size_t n, size_t d, double s) {
  for (size_t i = 0; i < n; i++) {
    double norm2 = 0;
    for (size_t k = 0; k < d; k++) norm2 += x[i * d + k] * x[i * d + k];
    for (size_t k = 0; k < d; k++) y[i * (d + 1) + k] = 2 * s * x[i * d + k] / (norm2 + s * s);
    y[i * (d + 1) + d] = (s * s - norm2) / (norm2 + s * s);
  }
}

/* The definition: the mean of cos^2 over pairs of rows, one by one. */
static double by_pairs(const double *rows, size_t n, size_t d, cpb_pairs pairs) {
  double total = 0;
  for (size_t i = 0; i < n; i++) {
    double sum = 0;
    for (size_t j = 0; j < n; j++) {
      double product = 0, left = 0, right = 0;
      for (size_t k = 0; k < d; k++) {
        double a = rows[i * d + k], b = rows[j * d + k];
        product += a * b;
        left += a * a;
        right += b * b;
      }
      if (i != j || pairs == CPB_PAIRS_ALL) sum += product * product / (left * right);
    }
    total += sum;
  }
  return (double)n * (double)(pairs == CPB_PAIRS_ALL ? n : n - 1) / total;
}

static double relative(double got, double want) { return fabs(got / want - 1); }

static void is_the_pairwise_loop(void **state) {
  (void)state;
  static const size_t shapes[][2] = {{1, 1},    {2, 1},    {3, 2},   {50, 10},  {191, 31}, {192, 32},
                                     {193, 33}, {500, 10}, {400, 5}, {120, 64}, {90, 130}};
  static const double scales[] = {0.01, 0.5, 1, 3, 40, 1e4};
  double worst = 0, got[6];
  test_rng rng = {9};
  for (size_t shape = 0; shape < sizeof shapes / sizeof *shapes; shape++) {
    size_t n = shapes[shape][0], d = shapes[shape][1];
    if (TEST_SANITIZED && n > 192) continue;
    fill(&rng, n, d, shape % 2 ? 1 : 5);
    for (int pairs = n < 2 ? 0 : 1; pairs >= 0; pairs--) {
      cpb_error error;
      test_status((int)cpb_abid_original(rows_of(n, d), NULL, (cpb_pairs)pairs, got, NULL, &error), CPB_OK,
                  error.text);
      test_worst(&worst, relative(got[0], by_pairs(x, n, d, (cpb_pairs)pairs)));
      test_status((int)cpb_abid_embedded(rows_of(n, d), NULL, (cpb_pairs)pairs,
                                         (cpb_abid_scales){scales, 6, got, NULL}, NULL, &error),
                  CPB_OK, error.text);
      for (size_t k = 0; k < 6; k++) {
        embed(n, d, scales[k]);
        test_worst(&worst, relative(got[k], by_pairs(y, n, d + 1, (cpb_pairs)pairs)));
      }
    }
  }
  law_holds("T9", "ABID against the pairwise loop", "f64", worst / U64, 1e-12 / U64);
}

/* F of S(x) in 512 bits, at a scale given as a big. */
static big big_form(size_t n, size_t d, big s) {
  static big rows[16 * 6];
  big total = big_of(0), s2 = big_square(s);
  for (size_t i = 0; i < n; i++) {
    big norm2 = big_of(0);
    for (size_t k = 0; k < d; k++) norm2 = big_add(norm2, big_square(big_of(x[i * d + k])));
    big q = big_add(norm2, s2);
    for (size_t k = 0; k < d; k++)
      rows[i * (d + 1) + k] = big_div(big_mul(big_scale2(s, 1), big_of(x[i * d + k])), q);
    rows[i * (d + 1) + d] = big_div(big_sub(s2, norm2), q);
  }
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++)
      total = big_add(total, big_square(big_dot(rows + i * (d + 1), rows + j * (d + 1), d + 1)));
  return total;
}

static big big_abid(size_t n, size_t d, big s, cpb_pairs pairs) {
  big F = big_form(n, d, s), count = big_of((double)n);
  if (pairs == CPB_PAIRS_ALL) return big_div(big_square(count), F);
  return big_div(big_mul(count, big_of((double)n - 1)), big_sub(F, count));
}

/* (A(s(1+t)) - A(s(1-t))) / 2t is dABID/dlog s up to t^2; t = 2^-100 leaves 200 bits. */
static big big_slope(size_t n, size_t d, double s, cpb_pairs pairs) {
  big t = big_scale2(big_of(1), -100), up = big_mul(big_of(s), big_add(big_of(1), t)),
      down = big_mul(big_of(s), big_sub(big_of(1), t));
  big rise = big_sub(big_abid(n, d, up, pairs), big_abid(n, d, down, pairs));
  return big_div(rise, big_scale2(t, 1));
}

static void slope_and_value_in_high_precision(void **state) {
  (void)state;
  test_rng rng = {19};
  double values = 0, slopes = 0, curve_values = 0, curve_slopes = 0;
  for (int trial = 0; trial < 12; trial++) {
    size_t n = 4 + test_below(&rng, 12), d = 1 + test_below(&rng, 5);
    fill(&rng, n, d, 4);
    cpb_pairs pairs = (cpb_pairs)(trial % 2);
    double s = test_log_uniform(&rng, 0.1, 20), abid, slope;
    big_reset();
    big want = big_abid(n, d, big_of(s), pairs), rise = big_slope(n, d, s, pairs);
    test_status((int)cpb_abid_embedded(rows_of(n, d), NULL, pairs, (cpb_abid_scales){&s, 1, &abid, &slope},
                                       NULL, NULL),
                CPB_OK, "");
    test_worst(&values, big_relative_error(abid, want));
    test_worst(&slopes, big_error(slope, rise, want));
    cpb_abid_curve *curve;
    test_status((int)cpb_abid_curve_new(rows_of(n, d), NULL, 0, &curve, NULL, NULL), CPB_OK, "");
    test_status((int)cpb_abid_curve_at(curve, s, pairs, &abid, &slope, NULL), CPB_OK, "");
    cpb_abid_curve_free(curve);
    test_worst(&curve_values, big_relative_error(abid, want));
    test_worst(&curve_slopes, big_error(slope, rise, want));
  }
  law_holds("T9", "ABID of S(x)", "f64", values, 32);
  law_holds("T9", "dABID/dlog s, of ABID", "f64", slopes, 64);
  law_holds("T9", "ABID by its curve", "f64", curve_values, 2048);
  law_holds("T9", "dABID/dlog s by its curve, of ABID", "f64", curve_slopes, 4096);
}

static void both_ways_agree(void **state) {
  (void)state;
  static const size_t shapes[][2] = {{1, 1}, {97, 3}, {200, 40}, {385, 70}};
  enum { COLUMNS = 7 };
  test_rng rng = {29};
  double worst = 0;
  for (size_t shape = 0; shape < 4; shape++) {
    size_t n = shapes[shape][0], d = shapes[shape][1];
    fill(&rng, n, d, 2);
    cpb_memory memory = {0};
    cpb_directions u;
    cpb_weights w;
    double gram[COLUMNS * COLUMNS], moments[COLUMNS * COLUMNS], largest = 0;
    test_status((int)cpb_directions_new(&u, &memory, rows_of(n, d), NULL, NULL, NULL), CPB_OK, "");
    test_status((int)cpb_weights_new(&w, &memory, &u, COLUMNS, NULL), CPB_OK, "");
    for (size_t i = 0; i < n; i++)
      for (size_t k = 0; k < COLUMNS; k++) w.value[i * w.stride + k] = test_gauss(&rng);
    test_status((int)cpb_weighted_squares_by_gram(&u, &w, gram, NULL, NULL), CPB_OK, "");
    test_status((int)cpb_weighted_squares_by_moments(&u, &w, moments, NULL, NULL), CPB_OK, "");
    for (size_t i = 0; i < COLUMNS * COLUMNS; i++) largest = fmax(largest, fabs(gram[i]));
    for (size_t i = 0; i < COLUMNS * COLUMNS; i++)
      test_worst(&worst, fabs(gram[i] - moments[i]) / largest / U64);
    cpb_memory_free(&memory);
  }
  law_holds("T9", "sums over pairs, Gram against moments", "f64", worst, 64);
}

static void threads_do_not_matter(void **state) {
  (void)state;
  static const double scales[] = {0.3, 1, 2, 8};
  enum { LESS = TEST_SANITIZED ? 2 : 1 };
  static const size_t shapes[][2] = {
      {600 / LESS, 20}, {60, 130 / LESS}, {400 / LESS, 100 / LESS}}; /* moments, Gram, either */
  test_rng rng = {39};
  for (size_t shape = 0; shape < 3; shape++) {
    size_t n = shapes[shape][0], d = shapes[shape][1];
    fill(&rng, n, d, 3);
    double first[8], got[8], first_curve = 0;
    for (size_t threads = 1; threads <= 8; threads += threads) {
      cpb_pool *pool;
      cpb_abid_curve *curve;
      double value;
      test_status((int)cpb_pool_new(threads, &pool, NULL), CPB_OK, "");
      test_status((int)cpb_abid_embedded(rows_of(n, d), NULL, CPB_PAIRS_ALL,
                                         (cpb_abid_scales){scales, 4, got, got + 4}, cpb_pool_exec(pool),
                                         NULL),
                  CPB_OK, "");
      test_status((int)cpb_abid_curve_new(rows_of(n, d), NULL, 0, &curve, cpb_pool_exec(pool), NULL), CPB_OK,
                  "");
      test_status((int)cpb_abid_curve_at(curve, 1.5, CPB_PAIRS_ALL, &value, NULL, NULL), CPB_OK, "");
      cpb_abid_curve_free(curve);
      cpb_pool_free(pool);
      if (threads == 1) {
        memcpy(first, got, sizeof got);
        first_curve = value;
      }
      assert_memory_equal(first, got, sizeof got);
      assert_memory_equal(&first_curve, &value, sizeof value);
    }
  }
}

static void every_dtype_and_a_centre(void **state) {
  (void)state;
  enum { N = 60, D = 9 };
  test_rng rng = {49};
  static float single[N * D];
  static uint8_t bytes[N * D];
  double center[D], s = 40, want, got;
  for (size_t k = 0; k < D; k++) center[k] = 100 + test_gauss(&rng);
  for (size_t i = 0; i < N * D; i++) {
    bytes[i] = (uint8_t)test_below(&rng, 256);
    single[i] = bytes[i];
    x[i] = (double)bytes[i] - center[i % D];
  }
  test_status((int)cpb_abid_embedded(rows_of(N, D), NULL, CPB_PAIRS_ALL,
                                     (cpb_abid_scales){&s, 1, &want, NULL}, NULL, NULL),
              CPB_OK, "");
  test_status((int)cpb_abid_embedded(cpb_rows(single, CPB_F32, N, D), center, CPB_PAIRS_ALL,
                                     (cpb_abid_scales){&s, 1, &got, NULL}, NULL, NULL),
              CPB_OK, "");
  assert_true(relative(got, want) <= 64 * U64);
  test_status((int)cpb_abid_embedded(cpb_rows(bytes, CPB_U8, N, D), center, CPB_PAIRS_ALL,
                                     (cpb_abid_scales){&s, 1, &got, NULL}, NULL, NULL),
              CPB_OK, "");
  assert_true(relative(got, want) <= 64 * U64);
}

static void bins_come_close(void **state) {
  (void)state;
  test_rng rng = {59};
  static const size_t bins[] = {8, 32, 128};
  static const double bound[] = {2e-2, 1e-3, 1e-4};
  for (size_t b = 0; b < 3; b++) {
    double worst = 0;
    for (int trial = 0; trial < 6; trial++) {
      size_t n = 500, d = trial % 2 ? 10 : 3;
      fill(&rng, n, d, trial < 2 ? 1 : trial < 4 ? 2 : 5);
      cpb_abid_curve *binned, *smooth;
      test_status((int)cpb_abid_curve_new(rows_of(n, d), NULL, bins[b], &binned, NULL, NULL), CPB_OK, "");
      test_status((int)cpb_abid_curve_new(rows_of(n, d), NULL, 0, &smooth, NULL, NULL), CPB_OK, "");
      double unit = cpb_abid_curve_mean_norm(smooth);
      for (double s = 0.1 * unit; s < 10 * unit; s *= 1.2) {
        double rough, exact;
        test_status((int)cpb_abid_curve_at(binned, s, CPB_PAIRS_ALL, &rough, NULL, NULL), CPB_OK, "");
        test_status((int)cpb_abid_curve_at(smooth, s, CPB_PAIRS_ALL, &exact, NULL, NULL), CPB_OK, "");
        test_worst(&worst, relative(rough, exact));
      }
      cpb_abid_curve_free(binned);
      cpb_abid_curve_free(smooth);
    }
    print_message("ABID by %zu bins: within %.1e\n", bins[b], worst);
    assert_true(worst <= bound[b]);
  }
}

/* Interpolation is as accurate as documented for norms over 10 orders of magnitude, with rows at the centre. */
static void curve_over_wide_norms(void **state) {
  (void)state;
  test_rng rng = {69};
  double worst = 0;
  for (int trial = 0; trial < 6; trial++) {
    static const double spreads[] = {1, 1.0001, 30, 1e3, 1e6, 1e10};
    size_t n = 150, d = 4;
    fill(&rng, n, d, spreads[trial]);
    if (trial >= 2) memset(x, 0, 3 * d * sizeof *x);
    cpb_abid_curve *curve;
    test_status((int)cpb_abid_curve_new(rows_of(n, d), NULL, 0, &curve, NULL, NULL), CPB_OK, "");
    for (double s = 0.01; s < 1e12; s *= 17) {
      double smooth, exact;
      test_status((int)cpb_abid_curve_at(curve, s, CPB_PAIRS_ALL, &smooth, NULL, NULL), CPB_OK, "");
      test_status((int)cpb_abid_embedded(rows_of(n, d), NULL, CPB_PAIRS_ALL,
                                         (cpb_abid_scales){&s, 1, &exact, NULL}, NULL, NULL),
                  CPB_OK, "");
      test_worst(&worst, relative(smooth, exact));
    }
    cpb_abid_curve_free(curve);
  }
  law_holds("T9", "ABID by its curve, norms up to 1e10 apart", "f64", worst / U64, 1e-12 / U64);
}

static void center_rows(size_t n, size_t d) {
  for (size_t k = 0; k < d; k++) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i * d + k];
    for (size_t i = 0; i < n; i++) x[i * d + k] -= sum / (double)n;
  }
}

/* The more columns, the closer the two maxima are to the mean norm: both are found, and the higher one comes
 * first, checked at every thousandth. */
static void close_maxima(void **state) {
  (void)state;
  enum { N = 300 };
  static const size_t dims[] = {20, 60, 100, 150, 200};
  static double rows[N * 200];
  for (size_t i = 0; i < sizeof dims / sizeof *dims; i++)
    for (uint64_t seed = 1; seed <= 3; seed++) {
      test_rng rng = {seed};
      size_t d = dims[i], found;
      for (size_t k = 0; k < N * d; k++) rows[k] = test_gauss(&rng);
      for (size_t k = 0; k < d; k++) {
        double sum = 0;
        for (size_t row = 0; row < N; row++) sum += rows[row * d + k];
        for (size_t row = 0; row < N; row++) rows[row * d + k] -= sum / N;
      }
      cpb_abid_curve *curve;
      cpb_abid_maximum tops[8];
      test_status((int)cpb_abid_curve_new(cpb_rows(rows, CPB_F64, N, d), NULL, 0, &curve, NULL, NULL), CPB_OK,
                  "");
      double unit = cpb_abid_curve_mean_norm(curve), value, best = 0, before = 0, slope = 0;
      test_status(
          (int)cpb_abid_curve_maxima(curve, unit / 10, unit * 10, CPB_PAIRS_ALL, tops, 8, &found, NULL),
          CPB_OK, "");
      size_t seen = 0;
      for (double s = 0.5; s < 2; s *= 1.001) {
        test_status((int)cpb_abid_curve_at(curve, s * unit, CPB_PAIRS_ALL, &value, &slope, NULL), CPB_OK, "");
        seen += before > 0 && slope <= 0;
        before = slope;
        best = fmax(best, value);
      }
      assert_int_equal(found, seen);
      assert_true(seen >= (d <= 150 ? 2 : 1) && tops[0].abid >= best * (1 - 1e-12));
      cpb_abid_curve_free(curve);
    }
}

/* The paper's figure: uniform ball and Gaussian, d = 10, n = 500; ten seeds each. */
static void two_maxima(void **state) {
  (void)state;
  enum { N = 500, D = 10, SEEDS = 10 };
  static const double places[2][2] = {{0.74, 1.35}, {0.78, 1.23}};
  for (int gaussian = 0; gaussian < 2; gaussian++) {
    double place[2] = {0, 0}, height = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
      test_rng rng = {seed};
      for (size_t i = 0; i < N; i++) {
        double direction[D], radius = pow(test_uniform(&rng), 1. / D);
        test_direction(&rng, D, direction);
        for (size_t k = 0; k < D; k++) x[i * D + k] = gaussian ? test_gauss(&rng) : radius * direction[k];
      }
      center_rows(N, D);
      cpb_abid_curve *curve;
      cpb_abid_maximum tops[8];
      size_t found;
      test_status((int)cpb_abid_curve_new(rows_of(N, D), NULL, 0, &curve, NULL, NULL), CPB_OK, "");
      double unit = cpb_abid_curve_mean_norm(curve), value, slope;
      test_status(
          (int)cpb_abid_curve_maxima(curve, unit / 10, unit * 10, CPB_PAIRS_ALL, tops, 8, &found, NULL),
          CPB_OK, "");
      assert_int_equal(found, 2);
      size_t lower = tops[0].s < tops[1].s ? 0 : 1;
      place[0] += tops[lower].s / unit / SEEDS;
      place[1] += tops[1 - lower].s / unit / SEEDS;
      height += tops[0].abid / SEEDS;
      assert_true(fabs(tops[0].abid - 10.8) <= 0.1);
      for (size_t k = 0; k < 2; k++) {
        assert_true(fabs(tops[lower ^ k].s / unit - places[gaussian][k]) <= 0.06);
        test_status((int)cpb_abid_curve_at(curve, tops[k].s, CPB_PAIRS_ALL, &value, &slope, NULL), CPB_OK,
                    "");
        assert_true(value == tops[k].abid && fabs(slope) <= 1e-4);
      }
      test_status((int)cpb_abid_curve_at(curve, unit, CPB_PAIRS_ALL, &value, NULL, NULL), CPB_OK, "");
      assert_true(value < tops[1].abid); /* the mean norm is in the dip */
      for (double s = 0.1; s < 11; s *= 100) {
        test_status((int)cpb_abid_curve_at(curve, s * unit, CPB_PAIRS_ALL, &value, NULL, NULL), CPB_OK, "");
        assert_true(value < 1.2);
      }
      cpb_abid_curve_free(curve);
    }
    print_message("%s: maxima at %.3f and %.3f of the mean norm, height %.3f\n",
                  gaussian ? "Gaussian" : "uniform ball", place[0], place[1], height);
    for (size_t k = 0; k < 2; k++) assert_true(fabs(place[k] - places[gaussian][k]) <= 0.02);
  }
}

static void edges(void **state) {
  (void)state;
  double abid = 0, slope, s = 1, hole[4] = {1, NAN, 2, INFINITY}, zero[6] = {0}, tiny[4], huge[4];
  cpb_error error;
  cpb_abid_curve *curve;
  assert_int_equal(cpb_abid_original(cpb_rows(hole, CPB_F64, 1, 2), NULL, CPB_PAIRS_ALL, &abid, NULL, &error),
                   CPB_EROW);
  assert_string_equal(error.text, "x row 0 holds NaN");
  assert_int_equal(cpb_abid_embedded(cpb_rows(hole + 2, CPB_F64, 1, 2), NULL, CPB_PAIRS_ALL,
                                     (cpb_abid_scales){&s, 1, &abid, NULL}, NULL, &error),
                   CPB_EROW);
  assert_string_equal(error.text, "x row 0 holds inf");
  assert_int_equal(cpb_abid_original(cpb_rows(zero, CPB_F64, 3, 2), NULL, CPB_PAIRS_ALL, &abid, NULL, &error),
                   CPB_EINVAL);
  assert_string_equal(error.text, "ABID needs at least 1 rows with a direction, got 0");
  assert_int_equal(cpb_abid_embedded(cpb_rows(zero, CPB_F64, 0, 2), NULL, CPB_PAIRS_ALL,
                                     (cpb_abid_scales){&s, 1, &abid, NULL}, NULL, &error),
                   CPB_EINVAL);
  test_status((int)cpb_abid_embedded(cpb_rows(zero, CPB_F64, 3, 2), NULL, CPB_PAIRS_ALL,
                                     (cpb_abid_scales){&s, 1, &abid, &slope}, NULL, NULL),
              CPB_OK, "");
  assert_true(abid == 1 && slope == 0); /* all at the pole */
  test_status((int)cpb_abid_curve_new(cpb_rows(zero, CPB_F64, 3, 2), NULL, 0, &curve, NULL, NULL), CPB_OK,
              "");
  test_status((int)cpb_abid_curve_at(curve, 1, CPB_PAIRS_DISTINCT, &abid, NULL, NULL), CPB_OK, "");
  assert_true(abid == 1);
  assert_int_equal(cpb_abid_curve_at(curve, -1, CPB_PAIRS_ALL, &abid, NULL, &error), CPB_EINVAL);
  cpb_abid_curve_free(curve);
  cpb_abid_curve_free(NULL);
  s = -2;
  assert_int_equal(cpb_abid_embedded(cpb_rows(zero, CPB_F64, 3, 2), NULL, CPB_PAIRS_ALL,
                                     (cpb_abid_scales){&s, 1, &abid, NULL}, NULL, &error),
                   CPB_EINVAL);
  assert_non_null(strstr(error.text, "-2"));
  s = 1;
  assert_int_equal(cpb_abid_embedded(cpb_rows(zero, CPB_F64, 1, 2), NULL, CPB_PAIRS_DISTINCT,
                                     (cpb_abid_scales){&s, 1, &abid, NULL}, NULL, &error),
                   CPB_EINVAL);
  double cross[4] = {1, 0, 0, 1}; /* orthogonal rows */
  test_status(
      (int)cpb_abid_original(cpb_rows(cross, CPB_F64, 2, 2), NULL, CPB_PAIRS_DISTINCT, &abid, NULL, NULL),
      CPB_OK, "");
  assert_true(isinf(abid));
  for (size_t i = 0; i < 4; i++) {
    tiny[i] = (double)(i + 1) * 0x1p-1074;
    huge[i] = (double)(i + 1) * 1e307;
  }
  double small, large, plain[4] = {1, 2, 3, 4};
  test_status((int)cpb_abid_original(cpb_rows(tiny, CPB_F64, 2, 2), NULL, CPB_PAIRS_ALL, &small, NULL, NULL),
              CPB_OK, "");
  test_status((int)cpb_abid_original(cpb_rows(huge, CPB_F64, 2, 2), NULL, CPB_PAIRS_ALL, &large, NULL, NULL),
              CPB_OK, "");
  test_status((int)cpb_abid_original(cpb_rows(plain, CPB_F64, 2, 2), NULL, CPB_PAIRS_ALL, &abid, NULL, NULL),
              CPB_OK, "");
  assert_true(relative(small, abid) <= 0.5 && relative(large, abid) <= 1e-14);
  double apart[4] = {1e-20, 0, 0, 1};
  double by_itself, by_bins;
  for (size_t bins = 0; bins <= 256; bins += 256) { /* norms too far apart are in bins */
    test_status((int)cpb_abid_curve_new(cpb_rows(apart, CPB_F64, 2, 2), NULL, bins, &curve, NULL, &error),
                CPB_OK, error.text);
    test_status(
        (int)cpb_abid_curve_at(curve, 0.5, CPB_PAIRS_ALL, bins == 0 ? &by_itself : &by_bins, NULL, &error),
        CPB_OK, error.text);
    cpb_abid_curve_free(curve);
  }
  assert_true(by_itself == by_bins);
  assert_int_equal(cpb_abid_curve_new(cpb_rows(apart, CPB_F64, 2, 2), NULL, 5000, &curve, NULL, &error),
                   CPB_EINVAL);
  assert_null(curve);
  assert_int_equal(cpb_abid_original(cpb_rows(x, CPB_I32, 2, 2), NULL, CPB_PAIRS_ALL, &abid, NULL, NULL),
                   CPB_EDTYPE);
  assert_int_equal(cpb_abid_original(cpb_rows(x, CPB_F64, 2, 0), NULL, CPB_PAIRS_ALL, &abid, NULL, NULL),
                   CPB_ESHAPE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(is_the_pairwise_loop),
      cmocka_unit_test(slope_and_value_in_high_precision),
      cmocka_unit_test(both_ways_agree),
      cmocka_unit_test(threads_do_not_matter),
      cmocka_unit_test(every_dtype_and_a_centre),
      cmocka_unit_test(bins_come_close),
      cmocka_unit_test(curve_over_wide_norms),
      cmocka_unit_test(two_maxima),
      cmocka_unit_test(close_maxima),
      cmocka_unit_test(edges),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* T13: balls as queries to an inner-product engine, what its rows and scores imply about distances, and the
 * certificate, against MPFR and against plain loops over all rows. */
#include <stdbool.h>

#include "capball/capball.h"
#include "capball/advanced/candidates.h"
#include "base/rows.h"
#include "sphere/products.h"
#include "engine/t13_certificate.h"
#include "engine/t13_query.h"
#include "support/big.h"
#include "support/check.h"
#include "sphere/embedded_distance.h"

static cpb_map *map_of(size_t d, double s, const double *center, const double *whiten) {
  cpb_map_options options;
  cpb_map_options_init(&options, sizeof options);
  cpb_map *map;
  cpb_error error = {.text = ""};
  options.d = d;
  options.s = s;
  options.center = center;
  options.whiten = whiten;
  test_status((int)cpb_map_new(&options, &map, &error), CPB_OK, error.text);
  return map;
}

/* ---- the reach, in two dimensions with q = (norm, 0) ---- */

typedef struct point {
  big side, across, up;
} point;

static point embed(big x, big y, big s) {
  big n = big_add(big_square(x), big_square(y)), s2 = big_square(s), q = big_add(n, s2);
  big twice = big_scale2(s, 1);
  return (point){big_div(big_mul(twice, x), q), big_div(big_mul(twice, y), q), big_div(big_sub(s2, n), q)};
}

static point axis_of(big q, big r, big s) {
  big far = big_add(q, r), near = big_sub(q, r), s2 = big_square(s);
  big N = big_mul(big_hypot(far, s), big_hypot(near, s));
  return (point){big_div(big_mul(big_scale2(s, 1), q), N), big_of(0),
                 big_div(big_sub(s2, big_mul(far, near)), N)};
}

static big quarter_chord2(point a, point b) {
  big sum = big_add(big_square(big_sub(a.side, b.side)), big_square(big_sub(a.up, b.up)));
  return big_scale2(big_add(sum, big_square(big_sub(a.across, b.across))), -2);
}

/* The antipode of p in the closed ball, at -s p1/(1-p0) on the line. */
static bool holds_antipode(point p, big q, big s, big D) {
  if (mpfr_zero_p(p.side)) return false; /* -e, the image of infinity */
  big t = big_neg(big_div(big_mul(s, p.side), big_sub(big_of(1), p.up)));
  return mpfr_cmp(big_abs(big_sub(t, q)), D) <= 0;
}

static big reach_of(double norm, double r, double s, double D) {
  big Q = big_of(norm), S = big_of(s), B = big_of(D);
  point p = axis_of(Q, big_of(r), S);
  if (holds_antipode(p, Q, S, B)) return big_of(1);
  big below = quarter_chord2(p, embed(big_sub(Q, B), big_of(0), S));
  big above = quarter_chord2(p, embed(big_add(Q, B), big_of(0), S));
  return mpfr_cmp(below, above) > 0 ? below : above;
}

/* No point of the ball is farther from p than the reach says. */
static void walk_the_ball(double norm, double r, double s, double D) {
  big Q = big_of(norm), S = big_of(s), want = reach_of(norm, r, s, D);
  point p = axis_of(Q, big_of(r), S);
  for (int step = 0; step < 24; step++) {
    double angle = 6.283185307179586 * step / 24, size = step % 3 == 2 ? 0.7 * D : D;
    big x = big_add(Q, big_of(size * cos(angle))), y = big_of(size * sin(angle));
    big chord = quarter_chord2(p, embed(x, y, S));
    assert_true(mpfr_cmp(chord, big_mul(want, big_of(1 + 1e-14))) <= 0);
  }
}

static void the_reach(void **state) {
  (void)state;
  test_rng rng = {13};
  double small = 0, angle = 0, plain = 0;
  for (int trial = 0; trial < 4000; trial++) {
    big_reset();
    bool modest = trial % 2 == 0;
    double s = test_log_uniform(&rng, 1e-3, 1e3), most = modest ? s : 1e6 * s;
    double norm = trial % 7 == 0 ? 0 : test_log_uniform(&rng, 1e-9 * most, most);
    double r = trial % 5 == 0 ? 0 : test_log_uniform(&rng, 1e-9 * most, most);
    double D = trial % 11 == 0 ? 0 : test_log_uniform(&rng, 1e-9 * most, most);
    if (trial % 13 == 0) D = r;
    if (trial % 17 == 0) r = norm;
    double got = cpb_query_reach(norm, r, s, D);
    big want = reach_of(norm, r, s, D);
    if (D == 0 && (r == 0 || norm == 0)) {
      assert_true(got == 0);
      continue;
    }
    if (modest) test_worst(&small, big_relative_error(got, want));
    assert_true(fabs(got - big_to_double(want)) <= 16 * U64 * (1 + (norm + r + D) / s));
    /* of h = asin sqrt(reach), in 1 + (norm+r+D)/s */
    big root = big_abs(big_sub(big_sqrt(big_of(got)), big_sqrt(want)));
    big cosine = big_sqrt(big_sub(big_of(1), want));
    if (mpfr_cmp_d(cosine, 1e-3) > 0)
      test_worst(&angle, big_to_double(root) / big_to_double(cosine) / U64 / (1 + (norm + r + D) / s));
    if (r == 0 && D < norm && norm < s) {
      big q2 = big_add(big_square(big_of(norm)), big_square(big_of(s)));
      big e2 = big_add(big_square(big_sub(big_of(norm), big_of(D))), big_square(big_of(s)));
      big law = big_div(big_square(big_mul(big_of(s), big_of(D))), big_mul(q2, e2));
      test_worst(&plain, big_relative_error(got, law));
    }
    if (trial < 400) walk_the_ball(norm, r, s, D);
  }
  law_holds("T13", "reach of a ball, lengths <= s", "f64", small, 64);
  law_holds("T13", "its angle, in 1 + (norm+r+D)/s", "f64", angle, 8);
  law_holds("T13", "reach of the point query", "f64", plain, 32);
}

static void the_edges_of_the_reach(void **state) {
  (void)state;
  assert_true(cpb_query_reach(0, 0, 1, 0) == 0);
  assert_true(cpb_query_reach(3, 0, 2, 0) == 0);
  assert_true(cpb_query_reach(1, 0, 1, INFINITY) == 1);
  assert_true(cpb_query_reach(1, 0, 1, 2) >= 1 - 4 * U64); /* D = norm + s^2/norm */
  assert_true(cpb_query_reach(1, 0, 1, 2.5) == 1 && cpb_query_reach(1, 0, 1, 1.9) < 1);
  assert_true(cpb_query_reach(0, 0, 1, 1e9) < 1.0000001 && cpb_query_reach(0, 0, 1, 1e9) > 0.999);
  assert_true(cpb_query_reach(0, 5, 1, 1) == 0.5); /* q = 0: p = e for every r */
  assert_true(isfinite(cpb_query_reach(1e200, 1e-200, 1, 1e100)));
  static const double bad[] = {-1, NAN, INFINITY};
  for (int i = 0; i < 3; i++) {
    assert_true(isnan(cpb_query_reach(bad[i], 0, 1, 1)));
    assert_true(isnan(cpb_query_reach(1, bad[i], 1, 1)));
    assert_true(isnan(cpb_query_reach(1, 0, bad[i], 1)));
    if (i < 2) assert_true(isnan(cpb_query_reach(1, 0, 1, bad[i])));
  }
  assert_true(isnan(cpb_query_reach(1, 0, 0, 1)));
}

/* ---- rows on the sphere, rounded to f32 or not ---- */

typedef struct table {
  size_t n, d;
  double s;
  double *x, *y;
  float *y32;
  cpb_map *map;
} table;

/* Rows of a mixture: a cloud, repeated rows, rows near 0 and rows far in the south. */
static table table_make(test_rng *rng, size_t n, size_t d, double s) {
  table t = {n,
             d,
             s,
             malloc(n * d * sizeof(double)),
             malloc(n * (d + 1) * sizeof(double)),
             malloc(n * (d + 1) * sizeof(float)),
             map_of(d, s, NULL, NULL)};
  assert_true(t.x != NULL && t.y != NULL && t.y32 != NULL);
  for (size_t i = 0; i < n; i++) {
    double size = i % 9 == 7 ? 1e-3 : i % 9 == 8 ? 30 : 1;
    for (size_t k = 0; k < d; k++) t.x[i * d + k] = test_round_f32(size * test_gauss(rng));
    if (i % 9 == 6) memcpy(t.x + i * d, t.x + test_below(rng, i) * d, d * sizeof(double));
  }
  cpb_view x = cpb_rows(t.x, CPB_F64, n, d);
  test_status((int)cpb_map_embed(t.map, x, cpb_rows_out(t.y, CPB_F64, n, d + 1), NULL, NULL), CPB_OK, "");
  test_status((int)cpb_map_embed(t.map, x, cpb_rows_out(t.y32, CPB_F32, n, d + 1), NULL, NULL), CPB_OK, "");
  return t;
}

static void table_free(table *t) {
  free(t->x);
  free(t->y);
  free(t->y32);
  cpb_map_free(t->map);
}

static double distance(const double *x, const double *q, size_t d) {
  double sum = 0;
  for (size_t k = 0; k < d; k++) sum += (x[k] - q[k]) * (x[k] - q[k]);
  return sqrt(sum);
}

static double dot(const double *x, const double *y, size_t n) {
  double sum = 0;
  for (size_t k = 0; k < n; k++) sum += x[k] * y[k];
  return sum;
}

static void range_by_one_product(void **state) {
  (void)state;
  enum { N = 300, Q = 20, D = 9 };
  static const size_t dims[] = {1, 2, D};
  static const double scales[] = {0.3, 1, 8};
  test_rng rng = {131};
  size_t inside = 0;
  for (int trial = 0; trial < 9; trial++) {
    size_t d = dims[trial / 3];
    table t = table_make(&rng, N, d, scales[trial % 3]);
    double p[Q * (D + 1)], b[Q], sigma[Q], radii[Q];
    for (size_t i = 0; i < Q; i++) radii[i] = test_log_uniform(&rng, 0.05, 50);
    test_status((int)cpb_query_caps(t.map, cpb_rows(t.x, CPB_F64, Q, d), radii,
                                    cpb_rows_out(p, CPB_F64, Q, d + 1), b, sigma, NULL, NULL),
                CPB_OK, "");
    for (size_t i = 0; i < Q; i++)
      for (size_t j = 0; j < N; j++) {
        double at = distance(t.x + j * d, t.x + i * d, d);
        if (fabs(at / radii[i] - 1) < 1e-9) continue;
        double score = dot(p + i * (d + 1), t.y + j * (d + 1), d + 1);
        if (fabs(at / radii[i] - 1) > 1e-13 / (sigma[i] * sigma[i]))
          assert_int_equal(score > b[i], at < radii[i]);
        inside += score > b[i];
      }
    table_free(&t);
  }
  assert_true(inside > 1000);
}

static void point_queries_are_embeddings(void **state) {
  (void)state;
  test_rng rng = {132};
  table t = table_make(&rng, 40, 5, 2);
  double radii[40] = {0}, p[40 * 6], b[40];
  float p32[40 * 6];
  cpb_view x = cpb_rows(t.x, CPB_F64, 40, 5);
  test_status((int)cpb_query_caps(t.map, x, radii, cpb_rows_out(p, CPB_F64, 40, 6), b, NULL, NULL, NULL),
              CPB_OK, "");
  assert_memory_equal(p, t.y, sizeof p);
  for (int i = 0; i < 40; i++) assert_true(b[i] == 1);
  test_status((int)cpb_query_caps(t.map, x, radii, cpb_rows_out(p32, CPB_F32, 40, 6), NULL, NULL, NULL, NULL),
              CPB_OK, "");
  for (int i = 0; i < 240; i++) assert_true((double)p32[i] == test_round_f32(p[i]));
  table_free(&t);
}

/* |x-q| within u (|x|^2+s^2)/(2s) and (|q|^2+s^2)/(2s), what the rows of a type can hold. */
static void distances_from_rows_and_scores(void **state) {
  (void)state;
  enum { N = 200, D = 7 };
  test_rng rng = {133};
  double f64 = 0, f32 = 0, scored = 0;
  for (int trial = 0; trial < 6; trial++) {
    table t = table_make(&rng, N, D, test_log_uniform(&rng, 0.1, 20));
    for (size_t i = 0; i < 40; i++) {
      const double *q = t.x + i * D;
      double got[N], got32[N], norm, r = i % 2 == 0 ? 0 : test_log_uniform(&rng, 0.1, 10), p[D + 1], s = t.s;
      cpb_view query = cpb_rows(q, CPB_F64, 1, D);
      test_status((int)cpb_query_distances(t.map, query, cpb_rows(t.y, CPB_F64, N, D + 1), got, NULL), CPB_OK,
                  "");
      test_status((int)cpb_query_distances(t.map, query, cpb_rows(t.y32, CPB_F32, N, D + 1), got32, NULL),
                  CPB_OK, "");
      test_status((int)cpb_query_norms(t.map, query, &norm, NULL, NULL), CPB_OK, "");
      test_status(
          (int)cpb_query_caps(t.map, query, &r, cpb_rows_out(p, CPB_F64, 1, D + 1), NULL, NULL, NULL, NULL),
          CPB_OK, "");
      for (size_t j = 0; j < N; j++) {
        const double *y = t.y + j * (D + 1);
        double want = distance(t.x + j * D, q, D), x2 = dot(t.x + j * D, t.x + j * D, D);
        double unit = ((x2 + s * s) + (norm * norm + s * s)) / (2 * s) + want * sqrt(x2 + s * s) / s;
        test_worst(&f64, fabs(got[j] - want) / unit / U64);
        test_worst(&f32, fabs(got32[j] - want) / unit / U32);
        double rise = cpb_rise(y[D], dot(y, y, D));
        double by_score = cpb_query_distance(norm, r, s, dot(p, y, D + 1), rise);
        double N2 = hypot(norm + r, s) * hypot(norm - r, s); /* of the square */
        double square = N2 / rise + want * want * (1 + 1 / rise) + r * r;
        test_worst(&scored, fabs(by_score * by_score - want * want) / square / U64);
      }
    }
    table_free(&t);
  }
  law_holds("T13", "|x-q| from rows, in u of what they hold", "f64", f64, 8);
  law_holds("T13", "|x-q| from rows, in u of what they hold", "f32", f32, 4);
  law_holds("T13", "|x-q|^2 from scores, in u of N/(1+y0)", "f64", scored, 64);
}

/* ---- a plain index ---- */

typedef struct plain {
  const table *t;
  bool single; /* f32 rows, vectors and sums */
  size_t asked;
} plain;

static double plain_score(const plain *index, const double *p, size_t row) {
  size_t cols = index->t->d + 1;
  if (!index->single) return dot(p, index->t->y + row * cols, cols);
  volatile float sum = 0; /* one rounding per step, whatever the compiler does */
  for (size_t k = 0; k < cols; k++) sum += (float)p[k] * index->t->y32[row * cols + k];
  return (double)sum;
}

static int largest_first(const void *left, const void *right) {
  const cpb_hit *a = left, *b = right;
  return (a->value < b->value) - (a->value > b->value);
}

static cpb_status plain_search(void *self, const double *p, size_t count, uint64_t *ids, double *scores,
                               size_t *found, cpb_error *error) {
  (void)error;
  plain *index = self;
  size_t n = index->t->n;
  cpb_hit *all = malloc(n * sizeof *all);
  assert_non_null(all);
  for (size_t i = 0; i < n; i++) all[i] = (cpb_hit){i, plain_score(index, p, i)};
  qsort(all, n, sizeof *all, largest_first);
  for (size_t i = 0; i < count; i++) {
    ids[i] = all[i].id;
    scores[i] = all[i].value;
  }
  *found = count;
  index->asked++;
  free(all);
  return CPB_OK;
}

static cpb_status plain_row(void *self, uint64_t id, double *y, cpb_error *error) {
  (void)error;
  const plain *index = self;
  size_t cols = index->t->d + 1;
  for (size_t k = 0; k < cols; k++)
    y[k] = index->single ? (double)index->t->y32[id * cols + k] : index->t->y[id * cols + k];
  return CPB_OK;
}

static cpb_external index_of(plain *self) {
  cpb_external index = {self, self->t->n, plain_search, plain_row, 0, 0};
  if (!self->single) {
    index.row_error = cpb_query_row_error(self->t->map, CPB_F64);
    index.score_error = 1e-14;
  }
  return index;
}

/* Rows of a type resolve distances no better than this. */
static double resolution(const table *t, const double *q, double D, double row_error) {
  double norm = sqrt(dot(q, q, t->d));
  return 8 * row_error * (pow(norm + D, 2) + t->s * t->s) / t->s;
}

/* Wherever it is proven, the answer is the one of a loop over all rows. */
static void judge_index(const table *t, bool single, size_t k, double radius, size_t most, size_t *proven,
                        size_t *asked) {
  enum { Q = 12 };
  plain self = {t, single, 0};
  cpb_external index = index_of(&self);
  cpb_external_options options;
  cpb_external_options_init(&options, sizeof options);
  cpb_hit *hits = malloc(Q * k * sizeof *hits), *true_ones = malloc(Q * k * sizeof *hits);
  cpb_external_report reports[Q];
  cpb_error error = {.text = ""};
  assert_true(hits != NULL && true_ones != NULL);
  options.radius = radius;
  options.first = k;
  options.most = most;
  cpb_view queries = cpb_rows(t->x, CPB_F64, Q, t->d), base = cpb_rows(t->x, CPB_F64, t->n, t->d);
  test_status((int)cpb_external_knn(t->map, &index, queries, k, &options, hits, reports, &error), CPB_OK,
              error.text);
  test_status((int)cpb_knn(base, queries, k, CPB_L2, true_ones, NULL, &error), CPB_OK, error.text);
  for (size_t i = 0; i < Q; i++) {
    if (most == 0) assert_true(reports[i].proven);
    assert_true(reports[i].looked >= k && reports[i].looked <= t->n);
    if (!reports[i].proven) continue;
    double D = true_ones[i * k + k - 1].value;
    double slack = resolution(t, t->x + i * t->d, D, cpb_query_row_error(t->map, single ? CPB_F32 : CPB_F64));
    for (size_t j = 0; j < k; j++) {
      double at = distance(t->x + hits[i * k + j].id * t->d, t->x + i * t->d, t->d);
      assert_true(at <= D + slack);
      assert_true(fabs(hits[i * k + j].value - at) <= slack + 8 * U64 * at);
    }
    *proven += reports[i].looked < t->n;
  }
  *asked += self.asked;
  free(hits);
  free(true_ones);
}

static void any_index(void **state) {
  (void)state;
  static const size_t dims[] = {1, 3, 20}, ks[] = {1, 7, 250};
  static const double scales[] = {0.2, 1, 4, 60};
  test_rng rng = {134};
  size_t proven = 0, asked = 0;
  for (int trial = 0; trial < 12; trial += TEST_SANITIZED ? 5 : 1) {
    table t = table_make(&rng, 250, dims[trial % 3], scales[trial / 3]);
    for (int k = 0; k < 3; k++)
      for (int kind = 0; kind < 6; kind++)
        judge_index(&t, kind % 2 == 1, ks[k],
                    kind / 2 == 0   ? 0
                    : kind / 2 == 1 ? 0.5
                                    : 5,
                    kind == 4 ? 2 * ks[k] : 0, &proven, &asked);
    table_free(&t);
  }
  print_message("# %zu answers proven before all rows were seen, %zu questions\n", proven, asked);
  assert_true(proven > (TEST_SANITIZED ? 100 : 500));
}

/* Without the margin f32 scores would give wrong proofs: a score error must move the floor by as much. */
static void the_floor(void **state) {
  (void)state;
  cpb_map *map = map_of(3, 1, NULL, NULL);
  double none = cpb_query_floor(map, 1, 0, 0.5, 0, 0), with = cpb_query_floor(map, 1, 0, 0.5, 0, 0.01);
  assert_true(fabs(none - (1 - 2 * cpb_query_reach(1, 0, 1, 0.5))) < 1e-13);
  assert_true(none < 1 - 2 * cpb_query_reach(1, 0, 1, 0.5));
  assert_true(fabs(none - with - 0.01) < 1e-15);
  /* a row moved by 1e-4 may be farther than its score says by 1e-4 (|x|^2+s^2)/(2s) */
  for (double D = 0.001; D < 4; D *= 2) {
    double farther = D + 1e-4 * ((1 + D) * (1 + D) + 1) / 2;
    assert_true(cpb_query_floor(map, 1, 0, D, 1e-4, 0) <= 1 - 2 * cpb_query_reach(1, 0, 1, farther) - 1e-4);
  }
  assert_true(cpb_query_floor(map, 1, 0, 1e9, 0x1p-22, 0) == -INFINITY); /* such rows have no distance */
  assert_true(cpb_query_floor(map, 1, 0, INFINITY, 0, 0) == -INFINITY);
  assert_true(isnan(cpb_query_floor(map, -1, 0, 1, 0, 0)) && isnan(cpb_query_floor(map, 1, 0, NAN, 0, 0)));
  assert_true(isnan(cpb_query_floor(NULL, 1, 0, 1, 0, 0)));
  assert_true(isnan(cpb_query_row_error(map, CPB_U8)) && cpb_query_row_error(map, CPB_F32) < 0x1p-21);
  cpb_map_free(map);
}

static void whitened_maps(void **state) {
  (void)state;
  enum { N = 200, D = 3 };
  const double W[9] = {2, 0.5, 0, 0, 0.25, 0, 0.125, 0, 1}, m[3] = {1, -2, 0.5};
  test_rng rng = {135};
  cpb_map *map = map_of(D, 2, m, W);
  double x[N * D], y[N * (D + 1)], r = 1.5, p[D + 1], b, got[N];
  for (int i = 0; i < N * D; i++) x[i] = 3 * test_gauss(&rng);
  cpb_view rows = cpb_rows(x, CPB_F64, N, D), query = cpb_rows(x, CPB_F64, 1, D);
  test_status((int)cpb_map_embed(map, rows, cpb_rows_out(y, CPB_F64, N, D + 1), NULL, NULL), CPB_OK, "");
  test_status((int)cpb_query_caps(map, query, &r, cpb_rows_out(p, CPB_F64, 1, D + 1), &b, NULL, NULL, NULL),
              CPB_OK, "");
  test_status((int)cpb_query_distances(map, query, cpb_rows(y, CPB_F64, N, D + 1), got, NULL), CPB_OK, "");
  double median, kth[N];
  cpb_source one = cpb_source_from_view(query),
             others = cpb_source_from_view(cpb_rows(x + D, CPB_F64, N - 1, D));
  test_status((int)cpb_radius_fit(map, &one, &others, 1, &median, NULL, NULL), CPB_OK, "");
  double nearest = INFINITY;
  for (size_t i = 0; i < N; i++) {
    double z[D];
    for (size_t k = 0; k < D; k++) {
      z[k] = 0;
      for (size_t l = 0; l < D; l++) z[k] += W[k * D + l] * (x[i * D + l] - x[l]);
    }
    kth[i] = sqrt(dot(z, z, D));
    assert_true(fabs(got[i] - kth[i]) <= 1e-12 * (1 + kth[i] * kth[i]));
    assert_int_equal(dot(p, y + i * (D + 1), D + 1) > b, kth[i] < r);
    if (i > 0) nearest = fmin(nearest, kth[i]);
  }
  assert_true(fabs(median - nearest) <= 1e-13 * nearest);
  cpb_map_free(map);
}

/* A source that gives `piece` rows at a time. */
static cpb_status next_piece(cpb_source *source, cpb_view *block, cpb_error *error) {
  (void)error;
  size_t piece = *(const size_t *)source->self, left = (size_t)source->rows - source->at;
  *block = cpb_view_slice(source->view, source->at, left < piece ? left : piece);
  source->at += block->rows;
  return CPB_OK;
}

static cpb_source in_pieces(cpb_view rows, size_t *piece) {
  cpb_source source = cpb_source_from_view(rows);
  source.self = piece;
  source.next = next_piece;
  return source;
}

static void a_usual_radius(void **state) {
  (void)state;
  enum { N = 500, Q = 60, D = 4, K = 5 };
  test_rng rng = {136};
  cpb_map *map = map_of(D, 1, NULL, NULL);
  float x[N * D], q[Q * D];
  double radius[2];
  size_t pieces[2][2] = {{Q, N}, {7, 123}};
  for (int i = 0; i < N * D; i++) x[i] = (float)test_gauss(&rng);
  for (int i = 0; i < Q * D; i++) q[i] = (float)test_gauss(&rng);
  for (int way = 0; way < 2; way++) { /* pieces give the same */
    cpb_source queries = in_pieces(cpb_rows(q, CPB_F32, Q, D), &pieces[way][0]);
    cpb_source base = in_pieces(cpb_rows(x, CPB_F32, N, D), &pieces[way][1]);
    test_status((int)cpb_radius_fit(map, &queries, &base, K, &radius[way], NULL, NULL), CPB_OK, "");
  }
  assert_true(radius[0] == radius[1]);
  cpb_hit hits[Q * K];
  test_status(
      (int)cpb_knn(cpb_rows(x, CPB_F32, N, D), cpb_rows(q, CPB_F32, Q, D), K, CPB_L2, hits, NULL, NULL),
      CPB_OK, "");
  size_t below = 0;
  double low = 0, high = INFINITY;
  for (size_t i = 0; i < Q; i++) {
    double kth = hits[i * K + K - 1].value;
    below += kth < radius[0];
    if (kth < radius[0])
      low = fmax(low, kth);
    else
      high = fmin(high, kth);
  }
  assert_int_equal(below, Q / 2);
  assert_true(radius[0] == (low + high) / 2);
  cpb_map_free(map);
}

static void counting(void **state) {
  (void)state;
  enum { N = 333, Q = 37 };
  test_rng rng = {137};
  table t = table_make(&rng, N, 10, 1);
  double limits[Q];
  uint64_t counts[Q] = {0};
  cpb_pool *pool;
  test_status((int)cpb_pool_new(2, &pool, NULL), CPB_OK, "");
  for (size_t i = 0; i < Q; i++) limits[i] = 2 * test_uniform(&rng) - 1;
  cpb_view p = cpb_rows(t.y, CPB_F64, Q, 11), rows = cpb_rows(t.y32, CPB_F32, N, 11);
  test_status((int)cpb_query_count(p, limits, rows, counts, cpb_pool_exec(pool), NULL), CPB_OK, "");
  for (size_t i = 0; i < Q; i++) {
    uint64_t want = 0;
    for (size_t j = 0; j < N; j++) {
      double sum = 0;
      for (size_t k = 0; k < 11; k++) sum += t.y[i * 11 + k] * (double)t.y32[j * 11 + k];
      assert_true(fabs(sum - limits[i]) > 1e-12);
      want += sum >= limits[i];
    }
    assert_int_equal(counts[i], want);
  }
  t.y32[5] = NAN;
  cpb_error error;
  assert_int_equal(cpb_query_count(p, limits, rows, counts, NULL, &error), CPB_EROW);
  assert_string_equal(error.text, "rows row 0 holds NaN");
  cpb_pool_free(pool);
  table_free(&t);
}

static void refusals(void **state) {
  (void)state;
  const double pole[3] = {0.6, 0, 0.8}, toward[3] = {1, 1, 1};
  double x[4] = {1, 2, NAN, 4}, p[6], y[3] = {0, 0, 1}, radii[2] = {1, 1}, got;
  cpb_map *round = map_of(2, 1, NULL, NULL), *other;
  cpb_map_options options;
  cpb_map_options_init(&options, sizeof options);
  cpb_error error;
  cpb_out out = cpb_rows_out(p, CPB_F64, 2, 3);
  options.d = 2;
  options.s = 1;
  options.pole = pole;
  for (int way = 0; way < 2; way++) {
    test_status((int)cpb_map_new(&options, &other, &error), CPB_OK, error.text);
    assert_int_equal(cpb_query_caps(other, cpb_rows(x, CPB_F64, 2, 2), radii, out, NULL, NULL, NULL, &error),
                     CPB_EINVAL);
    assert_non_null(strstr(error.text, "not caps"));
    assert_true(isnan(cpb_query_floor(other, 1, 0, 1, 0, 0)));
    cpb_map_free(other);
    options.pole = NULL;
    options.toward = toward;
  }
  cpb_view two = cpb_rows(x, CPB_F64, 2, 2);
  assert_int_equal(cpb_query_caps(round, two, radii, out, NULL, NULL, NULL, &error), CPB_EROW);
  assert_string_equal(error.text, "queries row 1 holds NaN");
  assert_true(isfinite(p[0]) && isnan(p[3]));
  x[2] = 3;
  radii[1] = 1e-320;
  assert_int_equal(cpb_query_caps(round, two, radii, out, NULL, NULL, NULL, &error), CPB_EROW);
  assert_non_null(strstr(error.text, "queries row 1 has no cap: no double holds"));
  radii[1] = -1;
  assert_int_equal(cpb_query_caps(round, two, radii, out, NULL, NULL, NULL, &error), CPB_EINVAL);
  assert_string_equal(error.text, "a radius must be >= 0 and finite, got -1");
  assert_int_equal(cpb_query_distances(round, two, cpb_rows(y, CPB_F64, 1, 3), &got, &error), CPB_ESHAPE);
  cpb_view one = cpb_rows(x, CPB_F64, 1, 2);
  assert_int_equal(cpb_query_distances(round, one, cpb_rows(y, CPB_F64, 1, 2), &got, &error), CPB_ESHAPE);
  y[2] = -1;
  test_status((int)cpb_query_distances(round, one, cpb_rows(y, CPB_F64, 1, 3), &got, &error), CPB_OK, "");
  assert_true(isinf(got));
  y[0] = NAN;
  assert_int_equal(cpb_query_distances(round, one, cpb_rows(y, CPB_F64, 1, 3), &got, &error), CPB_EROW);
  assert_true(isnan(cpb_query_distance(1, -1, 1, 0, 1)) && isnan(cpb_query_distance(1, 0, 1, NAN, 1)));
  assert_true(isinf(cpb_query_distance(1, 0, 1, 0, 0)) && cpb_query_distance(1, 0, 1, 1.0001, 1) == 0);
  cpb_source asking = cpb_source_from_view(one), base = cpb_source_from_view(two);
  cpb_source nothing = cpb_source_from_view(cpb_rows(x, CPB_F64, 0, 2));
  assert_int_equal(cpb_radius_fit(round, &asking, &base, 0, &got, NULL, &error), CPB_EINVAL);
  assert_int_equal(cpb_radius_fit(round, &nothing, &base, 3, &got, NULL, &error), CPB_EINVAL);
  assert_string_equal(error.text, "a usual radius needs at least one query");
  assert_int_equal(cpb_radius_fit(round, &asking, &base, 3, &got, NULL, &error), CPB_EINVAL);
  assert_string_equal(error.text, "3 neighbours asked for, more than the number of rows of the base, 2");
  cpb_map_free(round);
}

static cpb_status few_rows(void *self, const double *p, size_t count, uint64_t *ids, double *scores,
                           size_t *found, cpb_error *error) {
  cpb_status status = plain_search(self, p, count, ids, scores, found, error);
  *found = count / 2;
  return status;
}

static void refusals_of_an_index(void **state) {
  (void)state;
  test_rng rng = {138};
  table t = table_make(&rng, 30, 2, 1);
  plain self = {&t, false, 0};
  cpb_external index = index_of(&self);
  cpb_external_options options;
  cpb_external_options_init(&options, sizeof options);
  cpb_external_report report;
  cpb_hit hits[31];
  cpb_error error;
  cpb_view query = cpb_rows(t.x, CPB_F64, 1, 2);
  assert_int_equal(cpb_external_knn(t.map, &index, query, 31, NULL, hits, NULL, &error), CPB_EINVAL);
  assert_string_equal(error.text, "31 neighbours asked for, more than the number of rows of the index, 30");
  assert_int_equal(cpb_external_knn(t.map, &index, query, 0, NULL, hits, NULL, &error), CPB_EINVAL);
  options.radius = -1;
  assert_int_equal(cpb_external_knn(t.map, &index, query, 1, &options, hits, NULL, &error), CPB_EINVAL);
  test_status((int)cpb_external_knn(t.map, &index, query, 30, NULL, hits, &report, &error), CPB_OK, "");
  assert_true(report.proven && report.looked == 30);
  index.search = few_rows; /* an index that returns fewer than requested proves nothing */
  test_status((int)cpb_external_knn(t.map, &index, query, 1, NULL, hits, &report, &error), CPB_OK, "");
  assert_false(report.proven);
  index.rows = 3;
  assert_int_equal(cpb_external_knn(t.map, &index, query, 2, NULL, hits, &report, &error), CPB_EINVAL);
  assert_string_equal(error.text, "the index found 1 rows of 3, wanted at least 2");
  t.x[1] = INFINITY;
  assert_int_equal(cpb_external_knn(t.map, &index, query, 1, NULL, hits, &report, &error), CPB_EROW);
  assert_string_equal(error.text, "queries row 0 holds inf");
  table_free(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_reach),
      cmocka_unit_test(the_edges_of_the_reach),
      cmocka_unit_test(range_by_one_product),
      cmocka_unit_test(point_queries_are_embeddings),
      cmocka_unit_test(distances_from_rows_and_scores),
      cmocka_unit_test(any_index),
      cmocka_unit_test(the_floor),
      cmocka_unit_test(whitened_maps),
      cmocka_unit_test(a_usual_radius),
      cmocka_unit_test(counting),
      cmocka_unit_test(refusals),
      cmocka_unit_test(refusals_of_an_index),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

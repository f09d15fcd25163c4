/* Adversarial tests of certificates: near rows, duplicates, ties and far offsets over 1e+-140, images in f32 and
 * f64, scores of every precision, against distances in long double, and in 512 bits, which are exact, where long
 * double cannot separate two of them. No proof may be wrong. CPB_ADVERSARY=N runs N times as many cases. */
#include "engine/t13_certificate.h"
#include "engine/t13_transform.h"
#include "support/check.h"

#include <stdbool.h>

#include "capball/capball.h"
#include "support/big.h"
#include "sphere/embedded_distance.h"

enum { TRIALS = 2000, MOST_N = 40, MOST_D = 6 };

static size_t trials(void) {
  const char *times = getenv("CPB_ADVERSARY");
  return TRIALS * (times == NULL ? 1 : (size_t)strtoul(times, NULL, 10));
}

typedef struct set {
  size_t n, d, k, C;
  double unit, s, r, x[MOST_N * MOST_D], q[MOST_D];
  long double distance[MOST_N], norm[MOST_N];
  cpb_map *map;
  bool wide; /* images in f64 */
  double image[MOST_N * (MOST_D + 1)];
  uint64_t best[MOST_N]; /* ids, the engine's best first */
  double engine[MOST_N]; /* its scores */
} set;

static void fill_rows(set *t, test_rng *rng) {
  double offset = test_below(rng, 3) == 0 ? test_log_uniform(rng, 1e-3, 1e3) : 0;
  double near = test_log_uniform(rng, 1e-9, 1);
  for (size_t k = 0; k < t->d; k++) t->q[k] = t->unit * (offset + (test_below(rng, 2) ? test_gauss(rng) : 0));
  for (size_t i = 0; i < t->n; i++) {
    size_t twin = i > 0 ? test_below(rng, i) : 0;
    int kind = (int)test_below(rng, 6);
    double spread = kind < 3 ? near : 1;
    for (size_t k = 0; k < t->d; k++) {
      double *x = &t->x[i * t->d + k];
      *x = t->q[k] + t->unit * spread * (kind == 5 ? (double)test_below(rng, 3) - 1 : test_gauss(rng));
      if (kind == 4 && i > 0) *x = t->x[twin * t->d + k]; /* a duplicate, perhaps of the next double */
      if (kind == 4 && k == 0 && test_below(rng, 2)) *x = nextafter(*x, INFINITY);
    }
  }
}

static void measure_truth(set *t) {
  for (size_t i = 0; i < t->n; i++) {
    long double sum = 0, norm = 0;
    for (size_t k = 0; k < t->d; k++) {
      long double x = t->x[i * t->d + k], gap = x - (long double)t->q[k];
      sum += gap * gap;
      norm += x * x;
    }
    t->distance[i] = sqrtl(sum);
    t->norm[i] = sqrtl(norm);
  }
}

/* An engine of f32 or double products, and its C best rows. */
static void ask_engine(set *t, const double *p) {
  for (size_t i = 0; i < t->n; i++) {
    float narrow = 0;
    double wide = 0;
    for (size_t k = 0; k <= t->d; k++) {
      double y = t->image[i * (t->d + 1) + k];
      narrow += (float)p[k] * (float)y;
      wide += p[k] * y;
    }
    double score = t->wide ? wide : (double)narrow;
    size_t at = i;
    for (; at > 0 && t->engine[at - 1] < score; at--) {
      t->engine[at] = t->engine[at - 1];
      t->best[at] = t->best[at - 1];
    }
    t->engine[at] = score;
    t->best[at] = i;
  }
}

static bool begin(set *t, test_rng *rng, uint64_t trial) {
  *t = (set){.n = 8 + test_below(rng, MOST_N - 7), .d = 1 + test_below(rng, MOST_D), .wide = trial % 3 == 0};
  t->k = 1 + test_below(rng, 4);
  t->C = t->k + test_below(rng, t->n - t->k);
  t->unit = trial % 4 == 0 ? test_log_uniform(rng, 1e-140, 1e140) : 1;
  t->s = t->unit * test_log_uniform(rng, 0.1, 10);
  fill_rows(t, rng);
  measure_truth(t);
  t->r = test_below(rng, 2) ? 0 : (double)t->distance[test_below(rng, t->n)];
  cpb_map_options options;
  cpb_map_options_init(&options, sizeof options);
  options.d = t->d;
  options.s = t->s;
  assert_int_equal(cpb_map_new(&options, &t->map, NULL), CPB_OK);
  float narrow[MOST_N * (MOST_D + 1)];
  cpb_view x = cpb_rows(t->x, CPB_F64, t->n, t->d);
  cpb_out y = cpb_rows_out(t->wide ? (void *)t->image : narrow, t->wide ? CPB_F64 : CPB_F32, t->n, t->d + 1);
  assert_int_equal(cpb_map_embed(t->map, x, y, NULL, NULL), CPB_OK);
  for (size_t i = 0; !t->wide && i < t->n * (t->d + 1); i++) t->image[i] = (double)narrow[i];
  double p[MOST_D + 1];
  cpb_error error;
  cpb_status status = cpb_query_caps(t->map, cpb_rows(t->q, CPB_F64, 1, t->d), &t->r,
                                     cpb_rows_out(p, CPB_F64, 1, t->d + 1), NULL, NULL, NULL, &error);
  if (status != CPB_OK) return false; /* a ball whose cap underflows */
  ask_engine(t, p);
  return true;
}

static double as_given(double score, cpb_dtype dtype) {
  int exponent;
  double part = frexp(score, &exponent);
  if (dtype == CPB_F16) return ldexp(nearbyint(ldexp(part, 11)), exponent - 11);
  return dtype == CPB_F32 ? (double)(float)score : score;
}

typedef struct verdict {
  bool proven, enough;
} verdict;

static cpb_status rescore_by_map(const cpb_map *map, cpb_view queries, cpb_candidates candidates,
                                 const cpb_store *store, const cpb_rescore_options *options,
                                 cpb_rescore_out out, cpb_error *error) {
  cpb_transform *sphere;
  test_status((int)cpb_transform_of_map(map, &sphere, error), CPB_OK, error->text);
  cpb_status status = cpb_transform_rescore(sphere, queries, candidates, store, options, &out, NULL, error);
  cpb_transform_free(sphere);
  return status;
}

static verdict rescore(const set *t, bool scored, cpb_dtype dtype, cpb_hit *hits) {
  double scores[MOST_N];
  float narrow[MOST_N * (MOST_D + 1)];
  cpb_rescore_options options;
  cpb_error error;
  uint64_t needed;
  cpb_rescore_options_init(&options, sizeof options);
  for (size_t i = 0; i < t->n * (t->d + 1); i++) narrow[i] = (float)t->image[i];
  for (size_t i = 0; i < t->C; i++) scores[i] = as_given(t->engine[i], dtype);
  options.k = t->k;
  options.radius = t->r;
  options.score_error = cpb_query_score_error(t->d, scored ? dtype : CPB_F64);
  if (scored) options.scores = cpb_rows(scores, CPB_F64, 1, t->C);
  cpb_store store = cpb_store_from_view(
      cpb_rows(t->wide ? (const void *)t->image : narrow, t->wide ? CPB_F64 : CPB_F32, t->n, t->d + 1));
  test_status((int)rescore_by_map(t->map, cpb_rows(t->q, CPB_F64, 1, t->d), (cpb_candidates){t->best, t->C},
                                  &store, &options, (cpb_rescore_out){hits, &needed}, &error),
              CPB_OK, error.text);
  return (verdict){needed == 0, needed == 0 || needed == t->C};
}

/* How far the image of a row may have moved its distance. */
static long double resolution(const set *t, uint64_t row) {
  long double s = t->s, norm = t->norm[row], q = 0;
  for (size_t k = 0; k < t->d; k++) q += (long double)t->q[k] * (long double)t->q[k];
  double error = cpb_query_row_error(t->map, t->wide ? CPB_F64 : CPB_F32);
  return 4 * error * sqrtl((norm * norm + s * s) * (q + s * s)) / s +
         4 * error * t->distance[row] * (1 + norm / s);
}

static bool is_candidate(const set *t, uint64_t row) {
  for (size_t i = 0; i < t->C; i++)
    if (t->best[i] == row) return true;
  return false;
}

static big exact_dist2(const set *t, size_t row) {
  big sum = big_of(0);
  for (size_t k = 0; k < t->d; k++)
    sum = big_add(sum, big_square(big_sub(big_of(t->x[row * t->d + k]), big_of(t->q[k]))));
  return sum;
}

/* < 0, 0 or > 0: row a is nearer than b, as near, farther. */
static int compare(const set *t, size_t a, size_t b) {
  long double x = t->distance[a], y = t->distance[b];
  if (fabsl(x - y) > 1e-17L * (x + y)) return x < y ? -1 : 1;
  size_t mark = big_mark();
  int order = mpfr_cmp(exact_dist2(t, a), exact_dist2(t, b));
  big_release(mark);
  return order;
}

/* The candidate at the k-th smallest true distance. */
static size_t kth(const set *t) {
  for (size_t i = 0; i < t->C; i++) {
    size_t nearer = 0, as_near = 0;
    for (size_t j = 0; j < t->C; j++) {
      int order = compare(t, t->best[j], t->best[i]);
      nearer += order < 0;
      as_near += order <= 0;
    }
    if (nearer < t->k && as_near >= t->k) return t->best[i];
  }
  fail_msg("there is no k-th of %zu candidates", t->C);
  return 0;
}

static void judge(const set *t, const cpb_hit *hits, const verdict *report, const char *what) {
  if (report->enough) {
    size_t last = kth(t);
    for (size_t row = 0; row < t->n; row++)
      if (!is_candidate(t, row) && compare(t, row, last) < 0)
        fail_msg("%s: row %zu at %.17Lg was left out, the k-th is at %.17Lg", what, row, t->distance[row],
                 t->distance[last]);
  }
  if (!report->proven) return;
  for (size_t i = 0; i < t->k; i++)
    for (size_t row = 0; row < t->n; row++) {
      bool before = false;
      for (size_t j = 0; j <= i; j++) before |= hits[j].id == row;
      uint64_t id = hits[i].id;
      if (!before && t->distance[row] + resolution(t, row) < t->distance[id] - resolution(t, id))
        fail_msg("%s: row %zu at %.17Lg stands behind row %llu at %.17Lg", what, row, t->distance[row],
                 (unsigned long long)id, t->distance[id]);
    }
}

static void no_proof_is_wrong(void **state) {
  (void)state;
  test_rng rng = {2003};
  size_t asked = 0, proven[4] = {0};
  static const cpb_dtype dtypes[] = {CPB_F64, CPB_F32, CPB_F16};
  static const char *const names[] = {"from rows", "f64 scores", "f32 scores", "f16 scores"};
  for (size_t trial = 0; trial < trials(); trial++) {
    static set t;
    cpb_hit by_rows[MOST_N], hits[MOST_N];
    if (begin(&t, &rng, trial)) {
      asked++;
      verdict report = rescore(&t, false, CPB_F64, by_rows);
      judge(&t, by_rows, &report, names[0]);
      proven[0] += report.proven;
      for (size_t i = 0; i < 3; i++) {
        report = rescore(&t, true, dtypes[i], hits);
        judge(&t, hits, &report, names[i + 1]);
        proven[i + 1] += report.proven;
        for (size_t k = 0; report.proven && k < t.k; k++) assert_int_equal(hits[k].id, by_rows[k].id);
      }
    }
    cpb_map_free(t.map);
  }
  for (size_t i = 0; i < 4; i++)
    print_message("%s: %zu of %zu proven, none wrong\n", names[i], proven[i], asked);
  assert_true(proven[0] > asked / 10 && proven[2] > asked / 100 && asked > trials() / 2);
}

/* Rows at 1e-4, 1e-5 and 5e-5 from the query, which scores in f32 cannot separate. */
static void scores_that_are_all_1(void **state) {
  (void)state;
  float x[] = {1e-4f, 0, 1e-5f, 0, 5e-5f, 0, 1, 0, -1, 0, 0, 1, 0, -1}, q[] = {0, 0}, y[7 * 3];
  float scores[] = {1, 1, 1, 0};
  uint64_t ids[] = {0, 1, 2, 3};
  cpb_map_options options;
  cpb_map_options_init(&options, sizeof options);
  options.d = 2;
  options.s = 1;
  cpb_map *map;
  assert_int_equal(cpb_map_new(&options, &map, NULL), CPB_OK);
  assert_int_equal(cpb_map_embed(map, cpb_rows(x, CPB_F32, 7, 2), cpb_rows_out(y, CPB_F32, 7, 3), NULL, NULL),
                   CPB_OK);
  cpb_rescore_options options_of;
  cpb_rescore_options_init(&options_of, sizeof options_of);
  options_of.k = 1;
  options_of.scores = cpb_rows(scores, CPB_F32, 1, 4);
  cpb_store store = cpb_store_from_view(cpb_rows(y, CPB_F32, 7, 3));
  cpb_view query = cpb_rows(q, CPB_F32, 1, 2);
  cpb_hit hit;
  cpb_error error;
  uint64_t needed;
  test_status((int)rescore_by_map(map, query, (cpb_candidates){ids, 4}, &store, &options_of,
                                  (cpb_rescore_out){&hit, &needed}, &error),
              CPB_OK, error.text);
  assert_int_equal(needed, 4);
  options_of.scores = (cpb_view){0};
  assert_int_equal(rescore_by_map(map, query, (cpb_candidates){ids, 4}, &store, &options_of,
                                  (cpb_rescore_out){&hit, &needed}, &error),
                   CPB_OK);
  assert_true(needed == 0 && hit.id == 1);
  scores[3] = 0.5f; /* not the score of that row */
  options_of.scores = cpb_rows(scores, CPB_F32, 1, 4);
  assert_int_equal(rescore_by_map(map, query, (cpb_candidates){ids, 4}, &store, &options_of,
                                  (cpb_rescore_out){&hit, &needed}, &error),
                   CPB_EINVAL);
  assert_non_null(strstr(error.text, "candidate 3 (row 3) has the score 0.5"));
  cpb_map_free(map);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_proof_is_wrong),
      cmocka_unit_test(scores_that_are_all_1),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

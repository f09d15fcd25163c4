/* The rows of a recommendation against a plain loop over everything: every place, tie and quantile exactly; and
 * the same bytes for any number of threads. */
#include <stdbool.h>

#include "capball/capball.h"
#include "capball/advanced/laws.h"
#include "capball/advanced/statistics.h"
#include "support/check.h"

enum { MOST_N = 700, MOST_D = 20, MOST_Q = 90, MOST_K = 12, WIDE = MOST_D + 2 };

typedef struct plain_set {
  size_t n, d, q, k;
  bool own;   /* rows of the base are the queries */
  int metric; /* of the options */
  float x[MOST_N * MOST_D], queries[MOST_Q * MOST_D];
  size_t self[MOST_Q];
} plain_set;

/* ---- by the definition ---- */

static double distance(const float *a, const float *b, size_t d) {
  double sum = 0;
  for (size_t i = 0; i < d; i++) sum += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
  return sqrt(sum);
}

static int rising_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static bool is_self(const plain_set *s, size_t q, size_t row) { return s->own && row == s->self[q]; }

static double kth_distance(const plain_set *s, size_t q) {
  static double all[MOST_N];
  size_t count = 0;
  for (size_t i = 0; i < s->n; i++)
    if (!is_self(s, q, i)) all[count++] = distance(s->x + i * s->d, s->queries + q * s->d, s->d);
  qsort(all, count, sizeof *all, rising_doubles);
  return all[s->k - 1];
}

/* As near as the k-th; of more than 2k such rows the nearest, ties in favour of the lower id. */
static bool is_true(const plain_set *s, size_t q, size_t row, double limit, const double *distances) {
  size_t before = 0;
  if (is_self(s, q, row) || distances[row] > limit) return false;
  for (size_t i = 0; i < s->n; i++)
    before +=
        !is_self(s, q, i) && (distances[i] < distances[row] || (distances[i] == distances[row] && i < row));
  return before < 2 * s->k;
}

static double largest_of(const float *y, size_t count) {
  double largest = 0;
  for (size_t i = 0; i < count; i++) largest = fmax(largest, fabs((double)y[i]));
  return largest;
}

/* Scores of one index: larger is nearer. By L2 it is <a,b> - |a|^2/2; all signs have the same length. */
static double score(cpb_engine engine, bool l2, const float *a, const float *b, size_t cols, float fa,
                    float fb) {
  float sum = 0;
  double whole = 0;
  for (size_t i = 0; i < cols; i++) {
    sum = fmaf(a[i], b[i], sum);
    whole += engine == CPB_ENGINE_BITS ? -((a[i] >= 0) != (b[i] >= 0))
                                       : (double)rintf(a[i] * fa) * (double)rintf(b[i] * fb);
    if (l2 && engine == CPB_ENGINE_INT8) whole -= pow((double)rintf(a[i] * fa), 2) / 2;
  }
  return engine == CPB_ENGINE_FLOAT ? (double)sum : whole;
}

static int rising_places(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* Places of the true neighbours of all queries, in order. */
static void find_places(const plain_set *s, cpb_engine engine, const float *y, const float *p, size_t cols,
                        uint64_t *places) {
  static double scores[MOST_N], distances[MOST_N];
  static uint64_t own[MOST_N];
  float fy = (float)127 / (float)largest_of(y, s->n * cols);
  bool l2 = s->metric == CPB_L2;
  float fp = l2 ? fy : (float)127 / (float)largest_of(p, s->q * cols);
  for (size_t q = 0; q < s->q; q++) {
    double limit = kth_distance(s, q);
    size_t count = 0;
    for (size_t i = 0; i < s->n; i++) {
      scores[i] = score(engine, l2, y + i * cols, p + q * cols, cols, fy, fp);
      distances[i] = distance(s->x + i * s->d, s->queries + q * s->d, s->d);
    }
    for (size_t t = 0; t < s->n; t++) {
      if (!is_true(s, q, t, limit, distances)) continue;
      own[count] = 0;
      for (size_t i = 0; i < s->n; i++)
        own[count] +=
            !(s->own && i == s->self[q]) && (scores[i] > scores[t] || (scores[i] == scores[t] && i < t));
      count++;
    }
    qsort(own, count, sizeof *own, rising_places);
    memcpy(places + q * s->k, own, s->k * sizeof *own);
  }
  qsort(places, s->q * s->k, sizeof *places, rising_places);
}

static void check_row(const plain_set *s, const cpb_recommend_row *row, const cpb_recommendation_facts *of,
                      const float *y, const float *p, size_t cols) {
  static uint64_t places[MOST_Q * MOST_K];
  size_t count = s->q * s->k, at = 0;
  find_places(s, row->index, y, p, cols, places);
  while (at < count && places[at] < s->k) at++;
  assert_true(row->recall == (double)at / (double)count);
  uint64_t candidates = 1; /* the smallest C with a mean of at least 0.99 */
  for (size_t found = 0; found * 100 < count * 99; candidates++)
    for (found = 0; found < count && places[found] < candidates; found++) {
    }
  assert_int_equal(row->candidates_for_99, candidates - 1);
  for (size_t i = 0; i < of->curve_count; i += 5) {
    for (at = 0; at < count && places[at] < of->candidates[i]; at++) {
    }
    assert_true(row->curve[i] == (double)at / (double)count);
  }
  assert_true(row->curve[of->curve_count - 1] == 1);
  size_t bytes[] = {4 * cols, cols, (cols + 7) / 8};
  assert_int_equal(row->bytes, bytes[row->index]);
}

/* ---- transformed rows by the public calls ---- */

static void zero_refused(float *y, size_t rows, size_t cols) {
  for (size_t i = 0; i < rows; i++)
    for (size_t k = 0; isnan(y[i * cols]) && k < cols; k++) y[i * cols + cols - 1 - k] = 0;
}

/* Rows without an image become zeros below. */
static void apply_but_refused(cpb_status status) { assert_true(status == CPB_OK || status == CPB_EROW); }

static size_t transform(const plain_set *s, cpb_transform_kind kind, const double *mean, double norm_max,
                        float *y, float *p) {
  cpb_transform_options options;
  cpb_transform_options_init(&options, sizeof options);
  bool cosine = s->metric == -1 || s->metric == CPB_COSINE;
  options.kind = kind == CPB_TRANSFORM_NONE && cosine ? CPB_TRANSFORM_NORMALIZE : kind;
  options.d = s->d;
  options.center = kind == CPB_TRANSFORM_NONE ? NULL : mean;
  options.max_norm = norm_max;
  cpb_transform *made;
  test_status((int)cpb_transform_new(&options, &made, NULL), CPB_OK, "transform");
  size_t cols = cpb_transform_cols(made);
  apply_but_refused(cpb_transform_apply(made, CPB_ROLE_BASE, cpb_rows(s->x, CPB_F32, s->n, s->d),
                                        cpb_rows_out(y, CPB_F32, s->n, cols), NULL, NULL));
  apply_but_refused(cpb_transform_apply(made, CPB_ROLE_QUERY, cpb_rows(s->queries, CPB_F32, s->q, s->d),
                                        cpb_rows_out(p, CPB_F32, s->q, cols), NULL, NULL));
  zero_refused(y, s->n, cols);
  zero_refused(p, s->q, cols);
  cpb_transform_free(made);
  return cols;
}

static size_t embed(const plain_set *s, double scale, double r, const double *mean, float *y, float *p) {
  cpb_map_options options;
  cpb_map_options_init(&options, sizeof options);
  options.d = s->d;
  options.center = mean;
  options.s = scale;
  cpb_map *map;
  test_status((int)cpb_map_new(&options, &map, NULL), CPB_OK, "map");
  test_status((int)cpb_map_embed(map, cpb_rows(s->x, CPB_F32, s->n, s->d),
                                 cpb_rows_out(y, CPB_F32, s->n, s->d + 1), NULL, NULL),
              CPB_OK, "");
  test_status((int)cpb_map_embed(map, cpb_rows(s->queries, CPB_F32, s->q, s->d),
                                 cpb_rows_out(p, CPB_F32, s->q, s->d + 1), NULL, NULL),
              CPB_OK, "");
  for (size_t q = 0; r > 0 && q < s->q; q++) {
    double c[MOST_D], center[MOST_D + 1];
    for (size_t i = 0; i < s->d; i++) c[i] = (double)s->queries[q * s->d + i];
    cpb_region ball = {.kind = CPB_BALL, .d = s->d, .c = c, .r = r, .along = r};
    cpb_cap cap = {.d = s->d, .p = center};
    test_status((int)cpb_map_cap(map, &ball, &cap, NULL), CPB_OK, "cap");
    for (size_t i = 0; i <= s->d; i++) p[q * (s->d + 1) + i] = (float)center[i];
  }
  cpb_map_free(map);
  return s->d + 1;
}

/* ---- a set and its recommendation ---- */

static void make_set(plain_set *s, uint64_t seed, size_t n, size_t d, size_t q, size_t k, bool whole,
                     bool own) {
  test_rng rng = {seed};
  *s = (plain_set){.n = n, .d = d, .q = q, .k = k, .own = own, .metric = -1};
  for (size_t i = 0; i < n * d; i++) {
    double value = 2 + test_gauss(&rng) * (double)(1 + i / d % 3);
    s->x[i] = (float)(whole ? rint(value) : value);
  }
  for (size_t i = 0; i < q * d; i++) {
    double value = 2 + test_gauss(&rng) * 2;
    s->queries[i] = (float)(whole ? rint(value) : value);
  }
}

/* A recommendation and its facts. */
typedef struct told {
  cpb_recommendation *made;
  cpb_recommendation_facts facts;
} told;

static told describe(cpb_recommendation *made) {
  told t = {made, {.size = sizeof t.facts}};
  cpb_recommendation_describe(made, &t.facts);
  return t;
}

static told ask(plain_set *s, size_t threads) {
  cpb_recommend_options options;
  cpb_recommend_options_init(&options, sizeof options);
  cpb_recommendation *made;
  cpb_pool *pool = NULL;
  cpb_error error = {.row = -1};
  options.k = s->k;
  options.queries = s->q;
  options.metric = s->metric;
  options.seed = 5;
  if (threads > 0) test_status((int)cpb_pool_new(threads, &pool, NULL), CPB_OK, "");
  cpb_view queries = cpb_rows(s->queries, CPB_F32, s->own ? 0 : s->q, s->d);
  test_status((int)cpb_recommend(cpb_rows(s->x, CPB_F32, s->n, s->d), queries, &options, &made,
                                 cpb_pool_exec(pool), &error),
              CPB_OK, error.text);
  cpb_pool_free(pool);
  return describe(made);
}

static void expect_same_row(const cpb_recommend_row *a, const cpb_recommend_row *b, size_t points) {
  assert_string_equal(a->name, b->name);
  assert_true(a->sphere == b->sphere && a->kind == b->kind && a->index == b->index && a->ball == b->ball);
  assert_memory_equal(&a->scale, &b->scale, sizeof a->scale);
  assert_true(a->recall == b->recall && a->candidates_for_99 == b->candidates_for_99 && a->bytes == b->bytes);
  assert_memory_equal(a->curve, b->curve, points * sizeof *a->curve);
}

static void expect_same(const cpb_recommendation_facts *a, const cpb_recommendation_facts *b) {
  assert_true(a->k == b->k && a->base_rows == b->base_rows && a->queries == b->queries);
  assert_true(a->norm_mean == b->norm_mean && a->radius == b->radius && a->poor == b->poor);
  assert_true(a->pick == b->pick && a->rival == b->rival && a->for_cosine == b->for_cosine &&
              a->for_growing == b->for_growing);
  assert_true(a->count == b->count && a->curve_count == b->curve_count);
  assert_memory_equal(a->candidates, b->candidates, a->curve_count * sizeof *a->candidates);
  for (size_t i = 0; i < a->count; i++) expect_same_row(a->rows[i], b->rows[i], a->curve_count);
}

/* Which rows of the base are queries: all of them here, in the order of their hashes, which is internal; the
 * places of all queries together do not depend on it. */
static void let_all_ask(plain_set *s) {
  s->q = s->n;
  for (size_t q = 0; q < s->q; q++) s->self[q] = q;
  memcpy(s->queries, s->x, s->n * s->d * sizeof *s->x);
}

static int effort(const cpb_recommend_row *row) {
  static const int of_kind[] = {[CPB_TRANSFORM_NONE] = 0,
                                [CPB_TRANSFORM_NORMALIZE] = 1,
                                [CPB_TRANSFORM_LIFT_IP] = 2,
                                [CPB_TRANSFORM_LIFT_COSINE] = 3};
  return row->sphere ? 4 + row->ball : of_kind[row->kind];
}

static bool is_better(const cpb_recommend_row *a, const cpb_recommend_row *b) {
  return a->candidates_for_99 != b->candidates_for_99 ? a->candidates_for_99 < b->candidates_for_99
         : a->recall != b->recall                     ? a->recall > b->recall
         : a->bytes != b->bytes                       ? a->bytes < b->bytes
                                                      : effort(a) < effort(b);
}

/* The best of those rows of the pick's index whose bit of effort is in `allowed`: within the noise of the fewest
 * candidates the highest recall, within the noise of that the simplest. */
static size_t best_of(const cpb_recommendation_facts *of, cpb_engine engine, unsigned allowed) {
  bool in[CPB_ENGINES * 14] = {false};
  uint64_t most = UINT64_MAX, fewest = UINT64_MAX;
  double recall = 0, error = 0;
  size_t best = SIZE_MAX, pick = SIZE_MAX;
  for (size_t i = 0; i < of->count; i++) {
    in[i] = of->rows[i]->index == engine && (allowed >> effort(of->rows[i]) & 1) != 0;
    if (in[i] && of->rows[i]->candidates_for_99 < fewest) fewest = of->rows[i]->candidates_for_99;
  }
  for (size_t i = 0; i < of->count; i++)
    if (in[i] && (best == SIZE_MAX || is_better(of->rows[i], of->rows[best]))) best = i;
  assert_int_equal(of->rows[best]->candidates_for_99, fewest);
  most = of->rows[best]->candidates_most;
  for (size_t i = 0; i < of->count; i++)
    if (in[i] && of->rows[i]->candidates_for_99 <= most && of->rows[i]->recall > recall) {
      recall = of->rows[i]->recall;
      error = of->rows[i]->recall_error;
    }
  for (size_t i = 0; i < of->count; i++) {
    const cpb_recommend_row *row = of->rows[i];
    if (!in[i] || row->candidates_for_99 > most || row->recall < recall - error) continue;
    if (pick == SIZE_MAX || effort(row) < effort(of->rows[pick]) ||
        (effort(row) == effort(of->rows[pick]) && is_better(row, of->rows[pick])))
      pick = i;
  }
  return pick;
}

static void check_errors(const cpb_recommendation_facts *got) {
  for (size_t i = 0; i < got->count; i++) {
    const cpb_recommend_row *row = got->rows[i];
    double q = (double)got->queries, share = 0.99 + sqrt(0.99 * 0.01 / q);
    assert_true(fabs(row->recall_error - sqrt(row->recall * (1 - row->recall) / q)) <= 1e-15);
    assert_true(row->candidates_most >= row->candidates_for_99);
    for (size_t k = 0; k < got->curve_count; k++) /* so many hold the larger share, and fewer do not */
      if (got->candidates[k] >= row->candidates_most)
        assert_true(row->curve[k] >= fmin(1, share) - 1e-12);
      else if (row->candidates_most > row->candidates_for_99)
        assert_true(row->curve[k] < share);
  }
}

static void check_pick(const cpb_recommendation_facts *got, cpb_engine engine) {
  const unsigned all = 63, sphere = 16 + 32, lift_ip = 4, lift_cosine = 8;
  const cpb_recommend_row *best = got->rows[got->pick];
  check_errors(got);
  assert_int_equal(got->pick, best_of(got, engine, all));
  assert_int_equal(got->rival, best_of(got, engine, best->sphere ? all - sphere : sphere));
  assert_int_equal(got->for_cosine, best_of(got, engine, all - lift_ip));
  assert_int_equal(got->for_growing, best_of(got, engine, all - lift_cosine));
  assert_true(got->poor == (best->recall < 0.5 && best->candidates_for_99 > 10 * got->k));
}

static void check_set(plain_set *s) {
  static float y[MOST_N * WIDE], p[MOST_Q * WIDE];
  double mean[MOST_D], norms = 0, norm_max = 0, kth[MOST_Q];
  if (s->own) let_all_ask(s);
  told asked = ask(s, 0);
  cpb_recommendation_facts got = asked.facts;
  static const size_t rows_of[] = {[CPB_L2] = 33, [CPB_IP] = 39, [CPB_COSINE] = 39};
  assert_int_equal(got.count, s->metric < 0 ? 42 : rows_of[s->metric]);
  assert_int_equal(got.queries, s->q);
  assert_int_equal(got.candidates[0], s->k);
  assert_int_equal(got.candidates[got.curve_count - 1], s->n);
  cpb_statistics *statistics;
  cpb_statistics_options options;
  cpb_statistics_options_init(&options, sizeof options);
  cpb_statistics_result facts = {.size = sizeof facts};
  options.d = s->d;
  test_status((int)cpb_statistics_new(&options, &statistics, NULL), CPB_OK, "");
  test_status((int)cpb_statistics_update(statistics, cpb_rows(s->x, CPB_F32, s->n, s->d), 0, NULL), CPB_OK,
              "");
  test_status((int)cpb_statistics_finish(statistics, &facts, NULL), CPB_OK, "");
  memcpy(mean, facts.mean, s->d * sizeof *mean);
  cpb_statistics_free(statistics);
  for (size_t i = 0; i < s->n; i++) {
    double norm2 = 0;
    for (size_t k = 0; k < s->d; k++) norm2 += pow((double)s->x[i * s->d + k] - mean[k], 2);
    norms += sqrt(norm2);
  }
  assert_true(fabs(got.norm_mean / (norms / (double)s->n) - 1) < 1e-12);
  test_status((int)cpb_max_norm(cpb_rows(s->x, CPB_F32, s->n, s->d), mean, &norm_max, NULL, NULL), CPB_OK,
              "");
  for (size_t q = 0; q < s->q; q++) kth[q] = kth_distance(s, q);
  qsort(kth, s->q, sizeof *kth, rising_doubles);
  assert_true(fabs(got.radius - (kth[(s->q - 1) / 2] + kth[s->q / 2]) / 2) <= 1e-12 * got.radius);
  for (size_t i = 0; i < got.count; i++) {
    const cpb_recommend_row *row = got.rows[i];
    size_t cols = row->sphere ? embed(s, row->scale, row->ball ? got.radius : 0, mean, y, p)
                              : transform(s, row->kind, mean, norm_max, y, p);
    if (s->metric == CPB_L2 && row->index == CPB_ENGINE_FLOAT)
      assert_true(row->kind != CPB_TRANSFORM_NONE || row->recall == 1);
    else
      check_row(s, row, &got, y, p, cols);
  }
  check_pick(&got, CPB_ENGINE_FLOAT);
  cpb_recommendation_free(asked.made);
}

static plain_set set;

static void against_a_plain_loop(void **state) {
  (void)state;
  make_set(&set, 1, 200, 7, 70, 10, false, false); /* two panels of queries */
  check_set(&set);
  make_set(&set, 2, 130, 3, 40, 5, true, false); /* whole numbers: ties, equal rows, rows at 0 */
  check_set(&set);
  make_set(&set, 3, 40, 20, 9, 1, false, false);
  check_set(&set);
  make_set(&set, 4, 13, 1, 5, 12, false, false); /* d = 1, k = n-1 */
  check_set(&set);
  make_set(&set, 10, 600, 5, 6, 3, false, false); /* two blocks of rows */
  check_set(&set);
}

/* Only what the index can rank by. Raw rows by L2 are exact in floats, however far they are from 0. */
static void by_one_metric(void **state) {
  (void)state;
  for (int metric = 0; metric < CPB_METRICS; metric++) {
    make_set(&set, 12, 200, 7, 40, 10, false, false);
    set.metric = metric;
    check_set(&set);
  }
  make_set(&set, 13, 150, 5, 20, 4, false, false);
  set.metric = CPB_L2;
  for (size_t i = 0; i < set.n * set.d; i++) set.x[i] += 3e4F;
  for (size_t i = 0; i < set.q * set.d; i++) set.queries[i] += 3e4F;
  told far = ask(&set, 0);
  assert_true(far.facts.rows[far.facts.pick]->kind == CPB_TRANSFORM_NONE);
  assert_true(far.facts.rows[far.facts.pick]->recall == 1);
  cpb_recommendation_free(far.made);
}

static void rows_do_not_find_themselves(void **state) {
  (void)state;
  make_set(&set, 5, 80, 4, 0, 6, false, true);
  check_set(&set);
  make_set(&set, 6, 60, 2, 0, 3, true, true);
  check_set(&set);
}

static void any_threads_same_bytes(void **state) {
  (void)state;
  make_set(&set, 7, TEST_SANITIZED ? 300 : MOST_N, 16, 66, 10, false, false);
  told one = ask(&set, 0);
  for (size_t threads = 2; threads <= 3; threads++) {
    told other = ask(&set, threads);
    expect_same(&one.facts, &other.facts);
    cpb_recommendation_free(other.made);
  }
  cpb_recommendation_free(one.made);
}

/* A sample uses fewer rows as queries; every index finds equal rows at once. */
static void samples_and_equal_rows(void **state) {
  (void)state;
  cpb_recommendation *made;
  cpb_recommend_options options;
  cpb_recommend_options_init(&options, sizeof options);
  cpb_error error = {.row = -1};
  make_set(&set, 8, MOST_N, 6, 0, 4, false, true);
  for (size_t i = 0; i < set.n; i++) memcpy(set.x + i * 6, set.x + i % 7 * 6, 6 * sizeof *set.x);
  options.k = 4;
  options.sample = 500;
  options.queries = 33;
  cpb_view none = {0};
  test_status((int)cpb_recommend(cpb_rows(set.x, CPB_F32, set.n, 6), none, &options, &made, NULL, &error),
              CPB_OK, error.text);
  cpb_recommendation_facts got = describe(made).facts;
  assert_int_equal(got.base_rows, 500);
  assert_int_equal(got.queries, 33);
  assert_true(got.radius == 0);
  for (size_t i = 0; i < got.count; i++)
    if (got.rows[i]->index != CPB_ENGINE_BITS && effort(got.rows[i]) != 0 && effort(got.rows[i]) != 2)
      assert_true(got.rows[i]->recall == 1);
  assert_int_equal(got.pick, 0);
  assert_true(got.rows[got.rival]->sphere);
  cpb_recommendation_free(made);
}

/* The values count, not their storage: bytes and doubles with gaps between the rows. */
static void any_type_same_answer(void **state) {
  (void)state;
  enum { N = TEST_SANITIZED ? 160 : 300, D = 9, STRIDE = 13 };
  cpb_recommendation *made[3];
  static uint8_t narrow[N * STRIDE];
  static double wide[N * STRIDE];
  cpb_recommend_options options;
  cpb_recommend_options_init(&options, sizeof options);
  test_rng rng = {11};
  make_set(&set, 11, N, D, 0, 10, true, true);
  for (size_t i = 0; i < N * STRIDE; i++) narrow[i] = (uint8_t)test_below(&rng, 256), wide[i] = NAN;
  for (size_t i = 0; i < N * D; i++) {
    set.x[i] = (float)narrow[i / D * STRIDE + i % D];
    wide[i / D * STRIDE + i % D] = (double)set.x[i];
  }
  options.sample = N - 50; /* both ways of reading rows: a selection, and by id */
  cpb_view none = {0}, rows = cpb_rows(set.x, CPB_F32, N, D);
  test_status((int)cpb_recommend(rows, none, &options, &made[0], NULL, NULL), CPB_OK, "f32");
  rows = (cpb_view){narrow, CPB_U8, N, D, STRIDE};
  test_status((int)cpb_recommend(rows, none, &options, &made[1], NULL, NULL), CPB_OK, "u8");
  rows = (cpb_view){wide, CPB_F64, N, D, STRIDE};
  test_status((int)cpb_recommend(rows, none, &options, &made[2], NULL, NULL), CPB_OK, "f64");
  told floats = describe(made[0]), bytes = describe(made[1]), doubles = describe(made[2]);
  expect_same(&floats.facts, &bytes.facts);
  expect_same(&floats.facts, &doubles.facts);
  for (size_t i = 0; i < 3; i++) cpb_recommendation_free(made[i]);
}

/* Stops the call once it has begun. */
static int stop(void *context, double share) {
  assert_true(share >= *(double *)context && share <= 1);
  *(double *)context = share;
  return share > 0;
}

static void refused(void **state) {
  (void)state;
  cpb_recommendation *got;
  cpb_error error;
  make_set(&set, 9, 50, 3, 10, 5, false, false);
  cpb_view base = cpb_rows(set.x, CPB_F32, 50, 3), queries = cpb_rows(set.queries, CPB_F32, 10, 3);
  cpb_recommend_options good, bad;
  cpb_recommend_options_init(&good, sizeof good);
  bad = good;
  bad.k = 50;
  assert_int_equal(cpb_recommend(base, queries, &bad, &got, NULL, &error), CPB_EINVAL);
  assert_non_null(strstr(error.text, "below the 50 rows of the base, got 50"));
  bad.k = 0;
  assert_int_equal(cpb_recommend(base, queries, &bad, &got, NULL, &error), CPB_EINVAL);
  bad = good;
  bad.sample = 10;
  assert_int_equal(cpb_recommend(base, queries, &bad, &got, NULL, &error), CPB_EINVAL);
  bad = good;
  bad.size = 0;
  assert_int_equal(cpb_recommend(base, queries, &bad, &got, NULL, &error), CPB_EINVAL);
  bad = good;
  bad.engine = (cpb_engine)CPB_ENGINES;
  assert_int_equal(cpb_recommend(base, queries, &bad, &got, NULL, &error), CPB_EINVAL);
  double share = 0;
  cpb_exec exec;
  cpb_exec_init(&exec, sizeof exec);
  exec.progress = stop;
  exec.context = &share;
  assert_int_equal(cpb_recommend(base, queries, &good, &got, &exec, &error), CPB_ESTOPPED);
  assert_true(share > 0 && share < 0.5 && got == NULL);
  assert_int_equal(cpb_recommend(cpb_rows(NULL, CPB_F32, 0, 3), queries, &good, &got, NULL, &error),
                   CPB_EINVAL);
  assert_int_equal(cpb_recommend(base, cpb_rows(set.queries, CPB_F32, 10, 2), &good, &got, NULL, &error),
                   CPB_ESHAPE);
  float kept = set.x[20];
  set.x[20] = NAN;
  assert_int_equal(cpb_recommend(base, queries, &good, &got, NULL, &error), CPB_EROW);
  assert_string_equal(error.text, "base row 6 holds NaN");
  set.x[20] = kept;
  set.queries[4] = INFINITY;
  assert_int_equal(cpb_recommend(base, queries, &good, &got, NULL, &error), CPB_EROW);
  assert_string_equal(error.text, "queries row 1 holds inf");
  set.queries[4] = 0;
  for (size_t i = 0; i < 150; i++) set.x[i] = 3;
  assert_int_equal(cpb_recommend(base, queries, &good, &got, NULL, &error), CPB_EINVAL);
  assert_non_null(strstr(error.text, "cannot be a scale"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(against_a_plain_loop),
      cmocka_unit_test(by_one_metric),
      cmocka_unit_test(rows_do_not_find_themselves),
      cmocka_unit_test(any_threads_same_bytes),
      cmocka_unit_test(samples_and_equal_rows),
      cmocka_unit_test(any_type_same_answer),
      cmocka_unit_test(refused),
  };
  return cmocka_run_group_tests_name("recommend", tests, NULL, NULL);
}

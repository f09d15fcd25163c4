/* The rows of a recommendation against a plain loop over everything: every place, tie and quantile exactly;
 * and the same bytes for any number of threads. */
#include <stdbool.h>

#include "capball/capball.h"
#include "support/check.h"

enum { MOST_N = 700, MOST_D = 20, MOST_Q = 90, MOST_K = 12, WIDE = MOST_D + 2 };

typedef struct plain_set {
  size_t n, d, q, k;
  bool own; /* rows of the base ask */
  float x[MOST_N * MOST_D], queries[MOST_Q * MOST_D];
  size_t self[MOST_Q];
} plain_set;

/* ---- by the book ---- */

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

/* As near as the k-th; of more than 2k such rows the nearest, and of equals the lower. */
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

/* Scores of one index: larger is nearer. */
static double score(cpb_engine engine, const float *a, const float *b, size_t cols, float fa, float fb) {
  float sum = 0;
  double whole = 0;
  for (size_t i = 0; i < cols; i++) {
    sum = fmaf(a[i], b[i], sum);
    whole += engine == CPB_ENGINE_BITS ? -((a[i] >= 0) != (b[i] >= 0))
                                       : (double)rintf(a[i] * fa) * (double)rintf(b[i] * fb);
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
  float fp = (float)127 / (float)largest_of(p, s->q * cols);
  for (size_t q = 0; q < s->q; q++) {
    double limit = kth_distance(s, q);
    size_t count = 0;
    for (size_t i = 0; i < s->n; i++) {
      scores[i] = score(engine, y + i * cols, p + q * cols, cols, fy, fp);
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

static void check_row(const plain_set *s, const cpb_recommend_row *row, const uint64_t *steps, const float *y,
                      const float *p, size_t cols) {
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
  for (size_t i = 0; i < CPB_RECOMMEND_CURVE; i += 5) {
    for (at = 0; at < count && places[at] < steps[i]; at++) {
    }
    assert_true(row->curve[i] == (double)at / (double)count);
  }
  assert_true(row->curve[CPB_RECOMMEND_CURVE - 1] == 1);
  size_t bytes[] = {4 * cols, cols, (cols + 7) / 8};
  assert_int_equal(row->bytes, bytes[row->index]);
}

/* ---- transformed rows by the public calls ---- */

static void zero_refused(float *y, size_t rows, size_t cols) {
  for (size_t i = 0; i < rows; i++)
    for (size_t k = 0; isnan(y[i * cols]) && k < cols; k++) y[i * cols + cols - 1 - k] = 0;
}

static size_t transform(const plain_set *s, const char *name, const double *mean, double norm_max, float *y,
                        float *p) {
  cpb_transform_options options;
  cpb_transform_options_init(&options, sizeof options);
  options.kind = strcmp(name, "lift-ip") == 0       ? CPB_TRANSFORM_LIFT_IP
                 : strcmp(name, "lift-cosine") == 0 ? CPB_TRANSFORM_LIFT_COSINE
                                                    : CPB_TRANSFORM_NORMALIZE;
  options.d = s->d;
  options.center = strcmp(name, "none") == 0 ? NULL : mean;
  options.max_norm = norm_max;
  cpb_transform *made;
  test_status((int)cpb_transform_new(&options, &made, NULL), CPB_OK, name);
  size_t cols = cpb_transform_cols(made);
  cpb_transform_apply(made, CPB_ROLE_BASE, cpb_rows(s->x, CPB_F32, s->n, s->d),
                      cpb_rows_out(y, CPB_F32, s->n, cols), NULL, NULL);
  cpb_transform_apply(made, CPB_ROLE_QUERY, cpb_rows(s->queries, CPB_F32, s->q, s->d),
                      cpb_rows_out(p, CPB_F32, s->q, cols), NULL, NULL);
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
  cpb_map_embed(map, cpb_rows(s->x, CPB_F32, s->n, s->d), cpb_rows_out(y, CPB_F32, s->n, s->d + 1), NULL,
                NULL);
  cpb_map_embed(map, cpb_rows(s->queries, CPB_F32, s->q, s->d), cpb_rows_out(p, CPB_F32, s->q, s->d + 1),
                NULL, NULL);
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
  *s = (plain_set){.n = n, .d = d, .q = q, .k = k, .own = own};
  for (size_t i = 0; i < n * d; i++) {
    double value = 2 + test_gauss(&rng) * (double)(1 + i / d % 3);
    s->x[i] = (float)(whole ? rint(value) : value);
  }
  for (size_t i = 0; i < q * d; i++) {
    double value = 2 + test_gauss(&rng) * 2;
    s->queries[i] = (float)(whole ? rint(value) : value);
  }
}

static void ask(plain_set *s, size_t threads, cpb_recommendation *out) {
  cpb_recommend_options options;
  cpb_recommend_options_init(&options, sizeof options);
  cpb_pool *pool = NULL;
  cpb_error error = {.row = -1};
  options.k = s->k;
  options.queries = s->q;
  options.seed = 5;
  if (threads > 0) test_status((int)cpb_pool_new(threads, &pool, NULL), CPB_OK, "");
  cpb_view queries = cpb_rows(s->queries, CPB_F32, s->own ? 0 : s->q, s->d);
  test_status((int)cpb_recommend(cpb_rows(s->x, CPB_F32, s->n, s->d), queries, &options, out,
                                 cpb_pool_exec(pool), &error),
              CPB_OK, error.text);
  cpb_pool_free(pool);
}

/* Which rows of the base ask: all of them here, in the order of their hashes, which is not ours to know;
 * places of all queries together do not depend on it. */
static void let_all_ask(plain_set *s) {
  s->q = s->n;
  for (size_t q = 0; q < s->q; q++) s->self[q] = q;
  memcpy(s->queries, s->x, s->n * s->d * sizeof *s->x);
}

static int effort(const cpb_recommend_row *row) {
  if (strcmp(row->transform, "sphere") == 0) return row->ball ? 5 : 4;
  if (strncmp(row->transform, "lift", 4) == 0) return strcmp(row->transform, "lift-ip") == 0 ? 2 : 3;
  return strcmp(row->transform, "none") == 0 ? 0 : 1;
}

/* What is said must be true of the table. */
static void check_text(const cpb_recommendation *got, const cpb_recommend_row *best) {
  bool sphere = strcmp(best->transform, "sphere") == 0;
  assert_true((strstr(got->text, "does not help") != NULL) == !sphere);
  assert_true((strstr(got->text, "Without the embedding") != NULL) == sphere);
  if (strncmp(best->transform, "lift", 4) == 0)
    assert_non_null(strstr(got->text, effort(best) == 2 ? "only cosine take" : "longer than the longest"));
  assert_true((strstr(got->text, "Caution") != NULL) ==
              (best->recall < 0.5 && best->candidates_for_99 > 10 * got->k));
}

static void check_pick(const cpb_recommendation *got, cpb_engine engine) {
  const cpb_recommend_row *best = &got->rows[got->pick];
  assert_int_equal(best->index, engine);
  for (size_t i = 0; i < got->count; i++) {
    const cpb_recommend_row *row = &got->rows[i];
    if (row->index != engine || i == got->pick) continue;
    bool better = row->candidates_for_99 != best->candidates_for_99
                      ? row->candidates_for_99 < best->candidates_for_99
                  : row->recall != best->recall ? row->recall > best->recall
                  : row->bytes != best->bytes   ? row->bytes < best->bytes
                  : effort(row) != effort(best) ? effort(row) < effort(best)
                                                : i < got->pick;
    assert_false(better);
  }
  check_text(got, best);
}

static void check_set(plain_set *s) {
  static float y[MOST_N * WIDE], p[MOST_Q * WIDE];
  static cpb_recommendation got;
  double mean[MOST_D], norms = 0, norm_max = 0, kth[MOST_Q];
  if (s->own) let_all_ask(s);
  ask(s, 0, &got);
  assert_int_equal(got.count, CPB_RECOMMEND_ROWS);
  assert_int_equal(got.queries, s->q);
  assert_int_equal(got.candidates[0], s->k);
  assert_int_equal(got.candidates[CPB_RECOMMEND_CURVE - 1], s->n);
  cpb_statistics *statistics;
  cpb_statistics_options options;
  cpb_statistics_options_init(&options, sizeof options);
  cpb_statistics_result facts = {.size = sizeof facts};
  options.d = s->d;
  test_status((int)cpb_statistics_new(&options, &statistics, NULL), CPB_OK, "");
  cpb_statistics_update(statistics, cpb_rows(s->x, CPB_F32, s->n, s->d), 0, NULL);
  cpb_statistics_finish(statistics, &facts, NULL);
  memcpy(mean, facts.mean, s->d * sizeof *mean);
  cpb_statistics_free(statistics);
  for (size_t i = 0; i < s->n; i++) {
    double norm2 = 0;
    for (size_t k = 0; k < s->d; k++) norm2 += pow((double)s->x[i * s->d + k] - mean[k], 2);
    norms += sqrt(norm2);
  }
  assert_true(fabs(got.norm_mean / (norms / (double)s->n) - 1) < 1e-12);
  cpb_max_norm(cpb_rows(s->x, CPB_F32, s->n, s->d), mean, &norm_max, NULL, NULL);
  for (size_t q = 0; q < s->q; q++) kth[q] = kth_distance(s, q);
  qsort(kth, s->q, sizeof *kth, rising_doubles);
  assert_true(fabs(got.radius - (kth[(s->q - 1) / 2] + kth[s->q / 2]) / 2) <= 1e-12 * got.radius);
  for (size_t i = 0; i < got.count; i++) {
    const cpb_recommend_row *row = &got.rows[i];
    bool sphere = strcmp(row->transform, "sphere") == 0;
    size_t cols = sphere ? embed(s, row->scale, row->ball ? got.radius : 0, mean, y, p)
                         : transform(s, row->transform, mean, norm_max, y, p);
    check_row(s, row, got.candidates, y, p, cols);
  }
  check_pick(&got, CPB_ENGINE_FLOAT);
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

static void rows_do_not_find_themselves(void **state) {
  (void)state;
  make_set(&set, 5, 80, 4, 0, 6, false, true);
  check_set(&set);
  make_set(&set, 6, 60, 2, 0, 3, true, true);
  check_set(&set);
}

static void any_threads_same_bytes(void **state) {
  (void)state;
  static cpb_recommendation one, other;
  make_set(&set, 7, MOST_N, 16, 66, 10, false, false);
  ask(&set, 0, &one);
  for (size_t threads = 2; threads <= 3; threads++) {
    ask(&set, threads, &other);
    assert_memory_equal(&one, &other, sizeof one);
  }
}

/* A sample asks fewer rows; equal rows are found at once by everybody. */
static void samples_and_equal_rows(void **state) {
  (void)state;
  static cpb_recommendation got;
  cpb_recommend_options options;
  cpb_recommend_options_init(&options, sizeof options);
  cpb_error error = {.row = -1};
  make_set(&set, 8, MOST_N, 6, 0, 4, false, true);
  for (size_t i = 0; i < set.n; i++) memcpy(set.x + i * 6, set.x + i % 7 * 6, 6 * sizeof *set.x);
  options.k = 4;
  options.sample = 500;
  options.queries = 33;
  cpb_view none = {0};
  test_status((int)cpb_recommend(cpb_rows(set.x, CPB_F32, set.n, 6), none, &options, &got, NULL, &error),
              CPB_OK, error.text);
  assert_int_equal(got.base_rows, 500);
  assert_int_equal(got.queries, 33);
  assert_true(got.radius == 0);
  for (size_t i = 0; i < got.count; i++)
    if (got.rows[i].index != CPB_ENGINE_BITS && strcmp(got.rows[i].transform, "none") != 0 &&
        strcmp(got.rows[i].transform, "lift-ip") != 0)
      assert_true(got.rows[i].recall == 1);
  assert_int_equal(got.pick, 0);
  assert_non_null(strstr(got.text, "does not help"));
}

/* The numbers count, not how they are kept: bytes and doubles with gaps between the rows. */
static void any_type_same_answer(void **state) {
  (void)state;
  enum { N = 300, D = 9, STRIDE = 13 };
  static cpb_recommendation floats, bytes, doubles;
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
  options.sample = 250; /* both ways of reading rows: chosen ones, and by their ids */
  cpb_view none = {0}, rows = cpb_rows(set.x, CPB_F32, N, D);
  test_status((int)cpb_recommend(rows, none, &options, &floats, NULL, NULL), CPB_OK, "f32");
  rows = (cpb_view){narrow, CPB_U8, N, D, STRIDE};
  test_status((int)cpb_recommend(rows, none, &options, &bytes, NULL, NULL), CPB_OK, "u8");
  rows = (cpb_view){wide, CPB_F64, N, D, STRIDE};
  test_status((int)cpb_recommend(rows, none, &options, &doubles, NULL, NULL), CPB_OK, "f64");
  assert_memory_equal(&floats, &bytes, sizeof floats);
  assert_memory_equal(&floats, &doubles, sizeof floats);
}

static bool stop(void *context, double share) {
  *(double *)context = share;
  return false;
}

static void refused(void **state) {
  (void)state;
  static cpb_recommendation got;
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
  double share = -1;
  bad = good;
  bad.progress = stop;
  bad.context = &share;
  assert_int_equal(cpb_recommend(base, queries, &bad, &got, NULL, &error), CPB_EINVAL);
  assert_true(share > 0 && share <= 1);
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
  assert_non_null(strstr(error.text, "no scale"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(against_a_plain_loop),   cmocka_unit_test(rows_do_not_find_themselves),
      cmocka_unit_test(any_threads_same_bytes), cmocka_unit_test(samples_and_equal_rows),
      cmocka_unit_test(any_type_same_answer),   cmocka_unit_test(refused),
  };
  return cmocka_run_group_tests_name("recommend", tests, NULL, NULL);
}

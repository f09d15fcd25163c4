/* T14: the certain bound of an estimate is never wrong, a search until the bound is exact search, and codes, estimates and
 * hits are the same for every loop table and number of threads.
 *
 * With CPB_ADVERSARY, as `make adversary` sets it, the bound is tried on 10^7 pairs of rows and queries. */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include "capball/advanced/estimator.h"
#include "capball/capball.h"
#include "loops/table.h"
#include "sketch/sketch_train.h"
#include "sketch/t14_sketch.h"

static cpb_pool *pool;

/* ---- rows ---- */

typedef enum shape { SPREAD, OFFSET, TINY, LARGE, MIXED, DUPLICATES, CLUSTERS, LOW_RANK, SHAPES } shape;

static double size_of(test_rng *rng, shape of) {
  switch (of) {
  case TINY: return 1e-30;
  case LARGE: return 1e30;
  case MIXED: return test_log_uniform(rng, 1e-12, 1e12);
  default: return 1;
  }
}

/* Rows of one shape, with directions that are not equally wide. */
static void fill_rows(test_rng *rng, shape of, size_t n, size_t d, double *x) {
  for (size_t i = 0; i < n; i++) {
    double size = size_of(rng, of), center = of == CLUSTERS ? 10 * (double)test_below(rng, 4) : 0;
    for (size_t k = 0; k < d; k++) {
      double width = of == LOW_RANK ? k < 3 : 1 / (1 + (double)k / 4);
      x[i * d + k] = size * (center + width * test_gauss(rng)) + (of == OFFSET ? 1e6 : 0);
    }
    if (of == DUPLICATES && i > 0 && test_below(rng, 2) == 0)
      memcpy(x + i * d, x + test_below(rng, i) * d, d * sizeof *x);
  }
}

typedef struct world {
  size_t n, d;
  double *x;
  cpb_view rows;
  double *center;
  cpb_sketch *sketch;
  cpb_sketch_options of;
  uint8_t *codes;
  cpb_estimator *estimator;
} world;

/* levels: bits per direction of a sketch as earlier releases made them; 0: a joined one, of any form. */
static cpb_sketch *levels_sketch(test_rng *rng, const world *w, double s, size_t bits_per) {
  size_t n = 8 * (1 + test_below(rng, 8)) / bits_per, d = w->d;
  while (n > d && n > 8 / bits_per) n -= 8 / bits_per;
  double *normals = calloc(n * (d + 1), sizeof *normals);
  cpb_sketch_options o;
  cpb_sketch *sketch = NULL;
  cpb_error error;
  cpb_sketch_options_init(&o, sizeof o);
  o.kind = CPB_SKETCH_PRINCIPAL;
  o.d = d;
  o.bits = n * bits_per;
  o.bits_per = bits_per;
  o.factors = test_below(rng, 3) == 0 ? CPB_F32 : CPB_F16;
  o.s = s;
  o.center = w->center;
  o.normals = normals;
  o.spread = 0.5;
  /* columns in another order, with signs; more directions than columns: a frame of several copies */
  double copies = ceil((double)n / (double)d);
  if (n > d && n % d != 0) {
    free(normals);
    return NULL;
  }
  for (size_t i = 0; i < n; i++)
    normals[i * (d + 1) + (n > d ? i % d : d - 1 - i)] = (i % 3 == 0 ? -1 : 1) / (n > d ? sqrt(copies) : 1);
  test_status((int)cpb_sketch_new(&o, &sketch, &error), CPB_OK, error.text);
  free(normals);
  return sketch;
}

static cpb_sketch_training training_of(test_rng *rng, const world *w) {
  cpb_sketch_training training;
  cpb_sketch_training_init(&training, sizeof training);
  training.bits = 8 * (1 + test_below(rng, 24));
  training.form = (cpb_sketch_form)(1 + test_below(rng, 4));
  if (training.form == CPB_FORM_SIGNS && w->d < 8) training.form = CPB_FORM_PRINCIPAL;
  training.certain = true;
  training.center = w->center;
  training.seed = test_bits(rng);
  return training;
}

/* The sketch is trained on rows of one shape, and encodes others: bounds hold for rows it has never seen. */
static world new_world(test_rng *rng, shape seen, shape encoded, size_t n, size_t d, size_t bits_per) {
  world w = {.n = n, .d = d, .of = {.size = sizeof w.of}};
  cpb_error error;
  w.x = malloc(n * d * sizeof *w.x);
  w.center = calloc(d, sizeof *w.center);
  w.rows = cpb_rows(w.x, CPB_F64, n, d);
  fill_rows(rng, seen, n, d, w.x);
  for (size_t k = 0; k < d; k++) w.center[k] = seen == OFFSET ? 1e6 : 0;
  cpb_sketch_training training = training_of(rng, &w);
  training.s = seen == TINY ? 1e-30 : seen == LARGE ? 1e30 : 2;
  if (bits_per > 0) w.sketch = levels_sketch(rng, &w, training.s, bits_per);
  if (w.sketch == NULL)
    test_status((int)cpb_sketch_train(w.rows, &training, &w.sketch, NULL, NULL, &error), CPB_OK, error.text);
  cpb_sketch_describe(w.sketch, &w.of);
  if (encoded != seen) fill_rows(rng, encoded, n, d, w.x);
  w.codes = malloc(n * w.of.code_bytes);
  test_status((int)cpb_sketch_encode(w.sketch, w.rows, w.codes, NULL, &error), CPB_OK, error.text);
  cpb_view codes = cpb_rows(w.codes, CPB_U8, n, w.of.code_bytes);
  test_status((int)cpb_estimator_new(w.sketch, codes, &w.estimator, &error), CPB_OK, error.text);
  return w;
}

static void free_world(world *w) {
  cpb_estimator_free(w->estimator);
  cpb_sketch_free(w->sketch);
  free(w->x);
  free(w->center);
  free(w->codes);
}

/* Bits per direction of the sketches that are tried. */
static const size_t levels[6] = {0, 1, 0, 2, 0, 4};

/* ---- the certain bound ---- */

static long double distance(const double *x, const double *q, size_t d) {
  long double sum = 0;
  for (size_t k = 0; k < d; k++) sum += ((long double)x[k] - q[k]) * ((long double)x[k] - q[k]);
  return sqrtl(sum);
}

/* A row, one near a row, or one of another shape. */
static void make_query(test_rng *rng, const world *w, double *q) {
  size_t kind = test_below(rng, 4);
  if (kind == 0) {
    fill_rows(rng, (shape)test_below(rng, SHAPES), 1, w->d, q);
    return;
  }
  memcpy(q, w->x + test_below(rng, w->n) * w->d, w->d * sizeof *q);
  double away = kind == 1 ? 0 : kind == 2 ? 1e-9 : 0.1;
  for (size_t k = 0; k < w->d; k++) q[k] += away * fabs(q[k]) * test_gauss(rng);
}

static size_t try_query(test_rng *rng, const world *w, double *q, double *low, double *high) {
  size_t wrong = 0;
  cpb_error error;
  make_query(rng, w, q);
  test_status((int)cpb_estimator_bounds(w->estimator, cpb_rows(q, CPB_F64, 1, w->d), CPB_BOUND_CERTAIN, 0,
                                        NULL, low, high, &error),
              CPB_OK, error.text);
  for (size_t i = 0; i < w->n; i++) {
    long double right = distance(w->x + i * w->d, q, w->d);
    wrong += !((long double)low[i] <= right && right <= (long double)high[i]);
  }
  return wrong;
}

static size_t pairs_wanted(void) {
  return getenv("CPB_ADVERSARY") != NULL ? 10000000 : TEST_SANITIZED ? 20000 : 100000;
}

static void certain_bounds_are_never_wrong(void **state) {
  (void)state;
  enum { N = 260, QUERIES = 24, MOST = 80 };
  test_rng rng = {1401};
  static double low[N], high[N];
  double q[MOST];
  size_t wrong = 0, tried = 0;
  for (size_t trial = 0; tried < pairs_wanted(); trial++) {
    shape seen = (shape)(trial % SHAPES), encoded = (shape)(trial / SHAPES % SHAPES);
    world w = new_world(&rng, seen, encoded, N, 1 + test_below(&rng, MOST), levels[trial % 6]);
    for (size_t i = 0; i < QUERIES; i++) wrong += try_query(&rng, &w, q, low, high);
    tried += N * QUERIES;
    free_world(&w);
  }
  print_message("%zu pairs\n", tried);
  assert_int_equal(wrong, 0);
}

/* A bound that is never wrong because it says nothing would be of no use: on rows as the sketch has seen them the interval
 * must be narrow compared with the distances. */
static void certain_bounds_are_narrow(void **state) {
  (void)state;
  if (TEST_SANITIZED) skip(); /* figures, from code that the other tests run as well */
  enum { N = 2000, D = 32 };
  static const size_t bytes[] = {8, 16, 32};
  static const double widest[] = {1.2, 0.6, 0.2};
  test_rng rng = {1402};
  static double low[N], high[N];
  for (size_t i = 0; i < 3; i++) {
    world w = new_world(&rng, SPREAD, SPREAD, N, D, 0);
    cpb_estimator_free(w.estimator);
    cpb_sketch_free(w.sketch);
    cpb_sketch_training training = training_of(&rng, &w);
    training.form = CPB_FORM_CHOSEN;
    training.bytes = bytes[i];
    training.s = 2;
    double width = 0;
    assert_int_equal(cpb_sketch_train(w.rows, &training, &w.sketch, NULL, NULL, NULL), CPB_OK);
    cpb_sketch_describe(w.sketch, &w.of);
    assert_int_equal(w.of.code_bytes, bytes[i]);
    w.codes = realloc(w.codes, N * w.of.code_bytes);
    assert_int_equal(cpb_sketch_encode(w.sketch, w.rows, w.codes, NULL, NULL), CPB_OK);
    cpb_view codes = cpb_rows(w.codes, CPB_U8, N, w.of.code_bytes);
    assert_int_equal(cpb_estimator_new(w.sketch, codes, &w.estimator, NULL), CPB_OK);
    cpb_view query = cpb_rows(w.x, CPB_F64, 1, D);
    assert_int_equal(cpb_estimator_bounds(w.estimator, query, CPB_BOUND_CERTAIN, 0, NULL, low, high, NULL),
                     CPB_OK);
    for (size_t row = 1; row < N; row++)
      width += (high[row] - low[row]) / (double)distance(w.x + row * D, w.x, D) / (N - 1);
    print_message("%zu bytes: intervals of %.2f distances\n", bytes[i], width);
    assert_true(width < widest[i]);
    free_world(&w);
  }
}

/* ---- search until the bound ---- */

static void check_exact(const world *w, cpb_view queries, size_t k, const cpb_exec *exec) {
  cpb_hit *right = malloc(queries.rows * k * sizeof *right),
          *found = malloc(queries.rows * k * sizeof *found);
  cpb_store store = cpb_store_from_view(w->rows);
  cpb_estimator_options options;
  cpb_estimator_report report = {.size = sizeof report};
  cpb_error error;
  cpb_estimator_options_init(&options, sizeof options);
  options.k = k;
  options.bound = CPB_BOUND_CERTAIN;
  options.rows = &store;
  assert_int_equal(cpb_knn(w->rows, queries, k, CPB_L2, right, NULL, NULL), CPB_OK);
  test_status((int)cpb_estimator_search(w->estimator, queries, &options, found, &report, exec, &error),
              CPB_OK, error.text);
  assert_memory_equal(right, found, queries.rows * k * sizeof *right);
  assert_true(report.proven);
  assert_true(report.rows_read >= queries.rows * k && report.rows_read <= queries.rows * w->n);
  free(right);
  free(found);
}

static void until_the_bound_is_exact(void **state) {
  (void)state;
  enum { N = TEST_SANITIZED ? 120 : 700, QUERIES = 9, MOST = 40 };
  test_rng rng = {1403};
  double q[QUERIES * MOST];
  for (size_t trial = 0; trial < (TEST_SANITIZED ? SHAPES : 6 * SHAPES); trial++) {
    shape seen = (shape)(trial % SHAPES);
    world w = new_world(&rng, seen, seen, N, 1 + test_below(&rng, MOST), levels[trial % 6]);
    for (size_t i = 0; i < QUERIES; i++) make_query(&rng, &w, q + i * w.d);
    check_exact(&w, cpb_rows(q, CPB_F64, QUERIES, w.d), 1 + test_below(&rng, 20),
                trial % 2 == 0 ? NULL : cpb_pool_exec(pool));
    check_exact(&w, cpb_rows(q, CPB_F64, 1, w.d), N, NULL);
    free_world(&w);
  }
}

/* ---- the same everywhere ---- */

static void same_everywhere(void **state) {
  (void)state;
  enum { N = 120, D = 30, QUERIES = 7, K = 25 };
  const cpb_loops *tables[CPB_TABLES];
  size_t count = cpb_loops_all(tables);
  test_rng rng = {1404};
  static double x[N * D];
  static cpb_hit hits[QUERIES * K], first_hits[QUERIES * K];
  for (int form = CPB_FORM_PRINCIPAL; form < CPB_SKETCH_FORMS; form += TEST_SANITIZED ? 3 : 1) {
    char *first_text = NULL;
    uint8_t *first_codes = NULL;
    fill_rows(&rng, SPREAD, N, D, x);
    cpb_view rows = cpb_rows(x, CPB_F64, N, D);
    for (size_t trial = 0; trial < 2 * count; trial++) {
      const cpb_exec *exec = trial % 2 == 0 ? NULL : cpb_pool_exec(pool);
      cpb_sketch_training training;
      cpb_sketch *sketch;
      cpb_estimator *estimator;
      cpb_estimator_options options;
      char *text;
      cpb_sketch_training_init(&training, sizeof training);
      cpb_estimator_options_init(&options, sizeof options);
      training.form = (cpb_sketch_form)form;
      training.bits = 72; /* an odd number of bytes */
      setenv("CPB_ISA", tables[trial / 2]->name, 1);
      assert_int_equal(cpb_sketch_train(rows, &training, &sketch, NULL, exec, NULL), CPB_OK);
      assert_int_equal(cpb_sketch_to_json(sketch, &text, NULL), CPB_OK);
      cpb_sketch_options o = {.size = sizeof o};
      cpb_sketch_describe(sketch, &o);
      uint8_t *codes = malloc(N * o.code_bytes);
      assert_int_equal(cpb_sketch_encode(sketch, rows, codes, exec, NULL), CPB_OK);
      assert_int_equal(cpb_estimator_new(sketch, cpb_rows(codes, CPB_U8, N, o.code_bytes), &estimator, NULL),
                       CPB_OK);
      options.k = K;
      assert_int_equal(
          cpb_estimator_search(estimator, cpb_rows(x, CPB_F64, QUERIES, D), &options, hits, NULL, exec, NULL),
          CPB_OK);
      if (trial == 0) {
        first_text = text;
        first_codes = codes;
        memcpy(first_hits, hits, sizeof hits);
      } else {
        assert_string_equal(text, first_text);
        assert_memory_equal(codes, first_codes, N * o.code_bytes);
        assert_memory_equal(hits, first_hits, sizeof hits);
        free(text);
        free(codes);
      }
      cpb_estimator_free(estimator);
      cpb_sketch_free(sketch);
    }
    unsetenv("CPB_ISA");
    free(first_text);
    free(first_codes);
  }
}

/* ---- what estimates are worth ---- */

static double recall_of(const cpb_hit *found, size_t each, const cpb_hit *right, size_t queries, size_t k) {
  size_t hits = 0;
  for (size_t q = 0; q < queries; q++)
    for (size_t i = 0; i < k; i++)
      for (size_t j = 0; j < each; j++) hits += found[q * each + j].id == right[q * k + i].id;
  return (double)hits / (double)(queries * k);
}

/* More bytes find more, and the report says what. */
static void more_bytes_find_more(void **state) {
  (void)state;
  if (TEST_SANITIZED) skip(); /* figures, from code that the other tests run as well */
  enum { N = 6000, D = 64, QUERIES = 60, K = 10 };
  test_rng rng = {1405};
  static double x[(N + QUERIES) * D];
  static cpb_hit right[QUERIES * K], found[QUERIES * K];
  fill_rows(&rng, SPREAD, N + QUERIES, D, x);
  cpb_view rows = cpb_rows(x, CPB_F64, N, D), queries = cpb_rows(x + N * D, CPB_F64, QUERIES, D);
  assert_int_equal(cpb_knn(rows, queries, K, CPB_L2, right, NULL, NULL), CPB_OK);
  double before = 0;
  for (size_t bytes = 8; bytes <= 64; bytes *= 2) {
    cpb_sketch_training training;
    cpb_sketch *sketch;
    cpb_estimator *estimator;
    cpb_estimator_options options;
    cpb_sketch_options of = {.size = sizeof of};
    cpb_sketch_report report = {.size = sizeof report};
    cpb_sketch_training_init(&training, sizeof training);
    cpb_estimator_options_init(&options, sizeof options);
    training.bytes = bytes;
    training.s = 6;
    assert_int_equal(cpb_sketch_train(rows, &training, &sketch, &report, cpb_pool_exec(pool), NULL), CPB_OK);
    cpb_sketch_describe(sketch, &of);
    assert_true(of.code_bytes <= bytes);
    uint8_t *codes = malloc(N * of.code_bytes);
    assert_int_equal(cpb_sketch_encode(sketch, rows, codes, NULL, NULL), CPB_OK);
    assert_int_equal(cpb_estimator_new(sketch, cpb_rows(codes, CPB_U8, N, of.code_bytes), &estimator, NULL),
                     CPB_OK);
    assert_int_equal(cpb_estimator_search(estimator, queries, &options, found, NULL, NULL, NULL), CPB_OK);
    double recall = recall_of(found, K, right, QUERIES, K);
    print_message("%zu bytes: recall %.3f, on held-out rows %.3f and %.3f among 100\n", bytes, recall,
                  report.recall[0], report.recall[1]);
    assert_true(recall > before && fabs(recall - report.recall[0]) < 0.1 &&
                report.recall[1] >= report.recall[0]);
    before = recall;
    cpb_estimator_free(estimator);
    cpb_sketch_free(sketch);
    free(codes);
  }
  assert_true(before > 0.9);
}

/* The probable bound reads fewer rows than the certain one, and finds what it promises. */
static void probable_bounds_keep_their_promise(void **state) {
  (void)state;
  if (TEST_SANITIZED) skip(); /* figures, from code that the other tests run as well */
  enum { N = 8000, D = 32, QUERIES = 200, K = 10 };
  test_rng rng = {1406};
  static double x[(N + QUERIES) * D];
  static cpb_hit right[QUERIES * K], found[QUERIES * K];
  fill_rows(&rng, SPREAD, N + QUERIES, D, x);
  cpb_view rows = cpb_rows(x, CPB_F64, N, D), queries = cpb_rows(x + N * D, CPB_F64, QUERIES, D);
  cpb_store store = cpb_store_from_view(rows);
  cpb_sketch_training training;
  cpb_sketch *sketch;
  cpb_estimator *estimator;
  cpb_estimator_options options;
  cpb_estimator_report report[2] = {{.size = sizeof *report}, {.size = sizeof *report}};
  cpb_sketch_training_init(&training, sizeof training);
  cpb_estimator_options_init(&options, sizeof options);
  training.bits = 64;
  training.s = 4;
  assert_int_equal(cpb_sketch_train(rows, &training, &sketch, NULL, NULL, NULL), CPB_OK);
  cpb_sketch_options o = {.size = sizeof o};
  cpb_sketch_describe(sketch, &o);
  uint8_t *codes = malloc(N * o.code_bytes);
  assert_int_equal(cpb_sketch_encode(sketch, rows, codes, NULL, NULL), CPB_OK);
  assert_int_equal(cpb_estimator_new(sketch, cpb_rows(codes, CPB_U8, N, o.code_bytes), &estimator, NULL),
                   CPB_OK);
  assert_int_equal(cpb_knn(rows, queries, K, CPB_L2, right, NULL, NULL), CPB_OK);
  options.rows = &store;
  for (int i = 0; i < 2; i++) {
    options.bound = i == 0 ? CPB_BOUND_CERTAIN : CPB_BOUND_PROBABLE;
    assert_int_equal(cpb_estimator_search(estimator, queries, &options, found, &report[i], NULL, NULL),
                     CPB_OK);
    assert_int_equal(report[i].proven, i == 0);
  }
  double recall = recall_of(found, K, right, QUERIES, K);
  print_message("rows read per query: certain %.1f, probable %.1f of %d; recall %.4f\n",
                (double)report[0].rows_read / QUERIES, (double)report[1].rows_read / QUERIES, N, recall);
  assert_true(recall >= 0.999);
  assert_true(report[1].rows_read < report[0].rows_read / 2);
  cpb_estimator_free(estimator);
  cpb_sketch_free(sketch);
  free(codes);
}

/* ---- files and faults ---- */

static void files_give_the_same_codes(void **state) {
  (void)state;
  test_rng rng = {1407};
  world w = new_world(&rng, SPREAD, SPREAD, 300, 12, 0);
  char *text;
  cpb_sketch *again;
  cpb_error error;
  assert_int_equal(cpb_sketch_to_json(w.sketch, &text, NULL), CPB_OK);
  assert_non_null(strstr(text, "\"version\": 3"));
  test_status((int)cpb_sketch_from_json(text, strlen(text), "file", &again, &error), CPB_OK, error.text);
  uint8_t *codes = malloc(w.n * w.of.code_bytes);
  assert_int_equal(cpb_sketch_encode(again, w.rows, codes, NULL, NULL), CPB_OK);
  assert_memory_equal(codes, w.codes, w.n * w.of.code_bytes);
  cpb_sketch_free(again);
  char *numbers = strstr(text, "\"numbers\": ");
  numbers[11] = '1';
  assert_int_equal(cpb_sketch_from_json(text, strlen(text), "file", &again, &error), CPB_EFORMAT);
  free(codes);
  free(text);
  free_world(&w);
}

static void refused(cpb_status status, const cpb_error *error, cpb_status wanted, const char *text) {
  assert_int_equal(status, wanted);
  assert_string_equal(error->text, text);
}

static void faults_are_reported(void **state) {
  (void)state;
  enum { N = 100, D = 8 };
  test_rng rng = {1408};
  world w = new_world(&rng, SPREAD, SPREAD, N, D, 1);
  cpb_error error;
  cpb_estimator *estimator;
  cpb_estimator_options options;
  cpb_hit hits[N];
  cpb_estimator_options_init(&options, sizeof options);
  double q[D] = {0, NAN};
  cpb_view query = cpb_rows(q, CPB_F64, 1, D);
  options.k = N + 1;
  refused(cpb_estimator_search(w.estimator, query, &options, hits, NULL, NULL, &error), &error, CPB_EINVAL,
          "101 neighbours asked for, more than the number of codes, 100");
  options.k = 10;
  options.candidates = 9;
  refused(cpb_estimator_search(w.estimator, query, &options, hits, NULL, NULL, &error), &error, CPB_EINVAL,
          "candidates must be at least k, 10, got 9");
  options.candidates = 0;
  options.bound = CPB_BOUND_CERTAIN;
  refused(cpb_estimator_search(w.estimator, query, &options, hits, NULL, NULL, &error), &error, CPB_EINVAL,
          "rows must not be NULL");
  options.bound = CPB_BOUND_NONE;
  refused(cpb_estimator_search(w.estimator, query, &options, hits, NULL, NULL, &error), &error, CPB_EROW,
          "queries row 0 holds NaN");
  uint8_t *code = w.codes + 7 * w.of.code_bytes + w.of.bits / 8;
  memset(code, 0xff, w.of.code_bytes - w.of.bits / 8); /* NaN in both types */
  cpb_view codes = cpb_rows(w.codes, CPB_U8, N, w.of.code_bytes);
  refused(cpb_estimator_new(w.sketch, codes, &estimator, &error), &error, CPB_EROW,
          "codes row 7 has factors that no row has");
  free_world(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(certain_bounds_are_never_wrong), cmocka_unit_test(certain_bounds_are_narrow),
      cmocka_unit_test(until_the_bound_is_exact),       cmocka_unit_test(same_everywhere),
      cmocka_unit_test(more_bytes_find_more),           cmocka_unit_test(probable_bounds_keep_their_promise),
      cmocka_unit_test(files_give_the_same_codes),      cmocka_unit_test(faults_are_reported)};
  if (cpb_pool_new(4, &pool, NULL) != CPB_OK) return 1;
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  cpb_pool_free(pool);
  return failed;
}

/* One query at a time of an index of long rows, whose panels may be read in part: the answers are those of cpb_knn in bits and
 * order, whatever the rows are. */
#include "support/check.h"

#include "capball/index.h"
#include "capball/capball.h"
#include "base/rows.h"

enum { ROWS = TEST_SANITIZED ? 2600 : 6700, D = 421, QUERIES = 6, K = 10, ALL = ROWS + QUERIES };

typedef struct base {
  const char *name;
  cpb_dtype dtype;
  double (*number)(test_rng *rng, size_t row, size_t column);
} base;

/* A few columns decide. */
static double uneven(test_rng *rng, size_t row, size_t column) {
  (void)row;
  return test_gauss(rng) * (column % 37 == 5 ? 40 : 1);
}

/* All columns count alike, and no panel can be left. */
static double even(test_rng *rng, size_t row, size_t column) {
  (void)row, (void)column;
  return test_gauss(rng);
}

/* The nearest rows come last; some rows have no code. */
static double drifting(test_rng *rng, size_t row, size_t column) {
  return test_gauss(rng) * (1 + 6. * (double)(ALL - row) / ALL) * (row % 997 == 3 && column == 7 ? 1e30 : 1);
}

/* Four rows in turn, so that ids decide. */
static double repeated(test_rng *rng, size_t row, size_t column) {
  (void)rng;
  return (double)((row % 4 + 1) * (column % 11));
}

/* Dark pictures with a bright part somewhere. */
static double picture(test_rng *rng, size_t row, size_t column) {
  return (column + 53 * row) % D < 60 ? (double)test_below(rng, 256) : 0;
}

static double signed_picture(test_rng *rng, size_t row, size_t column) {
  return picture(rng, row, column) - 128;
}

static const base bases[] = {{"uneven", CPB_F32, uneven},     {"even", CPB_F32, even},
                             {"drifting", CPB_F32, drifting}, {"repeated", CPB_F64, repeated},
                             {"pictures", CPB_U8, picture},   {"signed pictures", CPB_I8, signed_picture}};

static char given[sizeof(double) * ALL * D];

static cpb_view fill(const base *of) {
  test_rng rng = {17};
  for (size_t i = 0; i < ALL * D; i++) {
    double x = of->number(&rng, i / D, i % D);
    switch (of->dtype) {
    case CPB_F32: ((float *)(void *)given)[i] = (float)x; break;
    case CPB_F64: ((double *)(void *)given)[i] = x; break;
    case CPB_U8: ((uint8_t *)given)[i] = (uint8_t)x; break;
    default: ((int8_t *)given)[i] = (int8_t)x;
    }
  }
  return cpb_rows(given, of->dtype, ALL, D);
}

static bool is_odd(void *context, size_t query, uint64_t id) {
  (void)context, (void)query;
  return id % 2 == 1;
}

typedef struct within {
  const cpb_hit *wanted;
  size_t count;
} within;

static cpb_status expect_within(void *context, size_t query, const cpb_hit *hits, size_t count,
                                cpb_error *error) {
  (void)query, (void)error;
  const within *w = context;
  assert_int_equal(count, w->count);
  assert_memory_equal(hits, w->wanted, count * sizeof *hits);
  return CPB_OK;
}

/* `wanted` has twice as many as asked for: those of even ids are for the filter to leave out. */
static void ask(const cpb_index *index, cpb_view query, const cpb_hit *wanted, const cpb_exec *exec) {
  cpb_hit found[2 * K], odd[2 * K];
  size_t count = 0;
  const cpb_index_filter filter = {.size = sizeof filter, .allow = is_odd};
  for (size_t i = 0; i < 2 * K; i++)
    if (wanted[i].id % 2 == 1) odd[count++] = wanted[i];
  assert_int_equal(cpb_index_search(index, query, 2 * K, NULL, found, NULL, exec, NULL), CPB_OK);
  assert_memory_equal(found, wanted, sizeof found);
  if (count > 0) {
    assert_int_equal(cpb_index_search(index, query, count, &filter, found, NULL, exec, NULL), CPB_OK);
    assert_memory_equal(found, odd, count * sizeof *found);
  }
  size_t within_limit = K; /* and all that are as far */
  while (within_limit < 2 * K && wanted[within_limit].value == wanted[K - 1].value) within_limit++;
  if (within_limit == 2 * K) return;
  within w = {wanted, within_limit};
  double limit = wanted[K - 1].value;
  assert_int_equal(cpb_index_range(index, query, &limit, NULL, expect_within, &w, exec, NULL), CPB_OK);
}

static void try_base(const base *of, cpb_metric metric, const cpb_exec *exec) {
  static cpb_hit wanted[QUERIES * 2 * K];
  cpb_view all = fill(of), rows = cpb_view_slice(all, 0, ROWS), queries = cpb_view_slice(all, ROWS, QUERIES);
  cpb_index_options options;
  cpb_index *index;
  cpb_index_options_init(&options, sizeof options);
  options.cols = D;
  options.dtype = of->dtype;
  options.metric = metric;
  assert_int_equal(cpb_index_new(&options, &index, NULL), CPB_OK);
  assert_int_equal(cpb_index_add(index, rows, NULL, NULL, NULL), CPB_OK);
  assert_int_equal(cpb_knn(rows, queries, 2 * K, metric, wanted, NULL, NULL), CPB_OK);
  for (size_t i = 0; i < QUERIES; i++)
    ask(index, cpb_view_slice(queries, i, 1), wanted + i * 2 * K, i % 2 == 0 ? NULL : exec);
  cpb_index_free(index);
}

static void answers_are_those_of_knn(void **state) {
  (void)state;
  cpb_pool *pool;
  assert_int_equal(cpb_pool_new(3, &pool, NULL), CPB_OK);
  const char *step =
      getenv("LONG_ROWS_STEP"); /* for sanitizers, which look at threads and memory, not at types */
  for (size_t i = 0; i < sizeof bases / sizeof *bases; i += step != NULL ? strtoul(step, NULL, 10) : 1)
    for (int metric = CPB_L2; metric < CPB_METRICS; metric++)
      try_base(&bases[i], (cpb_metric)metric, cpb_pool_exec(pool));
  cpb_pool_free(pool);
}

/* Rows and their opposites, whose centre is 0, and queries close to it: products of codes are far from deciding, and
 * thresholds end at CPB_RISE_MOST. */
static void queries_near_the_centre(void **state) {
  (void)state;
  enum { PAIRS = 160, LONG = 6000, FEW = 4 };
  static float x[2 * PAIRS * LONG], q[FEW * LONG];
  cpb_hit wanted[FEW * K], found[K];
  test_rng rng = {23};
  for (size_t i = 0; i < PAIRS; i++) {
    double length = 1.3 + 0.03 * test_gauss(&rng);
    for (size_t j = 0; j < LONG; j++) {
      x[i * LONG + j] = (float)(test_below(&rng, 2) == 0 ? length : -length);
      x[(PAIRS + i) * LONG + j] = -x[i * LONG + j];
    }
  }
  for (size_t i = 0; i < FEW * LONG; i++) q[i] = (float)(1e-4 * test_gauss(&rng));
  cpb_view rows = cpb_rows(x, CPB_F32, 2 * PAIRS, LONG), queries = cpb_rows(q, CPB_F32, FEW, LONG);
  cpb_index_options options;
  cpb_index *index;
  cpb_index_options_init(&options, sizeof options);
  options.cols = LONG;
  options.dtype = CPB_F32;
  assert_int_equal(cpb_index_new(&options, &index, NULL), CPB_OK);
  assert_int_equal(cpb_index_add(index, rows, NULL, NULL, NULL), CPB_OK);
  assert_int_equal(cpb_knn(rows, queries, K, CPB_L2, wanted, NULL, NULL), CPB_OK);
  for (size_t i = 0; i < FEW; i++) {
    assert_int_equal(cpb_index_search(index, cpb_view_slice(queries, i, 1), K, NULL, found, NULL, NULL, NULL),
                     CPB_OK);
    assert_memory_equal(found, wanted + i * K, sizeof found);
  }
  cpb_index_free(index);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(answers_are_those_of_knn),
                                     cmocka_unit_test(queries_near_the_centre)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Many queries of an index with many rows, for which bounds come from a sample of the rows: the answers are those of cpb_knn in
 * bits and order, whatever the sample contains. */
#include "support/check.h"

#include "capball/index.h"
#include "capball/capball.h"
#include "base/rows.h"
#include "support/scratch.h"

enum { ROWS = 26000, D = TEST_SANITIZED ? 32 : 40, QUERIES = TEST_SANITIZED ? 16 : 50, MOST_K = 24 };

typedef struct base {
  const char *name;
  cpb_dtype dtype;
  float (*number)(test_rng *rng, size_t row, size_t column);
} base;

static float usual(test_rng *rng, size_t row, size_t column) {
  (void)row, (void)column;
  return (float)test_gauss(rng);
}

/* The nearest rows come last, so that a sample of the first blocks is the worst. */
static float drifting(test_rng *rng, size_t row, size_t column) {
  (void)column;
  return (float)(test_gauss(rng) * (1 + 4. * (double)(ROWS - row) / ROWS));
}

/* Fifty different rows: ties are decided by ids, and every fifth of them is removed. */
static float repeated(test_rng *rng, size_t row, size_t column) {
  (void)rng;
  return (float)((row + column * column) % 50);
}

/* Some rows are outside the range of single precision once they are squared, and pass every filter. */
static float enormous(test_rng *rng, size_t row, size_t column) {
  return (float)test_gauss(rng) * (row % 97 == 0 && column == 3 ? 1e30f : 1);
}

static float bytes(test_rng *rng, size_t row, size_t column) {
  (void)row, (void)column;
  return (float)test_below(rng, 256);
}

static const base bases[] = {{"usual", CPB_F32, usual},
                             {"drifting", CPB_F32, drifting},
                             {"repeated", CPB_F32, repeated},
                             {"enormous", CPB_F32, enormous},
                             {"bytes", CPB_U8, bytes}};

static float floats[(ROWS + QUERIES) * D];
static uint8_t small[(ROWS + QUERIES) * D];

static cpb_view fill(const base *of) {
  test_rng rng = {11};
  for (size_t i = 0; i < (size_t)(ROWS + QUERIES) * D; i++) {
    floats[i] = of->number(&rng, i / D, i % D);
    if (of->dtype == CPB_U8) small[i] = (uint8_t)floats[i];
  }
  return cpb_rows(of->dtype == CPB_U8 ? (void *)small : (void *)floats, of->dtype, ROWS + QUERIES, D);
}

static cpb_index *index_of(cpb_view rows, cpb_metric metric) {
  cpb_index_options options;
  cpb_index *index;
  cpb_index_options_init(&options, sizeof options);
  options.cols = D;
  options.dtype = rows.dtype;
  options.metric = metric;
  assert_int_equal(cpb_index_new(&options, &index, NULL), CPB_OK);
  assert_int_equal(cpb_index_add(index, rows, NULL, NULL, NULL), CPB_OK);
  return index;
}

static cpb_hit wanted[QUERIES * MOST_K];

/* With the ids of `kept`, in the order of the rows. */
static void find_wanted(cpb_view rows, cpb_view queries, cpb_metric metric, const uint64_t *kept) {
  assert_int_equal(cpb_knn(rows, queries, MOST_K, metric, wanted, NULL, NULL), CPB_OK);
  for (size_t i = 0; i < QUERIES * MOST_K; i++) wanted[i].id = kept[wanted[i].id];
}

static void expect_wanted(const cpb_index *index, cpb_view queries, size_t k, const cpb_exec *exec) {
  static cpb_hit found[QUERIES * MOST_K];
  assert_int_equal(cpb_index_search(index, queries, k, NULL, found, NULL, exec, NULL), CPB_OK);
  for (size_t i = 0; i < QUERIES; i++)
    assert_memory_equal(found + i * k, wanted + i * MOST_K, k * sizeof *found);
}

/* Removes every fifth row and the first answers, and closes the gaps in the rows. */
static size_t remove_some(cpb_index *index, cpb_view rows, uint64_t *kept) {
  static bool gone[ROWS];
  size_t bytes_of_row = D * cpb_dtype_size(rows.dtype), count = 0;
  char *data = (char *)(uintptr_t)rows.data;
  for (size_t i = 0; i < ROWS; i++) gone[i] = i % 5 == 2;
  for (size_t i = 0; i < QUERIES; i++) gone[wanted[i * MOST_K].id] = true;
  for (uint64_t i = 0; i < ROWS; i++) {
    if (gone[i]) {
      assert_int_equal(cpb_index_remove(index, &i, 1, NULL, NULL), CPB_OK);
      continue;
    }
    memmove(data + count * bytes_of_row, data + i * bytes_of_row, bytes_of_row);
    kept[count++] = i;
  }
  return count;
}

static void try_base(const base *of, cpb_metric metric, const cpb_exec *exec) {
  static uint64_t kept[ROWS];
  cpb_view all = fill(of), rows = cpb_view_slice(all, 0, ROWS), queries = cpb_view_slice(all, ROWS, QUERIES);
  cpb_index *index = index_of(rows, metric);
  for (size_t i = 0; i < ROWS; i++) kept[i] = i;
  find_wanted(rows, queries, metric, kept);
  expect_wanted(index, queries, 1, NULL);
  expect_wanted(index, queries, MOST_K, exec);
  rows.rows = remove_some(index, rows, kept);
  find_wanted(rows, queries, metric, kept);
  expect_wanted(index, queries, 10, NULL);
  cpb_index_free(index);
}

static void answers_are_those_of_knn(void **state) {
  (void)state;
  cpb_pool *pool;
  assert_int_equal(cpb_pool_new(3, &pool, NULL), CPB_OK);
  for (size_t i = 0; i < sizeof bases / sizeof *bases; i += TEST_SANITIZED ? 4 : 1)
    for (int metric = CPB_L2; metric < (TEST_SANITIZED ? CPB_IP : CPB_METRICS); metric++)
      try_base(&bases[i], (cpb_metric)metric, cpb_pool_exec(pool));
  cpb_pool_free(pool);
}

/* ---- rows of bytes, of which full blocks keep only the codes ---- */

static void expect_rows(const cpb_index *index, const uint64_t *ids, size_t count) {
  static uint8_t rows[ROWS * D];
  assert_int_equal(cpb_index_rows(index, ids, count, rows, NULL), CPB_OK);
  for (size_t i = 0; i < count; i++) assert_memory_equal(rows + i * D, small + ids[i] * D, D);
}

/* Added from memory that does not stay, saved and opened, and rebuilt after a few were removed. */
static void try_bytes(cpb_dtype dtype, cpb_metric metric) {
  static uint8_t given[ROWS * D];
  static uint64_t ids[ROWS];
  const char *path = scratch_path("bytes");
  cpb_index *opened;
  fill(&bases[4]);
  memcpy(given, small, sizeof given);
  cpb_index *index = index_of(cpb_rows(given, dtype, ROWS, D), metric);
  memset(given, 1, sizeof given);
  for (size_t i = 0; i < ROWS; i++) ids[i] = i;
  cpb_view fractions = cpb_rows(floats, CPB_F32, QUERIES, D);
  for (size_t i = 0; i < QUERIES * D; i++) floats[i] = floats[i] / 2 + 0.25f;
  expect_rows(index, ids, ROWS);
  find_wanted(cpb_rows(small, dtype, ROWS, D), fractions, metric, ids);
  expect_wanted(index, fractions, MOST_K, NULL);
  assert_int_equal(cpb_index_save(index, path, NULL), CPB_OK);
  assert_int_equal(cpb_index_open(path, false, &opened, NULL), CPB_OK);
  assert_int_equal(cpb_index_check(opened, NULL, NULL), CPB_OK);
  expect_rows(opened, ids, ROWS);
  cpb_index_free(opened);
  assert_int_equal(cpb_index_remove(index, ids, 100, NULL, NULL), CPB_OK);
  assert_int_equal(cpb_index_compact(index, NULL, NULL), CPB_OK);
  expect_rows(index, ids + 100, ROWS - 100);
  cpb_index_free(index);
}

static void bytes_are_kept_in_their_codes(void **state) {
  (void)state;
  for (int metric = CPB_L2; metric < (TEST_SANITIZED ? CPB_IP : CPB_METRICS); metric++) {
    try_bytes(CPB_U8, (cpb_metric)metric);
    if (!TEST_SANITIZED) try_bytes(CPB_I8, (cpb_metric)metric);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(answers_are_those_of_knn),
                                     cmocka_unit_test(bytes_are_kept_in_their_codes)};
  return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}

/* The results of an index are those of cpb_knn, of a search with limits and of a plain loop over the present rows: for
 * rows and queries of every type, queries on the grid of bytes, beside it, tiny and huge, k nearest and within limits,
 * before and after rows are added, removed, saved and opened. A comparison is the answer to one query, compared with
 * both. CPB_ADVERSARY=N runs N times as many cases; the 128 of `make adversary` are more than a million comparisons. */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"
#include "support/levels.h"
#include "support/plain_values.h"
#include "support/scratch.h"

#include <float.h>
#include <stdbool.h>
#include <unistd.h>

#include "capball/advanced/feed.h"
#include "capball/index.h"
#include "base/best.h"
#include "base/rows.h"
#include "loops/table.h"

enum { CASES = 60, ROWS = 1200, QUERIES = 70, COLS = 100 };

static size_t cases(void) {
  const char *times = getenv("CPB_ADVERSARY");
  return CASES / (TEST_SANITIZED ? 10 : 1) * (times == NULL ? 1 : (size_t)strtoul(times, NULL, 10));
}

typedef struct problem {
  cpb_metric metric;
  cpb_view base, queries;
  const char *loops;                        /* instruction set */
  double x[ROWS * COLS], q[QUERIES * COLS]; /* as doubles */
  bool present[ROWS];                       /* in the index, under their numbers as ids */
} problem;

static problem p;
static double memory_base[ROWS * COLS], memory_queries[QUERIES * COLS];
static size_t compared, differing;
static cpb_error failure;
static void must(cpb_status status) { test_status((int)status, CPB_OK, failure.text); }

/* ---- the plain loop ---- */

static cpb_ranked all[QUERIES][ROWS], ranked[QUERIES][ROWS]; /* all rows; those present: nearest first */
static size_t live;

static double value_of(double key) { return plain_key(p.metric, key); }

static int by_key_and_id(const void *left, const void *right) {
  const cpb_ranked *a = left, *b = right;
  if (a->key != b->key) return a->key < b->key ? -1 : 1;
  return (a->id > b->id) - (a->id < b->id);
}

static void rank_all(void) {
  size_t d = p.base.cols;
  for (size_t i = 0; i < p.queries.rows; i++) {
    double q[COLS];
    memcpy(q, p.q + i * d, d * sizeof *q);
    if (p.metric == CPB_COSINE) plain_direction(p.q + i * d, d, q);
    for (size_t row = 0; row < p.base.rows; row++)
      all[i][row] = (cpb_ranked){plain_key(p.metric, plain_value(p.metric, p.x + row * d, q, d)), row};
    qsort(all[i], p.base.rows, sizeof all[i][0], by_key_and_id);
  }
}

static void rank_present(void) {
  for (size_t i = 0; i < p.queries.rows; i++) {
    live = 0;
    for (size_t j = 0; j < p.base.rows; j++)
      if (p.present[all[i][j].id]) ranked[i][live++] = all[i][j];
  }
}

/* ---- what is compared ---- */

/* Of differences only the first few are printed. */
static void differs(const char *by, size_t query, const char *what, uint64_t found, uint64_t wanted) {
  enum { FEW = 5 };
  if (differing++ >= FEW) return;
  print_error("%s (%s), %s, %s rows, query %zu of %s: %s %llu, not %llu\n", by, p.loops,
              cpb_metric_name(p.metric), cpb_dtype_name(p.base.dtype), query, cpb_dtype_name(p.queries.dtype),
              what, (unsigned long long)found, (unsigned long long)wanted);
}

static void same_hits(const char *by, size_t query, const cpb_hit *hits, size_t count, size_t wanted) {
  if (count != wanted) {
    differs(by, query, "number of rows", count, wanted);
    return;
  }
  for (size_t i = 0; i < count; i++) {
    const cpb_ranked *right = &ranked[query][i];
    if (hits[i].id == right->id && hits[i].value == value_of(right->key)) continue;
    differs(by, query, hits[i].id == right->id ? "other value of row" : "row", hits[i].id, right->id);
    return;
  }
}

typedef struct answer {
  size_t first, within[QUERIES];
} answer;

static cpb_status take(void *context, size_t query, const cpb_hit *hits, size_t count, cpb_error *error) {
  const answer *wanted = context;
  (void)error;
  same_hits("range of the index", wanted->first + query, hits, count, wanted->within[wanted->first + query]);
  compared++;
  return CPB_OK;
}

/* The k-th value, one beside some row's, and none at all. */
static void choose_limits(double *limits, size_t *within, size_t k, test_rng *rng) {
  for (size_t i = 0; i < p.queries.rows; i++) {
    double key = ranked[i][test_below(rng, 2) == 0 ? k - 1 : test_below(rng, live)].key;
    if (test_below(rng, 3) == 0) key = nextafter(key, test_below(rng, 2) == 0 ? -INFINITY : INFINITY);
    if (test_below(rng, 12) == 0) key = p.metric == CPB_L2 ? 0 : -DBL_MAX;
    if (p.metric == CPB_L2) key = fmax(key, 0);
    limits[i] = value_of(key);
    within[i] = 0;
    while (within[i] < live && ranked[i][within[i]].key <= key) within[i]++;
  }
}

static void ask_index(const cpb_index *index, size_t first, size_t count, size_t k, const double *limits,
                      answer *wanted, const cpb_exec *exec) {
  static cpb_hit hits[QUERIES * ROWS];
  size_t counts[QUERIES];
  cpb_view queries = cpb_view_slice(p.queries, first, count);
  must(cpb_index_search(index, queries, k, NULL, hits, counts, exec, &failure));
  for (size_t i = 0; i < count; i++) same_hits("index", first + i, hits + i * k, counts[i], k);
  compared += count;
  wanted->first = first;
  must(cpb_index_range(index, queries, limits + first, NULL, take, wanted, exec, &failure));
}

/* The present rows as a base, fed with their numbers. */
static void ask_search(cpb_search_options *options, size_t k, const answer *wanted) {
  static double rows[ROWS * COLS];
  static uint64_t ids[ROWS];
  size_t bytes = p.base.cols * cpb_dtype_size(p.base.dtype), count = 0;
  for (size_t row = 0; row < p.base.rows; row++) {
    if (!p.present[row]) continue;
    memcpy((char *)rows + count * bytes, (const char *)p.base.data + row * bytes, bytes);
    ids[count++] = row;
  }
  cpb_search *search;
  must(cpb_search_new(p.queries, options, &search, &failure));
  must(cpb_search_feed_ids(search, cpb_rows(rows, p.base.dtype, count, p.base.cols), ids, NULL, &failure));
  for (size_t i = 0; i < p.queries.rows; i++) {
    const cpb_hit *hits;
    size_t found;
    must(cpb_search_hits(search, i, &hits, &found, &failure));
    same_hits("search", i, hits, found, options->limits == NULL ? k : wanted->within[i]);
  }
  cpb_search_free(search);
}

/* Alone and together: queries that share a panel share its step. */
static void compare(const cpb_index *index, test_rng *rng, const cpb_exec *exec) {
  double limits[QUERIES];
  answer wanted;
  cpb_search_options options;
  rank_present();
  size_t n = p.queries.rows, k = 1 + test_below(rng, live < 12 ? live : 12), alone = test_below(rng, n);
  if (test_below(rng, 10) == 0) k = live;
  choose_limits(limits, wanted.within, k, rng);
  ask_index(index, 0, n, k, limits, &wanted, exec);
  ask_index(index, alone, 1, k, limits, &wanted, NULL);
  cpb_search_options_init(&options, sizeof options);
  options.metric = p.metric;
  options.k = k;
  ask_search(&options, k, &wanted);
  options.k = 0;
  options.limits = limits;
  ask_search(&options, k, &wanted);
}

/* ---- numbers ---- */

static bool is_bytes(cpb_dtype dtype) { return dtype == CPB_U8 || dtype == CPB_I8; }

/* The number of a type beside x, which is one; that of bytes is x. */
static double neighbour(cpb_dtype dtype, double x, bool up) {
  double to = up ? INFINITY : -INFINITY;
  if (dtype == CPB_F64) return nextafter(x, to);
  if (dtype == CPB_F32) return (double)nextafterf((float)x, (float)to);
  if (dtype == CPB_F16) return x + ldexp(up ? 1 : -1, x == 0 ? -24 : ilogb(x) - 10);
  return x;
}

static void put(cpb_view view, size_t i, double x) {
  void *data = (void *)(uintptr_t)view.data;
  switch (view.dtype) {
  case CPB_F32: ((float *)data)[i] = (float)fmax(-FLT_MAX, fmin(FLT_MAX, x)); break;
  case CPB_F64: ((double *)data)[i] = fmax(-DBL_MAX, fmin(DBL_MAX, x)); break;
  case CPB_F16: ((uint16_t *)data)[i] = test_half(x); break;
  case CPB_U8: ((uint8_t *)data)[i] = (uint8_t)fmax(0, fmin(255, x)); break;
  default: ((int8_t *)data)[i] = (int8_t)fmax(-128, fmin(127, x));
  }
}

/* GRID: whole numbers of the range of bytes; BESIDE: the next ones of the type; TENTHS: multiplied by .1 and 10. */
typedef enum kind { GAUSS, GRID, BESIDE, TENTHS, HALF, FEW, OUTSIDE, TINY, HUGE_ONES, ANY_SIZE, KINDS } kind;

static double byte_for(cpb_dtype like, test_rng *rng) {
  static const double ends[] = {0, 1, 2, 127, 128, 129, 254, 255};
  double x = test_below(rng, 3) == 0 ? ends[test_below(rng, 8)] : (double)test_below(rng, 256);
  return like == CPB_I8 ? x - 128 : x;
}

static double size_of_tiny(test_rng *rng) {
  static const double sizes[] = {1e-3, 1e-8, 1e-15, 1e-17, 1e-40, 1e-160, 1e-300, 1e-310, 0x1p-1074};
  return sizes[test_below(rng, sizeof sizes / sizeof *sizes)];
}

static double size_of_huge(test_rng *rng) {
  static const double sizes[] = {300, 1e4, 1e9, 1e18, 1e30, 1e38, 1e150, 1e160, 1e300, 1.7e308};
  return sizes[test_below(rng, sizeof sizes / sizeof *sizes)];
}

/* `size`: of all numbers of a row. */
static double number_of(kind of, double size, cpb_dtype dtype, cpb_dtype grid, test_rng *rng) {
  double byte = byte_for(grid, rng);
  switch (of) {
  case GAUSS: return (is_bytes(dtype) ? 40 : size) * test_gauss(rng) + (dtype == CPB_U8 ? 128 : 0);
  case GRID: return byte;
  case BESIDE: return neighbour(dtype, byte, test_below(rng, 2) == 0);
  case TENTHS: return byte * .1 * 10;
  case HALF: return byte + .5;
  case FEW: return (double)test_below(rng, 3);
  case OUTSIDE: return byte + (double)((int)test_below(rng, 3) - 1) * 256;
  case TINY: return size_of_tiny(rng) * test_gauss(rng);
  case HUGE_ONES: return size_of_huge(rng) * test_gauss(rng);
  default: return size * test_gauss(rng);
  }
}

static bool is_zero(cpb_view view, size_t row) {
  for (size_t k = 0; k < view.cols; k++)
    if (cpb_view_at(view, row, k) != 0) return false;
  return true;
}

static double some_size(test_rng *rng) {
  switch (test_below(rng, 4)) {
  case 0: return size_of_tiny(rng);
  case 1: return size_of_huge(rng);
  default: return 1;
  }
}

/* All numbers of one kind and size, or about one in twelve, among those of a row of the base. */
static void fill_row(cpb_view view, size_t row, kind of, cpb_dtype grid, const double *near, test_rng *rng) {
  double size = of == ANY_SIZE ? some_size(rng) : 1;
  bool same = test_below(rng, 6) == 0, zeros = test_below(rng, 4) == 0;
  double number = number_of(of, size, view.dtype, grid, rng);
  for (size_t k = 0; k < view.cols; k++) {
    if (!same) number = number_of(of, size, view.dtype, grid, rng);
    bool other = near != NULL && test_below(rng, 12) != 0;
    put(view, row * view.cols + k, other ? near[k] : zeros && test_below(rng, 3) == 0 ? 0 : number);
  }
  if (p.metric == CPB_COSINE && is_zero(view, row)) put(view, row * view.cols, 1);
}

static void to_doubles(cpb_view view, double *x) {
  for (size_t row = 0; row < view.rows; row++)
    for (size_t k = 0; k < view.cols; k++) x[row * view.cols + k] = cpb_view_at(view, row, k);
}

static void fill_base(kind of, test_rng *rng) {
  size_t bytes = p.base.cols * cpb_dtype_size(p.base.dtype);
  char *data = (char *)memory_base;
  for (size_t row = 0; row < p.base.rows; row++) {
    fill_row(p.base, row, of, p.base.dtype, NULL, rng);
    if (row > 0 && test_below(rng, 8) == 0)
      memcpy(data + row * bytes, data + test_below(rng, row) * bytes, bytes);
  }
  to_doubles(p.base, p.x);
}

/* Most queries are of one kind, so that panels of whole numbers are among them. */
static void fill_queries(test_rng *rng) {
  kind usual = (kind)test_below(rng, KINDS);
  bool pure = test_below(rng, 2) == 0;
  for (size_t row = 0; row < p.queries.rows; row++) {
    kind of = pure || test_below(rng, 4) != 0 ? usual : (kind)test_below(rng, KINDS);
    const double *near = test_below(rng, 4) == 0 ? p.x + test_below(rng, p.base.rows) * p.base.cols : NULL;
    fill_row(p.queries, row, of, p.base.dtype, near, rng);
  }
  to_doubles(p.queries, p.q);
}

/* ---- cases ---- */

static size_t any_cols(test_rng *rng) {
  switch (test_below(rng, 6)) {
  case 0: return 1 + test_below(rng, 31);
  case 1: return 32;
  default: return 32 + test_below(rng, COLS - 31);
  }
}

static void draw(test_rng *rng) {
  const cpb_loops *tables[CPB_TABLES];
  size_t d = any_cols(rng), n = 2 + test_below(rng, test_below(rng, 12) == 0 ? ROWS - 1 : 100);
  size_t queries = 1 + test_below(rng, n > 200 ? 8 : test_below(rng, 3) == 0 ? 5 : QUERIES);
  cpb_dtype of_base = (cpb_dtype)test_below(rng, 5), of_queries = (cpb_dtype)test_below(rng, 5);
  if (test_below(rng, 3) == 0) of_base = test_below(rng, 2) == 0 ? CPB_U8 : CPB_I8;
  if (test_below(rng, 3) == 0) of_queries = CPB_F64;
  p.metric = (cpb_metric)test_below(rng, CPB_METRICS);
  p.loops = tables[test_below(rng, cpb_loops_all(tables))]->name;
  p.base = cpb_rows(memory_base, of_base, n, d);
  p.queries = cpb_rows(memory_queries, of_queries, queries, d);
  fill_base((kind)test_below(rng, KINDS), rng);
  fill_queries(rng);
  rank_all();
}

static cpb_index *new_index(test_rng *rng) {
  cpb_index_options options;
  cpb_index *index;
  cpb_index_options_init(&options, sizeof options);
  options.cols = p.base.cols;
  options.dtype = p.base.dtype;
  options.metric = p.metric;
  test_levels(rng, p.base.cols, options.levels);
  must(cpb_index_new(&options, &index, &failure));
  return index;
}

static void add(cpb_index *index, size_t first, size_t end) {
  must(cpb_index_add(index, cpb_view_slice(p.base, first, end - first), NULL, NULL, &failure));
  for (size_t row = first; row < end; row++) p.present[row] = true;
}

/* At least one row remains. */
static void remove_some(cpb_index *index, test_rng *rng) {
  uint64_t ids[ROWS];
  size_t count = 0, one_in = 2 + test_below(rng, 5);
  for (size_t row = 1; row < p.base.rows; row++) {
    if (!p.present[row] || test_below(rng, one_in) != 0) continue;
    p.present[row] = false;
    ids[count++] = row;
  }
  must(cpb_index_remove(index, ids, count, NULL, &failure));
}

static cpb_index *save_and_open(cpb_index *index) {
  const char *path = scratch_path("index");
  must(cpb_index_save(index, path, &failure));
  cpb_index_free(index);
  must(cpb_index_open(path, true, &index, &failure));
  return index;
}

static void live_through(test_rng *rng, const cpb_exec *exec) {
  size_t cut = 1 + test_below(rng, p.base.rows - 1);
  cpb_index *index = new_index(rng);
  memset(p.present, 0, sizeof p.present);
  add(index, 0, cut);
  compare(index, rng, exec);
  if (test_below(rng, 2) == 0) index = save_and_open(index);
  add(index, cut, p.base.rows);
  compare(index, rng, exec);
  remove_some(index, rng);
  compare(index, rng, exec);
  if (access(scratch_path("index"), F_OK) != 0) index = save_and_open(index);
  if (test_below(rng, 2) == 0) must(cpb_index_compact(index, exec, &failure));
  compare(index, rng, exec);
  cpb_index_free(index);
  unlink(scratch_path("index"));
}

static void random_cases(void **state) {
  (void)state;
  test_rng rng = {5001};
  cpb_pool *pool;
  must(cpb_pool_new(3, &pool, &failure));
  for (size_t i = 0, n = cases(); i < n; i++) {
    draw(&rng);
    setenv("CPB_ISA", p.loops, 1);
    live_through(&rng, i % 3 == 0 ? cpb_pool_exec(pool) : NULL);
  }
  unsetenv("CPB_ISA");
  cpb_pool_free(pool);
  print_message("%zu answers of indexes compared, %zu differ\n", compared, differing);
  assert_int_equal(differing, 0);
}

static void set(cpb_metric metric, cpb_dtype of_base, size_t rows, size_t queries, size_t d) {
  p.metric = metric;
  p.loops = cpb_isa_name();
  p.base = cpb_rows(memory_base, of_base, rows, d);
  p.queries = cpb_rows(memory_queries, CPB_F64, queries, d);
  memset(memory_base, 0, sizeof memory_base);
}

/* A number so small that it is lost beside 128 is not 0: the second row has the larger product. */
static void tiny_query(void **state) {
  (void)state;
  enum { D = 32 };
  cpb_hit hits[2];
  set(CPB_IP, CPB_U8, 2, 1, D);
  put(p.base, D, 2);
  for (size_t k = 0; k < D; k++) put(p.queries, k, 1e-15);
  test_rng rng = {5001};
  cpb_index *index = new_index(&rng);
  add(index, 0, 2);
  must(cpb_index_search(index, p.queries, 2, NULL, hits, NULL, NULL, &failure));
  cpb_index_free(index);
  assert_true(hits[0].id == 1 && hits[0].value == 2e-15);
  assert_true(hits[1].id == 0 && hits[1].value == 0);
}

/* Rows times .1 times 10: some numbers are beside the grid. Nothing is found at distance 0 that is not there. */
static void tenths(void **state) {
  (void)state;
  test_rng rng = {5002};
  set(CPB_L2, CPB_U8, 400, QUERIES, 40);
  for (size_t i = 0; i < p.base.rows * p.base.cols; i++) put(p.base, i, (double)test_below(&rng, 64));
  to_doubles(p.base, p.x);
  for (size_t i = 0; i < p.queries.rows * p.queries.cols; i++) put(p.queries, i, p.x[i] * .1 * 10);
  to_doubles(p.queries, p.q);
  rank_all();
  live_through(&rng, NULL);
  assert_int_equal(differing, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(tiny_query), cmocka_unit_test(tenths),
                                     cmocka_unit_test(random_cases)};
  return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}

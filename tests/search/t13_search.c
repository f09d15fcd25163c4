/* T13: exact search against a plain loop over all rows in long double. */
#define _POSIX_C_SOURCE 200809L
#include "search/t13_search.h"
#include "support/check.h"

#include <stdlib.h>

#include "capball/capball.h"
#include "base/rows.h"
#include "loops/table.h"

enum { ROWS_MOST = 700, QUERIES_MOST = 140, COLS_MOST = 300 };

typedef struct problem {
  cpb_metric metric;
  cpb_view base, queries;
  bool whole; /* small whole numbers: values are exact, and equal ones are equal */
} problem;

/* Both sides as doubles, by unfold(). */
static double base_numbers[ROWS_MOST * COLS_MOST], query_numbers[QUERIES_MOST * COLS_MOST];

static void unfold(const problem *p) {
  for (size_t i = 0; i < p->base.rows; i++)
    for (size_t k = 0; k < p->base.cols; k++) base_numbers[i * p->base.cols + k] = cpb_view_at(p->base, i, k);
  for (size_t i = 0; i < p->queries.rows; i++)
    for (size_t k = 0; k < p->queries.cols; k++)
      query_numbers[i * p->queries.cols + k] = cpb_view_at(p->queries, i, k);
}

static long double plain_value(const problem *p, size_t row, size_t query) {
  long double sum = 0, xx = 0, qq = 0;
  for (size_t k = 0; k < p->base.cols; k++) {
    long double x = base_numbers[row * p->base.cols + k], q = query_numbers[query * p->base.cols + k];
    sum += p->metric == CPB_L2 ? (x - q) * (x - q) : x * q;
    xx += x * x;
    qq += q * q;
  }
  if (p->metric == CPB_L2) return sqrtl(sum);
  return p->metric == CPB_IP ? sum : sum / sqrtl(xx) / sqrtl(qq);
}

/* Bound of the error of double arithmetic: in units of u64 of the size of what is summed. */
static long double value_error(const problem *p, size_t row, size_t query) {
  long double xx = 0, qq = 0, unit = 0x1p-53L * (16 + (long double)p->base.cols / 16);
  if (p->metric == CPB_L2) return unit * plain_value(p, row, query);
  if (p->metric == CPB_COSINE) return unit;
  for (size_t k = 0; k < p->base.cols; k++) {
    long double x = base_numbers[row * p->base.cols + k], q = query_numbers[query * p->base.cols + k];
    xx += x * x;
    qq += q * q;
  }
  return unit * sqrtl(xx * qq);
}

static bool nearer(const problem *p, long double a, long double b) {
  return p->metric == CPB_L2 ? a < b : a > b;
}

static void values_are_right(const problem *p, size_t query, const cpb_hit *hits, size_t count) {
  for (size_t i = 0; i < count; i++) {
    long double value = plain_value(p, hits[i].id, query);
    assert_true(hits[i].id < p->base.rows);
    assert_true(fabsl(hits[i].value - value) <= value_error(p, hits[i].id, query));
    if (i == 0) continue;
    assert_false(nearer(p, hits[i].value, hits[i - 1].value));
    if (hits[i].value == hits[i - 1].value) assert_true(hits[i].id > hits[i - 1].id);
  }
}

/* Nothing left out is nearer than the last one found; where values are exact, so are ties. */
static void nothing_is_missing(const problem *p, size_t query, const cpb_hit *hits, size_t count) {
  bool *taken = calloc(p->base.rows, sizeof *taken);
  for (size_t i = 0; i < count; i++) taken[hits[i].id] = true;
  cpb_hit last = hits[count - 1];
  for (size_t row = 0; row < p->base.rows; row++) {
    if (taken[row]) continue;
    long double value = plain_value(p, row, query),
                off = value_error(p, row, query) + value_error(p, last.id, query);
    long double edge = p->metric == CPB_L2 ? last.value - off : last.value + off;
    assert_false(nearer(p, value, edge));
    if (p->whole && p->metric != CPB_COSINE && (double)value == last.value) assert_true(row > last.id);
  }
  free(taken);
}

static void check_knn(const problem *p, size_t k, const cpb_exec *exec) {
  unfold(p);
  cpb_hit *hits = malloc(p->queries.rows * k * sizeof *hits);
  cpb_error error;
  test_status((int)cpb_knn(p->base, p->queries, k, p->metric, hits, exec, &error), CPB_OK, error.text);
  for (size_t query = 0; query < p->queries.rows; query++) {
    values_are_right(p, query, hits + query * k, k);
    nothing_is_missing(p, query, hits + query * k, k);
  }
  free(hits);
}

static double memory_base[ROWS_MOST * COLS_MOST], memory_queries[QUERIES_MOST * COLS_MOST];

static void fill_whole(void *data, cpb_dtype dtype, size_t count, test_rng *rng, int most) {
  for (size_t i = 0; i < count; i++) {
    int value = (int)test_below(rng, (size_t)most);
    switch (dtype) {
    case CPB_F32: ((float *)data)[i] = (float)value; break;
    case CPB_F64: ((double *)data)[i] = value; break;
    case CPB_F16: ((uint16_t *)data)[i] = (uint16_t)(value == 0 ? 0 : value == 1 ? 0x3c00 : 0x4000); break;
    case CPB_U8: ((uint8_t *)data)[i] = (uint8_t)value; break;
    default: ((int8_t *)data)[i] = (int8_t)value;
    }
  }
}

static const size_t widths[] = {1, 2, 3, 15, 16, 17, 67, 100, 300};
static const size_t query_counts[] = {1, 2, 3, 64, 65, 130};

/* Lattices: most distances occur many times. */
static void whole_numbers_and_ties(void **state) {
  (void)state;
  test_rng rng = {131};
  for (size_t trial = 0; trial < (TEST_SANITIZED ? 30 : 75); trial++) {
    cpb_dtype dtype = (cpb_dtype)(trial % 5);
    size_t d = widths[test_below(&rng, 9)], n = 1 + test_below(&rng, 250);
    size_t queries = query_counts[test_below(&rng, 6)], k = 1 + test_below(&rng, n < 120 ? n : 120);
    problem p = {(cpb_metric)(trial % 3), cpb_rows(memory_base, dtype, n, d),
                 cpb_rows(memory_queries, dtype, queries, d), true};
    fill_whole(memory_base, dtype, n * d, &rng, 3);
    fill_whole(memory_queries, dtype, queries * d, &rng, 3);
    if (p.metric == CPB_COSINE) { /* cosine needs a direction */
      for (size_t i = 0; i < n; i++)
        fill_whole((char *)memory_base + i * d * cpb_dtype_size(dtype), dtype, 1, &rng, 1);
      p.whole = false;
    }
    if (p.metric == CPB_COSINE && d < 15) continue;
    check_knn(&p, k, NULL);
  }
}

/* Offsets, units and outliers for which single precision alone would fail. */
static void wide_ranges(void **state) {
  (void)state;
  static const double units[] = {1, 1e-30, 1e-150, 1e-290, 1e30, 1e150};
  static const double offsets[] = {0, 1e3, 1e9};
  test_rng rng = {132};
  for (size_t trial = 0; trial < (TEST_SANITIZED ? 18 : 54); trial++) {
    size_t d = widths[test_below(&rng, 9)], n = 50 + test_below(&rng, 150);
    size_t queries = query_counts[test_below(&rng, 5)], k = 1 + test_below(&rng, 20);
    double unit = units[trial % 6], offset = offsets[trial / 6 % 3];
    problem p = {(cpb_metric)(trial / 9 % 3), cpb_rows(memory_base, CPB_F64, n, d),
                 cpb_rows(memory_queries, CPB_F64, queries, d), false};
    if (p.metric == CPB_IP && unit != 1 && unit != 1e-30 && unit != 1e30) unit = 1e-100;
    for (size_t i = 0; i < n * d; i++) memory_base[i] = unit * (offset + test_gauss(&rng));
    for (size_t i = 0; i < queries * d; i++) memory_queries[i] = unit * (offset + test_gauss(&rng));
    for (size_t i = 0; i < n / 10; i++) /* outliers */
      memory_base[test_below(&rng, n * d)] *= test_log_uniform(&rng, 1e-3, 1e8);
    check_knn(&p, k, NULL);
  }
}

static void fill_gauss(problem *p, cpb_dtype dtype, size_t n, size_t queries, size_t d, uint64_t seed) {
  test_rng rng = {seed};
  float *base = (float *)memory_base, *asked = (float *)memory_queries;
  for (size_t i = 0; i < n * d; i++) base[i] = (float)test_gauss(&rng);
  for (size_t i = 0; i < queries * d; i++) asked[i] = (float)test_gauss(&rng);
  p->base = cpb_rows(base, dtype, n, d);
  p->queries = cpb_rows(asked, dtype, queries, d);
}

/* All rows within a limit, whatever the limit; blocks fed in any order and size; any number of threads. */
static void limits_pieces_and_threads(void **state) {
  (void)state;
  problem p = {CPB_L2, {0}, {0}, false};
  size_t n = TEST_SANITIZED ? 300 : 600, queries = TEST_SANITIZED ? 35 : 70, d = 20;
  double limits[70];
  fill_gauss(&p, CPB_F32, n, queries, d, 133);
  unfold(&p);
  for (int metric = 0; metric < CPB_METRICS; metric++) {
    p.metric = (cpb_metric)metric;
    for (size_t i = 0; i < queries; i++)
      limits[i] = (double)plain_value(&p, i * 7, i); /* a row at the edge */
    limits[0] = metric == CPB_L2 ? INFINITY : -INFINITY;
    limits[1] = metric == CPB_L2 ? 0 : INFINITY;
    cpb_search_options options;
    cpb_search_options_init(&options, sizeof options);
    options.metric = p.metric;
    options.limits = limits;
    for (size_t threads = 1; threads <= 8; threads = threads == 3 ? 8 : threads + 1) {
      cpb_pool *pool;
      cpb_search *search;
      cpb_error error;
      assert_int_equal(cpb_pool_new(threads, &pool, NULL), CPB_OK);
      test_status((int)cpb_search_new(p.queries, &options, &search, &error), CPB_OK, error.text);
      size_t cut = 17 * threads;
      cpb_view pieces[] = {cpb_view_slice(p.base, cut, n - cut), cpb_view_slice(p.base, 0, cut)};
      for (size_t i = 0; i < 2; i++)
        test_status((int)cpb_search_feed(search, pieces[i], i == 0 ? cut : 0, cpb_pool_exec(pool), &error),
                    CPB_OK, error.text);
      assert_int_equal(cpb_search_rows(search), n);
      for (size_t i = 0; i < queries; i++) {
        const cpb_hit *hits;
        size_t count, sure = 0, possible = 0;
        test_status((int)cpb_search_hits(search, i, &hits, &count, &error), CPB_OK, error.text);
        values_are_right(&p, i, hits, count);
        for (size_t row = 0; row < n; row++) {
          long double value = plain_value(&p, row, i), off = value_error(&p, row, i);
          if (metric == CPB_L2) value = -value;
          long double limit = metric == CPB_L2 ? -limits[i] : limits[i];
          sure += value - off >= limit;
          possible += value + off >= limit;
        }
        assert_in_range(count, sure, possible);
        for (size_t j = 0; j < count; j++)
          assert_false(nearer(&p, limits[i], hits[j].value) && hits[j].value != limits[i]);
      }
      cpb_search_free(search);
      cpb_pool_free(pool);
    }
  }
}

static void same_bits_on_every_table(void **state) {
  (void)state;
  problem p = {CPB_L2, {0}, {0}, false};
  size_t queries = TEST_SANITIZED ? 70 : 130, k = 12;
  cpb_hit *first = malloc(queries * k * sizeof *first), *other = malloc(queries * k * sizeof *other);
  fill_gauss(&p, CPB_F32, TEST_SANITIZED ? 300 : 700, queries, 100, 134);
  const cpb_loops *tables[CPB_TABLES];
  size_t count = cpb_loops_all(tables);
  for (int metric = 0; metric < CPB_METRICS; metric++)
    for (size_t t = 0; t < count; t++) {
      setenv("CPB_ISA", tables[t]->name, 1);
      assert_int_equal(cpb_knn(p.base, p.queries, k, (cpb_metric)metric, t == 0 ? first : other, NULL, NULL),
                       CPB_OK);
      if (t > 0) assert_memory_equal(first, other, queries * k * sizeof *first);
    }
  unsetenv("CPB_ISA");
  free(first);
  free(other);
}

/* Rows in another order, with their ids, in pieces that are merged: the hits of the whole, including ties. */
static void ids_and_merged_lists(void **state) {
  (void)state;
  enum { N = 240, Q = 9, D = 3, K = 25, PIECES = 4 };
  test_rng rng = {135};
  static uint64_t ids[N];
  static float shuffled[N * D];
  for (int metric = 0; metric < CPB_METRICS; metric++) {
    cpb_view base = cpb_rows(memory_base, CPB_F32, N, D), queries = cpb_rows(memory_queries, CPB_F32, Q, D);
    fill_whole(memory_base, CPB_F32, N * D, &rng, 4);
    for (size_t i = 0; i < N; i++) ((float *)memory_base)[i * D] += 1; /* no row is 0 */
    fill_whole(memory_queries, CPB_F32, Q * D, &rng, 4);
    for (size_t i = 0; i < Q; i++) ((float *)memory_queries)[i * D] += 1;
    for (size_t i = 0; i < N; i++) {
      ids[i] = i * 77 % N;
      memcpy(shuffled + i * D, (float *)memory_base + ids[i] * D, D * sizeof *shuffled);
    }
    cpb_hit want[Q * K], got[K];
    static cpb_hit found[PIECES][Q][K];
    size_t counts[PIECES];
    assert_int_equal(cpb_knn(base, queries, K, (cpb_metric)metric, want, NULL, NULL), CPB_OK);
    cpb_search_options options;
    cpb_search_options_init(&options, sizeof options);
    options.metric = (cpb_metric)metric;
    options.k = K;
    for (size_t piece = 0; piece < PIECES; piece++) {
      size_t first = piece == 0 ? 0 : 10 + (N - 10) * (piece - 1) / (PIECES - 1);
      size_t end = 10 + (N - 10) * piece / (PIECES - 1);
      cpb_search *search;
      cpb_error error;
      assert_int_equal(cpb_search_new(queries, &options, &search, &error), CPB_OK);
      test_status((int)cpb_search_feed_ids(search, cpb_rows(shuffled + first * D, CPB_F32, end - first, D),
                                           ids + first, NULL, &error),
                  CPB_OK, error.text);
      for (size_t i = 0; i < Q; i++) {
        const cpb_hit *hits;
        assert_int_equal(cpb_search_hits(search, i, &hits, &counts[piece], &error), CPB_OK);
        memcpy(found[piece][i], hits, counts[piece] * sizeof *hits);
      }
      assert_int_equal(cpb_search_feed_ids(search, base, NULL, NULL, &error), CPB_EINVAL);
      cpb_search_free(search);
    }
    for (size_t i = 0; i < Q; i++) {
      const cpb_hit *lists[PIECES + 1];
      size_t lengths[PIECES + 1], count;
      for (size_t piece = 0; piece <= PIECES; piece++) { /* the first one twice: counted once */
        lists[piece] = found[piece % PIECES][i];
        lengths[piece] = counts[piece % PIECES];
      }
      assert_int_equal(cpb_hits_merge(lists, lengths, PIECES + 1, (cpb_metric)metric, K, got, &count, NULL),
                       CPB_OK);
      assert_int_equal(count, K);
      for (size_t k = 0; k < K; k++)
        assert_true(got[k].id == want[i * K + k].id && got[k].value == want[i * K + k].value);
    }
  }
}

static void lists_out_of_order(void **state) {
  (void)state;
  cpb_hit falling[] = {{1, 2}, {2, 1}}, ties[] = {{5, 1}, {4, 1}}, nan[] = {{1, NAN}}, out[4];
  const cpb_hit *list = falling;
  size_t two = 2, one = 1, count;
  cpb_error error;
  assert_int_equal(cpb_hits_merge(&list, &two, 1, CPB_L2, 4, out, &count, &error), CPB_EINVAL);
  assert_string_equal(error.text, "lists[0] is not in the order of l2: 1 (id 2) comes after 2 (id 1)");
  assert_int_equal(cpb_hits_merge(&list, &two, 1, CPB_IP, 4, out, &count, &error), CPB_OK);
  assert_int_equal(count, 2);
  list = ties;
  assert_int_equal(cpb_hits_merge(&list, &two, 1, CPB_L2, 4, out, &count, &error), CPB_EINVAL);
  list = nan;
  assert_int_equal(cpb_hits_merge(&list, &one, 1, CPB_L2, 4, out, &count, &error), CPB_EINVAL);
  assert_int_equal(cpb_hits_merge(NULL, NULL, 0, CPB_L2, 0, NULL, &count, &error), CPB_OK);
}

static void refuse(cpb_view base, cpb_view queries, size_t k, cpb_metric metric, cpb_status wanted,
                   int64_t row, const char *sentence) {
  cpb_hit hits[64];
  cpb_error error = {.row = -1};
  assert_int_equal(cpb_knn(base, queries, k, metric, hits, NULL, &error), wanted);
  assert_int_equal(error.row, row);
  assert_string_equal(error.text, sentence);
}

static void bad_input_has_a_sentence(void **state) {
  (void)state;
  float base[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3}, queries[4] = {1, 1, 2, 2};
  cpb_view b = cpb_rows(base, CPB_F32, 6, 2), q = cpb_rows(queries, CPB_F32, 2, 2);
  refuse(b, q, 7, CPB_L2, CPB_EINVAL, -1, "7 neighbours asked for, more than the number of rows, 6");
  refuse(cpb_rows(base, CPB_F32, 0, 2), q, 1, CPB_L2, CPB_EINVAL, -1,
         "1 neighbour asked for, more than the number of rows, 0");
  refuse(cpb_rows(base, CPB_F32, 4, 3), q, 1, CPB_L2, CPB_ESHAPE, -1, "base has 3 columns, wanted 2");
  refuse(b, q, 0, CPB_L2, CPB_EINVAL, -1, "k must be at least 1, got 0");
  refuse(b, cpb_rows(queries, CPB_F32, 0, 2), 1, CPB_L2, CPB_ESHAPE, -1,
         "a search needs queries, got 0 of 2 columns");
  queries[3] = NAN;
  refuse(b, q, 1, CPB_L2, CPB_EROW, 1, "query row 1 holds NaN");
  queries[3] = 2;
  base[7] = INFINITY;
  refuse(b, q, 1, CPB_L2, CPB_EROW, 3, "base row 3 holds inf");
  base[7] = 8;
  base[10] = base[11] = 0;
  refuse(b, q, 1, CPB_COSINE, CPB_EROW, 5, "base row 5 is 0: it has no direction");
  queries[0] = queries[1] = 0;
  refuse(b, q, 1, CPB_COSINE, CPB_EROW, 0, "query row 0 is 0: it has no direction");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(whole_numbers_and_ties),    cmocka_unit_test(wide_ranges),
      cmocka_unit_test(limits_pieces_and_threads), cmocka_unit_test(same_bits_on_every_table),
      cmocka_unit_test(ids_and_merged_lists),      cmocka_unit_test(lists_out_of_order),
      cmocka_unit_test(bad_input_has_a_sentence),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Exact search over the whole range of double: rows and queries of one size, of mixed sizes, subnormal, near the
 * largest double, equal, almost equal, in every type. Ids, values and the order of equal values must be those of a
 * plain loop over all rows in 53-bit arithmetic with unbounded exponents, on every instruction set, for any number
 * of threads, for the k nearest and for limits. CPB_ADVERSARY=N runs N times as many cases. */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <float.h>
#include <stdbool.h>

#include "capball/advanced/feed.h"
#include "capball/capball.h"
#include "base/best.h"
#include "base/rows.h"
#include "loops/table.h"
#include "support/big.h"
#include "support/plain_values.h"

enum { CONFIGURATIONS = 120, ROWS = 140, QUERIES = 20, COLS = 70 };

static size_t configurations(void) {
  const char *times = getenv("CPB_ADVERSARY");
  return CONFIGURATIONS / (TEST_SANITIZED ? 10 : 1) * (times == NULL ? 1 : (size_t)strtoul(times, NULL, 10));
}

typedef struct problem {
  cpb_metric metric;
  cpb_view base, queries;
  size_t k;
  double x[ROWS * COLS], q[QUERIES * COLS]; /* as doubles */
} problem;

static problem p;
static double memory_base[ROWS * COLS], memory_queries[QUERIES * COLS];
static cpb_ranked ranked[QUERIES][ROWS]; /* by the plain loop, nearest first */

static double value_of(double key) { return plain_key(p.metric, key); }

/* ---- the plain loop ---- */

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
      ranked[i][row] = (cpb_ranked){plain_key(p.metric, plain_value(p.metric, p.x + row * d, q, d)), row};
    qsort(ranked[i], p.base.rows, sizeof ranked[i][0], by_key_and_id);
  }
}

/* The error of a value, in units of u of the sizes of the terms, except for what a double cannot hold. */
static double error_of(size_t query, cpb_ranked found) {
  size_t d = p.base.cols, mark = big_mark();
  const double *x = p.x + found.id * d, *q = p.q + query * d;
  double value = value_of(found.key);
  big terms = big_of(0), size = big_of(0), xx = big_of(0), qq = big_of(0);
  for (size_t k = 0; k < d; k++) {
    big X = big_of(x[k]), Q = big_of(q[k]),
        t = p.metric == CPB_L2 ? big_square(big_sub(X, Q)) : big_mul(X, Q);
    terms = big_add(terms, t);
    size = big_add(size, big_abs(t));
    xx = big_add(xx, big_square(X));
    qq = big_add(qq, big_square(Q));
  }
  if (p.metric == CPB_L2) terms = size = big_sqrt(terms);
  big lengths = big_mul(big_sqrt(xx), big_sqrt(qq));
  if (p.metric == CPB_COSINE) terms = big_div(terms, lengths), size = big_of(1);
  double error = 0, exact = big_to_double(terms);
  if (isinf(value) || isinf(exact))
    error = fabs(value) >= DBL_MAX * (1 - 0x1p-40) && fabs(exact) >= DBL_MAX * (1 - 0x1p-40) ? 0 : INFINITY;
  else if (fabs(value - exact) > 0x1p-1074)
    error = big_error(value, terms, size);
  big_release(mark);
  return error;
}

/* ---- both kinds of query ---- */

static void same_hits(size_t query, const cpb_hit *hits, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (hits[i].id != ranked[query][i].id || hits[i].value != value_of(ranked[query][i].key))
      fail_msg("%s, %s: hit %zu of query %zu is row %llu, %a, not row %llu, %a", cpb_metric_name(p.metric),
               cpb_isa_name(), i, query, (unsigned long long)hits[i].id, hits[i].value,
               (unsigned long long)ranked[query][i].id, value_of(ranked[query][i].key));
}

/* The base comes in two parts, the last rows first. */
static void ask(const double *limits, const size_t *within, size_t cut, const cpb_exec *exec) {
  cpb_search_options options;
  cpb_search_options_init(&options, sizeof options);
  cpb_error error = {.text = ""};
  options.metric = p.metric;
  options.limits = limits;
  options.k = limits == NULL ? p.k : 0;
  cpb_search *search;
  cpb_view last = cpb_view_slice(p.base, cut, p.base.rows - cut);
  test_status((int)cpb_search_new(p.queries, &options, &search, &error), CPB_OK, error.text);
  test_status((int)cpb_search_feed(search, last, cut, exec, &error), CPB_OK, error.text);
  test_status((int)cpb_search_feed(search, cpb_view_slice(p.base, 0, cut), 0, exec, &error), CPB_OK,
              error.text);
  for (size_t i = 0; i < p.queries.rows; i++) {
    const cpb_hit *hits;
    size_t count, wanted = limits == NULL ? p.k : within[i];
    test_status((int)cpb_search_hits(search, i, &hits, &count, &error), CPB_OK, error.text);
    if (count != wanted)
      fail_msg("%s, %s: query %zu has %zu rows within %a, not %zu", cpb_metric_name(p.metric), cpb_isa_name(),
               i, count, limits == NULL ? 0 : limits[i], wanted);
    same_hits(i, hits, count);
  }
  cpb_search_free(search);
}

/* The k-th value, which has at least k rows within it, or one beside another row's. */
static void choose_limits(double *limits, size_t *within, test_rng *rng) {
  for (size_t i = 0; i < p.queries.rows; i++) {
    size_t row = test_below(rng, 2) == 0 ? p.k - 1 : test_below(rng, p.base.rows);
    double key = ranked[i][row].key;
    if (test_below(rng, 4) == 0) key = nextafter(key, test_below(rng, 2) == 0 ? -INFINITY : INFINITY);
    if (p.metric == CPB_L2) key = fmax(key, 0);
    limits[i] = value_of(key);
    within[i] = 0;
    while (within[i] < p.base.rows && ranked[i][within[i]].key <= key) within[i]++;
  }
}

static void ask_everywhere(test_rng *rng, const cpb_exec *exec) {
  const cpb_loops *tables[CPB_TABLES];
  size_t count = cpb_loops_all(tables), within[QUERIES], cut = test_below(rng, p.base.rows + 1);
  double limits[QUERIES];
  choose_limits(limits, within, rng);
  for (size_t t = 0; t < count; t++) {
    setenv("CPB_ISA", tables[t]->name, 1);
    ask(NULL, NULL, cut, t % 2 == 0 ? exec : NULL);
    ask(limits, within, cut, t % 2 == 0 ? NULL : exec);
  }
  unsetenv("CPB_ISA");
}

/* ---- rows ---- */

typedef enum kind { ONE_SIZE, ROW_SIZES, MIXED, WHOLE, SMALLEST, LARGEST, NEAR_QUERIES, KINDS } kind;

/* Of all doubles, and equally often of those near an end. */
static int any_exponent(test_rng *rng) {
  enum { LEAST = -1074, MOST = 1023, END = 80 };
  switch (test_below(rng, 4)) {
  case 0: return LEAST + (int)test_below(rng, END);
  case 1: return MOST - (int)test_below(rng, END);
  default: return LEAST + (int)test_below(rng, MOST - LEAST + 1);
  }
}

/* A finite number about 2^exponent. */
static double about(int exponent, double number) {
  double x = ldexp(number, exponent);
  return isfinite(x) ? x : copysign(DBL_MAX, x);
}

static double number_of(test_rng *rng, kind of, int exponent) {
  switch (of) {
  case MIXED: return about(any_exponent(rng), test_gauss(rng));
  case WHOLE: return about(exponent, (double)test_below(rng, 7) - 3);
  case SMALLEST: return 0x1p-1074 * rint(test_gauss(rng) * ldexp(1, abs(exponent) % 24));
  case LARGEST: return ldexp(DBL_MAX * (2 * test_uniform(rng) - 1), -(abs(exponent) % 24));
  default: return about(exponent, test_gauss(rng));
  }
}

static const uint16_t halves[] = {0x0001, 0x03ff, 0x0400, 0x3c00, 0x7bff,
                                  0x8001, 0xbc00, 0xfbff, 0x0000, 0x5555};

static void put(cpb_view view, size_t i, double value, test_rng *rng) {
  void *data = (void *)(uintptr_t)view.data;
  switch (view.dtype) {
  case CPB_F32:
    ((float *)data)[i] = fabs(value) <= FLT_MAX ? (float)value : copysignf(FLT_MAX, (float)value);
    break;
  case CPB_F64: ((double *)data)[i] = value; break;
  case CPB_F16: ((uint16_t *)data)[i] = halves[test_below(rng, 10)]; break;
  case CPB_U8: ((uint8_t *)data)[i] = (uint8_t)test_below(rng, 256); break;
  default: ((int8_t *)data)[i] = (int8_t)((int)test_below(rng, 256) - 128);
  }
}

/* Sizes of f32 are drawn from the range of f32. */
static int exponent_for(cpb_dtype dtype, test_rng *rng) {
  return dtype == CPB_F32 ? (int)test_below(rng, 149 + 128) - 149 : any_exponent(rng);
}

/* A row of its own, or one like a query's. */
static void fill_row(cpb_view view, size_t row, kind of, int exponent, test_rng *rng) {
  size_t d = view.cols, query = test_below(rng, p.queries.rows);
  bool zero = test_below(rng, 25) == 0;
  for (size_t k = 0; k < d; k++) {
    double x = zero || test_below(rng, 8) == 0 ? 0 : number_of(rng, of, exponent);
    if (of == NEAR_QUERIES) x = p.q[query * d + k];
    if (of == NEAR_QUERIES && test_below(rng, 3) == 0)
      x = nextafter(x, test_below(rng, 2) == 0 ? DBL_MAX : -DBL_MAX);
    put(view, row * d + k, x, rng);
  }
}

static bool has_direction(cpb_view view, size_t row) {
  for (size_t k = 0; k < view.cols; k++)
    if (cpb_view_at(view, row, k) != 0) return true;
  return false;
}

static void fill(cpb_view view, kind of, int exponent, double *as_doubles, test_rng *rng) {
  size_t d = view.cols, bytes = d * cpb_dtype_size(view.dtype);
  char *data = (char *)(uintptr_t)view.data;
  for (size_t row = 0; row < view.rows; row++) {
    fill_row(view, row, of, of == ROW_SIZES || of == LARGEST ? exponent_for(view.dtype, rng) : exponent, rng);
    if (row > 0 && test_below(rng, 5) == 0)
      memcpy(data + row * bytes, data + test_below(rng, row) * bytes, bytes);
    if (p.metric == CPB_COSINE && !has_direction(view, row)) data[row * bytes] = 1;
    for (size_t k = 0; k < d; k++) as_doubles[row * d + k] = cpb_view_at(view, row, k);
  }
}

static cpb_dtype any_type(test_rng *rng) {
  static const cpb_dtype types[] = {CPB_F64, CPB_F64, CPB_F64, CPB_F64, CPB_F32, CPB_F16, CPB_U8, CPB_I8};
  return types[test_below(rng, 8)];
}

static void draw(test_rng *rng) {
  cpb_dtype of_base = any_type(rng), of_queries = any_type(rng);
  size_t d = 1 + test_below(rng, test_below(rng, 2) == 0 ? COLS : 12);
  size_t n = 1 + test_below(rng, ROWS), queries = 1 + test_below(rng, QUERIES);
  kind base = (kind)test_below(rng, KINDS), asked = (kind)test_below(rng, NEAR_QUERIES);
  int exponent = exponent_for(of_queries, rng), other = exponent_for(of_base, rng);
  if (test_below(rng, 3) == 0) other = exponent, base = asked; /* alike */
  if (test_below(rng, 3) == 0)                                 /* products at an end of the range */
    other = (test_below(rng, 2) == 0 ? 1024 : -1074) - exponent + (int)test_below(rng, 80) - 40;
  p.metric = (cpb_metric)test_below(rng, CPB_METRICS);
  p.base = cpb_rows(memory_base, of_base, n, d);
  p.queries = cpb_rows(memory_queries, of_queries, queries, d);
  p.k = 1 + test_below(rng, n);
  fill(p.queries, asked, exponent, p.q, rng);
  fill(p.base, base, other, p.x, rng);
}

static void whole_range(void **state) {
  (void)state;
  test_rng rng = {3001};
  double worst[CPB_METRICS] = {0};
  cpb_pool *pool;
  test_status((int)cpb_pool_new(3, &pool, NULL), CPB_OK, "");
  for (size_t i = 0, n = configurations(); i < n; i++) {
    draw(&rng);
    rank_all();
    ask_everywhere(&rng, cpb_pool_exec(pool));
    big_reset();
    for (size_t query = 0; query < p.queries.rows; query++)
      test_worst(&worst[p.metric], error_of(query, ranked[query][test_below(&rng, p.base.rows)]));
  }
  cpb_pool_free(pool);
  law_holds("T13", "distances over the whole range of double", "f64", worst[CPB_L2], 8);
  law_holds("T13", "inner products, of sum |x_i q_i|, over the whole range", "f64", worst[CPB_IP], 8);
  law_holds("T13", "cosines over the whole range", "f64", worst[CPB_COSINE], 16);
}

/* Normal numbers times a size, which is smaller for the first rows: bytes can separate such rows. The queries are
 * pairs of opposite ones: their mean is 0. */
static void fill_gauss(cpb_metric metric, double of_base, double of_queries, test_rng *rng) {
  enum { N = TEST_SANITIZED ? 30 : 100, ASKED = TEST_SANITIZED ? 10 : 16, D = 40, K = 7 };
  p.metric = metric;
  p.base = cpb_rows(p.x, CPB_F64, N, D);
  p.queries = cpb_rows(p.q, CPB_F64, ASKED, D);
  p.k = K;
  for (size_t i = 0; i < (size_t)N * D; i++) p.x[i] = of_base * (test_gauss(rng) * (double)(1 + i / D) / N);
  for (size_t i = 0; i < (size_t)ASKED * D; i++)
    p.q[i] = i / D % 2 == 0 ? of_queries * test_gauss(rng) : -p.q[i - D];
}

/* One of each kind: values that underflow, subnormal ones, and those near the largest double and beyond it. */
static void ends_of_the_range(void **state) {
  (void)state;
  static const struct {
    cpb_metric metric;
    double of_base, of_queries;
  } sets[] = {
      {CPB_IP, 1e-300, 1e-300},     {CPB_IP, 1e-162, 1e-160},     {CPB_IP, 1, 1e-318},
      {CPB_IP, 1e-318, 1},          {CPB_IP, 1e154, 1e154},       {CPB_IP, 1e300, 1e300},
      {CPB_L2, 1e-318, 1e-318},     {CPB_L2, 1e-321, 1e-321},     {CPB_L2, 1e-300, 1e-300},
      {CPB_L2, 1e200, 1e200},       {CPB_L2, 0x1p1000, 0x1p1019}, {CPB_L2, 0x1p1019, 0x1p1000},
      {CPB_COSINE, 1e-318, 1e-318}, {CPB_COSINE, 1e307, 1e307},   {CPB_COSINE, 1e-318, 1e307},
  };
  test_rng rng = {3002};
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
    fill_gauss(sets[i].metric, sets[i].of_base, sets[i].of_queries, &rng);
    rank_all();
    ask_everywhere(&rng, NULL);
  }
}

/* Rows and queries scaled by a power of two have the same answers, scaled. */
static void powers_of_two(void **state) {
  (void)state;
  static const int exponents[] = {-1000, -700, -400, 400, 700, 1000};
  enum { EXPONENTS = sizeof exponents / sizeof *exponents, MOST = QUERIES * ROWS };
  static cpb_hit wanted[MOST], hits[MOST];
  static double x[ROWS * COLS], q[QUERIES * COLS];
  for (int metric = 0; metric < CPB_METRICS; metric++) {
    test_rng rng = {3003};
    fill_gauss((cpb_metric)metric, 1, 1, &rng);
    size_t n = p.base.rows * p.base.cols, asked = p.queries.rows * p.queries.cols;
    memcpy(x, p.x, n * sizeof *x);
    memcpy(q, p.q, asked * sizeof *q);
    test_status((int)cpb_knn(p.base, p.queries, p.k, p.metric, wanted, NULL, NULL), CPB_OK, "");
    for (size_t e = 0; e < EXPONENTS; e++) {
      int of_x = exponents[e], of_q = metric == CPB_L2 ? of_x : -exponents[e] + 7;
      for (size_t i = 0; i < n; i++) p.x[i] = ldexp(x[i], of_x);
      for (size_t i = 0; i < asked; i++) p.q[i] = ldexp(q[i], of_q);
      test_status((int)cpb_knn(p.base, p.queries, p.k, p.metric, hits, NULL, NULL), CPB_OK, "");
      int of_value = metric == CPB_L2 ? of_x : metric == CPB_IP ? of_x + of_q : 0;
      for (size_t i = 0; i < p.queries.rows * p.k; i++)
        assert_true(hits[i].id == wanted[i].id && hits[i].value == ldexp(wanted[i].value, of_value));
    }
  }
}

/* Answers that are known without arithmetic. */
static void known_values(void **state) {
  (void)state;
  static const struct {
    cpb_metric metric;
    double x[2], q[2], value;
  } cases[] = {
      {CPB_L2, {3e200, 0}, {0, 4e200}, 5e200},
      {CPB_L2, {0x3p-1074, 0}, {0, 0x4p-1074}, 0x5p-1074},
      {CPB_L2, {1e300, 1e-300}, {1e300, 0}, 1e-300},
      {CPB_L2, {DBL_MAX, 0x1p-1074}, {DBL_MAX, 0}, 0x1p-1074},
      {CPB_L2, {DBL_MAX, 0}, {-DBL_MAX, 0}, INFINITY},
      {CPB_IP, {1e300, 1e-300}, {1e-300, 1e300}, 2},
      {CPB_IP, {1e300, 0x1p-1000}, {0, 0x1p-60}, 0x1p-1060},
      {CPB_IP, {0x1p-540, 0x1p-540}, {0x1p-535, 0x1p-535}, 0x1p-1074},
      {CPB_IP, {0x1p600, 0x1p600}, {0x1p600, -0x1p600}, 0},
      {CPB_IP, {1e200, 0}, {-1e200, 0}, -INFINITY},
      {CPB_COSINE, {0x1p-1074, 0x1p-1074}, {0x1p-1074, 0}, 0x1.6a09e667f3bccp-1},
      {CPB_COSINE, {DBL_MAX, DBL_MAX}, {DBL_MAX, 0}, 0x1.6a09e667f3bccp-1},
      {CPB_COSINE, {1e308, 1e308}, {-1e-310, -1e-310}, -1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cpb_hit hit;
    cpb_error error = {.text = ""};
    cpb_view base = cpb_rows(cases[i].x, CPB_F64, 1, 2), queries = cpb_rows(cases[i].q, CPB_F64, 1, 2);
    test_status((int)cpb_knn(base, queries, 1, cases[i].metric, &hit, NULL, &error), CPB_OK, error.text);
    double off = fabs(hit.value - cases[i].value);
    if (hit.value != cases[i].value && !(off <= 0x1p-52 * fabs(cases[i].value)))
      fail_msg("case %zu: %a, not %a", i, hit.value, cases[i].value);
    if (cases[i].metric != CPB_L2) continue;
    cpb_store store = cpb_store_from_view(base);
    cpb_rerank_options one = {.size = sizeof one, .k = 1};
    test_status((int)cpb_rerank_store(&store, queries, &hit, 1, &one, &hit, NULL, &error), CPB_OK,
                error.text);
    assert_true(hit.value == cases[i].value || fabs(hit.value - cases[i].value) == off);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(whole_range), cmocka_unit_test(ends_of_the_range),
                                     cmocka_unit_test(powers_of_two), cmocka_unit_test(known_values)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

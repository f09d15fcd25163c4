/* T13: the candidate filters keep exactly what a double loop over all rows finds, to the last id and bit, on data
 * that single precision and bytes cannot separate; on every instruction set, for lists of k and for limits. */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <stdlib.h>

#include "loops/ruler.h"
#include "capball/capball.h"
#include "base/best.h"
#include "base/rows.h"
#include "search/index_codes.h"
#include "loops/table.h"
#include "search/measure.h"
#include "search/t13_search.h"

enum { ROWS = TEST_SANITIZED ? 360 : 1000, QUERIES = TEST_SANITIZED ? 20 : 70, COLS = 300, K_MOST = 40 };

static double memory_base[ROWS * COLS], memory_queries[QUERIES * COLS];

typedef struct problem {
  cpb_metric metric;
  cpb_view base, queries;
  size_t k;
} problem;

/* ---- the double loop ---- */

static double value_of(const problem *p, size_t row, const double *q, cpb_wide length) {
  static const double zero[COLS];
  double value, unit[COLS];
  for (size_t k = 0; k < p->base.cols; k++)
    unit[k] = p->metric == CPB_COSINE ? cpb_wide_ratio(cpb_wide_of(q[k], 0), length) : q[k];
  assert_int_equal(cpb_measure(cpb_loops_here(), p->metric, p->base, row, unit, zero, &value), 0);
  return value;
}

static cpb_ranked ranked[QUERIES][ROWS];

static int by_key_and_id(const void *left, const void *right) {
  const cpb_ranked *a = left, *b = right;
  if (a->key != b->key) return a->key < b->key ? -1 : 1;
  return (a->id > b->id) - (a->id < b->id);
}

static void rank_all(const problem *p) {
  for (size_t i = 0; i < p->queries.rows; i++) {
    double q[COLS];
    cpb_wide length;
    cpb_ruler ruler = {.loops = cpb_loops_here(), .x = p->queries, .sign = 1};
    assert_int_equal(cpb_ruler_wide_length(&ruler, i, &length), 0);
    for (size_t k = 0; k < p->base.cols; k++) q[k] = cpb_view_at(p->queries, i, k);
    for (size_t row = 0; row < p->base.rows; row++) {
      double value = value_of(p, row, q, length);
      ranked[i][row] = (cpb_ranked){p->metric == CPB_L2 ? value : -value, row};
    }
    qsort(ranked[i], p->base.rows, sizeof ranked[i][0], by_key_and_id);
  }
}

static void same_hits(const problem *p, size_t query, const cpb_hit *hits, size_t count) {
  for (size_t i = 0; i < count; i++) {
    assert_int_equal(hits[i].id, ranked[query][i].id);
    assert_true(hits[i].value == (p->metric == CPB_L2 ? ranked[query][i].key : -ranked[query][i].key));
  }
}

/* ---- both kinds of query ---- */

static void ask_nearest(const problem *p) {
  static cpb_hit hits[QUERIES * K_MOST];
  cpb_error error = {.text = ""};
  test_status((int)cpb_knn(p->base, p->queries, p->k, p->metric, hits, NULL, &error), CPB_OK, error.text);
  for (size_t i = 0; i < p->queries.rows; i++) same_hits(p, i, hits + i * p->k, p->k);
}

static void ask_within(const problem *p) {
  double limits[QUERIES];
  size_t within[QUERIES] = {0}, count;
  for (size_t i = 0; i < p->queries.rows; i++) {
    double key = i == 0 ? INFINITY : ranked[i][(i * 7) % p->base.rows].key;
    if (i == 1 && p->metric != CPB_L2) key = -INFINITY;
    limits[i] = p->metric == CPB_L2 ? key : -key;
    while (within[i] < p->base.rows && ranked[i][within[i]].key <= key) within[i]++;
  }
  cpb_search_options options;
  cpb_search_options_init(&options, sizeof options);
  options.metric = p->metric;
  options.limits = limits;
  cpb_search *search;
  const cpb_hit *hits;
  test_status((int)cpb_search_new(p->queries, &options, &search, NULL), CPB_OK, "");
  test_status((int)cpb_search_feed(search, p->base, 0, NULL, NULL), CPB_OK, "");
  for (size_t i = 0; i < p->queries.rows; i++) {
    test_status((int)cpb_search_hits(search, i, &hits, &count, NULL), CPB_OK, "");
    assert_int_equal(count, within[i]);
    same_hits(p, i, hits, count);
  }
  cpb_search_free(search);
}

/* On every table; returns how many pairs the last one separated in bytes. */
static uint64_t ask_everywhere(const problem *p) {
  const cpb_loops *tables[CPB_TABLES];
  size_t count = cpb_loops_all(tables);
  rank_all(p);
  for (size_t t = 0; t < count; t++) {
    if (t > 0 && t + 1 < count && p->base.cols % 5 != 0) continue; /* the ones between, only sometimes */
    setenv("CPB_ISA", tables[t]->name, 1);
    ask_nearest(p);
    ask_within(p);
  }
  cpb_search_options options;
  cpb_search_report report = {.size = sizeof report};
  cpb_search *search;
  setenv("CPB_ISA", "plain", 1);
  cpb_search_options_init(&options, sizeof options);
  options.metric = p->metric;
  options.k = p->k;
  test_status((int)cpb_search_new(p->queries, &options, &search, NULL), CPB_OK, "");
  test_status((int)cpb_search_feed(search, p->base, 0, NULL, NULL), CPB_OK, "");
  cpb_search_describe(search, &report);
  assert_int_equal(report.rows, p->base.rows);
  assert_true(report.measured >= p->k * p->queries.rows && report.measured <= p->base.rows * p->queries.rows);
  cpb_search_free(search);
  unsetenv("CPB_ISA");
  return report.bytes;
}

/* ---- data ---- */

static void put(cpb_view view, size_t i, double value) {
  void *data = (void *)(uintptr_t)view.data;
  switch (view.dtype) {
  case CPB_F32: ((float *)data)[i] = (float)value; break;
  case CPB_F64: ((double *)data)[i] = value; break;
  case CPB_F16:
    ((uint16_t *)data)[i] = (uint16_t)((unsigned)(int)(value * 16) % 31 << 10 | ((unsigned)i * 37 & 1023) |
                                       (i % 3 == 0 ? 0x8000u : 0));
    break;
  case CPB_U8: ((uint8_t *)data)[i] = (uint8_t)fmax(0, fmin(255, value)); break;
  default: ((int8_t *)data)[i] = (int8_t)fmax(-128, fmin(127, value));
  }
}

typedef double make(test_rng *rng, size_t row, size_t column);

static double gauss(test_rng *rng, size_t row, size_t column) {
  (void)row, (void)column;
  return test_gauss(rng);
}
static double outlier_rows(test_rng *rng, size_t row, size_t column) {
  double x = gauss(rng, row, column);
  return row % 97 == 3 ? 1e6 * x : row % 101 == 7 ? 1e25 * x : x;
}
static double outlier_columns(test_rng *rng, size_t row, size_t column) {
  return (column == 0 ? 1e7 : 1) * gauss(rng, row, column);
}
static double huge_offset(test_rng *rng, size_t row, size_t column) { return 1e7 + gauss(rng, row, column); }
static double equal_rows(test_rng *rng, size_t row, size_t column) {
  (void)rng;
  return sin((double)(1 + row % 4) * (double)(1 + column));
}
static double constant_columns(test_rng *rng, size_t row, size_t column) {
  return column % 3 == 0 ? gauss(rng, row, column) : 5;
}
static double subnormal_f32(test_rng *rng, size_t row, size_t column) {
  return 1e-41 * gauss(rng, row, column);
}
static double subnormal_f64(test_rng *rng, size_t row, size_t column) {
  return 1e-310 * gauss(rng, row, column);
}
static double tiny(test_rng *rng, size_t row, size_t column) { return 1e-300 * gauss(rng, row, column); }
static double huge(test_rng *rng, size_t row, size_t column) { return 1e300 * gauss(rng, row, column); }
static double both_ends(test_rng *rng, size_t row, size_t column) {
  return (row % 2 == 0 ? 1e100 : 1e-100) * gauss(rng, row, column);
}
static double hardly_apart(test_rng *rng, size_t row, size_t column) {
  return 1 + 1e-9 * gauss(rng, row, column);
}
static double extremes(test_rng *rng, size_t row, size_t column) {
  (void)row, (void)column;
  return test_below(rng, 2) == 0 ? 255 : -128;
}
static double bytes(test_rng *rng, size_t row, size_t column) {
  (void)row, (void)column;
  return (double)test_below(rng, 256) - 64;
}

typedef struct data {
  const char *name;
  make *base, *queries;
  cpb_dtype dtype, query_dtype;
} data;

static const data sets[] = {
    {"gauss f32", gauss, gauss, CPB_F32, CPB_F32},
    {"gauss f64", gauss, gauss, CPB_F64, CPB_F64},
    {"any halves", gauss, gauss, CPB_F16, CPB_F16},
    {"outlier rows", outlier_rows, gauss, CPB_F32, CPB_F32},
    {"outlier queries", gauss, outlier_rows, CPB_F64, CPB_F32},
    {"outlier columns", outlier_columns, outlier_columns, CPB_F32, CPB_F32},
    {"huge offset", huge_offset, huge_offset, CPB_F64, CPB_F64},
    {"huge offset of the base", huge_offset, gauss, CPB_F32, CPB_F32},
    {"equal rows", equal_rows, equal_rows, CPB_F32, CPB_F32},
    {"equal rows, other queries", equal_rows, gauss, CPB_F64, CPB_F32},
    {"constant columns", constant_columns, constant_columns, CPB_F32, CPB_F64},
    {"subnormal f32", subnormal_f32, subnormal_f32, CPB_F32, CPB_F32},
    {"subnormal f64", subnormal_f64, subnormal_f64, CPB_F64, CPB_F64},
    {"1e-300", tiny, tiny, CPB_F64, CPB_F64},
    {"1e300", huge, huge, CPB_F64, CPB_F64},
    {"1e300 asked by 1", huge, gauss, CPB_F64, CPB_F64},
    {"1e-300 asked by 1", tiny, gauss, CPB_F64, CPB_F64},
    {"1 asked by 1e-300", gauss, tiny, CPB_F64, CPB_F64},
    {"1e100 and 1e-100", both_ends, both_ends, CPB_F64, CPB_F64},
    {"hardly apart", hardly_apart, hardly_apart, CPB_F64, CPB_F64},
    {"extremes of u8", extremes, extremes, CPB_U8, CPB_U8},
    {"extremes of i8", extremes, extremes, CPB_I8, CPB_I8},
    {"u8", bytes, bytes, CPB_U8, CPB_U8},
    {"i8", bytes, bytes, CPB_I8, CPB_I8},
    {"u8 asked by i8", bytes, bytes, CPB_U8, CPB_I8},
    {"i8 asked by floats", bytes, gauss, CPB_I8, CPB_F32},
    {"u8 asked by 1e300", bytes, huge, CPB_U8, CPB_F64},
    {"floats asked by u8", gauss, bytes, CPB_F32, CPB_U8},
};
enum { SETS = sizeof sets / sizeof *sets };

static void fill(cpb_view view, make *of, cpb_metric metric, test_rng *rng) {
  for (size_t row = 0; row < view.rows; row++)
    for (size_t k = 0; k < view.cols; k++) put(view, row * view.cols + k, of(rng, row, k));
  for (size_t row = 0; metric == CPB_COSINE && row < view.rows; row++) { /* cosine needs a direction */
    bool zero = true;
    for (size_t k = 0; k < view.cols; k++) zero = zero && cpb_view_at(view, row, k) == 0;
    if (zero) put(view, row * view.cols, 1);
  }
}

static uint64_t ask_set(const data *set, size_t n, size_t queries, size_t d, test_rng *rng) {
  uint64_t told = 0;
  for (int metric = 0; metric < CPB_METRICS; metric++) {
    problem p = {(cpb_metric)metric, cpb_rows(memory_base, set->dtype, n, d),
                 cpb_rows(memory_queries, set->query_dtype, queries, d),
                 1 + test_below(rng, n < K_MOST ? n : K_MOST)};
    fill(p.base, set->base, p.metric, rng);
    fill(p.queries, set->queries, p.metric, rng);
    told += ask_everywhere(&p);
  }
  return told;
}

static void every_set(void **state) {
  (void)state;
  static const size_t widths[] = {1, 2, 3, 5, 20, 67};
  test_rng rng = {171};
  uint64_t told = 0;
  for (size_t i = 0; i < SETS; i++)
    for (size_t j = 0; j < 2; j++) {
      size_t d = widths[(i + 3 * j) % 6], n = 30 + test_below(&rng, 220);
      told += ask_set(&sets[i], n, 8 + test_below(&rng, 12), d, &rng);
    }
  assert_true(told > 0);
}

static void every_width(void **state) {
  (void)state;
  test_rng rng = {172};
  for (size_t d = 1; d <= 67; d += TEST_SANITIZED ? 6 : 1)
    ask_set(&sets[d % 2 == 0 ? 0 : 20 + d % 4], 13 + d, 9, d, &rng);
}

/* Blocks, runs and panels in number. */
static void long_rows(void **state) {
  (void)state;
  test_rng rng = {173};
  ask_set(&sets[3], ROWS, QUERIES, COLS, &rng);
  ask_set(&sets[22], ROWS, QUERIES, COLS, &rng);
}

/* Rows of several types in one search: each has its own grids. */
static void types_in_turn(void **state) {
  (void)state;
  enum { N = 90, D = 25, ASKED = 12, K = 7 };
  static const cpb_dtype types[] = {CPB_F32, CPB_U8, CPB_I8, CPB_F64};
  static const size_t n = N, d = D;
  test_rng rng = {174};
  static double doubles[4 * N * D], part[4][N * D];
  cpb_view asked = cpb_rows(memory_queries, CPB_U8, ASKED, d);
  for (int metric = 0; metric < CPB_METRICS; metric++) {
    cpb_search_options options;
    cpb_search_options_init(&options, sizeof options);
    options.metric = (cpb_metric)metric;
    options.k = K;
    fill(asked, bytes, options.metric, &rng);
    cpb_search *search;
    test_status((int)cpb_search_new(asked, &options, &search, NULL), CPB_OK, "");
    for (size_t t = 0; t < 4; t++) {
      cpb_view rows = cpb_rows(part[t], types[t], n, d);
      fill(rows, bytes, options.metric, &rng);
      for (size_t i = 0; i < n * d; i++) doubles[t * n * d + i] = cpb_view_at(rows, i / d, i % d);
      test_status((int)cpb_search_feed(search, rows, t * n, NULL, NULL), CPB_OK, "");
    }
    problem p = {options.metric, cpb_rows(doubles, CPB_F64, 4 * n, d), asked, K};
    rank_all(&p);
    for (size_t i = 0; i < ASKED; i++) {
      const cpb_hit *hits;
      size_t count;
      test_status((int)cpb_search_hits(search, i, &hits, &count, NULL), CPB_OK, "");
      assert_int_equal(count, K);
      same_hits(&p, i, hits, count);
    }
    cpb_search_free(search);
  }
}

/* Queries far out, a whole panel: bytes cannot separate rows that are all at the limit of the grid. They use
 * floats in the first block of rows and try bytes again after it; a few queries on their own, which use floats,
 * are the reference. */
enum { FAR_ROWS = 1500, FAR_COLS = 1024, FAR_QUERIES = 5 * CPB_SEARCH_PANEL, FAR_K = 5, FEW = 7 };

/* Along a line, so that few are near; far ones beside it. */
static void fill_line(float *rows, size_t n, size_t far_from, test_rng *rng) {
  for (size_t i = 0; i < n; i++) {
    double t = (double)test_below(rng, 1000) - 500;
    for (size_t k = 0; k < FAR_COLS; k++)
      rows[i * FAR_COLS + k] = (float)(t * sin(1.0 + (double)k) + 0.01 * test_gauss(rng) +
                                       (i >= far_from && k == i % 9 ? 1e5 : 0));
  }
}

static void panels_return_to_bytes(void **state) {
  (void)state;
  test_rng rng = {175};
  float *base = malloc(FAR_ROWS * FAR_COLS * sizeof *base);
  float *queries = malloc(FAR_QUERIES * FAR_COLS * sizeof *queries);
  assert_true(base != NULL && queries != NULL);
  fill_line(base, FAR_ROWS, FAR_ROWS, &rng);
  fill_line(queries, FAR_QUERIES, FAR_QUERIES - CPB_SEARCH_PANEL, &rng);
  cpb_view rows = cpb_rows(base, CPB_F32, FAR_ROWS, FAR_COLS);
  cpb_view asked = cpb_rows(queries, CPB_F32, FAR_QUERIES, FAR_COLS);
  cpb_search_options options;
  cpb_search_options_init(&options, sizeof options);
  options.k = FAR_K;
  cpb_search *search;
  test_status((int)cpb_search_new(asked, &options, &search, NULL), CPB_OK, "");
  test_status((int)cpb_search_feed(search, rows, 0, NULL, NULL), CPB_OK, "");
  size_t last = search->panel_count - 1;
  const cpb_search_group *near = &search->groups[0], *far = &search->groups[last];
  if (search->bytes) assert_true(near->bytes && far->compared > 0 && far->compared < near->compared);
  for (size_t first = 0; first < FAR_QUERIES; first += TEST_SANITIZED ? 10 * FEW : FEW) {
    size_t count = FAR_QUERIES - first < FEW ? FAR_QUERIES - first : FEW, found;
    cpb_hit wanted[FEW * FAR_K];
    const cpb_hit *hits;
    test_status((int)cpb_knn(rows, cpb_view_slice(asked, first, count), FAR_K, CPB_L2, wanted, NULL, NULL),
                CPB_OK, "");
    for (size_t i = 0; i < count; i++) {
      test_status((int)cpb_search_hits(search, first + i, &hits, &found, NULL), CPB_OK, "");
      assert_int_equal(found, FAR_K);
      for (size_t j = 0; j < FAR_K; j++)
        assert_true(hits[j].id == wanted[i * FAR_K + j].id && hits[j].value == wanted[i * FAR_K + j].value);
    }
  }
  cpb_search_free(search);
  free(base);
  free(queries);
}

/* Any order is sorted correctly: ties, ascending and descending runs, and equal entries, which cannot be
 * partitioned. */
static void sorted_as_by_qsort(void **state) {
  (void)state;
  enum { MOST = 1000, KINDS = 5 };
  static cpb_ranked entry[MOST], wanted[MOST];
  test_rng rng = {77};
  for (size_t count = 0; count <= MOST; count = count < 40 ? count + 1 : count * 2 + 1)
    for (size_t kind = 0; kind < KINDS; kind++) {
      for (size_t i = 0; i < count; i++) {
        double keys[KINDS] = {test_gauss(&rng), (double)test_below(&rng, 4), (double)i, -(double)i, 1};
        entry[i] = wanted[i] = (cpb_ranked){keys[kind], kind == 4 ? 7 : test_below(&rng, MOST)};
      }
      qsort(wanted, count, sizeof *wanted, by_key_and_id);
      cpb_ranked_sort(entry, count);
      assert_memory_equal(entry, wanted, count * sizeof *entry);
    }
}

/* Rows of an index whose steps differ from that of the query as much as numbers allow: a threshold that is too high would
 * exclude a row. */
static void thresholds_of_an_index(void **state) {
  (void)state;
  static const double steps[] = {1e-32, 1e-20, 1, 1e5, 1e13};
  static const int32_t terms[] = {0, 1, 127 * 127, 127 * 127 * CPB_GRID_MOST, INT32_MAX /* always passes */};
  enum { COUNT = sizeof terms / sizeof *terms };
  cpb_float_filter floats_of = {.loops = cpb_loops_here(), .metric = CPB_L2};
  cpb_byte_filter filter = {.float_filter = &floats_of, .kind = CPB_BYTE_FILTER_FLOATS};
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
    for (size_t j = 0; j < sizeof steps / sizeof *steps; j++) {
      cpb_byte_filter_run run = {.step = steps[i]};
      int32_t term[CPB_INDEX_PANEL], threshold[CPB_INDEX_PANEL];
      for (size_t k = 0; k < CPB_INDEX_PANEL; k++) term[k] = terms[k % COUNT];
      cpb_codes_thresholds(&filter, &run, term, steps[j], threshold);
      for (size_t k = 0; k < CPB_INDEX_PANEL; k++)
        assert_true(cpb_codes_can_exclude(term[k]) ? threshold[k] <= steps[i] / steps[j] / 2 * term[k]
                                                   : threshold[k] < -CPB_RISE_MOST);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(thresholds_of_an_index),
                                     cmocka_unit_test(every_set),
                                     cmocka_unit_test(every_width),
                                     cmocka_unit_test(long_rows),
                                     cmocka_unit_test(types_in_turn),
                                     cmocka_unit_test(panels_return_to_bytes),
                                     cmocka_unit_test(sorted_as_by_qsort)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

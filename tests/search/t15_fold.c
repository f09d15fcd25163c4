/* T15: the lower bounds of folded rows at every level, rounded to single precision and then to bytes, are never above the distance
 * in 512 bits, and those of products never below: for rows of every type, metric and size, and directions that suit them, do not,
 * or are all the same.
 *
 * With CPB_ADVERSARY, as `make adversary` sets it, 10^7 bounds are tried. */
#include "support/check.h"

#include "base/rows.h"
#include "search/t15_record.h"
#include "search/query_numbers.h"
#include "support/big.h"

enum { ROWS = 24, QUERIES = 6, D_MOST = 2048, CASES = TEST_SANITIZED ? 30 : 400 };

typedef struct problem {
  cpb_metric metric;
  cpb_view base, queries;
  size_t d;
  cpb_float_filter numbers;
  cpb_fold *fold;
} problem;

static double memory_base[ROWS * D_MOST], memory_queries[QUERIES * D_MOST];
static double center[D_MOST];
static float center_f32[D_MOST];
static size_t tried, wrong;

/* ---- rows ---- */

typedef enum shape {
  SPREAD,
  OFFSET,
  SMALL,
  LARGE,
  ANY_SIZE,
  SUBNORMAL,
  EQUAL,
  IN_A_PLANE,
  ZEROS,
  SHAPES
} shape;

static double size_of(test_rng *rng, shape of, cpb_dtype dtype) {
  switch (of) {
  case SMALL: return 1e-30;
  case LARGE: return 1e30;
  case ANY_SIZE: return test_log_uniform(rng, 1e-30, 1e30);
  case SUBNORMAL: return dtype == CPB_F64 ? 1e-310 : 1e-41;
  default: return 1;
  }
}

static void put(cpb_view view, size_t i, double x) {
  void *data = (void *)(uintptr_t)view.data;
  switch (view.dtype) {
  case CPB_F32: ((float *)data)[i] = (float)x; break;
  case CPB_F64: ((double *)data)[i] = x; break;
  case CPB_F16: ((uint16_t *)data)[i] = test_half(x); break;
  case CPB_U8: ((uint8_t *)data)[i] = (uint8_t)fmax(0, fmin(255, 128 + 40 * x)); break;
  default: ((int8_t *)data)[i] = (int8_t)fmax(-128, fmin(127, 40 * x));
  }
}

static void fill(cpb_view view, shape of, cpb_metric metric, test_rng *rng) {
  for (size_t row = 0; row < view.rows; row++) {
    double size = size_of(rng, of, view.dtype), a = test_gauss(rng), b = test_gauss(rng);
    for (size_t k = 0; k < view.cols; k++) {
      double x = of == IN_A_PLANE ? a * sin((double)k) + b * cos((double)(3 * k)) : test_gauss(rng);
      if (of == EQUAL) x = sin((double)(1 + row % 2) * (double)(1 + k));
      if (of == ZEROS && row % 3 == 0) x = 0;
      put(view, row * view.cols + k, size * x / (1 + (double)(k % 9)) + (of == OFFSET ? 1e6 : 0));
    }
    double most = 0;
    for (size_t k = 0; k < view.cols; k++) most = fmax(most, fabs(cpb_view_at(view, row, k)));
    if (metric == CPB_COSINE && most == 0) put(view, row * view.cols, 1);
  }
}

/* ---- directions ---- */

static void scale(float *directions, size_t count, size_t d, double factor) {
  for (size_t i = 0; i < count * d; i++) directions[i] = (float)(factor * (double)directions[i]);
}

/* Random ones, the first one repeated, or zeros; as long as a norm of 1 allows. */
static cpb_fold *any_fold(const problem *p, const cpb_fold_levels *levels, test_rng *rng) {
  size_t count = levels->directions[cpb_fold_levels_count(levels) - 1];
  float *directions = calloc(count * p->d, sizeof *directions);
  size_t kind = test_below(rng, 3);
  double largest = 0;
  bool contracts;
  assert_non_null(directions);
  for (size_t i = 0; kind < 2 && i < count * p->d; i++)
    directions[i] = kind == 1 && i >= p->d ? directions[i - p->d] : (float)test_gauss(rng);
  for (size_t i = 0; i < count; i++) {
    double sum = 0;
    for (size_t j = 0; j < count; j++) {
      double product = 0;
      for (size_t k = 0; k < p->d; k++)
        product += (double)directions[i * p->d + k] * (double)directions[j * p->d + k];
      sum += fabs(product);
    }
    largest = fmax(largest, sum);
  }
  if (largest > 0) {
    scale(directions, count, p->d, 1.001 / sqrt(largest));
    assert_null(cpb_fold_new(p->metric, p->d, levels, directions, &contracts));
    assert_false(contracts);
    scale(directions, count, p->d, 0.998);
  }
  cpb_fold *fold = cpb_fold_new(p->metric, p->d, levels, directions, &contracts);
  assert_non_null(fold);
  free(directions);
  return fold;
}

/* ---- in 512 bits ---- */

static void number_rows(const problem *p, cpb_view view, size_t row, big *to) {
  for (size_t k = 0; k < p->d; k++) to[k] = big_of(cpb_view_at(view, row, k));
}

static void divide(big *x, size_t n, big by) {
  for (size_t k = 0; k < n; k++) x[k] = big_div(x[k], by);
}

/* |x'-q'|, or -<x',q'>. */
static big value_of(const problem *p, size_t row, size_t query) {
  static big x[D_MOST], q[D_MOST];
  number_rows(p, p->base, row, x);
  number_rows(p, p->queries, query, q);
  if (p->metric == CPB_COSINE) divide(x, p->d, big_norm(x, p->d));
  if (p->metric != CPB_L2) {
    big length = big_norm(q, p->d);
    if (big_to_double(length) > 0) divide(q, p->d, length);
  }
  if (p->metric == CPB_IP) return big_neg(big_scale2(big_dot(x, q, p->d), p->numbers.exponent));
  for (size_t k = 0; k < p->d; k++) x[k] = big_sub(x[k], q[k]);
  return big_scale2(big_norm(x, p->d), p->metric == CPB_L2 ? p->numbers.exponent : 0);
}

/* ---- bounds ---- */

/* What is known of all rows and queries. */
typedef struct folded {
  float numbers[ROWS * (CPB_FOLD_MOST + CPB_FOLD_LEVELS)], error[ROWS * CPB_FOLD_LEVELS];
  int16_t codes[QUERIES * (CPB_FOLD_MOST + 4 * CPB_RECORD_LINE)];
  cpb_fold_asked asked[QUERIES];
  char record[CPB_FOLD_MOST + CPB_RECORD_LINE];
} folded;

static int8_t code_of(const cpb_byte_filter *filter, size_t place, size_t k) {
  return filter->codes[k / CPB_BYTES_LINE * filter->group * CPB_BYTES_LINE + place * CPB_BYTES_LINE +
                       k % CPB_BYTES_LINE];
}

static float key_of(const problem *p, const cpb_byte_filter *filter, const cpb_fold_asked *asked,
                    const cpb_byte_filter_run *run, size_t at) {
  float of_sum, of_term;
  int32_t product = 0;
  if (!(filter->rows[at].rest < INFINITY)) return -INFINITY;
  cpb_fold_key_factors(asked, run, &of_sum, &of_term);
  for (size_t k = 0; k < p->fold->columns; k++)
    product += code_of(filter, at - run->first, k) * asked->first[k];
  return of_sum * (float)product + of_term * (float)filter->gridded[at].square;
}

static void count_wrong(bool holds) {
  wrong += !holds;
  tried++;
}

/* A row is not excluded by its own distance at any level, and lower bounds are below it. */
static void compare_row(const problem *p, const cpb_byte_filter *filter, folded *f,
                        const cpb_byte_filter_run *run, size_t at, size_t query) {
  const cpb_fold *fold = p->fold;
  const cpb_fold_asked *asked = &f->asked[query];
  size_t row = filter->order[at];
  cpb_record_before before = {filter->rows[at].rest, code_of(filter, at - run->first, fold->columns - 1)};
  cpb_fold_passed passed;
  float key = key_of(p, filter, asked, run, at);
  big_reset();
  big value = value_of(p, row, query);
  double bound = mpfr_get_d(value, MPFR_RNDU);
  count_wrong(!(key > cpb_fold_most(asked, run, bound)));
  cpb_fold_begin(asked, run, key, &passed);
  count_wrong(mpfr_cmp_d(value, cpb_fold_nearest(asked, 0, run->rest, NULL, &passed)) >= 0);
  for (size_t level = 1; level < fold->levels; level++) {
    cpb_record_write(fold, level, f->numbers + row * fold->numbers, f->error + row * fold->levels, &before,
                     f->record);
    const void *record = f->record;
    count_wrong(cpb_fold_pass(asked, level, &record, &run->step, bound, &passed, 1) == 1);
    count_wrong(mpfr_cmp_d(value, cpb_fold_nearest(asked, level, 0, f->record, &passed)) >= 0);
  }
}

static void ask(const problem *p, const cpb_byte_filter *filter, cpb_fold_room *room, folded *f) {
  static double q[QUERIES * D_MOST];
  static float factors[D_MOST], numbers[CPB_FOLD_MOST + CPB_FOLD_LEVELS];
  float error[CPB_FOLD_LEVELS];
  cpb_query_scale known[QUERIES];
  assert_int_equal(cpb_query_take(p->metric, p->queries, q, known, NULL), CPB_OK);
  for (size_t i = 0; i < p->queries.rows; i++) {
    cpb_float_filter_query(&p->numbers, q + i * p->d, &known[i], factors, 1);
    cpb_fold_query(p->fold, &p->numbers, q + i * p->d, &known[i], room, numbers, error);
    cpb_fold_ask(p->fold, filter, numbers, error, known[i].grain,
                 f->codes + i * cpb_fold_asked_codes(p->fold), &f->asked[i]);
  }
}

static void try_fold(const problem *p) {
  static folded f;
  cpb_byte_filter made, filter;
  cpb_fold_room room = {0};
  int fault[ROWS];
  assert_true(cpb_fold_room_new(&room, p->d));
  cpb_fold_rows(p->fold, &p->numbers, p->base, 0, p->base.rows, &room, f.numbers, f.error, fault);
  for (size_t i = 0; i < p->base.rows; i++) assert_int_equal(fault[i], 0);
  cpb_view rows = cpb_rows(f.numbers, CPB_F32, p->base.rows, p->fold->columns);
  rows.stride = p->fold->numbers;
  assert_true(cpb_byte_filter_new(&made, &p->fold->rows, 1));
  assert_true(cpb_byte_filter_prepare_rows(&made, rows));
  filter = made;
  assert_true(cpb_byte_filter_room(&filter, CPB_F32, ROWS, ROWS / 2));
  ask(p, &filter, &room, &f);
  cpb_byte_filter_numbers(&filter, rows, 0, rows.rows, fault);
  for (size_t i = 0; i < rows.rows; i++) filter.rounded[i] += f.error[i * p->fold->levels];
  cpb_byte_filter_order(&filter, rows.rows);
  for (size_t run = 0; run < filter.run_count; run++) {
    const cpb_byte_filter_run *of = &filter.runs[run];
    cpb_byte_filter_codes(&filter, rows, run, 0);
    for (size_t at = of->first; at < of->first + of->count; at++)
      for (size_t query = 0; query < p->queries.rows; query++) compare_row(p, &filter, &f, of, at, query);
  }
  cpb_byte_filter_free(&filter);
  cpb_byte_filter_free(&made);
  cpb_memory_free(&room.memory);
}

static size_t any_width(test_rng *rng) {
  switch (test_below(rng, 20)) {
  case 0: return 2 + test_below(rng, D_MOST - 1);
  case 1: return 2;
  default: return 2 + test_below(rng, 69);
  }
}

/* Of rows of more than one column. */
static cpb_fold_levels any_levels(size_t d, test_rng *rng) {
  cpb_fold_levels levels = {{0}};
  size_t count = 1 + test_below(rng, CPB_FOLD_LEVELS), most = d - 1 < CPB_FOLD_FIRST ? d - 1 : CPB_FOLD_FIRST;
  levels.directions[0] = 1 + test_below(rng, most);
  for (size_t i = 1; i < count && levels.directions[i - 1] < d; i++) {
    size_t left = (d < CPB_FOLD_MOST ? d : CPB_FOLD_MOST) - levels.directions[i - 1];
    if (left > 0) levels.directions[i] = levels.directions[i - 1] + 1 + test_below(rng, left);
    if (left == 0) break;
  }
  return levels;
}

static void try_problem(test_rng *rng) {
  static const cpb_dtype types[] = {CPB_F32, CPB_F32, CPB_F64, CPB_F64, CPB_F16, CPB_U8, CPB_I8};
  size_t d = any_width(rng);
  cpb_fold_levels levels = any_levels(d, rng);
  cpb_dtype dtype = types[test_below(rng, 7)], asked = types[test_below(rng, 7)];
  shape of = (shape)test_below(rng, SHAPES),
        of_queries = test_below(rng, 3) == 0 ? (shape)test_below(rng, SHAPES) : of;
  problem p = {.metric = (cpb_metric)test_below(rng, CPB_METRICS),
               .d = d,
               .base = cpb_rows(memory_base, dtype, ROWS, d),
               .queries = cpb_rows(memory_queries, asked, QUERIES, d)};
  fill(p.base, of, p.metric, rng);
  fill(p.queries, of_queries, p.metric, rng);
  cpb_float_filter_init(&p.numbers, p.metric, p.base, center, dtype == CPB_F64 ? NULL : center_f32);
  if (d <= 70 && test_below(rng, 2) == 0) assert_true(cpb_fold_choose(&p.numbers, p.base, &levels, &p.fold));
  if (p.fold == NULL) p.fold = any_fold(&p, &levels, rng);
  try_fold(&p);
  cpb_fold_free(p.fold);
}

static void bounds_hold(void **state) {
  (void)state;
  const char *times = getenv("CPB_ADVERSARY");
  size_t cases = CASES * (times == NULL ? 1 : 2 * (size_t)strtoul(times, NULL, 10));
  test_rng rng = {1500};
  for (size_t i = 0; i < cases; i++) try_problem(&rng);
  print_message("%zu bounds of folds tried, %zu wrong\n", tried, wrong);
  assert_int_equal(wrong, 0);
}

static double square(double x) { return x * x; }

/* Rows along a few directions, with noise: the fold of these finds them, and leaves what codes of all numbers would. */
static void directions_are_found(void **state) {
  (void)state;
  enum { N = 1024, D = 200, ALONG = 5 };
  static float rows[N * D];
  test_rng rng = {1501};
  for (size_t i = 0; i < N; i++) {
    double along[ALONG];
    for (size_t j = 0; j < ALONG; j++) along[j] = test_gauss(&rng);
    for (size_t k = 0; k < D; k++) {
      double x = .01 * test_gauss(&rng);
      for (size_t j = 0; j < ALONG; j++) x += along[j] * sin((double)((j + 1) * (k + 1)));
      rows[i * D + k] = (float)x;
    }
  }
  cpb_view sample = cpb_rows(rows, CPB_F32, N, D);
  cpb_float_filter numbers;
  cpb_fold *fold;
  cpb_float_filter_init(&numbers, CPB_L2, sample, center, center_f32);
  assert_true(cpb_fold_choose(&numbers, sample, &(cpb_fold_levels){{0}}, &fold));
  assert_non_null(fold);
  assert_true(fold->directions >= ALONG && fold->end[0] < 5 * ALONG);
  size_t last = fold->numbers - 1; /* the rho of the last level */
  static float numbers_of[N * (CPB_FOLD_MOST + CPB_FOLD_LEVELS)], error[N * CPB_FOLD_LEVELS];
  static int fault[N];
  cpb_fold_room room = {0};
  assert_true(cpb_fold_room_new(&room, D));
  cpb_fold_rows(fold, &numbers, sample, 0, N, &room, numbers_of, error, fault);
  for (size_t i = 0; i < N; i++) {
    const float *of = numbers_of + i * fold->numbers;
    double all2 = 0, rest = (double)of[last];
    for (size_t k = 0; k < D; k++) all2 += square((double)rows[i * D + k] - (double)center_f32[k]);
    assert_true(rest * rest < .01 * all2 * numbers.unit * numbers.unit);
  }
  cpb_memory_free(&room.memory);
  cpb_fold_free(fold);
}

/* Numbers that have nothing in common are not folded. */
static void noise_is_left_alone(void **state) {
  (void)state;
  enum { N = 1024, D = 96 };
  static float rows[N * D];
  test_rng rng = {1502};
  for (size_t i = 0; i < (size_t)N * D; i++) rows[i] = (float)test_gauss(&rng);
  cpb_view sample = cpb_rows(rows, CPB_F32, N, D);
  cpb_float_filter numbers;
  cpb_fold *fold;
  cpb_float_filter_init(&numbers, CPB_L2, sample, center, center_f32);
  assert_true(cpb_fold_choose(&numbers, sample, &(cpb_fold_levels){{0}}, &fold));
  assert_null(fold);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(bounds_hold), cmocka_unit_test(directions_are_found),
                                     cmocka_unit_test(noise_is_left_alone)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

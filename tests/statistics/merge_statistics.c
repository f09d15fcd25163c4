/* Statistics: the same bytes however the data are divided and merged, correct against 512 bits, and damaged states
 * are rejected. */
#include "support/check.h"

#include "capball/advanced/statistics.h"
#include "statistics/exact_sum.h"
#include "statistics/row_sample.h"
#include "support/big.h"

enum { N = 3000, MOST_D = 300 };

typedef struct data {
  cpb_dtype dtype;
  size_t n, d, stride;
  void *rows;
  cpb_statistics_options options;
} data;

static cpb_statistics_options usual(void) {
  cpb_statistics_options options;
  cpb_statistics_options_init(&options, sizeof options);
  return options;
}

static double draw(test_rng *rng, cpb_dtype dtype) {
  static const double edges[] = {0, -0.0, 1e-30, -3e5, 1, 0.1};
  if (dtype == CPB_U8) return (double)test_below(rng, 256);
  if (dtype == CPB_I8) return (double)test_below(rng, 256) - 128;
  return test_below(rng, 50) == 0 ? edges[test_below(rng, 6)] : 3 + test_gauss(rng);
}

static data make_data(cpb_dtype dtype, size_t n, size_t d, size_t stride, uint64_t seed) {
  data x = {dtype, n, d, stride, calloc(n * stride + 1, cpb_dtype_size(dtype)), usual()};
  test_rng rng = {seed};
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < d; k++) {
      size_t at = i * stride + k;
      double value = draw(&rng, dtype);
      if (dtype == CPB_F32) ((float *)x.rows)[at] = (float)value;
      if (dtype == CPB_F64) ((double *)x.rows)[at] = value;
      if (dtype == CPB_F16) ((uint16_t *)x.rows)[at] = (uint16_t)(test_bits(&rng) & 0xbbff);
      if (dtype == CPB_U8) ((uint8_t *)x.rows)[at] = (uint8_t)value;
      if (dtype == CPB_I8) ((int8_t *)x.rows)[at] = (int8_t)value;
    }
  x.options.d = d;
  x.options.dtype = dtype;
  x.options.sample = 100;
  x.options.seed = 5;
  return x;
}

static cpb_view slice(const data *x, size_t first, size_t count) {
  cpb_view view = {(const char *)x->rows + first * x->stride * cpb_dtype_size(x->dtype), x->dtype, count,
                   x->d, x->stride};
  return view;
}

static cpb_statistics *new_statistics(const data *x) {
  cpb_statistics *s;
  cpb_error error;
  test_status((int)cpb_statistics_new(&x->options, &s, &error), CPB_OK, error.text);
  return s;
}

static void update(cpb_statistics *s, const data *x, size_t first, size_t count) {
  cpb_error error;
  test_status((int)cpb_statistics_update(s, slice(x, first, count), first, &error), CPB_OK, error.text);
}

static void merge(cpb_statistics *whole, cpb_statistics *piece) {
  cpb_error error;
  test_status((int)cpb_statistics_merge(whole, piece, &error), CPB_OK, error.text);
}

typedef struct state {
  void *bytes;
  size_t count;
} state;

static state state_of(cpb_statistics *s) {
  state t;
  cpb_error error;
  test_status((int)cpb_statistics_serialize(s, &t.bytes, &t.count, &error), CPB_OK, error.text);
  return t;
}

/* A copy through serialisation. */
static cpb_statistics *through_bytes(cpb_statistics *s) {
  state t = state_of(s);
  cpb_statistics *back;
  cpb_error error;
  test_status((int)cpb_statistics_deserialize(t.bytes, t.count, "t", &back, &error), CPB_OK, error.text);
  state again = state_of(back);
  assert_int_equal(t.count, again.count);
  assert_memory_equal(t.bytes, again.bytes, t.count);
  free(t.bytes);
  free(again.bytes);
  return back;
}

/* Where piece k of `pieces` ends: even, one row each and a long rest, or at random with empty ones. */
static size_t cut(const data *x, size_t k, size_t pieces, int kind, test_rng *rng, size_t before) {
  if (k + 1 == pieces) return x->n;
  if (kind == 0) return x->n * (k + 1) / pieces;
  if (kind == 1) return before + 1 < x->n ? before + 1 : x->n;
  size_t left = x->n - before;
  return before + (test_below(rng, 3) == 0 ? 0 : test_below(rng, left / 4 + 1));
}

/* Merges the pieces in a random order, also as a tree; frees all but the result. */
static cpb_statistics *merge_all(cpb_statistics **piece, size_t pieces, test_rng *rng) {
  while (pieces > 1) {
    size_t i = test_below(rng, pieces), j = test_below(rng, pieces - 1);
    if (j >= i) j++;
    merge(piece[i], piece[j]);
    cpb_statistics_free(piece[j]);
    piece[j] = piece[--pieces];
  }
  return piece[0];
}

/* Both passes over the data in pieces; the final state. */
static state gather(const data *x, size_t pieces, int kind, uint64_t seed) {
  cpb_statistics *piece[100] = {NULL};
  size_t ends[100], before = 0;
  test_rng rng = {seed};
  for (size_t k = 0; k < pieces; k++) {
    ends[k] = cut(x, k, pieces, kind, &rng, before);
    piece[k] = new_statistics(x);
    update(piece[k], x, before, ends[k] - before);
    before = ends[k];
  }
  cpb_statistics *whole = merge_all(piece, pieces, &rng);
  test_status((int)cpb_statistics_begin_norms(whole, NULL), CPB_OK, "");
  before = 0;
  for (size_t k = 0; k < pieces; k++) {
    piece[k] = through_bytes(whole);
    update(piece[k], x, before, ends[k] - before);
    before = ends[k];
  }
  cpb_statistics_free(whole);
  whole = merge_all(piece, pieces, &rng);
  state t = state_of(whole);
  cpb_statistics_free(whole);
  return t;
}

static void any_cut_any_order(void **unused) {
  (void)unused;
  static const struct {
    cpb_dtype dtype;
    size_t n, d, stride;
  } shapes[] = {{CPB_F32, N, 7, 7},  {CPB_F32, N, 7, 9}, {CPB_F64, 500, 300, 300}, {CPB_F16, N, 5, 5},
                {CPB_U8, N, 16, 16}, {CPB_I8, N, 1, 1},  {CPB_F64, 5000, 2, 2}};
  static const size_t pieces[] = {1, 2, 7, 100};
  for (size_t shape = 0; shape < sizeof shapes / sizeof *shapes; shape += TEST_SANITIZED ? 2 : 1) {
    data x =
        make_data(shapes[shape].dtype, shapes[shape].n, shapes[shape].d, shapes[shape].stride, shape + 1);
    if (x.dtype == CPB_F32)
      for (size_t i = 10; i < x.n; i += 331)
        ((float *)x.rows)[i * x.stride + i % x.d] = i % 2 ? NAN : INFINITY;
    state want = gather(&x, 1, 0, 1);
    for (size_t p = 0; p < 4; p++)
      for (int kind = 0; kind < 3; kind++) {
        if ((TEST_SANITIZED || x.n < 1000) && pieces[p] == 100 && kind < 2) continue;
        state got = gather(&x, pieces[p], kind, 7 * p + (uint64_t)kind);
        assert_int_equal(got.count, want.count);
        assert_memory_equal(got.bytes, want.bytes, want.count);
        free(got.bytes);
      }
    free(want.bytes);
    free(x.rows);
  }
}

/* Pieces that are emptied and reused, as a scan in waves does. */
static void restarted_pieces(void **unused) {
  (void)unused;
  data x = make_data(CPB_F32, N, 7, 7, 3);
  cpb_statistics *straight = new_statistics(&x), *whole = new_statistics(&x), *piece = new_statistics(&x);
  update(straight, &x, 0, N);
  for (int pass = 1; pass <= 2; pass++) {
    for (size_t first = 0; first < N; first += 250) {
      test_status((int)cpb_statistics_restart(piece, whole, NULL), CPB_OK, "");
      update(piece, &x, first, 250);
      merge(whole, piece);
    }
    if (pass == 1) {
      test_status((int)cpb_statistics_begin_norms(whole, NULL), CPB_OK, "");
      test_status((int)cpb_statistics_begin_norms(straight, NULL), CPB_OK, "");
      update(straight, &x, 0, N);
    }
  }
  state want = state_of(straight), got = state_of(whole);
  assert_int_equal(got.count, want.count);
  assert_memory_equal(got.bytes, want.bytes, want.count);
  free(want.bytes);
  free(got.bytes);
  cpb_statistics_free(straight);
  cpb_statistics_free(whole);
  cpb_statistics_free(piece);
  free(x.rows);
}

static void same_state(cpb_statistics *a, cpb_statistics *b) {
  state s = state_of(a), t = state_of(b);
  assert_int_equal(s.count, t.count);
  assert_memory_equal(s.bytes, t.bytes, t.count);
  free(s.bytes);
  free(t.bytes);
}

/* Rows in another order, with their ids, in two blocks. */
static void rows_with_ids(void **unused) {
  (void)unused;
  enum { D = 5, STEP = 1009 };
  data x = make_data(CPB_F32, N, D, D, 4);
  ((float *)x.rows)[17 * D] = NAN;
  float *shuffled = malloc(N * D * sizeof *shuffled);
  static uint64_t ids[N];
  for (size_t i = 0; i < N; i++) {
    ids[i] = i * STEP % N;
    memcpy(shuffled + i * D, (float *)x.rows + ids[i] * D, D * sizeof *shuffled);
  }
  cpb_statistics *straight = new_statistics(&x), *other = new_statistics(&x);
  cpb_error error;
  for (int pass = 1; pass <= 2; pass++) {
    update(straight, &x, 0, N);
    for (size_t first = 0; first < N; first += N / 2)
      test_status((int)cpb_statistics_update_ids(other, cpb_rows(shuffled + first * D, CPB_F32, N / 2, D),
                                                 ids + first, &error),
                  CPB_OK, error.text);
    same_state(straight, other);
    if (pass == 1) {
      test_status((int)cpb_statistics_begin_norms(straight, NULL), CPB_OK, "");
      test_status((int)cpb_statistics_begin_norms(other, NULL), CPB_OK, "");
    }
  }
  assert_int_equal(cpb_statistics_update_ids(other, cpb_rows(shuffled, CPB_F32, 1, D), NULL, &error),
                   CPB_EINVAL);
  cpb_statistics_free(straight);
  cpb_statistics_free(other);
  free(shuffled);
  free(x.rows);
}

/* Pieces of pass 2 with nothing but the mean are serialised, before and after their rows. */
static void pieces_without_columns(void **unused) {
  (void)unused;
  data x = make_data(CPB_F32, N, 7, 7, 6);
  cpb_statistics *straight = new_statistics(&x), *whole = new_statistics(&x);
  update(straight, &x, 0, N);
  update(whole, &x, 0, N);
  test_status((int)cpb_statistics_begin_norms(straight, NULL), CPB_OK, "");
  test_status((int)cpb_statistics_begin_norms(whole, NULL), CPB_OK, "");
  update(straight, &x, 0, N);
  for (size_t first = 0; first < N; first += 1000) {
    cpb_statistics *piece = new_statistics(&x), *far;
    cpb_statistics_result result = {.size = sizeof result};
    test_status((int)cpb_statistics_restart(piece, whole, NULL), CPB_OK, "");
    far = through_bytes(piece);
    test_status((int)cpb_statistics_finish(far, &result, NULL), CPB_OK, ""); /* keeps the mean */
    update(far, &x, first, 1000);
    cpb_statistics *back = through_bytes(far);
    merge(whole, back);
    cpb_statistics_free(piece);
    cpb_statistics_free(far);
    cpb_statistics_free(back);
  }
  same_state(straight, whole);
  cpb_statistics_free(straight);
  cpb_statistics_free(whole);
  free(x.rows);
}

static void expect_overlap(cpb_statistics *s, const char *what) {
  cpb_error error;
  cpb_statistics_result result = {.size = sizeof result};
  void *bytes;
  size_t count;
  assert_int_equal(cpb_statistics_finish(s, &result, &error), CPB_EINVAL);
  assert_non_null(strstr(error.text, what));
  assert_int_equal(cpb_statistics_serialize(s, &bytes, &count, &error), CPB_EINVAL);
  cpb_statistics_free(s);
}

/* Without a sample only counts can detect it. */
static void rows_given_twice(void **unused) {
  (void)unused;
  data x = make_data(CPB_F32, 300, 3, 3, 61);
  x.options.sample = 0;
  cpb_statistics *s = new_statistics(&x), *piece = new_statistics(&x);
  update(s, &x, 0, 300);
  update(piece, &x, 40, 1);
  merge(s, piece);
  expect_overlap(s, "301 rows have ids from 0 to 299");
  s = new_statistics(&x); /* one twice, another not at all */
  update(s, &x, 0, 100);
  update(s, &x, 101, 199);
  merge(s, piece);
  expect_overlap(s, "not each of them once");
  cpb_statistics_free(piece);
  s = new_statistics(&x);
  update(s, &x, 0, 300);
  test_status((int)cpb_statistics_begin_norms(s, NULL), CPB_OK, "");
  update(s, &x, 0, 200);
  update(s, &x, 100, 100);
  update(s, &x, 299, 1);
  expect_overlap(s, "pass 1 had 300 rows, pass 2 has 301");
  free(x.rows);
}

/* Version 1 had no ids. */
static void states_of_old(void **unused) {
  (void)unused;
  static const char *const names[] = {"pass1.state", "pass2.state", "bytes.state"};
  for (size_t i = 0; i < 3; i++) {
    char path[1024], bytes[1 << 16];
    cpb_error error;
    const char *slash = strrchr(__FILE__, '/');
    snprintf(path, sizeof path, "%.*s/../golden/%s", (int)(slash - __FILE__), __FILE__, names[i]);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t count = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    assert_int_equal(bytes[8], 1);
    cpb_statistics *s;
    test_status((int)cpb_statistics_deserialize(bytes, count, path, &s, &error), CPB_OK, error.text);
    cpb_statistics *again = through_bytes(s);
    same_state(s, again);
    cpb_statistics_free(again);
    cpb_statistics_free(s);
  }
}

static void against_high_precision(void **unused) {
  (void)unused;
  enum { ROWS = 700, D = 5 };
  data x = make_data(CPB_F64, ROWS, D, D, 11);
  double *rows = x.rows;
  test_rng rng = {12};
  for (size_t i = 0; i < ROWS;
       i++) { /* columns that cancel, that span the range, and that are tiny or huge */
    rows[i * D + 1] = (i % 2 ? 1 : -1) * test_log_uniform(&rng, 1e-300, 1e300);
    rows[i * D + 2] = (double)test_below(&rng, 1000) * 0x1p-1074;
    rows[i * D + 3] = i % 3 ? 1.7e308 : -1.6e308;
    rows[i * D + 4] = 1e16 + (double)i;
  }
  cpb_statistics *s = new_statistics(&x);
  update(s, &x, 0, ROWS);
  cpb_statistics_result result = {.size = sizeof result};
  test_status((int)cpb_statistics_finish(s, &result, NULL), CPB_OK, "");
  assert_int_equal(result.rows, ROWS);
  double worst = 0;
  for (size_t k = 0; k < D; k++) {
    big_reset();
    big sum = big_of(0);
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < ROWS; i++) {
      sum = big_add(sum, big_of(rows[i * D + k]));
      low = fmin(low, rows[i * D + k]);
      high = fmax(high, rows[i * D + k]);
    }
    assert_true(result.low[k] == low && result.high[k] == high);
    if (k == 1) { /* 512 bits do not hold 1e±300 together: bound by the largest */
      assert_true(fabs(result.mean[k] - big_to_double(big_div(sum, big_of(ROWS)))) <= 1e-15 * high);
      continue;
    }
    if (k == 2) {
      assert_true(fabs(result.mean[k] - big_to_double(big_div(sum, big_of(ROWS)))) <= 0x1p-1074);
      continue;
    }
    test_worst(&worst, big_relative_error(result.mean[k], big_div(sum, big_of(ROWS))));
  }
  cpb_statistics_free(s);
  free(x.rows);
  law_holds("statistics", "mean of a column", "f64", worst, 3);

  x = make_data(CPB_F32, ROWS, D, D, 13);
  s = new_statistics(&x);
  update(s, &x, 0, ROWS);
  test_status((int)cpb_statistics_begin_norms(s, NULL), CPB_OK, "");
  update(s, &x, 0, ROWS);
  test_status((int)cpb_statistics_finish(s, &result, NULL), CPB_OK, "");
  assert_true(result.norms && result.norm_rows == ROWS);
  big_reset();
  big sum = big_of(0), squares = big_of(0);
  static double norms[ROWS];
  for (size_t i = 0; i < ROWS; i++) {
    big square = big_of(0);
    for (size_t k = 0; k < D; k++)
      square = big_add(
          square, big_square(big_sub(big_of((double)((float *)x.rows)[i * D + k]), big_of(result.mean[k]))));
    norms[i] = big_to_double(big_sqrt(square));
    sum = big_add(sum, big_sqrt(square));
    squares = big_add(squares, square);
  }
  double largest = 0;
  size_t below = 0, at_most = 0;
  for (size_t i = 0; i < ROWS; i++) {
    largest = fmax(largest, norms[i]);
    below += norms[i] < result.norm_median * (1 - 0x1p-13);
    at_most += norms[i] <= result.norm_median * (1 + 0x1p-13);
  }
  worst = big_relative_error(result.norm_mean, big_div(sum, big_of(ROWS)));
  test_worst(&worst, big_relative_error(result.norm_square_mean, big_div(squares, big_of(ROWS))));
  test_worst(&worst, fabs(result.norm_max / largest - 1) / U64);
  law_holds("statistics", "mean, mean square and maximum of norms", "f64", worst, 4);
  assert_true(below <= (ROWS - 1) / 2 && at_most > (ROWS - 1) / 2);
  cpb_statistics_free(s);
  free(x.rows);
}

static int by_hash(const void *left, const void *right) {
  uint64_t a = cpb_row_sample_hash(5, *(const uint64_t *)left),
           b = cpb_row_sample_hash(5, *(const uint64_t *)right);
  return (a > b) - (a < b);
}

static void sample_is_the_smallest_hashes(void **unused) {
  (void)unused;
  data x = make_data(CPB_F32, N, 3, 4, 21);
  static uint64_t ids[N];
  for (size_t i = 0; i < N; i++) ids[i] = i;
  qsort(ids, N, sizeof *ids, by_hash);
  cpb_statistics *s = new_statistics(&x);
  for (size_t first = 0; first < N; first += 60) update(s, &x, first, 60);
  cpb_statistics_result result = {.size = sizeof result};
  test_status((int)cpb_statistics_finish(s, &result, NULL), CPB_OK, "");
  assert_int_equal(result.sample.rows, 100);
  for (size_t i = 0; i < 100; i++) {
    assert_int_equal(result.sample_ids[i], ids[i]);
    assert_memory_equal((const float *)result.sample.data + i * 3, (float *)x.rows + ids[i] * 4,
                        3 * sizeof(float));
  }
  cpb_statistics_free(s);
  free(x.rows);
}

static void sums_are_exact(void **unused) {
  (void)unused;
  test_rng rng = {31};
  for (int trial = 0; trial < 300; trial++) {
    cpb_exact_sum forward, backward, none;
    cpb_exact_clear(&forward);
    cpb_exact_clear(&backward);
    cpb_exact_clear(&none);
    double x[50];
    for (size_t i = 0; i < 50; i++) {
      x[i] = (test_bits(&rng) & 1 ? 1 : -1) * test_log_uniform(&rng, 5e-324, 1.7e308);
      if (trial % 3 == 0) x[i] = (double)test_below(&rng, 7) - 3; /* sums around 0 */
      if (trial % 5 == 0) x[i] = ldexp(trial % 2 ? -1 : 1, 32 * (int)test_below(&rng, 4));
    }
    for (size_t i = 0; i < 50; i++) {
      cpb_exact_add(&forward, x[i]);
      cpb_exact_add(&backward, x[49 - i]);
      if (i % 7 == 0) cpb_exact_carry(&backward);
      cpb_exact_carry(&none);
      cpb_exact_add(&none, x[i]);
      cpb_exact_add(&none, -x[i]);
    }
    cpb_exact_carry(&forward);
    cpb_exact_carry(&backward);
    cpb_exact_carry(&none);
    assert_true(cpb_exact_is_carried(&forward));
    assert_int_equal(forward.first, backward.first);
    assert_int_equal(forward.end, backward.end);
    assert_memory_equal(forward.digit, backward.digit, sizeof forward.digit);
    assert_true(none.first == none.end && cpb_exact_mean(&none, 1) == 0);
  }
}

static cpb_status read_back(const void *bytes, size_t count, cpb_error *error) {
  cpb_statistics *s;
  cpb_status status = cpb_statistics_deserialize(bytes, count, "a.state", &s, error);
  assert_true((status == CPB_OK) == (s != NULL));
  cpb_statistics_free(s);
  return status;
}

static void damaged_states(void **unused) {
  (void)unused;
  data x = make_data(CPB_F32, 60, 3, 3, 41);
  x.options.sample = 4;
  cpb_error error;
  state t = gather(&x, 2, 0, 1);
  unsigned char *bytes = t.bytes;
  for (size_t i = 0; i < t.count; i++) {
    bytes[i] ^= 0x10;
    assert_int_equal(read_back(bytes, t.count, &error), CPB_EFORMAT);
    assert_non_null(strstr(error.text, "a.state"));
    bytes[i] ^= 0x10;
    assert_int_equal(read_back(bytes, i, &error), CPB_EFORMAT);
  }
  assert_int_equal(read_back(bytes, t.count, &error), CPB_OK);
  bytes[8] = 3;
  assert_int_equal(read_back(bytes, t.count, &error), CPB_EFORMAT);
  assert_string_equal(error.text, "a.state: the state is of version 3, wanted 2");
  assert_int_equal(read_back("hello, world, this is no state", 30, &error), CPB_EFORMAT);
  assert_non_null(strstr(error.text, "no CPBSTATE"));
  free(t.bytes);
  free(x.rows);
}

static void what_does_not_merge(void **unused) {
  (void)unused;
  data x = make_data(CPB_F32, 60, 3, 3, 51), y = x;
  cpb_error error;
  cpb_statistics *a = new_statistics(&x), *b;
  update(a, &x, 0, 60);
  y.options.d = 4;
  b = new_statistics(&y);
  assert_int_equal(cpb_statistics_merge(a, b, &error), CPB_EINVAL);
  assert_string_equal(error.text, "one piece has 3 columns, the other 4");
  cpb_statistics_free(b);
  y.options = x.options;
  y.options.seed = 6;
  b = new_statistics(&y);
  assert_int_equal(cpb_statistics_merge(a, b, &error), CPB_EINVAL);
  assert_non_null(strstr(error.text, "the other 6"));
  cpb_statistics_free(b);
  b = new_statistics(&x);
  assert_int_equal(cpb_statistics_begin_norms(b, &error), CPB_EINVAL); /* no rows */
  update(b, &x, 30, 10);
  cpb_statistics *twice = through_bytes(a);
  cpb_statistics_result result = {.size = sizeof result};
  merge(twice, b);
  assert_int_equal(cpb_statistics_finish(twice, &result, &error), CPB_EINVAL);
  assert_non_null(strstr(error.text, "was given twice"));
  cpb_statistics_free(twice);
  assert_int_equal(cpb_statistics_merge(a, a, &error), CPB_EINVAL);
  test_status((int)cpb_statistics_begin_norms(b, NULL), CPB_OK, "");
  assert_int_equal(cpb_statistics_merge(a, b, &error), CPB_EINVAL);
  assert_non_null(strstr(error.text, "pass"));
  test_status((int)cpb_statistics_begin_norms(a, NULL), CPB_OK, "");
  assert_int_equal(cpb_statistics_merge(a, b, &error), CPB_EINVAL);
  assert_non_null(strstr(error.text, "different centres"));
  assert_int_equal(cpb_statistics_begin_norms(a, &error), CPB_EINVAL);
  double wrong[3] = {1, 2, 3};
  assert_int_equal(cpb_statistics_update(a, cpb_rows(wrong, CPB_F64, 1, 3), 0, &error), CPB_EDTYPE);
  assert_string_equal(error.text, "rows are f64, wanted f32");
  assert_int_equal(cpb_statistics_update(a, cpb_rows(x.rows, CPB_F32, 1, 2), 0, &error), CPB_ESHAPE);
  cpb_statistics_free(a);
  cpb_statistics_free(b);
  cpb_statistics_free(NULL);
  y.options.d = 0;
  assert_int_equal(cpb_statistics_new(&y.options, &b, &error), CPB_EINVAL);
  assert_null(b);
  free(x.rows);
}

static void rows_left_out(void **unused) {
  (void)unused;
  double rows[] = {1, 2, NAN, INFINITY, 3, 4, -INFINITY, 0, 5, 6, NAN, NAN};
  data x = {CPB_F64, 6, 2, 2, rows, usual()};
  x.options.d = 2;
  x.options.dtype = CPB_F64;
  cpb_statistics *s = new_statistics(&x);
  cpb_statistics_result result = {.size = sizeof result};
  test_status((int)cpb_statistics_finish(s, &result, NULL), CPB_OK, "");
  assert_true(result.rows == 0 && result.mean == NULL && result.sample.rows == 0 && isnan(result.norm_mean));
  update(s, &x, 0, 6);
  test_status((int)cpb_statistics_finish(s, &result, NULL), CPB_OK, "");
  assert_true(result.rows == 3 && result.nan_rows == 2 && result.inf_rows == 1);
  assert_true(result.mean[0] == 3 && result.mean[1] == 4 && result.low[0] == 1 && result.high[1] == 6);
  assert_int_equal(result.sample.rows, 3);
  test_status((int)cpb_statistics_begin_norms(s, NULL), CPB_OK, "");
  update(s, &x, 0, 6);
  test_status((int)cpb_statistics_finish(s, &result, NULL), CPB_OK, "");
  assert_true(result.norm_rows == 3 && result.norm_max == sqrt(8));
  cpb_statistics_free(s);
}

static void hash_of_rows(const data *x, size_t first, size_t count, uint64_t *ids) {
  cpb_error error;
  test_status((int)cpb_rows_hash(slice(x, first, count), ids, &error), CPB_OK, error.text);
}

/* Rows without ids, some of them equal: for any division, the same bytes, and every row counts. */
static void rows_named_by_their_hash(void **unused) {
  (void)unused;
  data x = make_data(CPB_F32, 500, 5, 7, 4);
  memcpy((float *)x.rows + 7 * 250, x.rows, 7 * 250 * sizeof(float));
  x.options.repeats = true;
  uint64_t ids[500];
  hash_of_rows(&x, 0, 500, ids);
  assert_true(ids[0] == ids[250] && ids[0] != ids[1]);
  cpb_statistics *whole = new_statistics(&x), *first = new_statistics(&x), *last = new_statistics(&x);
  test_status((int)cpb_statistics_update_ids(whole, slice(&x, 0, 500), ids, NULL), CPB_OK, "");
  test_status((int)cpb_statistics_update_ids(last, slice(&x, 123, 377), ids + 123, NULL), CPB_OK, "");
  test_status((int)cpb_statistics_update_ids(first, slice(&x, 0, 123), ids, NULL), CPB_OK, "");
  test_status((int)cpb_statistics_merge(last, first, NULL), CPB_OK, "");
  void *a, *b;
  size_t m, n;
  test_status((int)cpb_statistics_serialize(whole, &a, &m, NULL), CPB_OK, "");
  test_status((int)cpb_statistics_serialize(last, &b, &n, NULL), CPB_OK, "");
  assert_true(m == n && memcmp(a, b, m) == 0);
  cpb_statistics *again;
  test_status((int)cpb_statistics_deserialize(a, m, NULL, &again, NULL), CPB_OK, "");
  cpb_statistics_options options = usual();
  cpb_statistics_describe(again, &options);
  assert_true(options.repeats);
  cpb_free(a);
  cpb_free(b);
  x.options.repeats = false;
  cpb_statistics *strict = new_statistics(&x);
  assert_int_equal(cpb_statistics_update_ids(strict, slice(&x, 0, 500), ids, NULL), CPB_EINVAL);
  assert_int_equal(cpb_statistics_serialize(strict, &a, &m, NULL), CPB_EINVAL);
  cpb_statistics_free(whole);
  cpb_statistics_free(first);
  cpb_statistics_free(last);
  cpb_statistics_free(again);
  cpb_statistics_free(strict);
  free(x.rows);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(any_cut_any_order),
      cmocka_unit_test(restarted_pieces),
      cmocka_unit_test(rows_with_ids),
      cmocka_unit_test(pieces_without_columns),
      cmocka_unit_test(rows_given_twice),
      cmocka_unit_test(states_of_old),
      cmocka_unit_test(against_high_precision),
      cmocka_unit_test(sample_is_the_smallest_hashes),
      cmocka_unit_test(sums_are_exact),
      cmocka_unit_test(damaged_states),
      cmocka_unit_test(what_does_not_merge),
      cmocka_unit_test(rows_left_out),
      cmocka_unit_test(rows_named_by_their_hash),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

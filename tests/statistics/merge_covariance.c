/* Covariances: correct against exact sums, the same bytes however the data are divided and merged, and damaged
 * states are rejected. */
#include "statistics/covariance_parts.h"
#include "support/check.h"

#include <mpfr.h>

enum { MOST_D = 40, EXACT_BITS = 9000 };

typedef struct data {
  cpb_dtype dtype;
  size_t n, d;
  void *rows;
} data;

typedef double draw_fn(test_rng *rng, size_t row, size_t column);

static double plain(test_rng *rng, size_t row, size_t column) {
  (void)row;
  return test_gauss(rng) * (double)(column + 1);
}
static double far_from_0(test_rng *rng, size_t row, size_t column) {
  (void)row;
  return 1e8 + 1e-6 * test_gauss(rng) + (double)column;
}
static double any_size(test_rng *rng, size_t row, size_t column) {
  (void)row, (void)column;
  return test_gauss(rng) * test_log_uniform(rng, 1e-300, 1e150);
}
static double own_size(test_rng *rng, size_t row, size_t column) {
  (void)row;
  return test_gauss(rng) * (column % 3 == 0 ? 1e-160 : column % 3 == 1 ? 1e150 : 1);
}
static double tiny(test_rng *rng, size_t row, size_t column) {
  (void)row, (void)column;
  return 0x1p-1074 * floor(100 * test_gauss(rng));
}
static double holed(test_rng *rng, size_t row, size_t column) {
  return (row + column) % 3 == 0 ? 0 : column == 1 ? -7.5 : test_gauss(rng) * 0x1p-20;
}
/* A column of zeros next to columns whose last bit is far above 1, or below; consecutive rows cancel. */
static double cancelled(test_rng *rng, size_t row, size_t column) {
  (void)rng;
  static const int exponent[] = {100, 0, 500, -900};
  return column == 1 ? 0 : ldexp(row % 2 == 0 ? 1.5 : -1.5, exponent[column % 4]);
}
static double bytes(test_rng *rng, size_t row, size_t column) {
  (void)row, (void)column;
  return (double)test_below(rng, 128);
}

static data make_data(cpb_dtype dtype, size_t n, size_t d, draw_fn *draw, uint64_t seed) {
  data x = {dtype, n, d, calloc(n * d + 1, cpb_dtype_size(dtype))};
  test_rng rng = {seed};
  for (size_t i = 0; i < n * d; i++) {
    double value = draw(&rng, i / d, i % d);
    if (dtype == CPB_F32) ((float *)x.rows)[i] = (float)value;
    if (dtype == CPB_F64) ((double *)x.rows)[i] = value;
    if (dtype == CPB_F16) ((uint16_t *)x.rows)[i] = (uint16_t)(test_bits(&rng) & 0xbbff);
    if (dtype == CPB_U8) ((uint8_t *)x.rows)[i] = (uint8_t)value;
    if (dtype == CPB_I8) ((int8_t *)x.rows)[i] = (int8_t)value;
  }
  return x;
}

static cpb_view slice(const data *x, size_t first, size_t count) {
  return cpb_rows((const char *)x->rows + first * x->d * cpb_dtype_size(x->dtype), x->dtype, count, x->d);
}

static double half_value(uint16_t half) {
  double fraction = half & 0x3ff, exponent = half >> 10 & 31;
  double size = exponent == 0 ? ldexp(fraction, -24) : ldexp(fraction + 1024, (int)exponent - 25);
  return half >> 15 ? -size : size;
}

static double value_at(const data *x, size_t row, size_t column) {
  size_t i = row * x->d + column;
  if (x->dtype == CPB_F32) return ((float *)x->rows)[i];
  if (x->dtype == CPB_F64) return ((double *)x->rows)[i];
  if (x->dtype == CPB_F16) return half_value(((uint16_t *)x->rows)[i]);
  return x->dtype == CPB_U8 ? ((uint8_t *)x->rows)[i] : ((int8_t *)x->rows)[i];
}

static cpb_covariance *new_covariance(size_t d) {
  cpb_covariance *c;
  cpb_error error;
  test_status((int)cpb_covariance_new(d, &c, &error), CPB_OK, error.text);
  return c;
}

static void update(cpb_covariance *c, cpb_view rows, const cpb_exec *exec) {
  cpb_error error;
  test_status((int)cpb_covariance_update(c, rows, exec, &error), CPB_OK, error.text);
}

static void finish(cpb_covariance *c, double *mean, double *matrix) {
  cpb_error error;
  test_status((int)cpb_covariance_finish(c, mean, matrix, NULL, &error), CPB_OK, error.text);
}

/* ---- against exact sums ---- */

/* |got - want| in ulps of want, which is (n xx - x y)/n^2. */
static double ulps_off(double got, mpfr_t xx, mpfr_t x, mpfr_t y, size_t n) {
  mpfr_t want, product;
  mpfr_inits2(EXACT_BITS, want, product, NULL);
  mpfr_mul_ui(want, xx, n, MPFR_RNDN);
  mpfr_mul(product, x, y, MPFR_RNDN);
  mpfr_sub(want, want, product, MPFR_RNDN);
  mpfr_div_ui(want, want, n, MPFR_RNDN);
  mpfr_div_ui(want, want, n, MPFR_RNDN);
  double near = mpfr_get_d(want, MPFR_RNDZ), ulp = nextafter(fabs(near), INFINITY) - fabs(near);
  mpfr_sub_d(want, want, got, MPFR_RNDN);
  mpfr_div_d(want, want, ulp, MPFR_RNDN);
  double off = fabs(mpfr_get_d(want, MPFR_RNDN));
  mpfr_clears(want, product, NULL);
  return off;
}

static void exact_product(const data *x, size_t i, size_t j, mpfr_t sum) {
  mpfr_t term;
  mpfr_init2(term, 106);
  mpfr_set_zero(sum, 1);
  for (size_t row = 0; row < x->n; row++) {
    mpfr_set_d(term, value_at(x, row, i), MPFR_RNDN);
    if (j < x->d) mpfr_mul_d(term, term, value_at(x, row, j), MPFR_RNDN);
    mpfr_add(sum, sum, term, MPFR_RNDN);
  }
  mpfr_clear(term);
}

static double worst_of(const data *x, const double *matrix) {
  mpfr_t sum[MOST_D], xx;
  double worst = 0;
  mpfr_init2(xx, EXACT_BITS);
  for (size_t i = 0; i < x->d; i++) {
    mpfr_init2(sum[i], EXACT_BITS);
    exact_product(x, i, x->d, sum[i]);
  }
  for (size_t i = 0; i < x->d; i++)
    for (size_t j = i; j < x->d; j++) {
      exact_product(x, i, j, xx);
      test_worst(&worst, ulps_off(matrix[i * x->d + j], xx, sum[i], sum[j], x->n));
      assert_true(matrix[i * x->d + j] == matrix[j * x->d + i]);
    }
  for (size_t i = 0; i < x->d; i++) mpfr_clear(sum[i]);
  mpfr_clear(xx);
  return worst;
}

static const struct {
  cpb_dtype dtype;
  size_t n, d;
  draw_fn *draw;
} sets[] = {{CPB_F32, 1300, 7, plain},     {CPB_F64, 1300, 7, plain},     {CPB_F32, 40, 40, plain},
            {CPB_F64, 700, 5, far_from_0}, {CPB_F32, 700, 5, far_from_0}, {CPB_F64, 300, 6, any_size},
            {CPB_F64, 600, 6, own_size},   {CPB_F64, 200, 4, tiny},       {CPB_F64, 90, 5, holed},
            {CPB_F16, 600, 5, plain},      {CPB_U8, 600, 33, bytes},      {CPB_I8, 600, 5, bytes},
            {CPB_F64, 1, 3, plain},        {CPB_F64, 2, 1, plain},        {CPB_F64, 513, 1, any_size},
            {CPB_F64, 64, 4, cancelled},   {CPB_F64, 67, 4, cancelled}};
enum { SETS = sizeof sets / sizeof *sets };

static data set_number(size_t i) {
  return make_data(sets[i].dtype, sets[i].n, sets[i].d, sets[i].draw, 77 + i);
}

static void right_to_the_last_digits(void **unused) {
  (void)unused;
  double worst = 0, matrix[MOST_D * MOST_D];
  for (size_t i = 0; i < SETS; i++) {
    data x = set_number(i);
    cpb_covariance *c = new_covariance(x.d);
    update(c, slice(&x, 0, x.n), NULL);
    finish(c, NULL, matrix);
    test_worst(&worst, worst_of(&x, matrix));
    if (worst > 2) fail_msg("set %zu: %g ulp", i, worst);
    cpb_covariance_free(c);
    free(x.rows);
  }
  law_holds("covariance", "elements about the exact mean, data of any size and offset", "f64", worst, 2);
}

static void the_mean_of_statistics(void **unused) {
  (void)unused;
  double mean[MOST_D];
  for (size_t i = 0; i < SETS; i++) {
    data x = set_number(i);
    cpb_covariance *c = new_covariance(x.d);
    update(c, slice(&x, 0, x.n), NULL);
    finish(c, mean, NULL);
    cpb_statistics_options options;
    cpb_statistics_options_init(&options, sizeof options);
    options.d = x.d;
    options.dtype = x.dtype;
    cpb_statistics *s;
    cpb_statistics_result result = {.size = sizeof result};
    assert_int_equal(cpb_statistics_new(&options, &s, NULL), CPB_OK);
    assert_int_equal(cpb_statistics_update(s, slice(&x, 0, x.n), 0, NULL), CPB_OK);
    assert_int_equal(cpb_statistics_finish(s, &result, NULL), CPB_OK);
    assert_memory_equal(result.mean, mean, x.d * sizeof *mean);
    cpb_statistics_free(s);
    cpb_covariance_free(c);
    free(x.rows);
  }
}

static void constant_columns_are_0(void **unused) {
  (void)unused;
  double rows[500][2], matrix[4];
  for (size_t i = 0; i < 500; i++) {
    rows[i][0] = 0.1;
    rows[i][1] = (double)i / 3;
  }
  cpb_covariance *c = new_covariance(2);
  update(c, cpb_rows(rows, CPB_F64, 500, 2), NULL);
  finish(c, NULL, matrix);
  assert_true(matrix[0] == 0 && matrix[1] == 0 && matrix[2] == 0 && matrix[3] > 0);
  cpb_covariance_free(c);
}

/* ---- any division, any order ---- */

typedef struct state {
  void *bytes;
  size_t count;
} state;

static state state_of(cpb_covariance *c) {
  state t;
  cpb_error error;
  test_status((int)cpb_covariance_serialize(c, &t.bytes, &t.count, NULL, &error), CPB_OK, error.text);
  return t;
}

static cpb_covariance *through_bytes(cpb_covariance *c) {
  state t = state_of(c);
  cpb_covariance *back;
  cpb_error error;
  test_status((int)cpb_covariance_deserialize(t.bytes, t.count, "t", &back, &error), CPB_OK, error.text);
  state again = state_of(back);
  assert_int_equal(t.count, again.count);
  assert_memory_equal(t.bytes, again.bytes, t.count);
  free(t.bytes);
  free(again.bytes);
  cpb_covariance_free(c);
  return back;
}

/* Pieces at random positions, some empty, some serialised, merged as a random tree. */
static state gather(const data *x, size_t pieces, uint64_t seed, const cpb_exec *exec) {
  cpb_covariance *piece[50];
  test_rng rng = {seed};
  size_t before = 0;
  for (size_t k = 0; k < pieces; k++) {
    size_t end = k + 1 == pieces ? x->n : before + test_below(&rng, (x->n - before) / 2 + 1);
    piece[k] = new_covariance(x->d);
    update(piece[k], slice(x, before, end - before), exec);
    if (test_below(&rng, 2) == 0) piece[k] = through_bytes(piece[k]);
    before = end;
  }
  while (pieces > 1) {
    size_t i = test_below(&rng, pieces), j = test_below(&rng, pieces - 1);
    if (j >= i) j++;
    assert_int_equal(cpb_covariance_merge(piece[i], piece[j], exec, NULL), CPB_OK);
    cpb_covariance_free(piece[j]);
    piece[j] = piece[--pieces];
  }
  state t = state_of(piece[0]);
  cpb_covariance_free(piece[0]);
  return t;
}

static void any_cut_any_order(void **unused) {
  (void)unused;
  cpb_pool *pool;
  assert_int_equal(cpb_pool_new(3, &pool, NULL), CPB_OK);
  for (size_t i = 0; i < SETS; i++) {
    data x = set_number(i);
    state whole = gather(&x, 1, 1, NULL);
    for (uint64_t seed = 2; seed < (TEST_SANITIZED ? 3 : 7); seed++) {
      state t = gather(&x, 1 + 7 * (size_t)seed, seed, seed % 2 == 0 ? cpb_pool_exec(pool) : NULL);
      assert_int_equal(whole.count, t.count);
      assert_memory_equal(whole.bytes, t.bytes, t.count);
      free(t.bytes);
    }
    free(whole.bytes);
    free(x.rows);
  }
  cpb_pool_free(pool);
}

/* ---- what is rejected ---- */

static void rows_left_out(void **unused) {
  (void)unused;
  double rows[5][2] = {{1, 2}, {NAN, INFINITY}, {3, 5}, {-INFINITY, 0}, {2, 2}};
  double good[3][2] = {{1, 2}, {3, 5}, {2, 2}}, a[4], b[4];
  cpb_covariance *c = new_covariance(2), *only = new_covariance(2);
  update(c, cpb_rows(rows, CPB_F64, 5, 2), NULL);
  update(only, cpb_rows(good, CPB_F64, 3, 2), NULL);
  assert_int_equal(c->rows, 3);
  assert_int_equal(c->nan_rows + c->inf_rows, 2);
  finish(c, NULL, a);
  finish(only, NULL, b);
  assert_memory_equal(a, b, sizeof a);
  cpb_covariance_free(c);
  cpb_covariance_free(only);
}

static void what_is_refused(void **unused) {
  (void)unused;
  cpb_error error;
  double huge[2][2] = {{1, 1e300}, {2, -1e300}}, matrix[4];
  cpb_covariance *c = new_covariance(2), *other = new_covariance(3), *none = NULL;
  assert_int_equal(cpb_covariance_new(0, &none, &error), CPB_EINVAL);
  assert_int_equal(cpb_covariance_finish(c, NULL, matrix, NULL, &error), CPB_EINVAL);
  assert_int_equal(cpb_covariance_merge(c, other, NULL, &error), CPB_EINVAL);
  assert_string_equal(error.text, "one piece has 2 columns, the other 3");
  assert_int_equal(cpb_covariance_merge(c, c, NULL, &error), CPB_EINVAL);
  assert_int_equal(cpb_covariance_update(c, cpb_rows(huge, CPB_F64, 1, 3), NULL, &error), CPB_ESHAPE);
  update(c, cpb_rows(huge, CPB_F64, 2, 2), NULL);
  assert_int_equal(cpb_covariance_finish(c, NULL, matrix, NULL, &error), CPB_EINVAL);
  assert_string_equal(error.text, "the covariance of columns 1 and 1 is beyond double");
  cpb_covariance_free(c);
  cpb_covariance_free(other);
}

static void damaged_states(void **unused) {
  (void)unused;
  data x = set_number(0);
  state t = gather(&x, 3, 9, NULL);
  cpb_error error;
  cpb_covariance *back;
  unsigned char *bytes = t.bytes;
  for (size_t count = 0; count < t.count; count++)
    assert_int_equal(cpb_covariance_deserialize(bytes, count, "t", &back, &error), CPB_EFORMAT);
  for (size_t at = 0; at < t.count; at++) {
    bytes[at] ^= 1;
    assert_int_equal(cpb_covariance_deserialize(bytes, t.count, "t", &back, &error), CPB_EFORMAT);
    assert_null(back);
    bytes[at] ^= 1;
  }
  free(t.bytes);
  free(x.rows);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(right_to_the_last_digits),
      cmocka_unit_test(the_mean_of_statistics),
      cmocka_unit_test(constant_columns_are_0),
      cmocka_unit_test(any_cut_any_order),
      cmocka_unit_test(rows_left_out),
      cmocka_unit_test(what_is_refused),
      cmocka_unit_test(damaged_states),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The loops behind exact sums: every table gives the bits of the plain one, and the sums are exact. */
#include "support/check.h"

#include "loops/table.h"

enum { LONGEST = 300 };

static double x[LONGEST], magic[2 * LONGEST], sum[2 * LONGEST], want[2 * LONGEST], low[LONGEST],
    high[LONGEST], want_low[LONGEST], want_high[LONGEST];

static void extremes(void **state) {
  (void)state;
  const cpb_loops *tables[CPB_TABLES];
  size_t count = cpb_loops_all(tables);
  test_rng rng = {61};
  for (size_t n = 0; n <= 67; n++)
    for (int kind = 0; kind < 4; kind++) {
      static const double special[] = {0, NAN, INFINITY, -INFINITY};
      for (size_t t = 0; t < count; t++) {
        test_rng again = rng;
        for (size_t i = 0; i < n; i++) {
          x[i] = test_gauss(&again);
          low[i] = high[i] = test_gauss(&again);
        }
        if (n > 0) x[test_below(&again, n)] = special[kind];
        bool finite = tables[t]->span(x, n, low, high);
        assert_true(finite == (kind == 0 || n == 0));
        if (t == 0) {
          memcpy(want_low, low, sizeof low);
          memcpy(want_high, high, sizeof high);
          for (size_t i = 0; i < n; i++) assert_true(isnan(x[i]) || (low[i] <= x[i] && high[i] >= x[i]));
        }
        assert_memory_equal(low, want_low, n * sizeof *low);
        assert_memory_equal(high, want_high, n * sizeof *high);
      }
      test_bits(&rng);
    }
}

static void parts(void **state) {
  (void)state;
  const cpb_loops *tables[CPB_TABLES];
  size_t count = cpb_loops_all(tables);
  test_rng rng = {62};
  for (size_t n = 0; n <= 67; n++)
    for (int rest = 0; rest < 2; rest++) {
      for (size_t i = 0; i < n; i++) {
        x[i] = (double)(float)test_gauss(&rng);
        magic[i] = 1.5 * 0x1p52 * 0x1p-37;
        magic[n + i] = 1.5 * 0x1p52 * 0x1p-77;
      }
      if (rest && n > 0) x[n / 2] = 1e-40;
      for (size_t t = 0; t < count; t++) {
        memset(sum, 0, sizeof sum);
        for (int row = 0; row < 3; row++)
          assert_true(tables[t]->split(x, n, magic, sum) == (n == 0 || rest == 0));
        if (t == 0) memcpy(want, sum, sizeof sum);
        assert_memory_equal(sum, want, sizeof sum);
        for (size_t i = 0; i < n; i++) {
          assert_true(fmod(sum[i], 0x1p-37) == 0 && fmod(sum[n + i], 0x1p-77) == 0);
          if (x[i] != 1e-40) assert_true(sum[i] / 3 + sum[n + i] / 3 == x[i]);
        }
      }
    }
}

enum { ROWS = 70, STRIDE = 43 };

static double wide_rows[ROWS * STRIDE];
static float narrow_rows[ROWS * STRIDE];

/* Row by row, by the plain loops. */
static void expect(size_t n, size_t columns, bool *finite, bool *whole) {
  const cpb_loops *tables[CPB_TABLES];
  cpb_loops_all(tables);
  *finite = *whole = true;
  for (size_t i = 0; i < columns; i++) want_low[i] = INFINITY, want_high[i] = -INFINITY;
  memset(want, 0, sizeof want);
  for (size_t row = 0; row < n; row++) {
    *finite &= tables[0]->span(wide_rows + row * STRIDE, columns, want_low, want_high);
    *whole &= tables[0]->split(wide_rows + row * STRIDE, columns, magic, want);
  }
}

static void compare(const cpb_loops *loops, cpb_dtype dtype, size_t n, size_t columns) {
  const void *rows = dtype == CPB_F32 ? (const void *)narrow_rows : wide_rows;
  bool finite, whole;
  expect(n, columns, &finite, &whole);
  for (size_t i = 0; i < columns; i++) low[i] = INFINITY, high[i] = -INFINITY;
  memset(sum, 0, sizeof sum);
  assert_true(loops->rows_span[dtype](rows, STRIDE, n, columns, low, high) == finite);
  assert_memory_equal(low, want_low, columns * sizeof *low);
  assert_memory_equal(high, want_high, columns * sizeof *high);
  if (!finite) return;
  assert_true(loops->rows_split[dtype](rows, STRIDE, n, columns, magic, sum) == whole);
  assert_memory_equal(sum, want, sizeof sum);
}

static void many_rows(void **state) {
  (void)state;
  const cpb_loops *tables[CPB_TABLES];
  size_t count = cpb_loops_all(tables);
  static const float special[] = {1, 0x1p-140f, -0.0f, NAN, INFINITY, -INFINITY};
  test_rng rng = {63};
  for (size_t columns = 1; columns <= STRIDE; columns++)
    for (size_t kind = 0; kind < sizeof special / sizeof *special; kind++) {
      size_t n = 1 + test_below(&rng, ROWS);
      for (size_t i = 0; i < n * STRIDE; i++) narrow_rows[i] = (float)test_gauss(&rng);
      narrow_rows[test_below(&rng, n) * STRIDE + test_below(&rng, columns)] = special[kind];
      for (size_t i = 0; i < n * STRIDE; i++) wide_rows[i] = (double)narrow_rows[i];
      for (size_t i = 0; i < columns; i++) {
        magic[i] = 1.5 * 0x1p52 * 0x1p-37;
        magic[columns + i] = 1.5 * 0x1p52 * 0x1p-77;
      }
      for (size_t t = 0; t < count; t++) {
        compare(tables[t], CPB_F32, n, columns);
        compare(tables[t], CPB_F64, n, columns);
      }
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(extremes), cmocka_unit_test(parts),
                                     cmocka_unit_test(many_rows)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Rows of bytes: codes, and products with a panel. Every table has the bits of the plain one, and the plain one is
 * checked against the definition. */
#include "support/check.h"

#include <stdlib.h>

#include "loop/table.h"

enum { ROWS = 100, HELD = 3 * CPB_BYTES_GROUP, DEPTH = 820, ROOM = 832, LINE = CPB_BYTES_LINE };

typedef struct told {
  size_t rows, columns;
  size_t row[ROWS];
  uint64_t above[ROWS];
  int32_t value[ROWS][CPB_BYTES_COLS];
} told;

static void remember(void *context, size_t row, uint64_t columns, const int32_t *values) {
  told *t = context;
  t->row[t->rows] = row;
  t->above[t->rows] = columns;
  for (size_t j = 0; j < t->columns; j++)
    if (columns >> j & 1) t->value[t->rows][j] = values[j];
  t->rows++;
}

typedef struct operands {
  int8_t a[HELD * ROOM];
  int32_t start[ROWS], threshold[CPB_BYTES_COLS];
  _Alignas(64) uint8_t b[ROOM * CPB_BYTES_COLS];
} operands;

static void fill(operands *o, test_rng *rng) {
  static const int8_t edges[] = {-128, -127, -1, 0, 1, 127};
  for (size_t i = 0; i < HELD * ROOM; i++)
    o->a[i] = test_below(rng, 3) == 0 ? edges[test_below(rng, 6)] : (int8_t)(int)(test_below(rng, 256) - 128);
  for (size_t i = 0; i < ROOM * CPB_BYTES_COLS; i++)
    o->b[i] = (uint8_t)(test_below(rng, 3) == 0 ? 255 * test_below(rng, 2) : test_below(rng, 256));
  for (size_t i = 0; i < ROWS; i++) o->start[i] = (int32_t)test_below(rng, 1 << 30) - (1 << 29);
  for (size_t j = 0; j < CPB_BYTES_COLS; j++)
    o->threshold[j] = test_below(rng, 4) == 0 ? INT32_MIN : (int32_t)test_below(rng, 1 << 29);
}

typedef void panel_loop(const cpb_panel_bytes *panel);

static void run(panel_loop *loop, const operands *o, size_t rows, size_t words, size_t columns, told *t) {
  memset(t, 0, sizeof *t);
  t->columns = columns;
  loop(&(cpb_panel_bytes){.rows = rows,
                          .words = words,
                          .columns = columns,
                          .a = o->a,
                          .start = o->start,
                          .b = o->b,
                          .threshold = o->threshold,
                          .found = remember,
                          .context = t});
}

static void tables_agree(void **state) {
  (void)state;
  static operands o;
  static told plain, other;
  static const size_t depths[] = {0, 1, 2, 3, 17, 96, 160, 161, 205};
  const cpb_loops *tables[CPB_TABLES];
  size_t count = cpb_loops_all(tables);
  test_rng rng = {151};
  for (size_t columns = 1; columns <= CPB_BYTES_COLS; columns++)
    for (size_t turn = 0; turn < 2; turn++) {
      size_t i = (columns + 4 * turn) % (sizeof depths / sizeof *depths), rows = test_below(&rng, ROWS + 1);
      fill(&o, &rng);
      size_t end = depths[i] * CPB_BYTES_WORD * CPB_BYTES_COLS;
      memset(o.b + end, 0, cpb_bytes_panel(depths[i]) - end);
      run(tables[0]->panel_bytes, &o, rows, depths[i], columns, &plain);
      for (size_t t = 1; t < count; t++) {
        if (tables[t]->panel_bytes == NULL) continue;
        run(tables[t]->panel_bytes, &o, rows, depths[i], columns, &other);
        assert_memory_equal(&plain, &other, sizeof plain);
      }
    }
}

/* Zeros of a where its words end within a line; b goes on with what comes next. */
static void end_rows(operands *o, size_t words) {
  size_t end = cpb_bytes_group(words) / CPB_BYTES_GROUP;
  for (size_t i = 0; i < HELD; i++)
    for (size_t k = words * CPB_BYTES_WORD; k < end; k++) o->a[cpb_bytes_at(words, i, k)] = 0;
}

static void scans_agree(void **state) {
  (void)state;
  static operands o;
  static told plain, other;
  static const size_t depths[] = {1, 2, 3, 17, 24, 63, 64, 96, 161, 200};
  const cpb_loops *tables[CPB_TABLES];
  size_t count = cpb_loops_all(tables);
  test_rng rng = {157};
  for (size_t turn = 0; turn < 60; turn++) {
    size_t words = depths[turn / 2 % (sizeof depths / sizeof *depths)],
           rows = turn % 2 == 0 ? 1 : 1 + test_below(&rng, ROWS), /* there is a loop of its own for one row */
        columns = 1 + test_below(&rng, CPB_BYTES_COLS);
    fill(&o, &rng);
    end_rows(&o, words);
    run(tables[0]->panel_bytes, &o, rows, words, columns, &plain);
    for (size_t t = 0; t < count; t++) {
      run(tables[t]->scan_bytes, &o, rows, words, columns, &other);
      assert_memory_equal(&plain, &other, sizeof plain);
    }
  }
}

static void the_plain_one_is_the_sum(void **state) {
  (void)state;
  static operands o;
  static told t;
  enum { WORDS = DEPTH / CPB_BYTES_WORD };
  const cpb_loops *tables[CPB_TABLES];
  cpb_loops_all(tables);
  test_rng rng = {152};
  fill(&o, &rng);
  run(tables[0]->panel_bytes, &o, ROWS, WORDS, CPB_BYTES_COLS, &t);
  size_t at = 0;
  for (size_t i = 0; i < ROWS; i++) {
    int32_t value[CPB_BYTES_COLS];
    uint64_t above = 0;
    for (size_t j = 0; j < CPB_BYTES_COLS; j++) {
      int64_t sum = o.start[i];
      for (size_t k = 0; k < DEPTH; k++)
        sum += (int64_t)o.a[cpb_bytes_at(WORDS, i, k)] * o.b[cpb_bytes_panel_at(k, j)];
      assert_true(sum >= INT32_MIN && sum <= INT32_MAX);
      if (sum > o.threshold[j]) above |= (uint64_t)1 << j;
      value[j] = sum > o.threshold[j] ? (int32_t)sum : 0;
    }
    if (above == 0) continue;
    assert_int_equal(t.row[at], i);
    assert_true(t.above[at] == above);
    assert_memory_equal(t.value[at++], value, sizeof value);
  }
  assert_int_equal(t.rows, at);
}

/* Codes are the nearest whole numbers, their sums exact, and what is left is what was taken away. */
static void codes_and_sums(void **state) {
  (void)state;
  static const float steps[] = {1, 0x1p-20f, 3.7f, 1e-30f};
  const cpb_loops *tables[CPB_TABLES];
  size_t count = cpb_loops_all(tables);
  test_rng rng = {153};
  for (size_t n = 0; n <= 67 + 200; n++) {
    float z[300], center[300], largest = 0, step = steps[n % 4];
    const float zeros[300] = {0};
    int8_t plain[5 * LINE], other[5 * LINE];
    cpb_gridded about, again;
    for (size_t i = 0; i < n; i++) {
      center[i] = step * (float)test_gauss(&rng);
      z[i] = step * (float)(20 * test_gauss(&rng));
      largest = fmaxf(largest, fabsf(z[i] - center[i]));
    }
    float per_step = largest > 0 ? 127 / largest : 1;
    for (size_t t = 0; t < count; t++) {
      int8_t *codes = t == 0 ? plain : other;
      memset(codes, 99, sizeof plain);
      tables[t]->grid(z, n, &(cpb_shift){1, zeros, center}, per_step, codes, LINE, t == 0 ? &about : &again);
      if (t == 0) continue;
      assert_memory_equal(plain, other, sizeof plain);
      assert_memory_equal(&about, &again, sizeof about);
    }
    int sum = 0, square = 0;
    double rest = 0;
    for (size_t i = 0; i < n; i++) {
      double whole = (double)(per_step * (z[i] - center[i]));
      assert_true(fabs(whole - plain[i]) <= 0.5);
      sum += plain[i];
      square += plain[i] * plain[i];
      rest += (whole - plain[i]) * (whole - plain[i]);
    }
    for (size_t i = n; i < (n + 15) / 16 * 16; i++) assert_int_equal(plain[i], 0);
    assert_int_equal(about.sum, sum);
    assert_int_equal(about.square, square);
    assert_true(fabs((double)about.rest - rest) <= 1e-5 * rest);
  }
}

/* Of floats that end where their memory ends: what spread gives, minus the middle, zeros up to the next sixteen and
 * nothing beyond, and a sum of squares that is theirs but for single precision. The same without storing the numbers. */
static void numbers_at_once(void **state) {
  (void)state;
  enum { MOST = 300, PLACES = MOST + 32 };
  const cpb_loops *tables[CPB_TABLES];
  size_t count = cpb_loops_all(tables);
  test_rng rng = {155};
  for (size_t n = 1; n <= MOST; n += n < 70 ? 1 : 23) {
    float *x = malloc(n * sizeof *x), *center = malloc(n * sizeof *x), *middle = malloc(n * sizeof *x);
    float wanted[PLACES], z[PLACES], plain_size2 = 0, size2 = 0;
    for (size_t i = 0; i < n; i++) {
      x[i] = (float)test_gauss(&rng);
      center[i] = (float)test_gauss(&rng) / 8;
      middle[i] = (float)test_gauss(&rng) / 8;
    }
    double sum = tables[0]->spread_f32(x, n, 0.25f, center, wanted, CPB_PANEL_LINE);
    const cpb_shift shift = {0.25f, center, middle};
    float largest = 0;
    for (size_t i = 0; i < n; i++) {
      wanted[i] -= middle[i];
      largest = fmaxf(largest, fabsf(wanted[i]));
    }
    for (size_t i = n; i < PLACES; i++) wanted[i] = i < (n + 15) / 16 * 16 ? 0 : 99;
    for (size_t t = 0; t < count; t++) {
      for (size_t i = 0; i < PLACES; i++) z[i] = 99;
      assert_true(tables[t]->number(x, n, &shift, NULL, &size2) == largest);
      assert_true(tables[t]->number(x, n, &shift, z, t == 0 ? &plain_size2 : &size2) == largest);
      assert_memory_equal(z, wanted, sizeof z);
      assert_true(t == 0 || size2 == plain_size2);
    }
    assert_true(fabs((double)plain_size2 - sum) <= 1e-5 * sum);
    free(x), free(center), free(middle);
  }
}

static void bytes_turned_over(void **state) {
  (void)state;
  const cpb_loops *tables[CPB_TABLES];
  size_t count = cpb_loops_all(tables);
  test_rng rng = {154};
  for (size_t n = 0; n <= 67 + 200; n++)
    for (size_t t = 0; t < count; t++) {
      uint8_t x[300];
      int8_t codes[5 * LINE];
      cpb_gridded about;
      int bits = n % 2 == 0 ? 128 : 0, sum = 0, square = 0;
      for (size_t i = 0; i < n; i++)
        x[i] = (uint8_t)(test_below(&rng, 4) == 0 ? 255 * test_below(&rng, 2) : test_below(&rng, 256));
      tables[t]->flip(x, n, (uint8_t)bits, codes, LINE, &about);
      for (size_t i = 0; i < n; i++) {
        int code = bits == 128 ? x[i] - 128 : (int8_t)x[i];
        assert_int_equal(codes[i], code);
        sum += code;
        square += code * code;
      }
      assert_int_equal(about.sum, sum);
      assert_int_equal(about.square, square);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(tables_agree),
                                     cmocka_unit_test(scans_agree),
                                     cmocka_unit_test(the_plain_one_is_the_sum),
                                     cmocka_unit_test(codes_and_sums),
                                     cmocka_unit_test(numbers_at_once),
                                     cmocka_unit_test(bytes_turned_over)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Rows of bytes: codes, and products with a panel. Every table has the bits of the plain one, and the plain one is
 * checked against the definition. */
#include "support/check.h"

#include <stdlib.h>

#include "loops/table.h"

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

/* What a scan that may leave panels needs of operands whose first row is the query, with per_square `r`; the thresholds
 * are those of half the squared lengths, and the start is such that the nearest column is `above` its threshold. */
typedef struct partial_room {
  cpb_partial partial;
  uint16_t order[DEPTH];
  double other_sum[DEPTH / CPB_PARTIAL_STEP], other_square[DEPTH / CPB_PARTIAL_STEP];
} partial_room;

static void prepare_partial(operands *o, size_t words, double r, int32_t above, test_rng *rng,
                            partial_room *room) {
  int32_t best = INT32_MIN;
  for (size_t j = 0; j < CPB_BYTES_COLS; j++) {
    int32_t value = 0, square = 0;
    for (size_t k = 0; k < words * CPB_BYTES_WORD; k++) {
      int32_t b = o->b[cpb_bytes_panel_at(k, j)];
      value += o->a[cpb_bytes_at(words, 0, k)] * b, square += (b - 128) * (b - 128);
    }
    o->threshold[j] = (int32_t)floor(r * square) - 1;
    if (value - o->threshold[j] > best) best = value - o->threshold[j];
  }
  o->start[0] = above - best;
  for (size_t i = 0; i < words; i++) {
    size_t other = test_below(rng, i + 1);
    room->order[i] = room->order[other];
    room->order[other] = (uint16_t)i;
  }
  for (size_t i = 0; i < CPB_PARTIAL_STEP; i++)
    room->order[words + i] = (uint16_t)(words + room->order[i % words]); /* only prefetched */
  for (size_t step = 1; step <= words / CPB_PARTIAL_STEP; step++) {
    double sum = 0, square = 0;
    for (size_t i = step * CPB_PARTIAL_STEP; i < words; i++)
      for (size_t k = 0; k < CPB_BYTES_WORD; k++) {
        double a = o->a[cpb_bytes_at(words, 0, (size_t)room->order[i] * CPB_BYTES_WORD + k)];
        sum += a, square += a * a;
      }
    room->other_sum[step - 1] = 128 * sum;
    room->other_square[step - 1] = square;
  }
  room->partial = (cpb_partial){room->order, room->other_sum, room->other_square, r, 0};
}

/* Columns like the query, or opposite, or anything. */
static void fill_near(operands *o, size_t words, int alike, test_rng *rng) {
  fill(o, rng);
  end_rows(o, words);
  for (size_t j = 0; j < CPB_BYTES_COLS; j++)
    for (size_t k = 0; alike != 0 && k < words * CPB_BYTES_WORD; k++) {
      int c = alike * o->a[cpb_bytes_at(words, 0, k)] + (int)test_below(rng, 1 + 7 * j) - (int)(7 * j / 2);
      o->b[cpb_bytes_panel_at(k, j)] = (uint8_t)((c < -128 ? -128 : c > 127 ? 127 : c) + 128);
    }
}

static void parts_of_scans(void **state) {
  (void)state;
  static operands o;
  static told plain, other;
  static partial_room room;
  static const size_t depths[] = {1, 7, 8, 9, 24, 97, 128, 196, 200};
  static const double ratios[] = {0.5 * (1 - 0x1p-19), 0.03, 2.7};
  static const int32_t aboves[] = {0, 1, 5000, -1000000, -3000000};
  const cpb_loops *tables[CPB_TABLES];
  size_t count = cpb_loops_all(tables), left[CPB_TABLES] = {0};
  test_rng rng = {158};
  for (size_t turn = 0; turn < 9 * 3 * 5 * 3; turn++) {
    size_t words = depths[turn % 9];
    fill_near(&o, words, (int)(turn / 9 % 3) - 1, &rng);
    prepare_partial(&o, words, ratios[turn / 27 % 3], aboves[turn / 81], &rng, &room);
    run(tables[0]->panel_bytes, &o, 1, words, CPB_BYTES_COLS, &plain);
    assert_int_equal(plain.rows, aboves[turn / 81] > 0);
    for (size_t t = 0; t < count; t++) {
      memset(&other, 0, sizeof other);
      other.columns = CPB_BYTES_COLS;
      room.partial.words = 0;
      tables[t]->scan_bytes(&(cpb_panel_bytes){.rows = 1,
                                               .words = words,
                                               .columns = CPB_BYTES_COLS,
                                               .a = o.a,
                                               .start = o.start,
                                               .b = o.b,
                                               .threshold = o.threshold,
                                               .partial = &room.partial,
                                               .found = remember,
                                               .context = &other});
      assert_memory_equal(&plain, &other, sizeof plain);
      assert_true(room.partial.words <= words);
      left[t] += room.partial.words > 0 && room.partial.words < words;
      if (plain.rows > 0) assert_true(room.partial.words == 0 || room.partial.words == words);
    }
  }
  for (size_t t = 0; t < count; t++)
    if (strcmp(tables[t]->name, "avx512vnni") == 0 || strcmp(tables[t]->name, "amx") == 0)
      assert_true(left[t] > 20);
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

enum { MOST = 300, PADDED = MOST + CPB_LANES };

/* Rows of n floats, each of which ends where its memory ends, and the arrays that shift them, padded with zeros. */
typedef struct shifted_rows {
  float *x[CPB_LANES], center[PADDED], middle[PADDED];
  size_t rows, n;
} shifted_rows;

static void make_rows(shifted_rows *s, size_t n, float size, test_rng *rng) {
  *s = (shifted_rows){.rows = 1 + n % CPB_LANES, .n = n};
  for (size_t i = 0; i < n; i++) {
    s->center[i] = size * (float)test_gauss(rng) / 8;
    s->middle[i] = size * (float)test_gauss(rng) / 8;
  }
  for (size_t row = 0; row < s->rows; row++) {
    s->x[row] = malloc(n * sizeof(float));
    for (size_t i = 0; i < n; i++) s->x[row][i] = size * (float)(20 * test_gauss(rng));
  }
}

static float shifted(const shifted_rows *s, size_t row, size_t i) {
  return 0.25f * (s->x[row][i] - s->center[i]) - s->middle[i];
}

static void free_rows(shifted_rows *s) {
  for (size_t row = 0; row < s->rows; row++) free(s->x[row]);
}

/* Codes are the nearest whole numbers, their sums exact, and what is left is what was taken away. */
static void check_codes(const shifted_rows *s, size_t row, float per_step, const int8_t *codes, size_t step,
                        cpb_gridded about) {
  int sum = 0, square = 0;
  double rest = 0;
  for (size_t i = 0; i < (s->n + 15) / 16 * 16; i++) {
    int code = codes[i / LINE * step + i % LINE];
    double whole = i < s->n ? (double)(per_step * shifted(s, row, i)) : 0;
    assert_true(fabs(whole - code) <= 0.5);
    sum += code;
    square += code * code;
    rest += (whole - code) * (whole - code);
  }
  assert_int_equal(about.sum, sum);
  assert_int_equal(about.square, square);
  assert_true(fabs((double)about.rest - rest) <= 1e-5 * rest);
}

static void codes_and_sums(void **state) {
  (void)state;
  static const float sizes[] = {1, 0x1p-20f, 3.7f, 1e-30f};
  const cpb_loops *tables[CPB_TABLES];
  size_t count = cpb_loops_all(tables);
  test_rng rng = {153};
  for (size_t n = 1; n <= 67 + 200; n++) {
    enum { STEP = LINE * (CPB_LANES + 1) };
    shifted_rows s;
    int8_t codes[2][5 * STEP];
    cpb_gridded about[2][CPB_LANES];
    float largest = 0;
    make_rows(&s, n, sizes[n % 4], &rng);
    for (size_t row = 0; row < s.rows; row++)
      for (size_t i = 0; i < n; i++) largest = fmaxf(largest, fabsf(shifted(&s, row, i)));
    const float *const *x = (const float *const *)s.x;
    for (size_t t = 0; t < count; t++) {
      memset(codes[t > 0], 99, sizeof *codes);
      tables[t]->grid(x, t % 2 == 0 ? NULL : x, s.rows, n, &(cpb_shift){0.25f, s.center, s.middle},
                      127 / largest, codes[t > 0], STEP, about[t > 0]);
      if (t == 0) continue;
      assert_memory_equal(codes[0], codes[1], sizeof *codes);
      assert_memory_equal(about[0], about[1], s.rows * sizeof **about);
    }
    for (size_t row = 0; row < s.rows; row++)
      check_codes(&s, row, 127 / largest, codes[0] + row * LINE, STEP, about[0][row]);
    free_rows(&s);
  }
}

/* The largest number, and the sum of squares before the middle is subtracted, within the error of single precision. */
static void numbers_at_once(void **state) {
  (void)state;
  const cpb_loops *tables[CPB_TABLES];
  size_t count = cpb_loops_all(tables);
  test_rng rng = {155};
  for (size_t n = 1; n <= MOST; n += n < 70 ? 1 : 23) {
    shifted_rows s;
    float reach[2][CPB_LANES], size2[2][CPB_LANES], z[PADDED];
    make_rows(&s, n, 1, &rng);
    const float *const *x = (const float *const *)s.x;
    for (size_t t = 0; t < count; t++) {
      tables[t]->number(x, t % 2 == 0 ? NULL : x, s.rows, n, &(cpb_shift){0.25f, s.center, s.middle},
                        reach[t > 0], size2[t > 0]);
      if (t > 0) assert_memory_equal(size2[0], size2[1], s.rows * sizeof **size2);
      if (t > 0) assert_memory_equal(reach[0], reach[1], s.rows * sizeof **reach);
    }
    for (size_t row = 0; row < s.rows; row++) {
      double sum = tables[0]->spread_f32(s.x[row], n, 0.25f, s.center, z, CPB_PANEL_LINE);
      float largest = 0;
      for (size_t i = 0; i < n; i++) largest = fmaxf(largest, fabsf(z[i] - s.middle[i]));
      assert_true(reach[0][row] == largest);
      assert_true(fabs((double)size2[0][row] - sum) <= 1e-5 * sum);
    }
    free_rows(&s);
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
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tables_agree),     cmocka_unit_test(scans_agree),
      cmocka_unit_test(parts_of_scans),   cmocka_unit_test(the_plain_one_is_the_sum),
      cmocka_unit_test(codes_and_sums),   cmocka_unit_test(numbers_at_once),
      cmocka_unit_test(bytes_turned_over)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

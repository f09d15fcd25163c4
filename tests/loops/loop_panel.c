/* Products with a panel: every table gives the rows, columns and bits of the plain one, and the plain one is the
 * documented chain of fused multiply-adds. */
#include "support/check.h"

#include <stdlib.h>

#include "loops/table.h"

enum { ROWS = 30, DEPTH = 200, ROOM = 208 };

typedef struct told {
  size_t rows, columns;
  size_t row[ROWS];
  uint64_t above[ROWS];
  float value[ROWS][CPB_PANEL_COLS];
} told;

static void remember(void *context, size_t row, uint64_t columns, const float *values) {
  told *t = context;
  t->row[t->rows] = row;
  t->above[t->rows] = columns;
  for (size_t j = 0; j < t->columns; j++)
    if (columns >> j & 1) t->value[t->rows][j] = values[j];
  t->rows++;
}

typedef struct operands {
  float a[ROWS * ROOM], start[ROWS], threshold[CPB_PANEL_COLS];
  _Alignas(64) float b[DEPTH * CPB_PANEL_COLS];
} operands;

static void fill(operands *o, size_t columns, test_rng *rng) {
  static const float edges[] = {0, -0.0f, 0x1p-149f, 1e-30f, 1e15f, -1e15f, 1, -1};
  for (size_t i = 0; i < ROWS * ROOM; i++)
    o->a[i] = test_below(rng, 20) == 0 ? edges[test_below(rng, 8)] : (float)test_gauss(rng);
  for (size_t i = 0; i < DEPTH * CPB_PANEL_COLS; i++)
    o->b[i] = i % CPB_PANEL_COLS < columns ? (float)test_gauss(rng) : 0;
  for (size_t i = 0; i < ROWS; i++) o->start[i] = test_below(rng, 9) == 0 ? INFINITY : (float)test_gauss(rng);
  for (size_t j = 0; j < CPB_PANEL_COLS; j++) o->threshold[j] = test_below(rng, 4) == 0 ? -INFINITY : 20;
}

static void run(const cpb_loops *loops, const operands *o, size_t rows, size_t k, size_t columns, told *t) {
  memset(t, 0, sizeof *t);
  t->columns = columns;
  loops->panel(&(cpb_panel){.rows = rows,
                            .k = k,
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
  static const size_t depths[] = {0, 1, 2, 3, 17, 96, 200};
  const cpb_loops *tables[CPB_TABLES];
  size_t count = cpb_loops_all(tables);
  test_rng rng = {141};
  for (size_t columns = 1; columns <= CPB_PANEL_COLS; columns++)
    for (size_t turn = 0; turn < 2; turn++) {
      size_t i = (columns + 3 * turn) % (sizeof depths / sizeof *depths);
      size_t rows = test_below(&rng, ROWS + 1);
      fill(&o, columns, &rng);
      run(tables[0], &o, rows, depths[i], columns, &plain);
      for (size_t t = 1; t < count; t++) {
        run(tables[t], &o, rows, depths[i], columns, &other);
        assert_memory_equal(&plain, &other, sizeof plain);
      }
    }
}

static void the_plain_one_is_the_chain(void **state) {
  (void)state;
  static operands o;
  static told t;
  const cpb_loops *tables[CPB_TABLES];
  cpb_loops_all(tables);
  test_rng rng = {142};
  fill(&o, CPB_PANEL_COLS, &rng);
  run(tables[0], &o, ROWS, DEPTH, CPB_PANEL_COLS, &t);
  size_t at = 0;
  for (size_t i = 0; i < ROWS; i++) {
    float value[CPB_PANEL_COLS];
    uint64_t above = 0;
    for (size_t j = 0; j < CPB_PANEL_COLS; j++) {
      value[j] = o.start[i];
      for (size_t k = 0; k < DEPTH; k++)
        value[j] = fmaf(o.a[cpb_panel_at(DEPTH, i, k)], o.b[k * CPB_PANEL_COLS + j], value[j]);
      if (value[j] > o.threshold[j])
        above |= (uint64_t)1 << j;
      else
        value[j] = 0;
    }
    if (above == 0) continue;
    assert_int_equal(t.row[at], i);
    assert_true(t.above[at] == above);
    assert_memory_equal(t.value[at++], value, sizeof value);
  }
  assert_int_equal(t.rows, at);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(tables_agree),
                                     cmocka_unit_test(the_plain_one_is_the_chain)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Sources of unknown length are read once and cached if they have few rows, and read again if they have many; the
 * rows are the same. */
#include "statistics/passes.h"

#include "support/check.h"

enum { COLS = 1024, BLOCK = 1000, FEW = 8192 /* rows of doubles: 64 MiB, the most that is kept */ };

typedef struct counter {
  size_t rows, at, passes;
  double block[BLOCK * COLS];
} counter;

static cpb_status count_on(cpb_source *source, cpb_view *block, cpb_error *error) {
  counter *c = source->self;
  size_t left = c->rows - c->at, count = left < BLOCK ? left : BLOCK;
  (void)error;
  for (size_t i = 0; i < count; i++) c->block[i * COLS] = c->block[i * COLS + COLS - 1] = (double)(c->at + i);
  *block = cpb_rows(c->block, CPB_F64, count, COLS);
  c->at += count;
  c->passes += count == 0;
  return CPB_OK;
}

static cpb_status count_anew(cpb_source *source, cpb_error *error) {
  (void)error;
  ((counter *)source->self)->at = 0;
  return CPB_OK;
}

static void expect_pass(cpb_source *source, size_t rows) {
  cpb_view block;
  cpb_error error;
  size_t seen = 0;
  assert_int_equal(source->rewind(source, &error), CPB_OK);
  for (;;) {
    assert_int_equal(source->next(source, &block, &error), CPB_OK);
    if (block.rows == 0) break;
    for (size_t i = 0; i < block.rows; i++, seen++) {
      const double *row = (const double *)block.data + i * block.stride;
      if (row[0] != (double)seen || row[COLS - 1] != (double)seen) fail_msg("row %zu is another", seen);
    }
  }
  assert_int_equal(seen, rows);
}

static void passes_read_what_is_not_kept(void **state) {
  (void)state;
  static counter c;
  static const size_t rows[] = {0, 1, FEW - 1, FEW, FEW + 1};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    c = (counter){.rows = rows[i]};
    cpb_source of = {.size = sizeof of,
                     .cols = COLS,
                     .dtype = CPB_F64,
                     .rows = CPB_ROWS_UNKNOWN,
                     .next = count_on,
                     .rewind = count_anew,
                     .self = &c};
    cpb_cached_source kept;
    cpb_cached_source_init(&kept, &of);
    for (int pass = 0; pass < 3; pass++) expect_pass(&kept.source, rows[i]);
    assert_int_equal(c.passes, rows[i] > 0 && rows[i] <= FEW ? 1 : 3);
    cpb_cached_source_free(&kept);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(passes_read_what_is_not_kept)};
  return cmocka_run_group_tests_name("rows that are kept", tests, NULL, NULL);
}

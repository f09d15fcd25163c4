/* Rows of T12: every instruction set gives the bits of the plain loops, for every length, place and way of storing. */
#include "support/check.h"

#include "loop/table.h"

enum { MOST = 800, SHIFTS = 17, ROWS = 3 };

/* Rows of `d` numbers that end where their memory ends, so that sanitizers see what reads too far. */
static void *numbers(test_rng *rng, size_t d, int real) {
  void *x = malloc(d > 0 ? d * (real ? 8 : 4) : 1);
  for (size_t i = 0; i < d; i++) {
    double value = test_gauss(rng) * test_log_uniform(rng, 1e-3, 1e3);
    if (real)
      ((double *)x)[i] = value;
    else
      ((float *)x)[i] = (float)value;
  }
  return x;
}

/* What the loops of rows that are kept as doubles give, where there are such: the same. */
static void kept_row(const cpb_loops *fast, const void *row, const void *g, size_t d,
                     const double *wanted_sums, double *kept) {
  double sums[3];
  for (size_t i = 0; i < 2 * CPB_LAYER_KEPT; i++) kept[i] = NAN;
  fast->layer->sums_kept(row, g, d, kept, sums);
  assert_memory_equal(sums, wanted_sums, sizeof sums);
  for (size_t i = 0; i < d; i++) {
    assert_true(kept[i] == (double)((const float *)row)[i]);
    assert_true(kept[CPB_LAYER_KEPT + i] == (double)((const float *)g)[i]);
  }
}

/* Rows one after the other: each takes up where the one before it ended. */
static void one_row(test_rng *rng, const cpb_loops *plain, const cpb_loops *fast, size_t d, int real) {
  size_t size = real ? 8 : 4, room = ((ROWS * (MOST + 1) + SHIFTS + 16) * 8 + 63) / 64 * 64;
  void *row = numbers(rng, d, real), *g = numbers(rng, d, real);
  char *wanted = aligned_alloc(64, room), *got = aligned_alloc(64, room);
  double wanted_sums[3], sums[3];
  plain->layer->sums[real](row, g, d, wanted_sums);
  fast->layer->sums[real](row, g, d, sums);
  assert_memory_equal(sums, wanted_sums, sizeof sums);
  static double kept[2 * CPB_LAYER_KEPT];
  bool keeps = real == 0 && fast->layer->sums_kept != NULL;
  if (keeps) kept_row(fast, row, g, d, wanted_sums, kept);
  for (size_t shift = 0; shift < SHIFTS; shift += 1 + test_below(rng, 5)) {
    cpb_layer_carry carry = {.bytes = 0};
    cpb_layer_line line = {.g = g,
                           .row = row,
                           .next_g = row,
                           .next_row = g,
                           .out = wanted + shift * size,
                           .d = d,
                           .toward_g = test_gauss(rng),
                           .toward_row = test_gauss(rng),
                           .last = test_gauss(rng),
                           .has_last = test_below(rng, 2) == 0,
                           .carry = test_below(rng, 4) != 0 ? &carry : NULL};
    size_t length = d + line.has_last;
    memset(wanted, 0x5a, room), memset(got, 0x5a, room);
    for (size_t i = 0; i < ROWS; i++, line.out = (char *)line.out + length * size)
      plain->layer->gradient[real](&line);
    line.out = got + shift * size;
    for (size_t i = 0; i < ROWS; i++, line.out = (char *)line.out + length * size)
      fast->layer->gradient[real](&line);
    fast->layer->fence();
    if (carry.bytes > 0) memcpy(carry.out, carry.line, carry.bytes);
    assert_memory_equal(got, wanted, room);
    if (!keeps) continue;
    memset(got, 0x5a, room);
    carry.bytes = 0;
    line.row = kept, line.g = kept + CPB_LAYER_KEPT, line.out = got + shift * size;
    for (size_t i = 0; i < ROWS; i++, line.out = (char *)line.out + length * size)
      fast->layer->gradient_kept(&line);
    fast->layer->fence();
    if (carry.bytes > 0) memcpy(carry.out, carry.line, carry.bytes);
    assert_memory_equal(got, wanted, room);
  }
  free(row), free(g), free(wanted), free(got);
}

static void rows_of_every_length(void **state) {
  (void)state;
  static const size_t large[] = {255, 256, 257, 272, 511, 784, 800};
  const cpb_loops *tables[CPB_TABLES];
  size_t count = cpb_loops_all(tables);
  test_rng rng = {1};
  for (size_t t = 1; t < count; t++)
    for (size_t k = 0; k < 68 + 7; k++)
      for (int real = 0; real < 2; real++)
        one_row(&rng, tables[0], tables[t], k < 68 ? k : large[k - 68], real);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(rows_of_every_length)};
  return cmocka_run_group_tests_name("loop_layer", tests, NULL, NULL);
}

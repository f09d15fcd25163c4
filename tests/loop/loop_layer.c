/* Rows of T12: every instruction set gives the bits of the plain loops, for every length, alignment and kind of
 * store. */
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

enum { LINES = 2 };

/* One turn of a loop over LINES ranges: rows are written that begin `at` bytes into the memory of their range. */
static void turn(cpb_layer_loop *loop, cpb_layer_line *lines, char *out[LINES], size_t at, size_t d) {
  for (size_t start = 0; start == 0 || start < d; start += CPB_CHUNK)
    for (size_t k = 0; k < LINES; k++) {
      lines[k].out = out[k] + at;
      loop(&lines[k], d, start);
    }
}

/* ROWS equal rows of every range, one after the other: each takes up where the one before it ended. What is summed on
 * the way, or not, is the same row. */
static void rows(cpb_layer_loop *loop, const cpb_layer_line *line, char *out[LINES], size_t d, size_t size,
                 bool stream, double sums[LINES][3]) {
  static double kept[LINES][2 * (CPB_LAYER_KEPT + CPB_LANES)];
  cpb_layer_carry carry[LINES];
  cpb_layer_line lines[LINES];
  for (size_t k = 0; k < LINES; k++) {
    carry[k].bytes = 0;
    lines[k] = *line;
    lines[k].carry = stream ? &carry[k] : NULL;
    lines[k].kept = kept[k] + CPB_LANES;
    lines[k].last = line->last + (double)k;
  }
  for (size_t i = 0; i < ROWS; i++) {
    turn(loop, lines, out, i * (d + line->has_last) * size, d);
    for (size_t k = 0; i == 0 && k < LINES; k++) {
      memcpy(sums[k], lines[k].sums, sizeof lines[k].sums);
      lines[k].next_row = k == 0 ? NULL : lines[k].next_row; /* at its end, a range sums nothing */
    }
  }
  for (size_t k = 0; k < LINES; k++)
    if (stream && carry[k].bytes > 0) memcpy(carry[k].out, carry[k].line, carry[k].bytes);
}

/* What the loops of rows that are kept as doubles take and give, where there are such: the same. */
static void kept_row(const cpb_loops *fast, cpb_layer_line line, size_t d, const double *wanted_sums,
                     double *kept) {
  for (size_t i = 0; i < 2 * CPB_LAYER_KEPT; i++) kept[i] = NAN;
  line.out = NULL;
  line.kept = kept;
  fast->layer->kept(&line, d, 0);
  assert_memory_equal(line.sums, wanted_sums, sizeof line.sums);
  for (size_t i = 0; i < d; i++) {
    assert_true(kept[i] == (double)((const float *)line.row)[i]);
    assert_true(kept[CPB_LAYER_KEPT + i] == (double)((const float *)line.g)[i]);
  }
}

static void one_row(test_rng *rng, const cpb_loops *plain, const cpb_loops *fast, size_t d, int real) {
  size_t size = real ? 8 : 4, room = ((ROWS * (MOST + 1) + SHIFTS + 16) * 8 + 63) / 64 * 64;
  void *row = numbers(rng, d, real), *g = numbers(rng, d, real);
  char *wanted = aligned_alloc(64, LINES * room), *got = aligned_alloc(64, LINES * room);
  bool keeps = real == 0 && fast->layer->kept != NULL && d <= CPB_LAYER_KEPT;
  for (size_t shift = 0; shift < SHIFTS; shift += 1 + test_below(rng, 5)) {
    cpb_layer_line line = {.g = g,
                           .row = row,
                           .next_g = g,
                           .next_row = row,
                           .toward_g = test_gauss(rng),
                           .toward_row = test_gauss(rng),
                           .last = test_gauss(rng),
                           .has_last = test_below(rng, 2) == 0};
    bool stream = test_below(rng, 4) != 0;
    double wanted_sums[LINES][3], sums[LINES][3];
    char *wanted_out[] = {wanted + shift * size, wanted + room + shift * size};
    char *out[] = {got + shift * size, got + room + shift * size};
    memset(wanted, 0x5a, LINES * room), memset(got, 0x5a, LINES * room);
    rows(plain->layer->real[real], &line, wanted_out, d, size, stream, wanted_sums);
    rows(fast->layer->real[real], &line, out, d, size, stream, sums);
    fast->layer->fence();
    assert_memory_equal(sums, wanted_sums, sizeof sums);
    assert_memory_equal(got, wanted, LINES * room);
    if (!keeps) continue;
    static double around[2 * (CPB_LAYER_KEPT + CPB_LANES)];
    double *kept = around + CPB_LANES;
    kept_row(fast, line, d, wanted_sums[0], kept);
    line.row = kept, line.g = kept + CPB_LAYER_KEPT;
    memset(got, 0x5a, LINES * room);
    rows(fast->layer->kept, &line, out, d, size, stream, sums);
    fast->layer->fence();
    assert_memory_equal(sums, wanted_sums, sizeof sums);
    assert_memory_equal(got, wanted, LINES * room);
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

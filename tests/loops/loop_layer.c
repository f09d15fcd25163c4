/* Rows of T12: every instruction set gives the bits of dot and axpby, for every length, alignment and kind of store. */
#include "support/check.h"

#include "sphere/layer.h"

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

/* ROWS equal rows of every range, one after the other: each takes up where the one before it ended. The first row sums
 * the next one, and writes nothing where rows are kept; at the end of the ranges nothing is summed. */
static void rows(cpb_layer_loop *loop, const cpb_layer_line *line, char *out[LINES], size_t d, size_t size,
                 size_t count, bool keeps, bool stream, double sums[LINES][3]) {
  static double kept[LINES * 2 * CPB_LAYER_KEPT + CPB_LANES];
  cpb_layer_carry carry[LINES];
  cpb_layer_line lines[LINES];
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) kept[i] = NAN;
  for (size_t k = 0; k < LINES; k++) {
    carry[k].bytes = 0;
    lines[k] = *line;
    lines[k].carry = stream ? &carry[k] : NULL;
    lines[k].kept = kept + k * 2 * CPB_LAYER_KEPT;
    lines[k].last = line->last + (double)k;
  }
  if (keeps)
    for (size_t k = 0; k < LINES; k += count) loop(lines + k, count, d);
  for (size_t i = 0; i < ROWS; i++) {
    for (size_t k = 0; k < LINES; k++) {
      lines[k].out = out[k] + i * (d + line->has_last) * size;
      lines[k].next_row = i + 1 < ROWS ? line->next_row : NULL;
    }
    for (size_t k = 0; k < LINES; k += count) loop(lines + k, count, d);
    for (size_t k = 0; i == 0 && k < LINES; k++) memcpy(sums[k], lines[k].sums, sizeof lines[k].sums);
  }
  for (size_t k = 0; k < LINES; k++)
    if (stream && carry[k].bytes > 0)
      memcpy(carry[k].out, carry[k].last + sizeof carry[k].last - carry[k].bytes, carry[k].bytes);
}

static void widened(const void *x, size_t d, int real, double *to) {
  for (size_t i = 0; i < d; i++) to[i] = real ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

/* The same rows and sums by the loops over doubles. */
static void wanted_rows(const cpb_loops *loops, const cpb_layer_line *line, char *out[LINES], size_t d,
                        int real, double sums[LINES][3]) {
  double x[MOST + 1], g[MOST + 1], z[MOST + 1];
  widened(line->row, d, real, x), widened(line->g, d, real, g);
  loops->axpby(line->toward_g, g, line->toward_row, x, z, d);
  for (size_t k = 0; k < LINES; k++) {
    size_t length = d + line->has_last;
    z[d] = line->last + (double)k;
    for (size_t i = 0; i < ROWS * length; i++)
      if (real)
        ((double *)out[k])[i] = z[i % length];
      else
        ((float *)out[k])[i] = (float)z[i % length];
    sums[k][0] = loops->dot(x, x, d), sums[k][1] = loops->dot(x, g, d), sums[k][2] = loops->dot(g, g, d);
  }
}

static void one_row(test_rng *rng, const cpb_loops *plain, const cpb_loops *fast, size_t d, int real) {
  size_t size = real ? 8 : 4, room = ((ROWS * (MOST + 1) + SHIFTS + 16) * 8 + 63) / 64 * 64;
  void *row = numbers(rng, d, real), *g = numbers(rng, d, real);
  char *wanted = aligned_alloc(64, LINES * room), *got = aligned_alloc(64, LINES * room);
  const cpb_layer_loops *layer = cpb_layer_loops_of(fast);
  bool may_keep = real == 0 && layer->kept != NULL && d <= CPB_LAYER_KEPT;
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
    size_t apart =
        room + (test_below(rng, 2) == 0 ? size : 0); /* ranges may begin at different places in a group */
    char *wanted_out[] = {wanted + shift * size, wanted + apart + shift * size};
    char *out[] = {got + shift * size, got + apart + shift * size};
    memset(wanted, 0x5a, LINES * room);
    wanted_rows(plain, &line, wanted_out, d, real, wanted_sums);
    for (int keeps = 0; keeps <= may_keep; keeps++)
      for (size_t count = 1; count <= LINES; count++) {
        memset(got, 0x5a, LINES * room);
        rows(keeps ? layer->kept : layer->real[real], &line, out, d, size, count, keeps, stream, sums);
        layer->fence();
        assert_memory_equal(sums, wanted_sums, sizeof sums);
        assert_memory_equal(got, wanted, LINES * room);
      }
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
    for (size_t k = 1; k < 68 + 7; k++)
      for (int real = 0; real < 2; real++)
        one_row(&rng, tables[0], tables[t], k < 68 ? k : large[k - 68], real);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(rows_of_every_length)};
  return cmocka_run_group_tests_name("loop_layer", tests, NULL, NULL);
}

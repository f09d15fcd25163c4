/* The levels of principal sketches: every instruction set writes the same codes and sums; the sums are those of the codes; the
 * direction of the levels is nearly as near to that of the row as that of any other step. */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <stdlib.h>

#include "loops/table.h"
#include "sketch/levels.h"
#include "sketch/sketch_loops.h"

enum { ROWS = 37, MOST = 272 };

typedef struct given {
  size_t n, stride, bits_per;
  _Alignas(64) float c[ROWS * MOST];
} given;

typedef struct result {
  cpb_levels_chosen chosen[ROWS];
  uint8_t codes[ROWS][MOST + 1];
} result;

/* Ordinary rows, with a few large numbers, tiny ones, and zeros. */
static void fill(test_rng *rng, given *g) {
  g->stride = cpb_levels_padded(g->n);
  memset(g->c, 0, sizeof g->c);
  for (size_t row = 0; row < ROWS; row++)
    for (size_t i = 0; i < g->n; i++) {
      double x = test_gauss(rng);
      if (row % 5 == 1) x *= x * x;
      if (row % 5 == 2) x *= 1e-25;
      if (row % 5 == 3 && test_below(rng, 3) > 0) x = test_below(rng, 2) == 0 ? 0.0 : -0.0;
      if (row % 5 == 4) x = 0;
      g->c[row * g->stride + i] = (float)x;
    }
}

static void run(const given *g, result *to) {
  memset(to, 0xa5, sizeof *to);
  cpb_sketch_loops_here()->levels(&(cpb_levels_job){.c = g->c,
                                                    .rows = ROWS,
                                                    .n = g->n,
                                                    .stride = g->stride,
                                                    .bits_per = g->bits_per,
                                                    .codes = to->codes[0],
                                                    .code_stride = sizeof to->codes[0],
                                                    .chosen = to->chosen});
}

static void next_shape(test_rng *rng, given *g) {
  g->bits_per = (size_t)1 << test_below(rng, 3);
  size_t each = 8 / g->bits_per;
  g->n = each * (1 + test_below(rng, MOST / each));
  fill(rng, g);
}

static void instruction_sets_agree(void **state) {
  (void)state;
  const cpb_loops *tables[CPB_TABLES];
  size_t count = cpb_loops_all(tables);
  static given g;
  static result plain, other;
  test_rng rng = {1701};
  for (int trial = 0; trial < 60; trial++) {
    next_shape(&rng, &g);
    for (size_t t = 0; t < count; t++) {
      setenv("CPB_ISA", tables[t]->name, 1);
      run(&g, t == 0 ? &plain : &other);
      if (t > 0) assert_memory_equal(&plain, &other, sizeof plain);
    }
  }
  unsetenv("CPB_ISA");
}

static void sums_are_those_of_the_codes(void **state) {
  (void)state;
  static given g;
  static result r;
  test_rng rng = {1702};
  for (int trial = 0; trial < 60; trial++) {
    next_shape(&rng, &g);
    run(&g, &r);
    for (size_t row = 0; row < ROWS; row++) {
      double c2 = 0, along = 0, v2 = 0, size = 0;
      for (size_t i = 0; i < g.n; i++) {
        double c = (double)g.c[row * g.stride + i], v = cpb_level_at(r.codes[row], g.bits_per, i);
        assert_true(c * v >= 0);
        c2 += c * c;
        along += c * v;
        size += fabs(c * v);
        v2 += v * v;
      }
      assert_true(r.chosen[row].v2 == v2);
      assert_true(fabs(r.chosen[row].along - along) <= 1e-13 * size);
      assert_true(fabs(r.chosen[row].c2 - c2) <= 1e-5 * c2 + 1e-37);
      assert_int_equal(r.codes[row][g.n * g.bits_per / 8], 0xa5); /* nothing is written behind the code */
    }
  }
}

/* <c,v>^2/|v|^2 for one step. */
static double nearness(const float *c, size_t n, size_t bits_per, double step) {
  double along = 0, v2 = 0, most = (1 << bits_per) / 2 - 1;
  for (size_t i = 0; i < n; i++) {
    double size = fabs((double)c[i]), v = 2 * fmin(floor(size / step), most) + 1;
    along += size * v;
    v2 += v * v;
  }
  return along * along / v2;
}

/* What levels lack of |c|^2, beside what the best of many steps lacks: sums over rows. */
static void steps_are_nearly_the_best(void **state) {
  (void)state;
  static given g;
  static result r;
  test_rng rng = {1703};
  for (g.bits_per = 2; g.bits_per <= 4; g.bits_per *= 2)
    for (g.n = 16; g.n <= 256; g.n *= 4) {
      double lack = 0, least = 0;
      fill(&rng, &g);
      run(&g, &r);
      for (size_t row = 0; row < ROWS; row++) {
        const float *c = g.c + row * g.stride;
        double c2 = r.chosen[row].c2, best = 0, root = sqrt(c2 / (double)g.n);
        if (row % 5 > 1) continue;
        for (double step = 0.1 * root; step < 5 * root; step *= 1.01)
          best = fmax(best, nearness(c, g.n, g.bits_per, step));
        lack += 1 - r.chosen[row].along * r.chosen[row].along / r.chosen[row].v2 / c2;
        least += 1 - best / c2;
      }
      assert_true(lack < 1.25 * least);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(instruction_sets_agree),
                                     cmocka_unit_test(sums_are_those_of_the_codes),
                                     cmocka_unit_test(steps_are_nearly_the_best)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

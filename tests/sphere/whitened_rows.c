/* Whitened maps and ellipsoid scores process rows in blocks: the same bits whatever the instruction set, the
 * threads, the alignment of the output and the neighbouring rows; and the result is W(x-m). */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include "capball/capball.h"
#include "loops/table.h"

enum { ROWS = 250, MOST_D = 100 };

typedef struct sample {
  double W[MOST_D * MOST_D], m[MOST_D], pole[MOST_D + 1];
  double x[ROWS * (MOST_D + 1)], y[ROWS * (MOST_D + 1)], back[ROWS * (MOST_D + 1)], scores[ROWS];
  double y2[ROWS * (MOST_D + 1)], back2[ROWS * (MOST_D + 1)], scores2[ROWS];
} sample;

static void fill(test_rng *rng, size_t d, sample *p) {
  for (size_t i = 0; i < d * d; i++) p->W[i] = (i % (d + 1) == 0 ? 2 : 0) + test_gauss(rng) / (double)(4 * d);
  for (size_t i = 0; i < d; i++) p->m[i] = test_gauss(rng);
  test_direction(rng, d + 1, p->pole);
  for (size_t i = 0; i < ROWS * d; i++) p->x[i] = test_gauss(rng);
}

static cpb_map *new_map(size_t d, const sample *p, bool pole) {
  cpb_map_options o;
  cpb_map_options_init(&o, sizeof o);
  o.d = d;
  o.s = 1.5;
  o.center = p->m;
  o.whiten = p->W;
  if (pole) o.pole = p->pole;
  cpb_map *map;
  cpb_error error;
  test_status((int)cpb_map_new(&o, &map, &error), CPB_OK, error.text);
  return map;
}

static void run(const cpb_map *map, size_t d, const sample *p, const cpb_exec *exec, double *y, double *back,
                double *scores) {
  cpb_region region = {.kind = CPB_BALL, .d = d, .c = (double *)(uintptr_t)p->m, .r = 2, .W = p->W};
  cpb_view x = cpb_rows(p->x, CPB_F64, ROWS, d);
  assert_int_equal(cpb_map_embed(map, x, cpb_rows_out(y, CPB_F64, ROWS, d + 1), exec, NULL), CPB_OK);
  assert_int_equal(cpb_map_unembed(map, cpb_rows(y, CPB_F64, ROWS, d + 1),
                                   cpb_rows_out(back, CPB_F64, ROWS, d), exec, NULL),
                   CPB_OK);
  assert_int_equal(cpb_region_scores(&region, x, cpb_rows_out(scores, CPB_F64, ROWS, 1), exec, NULL), CPB_OK);
}

/* The first row by the map without whitening, of W(x-m) summed here. */
static void check_row(size_t d, const sample *p) {
  double z[MOST_D], y[MOST_D + 1], norm2 = 0;
  for (size_t i = 0; i < d; i++) {
    z[i] = 0;
    for (size_t j = 0; j < d; j++) z[i] += p->W[i * d + j] * (p->x[j] - p->m[j]);
    norm2 += z[i] * z[i];
  }
  for (size_t i = 0; i < d; i++) y[i] = 2 * 1.5 * z[i] / (norm2 + 2.25);
  y[d] = (2.25 - norm2) / (norm2 + 2.25);
  for (size_t i = 0; i <= d; i++) assert_true(fabs(y[i] - p->y[i]) < 1e-13);
  assert_true(fabs(p->scores[0] - (4 - norm2)) < 1e-11 * (4 + norm2));
  for (size_t i = 0; i < ROWS * d; i++) assert_true(fabs(p->back[i] - p->x[i]) < 1e-11);
}

static void same_bits(void **state) {
  (void)state;
  static sample p;
  static const size_t dims[] = {1, 5, 31, 32, 33, MOST_D};
  const cpb_loops *tables[CPB_TABLES];
  size_t count = cpb_loops_all(tables);
  test_rng rng = {1};
  cpb_pool *pool;
  assert_int_equal(cpb_pool_new(3, &pool, NULL), CPB_OK);
  for (size_t k = 0; k < sizeof dims / sizeof *dims; k++)
    for (int pole = 0; pole < 2; pole++) {
      size_t d = dims[k], bytes = ROWS * (d + 1) * sizeof(double);
      fill(&rng, d, &p);
      cpb_map *map = new_map(d, &p, pole);
      setenv("CPB_ISA", "plain", 1);
      run(map, d, &p, NULL, p.y, p.back, p.scores);
      if (!pole) check_row(d, &p);
      for (size_t t = 0; t < count; t++) {
        setenv("CPB_ISA", tables[t]->name, 1);
        run(map, d, &p, t % 2 ? cpb_pool_exec(pool) : NULL, p.y2, p.back2, p.scores2);
        assert_memory_equal(p.y, p.y2, bytes);
        assert_memory_equal(p.back, p.back2, ROWS * d * sizeof(double));
        assert_memory_equal(p.scores, p.scores2, sizeof p.scores);
      }
      for (size_t i = ROWS; i-- > 0;) memmove(p.y2 + i * (d + 1), p.x + i * d, d * sizeof(double));
      assert_int_equal(cpb_map_embed(map, (cpb_view){p.y2, CPB_F64, ROWS, d, d + 1},
                                     cpb_rows_out(p.y2, CPB_F64, ROWS, d + 1), NULL, NULL),
                       CPB_OK);
      assert_memory_equal(p.y, p.y2, bytes);
      assert_int_equal(cpb_map_embed(map, cpb_rows(p.x + 97 * d, CPB_F64, 1, d),
                                     cpb_rows_out(p.y2, CPB_F64, 1, d + 1), NULL, NULL),
                       CPB_OK);
      assert_memory_equal(p.y + 97 * (d + 1), p.y2, (d + 1) * sizeof(double));
      cpb_map_free(map);
    }
  unsetenv("CPB_ISA");
  cpb_pool_free(pool);
}

/* A row without an answer is named, and spoils no other. */
static void bad_rows(void **state) {
  (void)state;
  static sample p;
  test_rng rng = {2};
  size_t d = 33;
  fill(&rng, d, &p);
  cpb_map *map = new_map(d, &p, false);
  run(map, d, &p, NULL, p.y, p.back, p.scores);
  p.x[150 * d + 3] = NAN;
  cpb_error error;
  assert_int_equal(cpb_map_embed(map, cpb_rows(p.x, CPB_F64, ROWS, d),
                                 cpb_rows_out(p.y2, CPB_F64, ROWS, d + 1), NULL, &error),
                   CPB_EROW);
  assert_int_equal(error.row, 150);
  assert_memory_equal(p.y, p.y2, 150 * (d + 1) * sizeof(double));
  assert_memory_equal(p.y + 151 * (d + 1), p.y2 + 151 * (d + 1), (ROWS - 151) * (d + 1) * sizeof(double));
  assert_true(isnan(p.y2[150 * (d + 1)]));
  memset(p.y + 151 * (d + 1), 0, d * sizeof(double));
  p.y[151 * (d + 1) + d] = -1;
  assert_int_equal(cpb_map_unembed(map, cpb_rows(p.y, CPB_F64, ROWS, d + 1),
                                   cpb_rows_out(p.back2, CPB_F64, ROWS, d), NULL, &error),
                   CPB_EROW);
  assert_int_equal(error.row, 151);
  assert_non_null(strstr(error.text, "the pole -v"));
  assert_memory_equal(p.back, p.back2, 151 * d * sizeof(double));
  assert_true(isnan(p.back2[151 * d]));
  cpb_map_free(map);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(same_bits), cmocka_unit_test(bad_rows)};
  return cmocka_run_group_tests_name("whitened_rows", tests, NULL, NULL);
}

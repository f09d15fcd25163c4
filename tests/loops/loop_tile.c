/* Tiles of a matrix product: every table gives the bits of the plain one, and the plain one is the product. */
#include "support/check.h"

#include "loops/block_product.h"
#include "support/big.h"

enum { ROWS = 12, COLS = 64, DEPTH = 200, STRIDE = 67 };

typedef struct operands {
  double a[ROWS * DEPTH + DEPTH * ROWS], b[DEPTH * STRIDE], c[ROWS * STRIDE];
} operands;

static void fill(operands *o, test_rng *rng) {
  static const double edges[] = {0, -0.0, 0x1p-1074, 1e-300, 1e150, -1e150, 1, -1};
  double *all[] = {o->a, o->b, o->c};
  size_t counts[] = {sizeof o->a / sizeof *o->a, DEPTH * STRIDE, ROWS * STRIDE};
  for (size_t part = 0; part < 3; part++)
    for (size_t i = 0; i < counts[part]; i++)
      all[part][i] = test_below(rng, 20) == 0 ? edges[test_below(rng, 8)] : test_gauss(rng);
}

static cpb_product product_of(operands *o, size_t k, bool upright) {
  cpb_product p = {ROWS, COLS, k, o->a, upright ? DEPTH : 1, upright ? 1 : ROWS, o->b, STRIDE, o->c, STRIDE};
  return p;
}

static void tables_agree(void **state) {
  (void)state;
  static operands start, plain, other;
  static const size_t depths[] = {0, 1, 2, 3, 7, 8, 95, 96, 97, 192, 200};
  const cpb_loops *tables[CPB_TABLES];
  size_t count = cpb_loops_all(tables);
  test_rng rng = {91};
  for (size_t trial = 0; trial < 2 * sizeof depths / sizeof *depths; trial++) {
    size_t k = depths[trial / 2];
    fill(&start, &rng);
    plain = start;
    cpb_product p = product_of(&plain, k, trial % 2 == 0);
    cpb_product_add(tables[0], &p);
    for (size_t t = 1; t < count; t++) {
      other = start;
      p = product_of(&other, k, trial % 2 == 0);
      cpb_product_add(tables[t], &p);
      assert_memory_equal(&other, &plain, sizeof plain);
    }
  }
}

/* A product that is set has the bits of one that is added to zeros, whatever was there, NaN too; what is fetched
 * meanwhile is left alone. */
static void set_is_added_to_zeros(void **state) {
  (void)state;
  static operands start, added, set;
  static const size_t depths[] = {0, 1, 96, 97, 200};
  const cpb_loops *tables[CPB_TABLES];
  size_t count = cpb_loops_all(tables);
  test_rng rng = {93};
  for (size_t trial = 0; trial < sizeof depths / sizeof *depths; trial++) {
    fill(&start, &rng);
    if (depths[trial] == 1) start.a[0] = 0x1p-1074, start.b[0] = -0x1p-10; /* which is -0, and 0 when added */
    for (size_t t = 0; t < count; t++) {
      added = set = start;
      for (size_t i = 0; i < ROWS * STRIDE; i++) {
        bool beyond = i % STRIDE >= COLS;
        added.c[i] = beyond ? 7 : 0;
        set.c[i] = beyond ? 7 : NAN;
      }
      cpb_product p = product_of(&added, depths[trial], true), q = product_of(&set, depths[trial], true);
      const char *from = (const char *)start.b;
      cpb_ahead ahead[CPB_AHEAD] = {{from, from + 1000, 192}, {NULL, NULL, 0}, {from, from + 500, 64}};
      cpb_product_add(tables[t], &p);
      cpb_product_set(tables[t], &q, ahead);
      assert_memory_equal(&set, &added, sizeof set);
      assert_true(ahead[0].at <= ahead[0].end && ahead[1].at == NULL && ahead[2].at <= ahead[2].end);
    }
  }
}

/* |error| <= (k+2) u sum |a b| for each element; measured against 512 bits. */
static void the_plain_one_is_the_product(void **state) {
  (void)state;
  static operands o;
  const cpb_loops *tables[CPB_TABLES];
  cpb_loops_all(tables);
  test_rng rng = {92};
  double worst = 0;
  for (size_t i = 0; i < ROWS * DEPTH; i++) o.a[i] = test_gauss(&rng);
  for (size_t i = 0; i < DEPTH * STRIDE; i++) o.b[i] = test_gauss(&rng);
  memset(o.c, 0, sizeof o.c);
  cpb_product p = product_of(&o, DEPTH, true);
  cpb_product_add(tables[0], &p);
  for (size_t i = 0; i < ROWS; i++)
    for (size_t j = 0; j < COLS; j += 7) {
      big_reset();
      big sum = big_of(0), size = big_of(0);
      for (size_t k = 0; k < DEPTH; k++) {
        big term = big_mul(big_of(o.a[i * DEPTH + k]), big_of(o.b[k * STRIDE + j]));
        sum = big_add(sum, term);
        size = big_add(size, big_abs(term));
      }
      test_worst(&worst, big_error(o.c[i * STRIDE + j], sum, size));
    }
  for (size_t i = 0; i < ROWS; i++) /* beyond its columns nothing is touched */
    for (size_t j = COLS; j < STRIDE; j++) assert_true(o.c[i * STRIDE + j] == 0);
  law_holds("loops", "product of 200 terms, of sum |a b|", "f64", worst, 8);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(tables_agree), cmocka_unit_test(set_is_added_to_zeros),
                                     cmocka_unit_test(the_plain_one_is_the_product)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

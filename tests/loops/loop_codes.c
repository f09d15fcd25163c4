/* The loops of joined codes: every instruction set finds the same centres and the same estimates; centres are the nearest, and sums
 * those of the tables. */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <stdlib.h>

#include "loops/table.h"
#include "sketch/sketch_loops.h"

/* ---- nearest centres ---- */

enum { ROWS = 61, MOST = 21 };

typedef struct given {
  _Alignas(64) float centres[256 * MOST], half[256], x[ROWS * MOST];
  cpb_book book;
} given;

static void fill(test_rng *rng, given *g, size_t count, double size) {
  g->book = (cpb_book){.count = count, .centres = g->centres};
  for (size_t i = 0; i < 256 * count; i++) g->centres[i] = (float)(size * test_gauss(rng));
  for (size_t i = 0; i < ROWS * count; i++) g->x[i] = (float)(size * test_gauss(rng));
  for (size_t k = 0; k < count; k++) { /* rows that are centres, and equal centres */
    g->x[k] = g->centres[256 * k + 200];
    g->centres[256 * k + 250] = g->centres[256 * k + 7];
    g->x[count + k] = g->centres[256 * k + 7];
  }
  for (size_t i = 0; i < 256; i++) {
    double sum = 0;
    for (size_t k = 0; k < count; k++)
      sum += (double)g->centres[256 * k + i] * (double)g->centres[256 * k + i];
    g->half[i] = (float)(sum / 2);
  }
}

static void find(const given *g, uint8_t *codes) {
  cpb_sketch_loops_here()->nearest(&(cpb_nearest){.book = &g->book,
                                                  .half = g->half,
                                                  .x = g->x,
                                                  .rows = ROWS,
                                                  .stride = g->book.count,
                                                  .codes = codes,
                                                  .code_stride = 1});
}

static double distance2(const given *g, size_t row, size_t centre) {
  double sum = 0;
  for (size_t k = 0; k < g->book.count; k++) {
    double apart = (double)g->x[row * g->book.count + k] - (double)g->centres[256 * k + centre];
    sum += apart * apart;
  }
  return sum;
}

static void centres_are_nearest_everywhere(void **state) {
  (void)state;
  const cpb_loops *tables[CPB_TABLES];
  size_t count = cpb_loops_all(tables);
  static const double sizes[] = {1, 1e-18, 1e12, 0};
  static given g;
  uint8_t codes[ROWS], again[ROWS];
  test_rng rng = {1711};
  for (size_t trial = 0; trial < 4 * MOST; trial++) {
    fill(&rng, &g, 1 + trial % MOST, sizes[trial / MOST]);
    for (size_t t = 0; t < count; t++) {
      setenv("CPB_ISA", tables[t]->name, 1);
      find(&g, t == 0 ? codes : again);
      if (t > 0) assert_memory_equal(codes, again, ROWS);
    }
    for (size_t row = 0; row < ROWS && trial < MOST; row++) {
      double found = distance2(&g, row, codes[row]), size = distance2(&g, row, 0);
      for (size_t i = 0; i < 256; i++) size = fmax(size, distance2(&g, row, i));
      for (size_t i = 0; i < 256; i++)
        assert_true(found <= distance2(&g, row, i) * (1 + 0x1p-14) + size * 0x1p-20);
    }
    if (trial < MOST && trial > 3) assert_int_equal(codes[0], 200);
    if (trial < MOST && trial > 3) assert_int_equal(codes[1], 7); /* not 250, which is the same */
  }
  unsetenv("CPB_ISA");
}

/* ---- the scan ---- */

enum { BLOCKS = 3, BYTES = 37, ALL = BLOCKS * CPB_SCAN_ROWS };

typedef struct world {
  _Alignas(64) uint8_t tables[CPB_SCAN_QUERIES][256 * BYTES];
  uint8_t codes[ALL * BYTES];
  float factors[2 * ALL];
} world;

typedef struct seen {
  float estimates[CPB_SCAN_QUERIES][ALL];
  uint64_t below[CPB_SCAN_QUERIES][BLOCKS];
} seen;

static float see(void *context, size_t query, size_t block, uint64_t below, const float *estimates) {
  seen *s = context;
  memcpy(s->estimates[query] + block * CPB_SCAN_ROWS, estimates, CPB_SCAN_ROWS * sizeof *estimates);
  s->below[query][block] = below;
  return query == 1 ? 0.5f : 1e9f; /* the limit falls for one of them */
}

static void scan(const world *w, size_t queries, size_t bytes, void (*with)(cpb_byte_scan *scan), seen *to) {
  memset(to, 0, sizeof *to);
  cpb_byte_scan job = {
      .blocks = BLOCKS, .bytes = bytes, .codes = w->codes, .factors = w->factors, .queries = queries};
  for (size_t q = 0; q < queries; q++) job.query[q] = (cpb_scan_query){w->tables[q], 0.01f, -1.5f, 1e9f};
  job.found = see;
  job.context = to;
  with(&job);
}

static void fill_world(test_rng *rng, world *w) {
  for (size_t q = 0; q < CPB_SCAN_QUERIES; q++)
    for (size_t i = 0; i < 256 * BYTES; i++) w->tables[q][i] = (uint8_t)test_below(rng, 256);
  for (size_t i = 0; i < ALL * BYTES; i++) w->codes[i] = (uint8_t)test_below(rng, 256);
  for (size_t i = 0; i < 2 * ALL; i++) w->factors[i] = (float)(1 + test_gauss(rng) / 4);
}

/* Every table and every code of one block, against their definition. */
static void check_sums(const world *w, size_t bytes, const seen *s) {
  for (size_t row = 0; row < CPB_SCAN_ROWS; row++) {
    unsigned sum = 0;
    for (size_t j = 0; j < bytes; j++)
      sum += w->tables[0][256 * j + w->codes[j * CPB_SCAN_ROWS + cpb_scan_lane(row)]];
    float along = (float)sum * 0.01f + -1.5f,
          right = w->factors[row] - w->factors[CPB_SCAN_ROWS + row] * along;
    assert_true(s->estimates[0][row] == right);
  }
}

static void scans_agree(void **state) {
  (void)state;
  const cpb_loops *tables[CPB_TABLES];
  size_t count = cpb_loops_all(tables);
  static world w;
  static seen plain, other;
  test_rng rng = {1712};
  for (size_t trial = 0; trial < 40; trial++) {
    size_t queries = 1 + trial % CPB_SCAN_QUERIES, bytes = trial < 30 ? trial + 1 : BYTES;
    fill_world(&rng, &w);
    for (size_t t = 0; t < count; t++) {
      setenv("CPB_ISA", tables[t]->name, 1);
      scan(&w, queries, bytes, cpb_sketch_loops_here()->scan, t == 0 ? &plain : &other);
      if (t > 0) assert_memory_equal(&plain, &other, sizeof plain);
    }
    check_sums(&w, bytes, &plain);
  }
  unsetenv("CPB_ISA");
}

static void permutations_agree(void **state) {
  (void)state;
  void (*vbmi)(cpb_byte_scan *) = cpb_sketch_scan_vbmi_here();
  if (vbmi == NULL) {
    print_message("skipped: this processor has no AVX-512 VBMI\n");
    skip();
  }
  static world w;
  static seen plain, other;
  test_rng rng = {1713};
  for (size_t trial = 0; trial < 40; trial++) {
    size_t queries = 1 + trial % CPB_SCAN_QUERIES, bytes = trial < 30 ? trial + 1 : BYTES;
    fill_world(&rng, &w);
    setenv("CPB_ISA", "plain", 1);
    scan(&w, queries, bytes, cpb_sketch_loops_here()->scan, &plain);
    scan(&w, queries, bytes, vbmi, &other);
    assert_memory_equal(&plain, &other, sizeof plain);
  }
  unsetenv("CPB_ISA");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(centres_are_nearest_everywhere),
                                     cmocka_unit_test(scans_agree), cmocka_unit_test(permutations_agree)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

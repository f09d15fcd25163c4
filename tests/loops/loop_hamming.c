/* Hamming distances and signs: every table gives the groups, codes and distances of the plain one, and the plain
 * one is checked bit by bit. */
#include "support/check.h"

#include "loops/table.h"

enum { GROUPS = 9, WORDS = 67 };

typedef struct told {
  size_t count;
  size_t group[GROUPS];
  unsigned below[GROUPS];
  uint64_t distance[GROUPS][CPB_CODE_GROUP];
  uint64_t falling; /* each call lowers the limit by this */
  uint64_t limit;
} told;

static uint64_t remember(void *context, size_t group, unsigned below, const uint64_t *distances) {
  told *t = context;
  t->group[t->count] = group;
  t->below[t->count] = below;
  memcpy(t->distance[t->count++], distances, sizeof t->distance[0]);
  t->limit = t->limit > t->falling ? t->limit - t->falling : 0;
  return t->limit;
}

static _Alignas(64) uint64_t codes[GROUPS * WORDS * CPB_CODE_GROUP];
static uint64_t query[WORDS];

static void run(const cpb_loops *loops, size_t groups, size_t words, uint64_t limit, told *t) {
  *t = (told){.limit = limit, .falling = 1};
  loops->hamming(&(cpb_hamming){groups, words, codes, query, limit, remember, t});
}

static void fill(test_rng *rng) {
  for (size_t i = 0; i < GROUPS * WORDS * CPB_CODE_GROUP; i++)
    codes[i] = test_below(rng, 8) == 0 ? (test_below(rng, 2) == 0 ? 0 : UINT64_MAX) : test_bits(rng);
  for (size_t j = 0; j < WORDS; j++) query[j] = test_below(rng, 8) == 0 ? UINT64_MAX : test_bits(rng);
}

static void tables_agree(void **state) {
  (void)state;
  const cpb_loops *tables[CPB_TABLES];
  size_t count = cpb_loops_all(tables);
  test_rng rng = {171};
  static told plain, other;
  for (size_t words = 0; words <= WORDS; words++)
    for (size_t trial = 0; trial < 6; trial++) {
      size_t groups = test_below(&rng, GROUPS + 1);
      uint64_t limits[] = {0, 1, 32 * words, 32 * words + 8, 64 * words + 1, INT64_MAX};
      fill(&rng);
      run(tables[0], groups, words, limits[trial], &plain);
      for (size_t t = 1; t < count; t++) {
        run(tables[t], groups, words, limits[trial], &other);
        assert_memory_equal(&plain, &other, sizeof plain);
      }
    }
}

static void the_plain_one_counts_bits(void **state) {
  (void)state;
  const cpb_loops *tables[CPB_TABLES];
  cpb_loops_all(tables);
  test_rng rng = {172};
  static told t;
  for (size_t words = 1; words <= 5; words++) {
    fill(&rng);
    run(tables[0], GROUPS, words, INT64_MAX, &t);
    assert_int_equal(t.count, GROUPS);
    for (size_t group = 0; group < GROUPS; group++)
      for (size_t i = 0; i < CPB_CODE_GROUP; i++) {
        uint64_t bits = 0;
        for (size_t j = 0; j < words; j++)
          for (unsigned bit = 0; bit < 64; bit++)
            bits += ((codes[(group * words + j) * CPB_CODE_GROUP + i] ^ query[j]) >> bit) & 1;
        assert_int_equal(t.distance[group][i], bits);
      }
  }
}

static void signs_agree(void **state) {
  (void)state;
  static const float edges[] = {0, -0.0f, 0x1p-149f, -0x1p-149f, 1, -1, INFINITY, -INFINITY, NAN, 2, -2};
  static const float margins[] = {0, 0x1p-149f, 1, INFINITY};
  const cpb_loops *tables[CPB_TABLES];
  size_t count = cpb_loops_all(tables);
  test_rng rng = {173};
  for (size_t trial = 0; trial < 100; trial++) {
    float values[CPB_PANEL_COLS], margin = margins[trial % 4];
    for (size_t j = 0; j < CPB_PANEL_COLS; j++)
      values[j] = trial % 2 == 0 ? edges[test_below(&rng, 11)] : (float)test_gauss(&rng);
    for (size_t t = 0; t < count; t++) {
      uint64_t above, unsure;
      tables[t]->signs(values, margin, &above, &unsure);
      for (size_t j = 0; j < CPB_PANEL_COLS; j++) {
        assert_int_equal(above >> j & 1, values[j] > margin);
        assert_int_equal(unsure >> j & 1, !(values[j] > margin) && !(values[j] < -margin));
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(tables_agree),
                                     cmocka_unit_test(the_plain_one_counts_bits),
                                     cmocka_unit_test(signs_agree)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

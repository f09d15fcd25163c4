/* Inline: levels of an index for tests. */
#ifndef CPB_TEST_LEVELS_H
#define CPB_TEST_LEVELS_H

#include "capball/index.h"
#include "support/check.h"

/* Chosen by the program, none, or any: of a few rows directions are as good as arbitrary. */
static inline void test_levels(test_rng *rng, size_t d, size_t levels[CPB_INDEX_LEVELS]) {
  size_t count = test_below(rng, CPB_INDEX_LEVELS + 1), before = 0;
  if (test_below(rng, 4) == 0) levels[0] = CPB_INDEX_UNFOLDED;
  for (size_t i = 0; levels[0] != CPB_INDEX_UNFOLDED && i < count; i++) {
    size_t most = i > 0 ? d : d - 1 < 63 ? d - 1 : 63;
    if (before >= most) break;
    levels[i] = before += 1 + test_below(rng, most - before);
  }
}

#endif

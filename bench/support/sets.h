/* Real sets of ../shared/data, seen from the project's root: base and queries. Benchmarks skip what is not there. */
#ifndef CPB_BENCH_SETS_H
#define CPB_BENCH_SETS_H

#include <stdbool.h>

#include "capball/view.h"

typedef struct bench_set {
  const char *name;
  cpb_view base, queries;
  void *memory[2]; /* of the two; bench_set_load's */
} bench_set;

enum { BENCH_SETS = 10 };
extern const char *const bench_set_names[BENCH_SETS]; /* GloVe, SIFT and Fashion-MNIST first */

/* Reads both files; false where they are not there. */
bool bench_set_load(const char *name, bench_set *set);
void bench_set_free(bench_set *set);

#endif

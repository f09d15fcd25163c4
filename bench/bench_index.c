/* An index that stays beside cpb_knn, which prepares all rows for every call: 1, 10, 100 and 1000 queries, one thread. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capball/advanced/index.h"
#include "capball/capball.h"
#include "support/sets.h"
#include "support/timing.h"

enum { K = 10, MOST_QUERIES = 1000, GAUSS_ROWS = 200000, GAUSS_COLS = 96 };

typedef struct trial {
  cpb_view base, queries;
  cpb_index *index;
  cpb_hit *hits;
} trial;

static void must(cpb_status status, const cpb_error *error) {
  if (status == CPB_OK) return;
  fprintf(stderr, "%s\n", error->text);
  exit(1);
}

static void ask_index(void *arg) {
  trial *t = arg;
  cpb_error error;
  must(cpb_index_search(t->index, t->queries, K, NULL, t->hits, NULL, NULL, &error), &error);
}

static void ask_knn(void *arg) {
  trial *t = arg;
  cpb_error error;
  must(cpb_knn(t->base, t->queries, K, CPB_L2, t->hits, NULL, &error), &error);
}

static cpb_index *build(cpb_view base) {
  cpb_index_options options;
  cpb_error error;
  cpb_index *index;
  cpb_index_options_init(&options, sizeof options);
  options.cols = base.cols;
  options.dtype = base.dtype;
  must(cpb_index_new(&options, &index, &error), &error);
  must(cpb_index_add(index, base, NULL, NULL, &error), &error);
  return index;
}

static void compare(const char *name, cpb_view base, cpb_view all) {
  static cpb_hit hits[2][MOST_QUERIES * K];
  double start = bench_now();
  trial kept = {.base = base, .index = build(base), .hits = hits[0]}, fresh = kept;
  double built = bench_now() - start;
  fresh.hits = hits[1];
  cpb_index_report before = {.size = sizeof before}, after = before;
  cpb_index_describe(kept.index, &before);
  printf("%-16s %7zu x %-4zu built in %.0f ms, %.3f bytes per number\n", name, base.rows, base.cols,
         built * 1e3, (double)before.code_bytes / (double)(base.rows * base.cols));
  for (size_t n = 1; n <= MOST_QUERIES; n *= 10) {
    if (n > all.rows) break;
    kept.queries = fresh.queries = all;
    kept.queries.rows = fresh.queries.rows = n;
    cpb_index_describe(kept.index, &before);
    ask_index(&kept);
    cpb_index_describe(kept.index, &after);
    bench_rival rivals[] = {{"index", ask_index, &kept, 0}, {"knn", ask_knn, &fresh, 0}};
    bench_rounds(rivals, 2, n == MOST_QUERIES ? 5 : 15);
    if (memcmp(hits[0], hits[1], n * K * sizeof **hits) != 0) printf("answers differ\n"), exit(1);
    printf("  %4zu queries: index %8.3f ms, knn %8.3f ms, ratio %6.2f; %.1f rows measured for a query\n", n,
           rivals[0].best * 1e3, rivals[1].best * 1e3, rivals[1].best / rivals[0].best,
           (double)(after.measured - before.measured) / (double)n);
  }
  cpb_index_free(kept.index);
}

/* Sums of twelve, the same on every machine. */
static void fill_gauss(float *x, size_t count) {
  uint64_t state = 7;
  for (size_t i = 0; i < count; i++) {
    float sum = -6;
    for (int j = 0; j < 12; j++) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      sum += (float)(state >> 40) * 0x1p-24f;
    }
    x[i] = sum;
  }
}

int main(void) {
  size_t rows = GAUSS_ROWS + MOST_QUERIES;
  float *x = bench_memory(rows * GAUSS_COLS * sizeof *x);
  bench_print_machine();
  fill_gauss(x, rows * GAUSS_COLS);
  compare("Gauss", cpb_rows(x, CPB_F32, GAUSS_ROWS, GAUSS_COLS),
          cpb_rows(x + (size_t)GAUSS_ROWS * GAUSS_COLS, CPB_F32, MOST_QUERIES, GAUSS_COLS));
  bench_release(x, rows * GAUSS_COLS * sizeof *x);
  for (size_t i = 0; i < 3; i++) {
    bench_set set;
    if (!bench_set_load(bench_set_names[i], &set)) continue;
    compare(set.name, set.base, set.queries);
    bench_set_free(&set);
  }
  return 0;
}

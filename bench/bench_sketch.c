/* Times of joined sketches on generated rows of 128 columns: fit, encoding and scan, for 16, 32 and 64 bytes. Rivals are measured by
 * bench/sketch_rivals.py --speed, in the same units.
 *   build/bench/bench_sketch [ROWS]              from the project's root; 1000000 rows by default */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/random.h"
#include "base/rows.h"
#include "capball/advanced/estimator.h"
#include "capball/capball.h"

enum { D = 128, QUERIES = 100, K = 10, TIMES = 5 };

static void must(cpb_status status, const cpb_error *error) {
  if (status == CPB_OK) return;
  fprintf(stderr, "bench_sketch: %s\n", error->text);
  exit(1);
}

static double now(clockid_t clock) {
  struct timespec at;
  clock_gettime(clock, &at);
  return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

/* Directions whose widths fall as those of data do. */
static float *make_rows(size_t n) {
  cpb_random random = {7};
  float *x = malloc(n * D * sizeof *x);
  for (size_t i = 0; x != NULL && i < n * D; i++)
    x[i] = (float)(cpb_random_gauss(&random) / (1 + (double)(i % D) / 16));
  return x;
}

static cpb_sketch *fit(cpb_view rows, size_t bytes, const cpb_exec *exec) {
  cpb_sketch_training training;
  cpb_sketch_fit_options options;
  cpb_sketch_fit_report report = {.size = sizeof report};
  cpb_sketch *sketch;
  cpb_error error;
  cpb_sketch_training_init(&training, sizeof training);
  cpb_sketch_fit_options_init(&options, sizeof options);
  training.bytes = bytes;
  options.training = &training;
  cpb_source source = cpb_source_from_view(rows);
  double began = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
  must(cpb_sketch_fit(&source, &options, &sketch, &report, exec, &error), &error);
  printf("%zu bytes: fit of %zu rows %.2f s on two threads, %.2f s of the processor; recall %.3f\n", bytes,
         rows.rows, now(CLOCK_MONOTONIC) - began, now(CLOCK_PROCESS_CPUTIME_ID) - cpu,
         report.training.recall[0]);
  return sketch;
}

/* The least of several times of the processor. */
static void encode(const cpb_sketch *sketch, cpb_view rows, uint8_t *codes) {
  cpb_error error;
  double best = INFINITY;
  for (int i = 0; i < TIMES; i++) {
    double began = now(CLOCK_PROCESS_CPUTIME_ID);
    must(cpb_sketch_encode(sketch, rows, codes, NULL, &error), &error);
    best = fmin(best, now(CLOCK_PROCESS_CPUTIME_ID) - began);
  }
  printf("  encoding, one thread: %.2f million rows a second\n", (double)rows.rows / best / 1e6);
}

static void scan(const cpb_sketch *sketch, cpb_view rows, cpb_view codes) {
  static cpb_hit hits[QUERIES * K];
  cpb_estimator *estimator;
  cpb_estimator_options options;
  cpb_error error;
  cpb_estimator_options_init(&options, sizeof options);
  options.k = K;
  must(cpb_estimator_new(sketch, codes, &estimator, &error), &error);
  for (size_t queries = 1; queries <= QUERIES; queries *= QUERIES) {
    double best = INFINITY;
    for (int i = 0; i < TIMES; i++) {
      double began = now(CLOCK_PROCESS_CPUTIME_ID);
      must(cpb_estimator_search(estimator, cpb_view_slice(rows, 0, queries), &options, hits, NULL, NULL,
                                &error),
           &error);
      best = fmin(best, now(CLOCK_PROCESS_CPUTIME_ID) - began);
    }
    printf("  scan, %zu quer%s at once, one thread: %.0f million rows a second\n", queries,
           queries == 1 ? "y" : "ies", (double)(rows.rows * queries) / best / 1e6);
  }
  cpb_estimator_free(estimator);
}

int main(int argc, char **argv) {
  size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;
  float *x = make_rows(n);
  uint8_t *codes = malloc(n * 64);
  cpb_pool *pool;
  cpb_error error;
  if (x == NULL || codes == NULL || n < 1000) return 1;
  must(cpb_pool_new(2, &pool, &error), &error);
  cpb_view rows = {x, CPB_F32, n, D, D};
  for (size_t bytes = 16; bytes <= 64; bytes *= 2) {
    cpb_sketch_options of = {.size = sizeof of};
    cpb_sketch *sketch = fit(rows, bytes, cpb_pool_exec(pool));
    cpb_sketch_describe(sketch, &of);
    encode(sketch, rows, codes);
    scan(sketch, rows, (cpb_view){codes, CPB_U8, n, of.code_bytes, of.code_bytes});
    cpb_sketch_free(sketch);
  }
  cpb_pool_free(pool);
  free(x);
  free(codes);
}

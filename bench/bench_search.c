/* Exact k nearest neighbours as a fraction of the machine's fused multiply-add peak.
 *
 *   build/bench/bench_search [rows, default 100000] [d, default 128] [rounds, default 15]
 *
 * 1000 queries, k = 10, L2; counted are 2 n d operations per query, whatever is done besides. The peak is
 * that of multiply-adds on registers, measured twice in the same rounds: in bursts between the tasks of a
 * search, which is the peak at the clock the search is given, and by itself. Processors may lower their clock
 * for work that loads as much as it multiplies, as every product of matrices does; then the second peak is
 * the higher one. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "capball/capball.h"
#include "support/peak.h"
#include "support/timing.h"

enum { QUERIES = 1000, K = 10 };

typedef struct work {
  cpb_view base, queries;
  cpb_hit *hits;
  const cpb_exec *exec;
} work;

static void search(void *arg) {
  work *w = arg;
  cpb_error error;
  if (cpb_knn(w->base, w->queries, K, CPB_L2, w->hits, w->exec, &error) == CPB_OK) return;
  fprintf(stderr, "%s\n", error.text);
  exit(1);
}

/* One thread that runs bursts of multiply-adds on registers between its tasks, and keeps their time apart. */
typedef struct burst_pool {
  size_t long_tasks, bursts;
  double seconds;
  float sink;
} burst_pool;

/* Only after long tasks: those multiply, the short ones convert rows. */
static void run_with_bursts(void *arg, size_t tasks, void (*task)(void *, size_t), void *task_arg) {
  enum { TASKS_A_BURST = 4 };
  static const double LONG = 1e-4;
  burst_pool *pool = arg;
  for (size_t i = 0; i < tasks; i++) {
    double start = bench_now();
    task(task_arg, i);
    double end = bench_now();
    if (end - start < LONG || ++pool->long_tasks % TASKS_A_BURST != 0) continue;
    peak_burst(&pool->sink);
    pool->seconds += bench_now() - end;
    pool->bursts++;
  }
}

typedef struct bursts {
  work search;
  double best; /* operations a second of any round's bursts */
} bursts;

static void search_with_bursts(void *arg) {
  bursts *b = arg;
  burst_pool pool = {0};
  cpb_exec exec = {.size = sizeof exec, .run = run_with_bursts, .pool = &pool, .threads = 1};
  b->search.exec = &exec;
  search(&b->search);
  double rate = pool.bursts > 0 ? peak_burst_operations() * (double)pool.bursts / pool.seconds : 0;
  if (rate > b->best) b->best = rate;
}

/* About a Gaussian: the sum of four uniform numbers. */
static float noise(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  uint64_t bits = *state >> 16;
  return (float)((bits & 4095) + (bits >> 12 & 4095) + (bits >> 24 & 4095) + (bits >> 36 & 4095)) * 0x1p-12f -
         2;
}

static double peak_memory(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)usage.ru_maxrss / 1024;
}

int main(int argc, char **argv) {
  size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000, d = argc > 2 ? strtoul(argv[2], NULL, 10) : 128;
  int rounds = argc > 3 ? atoi(argv[3]) : 15;
  float *base = bench_memory(n * d * 4), *queries = bench_memory(QUERIES * d * 4);
  uint8_t *bytes = bench_memory(n * d), *byte_queries = bench_memory(QUERIES * d);
  uint64_t state = 1;
  for (size_t i = 0; i < n * d; i++) bytes[i] = (uint8_t)(64 * (base[i] = noise(&state)) + 128);
  for (size_t i = 0; i < QUERIES * d; i++)
    byte_queries[i] = (uint8_t)(64 * (queries[i] = noise(&state)) + 128);
  cpb_hit *hits = bench_memory(QUERIES * K * sizeof *hits);
  cpb_pool *pool;
  if (cpb_pool_new(2, &pool, NULL) != CPB_OK) return 1;
  const cpb_exec *two = cpb_pool_exec(pool);
  cpb_view base_f32 = cpb_rows(base, CPB_F32, n, d), queries_f32 = cpb_rows(queries, CPB_F32, QUERIES, d);
  cpb_view base_u8 = cpb_rows(bytes, CPB_U8, n, d), queries_u8 = cpb_rows(byte_queries, CPB_U8, QUERIES, d);
  work f32_1 = {base_f32, queries_f32, hits, NULL}, f32_2 = {base_f32, queries_f32, hits, two};
  work u8_1 = {base_u8, queries_u8, hits, NULL}, u8_2 = {base_u8, queries_u8, hits, two};
  double before = peak_memory();
  search(&f32_2);
  double extra = peak_memory() - before;
  float sink;
  bursts between = {f32_1, 0};
  enum { PEAK, BURSTS, SEARCHES };
  bench_rival rivals[] = {
      {"by itself", peak_run, &sink, 0},     {"during the search", search_with_bursts, &between, 0},
      {"f32, 1 thread", search, &f32_1, 0},  {"u8, 1 thread", search, &u8_1, 0},
      {"f32, 2 threads", search, &f32_2, 0}, {"u8, 2 threads", search, &u8_2, 0}};
  bench_print_machine();
  printf("exact %d-NN, %zu x %zu, %d queries, best of %d rounds\n", K, n, d, QUERIES, rounds);
  bench_rounds(rivals, 6, rounds);
  double alone = peak_operations() / rivals[PEAK].best;
  printf("%-24s %9s %9s %12s %12s\n", "", "seconds", "Gflop/s", "of the peak", "of the peak");
  printf("%-24s %9s %9s %12s %12s\n", "", "", "", "during it", "by itself");
  printf("peak, %-18s %9s %9.1f\n", rivals[BURSTS].name, "", between.best * 1e-9);
  printf("peak, %-18s %9s %9.1f\n", rivals[PEAK].name, "", alone * 1e-9);
  for (size_t i = SEARCHES; i < SEARCHES + 4; i++) {
    double rate = 2. * (double)n * (double)d * QUERIES / rivals[i].best;
    printf("%-24s %9.4f %9.1f", rivals[i].name, rivals[i].best, rate * 1e-9);
    if (i < SEARCHES + 2) printf(" %12.2f %12.2f", rate / between.best, rate / alone);
    printf("\n");
  }
  printf("memory besides the base: %.1f MiB\n", extra);
  cpb_pool_free(pool);
  return 0;
}

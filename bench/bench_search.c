/* Exact k nearest neighbours as a fraction of the machine's fused multiply-add peak.
 *
 *   build/bench/bench_search [rows, default 100000] [d, default 128] [rounds, default 15]
 *
 * 1000 queries, k = 10, L2; counted are 2 n d operations per query, whatever is done besides. The frequency
 * of a shared machine wanders by a tenth, so the peak is measured right before and right after every search,
 * and the median of these ratios is told. */
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

enum { ROUNDS_MOST = 99 };

typedef struct contest {
  const char *name;
  work *work;
  double threads;
  double best, ratio[ROUNDS_MOST];
} contest;

static double peak_rate(void) {
  float sink;
  double start = bench_now();
  peak_run(&sink);
  return peak_operations() / (bench_now() - start);
}

static void run(contest *c, double operations, int round, double *best_peak) {
  double start = bench_now();
  search(c->work);
  double seconds = bench_now() - start, peak = peak_rate();
  if (round == 0 || seconds < c->best) c->best = seconds;
  if (peak > *best_peak) *best_peak = peak;
  c->ratio[round] = operations / seconds / (c->threads * peak);
}

static int ascending(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

static void tell(contest *c, double operations, size_t rounds, double best_peak) {
  double rate = operations / c->best;
  qsort(c->ratio, rounds, sizeof *c->ratio, ascending);
  printf("%-16s %10.4f %10.1f %12.2f %12.2f\n", c->name, c->best, rate * 1e-9, c->ratio[rounds / 2],
         rate / (c->threads * best_peak));
}

int main(int argc, char **argv) {
  size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000, d = argc > 2 ? strtoul(argv[2], NULL, 10) : 128;
  int rounds = argc > 3 ? atoi(argv[3]) : 15;
  if (rounds < 1 || rounds > ROUNDS_MOST) rounds = ROUNDS_MOST;
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
  contest contests[] = {{.name = "f32, 1 thread", .work = &f32_1, .threads = 1},
                        {.name = "f32, 2 threads", .work = &f32_2, .threads = 2},
                        {.name = "u8, 1 thread", .work = &u8_1, .threads = 1},
                        {.name = "u8, 2 threads", .work = &u8_2, .threads = 2}};
  bench_print_machine();
  printf("exact %d-NN, %zu x %zu, %d queries, %d rounds\n", K, n, d, QUERIES, rounds);
  printf("%-16s %10s %10s %25s\n%-16s %10s %10s %12s %12s\n", "", "", "", "of the peak per thread", "",
         "best, s", "Gflop/s", "median", "best/best");
  double operations = 2. * (double)n * (double)d * QUERIES, best_peak = 0;
  for (int round = 0; round < rounds; round++)
    for (size_t i = 0; i < 4; i++) run(&contests[i], operations, round, &best_peak);
  for (size_t i = 0; i < 4; i++) tell(&contests[i], operations, (size_t)rounds, best_peak);
  printf("memory besides the base: %.1f MiB\n", extra);
  cpb_pool_free(pool);
  return 0;
}

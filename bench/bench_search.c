/* Exact search as a fraction of the machine's peak: of bytes, if it has a unit for them, and of floats.
 *
 *   build/bench/bench_search [rounds, default 9] [set ..]
 *
 * 1000 queries, k = 10: generated floats and bytes of 128 columns, three real sets, and all others of the shared folder
 * if it exists; k-NN by every metric, and all rows within the median 10th distance. 2 n d operations are counted per
 * query, whatever else is done. "floats" is the same library restricted to single precision (CPB_ISA=avx512 or below),
 * which is how 0.1 searches; with BENCH_RIVAL=another/libcapball.so, of 0.1 or later, that library is measured too, in
 * alternation. All must return the same ids and values, to the last bit. "measured" is the number of rows per query
 * measured in double. Rates are fractions of the peak of one thread, or of two. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capball/capball.h"
#include "capball/advanced/feed.h"
#include "support/peak.h"
#include "support/sets.h"
#include "support/timing.h"

enum { QUERIES = 1000, K = 10, D = 128, GENERATED_ROWS = 100000, MORE_ROUNDS = 5 };

/* A library that searches: this one, this one without bytes, or another build. */
typedef struct searcher {
  const char *isa; /* CPB_ISA while it runs; NULL: unset */
  cpb_status (*begin)(cpb_view, const cpb_search_options *, cpb_search **, cpb_error *);
  cpb_status (*feed)(cpb_search *, cpb_view, uint64_t, const cpb_exec *, cpb_error *);
  cpb_status (*hits)(cpb_search *, size_t, const cpb_hit **, size_t *, cpb_error *);
  void (*describe)(const cpb_search *, cpb_search_report *); /* NULL: not called */
  void (*end)(cpb_search *);
  const cpb_exec *two; /* its own two threads */
} searcher;

typedef struct work {
  searcher by;
  bench_set set;
  cpb_metric metric;
  const double *limits; /* NULL: k nearest */
  size_t threads;
  cpb_hit *hits;
  size_t count;
  cpb_search_report report;
} work;

static void must(cpb_status status, const cpb_error *error) {
  if (status == CPB_OK) return;
  fprintf(stderr, "bench_search: %s\n", error->text);
  exit(1);
}

static const char *environment; /* CPB_ISA as given */

static void choose_loops(const char *isa) {
  if (isa != NULL)
    setenv("CPB_ISA", isa, 1);
  else if (environment != NULL)
    setenv("CPB_ISA", environment, 1);
  else
    unsetenv("CPB_ISA");
}

/* The same layout as in 0.1. */
static cpb_search_options options_of(const work *w) {
  cpb_search_options options;
  cpb_search_options_init(&options, sizeof options);
  options.metric = w->metric;
  options.limits = w->limits;
  options.k = w->limits == NULL ? K : 0;
  return options;
}

static void search(void *arg) {
  work *w = arg;
  const cpb_exec *exec = w->threads == 2 ? w->by.two : NULL;
  const cpb_search_options options = options_of(w);
  cpb_search *asked;
  cpb_error error;
  choose_loops(w->by.isa);
  must(w->by.begin(w->set.queries, &options, &asked, &error), &error);
  must(w->by.feed(asked, w->set.base, 0, exec, &error), &error);
  w->count = 0;
  for (size_t i = 0; i < w->set.queries.rows; i++) {
    const cpb_hit *hits;
    size_t count;
    must(w->by.hits(asked, i, &hits, &count, &error), &error);
    for (size_t j = 0; j < count && w->count < (size_t)QUERIES * 2 * K; j++) w->hits[w->count++] = hits[j];
  }
  w->report = (cpb_search_report){.size = sizeof w->report};
  if (w->by.describe != NULL) w->by.describe(asked, &w->report);
  w->by.end(asked);
  choose_loops(NULL);
}

/* ---- the libraries compared ---- */

static void *symbol(void *library, const char *name) {
  void *address = dlsym(library, name);
  if (address != NULL) return address;
  fprintf(stderr, "bench_search: the rival has no %s\n", name);
  exit(1);
}

static searcher load_rival(const char *path) {
  searcher rival = {0};
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "bench_search: %s\n", dlerror());
    exit(1);
  }
  cpb_status (*pool_new)(size_t, cpb_pool **, cpb_error *);
  const cpb_exec *(*pool_exec)(const cpb_pool *);
  const char *(*version)(void);
  *(void **)&rival.begin = symbol(library, "cpb_search_new");
  *(void **)&rival.feed = symbol(library, "cpb_search_feed");
  *(void **)&rival.hits = symbol(library, "cpb_search_hits");
  *(void **)&rival.end = symbol(library, "cpb_search_free");
  *(void **)&pool_new = symbol(library, "cpb_pool_new");
  *(void **)&pool_exec = symbol(library, "cpb_pool_exec");
  *(void **)&version = symbol(library, "cpb_version");
  cpb_pool *pool;
  if (pool_new(2, &pool, NULL) != CPB_OK) exit(1);
  rival.two = pool_exec(pool);
  printf("# rival: capball %s, %s\n", version(), path);
  return rival;
}

/* ---- one line ---- */

typedef struct bench {
  searcher ours, floats, rival;
  bool has_rival;
  int rounds;
  double float_peak, byte_peak; /* operations per second of one thread; 0: no such unit */
} bench;

static void must_agree(const work *a, const work *b, const char *name) {
  if (a->count != b->count || memcmp(a->hits, b->hits, a->count * sizeof *a->hits) != 0) {
    fprintf(stderr, "bench_search: %s: the answers of %s differ\n", a->set.name, name);
    exit(1);
  }
}

static void print_line(const bench *b, const work *w, const bench_rival *rivals) {
  const char *range = w->limits == NULL ? "" : " range";
  double pairs = (double)w->set.base.rows * (double)w->set.queries.rows;
  double rate = 2 * pairs * (double)w->set.base.cols / rivals[0].best / (double)w->threads;
  printf("%-12.12s %-4s %6zu %4zu %-6s%-6s %zu %8.4f %7.2f", w->set.name, cpb_dtype_name(w->set.base.dtype),
         w->set.base.rows, w->set.base.cols, cpb_metric_name(w->metric), range, w->threads, rivals[0].best,
         rivals[1].best / rivals[0].best);
  if (b->has_rival) printf(" %7.2f", rivals[2].best / rivals[0].best);
  printf(" %7.2f %7.2f", b->byte_peak > 0 ? rate / b->byte_peak : 0., rate / b->float_peak);
  printf(" %9.1f %6.2f\n", (double)w->report.measured / (double)w->set.queries.rows,
         (double)w->report.bytes / pairs);
  fflush(stdout);
}

static void line(const bench *b, bench_set set, cpb_metric metric, const double *limits, size_t threads) {
  work by[3] = {{b->ours, set, metric, limits, threads, NULL, 0, {0}},
                {b->floats, set, metric, limits, threads, NULL, 0, {0}},
                {b->rival, set, metric, limits, threads, NULL, 0, {0}}};
  size_t room = (size_t)QUERIES * 2 * K * sizeof(cpb_hit), count = b->has_rival ? 3 : 2;
  bench_rival rivals[3];
  for (size_t i = 0; i < count; i++) {
    by[i].hits = bench_memory(room);
    rivals[i] = (bench_rival){"", search, &by[i], 0};
  }
  bench_rounds(rivals, count, b->rounds);
  must_agree(&by[0], &by[1], "floats");
  if (count > 2) must_agree(&by[0], &by[2], "the rival");
  print_line(b, &by[0], rivals);
  for (size_t i = 0; i < count; i++) bench_release(by[i].hits, room);
}

static int ascending(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

/* The median of the distances to the 10th neighbour, for every query. */
static double *median_limits(const bench *b, bench_set set) {
  size_t n = set.queries.rows;
  cpb_hit *hits = bench_memory(n * K * sizeof *hits);
  double *limits = bench_memory(n * sizeof *limits);
  cpb_error error;
  must(cpb_knn(set.base, set.queries, K, CPB_L2, hits, b->ours.two, &error), &error);
  for (size_t i = 0; i < n; i++) limits[i] = hits[i * K + K - 1].value;
  bench_release(hits, n * K * sizeof *hits);
  qsort(limits, n, sizeof *limits, ascending);
  for (size_t i = 0; i < n; i++)
    if (i != n / 2) limits[i] = limits[n / 2];
  return limits;
}

static void lines(const bench *b, bench_set set) {
  line(b, set, CPB_L2, NULL, 2);
  line(b, set, CPB_L2, NULL, 1);
  line(b, set, CPB_IP, NULL, 2);
  line(b, set, CPB_COSINE, NULL, 2);
  double *limits = median_limits(b, set);
  line(b, set, CPB_L2, limits, 2);
  bench_release(limits, set.queries.rows * sizeof *limits);
}

/* ---- sets ---- */

/* Approximately Gaussian: the sum of four uniform numbers. */
static float noise(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  uint64_t bits = *state >> 16;
  return (float)((bits & 4095) + (bits >> 12 & 4095) + (bits >> 24 & 4095) + (bits >> 36 & 4095)) * 0x1p-12f -
         2;
}

static cpb_view generated(cpb_dtype dtype, size_t rows, uint64_t *state) {
  size_t count = rows * D;
  void *memory = bench_memory(count * cpb_dtype_size(dtype));
  for (size_t i = 0; i < count; i++) {
    float x = noise(state);
    if (dtype == CPB_F32)
      ((float *)memory)[i] = x;
    else
      ((uint8_t *)memory)[i] = (uint8_t)(64 * x + 128);
  }
  return cpb_rows(memory, dtype, rows, D);
}

static bool wanted(const char *name, int argc, char **argv) {
  for (int i = 2; i < argc; i++)
    if (strncmp(argv[i], name, strlen(argv[i])) == 0) return true;
  return argc <= 2;
}

static void generated_lines(const bench *b, const char *name, cpb_dtype dtype) {
  uint64_t state = 1;
  bench_set set = {.name = name};
  set.base = generated(dtype, GENERATED_ROWS, &state);
  set.queries = generated(dtype, QUERIES, &state);
  lines(b, set);
}

/* The first three are the main goals; on the others bytes must not be slower: there a few percent matter, and they are
 * short, so they get more rounds. */
static void real_lines(const bench *b, int argc, char **argv) {
  enum { MORE_WANTED = 3 };
  bench at_par = *b;
  at_par.rounds *= MORE_ROUNDS;
  for (size_t i = 0; i < BENCH_SETS; i++) {
    bench_set set;
    if (!wanted(bench_set_names[i], argc, argv)) continue;
    if (!bench_set_load(bench_set_names[i], &set)) {
      printf("%-12.12s skipped: ../shared/data/%s does not exist\n", bench_set_names[i], bench_set_names[i]);
      continue;
    }
    lines(i < MORE_WANTED ? b : &at_par, set);
    bench_set_free(&set);
  }
}

static void measure_peaks(bench *b) {
  float sink = 0;
  bench_rival peaks[] = {{"", peak_run, &sink, 0}, {"", peak_bytes_run, &sink, 0}};
  bench_rounds(peaks, 2, 2 * b->rounds + 1);
  b->float_peak = peak_operations() / peaks[0].best;
  b->byte_peak = peak_bytes_operations() / peaks[1].best;
  printf("# multiply-adds on registers, one thread: %.0f Gop/s of floats, %.0f of bytes (%s)\n",
         b->float_peak * 1e-9, b->byte_peak * 1e-9, peak_bytes_unit());
}

int main(int argc, char **argv) {
  bench b = {.rounds = argc > 1 ? atoi(argv[1]) : 9};
  cpb_pool *pool;
  if (cpb_pool_new(2, &pool, NULL) != CPB_OK) return 1;
  environment = getenv("CPB_ISA");
  if (environment != NULL) environment = strdup(environment);
  bench_print_machine();
  measure_peaks(&b);
  b.ours = (searcher){.begin = cpb_search_new,
                      .feed = cpb_search_feed,
                      .hits = cpb_search_hits,
                      .describe = cpb_search_describe,
                      .end = cpb_search_free,
                      .two = cpb_pool_exec(pool)};
  b.floats = b.ours;
  b.floats.isa = "avx512";
  b.has_rival = getenv("BENCH_RIVAL") != NULL;
  if (b.has_rival) b.rival = load_rival(getenv("BENCH_RIVAL"));
  printf("# exact %d-NN and range, %d queries, best of %d rounds, of the last sets of %d times as many\n", K,
         QUERIES, b.rounds, MORE_ROUNDS);
  printf("#%-11s %-4s %6s %4s %-12s %-1s %8s %7s", "set", "type", "rows", "d", "asked", "T", "seconds",
         "floats/");
  if (b.has_rival) printf(" %7s", "rival/");
  printf(" %7s %7s %9s %6s\n", "of byte", "of float", "measured", "in");
  printf("#%-11s %-4s %6s %4s %-12s %-1s %8s %7s", "", "", "", "", "", "", "", "this");
  if (b.has_rival) printf(" %7s", "this");
  printf(" %7s %7s %9s %6s\n", "peak", "peak", "a query", "bytes");
  if (wanted("gauss", argc, argv)) generated_lines(&b, "gauss", CPB_F32);
  if (wanted("bytes", argc, argv)) generated_lines(&b, "bytes", CPB_U8);
  real_lines(&b, argc, argv);
  cpb_pool_free(pool);
  return 0;
}

/* Search among codes, by bits compared with faiss and by estimates compared with bits, encoding compared with one sgemm,
 * and training, measured in the same run. Packaged builds of
 * faiss often target the baseline processor and count bits without POPCNT (Debian's does), so a straightforward loop
 * with POPCNT, one query at a time, is measured too: what a tuned build would do.
 *   build/bench/bench_sketch                     from the project's root
 *   BENCH_RIVAL=libcapball.so build/bench/bench_sketch
 *                                                the same work beside that of a library of 0.2, in alternation */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "capball/advanced/estimator.h"
#include "capball/capball.h"
#include "base/rows.h"
#include "sketch/sketch_train.h"
#include "support/timing.h"

enum {
  CODES = 1000000,
  BYTES = 32,
  QUERIES = 100,
  K = 10,
  ROWS = 60000,
  D = 784,
  READ = 1 << 29,
  SCANNED = 200000,
  SCANNED_D = 128,
  ENCODED = 16384
};

static void must(cpb_status status, const cpb_error *error) {
  if (status == CPB_OK) return;
  fprintf(stderr, "bench_sketch: %s\n", error->text);
  exit(1);
}

static uint64_t random_bits(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

/* ---- the read bandwidth of this machine: sums of words, two threads ---- */

typedef struct reading {
  const uint64_t *words;
  uint64_t sums[64];
  const cpb_exec *exec;
} reading;

static void read_part(void *arg, size_t part) {
  reading *r = arg;
  const uint64_t *words = r->words + part * (READ / 8 / 64);
  uint64_t sum[8] = {0};
  for (size_t i = 0; i < READ / 8 / 64; i += 8)
    for (size_t k = 0; k < 8; k++) sum[k] += words[i + k];
  r->sums[part] = sum[0] + sum[1] + sum[2] + sum[3] + sum[4] + sum[5] + sum[6] + sum[7];
}

static void read_all(void *arg) {
  reading *r = arg;
  r->exec->run(r->exec->pool, 64, read_part, r);
}

/* ---- this library ---- */

typedef struct searching {
  cpb_view codes, queries;
  cpb_hit *hits;
  const cpb_exec *exec;
  cpb_status (*by)(cpb_view, cpb_view, size_t, cpb_hit *, const cpb_exec *,
                   cpb_error *); /* NULL: this library */
} searching;

static void search(void *arg) {
  searching *s = arg;
  cpb_error error;
  must((s->by != NULL ? s->by : cpb_hamming_knn)(s->codes, s->queries, K, s->hits, s->exec, &error), &error);
}

/* ---- one query at a time, four POPCNTs per code ---- */

#if defined(__x86_64__)
#define WITH_POPCNT __attribute__((target("popcnt")))
#else
#define WITH_POPCNT
#endif

WITH_POPCNT static void scan_one(void *arg, size_t q) {
  const searching *s = arg;
  const uint64_t *codes = s->codes.data, *query = (const uint64_t *)s->queries.data + q * (BYTES / 8);
  unsigned limit = 8 * BYTES + 1;
  size_t count = 0;
  cpb_hit best[K];
  for (size_t i = 0; i < s->codes.rows; i++, codes += BYTES / 8) {
    unsigned distance = 0;
    for (size_t j = 0; j < BYTES / 8; j++) distance += (unsigned)__builtin_popcountll(codes[j] ^ query[j]);
    if (distance >= limit) continue;
    size_t at = count < K ? count++ : K - 1;
    for (; at > 0 && best[at - 1].value > distance; at--) best[at] = best[at - 1];
    best[at] = (cpb_hit){i, distance};
    if (count == K) limit = (unsigned)best[K - 1].value;
  }
  for (size_t i = 0; i < K; i++) s->hits[q * K + i] = best[i];
}

static void scan_plainly(void *arg) {
  searching *s = arg;
  s->exec->run(s->exec->pool, s->queries.rows, scan_one, s);
}

/* ---- estimates, one thread ---- */

typedef struct estimating {
  cpb_estimator *estimator;
  cpb_view queries;
  cpb_hit *hits;
} estimating;

static void estimate(void *arg) {
  estimating *e = arg;
  cpb_estimator_options options;
  cpb_error error;
  cpb_estimator_options_init(&options, sizeof options);
  must(cpb_estimator_search(e->estimator, e->queries, &options, e->hits, NULL, NULL, &error), &error);
}

static cpb_sketch *principal_sketch(cpb_view x, size_t bits, size_t bits_per, size_t sample,
                                    const cpb_exec *exec, cpb_sketch_fit_report *report) {
  cpb_sketch_training training;
  cpb_sketch_fit_options options;
  cpb_sketch *sketch;
  cpb_error error;
  cpb_source source = cpb_source_from_view(x);
  cpb_sketch_training_init(&training, sizeof training);
  cpb_sketch_fit_options_init(&options, sizeof options);
  training.kind = CPB_SKETCH_PRINCIPAL;
  training.bits = bits;
  training.bits_per = bits_per;
  if (bits_per != 0) training.rotation = CPB_ROTATION_RANDOM;
  options.training = &training;
  options.sample = sample;
  must(cpb_sketch_fit(&source, &options, &sketch, report, exec, &error), &error);
  return sketch;
}

/* Codes of the same number of bits, by bits and by estimates. */
static void compare_scans(cpb_view x, const uint8_t *codes, size_t bits, size_t bits_per, double rabitq,
                          double fast) {
  cpb_view rows = cpb_rows(x.data, x.dtype, SCANNED, SCANNED_D);
  cpb_sketch *sketch = principal_sketch(rows, bits, bits_per, 1000, NULL, NULL);
  cpb_sketch_options o = {.size = sizeof o};
  cpb_error error;
  cpb_sketch_describe(sketch, &o);
  uint8_t *own = bench_memory(SCANNED * o.code_bytes);
  cpb_hit *hits = bench_memory(QUERIES * K * sizeof *hits);
  estimating e = {NULL, cpb_rows(x.data, CPB_F32, QUERIES, SCANNED_D), hits};
  must(cpb_sketch_encode(sketch, rows, own, NULL, &error), &error);
  must(cpb_estimator_new(sketch, cpb_rows(own, CPB_U8, SCANNED, o.code_bytes), &e.estimator, &error), &error);
  cpb_view all = cpb_rows(codes, CPB_U8, SCANNED, bits / 8),
           asked = cpb_rows(codes, CPB_U8, QUERIES, bits / 8);
  searching by_bits = {all, asked, hits, NULL, NULL};
  bench_rival both[] = {{"bits", search, &by_bits, 0}, {"estimates", estimate, &e, 0}};
  bench_rounds(both, 2, 7);
  double each = (double)SCANNED * QUERIES;
  printf("  %3zu bits, %zu per direction  %6.2f rows/ns by estimates, %.2f of the %.2f by bits", bits,
         bits_per, each / both[1].best * 1e-9, both[0].best / both[1].best, each / both[0].best * 1e-9);
  if (rabitq > 0)
    printf("; %.1f x faiss RaBitQ, %.1f x its fast scan", rabitq / both[1].best, fast / both[1].best);
  printf("\n");
  cpb_estimator_free(e.estimator);
  bench_release(own, SCANNED * o.code_bytes);
  bench_release(hits, QUERIES * K * sizeof *hits);
  cpb_sketch_free(sketch);
}

typedef cpb_status encoder(const cpb_sketch *, cpb_view, uint8_t *, const cpb_exec *, cpb_error *);

typedef struct encoding {
  const cpb_sketch *sketch;
  cpb_view x;
  uint8_t *codes;
  const cpb_exec *exec;
  encoder *by; /* NULL: this library */
} encoding;

static void encode(void *arg) {
  encoding *e = arg;
  cpb_error error;
  must((e->by != NULL ? e->by : cpb_sketch_encode)(e->sketch, e->x, e->codes, e->exec, &error), &error);
}

static cpb_sketch *random_sketch(cpb_view x) {
  static double center[D];
  cpb_sketch_training training;
  cpb_sketch_training_init(&training, sizeof training);
  cpb_sketch *sketch;
  cpb_error error;
  for (size_t k = 0; k < D; k++) center[k] = 0.5;
  training.kind = CPB_SKETCH_RANDOM_EMBEDDED;
  training.s = 8;
  training.center = center;
  x.rows = 1000;
  must(cpb_sketch_train(x, &training, &sketch, NULL, NULL, &error), &error);
  return sketch;
}

/* ---- an earlier library ---- */

typedef struct library {
  cpb_status (*train)(cpb_view, const cpb_sketch_training *, cpb_sketch **, cpb_sketch_report *,
                      const cpb_exec *, cpb_error *);
  encoder *encode;
  cpb_status (*search)(cpb_view, cpb_view, size_t, cpb_hit *, const cpb_exec *, cpb_error *);
  void (*free)(cpb_sketch *);
} library;

static const library own = {cpb_sketch_train, cpb_sketch_encode, cpb_hamming_knn, cpb_sketch_free};

static void *symbol(void *from, const char *name) {
  void *found = from == NULL ? NULL : dlsym(from, name);
  if (found != NULL) return found;
  fprintf(stderr, "bench_sketch: %s\n", dlerror());
  exit(1);
}

static library load_earlier(const char *path) {
  void *from = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  library l;
  *(void **)&l.train = symbol(from, "cpb_sketch_train");
  *(void **)&l.encode = symbol(from, "cpb_sketch_encode");
  *(void **)&l.search = symbol(from, "cpb_hamming_knn");
  *(void **)&l.free = symbol(from, "cpb_sketch_free");
  return l;
}

/* A kind that 0.2 has. */
static cpb_sketch *sketch_of(const library *by, cpb_view sample, cpb_sketch_kind kind, size_t bits) {
  cpb_sketch_training training;
  cpb_sketch *sketch;
  cpb_error error;
  cpb_sketch_training_init(&training, sizeof training);
  training.size = offsetof(cpb_sketch_training, bits_per); /* as it was in 0.2 */
  training.kind = kind;
  training.bits = bits;
  training.s = sqrt((double)sample.cols / 3);
  must(by->train(sample, &training, &sketch, NULL, NULL, &error), &error);
  return sketch;
}

static void compare_searches(const library *by, const cpb_exec *two) {
  uint64_t state = 1;
  uint64_t *codes = bench_memory((size_t)CODES * BYTES);
  cpb_hit *hits = bench_memory(QUERIES * K * sizeof *hits);
  for (size_t i = 0; i < (size_t)CODES * BYTES / 8; i++) codes[i] = random_bits(&state);
  printf("Hamming top %d of %d codes of %d bits\n", K, CODES, 8 * BYTES);
  for (size_t queries = 1; queries <= QUERIES; queries *= QUERIES)
    for (size_t threads = 1; threads <= 2; threads++) {
      searching ours = {cpb_rows(codes, CPB_U8, CODES, BYTES), cpb_rows(codes, CPB_U8, queries, BYTES), hits,
                        threads == 2 ? two : NULL, NULL};
      searching theirs = ours;
      theirs.by = by->search;
      bench_rival both[] = {{"", search, &theirs, 0}, {"", search, &ours, 0}};
      bench_rounds(both, 2, queries == 1 ? 50 : 15);
      printf("  %3zu queries, %zu thread%s  %8.4f s, %.2f x as fast\n", queries, threads,
             threads == 1 ? " " : "s", both[1].best, both[0].best / both[1].best);
    }
  bench_release(hits, QUERIES * K * sizeof *hits);
  bench_release(codes, (size_t)CODES * BYTES);
}

/* Codes of the same number of bits: of the same kind, and by principal directions, which 0.2 does not have. */
static void compare_encoding(const library *by, cpb_view x, size_t bits) {
  static const size_t per[] = {1, 2, 4};
  const library *libraries[] = {by, &own};
  cpb_view sample = cpb_view_slice(x, 0, 1000);
  uint8_t *codes = bench_memory(x.rows * (bits / 8 + 6));
  encoding works[5];
  bench_rival rivals[5];
  for (size_t i = 0; i < 5; i++) {
    cpb_sketch *sketch = i < 2 ? sketch_of(libraries[i], sample, CPB_SKETCH_RANDOM_EMBEDDED, bits)
                               : principal_sketch(sample, bits, per[i - 2], 1000, NULL, NULL);
    works[i] = (encoding){sketch, x, codes, NULL, i == 0 ? by->encode : NULL};
    rivals[i] = (bench_rival){"", encode, &works[i], 0};
  }
  bench_rounds(rivals, 5, 9);
  double theirs = rivals[0].best;
  printf(
      "  %3zu columns, %3zu bits  %6.3g rows/s, %.2f x as fast; principal, 1, 2, 4 bits: %.2f, %.2f, %.2f\n",
      x.cols, bits, (double)x.rows / rivals[1].best, theirs / rivals[1].best, theirs / rivals[2].best,
      theirs / rivals[3].best, theirs / rivals[4].best);
  for (size_t i = 0; i < 5; i++) libraries[i > 0]->free((cpb_sketch *)works[i].sketch);
  bench_release(codes, x.rows * (bits / 8 + 6));
}

typedef struct teaching {
  const library *by; /* NULL: this library's principal directions */
  cpb_view sample;
} teaching;

static void teach(void *arg) {
  const teaching *t = arg;
  if (t->by != NULL)
    t->by->free(sketch_of(t->by, t->sample, CPB_SKETCH_EMBEDDED, 8 * BYTES));
  else
    cpb_sketch_free(principal_sketch(t->sample, 8 * BYTES, 0, t->sample.rows, NULL, NULL));
}

static void compare_training(const library *by, cpb_view sample) {
  teaching works[] = {{by, sample}, {&own, sample}, {NULL, sample}};
  bench_rival rivals[] = {{"", teach, &works[0], 0}, {"", teach, &works[1], 0}, {"", teach, &works[2], 0}};
  bench_rounds(rivals, 3, 7);
  printf("training, %zu rows x %zu, 256 bits, 1 thread: %.2f s, %.2f x as fast; principal %.2f s\n",
         sample.rows, sample.cols, rivals[1].best, rivals[0].best / rivals[1].best, rivals[2].best);
}

static void compare_with_earlier(const char *path, cpb_view x, const cpb_exec *two) {
  library by = load_earlier(path);
  static const size_t columns[] = {32, 128, D};
  printf("# x as fast: the time of %s, divided by that of this library\n", path);
  compare_searches(&by, two);
  printf("encoding, f32, 1 thread\n");
  for (size_t i = 0; i < 3; i++)
    for (size_t bits = 64; bits <= 512; bits *= 2)
      compare_encoding(&by, cpb_rows(x.data, x.dtype, ENCODED * D / columns[i] / 4, columns[i]), bits);
  compare_training(&by, cpb_view_slice(x, 0, 8192));
}

/* ---- other implementations ---- */

static void write_codes(const char *path, cpb_view codes) {
  cpb_writer_options options;
  cpb_writer_options_init(&options, sizeof options);
  cpb_writer *writer;
  cpb_error error;
  options.format = "u8bin";
  options.dtype = CPB_U8;
  options.cols = codes.cols;
  options.rows = codes.rows;
  must(cpb_writer_open(path, &options, &writer, &error), &error);
  must(cpb_writer_append(writer, codes, &error), &error);
  must(cpb_writer_commit(writer, &error), &error);
  cpb_writer_free(writer);
}

enum { SIZES = 4 }; /* 64, 128, 256 and 512 bits */

typedef struct answers {
  double faiss, total, sgemm;        /* seconds, sum of distances, seconds */
  double rabitq[SIZES], fast[SIZES]; /* seconds of RaBitQ and of its fast scan */
} answers;

/* All 0 where there is no answer. BENCH_PYTHON names an interpreter that has faiss. */
static answers ask_rivals(const searching *s) {
  char directory[] = "/tmp/capball-bench-XXXXXX", codes[64], queries[64], command[512];
  const char *python = getenv("BENCH_PYTHON");
  answers all = {0};
  if (mkdtemp(directory) == NULL) return all;
  snprintf(codes, sizeof codes, "%s/codes.u8bin", directory);
  snprintf(queries, sizeof queries, "%s/queries.u8bin", directory);
  write_codes(codes, s->codes);
  write_codes(queries, s->queries);
  snprintf(command, sizeof command, "%s bench/rivals/sketch_rival.py %s %s %d 2>/dev/null",
           python != NULL ? python : "/usr/bin/python3", codes, queries, D);
  FILE *from = popen(command, "r");
  bool good = from != NULL && fscanf(from, "%lf %lf %lf", &all.faiss, &all.total, &all.sgemm) == 3;
  for (size_t i = 0; good && i < SIZES; i++)
    good = fscanf(from, "%lf %lf", &all.rabitq[i], &all.fast[i]) == 2;
  if (from != NULL) pclose(from);
  unlink(codes);
  unlink(queries);
  rmdir(directory);
  return good ? all : (answers){0};
}

static float *random_rows(uint64_t *state) {
  float *x = bench_memory(sizeof(float) * ROWS * D);
  for (size_t i = 0; i < (size_t)ROWS * D; i++) x[i] = (float)(random_bits(state) >> 40) * 0x1p-24f;
  return x;
}

int main(void) {
  uint64_t state = 1;
  cpb_pool *pool;
  if (cpb_pool_new(2, &pool, NULL) != CPB_OK) return 1;
  const cpb_exec *two = cpb_pool_exec(pool);
  if (getenv("BENCH_RIVAL") != NULL) {
    bench_print_machine();
    compare_with_earlier(getenv("BENCH_RIVAL"), cpb_rows(random_rows(&state), CPB_F32, ROWS, D), two);
    cpb_pool_free(pool);
    return 0;
  }
  uint64_t *words = bench_memory(READ);
  uint8_t *codes = bench_memory((size_t)CODES * BYTES), *asked = bench_memory(QUERIES * BYTES);
  for (size_t i = 0; i < (size_t)CODES * BYTES; i++) codes[i] = (uint8_t)random_bits(&state);
  for (size_t i = 0; i < QUERIES * BYTES; i++) asked[i] = (uint8_t)random_bits(&state);
  const float *x = random_rows(&state);
  cpb_hit *hits = bench_memory(QUERIES * K * sizeof *hits);
  searching one_thread = {cpb_rows(codes, CPB_U8, CODES, BYTES), cpb_rows(asked, CPB_U8, QUERIES, BYTES),
                          hits, NULL, NULL};
  searching search_two = one_thread, alone = one_thread;
  search_two.exec = alone.exec = two;
  alone.queries.rows = 1;
  reading reads = {.words = words, .exec = two};
  cpb_view rows = cpb_rows(x, CPB_F32, ROWS, D);
  encoding encode_two = {random_sketch(rows), rows, bench_memory(ROWS * BYTES), two, NULL};
  cpb_sketch_fit_report report = {.size = sizeof report};
  encoding chosen = {principal_sketch(rows, 8 * BYTES, 0, 8192, two, &report), rows,
                     bench_memory(ROWS * (BYTES + 6)), two, NULL};
  bench_rival ours[] = {{"read", read_all, &reads, 0},         {"1 thread", search, &one_thread, 0},
                        {"2 threads", search, &search_two, 0}, {"one query", search, &alone, 0},
                        {"encode", encode, &encode_two, 0},    {"POPCNT", scan_plainly, &search_two, 0},
                        {"principal", encode, &chosen, 0}};
  double sum = 0;
  bench_print_machine();
  bench_rounds(ours, 7, 5);
  answers rivals = ask_rivals(&one_thread);
  bench_rounds(ours, 7, 5);
  search(&one_thread);
  for (size_t i = 0; i < QUERIES * K; i++) sum += hits[i].value;
  double bandwidth = READ / ours[0].best, scanned = (double)CODES * BYTES * QUERIES;
  printf("Hamming top %d of %d codes of %d bits\n", K, CODES, 8 * BYTES);
  printf("  %d queries, 1 thread    %8.4f s  %6.1f GB/s of codes compared\n", QUERIES, ours[1].best,
         scanned / ours[1].best * 1e-9);
  printf("  %d queries, 2 threads   %8.4f s  %6.1f GB/s, %.1f x the %.1f GB/s that two threads read\n",
         QUERIES, ours[2].best, scanned / ours[2].best * 1e-9, scanned / ours[2].best / bandwidth,
         bandwidth * 1e-9);
  printf("  1 query, 2 threads      %8.4f s  %6.1f GB/s, %.2f x\n", ours[3].best,
         (double)CODES * BYTES / ours[3].best * 1e-9, (double)CODES * BYTES / ours[3].best / bandwidth);
  printf("  a loop with POPCNT      %8.4f s  %.2f x our time, 2 threads\n", ours[5].best,
         ours[5].best / ours[2].best);
  if (rivals.faiss > 0)
    printf("  faiss IndexBinaryFlat   %8.4f s  %.2f x our time, as installed; distances %s\n", rivals.faiss,
           rivals.faiss / ours[2].best, rivals.total == sum ? "agree" : "DIFFER");
  else
    printf("  faiss is not installed\n");
  printf("codes of %d rows x %d, 256 bits, f32, 2 threads\n", ROWS, D);
  printf("  encode                  %8.4f s  %.3g rows/s\n", ours[4].best, ROWS / ours[4].best);
  printf("  encode, principal       %8.4f s  %.2f x that time\n", ours[6].best, ours[6].best / ours[4].best);
  if (rivals.sgemm > 0)
    printf("  one sgemm of that shape %8.4f s  %.2f x our time (NumPy)\n", rivals.sgemm,
           rivals.sgemm / ours[4].best);
  printf("training, 8192 rows x %d, 256 bits, principal, 2 threads  %.2f s\n", D, report.training.seconds);
  printf("estimates top %d of %d codes, %d queries, 1 thread\n", K, SCANNED, QUERIES);
  for (size_t i = 0; i < SIZES; i++)
    for (size_t bits_per = 1; bits_per <= 4; bits_per *= 2)
      compare_scans(rows, codes, (size_t)64 << i, bits_per, rivals.rabitq[i], rivals.fast[i]);
  cpb_pool_free(pool);
  return rivals.faiss > 0 && rivals.total != sum;
}

/* The cost of seals: hashing rows relative to the fastest reading of as many bytes, and writing and checking seals as a
 * fraction of `capball embed` and of `capball rescore --certificates` on Fashion-MNIST, alternating with and without.
 *   build/bench/bench_seal     from the project's root */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "capball/advanced/candidates.h"
#include "capball/advanced/fitting.h"
#include "capball/advanced/flow.h"
#include "capball/advanced/seal.h"
#include "capball/capball.h"
#include "support/roofline.h"
#include "support/sets.h"
#include "support/timing.h"

enum {
  BYTES = 1 << 29,
  QUERIES = 1000,
  CANDIDATES = 40,
  K = 10,
  HASH_ROUNDS = 9,
  ROUNDS = 60,
  SLOW_ROUNDS = 11
};

static void must(cpb_status status, const cpb_error *error) {
  if (status == CPB_OK) return;
  fprintf(stderr, "bench_seal: %s\n", error->text);
  exit(1);
}

/* ---- the hash ---- */

static void hash_rows(void *arg) {
  cpb_source source = cpb_source_from_view(*(cpb_view *)arg);
  cpb_seal_watch *watch;
  cpb_error error;
  must(cpb_seal_watch_new(&source, &watch, &error), &error);
  must(cpb_seal_watch_all(watch, &error), &error);
  cpb_seal_watch_free(watch);
}

static void measure_hash(size_t cols) {
  char *memory = bench_memory(BYTES), *sink = bench_memory(64);
  cpb_view rows = cpb_rows(memory, CPB_F32, BYTES / (cols * sizeof(float)), cols);
  roofline_copy reading = {memory, sink, BYTES, 64, NULL};
  bench_rival rivals[] = {{"hash", hash_rows, &rows, 0}, {"read", roofline_run, &reading, 0}};
  bench_rounds(rivals, 2, HASH_ROUNDS);
  printf("hash of f32 rows, d = %-5zu %6.1f GB/s on one thread, %.2f x the %.1f GB/s that it reads\n", cols,
         BYTES / rivals[0].best * 1e-9, rivals[1].best / rivals[0].best, BYTES / rivals[1].best * 1e-9);
  bench_release(memory, BYTES);
  bench_release(sink, 64);
}

/* ---- embed ---- */

typedef struct job {
  const char *base, *out; /* files */
  cpb_transform *transform;
  cpb_view queries;
  uint64_t *ids;
  const cpb_exec *exec;
  bool sealed;
} job;

static cpb_status apply(const void *arg, cpb_view in, cpb_out out, const cpb_exec *exec, cpb_error *error) {
  return cpb_transform_apply(arg, CPB_ROLE_BASE, in, out, exec, error);
}

static void embed(void *arg) {
  const job *j = arg;
  cpb_flow_options flow;
  cpb_writer_options to;
  cpb_seal *seal = NULL;
  cpb_reader *reader;
  cpb_error error;
  cpb_flow_options_init(&flow, sizeof flow);
  cpb_writer_options_init(&to, sizeof to);
  flow.transform = apply;
  flow.arg = j->transform;
  flow.cols = cpb_transform_cols(j->transform);
  flow.lend = true;
  if (j->sealed) must(cpb_seal_new(j->transform, CPB_ROLE_BASE, 0, &seal, &error), &error);
  to.seal = seal;
  must(cpb_reader_open(j->base, NULL, &reader, &error), &error);
  must(cpb_flow_run(reader, &flow, j->out, &to, NULL, j->exec, &error), &error);
  cpb_reader_free(reader);
  cpb_seal_free(seal);
}

/* ---- rescore --certificates ---- */

static void rescore(void *arg) {
  const job *j = arg;
  cpb_rescore_options options;
  cpb_seal_facts facts = {.size = sizeof facts};
  cpb_seal_watch *watch = NULL;
  cpb_reader *reader;
  cpb_store store;
  cpb_error error;
  cpb_hit *hits = malloc(QUERIES * K * sizeof *hits);
  if (hits == NULL) exit(1);
  must(cpb_reader_open(j->out, NULL, &reader, &error), &error);
  must(cpb_reader_store(reader, &store, &error), &error);
  must(cpb_seal_read(reader, &facts, &error), &error);
  cpb_source rows = cpb_reader_source(reader, true);
  must(cpb_seal_watch_new(&rows, &watch, &error), &error);
  cpb_rescore_options_init(&options, sizeof options);
  options.k = K;
  options.unordered = true;
  options.all = j->sealed ? cpb_seal_watch_source(watch) : &rows;
  options.precision = CPB_F32;
  must(cpb_transform_rescore(j->transform, j->queries, (cpb_candidates){j->ids, CANDIDATES}, &store, &options,
                             &(cpb_rescore_out){hits, NULL}, j->exec, &error),
       &error);
  if (j->sealed && !cpb_seal_watch_fits(watch, &facts)) {
    fprintf(stderr, "bench_seal: the seal does not match\n");
    exit(1);
  }
  cpb_seal_watch_free(watch);
  cpb_reader_free(reader);
  free(hits);
}

static void compare(const char *what, void (*run)(void *), const job *plain, int rounds) {
  job without = *plain, with = *plain;
  with.sealed = true;
  bench_rival rivals[] = {{"without", run, &without, 0}, {"with", run, &with, 0}};
  bench_rounds(rivals, 2, rounds);
  double share = 100 * (rivals[1].best / rivals[0].best - 1);
  printf("%-42s %8.4f s without, %8.4f s with the seal: %+5.1f %%, wanted <= 5 %%: %s\n", what,
         rivals[0].best, rivals[1].best, share, share <= 5 ? "holds" : "MISSED");
}

static cpb_transform *make_transform(size_t d) {
  cpb_map_options options;
  cpb_map *map;
  cpb_transform *transform;
  cpb_error error;
  cpb_map_options_init(&options, sizeof options);
  options.d = d;
  options.s = 4000;
  must(cpb_map_new(&options, &map, &error), &error);
  must(cpb_transform_of_map(map, &transform, &error), &error);
  cpb_map_free(map);
  return transform;
}

static void measure_set(const char *name, const bench_set *set, const cpb_exec *exec) {
  /* in memory where there is such a place: the time of a disk would hide the cost, and its noise imitate one */
  char directory[64], base[512], out[80], seal[96];
  snprintf(directory, sizeof directory, "%s/capball-bench-XXXXXX",
           access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
  if (mkdtemp(directory) == NULL) exit(1);
  snprintf(base, sizeof base, "../shared/data/%s/base.npy", name);
  snprintf(out, sizeof out, "%s/rows.npy", directory);
  snprintf(seal, sizeof seal, "%s.capball", out);
  job j = {.base = base, .out = out, .transform = make_transform(set->base.cols), .exec = exec};
  j.queries = set->queries;
  j.queries.rows = QUERIES;
  j.ids = malloc(QUERIES * CANDIDATES * sizeof *j.ids);
  if (j.ids == NULL) exit(1);
  for (size_t i = 0; i < QUERIES * CANDIDATES; i++) j.ids[i] = i * 7919 % set->base.rows;
  compare("embed to npy, f32", embed, &j, ROUNDS);
  compare("rescore --certificates, 1000 queries", rescore, &j, SLOW_ROUNDS);
  cpb_transform_free(j.transform);
  free(j.ids);
  unlink(out);
  unlink(seal);
  rmdir(directory);
}

int main(void) {
  static const char name[] = "fashion-mnist-784-euclidean";
  bench_set set;
  cpb_pool *pool;
  bench_print_machine();
  for (size_t cols = 4; cols <= 4096; cols *= 16) measure_hash(cols);
  if (!bench_set_load(name, &set)) {
    printf("skipped: no %s\n", name);
    return 0;
  }
  if (cpb_pool_new(2, &pool, NULL) != CPB_OK) return 1;
  measure_set(name, &set, cpb_pool_exec(pool));
  cpb_pool_free(pool);
  bench_set_free(&set);
  return 0;
}

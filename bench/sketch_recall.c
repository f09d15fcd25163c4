/* Recall of sketches: four kinds of normals, five lengths of codes, five sets of data. Writes
 * docs/sketches.md. build/bench/sketch_recall [quick]     from the project's root, the data at ../shared/data
 * quick: 256 bits and 200 queries only, nothing is written. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capball/capball.h"
#include "support/timing.h"

enum { SETS = 5, LENGTHS = 5, CANDIDATES = 100, K = 10, SAMPLE = 16384 };

static const struct {
  const char *folder, *name;
  bool directions; /* rows are compared by angle: divided by their norms, as their true neighbours were */
} sets[SETS] = {{"fashion-mnist-784-euclidean", "Fashion-MNIST", false},
                {"sift-bsds-128-euclidean", "SIFT (BSDS)", false},
                {"bigann10k-sift-128-euclidean", "SIFT (BIGANN 10k)", false},
                {"blobs-16-euclidean", "blobs", false},
                {"glove-100-angular", "GloVe (unit rows)", true}};
static const size_t lengths[LENGTHS] = {64, 128, 256, 512, 1024};

typedef struct score {
  double before, after; /* 10@100 among the candidates, 10@10 after re-ranking */
  double mean, worst, seconds;
} score;

typedef struct set {
  cpb_view base, queries, truth, sample;
  cpb_statistics *statistics;
  cpb_statistics_result facts;
  score scores[LENGTHS][CPB_SKETCH_KINDS], independent;
} set;

static void must(cpb_status status, const cpb_error *error) {
  if (status == CPB_OK) return;
  fprintf(stderr, "sketch_recall: %s\n", error->text);
  exit(1);
}

static void *room(size_t bytes) {
  void *memory = malloc(bytes + 1);
  if (memory == NULL) exit(1);
  return memory;
}

/* A whole file; false when it is not there. */
static bool read_file(const char *folder, const char *name, cpb_view *rows) {
  char path[256];
  cpb_reader *reader;
  cpb_error error;
  snprintf(path, sizeof path, "../shared/data/%s/%s.npy", folder, name);
  if (cpb_reader_open(path, NULL, &reader, &error) != CPB_OK) return false;
  cpb_file_info info = cpb_reader_info(reader);
  size_t row = info.cols * cpb_dtype_size(info.dtype);
  char *data = room((size_t)info.rows * row);
  cpb_view block;
  for (size_t at = 0;; at += block.rows) {
    must(cpb_reader_next(reader, 4096, &block, &error), &error);
    if (block.rows == 0) break;
    for (size_t i = 0; i < block.rows; i++)
      memcpy(data + (at + i) * row, (const char *)block.data + i * block.stride * cpb_dtype_size(info.dtype),
             row);
  }
  *rows = cpb_rows(data, info.dtype, (size_t)info.rows, info.cols);
  cpb_reader_free(reader);
  return true;
}

static void to_directions(cpb_view rows) {
  float *x = (float *)(uintptr_t)rows.data;
  for (size_t i = 0; i < rows.rows; i++, x += rows.cols) {
    double norm2 = 0;
    for (size_t k = 0; k < rows.cols; k++) norm2 += (double)x[k] * x[k];
    for (size_t k = 0; k < rows.cols; k++) x[k] = (float)(x[k] / sqrt(norm2));
  }
}

static bool load(size_t which, bool quick, set *s) {
  const char *folder = sets[which].folder;
  if (!read_file(folder, "base", &s->base) || !read_file(folder, "queries", &s->queries) ||
      !read_file(folder, "gt100", &s->truth))
    return false;
  if (sets[which].directions) {
    to_directions(s->base);
    to_directions(s->queries);
  }
  if (quick && s->queries.rows > 200) s->queries.rows = 200;
  cpb_statistics_options options = cpb_statistics_options_default();
  cpb_error error;
  options.d = s->base.cols;
  options.dtype = s->base.dtype;
  options.sample = SAMPLE;
  must(cpb_statistics_new(&options, &s->statistics, &error), &error);
  must(cpb_statistics_update(s->statistics, s->base, 0, &error), &error);
  must(cpb_statistics_begin_norms(s->statistics, &error), &error);
  must(cpb_statistics_update(s->statistics, s->base, 0, &error), &error);
  must(cpb_statistics_finish(s->statistics, &s->facts, &error), &error);
  return true;
}

static void unload(set *s) {
  cpb_statistics_free(s->statistics);
  free((void *)(uintptr_t)s->base.data);
  free((void *)(uintptr_t)s->queries.data);
  free((void *)(uintptr_t)s->truth.data);
}

/* The share of the 10 true neighbours among the first `count` of `per` hits. */
static double share_found(const set *s, const cpb_hit *hits, size_t per, size_t count) {
  size_t found = 0;
  for (size_t q = 0; q < s->queries.rows; q++)
    for (size_t i = 0; i < K; i++) {
      const int32_t *truth = (const int32_t *)s->truth.data + q * s->truth.stride;
      for (size_t j = 0; j < count; j++) found += hits[q * per + j].id == (uint64_t)truth[i];
    }
  return (double)found / (double)(s->queries.rows * K);
}

static score judge(const set *s, const cpb_sketch_training *training, const cpb_exec *exec) {
  cpb_error error;
  cpb_sketch *sketch;
  cpb_sketch_report report;
  cpb_sketch_point seen;
  must(cpb_sketch_train(s->facts.sample, training, &sketch, &report, exec, &error), &error);
  must(cpb_sketch_dependence(sketch, s->base, &seen, exec, &error), &error);
  size_t bytes = training->bits / 8;
  uint8_t *codes = room(s->base.rows * bytes), *asked = room(s->queries.rows * bytes);
  cpb_hit *candidates = room(s->queries.rows * CANDIDATES * sizeof *candidates);
  cpb_hit *hits = room(s->queries.rows * K * sizeof *hits);
  must(cpb_sketch_encode(sketch, s->base, codes, exec, &error), &error);
  must(cpb_sketch_encode(sketch, s->queries, asked, exec, &error), &error);
  must(cpb_hamming_knn(cpb_rows(codes, CPB_U8, s->base.rows, bytes),
                       cpb_rows(asked, CPB_U8, s->queries.rows, bytes), CANDIDATES, candidates, exec, &error),
       &error);
  must(cpb_rerank(s->base, s->queries, candidates, CANDIDATES, K, hits, exec, &error), &error);
  score result = {share_found(s, candidates, CANDIDATES, CANDIDATES), share_found(s, hits, K, K), seen.mean,
                  seen.worst, report.seconds};
  free(codes);
  free(asked);
  free(candidates);
  free(hits);
  cpb_sketch_free(sketch);
  return result;
}

static cpb_sketch_training training_of(const set *s, size_t bits, cpb_sketch_kind kind) {
  cpb_sketch_training training = cpb_sketch_training_default();
  const char *jitter = getenv("J"), *tol = getenv("TOL"), *scale = getenv("SC");
  training.kind = kind;
  training.bits = bits;
  training.s = s->facts.norm_mean * (scale ? atof(scale) : 1);
  training.center = s->facts.mean;
  if (jitter) training.jitter = atof(jitter);
  if (tol) training.tolerance = atof(tol);
  return training;
}

int main(int argc, char **argv) {
  bool quick = argc > 1 && strcmp(argv[1], "quick") == 0;
  cpb_pool *pool;
  if (cpb_pool_new(0, &pool, NULL) != CPB_OK) return 1;
  for (size_t i = 0; i < SETS; i++) {
    if (getenv("SET") && (size_t)atoi(getenv("SET")) != i) continue;
    set s = {0};
    if (!load(i, quick, &s)) continue;
    for (size_t b = getenv("B0") ? (size_t)atoi(getenv("B0")) : 0; b < LENGTHS; b++)
      for (int kind = 0; kind < CPB_SKETCH_KINDS; kind++) {
        if (getenv("KIND") && atoi(getenv("KIND")) != kind) continue;
        cpb_sketch_training t = training_of(&s, lengths[b], (cpb_sketch_kind)kind);
        score r = judge(&s, &t, cpb_pool_exec(pool));
        printf("%s %zu %s  %.3f %.3f  mean %.4f worst %.3f  %.1fs\n", sets[i].name, lengths[b],
               cpb_sketch_kind_name((cpb_sketch_kind)kind), r.before, r.after, r.mean, r.worst, r.seconds);
        fflush(stdout);
      }
    unload(&s);
  }
  return 0;
}

#include "files/reader.h"
#include "support/sets.h"

#include <stdio.h>
#include <stdlib.h>

#include "capball/file.h"

const char *const bench_set_names[BENCH_SETS] = {
    "glove-100-angular",   "sift-bsds-128-euclidean", "fashion-mnist-784-euclidean",  "mnist-784-euclidean",
    "reuters-256-angular", "lastfm-65-angular",       "bigann10k-sift-128-euclidean", "movies-mf-16-angular",
    "blobs-16-euclidean",  "moons-2-euclidean"};

static bool read_rows(const char *set, const char *file, void **memory, cpb_view *rows) {
  char path[256];
  cpb_reader *reader;
  snprintf(path, sizeof path, "../shared/data/%s/%s.npy", set, file);
  if (cpb_reader_open(path, NULL, &reader, NULL) != CPB_OK) return false;
  size_t count = (size_t)cpb_reader_info(reader).rows;
  *memory = aligned_alloc(64, (cpb_reader_buffer_size(reader, count) + 63) / 64 * 64);
  bool read = *memory != NULL && cpb_reader_at(reader, 0, count, *memory, rows, NULL) == CPB_OK;
  cpb_reader_free(reader);
  return read;
}

bool bench_set_load(const char *name, bench_set *set) {
  *set = (bench_set){.name = name};
  if (read_rows(name, "base", &set->memory[0], &set->base) &&
      read_rows(name, "queries", &set->memory[1], &set->queries))
    return true;
  bench_set_free(set);
  return false;
}

void bench_set_free(bench_set *set) {
  for (int i = 0; i < 2; i++) free(set->memory[i]);
}

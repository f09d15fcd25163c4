/* An index compared with cpb_knn, which prepares all rows in every call, one thread: building it, and 1, 10, 100 and 1000
 * queries. Also what changes cost, and opening a file of 10 GB.
 *
 * `bench_index build [LIBRARY]` measures only how building compares with what cpb_knn does to the same rows before it
 * compares them:
 *   codes      the conversion of all rows to codes in blocks, with the functions of search/byte_filter.h that cpb_knn calls
 *   pass       cpb_knn for 8 queries, the smallest number for which it converts rows; of the shared library that is given,
 *              such as an earlier version
 *   borrowed   an index of rows that stay in the caller's memory
 *   copied     an index with its own copy of the rows; of bytes it has only the codes
 *   copy       copying rows of floats to fresh memory, which the system clears first: a pass does not do that
 *   floor      the least that `copied` can take: the same and a byte for each number */
#define _DEFAULT_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capball/index.h"
#include "capball/capball.h"
#include "base/rows.h"
#include "search/index_blocks.h"
#include "search/index_codes.h"
#include "search/index_snapshot.h"
#include "support/sets.h"
#include "support/timing.h"

enum { FEWEST = 8, K = 10, MOST_QUERIES = 1000, GAUSS_ROWS = 200000, GAUSS_COLS = 96 };

typedef struct trial {
  cpb_view base, queries;
  cpb_index *index;
  cpb_hit *hits;
  void *fresh; /* memory that was written to */
  size_t fresh_bytes;
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

static cpb_index *empty_index(size_t cols, cpb_dtype dtype, bool borrow) {
  cpb_index_options options;
  cpb_error error;
  cpb_index *index;
  cpb_index_options_init(&options, sizeof options);
  options.cols = cols;
  options.dtype = dtype;
  options.borrow = borrow;
  must(cpb_index_new(&options, &index, &error), &error);
  return index;
}

static cpb_index *empty(size_t cols, cpb_dtype dtype) { return empty_index(cols, dtype, false); }

static cpb_index *build_from(cpb_view base, bool borrow) {
  cpb_error error;
  cpb_index *index = empty_index(base.cols, base.dtype, borrow);
  must(cpb_index_add(index, base, NULL, NULL, &error), &error);
  return index;
}

static cpb_index *build(cpb_view base) { return build_from(base, false); }

/* ---- building ---- */

static void build_borrowed(void *arg) { ((trial *)arg)->index = build_from(((trial *)arg)->base, true); }
static void build_copied(void *arg) { ((trial *)arg)->index = build_from(((trial *)arg)->base, false); }

/* Between the others: its time is not printed. */
static void release(void *arg) {
  trial *t = arg;
  cpb_index_free(t->index);
  if (t->fresh != NULL) munmap(t->fresh, t->fresh_bytes);
  t->index = NULL;
  t->fresh = NULL;
}

static void code_rows(void *arg) {
  enum { NUMBERS = 1 << 19 }; /* in a block, as in search/t13_search.c */
  cpb_view base = ((trial *)arg)->base;
  size_t most = NUMBERS / base.cols;
  cpb_index *index = empty_index(base.cols, base.dtype, true);
  int *fault = bench_memory(most * sizeof *fault);
  cpb_view sample = cpb_view_slice(base, 0, base.rows < 1024 ? base.rows : 1024);
  if (!cpb_codes_prepare(index, sample, sample.rows))
    exit(1); /* of so few rows they are codes of all numbers */
  cpb_byte_filter filter = index->byte_filter;
  if (!cpb_byte_filter_room(&filter, base.dtype, most, filter.run_rows)) exit(1);
  for (size_t first = 0; first < base.rows; first += most) {
    cpb_view block = cpb_view_slice(base, first, base.rows - first < most ? base.rows - first : most);
    cpb_byte_filter_numbers(&filter, block, 0, block.rows, fault);
    cpb_byte_filter_order(&filter, block.rows);
    for (size_t run = 0; run < filter.run_count; run++) {
      cpb_byte_filter_codes(&filter, block, run, 0);
      cpb_byte_filter_describe(&filter, block, run);
    }
  }
  cpb_byte_filter_free(&filter);
  bench_release(fault, most * sizeof *fault);
  cpb_index_free(index);
}

static __typeof__(cpb_knn) *knn_of_pass = cpb_knn;

static void pass(void *arg) {
  trial *t = arg;
  cpb_error error;
  must(knn_of_pass(t->base, t->queries, K, CPB_L2, t->hits, NULL, &error), &error);
}

/* Writes rows of floats, and any bytes that stand for the codes, to the same kind of memory as the index has, a few pages
 * at a time. */
static void write_fresh(trial *t, bool codes) {
  enum { AT_ONCE = 1 << 15 };
  cpb_view base = t->base;
  size_t size = cpb_dtype_size(base.dtype), numbers = base.rows * base.cols;
  size_t code = codes ? 1 : 0, row = size > 1 ? size : 0;
  const char *from = base.data;
  if (code + row == 0) return;
  char *fresh =
      mmap(NULL, numbers * (code + row), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (fresh == MAP_FAILED) exit(1);
  madvise(fresh, numbers * (code + row), MADV_HUGEPAGE);
  for (size_t i = 0; i < numbers; i += AT_ONCE) {
    size_t count = numbers - i < AT_ONCE ? numbers - i : AT_ONCE;
    memcpy(fresh + i, from + i * size, count * code);
    memcpy(fresh + numbers * code + i * row, from + i * size, count * row);
  }
  t->fresh = fresh;
  t->fresh_bytes = numbers * (code + row);
}

static void write_copy(void *arg) { write_fresh(arg, false); }
static void write_copy_and_codes(void *arg) { write_fresh(arg, true); }

static void compare_building(const char *name, cpb_view base, cpb_view queries) {
  static cpb_hit hits[FEWEST * K];
  trial t = {.base = base, .queries = cpb_view_slice(queries, 0, FEWEST), .hits = hits};
  enum { CODES, PASS, BORROWED, COPIED = 4, COPY = 6, FLOOR = 8, RIVALS = 10 };
  bench_rival rivals[RIVALS] = {
      {"codes", code_rows, &t, 0}, {"pass", pass, &t, 0},           {"borrowed", build_borrowed, &t, 0},
      {NULL, release, &t, 0},      {"copied", build_copied, &t, 0}, {NULL, release, &t, 0},
      {"copy", write_copy, &t, 0}, {NULL, release, &t, 0},          {"floor", write_copy_and_codes, &t, 0},
      {NULL, release, &t, 0}};
  bench_rounds(rivals, RIVALS, 15);
  printf("%-16s %7zu x %-4zu ms:", name, base.rows, base.cols);
  for (size_t i = 0; i < RIVALS; i++)
    if (rivals[i].name != NULL) printf(" %s %.1f", rivals[i].name, rivals[i].best * 1e3);
  double of = rivals[PASS].best;
  printf("; of a pass: borrowed %.2f copied %.2f floor %.2f; of a pass and a copy: copied %.2f\n",
         rivals[BORROWED].best / of, rivals[COPIED].best / of, rivals[FLOOR].best / of,
         rivals[COPIED].best / (of + rivals[COPY].best));
}

/* ---- queries ---- */

static void compare(const char *name, cpb_view base, cpb_view all) {
  static cpb_hit hits[2][MOST_QUERIES * K];
  trial kept = {.base = base, .index = build(base), .hits = hits[0]}, fresh = kept;
  fresh.hits = hits[1];
  cpb_index_report before = {.size = sizeof before}, after = before;
  cpb_index_describe(kept.index, &before);
  printf("%-16s %7zu x %-4zu %.3f bytes per number\n", name, base.rows, base.cols,
         (double)before.code_bytes / (double)(base.rows * base.cols));
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

/* ---- changes ---- */

static void time_adds(cpb_view base) {
  enum { BEFORE = 50000, AT_ONCE = 500, ROUNDS = 40 };
  cpb_error error;
  double best = 1e9, worst = 0;
  cpb_view rows = base;
  rows.rows = BEFORE;
  cpb_index *index = build(rows);
  for (size_t round = 0; round < ROUNDS; round++) {
    rows.data = (const float *)base.data + (BEFORE + round * AT_ONCE) * base.stride;
    rows.rows = AT_ONCE;
    double start = bench_now();
    must(cpb_index_add(index, rows, NULL, NULL, &error), &error);
    double took = bench_now() - start;
    best = took < best ? took : best;
    worst = took > worst ? took : worst;
  }
  cpb_index_free(index);
  printf("adding %d rows to %d: best %.3f ms, worst of %d %.3f ms\n", AT_ONCE, BEFORE, best * 1e3, ROUNDS,
         worst * 1e3);
}

/* One at a time, ids in no order. */
static void time_removals(cpb_view base, size_t rows, bool in_order) {
  cpb_error error;
  cpb_index *index = empty(base.cols, base.dtype);
  uint64_t *ids = bench_memory(rows * sizeof *ids);
  for (size_t i = 0; i < rows; i++) ids[i] = in_order ? i : (uint64_t)i * 0x9e3779b97f4a7c15 >> 1;
  base.rows = rows;
  must(cpb_index_add(index, base, ids, NULL, &error), &error);
  double start = bench_now();
  for (size_t i = 0; i < rows / 2; i++) must(cpb_index_remove(index, &ids[i * 2], 1, NULL, &error), &error);
  printf("removing one of %zu rows, ids %s: %.3f us\n", rows, in_order ? "row numbers" : "in any order",
         (bench_now() - start) / (double)(rows / 2) * 1e6);
  cpb_index_free(index);
  bench_release(ids, rows * sizeof *ids);
}

/* ---- a large file ---- */

/* A header and holes: opening reads neither rows nor codes. */
static void write_large(const char *path, uint64_t bytes) {
  cpb_error error;
  cpb_whole file;
  cpb_index *index = empty(GAUSS_COLS, CPB_F32);
  uint64_t row = (cpb_block_row_bytes(index) + cpb_block_code_bytes(index)) / CPB_INDEX_BLOCK;
  index->next_id = bytes / row;
  cpb_index_layout l = cpb_index_layout_of(index, index->next_id, CPB_IDS_NUMBERS, 0);
  must(cpb_whole_open(path, &file, &error), &error);
  must(cpb_whole_resize(&file, l.log_at, &error), &error);
  must(cpb_head_write(index, &l, &file, &error), &error);
  must(cpb_whole_commit(&file, &error), &error);
  cpb_whole_close(&file);
  cpb_index_free(index);
}

static void time_open(void) {
  const char *path = "bench_index_large.index";
  const double large = 1e10;
  double best = 1e9;
  cpb_error error;
  cpb_index_report report = {.size = sizeof report};
  write_large(path, (uint64_t)large);
  for (int round = 0; round < 9; round++) {
    cpb_index *index;
    double start = bench_now();
    must(cpb_index_open(path, false, &index, &error), &error);
    double took = bench_now() - start;
    best = took < best ? took : best;
    cpb_index_describe(index, &report);
    cpb_index_free(index);
  }
  unlink(path);
  printf("opening an index of %.0f GB, %llu rows, a sparse file: %.2f ms\n", large / 1e9,
         (unsigned long long)report.rows, best * 1e3);
}

static bool only_building;

static void compare_all(const char *name, cpb_view base, cpb_view queries) {
  compare_building(name, base, queries);
  if (!only_building) compare(name, base, queries);
}

static void measure_changes(cpb_view gauss) {
  time_open();
  time_adds(gauss);
  for (size_t n = 2000; n <= GAUSS_ROWS; n *= 10) {
    time_removals(gauss, n, true);
    time_removals(gauss, n, false);
  }
}

static void load_pass(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  *(void **)&knn_of_pass = library == NULL ? NULL : dlsym(library, "cpb_knn");
  if (knn_of_pass != NULL) return;
  fprintf(stderr, "%s\n", dlerror());
  exit(1);
}

int main(int argc, char **argv) {
  size_t rows = GAUSS_ROWS + MOST_QUERIES;
  float *x = bench_memory(rows * GAUSS_COLS * sizeof *x);
  bench_print_machine();
  fill_gauss(x, rows * GAUSS_COLS);
  cpb_view gauss = cpb_rows(x, CPB_F32, GAUSS_ROWS, GAUSS_COLS);
  only_building = argc > 1 && strcmp(argv[1], "build") == 0;
  if (only_building && argc > 2) load_pass(argv[2]);
  if (!only_building) measure_changes(gauss);
  compare_all("Gauss", gauss,
              cpb_rows(x + (size_t)GAUSS_ROWS * GAUSS_COLS, CPB_F32, MOST_QUERIES, GAUSS_COLS));
  bench_release(x, rows * GAUSS_COLS * sizeof *x);
  for (size_t i = 0; i < 3; i++) {
    bench_set set;
    if (!bench_set_load(bench_set_names[i], &set)) continue;
    compare_all(set.name, set.base, set.queries);
    bench_set_free(&set);
  }
  return 0;
}

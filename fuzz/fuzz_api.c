/* Calls of the C interface with invalid views, options and numbers. Views may have every defect that a call can detect:
 * no data, no columns, a stride below the columns, a type that does not exist, a row count that overflows, unaligned
 * elements. Nothing may crash, and every rejection must have a message. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "capball/capball.h"
#include "capball/advanced/feed.h"
#include "capball/advanced/statistics.h"
#include "fuzz_bytes.h"

enum { ROWS = 12, COLS = 4, ROOM = 1 << 12 };

typedef struct arena {
  fuzz_bytes from;
  double numbers[ROWS * (COLS + 1)]; /* the data of the views */
  double vector[4 * (COLS + 1) * (COLS + 1)];
  double out[ROOM];
} arena;

static cpb_view take_view(arena *a, size_t cols) {
  size_t rows = fuzz_below(&a->from, ROWS + 1);
  fuzz_numbers(&a->from, a->numbers, ROWS * cols);
  cpb_view view = cpb_rows(a->numbers, CPB_F64, rows, cols);
  switch (fuzz_below(&a->from, 20)) {
  case 0: view.data = NULL; break;
  case 1: view.cols = 0; break;
  case 2: view.stride = cols - 1; break;
  case 3: view.dtype = (cpb_dtype)(fuzz_below(&a->from, 256) + CPB_I64 + 1); break;
  case 4: view.rows = SIZE_MAX / (1 + fuzz_below(&a->from, 3)); break;
  case 5: view.stride = SIZE_MAX / (1 + fuzz_below(&a->from, 3)); break;
  case 6: view.data = (const char *)view.data + 1; break;
  case 7: view.dtype = (cpb_dtype)fuzz_below(&a->from, CPB_I64 + 1); break; /* views less than there is */
  case 8: view.dtype = CPB_F32; break;
  case 9: view.stride = cols, view.cols = cols > 1 ? cols - 1 : cols; break;
  default: break;
  }
  if (cpb_dtype_size(view.dtype) > 8) abort();
  return view;
}

static cpb_out take_out(arena *a, size_t rows, size_t cols) {
  cpb_out out = cpb_rows_out(a->out, CPB_F64, rows < ROWS ? rows : ROWS, cols);
  switch (fuzz_below(&a->from, 20)) {
  case 0: out.data = NULL; break;
  case 1: out.dtype = CPB_F32; break;
  case 2: out.dtype = (cpb_dtype)fuzz_below(&a->from, 256); break;
  case 3: out.stride = cols - 1; break;
  case 4: out.rows++; break;
  case 5: out.cols++; break;
  case 6: out.data = (char *)a->out + 1; break;
  default: break;
  }
  return out;
}

static double *take_vector(arena *a, size_t count) {
  fuzz_numbers(&a->from, a->vector, count);
  return fuzz_below(&a->from, 12) == 0 ? NULL : a->vector;
}

/* Usually the correct size, sometimes another. */
static size_t take_size(arena *a, size_t size) {
  return fuzz_below(&a->from, 16) == 0 ? fuzz_below(&a->from, 400) : size;
}

static void judge(cpb_status status, const cpb_error *error) {
  if (status != CPB_OK && error->text[0] == 0) abort();
  if (strlen(cpb_status_name(status)) == 0) abort();
}

static void try_map(arena *a) {
  cpb_error error = {.text = ""};
  cpb_map_options options;
  cpb_map_options_init(&options, sizeof options);
  options.d = fuzz_below(&a->from, COLS + 1);
  options.s = fuzz_number(&a->from);
  if (fuzz_below(&a->from, 2) == 0) options.center = take_vector(a, COLS);
  if (fuzz_below(&a->from, 3) == 0) options.whiten = take_vector(a, COLS * COLS);
  if (fuzz_below(&a->from, 3) == 0) options.pole = take_vector(a, COLS + 1);
  if (fuzz_below(&a->from, 3) == 0) options.toward = take_vector(a, COLS + 1);
  options.size = take_size(a, sizeof options);
  cpb_map *map = NULL;
  cpb_status status = cpb_map_new(fuzz_below(&a->from, 30) == 0 ? NULL : &options, &map, &error);
  judge(status, &error);
  if (status != CPB_OK && map != NULL) abort();
  if (status != CPB_OK) return;
  cpb_view x = take_view(a, COLS);
  judge(cpb_map_embed(map, x, take_out(a, x.rows, COLS + 1), NULL, &error), &error);
  cpb_view y = take_view(a, COLS + 1);
  judge(cpb_map_unembed(map, y, take_out(a, y.rows, COLS), NULL, &error), &error);
  char *text = NULL;
  status = cpb_map_to_json(map, NULL, &text, &error);
  judge(status, &error);
  cpb_map *again = NULL;
  if (status == CPB_OK && cpb_map_from_json(text, strlen(text), "text", &again, &error) != CPB_OK) abort();
  cpb_map_free(again);
  cpb_free(text);
  cpb_map_free(map);
}

static void try_cap(arena *a) {
  cpb_error error = {.text = ""};
  double p[COLS + 1], c[COLS], axis[COLS];
  fuzz_numbers(&a->from, p, COLS + 1);
  fuzz_numbers(&a->from, c, COLS);
  fuzz_numbers(&a->from, axis, COLS);
  cpb_cap cap = {fuzz_below(&a->from, COLS) + 1, p, fuzz_number(&a->from), fuzz_number(&a->from),
                 fuzz_number(&a->from)};
  cpb_region region = {.kind = (cpb_region_kind)fuzz_below(&a->from, 8),
                       .d = cap.d,
                       .c = c,
                       .r = fuzz_number(&a->from),
                       .axis = fuzz_below(&a->from, 2) == 0 ? axis : NULL,
                       .along = fuzz_number(&a->from)};
  double s = fuzz_number(&a->from);
  if (fuzz_below(&a->from, 2) == 0) judge(cpb_cap_complete(&cap, NULL, &error), &error);
  judge(cpb_region_from_cap(&cap, s, &region, &error), &error);
  judge(cpb_cap_from_region(&region, s, &cap, &error), &error);
  cpb_view x = take_view(a, cap.d);
  judge(cpb_region_scores(&region, x, take_out(a, x.rows, 1), NULL, &error), &error);
  cpb_view y = take_view(a, cap.d + 1);
  judge(cpb_cap_scores(&cap, y, take_out(a, y.rows, 1), NULL, &error), &error);
}

static void try_statistics(arena *a) {
  cpb_error error = {.text = ""};
  cpb_statistics_options options;
  cpb_statistics_options_init(&options, sizeof options);
  options.d = fuzz_below(&a->from, COLS + 1);
  options.dtype = (cpb_dtype)fuzz_below(&a->from, 9);
  options.sample = fuzz_below(&a->from, 20);
  options.size = take_size(a, sizeof options);
  cpb_statistics *s = NULL;
  cpb_status status = cpb_statistics_new(&options, &s, &error);
  judge(status, &error);
  if (status != CPB_OK) return;
  for (uint64_t first = 0; a->from.left > 0 && first < 40; first += ROWS)
    judge(cpb_statistics_update(s, take_view(a, COLS), first, &error), &error);
  void *bytes = NULL;
  size_t count;
  status = cpb_statistics_serialize(s, &bytes, &count, &error);
  judge(status, &error);
  cpb_statistics *again = NULL;
  if (status == CPB_OK && cpb_statistics_deserialize(bytes, count, "bytes", &again, &error) != CPB_OK)
    abort();
  cpb_statistics_free(again);
  cpb_free(bytes);
  cpb_statistics_free(s);
}

static void try_ball(arena *a) {
  cpb_error error = {.text = ""};
  double center[COLS] = {0}, multipliers[ROWS];
  cpb_ball_out out = {.center = center};
  cpb_view x = take_view(a, COLS);
  judge(cpb_enclosing_ball(x, NULL, &out, NULL, NULL, &error), &error);
  cpb_svdd_options options;
  cpb_svdd_options_init(&options, sizeof options);
  options.nu = fuzz_number(&a->from);
  options.max_iterations = fuzz_below(&a->from, 50);
  if (x.rows <= ROWS && fuzz_below(&a->from, 3) == 0) options.weights = take_vector(a, ROWS);
  options.size = take_size(a, sizeof options);
  judge(cpb_svdd(x, &options, center, multipliers, NULL, NULL, &error), &error);
}

static void try_search(arena *a) {
  cpb_error error = {.text = ""};
  cpb_hit hits[ROWS * ROWS];
  double others[ROWS * COLS];
  fuzz_numbers(&a->from, others, ROWS * COLS);
  cpb_view queries = cpb_rows(others, CPB_F64, 1 + fuzz_below(&a->from, ROWS), COLS),
           base = take_view(a, COLS);
  size_t k = fuzz_below(&a->from, ROWS + 1);
  cpb_metric metric = (cpb_metric)fuzz_below(&a->from, 5);
  cpb_status status = cpb_knn(base, queries, k, metric, hits, NULL, &error);
  judge(status, &error);
  cpb_rerank_options nearest = {.size = sizeof nearest};
  cpb_store store = cpb_store_from_view(base);
  if (status == CPB_OK && k <= base.rows && k > 0) {
    nearest.k = 1 + fuzz_below(&a->from, k);
    judge(cpb_rerank_store(&store, queries, hits, k, &nearest, hits, NULL, &error), &error);
  }
}

static void try_transform(arena *a) {
  cpb_error error = {.text = ""};
  cpb_transform_options options;
  cpb_transform_options_init(&options, sizeof options);
  options.kind = (cpb_transform_kind)fuzz_below(&a->from, 10);
  options.d = fuzz_below(&a->from, COLS + 1);
  options.max_norm = fuzz_number(&a->from);
  if (fuzz_below(&a->from, 2) == 0) options.center = take_vector(a, COLS);
  options.size = take_size(a, sizeof options);
  cpb_transform *transform = NULL;
  cpb_status status = cpb_transform_new(&options, &transform, &error);
  judge(status, &error);
  if (status != CPB_OK) return;
  cpb_view x = take_view(a, COLS);
  cpb_role role = (cpb_role)fuzz_below(&a->from, 3);
  judge(cpb_transform_apply(transform, role, x, take_out(a, x.rows, cpb_transform_cols(transform)), NULL,
                            &error),
        &error);
  cpb_transform_free(transform);
}

static void try_covariance(arena *a) {
  cpb_error error = {.text = ""};
  cpb_covariance *c = NULL;
  cpb_status status = cpb_covariance_new(fuzz_below(&a->from, COLS + 1), &c, &error);
  judge(status, &error);
  if (status != CPB_OK) return;
  for (int i = 0; i < 3; i++) judge(cpb_covariance_update(c, take_view(a, COLS), NULL, &error), &error);
  judge(cpb_covariance_finish(c, a->vector, a->out, NULL, &error), &error);
  cpb_covariance_free(c);
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t count);
int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t count) {
  static void (*const tries[])(arena *) = {try_map,    try_cap,       try_statistics, try_ball,
                                           try_search, try_transform, try_covariance};
  static arena a;
  a.from = (fuzz_bytes){bytes, count};
  while (a.from.left > 1) tries[fuzz_below(&a.from, sizeof tries / sizeof *tries)](&a);
  return 0;
}

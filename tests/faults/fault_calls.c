/* Every call of the library that allocates, with its 1st, 2nd, .. allocation failing, once or from there on: the
 * call ends with a status and a message, and frees everything it allocated. */
#define _POSIX_C_SOURCE 200809L
#include <sys/wait.h>
#include <unistd.h>

#include "capball/capball.h"
#include "capball/advanced/feed.h"
#include "capball/advanced/statistics.h"
#include "faults/fault_shim.h"
#include "ball/smo.h"
#include "sphere/choice.h"
#include "sketch/sketch_train.h"
#include "support/check.h"
#include "support/scratch.h"

enum { ROWS = 60, COLS = 3, BITS = 16 };

static double x[ROWS * COLS];
static const char *where = ""; /* of files */

static cpb_view rows(void) { return cpb_rows(x, CPB_F64, ROWS, COLS); }

static void fill(void) {
  uint64_t state = 7;
  for (size_t i = 0; i < ROWS * COLS; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    x[i] = (double)(state >> 40) / 0x1p24 - 0.5;
  }
}

static cpb_map *make_map(cpb_error *error) {
  static const double center[COLS] = {0.1, 0.2, 0.3};
  static const double whiten[COLS * COLS] = {2, 0, 0, 1, 2, 0, 0, 1, 2};
  cpb_map_options options;
  cpb_map_options_init(&options, sizeof options);
  options.d = COLS;
  options.s = 1.5;
  options.center = center;
  options.whiten = whiten;
  cpb_map *map = NULL;
  return cpb_map_new(&options, &map, error) == CPB_OK ? map : NULL;
}

/* ---- the calls: each returns a status, with everything freed ---- */

static cpb_status maps(cpb_error *error) {
  double y[ROWS * (COLS + 1)];
  char *text = NULL;
  cpb_map *map = make_map(error), *again = NULL;
  if (map == NULL) return CPB_ENOMEM;
  cpb_status status = cpb_map_embed(map, rows(), cpb_rows_out(y, CPB_F64, ROWS, COLS + 1), NULL, error);
  if (status == CPB_OK) status = cpb_map_to_json(map, NULL, &text, error);
  if (status == CPB_OK) status = cpb_map_from_json(text, strlen(text), "text", &again, error);
  cpb_map_free(map);
  cpb_map_free(again);
  cpb_free(text);
  return status;
}

static cpb_status models(cpb_error *error) {
  static const double center[COLS] = {0.1, 0.2, 0.3}, quantiles[3] = {-1, 0, 1};
  static const uint64_t support[2] = {4, 5};
  static const double multipliers[2] = {0.5, 0.5};
  cpb_model_options options;
  cpb_model_options_init(&options, sizeof options);
  options.d = COLS;
  options.center = center;
  options.radius = 2;
  options.rows = ROWS;
  options.quantile_count = 3;
  options.quantiles = quantiles;
  options.support = options.listed = 2;
  options.support_rows = support;
  options.multipliers = multipliers;
  double scores[ROWS];
  char *text = NULL;
  cpb_model *model = NULL, *again = NULL;
  cpb_status status = cpb_model_new(&options, &model, error);
  if (status == CPB_OK)
    status = cpb_model_scores(model, rows(), cpb_rows_out(scores, CPB_F64, ROWS, 1), NULL, error);
  if (status == CPB_OK) status = cpb_model_to_json(model, &text, error);
  if (status == CPB_OK) status = cpb_model_from_json(text, strlen(text), "text", &again, error);
  cpb_model_free(model);
  cpb_model_free(again);
  cpb_free(text);
  return status;
}

static cpb_status statistics(cpb_error *error) {
  cpb_statistics_options options;
  cpb_statistics_options_init(&options, sizeof options);
  options.d = COLS;
  options.dtype = CPB_F64;
  options.sample = 16;
  cpb_statistics *s = NULL, *again = NULL;
  void *bytes = NULL;
  size_t count = 0;
  cpb_status status = cpb_statistics_new(&options, &s, error);
  if (status == CPB_OK) status = cpb_statistics_update(s, rows(), 0, error);
  if (status == CPB_OK) status = cpb_statistics_begin_norms(s, error);
  if (status == CPB_OK) status = cpb_statistics_update(s, rows(), 0, error);
  if (status == CPB_OK) status = cpb_statistics_serialize(s, &bytes, &count, error);
  if (status == CPB_OK) status = cpb_statistics_deserialize(bytes, count, "bytes", &again, error);
  if (status == CPB_OK) status = cpb_statistics_merge(again, s, error);
  cpb_statistics_free(s);
  cpb_statistics_free(again);
  cpb_free(bytes);
  return status;
}

static cpb_status covariances(cpb_error *error) {
  cpb_covariance *c = NULL, *again = NULL;
  void *bytes = NULL;
  size_t count = 0;
  double mean[COLS], matrix[COLS * COLS];
  cpb_status status = cpb_covariance_new(COLS, &c, error);
  if (status == CPB_OK) status = cpb_covariance_update(c, rows(), NULL, error);
  if (status == CPB_OK) status = cpb_covariance_finish(c, mean, matrix, NULL, error);
  if (status == CPB_OK) status = cpb_covariance_serialize(c, &bytes, &count, NULL, error);
  if (status == CPB_OK) status = cpb_covariance_deserialize(bytes, count, "bytes", &again, error);
  if (status == CPB_OK) status = cpb_covariance_merge(again, c, NULL, error);
  cpb_covariance_free(c);
  cpb_covariance_free(again);
  cpb_free(bytes);
  return status;
}

static cpb_status choices(cpb_error *error) {
  static const cpb_goal goals[] = {CPB_GOAL_MEDIAN, CPB_GOAL_SPREAD, CPB_GOAL_RECALL};
  cpb_status status = CPB_OK;
  for (size_t i = 0; i < 3 && status == CPB_OK; i++) {
    cpb_goal_options options;
    cpb_goal_options_init(&options, sizeof options);
    options.goal = goals[i];
    options.k = 3;
    options.queries = 2; /* all use the same code */
    options.norm_mean = options.norm_median = options.norm_max = 0.5;
    cpb_choice *choice = NULL;
    status = cpb_choose_scale(rows(), NULL, &options, &choice, NULL, error);
    cpb_choice_free(choice);
  }
  return status;
}

static cpb_status balls(cpb_error *error) {
  double center[COLS], multipliers[ROWS], norm2;
  cpb_ball_out out = {.center = center};
  cpb_status status = cpb_enclosing_ball(rows(), NULL, &out, NULL, NULL, error);
  cpb_svdd_options options;
  cpb_svdd_options_init(&options, sizeof options);
  options.nu = 0.3;
  if (status == CPB_OK) status = cpb_svdd(rows(), &options, center, multipliers, NULL, NULL, error);
  cpb_kernel kernel = {.kind = CPB_KERNEL_RBF, .gamma = 0.5, .degree = 3};
  if (status == CPB_OK)
    status = cpb_kernel_svdd(rows(), &kernel, &options, multipliers, &norm2, NULL, NULL, error);
  return status;
}

static cpb_status searches(cpb_error *error) {
  cpb_hit hits[4 * 5], best[4 * 2];
  cpb_view queries = cpb_rows(x, CPB_F64, 4, COLS);
  cpb_status status = cpb_knn(rows(), queries, 5, CPB_L2, hits, NULL, error);
  cpb_store store = cpb_store_from_view(rows());
  cpb_rerank_options two = {.size = sizeof two, .k = 2};
  if (status == CPB_OK) status = cpb_rerank_store(&store, queries, hits, 5, &two, best, NULL, error);
  return status;
}

static cpb_status sketches(cpb_error *error) {
  cpb_sketch_training training;
  cpb_sketch_training_init(&training, sizeof training);
  training.bits = BITS;
  training.s = 1;
  training.form = CPB_FORM_PRINCIPAL; /* one of the forms, for the time it takes */
  uint8_t codes[ROWS * (BITS / 8 + 2)];
  cpb_hit hits[ROWS * 2];
  char *text = NULL;
  cpb_sketch *sketch = NULL, *again = NULL;
  cpb_status status = cpb_sketch_train(rows(), &training, &sketch, NULL, NULL, error);
  if (status == CPB_OK) status = cpb_sketch_encode(sketch, rows(), codes, NULL, error);
  cpb_view coded = cpb_rows(codes, CPB_U8, ROWS, BITS / 8);
  if (status == CPB_OK) status = cpb_hamming_knn(coded, coded, 2, hits, NULL, error);
  if (status == CPB_OK) status = cpb_sketch_to_json(sketch, &text, error);
  if (status == CPB_OK) status = cpb_sketch_from_json(text, strlen(text), "text", &again, error);
  cpb_sketch_free(sketch);
  cpb_sketch_free(again);
  cpb_free(text);
  return status;
}

static cpb_status recommendations(cpb_error *error) {
  cpb_recommend_options options;
  cpb_recommend_options_init(&options, sizeof options);
  options.k = 2;
  cpb_recommendation *r = NULL;
  cpb_status status = cpb_recommend(rows(), cpb_rows(x, CPB_F64, 4, COLS), &options, &r, NULL, error);
  cpb_recommendation_free(r);
  return status;
}

static cpb_status pools(cpb_error *error) {
  cpb_pool *pool = NULL;
  cpb_status status = cpb_pool_new(1, &pool, error);
  cpb_pool_free(pool);
  return status;
}

static cpb_status write_file(const char *path, cpb_dtype dtype, cpb_error *error) {
  cpb_writer_options options;
  cpb_writer_options_init(&options, sizeof options);
  options.cols = COLS;
  options.dtype = dtype;
  cpb_writer *writer = NULL;
  cpb_status status = cpb_writer_open(path, &options, &writer, error);
  if (status == CPB_OK) status = cpb_writer_append(writer, rows(), error);
  if (status == CPB_OK) status = cpb_writer_commit(writer, error);
  cpb_writer_free(writer);
  return status;
}

static cpb_status read_file(const char *path, cpb_error *error) {
  cpb_reader *reader = NULL;
  cpb_view block;
  uint64_t count = 0;
  cpb_status status = cpb_reader_open(path, NULL, &reader, error);
  for (bool more = true; status == CPB_OK && more; count += block.rows) {
    status = cpb_reader_next(reader, 7, &block, error);
    if (status != CPB_OK) break;
    more = block.rows != 0;
  }
  cpb_reader_free(reader);
  if (status == CPB_OK) assert_int_equal(count, ROWS);
  return status;
}

static cpb_status files(cpb_error *error) {
  cpb_status status = write_file(where, strstr(where, ".f") != NULL ? CPB_F32 : CPB_F64, error);
  return status == CPB_OK ? read_file(where, error) : status;
}

/* ---- the loop ---- */

static uint64_t faults;

/* True when the call succeeded, because it allocates less than that. */
static bool attempt(const char *name, cpb_status (*call)(cpb_error *), uint64_t at, bool on) {
  cpb_error error = {.text = ""};
  int64_t before = fault_current()->alive;
  fault_set(true, at, on);
  cpb_status status = call(&error);
  uint64_t hits = fault_current()->hits;
  fault_set(false, 0, false);
  int64_t left = fault_current()->alive - before;
  if (left != 0) fail_msg("%s, allocation %d: %d blocks not given back", name, (int)at, (int)left);
  if (hits == 0 && status != CPB_OK) fail_msg("%s: %s", name, error.text);
  if (status != CPB_OK && error.text[0] == 0) fail_msg("%s, allocation %d: no sentence", name, (int)at);
  faults += hits > 0;
  return hits == 0;
}

static void loop(const char *name, cpb_status (*call)(cpb_error *)) {
  enum { MOST = 5000 };
  cpb_error error;
  test_status((int)call(&error), CPB_OK, error.text); /* permanent allocations of the C library happen here */
  for (int on = 0; on < 2; on++)
    for (uint64_t at = 1; !attempt(name, call, at, on != 0); at += at < MOST ? 1 : MOST) {
    }
}

#define LOOP(call)                                                                                           \
  static void call##_loop(void **state) {                                                                    \
    (void)state;                                                                                             \
    loop(#call, call);                                                                                       \
  }
LOOP(maps)
LOOP(models)
LOOP(statistics)
LOOP(covariances)
LOOP(choices)
LOOP(balls)
LOOP(searches)
LOOP(sketches)
LOOP(recommendations)
LOOP(pools)

static void files_loop(void **state) {
  (void)state;
  static const char *const names[] = {"a.fvecs", "a.fbin", "a.npy", "a.csv", "a.libsvm"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    where = scratch_path(names[i]);
    loop(names[i], files);
    assert_int_equal(scratch_count(), 1);
    unlink(where);
  }
}

/* Writes one line of this many bytes, in pieces that fit a pipe. */
static pid_t write_line(int to, size_t bytes) {
  static char piece[4096];
  pid_t child = fork();
  if (child != 0) return child;
  memset(piece, '1', sizeof piece);
  for (size_t i = 0; i < bytes && write(to, piece, sizeof piece) > 0;) i += sizeof piece;
  _exit(0);
}

/* A line that arrives in thousands of pieces is copied once per doubling of the buffer, not once per piece. */
static void long_line(void **state) {
  (void)state;
  enum { BYTES = 1 << 24, DOUBLINGS = 8, OTHERS = 24 };
  int ends[2], kept = dup(STDIN_FILENO);
  cpb_reader_options options;
  cpb_reader *reader;
  cpb_error error;
  cpb_reader_options_init(&options, sizeof options);
  options.format = "csv";
  assert_int_equal(pipe(ends), 0);
  pid_t child = write_line(ends[1], BYTES);
  close(ends[1]);
  dup2(ends[0], STDIN_FILENO);
  close(ends[0]);
  uint64_t before = atomic_load(&fault_current()->allocations);
  assert_int_equal(cpb_reader_open_as("-", &options, &reader, &error), CPB_EFORMAT);
  uint64_t allocations = atomic_load(&fault_current()->allocations) - before;
  dup2(kept, STDIN_FILENO);
  close(kept);
  waitpid(child, NULL, 0);
  if (allocations > DOUBLINGS + OTHERS) fail_msg("%d allocations for one line", (int)allocations);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(maps_loop),
      cmocka_unit_test(models_loop),
      cmocka_unit_test(statistics_loop),
      cmocka_unit_test(covariances_loop),
      cmocka_unit_test(choices_loop),
      cmocka_unit_test(balls_loop),
      cmocka_unit_test(searches_loop),
      cmocka_unit_test(sketches_loop),
      cmocka_unit_test(recommendations_loop),
      cmocka_unit_test(pools_loop),
      cmocka_unit_test(files_loop),
      cmocka_unit_test(long_line),
  };
  fill();
  int failed = cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
  printf("# %llu faults\n", (unsigned long long)faults);
  return failed;
}

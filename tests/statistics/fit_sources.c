/* Fits from callbacks: however a source is divided into blocks, and on any number of threads, a fit equals that of
 * the array, byte for byte; a stop request stops it without output; an error of the source is reported. */
#include "capball/advanced/estimator.h"
#include "capball/advanced/rounds.h"
#include "capball/capball.h"
#include "capball/advanced/fitting.h"
#include "support/check.h"
#include "support/scratch.h"

enum { N = TEST_SANITIZED ? 300 : 3000, D = 5, ASKED = 40 };

static double x[N * D];

/* ---- a callback over the rows ---- */

typedef struct cut_rows {
  size_t step, at, fails_at; /* rows of a block; SIZE_MAX: never */
  bool uneven;
  double block[N * D]; /* every block is a copy that the next one overwrites */
} cut_rows;

static cpb_status next_block(cpb_source *source, cpb_view *block, cpb_error *error) {
  cut_rows *cut = source->self;
  size_t most = cut->uneven ? 1 + cut->at % cut->step : cut->step, left = N - cut->at;
  size_t count = left < most ? left : most;
  if (cut->at >= cut->fails_at) {
    *error = (cpb_error){.status = CPB_EIO, .row = -1, .text = "the callback has had enough"};
    return CPB_EIO;
  }
  memcpy(cut->block, x + cut->at * D, count * D * sizeof *x);
  if (count < N) cut->block[count * D] = NAN; /* the memory after the block is invalid */
  *block = cpb_rows(cut->block, CPB_F64, count, D);
  cut->at += count;
  return CPB_OK;
}

static cpb_status first_block(cpb_source *source, cpb_error *error) {
  (void)error;
  ((cut_rows *)source->self)->at = 0;
  return CPB_OK;
}

static cpb_source source_of(cut_rows *cut) {
  return (cpb_source){.size = sizeof(cpb_source),
                      .cols = D,
                      .dtype = CPB_F64,
                      .rows = cut->uneven ? CPB_ROWS_UNKNOWN : N,
                      .next = next_block,
                      .rewind = first_block,
                      .self = cut};
}

/* ---- the calls, each of which writes its result to a file ---- */

typedef cpb_status a_fit(cpb_source *rows, const char *path, const cpb_exec *exec, cpb_error *error);

static cpb_status save_map(cpb_status status, cpb_map *map, const char *path, cpb_error *error) {
  assert_int_equal(map != NULL, status == CPB_OK);
  if (status == CPB_OK) status = cpb_map_save(map, path, NULL, error);
  cpb_map_free(map);
  return status;
}

static cpb_status map_by(cpb_goal goal, bool whiten, cpb_source *rows, const char *path, const cpb_exec *exec,
                         cpb_error *error) {
  cpb_map_fit_options options;
  cpb_map *map = NULL;
  cpb_map_fit_options_init(&options, sizeof options);
  options.goal = goal;
  options.whiten = whiten;
  options.sample = TEST_SANITIZED ? 100 : 500;
  cpb_status status = cpb_map_fit(rows, &options, &map, NULL, exec, error);
  return save_map(status, map, path, error);
}

static cpb_status map_of_mean(cpb_source *rows, const char *path, const cpb_exec *exec, cpb_error *error) {
  return map_by(CPB_GOAL_MEAN, false, rows, path, exec, error);
}

static cpb_status map_of_median(cpb_source *rows, const char *path, const cpb_exec *exec, cpb_error *error) {
  return map_by(CPB_GOAL_MEDIAN, true, rows, path, exec, error);
}

static cpb_status map_of_spread(cpb_source *rows, const char *path, const cpb_exec *exec, cpb_error *error) {
  return map_by(CPB_GOAL_SPREAD, false, rows, path, exec, error);
}

static cpb_status model_by(double nu, bool whiten, cpb_kernel_kind kernel, cpb_source *rows, const char *path,
                           const cpb_exec *exec, cpb_error *error) {
  cpb_model_fit_options options;
  cpb_model *model = NULL;
  cpb_model_fit_options_init(&options, sizeof options);
  options.nu = nu;
  options.whiten = whiten;
  options.kernel.kind = kernel;
  cpb_status status = cpb_model_fit(rows, &options, &model, NULL, exec, error);
  assert_int_equal(model != NULL, status == CPB_OK);
  if (status == CPB_OK) status = cpb_model_save(model, path, error);
  cpb_model_free(model);
  return status;
}

static cpb_status ball(cpb_source *rows, const char *path, const cpb_exec *exec, cpb_error *error) {
  return model_by(0, false, CPB_KERNEL_LINEAR, rows, path, exec, error);
}

static cpb_status whitened_ball(cpb_source *rows, const char *path, const cpb_exec *exec, cpb_error *error) {
  return model_by(0, true, CPB_KERNEL_LINEAR, rows, path, exec, error);
}

static cpb_status soft_ball(cpb_source *rows, const char *path, const cpb_exec *exec, cpb_error *error) {
  return model_by(0.2, false, CPB_KERNEL_LINEAR, rows, path, exec, error);
}

static cpb_status transform(cpb_source *rows, const char *path, const cpb_exec *exec, cpb_error *error) {
  cpb_transform *made = NULL;
  cpb_status status = cpb_transform_fit(rows, CPB_TRANSFORM_LIFT_COSINE, false, &made, exec, error);
  assert_int_equal(made != NULL, status == CPB_OK);
  if (status == CPB_OK) status = cpb_transform_save(made, path, error);
  cpb_transform_free(made);
  return status;
}

static cpb_status sketch(cpb_source *rows, const char *path, const cpb_exec *exec, cpb_error *error) {
  cpb_sketch_fit_options options;
  cpb_sketch_training training;
  cpb_sketch *made = NULL;
  cpb_sketch_fit_options_init(&options, sizeof options);
  cpb_sketch_training_init(&training, sizeof training);
  training.bits = 16;
  options.training = &training;
  cpb_status status = cpb_sketch_fit(rows, &options, &made, NULL, exec, error);
  assert_int_equal(made != NULL, status == CPB_OK);
  if (status == CPB_OK) status = cpb_sketch_save(made, path, error);
  cpb_sketch_free(made);
  return status;
}

static cpb_status save_bytes(const char *path, const void *bytes, size_t count) {
  FILE *to = fopen(path, "wb");
  assert_non_null(to);
  assert_int_equal(fwrite(bytes, 1, count, to), count);
  fclose(to);
  return CPB_OK;
}

static cpb_status norms(cpb_source *rows, const char *path, const cpb_exec *exec, cpb_error *error) {
  cpb_norms_fit_options options;
  cpb_norms_report report = {.size = sizeof report};
  cpb_norms_fit_options_init(&options, sizeof options);
  options.bars = 10;
  cpb_status status = cpb_norms_fit(rows, &options, &report, exec, error);
  return status == CPB_OK ? save_bytes(path, &report.rows, sizeof report - offsetof(cpb_norms_report, rows))
                          : status;
}

static cpb_status cosines(cpb_source *rows, const char *path, const cpb_exec *exec, cpb_error *error) {
  cpb_cosines found = {.size = sizeof found};
  cpb_status status = cpb_cosines_fit(rows, NULL, &found, exec, error);
  assert_int_equal(found.before != NULL, status == CPB_OK);
  if (status == CPB_OK) save_bytes(path, found.after, found.pairs * sizeof *found.after);
  cpb_free(found.before);
  cpb_free(found.after);
  return status;
}

static cpb_status statistics(cpb_source *rows, const char *path, const cpb_exec *exec, cpb_error *error) {
  cpb_statistics *made = NULL;
  void *bytes = NULL;
  size_t count = 0;
  cpb_status status = cpb_statistics_fit(rows, NULL, &made, exec, error);
  assert_int_equal(made != NULL, status == CPB_OK);
  if (status == CPB_OK) status = cpb_statistics_fit_norms(made, rows, NULL, error);
  if (status == CPB_OK) status = cpb_statistics_serialize(made, &bytes, &count, error);
  if (status == CPB_OK) save_bytes(path, bytes, count);
  cpb_free(bytes);
  cpb_statistics_free(made);
  return status;
}

static cpb_status radius(cpb_source *rows, const char *path, const cpb_exec *exec, cpb_error *error) {
  cpb_map_options options;
  cpb_map *map = NULL;
  double found = 0;
  cpb_map_options_init(&options, sizeof options);
  options.d = D;
  options.s = 2;
  test_status((int)cpb_map_new(&options, &map, NULL), CPB_OK, "");
  cpb_source queries = cpb_source_from_view(cpb_rows(x, CPB_F64, ASKED, D));
  cpb_status status = cpb_radius_fit(map, &queries, rows, 3, &found, exec, error);
  cpb_map_free(map);
  return status == CPB_OK ? save_bytes(path, &found, sizeof found) : status;
}

static const struct {
  const char *name;
  a_fit *fit;
} fits[] = {{"map of the mean", map_of_mean},
            {"whitened map of the median", map_of_median},
            {"map of spread", map_of_spread},
            {"ball", ball},
            {"whitened ball", whitened_ball},
            {"soft ball", soft_ball},
            {"transform", transform},
            {"sketch", sketch},
            {"norms", norms},
            {"cosines", cosines},
            {"statistics", statistics},
            {"radius", radius}};
enum { FITS = sizeof fits / sizeof *fits };

/* ---- the tests ---- */

static void fill(void) {
  test_rng rng = {41};
  for (size_t i = 0; i < N * D; i++) x[i] = test_gauss(&rng) * (double)(1 + i % D) + (double)(i % D);
}

static void expect(size_t fit, cpb_source *rows, const cpb_exec *exec, const char *what, const char *wanted,
                   size_t length) {
  cpb_error error = {.text = ""};
  const char *path = scratch_path("cut");
  size_t count;
  test_status((int)fits[fit].fit(rows, path, exec, &error), CPB_OK, error.text);
  char *got = scratch_read(scratch_path("cut"), &count);
  if (count != length || memcmp(got, wanted, length) != 0)
    fail_msg("%s of %s is another", fits[fit].name, what);
  free(got);
}

static void cuts_are_not_seen(void **state) {
  (void)state;
  static const size_t steps[] = {1, 7, 64, 999, N};
  static cut_rows cut;
  cpb_pool *pool;
  test_status((int)cpb_pool_new(2, &pool, NULL), CPB_OK, "");
  fill();
  for (size_t fit = 0; fit < FITS; fit++) {
    cpb_source whole = cpb_source_from_view(cpb_rows(x, CPB_F64, N, D));
    cpb_error error = {.text = ""};
    size_t length;
    test_status((int)fits[fit].fit(&whole, scratch_path("whole"), NULL, &error), CPB_OK, error.text);
    char *wanted = scratch_read(scratch_path("whole"), &length);
    expect(fit, &whole, cpb_pool_exec(pool), "an array on two threads", wanted, length);
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
      if (steps[k] == 1 && fit % 3 != 0) continue; /* slow, and one of them is enough */
      cut = (cut_rows){.step = steps[k], .fails_at = SIZE_MAX, .uneven = k % 2 == 1};
      cpb_source rows = source_of(&cut);
      expect(fit, &rows, k % 2 ? cpb_pool_exec(pool) : NULL, "blocks", wanted, length);
    }
    free(wanted);
  }
  cpb_pool_free(pool);
}

typedef struct listener {
  const char *name;
  size_t told, stop_at;
  double share;
} listener;

static int listen(void *context, double share) {
  listener *l = context;
  if (!(share >= l->share && share <= 1)) fail_msg("%s tells %g after %g", l->name, share, l->share);
  l->share = share;
  return ++l->told > l->stop_at;
}

static cpb_status told_fit(size_t fit, listener *l) {
  static cut_rows cut;
  cpb_exec exec;
  cpb_error error = {.row = -1};
  cut = (cut_rows){.step = 100, .fails_at = SIZE_MAX, .uneven = fit % 2 == 0};
  cpb_source rows = source_of(&cut);
  cpb_exec_init(&exec, sizeof exec);
  exec.progress = listen;
  exec.context = l;
  cpb_status status = fits[fit].fit(&rows, scratch_path("told"), &exec, &error);
  if (status != CPB_OK) assert_int_equal(error.reason, CPB_WHY_STOPPED);
  return status;
}

static void every_fit_tells_and_stops(void **state) {
  (void)state;
  fill();
  for (size_t fit = 0; fit < FITS; fit++) {
    listener all = {.name = fits[fit].name, .stop_at = SIZE_MAX};
    test_status((int)told_fit(fit, &all), CPB_OK, fits[fit].name);
    if (all.told < 2) fail_msg("%s tells %zu times", fits[fit].name, all.told);
    size_t stops[] = {0, all.told / 3, all.told / 2, all.told - 2};
    for (size_t k = 0; k < sizeof stops / sizeof *stops; k++) {
      listener one = {.name = fits[fit].name, .stop_at = stops[k]};
      test_status((int)told_fit(fit, &one), CPB_ESTOPPED, fits[fit].name);
      assert_int_equal(one.told, stops[k] + 1);
    }
  }
}

static void failing_sources_are_heard(void **state) {
  (void)state;
  static cut_rows cut;
  fill();
  for (size_t fit = 0; fit < FITS; fit++)
    for (size_t at = 0; at < N; at += 1000) {
      cpb_error error = {.text = ""};
      cut = (cut_rows){.step = 100, .fails_at = at};
      cpb_source rows = source_of(&cut);
      assert_int_equal(fits[fit].fit(&rows, scratch_path("failed"), NULL, &error), CPB_EIO);
      assert_string_equal(error.text, "the callback has had enough");
    }
}

/* ---- the centre ---- */

static void a_mean_of_floats_is_floats(void **state) {
  (void)state;
  enum { ROWS = 300 };
  static float narrow[ROWS * D];
  static double wide[ROWS * D];
  for (int far = 0; far < 2; far++) {
    for (size_t i = 0; i < ROWS * D; i++)
      wide[i] = (double)(narrow[i] =
                             (float)(x[i] + (far ? 3e5 : 0))); /* far: floats are too coarse for its scale */
    const cpb_view views[] = {cpb_rows(narrow, CPB_F32, ROWS, D), cpb_rows(wide, CPB_F64, ROWS, D)};
    cpb_map_options about[2];
    cpb_map *maps[2];
    for (int k = 0; k < 2; k++) {
      cpb_source source = cpb_source_from_view(views[k]);
      assert_int_equal(cpb_map_fit(&source, NULL, &maps[k], NULL, NULL, NULL), CPB_OK);
      cpb_map_options_init(&about[k], sizeof about[k]);
      cpb_map_describe(maps[k], &about[k]);
    }
    assert_true(about[0].s == about[1].s);
    for (size_t j = 0; j < D; j++) {
      double mean = about[1].center[j];
      assert_true(about[0].center[j] == (far ? mean : (double)(float)mean));
      assert_true((double)(float)mean != mean);
    }
    for (int k = 0; k < 2; k++) cpb_map_free(maps[k]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cuts_are_not_seen), cmocka_unit_test(every_fit_tells_and_stops),
      cmocka_unit_test(failing_sources_are_heard), cmocka_unit_test(a_mean_of_floats_is_floats)};
  return cmocka_run_group_tests_name("fits from sources", tests, scratch_setup, scratch_teardown);
}

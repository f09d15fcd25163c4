/* Long calls report increasing progress, and end when asked to: with ESTOPPED and no output. Results do not depend
 * on whether progress is reported. */
#include <time.h>

#include "capball/capball.h"
#include "ball/smo.h"
#include "sphere/choice.h"
#include "sketch/sketch_train.h"
#include "support/check.h"

enum { N = TEST_SANITIZED ? 300 : 3000, D = 8, SMALL = TEST_SANITIZED ? 100 : 400 };

static double x[N * D];

typedef struct listener {
  size_t told, stop_at; /* number of reports, and the one at which to stop the call; SIZE_MAX: never */
  double share;
} listener;

static int listen(void *context, double share) {
  listener *l = context;
  assert_true(share >= l->share && share <= 1);
  l->share = share;
  return ++l->told > l->stop_at;
}

typedef struct answer {
  double numbers[D + 4];
} answer;

typedef cpb_status a_call(answer *a, const cpb_exec *exec, cpb_error *error);

static cpb_status ball(answer *a, const cpb_exec *exec, cpb_error *error) {
  cpb_ball_out out = {.center = a->numbers};
  return cpb_enclosing_ball(cpb_rows(x, CPB_F64, N, D), NULL, &out, NULL, exec, error);
}

static cpb_status svdd_by(cpb_svdd_method method, answer *a, const cpb_exec *exec, cpb_error *error) {
  cpb_svdd_options options;
  cpb_svdd_options_init(&options, sizeof options);
  options.method = method;
  return cpb_svdd(cpb_rows(x, CPB_F64, N, D), &options, a->numbers, NULL, NULL, exec, error);
}

static cpb_status svdd(answer *a, const cpb_exec *exec, cpb_error *error) {
  return svdd_by(CPB_SVDD_EXACT, a, exec, error);
}

static cpb_status cap_svm(answer *a, const cpb_exec *exec, cpb_error *error) {
  return svdd_by(CPB_SVDD_CAP_SVM, a, exec, error);
}

static cpb_status kernel(answer *a, const cpb_exec *exec, cpb_error *error) {
  cpb_kernel rbf = {.kind = CPB_KERNEL_RBF, .gamma = 0.02};
  double multipliers[SMALL] = {0};
  cpb_status status =
      cpb_kernel_svdd(cpb_rows(x, CPB_F64, SMALL, D), &rbf, NULL, multipliers, a->numbers, NULL, exec, error);
  for (size_t i = 0; i < SMALL; i++) a->numbers[1 + i % 4] += multipliers[i];
  return status;
}

static cpb_status several_balls(cpb_model **made, const cpb_exec *exec, cpb_error *error) {
  cpb_model_fit_options options;
  cpb_model_fit_options_init(&options, sizeof options);
  options.nu = 0.5;
  options.balls = 5;
  options.whiten = options.standardize = true;
  options.ridge = 0.1;
  cpb_source source = cpb_source_from_view(cpb_rows(x, CPB_F64, SMALL, D));
  cpb_status status = cpb_model_fit(&source, &options, made, NULL, exec, error);
  assert_true((*made != NULL) == (status == CPB_OK));
  return status;
}

static cpb_status balls(answer *a, const cpb_exec *exec, cpb_error *error) {
  cpb_model *made = NULL;
  cpb_model_options facts = {.size = sizeof facts};
  cpb_status status = several_balls(&made, exec, error);
  if (status == CPB_OK) cpb_model_describe(made, &facts);
  a->numbers[0] = facts.radius;
  cpb_model_free(made);
  return status;
}

/* Enough rows for several reports. */
static cpb_status ball_scores(answer *a, const cpb_exec *exec, cpb_error *error) {
  enum { MANY = 50000 };
  cpb_model *made = NULL;
  double *rows = malloc(MANY * D * sizeof *rows), *scores = calloc(MANY, sizeof *scores);
  assert_true(rows != NULL && scores != NULL);
  for (size_t i = 0; i < MANY * D; i++) rows[i] = x[i % (N * D)];
  test_status((int)several_balls(&made, NULL, NULL), CPB_OK, "");
  cpb_status status = cpb_model_scores(made, cpb_rows(rows, CPB_F64, MANY, D),
                                       cpb_rows_out(scores, CPB_F64, MANY, 1), exec, error);
  for (size_t i = 0; i < MANY && status == CPB_OK; i++) a->numbers[i % 4] += scores[i];
  cpb_model_free(made);
  free(scores);
  free(rows);
  return status;
}

static cpb_status sketch(answer *a, const cpb_exec *exec, cpb_error *error) {
  cpb_sketch_training training;
  cpb_sketch *made = NULL;
  cpb_sketch_training_init(&training, sizeof training);
  training.bits = 32;
  cpb_status status = cpb_sketch_train(cpb_rows(x, CPB_F64, N, D), &training, &made, NULL, exec, error);
  assert_true((made != NULL) == (status == CPB_OK));
  if (status != CPB_OK) return status;
  cpb_sketch_options o = {.size = sizeof o};
  cpb_sketch_describe(made, &o);
  memcpy(a->numbers, o.normals, D * sizeof(double));
  cpb_sketch_free(made);
  return CPB_OK;
}

static cpb_status scale(answer *a, const cpb_exec *exec, cpb_error *error) {
  cpb_goal_options options;
  cpb_choice *choice = NULL;
  cpb_goal_options_init(&options, sizeof options);
  options.goal = CPB_GOAL_RECALL;
  options.queries = 100;
  options.target = 0.8;
  cpb_status status = cpb_choose_scale(cpb_rows(x, CPB_F64, SMALL, D), NULL, &options, &choice, exec, error);
  assert_true((choice != NULL) == (status == CPB_OK));
  a->numbers[0] = status == CPB_OK ? cpb_choice_facts_of(choice)->s : 0;
  cpb_choice_free(choice);
  return status;
}

static cpb_status recommend(answer *a, const cpb_exec *exec, cpb_error *error) {
  cpb_recommendation *made = NULL;
  cpb_recommendation_facts facts = {.size = sizeof facts};
  cpb_view none = {0};
  cpb_status status = cpb_recommend(cpb_rows(x, CPB_F64, SMALL, D), none, NULL, &made, exec, error);
  assert_true((made != NULL) == (status == CPB_OK));
  if (status == CPB_OK) cpb_recommendation_describe(made, &facts);
  a->numbers[0] = (double)facts.pick;
  a->numbers[1] = facts.radius;
  cpb_recommendation_free(made);
  return status;
}

static const struct {
  const char *name;
  a_call *call;
} calls[] = {{"ball", ball},     {"svdd", svdd},   {"cap-svm", cap_svm},
             {"kernel", kernel}, {"balls", balls}, {"scores by balls", ball_scores},
             {"sketch", sketch}, {"scale", scale}, {"recommend", recommend}};

static cpb_status call(size_t i, size_t threads, listener *l, answer *a) {
  cpb_pool *pool = NULL;
  cpb_exec exec;
  cpb_error error = {.row = -1};
  cpb_exec_init(&exec, sizeof exec);
  if (threads > 1) {
    test_status((int)cpb_pool_new(threads, &pool, NULL), CPB_OK, "");
    exec = *cpb_pool_exec(pool);
  }
  exec.progress = listen;
  exec.context = l;
  cpb_status status = calls[i].call(a, &exec, &error);
  if (status != CPB_OK) {
    assert_int_equal(error.status, status);
    assert_int_equal(error.reason, CPB_WHY_STOPPED);
  }
  cpb_pool_free(pool);
  return status;
}

static void calls_tell_and_stop(void **state) {
  (void)state;
  test_rng rng = {77};
  for (size_t i = 0; i < N * D; i++) x[i] = test_gauss(&rng) * (double)(1 + i % 3);
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    answer silent = {{0}};
    test_status((int)calls[i].call(&silent, NULL, NULL), CPB_OK, calls[i].name);
    for (size_t threads = TEST_SANITIZED ? 2 : 1; threads <= 2; threads++) {
      answer told = {{0}}, stopped = {{0}}, nothing = {{0}};
      listener all = {.stop_at = SIZE_MAX}, first = {.stop_at = 0}, late = {.stop_at = 1};
      test_status((int)call(i, threads, &all, &told), CPB_OK, calls[i].name);
      assert_memory_equal(&silent, &told, sizeof told);
      if (all.told == 0) fail_msg("%s tells nothing", calls[i].name);
      test_status((int)call(i, threads, &first, &stopped), CPB_ESTOPPED, calls[i].name);
      assert_int_equal(first.told, 1);
      if (all.told > 2) test_status((int)call(i, threads, &late, &stopped), CPB_ESTOPPED, calls[i].name);
      assert_memory_equal(&stopped, &nothing, sizeof nothing);
    }
  }
}

/* The longest time without a report, of the processor: other programs do not count. */
typedef struct watch {
  clock_t begun, last;
  double longest, share;
} watch;

static int look_at_watch(void *context, double share) {
  watch *w = context;
  clock_t now = clock();
  assert_true(share >= w->share);
  w->share = share;
  w->longest = fmax(w->longest, (double)(now - w->last) / CLOCKS_PER_SEC);
  w->last = now;
  return now - w->begun > CLOCKS_PER_SEC;
}

/* A fit that would take minutes ends within a second. */
static void a_long_fit_stops_soon(void **state) {
  (void)state;
  enum { ROWS = TEST_SANITIZED ? 20000 : 100000, COLS = 16 };
  cpb_model_fit_options options;
  cpb_model_fit_options_init(&options, sizeof options);
  options.nu = 0.5;
  options.balls = 100;
  options.whiten = options.standardize = true;
  options.ridge = 0.1;
  test_rng rng = {5};
  double *rows = malloc(ROWS * COLS * sizeof *rows);
  assert_non_null(rows);
  for (size_t i = 0; i < ROWS * COLS; i++) rows[i] = test_gauss(&rng) + (double)(i / COLS % 13);
  cpb_source source = cpb_source_from_view(cpb_rows(rows, CPB_F64, ROWS, COLS));
  cpb_model *made = NULL;
  watch w = {.begun = clock(), .last = clock()};
  cpb_exec exec;
  cpb_exec_init(&exec, sizeof exec);
  exec.progress = look_at_watch;
  exec.context = &w;
  assert_int_equal(cpb_model_fit(&source, &options, &made, NULL, &exec, NULL), CPB_ESTOPPED);
  assert_null(made);
  assert_true(w.longest < (TEST_SANITIZED ? 10 : 1));
  free(rows);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(calls_tell_and_stop),
                                     cmocka_unit_test(a_long_fit_stops_soon)};
  return cmocka_run_group_tests_name("progress", tests, NULL, NULL);
}

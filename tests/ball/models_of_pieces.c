/* Objects fitted from pieces equal those fitted to all rows. */
#include "capball/advanced/estimator.h"
#include "capball/advanced/rounds.h"
#include "capball/advanced/fitting.h"
#include "ball/piece_rounds.h"
#include "support/check.h"

enum { N = 3000, D = 3, PIECES = 4 };

static double x[N * D], scores[N];

static void fill(void) {
  test_rng rng = {11};
  for (size_t i = 0; i < N * D; i++) x[i] = 2 + test_gauss(&rng);
}

/* The rows of piece p are contiguous. */
static cpb_view rows_of(size_t p, uint64_t *first) {
  size_t from = p * N / PIECES, to = (p + 1) * N / PIECES;
  *first = from;
  return cpb_rows(x + from * D, CPB_F64, to - from, D);
}

static void score_all(const cpb_model *model) {
  cpb_error error;
  test_status((int)cpb_model_scores(model, cpb_rows(x, CPB_F64, N, D), cpb_rows_out(scores, CPB_F64, N, 1),
                                    NULL, &error),
              CPB_OK, error.text);
}

static cpb_model *fitted(double nu) {
  cpb_model_fit_options options;
  cpb_model_fit_options_init(&options, sizeof options);
  options.nu = nu;
  cpb_source source = cpb_source_from_view(cpb_rows(x, CPB_F64, N, D));
  cpb_model *model;
  cpb_error error;
  test_status((int)cpb_model_fit(&source, &options, &model, NULL, NULL, &error), CPB_OK, error.text);
  return model;
}

static void check_alike(const cpb_model *a, const cpb_model *b) {
  cpb_model_options p, q;
  cpb_model_options_init(&p, sizeof p);
  cpb_model_options_init(&q, sizeof q);
  cpb_model_describe(a, &p);
  cpb_model_describe(b, &q);
  assert_true(p.rows == q.rows && p.method == q.method && p.nu == q.nu && p.converged);
  assert_true(fabs(p.radius - q.radius) <= 1e-6 * q.radius);
  assert_int_equal(p.quantile_count, q.quantile_count);
  for (size_t i = 0; i < p.quantile_count; i++) assert_true(fabs(p.quantiles[i] - q.quantiles[i]) <= 1e-3);
}

static void balls(void **unused) {
  (void)unused;
  fill();
  cpb_ball_rounds *rounds, *piece;
  cpb_error error;
  cpb_model *model, *one = fitted(0);
  bool done = false;
  test_status((int)cpb_ball_rounds_new(D, NULL, &rounds, &error), CPB_OK, error.text);
  test_status((int)cpb_ball_rounds_new(D, NULL, &piece, &error), CPB_OK, error.text);
  assert_int_equal(cpb_model_from_ball_rounds(rounds, N, NULL, 0, &model, &error), CPB_EINVAL);
  while (!done) {
    for (size_t p = 0; p < PIECES; p++) {
      uint64_t first;
      cpb_view rows = rows_of(p, &first);
      test_status((int)cpb_ball_rounds_restart(piece, rounds, &error), CPB_OK, error.text);
      test_status((int)cpb_ball_rounds_update(piece, rows, (cpb_row_ids){NULL, first}, NULL, &error), CPB_OK,
                  error.text);
      test_status((int)cpb_ball_rounds_merge(rounds, piece, &error), CPB_OK, error.text);
    }
    test_status((int)cpb_ball_rounds_solve(rounds, &done, &error), CPB_OK, error.text);
  }
  test_status((int)cpb_model_from_ball_rounds(rounds, N, NULL, 0, &model, &error), CPB_OK, error.text);
  score_all(model);
  cpb_model_free(model);
  assert_int_equal(cpb_model_from_ball_rounds(rounds, 1, scores, N, &model, &error), CPB_EINVAL);
  assert_string_equal(error.text, "there is one row, and no ball of radius > 0 around it");
  test_status((int)cpb_model_from_ball_rounds(rounds, N, scores, N, &model, &error), CPB_OK, error.text);
  check_alike(model, one);
  cpb_model_free(model);
  cpb_model_free(one);
  cpb_ball_rounds_free(rounds);
  cpb_ball_rounds_free(piece);
}

static void svdds(void **unused) {
  (void)unused;
  fill();
  cpb_svdd_rounds *rounds;
  cpb_error error;
  cpb_model *model, *one = fitted(0.1);
  bool done = false;
  test_status((int)cpb_svdd_rounds_new(D, NULL, &rounds, &error), CPB_OK, error.text);
  while (!done) {
    for (size_t p = 0; p < PIECES; p++) {
      uint64_t first;
      cpb_view rows = rows_of(p, &first);
      test_status((int)cpb_svdd_rounds_update(rounds, rows, (cpb_row_ids){NULL, first}, NULL, NULL, &error),
                  CPB_OK, error.text);
    }
    test_status((int)cpb_svdd_rounds_solve(rounds, &done, &error), CPB_OK, error.text);
  }
  test_status((int)cpb_model_from_svdd_rounds(rounds, N, NULL, 0, &model, &error), CPB_OK, error.text);
  score_all(model);
  cpb_model_free(model);
  test_status((int)cpb_model_from_svdd_rounds(rounds, N, scores, N, &model, &error), CPB_OK, error.text);
  check_alike(model, one);
  cpb_model_free(model);
  cpb_model_free(one);
  cpb_svdd_rounds_free(rounds);
}

static cpb_statistics *gathered(bool norms) {
  cpb_statistics_options options;
  cpb_statistics_options_init(&options, sizeof options);
  options.d = D;
  options.dtype = CPB_F64;
  options.sample = 500;
  cpb_statistics *s;
  cpb_error error;
  test_status((int)cpb_statistics_new(&options, &s, &error), CPB_OK, error.text);
  test_status((int)cpb_statistics_update(s, cpb_rows(x, CPB_F64, N, D), 0, &error), CPB_OK, error.text);
  if (norms) {
    test_status((int)cpb_statistics_begin_norms(s, &error), CPB_OK, error.text);
    test_status((int)cpb_statistics_update(s, cpb_rows(x, CPB_F64, N, D), 0, &error), CPB_OK, error.text);
  }
  return s;
}

static void same_sketch(cpb_sketch *a, cpb_sketch *b) {
  char *p, *q;
  test_status((int)cpb_sketch_to_json(a, &p, NULL), CPB_OK, "");
  test_status((int)cpb_sketch_to_json(b, &q, NULL), CPB_OK, "");
  assert_string_equal(p, q);
  cpb_free(p);
  cpb_free(q);
  cpb_sketch_free(a);
  cpb_sketch_free(b);
}

static void sketches(void **unused) {
  (void)unused;
  fill();
  cpb_sketch_training training;
  cpb_sketch_training_init(&training, sizeof training);
  training.bits = 16;
  cpb_sketch_fit_options options;
  cpb_sketch_fit_options_init(&options, sizeof options);
  options.training = &training;
  options.sample = 500;
  cpb_source source = cpb_source_from_view(cpb_rows(x, CPB_F64, N, D));
  cpb_sketch *one, *many;
  cpb_error error;
  test_status((int)cpb_sketch_fit(&source, &options, &one, NULL, NULL, &error), CPB_OK, error.text);
  cpb_statistics *s = gathered(false);
  assert_int_equal(cpb_sketch_from_statistics(s, &options, &many, NULL, NULL, &error), CPB_EINVAL);
  cpb_statistics_free(s);
  s = gathered(true);
  cpb_sketch_fit_report report = {.size = sizeof report};
  test_status((int)cpb_sketch_from_statistics(s, &options, &many, &report, NULL, &error), CPB_OK, error.text);
  assert_true(report.rows == N && report.sample == 500);
  same_sketch(one, many);
  cpb_map_options plain;
  cpb_map_options_init(&plain, sizeof plain);
  plain.d = D + 1;
  plain.s = 1;
  cpb_map *map;
  test_status((int)cpb_map_new(&plain, &map, &error), CPB_OK, error.text);
  options.map = map;
  assert_int_equal(cpb_sketch_from_statistics(s, &options, &many, NULL, NULL, &error), CPB_ESHAPE);
  cpb_map_free(map);
  cpb_statistics_free(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(balls), cmocka_unit_test(svdds),
                                     cmocka_unit_test(sketches)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

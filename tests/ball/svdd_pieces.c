/* SVDD of rows in pieces: both bounds hold, the rounds reach the gap, and the bits are the same for any division,
 * any order and any number of serialisations. */
#include "capball/advanced/rounds.h"
#include "capball/ball.h"
#include "ball/piece_rounds.h"
#include "support/check.h"

enum { D = 4, MOST_N = TEST_SANITIZED ? 6000 : 20000, N = TEST_SANITIZED ? 2000 : 6000 };

typedef struct cutting {
  size_t pieces, per_update;
  bool shuffled, bytes, backwards;
} cutting;

typedef struct rows_in {
  size_t n;
  double *x, *weights; /* weights or NULL */
  uint64_t *order;
  double nu;
} rows_in;

typedef struct answer {
  double center[D];
  cpb_svdd_report report;
} answer;

static cpb_svdd_rounds *through_bytes(cpb_svdd_rounds *rounds) {
  void *bytes;
  size_t count;
  cpb_svdd_rounds *again;
  cpb_error error = {0};
  test_status((int)cpb_svdd_rounds_serialize(rounds, &bytes, &count, &error), CPB_OK, error.text);
  test_status((int)cpb_svdd_rounds_deserialize(bytes, count, NULL, &again, &error), CPB_OK, error.text);
  cpb_svdd_rounds_free(rounds);
  free(bytes);
  return again;
}

static void update_piece(cpb_svdd_rounds *piece, const rows_in *in, size_t p, const cutting *cut) {
  static double block[512 * D], weights[512];
  static uint64_t ids[512];
  size_t held = 0;
  for (size_t k = 0; k <= in->n; k++) {
    bool end = k == in->n;
    if (held == cut->per_update || (end && held > 0)) {
      cpb_error error = {0};
      cpb_view rows = cpb_rows(block, CPB_F64, held, D);
      test_status((int)cpb_svdd_rounds_update_ids(piece, rows, ids, in->weights == NULL ? NULL : weights,
                                                  NULL, &error),
                  CPB_OK, error.text);
      held = 0;
    }
    if (end || in->order[k] * 7919 % cut->pieces != p) continue;
    memcpy(block + held * D, in->x + in->order[k] * D, D * sizeof *block);
    if (in->weights != NULL) weights[held] = in->weights[in->order[k]];
    ids[held++] = in->order[k];
  }
}

static answer by_pieces(const rows_in *in, const cutting *cut) {
  cpb_svdd_options options;
  cpb_svdd_options_init(&options, sizeof options);
  options.nu = in->nu;
  options.max_iterations = 200;
  cpb_svdd_rounds *rounds, *piece;
  answer a = {0};
  cpb_error error = {0};
  test_status((int)cpb_svdd_rounds_new(D, &options, &rounds, &error), CPB_OK, error.text);
  assert_int_equal(cpb_svdd_rounds_ball(rounds, a.center, NULL, &error), CPB_EINVAL);
  for (bool done = false; !done;) {
    for (size_t k = 0; k < cut->pieces + 1; k++) { /* the last piece is empty */
      test_status((int)cpb_svdd_rounds_new(D, &options, &piece, &error), CPB_OK, error.text);
      test_status((int)cpb_svdd_rounds_restart(piece, rounds, &error), CPB_OK, error.text);
      if (cut->bytes) piece = through_bytes(piece);
      update_piece(piece, in, cut->backwards ? cut->pieces - k : k, cut);
      if (cut->bytes) piece = through_bytes(piece);
      test_status((int)cpb_svdd_rounds_merge(rounds, piece, &error), CPB_OK, error.text);
      cpb_svdd_rounds_free(piece);
    }
    if (cut->bytes) rounds = through_bytes(rounds);
    test_status((int)cpb_svdd_rounds_solve(rounds, &done, &error), CPB_OK, error.text);
  }
  a.report = (cpb_svdd_report){.size = sizeof a.report};
  test_status((int)cpb_svdd_rounds_ball(rounds, a.center, &a.report, &error), CPB_OK, error.text);
  cpb_svdd_rounds_free(rounds);
  return a;
}

static answer at_once(const rows_in *in) {
  answer a;
  cpb_svdd_options options;
  cpb_svdd_options_init(&options, sizeof options);
  options.nu = in->nu;
  options.weights = in->weights;
  a.report = (cpb_svdd_report){.size = sizeof a.report};
  cpb_error error = {0};
  test_status(
      (int)cpb_svdd(cpb_rows(in->x, CPB_F64, in->n, D), &options, a.center, NULL, &a.report, NULL, &error),
      CPB_OK, error.text);
  return a;
}

/* Gauss; on a sphere; a lattice full of ties; far from 0; weights with zeros; tiny. */
static rows_in make(int kind) {
  test_rng rng = {(uint64_t)kind + 1};
  rows_in in = {.n = kind == 0 ? MOST_N : N, .nu = kind == 1 ? 0.01 : 0.1};
  in.x = malloc(in.n * D * sizeof *in.x);
  in.order = malloc(in.n * sizeof *in.order);
  if (kind == 4) in.weights = malloc(in.n * sizeof *in.weights);
  for (size_t i = 0; i < in.n; i++) {
    double *row = in.x + i * D;
    in.order[i] = i;
    if (kind == 1) test_direction(&rng, D, row);
    for (size_t j = 0; j < D; j++) {
      if (kind == 1) row[j] += 5;
      if (kind == 2) row[j] = (double)test_below(&rng, 3);
      if (kind != 1 && kind != 2) row[j] = test_gauss(&rng);
      if (kind == 3) row[j] = 1e6 + row[j];
      if (kind == 5) row[j] *= 1e-200;
    }
    if (kind != 4) continue;
    in.weights[i] = i % 3 == 0 ? 0 : test_log_uniform(&rng, 1e-3, 1);
    if (i % 3 == 0) row[0] = NAN;
  }
  return in;
}

static void shuffle(rows_in *in, uint64_t seed) {
  test_rng rng = {seed};
  for (size_t i = in->n; i-- > 1;) {
    size_t other = test_below(&rng, i + 1);
    uint64_t kept = in->order[i];
    in->order[i] = in->order[other];
    in->order[other] = kept;
  }
}

static void pieces_reach_the_gap_with_the_same_bits(void **state) {
  (void)state;
  static const cutting cuts[] = {
      {1, 512, false, false, false}, {5, 100, false, true, true}, {40, 7, true, true, false}};
  for (int kind = 0; kind < 6; kind++) {
    rows_in in = make(kind);
    answer whole = at_once(&in), first = by_pieces(&in, &cuts[0]);
    print_message("# kind %d: %zu rounds to gap %.1e; at once %zu reads\n", kind, first.report.iterations,
                  first.report.gap, whole.report.iterations);
    assert_true(first.report.converged && first.report.gap <= 1e-9);
    if (kind != 5) {
      assert_true(first.report.lower_bound <= whole.report.objective);
      assert_true(whole.report.lower_bound <= first.report.objective);
    }
    assert_true(fabs(first.report.radius / whole.report.radius - 1) <= 1e-4);
    for (size_t k = 1; k < sizeof cuts / sizeof *cuts; k++) {
      if (cuts[k].shuffled) shuffle(&in, k);
      answer a = by_pieces(&in, &cuts[k]);
      assert_memory_equal(a.center, first.center, sizeof a.center);
      assert_true(a.report.gap == first.report.gap && a.report.objective == first.report.objective);
      assert_true(a.report.lower_bound == first.report.lower_bound && a.report.radius == first.report.radius);
    }
    free(in.x);
    free(in.order);
    free(in.weights);
  }
}

static void what_does_not_fit_is_refused(void **state) {
  (void)state;
  double x[] = {0, 1, 2, 3, 4, 5, 6, 7, NAN, 1, 2, 3}, weights[] = {1, -1}, far[] = {1e300, -1e300, 0, 0};
  cpb_svdd_rounds *a, *b;
  cpb_error error = {0};
  bool done;
  cpb_svdd_options options;
  cpb_svdd_options_init(&options, sizeof options);
  options.nu = 0.5;
  test_status((int)cpb_svdd_rounds_new(D, &options, &a, NULL), CPB_OK, "");
  test_status((int)cpb_svdd_rounds_new(D, &options, &b, NULL), CPB_OK, "");
  assert_int_equal(cpb_svdd_rounds_solve(a, &done, &error), CPB_EINVAL);
  assert_int_equal(
      cpb_svdd_rounds_update(a, cpb_rows(x, CPB_F64, 3, D), (cpb_row_ids){NULL, 0}, NULL, NULL, &error),
      CPB_EROW);
  assert_int_equal(error.row, 2);
  assert_int_equal(
      cpb_svdd_rounds_update(a, cpb_rows(x, CPB_F64, 2, D), (cpb_row_ids){NULL, 0}, weights, NULL, &error),
      CPB_EINVAL);
  test_status(
      (int)cpb_svdd_rounds_update(a, cpb_rows(x, CPB_F64, 2, D), (cpb_row_ids){NULL, 0}, NULL, NULL, &error),
      CPB_OK, error.text);
  test_status((int)cpb_svdd_rounds_solve(a, &done, &error), CPB_OK, error.text);
  assert_int_equal(cpb_svdd_rounds_merge(a, b, &error), CPB_EINVAL);
  assert_string_equal(error.text, "one piece is of round 1, the other of 0");
  assert_int_equal(
      cpb_svdd_rounds_update(a, cpb_rows(far, CPB_F64, 1, D), (cpb_row_ids){NULL, 9}, NULL, NULL, &error),
      CPB_EINVAL);
  test_status(
      (int)cpb_svdd_rounds_update(a, cpb_rows(x, CPB_F64, 2, D), (cpb_row_ids){NULL, 0}, NULL, NULL, &error),
      CPB_OK, error.text);
  void *bytes;
  size_t count;
  test_status((int)cpb_svdd_rounds_serialize(a, &bytes, &count, &error), CPB_OK, error.text);
  for (size_t i = 0; i < count; i++) {
    cpb_svdd_rounds *damaged;
    ((unsigned char *)bytes)[i] ^= 1;
    assert_int_equal(cpb_svdd_rounds_deserialize(bytes, count, "piece", &damaged, &error), CPB_EFORMAT);
    ((unsigned char *)bytes)[i] ^= 1;
    assert_int_equal(cpb_svdd_rounds_deserialize(bytes, i, "piece", &damaged, &error), CPB_EFORMAT);
  }
  free(bytes);
  cpb_svdd_rounds_free(a);
  cpb_svdd_rounds_free(b);
  cpb_svdd_rounds_free(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pieces_reach_the_gap_with_the_same_bits),
      cmocka_unit_test(what_does_not_fit_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* T10: the smallest enclosing ball, checked by its own certificate recomputed in MPFR. */
#include "capball/advanced/rounds.h"
#include "capball/ball.h"
#include "capball/exec.h"
#include "ball/paper_schemes.h"
#include "ball/piece_rounds.h"
#include "support/big.h"
#include "support/check.h"
#include "support/point_sets.h"

enum { MOST_D = 40 };

typedef struct answer {
  double center[MOST_D], multipliers[MOST_D + 1];
  uint64_t rows[MOST_D + 1];
  cpb_ball_report report;
} answer;

static answer solve(cpb_view x, const cpb_ball_options *options, const cpb_exec *exec) {
  answer a = {.report.size = sizeof a.report};
  cpb_error error = {0};
  cpb_ball_out out = {a.center, a.rows, a.multipliers};
  test_status((int)cpb_enclosing_ball(x, options, &out, &a.report, exec, &error), CPB_OK, error.text);
  return a;
}

static big distance(const double *x, const double *c, size_t d) {
  big sum = big_of(0);
  for (size_t j = 0; j < d; j++) sum = big_add(sum, big_square(big_sub(big_of(x[j]), big_of(c[j]))));
  return big_sqrt(sum);
}

/* The dual value of the returned multipliers, made feasible: sum a|x-m|^2 for m = sum a x. */
static big dual_radius(const point_set *set, const answer *a) {
  big sum = big_of(0), value = big_of(0), mean[MOST_D];
  for (size_t k = 0; k < a->report.support; k++) sum = big_add(sum, big_of(a->multipliers[k]));
  for (size_t j = 0; j < set->d; j++) {
    mean[j] = big_of(0);
    for (size_t k = 0; k < a->report.support; k++)
      mean[j] = big_add(
          mean[j], big_mul(big_div(big_of(a->multipliers[k]), sum), big_of(set->x[a->rows[k] * set->d + j])));
  }
  for (size_t k = 0; k < a->report.support; k++)
    for (size_t j = 0; j < set->d; j++) {
      big difference = big_sub(big_of(set->x[a->rows[k] * set->d + j]), mean[j]);
      value = big_add(value, big_mul(big_div(big_of(a->multipliers[k]), sum), big_square(difference)));
    }
  return big_sqrt(value);
}

/* How far the farthest point is outside, in units of the last place of the radius. */
static double outside_in_ulp(const point_set *set, const answer *a) {
  double worst = 0, radius = a->report.radius, ulp = nextafter(radius, INFINITY) - radius;
  for (size_t i = 0; i < set->n; i++) {
    size_t mark = big_mark();
    big beyond = big_sub(distance(set->x + i * set->d, a->center, set->d), big_of(radius));
    worst = fmax(worst, big_to_double(big_div(beyond, big_of(ulp))));
    big_release(mark);
  }
  return worst;
}

static void walk_sets(cpb_ball_method method, uint64_t sets, const char *law) {
  double worst_gap = 0, worst_outside = 0, most_passes = 0;
  cpb_ball_options options;
  cpb_ball_options_init(&options, sizeof options);
  options.method = method;
  for (uint64_t i = 0; i < sets; i++) {
    point_set set = point_set_make(i, i % 5 == 0 ? MOST_D : 10);
    answer a = solve(cpb_rows(set.x, CPB_F64, set.n, set.d), &options, NULL);
    size_t mark = big_mark();
    big lower = dual_radius(&set, &a), radius = big_of(a.report.radius);
    double gap = a.report.radius == 0 ? 0 : big_to_double(big_div(big_sub(radius, lower), radius));
    if (!(gap <= 1e-9) || !a.report.converged)
      fail_msg("set %llu (%s, n = %zu, d = %zu): radius %.17g, gap %g, reported %g, %zu passes",
               (unsigned long long)i, set.name, set.n, set.d, a.report.radius, gap, a.report.gap,
               a.report.passes);
    assert_true(a.report.support <= set.d + 1 && a.report.passes <= options.max_passes);
    test_worst(&worst_gap, fabs(gap));
    test_worst(&worst_outside, outside_in_ulp(&set, &a));
    test_worst(&most_passes, (double)a.report.passes);
    big_release(mark);
    free(set.x);
  }
  char what[128];
  snprintf(what, sizeof what, "%s: relative gap of the radius, %llu sets", law, (unsigned long long)sets);
  law_holds("T10", what, "f64", worst_gap / U64, 1e-9 / U64);
  snprintf(what, sizeof what, "%s: a point outside, in ulp of the radius", law);
  law_holds("T10", what, "f64", worst_outside, 4);
}

static void a_thousand_sets_by_active_sets(void **state) {
  (void)state;
  walk_sets(CPB_BALL_ACTIVE_SET, 1000, "active set");
}

static void sets_by_caps(void **state) {
  (void)state;
  walk_sets(CPB_BALL_CAPS, 320, "caps");
}

static double *gauss_rows(uint64_t seed, size_t n, size_t d) {
  test_rng rng = {seed};
  double *x = malloc(n * d * sizeof *x);
  for (size_t i = 0; i < n * d; i++) x[i] = test_gauss(&rng);
  return x;
}

static double largest_distance(const double *x, size_t n, size_t d, const double *c) {
  double largest = 0;
  for (size_t i = 0; i < n; i++) {
    double sum = 0;
    for (size_t j = 0; j < d; j++) sum += (x[i * d + j] - c[j]) * (x[i * d + j] - c[j]);
    largest = fmax(largest, sqrt(sum));
  }
  return largest;
}

/* With s = R the error after a step is at most a constant times the cube of the one before. */
static void cap_steps_are_cubic(void **state) {
  (void)state;
  enum { N = 200, D = 3, SETS = 20 };
  double worst = 0;
  for (uint64_t seed = 0; seed < SETS; seed++) {
    double *x = gauss_rows(100 + seed, N, D), center[D] = {0};
    cpb_view rows = cpb_rows(x, CPB_F64, N, D);
    cpb_ball_options options;
    cpb_ball_options_init(&options, sizeof options);
    options.gap = 1e-15;
    answer exact = solve(rows, &options, NULL);
    double before = INFINITY, radius = exact.report.radius;
    for (size_t j = 0; j < D; j++) center[j] = exact.center[j] + 0.2 * radius * (j == 0);
    for (int step = 0; step < 6; step++) {
      double error = 0;
      for (size_t j = 0; j < D; j++) error = hypot(error, (center[j] - exact.center[j]) / radius);
      if (before < 0.25 && error > 1e-14) test_worst(&worst, error / (before * before * before));
      before = error;
      double s = largest_distance(x, N, D, center), multiplier[N];
      cpb_working_set set = {.d = D, .count = N, .rows = x};
      test_status((int)cpb_paper_cap_step(&set, cpb_loops_here(), s, center, multiplier), CPB_OK, "");
    }
    assert_true(before <= 1e-14);
    free(x);
  }
  if (!(worst <= 30)) fail_msg("error after a cap step is %g times the cube of the one before", worst);
}

typedef struct pieces {
  cpb_view x;
  size_t next, step, reads;
} pieces;

static cpb_status first_piece(cpb_source *source, cpb_error *error) {
  (void)error;
  ((pieces *)source->self)->next = 0;
  return CPB_OK;
}

static cpb_status next_piece(cpb_source *source, cpb_view *block, cpb_error *error) {
  (void)error;
  pieces *p = source->self;
  p->reads += p->next == 0;
  size_t count = p->x.rows - p->next < p->step ? p->x.rows - p->next : p->step;
  *block = cpb_rows((const double *)p->x.data + p->next * p->x.cols, CPB_F64, count, p->x.cols);
  p->next += count;
  return CPB_OK;
}

/* Two balls, to the last bit. */
static void same_bits(const answer *a, const answer *b) {
  assert_int_equal(a->report.support, b->report.support);
  assert_memory_equal(a->center, b->center, sizeof a->center);
  assert_memory_equal(a->multipliers, b->multipliers, a->report.support * sizeof *a->multipliers);
  assert_memory_equal(a->rows, b->rows, a->report.support * sizeof *a->rows);
  assert_true(a->report.radius == b->report.radius && a->report.gap == b->report.gap);
  assert_true(a->report.lower_bound == b->report.lower_bound && a->report.converged == b->report.converged);
}

static void streams_end_at_the_same_ball(void **state) {
  (void)state;
  enum { N = 20000, D = 7 };
  double *x = gauss_rows(7, N, D);
  cpb_view rows = cpb_rows(x, CPB_F64, N, D);
  answer whole = solve(rows, NULL, NULL);
  for (size_t step = 17; step < 2 * N; step = step * 7 + 1) {
    answer a = {.report.size = sizeof a.report};
    pieces cut = {rows, 0, step, 0};
    cpb_source source = {.size = sizeof source,
                         .cols = D,
                         .dtype = CPB_F64,
                         .rows = CPB_ROWS_UNKNOWN,
                         .next = next_piece,
                         .rewind = first_piece,
                         .self = &cut};
    cpb_error error = {0};
    cpb_ball_out out = {a.center, a.rows, a.multipliers};
    test_status((int)cpb_enclosing_ball_stream(&source, NULL, &out, &a.report, NULL, &error), CPB_OK,
                error.text);
    assert_true(a.report.converged && cut.reads == a.report.passes);
    same_bits(&a, &whole);
  }
  free(x);
}

/* ---- pieces ---- */

enum { PIECES_D = 5, PIECES_N = TEST_SANITIZED ? 1200 : 6000 };

/* A division of rows: the piece of row i, and the order of rows and pieces. */
typedef struct cutting {
  size_t pieces, per_update;
  bool shuffled, bytes, backwards;
} cutting;

static cpb_ball_rounds *through_bytes(cpb_ball_rounds *rounds) {
  void *bytes;
  size_t count;
  cpb_ball_rounds *again;
  cpb_error error = {0};
  test_status((int)cpb_ball_rounds_serialize(rounds, &bytes, &count, &error), CPB_OK, error.text);
  test_status((int)cpb_ball_rounds_deserialize(bytes, count, NULL, &again, &error), CPB_OK, error.text);
  cpb_ball_rounds_free(rounds);
  free(bytes);
  return again;
}

/* One piece's rows of one round, a few rows per update. */
static void update_piece(cpb_ball_rounds *piece, const double *x, const uint64_t *order, size_t p,
                         const cutting *cut) {
  double block[64 * PIECES_D];
  uint64_t ids[64];
  size_t held = 0;
  for (size_t k = 0; k <= PIECES_N; k++) {
    bool end = k == PIECES_N;
    if (held == cut->per_update || (end && held > 0)) {
      cpb_error error = {0};
      cpb_view rows = cpb_rows(block, CPB_F64, held, PIECES_D);
      test_status((int)cpb_ball_rounds_update_ids(piece, rows, ids, NULL, &error), CPB_OK, error.text);
      held = 0;
    }
    if (end || order[k] * 7919 % cut->pieces != p) continue;
    memcpy(block + held * PIECES_D, x + order[k] * PIECES_D, PIECES_D * sizeof *x);
    ids[held++] = order[k];
  }
}

static void run_round(cpb_ball_rounds *rounds, const double *x, const uint64_t *order, const cutting *cut) {
  for (size_t k = 0; k < cut->pieces + 1; k++) { /* the last piece is empty */
    size_t p = cut->backwards ? cut->pieces - k : k;
    cpb_ball_rounds *piece;
    cpb_error error = {0};
    test_status((int)cpb_ball_rounds_new(PIECES_D, NULL, &piece, NULL), CPB_OK, "");
    test_status((int)cpb_ball_rounds_restart(piece, rounds, &error), CPB_OK, error.text);
    if (cut->bytes) piece = through_bytes(piece);
    update_piece(piece, x, order, p, cut);
    if (cut->bytes) piece = through_bytes(piece);
    test_status((int)cpb_ball_rounds_merge(rounds, piece, &error), CPB_OK, error.text);
    cpb_ball_rounds_free(piece);
  }
}

static answer ball_of_pieces(const double *x, const cutting *cut, const uint64_t *order) {
  cpb_ball_rounds *rounds;
  answer a = {0};
  cpb_error error = {0};
  bool done = false;
  test_status((int)cpb_ball_rounds_new(PIECES_D, NULL, &rounds, NULL), CPB_OK, "");
  cpb_ball_out out = {a.center, a.rows, a.multipliers};
  assert_int_equal(cpb_ball_rounds_ball(rounds, &out, NULL, &error), CPB_EINVAL);
  while (!done) {
    run_round(rounds, x, order, cut);
    if (cut->bytes) rounds = through_bytes(rounds);
    test_status((int)cpb_ball_rounds_solve(rounds, &done, &error), CPB_OK, error.text);
  }
  a.report = (cpb_ball_report){.size = sizeof a.report};
  test_status((int)cpb_ball_rounds_ball(rounds, &out, &a.report, &error), CPB_OK, error.text);
  cpb_ball_rounds_free(rounds);
  return a;
}

/* Any division, any order, serialised or not: the same ball to the last bit, also as that of all rows at once.
 * Also where all rows are equally far, and where every row occurs twice. */
static void pieces_end_at_the_same_bits(void **state) {
  (void)state;
  static const cutting cuts[] = {{1, 64, false, false, false},
                                 {7, 64, false, true, false},
                                 {40, 13, true, false, true},
                                 {3, 1, true, true, true},
                                 {500, 5, true, true, false}};
  static uint64_t order[PIECES_N];
  for (int kind = 0; kind < 4; kind++) {
    double *x = gauss_rows(11 + (uint64_t)kind, PIECES_N, PIECES_D);
    test_rng rng = {3};
    for (size_t i = 0; i < PIECES_N; i++) {
      double norm = largest_distance(x + i * PIECES_D, 1, PIECES_D, (const double[PIECES_D]){0});
      for (size_t j = 0; j < PIECES_D; j++) {
        if (kind == 1) x[i * PIECES_D + j] = 5 + x[i * PIECES_D + j] / norm;
        if (kind == 2) x[i * PIECES_D + j] = x[i / 2 * 2 * PIECES_D + j] * 1e-200;
        if (kind == 3) x[i * PIECES_D + j] = (double)test_below(&rng, 3);
      }
    }
    for (size_t i = 0; i < PIECES_N; i++) order[i] = i;
    answer whole = solve(cpb_rows(x, CPB_F64, PIECES_N, PIECES_D), NULL, NULL);
    answer first = ball_of_pieces(x, &cuts[0], order);
    assert_true(first.report.converged);
    same_bits(&first, &whole);
    for (size_t k = 1; k < sizeof cuts / sizeof *cuts; k++) {
      for (size_t i = PIECES_N; cuts[k].shuffled && i-- > 1;) {
        size_t other = test_below(&rng, i + 1);
        uint64_t kept = order[i];
        order[i] = order[other];
        order[other] = kept;
      }
      answer a = ball_of_pieces(x, &cuts[k], order);
      same_bits(&a, &first);
    }
    free(x);
  }
}

static void pieces_that_do_not_fit_are_refused(void **state) {
  (void)state;
  double x[] = {0, 1, 2, 3, NAN, 5}, far[] = {1e300, -1e300};
  cpb_ball_rounds *a, *b, *other;
  cpb_error error = {0};
  bool done;
  test_status((int)cpb_ball_rounds_new(2, NULL, &a, NULL), CPB_OK, "");
  test_status((int)cpb_ball_rounds_new(2, NULL, &b, NULL), CPB_OK, "");
  test_status((int)cpb_ball_rounds_new(3, NULL, &other, NULL), CPB_OK, "");
  assert_int_equal(cpb_ball_rounds_solve(a, &done, &error), CPB_EINVAL);
  assert_string_equal(error.text, "round 0 has seen no rows");
  assert_int_equal(
      cpb_ball_rounds_update(a, cpb_rows(x, CPB_F64, 3, 2), (cpb_row_ids){NULL, 0}, NULL, &error), CPB_EROW);
  assert_int_equal(error.row, 2);
  test_status(
      (int)cpb_ball_rounds_update(a, cpb_rows(x, CPB_F64, 2, 2), (cpb_row_ids){NULL, 0}, NULL, &error),
      CPB_OK, error.text);
  test_status((int)cpb_ball_rounds_solve(a, &done, &error), CPB_OK, error.text);
  assert_false(done);
  assert_int_equal(cpb_ball_rounds_merge(a, b, &error), CPB_EINVAL);
  assert_string_equal(error.text, "one piece is of round 1, the other of 0");
  assert_int_equal(cpb_ball_rounds_merge(a, other, &error), CPB_ESHAPE);
  assert_int_equal(cpb_ball_rounds_merge(a, a, &error), CPB_EINVAL);
  assert_int_equal(
      cpb_ball_rounds_update(a, cpb_rows(far, CPB_F64, 1, 2), (cpb_row_ids){NULL, 9}, NULL, &error),
      CPB_EINVAL);
  void *bytes;
  size_t count;
  test_status((int)cpb_ball_rounds_serialize(a, &bytes, &count, &error), CPB_OK, error.text);
  for (size_t i = 0; i < count; i++) {
    cpb_ball_rounds *damaged;
    ((unsigned char *)bytes)[i] ^= 1;
    assert_int_equal(cpb_ball_rounds_deserialize(bytes, count, "piece", &damaged, &error), CPB_EFORMAT);
    assert_int_equal(cpb_ball_rounds_deserialize(bytes, i, "piece", &damaged, &error), CPB_EFORMAT);
    ((unsigned char *)bytes)[i] ^= 1;
  }
  free(bytes);
  cpb_ball_rounds_free(a);
  cpb_ball_rounds_free(b);
  cpb_ball_rounds_free(other);
}

static void threads_and_dtypes_do_not_matter(void **state) {
  (void)state;
  enum { N = 30000, D = 12 };
  test_rng rng = {3};
  float *x = malloc(N * D * sizeof *x);
  double *wide = malloc(N * D * sizeof *wide);
  uint8_t *bytes = malloc(N * D);
  for (size_t i = 0; i < N * D; i++) {
    x[i] = (float)test_gauss(&rng);
    wide[i] = (double)x[i];
    bytes[i] = (uint8_t)test_below(&rng, 256);
  }
  answer one = solve(cpb_rows(x, CPB_F32, N, D), NULL, NULL);
  answer f64 = solve(cpb_rows(wide, CPB_F64, N, D), NULL, NULL);
  assert_memory_equal(one.center, f64.center, D * sizeof(double));
  answer u8 = solve(cpb_rows(bytes, CPB_U8, N, D), NULL, NULL);
  assert_true(u8.report.converged && u8.report.radius > 300);
  for (size_t threads = 2; threads <= 5; threads++) {
    cpb_pool *pool;
    test_status((int)cpb_pool_new(threads, &pool, NULL), CPB_OK, "");
    answer many = solve(cpb_rows(x, CPB_F32, N, D), NULL, cpb_pool_exec(pool));
    assert_memory_equal(one.center, many.center, sizeof one.center);
    assert_memory_equal(one.multipliers, many.multipliers, sizeof one.multipliers);
    assert_true(one.report.radius == many.report.radius && one.report.gap == many.report.gap);
    cpb_pool_free(pool);
  }
  free(x);
  free(wide);
  free(bytes);
}

static void many_more_dimensions_than_rows(void **state) {
  (void)state;
  enum { N = 9, D = 20000 };
  double *x = gauss_rows(5, N, D), *center = malloc(D * sizeof *center);
  cpb_ball_report report = {.size = sizeof report};
  cpb_ball_out out = {.center = center};
  test_status((int)cpb_enclosing_ball(cpb_rows(x, CPB_F64, N, D), NULL, &out, &report, NULL, NULL), CPB_OK,
              "");
  assert_true(report.converged && report.support == N);
  free(x);
  free(center);
}

/* So many rows that a sample of them is solved first: the far row may be in it or not, and so may NaN. */
static void many_rows_begin_with_a_sample(void **state) {
  (void)state;
  static const double units[] = {1, 1e-200, 1e200};
  double worst = 0;
  for (size_t d = 1; d <= 3; d++)
    for (size_t k = 0; k < 6; k++) {
      size_t n = 4096 * d + 77, step = n / 1024 + 1, far = 5 * step + k % 2;
      double *x = gauss_rows(40 + k, n, d), *scaled = malloc(n * d * sizeof *x), unit = units[k / 2];
      for (size_t i = 0; i < n && k % 2 == 0; i++) { /* near a sphere */
        double norm = largest_distance(x + i * d, 1, d, (const double[3]){0});
        for (size_t j = 0; j < d; j++) x[i * d + j] *= (1 + 1e-4 * (double)(i % 7)) / norm;
      }
      if (d > 1) x[far * d] = 1.5;
      for (size_t i = 0; i < n * d; i++) scaled[i] = unit * x[i];
      answer a = solve(cpb_rows(scaled, CPB_F64, n, d), NULL, NULL);
      for (size_t j = 0; j < d; j++) a.center[j] /= unit;
      assert_true(a.report.converged && a.report.lower_bound <= a.report.radius);
      point_set set = {.n = n, .d = d, .x = x};
      double lower = big_to_double(dual_radius(&set, &a)), radius = a.report.radius / unit;
      test_worst(&worst, fmax(largest_distance(x, n, d, a.center) / radius - 1, 1 - lower / radius));
      scaled[far * d + d - 1] = NAN;
      cpb_error error;
      cpb_ball_out out = {.center = a.center};
      assert_int_equal(cpb_enclosing_ball(cpb_rows(scaled, CPB_F64, n, d), NULL, &out, NULL, NULL, &error),
                       CPB_EROW);
      assert_int_equal(error.row, far);
      free(x);
      free(scaled);
    }
  law_holds("T10", "many rows: a point outside, and the gap of the radius", "f64", worst / U64, 1e-9 / U64);
}

static void the_quality_is_not_the_status(void **state) {
  (void)state;
  /* No double is within 1e-9 of the true centre: a third of an ulp. */
  const double far = 0x1p40, step = 0x1p-12;
  const double x[] = {far, far, far + step, far, far, far + step, far + step, far + 2 * step};
  cpb_ball_options options;
  cpb_ball_options_init(&options, sizeof options);
  options.gap = 1e-15;
  answer a = solve(cpb_rows(x, CPB_F64, 4, 2), &options, NULL);
  assert_false(a.report.converged);
  assert_true(a.report.gap > 1e-15 && a.report.gap < 0.5 && a.report.passes < options.max_passes);
}

static void bad_input_gets_a_sentence(void **state) {
  (void)state;
  double x[] = {0, 1, NAN, 2, INFINITY, 3}, center[2] = {7, 7};
  cpb_ball_out out = {.center = center};
  cpb_ball_options options;
  cpb_ball_options_init(&options, sizeof options);
  cpb_error error;
  assert_int_equal(cpb_enclosing_ball(cpb_rows(x, CPB_F64, 3, 2), NULL, &out, NULL, NULL, &error), CPB_EROW);
  assert_int_equal(error.row, 1);
  assert_string_equal(error.text, "x row 1 holds NaN");
  assert_int_equal(cpb_enclosing_ball(cpb_rows(x + 2, CPB_F64, 1, 2), NULL, &out, NULL, NULL, &error),
                   CPB_EROW);
  assert_int_equal(cpb_enclosing_ball(cpb_rows(x, CPB_F64, 0, 2), NULL, &out, NULL, NULL, &error),
                   CPB_EINVAL);
  assert_int_equal(cpb_enclosing_ball(cpb_rows(x, CPB_F64, 1, 0), NULL, &out, NULL, NULL, &error),
                   CPB_EINVAL);
  options.gap = -1;
  assert_int_equal(cpb_enclosing_ball(cpb_rows(x, CPB_F64, 1, 2), &options, &out, NULL, NULL, &error),
                   CPB_EINVAL);
  assert_string_equal(error.text, "gap must be >= 0 and finite, got -1");
  assert_true(center[0] == 7 && center[1] == 7);
  cpb_ball_rounds_free(NULL);
}

static int reset_arena(void **state) {
  (void)state;
  big_reset();
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_thousand_sets_by_active_sets),
      cmocka_unit_test(sets_by_caps),
      cmocka_unit_test(cap_steps_are_cubic),
      cmocka_unit_test(streams_end_at_the_same_ball),
      cmocka_unit_test(pieces_end_at_the_same_bits),
      cmocka_unit_test(pieces_that_do_not_fit_are_refused),
      cmocka_unit_test(threads_and_dtypes_do_not_matter),
      cmocka_unit_test(many_more_dimensions_than_rows),
      cmocka_unit_test(many_rows_begin_with_a_sample),
      cmocka_unit_test(the_quality_is_not_the_status),
      cmocka_unit_test(bad_input_gets_a_sentence),
  };
  return cmocka_run_group_tests(tests, NULL, reset_arena);
}

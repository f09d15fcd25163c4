/* Classes as balls: scores by the formula, verdicts, probabilities, files, SQL and C; and models of given regions. */
#include <stdbool.h>

#include "capball/advanced/classes.h"
#include "capball/ball.h"
#include "support/check.h"

enum { D = 3, K = 3, PLANES = 5, N = 700 };

static const double w[PLANES * (D + 1)] = {1,   -2,  0.5, 3,    0.25, 1, -1, -0.5, -3, 0.1,
                                           2.5, 0.7, 0,   -1.5, 4,    1, 2,  2,    -2, -4};
static const double w0[PLANES] = {0.5, -0.25, 0, 1.5, -1};
static const uint64_t owners[PLANES] = {0, 0, 1, 2, 2};
static const char *const labels[K] = {"it's", "b,c", "*/"};
static const double center[D] = {1, -2, 3}, factors[D] = {0.5, 2, 1.25};
static const double W[D * D] = {1, 0.5, 0, 0, 2, -0.25, 0.125, 0, 0.75};

static cpb_classes_options plain(void) {
  cpb_classes_options o;
  cpb_classes_options_init(&o, sizeof o);
  o.d = D;
  o.s = 1.5;
  o.center = center;
  o.factors = factors;
  o.planes = PLANES;
  o.w = w;
  o.w0 = w0;
  o.owners = owners;
  o.classes = K;
  o.labels = labels;
  return o;
}

static cpb_classes *made(const cpb_classes_options *o) {
  cpb_classes *classes;
  cpb_error error = {0};
  test_status((int)cpb_classes_new(o, &classes, &error), CPB_OK, error.text);
  return classes;
}

static void random_rows(double *x) {
  test_rng rng = {7};
  for (size_t i = 0; i < N * D; i++) x[i] = 4 * test_gauss(&rng);
}

/* The value of plane k by the formula, in long double. */
static long double value(const cpb_classes_options *o, const double *x, size_t k) {
  long double z[D], q = 0, f = 0, s = o->s;
  for (size_t i = 0; i < D; i++) {
    z[i] = 0;
    for (size_t j = 0; j < D; j++) {
      long double entry = o->whiten != NULL    ? o->whiten[i * D + j]
                          : i != j             ? 0
                          : o->factors != NULL ? o->factors[i]
                                               : 1;
      z[i] += entry * ((long double)x[j] - (o->center == NULL ? 0 : o->center[j]));
    }
    q += z[i] * z[i];
  }
  for (size_t i = 0; i < D; i++) f += o->w[k * (D + 1) + i] * 2 * s * z[i];
  return (f + o->w[k * (D + 1) + D] * (s * s - q)) / (s * s + q) + o->w0[k];
}

static void expected_scores(const cpb_classes_options *o, const double *x, long double *scores) {
  for (size_t c = 0; c < o->classes; c++) {
    long double sum = 0, most = -INFINITY;
    for (size_t k = 0; k < o->planes; k++)
      if (o->owners[k] == c) {
        long double f = value(o, x, k);
        sum += expl(f);
        most = fmaxl(most, f);
      }
    scores[c] = o->rule == CPB_CLASS_SOFTMAX ? logl(sum) : most;
  }
}

static void check_scores(const cpb_classes_options *o) {
  static double x[N * D], scores[N * K], serial[N * K];
  cpb_classes *classes = made(o);
  size_t count = o->classes;
  double worst = 0;
  random_rows(x);
  cpb_view rows = cpb_rows(x, CPB_F64, N, D);
  test_status((int)cpb_classes_scores(classes, rows, cpb_rows_out(serial, CPB_F64, N, count), NULL, NULL),
              CPB_OK, "");
  cpb_pool *pool;
  test_status((int)cpb_pool_new(3, &pool, NULL), CPB_OK, "");
  const cpb_exec *exec = cpb_pool_exec(pool);
  test_status((int)cpb_classes_scores(classes, rows, cpb_rows_out(scores, CPB_F64, N, count), exec, NULL),
              CPB_OK, "");
  cpb_pool_free(pool);
  assert_memory_equal(scores, serial, N * count * sizeof *scores);
  for (size_t i = 0; i < N; i++) {
    long double right[K];
    size_t best = 0;
    expected_scores(o, x + i * D, right);
    for (size_t c = 0; c < count; c++) {
      test_worst(&worst, (double)fabsl(scores[i * count + c] - right[c]));
      if (right[c] > right[best]) best = c;
    }
    assert_int_equal(cpb_classes_verdict(classes, scores + i * count), best);
  }
  assert_true(worst <= 64 * U64);
  cpb_classes_free(classes);
}

static void scores_are_the_formula(void **state) {
  (void)state;
  cpb_classes_options o = plain();
  check_scores(&o);
  o.rule = CPB_CLASS_LARGEST;
  check_scores(&o);
  o.factors = NULL;
  o.whiten = W;
  check_scores(&o);
  o.whiten = o.center = NULL;
  o.rule = CPB_CLASS_SOFTMAX;
  check_scores(&o);
  static const uint64_t each[K] = {0, 1, 2};
  o.planes = K;
  o.owners = each;
  o.rule = CPB_CLASS_ONE_VS_REST;
  check_scores(&o);
}

static void probabilities(void **state) {
  (void)state;
  cpb_classes_options o = plain();
  double scores[2 * K] = {1, 2, 3, 1000, -1000, 999}, others[K] = {0, 2, -800};
  cpb_classes *classes = made(&o);
  test_status((int)cpb_classes_probabilities(classes, scores, 2, NULL), CPB_OK, "");
  double sum = exp(-2) + exp(-1) + 1;
  for (size_t c = 0; c < K; c++) assert_true(fabs(scores[c] - exp((double)c - 2) / sum) < 1e-15);
  assert_true(fabs(scores[3] + scores[4] + scores[5] - 1) < 1e-15 && scores[4] == 0);
  cpb_classes_free(classes);
  static const uint64_t each[K] = {0, 1, 2};
  o.planes = K;
  o.owners = each;
  o.rule = CPB_CLASS_ONE_VS_REST;
  classes = made(&o);
  test_status((int)cpb_classes_probabilities(classes, others, 1, NULL), CPB_OK, "");
  double p = 1 / (1 + exp(-2));
  assert_true(fabs(others[0] - 0.5 / (0.5 + p)) < 1e-15 && fabs(others[1] - p / (0.5 + p)) < 1e-15 &&
              others[2] == 0);
  double far[K] = {-2000, -2000, -2000};
  test_status((int)cpb_classes_probabilities(classes, far, 1, NULL), CPB_OK, "");
  assert_true(far[0] == 1. / 3 && far[2] == 1. / 3);
  cpb_classes_free(classes);
  o.rule = CPB_CLASS_LARGEST;
  classes = made(&o);
  cpb_error error = {0};
  assert_int_equal(cpb_classes_probabilities(classes, far, 1, &error), CPB_EINVAL);
  cpb_classes_free(classes);
}

static void rows_that_have_no_class(void **state) {
  (void)state;
  cpb_classes_options o = plain();
  cpb_classes *classes = made(&o);
  double x[3 * D] = {1, 2, 3, 1, NAN, 3, 0, 0, INFINITY}, scores[3 * K];
  cpb_error error = {0};
  assert_int_equal(cpb_classes_scores(classes, cpb_rows(x, CPB_F64, 3, D),
                                      cpb_rows_out(scores, CPB_F64, 3, K), NULL, &error),
                   CPB_EROW);
  assert_int_equal(error.row, 1);
  assert_int_equal(cpb_classes_verdict(classes, scores + K), K);
  assert_int_equal(cpb_classes_verdict(classes, scores + 2 * K), K);
  assert_true(cpb_classes_verdict(classes, scores) < K);
  cpb_classes_free(classes);
}

static void refuses(cpb_classes_options o, const char *argument) {
  cpb_classes *classes;
  cpb_error error = {0};
  assert_int_equal(cpb_classes_new(&o, &classes, &error), CPB_EINVAL);
  assert_string_equal(error.argument, argument);
  assert_null(classes);
}

static void what_is_refused(void **state) {
  (void)state;
  cpb_classes_options good = plain(), o;
  static const uint64_t gap[PLANES] = {0, 0, 2, 2, 2}, back[PLANES] = {0, 1, 0, 2, 2};
  static const double bad[PLANES] = {0, NAN};
  o = good, o.d = 0, refuses(o, "d");
  o = good, o.s = 0, refuses(o, "s");
  o = good, o.classes = 1, refuses(o, "classes");
  o = good, o.planes = 2, refuses(o, "planes");
  o = good, o.owners = gap, refuses(o, "owners");
  o = good, o.owners = back, refuses(o, "owners");
  o = good, o.owners = NULL, refuses(o, "owners");
  o = good, o.labels = NULL, refuses(o, "labels");
  o = good, o.w0 = bad, refuses(o, "w0");
  o = good, o.whiten = W, refuses(o, "whiten");
  o = good, o.rule = CPB_CLASS_ONE_VS_REST, refuses(o, "rule");
  o = good, o.rule = (cpb_class_rule)7, refuses(o, "rule");
}

static void files_bit_for_bit(void **state) {
  (void)state;
  static const char *const columns[D] = {"height", "weight", "a \"b\""};
  cpb_classes_options o = plain();
  o.columns = columns;
  o.rows = 12345;
  for (int rule = 0; rule < 2; rule++) {
    cpb_classes *classes = made(&o), *back = NULL;
    char *text, *again;
    cpb_error error = {0};
    test_status((int)cpb_classes_to_json(classes, &text, &error), CPB_OK, error.text);
    size_t length = strlen(text);
    test_status((int)cpb_classes_from_json(text, length, NULL, &back, &error), CPB_OK, error.text);
    test_status((int)cpb_classes_to_json(back, &again, &error), CPB_OK, error.text);
    assert_string_equal(text, again);
    cpb_classes_options b = {.size = sizeof b};
    cpb_classes_describe(back, &b);
    assert_true(b.rows == 12345 && b.planes == PLANES && b.classes == K && b.rule == o.rule && b.s == o.s);
    assert_string_equal(b.labels[2], "*/");
    assert_memory_equal(b.w, w, sizeof w);
    cpb_classes_free(back);
    for (size_t i = 0; i < length; i += 3) { /* a changed byte is found, or changes nothing */
      char kept = text[i];
      text[i] = (char)(kept ^ 1);
      if (cpb_classes_from_json(text, length, "text", &back, &error) == CPB_OK) {
        char *other;
        test_status((int)cpb_classes_to_json(back, &other, NULL), CPB_OK, "");
        assert_string_equal(other, again);
        cpb_free(other);
        cpb_classes_free(back);
      } else {
        assert_null(back);
      }
      text[i] = kept;
      if (i + 2 < length)
        assert_int_equal(cpb_classes_from_json(text, i, "text", &back, &error), CPB_EFORMAT);
    }
    cpb_free(text);
    cpb_free(again);
    cpb_classes_free(classes);
    o.rule = CPB_CLASS_LARGEST;
    o.factors = NULL;
    o.whiten = W;
  }
}

/* Whether they compute the same is tested where there are databases and a compiler (python/tests/test_regions.py). */
static void texts_are_quoted(void **state) {
  (void)state;
  static const char *const columns[D] = {"height", "", "a \"b\" */"};
  cpb_classes_options o = plain();
  o.columns = columns;
  cpb_classes *classes = made(&o);
  char *text;
  cpb_error error = {0};
  test_status((int)cpb_classes_to_sql(classes, NULL, &text, &error), CPB_OK, error.text);
  assert_non_null(strstr(text, "'it''s'"));
  assert_non_null(strstr(text, "CAST(\"a \"\"b\"\" */\" AS"));
  assert_non_null(strstr(text, "CAST(x1 AS"));
  cpb_free(text);
  test_status((int)cpb_classes_to_c(classes, "f", &text, &error), CPB_OK, error.text);
  const char *head = strstr(text, "/*"), *end = strstr(head, "*/");
  assert_true(strncmp(end, "*/\nint f(const double x[3]) {", 20) == 0); /* no name has closed the comment */
  cpb_free(text);
  assert_int_equal(cpb_classes_to_c(classes, "2f", &text, &error), CPB_EINVAL);
  assert_int_equal(cpb_classes_to_c(classes, "f;", &text, &error), CPB_EINVAL);
  cpb_classes_free(classes);
}

static cpb_model_options region(cpb_region_kind kind, double radius) {
  cpb_model_options o;
  cpb_model_options_init(&o, sizeof o);
  o.d = D;
  o.method = CPB_MODEL_REGION;
  o.kind = kind;
  o.center = center;
  o.radius = radius;
  return o;
}

static void models_of_regions(void **state) {
  (void)state;
  static double x[N * D], scores[N], right[N];
  random_rows(x);
  cpb_view rows = cpb_rows(x, CPB_F64, N, D);
  const cpb_region_kind kinds[] = {CPB_BALL, CPB_COMPLEMENT, CPB_HALFSPACE};
  for (size_t i = 0; i < 3; i++) {
    cpb_model_options o = region(kinds[i], kinds[i] == CPB_HALFSPACE ? -0.5 : 4);
    if (kinds[i] != CPB_HALFSPACE) o.whiten = W;
    cpb_region of = {.kind = o.kind,
                     .d = D,
                     .c = (double *)(uintptr_t)center,
                     .r = o.radius,
                     .along = o.radius,
                     .W = o.whiten};
    cpb_model *model, *back;
    char *text;
    cpb_error error = {0};
    test_status((int)cpb_model_new(&o, &model, &error), CPB_OK, error.text);
    test_status((int)cpb_model_to_json(model, &text, &error), CPB_OK, error.text);
    assert_true((strstr(text, "\"version\": 2") != NULL) ==
                (o.kind != CPB_BALL)); /* older releases know balls only */
    test_status((int)cpb_model_from_json(text, strlen(text), NULL, &back, &error), CPB_OK, error.text);
    test_status((int)cpb_model_scores(back, rows, cpb_rows_out(scores, CPB_F64, N, 1), NULL, NULL), CPB_OK,
                "");
    test_status((int)cpb_region_scores(&of, rows, cpb_rows_out(right, CPB_F64, N, 1), NULL, NULL), CPB_OK,
                "");
    assert_memory_equal(scores, right, sizeof scores);
    cpb_free(text);
    test_status((int)cpb_model_to_sql(back, NULL, &text, NULL), CPB_OK, "");
    assert_non_null(strstr(text, o.kind == CPB_BALL ? " <= " : " >= "));
    cpb_free(text);
    cpb_model_free(back);
    cpb_model_free(model);
  }
}

static void regions_that_are_refused(void **state) {
  (void)state;
  cpb_model *model;
  cpb_error error = {0};
  cpb_model_options o = region(CPB_EMPTY, 1);
  assert_int_equal(cpb_model_new(&o, &model, &error), CPB_EINVAL);
  assert_string_equal(error.argument, "kind");
  o = region(CPB_COMPLEMENT, 1);
  o.method = CPB_MODEL_EXACT;
  assert_int_equal(cpb_model_new(&o, &model, &error), CPB_EINVAL);
  o = region(CPB_HALFSPACE, 0);
  o.whiten = W;
  assert_int_equal(cpb_model_new(&o, &model, &error), CPB_EINVAL);
  o = region(CPB_COMPLEMENT, -1);
  assert_int_equal(cpb_model_new(&o, &model, &error), CPB_EINVAL);
  assert_string_equal(error.argument, "radius");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(scores_are_the_formula),  cmocka_unit_test(probabilities),
      cmocka_unit_test(rows_that_have_no_class), cmocka_unit_test(what_is_refused),
      cmocka_unit_test(files_bit_for_bit),       cmocka_unit_test(texts_are_quoted),
      cmocka_unit_test(models_of_regions),       cmocka_unit_test(regions_that_are_refused)};
  return cmocka_run_group_tests_name("classes", tests, NULL, NULL);
}

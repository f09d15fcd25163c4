/* Models as files: bit for bit, and every fault with a message. */
#include <stdbool.h>

#include "capball/ball.h"
#include "ball/piece_rounds.h"
#include "support/check.h"

enum { D = 3, K = 2 };

static const double center[D] = {0.1, -1e-300, 1e150}, W[D * D] = {1, 0, 0, 0.5, 2, 0, 0, 0, 1. / 3};
static const double quantiles[4] = {-1, 0, 0.5, 2}, multipliers[K] = {0.75, 0.25};
static const double vectors[K * D] = {1, 2, 3, -4, 5e-17, 6};
static const uint64_t rows[K] = {7, 1000000007};

static cpb_model_options linear(void) {
  cpb_model_options o;
  cpb_model_options_init(&o, sizeof o);
  o.d = D;
  o.center = center;
  o.radius = 1e150;
  o.gap = 1e-12;
  o.lower_bound = 0.1;
  o.rows = 12;
  o.quantiles = quantiles;
  o.quantile_count = 4;
  o.support = o.listed = K;
  o.support_rows = rows;
  o.multipliers = multipliers;
  return o;
}

static cpb_model_options with_kernel(void) {
  cpb_model_options o = linear();
  o.method = CPB_MODEL_EXACT;
  o.nu = 0.1;
  o.center = NULL;
  o.radius = 0.9;
  o.vectors = vectors;
  o.kernel = (cpb_kernel){CPB_KERNEL_RBF, 0.1, 0, 0};
  o.norm2 = 0.3;
  return o;
}

static void round_trip(const cpb_model_options *o) {
  cpb_model *model, *back;
  cpb_error error = {0};
  char *text, *again;
  test_status((int)cpb_model_new(o, &model, &error), CPB_OK, error.text);
  test_status((int)cpb_model_to_json(model, &text, &error), CPB_OK, error.text);
  test_status((int)cpb_model_from_json(text, strlen(text), "text", &back, &error), CPB_OK, error.text);
  test_status((int)cpb_model_to_json(back, &again, &error), CPB_OK, error.text);
  assert_string_equal(text, again);
  cpb_model_options b = {.size = sizeof b};
  cpb_model_describe(back, &b);
  assert_true(b.d == o->d && b.radius == o->radius && b.rows == o->rows && b.nu == o->nu && b.gap == o->gap);
  assert_true(b.lower_bound == o->lower_bound || (isnan(b.lower_bound) && isnan(o->lower_bound)));
  assert_memory_equal(b.multipliers, o->multipliers, K * sizeof(double));
  assert_memory_equal(b.support_rows, o->support_rows, K * sizeof(uint64_t));
  if (o->center != NULL) assert_memory_equal(b.center, o->center, sizeof center);
  if (o->vectors != NULL) assert_memory_equal(b.vectors, o->vectors, sizeof vectors);
  free(text);
  free(again);
  cpb_model_free(model);
  cpb_model_free(back);
}

static void models_come_back_bit_for_bit(void **state) {
  (void)state;
  cpb_model_options plain = linear(), kernel = with_kernel(), whitened = linear(), huge = linear();
  whitened.whiten = W;
  huge.method = CPB_MODEL_EXACT;
  huge.nu = 0.5;
  huge.lower_bound = NAN; /* a square of 1e155 */
  round_trip(&plain);
  round_trip(&huge);
  round_trip(&kernel);
  round_trip(&whitened);
}

/* Every changed byte, and every truncation, is detected or leaves the model as it was. */
static void no_change_goes_unnoticed(void **state) {
  (void)state;
  cpb_model_options o = linear();
  cpb_model *model, *back;
  cpb_error error;
  char *text, *again;
  test_status((int)cpb_model_new(&o, &model, NULL), CPB_OK, "");
  test_status((int)cpb_model_to_json(model, &text, NULL), CPB_OK, "");
  size_t length = strlen(text);
  for (size_t i = 0; i < length; i++) {
    char kept = text[i];
    for (int change = 0; change < 3; change++) {
      text[i] = (char)(change == 0 ? '7' : change == 1 ? ' ' : kept ^ 1);
      if (cpb_model_from_json(text, length, "text", &back, &error) != CPB_OK) continue;
      test_status((int)cpb_model_to_json(back, &again, NULL), CPB_OK, "");
      text[i] = kept;
      assert_string_equal(text, again);
      free(again);
      cpb_model_free(back);
    }
    text[i] = kept;
    if (i + 2 < length) assert_int_equal(cpb_model_from_json(text, i, "text", &back, &error), CPB_EFORMAT);
  }
  free(text);
  cpb_model_free(model);
}

/* The text with every space outside of strings doubled and every line broken elsewhere. */
static char *spaced_anew(const char *text) {
  char *to = malloc(2 * strlen(text) + 1), *end = to;
  bool inside = false;
  for (; *text != 0; text++) {
    if (*text == '"') inside = !inside;
    if (*text == '\n' || (*text == ' ' && !inside)) continue;
    *end++ = *text;
    if (!inside && strchr(",:[", *text) != NULL) *end++ = *text == ',' ? '\n' : '\t';
  }
  *end = 0;
  return to;
}

/* The checksum is of the text in the file: numbers that are computed from others (the cap) by another library are
 * not compared with ours, and line breaks do not matter. */
static void checksums_are_of_what_is_stored(void **state) {
  (void)state;
  cpb_model_options o = linear();
  cpb_model *model, *back;
  cpb_error error = {0};
  char *text;
  test_status((int)cpb_model_new(&o, &model, NULL), CPB_OK, "");
  test_status((int)cpb_model_to_json(model, &text, NULL), CPB_OK, "");
  char *respaced = spaced_anew(text);
  test_status((int)cpb_model_from_json(respaced, strlen(respaced), "text", &back, &error), CPB_OK,
              error.text);
  cpb_model_free(back);
  char *digit = strpbrk(strstr(text, "\"cap\""), "12345678"), *sum = strstr(text, "\"checksum\": \"") + 13;
  *digit = (char)(*digit + 1);
  assert_int_equal(cpb_model_from_json(text, strlen(text), "text", &back, &error), CPB_EFORMAT);
  memcpy(sum, strstr(error.text, "have checksum ") + 14, 16);
  test_status((int)cpb_model_from_json(text, strlen(text), "text", &back, &error), CPB_OK, error.text);
  cpb_model_free(back);
  cpb_model_free(model);
  free(respaced);
  free(text);
}

static void bad_models_are_refused(void **state) {
  (void)state;
  cpb_model *model;
  cpb_error error;
  cpb_model_options o = linear();
  o.radius = 0;
  assert_int_equal(cpb_model_new(&o, &model, &error), CPB_EINVAL);
  assert_string_equal(error.text, "radius must be > 0 and finite, got 0");
  o = linear();
  o.nu = 2;
  assert_int_equal(cpb_model_new(&o, &model, &error), CPB_EINVAL);
  o = linear();
  o.center = NULL;
  assert_int_equal(cpb_model_new(&o, &model, &error), CPB_EINVAL);
  o = with_kernel();
  o.vectors = NULL;
  assert_int_equal(cpb_model_new(&o, &model, &error), CPB_EINVAL);
  o = linear();
  o.method = (cpb_model_method)CPB_MODEL_METHODS;
  assert_int_equal(cpb_model_new(&o, &model, &error), CPB_EINVAL);
  assert_int_equal(cpb_model_load("there-is-no-such-file.json", &model, &error), CPB_EIO);
  static const char map[] = "{\"capball\": {\"kind\": \"map\", \"version\": 1}}";
  assert_int_equal(cpb_model_from_json(map, sizeof map - 1, "m.json", &model, &error), CPB_EFORMAT);
  assert_string_equal(error.text, "m.json: holds a \"map\", wanted a \"model\"");
  cpb_model_free(NULL);
}

static void scores_ranks_cap_and_sql(void **state) {
  (void)state;
  const double c[2] = {1, -2}, x[4] = {1, -2, 4, -2};
  double scores[2], p[3], s;
  cpb_model_options o;
  cpb_model_options_init(&o, sizeof o);
  o.d = 2;
  o.center = c;
  o.radius = 2;
  o.quantiles = quantiles;
  o.quantile_count = 4;
  cpb_model *model;
  cpb_cap cap = {.d = 2, .p = p};
  char *sql;
  test_status((int)cpb_model_new(&o, &model, NULL), CPB_OK, "");
  test_status((int)cpb_model_scores(model, cpb_rows(x, CPB_F64, 2, 2), cpb_rows_out(scores, CPB_F64, 2, 1),
                                    NULL, NULL),
              CPB_OK, "");
  assert_true(scores[0] == 4 && scores[1] == -5);
  assert_true(cpb_model_rank(model, -2) == 0 && cpb_model_rank(model, 2) == 1 &&
              isnan(cpb_model_rank(model, NAN)));
  assert_true(fabs(cpb_model_rank(model, 0.25) - 0.5) < 1e-15);
  test_status((int)cpb_model_to_sql(model, NULL, &sql, NULL), CPB_OK, "");
  assert_string_equal(sql, "(x0 - 1)*(x0 - 1) + (x1 + 2)*(x1 + 2) <= 4");
  test_status((int)cpb_model_cap(model, &s, &cap, NULL), CPB_OK, "");
  assert_true(fabs(s - 3) < 1e-15 && fabs(s * cap.sigma / cap.a - 2) < 1e-14 &&
              fabs(s * p[0] / cap.a - 1) < 1e-14);
  free(sql);
  cpb_model_free(model);
  double sorted[] = {3, 1, 2}, q[3];
  cpb_score_quantiles(sorted, 3, 3, q);
  assert_true(q[0] == 1 && q[1] == 2 && q[2] == 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(models_come_back_bit_for_bit),    cmocka_unit_test(no_change_goes_unnoticed),
      cmocka_unit_test(checksums_are_of_what_is_stored), cmocka_unit_test(bad_models_are_refused),
      cmocka_unit_test(scores_ranks_cap_and_sql),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

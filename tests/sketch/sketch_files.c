/* Sketches as files: bit for bit, and every fault with a message. */
#include "capball/sketch.h"
#include "sketch/t14_sketch.h"
#include "support/check.h"

enum { D = 2, BITS = 8 };

static const double center[D] = {0.1, -1e-300};
static double normals[BITS * (D + 1)];

static cpb_sketch_options plain(void) {
  cpb_sketch_options o;
  cpb_sketch_options_init(&o, sizeof o);
  test_rng rng = {5};
  for (size_t i = 0; i < BITS; i++) test_direction(&rng, D + 1, normals + i * (D + 1));
  o.d = D;
  o.bits = BITS;
  o.s = 1. / 3;
  o.center = center;
  o.normals = normals;
  o.seed = UINT64_MAX;
  return o;
}

static void print(const cpb_sketch_options *o, char **text) {
  cpb_sketch *sketch;
  cpb_error error;
  test_status((int)cpb_sketch_new(o, &sketch, &error), CPB_OK, error.text);
  test_status((int)cpb_sketch_to_json(sketch, text, &error), CPB_OK, error.text);
  cpb_sketch_free(sketch);
}

static void files_come_back_bit_for_bit(void **state) {
  (void)state;
  cpb_sketch_options o = plain();
  for (int trial = 0; trial < 2; trial++) {
    if (trial == 1) {
      o.center = NULL;
      o.kind = CPB_SKETCH_RANDOM_EMBEDDED;
    }
    char *text, *again;
    cpb_sketch *back;
    cpb_error error;
    print(&o, &text);
    test_status((int)cpb_sketch_from_json(text, strlen(text), "text", &back, &error), CPB_OK, error.text);
    cpb_sketch_options b = {.size = sizeof b};
    cpb_sketch_describe(back, &b);
    assert_true(b.d == D && b.bits == BITS && b.s == o.s && b.seed == o.seed && b.kind == o.kind);
    assert_memory_equal(b.normals, normals, sizeof normals);
    assert_true((b.center == NULL) == (o.center == NULL));
    if (b.center != NULL) assert_memory_equal(b.center, center, sizeof center);
    assert_int_equal(cpb_sketch_to_json(back, &again, &error), CPB_OK);
    assert_string_equal(text, again);
    cpb_sketch_free(back);
    free(text);
    free(again);
  }
}

/* The text with its first `from` replaced by `to` is rejected with this message. */
static void refused(const char *from, const char *to, const char *words) {
  cpb_sketch_options o = plain();
  char *text;
  print(&o, &text);
  char *changed = malloc(strlen(text) + strlen(to) + 1);
  const char *at = strstr(text, from);
  cpb_sketch *sketch = NULL;
  cpb_error error = {0};
  assert_non_null(at);
  sprintf(changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
  assert_int_equal(cpb_sketch_from_json(changed, strlen(changed), "s.json", &sketch, &error), CPB_EFORMAT);
  assert_null(sketch);
  if (strstr(error.text, words) == NULL || strncmp(error.text, "s.json", 6) != 0)
    fail_msg("\"%s\" does not say \"%s\"", error.text, words);
  free(text);
  free(changed);
}

static void every_fault_has_a_sentence(void **state) {
  (void)state;
  refused("{", "", "line 2, column 3");
  refused("\"sketch\"", "\"model\"", "holds a \"model\", wanted a \"sketch\"");
  refused("\"version\": 1", "\"version\": 2", "is of version 2, wanted 1");
  refused("\"dim\": 2", "\"dim\": 0", "\"dim\" must be a whole number 1 .. 16777216");
  refused("\"dim\": 2", "\"dim\": 3", "\"center\" must be null or 3 numbers, got 2");
  refused("\"bits\": 8", "\"bits\": 16", "\"normals\" must be null or 48 numbers, got 24");
  refused("\"bits\": 8", "\"bits\": 7", "\"bits\" must be a whole number 8 .. 65536");
  refused("\"embedded\"", "\"embeded\"", "\"variant\" must be joined, principal");
  refused("\"embedded\"", "\"centred\"", "must be 0 for centred");
  refused("\"scale\": 0", "\"scale\": -0", "scale s must be > 0");
  refused("\"scale\": 0.3", "\"scale\": 0.4", "its numbers have checksum");
  refused("\"seed\": \"1", "\"seed\": \"9", "\"seed\" must be the digits of a number below 2^64");
  refused("\"normals\": [", "\"normals\": [1, ", "\"normals\" must be null or 24 numbers, got 25");
  refused("\"normals\"", "\"normal\"", "normals must not be NULL");
  refused("\"checksum\"", "\"check\"", "has no \"checksum\"");
}

static void files_that_end_early(void **state) {
  (void)state;
  cpb_sketch_options o = plain();
  char *text;
  print(&o, &text);
  cpb_sketch *sketch;
  for (size_t length = 0; length + 2 < strlen(text); length++)
    assert_int_equal(cpb_sketch_from_json(text, length, NULL, &sketch, NULL), CPB_EFORMAT);
  assert_int_equal(cpb_sketch_load("/nonexistent/sketch.json", &sketch, NULL), CPB_EIO);
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(files_come_back_bit_for_bit),
                                     cmocka_unit_test(every_fault_has_a_sentence),
                                     cmocka_unit_test(files_that_end_early)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* A map survives its file bit for bit, and a damaged file is rejected with a message. */
#include "capball/file.h"
#include "capball/map.h"
#include "support/check.h"
#include "support/scratch.h"

enum { D = 5 };

/* The parts of a map; a bit each says which are present. */
enum { CENTER = 1, POLE = 2, WHITEN = 4, TOWARD = 8 };

typedef struct numbers {
  double center[D], pole[D + 1], whiten[D * D], toward[D + 1];
} numbers;

static cpb_map *make_map(unsigned parts, uint64_t seed, double s) {
  test_rng rng = {seed};
  numbers n;
  for (size_t i = 0; i < D; i++)
    n.center[i] = i == 1 ? -0.0 : test_gauss(&rng) * pow(10, 40 * test_gauss(&rng));
  test_direction(&rng, D + 1, n.pole);
  for (size_t i = 0; i < D * D; i++) n.whiten[i] = test_gauss(&rng) / 3 + (i % (D + 1) == 0 ? 4 : 0);
  test_direction(&rng, D + 1, n.toward);
  cpb_map_options options;
  cpb_map_options_init(&options, sizeof options);
  options.d = D;
  options.s = s;
  options.center = parts & CENTER ? n.center : NULL;
  options.pole = parts & POLE ? n.pole : NULL;
  options.whiten = parts & WHITEN ? n.whiten : NULL;
  options.toward = parts & TOWARD ? n.toward : NULL;
  cpb_error error;
  cpb_map *map;
  test_status((int)cpb_map_new(&options, &map, &error), CPB_OK, error.text);
  return map;
}

static void expect_same(const double *a, const double *b, size_t count) {
  assert_true((a == NULL) == (b == NULL));
  if (a != NULL) assert_memory_equal(a, b, count * sizeof *a);
}

static void expect_same_map(const cpb_map *a, const cpb_map *b) {
  cpb_map_options x = {.size = sizeof x}, y = x;
  cpb_map_describe(a, &x);
  cpb_map_describe(b, &y);
  assert_int_equal(x.d, y.d);
  assert_memory_equal(&x.s, &y.s, sizeof x.s);
  expect_same(x.center, y.center, x.d);
  expect_same(x.pole, y.pole, x.d + 1);
  expect_same(x.whiten, y.whiten, x.d * x.d);
  expect_same(x.toward, y.toward, x.d + 1);
}

static const cpb_map_origin origin = {sizeof origin, "hemisphere", "data \"of\\mine\"\n.fvecs", 60000,
                                      "{\"abid\": 10.5}"};

static void bit_for_bit(void **state) {
  (void)state;
  static const double scales[] = {
      1, 1.0 / 3, 1e-300, 0x1p53 + 2, 1.7976931348623157e308, 12345678901234567.0};
  for (unsigned parts = 0; parts < 16; parts++) {
    if ((parts & POLE) && (parts & TOWARD)) continue;
    for (size_t k = 0; k < sizeof scales / sizeof *scales; k++) {
      cpb_error error;
      cpb_map *map = make_map(parts, k + 1, scales[k]), *back;
      const char *path = scratch_path("map.json");
      test_status((int)cpb_map_save(map, path, &origin, &error), CPB_OK, error.text);
      test_status((int)cpb_map_load(path, &back, &error), CPB_OK, error.text);
      expect_same_map(map, back);
      char *text, *again;
      test_status((int)cpb_map_to_json(map, &origin, &text, &error), CPB_OK, error.text);
      test_status((int)cpb_map_to_json(back, &origin, &again, &error), CPB_OK, error.text);
      assert_string_equal(text, again);
      free(text);
      free(again);
      cpb_map_free(map);
      cpb_map_free(back);
    }
  }
}

static void text_of(unsigned parts, const cpb_map_origin *from, char **text) {
  cpb_error error;
  cpb_map *map = make_map(parts, 1, 2);
  test_status((int)cpb_map_to_json(map, from, text, &error), CPB_OK, error.text);
  cpb_map_free(map);
}

static void what_the_file_says(void **state) {
  (void)state;
  char *text;
  text_of(0, &origin, &text);
  static const char *const start = "{\n  \"capball\": {\"kind\": \"map\", \"version\": 1},\n  \"dim\": 5,\n"
                                   "  \"scale\": 2.0,\n  \"center\": null,\n  \"pole\": null,\n"
                                   "  \"whiten\": null,\n  \"toward\": null,\n  \"goal\": \"hemisphere\",\n"
                                   "  \"evidence\": {\"abid\": 10.5},\n"
                                   "  \"made_from\": {\"source\": \"data \\\"of\\\\mine\\\"\\n.fvecs\", "
                                   "\"rows\": 60000},\n  \"checksum\": \"";
  assert_memory_equal(text, start, strlen(start));
  free(text);
  text_of(CENTER, NULL, &text);
  assert_non_null(strstr(text, "\"goal\": null"));
  assert_non_null(strstr(text, "\"source\": null, \"rows\": 0"));
  assert_non_null(strstr(text, "-0.0,"));
  free(text);
  cpb_map_origin broken = {sizeof broken, NULL, NULL, 0, "{\"abid\": "};
  cpb_map *map = make_map(0, 1, 2);
  cpb_error error;
  assert_int_equal(cpb_map_to_json(map, &broken, &text, &error), CPB_EINVAL);
  assert_string_equal(error.text, "origin.evidence is not JSON: \"{\"abid\": \"");
  cpb_map_free(map);
  cpb_map_origin foreign = {sizeof foreign, NULL, "caf\xe9.fvecs", 0, NULL},
                 french = {sizeof french, NULL, "café", 0, NULL};
  text_of(0, &foreign, &text);
  assert_non_null(strstr(text, "\"café.fvecs\""));
  free(text);
  text_of(0, &french, &text);
  assert_non_null(strstr(text, "\"café\""));
  free(text);
}

/* Files written by tests/golden/make_golden.py, which has its own printing and its own checksum. */
static void golden_maps(void **state) {
  (void)state;
  static const struct {
    const char *name;
    cpb_map_origin origin;
  } files[] = {{"plain", {sizeof origin, NULL, NULL, 0, NULL}},
               {"whitened", {sizeof origin, "mean", "base.fvecs", 1000, NULL}},
               {"pole", {sizeof origin, "given", NULL, 0, NULL}},
               {"toward", {sizeof origin, "given", NULL, 0, NULL}}};
  const char *slash = strrchr(__FILE__, '/');
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    char path[1024], *text, *golden;
    cpb_error error;
    cpb_map *map;
    size_t count;
    snprintf(path, sizeof path, "%.*s/../golden/%s.json", (int)(slash - __FILE__), __FILE__, files[i].name);
    test_status((int)cpb_map_load(path, &map, &error), CPB_OK, error.text);
    test_status((int)cpb_map_to_json(map, &files[i].origin, &text, &error), CPB_OK, error.text);
    golden = scratch_read(path, &count);
    assert_string_equal(text, golden);
    free(text);
    free(golden);
    cpb_map_free(map);
  }
}

static void refused(const char *text, const char *words) {
  cpb_error error;
  cpb_map *map;
  test_status((int)cpb_map_from_json(text, strlen(text), "m.json", &map, &error), CPB_EFORMAT, error.text);
  assert_null(map);
  if (strstr(error.text, words) == NULL) fail_msg("no \"%s\" in: %s", words, error.text);
  assert_memory_equal(error.text, "m.json: ", 8);
}

/* The text with one piece replaced. */
static void refused_edit(unsigned parts, const char *from, const char *to, const char *words) {
  char *text;
  text_of(parts, &origin, &text);
  char *edited = malloc(strlen(text) + strlen(to) + 1);
  char *place = strstr(text, from);
  assert_non_null(place);
  sprintf(edited, "%.*s%s%s", (int)(place - text), text, to, place + strlen(from));
  refused(edited, words);
  free(text);
  free(edited);
}

static void damaged_files(void **state) {
  (void)state;
  refused("", "line 1");
  refused("{", "line 1");
  refused("[]", "has no \"capball\"");
  refused("{}", "has no \"capball\"");
  refused("{\"a\": 1, \"a\": 2}", "duplicate");
  refused_edit(0, "\"map\"", "\"ball\"", "holds a \"ball\"");
  refused_edit(0, "\"version\": 1", "\"version\": 2", "version 2, wanted 1");
  refused_edit(0, "\"dim\": 5", "\"dim\": 0", "\"dim\"");
  refused_edit(0, "\"dim\": 5", "\"dim\": 1000000000000", "\"dim\"");
  refused_edit(0, "\"dim\": 5", "\"dim\": 5.5", "\"dim\"");
  refused_edit(0, "\"dim\": 5", "\"dim\": 6", "checksum");
  refused_edit(0, "2.0", "\"two\"", "\"scale\" must be a number");
  refused_edit(0, "2.0", "2.0000000000000004", "checksum");
  refused_edit(0, "2.0", "1e999", "line 4");
  refused_edit(0, "\"center\": null", "\"center\": [1.0]", "\"center\" must be null or 5 numbers, got 1");
  refused_edit(0, "\"center\": null", "\"center\": [1, 2, 3, 4, null]", "\"center\"[4] is not a number");
  refused_edit(CENTER, "-0.0", "0.0", "checksum");
  refused_edit(WHITEN, "\"dim\": 5", "\"dim\": 16777216", "\"whiten\" must be null or 281474976710656");
  refused_edit(0, "\"checksum\"", "\"sum\"", "has no \"checksum\"");
}

/* Values that the map itself rejects, with a correct checksum: the message is the map's. */
static void values_the_map_refuses(void **state) {
  (void)state;
  static const char key[] = "\"checksum\": \"", words[] = "have checksum ";
  char *json;
  text_of(0, &origin, &json);
  cpb_error error;
  cpb_map *map;
  memcpy(strstr(json, "2.0"), "0.0", 3);
  assert_int_equal(cpb_map_from_json(json, strlen(json), "m.json", &map, &error), CPB_EFORMAT);
  memcpy(strstr(json, key) + strlen(key), strstr(error.text, words) + strlen(words), 16);
  refused(json, "scale");
  free(json);
}

static void every_truncation(void **state) {
  (void)state;
  char *text;
  text_of(CENTER | WHITEN, &origin, &text);
  size_t length = strlen(text);
  for (size_t cut = 0; cut + 2 < length; cut++) { /* the last two are "}" and the line end */
    cpb_map *map;
    assert_int_equal(cpb_map_from_json(text, cut, "m.json", &map, NULL), CPB_EFORMAT);
  }
  free(text);
}

static void files_that_are_not_there(void **state) {
  (void)state;
  cpb_error error;
  cpb_map *map;
  assert_int_equal(cpb_map_load(scratch_path("none.json"), &map, &error), CPB_EIO);
  assert_null(map);
  assert_int_equal(cpb_map_load(NULL, &map, &error), CPB_EINVAL);
  assert_int_equal(cpb_map_load(scratch_write("e.json", "", 0), &map, &error), CPB_EFORMAT);
  cpb_map *made = make_map(0, 1, 1);
  assert_int_equal(cpb_map_save(made, scratch_path("no/where.json"), NULL, &error), CPB_EIO);
  cpb_map_free(made);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bit_for_bit),      cmocka_unit_test(what_the_file_says),
      cmocka_unit_test(damaged_files),    cmocka_unit_test(values_the_map_refuses),
      cmocka_unit_test(every_truncation), cmocka_unit_test(files_that_are_not_there),
      cmocka_unit_test(golden_maps),
  };
  return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}

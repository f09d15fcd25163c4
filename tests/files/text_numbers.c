/* Numbers as text and as other dtypes: round trips restore the bits in every locale, for every f16. */
#define _POSIX_C_SOURCE 200809L
#include <float.h>
#include <locale.h>
#include <mpfr.h>

#include "capball/advanced/flow.h"
#include "capball/file.h"
#include "base/rows.h"
#include "files/writer.h"
#include "files/number.h"
#include "base/json_text.h"
#include "support/check.h"
#include "support/scratch.h"

enum { PART = TEST_SANITIZED ? 5 : 1 };

static double random_double(test_rng *rng) {
  uint64_t bits = test_bits(rng);
  double value;
  memcpy(&value, &bits, sizeof value);
  return isnan(value) ? 0 : value;
}

static void doubles_come_back(void **state) {
  (void)state;
  test_rng rng = {1};
  char text[CPB_NUMBER_ROOM];
  for (size_t i = 0; i < 200000 / PART; i++) {
    double value = i % 2 ? random_double(&rng) : ldexp(floor(test_gauss(&rng) * 1e6), -(int)(i % 20)), back;
    size_t length = cpb_number_print(text, &value, CPB_F64, 0);
    assert_true(cpb_number_parse(text, length, &back));
    assert_memory_equal(&value, &back, sizeof value);
  }
}

/* Any bits, and the sizes that are printed in the short form, its limits first. */
static float some_float(test_rng *rng, size_t i) {
  static const float borders[] = {1e-4f,       9.9999997e-5f, 1e-3f,    0.999999999f, 1,
                                  9.99999999f, 99999999.9f,   1e8f,     999999999.f,  1e9f,
                                  0,           -0.0f,         16777216, 0.1f};
  uint32_t bits = (uint32_t)test_bits(rng);
  float value;
  memcpy(&value, &bits, sizeof value);
  if (i < 2 * sizeof borders / sizeof *borders) return i % 2 ? -borders[i / 2] : borders[i / 2];
  return i % 2 || isnan(value) ? (float)test_log_uniform(rng, 1e-5, 1e10) : value;
}

static void floats_come_back(void **state) {
  (void)state;
  test_rng rng = {2};
  char text[CPB_NUMBER_ROOM];
  for (size_t i = 0; i < 400000 / PART; i++) {
    float value = some_float(&rng, i), rounded;
    double back;
    size_t length = cpb_number_print(text, &value, CPB_F32, 0);
    assert_true(cpb_number_parse(text, length, &back));
    rounded = (float)back;
    assert_memory_equal(&value, &rounded, sizeof value);
  }
}

/* The paths that do not use snprintf print the same (except for ties, which are not among these). */
static void printed_like_printf(void **state) {
  (void)state;
  test_rng rng = {4};
  char text[CPB_NUMBER_ROOM], wanted[64];
  for (size_t i = 0; i < 200000 / PART; i++) {
    float value = some_float(&rng, i);
    double whole = ldexp(floor(test_gauss(&rng) * 1e6), (int)test_below(&rng, 40)), parts = whole / 64;
    snprintf(wanted, sizeof wanted, "%.9g", (double)value);
    cpb_number_print(text, &value, CPB_F32, 0);
    assert_string_equal(text, wanted);
    snprintf(wanted, sizeof wanted, "%.17g", whole);
    cpb_number_print(text, &whole, CPB_F64, 0);
    assert_string_equal(text, wanted);
    snprintf(wanted, sizeof wanted, "%.17g", parts);
    cpb_number_print(text, &parts, CPB_F64, 0);
    assert_string_equal(text, wanted);
  }
}

/* Digits from the first to the last that is not 0. */
static int digits_of(const char *text) {
  int count = 0, zeros = 0;
  for (; *text != 0 && *text != 'e'; text++) {
    if (*text < '0' || *text > '9' || (count == 0 && *text == '0')) continue;
    count++;
    zeros = *text == '0' ? zeros + 1 : 0;
  }
  return count - zeros;
}

static double read_as(cpb_dtype dtype, const char *text) {
  return dtype == CPB_F32 ? (double)strtof(text, NULL) : strtod(text, NULL);
}

/* Of the decimals with one digit less the two around the value are the nearest: neither may come back. */
static void check_fewest(const char *text, double value, cpb_dtype dtype) {
  char below[64], above[64];
  mpfr_t exact;
  if (read_as(dtype, text) != value) fail_msg("%.17g becomes %s", value, text);
  int digits = digits_of(text);
  if (digits < 2) return;
  mpfr_init2(exact, 53);
  mpfr_set_d(exact, value, MPFR_RNDN);
  mpfr_snprintf(below, sizeof below, "%.*RDe", digits - 2, exact);
  mpfr_snprintf(above, sizeof above, "%.*RUe", digits - 2, exact);
  mpfr_clear(exact);
  if (read_as(dtype, below) == value || read_as(dtype, above) == value)
    fail_msg("%s: %s or %s is shorter", text, below, above);
}

static void fewest_digits_of(double value, cpb_dtype dtype) {
  char text[CPB_JSON_NUMBER_ROOM];
  float single = (float)value;
  if (dtype == CPB_F32) value = (double)single;
  if (!isfinite(value)) return;
  const void *element = dtype == CPB_F32 ? (const void *)&single : &value;
  size_t length = cpb_number_print_short(text, element, dtype, 0);
  assert_int_equal(length, strlen(text));
  bool whole = value == trunc(value) && fabs(value) < (dtype == CPB_F32 ? 1e9 : 0x1p53);
  if (!whole) check_fewest(text, value, dtype);
  if (dtype != CPB_F64) return;
  length = cpb_print_fewest(text, value);
  assert_int_equal(length, strlen(text));
  check_fewest(text, value, dtype);
}

/* Powers of two, below which numbers are closer than above, short decimals, and any bits; a third of them subnormal. */
static void fewest_digits(void **state) {
  (void)state;
  test_rng rng = {5};
  char text[64];
  for (int e = -1074; e < 1024; e++) fewest_digits_of(ldexp(1, e), CPB_F64);
  for (int e = -149; e < 128; e++) fewest_digits_of(ldexp(1, e), CPB_F32);
  for (size_t i = 0; i < 20000 / PART; i++) {
    uint64_t bits = test_bits(&rng) >> (i % 3 == 0 ? 12 + test_below(&rng, 52) : 1);
    double value;
    float single;
    memcpy(&value, &bits, sizeof value);
    if (!isnan(value)) fewest_digits_of(value, CPB_F64);
    uint32_t half = (uint32_t)(bits >> 31) >> (i % 3 == 0 ? 9 : 0);
    memcpy(&single, &half, sizeof single);
    if (!isnan(single)) fewest_digits_of((double)single, CPB_F32);
    snprintf(text, sizeof text, "%de%d", 1 + (int)test_below(&rng, 999999), (int)test_below(&rng, 80) - 50);
    fewest_digits_of(strtod(text, NULL), CPB_F64);
    fewest_digits_of((double)strtof(text, NULL), CPB_F32);
  }
}

/* Leading and trailing zeros, with an exponent that compensates for them: the number of the digits alone, however
 * long the text is. */
static void long_decimals(void **state) {
  (void)state;
  test_rng rng = {6};
  enum { ZEROS = 100001, ROOM = ZEROS + 2048 };
  char *text = malloc(ROOM), few[64];
  for (size_t i = 0; i < 400; i++) {
    size_t zeros = i < 4 ? ZEROS : test_below(&rng, 3000);
    unsigned long long digits = i == 0 ? 1 : test_bits(&rng) >> test_below(&rng, 64);
    int exponent = i == 0 ? 0 : (int)test_below(&rng, 660) - 340;
    const char *sign = i % 5 == 4 ? "-" : "";
    snprintf(few, sizeof few, "%s%llue%d", sign, digits, exponent);
    int count = snprintf(NULL, 0, "%llu", digits), length;
    if (i % 2 == 0)
      length = snprintf(text, ROOM, "%s0.%0*d%llue%lld", sign, (int)zeros + 1, 0, digits,
                        (long long)zeros + 1 + count + exponent);
    else
      length = snprintf(text, ROOM, "%s%llu%0*d.%0*de%lld", sign, digits, (int)zeros / 2 + 1, 0,
                        (int)zeros / 2 + 1, 0, exponent - (long long)(zeros / 2) - 1);
    double wanted = strtod(few, NULL), value = 0;
    bool number = cpb_number_parse(text, (size_t)length, &value);
    if (number == isinf(wanted)) fail_msg("%s with %d zeros", few, (int)zeros);
    if (number) assert_memory_equal(&value, &wanted, sizeof value);
  }
  free(text);
}

/* The middle of two doubles is a tie, which goes to the even one; a last digit that is not 0, however far to the
 * right, decides for the upper one. */
static void ties_of_long_decimals(void **state) {
  (void)state;
  test_rng rng = {7};
  enum { TAIL = 5000, ROOM = TAIL + 2048 };
  char *text = malloc(ROOM);
  mpfr_t middle;
  mpfr_init2(middle, 64);
  for (size_t i = 0; i < 300; i++) {
    double low = fabs(random_double(&rng)), value;
    if (i < 100) low = ldexp((double)(i + 1), -1074);
    if (!(low < DBL_MAX)) continue;
    double high = nextafter(low, INFINITY);
    mpfr_set_d(middle, low, MPFR_RNDN);
    mpfr_add_d(middle, middle, high, MPFR_RNDN);
    mpfr_div_2ui(middle, middle, 1, MPFR_RNDN);
    int length = mpfr_snprintf(text, ROOM, "%.*Re", TAIL, middle);
    uint64_t bits;
    memcpy(&bits, &low, sizeof bits);
    assert_true(cpb_number_parse(text, (size_t)length, &value));
    assert_true(value == (bits % 2 == 0 ? low : high));
    *strchr(text, 'e') = 0;
    text[strlen(text) - 1] = '1';
    text[strlen(text)] = 'e';
    assert_true(cpb_number_parse(text, (size_t)length, &value));
    assert_true(value == high);
  }
  mpfr_clear(middle);
  free(text);
}

/* The fast path of the parser is compared with strtod. */
static void short_decimals_are_exact(void **state) {
  (void)state;
  test_rng rng = {3};
  char text[64];
  for (size_t i = 0; i < 200000 / PART; i++) {
    unsigned long long digits = test_bits(&rng) >> test_below(&rng, 64);
    int length = snprintf(text, sizeof text, "%s%llu", i % 3 == 0 ? "-" : "", digits);
    size_t point = test_below(&rng, (size_t)length + 1);
    if (point > (size_t)(i % 3 == 0)) {
      memmove(text + point + 1, text + point, (size_t)length - point + 1);
      text[point] = '.';
      length++;
    }
    double value, wanted = strtod(text, NULL);
    assert_true(cpb_number_parse(text, (size_t)length, &value));
    assert_memory_equal(&value, &wanted, sizeof value);
  }
}

static void what_is_a_number(void **state) {
  (void)state;
  static const char *const good[] = {"0",    "-0",  "+1",  " 1 ", ".5",        "5.",     "1e5",
                                     "1E-5", "nan", "NaN", "inf", "-Infinity", "1e-999", "00012"};
  static const char *const bad[] = {"",       " ",   ".",   "-",     "e5",  "1e", "1e999",    "0x1p3",
                                    "nan(1)", "1,5", "1 2", "1.2.3", "--1", "1f", "infinite", "١"};
  double value;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++)
    if (!cpb_number_parse(good[i], strlen(good[i]), &value)) fail_msg("\"%s\" is a number", good[i]);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    if (cpb_number_parse(bad[i], strlen(bad[i]), &value)) fail_msg("\"%s\" is no number", bad[i]);
  assert_false(cpb_number_parse("1\0002", 3, &value));
  static const char *const refused[] = {"1e999", "-1e999", "0x1p3", "0X1.8P+3", " 0x.8p1 "},
                           *const names[] = {"0x1f", "1st", "p", "0xp", "nan(p)", "1", "", "inf", "1e5"};
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
    if (!cpb_number_is_refused(refused[i], strlen(refused[i]))) fail_msg("\"%s\" may be a name", refused[i]);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (cpb_number_is_refused(names[i], strlen(names[i]))) fail_msg("\"%s\" may be no name", names[i]);
  char tiny[1200]; /* the exact decimal of 2^-1074 has 1076 characters */
  int length = snprintf(tiny, sizeof tiny, "%.1074f", 5e-324);
  assert_true(cpb_number_parse(tiny, (size_t)length, &value));
  assert_true(value == 5e-324);
}

/* Rounding to f16 is checked by the definition: no other f16 is nearer, and ties go to the even one. */
static void halves(void **state) {
  (void)state;
  for (uint32_t bits = 0; bits < 0x10000; bits++) {
    uint16_t half = (uint16_t)bits, back;
    double value = cpb_half_to_double(half);
    if (isnan(value)) continue;
    assert_int_equal(cpb_convert(&value, CPB_F64, &back, CPB_F16, 1), 1);
    assert_int_equal(back, half);
    uint16_t next = (uint16_t)(half + 1);
    double above = cpb_half_to_double(next), tie = (value + above) / 2, sides[2];
    if ((half & 0x7fff) >= 0x7bff) continue;
    sides[0] = nextafter(tie, value);
    sides[1] = nextafter(tie, above);
    assert_int_equal(cpb_convert(&tie, CPB_F64, &back, CPB_F16, 1), 1);
    assert_int_equal(back, half % 2 == 0 ? half : next);
    assert_int_equal(cpb_convert(&sides[0], CPB_F64, &back, CPB_F16, 1), 1);
    assert_int_equal(back, half);
    assert_int_equal(cpb_convert(&sides[1], CPB_F64, &back, CPB_F16, 1), 1);
    assert_int_equal(back, next);
  }
  double nan = NAN, inf = -INFINITY;
  uint16_t back;
  assert_int_equal(cpb_convert(&nan, CPB_F64, &back, CPB_F16, 1), 1);
  assert_true(isnan(cpb_half_to_double(back)));
  assert_int_equal(cpb_convert(&inf, CPB_F64, &back, CPB_F16, 1), 1);
  assert_int_equal(back, 0xfc00);
}

static void conversions(void **state) {
  (void)state;
  int64_t odd = (1ll << 60) + (1ll << 36) + 1; /* rounds to another float via double */
  float single;
  assert_int_equal(cpb_convert(&odd, CPB_I64, &single, CPB_F32, 1), 1);
  assert_true((double)single == 0x1p60 + 0x1p37);
  double edge[] = {(double)3.4028234663852886e38, 3.4028235677973362e38, 3.4028235677973366e38};
  float floats[3];
  assert_int_equal(cpb_convert(edge, CPB_F64, floats, CPB_F32, 3), 2);
  assert_true(floats[1] == 3.40282347e38f);
  double many[1000];
  uint8_t bytes[1000];
  for (size_t i = 0; i < 1000; i++) many[i] = (double)(i % 256);
  assert_int_equal(cpb_convert(many, CPB_F64, bytes, CPB_U8, 1000), 1000);
  many[777] = 256;
  assert_int_equal(cpb_convert(many, CPB_F64, bytes, CPB_U8, 1000), 777);
  int64_t integers[] = {INT64_MIN, INT64_MAX, 1ll << 31};
  int32_t small[3];
  assert_int_equal(cpb_convert(integers + 2, CPB_I64, small, CPB_I32, 1), 0);
  double back[2];
  assert_int_equal(cpb_convert(integers, CPB_I64, back, CPB_F64, 2), 2);
  assert_true(back[0] == -0x1p63 && back[1] == 0x1p63);
  int64_t again;
  assert_int_equal(cpb_convert(&back[0], CPB_F64, &again, CPB_I64, 1), 1);
  assert_true(again == INT64_MIN);
  assert_int_equal(cpb_convert(&back[1], CPB_F64, &again, CPB_I64, 1), 0);
}

/* A program whose locale has a decimal comma reads and writes the same files. */
static void decimal_comma(void **state) {
  (void)state;
  static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE", "fr_FR"};
  const char *found = NULL;
  for (size_t i = 0; i < 5 && found == NULL; i++) found = setlocale(LC_NUMERIC, names[i]);
  if (found == NULL) skip();
  double numbers[] = {0.5, 0x1.f9add37c1216p-4}, *back;
  cpb_error error;
  cpb_writer *writer;
  cpb_reader *reader;
  cpb_view block;
  cpb_writer_options options;
  cpb_writer_options_init(&options, sizeof options);
  options.cols = 2;
  options.dtype = CPB_F64;
  const char *path = scratch_path("a.csv");
  test_status((int)cpb_writer_open(path, &options, &writer, &error), CPB_OK, error.text);
  test_status((int)cpb_writer_append(writer, cpb_rows(numbers, CPB_F64, 1, 2), &error), CPB_OK, error.text);
  test_status((int)cpb_writer_commit(writer, &error), CPB_OK, error.text);
  cpb_writer_free(writer);
  size_t count;
  char *text = scratch_read(path, &count);
  assert_string_equal(text, "0.5,0.12345678912345681\n");
  free(text);
  test_status((int)cpb_reader_open(path, NULL, &reader, &error), CPB_OK, error.text);
  test_status((int)cpb_reader_next(reader, 9, &block, &error), CPB_OK, error.text);
  assert_int_equal(block.rows, 1);
  back = (double *)(uintptr_t)block.data;
  assert_true(back[0] == 0.5 && back[1] == numbers[1]);
  cpb_reader_free(reader);
  setlocale(LC_NUMERIC, "C");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(doubles_come_back),
      cmocka_unit_test(floats_come_back),
      cmocka_unit_test(printed_like_printf),
      cmocka_unit_test(short_decimals_are_exact),
      cmocka_unit_test(fewest_digits),
      cmocka_unit_test(long_decimals),
      cmocka_unit_test(ties_of_long_decimals),
      cmocka_unit_test(what_is_a_number),
      cmocka_unit_test(halves),
      cmocka_unit_test(conversions),
      cmocka_unit_test(decimal_comma),
  };
  return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}

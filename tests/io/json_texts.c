/* JSON is read as libjansson reads it, where that has the memory: the same values, the same refusals. */
#include "json/json_read.h"

#include "support/check.h"

static const char *const texts[] = {
    "{}",
    "[]",
    "[1,2]",
    " [ 1 , -2 ]\n",
    "{\"a\":1,\"b\":[true,false,null]}",
    "[0]",
    "[-0]",
    "[-0.0]",
    "[01]",
    "[1.]",
    "[.5]",
    "[1e5]",
    "[1E+5]",
    "[1e-400]",
    "[1e400]",
    "[-1e400]",
    "[1.7976931348623157e308]",
    "[4.9e-324]",
    "[9223372036854775807]",
    "[9223372036854775808]",
    "[-9223372036854775808]",
    "[-9223372036854775809]",
    "[123456789012345678901234567890123456789]",
    "[0.1234567890123456789012345678901234567890]",
    "[1e]",
    "[1e+]",
    "[--1]",
    "[+1]",
    "[NaN]",
    "[Infinity]",
    "[0x10]",
    "[\"\"]",
    "[\"abc\"]",
    "[\"a\\\"b\\\\c\\/d\\b\\f\\n\\r\\t\"]",
    "[\"\\u00e4\"]",
    "[\"\\u20AC\"]",
    "[\"\\ud83d\\ude00\"]",
    "[\"\\ud83d\"]",
    "[\"\\ude00\"]",
    "[\"\\ud83dx\"]",
    "[\"\\ud83d\\u0041\"]",
    "[\"\\u0000\"]",
    "[\"\\u12\"]",
    "[\"\\x\"]",
    "[\"a\nb\"]",
    "[\"\x01\"]",
    "[\"\xc3\xa4\"]",
    "[\"\xc3\"]",
    "[\"\xff\"]",
    "[\"\xc0\x80\"]",
    "[\"\xed\xa0\x80\"]",
    "[\"\xf4\x90\x80\x80\"]",
    "[\"\xf0\x9f\x98\x80\"]",
    "[\"\xe2\x82\"]",
    "[\"abc",
    "[\"abc\\",
    "[\"abc\\u",
    "[1,]",
    "[,1]",
    "[1 2]",
    "[",
    "]",
    "{",
    "}",
    "{\"a\"}",
    "{\"a\":}",
    "{\"a\":1,}",
    "{a:1}",
    "{\"a\":1 \"b\":2}",
    "{\"a\":1,\"a\":2}",
    "{\"a\":{\"a\":{\"a\":[]}}}",
    "{\"\":1}",
    "[1] x",
    "[1]]",
    "",
    "  ",
    "1",
    "\"x\"",
    "null",
    "tru",
    "[tru]",
    "[truex]",
    "[nul",
    "{\"a\":1}{\"b\":2}",
    "[1]\t\r\n ",
    "\v[1]",
    "// c\n[1]",
    "[\"\x7f\"]",
    "{\"k\\u0041\":1}",
    "{\"\xff\":1}",
    "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]",
};
enum { TEXTS = sizeof texts / sizeof *texts };

static void compare(const char *text, size_t length, unsigned how) {
  cpb_error error = {.text = ""};
  size_t flags = JSON_REJECT_DUPLICATES;
  if ((how & CPB_JSON_ANY) != 0) flags |= JSON_DECODE_ANY;
  if ((how & CPB_JSON_REALS) != 0) flags |= JSON_DECODE_INT_AS_REAL;
  json_t *ours, *theirs = json_loadb(text, length, flags, NULL);
  cpb_status status = cpb_json_read(text, length, how, "text", &ours, &error);
  if ((status == CPB_OK) != (theirs != NULL)) fail_msg("%.*s: %s", (int)length, text, error.text);
  if (status == CPB_OK && !json_equal(ours, theirs))
    fail_msg("%.*s is read as another value", (int)length, text);
  assert_int_equal(status == CPB_OK, ours != NULL);
  if (status != CPB_OK) assert_int_equal(status, CPB_EFORMAT);
  json_decref(ours);
  json_decref(theirs);
}

static void same_values(void **state) {
  (void)state;
  for (size_t i = 0; i < TEXTS; i++)
    for (unsigned how = 0; how < 4; how++) compare(texts[i], strlen(texts[i]), how);
}

/* Every beginning of every text, and every text with one byte changed. */
static void same_refusals(void **state) {
  (void)state;
  static const unsigned char bytes[] = {1,   ' ', '"', '\\', ',', ':', '[',  ']', '{',
                                        '}', '0', 'e', '-',  '.', 'u', 0x80, 0xff};
  char changed[256];
  for (size_t i = 0; i < TEXTS; i++) {
    size_t length = strlen(texts[i]);
    for (size_t cut = 0; cut < length; cut++) {
      compare(texts[i], cut, CPB_JSON_ANY);
      for (size_t k = 0; k < sizeof bytes; k++) {
        memcpy(changed, texts[i], length);
        changed[cut] = (char)bytes[k];
        compare(changed, length, CPB_JSON_ANY);
      }
    }
  }
}

/* What is passed on as it is written: anything RFC 8259 calls a value. */
static void looked_at(void **state) {
  (void)state;
  static const char *const fine[] = {
      "1e999", "-0", "123456789012345678901234567890", "[1e-999,{\"a\":1,\"a\":2}]", "\"\\u0000\"", "null"};
  static const char *const wrong[] = {"1e", "01", "\"\\u00\"", "[1,]", "\"\xff\"", "nul", "", "1 2"};
  cpb_json_fault fault;
  for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
    json_t *value =
        cpb_json_value(fine[i], strlen(fine[i]), CPB_JSON_ANY | CPB_JSON_LOOK | CPB_JSON_REALS, &fault);
    if (value == NULL) fail_msg("%s: %s", fine[i], fault.why);
    json_decref(value);
  }
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_null(
        cpb_json_value(wrong[i], strlen(wrong[i]), CPB_JSON_ANY | CPB_JSON_LOOK | CPB_JSON_REALS, &fault));
    assert_true(fault.why != NULL && !fault.no_memory);
  }
}

static void places(void **state) {
  (void)state;
  cpb_error error;
  json_t *value;
  static const char text[] = "{\"a\": 1,\n \"b\": x}";
  assert_int_equal(cpb_json_read(text, strlen(text), 0, "m.json", &value, &error), CPB_EFORMAT);
  assert_string_equal(error.text, "m.json: line 2, column 7: not JSON: invalid token");
  char deep[2000];
  memset(deep, '[', sizeof deep);
  assert_int_equal(cpb_json_read(deep, sizeof deep, 0, "deep", &value, &error), CPB_EFORMAT);
  assert_non_null(strstr(error.text, "nested too deeply"));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(same_values), cmocka_unit_test(same_refusals),
                                     cmocka_unit_test(looked_at), cmocka_unit_test(places)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

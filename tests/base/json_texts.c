/* JSON: what is accepted and what is rejected, where and why, is as in 0.2, which was compared with libjansson. */
#include "files/json_read.h"

#include <inttypes.h>

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

static uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a of all that was accepted and rejected */
static size_t accepted, looked;

static void mix(const char *bytes, size_t count) {
  for (size_t i = 0; i < count; i++) hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3u;
}

static void __attribute__((format(printf, 1, 2))) mix_word(const char *format, ...) {
  char word[128];
  va_list list;
  va_start(list, format);
  mix(word, (size_t)vsnprintf(word, sizeof word, format, list));
  va_end(list);
}

static void mix_value(const cpb_json *value) {
  static const char *const marks[] = {"n", "f", "t", "i", "r", "s", "[", "{"};
  uint64_t bits;
  memcpy(&bits, &value->real, sizeof bits);
  mix_word("%s", marks[value->type]);
  if (value->type == CPB_JSON_INTEGER) mix_word("%lld", value->integer);
  if (value->type == CPB_JSON_REAL) mix_word("%016" PRIx64, bits);
  if (value->type == CPB_JSON_STRING) {
    mix_word("%zu:", value->count);
    mix(value->string, value->count);
  }
  if (value->type < CPB_JSON_ARRAY) return;
  for (const cpb_json *held = value->first; held != NULL; held = held->next) {
    if (held->key != NULL) mix_word("%s:", held->key);
    mix_value(held);
  }
  mix_word("%s", value->type == CPB_JSON_ARRAY ? "]" : "}");
}

static void look(const char *text, size_t length, unsigned how) {
  cpb_json_fault fault;
  cpb_json *value = cpb_json_value(text, length, how, &fault);
  assert_int_equal(value == NULL, fault.why != NULL);
  looked++;
  accepted += value != NULL;
  if (value != NULL)
    mix_value(value);
  else
    mix_word("!%s %llu %llu", fault.why, fault.line, fault.column);
  free(value);
}

/* Every text, every prefix of it, and the text with one byte changed. */
static void same_as_before(void **state) {
  (void)state;
  static const unsigned char bytes[] = {1,   ' ', '"', '\\', ',', ':', '[',  ']', '{',
                                        '}', '0', 'e', '-',  '.', 'u', 0x80, 0xff};
  char changed[256];
  for (size_t i = 0; i < TEXTS; i++)
    for (unsigned how = 0; how < 4; how++) look(texts[i], strlen(texts[i]), how);
  for (size_t i = 0; i < TEXTS; i++) {
    size_t length = strlen(texts[i]);
    for (size_t cut = 0; cut < length; cut++) {
      look(texts[i], cut, CPB_JSON_ANY);
      for (size_t k = 0; k < sizeof bytes; k++) {
        memcpy(changed, texts[i], length);
        changed[cut] = (char)bytes[k];
        look(changed, length, CPB_JSON_ANY);
      }
    }
  }
  assert_int_equal(looked, 14908);
  assert_int_equal(accepted, 1409);
  assert_int_equal(hash, 0x038bf05d338d3e84u);
}

/* Names are compared by a hash table: many of them, and none is lost. */
static void many_names(void **state) {
  (void)state;
  enum { NAMES = 5000, LENGTH = 16 };
  char *text = malloc((NAMES + 1) * LENGTH), name[LENGTH];
  assert_non_null(text);
  size_t used = (size_t)sprintf(text, "{\"n0\":0");
  for (int i = 1; i < NAMES; i++) used += (size_t)sprintf(text + used, ",\"n%d\":%d", i, i);
  text[used] = '}';
  cpb_json_fault fault;
  cpb_json *value = cpb_json_value(text, used + 1, 0, &fault);
  assert_non_null(value);
  for (int i = 0; i < NAMES; i += 97) {
    sprintf(name, "n%d", i);
    assert_int_equal(cpb_json_integer_of(cpb_json_get(value, name)), i);
  }
  free(value);
  used += (size_t)sprintf(text + used, ",\"n17\":0}");
  assert_null(cpb_json_value(text, used, 0, &fault));
  assert_string_equal(fault.why, "duplicate object key");
  free(text);
}

/* What is passed on unparsed: anything that RFC 8259 calls a value. */
static void looked_at(void **state) {
  (void)state;
  static const char *const fine[] = {
      "1e999", "-0", "123456789012345678901234567890", "[1e-999,{\"a\":1,\"a\":2}]", "\"\\u0000\"", "null"};
  static const char *const wrong[] = {"1e", "01", "\"\\u00\"", "[1,]", "\"\xff\"", "nul", "", "1 2"};
  cpb_json_fault fault;
  for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
    cpb_json *value =
        cpb_json_value(fine[i], strlen(fine[i]), CPB_JSON_ANY | CPB_JSON_LOOK | CPB_JSON_AS_REALS, &fault);
    if (value == NULL) fail_msg("%s: %s", fine[i], fault.why);
    free(value);
  }
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_null(
        cpb_json_value(wrong[i], strlen(wrong[i]), CPB_JSON_ANY | CPB_JSON_LOOK | CPB_JSON_AS_REALS, &fault));
    assert_true(fault.why != NULL && !fault.no_memory);
  }
}

static void places(void **state) {
  (void)state;
  cpb_error error;
  cpb_json *value;
  static const char text[] = "{\"a\": 1,\n \"b\": x}";
  assert_int_equal(cpb_json_read(text, strlen(text), 0, "m.json", &value, &error), CPB_EFORMAT);
  assert_string_equal(error.text, "m.json: line 2, column 7: not JSON: invalid token");
  char deep[2000];
  memset(deep, '[', sizeof deep);
  assert_int_equal(cpb_json_read(deep, sizeof deep, 0, "deep", &value, &error), CPB_EFORMAT);
  assert_non_null(strstr(error.text, "nested too deeply"));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(same_as_before), cmocka_unit_test(many_names),
                                     cmocka_unit_test(looked_at), cmocka_unit_test(places)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

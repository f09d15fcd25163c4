#include "json_print.h"

#include <stdlib.h>
#include <string.h>

#include "capball/advanced/flow.h"
#include "show/growing_text.h"

enum { VERSION = 1 }; /* of all schemas, docs/json.md; more members leave it as it is */

const char *cli_digits(double value, char to[CLI_NUMBER_ROOM]) {
  cpb_number_text(value, to);
  return to;
}

void cli_put_number(FILE *to, double value) {
  char digits[CLI_NUMBER_ROOM];
  fputs(cli_digits(value, digits), to);
}

/* e+07 as e7, as the text that was dumped has it: never longer than that. */
static void shorten_exponent(char *digits) {
  char *to = strchr(digits, 'e');
  if (to == NULL) return;
  const char *from = ++to;
  if (*from == '-') to++;
  if (*from == '-' || *from == '+') from++;
  while (*from == '0' && from[1] != 0) from++;
  memmove(to, from, strlen(from) + 1);
}

/* Numbers of 17 digits in a text of JSON, in place: what stands between quotes stays. */
static void shorten_numbers(char *text) {
  char *to = text;
  bool quoted = false;
  for (char *p = text; *p != 0;) {
    size_t length = quoted ? 0 : strspn(p, "0123456789.eE+-");
    if (length > 0 && memchr(p, '.', length) != NULL) {
      char digits[CLI_NUMBER_ROOM], *end;
      cli_digits(strtod(p, &end), digits);
      shorten_exponent(digits);
      size_t used = strlen(digits);
      memcpy(to, digits, used);
      to += used;
      if (strpbrk(digits, ".e") == NULL) *to++ = '.', *to++ = '0'; /* still a real */
      p += length;
      continue;
    }
    if (*p == '\\' && quoted) *to++ = *p++;
    if (*p == '"') quoted = !quoted;
    *to++ = *p++;
  }
  *to = 0;
}

/* json_dumps forgets to look whether there was memory for a key; show_text does not. */
char *cli_json_text(json_t *value) {
  show_text text = {0};
  FILE *to = value == NULL ? NULL : show_text_open(&text);
  bool dumped =
      to != NULL && json_dumpf(value, to, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(17)) == 0;
  bool whole = to != NULL && show_text_close(&text, to);
  json_decref(value);
  if (dumped && whole) {
    shorten_numbers(text.bytes);
    return text.bytes;
  }
  free(text.bytes);
  return NULL;
}

/* "sketch train" is called sketch-train. */
static json_t *schema_of(const cli_job *job) {
  char name[64];
  snprintf(name, sizeof name, "capball/%s/%d", job->command->verb, VERSION);
  for (char *c = name; *c != 0; c++)
    if (*c == ' ') *c = '-';
  return json_string(name);
}

/* The object with its schema in front. */
static json_t *with_schema(const cli_job *job, json_t *object) {
  json_t *whole = cli_json_set(json_object(), "schema", schema_of(job));
  bool all = whole != NULL && object != NULL && json_object_update(whole, object) == 0;
  json_decref(object);
  if (all) return whole;
  json_decref(whole);
  return NULL;
}

int cli_print_json(const cli_job *job, json_t *object) {
  object = with_schema(job, object);
  if (object == NULL)
    return cli_fail(
        job, "JSON cannot say the result: a number that is not finite, a name that is not UTF-8, or no "
             "memory");
  char *text = cli_json_text(object);
  if (text == NULL) return cli_fail(job, "no memory for a line of JSON");
  puts(text);
  free(text);
  return CLI_OK;
}

json_t *cli_json_append(json_t *array, json_t *value) {
  if (json_array_append_new(array, value) == 0) return array;
  json_decref(array);
  return NULL;
}

json_t *cli_json_set(json_t *object, const char *key, json_t *value) {
  if (json_object_set_new(object, key, value) == 0) return object;
  json_decref(object);
  return NULL;
}

json_t *cli_json_name(const char *name) {
  if (name == NULL) return json_null();
  return json_string(cli_is_utf8(name) ? name : "?");
}

json_t *cli_json_vector(const double *values, size_t n) {
  json_t *array = json_array();
  for (size_t i = 0; i < n; i++) array = cli_json_append(array, json_real(values[i]));
  return array;
}

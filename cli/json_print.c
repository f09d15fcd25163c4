#include "json_print.h"

#include <stdlib.h>

#include "show/growing_text.h"

/* json_dumps forgets to look whether there was memory for a key; show_text does not. */
char *cli_json_text(json_t *value) {
  show_text text = {0};
  FILE *to = value == NULL ? NULL : show_text_open(&text);
  bool dumped = to != NULL && json_dumpf(value, to, JSON_COMPACT | JSON_REAL_PRECISION(17)) == 0;
  bool whole = to != NULL && show_text_close(&text, to);
  json_decref(value);
  if (dumped && whole) return text.bytes;
  free(text.bytes);
  return NULL;
}

int cli_print_json(const cli_job *job, json_t *object) {
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

json_t *cli_json_vector(const double *values, size_t n) {
  json_t *array = json_array();
  for (size_t i = 0; i < n; i++) array = cli_json_append(array, json_real(values[i]));
  return array;
}

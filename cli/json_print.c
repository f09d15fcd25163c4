#include "json_print.h"

#include <stdlib.h>

int cli_print_json(const cli_job *job, json_t *object) { return cli_print_json_id(job, NULL, object); }

int cli_print_json_id(const cli_job *job, const char *id, json_t *object) {
  if (object == NULL)
    return cli_fail(job,
                    "JSON cannot say the result: a number that is not finite, or a name that is not UTF-8");
  char *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(17));
  json_decref(object);
  if (text == NULL) return cli_fail(job, "no memory for a line of JSON");
  if (id != NULL)
    printf("{\"id\":%s,%s\n", id, text + 1);
  else
    puts(text);
  free(text);
  return CLI_OK;
}

json_t *cli_json_vector(const double *values, size_t n) {
  json_t *array = json_array();
  for (size_t i = 0; i < n; i++)
    if (json_array_append_new(array, json_real(values[i])) != 0) {
      json_decref(array);
      return NULL;
    }
  return array;
}

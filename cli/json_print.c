#include "json_print.h"

int cli_print_json(const cli_job *job, json_t *object) {
  if (object == NULL)
    return cli_fail(job,
                    "JSON cannot say the result: a number that is not finite, or a name that is not UTF-8");
  int failed = json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(17));
  json_decref(object);
  if (failed) return cli_fail(job, "cannot write JSON");
  putchar('\n');
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

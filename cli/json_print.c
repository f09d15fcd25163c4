#include "json_print.h"

#include <stdlib.h>
#include <string.h>

enum { VERSION = 1 }; /* of all schemas, docs/reference/json.md; added members do not change it */

const char *cli_digits(double value, char to[CPB_JSON_NUMBER_ROOM]) {
  cpb_print_fewest(to, value);
  return to;
}

void cli_put_number(FILE *to, double value) {
  char digits[CPB_JSON_NUMBER_ROOM];
  fputs(cli_digits(value, digits), to);
}

char *cli_json_text(cpb_text *value) {
  char *text = value == NULL ? NULL : value->bytes;
  if (value != NULL && value->failure != CPB_JSON_WHOLE) {
    free(text);
    text = NULL;
  }
  free(value);
  return text;
}

int cli_print_json(const cli_job *job, cpb_text *object) {
  bool unsayable = object == NULL || object->failure == CPB_JSON_UNSAYABLE;
  char name[64], *text = cli_json_text(object);
  if (unsayable)
    return cli_fail(job, "JSON cannot represent the result: a number that is not finite, or no memory");
  if (text == NULL) return cli_fail(job, "no memory for a line of JSON");
  snprintf(name, sizeof name, "%s", job->command->verb);
  for (char *c = name; *c != 0; c++)
    if (*c == ' ') *c = '-'; /* "sketch train" becomes sketch-train */
  printf("{\"schema\":\"capball/%s/%d\"%s%s\n", name, VERSION, strcmp(text, "{}") == 0 ? "" : ",", text + 1);
  free(text);
  return CLI_OK;
}

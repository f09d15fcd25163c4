/* JSON in and out, by jansson, with numbers that come back bit for bit. */
#ifndef CLI_JSON_PRINT_H
#define CLI_JSON_PRINT_H

#include <jansson.h>

#include "cli.h"

/* Prints an object on one line of stdout, 17 digits, keys in the order they were set; takes it over.
 * CLI_FAILED after a sentence for NULL. */
int cli_print_json(const cli_job *job, json_t *object);

/* An array of n numbers; NULL when one of them is not finite. */
json_t *cli_json_vector(const double *values, size_t n);

#endif

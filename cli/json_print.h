/* JSON in and out, by jansson, with numbers that come back bit for bit. */
#ifndef CLI_JSON_PRINT_H
#define CLI_JSON_PRINT_H

#include <jansson.h>

#include "cli.h"

/* A number with the fewest digits that bring it back: 0.05, not 0.050000000000000003. */
enum { CLI_NUMBER_ROOM = 32 };
const char *cli_digits(double value, char to[CLI_NUMBER_ROOM]);
void cli_put_number(FILE *to, double value);

/* Prints an object on one line of stdout after "schema":"capball/VERB/1", numbers as above, keys in the order they
 * were set; takes it over. docs/json.md has the members of every command. CLI_FAILED after a sentence for NULL. */
int cli_print_json(const cli_job *job, json_t *object);

/* Its text on one line, the caller's to free; takes it over. NULL for NULL, and without memory. */
char *cli_json_text(json_t *value);

/* The array or object with one value more, which it takes over; NULL, with it given back, for a value that is
 * NULL and where there is no memory. So a chain of them needs one look, at its end. */
json_t *cli_json_append(json_t *array, json_t *value);
json_t *cli_json_set(json_t *object, const char *key, json_t *value);

/* A text, with ? for a name that is not UTF-8; null for NULL. */
json_t *cli_json_name(const char *name);

/* An array of n numbers; NULL when one of them is not finite. */
json_t *cli_json_vector(const double *values, size_t n);

#endif

/* JSON output; numbers are read back bit for bit. */
#ifndef CLI_JSON_PRINT_H
#define CLI_JSON_PRINT_H

#include "cli.h"
#include "src/base/json_text.h"

/* A number with the fewest digits that identify it: 0.05, not 0.050000000000000003. */
const char *cli_digits(double value, char to[CPB_JSON_NUMBER_ROOM]);
void cli_put_number(FILE *to, double value);

/* Prints a value in the format of cpb_json_pack, on one line, numbers as above. */
#define cli_json(...) cpb_json_new((cpb_json_style){.compact = true, .fewest = true}, __VA_ARGS__)

/* Prints an object on one line of stdout, "schema":"capball/VERB/1" first, and frees it. docs/reference/json.md lists the members
 * of every command. CLI_FAILED after a message for NULL. */
int cli_print_json(const cli_job *job, cpb_text *object);

/* The text of a value, which is freed; the caller frees the text. NULL for NULL, and on failure. */
char *cli_json_text(cpb_text *value);

#endif

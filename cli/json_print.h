/* JSON out, with numbers that come back bit for bit. */
#ifndef CLI_JSON_PRINT_H
#define CLI_JSON_PRINT_H

#include "cli.h"
#include "src/text/json_text.h"

/* A number with the fewest digits that bring it back: 0.05, not 0.050000000000000003. */
const char *cli_digits(double value, char to[CPB_JSON_NUMBER_ROOM]);
void cli_put_number(FILE *to, double value);

/* A value by the format of cpb_json_pack, on one line, numbers as above. */
#define cli_json(...) cpb_json_new((cpb_json_style){.compact = true, .fewest = true}, __VA_ARGS__)

/* Prints an object on one line of stdout after "schema":"capball/VERB/1", keys in the order they were set; frees it.
 * docs/json.md has the members of every command. CLI_FAILED after a sentence for NULL. */
int cli_print_json(const cli_job *job, cpb_text *object);

/* Its text, the caller's to free; frees the value. NULL for NULL, and where something failed. */
char *cli_json_text(cpb_text *value);

/* A text, with ? for a name that is not UTF-8; null for NULL. */
cpb_text *cli_json_name(const char *name);

#endif

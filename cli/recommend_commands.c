#define _POSIX_C_SOURCE 200809L
#include "recommend_commands.h"
#include "show/put_text.h"

#include <stdlib.h>
#include <string.h>

/* ---- options that were given ---- */

/* Its value as text, in `digits` for numbers; false: it was not given. */
static bool given(const cli_job *job, const cli_option *option, char digits[CPB_JSON_NUMBER_ROOM],
                  show_option *shown) {
  const char *at = (const char *)&job->options + option->offset;
  *shown = (show_option){option->name, digits};
  switch (option->kind) {
  case CLI_FLAG: shown->value = NULL; return *(const bool *)at;
  case CLI_CHOICE:
    shown->value = cli_option_name(option, ((const cli_choice *)at)->at);
    return ((const cli_choice *)at)->given;
  case CLI_NUMBER:
    cli_digits(((const cli_number *)at)->value, digits);
    return ((const cli_number *)at)->given;
  case CLI_COUNT:
    snprintf(digits, CPB_JSON_NUMBER_ROOM, "%llu", (unsigned long long)((const cli_count *)at)->value);
    if (((const cli_count *)at)->value == CLI_WORD) shown->value = option->word;
    return ((const cli_count *)at)->given;
  default: shown->value = *(const char *const *)at; return shown->value != NULL;
  }
}

/* ---- a recommendation ---- */

static const cli_option *const table[] = {CLI_OPT_TABLE, &cli_opt_skip_bad};
enum { TABLE = sizeof table / sizeof *table };

char *cli_recommend_commands(const cli_job *job, show_recommended of) {
  const char *base = job->operands[0], *queries = job->options.queries;
  char digits[CPB_JSON_NUMBER_ROOM]; /* no option of a table is a number */
  show_option options[TABLE];
  size_t count = 0;
  for (size_t i = 0; i < TABLE; i++) count += given(job, table[i], digits, &options[count]);
  of.base = (show_file){strcmp(base, "-") == 0 ? "BASE" : base, options, count};
  if (queries != NULL)
    of.queries = (show_file){strcmp(queries, "-") == 0 ? "QUERIES" : queries, options, count};
  of.engine_command = job->options.engine_command;
  return show_commands(&of);
}

/* ---- the command that is running ---- */

char *cli_command_again(const cli_job *job) {
  show_text text;
  FILE *to = show_text_open(&text);
  if (to == NULL) return NULL;
  fprintf(to, "capball %s", job->command->verb);
  for (size_t i = 0; i < job->count; i++) show_put_operand(to, job->operands[i]);
  for (size_t i = 0; job->command->options[i] != NULL; i++) {
    char digits[CPB_JSON_NUMBER_ROOM];
    show_option shown;
    if (given(job, job->command->options[i], digits, &shown)) show_put_option(to, &shown);
  }
  return show_text_close(&text, to) ? text.bytes : NULL;
}

/* ---- printing ---- */

const char *cli_commands_note(const cli_job *job) {
  bool command = job->options.engine_command != NULL, asked = job->options.queries != NULL;
  if (asked)
    return command
               ? "The engine stores rows.npy, is asked for asked.npy and answers with ids.npy; nearest.npy "
                 "is the result."
               : "capball knn takes the place of your index: it stores rows.npy, is asked for asked.npy "
                 "and answers with ids.npy; nearest.npy is the result.";
  return command
             ? "The engine stores rows.npy, is asked for asked.npy and answers with ids.npy; nearest.npy is "
               "the result. Rows of the base are the queries: replace them by yours."
             : "capball knn takes the place of your index: it stores rows.npy, is asked for asked.npy and "
               "answers with ids.npy; nearest.npy is the result. Rows of the base are the queries: "
               "replace them by yours.";
}

void cli_print_commands(const cli_job *job, const char *commands) {
  fputs("\nTo carry it out:\n", stdout);
  for (const char *line = commands; *line != 0; line += strcspn(line, "\n") + 1) {
    char *copy = strndup(line, strcspn(line, "\n"));
    if (copy == NULL) return;
    fputs("  ", stdout);
    show_put_text(stdout, copy);
    putchar('\n');
    free(copy);
  }
  cli_print_wrapped(stdout, cli_commands_note(job), 0, 0);
}

cpb_text *cli_json_commands(const char *commands) {
  cpb_text *lines = cli_json("[]");
  for (const char *line = commands; *line != 0; line += strcspn(line, "\n") + 1) {
    char *copy = strndup(line, strcspn(line, "\n"));
    lines = cpb_json_append(lines, cli_json("s", copy));
    free(copy);
  }
  return lines;
}

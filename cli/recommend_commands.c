#define _POSIX_C_SOURCE 200809L
#include "recommend_commands.h"
#include "show/growing_text.h"

#include <stdlib.h>
#include <string.h>

static void put_word(FILE *to, const char *word) {
  fputc(' ', to);
  show_put_word(to, word);
}

static bool is_given(const cli_job *job, const cli_option *option) {
  const char *at = (const char *)&job->options + option->offset;
  switch (option->kind) {
  case CLI_FLAG: return *(const bool *)at;
  case CLI_CHOICE: return ((const cli_choice *)at)->given;
  default: return *(const char *const *)at != NULL;
  }
}

static void put_option(FILE *to, const cli_job *job, const cli_option *option) {
  const char *at = (const char *)&job->options + option->offset;
  fprintf(to, " --%s", option->name);
  if (option->kind == CLI_CHOICE)
    put_word(to, option->names(((const cli_choice *)at)->at));
  else if (option->kind != CLI_FLAG)
    put_word(to, *(const char *const *)at);
}

static const cli_option *const table[] = {CLI_OPT_TABLE, &cli_opt_skip_bad};
enum { TABLE = sizeof table / sizeof *table };

static bool needs_options(const cli_job *job) {
  for (size_t i = 0; i < TABLE; i++)
    if (is_given(job, table[i])) return true;
  return false;
}

/* Rows that are read with options are converted once, so that the other commands need none. */
static const char *put_convert(const cli_job *job, FILE *to, const char *path, const char *converted) {
  if (!needs_options(job)) return path;
  fputs("capball convert", to);
  put_word(to, path);
  for (size_t i = 0; i < TABLE; i++)
    if (is_given(job, table[i])) put_option(to, job, table[i]);
  fprintf(to, " -o %s\n", converted);
  return converted;
}

char *cli_recommend_commands(const cli_job *job, show_recommended of) {
  const char *base = job->operands[0], *queries = job->options.queries;
  show_text first;
  FILE *to = show_text_open(&first);
  if (to == NULL) return NULL;
  of.base = put_convert(job, to, strcmp(base, "-") == 0 ? "BASE" : base, "base_rows.npy");
  of.queries = queries == NULL             ? of.base
               : strcmp(queries, "-") == 0 ? "QUERIES"
                                           : put_convert(job, to, queries, "query_rows.npy");
  of.engine_command = job->options.engine_command;
  char *commands = NULL;
  if (show_text_close(&first, to)) {
    of.first = first.bytes;
    commands = show_commands(&of);
  }
  free(first.bytes);
  return commands;
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

/* Messages of the command on standard error. */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "cli.h"

static void print_message(const cli_job *job, const char *format, va_list arguments) {
  char sentence[4096];
  vsnprintf(sentence, sizeof sentence, format, arguments);
  if (job->bar != NULL) cli_bar_clear(job->bar);
  fprintf(stderr, "capball%s%s: ", job->command != NULL ? " " : "",
          job->command != NULL ? job->command->verb : "");
  show_put_text(stderr, sentence);
  fputc('\n', stderr);
}

int cli_fail(const cli_job *job, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (cli_interrupted() == 0) print_message(job, format, arguments);
  va_end(arguments);
  return CLI_FAILED;
}

int cli_misuse(const cli_job *job, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print_message(job, format, arguments);
  va_end(arguments);
  fprintf(stderr, "try: capball help%s%s\n", job->command != NULL ? " " : "",
          job->command != NULL ? job->command->verb : "");
  return CLI_USAGE;
}

void cli_say(const cli_job *job, const char *format, ...) {
  if (job->options.quiet) return;
  va_list arguments;
  va_start(arguments, format);
  print_message(job, format, arguments);
  va_end(arguments);
}

const char *cli_name(const char *path) { return strcmp(path, "-") == 0 ? "standard input" : path; }

bool cli_is_about(const cpb_error *error, const char *argument) {
  return strcmp(error->argument, argument) == 0;
}

int cli_fail_stdout(const cli_job *job) {
  return cli_fail(job, "cannot write standard output: %s", strerror(errno));
}

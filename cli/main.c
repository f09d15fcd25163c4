/* capball: the table of commands, and what is the same for all of them. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "data_file.h"
#include "format_names.h"

const cli_command *const cli_commands[] = {&cli_verb_demo,          &cli_verb_info,
                                           &cli_verb_convert,       &cli_verb_fit,
                                           &cli_verb_merge,         &cli_verb_abid,
                                           &cli_verb_cosines,       &cli_verb_embed,
                                           &cli_verb_unembed,       &cli_verb_dual,
                                           &cli_verb_knn,           &cli_verb_range,
                                           &cli_verb_recommend,     &cli_verb_wrap,
                                           &cli_verb_query,         &cli_verb_rescore,
                                           &cli_verb_seal,          &cli_verb_ball,
                                           &cli_verb_score,         &cli_verb_sketch_train,
                                           &cli_verb_sketch_encode, &cli_verb_sketch_search,
                                           &cli_verb_index_build,   &cli_verb_index_add,
                                           &cli_verb_index_remove,  &cli_verb_index_search,
                                           &cli_verb_index_range,   &cli_verb_index_info,
                                           &cli_verb_index_compact, &cli_verb_theory,
                                           &cli_verb_help,          &cli_verb_man,
                                           &cli_verb_completion,    NULL};

const cli_command *cli_command_find(const char *verb) {
  for (const cli_command *const *command = cli_commands; *command != NULL; command++)
    if (strcmp((*command)->verb, verb) == 0) return *command;
  return NULL;
}

size_t cli_first_word(const cli_command *command) { return strcspn(command->verb, " "); }

const char *cli_second_word(const cli_command *command) {
  const char *rest = command->verb + cli_first_word(command);
  return *rest == ' ' ? rest + 1 : NULL;
}

bool cli_is_in_group(const cli_command *command, const char *word) {
  size_t length = cli_first_word(command);
  return cli_second_word(command) != NULL && strlen(word) == length &&
         strncmp(command->verb, word, length) == 0;
}

bool cli_is_first_of_group(const cli_command *const *command) {
  if (cli_second_word(*command) == NULL || command == cli_commands) return true;
  size_t length = cli_first_word(*command);
  return cli_first_word(command[-1]) != length || strncmp(command[-1]->verb, (*command)->verb, length) != 0;
}

static void speak(const cli_job *job, const char *format, va_list arguments) {
  char sentence[4096];
  vsnprintf(sentence, sizeof sentence, format, arguments);
  if (job->bar != NULL) cli_bar_clear(job->bar);
  fprintf(stderr, "capball%s%s: ", job->command != NULL ? " " : "",
          job->command != NULL ? job->command->verb : "");
  cli_print_plain(stderr, sentence);
  fputc('\n', stderr);
}

int cli_fail(const cli_job *job, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (cli_interrupted() == 0) speak(job, format, arguments);
  va_end(arguments);
  return CLI_FAILED;
}

int cli_misuse(const cli_job *job, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  speak(job, format, arguments);
  va_end(arguments);
  fprintf(stderr, "try: capball help%s%s\n", job->command != NULL ? " " : "",
          job->command != NULL ? job->command->verb : "");
  return CLI_USAGE;
}

void cli_say(const cli_job *job, const char *format, ...) {
  if (job->options.quiet) return;
  va_list arguments;
  va_start(arguments, format);
  speak(job, format, arguments);
  va_end(arguments);
}

/* What the command has against such rows. */
static const char *remedy(const cli_job *job, const cpb_error *error) {
  const cli_options *o = &job->options;
  bool skips = cli_accepts(job->command, &cli_opt_skip_bad) || cli_accepts(job->command, &cli_opt_leave_bad);
  if (!skips || o->skip_bad || o->leave_bad) return "";
  if (error->reason != CPB_WHY_ROW_NAN || o->impute.at != 0 || !cli_accepts(job->command, &cli_opt_impute))
    return " (--skip-bad leaves such rows out)";
  return " (--skip-bad leaves such rows out, --impute fills cells that are empty or NaN)";
}

int cli_fail_row(const cli_job *job, const char *path, uint64_t first, const cpb_error *error) {
  if (error->row < 0) return cli_fail(job, "%s: %s", cli_name(path), error->text);
  /* The library counts from the block; only what it says of the row holds for the file. */
  const char *what = error->text + error->about;
  return cli_fail(job, "%s: row %llu %s%s", cli_name(path),
                  (unsigned long long)(first + (uint64_t)error->row), what, remedy(job, error));
}

bool cli_is_about(const cpb_error *error, const char *argument) {
  return strcmp(error->argument, argument) == 0;
}

/* The one thing a signal handler may touch. */
static volatile sig_atomic_t caught;

/* A read that waits for standard input finds its end there instead, so that the job sees the flag. */
static void on_signal(int number) {
  int kept = errno, nothing = open("/dev/null", O_RDONLY);
  caught = number;
  if (nothing >= 0) {
    dup2(nothing, STDIN_FILENO);
    close(nothing);
  }
  errno = kept;
}

int cli_interrupted(void) { return caught; }

/* Blocks are read from the file's own pages; pages that a shortened file has lost cannot be. */
static void on_lost_pages(int number) {
  static const char text[] = "capball: a file became shorter while it was being read\n";
  (void)number;
  ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
  (void)written;
  _exit(CLI_FAILED);
}

static void install_handlers(void) {
  /* Only the first signal waits for the end of a block: the second one kills. */
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGHUP, &action, NULL);
  action.sa_flags = 0;
  action.sa_handler = on_lost_pages;
  sigaction(SIGBUS, &action, NULL);
  /* A file-size limit shall be an error of write(), with a sentence, instead of death. */
  action.sa_handler = SIG_IGN;
  sigaction(SIGXFSZ, &action, NULL);
}

/* "train, encode, search": the second words of a group; false when there is no such group. */
static bool list_group(const char *word, char *list, size_t room) {
  size_t used = 0;
  for (const cli_command *const *command = cli_commands; *command != NULL; command++)
    if (cli_is_in_group(*command, word) && used < room)
      used += (size_t)snprintf(list + used, room - used, "%s%s", used == 0 ? "" : ", ",
                               cli_second_word(*command));
  return used > 0;
}

static int unknown_verb(const char *verb) {
  cli_job none = {0};
  const char *names[64];
  size_t count = 0;
  for (; cli_commands[count] != NULL; count++) names[count] = cli_commands[count]->verb;
  const char *near = cli_nearest(verb, names, count);
  if (near != NULL) return cli_misuse(&none, "there is no command \"%s\"; did you mean \"%s\"?", verb, near);
  return cli_misuse(&none, "there is no command \"%s\"", verb);
}

int cli_fail_stdout(const cli_job *job) {
  return cli_fail(job, "cannot write standard output: %s", strerror(errno));
}

/* What a command printed must have arrived. */
static int finish_output(const cli_job *job, int result) {
  bool lost = fflush(stdout) != 0 || ferror(stdout);
  return lost && result == CLI_OK ? cli_fail_stdout(job) : result;
}

/* The first word of several commands, alone. */
static int run_group(const char *word, const char *list, bool help) {
  cli_job none = {0};
  if (help) {
    cli_print_group(word, stdout);
    return finish_output(&none, CLI_OK);
  }
  cli_fail(&none, "%s has several commands, name one of them: %s", word, list);
  cli_print_summaries(word, stderr);
  fprintf(stderr, "try: capball help %s\n", word);
  return CLI_USAGE;
}

static int print_version(void) {
  printf("capball %s\nloops: %s\nHDF5: %s\ngz: %s\nzst: %s\n", cpb_version(), cpb_isa_name(),
         CLI_HDF5 ? "yes" : "no", CLI_GZ ? "yes" : "no", CLI_ZST ? "yes" : "no");
  return finish_output(&(cli_job){0}, CLI_OK);
}

static int start_threads(cli_job *job) {
  cpb_error error;
  cpb_exec_init(&job->exec, sizeof job->exec);
  if (!cli_accepts(job->command, &cli_opt_threads)) return CLI_OK;
  cpb_status status = cpb_pool_new((size_t)job->options.threads, &job->pool, &error);
  if (status != CPB_OK)
    return status == CPB_EINVAL ? cli_misuse(job, "--threads: %s", error.text)
                                : cli_fail(job, "%s", error.text);
  job->exec = *cpb_pool_exec(job->pool);
  job->exec.progress = cli_bar_tell;
  job->exec.context = job->bar;
  return CLI_OK;
}

static int run_job(cli_job *job) {
  const cli_command *command = job->command;
  int result = command->check != NULL ? command->check(job) : CLI_OK;
  if (result != CLI_OK || command->look == NULL) return result == CLI_OK ? command->run(job) : result;
  cli_input in;
  result = (command->matches ? cli_input_open_unmatched : cli_input_open)(&in, job, job->operands[0],
                                                                          job->options.format);
  if (result == CLI_OK) result = command->look(&in);
  cli_input_close(&in);
  return result;
}

static int run_command(const cli_command *command, int argc, char **argv) {
  cli_bar bar;
  cli_job job = {.command = command};
  int result = cli_parse(&job, argc, argv);
  if (result != CLI_OK) return result;
  cli_bar_init(&bar, command->verb, job.options.quiet);
  job.bar = &bar;
  if (job.options.help) {
    cli_print_help(command, stdout);
    return finish_output(&job, CLI_OK);
  }
  result = cli_check_files(&job);
  if (result == CLI_OK) result = cli_check_kinds(&job);
  if (result == CLI_OK) result = start_threads(&job);
  if (result != CLI_OK) return result;
  result = run_job(&job);
  cli_bar_clear(&bar);
  cpb_pool_free(job.pool);
  if (cli_interrupted() != 0) return 128 + cli_interrupted();
  return finish_output(&job, result);
}

int main(int argc, char **argv) {
  install_handlers();
  if (argc < 2) {
    cli_print_overview(stderr);
    return CLI_USAGE;
  }
  const char *verb = argv[1];
  if (strcmp(verb, "--version") == 0 || strcmp(verb, "-V") == 0) return print_version();
  if (strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0) verb = "help";
  char two_words[64];
  snprintf(two_words, sizeof two_words, "%s %s", verb, argc > 2 ? argv[2] : "");
  const cli_command *command = cli_command_find(two_words);
  if (command != NULL) return run_command(command, argc - 2, argv + 2);
  char group[128];
  if (list_group(verb, group, sizeof group))
    return run_group(verb, group, argc > 2 && (strcmp(argv[2], "-h") == 0 || strcmp(argv[2], "--help") == 0));
  command = cli_command_find(verb);
  if (command == NULL) return unknown_verb(verb);
  return run_command(command, argc - 1, argv + 1);
}

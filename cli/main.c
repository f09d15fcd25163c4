/* capball: the table of commands, and how one of them is run. */
#include <errno.h>
#include <string.h>

#include "cli.h"
#include "data_file.h"
#include "format_names.h"
#include "src/base/system_process.h"

/* Between two NULLs. */
static const cli_command *const table[] = {NULL,
                                           &cli_verb_demo,
                                           &cli_verb_page,
                                           &cli_verb_info,
                                           &cli_verb_convert,
                                           &cli_verb_fit,
                                           &cli_verb_merge,
                                           &cli_verb_abid,
                                           &cli_verb_cosines,
                                           &cli_verb_embed,
                                           &cli_verb_unembed,
                                           &cli_verb_dual,
                                           &cli_verb_knn,
                                           &cli_verb_range,
                                           &cli_verb_recommend,
                                           &cli_verb_wrap,
                                           &cli_verb_query,
                                           &cli_verb_rescore,
                                           &cli_verb_seal,
                                           &cli_verb_ball,
                                           &cli_verb_score,
                                           &cli_verb_sketch_train,
                                           &cli_verb_sketch_encode,
                                           &cli_verb_sketch_search,
                                           &cli_verb_sketch_curve,
                                           &cli_verb_index_build,
                                           &cli_verb_index_add,
                                           &cli_verb_index_put,
                                           &cli_verb_index_remove,
                                           &cli_verb_index_search,
                                           &cli_verb_index_range,
                                           &cli_verb_index_export,
                                           &cli_verb_index_info,
                                           &cli_verb_index_compact,
                                           &cli_verb_index_check,
                                           &cli_verb_theory,
                                           &cli_verb_help,
                                           &cli_verb_man,
                                           &cli_verb_completion,
                                           NULL};
static const cli_command *const *const commands = table + 1;

/* "train, encode, search": the second words of a group; false when there is no such group. */
static bool list_group(const char *word, char *list, size_t room) {
  size_t used = 0;
  for (const cli_command *const *command = commands; *command != NULL; command++)
    if (cli_is_in_group(*command, word) && used < room)
      used += (size_t)snprintf(list + used, room - used, "%s%s", used == 0 ? "" : ", ",
                               cli_second_word(*command));
  return used > 0;
}

static int unknown_verb(const char *verb) {
  cli_job none = {0};
  const char *names[64];
  size_t count = 0;
  for (; commands[count] != NULL; count++) names[count] = commands[count]->verb;
  const char *near = cli_nearest(verb, names, count);
  if (near != NULL) return cli_misuse(&none, "there is no command \"%s\"; did you mean \"%s\"?", verb, near);
  return cli_misuse(&none, "there is no command \"%s\"", verb);
}

/* What a command printed must have arrived. */
static int finish_output(const cli_job *job, int result) {
  bool lost = fflush(stdout) != 0 || ferror(stdout);
  return lost && result == CLI_OK ? cli_fail_stdout(job) : result;
}

/* The first word of several commands, with a second that is none of theirs, or NULL. */
static int run_group(const char *word, const char *list, const char *second) {
  cli_job none = {0};
  if (second != NULL && (strcmp(second, "-h") == 0 || strcmp(second, "--help") == 0)) {
    cli_print_group(commands, word, stdout);
    return finish_output(&none, CLI_OK);
  }
  if (second != NULL && second[0] != '-')
    cli_fail(&none, "%s has no command \"%s\", name one of these: %s", word, second, list);
  else
    cli_fail(&none, "%s has several commands, name one of them: %s", word, list);
  cli_print_summaries(commands, word, stderr);
  fprintf(stderr, "try: capball help %s\n", word);
  return CLI_USAGE;
}

static void print_plan(void) {
  char text[CPB_PLAN_SIZE];
  for (size_t line = 0; cpb_isa_plan(line, text, sizeof text); line++) printf("  %s\n", text);
}

static int print_version(bool verbose) {
  printf("capball %s\nloops: %s\nHDF5: %s\ngz: %s\nzst: %s\n", cpb_version(), cpb_isa_name(),
         CLI_HDF5 ? "yes" : "no", CLI_GZ ? "yes" : "no", CLI_ZST ? "yes" : "no");
  if (verbose) printf("rows (the first line that fits is used):\n"), print_plan();
  return finish_output(&(cli_job){0}, CLI_OK);
}

static int start_threads(cli_job *job) {
  cpb_error error;
  cpb_exec_init(&job->exec, sizeof job->exec);
  if (!cli_accepts(job->command, &cli_opt_threads)) return CLI_OK;
  cpb_status status = cpb_pool_new((size_t)job->options.threads.value, &job->pool, &error);
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
  cli_job job = {.commands = commands, .command = command};
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
  cpb_sys_begin(&argc, &argv);
  cli_install_handlers();
  if (argc < 2) {
    cli_print_overview(commands, stderr);
    return CLI_USAGE;
  }
  const char *verb = argv[1];
  if (strcmp(verb, "--version") == 0 || strcmp(verb, "-V") == 0)
    return print_version(argc > 2 && strcmp(argv[2], "-v") == 0);
  if (strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0) verb = "help";
  char two_words[64];
  snprintf(two_words, sizeof two_words, "%s %s", verb, argc > 2 ? argv[2] : "");
  const cli_command *command = cli_command_find(commands, two_words);
  if (command != NULL) return run_command(command, argc - 2, argv + 2);
  char group[128];
  if (list_group(verb, group, sizeof group)) return run_group(verb, group, argc > 2 ? argv[2] : NULL);
  command = cli_command_find(commands, verb);
  if (command == NULL) return unknown_verb(verb);
  return run_command(command, argc - 1, argv + 1);
}

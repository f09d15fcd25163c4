/* Shared by all commands: the job, exit codes, messages. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>
#include <stdio.h>

#include "capball/capball.h"
#include "options.h"
#include "progress.h"
#include "show/put_text.h"

/* Exit codes. An interrupted job ends with 128 + the number of the signal. */
enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

typedef struct cli_command cli_command;
struct cli_input;

/* One call of one command. */
typedef struct cli_job {
  const cli_command *const *commands; /* the whole table */
  const cli_command *command;
  cli_options options;
  char **operands;
  size_t count;
  cpb_pool *pool; /* NULL for commands without --threads */
  cpb_exec exec;  /* the pool, the progress bar, cancellation by a signal */
  cli_bar *bar;
} cli_job;

/* The properties of a map, transform or model. */
static inline cpb_map_options cli_map_options(const cpb_map *map) {
  cpb_map_options options = {.size = sizeof options};
  cpb_map_describe(map, &options);
  return options;
}
static inline cpb_transform_options cli_transform_options(const cpb_transform *transform) {
  cpb_transform_options options = {.size = sizeof options};
  cpb_transform_describe(transform, &options);
  return options;
}
static inline cpb_model_options cli_model_options(const cpb_model *model) {
  cpb_model_options options = {.size = sizeof options};
  cpb_model_describe(model, &options);
  return options;
}

/* For the library calls of a job. */
static inline const cpb_exec *cli_exec(const cli_job *job) { return &job->exec; }

/* One row of the table that feeds parsing, help, manual page and completion. */
struct cli_command {
  const char *verb;
  const char *operands;              /* as in the synopsis: "IN OUT" */
  const char *summary;               /* half a line */
  const char *formula;               /* lines of formula, or NULL */
  const char *text;                  /* paragraphs, separated by newlines */
  const char *example;               /* lines of shell that run in an empty directory */
  size_t least, most;                /* operands */
  size_t made;                       /* the operand that is an output; 0: none */
  const cli_option *const *options;  /* ends with NULL .. */
  size_t required;                   /* .. the first of which, this many, are required */
  int (*check)(const cli_job *job);  /* before anything is opened; NULL: nothing to check */
  bool skips_text;                   /* columns of text in tables are left out, with a remark */
  bool matches;                      /* `look` finds the columns by name itself, cli_input_match */
  int (*look)(struct cli_input *in); /* processes the first operand, already open; NULL: .. */
  int (*run)(cli_job *job);          /* .. runs the whole job */
};

/* Finds a command in a table that has a NULL before its first and after its last entry. */
const cli_command *cli_command_find(const cli_command *const *all, const char *verb);

/* A verb may have two words, "sketch train": the first is its group. Whether this is the first command of its group, or
 * has none; whether `word` is the group of `command`. */
bool cli_is_first_of_group(const cli_command *const *command);
bool cli_is_in_group(const cli_command *command, const char *word);

/* What follows the first word of a verb; NULL for one word. */
const char *cli_second_word(const cli_command *command);
size_t cli_first_word(const cli_command *command); /* its length */

extern const cli_command cli_verb_info, cli_verb_convert, cli_verb_fit, cli_verb_embed, cli_verb_unembed,
    cli_verb_merge, cli_verb_abid, cli_verb_cosines, cli_verb_dual, cli_verb_theory, cli_verb_demo,
    cli_verb_page, cli_verb_completion, cli_verb_man, cli_verb_help, cli_verb_ball, cli_verb_score,
    cli_verb_knn, cli_verb_range, cli_verb_query, cli_verb_rescore, cli_verb_seal, cli_verb_recommend,
    cli_verb_wrap, cli_verb_sketch_train, cli_verb_sketch_encode, cli_verb_sketch_search,
    cli_verb_sketch_curve, cli_verb_index_build, cli_verb_index_add, cli_verb_index_remove,
    cli_verb_index_search, cli_verb_index_range, cli_verb_index_info, cli_verb_index_compact,
    cli_verb_index_check, cli_verb_index_export, cli_verb_index_put;

/* Print "capball VERB: message" on stderr; return CLI_FAILED and CLI_USAGE. */
int cli_fail(const cli_job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));
int cli_misuse(const cli_job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for a note; suppressed by --quiet. */
void cli_say(const cli_job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The name of an input in messages: its path, or "standard input". */
const char *cli_name(const char *path);

/* base^share, share >= 0, from square roots and products only: the same bits on every machine. */
double cli_power(double base, double share);

/* The plural of "row". */
static inline const char *cli_s(uint64_t count) { return count == 1 ? "" : "s"; }

/* CLI_USAGE if a file is used twice: an output would replace an input or another output, or two inputs, or an output and
 * --json, would share a pipe. */
int cli_check_files(const cli_job *job);

/* Reports the library's error about row error->row of a block that starts at row `first` of a file, with the name of
 * the file and the row number in it. */
int cli_fail_row(const cli_job *job, const char *path, uint64_t first, const cpb_error *error);

/* Reports that writing to standard output failed, by errno. */
int cli_fail_stdout(const cli_job *job);

/* |x| of one vector, without overflow or underflow; NaN if it contains NaN or inf. */
double cli_length(const double *x, size_t d);

/* Whether an error of the library is about this argument of the call. */
bool cli_is_about(const cpb_error *error, const char *argument);

/* The signal that requested termination; 0: none. Checked between blocks. */
int cli_interrupted(void);
void cli_install_handlers(void);

/* The name nearest to a mistyped word, or NULL if none is similar. */
const char *cli_nearest(const char *word, const char *const *names, size_t count);

static inline void *cli_alloc(size_t count, size_t size) { return show_alloc(count, size); }

/* Wraps text at 80 characters. Lines are indented by `indent` blanks, the first one starts at `column`; newlines in the
 * text start paragraphs. */
void cli_print_wrapped(FILE *to, const char *text, int indent, int column);

/* Parts of the manual, all from the same tables. */
void cli_print_overview(const cli_command *const *all, FILE *to);
void cli_print_summaries(const cli_command *const *all, const char *group,
                         FILE *to); /* NULL: of all commands */
void cli_print_help(const cli_command *command, FILE *to);
size_t cli_print_group(const cli_command *const *all, const char *word,
                       FILE *to); /* the help of all its commands; returns their number */

#endif

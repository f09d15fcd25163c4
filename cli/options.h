/* Options. Every command has its own list; options shared by several commands are defined once. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A number; if it is not given, the default, or 0 without one. */
typedef struct cli_number {
  bool given;
  double value;
} cli_number;

typedef struct cli_count {
  bool given;
  uint64_t value;
} cli_count;

#define CLI_WORD UINT64_MAX

/* The index of one of an option's names; that of the default if it is not given. */
typedef struct cli_choice {
  bool given;
  unsigned at;
} cli_choice;

/* Values of the options; strings are views into argv, NULL if not given. */
typedef struct cli_options {
  const char *output, *map, *center, *pole, *rows, *format, *to, *state, *about, *plot;
  const char *distances, *base, *thresholds, *embedded, *scores, *certificates, *asked;
  const char *sketch, *model, *weights, *labels, *sql, *queries, *html, *engine_command;
  const char *columns, *drop, *id_column, *label_column, *ids, *keys, *filter;
  cli_choice header, impute;
  cli_choice goal, dtype, metric, as, form, method, kernel, transform, side, engine;
  cli_choice bound;
  cli_number scale, target, gamma, nu, gap, offset, radius, score_error, ridge, within, headroom;
  cli_number timeout, confidence, contamination, alpha, fdr;
  cli_count seed, threads, neighbours, sample, first_row, degree, knn, balls, bits, bytes, candidates, top;
  cli_count first, seeds;
  bool bare, decimal_comma, leave_bad, standardize, robust, calibrate, predict, whiten, spherical, skip_bad,
      follow_external, sweep, ranks, point, twice, json, quiet, help, approximate, by_bits, certain;
} cli_options;

typedef enum cli_value_kind {
  CLI_FLAG,
  CLI_TEXT,
  CLI_PATH,    /* an input file */
  CLI_WRITTEN, /* an output file */
  CLI_NAME,    /* one of the names, as a string */
  CLI_CHOICE,  /* one of the names, as its index */
  CLI_NUMBER,
  CLI_COUNT /* a whole number */
} cli_value_kind;

typedef struct cli_option {
  const char *name; /* long name, without the dashes */
  char letter;      /* 0: none */
  cli_value_kind kind;
  const char *value;              /* name of the value in the help; NULL for a flag */
  size_t offset;                  /* in cli_options */
  const char *help;               /* a sentence, without range and default; names follow a colon at its end */
  const char *const *list;        /* the legal values of a name or choice, up to a NULL, or .. */
  const char *(*names)(size_t i); /* .. the i-th of them, NULL past the end */
  const char *range;              /* of a number: "> 0", ">= 1", "in (0,1]"; NULL: any, of a count ">= 1" */
  const char *fallback;           /* the default; NULL: the first name, or as the sentence explains */
  const char *word; /* of a count: a word in place of the number, kept as CLI_WORD; NULL: none */
} cli_option;

/* Defines an option; those of a single command are static. The sentence of its help is the last argument, which
 * names, range and fallback may follow, as in `.range = "> 0"`. */
#define CLI_OPTION(id, long_name, short_name, of_kind, of_value, member, ...)                                \
  const cli_option id = {long_name,          short_name, of_kind, of_value, offsetof(cli_options, member),   \
                         .help = __VA_ARGS__}

#define CLI_NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

/* The list of a command; required options come first. */
#define CLI_OPTIONS(id, ...) static const cli_option *const id[] = {__VA_ARGS__, NULL}

/* Options with the same meaning in all commands. */
extern const cli_option cli_opt_output, cli_opt_map, cli_opt_goal, cli_opt_target, cli_opt_goal_neighbours,
    cli_opt_pole, cli_opt_transform, cli_opt_whiten, cli_opt_ridge, cli_opt_skip_bad, cli_opt_dtype,
    cli_opt_distances, cli_opt_distance_dtype, cli_opt_metric, cli_opt_neighbours, cli_opt_format,
    cli_opt_external, cli_opt_to, cli_opt_bare, cli_opt_seed, cli_opt_sample, cli_opt_sketch, cli_opt_plot,
    cli_opt_json, cli_opt_quiet, cli_opt_threads, cli_opt_leave_bad, cli_opt_skip_queries, cli_opt_columns,
    cli_opt_drop, cli_opt_id_column, cli_opt_label_column, cli_opt_header, cli_opt_decimal_comma,
    cli_opt_impute, cli_opt_help;

/* How the rows of a file are read: part of the list of every command that reads rows. */
#define CLI_OPT_TABLE                                                                                        \
  &cli_opt_format, &cli_opt_columns, &cli_opt_drop, &cli_opt_id_column, &cli_opt_header,                     \
      &cli_opt_decimal_comma, &cli_opt_impute, &cli_opt_external

struct cli_command;
struct cli_job;

/* Whether a command has this option. */
bool cli_accepts(const struct cli_command *command, const cli_option *option);

/* The i-th name in the order of the values, one after the other up to NULL. */
const char *cli_option_name(const cli_option *option, size_t i);
static inline bool cli_option_has_names(const cli_option *option) {
  return option->kind == CLI_NAME || option->kind == CLI_CHOICE;
}

/* The sentence of an option with its names, range and default, as help, manual page and completion print it. */
enum { CLI_HELP_ROOM = 640 };
const char *cli_option_help(const cli_option *option, char text[CLI_HELP_ROOM]);

/* Reads the whole number at the beginning of a text; *end is what follows. False: none, or one that is too large. */
bool cli_read_count(const char *text, const char **end, uint64_t *number);

/* Fills job->options, operands and count from argv (argv[0] is the verb). CLI_OK or CLI_USAGE. */
int cli_parse(struct cli_job *job, int argc, char **argv);

#endif

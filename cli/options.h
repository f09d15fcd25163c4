/* Options. Every command has its own list; options shared by several commands are defined once. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A number that may be absent. */
typedef struct cli_number {
  bool given;
  double value;
} cli_number;

/* The index of one of an option's names; 0, always the default, if absent. */
typedef struct cli_choice {
  bool given;
  unsigned at;
} cli_choice;

/* Values of the options; strings are views into argv, NULL if not given. */
typedef struct cli_options {
  const char *output, *map, *center, *pole, *rows, *format, *to, *state, *about, *plot;
  const char *distances, *base, *thresholds, *embedded, *scores, *certificates, *asked;
  const char *sketch, *model, *weights, *labels, *sql, *queries, *html, *engine_command;
  const char *columns, *drop, *id_column, *label_column;
  cli_choice header, impute;
  cli_choice goal, dtype, metric, as, variant, step, method, kernel, transform, side, engine;
  cli_choice rotation, factors, bound;
  double scale, target, gamma; /* 0: not given */
  cli_number nu, gap, offset, radius, score_error, tolerance, ridge, within, headroom, timeout, confidence;
  cli_number contamination;
  uint64_t seed, threads, neighbours, sample, first_row, degree, knn, balls; /* 0: not given */
  uint64_t bits, bits_per, batch, candidates, top, first, seeds;
  bool bare, decimal_comma, leave_bad, standardize, predict, whiten, spherical, skip_bad, follow_external,
      sweep, ranks, point, twice, json, quiet, help, approximate, by_bits;
} cli_options;

typedef enum cli_value_kind {
  CLI_FLAG,
  CLI_TEXT,
  CLI_PATH,       /* an input file */
  CLI_WRITTEN,    /* an output file */
  CLI_NAME,       /* one of the names, as a string */
  CLI_CHOICE,     /* one of the names, as its index */
  CLI_POSITIVE,   /* > 0 and finite */
  CLI_AT_LEAST_0, /* >= 0 and finite */
  CLI_NUMBER,     /* any number; the job checks its range */
  CLI_COUNT,
  CLI_POSITIVE_COUNT
} cli_value_kind;

typedef struct cli_option {
  const char *name; /* long name, without the dashes */
  char letter;      /* 0: none */
  cli_value_kind kind;
  const char *value; /* name of the value in the help; NULL for a flag */
  size_t offset;     /* in cli_options */
  const char *help;
  const char *(*names)(size_t i); /* the i-th legal value, NULL past the end; for CLI_NAME and CLI_CHOICE */
} cli_option;

/* Defines an option; those of a single command are static. */
#define CLI_OPTION(id, name, letter, kind, value, member, names, help)                                       \
  const cli_option id = {name, letter, kind, value, offsetof(cli_options, member), help, names}

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

/* Fills job->options, operands and count from argv (argv[0] is the verb). CLI_OK or CLI_USAGE. */
int cli_parse(struct cli_job *job, int argc, char **argv);

#endif

#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "format_names.h"

/* ---- shared options ---- */

static const char *header_name(size_t i) {
  static const char *const names[] = {"auto", "no", "yes"};
  return i < 3 ? names[i] : NULL;
}

static const char *impute_name(size_t i) {
  static const char *const names[] = {"none", "mean", "median"};
  return i < 3 ? names[i] : NULL;
}

static const char *goal_name(size_t i) { return i < CPB_GOALS ? cpb_goal_name((cpb_goal)i) : NULL; }

static const char *dtype_name(size_t i) { return i <= CPB_I64 ? cpb_dtype_name((cpb_dtype)i) : NULL; }

static const char *metric_name(size_t i) { return i < CPB_METRICS ? cpb_metric_name((cpb_metric)i) : NULL; }

static const char *transform_name(size_t i) { return cpb_transform_about((cpb_transform_kind)i).name; }

CLI_OPTION(cli_opt_output, "output", 'o', CLI_WRITTEN, "FILE", output, NULL,
           "output file, written atomically");
CLI_OPTION(cli_opt_map, "map", 'm', CLI_PATH, "MAP.json", map, NULL, "the map written by `capball fit`");
CLI_OPTION(cli_opt_goal, "goal", 'g', CLI_CHOICE, "GOAL", goal, goal_name,
           "how s is chosen: mean (default) or median of the norms about the centre, hemisphere (the largest "
           "norm: every row in y0 >= 0), spread (the largest ABID), or recall (the smallest s that preserves "
           "the fraction --target of the neighbours)");
CLI_OPTION(cli_opt_target, "target", 0, CLI_POSITIVE, "R", target, NULL,
           "goal recall: the fraction of true neighbours to preserve, below 1 (default 0.99)");
CLI_OPTION(cli_opt_goal_neighbours, "neighbours", 'k', CLI_POSITIVE_COUNT, "K", neighbours, NULL,
           "goal recall: number of neighbours (default 10)");
CLI_OPTION(cli_opt_pole, "pole", 'p', CLI_PATH, "FILE", pole, NULL,
           "a vector file with one row or one column of d+1 numbers, the pole v; it is normalised");
CLI_OPTION(cli_opt_transform, "transform", 0, CLI_CHOICE, "NAME", transform, transform_name,
           "sphere (the map, about the mean at the mean norm), or another transform: none, center, normalize "
           "(centre + normalise), lift-ip or lift-cosine (exact lifts of L2), ip-cosine or ip-l2 (of inner "
           "products)");
CLI_OPTION(cli_opt_whiten, "whiten", 'w', CLI_FLAG, NULL, whiten, NULL,
           "whiten by the covariance of the data, about their mean");
CLI_OPTION(cli_opt_ridge, "ridge", 0, CLI_AT_LEAST_0, "R", ridge, NULL,
           "with --whiten: add to the variance of every column this share of itself, for columns "
           "that do not vary or depend on others (1e-6 is small; default 0)");
CLI_OPTION(cli_opt_skip_bad, "skip-bad", 0, CLI_FLAG, NULL, skip_bad, NULL,
           "omit rows with NaN or inf, and report how many");
CLI_OPTION(cli_opt_leave_bad, "skip-bad", 0, CLI_FLAG, NULL, leave_bad, NULL,
           "omit rows with NaN or inf, and report how many");
CLI_OPTION(cli_opt_skip_queries, "skip-bad", 0, CLI_FLAG, NULL, skip_bad, NULL,
           "omit queries with NaN or inf, and report how many");
CLI_OPTION(cli_opt_dtype, "dtype", 'd', CLI_CHOICE, "TYPE", dtype, dtype_name, "element type of the output");
CLI_OPTION(cli_opt_distances, "distances", 0, CLI_WRITTEN, "FILE", distances, NULL,
           "also write the distances, one row of them per query");
CLI_OPTION(cli_opt_distance_dtype, "dtype", 'd', CLI_CHOICE, "TYPE", dtype, dtype_name,
           "element type of --distances (default f32, in text f64)");
CLI_OPTION(cli_opt_metric, "metric", 0, CLI_CHOICE, "METRIC", metric, metric_name,
           "the metric: l2 (default), ip or cosine");
CLI_OPTION(cli_opt_neighbours, "neighbours", 'k', CLI_POSITIVE_COUNT, "K", neighbours, NULL,
           "number of neighbours (default 10)");
CLI_OPTION(cli_opt_format, "format", 'f', CLI_NAME, "FORMAT", format, cli_format_name,
           "format of the input (default: by its extension)");
CLI_OPTION(cli_opt_external, "follow-external", 0, CLI_FLAG, NULL, follow_external, NULL,
           "allow an HDF5 input to refer to other files: only for trusted files");
CLI_OPTION(cli_opt_columns, "columns", 0, CLI_TEXT, "LIST", columns, NULL,
           "read these columns, in this order: names or numbers from 1, as in a,b,3-7,9-");
CLI_OPTION(cli_opt_drop, "drop", 0, CLI_TEXT, "LIST", drop, NULL, "read all columns except these");
CLI_OPTION(cli_opt_id_column, "id-column", 0, CLI_TEXT, "COLUMN", id_column, NULL,
           "csv and tsv: the column of row names (default: a first column without a name)");
CLI_OPTION(cli_opt_label_column, "label-column", 0, CLI_TEXT, "COLUMN", label_column, NULL,
           "csv and tsv: the column of outlier labels: not 0, or -1 if there are 1 and -1");
CLI_OPTION(cli_opt_header, "header", 0, CLI_CHOICE, "WHETHER", header, header_name,
           "csv and tsv: whether line 1 contains column names: auto (default), no or yes");
CLI_OPTION(cli_opt_decimal_comma, "decimal-comma", 0, CLI_FLAG, NULL, decimal_comma, NULL,
           "csv and tsv: 1,5 is one and a half");
CLI_OPTION(
    cli_opt_impute, "impute", 0, CLI_CHOICE, "HOW", impute, impute_name,
    "replace cells without a number by the mean or the median of their column in this file (default none)");
CLI_OPTION(cli_opt_to, "to", 0, CLI_NAME, "FORMAT", to, cli_format_name,
           "format of the output (default: by its extension)");
CLI_OPTION(cli_opt_bare, "bare", 0, CLI_FLAG, NULL, bare, NULL,
           "csv and tsv: write only numbers, without the names of rows and columns");
CLI_OPTION(cli_opt_seed, "seed", 0, CLI_COUNT, "N", seed, NULL, "seed of the sample (default 0)");
CLI_OPTION(cli_opt_sample, "sample", 0, CLI_POSITIVE_COUNT, "N", sample, NULL,
           "rows of the sample (default 4096)");
CLI_OPTION(cli_opt_sketch, "sketch", 'm', CLI_PATH, "FILE", sketch, NULL,
           "the sketch written by `capball sketch train`");
CLI_OPTION(cli_opt_plot, "plot", 0, CLI_WRITTEN, "FILE", plot, NULL,
           "plot with gnuplot to .svg or .png; without gnuplot as text on the terminal");
CLI_OPTION(cli_opt_json, "json", 'j', CLI_FLAG, NULL, json, NULL,
           "print one line of JSON; docs/reference/json.md lists its members");
CLI_OPTION(cli_opt_quiet, "quiet", 'q', CLI_FLAG, NULL, quiet, NULL, "no messages and no progress on stderr");
CLI_OPTION(cli_opt_threads, "threads", 't', CLI_COUNT, "N", threads, NULL,
           "threads (default: all processors); the result does not depend on it");
CLI_OPTION(cli_opt_help, "help", 'h', CLI_FLAG, NULL, help, NULL, "explain this command");

/* ---- lists ---- */

enum { LONGEST = 48 }; /* list */

static size_t length_of(const cli_option *const *list) {
  size_t count = 0;
  while (list[count] != NULL) count++;
  return count;
}

bool cli_accepts(const cli_command *command, const cli_option *option) {
  for (size_t i = 0; command->options[i] != NULL; i++)
    if (command->options[i] == option) return true;
  return false;
}

/* ---- values ---- */

static int misuse_name(const cli_job *job, const cli_option *option, const char *value) {
  const char *names[32];
  size_t count = 0;
  char all[256] = "";
  for (const char *name; count < 32 && (name = option->names(count)) != NULL; count++) {
    names[count] = name;
    size_t used = strlen(all);
    snprintf(all + used, sizeof all - used, "%s%s", count == 0 ? "" : ", ", name);
  }
  const char *near = cli_nearest(value, names, count);
  if (near != NULL)
    return cli_misuse(job, "--%s: there is no %s \"%s\"; did you mean \"%s\"?", option->name, option->value,
                      value, near);
  return cli_misuse(job, "--%s: there is no %s \"%s\"; there are %s", option->name, option->value, value,
                    all);
}

/* The index of a value among the names; false: not found. */
static bool find_name(const cli_option *option, const char *value, unsigned *at) {
  const char *name;
  for (*at = 0; (name = option->names(*at)) != NULL; ++*at)
    if (strcmp(name, value) == 0) return true;
  return false;
}

static int store_name(cli_job *job, const cli_option *option, const char *value, void *at) {
  unsigned place;
  if (!find_name(option, value, &place)) return misuse_name(job, option, value);
  if (option->kind == CLI_NAME)
    *(const char **)at = value;
  else
    *(cli_choice *)at = (cli_choice){true, place};
  return CLI_OK;
}

static int store_number(cli_job *job, const cli_option *option, const char *value, void *at) {
  char *end;
  double number = strtod(value, &end);
  bool positive = option->kind == CLI_POSITIVE, any = option->kind == CLI_NUMBER;
  bool fits = any ? !isnan(number) : number < INFINITY && (positive ? number > 0 : number >= 0);
  if (end == value || *end != 0 || !fits)
    return cli_misuse(job, "--%s must be a number%s, got \"%s\"", option->name,
                      any        ? ""
                      : positive ? " > 0"
                                 : " >= 0",
                      value);
  if (positive)
    *(double *)at = number;
  else
    *(cli_number *)at = (cli_number){true, number};
  return CLI_OK;
}

static int store_count(cli_job *job, const cli_option *option, const char *value, void *at) {
  char *end;
  errno = 0;
  unsigned long long number = strtoull(value, &end, 10), least = option->kind == CLI_POSITIVE_COUNT;
  if (*value < '0' || *value > '9' || *end != 0 || errno != 0 || number < least)
    return cli_misuse(job, "--%s must be a whole number >= %llu, got \"%s\"", option->name, least, value);
  *(uint64_t *)at = number;
  return CLI_OK;
}

static int store(cli_job *job, const cli_option *option, const char *value) {
  void *at = (char *)&job->options + option->offset;
  switch (option->kind) {
  case CLI_FLAG: *(bool *)at = true; return CLI_OK;
  case CLI_NAME:
  case CLI_CHOICE: return store_name(job, option, value, at);
  case CLI_TEXT:
  case CLI_PATH:
  case CLI_WRITTEN:
    if (*value == 0) return cli_misuse(job, "--%s needs a value: %s", option->name, option->value);
    *(const char **)at = value;
    return CLI_OK;
  case CLI_POSITIVE:
  case CLI_AT_LEAST_0:
  case CLI_NUMBER: return store_number(job, option, value, at);
  case CLI_COUNT:
  case CLI_POSITIVE_COUNT: return store_count(job, option, value, at);
  }
  return CLI_OK;
}

/* ---- parsing ---- */

static int misuse_unknown(const cli_job *job, const char *word) {
  if (strncmp(word, "--", 2) != 0) return cli_misuse(job, "there is no option %s", word);
  char stem[64];
  const char *names[LONGEST];
  size_t count = 0;
  snprintf(stem, sizeof stem, "%.*s", (int)strcspn(word + 2, "="), word + 2);
  for (; job->command->options[count] != NULL; count++) names[count] = job->command->options[count]->name;
  const char *near = cli_nearest(stem, names, count);
  if (near != NULL) return cli_misuse(job, "there is no option --%s; did you mean --%s?", stem, near);
  return cli_misuse(job, "there is no option --%s", stem);
}

/* The list in getopt's two forms. val is the index + 256, to avoid all letters. */
static void getopt_tables(const cli_option *const *list, struct option *longs, char *letters) {
  *letters++ = ':';
  for (size_t i = 0; list[i] != NULL; i++) {
    int wants = list[i]->kind == CLI_FLAG ? no_argument : required_argument;
    *longs++ = (struct option){list[i]->name, wants, NULL, (int)i + 256};
    if (list[i]->letter == 0) continue;
    *letters++ = list[i]->letter;
    if (wants == required_argument) *letters++ = ':';
  }
  *longs = (struct option){NULL, 0, NULL, 0};
  *letters = 0;
}

static size_t place_of(const cli_option *const *list, int code) {
  if (code >= 256) return (size_t)code - 256;
  size_t i = 0;
  while (list[i]->letter != code) i++;
  return i;
}

static int check_operands(cli_job *job, const bool *given) {
  const cli_command *command = job->command;
  for (size_t i = 0; i < command->required; i++)
    if (!given[i])
      return cli_misuse(job, "--%s %s is missing", command->options[i]->name, command->options[i]->value);
  if (job->count < command->least)
    return cli_misuse(job, "%s expected, got %zu operand%s", command->operands, job->count,
                      job->count == 1 ? "" : "s");
  if (job->count > command->most)
    return cli_misuse(job, "unexpected operand \"%s\"", job->operands[command->most]);
  for (size_t i = 0; i < job->count; i++)
    if (job->operands[i][0] == 0) return cli_misuse(job, "operand %zu is empty", i + 1);
  return CLI_OK;
}

/* Reports what getopt rejects. */
static int misuse_code(const cli_job *job, int code, char **argv) {
  const cli_option *const *list = job->command->options;
  if (code == '?' && optopt < 256) {
    char letter[3] = {'-', (char)optopt, 0};
    return misuse_unknown(job, optopt != 0 ? letter : argv[optind - 1]);
  }
  const cli_option *option = list[place_of(list, optopt)];
  return code == '?' ? cli_misuse(job, "--%s takes no value", option->name)
                     : cli_misuse(job, "--%s needs a value: %s", option->name, option->value);
}

int cli_parse(cli_job *job, int argc, char **argv) {
  struct option longs[LONGEST + 1];
  char letters[2 * LONGEST + 2];
  bool given[LONGEST] = {false};
  const cli_option *const *list = job->command->options;
  if (length_of(list) > LONGEST) abort();
  getopt_tables(list, longs, letters);
  opterr = 0;
  optind = 1;
  for (int code; (code = getopt_long(argc, argv, letters, longs, NULL)) != -1;) {
    if (code == '?' || code == ':') return misuse_code(job, code, argv);
    size_t i = place_of(list, code);
    int result = store(job, list[i], optarg);
    if (result != CLI_OK) return result;
    given[i] = true;
  }
  job->operands = argv + optind;
  job->count = (size_t)(argc - optind);
  return job->options.help ? CLI_OK : check_operands(job, given);
}

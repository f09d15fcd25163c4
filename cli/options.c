#include "options.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "src/base/system_process.h"
#include "format_names.h"

/* ---- shared options ---- */

static const char *goal_name(size_t i) { return i < CPB_GOALS ? cpb_goal_name((cpb_goal)i) : NULL; }

static const char *dtype_name(size_t i) { return i <= CPB_I64 ? cpb_dtype_name((cpb_dtype)i) : NULL; }

static const char *metric_name(size_t i) { return i < CPB_METRICS ? cpb_metric_name((cpb_metric)i) : NULL; }

static const char *transform_name(size_t i) { return cpb_transform_about((cpb_transform_kind)i).name; }

CLI_OPTION(cli_opt_output, "output", 'o', CLI_WRITTEN, "FILE", output, "output file, written atomically");
CLI_OPTION(cli_opt_map, "map", 'm', CLI_PATH, "MAP.json", map, "the map written by `capball fit`");
CLI_OPTION(cli_opt_goal, "goal", 'g', CLI_CHOICE, "GOAL", goal,
           "how s is chosen: mean (default) or median of the norms about the centre, hemisphere (the largest "
           "norm: every row in y0 >= 0), spread (the largest ABID), or recall (the smallest s that preserves "
           "the fraction --target of the neighbours)",
           .names = goal_name);
CLI_OPTION(cli_opt_target, "target", 0, CLI_NUMBER, "R", target,
           "goal recall: the fraction of true neighbours to preserve", .range = "in (0,1)",
           .fallback = "0.99");
CLI_OPTION(cli_opt_goal_neighbours, "neighbours", 'k', CLI_COUNT, "K", neighbours,
           "goal recall: number of neighbours", .fallback = "10");
CLI_OPTION(cli_opt_pole, "pole", 'p', CLI_PATH, "FILE", pole,
           "a vector file with one row or one column of d+1 numbers, the pole v; it is normalised");
CLI_OPTION(cli_opt_transform, "transform", 0, CLI_CHOICE, "NAME", transform,
           "sphere (the map, about the mean at the mean norm), or another transform: none, center, normalize "
           "(centre + normalise), lift-ip or lift-cosine (exact lifts of L2), ip-cosine or ip-l2 (of inner "
           "products)",
           .names = transform_name);
CLI_OPTION(cli_opt_whiten, "whiten", 'w', CLI_FLAG, NULL, whiten,
           "whiten by the covariance of the data, about their mean");
CLI_OPTION(cli_opt_ridge, "ridge", 0, CLI_NUMBER, "R", ridge,
           "with --whiten: add to the variance of every column this share of itself, for columns that do not "
           "vary or depend on others; 1e-6 is small",
           .range = ">= 0", .fallback = "0");
CLI_OPTION(cli_opt_skip_bad, "skip-bad", 0, CLI_FLAG, NULL, skip_bad,
           "omit rows with NaN or inf, and report how many");
CLI_OPTION(cli_opt_leave_bad, "skip-bad", 0, CLI_FLAG, NULL, leave_bad,
           "omit rows with NaN or inf, and report how many");
CLI_OPTION(cli_opt_skip_queries, "skip-bad", 0, CLI_FLAG, NULL, skip_bad,
           "omit queries with NaN or inf, and report how many");
CLI_OPTION(cli_opt_dtype, "dtype", 'd', CLI_CHOICE, "TYPE", dtype, "element type of the output",
           .names = dtype_name);
CLI_OPTION(cli_opt_distances, "distances", 0, CLI_WRITTEN, "FILE", distances,
           "also write the distances, one row of them per query");
CLI_OPTION(cli_opt_distance_dtype, "dtype", 'd', CLI_CHOICE, "TYPE", dtype,
           "element type of --distances (default f32, in text f64)", .names = dtype_name);
CLI_OPTION(cli_opt_metric, "metric", 0, CLI_CHOICE, "METRIC", metric, "the metric:", .names = metric_name);
CLI_OPTION(cli_opt_neighbours, "neighbours", 'k', CLI_COUNT, "K", neighbours, "number of neighbours",
           .fallback = "10");
CLI_OPTION(cli_opt_format, "format", 'f', CLI_NAME, "FORMAT", format,
           "format of the input (default: by its extension)", .names = cli_format_name);
CLI_OPTION(cli_opt_external, "follow-external", 0, CLI_FLAG, NULL, follow_external,
           "allow an HDF5 input to refer to other files: only for trusted files");
CLI_OPTION(cli_opt_columns, "columns", 0, CLI_TEXT, "LIST", columns,
           "read these columns, in this order: names or numbers from 1, as in a,b,3-7,9-");
CLI_OPTION(cli_opt_drop, "drop", 0, CLI_TEXT, "LIST", drop, "read all columns except these");
CLI_OPTION(cli_opt_id_column, "id-column", 0, CLI_TEXT, "COLUMN", id_column,
           "csv and tsv: the column of row names (default: a first column without a name)");
CLI_OPTION(cli_opt_label_column, "label-column", 0, CLI_TEXT, "COLUMN", label_column,
           "csv and tsv: the column of outlier labels: not 0, or -1 if there are 1 and -1");
CLI_OPTION(cli_opt_header, "header", 0, CLI_CHOICE, "WHETHER", header,
           "csv and tsv: whether line 1 contains column names:", .list = CLI_NAMES("auto", "no", "yes"));
CLI_OPTION(cli_opt_decimal_comma, "decimal-comma", 0, CLI_FLAG, NULL, decimal_comma,
           "csv and tsv: 1,5 is one and a half");
CLI_OPTION(
    cli_opt_impute, "impute", 0, CLI_CHOICE, "HOW", impute,
    "replace cells without a number by the mean or the median of their column in this file (default none)",
    .list = CLI_NAMES("none", "mean", "median"));
CLI_OPTION(cli_opt_to, "to", 0, CLI_NAME, "FORMAT", to, "format of the output (default: by its extension)",
           .names = cli_format_name);
CLI_OPTION(cli_opt_bare, "bare", 0, CLI_FLAG, NULL, bare,
           "csv and tsv: write only numbers, without the names of rows and columns");
CLI_OPTION(cli_opt_seed, "seed", 0, CLI_COUNT, "N", seed, "seed of the sample", .fallback = "0",
           .range = ">= 0");
CLI_OPTION(cli_opt_sample, "sample", 0, CLI_COUNT, "N", sample, "rows of the sample", .fallback = "4096");
CLI_OPTION(cli_opt_sketch, "sketch", 'm', CLI_PATH, "FILE", sketch,
           "the sketch written by `capball sketch train`");
CLI_OPTION(cli_opt_plot, "plot", 0, CLI_WRITTEN, "FILE", plot,
           "plot with gnuplot to .svg or .png; without gnuplot as text on the terminal");
CLI_OPTION(cli_opt_json, "json", 'j', CLI_FLAG, NULL, json,
           "print one line of JSON; docs/reference/json.md lists its members");
CLI_OPTION(cli_opt_quiet, "quiet", 'q', CLI_FLAG, NULL, quiet, "no messages and no progress on stderr");
CLI_OPTION(cli_opt_threads, "threads", 't', CLI_COUNT, "N", threads,
           "threads (default: all processors); the result does not depend on it", .range = ">= 0");
CLI_OPTION(cli_opt_help, "help", 'h', CLI_FLAG, NULL, help, "explain this command");

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

const char *cli_option_name(const cli_option *option, size_t i) {
  return option->list != NULL ? option->list[i] : option->names(i);
}

/* " l2 (default), ip or cosine" */
static int list_names(const cli_option *option, const char *usual, char *text, size_t room) {
  int used = 0;
  const char *name, *next = cli_option_name(option, 0);
  for (size_t i = 0; (name = next) != NULL && (size_t)used < room; i++) {
    next = cli_option_name(option, i + 1);
    used += snprintf(text + used, room - (size_t)used, "%s %s%s",
                     i == 0         ? ""
                     : next == NULL ? " or"
                                    : ",",
                     name, strcmp(name, usual) == 0 ? " (default)" : "");
  }
  return used;
}

static int misuse_name(const cli_job *job, const cli_option *option, const char *value) {
  const char *names[32];
  size_t count = 0;
  char all[256];
  while (count < 32 && (names[count] = cli_option_name(option, count)) != NULL) count++;
  const char *near = cli_nearest(value, names, count);
  if (near != NULL)
    return cli_misuse(job, "--%s: there is no %s \"%s\"; did you mean \"%s\"?", option->name, option->value,
                      value, near);
  list_names(option, "", all, sizeof all);
  return cli_misuse(job, "--%s: there is no %s \"%s\"; there are%s", option->name, option->value, value, all);
}

/* The index of a value among the names; false: not found. */
static bool find_name(const cli_option *option, const char *value, unsigned *at) {
  const char *name;
  for (*at = 0; (name = cli_option_name(option, *at)) != NULL; ++*at)
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

/* Whether a number lies in "> 0", ">= 1" or "in (0,1]". */
static bool lies_in(const char *range, double number) {
  if (range[0] == '>') {
    bool with = range[1] == '=';
    double least = strtod(range + 1 + with, NULL);
    return number < INFINITY && (with ? number >= least : number > least);
  }
  char *at;
  double least = strtod(range + strlen("in ("), &at), most = strtod(at + 1, &at);
  return (range[3] == '[' ? number >= least : number > least) &&
         (*at == ']' ? number <= most : number < most);
}

static int misuse_number(const cli_job *job, const cli_option *option, const char *what, const char *range,
                         const char *value) {
  return cli_misuse(job, "--%s must be a %s%s%s, got \"%s\"", option->name, what, range != NULL ? " " : "",
                    range != NULL ? range : "", value);
}

static int store_number(cli_job *job, const cli_option *option, const char *value, void *at) {
  char *end;
  double number = strtod(value, &end);
  bool fits = option->range != NULL ? lies_in(option->range, number) : !isnan(number);
  if (end == value || *end != 0 || !fits) return misuse_number(job, option, "number", option->range, value);
  *(cli_number *)at = (cli_number){true, number};
  return CLI_OK;
}

bool cli_read_count(const char *text, const char **end, uint64_t *number) {
  char *after;
  errno = 0;
  *end = text;
  if (*text < '0' || *text > '9') return false;
  *number = strtoull(text, &after, 10);
  *end = after;
  return errno == 0;
}

static int store_count(cli_job *job, const cli_option *option, const char *value, void *at) {
  const char *end, *range = option->range != NULL ? option->range : ">= 1";
  uint64_t number = CLI_WORD;
  bool is_word = option->word != NULL && strcmp(value, option->word) == 0;
  if (!is_word && (!cli_read_count(value, &end, &number) || *end != 0 || !lies_in(range, (double)number)))
    return misuse_number(job, option, "whole number", range, value);
  *(cli_count *)at = (cli_count){true, number};
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
  case CLI_NUMBER: return store_number(job, option, value, at);
  case CLI_COUNT: return store_count(job, option, value, at);
  }
  return CLI_OK;
}

const char *cli_option_help(const cli_option *option, char text[CLI_HELP_ROOM]) {
  size_t used = (size_t)snprintf(text, CLI_HELP_ROOM, "%s", option->help);
  bool interval = option->range != NULL && option->range[0] == 'i'; /* ">= 0" is what a reader expects */
  if (used < CLI_HELP_ROOM && option->help[used - 1] == ':')
    used += (size_t)list_names(option, cli_option_name(option, 0), text + used, CLI_HELP_ROOM - used);
  if (used < CLI_HELP_ROOM && interval)
    used += (size_t)snprintf(text + used, CLI_HELP_ROOM - used, ", %s", option->range);
  if (used < CLI_HELP_ROOM && option->fallback != NULL && !cli_option_has_names(option))
    used += (size_t)snprintf(text + used, CLI_HELP_ROOM - used, " (default %s)", option->fallback);
  if (used >= CLI_HELP_ROOM) abort();
  return text;
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

/* Defaults are read like values, and count as not given. */
static void store_defaults(cli_job *job) {
  for (const cli_option *const *list = job->command->options; *list != NULL; list++) {
    if ((*list)->fallback == NULL) continue;
    if (store(job, *list, (*list)->fallback) != CLI_OK) abort();
    *(bool *)((char *)&job->options + (*list)->offset) = false; /* `given`, the first member of all three */
  }
}

int cli_parse(cli_job *job, int argc, char **argv) {
  struct option longs[LONGEST + 1];
  char letters[2 * LONGEST + 2];
  bool given[LONGEST] = {false};
  const cli_option *const *list = job->command->options;
  if (length_of(list) > LONGEST) abort();
  store_defaults(job);
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

#define _POSIX_C_SOURCE 200809L
#include "recommend_commands.h"
#include "show/growing_text.h"

#include <stdlib.h>
#include <string.h>

typedef struct naming {
  FILE *to;
  const cli_job *job;
  const cli_recommended *of;
  const char *base, *queries; /* as the commands name them */
} naming;

/* Quotes a word for the shell. */
static void put_word(FILE *to, const char *word) {
  const char *harmless = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./,+=@%:-";
  bool plain = *word != 0 && word[strspn(word, harmless)] == 0;
  if (plain) {
    fputs(word, to);
    return;
  }
  fputc('\'', to);
  for (; *word != 0; word++) *word == '\'' ? fputs("'\\''", to) : fputc(*word, to);
  fputc('\'', to);
}

static void put_path(FILE *to, const char *path) {
  fputc(' ', to);
  put_word(to, path);
}

static void put_number(FILE *to, const char *option, double value) {
  char digits[CPB_JSON_NUMBER_ROOM];
  fprintf(to, " --%s %s", option, cli_digits(value, digits));
}

/* ---- the options of tables ---- */

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
    put_path(to, option->names(((const cli_choice *)at)->at));
  else if (option->kind != CLI_FLAG)
    put_path(to, *(const char *const *)at);
}

static const cli_option *const table[] = {CLI_OPT_TABLE, &cli_opt_skip_bad};
enum { TABLE = sizeof table / sizeof *table };

static bool needs_options(const cli_job *job) {
  for (size_t i = 0; i < TABLE; i++)
    if (is_given(job, table[i])) return true;
  return false;
}

/* Rows that are read with options are converted once, so that the other commands need none. */
static const char *put_convert(const naming *n, const char *path, const char *converted) {
  if (!needs_options(n->job)) return path;
  fputs("capball convert", n->to);
  put_path(n->to, path);
  for (size_t i = 0; i < TABLE; i++)
    if (is_given(n->job, table[i])) put_option(n->to, n->job, table[i]);
  fprintf(n->to, " -o %s\n", converted);
  return converted;
}

/* ---- the commands ---- */

static bool is_sphere(const naming *n) { return n->of->kind == CPB_TRANSFORM_SPHERE; }

/* Whether distances can be computed from the transformed rows alone, after one query. */
static bool goes_by_steps(const cli_recommended *of) {
  return of->kind != CPB_TRANSFORM_NONE && of->kind != CPB_TRANSFORM_NORMALIZE && !of->twice;
}

static void put_fit(const naming *n) {
  fputs("capball fit", n->to);
  if (is_sphere(n))
    put_number(n->to, "scale", n->of->scale);
  else
    fprintf(n->to, " --transform %s", cpb_transform_about(n->of->kind).name);
  put_path(n->to, n->base);
  fputs(" -o map.json\n", n->to);
}

static const char *engine_of(const naming *n) {
  const char *command = n->job->options.engine_command;
  return command != NULL ? command : "capball knn {base} {queries} --metric {metric} -k {k} -o {ids} -q";
}

/* The engine's command with the names of the files in it. */
static void put_engine(const naming *n) {
  char count[32];
  snprintf(count, sizeof count, "%zu", n->of->candidates);
  const char *words[][2] = {{"{base}", "rows.npy"},
                            {"{queries}", "asked.npy"},
                            {"{ids}", "ids.npy"},
                            {"{k}", count},
                            {"{metric}", cpb_metric_name(n->of->metric)},
                            {"{seed}", "0"},
                            {"{times}", "times.txt"}};
  for (const char *at = engine_of(n); *at != 0;) {
    size_t i = 0;
    while (i < sizeof words / sizeof *words && strncmp(at, words[i][0], strlen(words[i][0])) != 0) i++;
    if (i == sizeof words / sizeof *words)
      fputc(*at++, n->to);
    else {
      fputs(words[i][1], n->to);
      at += strlen(words[i][0]);
    }
  }
  fputc('\n', n->to);
}

static void put_steps(const naming *n) {
  fputs("capball embed -m map.json", n->to);
  put_path(n->to, n->base);
  fputs(" -o rows.npy\ncapball query -m map.json", n->to);
  put_path(n->to, n->queries);
  if (n->of->radius > 0)
    put_number(n->to, "radius", n->of->radius);
  else
    fputs(" --point", n->to);
  fputs(" -o asked.npy\n", n->to);
  put_engine(n);
  fputs("capball rescore -m map.json", n->to);
  put_path(n->to, n->queries);
  fprintf(n->to, " ids.npy --embedded rows.npy --asked asked.npy --approximate -k %zu -o nearest.npy\n",
          n->of->k);
}

/* Each of two queries requests half of the candidates. */
static void put_wrap(const naming *n) {
  size_t half = n->of->candidates / 2 > n->of->k ? n->of->candidates / 2 : n->of->k;
  fputs("capball wrap", n->to);
  put_path(n->to, n->base);
  put_path(n->to, n->queries);
  fprintf(n->to, " -m map.json --metric %s --candidates %zu -k %zu", cpb_metric_name(n->of->metric),
          n->of->twice ? half : n->of->candidates, n->of->k);
  if (n->of->radius > 0)
    put_number(n->to, "radius", n->of->radius);
  else if (is_sphere(n))
    fputs(" --point", n->to);
  if (n->of->twice) fputs(" --twice", n->to);
  fputs(" -o nearest.npy --engine-command", n->to);
  put_path(n->to, engine_of(n));
  fputc('\n', n->to);
}

char *cli_recommend_commands(const cli_job *job, const cli_recommended *of) {
  const char *base = job->operands[0], *queries = job->options.queries;
  show_text text;
  naming n = {.to = show_text_open(&text), .job = job, .of = of};
  if (n.to == NULL) return NULL;
  n.base = put_convert(&n, strcmp(base, "-") == 0 ? "BASE" : base, "base_rows.npy");
  n.queries = queries == NULL             ? n.base
              : strcmp(queries, "-") == 0 ? "QUERIES"
                                          : put_convert(&n, queries, "query_rows.npy");
  put_fit(&n);
  if (goes_by_steps(of))
    put_steps(&n);
  else
    put_wrap(&n);
  show_text_close(&text, n.to);
  return text.bytes;
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
    cli_print_plain(stdout, copy);
    putchar('\n');
    free(copy);
  }
  cli_print_wrapped(stdout, cli_commands_note(job), 0, 0);
}

cpb_text *cli_json_commands(const char *commands) {
  cpb_text *lines = cli_json("[]");
  for (const char *line = commands; *line != 0; line += strcspn(line, "\n") + 1) {
    char *copy = strndup(line, strcspn(line, "\n"));
    bool whole = copy != NULL && cpb_is_utf8(copy);
    lines = cpb_json_append(lines, whole ? cli_json("s", copy) : cli_json("null"));
    free(copy);
  }
  return lines;
}

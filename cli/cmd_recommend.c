/* What to do to rows before they go into an index. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "doubles.h"
#include "gather.h"
#include "json_print.h"
#include "progress.h"
#include "recommend_commands.h"
#include "recommend_page.h"
#include "recommend_text.h"

enum { SAMPLE = 100000, QUERIES = 1000 };

/* A hash sample of a file, in constant memory. */
typedef struct sampled {
  cpb_statistics *statistics;
  cpb_statistics_result facts;
} sampled;

static int read_sample(const cli_job *job, const char *path, size_t rows, sampled *s) {
  cli_job reading = *job;
  cpb_reader *reader;
  cpb_error error;
  reading.options.sample = rows;
  int result = cli_open_reader(job, path, job->options.format, &reader);
  if (result != CLI_OK) return result;
  result = cli_gather(&reading, reader, &s->statistics);
  cpb_reader_free(reader);
  s->facts.size = sizeof s->facts;
  if (result == CLI_OK && cpb_statistics_finish(s->statistics, &s->facts, &error) != CPB_OK)
    result = cli_fail(job, "%s", error.text);
  if (result == CLI_OK && s->facts.rows == 0) result = cli_fail(job, "%s has no rows", cli_name(path));
  return result;
}

static int read_queries(const cli_job *job, const sampled *base, sampled *queries) {
  const char *path = job->options.queries;
  if (path == NULL) return CLI_OK;
  int result = read_sample(job, path, QUERIES, queries);
  size_t wanted = base->facts.sample.cols, cols = queries->facts.sample.cols;
  if (result != CLI_OK || cols == wanted) return result;
  return cli_fail(job, "%s has %zu column%s, but %s has %zu", cli_name(path), cols, cli_s(cols),
                  cli_name(job->operands[0]), wanted);
}

/* ---- progress ---- */

typedef struct watching {
  cli_progress progress;
  double total;
  uint64_t told;
} watching;

static int watch(void *context, double share) {
  watching *w = context;
  uint64_t now = (uint64_t)(share * w->total);
  cli_progress_add(&w->progress, now - w->told);
  w->told = now;
  return cli_interrupted();
}

/* ---- showing ---- */

static void print_commands(char *commands) {
  if (*commands == 0) {
    puts("\nThe rows go into the index as they are, by cosine.");
    return;
  }
  printf("\nTo carry it out (rows.npy go into the index, asked.npy are its queries, ids.npy its answers):\n");
  for (char *line = strtok(commands, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    fputs("  ", stdout);
    cli_print_plain(stdout, line);
    putchar('\n');
  }
}

static void print_table(const cpb_recommendation_facts *r, const char *text, char *commands) {
  char recall[32];
  snprintf(recall, sizeof recall, "recall@%zu", r->k);
  printf("  %-12s %12s  %-6s %-6s %10s %14s %8s\n", "transform", "s", "index", "query", recall, "for 99 %",
         "bytes");
  for (size_t i = 0; i < r->count; i++) {
    const cpb_recommend_row *row = r->rows[i];
    char s[32] = "";
    if (!isnan(row->scale)) snprintf(s, sizeof s, "%.6g", row->scale);
    printf("%c %-12s %12s  %-6s %-6s %9.1f%% %14llu %8zu\n", i == r->pick ? '>' : ' ', row->name, s,
           cpb_engine_name(row->index), row->ball ? "ball" : "point", 100 * row->recall,
           (unsigned long long)row->candidates_for_99, row->bytes);
  }
  printf("\n%zu rows, %zu queries, mean norm about the mean %.6g, ball queries of radius %.6g.\n",
         r->base_rows, r->queries, r->norm_mean, r->radius);
  cli_print_wrapped(stdout, text, 0, 0);
  print_commands(commands);
}

static json_t *row_json(const cpb_recommend_row *row) {
  return json_pack("{s:s, s:o, s:s, s:s, s:f, s:I, s:I}", "transform", row->name, "scale",
                   isnan(row->scale) ? json_null() : json_real(row->scale), "index",
                   cpb_engine_name(row->index), "query", row->ball ? "ball" : "point", "recall", row->recall,
                   "candidates_for_99", (json_int_t)row->candidates_for_99, "bytes", (json_int_t)row->bytes);
}

static int print_json(const cli_job *job, const cpb_recommendation_facts *r, const char *text,
                      char *commands) {
  json_t *rows = json_array(), *lines = json_array();
  for (char *line = strtok(commands, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    lines = cli_json_append(lines, cli_is_utf8(line) ? json_string(line) : json_null());
  }
  for (size_t i = 0; i < r->count; i++) rows = cli_json_append(rows, row_json(r->rows[i]));
  return cli_print_json(job, json_pack("{s:o, s:s, s:I, s:I, s:I, s:f, s:f, s:o, s:o}", "pick",
                                       row_json(r->rows[r->pick]), "text", text, "k", (json_int_t)r->k,
                                       "base_rows", (json_int_t)r->base_rows, "queries",
                                       (json_int_t)r->queries, "mean_norm", r->norm_mean, "radius", r->radius,
                                       "rows", rows, "commands", lines));
}

static int write_page(const cli_job *job, const cpb_recommendation_facts *r, const char *text) {
  size_t length;
  cpb_error error;
  char *page = cli_recommend_page(r, text, cli_name(job->operands[0]), &length);
  if (page == NULL) return cli_fail(job, "no memory for the page");
  cpb_status status = cpb_write_whole(job->options.html, page, length, &error);
  free(page);
  return status == CPB_OK ? CLI_OK : cli_fail(job, "%s", error.text);
}

static int tell(const cli_job *job, const cpb_recommendation *recommendation) {
  cpb_recommendation_facts r = {.size = sizeof r};
  cpb_recommendation_describe(recommendation, &r);
  char *commands = cli_recommend_commands(job, &r), *text = cli_recommend_text(&r);
  int result =
      commands == NULL || text == NULL ? cli_fail(job, "no memory for the recommendation in words") : CLI_OK;
  if (result == CLI_OK && job->options.html != NULL) result = write_page(job, &r, text);
  if (result == CLI_OK && job->options.json)
    result = print_json(job, &r, text, commands);
  else if (result == CLI_OK)
    print_table(&r, text, commands);
  free(commands);
  free(text);
  return result;
}

/* ---- the command ---- */

static cpb_engine engine_of(const char *name) {
  size_t engine = 0;
  while (name != NULL && engine + 1 < CPB_ENGINES && strcmp(cpb_engine_name((cpb_engine)engine), name) != 0)
    engine++;
  return (cpb_engine)engine;
}

static int measure(const cli_job *job, const sampled *base, const sampled *queries, cpb_recommendation **r) {
  const cli_options *o = &job->options;
  cpb_view rows = base->facts.sample;
  cpb_recommend_options options;
  cpb_recommend_options_init(&options, sizeof options);
  watching w = {.total = (double)rows.rows};
  if (o->neighbours != 0) options.k = (size_t)o->neighbours;
  options.engine = engine_of(o->engine);
  options.sample = rows.rows;
  options.queries = QUERIES;
  options.seed = o->seed;
  cpb_error error = {.row = -1};
  cli_progress_start(&w.progress, job, rows.rows, 0);
  cpb_exec exec = *cpb_pool_exec(job->pool);
  exec.progress = watch;
  exec.context = &w;
  cpb_status status = cpb_recommend(rows, queries->facts.sample, &options, r, &exec, &error);
  cli_progress_end(&w.progress);
  return status == CPB_OK ? CLI_OK : cli_fail(job, "%s: %s", cli_name(job->operands[0]), error.text);
}

static int run(cli_job *job) {
  const cli_options *o = &job->options;
  sampled base = {0}, queries = {0};
  if (o->html != NULL && strcmp(o->html, "-") == 0)
    return cli_misuse(job, "the table goes to standard output: give --html a name");
  cpb_recommendation *r = NULL;
  int result = read_sample(job, job->operands[0], o->sample != 0 ? (size_t)o->sample : SAMPLE, &base);
  if (result == CLI_OK) result = read_queries(job, &base, &queries);
  if (result == CLI_OK) result = measure(job, &base, &queries, &r);
  if (result == CLI_OK) result = tell(job, r);
  cpb_statistics_free(base.statistics);
  cpb_statistics_free(queries.statistics);
  cpb_recommendation_free(r);
  return result;
}

const cli_command cli_verb_recommend = {
    .verb = "recommend",
    .operands = "BASE",
    .summary = "measure what to do to rows before an index, and say which is best",
    .formula =
        "recall@k    share of the true k nearest (by |x-q|) among the first k of the index          T13\n"
        "for 99 %    the smallest C whose first C candidates hold 99 % of them",
    .text =
        "On a sample chosen by hash (at most --sample rows, so that smaller sets are used whole, and 1000 "
        "queries) every transform meets every kind of index: none (raw rows by cosine), normalize (centre + "
        "normalise), sphere (S about the mean, at the scale of the largest spread and at 1, 2, 4, 8 times "
        "the mean norm), the exact lifts lift-ip and lift-cosine; float, int8 (one factor for all "
        "coordinates), and sign bits by Hamming distance. On the sphere queries are points S(q) or centres "
        "of the caps of balls whose radius is the median distance of the k-th neighbour.\n"
        "The pick is the best for --engine: fewest candidates for 99 %, then recall, then bytes, then the "
        "simpler: none, normalize, lift-ip, lift-cosine, sphere with point queries, with ball queries. "
        "Without "
        "--queries rows of the base ask, and do not find themselves. The commands that carry the pick out "
        "are "
        "printed after it.\n"
        "The same data and seed give the same answer whatever --threads.",
    .example =
        "seq 1 400 | awk '{ print $1 % 7 + $1 % 3 / 9, $1 % 11 + $1 % 4 / 7, $1 % 5 }' OFS=, > rows.csv\n"
        "capball recommend rows.csv -k 5 --engine int8 --html report.html",
    .least = 1,
    .most = 1,
    .accepts = CLI_BIT(CLI_QUERIES) | CLI_BIT(CLI_NEIGHBOURS) | CLI_BIT(CLI_ENGINE) | CLI_BIT(CLI_HTML) |
               CLI_BIT(CLI_SAMPLE) | CLI_BIT(CLI_SEED) | CLI_BIT(CLI_SKIP_BAD) | CLI_BIT(CLI_FORMAT) |
               CLI_BIT(CLI_JSON) | CLI_BIT(CLI_QUIET) | CLI_BIT(CLI_THREADS) | CLI_BIT(CLI_HELP),
    .run = run};

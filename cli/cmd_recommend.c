/* How rows are best prepared for an index. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "capball/advanced/flow.h"
#include "data_file.h"
#include "json_print.h"
#include "engine_job.h"
#include "recommend_commands.h"
#include "show/recommend_page.h"
#include "show/recommend_text.h"

enum { SAMPLE = 100000, QUERIES = 1000 };

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

static cpb_text *row_json(const cpb_recommend_row *row) {
  return cli_json("{s:s, s:o, s:s, s:s, s:f, s:I, s:I}", "transform", row->name, "scale",
                  isnan(row->scale) ? cli_json("null") : cli_json("f", row->scale), "index",
                  cpb_engine_name(row->index), "query", row->ball ? "ball" : "point", "recall", row->recall,
                  "candidates_for_99", (uint64_t)row->candidates_for_99, "bytes", (uint64_t)row->bytes);
}

static int print_json(const cli_job *job, const cpb_recommendation_facts *r, const char *text,
                      char *commands) {
  cpb_text *rows = cli_json("[]"), *lines = cli_json("[]");
  for (char *line = strtok(commands, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    lines = cpb_json_append(lines, cpb_is_utf8(line) ? cli_json("s", line) : cli_json("null"));
  }
  for (size_t i = 0; i < r->count; i++) rows = cpb_json_append(rows, row_json(r->rows[i]));
  return cli_print_json(job,
                        cli_json("{s:o, s:s, s:I, s:I, s:I, s:f, s:f, s:o, s:o}", "pick",
                                 row_json(r->rows[r->pick]), "text", text, "k", (uint64_t)r->k, "base_rows",
                                 (uint64_t)r->base_rows, "queries", (uint64_t)r->queries, "mean_norm",
                                 r->norm_mean, "radius", r->radius, "rows", rows, "commands", lines));
}

static int write_page(const cli_job *job, const cpb_recommendation_facts *r, const char *text,
                      const char *commands) {
  size_t length;
  cpb_error error;
  char *page = show_recommend_page(r, text, commands, cli_name(job->operands[0]), &length);
  if (page == NULL) return cli_fail(job, "no memory for the page");
  cpb_status status = cpb_write_whole(job->options.html, page, length, &error);
  free(page);
  return status == CPB_OK ? CLI_OK : cli_fail(job, "%s", error.text);
}

/* BASE and QUERIES stand for what came by a pipe or was not given. */
static cli_names names_of(const cli_job *job) {
  const char *base = job->operands[0], *queries = job->options.queries;
  return (cli_names){.base = strcmp(base, "-") == 0 ? "BASE" : base,
                     .queries = queries == NULL || strcmp(queries, "-") == 0 ? "QUERIES" : queries,
                     .format = job->options.format};
}

static int tell(const cli_job *job, const cpb_recommendation *recommendation) {
  cpb_recommendation_facts r = {.size = sizeof r};
  cpb_recommendation_describe(recommendation, &r);
  cli_names names = names_of(job);
  char *commands = cli_recommend_commands(&names, &r), *text = show_recommend_text(&r);
  int result =
      commands == NULL || text == NULL ? cli_fail(job, "no memory for the recommendation in words") : CLI_OK;
  if (result == CLI_OK && job->options.html != NULL) result = write_page(job, &r, text, commands);
  if (result == CLI_OK && job->options.json)
    result = print_json(job, &r, text, commands);
  else if (result == CLI_OK)
    print_table(&r, text, commands);
  free(commands);
  free(text);
  return result;
}

/* ---- the command ---- */

/* Which of the two files a failure is about. */
static int fail(cli_input *base, cli_input *queries, cpb_status status, const cpb_error *error) {
  return cli_fail_input(cli_is_about(error, "queries") ? queries : base, status, error);
}

static int measure(cli_input *base, cli_input *queries, cpb_recommendation **r) {
  const cli_job *job = base->job;
  const cli_options *o = &job->options;
  cpb_recommend_options options;
  cpb_error error;
  cpb_recommend_options_init(&options, sizeof options);
  if (o->neighbours != 0) options.k = (size_t)o->neighbours;
  options.engine = (cpb_engine)o->engine.at;
  options.sample = o->sample != 0 ? (size_t)o->sample : SAMPLE;
  options.queries = QUERIES;
  options.seed = o->seed;
  cpb_status status = cpb_recommend_fit(&base->source, queries->reader != NULL ? &queries->source : NULL,
                                        o->skip_bad, &options, r, cli_exec(job), &error);
  return status == CPB_OK ? CLI_OK : fail(base, queries, status, &error);
}

/* An engine that is asked, not one that is imagined. */
static bool is_real(const cli_job *job) {
  return job->options.engine_command != NULL || cli_is_built_in(job);
}

static int check(const cli_job *job) {
  const cli_options *o = &job->options;
  bool of_real = o->candidates != 0 || o->metric.given || o->timeout.given || o->transform.given ||
                 o->first != 0 || o->seeds != 0;
  if (!is_real(job) && of_real)
    return cli_misuse(job, "--candidates, --metric, --timeout, --transform, --first and --seeds are for real "
                           "engines: --engine-command or --engine hnsw");
  if (is_real(job) && o->html != NULL)
    return cli_misuse(job, "--html shows float, int8 and bits: leave it out for a real engine");
  if (o->engine_command != NULL && o->engine.given)
    return cli_misuse(job, "--engine and --engine-command exclude each other");
  return cli_check_engine(job);
}

static int run(cli_job *job) {
  const cli_options *o = &job->options;
  cli_input base, queries = {.job = job};
  if (o->html != NULL && strcmp(o->html, "-") == 0)
    return cli_misuse(job, "the table goes to standard output: give --html a name");
  cpb_recommendation *r = NULL;
  int wrong = check(job);
  if (wrong != CLI_OK) return wrong;
  int result = cli_input_open(&base, job, job->operands[0], o->format);
  if (result == CLI_OK && o->queries != NULL) result = cli_input_open(&queries, job, o->queries, o->format);
  if (result == CLI_OK && o->queries != NULL)
    result = cli_input_check_cols(&queries, base.info.cols, "", cli_name(base.info.path), "has");
  if (result == CLI_OK && is_real(job))
    result = cli_recommend_engine(&base, &queries);
  else if (result == CLI_OK) {
    result = measure(&base, &queries, &r);
    if (result == CLI_OK) result = tell(job, r);
  }
  cli_input_close(&base);
  cli_input_close(&queries);
  cpb_recommendation_free(r);
  return result;
}

static const char *engine_name(size_t i) {
  return i < CPB_ENGINES ? cpb_engine_name((cpb_engine)i) : cli_built_in(i);
}

static const char *transform_name(size_t i) { return cpb_transform_about((cpb_transform_kind)i).name; }

static CLI_OPTION(queries_option, "queries", 0, CLI_PATH, "FILE", queries, NULL,
                  "rows that will be asked for (default: rows of BASE that do not find themselves)");
static CLI_OPTION(
    engine, "engine", 'e', CLI_CHOICE, "ENGINE", engine, engine_name,
    "what a flat index stores: float (default, the ceiling of any index of floats), int8 or bits; or hnsw, "
    "a graph by hnswlib, where it was there when this was built");
static CLI_OPTION(html, "html", 0, CLI_WRITTEN, "PAGE.html", html, NULL,
                  "write a page with the table and the curves");
static CLI_OPTION(sample, "sample", 0, CLI_POSITIVE_COUNT, "N", sample, NULL,
                  "rows of the base that are looked at (default 100000)");
static CLI_OPTION(only, "transform", 0, CLI_CHOICE, "NAME", transform, transform_name,
                  "measure only this one, beside the rows as they are (default: all that suit the engine)");
static CLI_OPTION(first, "first", 0, CLI_POSITIVE_COUNT, "N", first, NULL,
                  "rows of the first round, where the sample has more than twice as many (default 10000)");
static CLI_OPTION(seeds, "seeds", 0, CLI_POSITIVE_COUNT, "N", seeds, NULL,
                  "how often the pick is asked, under other seeds of the engine (default 3)");

CLI_OPTIONS(options, &queries_option, &cli_opt_neighbours, &engine, &cli_opt_engine_command,
            &cli_opt_engine_metric, &cli_opt_candidates, &cli_opt_timeout, &only, &first, &seeds, &html,
            &sample, &cli_opt_seed, &cli_opt_skip_bad, CLI_OPT_TABLE, &cli_opt_json, &cli_opt_quiet,
            &cli_opt_threads, &cli_opt_help);

const cli_command cli_verb_recommend = {
    .verb = "recommend",
    .operands = "BASE",
    .summary = "measure how rows are best prepared for an index",
    .formula = "recall@k  share of the true k nearest among the first k of the index   T13\n"
               "for 99 %  the smallest C whose first C candidates hold 99 % of them",
    .text =
        "On a sample chosen by hash (at most --sample rows, so that smaller sets are used whole, and 1000 "
        "queries) every transform meets every kind of index: none (raw rows by cosine), normalize (centre "
        "+ normalise), sphere (S about the mean, at the scale of the largest spread and at 1, 2, 4, 8 "
        "times the mean norm), the exact lifts lift-ip and lift-cosine; float, int8 (one factor for all "
        "coordinates), and sign bits by Hamming distance. On the sphere queries are points S(q) or centres "
        "of the caps of balls whose radius is the median distance of the k-th neighbour.\n"
        "The pick is the best for --engine: fewest candidates for 99 %, then recall, then bytes, then the "
        "simpler: none, normalize, lift-ip, lift-cosine, sphere with point queries, with ball queries. "
        "Without --queries rows of the base ask, and do not find themselves. The commands that carry the "
        "pick out are printed after it.\n"
        "The same data and seed give the same answer whatever --threads.\n"
        "--engine-command asks anybody's engine instead, on every transform for what it can rank by "
        "(--metric), with "
        "--candidates (default 100) per query: {base} and {queries} become npy files, {k} the number of ids, "
        "{ids} "
        "the file they go to; {metric}, {seed} and {times} (seconds to build, to ask, bytes) where it wants "
        "them. `python -m capball.engines` speaks to Annoy, hnswlib, faiss, ScaNN, usearch and pgvector. "
        "Scales are 1/2 to 16 times the mean norm and refined around the best; balls have half, once and "
        "twice the median radius; all query forms are asked of one index. Half of the queries choose, the "
        "figures told are those of the others, so that they are not the luck of the choice. The pick is the "
        "best after exact rescoring, of those within half a point of it the best before it, of those the "
        "simplest. Where the sample has more than 20000 rows, a first round on 10000 of them (--first), with "
        "fewer candidates, comes before, and what is 20 points behind in it is not built of all rows.",
    .example =
        "seq 1 400 | awk '{ print $1 % 7 + $1 % 3 / 9, $1 % 11 + $1 % 4 / 7, $1 % 5 }' OFS=, > rows.csv\n"
        "capball recommend rows.csv -k 5 --engine int8 --html report.html",
    .least = 1,
    .most = 1,
    .options = options,
    .run = run};

/* How rows are best prepared for an index. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data_file.h"
#include "json_print.h"
#include "output.h"
#include "engine_job.h"
#include "recommend_commands.h"
#include "show/recommend_page.h"
#include "show/recommend_text.h"

enum { QUERIES = 1000 };

/* ---- showing ---- */

static const char *index_name(size_t i) { return cpb_engine_name((cpb_engine)i); }

static void print_row(const cpb_recommendation_facts *r, size_t i) {
  const cpb_recommend_row *row = r->rows[i];
  char s[32] = "", noise[32];
  if (!isnan(row->scale)) snprintf(s, sizeof s, "%.6g", row->scale);
  snprintf(noise, sizeof noise, "..%llu", (unsigned long long)row->candidates_most);
  printf("%c %-12s %12s  %-6s %-6s %9.1f%% %5.1f %9llu%-8s %6zu\n", i == r->pick ? '>' : ' ', row->name, s,
         index_name((size_t)row->index), row->ball ? "ball" : "point", 100 * row->recall,
         100 * row->recall_error, (unsigned long long)row->candidates_for_99, noise, row->bytes);
}

static void print_table(const cli_job *job, const cpb_recommendation_facts *r, const char *text,
                        const char *commands) {
  char recall[32];
  snprintf(recall, sizeof recall, "recall@%zu", r->k);
  printf("  %-12s %12s  %-6s %-6s %10s %5s %9s%-8s %6s\n", "transform", "s", "index", "query", recall, "+-",
         "for 99 %", "..noise", "bytes");
  for (size_t i = 0; i < r->count; i++) print_row(r, i);
  printf("\n%zu rows, %zu queries, mean norm about the mean %.6g, ball queries of radius %.6g.\n",
         r->base_rows, r->queries, r->norm_mean, r->radius);
  cli_print_wrapped(stdout, text, 0, 0);
  cli_print_commands(job, commands);
}

static cpb_text *row_json(const cpb_recommend_row *row) {
  return cli_json("{s:s, s:o, s:s, s:s, s:s, s:f, s:f, s:I, s:I, s:I}", "transform", row->name, "scale",
                  isnan(row->scale) ? cli_json("null") : cli_json("f", row->scale), "index",
                  cpb_engine_name(row->index), "metric", cpb_metric_name(row->metric), "query",
                  row->ball ? "ball" : "point", "recall", row->recall, "recall_error", row->recall_error,
                  "candidates_for_99", (uint64_t)row->candidates_for_99, "candidates_most",
                  (uint64_t)row->candidates_most, "bytes", (uint64_t)row->bytes);
}

static int print_json(const cli_job *job, const cpb_recommendation_facts *r, const char *text,
                      const char *commands) {
  cpb_text *rows = cli_json("[]");
  for (size_t i = 0; i < r->count; i++) rows = cpb_json_append(rows, row_json(r->rows[i]));
  return cli_print_json(
      job, cli_json("{s:o, s:s, s:s, s:I, s:I, s:I, s:f, s:f, s:o, s:o}", "pick", row_json(r->rows[r->pick]),
                    "text", text, "criterion", "candidates_for_99", "k", (uint64_t)r->k, "base_rows",
                    (uint64_t)r->base_rows, "queries", (uint64_t)r->queries, "mean_norm", r->norm_mean,
                    "radius", r->radius, "rows", rows, "commands", cli_json_commands(commands)));
}

static int write_page(const cli_job *job, const cpb_recommendation_facts *r, const char *text,
                      const char *commands) {
  size_t length = 0;
  show_advice advice = {
      .name = cli_name(job->operands[0]), .text = text, .commands = commands, .note = cli_commands_note(job)};
  char *page = show_recommend_page(r, &advice, &length);
  return cli_write_text(job, job->options.html, page, length);
}

static int tell(const cli_job *job, const cpb_recommendation *recommendation) {
  cpb_recommendation_facts r = {.size = sizeof r};
  cpb_recommendation_describe(recommendation, &r);
  char *commands = cli_recommend_commands(job, show_recommended_of(&r)), *text = show_recommend_text(&r);
  int result =
      commands == NULL || text == NULL ? cli_fail(job, "no memory for the recommendation in words") : CLI_OK;
  if (result == CLI_OK && job->options.html != NULL) result = write_page(job, &r, text, commands);
  if (result == CLI_OK && job->options.json)
    result = print_json(job, &r, text, commands);
  else if (result == CLI_OK)
    print_table(job, &r, text, commands);
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
  options.k = (size_t)o->neighbours.value;
  options.engine = (cpb_engine)o->engine.at;
  if (o->metric.given) options.metric = (int)cli_engine_metric(job);
  options.sample = (size_t)o->sample.value;
  options.queries = QUERIES;
  options.seed = o->seed.value;
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
  bool of_real =
      o->candidates.given || o->timeout.given || o->transform.given || o->first.given || o->seeds.given;
  if (!is_real(job) && of_real)
    return cli_misuse(job, "--candidates, --timeout, --transform, --first and --seeds are for real engines: "
                           "--engine-command or --engine hnsw");
  if (o->engine_command != NULL && o->engine.given)
    return cli_misuse(job, "--engine and --engine-command exclude each other");
  return CLI_OK;
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

static CLI_OPTION(metric, "metric", 0, CLI_CHOICE, "METRIC", metric,
                  "what the engine ranks by: cosine, ip or l2 (default: cosine; for float, int8 and bits "
                  "cosine or ip, whatever suits a transform)",
                  .list = CLI_ENGINE_METRICS);
static CLI_OPTION(queries_option, "queries", 0, CLI_PATH, "FILE", queries,
                  "rows that will be asked for (default: rows of BASE that do not find themselves)");
static CLI_OPTION(engine, "engine", 'e', CLI_CHOICE, "ENGINE", engine,
                  "what a flat index stores: float (default, the ceiling of any index of floats), int8 or "
                  "bits; or hnsw, a graph by hnswlib, where it was there when this was built",
                  .names = engine_name);
static CLI_OPTION(html, "html", 0, CLI_WRITTEN, "PAGE.html", html,
                  "write a page with pictures, the table and the commands");
static CLI_OPTION(sample, "sample", 0, CLI_COUNT, "N", sample, "rows of the base that are looked at",
                  .fallback = "100000");
static CLI_OPTION(only, "transform", 0, CLI_CHOICE, "NAME", transform,
                  "measure only this one, beside the rows as they are (default: all that suit the engine): "
                  "none, center, normalize, sphere, lift-ip, lift-cosine, ip-cosine or ip-l2",
                  .names = transform_name);
static CLI_OPTION(first, "first", 0, CLI_COUNT, "N", first,
                  "rows of the first round, where the sample has more than twice as many",
                  .fallback = "10000");
static CLI_OPTION(seeds, "seeds", 0, CLI_COUNT, "N", seeds,
                  "how often the pick is asked, under other seeds of the engine", .fallback = "3");

CLI_OPTIONS(options, &queries_option, &cli_opt_neighbours, &engine, &cli_opt_engine_command, &metric,
            &cli_opt_candidates, &cli_opt_timeout, &only, &first, &seeds, &html, &sample, &cli_opt_seed,
            &cli_opt_skip_bad, CLI_OPT_TABLE, &cli_opt_json, &cli_opt_quiet, &cli_opt_threads, &cli_opt_help);

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
        "The criterion is the number of candidates for 99 % with --engine. Within its noise (the number "
        "after "
        ".., one standard error over the queries) the highest recall@k wins, within the noise of that (+-) "
        "the simplest: none, normalize, lift-ip, lift-cosine, sphere with point queries, with ball queries. "
        "--metric restricts the transforms to what the index can rank by. Without --queries rows of the base "
        "are the queries, and do not find themselves. The commands that carry the pick out are printed after "
        "it and run as they are.\n"
        "The same data and seed give the same answer whatever --threads.\n"
        "--engine-command asks anybody's engine instead, on every transform for what it can rank by "
        "(--metric), with "
        "--candidates (default 100) per query: {base} and {queries} become npy files, {k} the number of ids, "
        "{ids} "
        "the file they go to; {metric}, {seed} and {times} (seconds to build, to ask, bytes) where it wants "
        "them. `python -m capball.engines` speaks to Annoy, hnswlib, faiss, ScaNN, usearch and pgvector. "
        "Scales are 1/2 to 16 times the mean norm and refined around the best; balls have half, once and "
        "twice the median radius; all query forms are asked of one index, and the best is also asked twice "
        "(`capball help wrap`), for half of the candidates each time. Half of the queries choose, the pick "
        "is "
        "confirmed with the others. The criterion is the share of the true k among the candidates, after "
        "exact rescoring (--candidates K without it); within its noise, one standard error of the "
        "difference, "
        "the highest share among the first k wins, and within the noise of that the "
        "simplest. Where the sample has more than 20000 rows, a first round on 10000 of them (--first), with "
        "fewer candidates, comes before, and what is 20 points behind in it is not built of all rows.",
    .example =
        "seq 1 400 | awk '{ print $1 % 7 + $1 % 3 / 9, $1 % 11 + $1 % 4 / 7, $1 % 5 }' OFS=, > rows.csv\n"
        "capball recommend rows.csv -k 5 --engine int8 --html report.html",
    .least = 1,
    .most = 1,
    .options = options,
    .run = run};

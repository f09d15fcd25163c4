#include "engine_job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json_print.h"
#include "output.h"
#include "recommend_commands.h"
#include "show/engine_report.h"
#ifdef CLI_HNSW
#include "contrib/engines/hnsw_engine.h"
#endif

const char *cli_built_in(size_t i) { return i == CPB_ENGINES ? "hnsw" : NULL; }

bool cli_is_built_in(const cli_job *job) {
  return job->options.engine.given && job->options.engine.at >= CPB_ENGINES;
}

cpb_metric cli_engine_metric(const cli_job *job) {
  static const cpb_metric metrics[] = {CPB_COSINE, CPB_IP, CPB_L2};
  return metrics[job->options.metric.at];
}

int cli_open_engine(const cli_job *job, cpb_engine_command *command, cpb_engine_calls *engine) {
  const cli_options *o = &job->options;
  cpb_error error;
#ifdef CLI_HNSW
  if (cli_is_built_in(job)) {
    *engine = hnsw_engine();
    return CLI_OK;
  }
#endif
  if (cli_is_built_in(job)) return cli_fail(job, "this capball was built without hnswlib (libhnswlib-dev)");
  *command = (cpb_engine_command){sizeof *command, o->engine_command, o->timeout.value};
  cpb_status status = cpb_engine_from_command(command, engine, &error);
  return status == CPB_OK ? CLI_OK : cli_misuse(job, "%s", error.text);
}

int cli_fail_engine(const cli_input *base, const cli_input *queries, cpb_status status,
                    const cpb_error *error) {
  bool of_engine =
      cli_is_about(error, "ids") || cli_is_about(error, "command") || cli_is_about(error, "timeout");
  if (cli_is_about(error, "twice")) return cli_misuse(base->job, "--twice: %s", error->text);
  if (cli_is_about(error, "kinds")) return cli_misuse(base->job, "--transform: %s", error->text);
  if (of_engine) return cli_fail(base->job, "%s", error->text);
  bool of_queries = cli_is_about(error, "queries") && queries->info.path != NULL;
  return cli_fail_input(of_queries ? queries : base, status, error);
}

/* ---- recommend ---- */

static const char *cost_text(double value, char text[32]) {
  if (!(value > 0)) return "-";
  snprintf(text, 32, "%.3g", value);
  return text;
}

static char mark_of(const cpb_engine_facts *f, size_t i) {
  return i == f->pick ? '>' : f->trials[i].close ? '~' : ' ';
}

static void print_trial(const cpb_engine_facts *f, size_t i) {
  const cpb_engine_trial *t = &f->trials[i];
  char s[32] = "", r[48] = "point", build[32], ask[32], size[32];
  if (!isnan(t->scale)) snprintf(s, sizeof s, "%.6g", t->scale);
  if (t->radius > 0) snprintf(r, sizeof r, "ball %.4g", t->radius);
  printf("%c %-12s %12s  %-14s %-6s%8.1f%% %8.1f%% %5.1f %8s %8s %8s %8zu\n", mark_of(f, i), t->name, s, r,
         t->twice ? "twice" : "", 100 * t->choosing_recall, 100 * t->choosing_rescored,
         100 * t->choosing_error, cost_text(t->cost.build, build),
         cost_text(1000 * t->cost.query / (double)f->queries, ask), cost_text(t->cost.bytes / 1e6, size),
         t->rows);
}

static void print_trials(const cpb_engine_facts *f) {
  char recall[32], rescored[32];
  snprintf(recall, sizeof recall, "%zu@%zu", f->k, f->k);
  snprintf(rescored, sizeof rescored, "%zu@%zu", f->k, f->candidates);
  printf("  %-12s %12s  %-14s %-6s%9s %9s %5s %8s %8s %8s %8s\n", "transform", "s", "query", "", recall,
         rescored, "+-", "build s", "ask ms", "MB", "rows");
  for (size_t i = 0; i < f->count; i++) print_trial(f, i);
  puts("> the pick; ~ within the noise of the best");
}

/* What is shown in words. */
typedef struct words {
  char *text, *method, *commands;
} words;

static bool put_in_words(const cli_job *job, const cpb_engine_facts *f, words *w) {
  const cpb_engine_trial *pick = &f->trials[f->pick];
  show_recommended of = {.kind = pick->kind,
                         .scale = pick->scale,
                         .radius = pick->radius,
                         .twice = pick->twice,
                         .metric = cli_engine_metric(job),
                         .k = f->k,
                         .candidates = f->candidates};
  *w = (words){show_engine_text(f), show_engine_method(f, of.metric), cli_recommend_commands(job, of)};
  return w->text != NULL && w->method != NULL && w->commands != NULL;
}

static cpb_text *cost_json(double value) { return value > 0 ? cli_json("f", value) : cli_json("null"); }

static cpb_text *trial_json(const cpb_engine_trial *t) {
  cpb_text *trial =
      cli_json("{s:s, s:o, s:f, s:b, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:b, s:I}", "transform", t->name,
               "scale", isnan(t->scale) ? cli_json("null") : cli_json("f", t->scale), "radius", t->radius,
               "twice", t->twice, "recall", t->recall, "rescored", t->rescored, "error", t->error, "seconds",
               isnan(t->cost.seconds) ? 0 : t->cost.seconds, "choosing_recall", t->choosing_recall,
               "choosing_rescored", t->choosing_rescored, "choosing_error", t->choosing_error, "close",
               t->close, "index_rows", (uint64_t)t->rows);
  trial = cpb_json_set(trial, "build_seconds", cost_json(t->cost.build));
  trial = cpb_json_set(trial, "ask_seconds", cost_json(t->cost.query));
  return cpb_json_set(trial, "index_bytes", cost_json(t->cost.bytes));
}

static int print_facts(const cli_job *job, const cpb_engine_facts *f, const words *w) {
  cpb_text *rows = cli_json("[]");
  for (size_t i = 0; i < f->count; i++) rows = cpb_json_append(rows, trial_json(&f->trials[i]));
  return cli_print_json(
      job, cli_json("{s:o, s:s, s:s, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:b, s:I, s:o, s:o}", "pick",
                    trial_json(&f->trials[f->pick]), "text", w->text, "criterion", "choosing_rescored", "k",
                    (uint64_t)f->k, "candidates", (uint64_t)f->candidates, "base_rows",
                    (uint64_t)f->base_rows, "queries", (uint64_t)f->queries, "mean_norm", f->norm_mean,
                    "radius", f->radius, "low", f->low, "high", f->high, "helps", f->helps, "first_rows",
                    (uint64_t)f->first_rows, "rows", rows, "commands", cli_json_commands(w->commands)));
}

static int write_page(const cli_job *job, const cpb_engine_facts *f, const words *w) {
  size_t length = 0;
  show_advice advice = {cli_name(job->operands[0]), w->text, w->method, w->commands, cli_commands_note(job)};
  char *page = show_engine_page(f, &advice, &length);
  return cli_write_text(job, job->options.html, page, length);
}

static int print_in_words(const cli_job *job, const cpb_engine_facts *f, const words *w) {
  print_trials(f);
  putchar('\n');
  cli_print_wrapped(stdout, w->method, 0, 0);
  cli_print_wrapped(stdout, w->text, 0, 0);
  cli_print_commands(job, w->commands);
  return CLI_OK;
}

static int report_result(const cli_job *job, const cpb_engine_report *report) {
  cpb_engine_facts f = {.size = sizeof f};
  words w;
  cpb_engine_report_describe(report, &f);
  int result =
      put_in_words(job, &f, &w) ? CLI_OK : cli_fail(job, "no memory for the recommendation in words");
  if (result == CLI_OK && job->options.html != NULL) result = write_page(job, &f, &w);
  if (result == CLI_OK) result = job->options.json ? print_facts(job, &f, &w) : print_in_words(job, &f, &w);
  free(w.text);
  free(w.method);
  free(w.commands);
  return result;
}

int cli_recommend_engine(cli_input *base, cli_input *queries) {
  const cli_job *job = base->job;
  const cli_options *o = &job->options;
  cpb_engine_command command;
  cpb_engine_calls engine;
  cpb_engine_options options;
  cpb_engine_report *report = NULL;
  cpb_error error;
  cpb_engine_options_init(&options, sizeof options);
  options.k = (size_t)o->neighbours.value;
  options.candidates = o->candidates.given ? (size_t)o->candidates.value : options.k > 100 ? options.k : 100;
  options.metric = cli_engine_metric(job);
  options.sample = (size_t)o->sample.value;
  options.first = (size_t)o->first.value;
  options.seeds = (size_t)o->seeds.value;
  if (o->transform.given) options.kinds = 1u << o->transform.at;
  options.seed = o->seed.value;
  int result = cli_open_engine(job, &command, &engine);
  if (result == CLI_OK) result = cli_input_hold(base);
  if (result == CLI_OK && queries->reader != NULL) result = cli_input_hold(queries);
  if (result != CLI_OK) return result;
  cpb_status status =
      cpb_engine_measure(base->rows, queries->rows, &engine, &options, &report, cli_exec(job), &error);
  if (status != CPB_OK) return cli_fail_engine(base, queries, status, &error);
  result = report_result(job, report);
  cpb_engine_report_free(report);
  return result;
}

CLI_OPTION(cli_opt_engine_command, "engine-command", 0, CLI_TEXT, "CMD", engine_command,
           "use the engine run by this command, which contains {base}, {queries}, {k} and {ids}");
CLI_OPTION(cli_opt_engine_metric, "metric", 0, CLI_CHOICE, "METRIC", metric,
           "what the engine ranks by:", .list = CLI_ENGINE_METRICS);
CLI_OPTION(cli_opt_candidates, "candidates", 0, CLI_COUNT, "C", candidates,
           "rows requested from the engine, then sorted by exact distance (default: 100, or more for many "
           "neighbours)");
CLI_OPTION(cli_opt_timeout, "timeout", 0, CLI_NUMBER, "SECONDS", timeout,
           "stop the engine's command after this time (default: wait)", .range = "> 0");

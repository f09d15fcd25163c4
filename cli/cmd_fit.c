/* Fits a map to a file of vectors: centre, whitening, scale. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "capball/advanced/candidates.h"
#include "capball/advanced/fitting.h"
#include "capball/advanced/statistics.h"
#include "choice_json.h"
#include "data_file.h"
#include "json_print.h"

static int check_state_options(const cli_job *job) {
  const cli_options *o = &job->options;
  bool shaped =
      o->scale.given || o->goal.given || o->center != NULL || o->pole != NULL || o->whiten || o->spherical;
  if (o->output == NULL && o->state == NULL)
    return cli_misuse(job, "--output FILE is missing (or --state S.state)");
  if (o->about != NULL && (o->state == NULL || o->output != NULL))
    return cli_misuse(job, "--about goes with --state and without --output: merge the pieces to get a map");
  if (o->output == NULL && shaped)
    return cli_misuse(job, "statistics have no shape: give scale, goal, centre and pole to `capball merge`");
  if (o->state != NULL &&
      (o->spherical || o->whiten || (o->center != NULL && strcmp(o->center, "mean") != 0)))
    return cli_misuse(job, "--state is about the mean: omit --center, --whiten and --spherical");
  return CLI_OK;
}

static int check_shape(const cli_job *job) {
  const cli_options *o = &job->options;
  int result = check_state_options(job);
  if (result == CLI_OK) result = cli_check_target(job);
  if (result != CLI_OK) return result;
  if (o->scale.given && o->goal.given) return cli_misuse(job, "--scale and --goal exclude each other");
  if (o->ridge.given && !o->whiten) return cli_misuse(job, "--ridge goes with --whiten");
  bool shaped = o->scale.given || o->goal.given || o->center != NULL || o->pole != NULL || o->whiten;
  if (o->spherical && shaped)
    return cli_misuse(job, "--spherical sets scale, centre and pole itself; omit the other options");
  return CLI_OK;
}

/* ---- the options ---- */

/* The options of a fit, and the vectors of files that they refer to. */
typedef struct wish {
  cpb_map_fit_options fit;
  double *center, *pole;
} wish;

static const char *center_name(const cli_job *job) {
  return job->options.spherical ? "none" : job->options.center != NULL ? job->options.center : "mean";
}

/* The options that need no file. */
static void make_wish(const cli_job *job, wish *w) {
  const cli_options *o = &job->options;
  cli_map_wish(job, &w->fit);
  w->fit.whiten = o->whiten;
  w->fit.ridge = o->ridge.value;
  w->fit.spherical = o->spherical;
  w->fit.skip_bad = o->skip_bad;
  w->fit.seed = o->seed.value;
  w->fit.sample = (size_t)o->sample.value;
  if (strcmp(center_name(job), "mean") == 0 || o->spherical) return;
  w->fit.centring = strcmp(center_name(job), "none") == 0 ? CPB_CENTRE_NONE : CPB_CENTRE_GIVEN;
}

static int read_vectors(const cli_job *job, size_t cols, wish *w) {
  const cli_options *o = &job->options;
  int result = o->pole != NULL ? cli_read_pole(job, cols + 1, NULL, &w->pole) : CLI_OK;
  if (result == CLI_OK && w->fit.centring == CPB_CENTRE_GIVEN)
    result = cli_read_vector(job, o->center, "centre", cols, NULL, &w->center);
  w->fit.pole = w->pole;
  w->fit.center = w->center;
  return result;
}

static int check_pipe(const cli_job *job, const wish *w) {
  size_t passes = cpb_map_fit_passes(&w->fit);
  if (strcmp(job->operands[0], "-") != 0 || passes <= 1) return CLI_OK;
  return cli_misuse(job, "this fit reads the data %zu times, but a pipe can be read once: give a file%s",
                    passes, w->fit.whiten || w->fit.goal == CPB_GOAL_MEDIAN ? "" : ", or --center none");
}

/* The library's message, and the options of this command that help. */
static int fail(const cli_input *in, cpb_status status, cpb_error *error) {
  bool scale = error->reason == CPB_WHY_NO_SCALE || error->reason == CPB_WHY_RECALL_NOT_REACHED;
  if (scale)
    return cli_fail(in->job, "%s: %s; give one with --scale, or another goal", cli_name(in->info.path),
                    error->text);
  return cli_fail_input(in, status, error);
}

/* ---- the result ---- */

static int report_result(const cli_input *in, const cpb_map *map, const char *goal, uint64_t rows,
                         uint64_t bad) {
  const cli_job *job = in->job;
  cpb_map_options options = cli_map_options(map);
  char counted[32] = "";
  if (bad > 0) cli_say(job, "bad rows left out: %llu", (unsigned long long)bad);
  if (rows > 0) snprintf(counted, sizeof counted, ", %llu row%s", (unsigned long long)rows, cli_s(rows));
  cli_say(job, "d = %zu, s = %.6g (%s), centre %s%s%s", options.d, options.s, goal, center_name(job),
          options.whiten != NULL ? ", whitened" : "", counted);
  if (!job->options.json) return CLI_OK;
  return cli_print_json(job, cli_json("{s:s, s:I, s:I, s:I, s:f, s:s, s:s, s:b}", "map", job->options.output,
                                      "dim", (uint64_t)options.d, "rows", (uint64_t)rows, "skipped",
                                      (uint64_t)bad, "scale", options.s, "goal", goal, "center",
                                      center_name(job), "whiten", options.whiten != NULL));
}

static int save(const cli_input *in, const cpb_map *map, const wish *w, const cpb_map_fit_report *report) {
  const cli_job *job = in->job;
  uint64_t known = in->info.rows == CPB_ROWS_UNKNOWN ? 0 : in->info.rows;
  const char *goal = w->fit.spherical ? "spherical" : w->fit.s != 0 ? "given" : cpb_goal_name(w->fit.goal);
  char *evidence = NULL;
  cpb_error error;
  if (report->choice != NULL && cpb_choice_to_json(report->choice, &w->fit, &evidence, &error) != CPB_OK)
    return cli_fail(job, "%s", error.text);
  cpb_map_origin origin = {sizeof origin, goal, in->info.path, report->passes > 0 ? report->rows : known,
                           evidence};
  cpb_status status = cpb_map_save(map, job->options.output, &origin, &error);
  cpb_free(evidence);
  if (status != CPB_OK) return cli_fail(job, "%s", error.text);
  return report_result(in, map, goal, origin.rows, report->bad_rows);
}

/* Statistics, pass 1 and if the goal needs it pass 2; written as a state, and used for a map if one is requested. */
static cpb_status gather(cli_input *in, bool norms, cpb_statistics **statistics, cpb_error *error) {
  const cli_options *o = &in->job->options;
  cpb_statistics_fit_options options;
  cpb_statistics_fit_options_init(&options, sizeof options);
  options.seed = o->seed.value;
  options.first_id = o->first_row.value;
  options.skip_bad = o->skip_bad;
  options.sample = (size_t)o->sample.value;
  cpb_status status = cpb_statistics_fit(&in->source, &options, statistics, cli_exec(in->job), error);
  if (status != CPB_OK || !norms) return status;
  return cpb_statistics_fit_norms(*statistics, &in->source, cli_exec(in->job), error);
}

static int fit_by_state(cli_input *in, const wish *w, cpb_map **map, cpb_map_fit_report *report) {
  const cli_job *job = in->job;
  cpb_statistics *statistics = NULL;
  cpb_error error;
  bool norms = w->fit.s == 0 && w->fit.goal < CPB_GOAL_SPREAD && job->options.output != NULL;
  int result = CLI_OK;
  cpb_status status = CPB_OK;
  if (job->options.about != NULL) {
    result = cli_read_state(job, job->options.about, &statistics);
    if (result == CLI_OK) status = cpb_statistics_fit_norms(statistics, &in->source, cli_exec(job), &error);
  } else
    status = gather(in, norms, &statistics, &error);
  if (status == CPB_OK && job->options.output != NULL)
    status = cpb_map_from_statistics(statistics, &w->fit, map, report, cli_exec(job), &error);
  report->passes = 1;
  if (result == CLI_OK && status != CPB_OK) result = fail(in, status, &error);
  if (result == CLI_OK) result = cli_write_state(job, job->options.state, statistics);
  cpb_statistics_free(statistics);
  return result;
}

static int fit(cli_input *in, const wish *w) {
  cpb_map *map = NULL;
  cpb_map_fit_report report = {.size = sizeof report};
  cpb_error error;
  int result = CLI_OK;
  if (in->job->options.state != NULL)
    result = fit_by_state(in, w, &map, &report);
  else {
    cpb_status status = cpb_map_fit(&in->source, &w->fit, &map, &report, cli_exec(in->job), &error);
    if (status != CPB_OK) result = fail(in, status, &error);
  }
  if (result == CLI_OK && map != NULL) result = save(in, map, w, &report);
  cpb_choice_free(report.choice);
  cpb_map_free(map);
  return result;
}

/* ---- another transform instead of the map ---- */

static bool is_rival(const cli_job *job) {
  return job->options.transform.given && job->options.transform.at != CPB_TRANSFORM_SPHERE;
}

static cpb_status fit_rival(cli_input *in, cpb_transform **fitted, cpb_error *error) {
  const cli_options *o = &in->job->options;
  cpb_transform *close = NULL;
  cpb_status status = cpb_transform_fit(&in->source, (cpb_transform_kind)o->transform.at, o->skip_bad, &close,
                                        cli_exec(in->job), error);
  if (status == CPB_OK) status = cpb_transform_grow(close, o->headroom.value, fitted, error);
  cpb_transform_free(close);
  return status;
}

static int make_rival(cli_input *in) {
  const cli_job *job = in->job;
  cpb_transform *transform = NULL;
  cpb_error error;
  cpb_status status = fit_rival(in, &transform, &error);
  if (status != CPB_OK) return cli_fail_input(in, status, &error);
  cpb_transform_options made = cli_transform_options(transform);
  cpb_transform_facts facts = cpb_transform_about(made.kind);
  status = cpb_transform_save(transform, job->options.output, &error);
  if (status == CPB_OK && facts.bounded)
    cli_say(job, "%s, d = %zu, largest norm %.6g, for engines of %s", facts.name, made.d, made.max_norm,
            cpb_metric_name(facts.metric));
  else if (status == CPB_OK)
    cli_say(job, "%s, d = %zu, for engines of %s", facts.name, made.d, cpb_metric_name(facts.metric));
  cpb_transform_free(transform);
  if (status != CPB_OK) return cli_fail(job, "%s", error.text);
  if (!job->options.json) return CLI_OK;
  return cli_print_json(job,
                        cli_json("{s:s, s:s, s:I, s:s}", "map", job->options.output, "transform", facts.name,
                                 "dim", (uint64_t)made.d, "metric", cpb_metric_name(facts.metric)));
}

/* Rejects options that do not apply to other transforms. */
static int check_rival(const cli_job *job) {
  const cli_options *o = &job->options;
  cpb_transform_facts facts = cpb_transform_about((cpb_transform_kind)o->transform.at);
  bool shaped = o->scale.given || o->goal.given || o->center != NULL || o->pole != NULL || o->whiten ||
                o->spherical || o->state != NULL || o->about != NULL;
  if (o->output == NULL) return cli_misuse(job, "--output FILE is missing");
  if (shaped)
    return cli_misuse(job, "transform %s has no scale, pole, whitening or state: omit the options of maps",
                      facts.name);
  if (o->headroom.given && (!facts.bounded || o->transform.at == CPB_TRANSFORM_LIFT_IP))
    return cli_misuse(job, "transform %s accepts rows of any length: omit --headroom", facts.name);
  if (facts.centred && facts.bounded && strcmp(job->operands[0], "-") == 0)
    return cli_misuse(job,
                      "transform %s reads its base more than once, but a pipe can be read once: give a file",
                      facts.name);
  return CLI_OK;
}

static int check(const cli_job *job) {
  wish w = {.center = NULL};
  if (is_rival(job)) return check_rival(job);
  if (job->options.headroom.given)
    return cli_misuse(job, "--headroom goes with lift-cosine, ip-cosine and ip-l2");
  make_wish(job, &w);
  int result = check_shape(job);
  return result == CLI_OK ? check_pipe(job, &w) : result;
}

static int look(cli_input *in) {
  wish w = {.center = NULL};
  if (is_rival(in->job)) return make_rival(in);
  make_wish(in->job, &w);
  w.fit.columns = in->source.names;
  int result = read_vectors(in->job, in->info.cols, &w);
  if (result == CLI_OK) result = fit(in, &w);
  free(w.center);
  free(w.pole);
  return result;
}

static CLI_OPTION(output, "output", 'o', CLI_WRITTEN, "MAP.json", output,
                  "output file of the map, written atomically");
static CLI_OPTION(scale, "scale", 's', CLI_NUMBER, "S", scale,
                  "the scale s > 0, in the unit of the data; instead of a goal", .range = "> 0");
static CLI_OPTION(center, "center", 'c', CLI_PATH, "WHICH", center,
                  "mean (default), none, or a vector file with one row or one column");
static CLI_OPTION(spherical, "spherical", 0, CLI_FLAG, NULL, spherical,
                  "rows are directions: rotate their mean direction to e, s = 1, d = columns-1");
static CLI_OPTION(state, "state", 0, CLI_WRITTEN, "S.state", state,
                  "write the statistics, for `capball merge`; without --output only pass 1 is done");
static CLI_OPTION(about, "about", 0, CLI_PATH, "ALL.state", about,
                  "do pass 2, the norms about the mean of these merged statistics, and write --state");
static CLI_OPTION(first_row, "first-row", 0, CLI_COUNT, "N", first_row,
                  "number of the first row if the file is a piece of a larger set", .fallback = "0",
                  .range = ">= 0");

static CLI_OPTION(headroom, "headroom", 0, CLI_NUMBER, "F", headroom,
                  "with lift-cosine, ip-cosine, ip-l2: accept rows up to F times as long as the longest",
                  .range = ">= 1", .fallback = "1");

CLI_OPTIONS(options, &output, &cli_opt_transform, &headroom, &scale, &cli_opt_goal, &cli_opt_target,
            &cli_opt_goal_neighbours, &center, &cli_opt_pole, &cli_opt_whiten, &cli_opt_ridge, &spherical,
            &cli_opt_skip_bad, &cli_opt_sample, &cli_opt_seed, &state, &about, &first_row, CLI_OPT_TABLE,
            &cli_opt_json, &cli_opt_quiet, &cli_opt_threads, &cli_opt_help);

const cli_command cli_verb_fit = {
    .verb = "fit",
    .operands = "DATA -o MAP.json",
    .summary = "fit a map to data: centre, scale for a goal, whitening",
    .formula =
        "y = S(W(x-m)),  S(x) = (2 s x, s^2-|x|^2) / (|x|^2+s^2)                         T1 T6\n"
        "m = mean x,  W^T W = cov(x)^-1,  s by the goal: a norm |W(x-m)| (T7), ABID (T9), recall (T13)",
    .text = "One pass for the mean and a sample, one for the covariance with --whiten, one for norms; "
            "constant memory except for the sample and, with --whiten, d*d numbers. Sums are exact; the "
            "relative error of the median (the lower of two middle values) is at most 2^-13. The covariance "
            "is always about the mean, whatever --center, and divided by the number of rows; --ridge "
            "compensates for columns that do not vary.\n"
            "The goal mean is a good start. spread makes angles differ most, and costs recall; recall takes "
            "the smallest s at which exact search among embedded rows finds the fraction --target of the "
            "true neighbours, measured on a sample. The map file contains the measurements and the scales of "
            "the other goals.\n"
            "--transform writes another transform instead of a map; `embed`, `query`, `rescore` and "
            "`unembed` accept either, and do not need the base again. The file contains the names of the "
            "columns, by which columns of other files are matched.\n"
            "--state writes the statistics for `capball merge`, which combines pieces of a data set.\n"
            "--spherical is for rows that are directions: each is divided by its norm and the mean direction "
            "is rotated to e, so that `unembed` flattens them.\n"
            "The same data give the same bits for any --threads.",
    .example = "printf '3,4\\n6,8\\n0,1\\n' > points.csv\n"
               "capball fit points.csv -o map.json --goal median\n"
               "cat map.json",
    .least = 1,
    .most = 1,
    .options = options,
    .check = check,
    .look = look};

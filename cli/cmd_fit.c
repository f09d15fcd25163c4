/* A map for a file of vectors: centre, whitening, scale. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "choice_json.h"
#include "fit_passes.h"
#include "gather.h"
#include "doubles.h"

typedef struct plan {
  const char *center, *goal; /* names, with the defaults filled in */
  bool center_file;
  bool statistics; /* centre, sample and norms come from mergeable statistics */
  bool norms;      /* which need pass 2 */
  cpb_statistics *gathered;
  cpb_statistics_result facts;
  char *evidence;
} plan;

static bool from_sample(const char *goal) {
  return strcmp(goal, "spread") == 0 || strcmp(goal, "recall") == 0;
}

static int check_state_options(const cli_job *job) {
  const cli_options *o = &job->options;
  bool shaped =
      o->scale != 0 || o->goal != NULL || o->center != NULL || o->pole != NULL || o->whiten || o->spherical;
  if (o->output == NULL && o->state == NULL)
    return cli_misuse(job, "--output FILE is missing (or --state S.state)");
  if (o->about != NULL && (o->state == NULL || o->output != NULL))
    return cli_misuse(job, "--about goes with --state and without --output: merge the pieces to get a map");
  if (o->output == NULL && shaped)
    return cli_misuse(job, "statistics have no shape: give scale, goal, centre and pole to `capball merge`");
  if (o->state != NULL &&
      (o->spherical || o->whiten || (o->center != NULL && strcmp(o->center, "mean") != 0)))
    return cli_misuse(job, "--state is about the mean: leave --center, --whiten and --spherical out");
  return CLI_OK;
}

static int make_plan(const cli_job *job, plan *p) {
  const cli_options *o = &job->options;
  *p = (plan){0};
  int result = check_state_options(job);
  if (result == CLI_OK) result = cli_check_target(job);
  if (result != CLI_OK) return result;
  if (o->scale != 0 && o->goal != NULL) return cli_misuse(job, "--scale and --goal exclude each other");
  bool shaped = o->scale != 0 || o->goal != NULL || o->center != NULL || o->pole != NULL || o->whiten;
  if (o->spherical && shaped)
    return cli_misuse(job, "--spherical sets scale, centre and pole itself; leave the other options out");
  p->center = o->center != NULL ? o->center : "mean";
  p->goal = o->scale != 0 ? "given" : o->goal != NULL ? o->goal : "mean";
  p->center_file = strcmp(p->center, "mean") != 0 && strcmp(p->center, "none") != 0;
  bool mean = strcmp(p->center, "mean") == 0, sampled = from_sample(p->goal);
  p->statistics = mean || sampled || o->whiten;
  p->norms = mean && !o->whiten && o->scale == 0 && !sampled;
  unsigned passes = (unsigned)p->statistics + (unsigned)o->whiten + (unsigned)p->norms;
  if (o->scale == 0 && !sampled && !p->norms) passes += strcmp(p->goal, "median") == 0 ? 2 : 1;
  if (strcmp(job->operands[0], "-") == 0 && passes > 1 && !o->spherical)
    return cli_misuse(job, "this fit reads the data %u times, but a pipe can be read once: give a file%s",
                      passes, o->whiten || strcmp(p->goal, "median") == 0 ? "" : ", or --center none");
  return CLI_OK;
}

/* The statistics, in one pass or two; what the older passes count is taken from them. */
static int find_statistics(cli_fit *fit, plan *p) {
  if (!p->statistics) return CLI_OK;
  const char *path = cpb_reader_info(fit->reader).path;
  int result = cli_gather(fit->job, fit->reader, &p->gathered);
  cpb_error error;
  if (result == CLI_OK) result = cli_finish(fit->job, path, p->gathered, &p->facts);
  if (result == CLI_OK && p->norms) {
    if (cpb_reader_rewind(fit->reader, &error) != CPB_OK) return cli_fail(fit->job, "%s", error.text);
    result = cli_gather_norms(fit->job, fit->reader, p->gathered);
    if (result == CLI_OK) result = cli_finish(fit->job, path, p->gathered, &p->facts);
  }
  fit->passes++;
  fit->rows = p->facts.rows;
  fit->bad = p->facts.nan_rows + p->facts.inf_rows;
  return result;
}

/* The sample as the map sees it, W(x-m), where it whitens; the caller frees *whitened. */
static cpb_view sample_seen(const cli_fit *fit, const plan *p, double **whitened) {
  cpb_view sample = p->facts.sample;
  if (fit->whiten == NULL) return sample;
  size_t d = fit->cols;
  double *row = cli_alloc(d, sizeof *row);
  *whitened = cli_alloc(sample.rows * d, sizeof **whitened);
  for (size_t i = 0; i < sample.rows; i++) {
    cli_subtract(cli_row(sample, i, row), fit->center, d, row);
    for (size_t k = 0; k < d; k++) (*whitened)[i * d + k] = cli_dot(fit->whiten + k * d, row, k + 1);
  }
  free(row);
  return cpb_rows(*whitened, CPB_F64, sample.rows, d);
}

static int choose_scale(cli_fit *fit, plan *p, double *s) {
  cpb_choice *choice = NULL;
  double *whitened = NULL;
  cpb_goal goal = cli_goal(fit->job, CPB_GOAL_MEAN);
  cpb_view sample = sample_seen(fit, p, &whitened);
  int result = cli_choose(fit->job, cli_fit_name(fit), goal, &p->facts, sample,
                          whitened == NULL ? fit->center : NULL, &choice);
  free(whitened);
  if (result != CLI_OK) return result;
  *s = cli_choice_scale(choice);
  p->evidence = cli_evidence(fit->job, goal, choice);
  cpb_choice_free(choice);
  return p->evidence != NULL ? CLI_OK : cli_fail(fit->job, "no memory for the evidence");
}

/* *center: allocated, or NULL for "none". */
static int find_center(cli_fit *fit, const plan *p, double **center) {
  if (strcmp(p->center, "none") == 0) return CLI_OK;
  if (p->center_file) {
    return cli_read_vector(fit->job, p->center, "centre", fit->cols, NULL, center);
  }
  *center = cli_alloc(fit->cols, sizeof **center);
  memcpy(*center, p->facts.mean, fit->cols * sizeof **center);
  return CLI_OK;
}

/* The covariance is about the mean, whatever the centre of the map. */
static int find_covariance(cli_fit *fit, const plan *p, double *covariance) {
  if (strcmp(p->center, "mean") == 0) return cli_fit_covariance(fit, covariance);
  const double *center = fit->center;
  fit->center = p->facts.mean;
  int result = cli_fit_covariance(fit, covariance);
  fit->center = center;
  return result;
}

static int find_whitening(cli_fit *fit, const plan *p, double **W) {
  if (!fit->job->options.whiten) return CLI_OK;
  size_t d = fit->cols;
  if (d > 16384)
    return cli_fail(fit->job, "%s: --whiten needs %zu x %zu numbers in memory: too many", cli_fit_name(fit),
                    d, d);
  double *covariance = cli_alloc(d * d, sizeof *covariance);
  *W = cli_alloc(d * d, sizeof **W);
  int result = find_covariance(fit, p, covariance);
  if (result == CLI_OK) result = cli_fit_whitening(fit, covariance, *W);
  free(covariance);
  return result;
}

/* The middle norm (of an even number the lower one), within 2^-30 of itself, in two passes. */
static int find_median(cli_fit *fit, cli_norms *norms, double *s) {
  uint64_t rank;
  uint64_t bin = cli_norms_bin(norms, (norms->count - 1) / 2, &rank);
  cli_norms_refine(norms, bin);
  int result = cli_fit_norms(fit, norms);
  *s = cli_norms_value(norms, cli_norms_bin(norms, rank, NULL));
  return result;
}

static int find_scale(cli_fit *fit, plan *p, double *s) {
  *s = fit->job->options.scale;
  if (*s != 0) return CLI_OK;
  if (p->norms || from_sample(p->goal)) return choose_scale(fit, p, s);
  cli_norms norms;
  cli_norms_new(&norms);
  int result = cli_fit_norms(fit, &norms);
  if (result == CLI_OK && strcmp(p->goal, "median") == 0)
    result = find_median(fit, &norms, s);
  else if (strcmp(p->goal, "hemisphere") == 0)
    *s = norms.max > 0 ? cpb_hemisphere_scale(norms.max, acos(0)) : 0;
  else
    *s = cli_norms_mean(&norms);
  cli_norms_free(&norms);
  if (result == CLI_OK && !(*s > 0))
    return cli_fail(fit->job, "%s: the %s norm about the centre is %g, no scale; give one with --scale",
                    cli_fit_name(fit), strcmp(p->goal, "hemisphere") == 0 ? "largest" : p->goal, *s);
  return result;
}

static int find_pole(const cli_job *job, size_t d, double **pole) {
  if (job->options.pole == NULL) return CLI_OK;
  return cli_read_pole(job, d + 1, NULL, pole);
}

static int save(const cli_fit *fit, const plan *p, const cpb_map_options *options) {
  const cli_job *job = fit->job;
  cpb_file_info file = cpb_reader_info(fit->reader);
  uint64_t known = file.rows == CPB_ROWS_UNKNOWN ? 0 : file.rows;
  cpb_map_origin origin = {sizeof origin, p->goal, file.path, fit->passes > 0 ? fit->rows : known,
                           p->evidence};
  cpb_map *map = NULL;
  char *text = NULL;
  cpb_error error;
  cpb_status status = cpb_map_new(options, &map, &error);
  if (status == CPB_OK) status = cpb_map_to_json(map, &origin, &text, &error);
  if (status == CPB_OK) status = cpb_write_whole(job->options.output, text, strlen(text), &error);
  free(text);
  cpb_map_free(map);
  if (status == CPB_EINVAL) return cli_fail(job, "%s: %s", cli_fit_name(fit), error.text);
  if (status != CPB_OK) return cli_fail(job, "%s", error.text);
  if (fit->bad > 0) cli_say(job, "bad rows left out: %llu", (unsigned long long)fit->bad);
  char rows[32] = "";
  if (origin.rows > 0)
    snprintf(rows, sizeof rows, ", %llu row%s", (unsigned long long)origin.rows, cli_s(origin.rows));
  cli_say(job, "d = %zu, s = %.6g (%s), centre %s%s%s", options->d, options->s, p->goal, p->center,
          options->whiten != NULL ? ", whitened" : "", rows);
  if (!job->options.json) return CLI_OK;
  return cli_print_json(job, json_pack("{s:s, s:I, s:I, s:I, s:f, s:s, s:s, s:b}", "map", job->options.output,
                                       "dim", (json_int_t)options->d, "rows", (json_int_t)origin.rows,
                                       "skipped", (json_int_t)fit->bad, "scale", options->s, "goal", p->goal,
                                       "center", p->center, "whiten", options->whiten != NULL));
}

static int fit_spherical(cli_fit *fit) {
  if (fit->cols < 2)
    return cli_fail(fit->job, "%s: --spherical wants at least 2 columns, got %zu", cli_fit_name(fit),
                    fit->cols);
  double *mean = cli_alloc(fit->cols, sizeof *mean);
  fit->directions = true;
  int result = cli_fit_mean(fit, mean);
  if (result == CLI_OK && cli_norm(mean, fit->cols) < 1e-12)
    result =
        cli_fail(fit->job, "%s: the directions cancel out: they have no mean direction", cli_fit_name(fit));
  cpb_map_options options;
  cpb_map_options_init(&options, sizeof options);
  options.d = fit->cols - 1;
  options.s = 1;
  options.toward = mean;
  plan p = {.center = "none", .goal = "spherical"};
  if (result == CLI_OK) result = save(fit, &p, &options);
  free(mean);
  return result;
}

/* Statistics alone, for a later merge. */
static int gather_state(cli_fit *fit) {
  const cli_job *job = fit->job;
  cpb_statistics *gathered = NULL;
  int result = job->options.about == NULL ? cli_gather(job, fit->reader, &gathered)
                                          : cli_read_state(job, job->options.about, &gathered);
  if (result == CLI_OK && job->options.about != NULL) result = cli_gather_norms(job, fit->reader, gathered);
  if (result == CLI_OK) result = cli_write_state(job, job->options.state, gathered);
  cpb_statistics_free(gathered);
  return result;
}

static int fit_flat(cli_fit *fit, plan *p) {
  double *center = NULL, *pole = NULL, *W = NULL;
  cpb_map_options options;
  cpb_map_options_init(&options, sizeof options);
  options.d = fit->cols;
  int result = find_pole(fit->job, fit->cols, &pole);
  if (result == CLI_OK) result = find_statistics(fit, p);
  if (result == CLI_OK) result = find_center(fit, p, &center);
  fit->center = center;
  if (result == CLI_OK) result = find_whitening(fit, p, &W);
  fit->whiten = W;
  if (result == CLI_OK) result = find_scale(fit, p, &options.s);
  options.center = center;
  options.pole = pole;
  options.whiten = W;
  if (result == CLI_OK && fit->job->options.state != NULL)
    result = cli_write_state(fit->job, fit->job->options.state, p->gathered);
  if (result == CLI_OK) result = save(fit, p, &options);
  cpb_statistics_free(p->gathered);
  free(p->evidence);
  free(center);
  free(pole);
  free(W);
  return result;
}

static int run(cli_job *job) {
  plan p;
  int result = make_plan(job, &p);
  if (result != CLI_OK) return result;
  cpb_reader *reader;
  result = cli_open_reader(job, job->operands[0], job->options.format, &reader);
  if (result != CLI_OK) return result;
  cli_fit fit;
  cli_fit_new(&fit, job, reader);
  if (job->options.output == NULL)
    result = gather_state(&fit);
  else
    result = job->options.spherical ? fit_spherical(&fit) : fit_flat(&fit, &p);
  cli_fit_free(&fit);
  cpb_reader_free(reader);
  return result;
}

const cli_command cli_verb_fit = {
    .verb = "fit",
    .operands = "DATA -o MAP.json",
    .summary = "fit a map to data: centre, scale for a goal, whitening",
    .formula =
        "y = S(W(x-m)),  S(x) = (2 s x, s^2-|x|^2) / (|x|^2+s^2)                         T1 T6\n"
        "m = mean x,  W^T W = cov(x)^-1,  s by the goal: a norm |W(x-m)| (T7), ABID (T9), recall (T13)",
    .text =
        "One pass for the mean and a sample, one for the covariance with --whiten, one for norms; constant "
        "memory but for the sample and, with --whiten, d*d numbers. Sums are exact; the median is within "
        "2^-13 of itself (of an even number of norms the lower middle one). The covariance is about "
        "the mean, whatever --center, and divided by the number of rows.\n"
        "The goal mean is a plain start. spread makes angles tell most, and costs recall; recall takes the "
        "smallest s at which exact search among embedded rows keeps --target of the true neighbours, "
        "measured on a sample. The map file says what was measured and which scales the other goals take.\n"
        "--state writes the statistics for `capball merge`, which joins pieces of a data set.\n"
        "--spherical is for rows that are directions: each is divided by its norm and the mean direction "
        "is turned to e, so that `unembed` flattens them.\n"
        "The same data give the same bits whatever --threads.",
    .example = "printf '3,4\\n6,8\\n0,1\\n' > points.csv\n"
               "capball fit points.csv -o map.json --goal median\n"
               "cat map.json",
    .least = 1,
    .most = 1,
    .accepts = CLI_BIT(CLI_OUTPUT) | CLI_BIT(CLI_SCALE) | CLI_BIT(CLI_GOAL) | CLI_BIT(CLI_CENTER) |
               CLI_BIT(CLI_POLE) | CLI_BIT(CLI_WHITEN) | CLI_BIT(CLI_SPHERICAL) | CLI_BIT(CLI_SKIP_BAD) |
               CLI_BIT(CLI_TARGET) | CLI_BIT(CLI_NEIGHBOURS) | CLI_BIT(CLI_SAMPLE) | CLI_BIT(CLI_SEED) |
               CLI_BIT(CLI_STATE) | CLI_BIT(CLI_ABOUT) | CLI_BIT(CLI_FIRST_ROW) | CLI_BIT(CLI_FORMAT) |
               CLI_BIT(CLI_JSON) | CLI_BIT(CLI_QUIET) | CLI_BIT(CLI_THREADS) | CLI_BIT(CLI_HELP),
    .run = run};

/* A map for a file of vectors: centre, whitening, scale. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fit_passes.h"
#include "json_print.h"
#include "doubles.h"

typedef struct plan {
  const char *center, *goal; /* names, with the defaults filled in */
  bool center_file;
} plan;

static int make_plan(const cli_job *job, plan *p) {
  const cli_options *o = &job->options;
  if (o->scale != 0 && o->goal != NULL) return cli_misuse(job, "--scale and --goal exclude each other");
  bool shaped = o->scale != 0 || o->goal != NULL || o->center != NULL || o->pole != NULL || o->whiten;
  if (o->spherical && shaped)
    return cli_misuse(job, "--spherical sets scale, centre and pole itself; leave the other options out");
  p->center = o->center != NULL ? o->center : "mean";
  p->goal = o->scale != 0 ? "given" : o->goal != NULL ? o->goal : "mean";
  p->center_file = strcmp(p->center, "mean") != 0 && strcmp(p->center, "none") != 0;
  unsigned passes = (unsigned)(strcmp(p->center, "mean") == 0) + (unsigned)o->whiten;
  if (o->scale == 0) passes += strcmp(p->goal, "median") == 0 ? 2 : 1;
  if (strcmp(job->operands[0], "-") == 0 && passes > 1 && !o->spherical)
    return cli_misuse(job,
                      "this fit reads the data %u times, but a pipe can be read once: give a file, or "
                      "--center none",
                      passes);
  return CLI_OK;
}

/* *center: allocated, or NULL for "none". */
static int find_center(cli_fit *fit, const plan *p, double **center) {
  if (strcmp(p->center, "none") == 0) return CLI_OK;
  if (p->center_file) {
    *center = cli_read_vector(fit->job, p->center, "centre", fit->cols, NULL);
    return *center != NULL ? CLI_OK : CLI_FAILED;
  }
  *center = cli_alloc(fit->cols, sizeof **center);
  return cli_fit_mean(fit, *center);
}

static int find_whitening(cli_fit *fit, double **W) {
  if (!fit->job->options.whiten) return CLI_OK;
  size_t d = fit->cols;
  if (d > 16384) return cli_fail(fit->job, "--whiten needs %zu x %zu numbers in memory: too many", d, d);
  double *covariance = cli_alloc(d * d, sizeof *covariance);
  *W = cli_alloc(d * d, sizeof **W);
  int result = cli_fit_covariance(fit, covariance);
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

static int find_scale(cli_fit *fit, const plan *p, double *s) {
  *s = fit->job->options.scale;
  if (*s != 0) return CLI_OK;
  cli_norms norms;
  cli_norms_new(&norms);
  int result = cli_fit_norms(fit, &norms);
  if (result == CLI_OK && strcmp(p->goal, "median") == 0)
    result = find_median(fit, &norms, s);
  else if (strcmp(p->goal, "hemisphere") == 0)
    *s = norms.max > 0 ? cpb_hemisphere_scale(norms.max, acos(0)) : 0;
  else
    *s = norms.sum / (double)norms.count;
  cli_norms_free(&norms);
  if (result == CLI_OK && !(*s > 0))
    return cli_fail(fit->job, "the %s norm about the centre is %g, no scale; give one with --scale", p->goal,
                    *s);
  return result;
}

static int find_pole(const cli_job *job, size_t d, double **pole) {
  if (job->options.pole == NULL) return CLI_OK;
  *pole = cli_read_vector(job, job->options.pole, "pole", d + 1, NULL);
  if (*pole == NULL) return CLI_FAILED;
  double length = cli_norm(*pole, d + 1);
  if (length == 0 || !isfinite(length))
    return cli_fail(job, "%s: a pole of length %g has no direction", job->options.pole, length);
  for (size_t k = 0; k <= d; k++) (*pole)[k] /= length;
  return CLI_OK;
}

static int save(const cli_fit *fit, const plan *p, const cpb_map_options *options) {
  const cli_job *job = fit->job;
  cpb_file_info file = cpb_reader_info(fit->reader);
  uint64_t known = file.rows == CPB_ROWS_UNKNOWN ? 0 : file.rows;
  cpb_map_origin origin = {sizeof origin, p->goal, file.path, fit->passes > 0 ? fit->rows : known};
  cpb_map *map = NULL;
  char *text = NULL;
  cpb_error error;
  cpb_status status = cpb_map_new(options, &map, &error);
  if (status == CPB_OK) status = cpb_map_to_json(map, &origin, &text, &error);
  if (status == CPB_OK) status = cpb_write_whole(job->options.output, text, strlen(text), &error);
  free(text);
  cpb_map_free(map);
  if (status != CPB_OK) return cli_fail(job, "%s", error.text);
  if (fit->bad > 0) cli_say(job, "bad rows left out: %llu", (unsigned long long)fit->bad);
  char rows[32] = "";
  if (origin.rows > 0) snprintf(rows, sizeof rows, ", %llu rows", (unsigned long long)origin.rows);
  cli_say(job, "d = %zu, s = %.6g (%s), centre %s%s%s", options->d, options->s, p->goal, p->center,
          options->whiten != NULL ? ", whitened" : "", rows);
  if (!job->options.json) return CLI_OK;
  return cli_print_json(job, json_pack("{s:s, s:I, s:I, s:I, s:f, s:s, s:s, s:b}", "map", job->options.output,
                                       "dim", (json_int_t)options->d, "rows", (json_int_t)origin.rows,
                                       "skipped", (json_int_t)fit->bad, "scale", options->s, "goal", p->goal,
                                       "center", p->center, "whiten", options->whiten != NULL));
}

static int fit_spherical(cli_fit *fit) {
  if (fit->cols < 2) return cli_fail(fit->job, "--spherical wants at least 2 columns, got %zu", fit->cols);
  double *mean = cli_alloc(fit->cols, sizeof *mean);
  fit->directions = true;
  int result = cli_fit_mean(fit, mean);
  if (result == CLI_OK && cli_norm(mean, fit->cols) < 1e-12)
    result = cli_fail(fit->job, "the directions cancel out: they have no mean direction");
  cpb_map_options options = cpb_map_options_default();
  options.d = fit->cols - 1;
  options.s = 1;
  options.toward = mean;
  plan p = {"none", "spherical", false};
  if (result == CLI_OK) result = save(fit, &p, &options);
  free(mean);
  return result;
}

static int fit_flat(cli_fit *fit, const plan *p) {
  double *center = NULL, *pole = NULL, *W = NULL;
  cpb_map_options options = cpb_map_options_default();
  options.d = fit->cols;
  int result = find_pole(fit->job, fit->cols, &pole);
  if (result == CLI_OK) result = find_center(fit, p, &center);
  fit->center = center;
  if (result == CLI_OK) result = find_whitening(fit, &W);
  fit->whiten = W;
  if (result == CLI_OK) result = find_scale(fit, p, &options.s);
  options.center = center;
  options.pole = pole;
  options.whiten = W;
  if (result == CLI_OK) result = save(fit, p, &options);
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
  result = job->options.spherical ? fit_spherical(&fit) : fit_flat(&fit, &p);
  cli_fit_free(&fit);
  cpb_reader_free(reader);
  return result;
}

const cli_command cli_verb_fit = {
    .verb = "fit",
    .operands = "DATA -o MAP.json",
    .summary = "fit a map to data: centre, scale, whitening",
    .formula = "y = S(W(x-m)),  S(x) = (2 s x, s^2-|x|^2) / (|x|^2+s^2)                         T1 T6\n"
               "m = mean x,  s = mean |W(x-m)|  (or the median, or the maximum, T7),  W^T W = cov(x)^-1",
    .text = "One pass for each of mean, covariance and norms (the median takes two, and is within 2^-30 of "
            "itself; of an even number of norms it is the lower middle one); constant memory but for d*d "
            "numbers with --whiten. The covariance is divided by the number of rows.\n"
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
               CLI_BIT(CLI_FORMAT) | CLI_BIT(CLI_JSON) | CLI_BIT(CLI_QUIET) | CLI_BIT(CLI_THREADS) |
               CLI_BIT(CLI_HELP),
    .requires = CLI_BIT(CLI_OUTPUT),
    .run = run};

/* A ball around data: enclosing, or with a soft margin; as a model file. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "doubles.h"
#include "fit_passes.h"
#include "json_print.h"
#include "score_plot.h"
#include "table_file.h"

enum { QUANTILES = 101, LISTED = 10000, PLOTTED = 20000 };

typedef struct ball_fit {
  const cli_job *job;
  cpb_reader *reader;
  cpb_view rows;      /* in memory, as read; data NULL while they stream */
  cpb_view y;         /* what is fitted: the rows, or W times them */
  double *W;          /* NULL without --whiten */
  double *weights;    /* NULL: all 1 */
  double *center;     /* in the unit of the data */
  double *multiplier; /* per listed support vector */
  uint64_t *support;
  double *vectors;
  double *scores; /* of the training rows */
  uint64_t count; /* training rows */
  cpb_model_options model;
  size_t iterations;
  double seconds;
} ball_fit;

static double wanted_gap(const cli_job *job) {
  return job->options.gap.given ? job->options.gap.value : 1e-9;
}

static bool is_kernel(const cli_options *o, const char *name) {
  return o->kernel != NULL && strcmp(o->kernel, name) == 0;
}

static bool has_kernel(const cli_options *o) { return o->kernel != NULL && !is_kernel(o, "linear"); }

static int check_options(const cli_job *job) {
  const cli_options *o = &job->options;
  bool polynomial = is_kernel(o, "polynomial");
  if (o->nu.given && !(o->nu.value > 0 && o->nu.value <= 1))
    return cli_fail(job, "--nu must lie in (0,1], got %g", o->nu.value);
  if (o->gap.given && !(o->gap.value >= 0 && o->gap.value < INFINITY))
    return cli_misuse(job, "--gap must be a number >= 0, got %g", o->gap.value);
  if (!o->nu.given && (o->method != NULL || has_kernel(o) || o->weights != NULL))
    return cli_misuse(job, "--method, --weights and --kernel rbf or polynomial go with --nu");
  if (has_kernel(o) && o->whiten) return cli_misuse(job, "--kernel %s does not go with --whiten", o->kernel);
  if (has_kernel(o) && o->sql != NULL) return cli_misuse(job, "--kernel %s has no SQL", o->kernel);
  if (o->gamma != 0 && !has_kernel(o)) return cli_misuse(job, "--gamma goes with --kernel rbf or polynomial");
  if ((o->offset.given || o->degree != 0) && !polynomial)
    return cli_misuse(job, "--offset and --degree go with --kernel polynomial");
  if (o->offset.given && !(o->offset.value >= 0))
    return cli_misuse(job, "--offset must be >= 0, got %g", o->offset.value);
  if (o->degree > 1000)
    return cli_misuse(job, "--degree must be 1 .. 1000, got %llu", (unsigned long long)o->degree);
  if (strcmp(job->operands[0], "-") == 0 && o->whiten)
    return cli_misuse(job,
                      "--whiten reads the data more than once, but a pipe can be read once: give a file");
  return CLI_OK;
}

/* What is wrong with weights is not wrong with DATA. */
static int fail_rows(const ball_fit *fit, cpb_status status, const cpb_error *error) {
  const char *path =
      strcmp(error->argument, "weights") == 0 ? fit->job->options.weights : fit->job->operands[0];
  return status == CPB_EROW ? cli_fail_row(fit->job, fit->job->operands[0], 0, error)
                            : cli_fail(fit->job, "%s: %s", cli_name(path), error->text);
}

/* ---- whitening ---- */

static int find_whitening(ball_fit *fit) {
  size_t d = fit->rows.cols;
  if (d > 16384) return cli_fail(fit->job, "--whiten needs %zu x %zu numbers in memory: too many", d, d);
  cli_fit passes;
  double *mean = cli_alloc(d, sizeof *mean), *covariance = cli_alloc(d * d, sizeof *covariance);
  cpb_error error;
  fit->W = cli_alloc(d * d, sizeof *fit->W);
  cli_fit_new(&passes, fit->job, fit->reader);
  int result =
      cpb_reader_rewind(fit->reader, &error) == CPB_OK ? CLI_OK : cli_fail(fit->job, "%s", error.text);
  if (result == CLI_OK) result = cli_fit_mean(&passes, mean);
  passes.center = mean;
  if (result == CLI_OK) result = cli_fit_covariance(&passes, covariance);
  if (result == CLI_OK) result = cli_fit_whitening(&passes, covariance, fit->W);
  cli_fit_free(&passes);
  free(mean);
  free(covariance);
  return result;
}

/* y = W x for all rows; W is lower triangular. */
static void whiten_rows(ball_fit *fit) {
  size_t n = fit->rows.rows, d = fit->rows.cols;
  double *y = cli_alloc(n * d, sizeof *y), *buffer = cli_alloc(d, sizeof *buffer);
  for (size_t i = 0; i < n; i++) {
    const double *x = cli_row(fit->rows, i, buffer);
    for (size_t k = 0; k < d; k++) y[i * d + k] = cli_dot(fit->W + k * d, x, k + 1);
  }
  free(buffer);
  fit->y = cpb_rows(y, CPB_F64, n, d);
}

/* center <- W^-1 center, by forward substitution. */
static void unwhiten_center(ball_fit *fit) {
  size_t d = fit->y.cols;
  for (size_t k = 0; k < d; k++)
    fit->center[k] = (fit->center[k] - cli_dot(fit->W + k * d, fit->center, k)) / fit->W[k * d + k];
}

/* ---- the three kinds of fit ---- */

static cpb_status first_block(cpb_source *source, cpb_error *error) {
  ball_fit *fit = source->self;
  fit->count = 0;
  return cpb_reader_rewind(fit->reader, error);
}

static cpb_status next_block(cpb_source *source, cpb_view *block, cpb_error *error) {
  ball_fit *fit = source->self;
  cpb_status status = cpb_reader_next(fit->reader, 1 << 16, block, error);
  if (status == CPB_OK) fit->count += block->rows;
  return status;
}

static int fit_enclosing(ball_fit *fit) {
  size_t d = fit->model.d;
  cpb_ball_options options;
  cpb_ball_options_init(&options, sizeof options);
  cpb_ball_report report = {.size = sizeof report};
  cpb_error error = {.row = -1};
  options.gap = wanted_gap(fit->job);
  fit->support = cli_alloc(d + 1, sizeof *fit->support);
  fit->multiplier = cli_alloc(d + 1, sizeof *fit->multiplier);
  cpb_ball_out out = {fit->center, fit->support, fit->multiplier};
  const cpb_exec *exec = cpb_pool_exec(fit->job->pool);
  cpb_source rows = {sizeof rows, d, CPB_F64, CPB_ROWS_UNKNOWN, next_block, first_block, fit, {0}, 0};
  if (fit->y.data != NULL) rows = cpb_source_from_view(fit->y);
  cpb_status status = cpb_enclosing_ball_stream(&rows, &options, &out, &report, exec, &error);
  if (status != CPB_OK) return fail_rows(fit, status, &error);
  fit->model.radius = report.radius;
  fit->model.gap = report.gap;
  fit->model.lower_bound = report.lower_bound;
  fit->model.converged = report.converged;
  fit->model.support = fit->model.listed = report.support;
  fit->iterations = report.passes;
  fit->seconds = report.seconds;
  return CLI_OK;
}

/* Lists the support vectors, unless they are too many; a kernel needs them all. */
static void list_support(ball_fit *fit, const double *a, bool kernel) {
  size_t n = fit->y.rows, d = fit->y.cols, at = 0;
  fit->model.listed = kernel || fit->model.support <= LISTED ? fit->model.support : 0;
  if (fit->model.listed == 0) return;
  fit->support = cli_alloc(fit->model.listed, sizeof *fit->support);
  fit->multiplier = cli_alloc(fit->model.listed, sizeof *fit->multiplier);
  if (kernel) fit->vectors = cli_alloc(fit->model.listed * d, sizeof *fit->vectors);
  double *buffer = cli_alloc(d, sizeof *buffer);
  for (size_t i = 0; i < n; i++) {
    if (!(a[i] > 0)) continue;
    if (kernel) memcpy(fit->vectors + at * d, cli_row(fit->y, i, buffer), d * sizeof *buffer);
    fit->support[at] = i;
    fit->multiplier[at++] = a[i];
  }
  free(buffer);
}

static cpb_kernel kernel_of(const cli_options *o, size_t d) {
  double gamma = o->gamma != 0 ? o->gamma : 1 / (double)d;
  if (is_kernel(o, "rbf")) return (cpb_kernel){.kind = CPB_KERNEL_RBF, .gamma = gamma};
  return (cpb_kernel){CPB_KERNEL_POLYNOMIAL, gamma, o->offset.given ? o->offset.value : 1,
                      o->degree != 0 ? (unsigned)o->degree : 3};
}

static int fit_svdd(ball_fit *fit) {
  const cli_options *o = &fit->job->options;
  cpb_svdd_options options;
  cpb_svdd_options_init(&options, sizeof options);
  cpb_svdd_report report = {.size = sizeof report};
  cpb_error error = {.row = -1};
  options.nu = o->nu.value;
  options.gap = wanted_gap(fit->job);
  options.weights = fit->weights;
  if (o->method != NULL && strcmp(o->method, "exact") != 0)
    options.method = strcmp(o->method, "cap-svm") == 0 ? CPB_SVDD_CAP_SVM : CPB_SVDD_CAP_SVM_PAPER;
  double *a = cli_alloc(fit->y.rows, sizeof *a);
  const cpb_exec *exec = cpb_pool_exec(fit->job->pool);
  cpb_status status;
  if (has_kernel(o)) {
    fit->model.kernel = kernel_of(o, fit->y.cols);
    status =
        cpb_kernel_svdd(fit->y, &fit->model.kernel, &options, a, &fit->model.norm2, &report, exec, &error);
  } else {
    status = cpb_svdd(fit->y, &options, fit->center, a, &report, exec, &error);
  }
  if (status == CPB_OK) {
    fit->model.method = (cpb_model_method)(CPB_MODEL_EXACT + (int)options.method);
    fit->model.nu = options.nu;
    fit->model.radius = report.radius;
    fit->model.gap = report.gap;
    fit->model.lower_bound = report.lower_bound;
    fit->model.converged = report.converged;
    fit->model.support = report.support;
    fit->iterations = report.iterations;
    fit->seconds = report.seconds;
    list_support(fit, a, has_kernel(o));
  }
  free(a);
  return status == CPB_OK ? CLI_OK : fail_rows(fit, status, &error);
}

/* ---- the model and what is told of it ---- */

/* Scores of all training rows, from memory or by one more pass. */
static int score_training(ball_fit *fit, const cpb_model *model) {
  const cpb_exec *exec = cpb_pool_exec(fit->job->pool);
  cpb_error error = {.row = -1};
  cpb_status status = CPB_OK;
  fit->scores = cli_alloc(fit->count, sizeof *fit->scores);
  if (fit->rows.data != NULL)
    status = cpb_model_scores(model, fit->rows, cpb_rows_out(fit->scores, CPB_F64, fit->rows.rows, 1), exec,
                              &error);
  else {
    size_t at = 0;
    cpb_view block;
    status = cpb_reader_rewind(fit->reader, &error);
    while (status == CPB_OK) {
      status = cpb_reader_next(fit->reader, 1 << 16, &block, &error);
      if (status != CPB_OK || block.rows == 0 || at + block.rows > fit->count) break;
      status = cpb_model_scores(model, block, cpb_rows_out(fit->scores + at, CPB_F64, block.rows, 1), exec,
                                &error);
      at += block.rows;
    }
  }
  return status == CPB_OK ? CLI_OK : fail_rows(fit, status, &error);
}

static void write_plane(const void *arg, FILE *script) {
  const ball_fit *fit = arg;
  size_t step = fit->rows.rows / PLOTTED + 1;
  double buffer[2], turn = 2 * acos(-1.0);
  const double *W = fit->W, *c = fit->center;
  fprintf(script, "set size ratio -1\nset xlabel 'x0'\nset ylabel 'x1'\n"
                  "plot '-' with points pt 7 ps 0.3 lc rgb '#2f6fb5' title 'rows', "
                  "'-' with lines lw 2 lc rgb '#d9480f' title 'ball', "
                  "'-' with points pt 2 lc rgb '#d9480f' title 'centre'\n");
  for (size_t i = 0; i < fit->rows.rows; i += step) {
    const double *x = cli_row(fit->rows, i, buffer);
    fprintf(script, "%.9g %.9g\n", x[0], x[1]);
  }
  fputs("e\n", script);
  for (int k = 0; k <= 360; k++) {
    double u = fit->model.radius * cos(turn * k / 360), v = fit->model.radius * sin(turn * k / 360);
    if (W != NULL) {
      u /= W[0];
      v = (v - W[2] * u) / W[3];
    }
    fprintf(script, "%.9g %.9g\n", c[0] + u, c[1] + v);
  }
  fprintf(script, "e\n%.9g %.9g\ne\n", c[0], c[1]);
}

static int draw(const ball_fit *fit) {
  const char *path = fit->job->options.plot;
  if (fit->rows.cols == 2 && fit->center != NULL && fit->vectors == NULL)
    return cli_plot_wanted(fit->job, path, write_plane, fit);
  cli_score_histogram histogram = {fit->scores, NULL, (size_t)fit->count};
  return cli_plot_wanted(fit->job, path, cli_write_histogram, &histogram);
}

static int write_sql(const ball_fit *fit, const cpb_model *model) {
  char *text = NULL;
  cpb_error error;
  cpb_status status = cpb_model_to_sql(model, NULL, &text, &error);
  if (status == CPB_OK) {
    size_t length = strlen(text);
    text[length] = '\n'; /* in place of the end */
    status = cpb_write_whole(fit->job->options.sql, text, length + 1, &error);
  }
  free(text);
  return status == CPB_OK ? CLI_OK : cli_fail(fit->job, "%s", error.text);
}

static int tell(const ball_fit *fit) {
  const cpb_model_options *m = &fit->model;
  const cli_options *o = &fit->job->options;
  const char *how = m->nu == 0 ? "enclosing ball" : cpb_model_method_name(m->method);
  if (has_kernel(o) && m->method == CPB_MODEL_EXACT) how = "SVDD";
  cli_say(fit->job, "%s%s%s: radius %.6g, gap %.2g%s, %zu support vector%s, %llu row%s",
          has_kernel(o) ? o->kernel : "", has_kernel(o) ? " " : "", how, m->radius, m->gap,
          m->converged ? "" : " (more than was asked for)", m->support, cli_s(m->support),
          (unsigned long long)fit->count, cli_s(fit->count));
  if (!fit->job->options.json) return CLI_OK;
  json_t *center = m->center != NULL ? cli_json_vector(m->center, m->d) : json_null();
  return cli_print_json(
      fit->job,
      json_pack("{s:s, s:s, s:I, s:I, s:o, s:f, s:f, s:f, s:f, s:b, s:I, s:I, s:f}", "model",
                fit->job->options.output, "method", cpb_model_method_name(m->method), "dim", (json_int_t)m->d,
                "rows", (json_int_t)fit->count, "center", center, "radius", m->radius, "nu", m->nu, "gap",
                m->gap, "lower_bound", m->lower_bound, "converged", m->converged, "support",
                (json_int_t)m->support, "iterations", (json_int_t)fit->iterations, "seconds", fit->seconds));
}

static int make_model(ball_fit *fit, cpb_model **model) {
  cpb_error error;
  fit->model.center = fit->model.kernel.kind == CPB_KERNEL_LINEAR ? fit->center : NULL;
  fit->model.whiten = fit->W;
  fit->model.rows = fit->count;
  fit->model.support_rows = fit->support;
  fit->model.multipliers = fit->multiplier;
  fit->model.vectors = fit->vectors;
  cpb_model_free(*model);
  if (cpb_model_new(&fit->model, model, &error) != CPB_OK) return cli_fail(fit->job, "%s", error.text);
  return CLI_OK;
}

static int save(ball_fit *fit) {
  const cli_options *o = &fit->job->options;
  cpb_model *model = NULL;
  cpb_error error;
  double quantiles[QUANTILES];
  int result = make_model(fit, &model);
  if (result == CLI_OK) result = score_training(fit, model);
  if (result == CLI_OK && o->plot != NULL) result = draw(fit);
  if (result == CLI_OK) {
    cpb_score_quantiles(fit->scores, (size_t)fit->count, QUANTILES, quantiles);
    fit->model.quantiles = quantiles;
    fit->model.quantile_count = QUANTILES;
    result = make_model(fit, &model);
  }
  if (result == CLI_OK && o->sql != NULL) result = write_sql(fit, model);
  if (result == CLI_OK && cpb_model_save(model, o->output, &error) != CPB_OK)
    result = cli_fail(fit->job, "%s", error.text);
  if (result == CLI_OK) result = tell(fit);
  cpb_model_free(model);
  return result;
}

static int fit_and_save(ball_fit *fit) {
  const cli_job *job = fit->job;
  const cli_options *o = &job->options;
  int result = CLI_OK;
  bool stream = !o->nu.given && !o->whiten && o->plot == NULL && strcmp(job->operands[0], "-") != 0 &&
                cpb_reader_info(fit->reader).dtype <= CPB_I8;
  if (!stream) {
    result = cli_read_table(job, fit->reader, &fit->rows);
    fit->count = fit->rows.rows;
    fit->y = fit->rows;
  }
  if (result == CLI_OK && o->weights != NULL) {
    result = cli_read_numbers(job, o->weights, "weights", fit->rows.rows, &fit->weights);
  }
  if (result == CLI_OK && o->whiten) result = find_whitening(fit);
  if (result == CLI_OK && o->whiten) whiten_rows(fit);
  if (result == CLI_OK) result = o->nu.given ? fit_svdd(fit) : fit_enclosing(fit);
  if (result == CLI_OK && fit->count == 1)
    result = cli_fail(job, "%s has one row: there is no ball of radius > 0 around it", job->operands[0]);
  if (result == CLI_OK && !(fit->model.radius > 0))
    result = cli_fail(job, "%s: the ball has radius 0%s", job->operands[0],
                      fit->model.lower_bound > 0 ? "" : ", all columns are constant");
  if (result == CLI_OK && o->whiten) unwhiten_center(fit);
  return result == CLI_OK ? save(fit) : result;
}

static int run(cli_job *job) {
  ball_fit fit = {.job = job};
  cpb_model_options_init(&fit.model, sizeof fit.model);
  int result = check_options(job);
  if (result == CLI_OK) result = cli_open_reader(job, job->operands[0], job->options.format, &fit.reader);
  if (result != CLI_OK) return result;
  fit.model.d = cpb_reader_info(fit.reader).cols;
  fit.center = cli_alloc(fit.model.d, sizeof *fit.center);
  result = fit_and_save(&fit);
  if (fit.y.data != fit.rows.data) free((void *)(uintptr_t)fit.y.data);
  free((void *)(uintptr_t)fit.rows.data);
  free(fit.W);
  free(fit.weights);
  free(fit.center);
  free(fit.multiplier);
  free(fit.support);
  free(fit.vectors);
  free(fit.scores);
  cpb_reader_free(fit.reader);
  return result;
}

const cli_command cli_verb_ball = {
    .verb = "ball",
    .operands = "DATA -o MODEL.json",
    .summary = "the smallest ball around data, hard or with a soft margin, and its proof",
    .formula = "min_c max |x-c|                                                         without --nu, T10\n"
               "min R^2 + 1/(nu n) sum max(0, |x-c|^2 - R^2)                                  --nu NU, T11\n"
               "lower bound: sum a|x|^2 - |sum a x|^2,  sum a = 1,  0 <= a <= 1/(nu n)",
    .text =
        "Without --nu the file is read a few times in constant memory; with it the rows are held. MODEL.json "
        "has centre and radius in the unit of the data, the gap to the lower bound, support vectors and "
        "multipliers, quantiles of the scores, and the ball as a cap (T3) at \"scale\".\n"
        "\"lower_bound\" is what no ball goes below: without --nu a radius, the radius of every enclosing "
        "ball "
        "is at least this; with --nu a value of the objective, R^2 plus the slack, in the square of the "
        "unit. "
        "\"gap\" is the share of R^2, or of the objective, that lies above the bound.\n"
        "--whiten takes |W(x-c)| with W^T W = cov(x)^-1 for |x-c|: an ellipsoid.\n"
        "--method cap-svm embeds, separates from -e by a linear SVM and goes to its ball, until it rests; "
        "cap-svm-paper does so with one C for all, which leaves no slack to the rows.\n"
        "--kernel rbf or polynomial takes the ball in the kernel's feature space, by any method; radius and "
        "scores are in its unit. Time and memory are for some ten thousand rows.",
    .example = "printf '0,0\\n2,0\\n1,1\\n1,0.5\\n' > points.csv\n"
               "capball ball points.csv -o ball.json --sql -\n"
               "capball ball points.csv -o soft.json --nu 0.5\n"
               "capball ball points.csv -o curved.json --nu 0.5 --kernel rbf --method cap-svm",
    .least = 1,
    .most = 1,
    .accepts = CLI_BIT(CLI_OUTPUT) | CLI_BIT(CLI_NU) | CLI_BIT(CLI_METHOD) | CLI_BIT(CLI_KERNEL) |
               CLI_BIT(CLI_GAMMA) | CLI_BIT(CLI_OFFSET) | CLI_BIT(CLI_DEGREE) | CLI_BIT(CLI_GAP) |
               CLI_BIT(CLI_WHITEN) | CLI_BIT(CLI_WEIGHTS) | CLI_BIT(CLI_SQL) | CLI_BIT(CLI_PLOT) |
               CLI_BIT(CLI_FORMAT) | CLI_BIT(CLI_JSON) | CLI_BIT(CLI_QUIET) | CLI_BIT(CLI_THREADS) |
               CLI_BIT(CLI_HELP),
    .requires = CLI_BIT(CLI_OUTPUT),
    .run = run};

/* A ball around data: enclosing, or with a soft margin; as a model file. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/choice_names.h"
#include "capball/advanced/flow.h"
#include "data_file.h"
#include "json_print.h"
#include "plot.h"
#include "show/gnuplot.h"
#include "show/strange.h"

static bool has_kernel(const cli_options *o) { return o->kernel.at != CPB_KERNEL_LINEAR; }

/* The recipe for outliers, also where a share of outliers is given and no other recipe. */
static bool is_robust(const cli_options *o) {
  bool other = o->nu.given || o->whiten || o->standardize || has_kernel(o);
  return o->robust || (o->contamination.given && !other);
}

static int check_kernel(const cli_job *job) {
  const cli_options *o = &job->options;
  bool polynomial = o->kernel.at == CPB_KERNEL_POLYNOMIAL;
  const char *name = cpb_kernel_names[o->kernel.at];
  if (has_kernel(o) && (o->whiten || o->standardize))
    return cli_misuse(job, "--kernel %s does not go with --whiten or --standardize", name);
  if (has_kernel(o) && o->sql != NULL) return cli_misuse(job, "--kernel %s has no SQL", name);
  if (o->gamma.given && !has_kernel(o))
    return cli_misuse(job, "--gamma goes with --kernel rbf or polynomial");
  if ((o->offset.given || o->degree.given) && !polynomial)
    return cli_misuse(job, "--offset and --degree go with --kernel polynomial");
  return CLI_OK;
}

static int check(const cli_job *job) {
  const cli_options *o = &job->options;
  if (!o->nu.given && !is_robust(o) && (o->method.given || has_kernel(o) || o->weights != NULL))
    return cli_misuse(job, "--method, --weights and --kernel rbf or polynomial go with --nu");
  if (o->ridge.given && !o->whiten && !is_robust(o))
    return cli_misuse(job, "--ridge goes with --whiten or --robust");
  if (o->whiten && o->standardize && !is_robust(o) && !(o->ridge.value > 0))
    return cli_misuse(
        job, "--whiten standardises, too: with --standardize give a --ridge, or leave one of the two");
  if (is_robust(o) && (has_kernel(o) || o->method.at != CPB_SVDD_EXACT))
    return cli_misuse(job, "--robust goes with --method exact and no kernel");
  if (o->balls.value == CLI_WORD && !is_robust(o)) return cli_misuse(job, "--balls auto goes with --robust");
  if (o->balls.value > 1 && has_kernel(o)) return cli_misuse(job, "--balls does not go with --kernel");
  return check_kernel(job);
}

static cpb_model_fit_options wish_of(const cli_options *o) {
  cpb_model_fit_options wish;
  cpb_model_fit_options_init(&wish, sizeof wish);
  wish.nu = o->nu.value;
  wish.gap = o->gap.value;
  wish.method = (cpb_svdd_method)o->method.at;
  wish.kernel.kind = (cpb_kernel_kind)o->kernel.at;
  wish.kernel.gamma = o->gamma.value;
  wish.kernel.offset = o->offset.value;
  wish.kernel.degree = (unsigned)o->degree.value;
  wish.whiten = o->whiten;
  wish.standardize = o->standardize;
  wish.ridge = o->ridge.value;
  wish.robust = is_robust(o);
  wish.calibrate = is_robust(o) || o->calibrate;
  wish.balls = (size_t)o->balls.value;
  wish.seed = o->seed.value;
  wish.contamination = o->contamination.value;
  return wish;
}

/* ---- pictures ---- */

static int draw(const cli_input *in, const cpb_model *model) {
  const cli_job *job = in->job;
  cpb_view rows = in->rows;
  double *scores = cli_alloc(rows.rows, sizeof *scores);
  char title[256];
  cpb_error error;
  cpb_out out = cpb_rows_out(scores, CPB_F64, rows.rows, 1);
  show_ball ball = {model, rows, scores};
  cpb_model_options facts = cli_model_options(model);
  show_score_histogram histogram = {scores, NULL, rows.rows, show_edge(&facts)};
  bool plane = in->info.cols == 2 && facts.balls <= 1 && facts.center != NULL;
  snprintf(title, sizeof title, "%s: %s of %zu rows", cli_name(in->info.path),
           plane ? "the ball" : "scores by the ball", rows.rows);
  int result = cpb_model_scores(model, rows, out, cli_exec(job), &error) != CPB_OK
                   ? cli_fail(job, "%s", error.text)
               : plane ? cli_plot_wanted(job, title, show_ball_script, &ball)
                       : cli_plot_wanted(job, title, show_score_script, &histogram);
  free(scores);
  return result;
}

/* ---- the model and what is told of it ---- */

static int write_sql(const cli_job *job, const cpb_model *model) {
  char *text = NULL;
  cpb_error error;
  cpb_status status = cpb_model_to_sql(model, NULL, &text, &error);
  if (status == CPB_OK) {
    size_t length = strlen(text);
    text[length] = '\n'; /* in place of the end */
    status = cpb_write_whole(job->options.sql, text, length + 1, &error);
  }
  cpb_free(text);
  return status == CPB_OK ? CLI_OK : cli_fail(job, "%s", error.text);
}

/* The share of new rows like those of the fit that will score below the threshold. */
static double new_share(const cpb_model *model, const cpb_model_options *m) {
  double p = cpb_model_p_value(model, nextafter(m->threshold, -INFINITY)), n = (double)m->calibrated;
  return (p * (n + 1) - 1) / n;
}

/* A line for each. */
static void tell_notes(const cli_job *job, const char *notes) {
  for (const char *end; notes != NULL && (end = strchr(notes, '\n')) != NULL; notes = end + 1)
    cli_say(job, "%.*s", (int)(end - notes), notes);
}

static int tell(const cli_job *job, const cpb_model *model, const cpb_model_fit_report *report) {
  cpb_model_options m = cli_model_options(model);
  static const char *const kernels[] = {"", "rbf ", "polynomial "};
  const char *how = m.nu == 0 ? "enclosing ball" : cpb_model_method_name(m.method);
  if (m.kernel.kind != CPB_KERNEL_LINEAR && m.method == CPB_MODEL_EXACT) how = "SVDD";
  if (m.balls > 1)
    cli_say(job, "%zu balls of one radius, of %llu to %llu rows each", m.balls,
            (unsigned long long)m.ball_rows[m.balls - 1], (unsigned long long)m.ball_rows[0]);
  cli_say(job, "%s%s: radius %.6g, gap %.2g%s, %zu support vector%s, %llu row%s", kernels[m.kernel.kind], how,
          m.radius, m.gap, m.converged ? "" : " (more than was asked for)", m.support, cli_s(m.support),
          (unsigned long long)m.rows, cli_s(m.rows));
  tell_notes(job, m.notes);
  if (m.threshold != 0) cli_say(job, "outliers: rows with a score below %.6g", m.threshold);
  if (m.calibrated > 0)
    cli_say(job, "p-values from %llu scores; of new rows like these %.2g %% are below %s",
            (unsigned long long)m.calibrated, 100 * new_share(model, &m),
            m.threshold != 0 ? "that score" : "0, outside of the ball");
  if (!job->options.json) return CLI_OK;
  cpb_text *center = m.center != NULL ? cli_json("V", m.center, m.d) : cli_json("null");
  cpb_text *bound = isnan(m.lower_bound) ? cli_json("null") : cli_json("f", m.lower_bound);
  return cli_print_json(
      job,
      cli_json("{s:s, s:s, s:I, s:I, s:o, s:f, s:f, s:f, s:f, s:o, s:b, s:I, s:I, s:f, s:s}", "model",
               job->options.output, "method", cpb_model_method_name(m.method), "dim", (uint64_t)m.d, "rows",
               (uint64_t)m.rows, "center", center, "radius", m.radius, "threshold", m.threshold, "nu", m.nu,
               "gap", m.gap, "lower_bound", bound, "converged", m.converged, "support", (uint64_t)m.support,
               "iterations", (uint64_t)report->iterations, "seconds", report->seconds, "notes", m.notes));
}

static int save(const cli_input *in, const cpb_model *model, const cpb_model_fit_report *report) {
  const cli_job *job = in->job;
  cpb_error error;
  int result = job->options.plot != NULL ? draw(in, model) : CLI_OK;
  if (result == CLI_OK && job->options.sql != NULL) result = write_sql(job, model);
  if (result == CLI_OK && cpb_model_save(model, job->options.output, &error) != CPB_OK)
    result = cli_fail(job, "%s", error.text);
  return result == CLI_OK ? tell(job, model, report) : result;
}

/* A pipe can be read once, and a picture shows the rows: both are held. */
static int hold_where_needed(cli_input *in) {
  bool pipe = strcmp(in->job->operands[0], "-") == 0;
  return pipe || in->job->options.plot != NULL ? cli_input_hold(in) : CLI_OK;
}

/* One per row; where only reading tells how many rows there are they are held. */
static int read_weights(cli_input *in, double **weights) {
  int result = in->source.rows == CPB_ROWS_UNKNOWN ? cli_input_hold(in) : CLI_OK;
  if (result != CLI_OK) return result;
  return cli_read_numbers(in->job, in->job->options.weights, "weights", in->source.rows, weights);
}

static int fit(cli_input *in) {
  const cli_job *job = in->job;
  cpb_model_fit_options wish = wish_of(&job->options);
  cpb_model_fit_report report = {.size = sizeof report};
  cpb_model *model = NULL;
  cpb_error error;
  double *weights = NULL;
  int result = hold_where_needed(in);
  if (result == CLI_OK && job->options.weights != NULL) result = read_weights(in, &weights);
  wish.weights = weights;
  wish.fill = in->fill;
  wish.weight_count = in->source.rows;
  if (result == CLI_OK) {
    cpb_status status = cpb_model_fit(&in->source, &wish, &model, &report, cli_exec(job), &error);
    if (status != CPB_OK)
      result = cli_is_about(&error, "weights") ? cli_fail(job, "%s: %s", job->options.weights, error.text)
                                               : cli_fail_input(in, status, &error);
  }
  if (result == CLI_OK) cli_tell_bad(in);
  if (result == CLI_OK) result = save(in, model, &report);
  cpb_model_free(model);
  free(weights);
  return result;
}

static const char *method_name(size_t i) {
  return i <= CPB_SVDD_CAP_SVM_PAPER ? cpb_model_method_name((cpb_model_method)(i + 1)) : NULL;
}

static CLI_OPTION(output, "output", 'o', CLI_WRITTEN, "MODEL.json", output,
                  "where the model goes; it appears whole or not at all");
static CLI_OPTION(nu, "nu", 'n', CLI_NUMBER, "NU", nu,
                  "the share of the rows that may lie outside (without it none may)", .range = "in (0,1]");
static CLI_OPTION(contamination, "contamination", 0, CLI_NUMBER, "C", contamination,
                  "the model gets a threshold for this share of outliers among the rows; without --nu, "
                  "--standardize, --whiten and --kernel the ball is that of --robust",
                  .range = "in (0,0.5]");
static CLI_OPTION(
    method, "method", 0, CLI_CHOICE, "METHOD", method,
    "exact (default), cap-svm (a linear SVM against one hard negative), or cap-svm-paper (one C for all)",
    .names = method_name);
static CLI_OPTION(kernel, "kernel", 'k', CLI_CHOICE, "KERNEL", kernel,
                  "the kernel:", .list = cpb_kernel_names);
static CLI_OPTION(gamma_option, "gamma", 0, CLI_NUMBER, "GAMMA", gamma,
                  "of the kernels exp(-gamma |x-y|^2) and (gamma <x,y> + offset)^degree (default: 1/columns)",
                  .range = "> 0");
static CLI_OPTION(offset, "offset", 0, CLI_NUMBER, "OFFSET", offset, "of the polynomial kernel",
                  .range = ">= 0", .fallback = "1");
static CLI_OPTION(degree, "degree", 0, CLI_COUNT, "DEGREE", degree, "of the polynomial kernel",
                  .range = "in [1,1000]", .fallback = "3");
static CLI_OPTION(gap, "gap", 0, CLI_NUMBER, "GAP", gap, "wanted relative gap", .range = ">= 0",
                  .fallback = "1e-9");
static CLI_OPTION(weights_option, "weights", 0, CLI_PATH, "FILE", weights,
                  "a vector file with one weight >= 0 per row of DATA; with --nu");
static CLI_OPTION(standardize, "standardize", 's', CLI_FLAG, NULL, standardize,
                  "divide every column by its standard deviation: columns have different units");
static CLI_OPTION(
    robust, "robust", 0, CLI_FLAG, NULL, robust,
    "the recipe for outliers: standardise and whiten by the rows that look most ordinary, and put "
    "the ball around them");
static CLI_OPTION(calibrate, "calibrate", 0, CLI_FLAG, NULL, calibrate,
                  "p-values of new rows, by fits that leave parts of the rows out; --robust has them anyway");
static CLI_OPTION(balls, "balls", 0, CLI_COUNT, "K", balls,
                  "K balls of one radius, for rows in several clouds; rows are scored by the nearest; auto, "
                  "with --robust: one or 16, by what rows tell that a trial has not seen, and says why",
                  .fallback = "1", .word = "auto");
static CLI_OPTION(sql, "sql", 0, CLI_WRITTEN, "FILE.sql", sql,
                  "the ball as a condition on the columns, by their names or as x0, x1, ..");
static CLI_OPTION(plot, "plot", 0, CLI_WRITTEN, "FILE", plot,
                  "draw the ball of two columns, else the scores, by gnuplot: .svg or .png");

CLI_OPTIONS(options, &output, &nu, &contamination, &method, &kernel, &gamma_option, &offset, &degree, &gap,
            &robust, &calibrate, &standardize, &cli_opt_whiten, &cli_opt_ridge, &balls, &cli_opt_seed,
            &weights_option, &sql, &plot, &cli_opt_leave_bad, CLI_OPT_TABLE, &cli_opt_json, &cli_opt_quiet,
            &cli_opt_threads, &cli_opt_help);

const cli_command cli_verb_ball = {
    .verb = "ball",
    .operands = "DATA -o MODEL.json",
    .summary = "the smallest ball around data, hard or with a soft margin, and its proof",
    .formula = "min_c max |x-c|                                                         without --nu, T10\n"
               "min R^2 + 1/(nu n) sum max(0, |x-c|^2 - R^2)                                  --nu NU, T11\n"
               "lower bound: sum a|x|^2 - |sum a x|^2,  sum a = 1,  0 <= a <= 1/(nu n)",
    .text =
        "Without --nu the file is read a few times in constant memory; with it the rows are held. "
        "MODEL.json has centre and radius in the unit of the data, the gap to the lower bound, support "
        "vectors and multipliers, quantiles of the scores, and the ball as a cap (T3) at \"scale\".\n"
        "\"lower_bound\" is what no ball goes below: without --nu a radius, the radius of every enclosing "
        "ball is at least this; with --nu a value of the objective, R^2 plus the slack, in the square of "
        "the unit, null where that is beyond double. \"gap\" is the share of R^2, or of the objective, that "
        "lies above the bound.\n"
        "--standardize takes |W(x-c)| for |x-c|, W with one over the standard deviation of each column: use "
        "it "
        "where columns have different units. --whiten takes W^T W = cov(x)^-1, an ellipsoid: use it where "
        "columns "
        "depend on each other. With both and a --ridge the columns are standardised, and whitened only as "
        "far as the "
        "ridge lets them. Neither changes what is written of the rows: the centre is in their unit.\n"
        "--robust is for outliers that may be many: columns are standardised and whitened (with a ridge of "
        "0.1, if "
        "none is given) by the rows that look most ordinary, at most three quarters of them, found in two "
        "refits; "
        "the ball is that of these rows (--nu 0.9, if none is given), and its radius leaves the share NU of "
        "all "
        "rows outside. What was done about constant columns, columns of two values, heavy tails and few rows "
        "is "
        "said, and stands in MODEL.json as \"notes\".\n"
        "--calibrate, which is part of --robust, fits to parts of the rows as well and scores the others: "
        "the model "
        "has p-values for new rows then, which `capball score --alpha` and --fdr use.\n"
        "Which --nu? About the share of rows that you take for outliers where you know it, and they are to "
        "lie outside. To put rows in order of strangeness take 0.9: the centre then rests on nearly all "
        "rows, and "
        "a few outliers do not move it. docs/explanation/outliers.md has figures.\n"
        "--contamination C puts a threshold into the model, the largest score that at most the share C of "
        "the rows "
        "scores less than: rows below it are outliers, and `capball score`, databases, Python and JavaScript "
        "go by it. "
        "Without it rows outside of the ball, which score less than 0, are.\n"
        "--balls K is for rows in several clouds: rows are grouped by k-means, each group has a ball with a "
        "gap of "
        "its own, and all balls have one radius. A group with less than 1/8 of its even share of the rows "
        "gets "
        "none.\n"
        "--method cap-svm embeds, separates from -e by a linear SVM and goes to its ball, until it rests; "
        "cap-svm-paper does so with one C for all, which leaves no slack to the rows.\n"
        "--kernel rbf or polynomial takes the ball in the kernel's feature space, by any method; radius "
        "and scores are in its unit. Time and memory are for some ten thousand rows.",
    .example = "printf '0,0\\n2,0\\n1,1\\n1,0.5\\n' > points.csv\n"
               "capball ball points.csv -o ball.json --sql -\n"
               "capball ball points.csv -o soft.json --nu 0.5\n"
               "capball ball points.csv -o curved.json --nu 0.5 --kernel rbf --method cap-svm",
    .least = 1,
    .most = 1,
    .options = options,
    .required = 1,
    .check = check,
    .skips_text = true,
    .look = fit};

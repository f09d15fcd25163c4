/* Scores of rows by a model. */
#include <stdlib.h>
#include <string.h>

#include "format_names.h"
#include "data_file.h"
#include "json_print.h"
#include "output.h"
#include "plot.h"
#include "show/score_plot.h"

typedef struct scoring {
  const cli_job *job;
  cpb_model *model;
  double *scores;
  size_t count;
} scoring;

static int write_scores(const scoring *s) {
  const cli_options *o = &s->job->options;
  size_t cols = o->ranks ? 2 : 1;
  double *rows = cli_alloc(s->count * cols, sizeof *rows);
  for (size_t i = 0; i < s->count; i++) {
    rows[i * cols] = s->scores[i];
    if (o->ranks) rows[i * cols + 1] = cpb_model_rank(s->model, s->scores[i]);
  }
  int result =
      cli_write_table(s->job, o->output, o->to, cli_output_dtype(o->output, o->to, o->dtype, CPB_F64),
                      cpb_rows(rows, CPB_F64, s->count, cols));
  free(rows);
  return result;
}

static int tell(const scoring *s, const double *labels, const cpb_ranking *ranking) {
  const cli_job *job = s->job;
  size_t inside = 0;
  for (size_t i = 0; i < s->count; i++) inside += s->scores[i] >= 0;
  cli_say(job, "%zu row%s, %zu inside", s->count, cli_s(s->count), inside);
  if (job->options.json) {
    json_t *object = json_pack("{s:s, s:I, s:I}", "scores", job->options.output, "rows", (json_int_t)s->count,
                               "inside", (json_int_t)inside);
    if (labels != NULL)
      object = cli_json_set(object, "outliers", json_integer((json_int_t)ranking->outliers));
    if (labels != NULL) object = cli_json_set(object, "auc", json_real(ranking->auc));
    if (labels != NULL) object = cli_json_set(object, "average_precision", json_real(ranking->precision));
    return cli_print_json(job, object);
  }
  if (labels != NULL)
    printf("outliers           %zu\nAUC                %.4f\naverage precision  %.4f\n", ranking->outliers,
           ranking->auc, ranking->precision);
  return CLI_OK;
}

static int finish(scoring *s) {
  const cli_options *o = &s->job->options;
  double *labels = NULL;
  cpb_ranking ranking = {.size = sizeof ranking};
  cpb_error error;
  int result = s->count > 0 ? CLI_OK : cli_fail(s->job, "%s has no rows", s->job->operands[0]);
  if (result == CLI_OK && o->labels != NULL)
    result = cli_read_numbers(s->job, o->labels, "labels", s->count, &labels);
  if (result == CLI_OK && labels != NULL &&
      cpb_score_ranking(s->scores, labels, s->count, &ranking, &error) != CPB_OK)
    result = cli_fail(s->job, "%s: %s", o->labels, error.text);
  if (result == CLI_OK && o->plot != NULL) {
    show_score_histogram histogram = {s->scores, labels, s->count};
    result = cli_plot_wanted(s->job, o->plot, show_score_script, &histogram);
  }
  if (result == CLI_OK) result = write_scores(s);
  if (result == CLI_OK) result = tell(s, labels, &ranking);
  free(labels);
  return result;
}

static int check(const cli_job *job) {
  if (job->options.labels != NULL && strcmp(job->options.output, "-") == 0)
    return cli_misuse(job, "with --labels AUC goes to standard output: give --output a name");
  return cli_check_typed(job, job->options.output, job->options.to, "to");
}

static int score(cli_input *in) {
  scoring s = {.job = in->job};
  const char *path = in->job->options.model;
  cpb_error error;
  if (cpb_model_load(path, &s.model, &error) != CPB_OK) return cli_fail(in->job, "%s", error.text);
  int result = cli_input_check_cols(in, cli_model_options(s.model).d, "", path, "scores rows of");
  if (result == CLI_OK) {
    cpb_status status =
        cpb_model_score_source(s.model, &in->source, &s.scores, &s.count, cli_exec(in->job), &error);
    result = status == CPB_OK ? finish(&s) : cli_fail_input(in, status, &error);
  }
  cpb_model_free(s.model);
  cpb_free(s.scores);
  return result;
}

static CLI_OPTION(model, "model", 'm', CLI_PATH, "MODEL.json", model, NULL,
                  "the model that `capball ball` wrote");
static CLI_OPTION(
    labels_option, "labels", 'l', CLI_PATH, "FILE", labels, NULL,
    "a vector file with one number per row, not 0 for an outlier: prints AUC and average precision");
static CLI_OPTION(
    ranks, "ranks", 0, CLI_FLAG, NULL, ranks, NULL,
    "a second column: about the share of the training rows that score no more, from 101 quantiles");
static CLI_OPTION(plot, "plot", 0, CLI_WRITTEN, "FILE", plot, NULL,
                  "draw how many rows score what, by gnuplot: .svg or .png");

CLI_OPTIONS(options, &model, &cli_opt_output, &labels_option, &ranks, &plot, &cli_opt_dtype, &cli_opt_format,
            &cli_opt_external, &cli_opt_to, &cli_opt_json, &cli_opt_quiet, &cli_opt_threads, &cli_opt_help);

const cli_command cli_verb_score = {
    .verb = "score",
    .operands = "-m MODEL.json DATA -o SCORES",
    .summary = "score rows by a ball: inside or outside, and how far",
    .formula = "score = r^2 - |x-c|^2,  >= 0 is inside                                              T3 T11",
    .text = "One number per row, f64 unless --dtype or the format says otherwise. With --labels: AUC and "
            "average precision, the rows with the lowest scores taken as outliers first; ties count half.",
    .example = "printf '0,0\\n2,0\\n1,1\\n1,0.5\\n' > points.csv\n"
               "capball ball points.csv -o ball.json -q\n"
               "printf '1,0\\n5,5\\n' > new.csv\n"
               "printf '0\\n1\\n' > labels.csv\n"
               "capball score -m ball.json new.csv -o scores.csv --ranks --labels labels.csv\n"
               "cat scores.csv",
    .least = 1,
    .most = 1,
    .options = options,
    .required = 2,
    .check = check,
    .look = score};

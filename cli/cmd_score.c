/* Scores of rows by a model. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "doubles.h"
#include "format_names.h"
#include "json_print.h"
#include "score_plot.h"
#include "table_file.h"

typedef struct scoring {
  const cli_job *job;
  cpb_model *model;
  double *scores;
  size_t count, room;
} scoring;

static int score_block(scoring *s, cpb_view block) {
  cpb_error error = {.row = -1};
  if (s->count + block.rows > s->room) {
    s->room = 2 * (s->count + block.rows);
    double *larger = realloc(s->scores, s->room * sizeof *larger);
    if (larger == NULL) return cli_fail(s->job, "no memory for %zu scores", s->room);
    s->scores = larger;
  }
  cpb_out out = cpb_rows_out(s->scores + s->count, CPB_F64, block.rows, 1);
  if (cpb_model_scores(s->model, block, out, cpb_pool_exec(s->job->pool), &error) != CPB_OK)
    return cli_fail_row(s->job, s->job->operands[0], s->count, &error);
  s->count += block.rows;
  return CLI_OK;
}

static int score_file(scoring *s, cpb_reader *reader) {
  cpb_view block;
  cpb_error error;
  for (;;) {
    if (cli_interrupted() != 0) return CLI_FAILED;
    if (cpb_reader_next(reader, 1 << 14, &block, &error) != CPB_OK) return cli_fail(s->job, "%s", error.text);
    if (block.rows == 0) return CLI_OK;
    int result = score_block(s, block);
    if (result != CLI_OK) return result;
  }
}

static int write_scores(const scoring *s) {
  const cli_options *o = &s->job->options;
  size_t cols = o->ranks ? 2 : 1;
  double *rows = cli_alloc(s->count * cols, sizeof *rows);
  for (size_t i = 0; i < s->count; i++) {
    rows[i * cols] = s->scores[i];
    if (o->ranks) rows[i * cols + 1] = cpb_model_rank(s->model, s->scores[i]);
  }
  cpb_writer_options options;
  cpb_writer_options_init(&options, sizeof options);
  options.format = o->to;
  options.dtype = cli_output_dtype(o->output, o->to, o->dtype, CPB_F64);
  options.cols = cols;
  options.rows = s->count;
  cpb_writer *writer = NULL;
  cpb_error error;
  cpb_status status = cpb_writer_open(o->output, &options, &writer, &error);
  if (status == CPB_OK) status = cpb_writer_append(writer, cpb_rows(rows, CPB_F64, s->count, cols), &error);
  if (status == CPB_OK) status = cpb_writer_commit(writer, &error);
  cpb_writer_free(writer);
  free(rows);
  return status == CPB_OK ? CLI_OK : cli_fail(s->job, "%s", error.text);
}

/* ---- against labels ---- */

typedef struct labelled {
  double score;
  bool outlier;
} labelled;

static int lowest_first(const void *a, const void *b) {
  double x = ((const labelled *)a)->score, y = ((const labelled *)b)->score;
  return (x > y) - (x < y);
}

/* AUC: the share of pairs in which the outlier scores lower, ties count half. Average precision: the mean
 * of the precision over the outliers, rows in order of strangeness, ties taken together. */
static int judge(const scoring *s, const double *labels, double *auc, double *precision, size_t *outliers) {
  labelled *all = cli_alloc(s->count, sizeof *all);
  double below = 0, sum = 0;
  size_t found = 0;
  *outliers = 0;
  for (size_t i = 0; i < s->count; i++) {
    all[i] = (labelled){s->scores[i], labels[i] != 0};
    *outliers += all[i].outlier;
  }
  qsort(all, s->count, sizeof *all, lowest_first);
  size_t ordinary = s->count - *outliers;
  for (size_t first = 0, end; first < s->count; first = end) {
    size_t here = 0;
    for (end = first; end < s->count && all[end].score == all[first].score; end++) here += all[end].outlier;
    size_t others = end - first - here;
    double ordinary_before = (double)(first - found);
    below += (double)here * ((double)ordinary - ordinary_before - 0.5 * (double)others);
    found += here;
    sum += (double)here * (double)found / (double)end;
  }
  free(all);
  if (*outliers == 0 || ordinary == 0)
    return cli_fail(s->job, "%s: %zu of %zu labels are not 0: no AUC", s->job->options.labels, *outliers,
                    s->count);
  *auc = below / ((double)*outliers * (double)ordinary);
  *precision = sum / (double)*outliers;
  return CLI_OK;
}

static int tell(const scoring *s, const double *labels, double auc, double precision, size_t outliers) {
  const cli_job *job = s->job;
  size_t inside = 0;
  for (size_t i = 0; i < s->count; i++) inside += s->scores[i] >= 0;
  cli_say(job, "%zu row%s, %zu inside", s->count, cli_s(s->count), inside);
  if (job->options.json) {
    json_t *object = json_pack("{s:s, s:I, s:I}", "scores", job->options.output, "rows", (json_int_t)s->count,
                               "inside", (json_int_t)inside);
    if (labels != NULL) object = cli_json_set(object, "outliers", json_integer((json_int_t)outliers));
    if (labels != NULL) object = cli_json_set(object, "auc", json_real(auc));
    if (labels != NULL) object = cli_json_set(object, "average_precision", json_real(precision));
    return cli_print_json(job, object);
  }
  if (labels != NULL)
    printf("outliers           %zu\nAUC                %.4f\naverage precision  %.4f\n", outliers, auc,
           precision);
  return CLI_OK;
}

static int finish(scoring *s) {
  const cli_options *o = &s->job->options;
  double *labels = NULL, auc = 0, precision = 0;
  size_t outliers = 0;
  int result = s->count > 0 ? CLI_OK : cli_fail(s->job, "%s has no rows", s->job->operands[0]);
  if (result == CLI_OK && o->labels != NULL) {
    result = cli_read_numbers(s->job, o->labels, "labels", s->count, &labels);
    if (result == CLI_OK) result = judge(s, labels, &auc, &precision, &outliers);
  }
  if (result == CLI_OK && o->plot != NULL) {
    cli_score_histogram histogram = {s->scores, labels, s->count};
    result = cli_plot_wanted(s->job, o->plot, cli_write_histogram, &histogram);
  }
  if (result == CLI_OK) result = write_scores(s);
  if (result == CLI_OK) result = tell(s, labels, auc, precision, outliers);
  free(labels);
  return result;
}

static int run(cli_job *job) {
  scoring s = {.job = job};
  cpb_reader *reader;
  cpb_error error;
  if (job->options.labels != NULL && strcmp(job->options.output, "-") == 0)
    return cli_misuse(job, "with --labels AUC goes to standard output: give --output a name");
  int result = cli_check_typed(job, job->options.output, job->options.to, "to");
  if (result == CLI_OK) result = cli_open_reader(job, job->operands[0], job->options.format, &reader);
  if (result != CLI_OK) return result;
  if (cpb_model_load(job->options.model, &s.model, &error) != CPB_OK)
    result = cli_fail(job, "%s", error.text);
  else {
    size_t d = cli_model_options(s.model).d, cols = cpb_reader_info(reader).cols;
    if (d != cols)
      result = cli_fail(job, "%s has %zu column%s, but %s scores rows of %zu", job->operands[0], cols,
                        cli_s(cols), job->options.model, d);
  }
  if (result == CLI_OK) result = score_file(&s, reader);
  if (result == CLI_OK) result = finish(&s);
  cpb_model_free(s.model);
  cpb_reader_free(reader);
  free(s.scores);
  return result;
}

const cli_command cli_verb_score = {
    .verb = "score",
    .operands = "-m MODEL.json DATA -o SCORES",
    .summary = "score rows by a ball: inside or outside, and how far",
    .formula = "score = r^2 - |x-c|^2,  >= 0 is inside                                              T3 T11",
    .text =
        "One number per row, f64 unless --dtype or the format says otherwise. With --labels: AUC and average "
        "precision, the rows with the lowest scores taken as outliers first; ties count half.",
    .example = "printf '0,0\\n2,0\\n1,1\\n1,0.5\\n' > points.csv\n"
               "capball ball points.csv -o ball.json -q\n"
               "printf '1,0\\n5,5\\n' > new.csv\n"
               "printf '0\\n1\\n' > labels.csv\n"
               "capball score -m ball.json new.csv -o scores.csv --ranks --labels labels.csv\n"
               "cat scores.csv",
    .least = 1,
    .most = 1,
    .accepts = CLI_BIT(CLI_MODEL) | CLI_BIT(CLI_OUTPUT) | CLI_BIT(CLI_LABELS) | CLI_BIT(CLI_RANKS) |
               CLI_BIT(CLI_PLOT) | CLI_BIT(CLI_DTYPE) | CLI_BIT(CLI_FORMAT) | CLI_BIT(CLI_TO) |
               CLI_BIT(CLI_JSON) | CLI_BIT(CLI_QUIET) | CLI_BIT(CLI_THREADS) | CLI_BIT(CLI_HELP),
    .requires = CLI_BIT(CLI_MODEL) | CLI_BIT(CLI_OUTPUT),
    .run = run};

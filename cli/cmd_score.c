/* Scores of rows by a model: all of them, the strangest, and why. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "capball/advanced/rounds.h"
#include "data_file.h"
#include "format_names.h"
#include "json_print.h"
#include "output.h"
#include "plot.h"
#include "recommend_commands.h"
#include "score_classes.h"
#include "show/put_text.h"
#include "show/score_page.h"
#include "show/gnuplot.h"

typedef struct scoring {
  const cli_job *job;
  const cli_input *in;
  cpb_model *model;
  cpb_model_options facts;
  double *scores, *labels; /* labels: NULL without them */
  size_t count, inside;
  cpb_ranking ranking;
  show_strange *strange;
  size_t top;
  double *p;   /* p-values; NULL without --alpha and --fdr */
  double most; /* of the p-values of outliers */
} scoring;

static bool has_p(const cli_options *o) { return o->alpha.given || o->fdr.given; }

static bool shows_rows(const cli_options *o) { return o->output == NULL || o->top.given || o->html != NULL; }

/* ---- files ---- */

static int write_scores(const scoring *s) {
  const cli_options *o = &s->job->options;
  size_t cols = 1 + (size_t)o->ranks + (s->p != NULL && !o->predict);
  double *rows = cli_alloc(s->count * cols, sizeof *rows);
  for (size_t i = 0; i < s->count; i++) {
    rows[i * cols] = !o->predict ? s->scores[i] : cpb_model_is_outlier(s->model, s->scores[i]) ? -1 : 1;
    if (o->ranks) rows[i * cols + 1] = cpb_model_rank(s->model, s->scores[i]);
    if (cols > 1 && s->p != NULL) rows[i * cols + cols - 1] = s->p[i];
  }
  cli_output out = {.job = s->job, .rows = s->in};
  int result = cli_output_add(&out, o->output, o->to, cli_output_dtype(o->output, o->to, o->dtype, CPB_F64),
                              cols, s->count,
                              o->predict                 ? "label"
                              : o->ranks && s->p != NULL ? "score,share,p"
                              : o->ranks                 ? "score,share"
                              : s->p != NULL             ? "score,p"
                                                         : "score");
  if (result == CLI_OK) result = cli_output_append(&out, 0, cpb_rows(rows, CPB_F64, s->count, cols));
  free(rows);
  return cli_output_finish(&out, result);
}

static show_scores shown(const scoring *s) {
  return (show_scores){.data = cli_name(s->in->info.path),
                       .model = s->job->options.model,
                       .scored_by = s->model,
                       .facts = &s->facts,
                       .scores = s->scores,
                       .labels = s->labels,
                       .count = s->count,
                       .inside = s->inside,
                       .ranking = s->labels == NULL ? NULL : &s->ranking,
                       .strange = s->strange,
                       .top = s->top,
                       .reader = s->in->reader};
}

static int write_page(const scoring *s) {
  show_scores page = shown(s);
  size_t length = 0;
  char *again = cli_command_again(s->job), *text = NULL;
  page.again = again;
  if (again != NULL) text = show_score_page(&page, &length);
  free(again);
  return cli_write_text(s->job, s->job->options.html, text, length);
}

/* ---- what is told ---- */

static cpb_text *finite_json(double value) {
  return isfinite(value) ? cli_json("f", value) : cli_json("null");
}

static cpb_text *reasons_json(const scoring *s, const show_strange *strange) {
  cpb_text *array = cli_json("[]");
  char buffer[32];
  for (size_t k = 0; k < strange->reason_count; k++) {
    const show_reason *r = &strange->reasons[k];
    const char *name = show_column_name(&s->facts, r->column, buffer, sizeof buffer);
    array = cpb_json_append(array, cli_json("{s:s, s:f, s:f, s:f, s:o, s:o}", "column", name, "value",
                                            r->value, "center", r->center, "share", r->share, "least",
                                            finite_json(r->least), "most", finite_json(r->most)));
  }
  return array;
}

static cpb_text *strange_json(const scoring *s) {
  cpb_text *array = cli_json("[]");
  for (size_t i = 0; i < s->top; i++) {
    const show_strange *strange = &s->strange[i];
    const char *id = cpb_reader_id(s->in->reader, strange->row);
    cpb_text *one = cli_json("{s:I, s:I, s:f, s:b, s:o}", "rank", (uint64_t)(i + 1), "row",
                             (uint64_t)cpb_reader_row(s->in->reader, strange->row), "score", strange->score,
                             "outlier", (int)strange->outlier, "columns", reasons_json(s, strange));
    if (id != NULL) one = cpb_json_set(one, "id", cli_json("s", id));
    if (s->p != NULL) one = cpb_json_set(one, "p", cli_json("f", s->p[strange->row]));
    if (!isnan(strange->rank)) one = cpb_json_set(one, "share", cli_json("f", strange->rank));
    array = cpb_json_append(array, one);
  }
  return array;
}

static int tell_json(const scoring *s) {
  const char *output = s->job->options.output;
  cpb_text *object = cli_json("{s:s, s:I, s:I, s:f}", "scores", output, "rows", (uint64_t)s->count, "inside",
                              (uint64_t)s->inside, "threshold", s->facts.threshold);
  if (s->p != NULL) object = cpb_json_set(object, "p_outlier", cli_json("f", s->most));
  if (s->labels != NULL) {
    object = cpb_json_set(object, "outliers", cli_json("I", (uint64_t)s->ranking.outliers));
    object = cpb_json_set(object, "auc", cli_json("f", s->ranking.auc));
    object = cpb_json_set(object, "average_precision", cli_json("f", s->ranking.precision));
  }
  if (s->top > 0) object = cpb_json_set(object, "top", strange_json(s));
  return cli_print_json(s->job, object);
}

static int tell(const scoring *s) {
  const cli_options *o = &s->job->options;
  if (s->p != NULL)
    cli_say(s->job, "%zu row%s, %zu outlier%s (p at most %.4g)", s->count, cli_s(s->count),
            s->count - s->inside, cli_s(s->count - s->inside), s->most);
  else if (s->facts.threshold == 0)
    cli_say(s->job, "%zu row%s, %zu inside", s->count, cli_s(s->count), s->inside);
  else
    cli_say(s->job, "%zu row%s, %zu outlier%s (score below %.6g)", s->count, cli_s(s->count),
            s->count - s->inside, cli_s(s->count - s->inside), s->facts.threshold);
  if (o->json) return tell_json(s);
  if (s->labels != NULL)
    printf("outliers           %zu\nAUC                %.4f\naverage precision  %.4f\n", s->ranking.outliers,
           s->ranking.auc, s->ranking.precision);
  if (o->top.given || (o->output == NULL && o->html == NULL)) {
    show_scores page = shown(s);
    show_score_table(&page, stdout);
  }
  return CLI_OK;
}

/* ---- labels ---- */

/* 1 and -1 as scikit-learn has them, or 0 and anything else. */
static void turn_labels(double *labels, size_t count) {
  bool signs = true, negative = false;
  for (size_t i = 0; i < count; i++) {
    signs = signs && fabs(labels[i]) == 1;
    negative = negative || labels[i] == -1;
  }
  for (size_t i = 0; i < count && signs && negative; i++) labels[i] = labels[i] == -1;
}

static int take_label_column(scoring *s) {
  s->labels = cli_alloc(s->count, sizeof *s->labels);
  for (size_t i = 0; i < s->count; i++) {
    const char *text = cpb_reader_label(s->in->reader, i);
    char *end = NULL;
    s->labels[i] = text == NULL ? NAN : strtod(text, &end);
    if (text == NULL || end == text || *end != 0)
      return cli_fail(s->job, "%s: row %zu: the label \"%s\" is no number", cli_name(s->in->info.path), i,
                      text == NULL ? "" : text);
  }
  return CLI_OK;
}

static int read_labels(scoring *s) {
  const cli_options *o = &s->job->options;
  cpb_error error;
  if (o->labels == NULL && o->label_column == NULL) return CLI_OK;
  int result = o->labels != NULL ? cli_read_numbers(s->job, o->labels, "labels", s->count, &s->labels)
                                 : take_label_column(s);
  if (result != CLI_OK) return result;
  turn_labels(s->labels, s->count);
  s->ranking.size = sizeof s->ranking;
  if (cpb_score_ranking(s->scores, s->labels, s->count, &s->ranking, &error) == CPB_OK) return CLI_OK;
  return cli_fail(s->job, "%s: %s", o->labels != NULL ? o->labels : o->label_column, error.text);
}

/* ---- the job ---- */

static void find_strange(scoring *s) {
  size_t wanted = (size_t)s->job->options.top.value;
  s->top = wanted < s->count ? wanted : s->count;
  s->strange = cli_alloc(s->top, sizeof *s->strange);
  show_strange_find(s->model, s->in->rows, s->scores, s->count, s->top, s->strange);
}

/* p-values; and the model with the threshold that separates those of outliers: p falls with the score. */
static int find_p(scoring *s) {
  const cli_options *o = &s->job->options;
  cpb_error error;
  cpb_model *cut;
  if (!has_p(o)) return CLI_OK;
  if (s->facts.calibrated == 0)
    return cli_fail(s->job, "%s has no p-values: make it with `capball ball --calibrate` or --robust",
                    o->model);
  s->p = cli_alloc(s->count, sizeof *s->p);
  for (size_t i = 0; i < s->count; i++) s->p[i] = cpb_model_p_value(s->model, s->scores[i]);
  s->most = o->alpha.value;
  if (o->fdr.given && cpb_discoveries(s->p, s->count, o->fdr.value, &s->most, &error) != CPB_OK)
    return cli_fail(s->job, "%s", error.text);
  s->facts.threshold = DBL_MAX;
  for (size_t i = 0; i < s->count; i++)
    if (s->p[i] > s->most) s->facts.threshold = fmin(s->facts.threshold, s->scores[i]);
  if (cpb_model_new(&s->facts, &cut, &error) != CPB_OK) return cli_fail(s->job, "%s", error.text);
  cpb_model_free(s->model);
  s->model = cut;
  s->facts = cli_model_options(cut);
  return CLI_OK;
}

static int finish(scoring *s) {
  const cli_options *o = &s->job->options;
  if (s->count == 0) return cli_fail(s->job, "%s has no rows", cli_name(s->in->info.path));
  if (find_p(s) != CLI_OK) return CLI_FAILED;
  for (size_t i = 0; i < s->count; i++) s->inside += !cpb_model_is_outlier(s->model, s->scores[i]);
  int result = read_labels(s);
  if (result == CLI_OK && shows_rows(o)) find_strange(s);
  if (result == CLI_OK && o->plot != NULL) {
    show_score_histogram histogram = {s->scores, s->labels, s->count, show_edge(&s->facts)};
    char title[256];
    snprintf(title, sizeof title, "%s: scores of %zu rows by %s", cli_name(s->in->info.path), s->count,
             o->model);
    result = cli_plot_wanted(s->job, title, show_score_script, &histogram);
  }
  if (result == CLI_OK && o->html != NULL) result = write_page(s);
  if (result == CLI_OK && o->output != NULL) result = write_scores(s);
  if (result == CLI_OK) cli_tell_bad(s->in);
  return result == CLI_OK ? tell(s) : result;
}

static int check(const cli_job *job) {
  const cli_options *o = &job->options;
  bool tells = o->labels != NULL || o->label_column != NULL || o->top.given;
  if (o->labels != NULL && o->label_column != NULL)
    return cli_misuse(job, "--labels and --label-column: give one of the two");
  if (o->predict && o->ranks) return cli_misuse(job, "--predict and --ranks: give one of the two");
  if (o->alpha.given && o->fdr.given) return cli_misuse(job, "--alpha and --fdr: give one of the two");
  if (o->output == NULL) return CLI_OK;
  if (tells && strcmp(o->output, "-") == 0)
    return cli_misuse(job, "AUC and the strangest rows go to standard output: give --output a name");
  return cli_check_typed(job, o->output, o->to, "to");
}

static int score_by_classes(cli_input *in, const cpb_error *why) {
  cpb_classes *classes;
  cpb_error error;
  cpb_status status = cpb_classes_load(in->job->options.model, &classes, &error);
  if (status != CPB_OK)
    return cli_fail(in->job, "%s", error.reason == CPB_WHY_FOREIGN ? why->text : error.text);
  int result = cli_score_classes(in, classes);
  cpb_classes_free(classes);
  return result;
}

static int score(cli_input *in) {
  scoring s = {.job = in->job, .in = in};
  cpb_error error;
  if (cpb_model_load(in->job->options.model, &s.model, &error) != CPB_OK)
    return error.reason == CPB_WHY_FOREIGN ? score_by_classes(in, &error)
                                           : cli_fail(in->job, "%s", error.text);
  s.facts = cli_model_options(s.model);
  int result = cli_input_match_filled(in, &s.facts, in->job->options.model);
  if (result == CLI_OK && shows_rows(&in->job->options)) result = cli_input_hold(in);
  if (result == CLI_OK) {
    cpb_status status =
        cpb_model_score_source(s.model, &in->source, &s.scores, &s.count, cli_exec(in->job), &error);
    result = status == CPB_OK ? finish(&s) : cli_fail_input(in, status, &error);
  }
  cpb_model_free(s.model);
  cpb_free(s.scores);
  free(s.labels);
  free(s.p);
  free(s.strange);
  return result;
}

static CLI_OPTION(model, "model", 'm', CLI_PATH, "MODEL.json", model, "the model that `capball ball` wrote");
static CLI_OPTION(output, "output", 'o', CLI_WRITTEN, "SCORES", output,
                  "a file of all scores, in the order of the rows");
static CLI_OPTION(
    top, "top", 0, CLI_COUNT, "N", top,
    "print the N strangest rows, and the columns that make them so; without a file they are printed anyway",
    .fallback = "20");
static CLI_OPTION(html, "html", 0, CLI_WRITTEN, "PAGE.html", html,
                  "a page: the strangest rows, why they are strange, and how all rows score");
static CLI_OPTION(predict, "predict", 0, CLI_FLAG, NULL, predict,
                  "write -1 for an outlier and 1 for others, as scikit-learn does, instead of scores");
static CLI_OPTION(labels_option, "labels", 'l', CLI_PATH, "FILE", labels,
                  "a vector file with one number per row, not 0 for an outlier, or 1 and -1 with -1 for an "
                  "outlier: prints AUC and average precision");
static CLI_OPTION(
    ranks, "ranks", 0, CLI_FLAG, NULL, ranks,
    "a second column: about the share of the training rows that score no more, from up to 1001 quantiles");
static CLI_OPTION(
    alpha, "alpha", 0, CLI_NUMBER, "A", alpha,
    "outliers are rows with a p-value of at most A: of new ordinary rows at most that share; p is a "
    "further column of SCORES",
    .range = "in (0,1)");
static CLI_OPTION(
    fdr, "fdr", 0, CLI_NUMBER, "Q", fdr,
    "outliers are as many rows as have a false-discovery rate of at most Q: among them about the "
    "share Q is ordinary, at most; p is a further column of SCORES",
    .range = "in (0,1)");
static CLI_OPTION(plot, "plot", 0, CLI_WRITTEN, "FILE", plot,
                  "draw how many rows score what, by gnuplot: .svg or .png");

CLI_OPTIONS(options, &model, &output, &top, &html, &predict, &ranks, &alpha, &fdr, &labels_option,
            &cli_opt_label_column, &plot, &cli_opt_dtype, &cli_opt_leave_bad, CLI_OPT_TABLE, &cli_opt_to,
            &cli_opt_bare, &cli_opt_json, &cli_opt_quiet, &cli_opt_threads, &cli_opt_help);

const cli_command cli_verb_score = {
    .verb = "score",
    .operands = "-m MODEL.json DATA",
    .summary = "score rows by a ball or by classes: inside or outside, how far, and why",
    .formula = "score = r^2 - |x-c|^2,  >= 0 is inside                                      T3 T11",
    .text =
        "-o writes one number per row, f64 unless --dtype or the format says otherwise; in csv and tsv "
        "behind the name of the row, where rows have names. --top prints the "
        "rows with the lowest scores: rank, row, score, the share of the training rows that score no "
        "more, and the three columns that add most to |W(x-c)|^2, + where the row is above the centre. "
        "Where model and DATA have names for their columns, columns are found by name. Empty cells "
        "become what "
        "the --impute of the fit put there, which the model has kept.\n"
        "A row is an outlier if it scores less than the model's threshold, which is 0, the edge of the "
        "ball, unless "
        "the model was made with --contamination; with --alpha or --fdr if its p-value is small enough. The "
        "p-value of a row is the share, rounded up, of rows that the fit had not seen that score no more "
        "(`capball ball --robust` or --calibrate). It is for new rows: those of the fit have none.\n"
        "A model may also be a region that Python has saved, whose inside scores >= 0, or classes (save of "
        "BallClassifier): then -o writes for every row the number of its class and the probability of each "
        "class, with --predict only the number, and without a file the rows of each class are counted.\n"
        "With labels: AUC and average precision, the rows with the lowest scores taken as outliers "
        "first; ties count half.",
    .example = "printf 'height,weight\\n170,65\\n180,80\\n160,55\\n175,72\\n168,60\\n' > people.csv\n"
               "capball ball people.csv -o ball.json --nu 0.5 --standardize -q\n"
               "printf 'name,weight,height\\nAda,66,171\\nBo,120,165\\n' > new.csv\n"
               "capball score -m ball.json new.csv --id-column name --top 2\n"
               "capball score -m ball.json new.csv --id-column name -o scores.csv --ranks\n"
               "cat scores.csv",
    .least = 1,
    .most = 1,
    .options = options,
    .required = 1,
    .check = check,
    .matches = true,
    .skips_text = true,
    .look = score};

/* Recall of codes over their bytes, on a sample: how many bytes the data need. */
#include "capball/advanced/statistics.h"
#include "capball/advanced/estimator.h"
#include "choice_json.h"
#include "data_file.h"
#include "plot.h"

enum { SIZES = 6 };

typedef struct findings {
  cpb_sketch_options at[SIZES]; /* without what their pointers view */
  cpb_curve_point points[SIZES];
  size_t count, rows;
  uint64_t of;
} findings;

static const size_t sizes[SIZES] = {4, 8, 16, 32, 64, 128};

static int measure(const cli_job *job, cpb_view sample, findings *f) {
  for (size_t i = 0; i < SIZES; i++) {
    cpb_sketch_training training;
    cpb_sketch_fit_options wish;
    cpb_sketch *sketch;
    cpb_error error;
    cpb_sketch_training_init(&training, sizeof training);
    cpb_sketch_fit_options_init(&wish, sizeof wish);
    training.bytes = sizes[i];
    training.seed = job->options.seed.value;
    wish.training = &training;
    cpb_source rows = cpb_source_from_view(sample);
    if (cpb_sketch_fit(&rows, &wish, &sketch, NULL, cli_exec(job), &error) != CPB_OK)
      return cli_fail(job, "%s: %s", job->operands[0], error.text);
    f->at[i] = (cpb_sketch_options){.size = sizeof f->at[i]};
    cpb_sketch_describe(sketch, &f->at[i]);
    cpb_sketch_free(sketch);
    if (!(f->at[i].recall[0] >= 0))
      return cli_fail(job, "%s has too few rows to measure recall", job->operands[0]);
    f->points[i] = (cpb_curve_point){(double)sizes[i], f->at[i].recall[0]};
    f->count = i + 1;
  }
  return CLI_OK;
}

static void write_script(const void *arg, FILE *to) {
  const findings *f = arg;
  fputs("set logscale x 2\nset xlabel 'bytes of a code'\nset ylabel 'recall of estimates alone'\nset yrange "
        "[0:1.02]\n"
        "set border 3\nset tics nomirror\nset key bottom right\n"
        "plot '-' with linespoints lw 2 pt 7 lc rgb '#1864ab' title 'of the 10 nearest among 10', "
        "'-' with linespoints lw 2 pt 7 lc rgb '#2b8a3e' title 'among 100'\n",
        to);
  for (int which = 0; which < 2; which++) {
    for (size_t i = 0; i < f->count; i++) fprintf(to, "%zu %.17g\n", sizes[i], f->at[i].recall[which]);
    fputs("e\n", to);
  }
}

static int print(const cli_job *job, const findings *f) {
  cpb_text *curve = job->options.json ? cli_json("[]") : NULL;
  if (curve == NULL) printf("bytes\tused\tform\t10@10\t10@100\n");
  for (size_t i = 0; i < f->count; i++) {
    const cpb_sketch_options *o = &f->at[i];
    if (curve == NULL)
      printf("%zu\t%zu\t%s\t%.4f\t%.4f\n", sizes[i], o->code_bytes, cpb_estimator_form_name(o->form),
             o->recall[0], o->recall[1]);
    else
      curve =
          cpb_json_append(curve, cli_json("{s:I, s:I, s:s, s:f, s:f}", "bytes", (uint64_t)sizes[i], "used",
                                          (uint64_t)o->code_bytes, "form", cpb_estimator_form_name(o->form),
                                          "at_10", o->recall[0], "at_100", o->recall[1]));
  }
  if (curve == NULL) return CLI_OK;
  return cli_print_json(
      job, cli_json("{s:I, s:I, s:o}", "rows", f->of, "sample", (uint64_t)f->rows, "curve", curve));
}

static int report(const cli_job *job, const findings *f) {
  bool drawn = false;
  if (f->rows < f->of) cli_say(job, "measured on %zu of %llu rows", f->rows, (unsigned long long)f->of);
  int result = job->options.plot != NULL
                   ? cli_plot(job, "Recall of estimates over the bytes of a code", write_script, f, &drawn)
                   : CLI_OK;
  if (result == CLI_OK && job->options.plot != NULL && !drawn)
    cli_say(job, "gnuplot is not installed; the curve is printed as text");
  if (result == CLI_OK && !drawn) cli_draw_bars(job, f->points, f->count, "10@10");
  return result == CLI_OK ? print(job, f) : result;
}

static int look(cli_input *in) {
  cpb_statistics *gathered = NULL;
  cpb_statistics_result facts;
  findings f = {.count = 0};
  int result = cli_sample(in, &gathered, &facts);
  f.rows = result == CLI_OK ? facts.sample.rows : 0;
  f.of = result == CLI_OK ? facts.rows : 0;
  if (result == CLI_OK) result = measure(in->job, facts.sample, &f);
  if (result == CLI_OK) result = report(in->job, &f);
  cpb_statistics_free(gathered);
  return result;
}

static CLI_OPTION(sample, "sample", 0, CLI_COUNT, "N", sample, "rows of the sample that is measured",
                  .fallback = "16384");

CLI_OPTIONS(options, &cli_opt_plot, &sample, &cli_opt_seed, &cli_opt_skip_bad, CLI_OPT_TABLE, &cli_opt_json,
            &cli_opt_quiet, &cli_opt_threads, &cli_opt_help);

const cli_command cli_verb_sketch_curve = {
    .verb = "sketch curve",
    .operands = "DATA",
    .summary = "recall over bytes: how many bytes the data need",
    .formula = "recall: how many of the 10 nearest rows are among the 10, and the 100, best estimates        "
               "    T14",
    .text = "Trains sketches of 4 to 128 bytes on a sample, and prints how many of the nearest rows of "
            "held-out queries their "
            "estimates find, without reading rows. A row that is among 100 estimates is found by `capball "
            "sketch search --base`, "
            "which reads these. Rows of the sample are farther apart than those of all data.",
    .example = "seq 1 500 | awk -v OFS=, '{ print sin($1), sin(2*$1), cos($1*$1) }' > points.csv\n"
               "capball sketch curve points.csv",
    .least = 1,
    .most = 1,
    .options = options,
    .look = look};

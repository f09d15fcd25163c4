/* Cosines of pairs before and after the embedding, as in the paper's other figure. */
#include <stdlib.h>

#include "capball/advanced/fitting.h"
#include "data_file.h"
#include "json_print.h"
#include "plot.h"

enum { DRAWN = 10000 };

static void write_script(const void *arg, FILE *to) {
  const cpb_cosines *c = arg;
  size_t step = c->pairs / DRAWN + 1;
  fprintf(to,
          "set xlabel 'cosine before'\nset ylabel 'cosine after, s = %.4g'\nset xrange [-1:1]\nset yrange "
          "[-1:1]\n"
          "set key top left\nplot '-' with dots lc rgb '#1864ab' title 'pairs', x dt 2 lc rgb '#888888' "
          "title 'equal'\n",
          c->s);
  for (size_t i = 0; i < c->pairs; i += step) fprintf(to, "%.6f %.6f\n", c->before[i], c->after[i]);
  fputs("e\n", to);
}

/* The mean cosine after the embedding, in ten equal intervals of the cosine before. */
static void draw_text(const cli_job *job, const cpb_cosines *c) {
  enum { PARTS = 10 };
  cpb_curve_point points[PARTS];
  size_t used = 0;
  for (int part = 0; part < PARTS; part++) {
    double low = -1 + 2. * part / PARTS, high = low + 2. / PARTS, sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < c->pairs; i++)
      if (c->before[i] >= low && (c->before[i] < high || part == PARTS - 1)) {
        sum += c->after[i];
        count++;
      }
    if (count > 0) points[used++] = (cpb_curve_point){(low + high) / 2, sum / (double)count};
  }
  cli_draw_bars(job, points, used, "after");
}

static int report(const cli_job *job, const cpb_cosines *c) {
  bool drawn = false;
  if (job->options.plot != NULL) {
    int result = cli_plot(job, "Cosines of pairs before and after the embedding", write_script, c, &drawn);
    if (result != CLI_OK) return result;
    if (!drawn) {
      cli_say(job, "gnuplot is not installed; the curve is printed as text");
      draw_text(job, c);
    }
  }
  if (job->options.json)
    return cli_print_json(job,
                          cli_json("{s:f, s:I, s:f, s:f, s:f}", "scale", c->s, "pairs", (uint64_t)c->pairs,
                                   "correlation", c->correlation, "slope", c->slope, "rms", c->rms));
  printf("scale\t%.9g\npairs\t%zu\ncorrelation\t%.9g\nslope\t%.9g\nrms\t%.9g\n", c->s, c->pairs,
         c->correlation, c->slope, c->rms);
  return CLI_OK;
}

static int compare(cli_input *in) {
  const cli_options *o = &in->job->options;
  cpb_cosines_options options;
  cpb_cosines cosines = {.size = sizeof cosines};
  cpb_error error;
  cpb_cosines_options_init(&options, sizeof options);
  options.s = o->scale.value;
  options.seed = o->seed.value;
  options.skip_bad = o->skip_bad;
  options.sample = (size_t)o->sample.value;
  cpb_status status = cpb_cosines_fit(&in->source, &options, &cosines, cli_exec(in->job), &error);
  if (status != CPB_OK) return cli_fail_input(in, status, &error);
  int result = report(in->job, &cosines);
  cpb_free(cosines.before);
  cpb_free(cosines.after);
  return result;
}

static CLI_OPTION(scale, "scale", 's', CLI_NUMBER, "S", scale,
                  "the scale s > 0 (default: the mean norm of the sample about its mean)", .range = "> 0");
static CLI_OPTION(sample, "sample", 0, CLI_COUNT, "N", sample,
                  "rows of the sample; all pairs of them are used", .fallback = "500");

CLI_OPTIONS(options, &scale, &sample, &cli_opt_plot, &cli_opt_seed, &cli_opt_skip_bad, CLI_OPT_TABLE,
            &cli_opt_json, &cli_opt_quiet, &cli_opt_threads, &cli_opt_help);

const cli_command cli_verb_cosines = {
    .verb = "cosines",
    .operands = "DATA",
    .summary = "cosines of pairs of rows, before and after the embedding",
    .formula = "cos(x-m, y-m) against <S(x-m), S(y-m)>                            T8 T9\nm = mean x,  s = "
               "mean |x-m| or --scale",
    .text = "Compares the cosines of all pairs of a sample (--sample, default 500 rows) before and after the "
            "embedding: prints their correlation, the slope of the regression line, and the root mean square "
            "of the difference. If all norms are close to s, the embedding preserves cosines.",
    .example = "seq 1 500 | awk -v OFS=, '{ print sin($1), sin(2*$1), cos($1*$1) }' > points.csv\n"
               "capball cosines points.csv",
    .least = 1,
    .most = 1,
    .options = options,
    .look = compare};

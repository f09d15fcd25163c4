/* The intrinsic dimension of a file, and of its embedding as a function of s, as in the paper's figure. */
#include <math.h>
#include <stdlib.h>

#include "capball/advanced/abid.h"
#include "choice_json.h"
#include "data_file.h"
#include "plot.h"

enum { CURVE = 20, MAXIMA = 8, FINE = 200 };

typedef struct findings {
  double original, distinct, mean_norm;
  size_t rows;
  uint64_t of;
  cpb_abid_curve *curve;
  cpb_curve_point points[CURVE];
  cpb_abid_maximum maxima[MAXIMA];
  size_t found;
} findings;

static double value_at(const findings *f, double s) {
  double abid;
  return cpb_abid_curve_at(f->curve, s, CPB_PAIRS_ALL, &abid, NULL, NULL) == CPB_OK ? abid : NAN;
}

static cpb_status measure(const cpb_statistics_result *facts, const cpb_exec *exec, findings *f,
                          cpb_error *error) {
  cpb_status status = cpb_abid_original(facts->sample, facts->mean, CPB_PAIRS_ALL, &f->original, exec, error);
  if (status == CPB_OK)
    status = cpb_abid_original(facts->sample, facts->mean, CPB_PAIRS_DISTINCT, &f->distinct, exec, error);
  if (status != CPB_OK) return status;
  status = cpb_abid_curve_new(facts->sample, facts->mean, 0, &f->curve, exec, error);
  if (status != CPB_OK) return status;
  f->rows = facts->sample.rows;
  f->of = facts->rows;
  f->mean_norm = cpb_abid_curve_mean_norm(f->curve);
  for (size_t i = 0; i < CURVE; i++) {
    double s = f->mean_norm / 10 * cli_power(100, (double)i / (CURVE - 1));
    f->points[i] = (cpb_curve_point){s, value_at(f, s)};
  }
  return cpb_abid_curve_maxima(f->curve, f->mean_norm / 10, f->mean_norm * 10, CPB_PAIRS_ALL, f->maxima,
                               MAXIMA, &f->found, error);
}

/* The frame ends where the curve does; names stand at the lines they belong to. */
static void write_script(const void *arg, FILE *to) {
  const findings *f = arg;
  double reach = cli_power(10, 1.1);
  fprintf(to,
          "set logscale x\nset xlabel 'scale s'\nset ylabel 'ABID'\nset yrange [0:*]\nset offsets 0, 0, "
          "graph 0.08, 0\nunset key\n"
          "set xrange [%.17g:%.17g] noextend\nset border 3\nset tics nomirror\n"
          "set label 'original rows' at graph 0.99, first %.17g right offset 0,0.6 tc rgb '#2b8a3e'\n",
          f->mean_norm / reach, f->mean_norm * reach, f->original);
  static const struct {
    double factor;
    const char *name;
  } norms[] = {{0.1, "1/10"}, {1, "mean norm"}, {10, "10"}};
  for (size_t i = 0; i < sizeof norms / sizeof *norms; i++)
    fprintf(to,
            "set arrow from %.17g, graph 0 to %.17g, graph 1 nohead dt 3 lc rgb '#888888'\n"
            "set label '%s' at %.17g, graph 0.04 offset 0.5,0\n",
            f->mean_norm * norms[i].factor, f->mean_norm * norms[i].factor, norms[i].name,
            f->mean_norm * norms[i].factor);
  fprintf(to,
          "plot '-' with lines lw 2 lc rgb '#1864ab', '-' using 1:2:(sprintf('%%.3g at s = %%.3g', $2, $1)) "
          "with labels point pt 7 lc rgb '#d9480f' offset 0,0.9, %.17g dt 4 lc rgb '#2b8a3e'\n",
          f->original);
  for (int i = 0; i <= FINE; i++) {
    double s = f->mean_norm * cli_power(10, 2.2 * i / FINE) / reach;
    fprintf(to, "%.17g %.17g\n", s, value_at(f, s));
  }
  fputs("e\n", to);
  for (size_t i = 0; i < f->found; i++) fprintf(to, "%.17g %.17g\n", f->maxima[i].s, f->maxima[i].abid);
  fputs("e\n", to);
}

static int print(const cli_job *job, const findings *f) {
  if (job->options.json)
    return cli_print_json(
        job, cli_json("{s:f, s:o, s:f, s:I, s:I, s:o, s:o}", "abid", f->original, "abid_distinct",
                      isfinite(f->distinct) ? cli_json("f", f->distinct) : cli_json("null"), "mean_norm",
                      f->mean_norm, "rows", (uint64_t)f->of, "sample", (uint64_t)f->rows, "curve",
                      cli_json_curve(f->points, CURVE), "maxima", cli_json_maxima(f->maxima, f->found)));
  printf("abid\t%.9g\nmean_norm\t%.9g\nat_mean_norm\t%.9g\n", f->original, f->mean_norm,
         value_at(f, f->mean_norm));
  for (size_t i = 0; i < f->found; i++)
    printf("maximum\t%.9g\t%.9g\t%.4f of the mean norm\n", f->maxima[i].s, f->maxima[i].abid,
           f->maxima[i].s / f->mean_norm);
  if (job->options.sweep)
    for (size_t i = 0; i < CURVE; i++) printf("curve\t%.9g\t%.9g\n", f->points[i].s, f->points[i].value);
  return CLI_OK;
}

static int report(const cli_job *job, const findings *f) {
  int result = CLI_OK;
  bool drawn = false;
  if (f->rows < f->of) cli_say(job, "measured on %zu of %llu rows", f->rows, (unsigned long long)f->of);
  if (job->options.plot != NULL) {
    result = cli_plot(job, "Intrinsic dimension of the embedding over the scale", write_script, f, &drawn);
    if (result == CLI_OK && !drawn) cli_say(job, "gnuplot is not installed; the curve is printed as text");
  }
  if (result == CLI_OK && !drawn && (job->options.sweep || job->options.plot != NULL))
    cli_draw_bars(job, f->points, CURVE, "ABID");
  return result == CLI_OK ? print(job, f) : result;
}

static int look(cli_input *in) {
  const cli_job *job = in->job;
  cpb_statistics *gathered = NULL;
  cpb_statistics_result facts;
  findings f = {0};
  int result = cli_sample(in, &gathered, &facts);
  cpb_error error;
  if (result == CLI_OK && measure(&facts, cli_exec(job), &f, &error) != CPB_OK)
    result = cli_fail(job, "%s: %s", job->operands[0], error.text);
  if (result == CLI_OK) result = report(job, &f);
  cpb_abid_curve_free(f.curve);
  cpb_statistics_free(gathered);
  return result;
}

static CLI_OPTION(sweep, "sweep", 0, CLI_FLAG, NULL, sweep, "print the curve as a function of s");

CLI_OPTIONS(options, &sweep, &cli_opt_plot, &cli_opt_sample, &cli_opt_seed, &cli_opt_skip_bad, CLI_OPT_TABLE,
            &cli_opt_json, &cli_opt_quiet, &cli_opt_threads, &cli_opt_help);

const cli_command cli_verb_abid = {
    .verb = "abid",
    .operands = "DATA",
    .summary = "intrinsic dimension of data, and of their embedding as a function of s",
    .formula = "ABID = 1 / mean cos^2 = n^2 / |Y^T Y|_F^2                            T9\nrows of Y: x-mean, "
               "or S(x-mean), divided by its norm",
    .text = "Prints ABID of the rows about their mean, with each row paired with itself as in the definition "
            "of the estimator; the mean norm; and the maxima of ABID of the embedding for s from 0.1 to 10 "
            "times the mean norm. There are often two, with the mean norm in the dip between them.\n"
            "Measured on a sample of --sample rows, or on all rows if there are fewer.",
    .example = "seq 1 500 | awk -v OFS=, '{ print sin($1), sin(2*$1), cos($1*$1) }' > points.csv\n"
               "capball abid points.csv --sweep",
    .least = 1,
    .most = 1,
    .options = options,
    .look = look};

/* Cosines of pairs before and after the embedding: the paper's other figure. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "doubles.h"
#include "gather.h"
#include "json_print.h"
#include "plot.h"

enum { DRAWN = 10000 };

typedef struct comparison {
  double s;
  size_t pairs;
  double *before, *after; /* pairs */
  double correlation, slope, rms;
} comparison;

static double cosine(const double *x, const double *y, size_t d) {
  return cli_dot(x, y, d) / (cli_norm(x, d) * cli_norm(y, d));
}

static double mean_of(const double *x, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += x[i];
  return sum / (double)n;
}

static void compare(comparison *c) {
  double a = mean_of(c->before, c->pairs), b = mean_of(c->after, c->pairs), aa = 0, ab = 0, bb = 0,
         square = 0;
  for (size_t i = 0; i < c->pairs; i++) {
    double x = c->before[i], y = c->after[i];
    aa += (x - a) * (x - a);
    ab += (x - a) * (y - b);
    bb += (y - b) * (y - b);
    square += (y - x) * (y - x);
  }
  c->correlation = ab / sqrt(aa * bb);
  c->slope = ab / aa;
  c->rms = sqrt(square / (double)c->pairs);
}

/* All pairs of rows that have a direction. */
static void fill_pairs(const double *rows, const double *embedded, size_t n, size_t d, comparison *c) {
  c->before = cli_alloc(n * n / 2 + 1, sizeof *c->before);
  c->after = cli_alloc(n * n / 2 + 1, sizeof *c->after);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < i; j++) {
      double before = cosine(rows + i * d, rows + j * d, d);
      if (isnan(before)) continue;
      c->before[c->pairs] = before;
      c->after[c->pairs++] = cli_dot(embedded + i * (d + 1), embedded + j * (d + 1), d + 1);
    }
}

static int embed_sample(const cli_job *job, const cpb_statistics_result *facts, comparison *c) {
  size_t n = facts->sample.rows, d = facts->sample.cols;
  double *rows = cli_alloc(n * d, sizeof *rows), *embedded = cli_alloc(n * (d + 1), sizeof *embedded),
         sum = 0;
  for (size_t i = 0; i < n; i++) {
    cli_subtract(cli_row(facts->sample, i, rows + i * d), facts->mean, d, rows + i * d);
    sum += cli_norm(rows + i * d, d);
  }
  cpb_map_options options;
  cpb_map_options_init(&options, sizeof options);
  cpb_map *map = NULL;
  cpb_error error;
  options.d = d;
  options.s = c->s = job->options.scale != 0 ? job->options.scale : sum / (double)n;
  cpb_status status = cpb_map_new(&options, &map, &error);
  if (status == CPB_OK)
    status = cpb_map_embed(map, cpb_rows(rows, CPB_F64, n, d), cpb_rows_out(embedded, CPB_F64, n, d + 1),
                           cpb_pool_exec(job->pool), &error);
  if (status == CPB_OK) fill_pairs(rows, embedded, n, d, c);
  cpb_map_free(map);
  free(rows);
  free(embedded);
  if (status != CPB_OK) return cli_fail(job, "%s", error.text);
  if (c->pairs < 2) return cli_fail(job, "%s: fewer than 2 pairs of rows with a direction", job->operands[0]);
  compare(c);
  return CLI_OK;
}

static void write_script(const void *arg, FILE *to) {
  const comparison *c = arg;
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

/* The mean cosine after, over ten equal parts of the cosine before. */
static void draw_text(const cli_job *job, const comparison *c) {
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

static int report(const cli_job *job, const comparison *c) {
  bool drawn = false;
  if (job->options.plot != NULL) {
    int result = cli_plot(job, job->options.plot, write_script, c, &drawn);
    if (result != CLI_OK) return result;
    if (!drawn) {
      cli_say(job, "gnuplot is not here, so the curve comes as text");
      draw_text(job, c);
    }
  }
  if (job->options.json)
    return cli_print_json(job,
                          json_pack("{s:f, s:I, s:f, s:f, s:f}", "scale", c->s, "pairs", (json_int_t)c->pairs,
                                    "correlation", c->correlation, "slope", c->slope, "rms", c->rms));
  printf("scale\t%.9g\npairs\t%zu\ncorrelation\t%.9g\nslope\t%.9g\nrms\t%.9g\n", c->s, c->pairs,
         c->correlation, c->slope, c->rms);
  return CLI_OK;
}

static int run(cli_job *job) {
  cpb_reader *reader;
  int result = cli_open_reader(job, job->operands[0], job->options.format, &reader);
  if (result != CLI_OK) return result;
  cpb_statistics *gathered = NULL;
  cpb_statistics_result facts = {.size = sizeof facts};
  comparison c = {0};
  if (job->options.sample == 0) job->options.sample = 500;
  result = cli_gather(job, reader, &gathered);
  if (result == CLI_OK) result = cli_finish(job, job->operands[0], gathered, &facts);
  if (result == CLI_OK) result = embed_sample(job, &facts, &c);
  if (result == CLI_OK) result = report(job, &c);
  free(c.before);
  free(c.after);
  cpb_statistics_free(gathered);
  cpb_reader_free(reader);
  return result;
}

const cli_command cli_verb_cosines = {
    .verb = "cosines",
    .operands = "DATA",
    .summary = "cosines of pairs of rows, before and after the embedding",
    .formula =
        "cos(x-m, y-m) against <S(x-m), S(y-m)>,  m = mean x,  s = mean |x-m| or --scale          T8 T9",
    .text = "Says how the cosines of all pairs of a sample (--sample, default 500 rows) go over: "
            "correlation, slope "
            "of the line through them, and root mean square of the difference. Where all norms are near s "
            "the embedding leaves cosines as they are.",
    .example = "seq 1 500 | awk -v OFS=, '{ print sin($1), sin(2*$1), cos($1*$1) }' > points.csv\n"
               "capball cosines points.csv",
    .least = 1,
    .most = 1,
    .accepts = CLI_BIT(CLI_SCALE) | CLI_BIT(CLI_PLOT) | CLI_BIT(CLI_SAMPLE) | CLI_BIT(CLI_SEED) |
               CLI_BIT(CLI_SKIP_BAD) | CLI_BIT(CLI_FORMAT) | CLI_BIT(CLI_JSON) | CLI_BIT(CLI_QUIET) |
               CLI_BIT(CLI_THREADS) | CLI_BIT(CLI_HELP),
    .run = run};

/* What is in a file: shape, types, norms, rows that are not numbers. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json_print.h"
#include "norms.h"
#include "doubles.h"
#include "scan.h"

enum { BARS = 10 };

typedef struct inspection {
  const cli_job *job;
  cpb_file_info file;
  size_t per_block;
  double *values[CLI_SCAN_SLOTS]; /* norms of a block */
  double *rows[CLI_SCAN_SLOTS];   /* one widened row */
  cli_norms norms;
  uint64_t count, nan_rows, infinite_rows, first_bad;
} inspection;

static void look(void *arg, size_t slot, cpb_view rows) {
  inspection *in = arg;
  for (size_t i = 0; i < rows.rows; i++)
    in->values[slot][i] = cli_norm(cli_row(rows, i, in->rows[slot]), rows.cols);
}

static int gather(void *arg, size_t slot, uint64_t first, size_t rows) {
  inspection *in = arg;
  double *values = in->values[slot];
  size_t good = 0;
  for (size_t i = 0; i < rows; i++) {
    if (isfinite(values[i])) {
      values[good++] = values[i];
      continue;
    }
    if (in->nan_rows + in->infinite_rows == 0) in->first_bad = first + i;
    if (isnan(values[i]))
      in->nan_rows++;
    else
      in->infinite_rows++;
  }
  cli_norms_add(&in->norms, values, good);
  in->count += rows;
  return CLI_OK;
}

static double mean(const inspection *in) { return in->norms.sum / (double)in->norms.count; }

/* Within 2^-10 of itself. */
static double median(const inspection *in) {
  return cli_norms_value(&in->norms, cli_norms_bin(&in->norms, (in->norms.count - 1) / 2, NULL));
}

/* A few norms far beyond the rest would leave one long bar: then the bars are equal in the logarithm. */
static bool logarithmic(const inspection *in) { return in->norms.min > 0 && in->norms.max > 20 * median(in); }

static double edge(const inspection *in, size_t bar) {
  double share = (double)bar / BARS, low = in->norms.min, high = in->norms.max;
  if (bar == BARS) return high;
  return logarithmic(in) ? low * pow(high / low, share) : low + (high - low) * share;
}

static size_t histogram(const inspection *in, uint64_t *bars) {
  size_t used = in->norms.max > in->norms.min ? BARS : 1;
  uint64_t bins = (uint64_t)1 << 20;
  size_t bar = 0;
  for (uint64_t bin = 0; bin < bins; bin++) {
    if (in->norms.bins[bin] == 0) continue;
    double value = cli_norms_value(&in->norms, bin);
    while (bar + 1 < used && value >= edge(in, bar + 1)) bar++;
    bars[bar] += in->norms.bins[bin];
  }
  return used;
}

static void print_histogram(const inspection *in) {
  enum { WIDTH = 40 };
  uint64_t bars[BARS] = {0}, most = 0;
  size_t used = histogram(in, bars);
  for (size_t i = 0; i < used; i++)
    if (bars[i] > most) most = bars[i];
  for (size_t i = 0; i < used; i++) {
    int length = (int)(bars[i] * WIDTH / most);
    printf("  %10.4g  %-*.*s %llu\n", edge(in, i), WIDTH, length > 0 ? length : bars[i] > 0,
           "########################################", (unsigned long long)bars[i]);
  }
}

static void print_text(const inspection *in) {
  const cpb_file_info *file = &in->file;
  printf("file      %s\nformat    %s, %s\nrows      %llu\ncolumns   %zu\n", file->path, file->format,
         cpb_dtype_name(file->dtype), (unsigned long long)in->count, file->cols);
  printf("bad rows  %llu with NaN, %llu with inf", (unsigned long long)in->nan_rows,
         (unsigned long long)in->infinite_rows);
  if (in->nan_rows + in->infinite_rows > 0)
    printf("; the first is row %llu", (unsigned long long)in->first_bad);
  putchar('\n');
  if (in->norms.count == 0) return;
  printf("norms     min %.6g, mean %.6g, median ~%.3g, max %.6g\n", in->norms.min, mean(in), median(in),
         in->norms.max);
  print_histogram(in);
}

static int print_json(const inspection *in) {
  const cpb_file_info *file = &in->file;
  json_t *object =
      json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I}", "file", file->path, "format", file->format, "dtype",
                cpb_dtype_name(file->dtype), "rows", (json_int_t)in->count, "columns", (json_int_t)file->cols,
                "nan_rows", (json_int_t)in->nan_rows, "inf_rows", (json_int_t)in->infinite_rows);
  if (object != NULL && in->nan_rows + in->infinite_rows > 0)
    json_object_set_new(object, "first_bad_row", json_integer((json_int_t)in->first_bad));
  if (object != NULL && in->norms.count > 0) {
    uint64_t bars[BARS] = {0};
    size_t used = histogram(in, bars);
    json_t *counts = json_array(), *edges = json_array();
    for (size_t i = 0; i < used; i++) json_array_append_new(counts, json_integer((json_int_t)bars[i]));
    for (size_t i = 0; i <= used; i++)
      json_array_append_new(edges, json_real(i == used ? in->norms.max : edge(in, i)));
    json_object_set_new(object, "norms",
                        json_pack("{s:f, s:f, s:f, s:f, s:{s:o, s:o}}", "min", in->norms.min, "mean",
                                  mean(in), "median", median(in), "max", in->norms.max, "histogram", "edges",
                                  edges, "counts", counts));
  }
  return cli_print_json(in->job, object);
}

static int run(cli_job *job) {
  cpb_reader *reader;
  int result = cli_open_reader(job, job->operands[0], job->options.format, &reader);
  if (result != CLI_OK) return result;
  inspection in = {.job = job, .file = cpb_reader_info(reader), .per_block = cli_scan_block_rows(reader)};
  for (size_t slot = 0; slot < CLI_SCAN_SLOTS; slot++) {
    in.values[slot] = cli_alloc(in.per_block, sizeof(double));
    in.rows[slot] = cli_alloc(in.file.cols, sizeof(double));
  }
  cli_norms_new(&in.norms);
  cli_scan scan = {job, reader, &in, look, gather};
  result = cli_scan_run(&scan);
  if (result == CLI_OK && job->options.json)
    result = print_json(&in);
  else if (result == CLI_OK)
    print_text(&in);
  for (size_t slot = 0; slot < CLI_SCAN_SLOTS; slot++) {
    free(in.values[slot]);
    free(in.rows[slot]);
  }
  cli_norms_free(&in.norms);
  cpb_reader_free(reader);
  return result;
}

const cli_command cli_verb_info = {
    .verb = "info",
    .operands = "FILE",
    .summary = "say what a vector file holds: rows, columns, norms, bad rows",
    .formula = "norms: |x| of every row",
    .text =
        "One pass in constant memory. The median is right to 0.1 %; the rest is exact. Rows with NaN or "
        "inf are counted and left out of the norms.\n"
        "Formats: fvecs bvecs ivecs fbin u8bin i8bin f16bin ibin npy hdf5 csv tsv libsvm; FILE.hdf5:train "
        "names a data set; - reads standard input.",
    .example = "printf '3,4\\n6,8\\n0,1\\n' > points.csv\ncapball info points.csv",
    .least = 1,
    .most = 1,
    .accepts = CLI_BIT(CLI_FORMAT) | CLI_BIT(CLI_JSON) | CLI_BIT(CLI_QUIET) | CLI_BIT(CLI_THREADS) |
               CLI_BIT(CLI_HELP),
    .run = run};

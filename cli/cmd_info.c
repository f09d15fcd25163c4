/* What is in a file: shape, types, norms, rows that are not numbers. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json_print.h"
#include "norms.h"
#include "doubles.h"
#include "scan.h"

enum { BARS = 10, KEPT = 1 << 20 };

typedef struct inspection {
  const cli_job *job;
  cpb_file_info file;
  size_t per_block;
  double *values[CLI_SCAN_SLOTS]; /* norms of a block */
  double *rows[CLI_SCAN_SLOTS];   /* one widened row */
  cli_norms norms;
  uint64_t count, nan_rows, infinite_rows, first_bad;
  double mean, median;
  size_t bars;
  double edges[BARS + 1];
  uint64_t counts[BARS];
  double *kept; /* the first norms, KEPT at most */
  size_t kept_count;
  bool exact; /* counts and median by the norms themselves, not by their bins */
} inspection;

static void look(void *arg, size_t slot, cpb_view rows, uint64_t first) {
  (void)first;
  inspection *in = arg;
  for (size_t i = 0; i < rows.rows; i++)
    in->values[slot][i] = cli_norm(cli_row(rows, i, in->rows[slot]), rows.cols);
}

/* Moves the finite ones to the front; their number. */
static size_t keep_finite(double *values, size_t n) {
  size_t good = 0;
  for (size_t i = 0; i < n; i++)
    if (isfinite(values[i])) values[good++] = values[i];
  return good;
}

static int gather(void *arg, size_t slot, uint64_t first, size_t rows) {
  inspection *in = arg;
  double *values = in->values[slot];
  for (size_t i = 0; i < rows; i++) {
    if (isfinite(values[i])) continue;
    if (in->nan_rows + in->infinite_rows == 0) in->first_bad = first + i;
    if (isnan(values[i]))
      in->nan_rows++;
    else
      in->infinite_rows++;
  }
  size_t good = keep_finite(values, rows), room = KEPT - in->kept_count;
  memcpy(in->kept + in->kept_count, values, (good < room ? good : room) * sizeof *values);
  in->kept_count += good < room ? good : room;
  cli_norms_add(&in->norms, values, good);
  in->count += rows;
  return CLI_OK;
}

/* Of an even number the lower middle one; within 2^-30 of itself after two passes, 2^-10 after one. */
static double median(const inspection *in, uint64_t *bin, uint64_t *rank) {
  *bin = cli_norms_bin(&in->norms, *rank, rank);
  return cli_norms_value(&in->norms, *bin);
}

/* Bars of equal width, or equal in the logarithm where a few norms far beyond the rest would leave one
 * long bar. */
static void set_edges(inspection *in) {
  double low = in->norms.min, high = in->norms.max;
  bool logarithmic = low > 0 && high > 20 * in->median;
  in->bars = high > low ? BARS : 1;
  for (size_t i = 0; i < in->bars; i++) {
    double share = (double)i / BARS;
    double power = isfinite(high / low) ? low * cli_power(high / low, share)
                                        : cli_power(low, 1 - share) * cli_power(high, share);
    in->edges[i] = logarithmic ? power : low + (high - low) * share;
  }
  in->edges[in->bars] = high;
}

static size_t bar_of(const inspection *in, double value) {
  size_t bar = 0;
  while (bar + 1 < in->bars && value >= in->edges[bar + 1]) bar++;
  return bar;
}

/* What one pass knows: the bins, 2^-9 wide, put into bars by their middles. */
static void count_bins(inspection *in) {
  for (uint64_t bin = 0; bin < CLI_NORMS_BINS; bin++)
    if (in->norms.bins[bin] != 0)
      in->counts[bar_of(in, cli_norms_value(&in->norms, bin))] += in->norms.bins[bin];
}

/* Bars and the last digits of the median, by the norms themselves. */
static void count_norms(inspection *in, const double *values, size_t n) {
  for (size_t i = 0; i < n; i++) in->counts[bar_of(in, values[i])]++;
  cli_norms_add(&in->norms, values, n);
}

static int gather_again(void *arg, size_t slot, uint64_t first, size_t rows) {
  inspection *in = arg;
  (void)first;
  count_norms(in, in->values[slot], keep_finite(in->values[slot], rows));
  return CLI_OK;
}

/* The norms are looked at once more: in memory where they are few, else in the file; a long pipe cannot. */
static int count_bars(inspection *in, cpb_reader *reader) {
  uint64_t rank = (in->norms.count - 1) / 2, bin, count = in->norms.count;
  if (count == 0) return CLI_OK;
  in->mean = cli_norms_mean(&in->norms);
  in->median = median(in, &bin, &rank);
  set_edges(in);
  bool kept = count == in->kept_count;
  in->exact = kept || cpb_reader_rewind(reader, NULL) == CPB_OK;
  if (!in->exact) {
    count_bins(in);
    return CLI_OK;
  }
  int result = CLI_OK;
  cli_norms_refine(&in->norms, bin);
  if (kept)
    count_norms(in, in->kept, in->kept_count);
  else
    result = cli_scan_run(
        &(cli_scan){.job = in->job, .reader = reader, .arg = in, .look = look, .gather = gather_again});
  in->median = median(in, &bin, &rank);
  return result;
}

/* Digits that tell the edges apart. */
static int edge_digits(const inspection *in) {
  int digits = 4;
  for (size_t i = 0; i < in->bars && digits < 17;) {
    char here[32], next[32];
    snprintf(here, sizeof here, "%.*g", digits, in->edges[i]);
    snprintf(next, sizeof next, "%.*g", digits, in->edges[i + 1]);
    bool same = in->bars > 1 && strcmp(here, next) == 0;
    digits += same;
    i += !same;
  }
  return digits;
}

static void print_histogram(const inspection *in) {
  enum { WIDTH = 40 };
  uint64_t most = 0;
  int digits = edge_digits(in);
  for (size_t i = 0; i < in->bars; i++)
    if (in->counts[i] > most) most = in->counts[i];
  for (size_t i = 0; i < in->bars; i++) {
    int length = (int)((double)in->counts[i] / (double)most * WIDTH);
    printf("  %*.*g  %-*.*s %llu\n", digits + 6, digits, in->edges[i], WIDTH,
           length > 0 ? length : in->counts[i] > 0, "########################################",
           (unsigned long long)in->counts[i]);
  }
  if (!in->exact) puts("  (a pipe of more than 2^20 rows: counts and median are right to 0.1 % of a norm)");
}

static void print_text(const inspection *in) {
  const cpb_file_info *file = &in->file;
  fputs("file      ", stdout);
  cli_print_plain(stdout, cli_name(file->path));
  printf("\nformat    %s, %s\nrows      %llu\ncolumns   %zu\n", file->format, cpb_dtype_name(file->dtype),
         (unsigned long long)in->count, file->cols);
  printf("bad rows  %llu with NaN, %llu with inf", (unsigned long long)in->nan_rows,
         (unsigned long long)in->infinite_rows);
  if (in->nan_rows + in->infinite_rows > 0)
    printf("; the first is row %llu", (unsigned long long)in->first_bad);
  putchar('\n');
  if (in->norms.count == 0) return;
  int digits = edge_digits(in) > 6 ? edge_digits(in) : 6;
  printf("norms     min %.*g, mean %.*g, median %s%.*g, max %.*g\n", digits, in->norms.min, digits, in->mean,
         in->exact ? "" : "~", in->exact ? digits : 3, in->median, digits, in->norms.max);
  print_histogram(in);
}

static int print_json(const inspection *in) {
  const cpb_file_info *file = &in->file;
  json_t *object =
      json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I}", "file", file->path, "format", file->format, "dtype",
                cpb_dtype_name(file->dtype), "rows", (json_int_t)in->count, "columns", (json_int_t)file->cols,
                "nan_rows", (json_int_t)in->nan_rows, "inf_rows", (json_int_t)in->infinite_rows);
  if (object != NULL && in->nan_rows + in->infinite_rows > 0)
    object = cli_json_set(object, "first_bad_row", json_integer((json_int_t)in->first_bad));
  if (object != NULL && in->norms.count > 0) {
    json_t *counts = json_array();
    for (size_t i = 0; i < in->bars; i++)
      counts = cli_json_append(counts, json_integer((json_int_t)in->counts[i]));
    object = cli_json_set(object, "norms",
                          json_pack("{s:f, s:f, s:f, s:f, s:{s:b, s:o, s:o}}", "min", in->norms.min, "mean",
                                    in->mean, "median", in->median, "max", in->norms.max, "histogram",
                                    "exact", in->exact, "edges", cli_json_vector(in->edges, in->bars + 1),
                                    "counts", counts));
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
  in.kept = cli_alloc(KEPT, sizeof *in.kept);
  cli_norms_new(&in.norms);
  cli_scan scan = {job, reader, &in, look, gather, 0};
  result = cli_scan_run(&scan);
  if (result == CLI_OK) result = count_bars(&in, reader);
  if (result == CLI_OK && job->options.json)
    result = print_json(&in);
  else if (result == CLI_OK)
    print_text(&in);
  for (size_t slot = 0; slot < CLI_SCAN_SLOTS; slot++) {
    free(in.values[slot]);
    free(in.rows[slot]);
  }
  free(in.kept);
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
        "Constant memory; files of more than 2^20 rows are read twice. The median (of an even number the "
        "lower "
        "middle one) is within 2^-30 of itself, the rest is exact; only of a longer pipe median and "
        "histogram "
        "are right to 0.1 % of a norm. Rows with NaN or inf are counted and left out of the norms.\n"
        "Formats: fvecs bvecs ivecs fbin u8bin i8bin f16bin ibin npy hdf5 csv tsv libsvm; FILE.hdf5:train "
        "names a data set; - reads standard input.",
    .example = "printf '3,4\\n6,8\\n0,1\\n' > points.csv\ncapball info points.csv",
    .least = 1,
    .most = 1,
    .accepts = CLI_BIT(CLI_FORMAT) | CLI_BIT(CLI_JSON) | CLI_BIT(CLI_QUIET) | CLI_BIT(CLI_THREADS) |
               CLI_BIT(CLI_HELP),
    .run = run};

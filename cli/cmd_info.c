/* Describes a file: shape, types, norms, bad rows. */
#include <string.h>

#include "capball/advanced/statistics.h"
#include "data_file.h"
#include "json_print.h"

enum { BARS = 10 };

typedef struct inspection {
  const cli_job *job;
  cpb_file_info file;
  const char *const *names; /* of the columns; NULL: none */
  cpb_norms_report norms;
} inspection;

static uint64_t good_rows(const inspection *in) {
  return in->norms.rows - in->norms.nan_rows - in->norms.inf_rows;
}

/* The number of digits that distinguishes the edges. */
static int edge_digits(const inspection *in) {
  int digits = 4;
  for (size_t i = 0; i < in->norms.bars && digits < 17;) {
    char here[32], next[32];
    snprintf(here, sizeof here, "%.*g", digits, in->norms.edges[i]);
    snprintf(next, sizeof next, "%.*g", digits, in->norms.edges[i + 1]);
    bool same = in->norms.bars > 1 && strcmp(here, next) == 0;
    digits += same;
    i += !same;
  }
  return digits;
}

static void print_histogram(const inspection *in) {
  enum { WIDTH = 40 };
  uint64_t most = 0;
  int digits = edge_digits(in);
  for (size_t i = 0; i < in->norms.bars; i++)
    if (in->norms.counts[i] > most) most = in->norms.counts[i];
  for (size_t i = 0; i < in->norms.bars; i++) {
    int length = (int)((double)in->norms.counts[i] / (double)most * WIDTH);
    printf("  %*.*g  %-*.*s %llu\n", digits + 6, digits, in->norms.edges[i], WIDTH,
           length > 0 ? length : in->norms.counts[i] > 0, "########################################",
           (unsigned long long)in->norms.counts[i]);
  }
  if (!in->norms.exact)
    puts("  (a pipe of more than 2^20 rows: counts and median are accurate to 0.1 % of a norm)");
}

static void print_names(const inspection *in) {
  enum { SHOWN = 8 };
  size_t cols = in->file.cols;
  for (size_t k = 0; k < cols && k < SHOWN; k++) {
    fputs(k == 0 ? "names     " : ", ", stdout);
    show_put_text(stdout, in->names[k]);
  }
  puts(cols > SHOWN ? ", .." : "");
}

static void print_text(const inspection *in) {
  const cpb_file_info *file = &in->file;
  fputs("file      ", stdout);
  show_put_text(stdout, cli_name(file->path));
  printf("\nformat    %s, %s\nrows      %llu\ncolumns   %zu\n", file->format, cpb_dtype_name(file->dtype),
         (unsigned long long)in->norms.rows, file->cols);
  if (in->names != NULL) print_names(in);
  printf("bad rows  %llu with NaN, %llu with inf", (unsigned long long)in->norms.nan_rows,
         (unsigned long long)in->norms.inf_rows);
  if (in->norms.nan_rows + in->norms.inf_rows > 0)
    printf("; the first is row %llu", (unsigned long long)in->norms.first_bad);
  putchar('\n');
  if (good_rows(in) == 0) return;
  int digits = edge_digits(in) > 6 ? edge_digits(in) : 6;
  printf("norms     min %.*g, mean %.*g, median %s%.*g, max %.*g\n", digits, in->norms.min, digits,
         in->norms.mean, in->norms.exact ? "" : "~", in->norms.exact ? digits : 3, in->norms.median, digits,
         in->norms.max);
  print_histogram(in);
}

static cpb_text *names_json(const inspection *in) {
  cpb_text *names = cli_json("[]");
  for (size_t k = 0; k < in->file.cols; k++) names = cpb_json_append(names, cli_json("s", in->names[k]));
  return names;
}

static int print_json(const inspection *in) {
  const cpb_file_info *file = &in->file;
  cpb_text *object =
      cli_json("{s:s, s:s, s:s, s:I, s:I, s:I, s:I}", "file", file->path, "format", file->format, "dtype",
               cpb_dtype_name(file->dtype), "rows", (uint64_t)in->norms.rows, "columns", (uint64_t)file->cols,
               "nan_rows", (uint64_t)in->norms.nan_rows, "inf_rows", (uint64_t)in->norms.inf_rows);
  if (object != NULL && in->names != NULL) object = cpb_json_set(object, "names", names_json(in));
  if (object != NULL && in->norms.nan_rows + in->norms.inf_rows > 0)
    object = cpb_json_set(object, "first_bad_row", cli_json("I", (uint64_t)in->norms.first_bad));
  if (object != NULL && good_rows(in) > 0) {
    cpb_text *counts = cli_json("[]");
    for (size_t i = 0; i < in->norms.bars; i++)
      counts = cpb_json_append(counts, cli_json("I", (uint64_t)in->norms.counts[i]));
    object = cpb_json_set(object, "norms",
                          cli_json("{s:f, s:f, s:f, s:f, s:{s:b, s:o, s:o}}", "min", in->norms.min, "mean",
                                   in->norms.mean, "median", in->norms.median, "max", in->norms.max,
                                   "histogram", "exact", in->norms.exact, "edges",
                                   cli_json("V", in->norms.edges, in->norms.bars + 1), "counts", counts));
  }
  return cli_print_json(in->job, object);
}

static int inspect(cli_input *file) {
  inspection in = {.job = file->job, .file = file->info, .names = file->source.names};
  cpb_norms_fit_options wish;
  cpb_error error;
  cpb_norms_fit_options_init(&wish, sizeof wish);
  in.norms = (cpb_norms_report){.size = sizeof in.norms};
  wish.bars = BARS;
  cpb_status status = cpb_norms_fit(&file->source, &wish, &in.norms, cli_exec(in.job), &error);
  if (status != CPB_OK) return cli_fail_input(file, status, &error);
  if (in.job->options.json) return print_json(&in);
  print_text(&in);
  return CLI_OK;
}

CLI_OPTIONS(options, CLI_OPT_TABLE, &cli_opt_json, &cli_opt_quiet, &cli_opt_threads, &cli_opt_help);

const cli_command cli_verb_info = {
    .verb = "info",
    .operands = "FILE",
    .summary = "describe a vector file: rows, columns, norms, bad rows",
    .formula = "norms: |x| of every row",
    .text = "Constant memory; files of more than 2^20 rows are read twice. The relative error of the median "
            "(the lower of the two middle values if the number of rows is even) is at most 2^-30; the rest "
            "is exact. For a longer pipe, median and histogram are accurate to 0.1 % of a norm. Rows with "
            "NaN or inf are counted and excluded from the norms.\n"
            "Formats: fvecs bvecs ivecs fbin u8bin i8bin f16bin ibin npy hdf5 csv tsv libsvm; "
            "FILE.hdf5:train names a data set; - reads standard input.",
    .example = "printf '3,4\\n6,8\\n0,1\\n' > points.csv\ncapball info points.csv",
    .least = 1,
    .most = 1,
    .options = options,
    .look = inspect};

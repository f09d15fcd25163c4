/* Converts between any two formats. */
#include "format_names.h"
#include "data_file.h"
#include "output.h"

/* "A:B", "A:", ":B". */
static int parse_rows(const cli_job *job, const char *text, uint64_t *first, uint64_t *last) {
  const char *at = text;
  *first = 0;
  *last = CPB_ROWS_UNKNOWN;
  bool fits = *at == ':' || cli_read_count(at, &at, first);
  fits = fits && *at++ == ':' && (*at == 0 || cli_read_count(at, &at, last));
  if (!fits || *at != 0 || *first > *last)
    return cli_misuse(job, "--rows must be A:B with A <= B, got \"%s\"", text);
  return CLI_OK;
}

static int check_range(const cli_input *in, const cpb_flow_options *flow) {
  const cpb_file_info *info = &in->info;
  if (info->rows == CPB_ROWS_UNKNOWN) return CLI_OK;
  bool bounded = flow->last != CPB_ROWS_UNKNOWN;
  if (flow->first > info->rows || (bounded && flow->last > info->rows))
    return cli_fail(in->job, "%s has %llu row%s, --rows %s asks for more", cli_name(info->path),
                    (unsigned long long)info->rows, cli_s(info->rows), in->job->options.rows);
  return CLI_OK;
}

/* OUT is the second operand, or --output. */
static const char *output_of(const cli_job *job) {
  return job->count == 2 ? job->operands[1] : job->options.output;
}

static int check(const cli_job *job) {
  if ((job->options.output != NULL) != (job->count == 2)) return CLI_OK;
  return cli_misuse(job, "name the output by --output FILE or as the second operand, one of the two");
}

static int convert(cli_input *in) {
  const cli_options *o = &in->job->options;
  const char *output = output_of(in->job);
  cpb_flow_options flow;
  cpb_flow_options_init(&flow, sizeof flow);
  int result = o->rows != NULL ? parse_rows(in->job, o->rows, &flow.first, &flow.last) : CLI_OK;
  if (result == CLI_OK) result = check_range(in, &flow);
  if (result != CLI_OK) return result;
  return cli_flow(in, &flow, output, cli_output_dtype(output, o->to, o->dtype, in->info.dtype),
                  in->source.names, NULL);
}

static CLI_OPTION(rows, "rows", 'r', CLI_TEXT, "A:B", rows,
                  "rows A <= i < B only, counted from 0; either may be left out");

CLI_OPTIONS(options, &cli_opt_output, &rows, &cli_opt_dtype, CLI_OPT_TABLE, &cli_opt_to, &cli_opt_bare,
            &cli_opt_skip_bad, &cli_opt_quiet, &cli_opt_threads, &cli_opt_help);

const cli_command cli_verb_convert = {
    .verb = "convert",
    .operands = "IN -o OUT",
    .summary = "copy vectors from any format to any other",
    .text = "Formats: fvecs bvecs ivecs fbin u8bin i8bin f16bin ibin npy hdf5 csv tsv libsvm, by extension "
            "or by --format (of IN) and --to (of OUT); FILE.hdf5:train names a data set; - is a pipe.\n"
            "A line of csv, tsv or libsvm has at most 512 MiB and 2^24 numbers.\n"
            "Names of columns and rows are preserved if both files are csv or tsv; --bare writes only "
            "numbers. To convert Parquet and Arrow files, use Python: `python -m capball.convert`.\n"
            "A value that does not fit in the new type is an error that names the row; floats are rounded to "
            "nearest. OUT is written atomically; it may not be IN. It can also be given as the second "
            "operand, without -o.",
    .example = "printf '3,4\\n6,8\\n0,1\\n' > points.csv\n"
               "capball convert points.csv -o points.fbin\n"
               "capball convert --rows 1: --dtype f64 points.fbin tail.npy\n"
               "capball convert tail.npy -o - --to csv",
    .least = 1,
    .most = 2,
    .made = 1,
    .options = options,
    .check = check,
    .look = convert};

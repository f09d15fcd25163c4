/* From any format to any other. */
#include <errno.h>
#include <stdlib.h>

#include "format_names.h"
#include "doubles.h"
#include "stream.h"

/* "A:B", "A:", ":B". */
static int parse_rows(const cli_job *job, const char *text, uint64_t *first, uint64_t *last) {
  const char *at = text;
  char *end;
  errno = 0;
  *first = 0;
  *last = CPB_ROWS_UNKNOWN;
  if (*at >= '0' && *at <= '9') {
    *first = strtoull(at, &end, 10);
    at = end;
  }
  bool colon = *at == ':';
  if (colon) at++;
  if (colon && *at >= '0' && *at <= '9') {
    *last = strtoull(at, &end, 10);
    at = end;
  }
  if (!colon || *at != 0 || errno != 0 || *first > *last)
    return cli_misuse(job, "--rows must be A:B with A <= B, got \"%s\"", text);
  return CLI_OK;
}

static int check_range(const cli_job *job, const cli_stream *stream, const cpb_file_info *info) {
  if (info->rows == CPB_ROWS_UNKNOWN) return CLI_OK;
  bool bounded = stream->last != CPB_ROWS_UNKNOWN;
  if (stream->first > info->rows || (bounded && stream->last > info->rows))
    return cli_fail(job, "%s has %llu row%s, --rows %s asks for more", cli_name(info->path),
                    (unsigned long long)info->rows, cli_s(info->rows), job->options.rows);
  return CLI_OK;
}

static int run(cli_job *job) {
  const cli_options *options = &job->options;
  const char *output = job->operands[1];
  uint64_t first = 0, last = CPB_ROWS_UNKNOWN;
  int result = CLI_OK;
  if (options->rows != NULL) result = parse_rows(job, options->rows, &first, &last);
  if (result != CLI_OK) return result;
  cpb_reader *reader;
  result = cli_open_reader(job, job->operands[0], options->format, &reader);
  if (result != CLI_OK) return result;
  cpb_file_info info = cpb_reader_info(reader);
  cli_stream stream = {.job = job,
                       .reader = reader,
                       .output = output,
                       .to = options->to,
                       .dtype = cli_output_dtype(output, options->to, options->dtype, info.dtype),
                       .cols = info.cols,
                       .first = first,
                       .last = last};
  result = check_range(job, &stream, &info);
  if (result == CLI_OK) result = cli_stream_run(&stream);
  cpb_reader_free(reader);
  return result;
}

const cli_command cli_verb_convert = {
    .verb = "convert",
    .operands = "IN OUT",
    .summary = "copy vectors from any format to any other",
    .text =
        "Formats: fvecs bvecs ivecs fbin u8bin i8bin f16bin ibin npy hdf5 csv tsv libsvm, by extension or "
        "by --format (of IN) and --to (of OUT); FILE.hdf5:train names a data set; - is a pipe.\n"
        "A value the new type cannot hold is an error that names the row; floats are rounded to nearest. "
        "OUT appears whole or not at all; it may not be IN.",
    .example = "printf '3,4\\n6,8\\n0,1\\n' > points.csv\n"
               "capball convert points.csv points.fbin\n"
               "capball convert --rows 1: --dtype f64 points.fbin tail.npy\n"
               "capball convert tail.npy - --to csv",
    .least = 2,
    .most = 2,
    .made = 1,
    .accepts = CLI_BIT(CLI_DTYPE) | CLI_BIT(CLI_ROWS) | CLI_BIT(CLI_FORMAT) | CLI_BIT(CLI_TO) |
               CLI_BIT(CLI_SKIP_BAD) | CLI_BIT(CLI_QUIET) | CLI_BIT(CLI_THREADS) | CLI_BIT(CLI_HELP),
    .run = run};

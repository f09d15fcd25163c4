/* Codes of rows. */
#include <stdlib.h>
#include <string.h>

#include "doubles.h"
#include "format_names.h"
#include "progress.h"

typedef struct encoding {
  const cli_job *job;
  const cpb_sketch *sketch;
  cpb_reader *reader;
  cpb_writer *writer;
  size_t bytes; /* of a code */
  uint8_t *codes;
  uint64_t done;
  cli_progress progress;
} encoding;

enum { BLOCK_BYTES = 16 << 20 };

static int encode_block(encoding *e, cpb_view rows) {
  cpb_error error = {.row = -1};
  cpb_status status = cpb_sketch_encode(e->sketch, rows, e->codes, cpb_pool_exec(e->job->pool), &error);
  if (status != CPB_OK) return cli_fail_row(e->job, e->job->operands[0], e->done, &error);
  if (cpb_writer_append(e->writer, cpb_rows(e->codes, CPB_U8, rows.rows, e->bytes), &error) != CPB_OK)
    return cli_fail(e->job, "%s", error.text);
  e->done += rows.rows;
  cli_progress_add(&e->progress, rows.rows);
  return CLI_OK;
}

static int encode_file(encoding *e) {
  cpb_file_info info = cpb_reader_info(e->reader);
  size_t row_bytes = info.cols * cpb_dtype_size(info.dtype), most = BLOCK_BYTES / row_bytes + 1;
  cpb_view block;
  cpb_error error;
  int result = CLI_OK;
  e->codes = cli_alloc(most, e->bytes);
  cli_progress_start(&e->progress, e->job, info.rows, row_bytes);
  while (result == CLI_OK) {
    if (cli_interrupted() != 0)
      result = CLI_FAILED;
    else if (cpb_reader_next(e->reader, most, &block, &error) != CPB_OK)
      result = cli_fail(e->job, "%s", error.text);
    else if (block.rows == 0)
      break;
    else
      result = encode_block(e, block);
  }
  cli_progress_end(&e->progress);
  free(e->codes);
  if (result == CLI_OK && e->done == 0) return cli_fail(e->job, "%s has no rows", cli_name(info.path));
  return result;
}

static int open_writer(encoding *e) {
  const cli_options *o = &e->job->options;
  cpb_writer_options options;
  cpb_writer_options_init(&options, sizeof options);
  cpb_error error;
  options.format = o->to;
  options.dtype = CPB_U8;
  options.cols = e->bytes;
  options.rows = cpb_reader_info(e->reader).rows;
  int result = cli_check_format(e->job, o->output, o->to, "to");
  if (result != CLI_OK) return result;
  cpb_status status = cpb_writer_open(o->output, &options, &e->writer, &error);
  return status == CPB_OK ? CLI_OK : cli_fail(e->job, "%s", error.text);
}

static int encode(encoding *e) {
  cpb_file_info info = cpb_reader_info(e->reader);
  cpb_sketch_options sketch = {.size = sizeof sketch};
  cpb_sketch_describe(e->sketch, &sketch);
  cpb_error error;
  e->bytes = sketch.bits / 8;
  if (info.cols != sketch.d)
    return cli_fail(e->job, "%s has %zu column%s, but %s encodes rows of %zu", cli_name(info.path), info.cols,
                    cli_s(info.cols), e->job->options.sketch, sketch.d);
  int result = open_writer(e);
  if (result == CLI_OK) result = encode_file(e);
  if (result == CLI_OK && cpb_writer_commit(e->writer, &error) != CPB_OK)
    result = cli_fail(e->job, "%s", error.text);
  cpb_writer_free(e->writer);
  if (result == CLI_OK)
    cli_say(e->job, "%llu code%s of %zu bits", (unsigned long long)e->done, cli_s(e->done), sketch.bits);
  return result;
}

static int run(cli_job *job) {
  cpb_sketch *sketch;
  cpb_error error;
  if (cpb_sketch_load(job->options.sketch, &sketch, &error) != CPB_OK) return cli_fail(job, "%s", error.text);
  encoding e = {.job = job, .sketch = sketch};
  int result = cli_open_reader(job, job->operands[0], job->options.format, &e.reader);
  if (result == CLI_OK) {
    result = encode(&e);
    cpb_reader_free(e.reader);
  }
  cpb_sketch_free(sketch);
  return result;
}

const cli_command cli_verb_sketch_encode = {
    .verb = "sketch encode",
    .operands = "-m SKETCH.json DATA -o CODES.u8bin",
    .summary = "rows as codes, one bit per ball",
    .formula = "h_i(x) = [2s<c'_i,x-m> + c0_i (s^2-|x-m|^2) >= 0]                                    T14",
    .text =
        "Writes bits/8 bytes per row, bit i as bit i%8 of byte i/8. A bit is the sign of the formula in "
        "double "
        "arithmetic; single precision decides wherever its error cannot reach the sign. The codes are the "
        "same on every processor and for any --threads. A row with NaN or inf is an error that names it, "
        "and nothing is written.",
    .example = "seq 0 99 | awk '{ print $1 % 10 \",\" int($1 / 10) }' > points.csv\n"
               "capball sketch train points.csv -o sketch.json --bits 64\n"
               "capball sketch encode -m sketch.json points.csv -o codes.u8bin",
    .least = 1,
    .most = 1,
    .accepts = CLI_BIT(CLI_SKETCH) | CLI_BIT(CLI_OUTPUT) | CLI_BIT(CLI_FORMAT) | CLI_BIT(CLI_TO) |
               CLI_BIT(CLI_QUIET) | CLI_BIT(CLI_THREADS) | CLI_BIT(CLI_HELP),
    .requires = CLI_BIT(CLI_SKETCH) | CLI_BIT(CLI_OUTPUT),
    .run = run};

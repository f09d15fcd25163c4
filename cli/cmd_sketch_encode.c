/* Encodes rows. */
#include <stdlib.h>

#include "format_names.h"
#include "data_file.h"
#include "output.h"

typedef struct encoding {
  const cpb_sketch *sketch;
  size_t bytes; /* of a code */
  uint64_t done;
  cli_output out;
} encoding;

static int encode_block(encoding *e, const cli_input *in, cpb_view rows, uint8_t *codes) {
  cpb_error error;
  cpb_exec exec = *cli_exec(in->job);
  exec.progress = NULL; /* of a block */
  cpb_status status = cpb_sketch_encode(e->sketch, rows, codes, &exec, &error);
  if (status != CPB_OK) return cli_fail_row(in->job, in->info.path, e->done, &error);
  int result = cli_output_append(&e->out, 0, cpb_rows(codes, CPB_U8, rows.rows, e->bytes));
  e->done += rows.rows;
  bool known = in->info.rows != CPB_ROWS_UNKNOWN;
  cli_bar_tell(in->job->bar, known ? (double)e->done / (double)in->info.rows : 0);
  return result;
}

static int encode_file(encoding *e, cli_input *in) {
  cpb_view block;
  cpb_error error;
  uint8_t *codes = NULL;
  size_t room = 0;
  int result = CLI_OK;
  while (result == CLI_OK) {
    if (cli_interrupted() != 0)
      result = CLI_FAILED;
    else if (in->source.next(&in->source, &block, &error) != CPB_OK)
      result = cli_fail(in->job, "%s", error.text);
    if (result != CLI_OK || block.rows == 0) break;
    if (block.rows > room) {
      free(codes);
      codes = cli_alloc(room = block.rows, e->bytes);
    }
    result = encode_block(e, in, block, codes);
  }
  free(codes);
  if (result == CLI_OK && e->done == 0) return cli_fail(in->job, "%s has no rows", cli_name(in->info.path));
  return result;
}

static int encode(cli_input *in, const cpb_sketch *sketch) {
  const cli_options *o = &in->job->options;
  cpb_sketch_options of = {.size = sizeof of};
  cpb_sketch_describe(sketch, &of);
  encoding e = {.sketch = sketch, .bytes = of.code_bytes, .out = {.job = in->job, .rows = in}};
  int result = cli_input_check_cols(in, of.d, "", o->sketch, "encodes rows of");
  if (result == CLI_OK) result = cli_check_format(in->job, o->output, o->to, "to");
  if (result == CLI_OK)
    result = cli_output_add(&e.out, o->output, o->to, CPB_U8, e.bytes, in->info.rows, "byte");
  if (result == CLI_OK) result = encode_file(&e, in);
  result = cli_output_finish(&e.out, result);
  cli_tell_bad(in);
  if (result == CLI_OK)
    cli_say(in->job, "%llu code%s of %zu bits", (unsigned long long)e.done, cli_s(e.done), of.bits);
  return result;
}

static int look(cli_input *in) {
  cpb_sketch *sketch;
  cpb_error error;
  if (cpb_sketch_load(in->job->options.sketch, &sketch, &error) != CPB_OK)
    return cli_fail(in->job, "%s", error.text);
  int result = encode(in, sketch);
  cpb_sketch_free(sketch);
  return result;
}

CLI_OPTIONS(options, &cli_opt_sketch, &cli_opt_output, &cli_opt_leave_bad, CLI_OPT_TABLE, &cli_opt_to,
            &cli_opt_bare, &cli_opt_quiet, &cli_opt_threads, &cli_opt_help);

const cli_command cli_verb_sketch_encode = {
    .verb = "sketch encode",
    .operands = "-m SKETCH.json DATA -o CODES.u8bin",
    .summary = "encode rows as codes",
    .formula = "code byte j: the nearest of 256 centres to its part of c = G(x-m)/s;  f = <c,v>/|v|^2, e >= "
               "|x-x'|/s    T14",
    .text = "Writes the bytes of a code for each row, and behind them those of the factor f and of the bound "
            "e, unless training "
            "found them not worth their place. The codes are the same on every processor "
            "and for any --threads. A row with NaN or inf is an error that "
            "names it, and nothing is written; --skip-bad omits such rows. Sketches of earlier releases "
            "encode as they did.",
    .example = "seq 0 99 | awk '{ print $1 % 10 \",\" int($1 / 10) }' > points.csv\n"
               "capball sketch train points.csv -o sketch.json --bits 64\n"
               "capball sketch encode -m sketch.json points.csv -o codes.u8bin",
    .least = 1,
    .most = 1,
    .options = options,
    .required = 2,
    .look = look};

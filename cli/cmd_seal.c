/* Seals existing embedded rows after comparing them with the data. */
#include "capball/advanced/candidates.h"
#include "capball/advanced/seal.h"
#include "data_file.h"
#include "format_names.h"
#include "json_print.h"

typedef struct sealing {
  const cli_job *job;
  cli_job plain; /* the job that reads EMB: table options apply to BASE */
  cpb_transform *transform;
  cli_input base, embedded;
  cpb_seal_watch *watch;
  cpb_dtype precision;
} sealing;

static cli_job without_table(const cli_job *job) {
  cli_job plain = *job;
  cli_options *o = &plain.options;
  o->columns = o->drop = o->id_column = o->label_column = NULL;
  o->header = o->impute = (cli_choice){0};
  o->decimal_comma = o->leave_bad = false;
  return plain;
}

static int read_inputs(sealing *s) {
  const char *base = s->job->operands[0], *embedded = s->job->operands[1], *map = s->job->options.map;
  cpb_transform_options of = cli_transform_options(s->transform);
  int result = cli_input_open_unmatched(&s->base, s->job, base, cli_operand_format(s->job, base));
  if (result == CLI_OK) result = cli_input_match(&s->base, of.columns, of.d, "", map, "embeds rows of");
  if (result == CLI_OK) result = cli_input_open(&s->embedded, &s->plain, embedded, NULL);
  if (result == CLI_OK)
    result = cli_input_check_cols(&s->embedded, cpb_transform_cols(s->transform), "", map, "makes rows of");
  return result;
}

static int verify(sealing *s) {
  cpb_error error;
  cpb_status status = cpb_seal_watch_new(&s->embedded.source, &s->watch, &error);
  if (status != CPB_OK) return cli_fail(s->job, "%s", error.text);
  status = cpb_transform_verify(s->transform, &s->base.source, cpb_seal_watch_source(s->watch), &s->precision,
                                cli_exec(s->job), &error);
  if (status == CPB_OK) return CLI_OK;
  return cli_fail_input(cli_is_about(&error, "embedded") ? &s->embedded : &s->base, status, &error);
}

static int put(const sealing *s) {
  const char *path = s->job->operands[1];
  cpb_error error;
  if (cpb_seal_put(path, s->transform, CPB_ROLE_BASE, 0, s->precision, s->watch, &error) != CPB_OK)
    return cli_fail(s->job, "%s", error.text);
  cli_say(s->job, "%s has the images under %s of %s, in %s: sealed", path, s->job->options.map,
          cli_name(s->job->operands[0]), cpb_dtype_name(s->precision));
  if (!s->job->options.json) return CLI_OK;
  return cli_print_json(s->job,
                        cli_json("{s:s, s:s}", "embedded", path, "precision", cpb_dtype_name(s->precision)));
}

static int run(cli_job *job) {
  sealing s = {.job = job, .plain = without_table(job)};
  cpb_error error;
  if (cpb_transform_load(job->options.map, &s.transform, &error) != CPB_OK)
    return cli_fail(job, "%s", error.text);
  int result = read_inputs(&s);
  if (result == CLI_OK) result = verify(&s);
  if (result == CLI_OK) result = put(&s);
  cpb_seal_watch_free(s.watch);
  cli_input_close(&s.base);
  cli_input_close(&s.embedded);
  cpb_transform_free(s.transform);
  return result;
}

CLI_OPTIONS(options, &cli_opt_map, &cli_opt_leave_bad, CLI_OPT_TABLE, &cli_opt_json, &cli_opt_quiet,
            &cli_opt_threads, &cli_opt_help);

const cli_command cli_verb_seal = {
    .verb = "seal",
    .operands = "-m MAP.json BASE EMB",
    .summary = "compare embedded rows with the data, and seal them for proofs",
    .formula = "|y_i - S(x_i)| <= what rounding to f64, f32 or f16 explains, for every row i       T13",
    .text =
        "EMB has one row for each row of BASE, in the same order. All of BASE is embedded again and "
        "compared; a row that differs from its image under MAP.json is an error that names it. The seal "
        "contains the map, the precision that explains every row, and a hash of the rows: EMB.capball, next "
        "to EMB, or an attribute of an HDF5 data set, whose file is rewritten. `capball embed` seals its "
        "output; this command is for rows that were copied, converted, or computed by another program. "
        "`capball rescore --certificates` calls answers proven if the rows have a seal that matches.",
    .example = "printf '0,0\\n3,4\\n6,8\\n1,1\\n' > base.csv\n"
               "capball fit base.csv -o map.json -q\n"
               "capball embed -m map.json base.csv -o sphere.csv\n"
               "capball convert sphere.csv rows.npy --dtype f32\n"
               "capball seal -m map.json base.csv rows.npy",
    .least = 2,
    .most = 2,
    .options = options,
    .required = 1,
    .run = run};

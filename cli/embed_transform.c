#include "embed_transform.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "doubles.h"
#include "format_names.h"
#include "gather.h"
#include "stream.h"

/* The kind with this name; options were checked against the same names. */
static cpb_transform_kind kind_of(const char *name) {
  size_t kind = 0;
  while (kind + 1 < CPB_TRANSFORMS && strcmp(cpb_transform_about((cpb_transform_kind)kind).name, name) != 0)
    kind++;
  return (cpb_transform_kind)kind;
}

/* ---- what a transform takes from its base: centre and largest norm ---- */

typedef struct norm_scan {
  const cli_job *job;
  cpb_reader *reader;
  const double *center;
  double largest, of_slot[CLI_SCAN_SLOTS];
  cpb_status status[CLI_SCAN_SLOTS];
  cpb_error error[CLI_SCAN_SLOTS];
} norm_scan;

/* Of the rows that have a norm. */
static double largest_good(cpb_view rows, const double *center) {
  double largest = 0, norm;
  for (size_t i = 0; i < rows.rows; i++)
    if (cpb_max_norm(cli_rows_slice(rows, i, 1), center, &norm, NULL, NULL) == CPB_OK)
      largest = fmax(largest, norm);
  return largest;
}

static void look(void *arg, size_t slot, cpb_view rows, uint64_t first) {
  (void)first;
  norm_scan *s = arg;
  s->status[slot] = cpb_max_norm(rows, s->center, &s->of_slot[slot], NULL, &s->error[slot]);
  if (s->status[slot] != CPB_EROW || !s->job->options.skip_bad) return;
  s->of_slot[slot] = largest_good(rows, s->center);
  s->status[slot] = CPB_OK;
}

static int gather(void *arg, size_t slot, uint64_t first, size_t rows) {
  (void)rows;
  norm_scan *s = arg;
  if (s->status[slot] != CPB_OK)
    return cli_fail_row(s->job, cpb_reader_info(s->reader).path, first, &s->error[slot]);
  s->largest = fmax(s->largest, s->of_slot[slot]);
  return CLI_OK;
}

static int find_largest(const cli_job *job, cpb_reader *reader, cpb_transform_options *options) {
  norm_scan norms = {.job = job, .reader = reader, .center = options->center};
  cli_scan scan = {.job = job, .reader = reader, .arg = &norms, .look = look, .gather = gather};
  cpb_error error;
  if (cpb_reader_rewind(reader, &error) != CPB_OK) return cli_fail(job, "%s", error.text);
  int result = cli_scan_run(&scan);
  options->max_norm = norms.largest;
  if (result == CLI_OK && !(norms.largest > 0))
    return cli_fail(job, "%s: the largest norm%s is %g, no scale for transform %s",
                    cli_name(cpb_reader_info(reader).path), options->center != NULL ? " about the mean" : "",
                    norms.largest, job->options.transform);
  return result;
}

/* *gathered owns the centre. */
static int find_center(const cli_job *job, cpb_reader *reader, cpb_transform_options *options,
                       cpb_statistics **gathered) {
  cpb_statistics_result facts = {.size = sizeof facts};
  int result = cli_gather(job, reader, gathered);
  if (result == CLI_OK) result = cli_finish(job, cpb_reader_info(reader).path, *gathered, &facts);
  if (result == CLI_OK) options->center = facts.mean;
  return result;
}

static int fit(const cli_job *job, const char *base, cpb_transform_options *options, cpb_transform **made) {
  cpb_transform_facts facts = cpb_transform_about(options->kind);
  cpb_statistics *gathered = NULL;
  cpb_reader *reader = NULL;
  cpb_error error;
  int result = CLI_OK;
  bool fitted = facts.centred || facts.bounded;
  if (fitted) result = cli_open_reader(job, base, job->options.format, &reader);
  if (result == CLI_OK && fitted && cpb_reader_info(reader).cols != options->d)
    result =
        cli_fail(job, "%s has %zu column%s, but %s has %zu", cli_name(base), cpb_reader_info(reader).cols,
                 cli_s(cpb_reader_info(reader).cols), cli_name(job->operands[0]), options->d);
  if (result == CLI_OK && facts.centred) result = find_center(job, reader, options, &gathered);
  if (result == CLI_OK && facts.bounded) result = find_largest(job, reader, options);
  if (result == CLI_OK && cpb_transform_new(options, made, &error) != CPB_OK)
    result = cli_fail(job, "%s", error.text);
  cpb_statistics_free(gathered);
  cpb_reader_free(reader);
  return result;
}

/* ---- the rows ---- */

typedef struct side {
  const cpb_transform *transform;
  cpb_role role;
} side;

static cpb_status apply(const void *arg, cpb_view in, cpb_out out, const cpb_exec *exec, cpb_error *error) {
  const side *s = arg;
  return cpb_transform_apply(s->transform, s->role, in, out, exec, error);
}

static int stream_rows(const cli_job *job, cpb_reader *reader, const char *output, const side *s) {
  const cli_options *o = &job->options;
  cpb_dtype natural = cpb_reader_info(reader).dtype == CPB_F64 ? CPB_F64 : CPB_F32;
  cli_stream stream = {.job = job,
                       .reader = reader,
                       .output = output,
                       .to = o->to,
                       .dtype = cli_output_dtype(output, o->to, o->dtype, natural),
                       .cols = cpb_transform_cols(s->transform),
                       .last = CPB_ROWS_UNKNOWN,
                       .transform = apply,
                       .arg = s};
  if (stream.dtype != CPB_F32 && stream.dtype != CPB_F64 && stream.dtype != CPB_F16)
    return cli_misuse(job, "transformed rows hold fractions, which %s cannot hold",
                      cpb_dtype_name(stream.dtype));
  return cli_stream_run(&stream);
}

static int check(const cli_job *job, cpb_transform_facts facts, bool query) {
  const cli_options *o = &job->options;
  const char *base = o->base != NULL ? o->base : job->operands[0];
  bool fitted = facts.centred || facts.bounded;
  if (query && fitted && o->base == NULL)
    return cli_misuse(job, "--as query: transform %s is fitted to the base; name it with --base", facts.name);
  if (fitted && strcmp(base, "-") == 0)
    return cli_misuse(job,
                      "transform %s reads its base more than once, but a pipe can be read once: give a "
                      "file",
                      facts.name);
  return CLI_OK;
}

int cli_embed_by_transform(const cli_job *job, const char *output) {
  const cli_options *o = &job->options;
  cpb_transform_options options;
  cpb_transform_options_init(&options, sizeof options);
  options.kind = kind_of(o->transform);
  side s = {NULL, o->side != NULL && strcmp(o->side, "query") == 0 ? CPB_ROLE_QUERY : CPB_ROLE_BASE};
  int result = check(job, cpb_transform_about(options.kind), s.role == CPB_ROLE_QUERY);
  if (result != CLI_OK) return result;
  cpb_reader *reader;
  result = cli_open_reader(job, job->operands[0], o->format, &reader);
  if (result != CLI_OK) return result;
  cpb_transform *transform = NULL;
  options.d = cpb_reader_info(reader).cols;
  result = fit(job, o->base != NULL ? o->base : job->operands[0], &options, &transform);
  s.transform = transform;
  if (result == CLI_OK) result = stream_rows(job, reader, output, &s);
  cpb_transform_free(transform);
  cpb_reader_free(reader);
  return result;
}

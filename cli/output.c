#include "output.h"

#include "format_names.h"

int cli_output_add(cli_output *out, const char *path, const char *format, cpb_dtype dtype, size_t cols,
                   uint64_t rows) {
  cpb_writer_options options;
  cpb_error error;
  cpb_writer **writer = &out->writers[out->count++];
  if (path == NULL) return CLI_OK;
  cpb_writer_options_init(&options, sizeof options);
  options.format = format;
  options.dtype = dtype;
  options.cols = cols;
  options.rows = rows;
  if (cpb_writer_open(path, &options, writer, &error) == CPB_OK) return CLI_OK;
  return cli_fail(out->job, "%s", error.text);
}

int cli_output_append(cli_output *out, size_t at, cpb_view rows) {
  cpb_error error;
  if (out->writers[at] == NULL || cpb_writer_append(out->writers[at], rows, &error) == CPB_OK) return CLI_OK;
  return cli_fail(out->job, "%s", error.text);
}

int cli_output_finish(cli_output *out, int result) {
  cpb_error error;
  for (size_t i = 0; i < out->count && result == CLI_OK; i++)
    if (out->writers[i] != NULL && cpb_writer_commit(out->writers[i], &error) != CPB_OK)
      result = cli_fail(out->job, "%s", error.text);
  for (size_t i = 0; i < out->count; i++) cpb_writer_free(out->writers[i]);
  out->count = 0;
  return result;
}

int cli_write_table(const cli_job *job, const char *path, const char *format, cpb_dtype dtype,
                    cpb_view rows) {
  cli_output out = {.job = job};
  int result = cli_output_add(&out, path, format, dtype, rows.cols, rows.rows);
  if (result == CLI_OK) result = cli_output_append(&out, 0, rows);
  return cli_output_finish(&out, result);
}

int cli_flow(cli_input *in, cpb_flow_options *flow, const char *path, cpb_dtype dtype) {
  const cli_options *o = &in->job->options;
  cpb_writer_options to;
  cpb_error error;
  uint64_t bad = 0;
  int result = cli_check_typed(in->job, path, o->to, "to");
  if (result != CLI_OK) return result;
  cpb_writer_options_init(&to, sizeof to);
  to.format = o->to;
  to.dtype = dtype;
  flow->skip_bad = o->skip_bad;
  flow->lend = true;
  cpb_status status = cpb_flow_run(in->reader, flow, path, &to, &bad, cli_exec(in->job), &error);
  bool of_rows = status == CPB_EROW && error.row >= 0; /* else its sentence names the output */
  if (status != CPB_OK)
    return of_rows ? cli_fail_input(in, status, &error) : cli_fail(in->job, "%s", error.text);
  if (bad > 0) cli_say(in->job, "bad rows left out: %llu", (unsigned long long)bad);
  return CLI_OK;
}

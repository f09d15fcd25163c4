#include "output.h"

#include <stdlib.h>
#include <string.h>

#include "format_names.h"

/* "neighbour 1" "neighbour 2" .. from "neighbour", "score" "share" from "score,share"; the caller frees it. */
static char **names_of(const char *word, size_t cols) {
  size_t room = strlen(word) + 24;
  char **names = cli_alloc(cols, sizeof *names + room), *text = (char *)(names + cols);
  bool numbered = cols > 1 && strchr(word, ',') == NULL;
  for (size_t j = 0; j < cols; j++, text += room) {
    int length = (int)strcspn(word, ",");
    names[j] = text;
    snprintf(text, room, numbered ? "%.*s %zu" : "%.*s", length, word, j + 1);
    if (!numbered) word += length + (word[length] == ',');
  }
  return names;
}

static bool has_ids(const cli_input *in) { return in != NULL && in->info.ids; }

static int open_writer(cli_output *out, const char *path, cpb_writer_options *options, const char *word) {
  cpb_error error;
  cpb_writer **writer = &out->writers[out->count++];
  if (path == NULL) return CLI_OK;
  bool named = options->rows_of != NULL || options->cells_of != NULL;
  char **names = named ? names_of(word, options->cols) : NULL;
  options->columns = (const char *const *)names;
  cpb_status status = cpb_writer_open(path, options, writer, &error);
  free(names);
  return status == CPB_OK ? CLI_OK : cli_fail(out->job, "%s", error.text);
}

static cpb_writer_options options_of(cli_output *out, const char *format, cpb_dtype dtype, size_t cols,
                                     uint64_t rows) {
  cpb_writer_options options;
  cpb_writer_options_init(&options, sizeof options);
  options.format = format;
  options.dtype = dtype;
  options.cols = cols;
  options.rows = rows;
  options.seal = out->seal;
  out->seal = NULL;
  if (!out->job->options.bare && has_ids(out->rows)) options.rows_of = out->rows->reader;
  return options;
}

int cli_output_add(cli_output *out, const char *path, const char *format, cpb_dtype dtype, size_t cols,
                   uint64_t rows, const char *word) {
  cpb_writer_options options = options_of(out, format, dtype, cols, rows);
  return open_writer(out, path, &options, word);
}

int cli_output_add_ids(cli_output *out, const char *path, const char *format, const cli_input *base,
                       size_t cols, uint64_t rows, const char *word) {
  uint64_t known = base->info.rows == CPB_ROWS_UNKNOWN ? base->rows.rows : base->info.rows;
  cpb_writer_options options = options_of(out, format, cli_id_dtype(path, format, known), cols, rows);
  if (!out->job->options.bare && has_ids(base)) options.cells_of = base->reader;
  return open_writer(out, path, &options, word);
}

int cli_output_append(cli_output *out, size_t at, cpb_view rows) {
  enum { TOLD = 1 << 16 };
  cpb_error error;
  for (size_t first = 0; out->writers[at] != NULL && first < rows.rows; first += TOLD) {
    size_t count = rows.rows - first < TOLD ? rows.rows - first : TOLD;
    cpb_view some = rows;
    some.data = (const char *)rows.data + first * rows.stride * cpb_dtype_size(rows.dtype);
    some.rows = count;
    if (cpb_writer_append(out->writers[at], some, &error) != CPB_OK)
      return cli_fail(out->job, "%s", error.text);
    bool last = first + count == rows.rows;
    if (!last && cli_bar_tell(out->job->bar, (double)(first + count) / (double)rows.rows) != 0)
      return CLI_FAILED;
  }
  return CLI_OK;
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

int cli_flow(cli_input *in, cpb_flow_options *flow, const char *path, cpb_dtype dtype,
             const char *const *columns, cpb_seal *seal) {
  const cli_options *o = &in->job->options;
  cpb_writer_options to;
  cpb_error error;
  uint64_t bad = 0;
  int result = cli_check_typed(in->job, path, o->to, "to");
  if (result != CLI_OK) return result;
  cpb_writer_options_init(&to, sizeof to);
  to.format = o->to;
  to.dtype = dtype;
  to.columns = o->bare ? NULL : columns;
  to.rows_of = o->bare ? NULL : in->reader;
  to.seal = seal;
  flow->skip_bad = o->skip_bad;
  flow->lend = true;
  cpb_status status = cpb_flow_run(in->reader, flow, path, &to, &bad, cli_exec(in->job), &error);
  bool of_rows = status == CPB_EROW && error.row >= 0; /* else its message names the output */
  if (status != CPB_OK)
    return of_rows ? cli_fail_input(in, status, &error) : cli_fail(in->job, "%s", error.text);
  if (bad > 0) cli_say(in->job, "bad rows left out: %llu", (unsigned long long)bad);
  return CLI_OK;
}

int cli_write_text(const cli_job *job, const char *path, char *text, size_t length) {
  cpb_error error;
  if (text == NULL) return cli_fail(job, "no memory for %s", cli_name(path));
  cpb_status status = cpb_write_whole(path, text, length, &error);
  free(text);
  return status == CPB_OK ? CLI_OK : cli_fail(job, "%s", error.text);
}

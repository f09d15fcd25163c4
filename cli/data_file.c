#include "capball/advanced/statistics.h"
#include "capball/advanced/flow.h"
#include "capball/advanced/laws.h"
#include "data_file.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/system_file.h"
#include "format_names.h"

/* The options of the command that help with such rows. */
static const char *remedy(const cli_job *job, const cpb_error *error) {
  const cli_options *o = &job->options;
  bool skips = cli_accepts(job->command, &cli_opt_skip_bad) || cli_accepts(job->command, &cli_opt_leave_bad);
  if (!skips || o->skip_bad || o->leave_bad) return "";
  if (error->reason != CPB_WHY_ROW_NAN || o->impute.at != 0 || !cli_accepts(job->command, &cli_opt_impute))
    return " (--skip-bad omits such rows)";
  return " (--skip-bad omits such rows, --impute fills cells that are empty or NaN)";
}

/* ---- as a source ---- */

static void set_options(const cli_job *job, const char *format, cpb_reader_options *options) {
  const cli_options *o = &job->options;
  cpb_reader_options_init(options, sizeof *options);
  options->format = format;
  options->columns = o->columns;
  options->drop = o->drop;
  options->id_column = o->id_column;
  options->label_column = o->label_column;
  options->header = (cpb_header)o->header.at;
  options->decimal_comma = o->decimal_comma;
  options->skip_bad = o->leave_bad;
  options->skip_text = job->command->skips_text;
  options->follow_external = o->follow_external;
}

/* ---- failures ---- */

/* What else is wrong with a table of text, once something is. */
typedef struct problems {
  const cli_job *job;
  bool first_is_known; /* it has been reported */
  uint64_t count, cells, bad;
  uint64_t *bad_in; /* of each column */
  size_t cols;
} problems;

enum { REPORTED = 10 };

static void meet_problem(void *context, const cpb_error *what) {
  problems *p = context;
  p->count++;
  p->cells += what->reason == CPB_WHY_FILE_ROW_COLUMNS ? p->cols : 1;
  bool known = p->count == 1 && p->first_is_known;
  if (!known && p->count <= REPORTED) cli_fail(p->job, "%s", what->text);
}

static void count_bad(problems *p, cpb_view block) {
  double *row = cli_alloc(block.cols, sizeof *row);
  for (size_t i = 0; i < block.rows; i++) {
    cpb_view one = block;
    one.data = (const char *)block.data + i * block.stride * sizeof(double); /* text is read as doubles */
    one.rows = 1;
    cpb_view_widen(one, row);
    for (size_t k = 0; k < block.cols; k++) {
      p->bad += isfinite(row[k]) ? 0 : 1;
      p->bad_in[k] += isfinite(row[k]) ? 0 : 1;
    }
  }
  free(row);
}

/* "3 cells are empty, NaN or inf: income (1), weight (2)"; cells that are not numbers have lines of their own. */
static void tell_empty(const problems *p, const char *path, const char *const *names) {
  uint64_t empty = p->bad > p->cells ? p->bad - p->cells : 0;
  char list[512] = "";
  size_t length = 0, listed = 0;
  for (size_t k = 0; names != NULL && p->cells == 0 && k < p->cols && length < sizeof list; k++)
    if (p->bad_in[k] > 0 && listed++ < REPORTED)
      length += (size_t)snprintf(list + length, sizeof list - length, "%s%s (%llu)", listed > 1 ? ", " : ": ",
                                 names[k], (unsigned long long)p->bad_in[k]);
  if (empty > (p->first_is_known || listed > 0 ? 0u : 1u))
    cli_fail(p->job, "%s: %llu cell%s empty, NaN or inf%s%s", cli_name(path), (unsigned long long)empty,
             empty == 1 ? " is" : "s are", list, listed > REPORTED ? ", .." : "");
}

/* Reads a file once more, and reports its other problems: cells that are not numbers, rows of another length, and how
 * many cells are empty. */
static void tell_others(const cli_job *job, const char *path, const char *format, const cpb_error *first) {
  cpb_reader_options options;
  cpb_reader *reader = NULL;
  cpb_view block = {0};
  problems p = {.job = job,
                .first_is_known =
                    first->reason == CPB_WHY_TEXT_NUMBER || first->reason == CPB_WHY_FILE_ROW_COLUMNS};
  set_options(job, format, &options);
  options.problem = meet_problem;
  options.context = &p;
  if (strcmp(path, "-") == 0 || cpb_reader_open_as(path, &options, &reader, NULL) != CPB_OK) return;
  cpb_file_info info = cpb_reader_info(reader);
  p.cols = info.cols;
  p.bad_in = cli_alloc(info.cols, sizeof *p.bad_in);
  bool text = strcmp(info.format, "csv") == 0 || strcmp(info.format, "tsv") == 0;
  cpb_status status = text ? CPB_OK : CPB_EINVAL;
  do {
    if (status == CPB_OK) status = cpb_reader_next(reader, 1024, &block, NULL);
    if (status == CPB_OK) count_bad(&p, block);
  } while (status == CPB_OK && block.rows > 0);
  if (p.count > REPORTED)
    cli_fail(job, "%s: and %llu more", cli_name(path), (unsigned long long)(p.count - REPORTED));
  tell_empty(&p, path, info.names ? cpb_reader_source(reader, false).names : NULL);
  free(p.bad_in);
  cpb_reader_free(reader);
}

int cli_fail_row(const cli_job *job, const char *path, uint64_t first, const cpb_error *error) {
  if (error->row < 0) return cli_fail(job, "%s: %s", cli_name(path), error->text);
  /* The library counts rows from the start of the block; only the part after the row number applies to the file. */
  const char *what = error->text + error->about;
  return cli_fail(job, "%s: row %llu %s%s", cli_name(path),
                  (unsigned long long)(first + (uint64_t)error->row), what, remedy(job, error));
}

/* A column of text among numbers: suggests what to do. */
static int fail_text(const cli_job *job, const char *path, const char *format, const cpb_error *error) {
  bool helps = error->reason == CPB_WHY_TEXT_NUMBER && cli_accepts(job->command, &cli_opt_drop);
  cli_fail(job, "%s%s", error->text,
           helps ? " (--drop omits a column, --id-column uses it as the names of the rows)" : "");
  if (helps || error->reason == CPB_WHY_FILE_ROW_COLUMNS) tell_others(job, path, format, error);
  return CLI_FAILED;
}

static bool takes_format(const cli_job *job, const char *operand) {
  size_t i = 0;
  while (i < job->count && strcmp(job->operands[i], "-") != 0) i++;
  return job->count > 0 && operand == job->operands[i < job->count ? i : 0];
}

const char *cli_operand_format(const cli_job *job, const char *operand) {
  return takes_format(job, operand) ? job->options.format : NULL;
}

/* Reports what differs from what the extension implies, in one line. */
static void tell_table(const cli_input *in) {
  const cli_options *o = &in->job->options;
  char usual = strcmp(in->info.format, "tsv") == 0 ? '\t' : ',', separator = in->info.separator;
  const char *by = separator == '\t'  ? "tabs"
                   : separator == ' ' ? "blanks"
                   : separator == ';' ? "\";\""
                                      : "\",\"";
  bool ids = in->info.ids && o->id_column == NULL;
  if (in->info.skipped != NULL)
    cli_say(in->job, "%s: columns of text are left out: %s (--id-column uses one as the names of the rows)",
            cli_name(in->info.path), in->info.skipped);
  if (in->info.renamed != NULL)
    cli_say(in->job, "%s: columns with the name of another are renamed: %s", cli_name(in->info.path),
            in->info.renamed);
  if (separator == 0 || (separator == usual && !ids)) return;
  cli_say(in->job, "%s: %s%s%s%s", cli_name(in->info.path), separator == usual ? "" : "separated by ",
          separator == usual ? "" : by, separator != usual && ids ? "; " : "",
          ids ? "its first column, without a name, contains the names of the rows" : "");
}

static void look_at(cli_input *in) {
  in->info = cpb_reader_info(in->reader);
  in->source = cpb_reader_source(in->reader, true);
}

static int open_as(cli_input *in, const cli_job *job, const char *path, cpb_reader_options *options) {
  cpb_error error;
  *in = (cli_input){.job = job};
  int result = cli_check_format(job, path, options->format, takes_format(job, path) ? "format" : NULL);
  if (result != CLI_OK) return result;
  options->follow_external = job->options.follow_external;
  if (cpb_reader_open_as(path, options, &in->reader, &error) != CPB_OK)
    return fail_text(job, path, options->format, &error);
  in->format = options->format;
  look_at(in);
  return CLI_OK;
}

/* A file of numbers that belong to rows, without table options. */
static int open_plain(cli_input *in, const cli_job *job, const char *path) {
  cpb_reader_options options;
  cpb_reader_options_init(&options, sizeof options);
  return open_as(in, job, path, &options);
}

/* --impute: two passes, the first for the values. */
static int impute(cli_input *in) {
  const cli_job *job = in->job;
  cpb_error error;
  double *values = cli_alloc(in->info.cols, sizeof *values);
  bool median = job->options.impute.at == 2;
  cpb_column_facts facts = {.mean = median ? NULL : values, .median = median ? values : NULL};
  cpb_status status = cpb_reader_fill(in->reader, NULL, &error);
  if (status == CPB_OK) status = cpb_columns_fit(&in->source, &facts, cli_exec(job), &error);
  if (status == CPB_OK) status = cpb_reader_rewind(in->reader, &error);
  if (status == CPB_OK) status = cpb_reader_fill(in->reader, values, &error);
  free(in->fill);
  in->fill = values;
  if (status != CPB_OK) return cli_fail_input(in, status, &error);
  look_at(in);
  return CLI_OK;
}

int cli_input_open(cli_input *in, const cli_job *job, const char *path, const char *format) {
  int result = cli_input_open_unmatched(in, job, path, format);
  return result == CLI_OK && job->options.impute.at != 0 ? impute(in) : result;
}

int cli_input_open_unmatched(cli_input *in, const cli_job *job, const char *path, const char *format) {
  cpb_reader_options options;
  set_options(job, format, &options);
  int result = open_as(in, job, path, &options);
  if (result == CLI_OK) tell_table(in);
  return result;
}

void cli_input_close(cli_input *in) {
  cpb_free((void *)(uintptr_t)in->rows.data);
  cpb_reader_free(in->reader);
  free(in->fill);
  *in = (cli_input){.job = in->job};
}

int cli_fail_input(const cli_input *in, cpb_status status, const cpb_error *error) {
  return cli_fail_block(in, 0, status, error);
}

int cli_fail_block(const cli_input *in, uint64_t first, cpb_status status, const cpb_error *error) {
  if (status == CPB_EROW) {
    cli_fail_row(in->job, in->info.path, first, error);
    tell_others(in->job, in->info.path, in->format, error);
    return CLI_FAILED;
  }
  if (error->reason == CPB_WHY_DOMAIN && cli_is_about(error, "sample"))
    return cli_misuse(in->job, "--sample: %s", error->text);
  if (status == CPB_EIO || status == CPB_EFORMAT) return fail_text(in->job, in->info.path, in->format, error);
  return cli_fail(in->job, "%s: %s", cli_name(in->info.path), error->text);
}

cli_job cli_query_job(const cli_job *job) {
  cli_job asking = *job;
  asking.options.leave_bad = job->options.skip_bad;
  return asking;
}

void cli_tell_bad(const cli_input *in) {
  uint64_t bad = in->reader == NULL ? 0 : cpb_reader_info(in->reader).bad_rows;
  if (bad > 0)
    cli_say(in->job, "%s: bad rows left out: %llu", cli_name(in->info.path), (unsigned long long)bad);
}

int cli_input_hold(cli_input *in) {
  cpb_error error;
  cpb_status status = cpb_source_hold(&in->source, &in->rows, cli_exec(in->job), &error);
  if (status != CPB_OK) return cli_fail_input(in, status, &error);
  const char *const *names = in->source.names;
  in->source = cpb_source_from_view(in->rows);
  in->source.names = names;
  return CLI_OK;
}

int cli_input_take(cli_input *in) {
  int result = cli_input_hold(in);
  if (result == CLI_OK && in->rows.rows == 0)
    return cli_fail(in->job, "%s has no rows", cli_name(in->info.path));
  return result;
}

int cli_input_read(cli_input *in, const cli_job *job, const char *path, const char *format) {
  int result = cli_input_open(in, job, path, format);
  return result == CLI_OK ? cli_input_take(in) : result;
}

int cli_input_store(cli_input *in, cpb_store *store) {
  cpb_error error;
  if (cpb_reader_store(in->reader, store, &error) == CPB_OK) return CLI_OK;
  int result = cli_input_hold(in);
  *store = cpb_store_from_view(in->rows);
  in->info.rows = in->rows.rows;
  return result;
}

int cli_input_check_cols(const cli_input *in, size_t wanted, const char *what, const char *maker,
                         const char *makes) {
  if (in->info.cols == wanted) return CLI_OK;
  return cli_fail(in->job, "%s has %zu column%s, but %s%s %s %zu", cli_name(in->info.path), in->info.cols,
                  cli_s(in->info.cols), what, maker, makes, wanted);
}

static int match_columns(cli_input *in, const char *const *names, size_t wanted, const char *what,
                         const char *maker, const char *makes) {
  cpb_error error;
  if (names != NULL && in->info.names && in->job->options.columns == NULL) {
    if (cpb_reader_select(in->reader, names, wanted, &error) != CPB_OK)
      return cli_fail(in->job, "%s", error.text);
    look_at(in);
  }
  return cli_input_check_cols(in, wanted, what, maker, makes);
}

int cli_input_match(cli_input *in, const char *const *names, size_t wanted, const char *what,
                    const char *maker, const char *makes) {
  int result = match_columns(in, names, wanted, what, maker, makes);
  return result == CLI_OK && in->job->options.impute.at != 0 ? impute(in) : result;
}

int cli_input_match_filled(cli_input *in, const cpb_model_options *model, const char *maker) {
  if (model->fill == NULL) return cli_input_match(in, model->columns, model->d, "", maker, "scores rows of");
  cpb_error error;
  int result = match_columns(in, model->columns, model->d, "", maker, "scores rows of");
  if (result == CLI_OK && cpb_reader_fill(in->reader, model->fill, &error) != CPB_OK)
    result = cli_fail(in->job, "%s", error.text);
  look_at(in);
  return result;
}

/* ---- as numbers ---- */

/* The numbers of a file with one row or one column; of a column at most `most` + 1. NULL after an error message. */
static double *read_line(const cli_input *in, const char *what, size_t most, size_t *count) {
  cpb_view block;
  cpb_error error;
  if (cpb_reader_next(in->reader, in->info.cols == 1 ? most + 1 : 2, &block, &error) != CPB_OK) {
    cli_fail(in->job, "%s", error.text);
    return NULL;
  }
  if (block.rows > 1 && block.cols > 1) {
    cli_fail(in->job, "%s: the %s must be one row or one column, but the file has several of both",
             cli_name(in->info.path), what);
    return NULL;
  }
  *count = block.rows * block.cols;
  double *numbers = cli_alloc(*count, sizeof *numbers);
  cpb_view_widen(block, numbers);
  return numbers;
}

int cli_read_vector(const cli_job *job, const char *path, const char *what, size_t wanted, size_t *count,
                    double **numbers) {
  enum { MOST = 1 << 20 };
  cli_input in;
  size_t found = 0, most = wanted != 0 ? wanted : MOST;
  *numbers = NULL;
  int result = open_plain(&in, job, path);
  double *line = result == CLI_OK ? read_line(&in, what, most, &found) : NULL;
  cli_input_close(&in);
  if (line == NULL) return result == CLI_OK ? CLI_FAILED : result;
  if (count != NULL) *count = found;
  if (wanted != 0 ? found == wanted : found > 0 && found <= most) {
    *numbers = line;
    return CLI_OK;
  }
  free(line);
  if (found > most) return cli_fail(job, "%s: the %s has more than %zu numbers", path, what, most);
  return cli_fail(job, "%s: the %s has %zu number%s, wanted %zu", path, what, found, cli_s(found),
                  wanted != 0 ? wanted : 2);
}

double cli_length(const double *x, size_t d) {
  double length = NAN;
  return cpb_max_norm(cpb_rows(x, CPB_F64, 1, d), NULL, &length, NULL, NULL) == CPB_OK ? length : NAN;
}

int cli_read_pole(const cli_job *job, size_t wanted, size_t *count, double **pole) {
  const char *path = job->options.pole;
  size_t found = 0;
  double *numbers;
  int result = cli_read_vector(job, path, "pole", wanted, &found, &numbers);
  if (result != CLI_OK) return result;
  double length = cli_length(numbers, found);
  for (size_t k = 0; k < found; k++) numbers[k] /= length;
  if (count != NULL) *count = found;
  *pole = numbers;
  if (found >= 2 && length > 0 && isfinite(length)) return CLI_OK;
  free(numbers);
  *pole = NULL;
  if (found < 2) return cli_fail(job, "%s: the pole has 1 number, wanted at least 2", path);
  return cli_fail(job, "%s: a pole of length %g has no direction", path, length);
}

int cli_read_numbers(const cli_job *job, const char *path, const char *what, uint64_t n, double **numbers) {
  cli_input in;
  *numbers = NULL;
  int result = open_plain(&in, job, path);
  if (result == CLI_OK) result = cli_input_hold(&in);
  size_t count = in.rows.rows * in.rows.cols;
  if (result == CLI_OK && (count != n || (in.rows.cols != 1 && in.rows.rows != 1)))
    result = cli_fail(job, "%s: %zu x %zu numbers, wanted %llu %s, one per row", path, in.rows.rows,
                      in.rows.cols, (unsigned long long)n, what);
  if (result == CLI_OK) {
    *numbers = cli_alloc(count, sizeof **numbers);
    cpb_view_widen(in.rows, *numbers);
  }
  cli_input_close(&in);
  return result;
}

/* ---- statistics ---- */

int cli_sample(cli_input *in, cpb_statistics **statistics, cpb_statistics_result *facts) {
  const cli_options *o = &in->job->options;
  cpb_statistics_fit_options options;
  cpb_error error;
  cpb_statistics_fit_options_init(&options, sizeof options);
  *facts = (cpb_statistics_result){.size = sizeof *facts};
  options.seed = o->seed.value;
  options.skip_bad = o->skip_bad;
  options.sample = (size_t)o->sample.value;
  cpb_status status = cpb_statistics_fit(&in->source, &options, statistics, cli_exec(in->job), &error);
  if (status == CPB_OK) status = cpb_statistics_finish(*statistics, facts, &error);
  if (status != CPB_OK) return cli_fail_input(in, status, &error);
  if (facts->rows == 0) return cli_fail(in->job, "%s has no rows to fit to", cli_name(in->info.path));
  return CLI_OK;
}

int cli_read_state(const cli_job *job, const char *path, cpb_statistics **statistics) {
  FILE *file = cpb_sys_fopen(path, "rb");
  if (file == NULL) return cli_fail(job, "cannot open %s: %s", path, strerror(errno));
  size_t room = (size_t)1 << 16, count = 0, got;
  unsigned char *bytes = cli_alloc(room, 1);
  while ((got = fread(bytes + count, 1, room - count, file)) > 0) {
    count += got;
    if (count < room) continue;
    unsigned char *larger = cli_alloc(2 * room, 1);
    memcpy(larger, bytes, count);
    free(bytes);
    bytes = larger;
    room *= 2;
  }
  cpb_error error;
  int result = CLI_OK;
  if (ferror(file))
    result = cli_fail(job, "cannot read %s: %s", path, strerror(errno));
  else if (cpb_statistics_deserialize(bytes, count, path, statistics, &error) != CPB_OK)
    result = cli_fail(job, "%s", error.text);
  fclose(file);
  free(bytes);
  return result;
}

int cli_write_state(const cli_job *job, const char *path, cpb_statistics *statistics) {
  void *bytes = NULL;
  size_t count;
  cpb_error error;
  cpb_status status = cpb_statistics_serialize(statistics, &bytes, &count, &error);
  if (status == CPB_OK) status = cpb_write_whole(path, bytes, count, &error);
  cpb_free(bytes);
  return status == CPB_OK ? CLI_OK : cli_fail(job, "%s", error.text);
}

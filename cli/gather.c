#include "gather.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "doubles.h"

enum { BLOCK_BYTES = 1 << 20 };

typedef struct gathering {
  const cli_job *job;
  cpb_reader *reader;
  cpb_statistics *whole;
  cpb_statistics *piece[CLI_SCAN_SLOTS];
  double *rows[CLI_SCAN_SLOTS]; /* whole numbers too large for the library's types, as doubles */
  size_t first_bad[CLI_SCAN_SLOTS];
  const char *fault[CLI_SCAN_SLOTS];
  cpb_status status[CLI_SCAN_SLOTS];
  cpb_error error[CLI_SCAN_SLOTS];
} gathering;

static bool is_wide(cpb_dtype dtype) { return dtype == CPB_I32 || dtype == CPB_I64; }

static cpb_view as_doubles(gathering *g, size_t slot, cpb_view rows) {
  free(g->rows[slot]);
  g->rows[slot] = cli_alloc(rows.rows * rows.cols, sizeof(double));
  for (size_t i = 0; i < rows.rows; i++) {
    double *to = g->rows[slot] + i * rows.cols;
    memcpy(to, cli_row(rows, i, to), rows.cols * sizeof *to);
  }
  return cpb_rows(g->rows[slot], CPB_F64, rows.rows, rows.cols);
}

/* What is wrong with a row, NULL if nothing is; NaN goes before inf. */
static const char *fault_of(const double *x, size_t d) {
  const char *fault = NULL;
  for (size_t k = 0; k < d; k++) {
    if (isnan(x[k])) return "holds NaN";
    if (isinf(x[k])) fault = "holds inf";
  }
  return fault;
}

static void find_bad(gathering *g, size_t slot, cpb_view rows) {
  double *row = cli_alloc(rows.cols, sizeof *row);
  size_t i = 0;
  while (i < rows.rows && (g->fault[slot] = fault_of(cli_row(rows, i, row), rows.cols)) == NULL) i++;
  g->first_bad[slot] = i;
  free(row);
}

static void look(void *arg, size_t slot, cpb_view rows, uint64_t first) {
  gathering *g = arg;
  if (is_wide(rows.dtype)) rows = as_doubles(g, slot, rows);
  cpb_statistics *piece = g->piece[slot];
  g->status[slot] = cpb_statistics_update(piece, rows, g->job->options.first_row + first, &g->error[slot]);
  g->first_bad[slot] = rows.rows;
  if (g->status[slot] == CPB_OK && cpb_statistics_bad_rows(piece) > 0 && !g->job->options.skip_bad)
    find_bad(g, slot, rows);
}

static int refuse_row(const gathering *g, size_t slot, uint64_t row) {
  return cli_fail(g->job, "%s: row %llu %s (--skip-bad leaves such rows out)",
                  cpb_reader_info(g->reader).path, (unsigned long long)row, g->fault[slot]);
}

static int gather(void *arg, size_t slot, uint64_t first, size_t rows) {
  gathering *g = arg;
  cpb_error error;
  if (g->status[slot] != CPB_OK) return cli_fail(g->job, "%s", g->error[slot].text);
  if (g->first_bad[slot] < rows) return refuse_row(g, slot, first + g->first_bad[slot]);
  if (cpb_statistics_merge(g->whole, g->piece[slot], &error) != CPB_OK ||
      cpb_statistics_restart(g->piece[slot], g->whole, &error) != CPB_OK)
    return cli_fail(g->job, "%s", error.text);
  return CLI_OK;
}

static int run_pass(const cli_job *job, cpb_reader *reader, cpb_statistics *whole) {
  gathering g = {.job = job, .reader = reader, .whole = whole};
  cpb_statistics_options options = {.size = sizeof options};
  cpb_statistics_describe(whole, &options);
  cpb_error error;
  int result = CLI_OK;
  for (size_t slot = 0; slot < CLI_SCAN_SLOTS && result == CLI_OK; slot++)
    if (cpb_statistics_new(&options, &g.piece[slot], &error) != CPB_OK ||
        cpb_statistics_restart(g.piece[slot], whole, &error) != CPB_OK)
      result = cli_fail(job, "%s", error.text);
  cli_scan scan = {job, reader, &g, look, gather, BLOCK_BYTES};
  if (result == CLI_OK) result = cli_scan_run(&scan);
  for (size_t slot = 0; slot < CLI_SCAN_SLOTS; slot++) {
    cpb_statistics_free(g.piece[slot]);
    free(g.rows[slot]);
  }
  return result;
}

int cli_gather(const cli_job *job, cpb_reader *reader, cpb_statistics **statistics) {
  cpb_file_info file = cpb_reader_info(reader);
  cpb_statistics_options options;
  cpb_statistics_options_init(&options, sizeof options);
  cpb_error error;
  options.d = file.cols;
  options.dtype = is_wide(file.dtype) ? CPB_F64 : file.dtype;
  options.seed = job->options.seed;
  if (job->options.sample != 0) options.sample = (size_t)job->options.sample;
  *statistics = NULL;
  if (cpb_statistics_new(&options, statistics, &error) != CPB_OK) return cli_fail(job, "%s", error.text);
  return run_pass(job, reader, *statistics);
}

int cli_gather_norms(const cli_job *job, cpb_reader *reader, cpb_statistics *statistics) {
  cpb_file_info file = cpb_reader_info(reader);
  cpb_statistics_options options = {.size = sizeof options};
  cpb_statistics_describe(statistics, &options);
  cpb_error error;
  if (file.cols != options.d)
    return cli_fail(job, "%s has %zu column%s, the statistics have %zu", file.path, file.cols,
                    cli_s(file.cols), options.d);
  cpb_statistics_result result = {.size = sizeof result};
  cpb_status status = cpb_statistics_finish(statistics, &result, &error);
  if (status == CPB_OK && !result.norms) status = cpb_statistics_begin_norms(statistics, &error);
  if (status != CPB_OK) return cli_fail(job, "%s", error.text);
  return run_pass(job, reader, statistics);
}

int cli_read_state(const cli_job *job, const char *path, cpb_statistics **statistics) {
  FILE *file = fopen(path, "rb");
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
  free(bytes);
  return status == CPB_OK ? CLI_OK : cli_fail(job, "%s", error.text);
}

int cli_finish(const cli_job *job, const char *path, cpb_statistics *statistics,
               cpb_statistics_result *result) {
  cpb_error error;
  cpb_statistics_result_init(result, sizeof *result);
  if (cpb_statistics_finish(statistics, result, &error) != CPB_OK) return cli_fail(job, "%s", error.text);
  if (result->rows == 0) return cli_fail(job, "%s has no rows to fit to", path);
  return CLI_OK;
}

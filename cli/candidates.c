#include "candidates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "doubles.h"
#include "table_file.h"

int cli_embedded_open(const cli_job *job, const char *path, size_t cols, cli_embedded *e) {
  int result = cli_open_reader(job, path, NULL, &e->reader);
  if (result != CLI_OK) return result;
  cpb_file_info info = cpb_reader_info(e->reader);
  if (info.cols != cols)
    return cli_fail(job, "%s has %zu column%s, but %s makes rows of %zu", path, info.cols, cli_s(info.cols),
                    job->options.map, cols);
  if (info.dtype > CPB_F16)
    return cli_fail(job, "%s is %s: no points of the sphere, whose coordinates lie in [-1,1]", path,
                    cpb_dtype_name(info.dtype));
  if (!info.random_access) result = cli_read_table(job, e->reader, &e->table);
  e->dtype = info.dtype;
  e->rows = info.random_access ? info.rows : e->table.rows;
  e->cols = cols;
  e->row_bytes = cols * cpb_dtype_size(info.dtype);
  return result;
}

void cli_embedded_close(cli_embedded *e) {
  cpb_reader_free(e->reader);
  free((void *)(uintptr_t)e->table.data);
}

size_t cli_embedded_buffer(const cli_embedded *e) {
  return (cpb_reader_buffer_size(e->reader, 1) + 64) / 64 * 64;
}

cpb_status cli_embedded_fetch(const cli_embedded *e, const uint64_t *ids, size_t count, void *rows,
                              void *buffer, cpb_error *error) {
  for (size_t i = 0; i < count; i++) {
    cpb_view row = e->table;
    cpb_status status = CPB_OK;
    if (row.data == NULL)
      status = cpb_reader_at(e->reader, ids[i], 1, buffer, &row, error);
    else
      row = cli_rows_slice(row, (size_t)ids[i], 1);
    if (status != CPB_OK) return status;
    memcpy((char *)rows + i * e->row_bytes, row.data, e->row_bytes);
  }
  return CPB_OK;
}

/* The largest ||y|-1| of the first rows; NaN after a sentence. */
static double off_unit(const cli_job *job, const cli_embedded *e, const uint64_t *ids, size_t count) {
  enum { LOOK = 2048 };
  double worst = 0, *row = cli_alloc(e->cols, sizeof *row);
  void *stored = cli_alloc(1, e->row_bytes), *buffer = aligned_alloc(64, cli_embedded_buffer(e));
  cpb_error error;
  for (size_t i = 0; i < count && i < LOOK && !isnan(worst); i++) {
    if (buffer == NULL || cli_embedded_fetch(e, ids + i, 1, stored, buffer, &error) != CPB_OK) {
      cli_fail(job, "%s", buffer == NULL ? "no memory for a row" : error.text);
      worst = NAN;
      continue;
    }
    double length = cli_norm(cli_row(cpb_rows(stored, e->dtype, 1, e->cols), 0, row), e->cols);
    worst = fabs(length - 1) <= 4 * 0x1p-11 ? fmax(worst, fabs(length - 1)) : NAN;
    if (isnan(worst))
      cli_fail(job, "%s: row %llu has length %g: no point of the sphere", job->options.embedded,
               (unsigned long long)ids[i], length);
  }
  free(row);
  free(stored);
  free(buffer);
  return worst;
}

int cli_embedded_error(const cli_job *job, const cli_embedded *e, const cpb_map *map, const uint64_t *ids,
                       size_t count, double *row_error) {
  double off = off_unit(job, e, ids, count), sums = ((double)e->cols + 64) * 0x1p-53;
  if (isnan(off)) return CLI_FAILED;
  cpb_dtype rounded = off <= sums ? CPB_F64 : off <= 4 * 0x1p-24 ? CPB_F32 : CPB_F16;
  *row_error = fmax(cpb_query_row_error(map, e->dtype), cpb_query_row_error(map, rounded));
  return CLI_OK;
}

static int ascending(const void *left, const void *right) {
  uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return (a > b) - (a < b);
}

static int check_query(const cli_job *job, const char *path, size_t query, const double *numbers, size_t C,
                       uint64_t rows, uint64_t *ids, uint64_t *sorted) {
  for (size_t i = 0; i < C; i++) {
    if (!(numbers[i] >= 0 && numbers[i] < (double)rows && numbers[i] == floor(numbers[i])))
      return cli_fail(job, "%s: row %zu names row %.17g, but %s has rows 0 .. %llu", path, query, numbers[i],
                      job->options.embedded, (unsigned long long)(rows - 1));
    ids[i] = sorted[i] = (uint64_t)numbers[i];
  }
  qsort(sorted, C, sizeof *sorted, ascending);
  for (size_t i = 1; i < C; i++)
    if (sorted[i] == sorted[i - 1])
      return cli_fail(job, "%s: row %zu names row %llu twice", path, query, (unsigned long long)sorted[i]);
  return CLI_OK;
}

int cli_read_candidates(const cli_job *job, const char *path, size_t n, uint64_t rows, size_t *C,
                        uint64_t **candidates) {
  cpb_reader *reader;
  cpb_view table;
  int result = cli_open_reader(job, path, cli_operand_format(job, path), &reader);
  if (result != CLI_OK) return result;
  result = cli_read_table(job, reader, &table);
  cpb_reader_free(reader);
  if (result != CLI_OK) return result;
  if (table.rows != n)
    result = cli_fail(job, "%s has %zu row%s of candidates for %zu quer%s", cli_name(path), table.rows,
                      cli_s(table.rows), n, n == 1 ? "y" : "ies");
  *C = table.cols;
  uint64_t *ids = cli_alloc(n * table.cols, sizeof *ids), *sorted = cli_alloc(table.cols, sizeof *sorted);
  double *row = cli_alloc(table.cols, sizeof *row);
  for (size_t i = 0; i < n && result == CLI_OK; i++)
    result = check_query(job, path, i, cli_row(table, i, row), *C, rows, ids + i * *C, sorted);
  free((void *)(uintptr_t)table.data);
  free(sorted);
  free(row);
  if (result != CLI_OK) free(ids);
  *candidates = result == CLI_OK ? ids : NULL;
  return result;
}

#include "table_file.h"

#include <stdlib.h>
#include <string.h>

#include "doubles.h"

static void append(cpb_view block, cpb_dtype dtype, char *to, double *buffer) {
  size_t bytes = block.cols * cpb_dtype_size(dtype);
  for (size_t i = 0; i < block.rows; i++) {
    const void *row =
        dtype == block.dtype
            ? (const void *)((const char *)block.data + i * block.stride * cpb_dtype_size(dtype))
            : (const void *)cli_row(block, i, buffer);
    memcpy(to + i * bytes, row, bytes);
  }
}

int cli_read_table(const cli_job *job, cpb_reader *reader, cpb_view *rows) {
  enum { ROWS = 4096 };
  cpb_file_info info = cpb_reader_info(reader);
  cpb_dtype dtype = info.dtype > CPB_I8 ? CPB_F64 : info.dtype;
  size_t bytes = info.cols * cpb_dtype_size(dtype), room = 0, used = 0;
  char *data = NULL;
  double *buffer = cli_alloc(info.cols, sizeof *buffer);
  cpb_view block;
  cpb_error error;
  int result = CLI_OK;
  for (;;) {
    if (cli_interrupted() != 0) result = CLI_FAILED;
    if (result == CLI_OK && cpb_reader_next(reader, ROWS, &block, &error) != CPB_OK)
      result = cli_fail(job, "%s", error.text);
    if (result != CLI_OK || block.rows == 0) break;
    if (used + block.rows > room) {
      room = 2 * (used + block.rows);
      char *larger = room > SIZE_MAX / bytes ? NULL : realloc(data, room * bytes);
      if (larger == NULL) {
        result = cli_fail(job, "%s: no memory for %zu rows of %zu columns", info.path, room, info.cols);
        break;
      }
      data = larger;
    }
    append(block, dtype, data + used * bytes, buffer);
    used += block.rows;
  }
  free(buffer);
  if (result != CLI_OK) free(data);
  *rows = cpb_rows(result == CLI_OK ? data : NULL, dtype, used, info.cols);
  return result;
}

int cli_read_numbers(const cli_job *job, const char *path, const char *what, size_t n, double **numbers) {
  cpb_reader *reader;
  cpb_view rows;
  *numbers = NULL;
  int result = cli_open_reader(job, path, NULL, &reader);
  if (result != CLI_OK) return result;
  result = cli_read_table(job, reader, &rows);
  cpb_reader_free(reader);
  if (result != CLI_OK) return result;
  if (rows.rows * rows.cols != n || (rows.cols != 1 && rows.rows != 1))
    result = cli_fail(job, "%s: %zu x %zu numbers, wanted %zu %s, one per row", path, rows.rows, rows.cols, n,
                      what);
  else {
    *numbers = cli_alloc(n, sizeof **numbers);
    double one;
    for (size_t i = 0; i < n; i++)
      (*numbers)[i] = *cli_row(
          cpb_rows((const char *)rows.data + i * cpb_dtype_size(rows.dtype), rows.dtype, 1, 1), 0, &one);
  }
  free((void *)(uintptr_t)rows.data);
  return result;
}

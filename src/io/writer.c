#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/fail.h"
#include "core/rows.h"
#include "core/sized.h"
#include "io/file_fail.h"
#include "io/format.h"
#include "io/seal_name.h"

static const cpb_writer_options defaults = {
    .size = sizeof(cpb_writer_options), .dtype = CPB_F32, .rows = CPB_ROWS_UNKNOWN};

void cpb_writer_options_init(cpb_writer_options *options, size_t size) {
  cpb_sized_init(options, size, &defaults, sizeof defaults);
}

static cpb_status check_dtype(const cpb_writer *writer, cpb_error *error) {
  if (cpb_dtype_size(writer->dtype) == 0) return cpb_fail_unknown_dtype(error, "file", writer->dtype);
  if ((writer->format->dtypes & 1u << writer->dtype) == 0)
    return cpb_file_fail(error, CPB_WHY_FILE_DTYPE, writer->file, "%s files cannot hold %s",
                         writer->format->name, cpb_dtype_name(writer->dtype));
  return CPB_OK;
}

static cpb_status check_stream(const cpb_writer *writer, cpb_error *error) {
  if (!writer->format->streams_out)
    return cpb_file_fail(error, CPB_WHY_PIPE_FORMAT_OUT, writer->whole.path, "%s cannot be written to a pipe",
                         writer->format->name);
  if (writer->format->header_counts_rows && writer->rows == CPB_ROWS_UNKNOWN)
    return cpb_file_fail(error, CPB_WHY_PIPE_COUNT, writer->whole.path,
                         "the header of %s counts the rows: in a pipe their number must be known first",
                         writer->format->name);
  return CPB_OK;
}

static cpb_status check_unpacked(const char *path, cpb_error *error) {
  size_t stem;
  if (cpb_packing_of(path, &stem) == CPB_NOT_PACKED) return CPB_OK;
  return cpb_file_fail(error, CPB_WHY_PACKED_OUT, path,
                       "packed files are only read; write to a pipe and pack what comes");
}

static cpb_status open_file(cpb_writer *writer, const char *path, const char *format, cpb_error *error) {
  cpb_status status = cpb_format_find(path, format, &writer->format, &writer->file, &writer->set, error);
  if (status == CPB_OK) status = check_unpacked(writer->file, error);
  if (status == CPB_OK && (writer->seal = cpb_seal_name(path, error)) == NULL) status = CPB_ENOMEM;
  if (status == CPB_OK) status = check_dtype(writer, error);
  if (status == CPB_OK) status = cpb_whole_open(writer->file, &writer->whole, error);
  if (status == CPB_OK && writer->whole.stream) status = check_stream(writer, error);
  if (status == CPB_OK && writer->format->begin != NULL) status = writer->format->begin(writer, error);
  return status;
}

static const cpb_reader *with_ids(const cpb_reader *reader) {
  return reader != NULL && cpb_reader_info(reader).ids ? reader : NULL;
}

cpb_status cpb_writer_open(const char *path, const cpb_writer_options *given, cpb_writer **writer,
                           cpb_error *error) {
  if (path == NULL || writer == NULL) return cpb_fail_missing(error, path == NULL ? "path" : "writer");
  *writer = NULL;
  cpb_writer_options taken = defaults, *options = &taken;
  cpb_status status = cpb_sized_take(options, sizeof *options, given, "cpb_writer_options", error);
  if (status != CPB_OK) return status;
  if (options->cols < 1 || options->cols > INT32_MAX)
    return cpb_fail_count(error, "cols", options->cols, "cols must be 1 .. %d", INT32_MAX);
  cpb_writer *opened = calloc(1, sizeof *opened);
  if (opened == NULL) return cpb_fail_memory(error, "%zu bytes", sizeof *opened);
  opened->dtype = options->dtype;
  opened->cols = options->cols;
  opened->rows = options->rows;
  opened->columns = options->columns;
  opened->rows_of = with_ids(options->rows_of);
  opened->cells_of = with_ids(options->cells_of);
  opened->whole.fd = opened->whole.kept = -1;
  status = open_file(opened, path, options->format, error);
  if (status != CPB_OK) {
    cpb_writer_free(opened);
    return status;
  }
  *writer = opened;
  return CPB_OK;
}

static cpb_status check_block(const cpb_writer *writer, uint64_t first, cpb_view block, cpb_error *error) {
  cpb_status status = cpb_check_layout(block, "block", writer->cols, error);
  if (status != CPB_OK) return status;
  if (first > writer->rows || block.rows > writer->rows - first)
    return cpb_file_fail(error, CPB_WHY_ROWS_BEYOND_PROMISE, writer->whole.path,
                         "rows %llu .. +%zu reach beyond the %llu rows promised", (unsigned long long)first,
                         block.rows, (unsigned long long)writer->rows);
  return CPB_OK;
}

cpb_status cpb_writer_append(cpb_writer *writer, cpb_view block, cpb_error *error) {
  if (writer->committed || writer->broken)
    return cpb_file_fail(error, CPB_WHY_WRITER_CLOSED, writer->whole.path,
                         writer->broken ? "a write before this one failed" : "is committed already");
  cpb_status status = check_block(writer, writer->appended, block, error);
  if (status == CPB_OK && block.rows != 0) {
    status = writer->format->append(writer, block, error);
    writer->broken = status != CPB_OK;
  }
  if (status == CPB_OK) writer->appended += block.rows;
  return status;
}

bool cpb_writer_random_access(const cpb_writer *writer) {
  return writer->format->at != NULL && !writer->whole.stream && writer->rows != CPB_ROWS_UNKNOWN;
}

cpb_status cpb_writer_at(cpb_writer *writer, uint64_t first, cpb_view block, cpb_error *error) {
  if (!cpb_writer_random_access(writer))
    return cpb_fail_random_access(writer->whole.path, writer->format, error);
  if (block.dtype != writer->dtype)
    return cpb_file_fail(error, CPB_WHY_BLOCK_DTYPE, writer->whole.path, "block is %s, the file is %s",
                         cpb_dtype_name(block.dtype), cpb_dtype_name(writer->dtype));
  cpb_status status = check_block(writer, first, block, error);
  if (status == CPB_OK && block.rows != 0) status = cpb_fixed_place(writer, first, block, error);
  if (status == CPB_OK) atomic_fetch_add(&writer->placed, block.rows);
  return status;
}

/* Before its rows are replaced: whatever ends the process in between, no seal speaks of rows that it has not seen. */
static cpb_status break_seal(const cpb_writer *writer, cpb_error *error) {
  if (writer->whole.stream || unlink(writer->seal) == 0 || errno == ENOENT || errno == ENOTDIR) return CPB_OK;
  return cpb_file_fail_errno(error, writer->seal, "remove");
}

static cpb_status complete(cpb_writer *writer, cpb_error *error) {
  uint64_t written = writer->appended + atomic_load(&writer->placed);
  if (writer->broken)
    return cpb_file_fail(error, CPB_WHY_WRITER_BROKEN, writer->whole.path, "a write before failed");
  if (writer->rows != CPB_ROWS_UNKNOWN && written != writer->rows)
    return cpb_file_fail(error, CPB_WHY_ROWS_PROMISED, writer->whole.path,
                         "%llu row%s promised, %llu written", (unsigned long long)writer->rows,
                         writer->rows == 1 ? " was" : "s were", (unsigned long long)written);
  cpb_status status = cpb_writer_flush(writer, error);
  if (status == CPB_OK && writer->format->finish != NULL) status = writer->format->finish(writer, error);
  if (status == CPB_OK) status = break_seal(writer, error);
  return status == CPB_OK ? cpb_whole_commit(&writer->whole, error) : status;
}

cpb_status cpb_writer_commit(cpb_writer *writer, cpb_error *error) {
  if (writer->committed)
    return cpb_file_fail(error, CPB_WHY_WRITER_COMMITTED, writer->whole.path, "is committed already");
  cpb_status status = complete(writer, error);
  writer->broken = status != CPB_OK;
  writer->committed = status == CPB_OK;
  return status;
}

void cpb_writer_free(cpb_writer *writer) {
  if (writer == NULL) return;
  if (writer->format != NULL && writer->format->abandon != NULL) writer->format->abandon(writer);
  cpb_whole_close(&writer->whole);
  cpb_buffer_free(&writer->buffer);
  cpb_buffer_free(&writer->row);
  free(writer->seal);
  free(writer->file);
  free(writer);
}

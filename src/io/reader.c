#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "core/sized.h"
#include "io/file_fail.h"
#include "io/format.h"

static cpb_status open_file(cpb_reader *reader, const char *path, const char *format, cpb_error *error) {
  reader->path = strdup(path);
  if (reader->path == NULL) return cpb_fail_memory(error, "%zu bytes", strlen(path));
  cpb_status status = cpb_format_find(path, format, &reader->format, &reader->file, &reader->set, error);
  if (status != CPB_OK) return status;
  status = cpb_input_open(reader->file, &reader->source, error);
  if (status != CPB_OK) return status;
  if (reader->source.stream && !reader->format->streams_in)
    return cpb_file_fail(error, CPB_WHY_PIPE_FORMAT_IN, reader->source.path, "%s cannot be read from a pipe",
                         reader->format->name);
  return reader->format->open(reader, error);
}

static const cpb_reader_options defaults = {.size = sizeof(cpb_reader_options)};

void cpb_reader_options_init(cpb_reader_options *options, size_t size) {
  cpb_sized_init(options, size, &defaults, sizeof defaults);
}

cpb_status cpb_reader_open(const char *path, const char *format, cpb_reader **reader, cpb_error *error) {
  cpb_reader_options options = defaults;
  options.format = format;
  return cpb_reader_open_as(path, &options, reader, error);
}

cpb_status cpb_reader_open_as(const char *path, const cpb_reader_options *given, cpb_reader **reader,
                              cpb_error *error) {
  if (path == NULL || reader == NULL) return cpb_fail_missing(error, path == NULL ? "path" : "reader");
  *reader = NULL;
  cpb_reader_options options = defaults;
  cpb_status status = cpb_sized_take(&options, sizeof options, given, "cpb_reader_options", error);
  if (status != CPB_OK) return status;
  cpb_reader *opened = calloc(1, sizeof *opened);
  if (opened == NULL) return cpb_fail_memory(error, "%zu bytes", sizeof *opened);
  opened->rows = CPB_ROWS_UNKNOWN;
  opened->follow_external = options.follow_external;
  status = open_file(opened, path, options.format, error);
  if (status != CPB_OK) {
    cpb_reader_free(opened);
    return status;
  }
  *reader = opened;
  return CPB_OK;
}

void cpb_reader_free(cpb_reader *reader) {
  if (reader == NULL) return;
  cpb_reader_give_back(reader, &reader->lent, NULL);
  if (reader->format != NULL && reader->format->close != NULL) reader->format->close(reader);
  cpb_input_close(&reader->source);
  cpb_buffer_free(&reader->buffer);
  free(reader->file);
  free(reader->path);
  free(reader);
}

static bool random_access(const cpb_reader *reader) {
  return reader->format->at != NULL && !reader->source.stream;
}

void cpb_reader_describe(const cpb_reader *reader, cpb_file_info *info) {
  cpb_file_info ours = {.path = reader->path,
                        .format = reader->format->name,
                        .dtype = reader->dtype,
                        .cols = reader->cols,
                        .rows = reader->rows,
                        .random_access = random_access(reader)};
  cpb_sized_give(info, &ours, sizeof ours);
}

cpb_status cpb_reader_next(cpb_reader *reader, size_t max_rows, cpb_view *block, cpb_error *error) {
  if (max_rows == 0) return cpb_fail_count(error, "max_rows", 0, "max_rows must be >= 1");
  reader->asked = true;
  cpb_status status = reader->format->next(reader, max_rows, block, error);
  if (status == CPB_OK) reader->next_row += block->rows;
  return status;
}

cpb_status cpb_reader_rewind(cpb_reader *reader, cpb_error *error) {
  if (reader->source.stream && !reader->asked) return CPB_OK;
  cpb_status status = cpb_input_rewind(&reader->source, error);
  if (status == CPB_OK && reader->format->rewind != NULL) status = reader->format->rewind(reader, error);
  if (status == CPB_OK) reader->next_row = 0;
  return status;
}

cpb_status cpb_fail_random_access(const char *path, const cpb_format *format, cpb_error *error) {
  return cpb_file_fail(error, CPB_WHY_RANDOM_ACCESS, path, "%s has no random access here", format->name);
}

static cpb_status check_rows(const cpb_reader *reader, uint64_t first, size_t count, cpb_error *error) {
  if (!random_access(reader)) return cpb_fail_random_access(reader->path, reader->format, error);
  if (first > reader->rows || count > reader->rows - first)
    return cpb_file_fail(error, CPB_WHY_ROWS_BEYOND, reader->path,
                         "rows %llu .. +%zu reach beyond its %llu row%s", (unsigned long long)first, count,
                         (unsigned long long)reader->rows, cpb_s(reader->rows));
  return CPB_OK;
}

cpb_status cpb_reader_at(const cpb_reader *reader, uint64_t first, size_t count, void *buffer,
                         cpb_view *block, cpb_error *error) {
  cpb_status status = check_rows(reader, first, count, error);
  return status != CPB_OK ? status : reader->format->at(reader, first, count, buffer, block, error);
}

cpb_status cpb_reader_lend(const cpb_reader *reader, uint64_t first, size_t count, cpb_loan *loan,
                           cpb_view *block, cpb_error *error) {
  *loan = (cpb_loan){NULL, 0};
  cpb_status status = check_rows(reader, first, count, error);
  if (status != CPB_OK) return status;
  if (reader->format->lend == NULL)
    return cpb_file_fail(error, CPB_WHY_NO_LOAN, reader->path, "%s rows cannot be lent",
                         reader->format->name);
  return reader->format->lend(reader, first, count, loan, block, error);
}

cpb_status cpb_reader_give_back(const cpb_reader *reader, cpb_loan *loan, cpb_error *error) {
  bool lent = loan->bytes != 0;
  cpb_input_unmap(loan->memory, loan->bytes);
  *loan = (cpb_loan){NULL, 0};
  return lent ? cpb_input_check_size(&reader->source, error) : CPB_OK;
}

size_t cpb_reader_buffer_size(const cpb_reader *reader, size_t count) {
  return random_access(reader) ? cpb_fixed_buffer_size(reader, count) : 0;
}

#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "capball/advanced/flow.h"
#include "core/column_names.h"
#include "core/fail.h"
#include "core/rows.h"
#include "core/sized.h"
#include "io/file_fail.h"
#include "io/format.h"
#include "io/random_access.h"

/* For formats other than tables. */
static cpb_status pick_columns(cpb_reader *reader, cpb_error *error) {
  if (reader->o.id_column != NULL || reader->o.label_column != NULL)
    return cpb_file_fail(error, CPB_WHY_TEXT_COLUMN, reader->source.path,
                         "%s files have no columns of text: ids and labels are for csv and tsv",
                         reader->format->name);
  if (!cpb_columns_are_chosen(&reader->o)) return CPB_OK;
  return cpb_columns_choose(&reader->columns, &reader->o, false, reader->source.path, NULL, reader->cols,
                            error);
}

static bool picks(const cpb_reader *reader) {
  return reader->format->select == NULL && reader->columns.place != NULL;
}

size_t cpb_reader_cols(const cpb_reader *reader) {
  return picks(reader) ? reader->columns.taken : reader->cols;
}

static uint64_t rows_known(const cpb_reader *reader) {
  return reader->o.skip_bad ? CPB_ROWS_UNKNOWN : reader->rows;
}

static cpb_status open_file(cpb_reader *reader, const char *path, const char *format, cpb_error *error) {
  reader->path = strdup(path);
  if (reader->path == NULL) return cpb_fail_memory(error, "%zu bytes", strlen(path));
  cpb_status status = cpb_format_find(path, format, &reader->format, &reader->file, &reader->set, error);
  if (status == CPB_OK) status = cpb_input_open(reader->file, &reader->source, error);
  if (status != CPB_OK) return status;
  bool readable =
      reader->format->streams_in || (reader->source.unpack != NULL && reader->format->rewind != NULL);
  if (reader->source.stream && !readable)
    return cpb_file_fail(error, CPB_WHY_PIPE_FORMAT, reader->source.path, "%s cannot be read from a pipe",
                         reader->format->name);
  status = reader->format->open(reader, error);
  return status == CPB_OK && reader->format->select == NULL ? pick_columns(reader, error) : status;
}

CPB_DEFAULTS(cpb_reader_options, .size = sizeof(cpb_reader_options))

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
  opened->o = options;
  status = open_file(opened, path, options.format, error);
  if (status == CPB_OK)
    *reader = opened;
  else
    cpb_reader_free(opened);
  return status;
}

void cpb_reader_free(cpb_reader *reader) {
  if (reader == NULL) return;
  cpb_reader_give_back(reader, &reader->lent, NULL);
  if (reader->format != NULL && reader->format->close != NULL) reader->format->close(reader);
  cpb_input_close(&reader->source);
  cpb_buffer_free(&reader->buffer);
  cpb_buffer_free(&reader->picked);
  cpb_buffer_free(&reader->bad);
  cpb_columns_free(&reader->columns);
  cpb_texts_free(&reader->ids);
  cpb_texts_free(&reader->labels);
  cpb_column_names_free(reader->names);
  free(reader->fill);
  free(reader->file);
  free(reader->path);
  free(reader);
}

static bool random_access(const cpb_reader *reader) {
  return reader->format->at != NULL && !reader->source.stream && !picks(reader) && reader->fill == NULL &&
         !reader->o.skip_bad;
}

void cpb_reader_describe(const cpb_reader *reader, cpb_file_info *info) {
  cpb_file_info ours = {.path = reader->path,
                        .format = reader->format->name,
                        .dtype = reader->dtype,
                        .cols = cpb_reader_cols(reader),
                        .rows = rows_known(reader),
                        .random_access = random_access(reader),
                        .bad_rows = reader->bad_count};
  if (reader->format->describe != NULL) reader->format->describe(reader, &ours);
  cpb_sized_give(info, &ours, sizeof ours);
}

cpb_status cpb_reader_select(cpb_reader *reader, const char *const *names, size_t count, cpb_error *error) {
  if (names == NULL || count == 0) return cpb_fail_missing(error, "names");
  if (!cpb_reader_info(reader).names) return CPB_OK;
  return reader->format->select(reader, names, count, error);
}

cpb_status cpb_reader_fill(cpb_reader *reader, const double *values, cpb_error *error) {
  free(reader->fill);
  reader->fill = NULL;
  if (values == NULL) return CPB_OK;
  size_t bytes = cpb_reader_cols(reader) * sizeof(double);
  reader->fill = malloc(bytes);
  if (reader->fill == NULL) return cpb_fail_memory(error, "%zu bytes", bytes);
  memcpy(reader->fill, values, bytes);
  return CPB_OK;
}

/* Copies the selected columns of the block. */
static cpb_status pick(cpb_reader *reader, cpb_view *block, cpb_error *error) {
  size_t cols = reader->columns.taken, element = cpb_dtype_size(block->dtype);
  size_t bytes = cpb_size_muladd(block->rows, cols * element, 0);
  cpb_status status = cpb_buffer_reserve(&reader->picked, bytes, 0, error);
  if (status != CPB_OK) return status;
  for (size_t i = 0; i < block->rows; i++)
    for (size_t k = 0; k < block->cols; k++)
      if (reader->columns.place[k] != CPB_COLUMN_UNUSED)
        memcpy(reader->picked.bytes + (i * cols + reader->columns.place[k]) * element,
               (const char *)block->data + (i * block->stride + k) * element, element);
  *block = cpb_rows(reader->picked.bytes, block->dtype, block->rows, cols);
  return CPB_OK;
}

static cpb_status note_bad(cpb_reader *reader, uint64_t row, cpb_error *error) {
  uint64_t *bad = (uint64_t *)(void *)reader->bad.bytes;
  if (reader->bad_count > 0 && bad[reader->bad_count - 1] >= row) return CPB_OK; /* seen in an earlier pass */
  size_t used = reader->bad_count * sizeof row;
  cpb_status status = cpb_buffer_grow(&reader->bad, used + sizeof row, used, error);
  if (status != CPB_OK) return status;
  memcpy(reader->bad.bytes + used, &row, sizeof row);
  reader->bad_count++;
  return CPB_OK;
}

/* Moves good rows up over bad ones. */
static cpb_status leave_bad_out(cpb_reader *reader, cpb_view *block, cpb_error *error) {
  size_t kept = 0, stride = block->stride * cpb_dtype_size(block->dtype);
  char *rows = (char *)(uintptr_t)block->data;
  uint64_t first = reader->next_row - block->rows;
  for (size_t i = 0; i < block->rows; i++) {
    if (!cpb_row_is_finite(*block, i)) {
      cpb_status status = note_bad(reader, first + i, error);
      if (status != CPB_OK) return status;
    } else if (kept++ != i)
      memmove(rows + (kept - 1) * stride, rows + i * stride, block->cols * cpb_dtype_size(block->dtype));
  }
  block->rows = kept;
  return CPB_OK;
}

/* Blocks returned by `next` are in memory of the reader. */
static void fill(const cpb_reader *reader, cpb_view block) {
  cpb_out out = {(void *)(uintptr_t)block.data, block.dtype, block.rows, block.cols, block.stride};
  for (size_t i = 0; i < block.rows; i++)
    for (size_t k = 0; k < block.cols; k++)
      if (isnan(cpb_view_at(block, i, k))) cpb_out_set(out, i, k, reader->fill[k]);
}

static cpb_status next_block(cpb_reader *reader, size_t max_rows, cpb_view *block, cpb_error *error) {
  cpb_status status = reader->format->next(reader, max_rows, block, error);
  if (status != CPB_OK || block->rows == 0) return status;
  reader->next_row += block->rows;
  if (picks(reader)) status = pick(reader, block, error);
  bool real = block->dtype == CPB_F32 || block->dtype == CPB_F64;
  if (status == CPB_OK && reader->fill != NULL && real) fill(reader, *block);
  return status;
}

cpb_status cpb_reader_next(cpb_reader *reader, size_t max_rows, cpb_view *block, cpb_error *error) {
  if (max_rows == 0) return cpb_fail_count(error, "max_rows", 0, "max_rows must be >= 1");
  reader->asked = true;
  uint64_t before;
  cpb_status status;
  do { /* a block of bad rows alone is not the end */
    before = reader->next_row;
    status = next_block(reader, max_rows, block, error);
    if (status == CPB_OK && reader->o.skip_bad && block->dtype <= CPB_F16)
      status = leave_bad_out(reader, block, error);
  } while (status == CPB_OK && block->rows == 0 && reader->next_row > before);
  return status;
}

/* Skips the header before rows of fixed size, in input without offsets. */
static cpb_status skip_header(cpb_reader *reader, cpb_error *error) {
  unsigned char bytes[512];
  cpb_status status = CPB_OK;
  for (uint64_t left = reader->layout.start; left > 0 && status == CPB_OK;) {
    size_t got, piece = left < sizeof bytes ? (size_t)left : sizeof bytes;
    status = cpb_input_read(&reader->source, bytes, piece, &got, error);
    left -= piece;
  }
  return status;
}

cpb_status cpb_reader_rewind(cpb_reader *reader, cpb_error *error) {
  if (cpb_input_passes_once(&reader->source) && !reader->asked) return CPB_OK;
  cpb_status status = cpb_input_rewind(&reader->source, error);
  if (status == CPB_OK && reader->source.unpack != NULL) status = skip_header(reader, error);
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
    return cpb_file_fail(error, CPB_WHY_RANDOM_ACCESS, reader->path, "%s rows cannot be lent",
                         reader->format->name);
  return reader->format->lend(reader, first, count, loan, block, error);
}

size_t cpb_reader_buffer_size(const cpb_reader *reader, size_t count) {
  return random_access(reader) ? cpb_fixed_buffer_size(reader, count) : 0;
}

/* ---- a file as a source of rows, and rows by number ---- */

/* Enough work for all threads; mapped pages need no memory. */
enum { BLOCK_BYTES = 16 << 20 };

static size_t block_rows(const cpb_reader *reader) {
  return BLOCK_BYTES / (cpb_reader_cols(reader) * cpb_dtype_size(reader->dtype)) + 1;
}

static cpb_status next_of_source(cpb_source *source, cpb_view *block, cpb_error *error) {
  cpb_reader *reader = source->self;
  return cpb_reader_next(reader, block_rows(reader), block, error);
}

/* The next block is mapped from the file, or read if its rows are not stored in the layout of a view. */
static cpb_status next_lent(cpb_source *source, cpb_view *block, cpb_error *error) {
  cpb_reader *reader = source->self;
  cpb_status status = cpb_reader_give_back(reader, &reader->lent, error);
  if (status != CPB_OK) return status;
  uint64_t left = reader->rows - reader->next_row;
  size_t count = left < block_rows(reader) ? (size_t)left : block_rows(reader);
  *block = cpb_rows(NULL, reader->dtype, 0, reader->cols);
  if (count == 0) return CPB_OK;
  status = cpb_reader_lend(reader, reader->next_row, count, &reader->lent, block, error);
  if (status == CPB_EINVAL) return next_of_source(source, block, error);
  if (status == CPB_OK) reader->next_row += count;
  return status;
}

/* A pipe from which nothing was read is at its first row. */
static cpb_status rewind_reader(cpb_source *source, cpb_error *error) {
  cpb_reader *reader = source->self;
  cpb_status status = cpb_reader_give_back(reader, &reader->lent, error);
  return status == CPB_OK ? cpb_reader_rewind(reader, error) : status;
}

cpb_source cpb_reader_source(cpb_reader *reader, bool lend) {
  bool lends = lend && cpb_reader_info(reader).random_access;
  return (cpb_source){.size = sizeof(cpb_source),
                      .cols = cpb_reader_cols(reader),
                      .dtype = reader->dtype,
                      .rows = rows_known(reader),
                      .next = lends ? next_lent : next_of_source,
                      .rewind = rewind_reader,
                      .self = reader,
                      .names = reader->names};
}

/* ---- rows by number ---- */

static cpb_status get_rows(const cpb_store *store, const uint64_t *ids, size_t count, void *rows,
                           cpb_error *error) {
  const cpb_reader *reader = store->self;
  size_t bytes = reader->cols * cpb_dtype_size(reader->dtype);
  size_t room = (cpb_reader_buffer_size(reader, 1) + 63) / 64 * 64;
  void *buffer = aligned_alloc(64, room);
  if (buffer == NULL) return cpb_fail_memory(error, "a row of %zu columns", reader->cols);
  cpb_status status = CPB_OK;
  for (size_t i = 0; i < count && status == CPB_OK; i++) {
    cpb_view row;
    status = cpb_reader_at(reader, ids[i], 1, buffer, &row, error);
    if (status == CPB_OK) memcpy((char *)rows + i * bytes, row.data, bytes);
  }
  free(buffer);
  return status;
}

cpb_status cpb_reader_store(cpb_reader *reader, cpb_store *store, cpb_error *error) {
  cpb_file_info info = cpb_reader_info(reader);
  if (!info.random_access)
    return cpb_fail(error, CPB_WHY_RANDOM_ACCESS, "path", "%s: rows of %s files cannot be read by number",
                    info.path, info.format);
  *store = (cpb_store){.size = sizeof *store,
                       .cols = info.cols,
                       .dtype = info.dtype,
                       .rows = info.rows,
                       .get = get_rows,
                       .self = reader};
  return CPB_OK;
}

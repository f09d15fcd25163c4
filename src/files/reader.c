#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "capball/advanced/flow.h"
#include "base/column_names.h"
#include "base/fail.h"
#include "base/rows.h"
#include "base/sized.h"
#include "files/formats.h"
#include "base/system.h"
#include "files/reader.h"

static bool picks(const cpb_reader *reader) {
  return reader->format->select == NULL && reader->columns.place != NULL;
}

size_t cpb_reader_cols(const cpb_reader *reader) {
  return picks(reader) ? reader->columns.taken : reader->cols;
}

static uint64_t rows_known(const cpb_reader *reader) {
  return reader->o.skip_bad ? CPB_ROWS_UNKNOWN : reader->rows;
}

static bool open_file(cpb_reader *reader, const char *path, cpb_error *error) {
  reader->path = strdup(path);
  if (reader->path == NULL) return cpb_fail_memory(error, "%zu bytes", strlen(path)) == CPB_OK;
  const cpb_format **format = &reader->format;
  if (cpb_format_find(path, reader->o.format, format, &reader->file, &reader->set, error) != CPB_OK ||
      !cpb_input_open(&reader->source, reader->file, error))
    return false;
  bool readable = (*format)->streams_in || (reader->source.unpack != NULL && (*format)->rewind != NULL);
  if (reader->source.stream && !readable)
    return cpb_refuse(reader->of, CPB_WHY_PIPE_FORMAT, "%s cannot be read from a pipe", (*format)->name);
  if (!(*format)->open(reader)) return false;
  if ((*format)->select != NULL) return true; /* a table */
  if (reader->o.id_column != NULL || reader->o.label_column != NULL)
    return cpb_refuse(reader->of, CPB_WHY_TEXT_COLUMN,
                      "%s files have no columns of text: ids and labels are for csv and tsv",
                      (*format)->name);
  return !cpb_columns_are_chosen(&reader->o) ||
         cpb_columns_choose(&reader->columns, &reader->o, false, reader->of, NULL, reader->cols);
}

/* Begins a call that may fail; its status is that of the error returned. */
static cpb_error *begin(cpb_reader *reader, cpb_error *error) {
  return reader->of->error = error != NULL ? error : &reader->unwanted;
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
  opened->of = &opened->source.of;
  cpb_error unused;
  if (error == NULL) error = &unused;
  if (open_file(opened, path, error)) {
    *reader = opened;
    return CPB_OK;
  }
  cpb_reader_free(opened);
  return error->status;
}

void cpb_reader_free(cpb_reader *reader) {
  if (reader == NULL) return;
  cpb_reader_give_back(reader, &reader->lent, NULL);
  if (reader->format != NULL && reader->format->close != NULL) reader->format->close(reader);
  cpb_input_close(&reader->source);
  cpb_buffer_free(&reader->buffer);
  cpb_buffer_free(&reader->picked);
  cpb_buffer_free(&reader->bad);
  cpb_buffer_free(&reader->lines.buffer);
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
  return reader->format->fixed && !reader->source.stream && !picks(reader) && reader->fill == NULL &&
         !reader->o.skip_bad;
}

void cpb_reader_describe(const cpb_reader *reader, cpb_file_info *info) {
  if (reader == NULL) {
    cpb_sized_give(info, NULL, sizeof *info);
    return;
  }
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
  if (reader == NULL || names == NULL || count == 0)
    return cpb_fail_missing(error, reader == NULL ? "reader" : "names");
  if (!cpb_reader_info(reader).names) return CPB_OK;
  error = begin(reader, error);
  return reader->format->select(reader, names, count) ? CPB_OK : error->status;
}

cpb_status cpb_reader_fill(cpb_reader *reader, const double *values, cpb_error *error) {
  if (reader == NULL) return cpb_fail_missing(error, "reader");
  free(reader->fill);
  reader->fill = NULL;
  if (values == NULL) return CPB_OK;
  size_t bytes = cpb_reader_cols(reader) * sizeof(double);
  reader->fill = malloc(bytes);
  if (reader->fill == NULL) return cpb_fail_memory(error, "%zu bytes", bytes);
  memcpy(reader->fill, values, bytes);
  return CPB_OK;
}

static bool pick(cpb_reader *reader, cpb_view *block) {
  size_t cols = reader->columns.taken, element = cpb_dtype_size(block->dtype);
  size_t bytes = cpb_size_muladd(block->rows, cols * element, 0);
  if (!cpb_buffer_reserve(&reader->picked, bytes, 0, reader->of->error)) return false;
  for (size_t i = 0; i < block->rows; i++)
    for (size_t k = 0; k < block->cols; k++)
      if (reader->columns.place[k] != CPB_COLUMN_UNUSED)
        memcpy(reader->picked.bytes + (i * cols + reader->columns.place[k]) * element,
               (const char *)block->data + (i * block->stride + k) * element, element);
  *block = cpb_rows(reader->picked.bytes, block->dtype, block->rows, cols);
  return true;
}

static bool note_bad(cpb_reader *reader, uint64_t row) {
  uint64_t *bad = (uint64_t *)(void *)reader->bad.bytes;
  if (reader->bad_count > 0 && bad[reader->bad_count - 1] >= row) return true; /* seen in an earlier pass */
  size_t used = reader->bad_count * sizeof row;
  if (!cpb_buffer_grow(&reader->bad, used + sizeof row, used, reader->of->error)) return false;
  memcpy(reader->bad.bytes + used, &row, sizeof row);
  reader->bad_count++;
  return true;
}

static bool leave_bad_out(cpb_reader *reader, cpb_view *block) {
  size_t kept = 0, element = cpb_dtype_size(block->dtype), stride = block->stride * element;
  char *rows = (char *)(uintptr_t)block->data;
  uint64_t first = reader->next_row - block->rows;
  for (size_t i = 0; i < block->rows; i++) {
    bool good = cpb_row_is_finite(*block, i);
    if (good && kept != i) memmove(rows + kept * stride, rows + i * stride, block->cols * element);
    if (!good && !note_bad(reader, first + i)) return false;
    kept += good;
  }
  block->rows = kept;
  return true;
}

/* Blocks returned by `next` are in memory of the reader. */
static void fill(const cpb_reader *reader, cpb_view block) {
  cpb_out out = {(void *)(uintptr_t)block.data, block.dtype, block.rows, block.cols, block.stride};
  for (size_t i = 0; i < block.rows; i++)
    for (size_t k = 0; k < block.cols; k++)
      if (isnan(cpb_view_at(block, i, k))) cpb_out_set(out, i, k, reader->fill[k]);
}

static bool next_block(cpb_reader *reader, size_t max_rows, cpb_view *block) {
  if (!reader->format->next(reader, max_rows, block)) return false;
  reader->next_row += block->rows;
  if (block->rows > 0 && picks(reader) && !pick(reader, block)) return false;
  if (reader->fill != NULL && (block->dtype == CPB_F32 || block->dtype == CPB_F64)) fill(reader, *block);
  return !reader->o.skip_bad || block->dtype > CPB_F16 || leave_bad_out(reader, block);
}

cpb_status cpb_reader_next(cpb_reader *reader, size_t max_rows, cpb_view *block, cpb_error *error) {
  if (reader == NULL || block == NULL) return cpb_fail_missing(error, reader == NULL ? "reader" : "block");
  if (max_rows == 0) return cpb_fail_count(error, "max_rows", 0, "max_rows must be >= 1");
  reader->asked = true;
  uint64_t before;
  error = begin(reader, error);
  do { /* a block of bad rows alone is not the end */
    before = reader->next_row;
    if (!next_block(reader, max_rows, block)) return error->status;
  } while (block->rows == 0 && reader->next_row > before);
  return CPB_OK;
}

cpb_status cpb_reader_rewind(cpb_reader *reader, cpb_error *error) {
  if (reader == NULL) return cpb_fail_missing(error, "reader");
  if (cpb_input_passes_once(&reader->source) && !reader->asked) return CPB_OK;
  error = begin(reader, error);
  /* rows of fixed size in input without offsets begin after the header */
  size_t got, skipped = reader->source.unpack != NULL ? (size_t)reader->layout.start : 0;
  if (!cpb_input_rewind(&reader->source) || !cpb_buffer_reserve(&reader->buffer, skipped, 0, error) ||
      !cpb_input_read(&reader->source, reader->buffer.bytes, skipped, &got) ||
      (reader->format->rewind != NULL && !reader->format->rewind(reader)))
    return error->status;
  reader->next_row = reader->ahead = 0;
  return CPB_OK;
}

cpb_status cpb_fail_random_access(const char *path, const cpb_format *format, cpb_error *error) {
  return cpb_file_fail(error, CPB_WHY_RANDOM_ACCESS, path, "%s has no random access here", format->name);
}

static bool check_rows(const cpb_reader *reader, uint64_t first, size_t count, cpb_error *error) {
  if (!random_access(reader)) return cpb_fail_random_access(reader->path, reader->format, error) == CPB_OK;
  return (first <= reader->rows && count <= reader->rows - first) ||
         cpb_refuse(&(cpb_file_call){reader->path, error}, CPB_WHY_ROWS_BEYOND,
                    "rows %" PRIu64 " .. +%zu reach beyond its %" PRIu64 " row%s", first, count, reader->rows,
                    cpb_s(reader->rows));
}

cpb_status cpb_reader_at(const cpb_reader *reader, uint64_t first, size_t count, void *buffer,
                         cpb_view *block, cpb_error *error) {
  cpb_error unused;
  if (error == NULL) error = &unused;
  return check_rows(reader, first, count, error) && cpb_fixed_at(reader, first, count, buffer, block, error)
             ? CPB_OK
             : error->status;
}

cpb_status cpb_reader_lend(const cpb_reader *reader, uint64_t first, size_t count, cpb_loan *loan,
                           cpb_view *block, cpb_error *error) {
  cpb_error unused;
  if (error == NULL) error = &unused;
  *loan = (cpb_loan){NULL, 0};
  return check_rows(reader, first, count, error) && cpb_fixed_lend(reader, first, count, loan, block, error)
             ? CPB_OK
             : error->status;
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
  if (reader == NULL) return (cpb_source){.size = sizeof(cpb_source)};
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

static cpb_status get_rows(const cpb_store *store, const uint64_t *ids, size_t count, void *rows,
                           cpb_error *error) {
  const cpb_reader *reader = store->self;
  size_t bytes = reader->cols * cpb_dtype_size(reader->dtype);
  size_t room = (cpb_reader_buffer_size(reader, 1) + 63) / 64 * 64;
  void *buffer = cpb_sys_aligned(64, room);
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
  if (reader == NULL || store == NULL) return cpb_fail_missing(error, reader == NULL ? "reader" : "store");
  if (!random_access(reader))
    return cpb_fail(error, CPB_WHY_RANDOM_ACCESS, "path", "%s: rows of %s files cannot be read by number",
                    reader->path, reader->format->name);
  *store = (cpb_store){.size = sizeof *store,
                       .cols = reader->cols,
                       .dtype = reader->dtype,
                       .rows = reader->rows,
                       .get = get_rows,
                       .self = reader};
  return CPB_OK;
}

/* An opened file as a source of rows, and rows by their numbers. */
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "io/format.h"
#include "io/random_access.h"

/* Enough for all threads; pages that are lent cost nothing. */
enum { BLOCK_BYTES = 16 << 20 };

static size_t block_rows(const cpb_reader *reader) {
  return BLOCK_BYTES / (cpb_reader_cols(reader) * cpb_dtype_size(reader->dtype)) + 1;
}

/* The next block lent from the file's pages; EINVAL where they cannot be. */
static cpb_status lend_next(cpb_reader *reader, cpb_view *block, cpb_error *error) {
  uint64_t left = reader->rows - reader->next_row;
  size_t count = left < block_rows(reader) ? (size_t)left : block_rows(reader);
  *block = cpb_rows(NULL, reader->dtype, 0, reader->cols);
  if (count == 0) return CPB_OK;
  cpb_status status = cpb_reader_lend(reader, reader->next_row, count, &reader->lent, block, error);
  if (status == CPB_OK) reader->next_row += count;
  return status;
}

static cpb_status next_block(cpb_source *source, cpb_view *block, cpb_error *error) {
  cpb_reader *reader = source->self;
  return cpb_reader_next(reader, block_rows(reader), block, error);
}

static cpb_status next_lent(cpb_source *source, cpb_view *block, cpb_error *error) {
  cpb_reader *reader = source->self;
  cpb_status status = cpb_reader_give_back(reader, &reader->lent, error);
  if (status != CPB_OK) return status;
  status = lend_next(reader, block, error);
  return status == CPB_EINVAL ? cpb_reader_next(reader, block_rows(reader), block, error) : status;
}

/* A pipe that nothing was read from is at its first row. */
static cpb_status rewind_reader(cpb_source *source, cpb_error *error) {
  cpb_reader *reader = source->self;
  cpb_status status = cpb_reader_give_back(reader, &reader->lent, error);
  if (status != CPB_OK) return status;
  return cpb_reader_rewind(reader, error);
}

cpb_source cpb_reader_source(cpb_reader *reader, bool lend) {
  bool lends = lend && cpb_reader_info(reader).random_access;
  cpb_source source = {.size = sizeof source,
                       .cols = cpb_reader_cols(reader),
                       .dtype = reader->dtype,
                       .rows = cpb_reader_rows(reader),
                       .next = lends ? next_lent : next_block,
                       .rewind = rewind_reader,
                       .self = reader,
                       .names = reader->names};
  return source;
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

/* An index file from a source of rows, a block in memory at a time. */
#define _DEFAULT_SOURCE
#include <stdlib.h>

#include "base/fail.h"
#include "base/rows.h"
#include "search/index_blocks.h"
#include "search/index_file.h"
#include "search/index_snapshot_writer.h"
#include "files/file_fail.h"
#include "base/tell.h"

enum { BLOCK = CPB_INDEX_BLOCK };

/* `index` has the options, and the centres, which are chosen by the first rows; its next_id counts the rows written. */
typedef struct building {
  cpb_index *index;
  cpb_snapshot_writer w;
} building;

static cpb_index_layout unknown_layout(const cpb_index *index) {
  cpb_index_layout l = cpb_index_layout_of(index, 0, CPB_IDS_NUMBERS, 0);
  l.slots = UINT64_MAX / 2; /* not known yet */
  return l;
}

static cpb_status begin_rows(building *b, cpb_view first, uint64_t rows, cpb_error *error) {
  enum { ENOUGH = 1024 };
  size_t step = 1 + (first.rows - 1) / ENOUGH;
  cpb_view sample = first;
  sample.rows = (first.rows - 1) / step + 1;
  sample.stride *= step;
  size_t n = rows == CPB_ROWS_UNKNOWN || rows > SIZE_MAX ? first.rows : (size_t)rows;
  if (b->index->bytes && !cpb_codes_prepare(b->index, sample, n))
    return cpb_fail_memory(error, "a sample of the rows");
  b->index->prepared = n;
  b->w.l = unknown_layout(b->index);
  return cpb_snapshot_begin_rows(&b->w, error);
}

static cpb_status add_rows(building *b, cpb_view rows, uint64_t all, cpb_error *error) {
  size_t stride = rows.stride * cpb_dtype_size(rows.dtype);
  cpb_status status = b->w.block.memory == NULL ? begin_rows(b, rows, all, error) : CPB_OK;
  for (size_t i = 0; status == CPB_OK && i < rows.rows; i++, b->index->next_id++)
    status = cpb_snapshot_row(&b->w, (const char *)rows.data + i * stride, error);
  return status;
}

static cpb_status move_bytes(building *b, uint64_t from, uint64_t to, char *bytes, size_t count,
                             cpb_error *error) {
  if (!cpb_read_at(b->w.file.fd, from, bytes, count))
    return cpb_file_fail_errno(error, b->w.file.path, "read");
  return cpb_whole_write_at(&b->w.file, to, bytes, count, error);
}

static cpb_status move_records(building *b, const cpb_index_layout *known, size_t block, cpb_error *error) {
  size_t bytes = cpb_block_record_bytes(b->index);
  char *records = malloc(bytes + 1);
  cpb_status status =
      bytes == 0        ? CPB_OK
      : records == NULL ? cpb_fail_memory(error, "a block of codes")
                        : move_bytes(b, cpb_index_layout_records(b->index, &b->w.l, block),
                                     cpb_index_layout_records(b->index, known, block), records, bytes, error);
  free(records);
  return status;
}

/* Until the number of rows is known a segment has room for the codes and records of all its blocks: the records of the last one
 * are moved to the codes that exist, the rows to these, and zeros follow them. */
static cpb_status move_rows(building *b, const cpb_index_layout *known, cpb_error *error) {
  const cpb_index *index = b->index;
  size_t blocks = b->w.blocks, first = blocks / CPB_SEGMENT * CPB_SEGMENT;
  cpb_status status = CPB_OK;
  uint64_t end = known->blocks_at;
  char *rows = malloc(cpb_block_row_bytes(index));
  if (rows == NULL) return cpb_fail_memory(error, "a block of rows");
  for (size_t i = first; status == CPB_OK && i < blocks; i++) status = move_records(b, known, i, error);
  for (size_t i = first; status == CPB_OK && i < blocks; i++) {
    uint64_t left = known->slots - (uint64_t)i * BLOCK, to = cpb_index_layout_rows(index, known, i);
    size_t bytes = (size_t)(left < BLOCK ? left : BLOCK) * index->row_bytes;
    end = to + bytes;
    status = move_bytes(b, cpb_index_layout_rows(index, &b->w.l, i), to, rows, bytes, error);
  }
  free(rows);
  return status == CPB_OK && blocks % CPB_SEGMENT != 0 ? cpb_whole_resize(&b->w.file, end, error) : status;
}

static cpb_status build(building *b, cpb_source *source, const cpb_exec *exec, cpb_error *error) {
  cpb_view rows;
  cpb_status status = source->rewind(source, error);
  while (status == CPB_OK && (status = source->next(source, &rows, error)) == CPB_OK && rows.rows > 0) {
    status = add_rows(b, rows, source->rows, error);
    double done = (double)b->index->next_id,
           share = source->rows == CPB_ROWS_UNKNOWN ? 0 : done / (double)(source->rows + 1);
    if (status == CPB_OK) status = cpb_exec_tell(exec, share, error);
  }
  if (status == CPB_OK) status = cpb_snapshot_end_rows(&b->w, error);
  if (status != CPB_OK) return status;
  cpb_index_layout known = cpb_index_layout_of(b->index, b->index->next_id, CPB_IDS_NUMBERS, 0);
  status = move_rows(b, &known, error);
  b->w.l = known;
  return status == CPB_OK ? cpb_snapshot_commit(&b->w, error) : status;
}

cpb_status cpb_index_build(cpb_source *source, cpb_metric metric, const char *path, const cpb_exec *exec,
                           cpb_error *error) {
  cpb_index_options options;
  cpb_index *index = NULL;
  cpb_index_options_init(&options, sizeof options);
  if (path == NULL) return cpb_fail_missing(error, "path");
  cpb_status status = cpb_check_source(source, error);
  if (status != CPB_OK) return status;
  options.cols = source->cols;
  options.dtype = source->dtype;
  options.metric = metric;
  options.columns = source->names;
  status = cpb_index_new(&options, &index, error);
  if (status != CPB_OK) return status;
  building b = {.index = index, .w = {.index = index, .l = unknown_layout(index)}};
  status = cpb_snapshot_open(&b.w, path, -1, error);
  if (status == CPB_OK) status = build(&b, source, exec, error);
  cpb_snapshot_close(&b.w);
  cpb_index_free(index);
  return status;
}

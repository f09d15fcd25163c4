#include "block.h"
#include "scan.h"

#include <stdlib.h>

#include "progress.h"
#include "doubles.h"

typedef struct wave {
  const cli_scan *scan;
  uint64_t first; /* row of slot 0 */
  size_t rows, per_block;
  cpb_view block; /* sequential: all rows of the wave */
  char *buffers;  /* random access: one per slot */
  size_t buffer_size;
  cpb_status status[CLI_SCAN_SLOTS];
  cpb_error errors[CLI_SCAN_SLOTS];
} wave;

static size_t rows_of_bytes(const cpb_reader *reader, size_t bytes) {
  cpb_file_info info = cpb_reader_info(reader);
  size_t rows = bytes / (info.cols * cpb_dtype_size(info.dtype));
  return rows == 0 ? 1 : rows;
}

size_t cli_scan_block_rows(const cpb_reader *reader) { return rows_of_bytes(reader, (size_t)1 << 18); }

static size_t slot_rows(const wave *w, size_t slot) {
  size_t left = w->rows - slot * w->per_block;
  return left < w->per_block ? left : w->per_block;
}

static void look_at_slot(void *arg, size_t slot) {
  wave *w = arg;
  cli_block block = {.loan = {NULL, 0}};
  size_t first = slot * w->per_block;
  w->status[slot] = CPB_OK;
  if (w->buffers == NULL)
    block.rows = cli_rows_slice(w->block, first, slot_rows(w, slot));
  else
    w->status[slot] = cli_block_read(w->scan->reader, w->first + first, slot_rows(w, slot),
                                     w->buffers + slot * w->buffer_size, &block, &w->errors[slot]);
  if (w->status[slot] == CPB_OK) w->scan->look(w->scan->arg, slot, block.rows, w->first + first);
  cpb_error late;
  if (cli_block_release(w->scan->reader, &block, &late) == CPB_OK) return;
  w->status[slot] = CPB_EFORMAT;
  w->errors[slot] = late;
}

static int gather(wave *w, size_t slots) {
  const cli_scan *scan = w->scan;
  for (size_t slot = 0; slot < slots; slot++) {
    if (w->status[slot] != CPB_OK) return cli_fail(scan->job, "%s", w->errors[slot].text);
    int result = scan->gather(scan->arg, slot, w->first + slot * w->per_block, slot_rows(w, slot));
    if (result != CLI_OK) return result;
  }
  return CLI_OK;
}

/* The rows of the next wave; 0 at the end. */
static cpb_status next_wave(wave *w, const cpb_file_info *info, cpb_error *error) {
  w->first += w->rows;
  size_t most = w->per_block * CLI_SCAN_SLOTS;
  if (w->buffers != NULL) {
    uint64_t left = info->rows - w->first;
    w->rows = left < most ? (size_t)left : most;
    return CPB_OK;
  }
  cpb_status status = cpb_reader_next(w->scan->reader, most, &w->block, error);
  w->rows = status == CPB_OK ? w->block.rows : 0;
  return status;
}

static int run_waves(wave *w, cli_progress *progress, const cpb_file_info *info) {
  const cli_scan *scan = w->scan;
  const cpb_exec *exec = cpb_pool_exec(scan->job->pool);
  cpb_error error;
  for (;;) {
    if (next_wave(w, info, &error) != CPB_OK) return cli_fail(scan->job, "%s", error.text);
    if (cli_interrupted() != 0) return CLI_FAILED;
    if (w->rows == 0) return CLI_OK;
    size_t slots = (w->rows + w->per_block - 1) / w->per_block;
    exec->run(exec->pool, slots, look_at_slot, w);
    int result = gather(w, slots);
    if (result != CLI_OK) return result;
    cli_progress_add(progress, w->rows);
  }
}

int cli_scan_run(const cli_scan *scan) {
  cpb_file_info info = cpb_reader_info(scan->reader);
  wave *w = cli_alloc(1, sizeof *w);
  w->scan = scan;
  w->per_block = scan->block_bytes == 0 ? cli_scan_block_rows(scan->reader)
                                        : rows_of_bytes(scan->reader, scan->block_bytes);
  if (info.random_access) {
    w->buffer_size = (cpb_reader_buffer_size(scan->reader, w->per_block) + 63) / 64 * 64;
    w->buffers = aligned_alloc(64, w->buffer_size * CLI_SCAN_SLOTS);
  }
  int result;
  cli_progress progress;
  cli_progress_start(&progress, scan->job, info.rows, info.cols * cpb_dtype_size(info.dtype));
  if (info.random_access && w->buffers == NULL)
    result = cli_fail(scan->job, "%s: no memory for a row of %zu columns", info.path, info.cols);
  else
    result = run_waves(w, &progress, &info);
  cli_progress_end(&progress);
  free(w->buffers);
  free(w);
  return result;
}

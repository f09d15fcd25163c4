/* Copies rows from a reader through a transform to a writer, in blocks, in constant memory. */
#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "capball/advanced/flow.h"
#include "base/fail.h"
#include "base/rows.h"
#include "base/sized.h"
#include "files/formats.h"
#include "files/reader.h"
#include "base/blocks.h"
#include "base/system.h"
#include "base/tell.h"

/* A block fits in the second-level cache of one core, and is large enough to amortise the two system calls. */
enum { BLOCK_BYTES = 1 << 18, SEQUENTIAL_BLOCKS = 8, ROUND_BLOCKS = 64 };

typedef struct failure {
  uint64_t block;
  cpb_error error;
} failure;

typedef struct flow {
  cpb_flow_options o;
  cpb_reader *reader;
  cpb_writer *writer;
  const cpb_exec *exec;
  cpb_dtype made; /* element type the transform produces */
  size_t cols;    /* of the output */
  size_t per_block;
  uint64_t rows, bad; /* to be processed, or unknown; left out */
  /* parallel part */
  char *buffers;
  size_t in_size, out_size;
  _Atomic uint64_t next; /* the next block */
  uint64_t round_end;    /* blocks of this round */
  _Atomic size_t failed; /* lowest block that failed, SIZE_MAX: none */
  failure *failures;     /* one per thread */
} flow;

CPB_DEFAULTS(cpb_flow_options, .size = sizeof(cpb_flow_options), .last = CPB_ROWS_UNKNOWN)

static size_t block_rows(const flow *f) {
  size_t in = cpb_reader_cols(f->reader) * cpb_dtype_size(f->reader->dtype),
         out = f->cols * cpb_dtype_size(f->made);
  size_t rows = BLOCK_BYTES / (in > out ? in : out);
  /* Powers of two begin on whole cache lines of the output and contain whole groups of a seal. */
  while ((rows & (rows - 1)) != 0) rows &= rows - 1;
  return rows == 0 ? 1 : rows;
}

/* Replaces rows by their images in the buffer; rows in messages are counted from the start of the file. */
static cpb_status transform(const flow *f, cpb_view *rows, uint64_t first, void *buffer, const cpb_exec *exec,
                            cpb_error *error) {
  if (f->o.transform == NULL) return CPB_OK;
  cpb_out out = cpb_rows_out(buffer, f->made, rows->rows, f->cols);
  cpb_status status = f->o.transform(f->o.arg, *rows, out, exec, error);
  *rows = cpb_view_of(out);
  return status == CPB_EROW ? cpb_fail_later(error, first) : status;
}

/* A message about the output has no row of the input. */
static cpb_status of_output(cpb_status status, cpb_error *error) {
  if (status != CPB_OK && error != NULL) error->row = -1;
  return status;
}

static cpb_status tell(const flow *f, uint64_t done, cpb_error *error) {
  double share = f->rows == CPB_ROWS_UNKNOWN || f->rows == 0 ? 0 : (double)done / (double)f->rows;
  return cpb_exec_tell(f->exec, share < 1 ? share : 1, error);
}

/* ---- both files with random access: every thread reads, transforms and writes blocks of its own ---- */

static cpb_status move_block(flow *f, uint64_t block, char *in_buffer, char *out_buffer, cpb_error *error) {
  uint64_t at = block * f->per_block, left = f->rows - at;
  size_t count = left < f->per_block ? (size_t)left : f->per_block;
  cpb_loan loan = {NULL, 0};
  cpb_view in;
  uint64_t first = f->o.first + at;
  cpb_status status = f->o.lend ? cpb_reader_lend(f->reader, first, count, &loan, &in, error) : CPB_EINVAL;
  if (status == CPB_EINVAL) status = cpb_reader_at(f->reader, first, count, in_buffer, &in, error);
  if (status == CPB_OK) status = transform(f, &in, first, out_buffer, NULL, error);
  if (status == CPB_OK) status = of_output(cpb_writer_at(f->writer, at, in, error), error);
  cpb_error late;
  return cpb_reader_give_back(f->reader, &loan, &late) == CPB_OK ? status : cpb_fail_again(error, &late);
}

/* Blocks are taken in order, so every block below a failed one is finished before the flow ends: the message is
 * about the first bad row, regardless of thread scheduling. */
static void move_blocks(void *arg, size_t thread) {
  flow *f = arg;
  char *in = f->buffers + thread * (f->in_size + f->out_size), *out = in + f->in_size;
  failure *mine = &f->failures[thread];
  while (atomic_load(&f->failed) == SIZE_MAX) {
    mine->block = atomic_fetch_add(&f->next, 1);
    if (mine->block >= f->round_end) return;
    cpb_status status = move_block(f, mine->block, in, out, &mine->error);
    if (status == CPB_OK) continue;
    mine->error.status = status;
    cpb_report_least(&f->failed, (size_t)mine->block);
  }
}

/* The failure of the lowest block; a thread that had nothing to do has block 0 and no status. */
static cpb_status first_failure(const flow *f, size_t threads, cpb_error *error) {
  size_t failed = atomic_load(&f->failed);
  for (size_t i = 0; i < threads && failed != SIZE_MAX; i++)
    if (f->failures[i].block == failed && f->failures[i].error.status != CPB_OK)
      return cpb_fail_again(error, &f->failures[i].error);
  return CPB_OK;
}

static cpb_status run_rounds(flow *f, size_t threads, cpb_error *error) {
  uint64_t blocks = (f->rows + f->per_block - 1) / f->per_block;
  cpb_status status = CPB_OK;
  for (uint64_t first = 0; first < blocks && status == CPB_OK; first = f->round_end) {
    uint64_t round = (uint64_t)ROUND_BLOCKS * threads;
    f->round_end = blocks - first < round ? blocks : first + round;
    atomic_store(&f->next, first);
    cpb_exec_run(f->exec, threads, move_blocks, f);
    status = first_failure(f, threads, error);
    if (status == CPB_OK) status = tell(f, f->round_end * f->per_block, error);
  }
  return status;
}

static size_t round_up(size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

static cpb_status run_parallel(flow *f, cpb_error *error) {
  size_t threads = cpb_exec_threads(f->exec);
  f->in_size = round_up(cpb_reader_buffer_size(f->reader, f->per_block));
  f->out_size = round_up(f->per_block * f->cols * cpb_dtype_size(f->made));
  f->buffers = cpb_sys_aligned(4096, threads * (f->in_size + f->out_size));
  f->failures = calloc(threads, sizeof *f->failures);
  atomic_store(&f->failed, SIZE_MAX);
  bool there = f->buffers != NULL && f->failures != NULL;
  cpb_status status =
      there ? run_rounds(f, threads, error) : cpb_fail_memory(error, "blocks of %zu threads", threads);
  free(f->buffers);
  free(f->failures);
  return status;
}

/* ---- one block at a time ---- */

/* Appends the rows computed from the input rows `first`, first+1, .. */
static cpb_status append(flow *f, cpb_view rows, uint64_t first, cpb_error *error) {
  f->writer->next_id = first;
  return rows.rows == 0 ? CPB_OK : of_output(cpb_writer_append(f->writer, rows, error), error);
}

/* Appends the runs between the bad rows: those that are not finite, and those without an image, which the transform sets
 * to NaN. */
static cpb_status append_good(flow *f, cpb_view in, cpb_view made, uint64_t at, cpb_error *error) {
  size_t first = 0;
  cpb_status status = CPB_OK;
  for (size_t row = 0; row < in.rows && status == CPB_OK; row++) {
    if (cpb_row_is_finite(in, row) && !isnan(cpb_view_at(made, row, 0))) continue;
    status = append(f, cpb_view_slice(made, first, row - first), at + first, error);
    first = row + 1;
    f->bad++;
  }
  return status == CPB_OK ? append(f, cpb_view_slice(made, first, in.rows - first), at + first, error)
                          : status;
}

/* A transform produces floats; for a file of integers they are rounded to nearest. */
static cpb_status append_block(flow *f, cpb_view in, uint64_t first, void *buffer, cpb_error *error) {
  cpb_view made = in;
  cpb_status status = transform(f, &made, first, buffer, f->exec, error);
  if (status != CPB_OK && !(f->o.skip_bad && status == CPB_EROW)) return status;
  bool rounds = f->o.transform != NULL && f->writer->o.dtype >= CPB_U8;
  for (size_t i = 0; rounds && i < in.rows * f->cols; i++)
    ((float *)buffer)[i] = roundf(((float *)buffer)[i]);
  return f->o.skip_bad ? append_good(f, in, made, first, error) : append(f, made, first, error);
}

static cpb_status run_sequential(flow *f, cpb_error *error) {
  void *buffer = calloc(f->per_block * SEQUENTIAL_BLOCKS * f->cols, cpb_dtype_size(f->made));
  if (buffer == NULL) return cpb_fail_memory(error, "rows of %zu columns", f->cols);
  cpb_view in;
  cpb_status status = CPB_OK;
  for (uint64_t row = 0, end; status == CPB_OK && row < f->o.last; row = end) {
    status = cpb_reader_next(f->reader, f->per_block * SEQUENTIAL_BLOCKS, &in, error);
    if (status != CPB_OK || in.rows == 0) break;
    end = row + in.rows;
    uint64_t from = row < f->o.first ? f->o.first : row, to = end < f->o.last ? end : f->o.last;
    if (from < to)
      status =
          append_block(f, cpb_view_slice(in, (size_t)(from - row), (size_t)(to - from)), from, buffer, error);
    if (status == CPB_OK) status = tell(f, end, error);
  }
  free(buffer);
  return status;
}

/* ---- the call ---- */

static cpb_status open_writer(flow *f, const char *path, const cpb_writer_options *to, cpb_error *error) {
  cpb_writer_options options;
  cpb_writer_options_init(&options, sizeof options);
  cpb_status status = cpb_sized_take(&options, sizeof options, to, "writer options", error);
  if (status != CPB_OK) return status;
  options.cols = f->cols;
  options.rows = f->o.skip_bad ? CPB_ROWS_UNKNOWN : f->rows;
  return cpb_writer_open(path, &options, &f->writer, error);
}

cpb_status cpb_flow_run(cpb_reader *reader, const cpb_flow_options *options, const char *path,
                        const cpb_writer_options *to, uint64_t *bad_rows, const cpb_exec *exec,
                        cpb_error *error) {
  flow f = {.o = defaults, .reader = reader, .exec = exec};
  if (reader == NULL) return cpb_fail_missing(error, "reader");
  cpb_status status = cpb_sized_take(&f.o, sizeof f.o, options, "flow options", error);
  if (status != CPB_OK) return status;
  uint64_t last = f.o.last < reader->rows ? f.o.last : reader->rows;
  f.rows = reader->rows == CPB_ROWS_UNKNOWN ? CPB_ROWS_UNKNOWN : last > f.o.first ? last - f.o.first : 0;
  f.cols = f.o.transform == NULL ? cpb_reader_cols(reader) : f.o.cols;
  status = open_writer(&f, path, to, error);
  if (status != CPB_OK) return status;
  bool narrow = f.writer->o.dtype != CPB_F32 && f.writer->o.dtype != CPB_F64;
  f.made = f.o.transform == NULL ? reader->dtype : narrow ? CPB_F32 : f.writer->o.dtype;
  f.per_block = block_rows(&f);
  bool parallel = cpb_reader_info(reader).random_access && cpb_writer_random_access(f.writer) &&
                  f.made == f.writer->o.dtype;
  status = parallel ? run_parallel(&f, error) : run_sequential(&f, error);
  if (status == CPB_OK) status = cpb_writer_commit(f.writer, error);
  cpb_writer_free(f.writer);
  if (bad_rows != NULL) *bad_rows = f.bad;
  return status;
}

#include "stream.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "block.h"
#include "format_names.h"
#include "progress.h"
#include "doubles.h"

/* A block is small enough for the second-level cache of one core, and large enough to make the two
 * system calls cheap. */
enum { BLOCK_BYTES = 1 << 18, SEQUENTIAL_BLOCKS = 8 };

typedef struct flow {
  const cli_stream *stream;
  cpb_file_info info;
  cpb_writer *writer;
  cpb_dtype made; /* element type the transform makes */
  size_t per_block;
  uint64_t rows, bad; /* bad: left out */
  cli_progress progress;
  /* parallel part */
  char *buffers;
  size_t in_size, out_size;
  double *row;             /* one widened row, for --skip-bad */
  _Atomic uint64_t next;   /* block */
  _Atomic uint64_t failed; /* lowest block that failed, UINT64_MAX: none */
  cpb_status *status;      /* one per thread, of the block in failed_block */
  uint64_t *failed_block;
  cpb_error *errors;
} flow;

static size_t block_rows(const flow *f) {
  size_t in = f->info.cols * cpb_dtype_size(f->info.dtype), out = f->stream->cols * cpb_dtype_size(f->made);
  size_t rows = BLOCK_BYTES / (in > out ? in : out);
  if (rows >= 64) rows -= rows % 64; /* blocks start on whole cache lines of the output */
  return rows == 0 ? 1 : rows;
}

static cpb_status transform_and_write(flow *f, uint64_t at, cpb_view in, char *out_buffer, cpb_error *error) {
  const cli_stream *stream = f->stream;
  if (stream->transform != NULL) {
    cpb_out out = cpb_rows_out(out_buffer, f->made, in.rows, stream->cols);
    cpb_status status = stream->transform(stream->arg, in, out, NULL, error);
    if (status != CPB_OK) return status;
    in = cpb_rows(out_buffer, f->made, in.rows, stream->cols);
  }
  cpb_status status = cpb_writer_at(f->writer, at, in, error);
  if (status != CPB_OK) error->row = -1;
  cli_progress_add(&f->progress, in.rows);
  return status;
}

/* Reads, transforms and writes one block with the buffers of one thread. */
static cpb_status move_block(flow *f, uint64_t block, char *in_buffer, char *out_buffer, cpb_error *error) {
  const cli_stream *stream = f->stream;
  uint64_t at = block * f->per_block, first = stream->first + at, left = f->rows - at;
  size_t count = left < f->per_block ? (size_t)left : f->per_block;
  cli_block in;
  cpb_status status = cli_block_read(stream->reader, first, count, in_buffer, &in, error);
  if (status == CPB_OK)
    status = transform_and_write(f, at, in.rows, out_buffer, error);
  else
    error->row = -1; /* the sentence already speaks of the file */
  cpb_error late;
  if (cli_block_release(stream->reader, &in, &late) == CPB_OK) return status;
  *error = late;
  return CPB_EFORMAT;
}

/* Blocks are taken in order, so every block below a failed one is finished before the stream ends:
 * the sentence is about the first bad row, whatever the threads did. */
static void move_blocks(void *arg, size_t thread) {
  flow *f = arg;
  char *in = f->buffers + thread * (f->in_size + f->out_size), *out = in + f->in_size;
  uint64_t blocks = (f->rows + f->per_block - 1) / f->per_block;
  while (cli_interrupted() == 0 && atomic_load(&f->failed) == UINT64_MAX) {
    uint64_t block = atomic_fetch_add(&f->next, 1);
    if (block >= blocks) return;
    cpb_status status = move_block(f, block, in, out, &f->errors[thread]);
    if (status == CPB_OK) continue;
    f->status[thread] = status;
    f->failed_block[thread] = block;
    uint64_t known = atomic_load(&f->failed);
    while (block < known && !atomic_compare_exchange_weak(&f->failed, &known, block)) {
    }
    return;
  }
}

static int report(const flow *f, uint64_t first, cpb_status status, const cpb_error *error) {
  if (status == CPB_EROW) return cli_fail_row(f->stream->job, f->info.path, first, error);
  return cli_fail(f->stream->job, "%s", error->text);
}

static size_t round_up(size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

static int run_parallel(flow *f) {
  const cpb_exec *exec = cpb_pool_exec(f->stream->job->pool);
  size_t threads = exec->threads;
  f->in_size = round_up(cpb_reader_buffer_size(f->stream->reader, f->per_block));
  f->out_size = round_up(f->per_block * f->stream->cols * cpb_dtype_size(f->made));
  f->buffers = aligned_alloc(4096, threads * (f->in_size + f->out_size));
  if (f->buffers == NULL) return cli_fail(f->stream->job, "no memory for %zu threads", threads);
  f->status = cli_alloc(threads, sizeof *f->status);
  f->failed_block = cli_alloc(threads, sizeof *f->failed_block);
  f->errors = cli_alloc(threads, sizeof *f->errors);
  atomic_store(&f->failed, UINT64_MAX);
  exec->run(exec->pool, threads, move_blocks, f);
  int result = cli_interrupted() != 0 ? CLI_FAILED : CLI_OK;
  for (size_t i = 0; i < threads && result == CLI_OK; i++)
    if (f->status[i] != CPB_OK && f->failed_block[i] == atomic_load(&f->failed))
      result = report(f, f->stream->first + f->failed_block[i] * f->per_block, f->status[i], &f->errors[i]);
  free(f->buffers);
  free(f->status);
  free(f->failed_block);
  free(f->errors);
  return result;
}

/* A transform makes floats; a file of whole numbers takes the nearest ones. */
static void round_block(const flow *f, void *buffer, size_t count) {
  if (f->stream->dtype < CPB_U8) return;
  for (size_t i = 0; i < count; i++) ((float *)buffer)[i] = roundf(((float *)buffer)[i]);
}

static int append(flow *f, cpb_view rows) {
  cpb_error error;
  if (rows.rows == 0 || cpb_writer_append(f->writer, rows, &error) == CPB_OK) return CLI_OK;
  return cli_fail(f->stream->job, "%s", error.text);
}

/* A row that is not finite, or has no answer: those the transform leaves NaN. */
static bool is_bad(const flow *f, cpb_view in, cpb_view made, size_t row) {
  const double *x = cli_row(in, row, f->row);
  for (size_t k = 0; k < in.cols; k++)
    if (!isfinite(x[k])) return true;
  return isnan(cli_row(made, row, f->row)[0]);
}

/* The runs between the bad rows. */
static int append_good(flow *f, cpb_view in, cpb_view made) {
  size_t first = 0;
  int result = CLI_OK;
  for (size_t row = 0; row < in.rows && result == CLI_OK; row++) {
    if (!is_bad(f, in, made, row)) continue;
    result = append(f, cli_rows_slice(made, first, row - first));
    first = row + 1;
    f->bad++;
  }
  return result == CLI_OK ? append(f, cli_rows_slice(made, first, in.rows - first)) : result;
}

static int append_block(flow *f, cpb_view in, uint64_t first, void *buffer) {
  const cli_stream *stream = f->stream;
  bool skip = stream->job->options.skip_bad;
  cpb_view made = in;
  if (stream->transform != NULL) {
    cpb_error error;
    cpb_out out = cpb_rows_out(buffer, f->made, in.rows, stream->cols);
    cpb_status status = stream->transform(stream->arg, in, out, cpb_pool_exec(stream->job->pool), &error);
    if (status != CPB_OK && !(skip && status == CPB_EROW)) return report(f, first, status, &error);
    round_block(f, buffer, in.rows * stream->cols);
    made = cpb_rows(buffer, f->made, in.rows, stream->cols);
  }
  return skip ? append_good(f, in, made) : append(f, made);
}

static int run_sequential(flow *f) {
  const cli_stream *stream = f->stream;
  size_t most = f->per_block * SEQUENTIAL_BLOCKS;
  void *buffer = cli_alloc(most * stream->cols, cpb_dtype_size(f->made));
  f->row = cli_alloc(f->info.cols > stream->cols ? f->info.cols : stream->cols, sizeof *f->row);
  uint64_t row = 0;
  int result = CLI_OK;
  while (result == CLI_OK && row < stream->last) {
    cpb_view in;
    cpb_error error;
    if (cpb_reader_next(stream->reader, most, &in, &error) != CPB_OK)
      result = cli_fail(stream->job, "%s", error.text);
    else if (cli_interrupted() != 0)
      result = CLI_FAILED;
    if (result != CLI_OK || in.rows == 0) break;
    uint64_t end = row + in.rows, from = row < stream->first ? stream->first : row;
    uint64_t to = end < stream->last ? end : stream->last;
    if (from < to)
      result = append_block(f, cli_rows_slice(in, (size_t)(from - row), (size_t)(to - from)), from, buffer);
    row = end;
    cli_progress_add(&f->progress, in.rows);
  }
  free(buffer);
  free(f->row);
  return result;
}

static int open_writer(flow *f) {
  const cli_stream *stream = f->stream;
  int result = cli_check_typed(stream->job, stream->output, stream->to, "to");
  if (result != CLI_OK) return result;
  cpb_writer_options options;
  cpb_writer_options_init(&options, sizeof options);
  options.format = stream->to;
  options.dtype = stream->dtype;
  options.cols = stream->cols;
  options.rows = stream->job->options.skip_bad ? CPB_ROWS_UNKNOWN : f->rows;
  cpb_error error;
  cpb_status status = cpb_writer_open(stream->output, &options, &f->writer, &error);
  return status == CPB_OK ? CLI_OK : cli_fail(stream->job, "%s", error.text);
}

int cli_stream_run(const cli_stream *stream) {
  flow f = {.stream = stream, .info = cpb_reader_info(stream->reader)};
  uint64_t last = stream->last < f.info.rows ? stream->last : f.info.rows;
  if (f.info.rows == CPB_ROWS_UNKNOWN)
    f.rows = CPB_ROWS_UNKNOWN;
  else
    f.rows = last > stream->first ? last - stream->first : 0;
  bool narrow = stream->dtype != CPB_F32 && stream->dtype != CPB_F64;
  f.made = stream->transform == NULL ? f.info.dtype : narrow ? CPB_F32 : stream->dtype;
  f.per_block = block_rows(&f);
  int result = open_writer(&f);
  if (result != CLI_OK) return result;
  cli_progress_start(&f.progress, stream->job, f.rows, f.info.cols * cpb_dtype_size(f.info.dtype));
  bool parallel = f.info.random_access && cpb_writer_random_access(f.writer) && f.made == stream->dtype;
  result = parallel ? run_parallel(&f) : run_sequential(&f);
  cli_progress_end(&f.progress);
  cpb_error error;
  if (result == CLI_OK && cpb_writer_commit(f.writer, &error) != CPB_OK)
    result = cli_fail(stream->job, "%s", error.text);
  if (result == CLI_OK && f.bad > 0)
    cli_say(stream->job, "bad rows left out: %llu", (unsigned long long)f.bad);
  cpb_writer_free(f.writer);
  return result;
}

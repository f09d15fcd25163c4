/* Rows from a reader through a transform to a writer, in blocks, in constant memory.
 *
 * Where both files have random access every thread reads, transforms and writes blocks of its own that
 * stay in its cache; otherwise blocks go one after the other and the transform runs in parallel. */
#ifndef CLI_STREAM_H
#define CLI_STREAM_H

#include "cli.h"

typedef struct cli_stream {
  const cli_job *job;
  cpb_reader *reader;
  const char *output, *to; /* path and format (or NULL) of the output */
  cpb_dtype dtype;         /* of the output file */
  size_t cols;             /* of the output file */
  uint64_t first, last;    /* rows of the input that are taken; last may be CPB_ROWS_UNKNOWN */
  /* Makes `out` of `in`; NULL copies. A row it refuses ends the stream. */
  cpb_status (*transform)(const void *arg, cpb_view in, cpb_out out, const cpb_exec *exec, cpb_error *error);
  const void *arg;
} cli_stream;

/* The whole output or nothing of it. CLI_OK, or an exit code after a sentence. */
int cli_stream_run(const cli_stream *stream);

#endif

/* A bar on stderr: only on a terminal, only for work that takes more than half a second. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdatomic.h>

#include "cli.h"

typedef struct cli_progress {
  const char *verb;
  uint64_t total;   /* rows, CPB_ROWS_UNKNOWN if nobody knows */
  size_t row_bytes; /* 0: rows are no measure of bytes */
  _Atomic uint64_t done;
  atomic_flag drawing;
  double start, drawn; /* seconds; drawn is guarded by drawing */
  bool visible, enabled;
} cli_progress;

void cli_progress_start(cli_progress *progress, const cli_job *job, uint64_t total, size_t row_bytes);
void cli_progress_add(cli_progress *progress, uint64_t rows); /* any thread */
void cli_progress_end(cli_progress *progress);

/* Seconds of a clock that only goes forward. */
double cli_seconds(void);

#endif

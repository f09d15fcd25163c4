/* One pass over a file in blocks: looked at in parallel, gathered in order, constant memory.
 *
 * Blocks depend on the file alone, so what is gathered has the same bits for any number of threads. */
#ifndef CLI_SCAN_H
#define CLI_SCAN_H

#include "cli.h"

enum { CLI_SCAN_SLOTS = 16 }; /* blocks under way at once */

typedef struct cli_scan {
  const cli_job *job;
  cpb_reader *reader;
  void *arg;
  /* Looks at one block and leaves what it found in slot `slot`; on any thread. */
  void (*look)(void *arg, size_t slot, cpb_view rows);
  /* Takes slot `slot` over, rows [first, first+rows) of the file; in order, on the calling thread.
   * Anything but CLI_OK ends the pass. */
  int (*gather)(void *arg, size_t slot, uint64_t first, size_t rows);
} cli_scan;

/* Rows of a block: what `look` sees at most. */
size_t cli_scan_block_rows(const cpb_reader *reader);

/* The pass, from the first row of the file. CLI_OK, or an exit code after a sentence. */
int cli_scan_run(const cli_scan *scan);

#endif

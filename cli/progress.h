/* A bar on stderr: only on a terminal, only for work that takes more than half a second. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdatomic.h>
#include <stdbool.h>

typedef struct cli_bar {
  const char *verb;
  bool enabled, visible;
  atomic_flag drawing;
  double start, drawn, share; /* seconds; what was told last. Guarded by drawing, as the rest is */
  double whole, guessed;      /* how long this phase takes in all, and when that was said */
  bool steady;                /* it was said twice */
} cli_bar;

void cli_bar_init(cli_bar *bar, const char *verb, bool quiet);

/* Tells the share that is done, 0 .. 1; any thread. Less than before begins another piece of work. Not 0 when a
 * signal asked this process to end. */
int cli_bar_tell(void *bar, double share);

void cli_bar_clear(cli_bar *bar);

/* Seconds of a clock that only goes forward. */
double cli_seconds(void);

#endif

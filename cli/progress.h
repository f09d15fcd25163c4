/* A progress bar on stderr: only on a terminal, and only for work that takes more than half a second. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdatomic.h>
#include <stdbool.h>

typedef struct cli_bar {
  const char *verb;
  bool enabled, visible;
  atomic_flag drawing;
  double start, drawn, share; /* seconds; last reported fraction. Guarded by `drawing`, like the rest */
  double whole, guessed;      /* estimated total time of this phase, and when it was estimated */
  bool steady;                /* two estimates agreed */
} cli_bar;

void cli_bar_init(cli_bar *bar, const char *verb, bool quiet);

/* Reports the completed fraction, 0 .. 1, from any thread; a smaller fraction than before starts a new phase. Not 0 if a
 * signal has requested termination. */
int cli_bar_tell(void *bar, double share);

void cli_bar_clear(cli_bar *bar);

#endif

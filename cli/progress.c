#include "progress.h"

#include <stdio.h>
#include <string.h>

#include "src/base/system.h"
#include "src/base/system_process.h"
#include "cli.h"

void cli_bar_init(cli_bar *bar, const char *verb, bool quiet) {
  *bar = (cli_bar){.verb = verb, .enabled = !quiet && cpb_sys_is_terminal(stderr)};
  atomic_flag_clear(&bar->drawing);
  bar->start = bar->drawn = cpb_seconds_now();
}

/* Estimated seconds left, from the rate since the start of this phase; < 0 while there is no reliable estimate: too
 * little progress, too little time, or a rate that has changed within two seconds. */
static double left(cli_bar *bar, double now) {
  enum { ALIKE = 2 };
  double spent = now - bar->start, whole = bar->share > 0.05 ? spent / bar->share : 0;
  if (spent < 1 || whole == 0) return -1;
  if (now - bar->guessed > ALIKE) {
    bar->steady = bar->whole > 0 && whole < 1.3 * bar->whole && whole > bar->whole / 1.3;
    bar->whole = whole;
    bar->guessed = now;
  }
  return bar->steady ? whole - spent : -1;
}

/* If the number of rows is unknown, the elapsed time is shown instead of a fraction. */
static void draw(cli_bar *bar, double now) {
  enum { LENGTH = 28 };
  char line[LENGTH + 1] = "";
  memset(line, '.', LENGTH);
  memset(line, '#', (size_t)(bar->share * LENGTH));
  double rest = left(bar, now);
  if (bar->share > 0)
    fprintf(stderr, "\r\033[K%s [%s] %3.0f %%", bar->verb, line, 100 * bar->share);
  else
    fprintf(stderr, "\r\033[K%s: %.0f s so far", bar->verb, now - bar->start);
  if (rest >= 0.5) fprintf(stderr, "  %.0f s left", rest);
  fflush(stderr);
  bar->visible = true;
  bar->drawn = now;
}

int cli_bar_tell(void *context, double share) {
  cli_bar *bar = context;
  if (!bar->enabled || atomic_flag_test_and_set(&bar->drawing)) return cli_interrupted();
  double now = cpb_seconds_now();
  if (share < bar->share - 0.02) { /* a new phase */
    bar->start = now;
    bar->whole = bar->guessed = 0;
    bar->steady = false;
  }
  bar->share = share > 1 ? 1 : share;
  if (now - bar->start > 0.5 && now - bar->drawn > 0.1) draw(bar, now);
  atomic_flag_clear(&bar->drawing);
  return cli_interrupted();
}

void cli_bar_clear(cli_bar *bar) {
  if (bar->visible) fputs("\r\033[K", stderr);
  bar->visible = false;
}

#include "progress.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

double cli_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void cli_bar_init(cli_bar *bar, const char *verb, bool quiet) {
  *bar = (cli_bar){.verb = verb, .enabled = !quiet && isatty(STDERR_FILENO)};
  atomic_flag_clear(&bar->drawing);
  bar->start = bar->drawn = cli_seconds();
}

static void draw(cli_bar *bar, double now) {
  enum { LENGTH = 28 };
  char line[LENGTH + 1] = "";
  memset(line, '.', LENGTH);
  memset(line, '#', (size_t)(bar->share * LENGTH));
  fprintf(stderr, "\r\033[K%s [%s] %3.0f %%", bar->verb, line, 100 * bar->share);
  if (bar->share > 0) fprintf(stderr, "  %.0f s left", (now - bar->start) * (1 / bar->share - 1));
  fflush(stderr);
  bar->visible = true;
  bar->drawn = now;
}

int cli_bar_tell(void *context, double share) {
  cli_bar *bar = context;
  if (!bar->enabled || atomic_flag_test_and_set(&bar->drawing)) return cli_interrupted();
  double now = cli_seconds();
  if (share < bar->share - 0.5) bar->start = now;
  bar->share = share > 1 ? 1 : share;
  if (now - bar->start > 0.5 && now - bar->drawn > 0.1) draw(bar, now);
  atomic_flag_clear(&bar->drawing);
  return cli_interrupted();
}

void cli_bar_clear(cli_bar *bar) {
  if (bar->visible) fputs("\r\033[K", stderr);
  bar->visible = false;
}

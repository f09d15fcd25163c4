#include "progress.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

double cli_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void cli_progress_start(cli_progress *progress, const cli_job *job, uint64_t total, size_t row_bytes) {
  *progress = (cli_progress){.verb = job->command->verb, .total = total, .row_bytes = row_bytes};
  atomic_flag_clear(&progress->drawing);
  progress->start = progress->drawn = cli_seconds();
  progress->enabled = !job->options.quiet && isatty(STDERR_FILENO);
}

static void draw(cli_progress *progress, double now) {
  enum { BAR = 28 };
  uint64_t done = atomic_load(&progress->done);
  double seconds = now - progress->start, rate = (double)done / seconds;
  double mib = rate * (double)progress->row_bytes / 1048576;
  fprintf(stderr, "\r\033[K%s ", progress->verb);
  if (progress->total != CPB_ROWS_UNKNOWN && progress->total > 0) {
    double share = (double)done / (double)progress->total;
    if (share > 1) share = 1;
    char bar[BAR + 1] = "";
    memset(bar, '.', BAR);
    memset(bar, '#', (size_t)(share * BAR));
    fprintf(stderr, "[%s] %3.0f %%  ", bar, 100 * share);
    if (progress->row_bytes > 0) fprintf(stderr, "%.0f MiB/s  ", mib);
    fprintf(stderr, "%.0f s left", rate > 0 ? (double)(progress->total - done) / rate : 0);
  } else
    fprintf(stderr, "%llu rows  %.0f MiB/s", (unsigned long long)done, mib);
  fflush(stderr);
  progress->visible = true;
}

void cli_progress_add(cli_progress *progress, uint64_t rows) {
  atomic_fetch_add(&progress->done, rows);
  if (!progress->enabled || atomic_flag_test_and_set(&progress->drawing)) return;
  double now = cli_seconds();
  if (now - progress->start > 0.5 && now - progress->drawn > 0.1) {
    draw(progress, now);
    progress->drawn = now;
  }
  atomic_flag_clear(&progress->drawing);
}

void cli_progress_end(cli_progress *progress) {
  if (progress->visible) fputs("\r\033[K", stderr);
}

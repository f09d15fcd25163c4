/* Signals: the flag that ends a job, and ends without one. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "cli.h"

/* The one thing a signal handler may touch. */
static volatile sig_atomic_t caught;

/* A read that waits for standard input finds its end there instead, so that the job sees the flag. */
static void on_signal(int number) {
  int kept = errno, nothing = open("/dev/null", O_RDONLY);
  caught = number;
  if (nothing >= 0) {
    dup2(nothing, STDIN_FILENO);
    close(nothing);
  }
  errno = kept;
}

int cli_interrupted(void) { return caught; }

/* Blocks are read from the file's own pages; pages that a shortened file has lost cannot be. */
static void on_lost_pages(int number) {
  static const char text[] = "capball: a file became shorter while it was being read\n";
  (void)number;
  ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
  (void)written;
  _exit(CLI_FAILED);
}

void cli_install_handlers(void) {
  /* Only the first signal waits for the end of a block: the second one kills. */
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGHUP, &action, NULL);
  action.sa_flags = 0;
  action.sa_handler = on_lost_pages;
  sigaction(SIGBUS, &action, NULL);
  /* A file-size limit shall be an error of write(), with a sentence, instead of death. */
  action.sa_handler = SIG_IGN;
  sigaction(SIGXFSZ, &action, NULL);
}

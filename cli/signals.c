/* Signals: the flag that ends a job, and signals that end the process at once. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "cli.h"

/* The only object a signal handler may modify. */
static volatile sig_atomic_t caught;

/* A read blocked on standard input then finds its end, so that the job sees the flag. */
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

/* Blocks are mapped from the file; pages beyond the end of a truncated file raise SIGBUS. */
static void on_lost_pages(int number) {
  static const char text[] = "capball: a file became shorter while it was being read\n";
  (void)number;
  ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
  (void)written;
  _exit(CLI_FAILED);
}

void cli_install_handlers(void) {
  /* Only the first signal waits for the end of a block: the second one terminates. */
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGHUP, &action, NULL);
  action.sa_flags = 0;
  action.sa_handler = on_lost_pages;
  sigaction(SIGBUS, &action, NULL);
  /* A file-size limit becomes an error of write(), with a message, instead of terminating the process. */
  action.sa_handler = SIG_IGN;
  sigaction(SIGXFSZ, &action, NULL);
}

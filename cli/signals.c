/* Signals: the flag that ends a job, and signals that end the process at once. */
#include <signal.h>

#include "cli.h"
#include "src/base/system_process.h"

/* The only object a signal handler may modify. */
static volatile sig_atomic_t caught;

static void on_end(int number) { caught = number; }

int cli_interrupted(void) { return caught; }

/* Only the first signal waits for the end of a block: the second one terminates. Blocks are mapped from the file. */
void cli_install_handlers(void) {
  cpb_sys_catch_ends(on_end);
  cpb_sys_catch_lost_pages("capball: a file became shorter while it was being read\n", CLI_FAILED);
}

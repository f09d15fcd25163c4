/* Any bytes as the JSON lines of `capball dual`, through the command itself. The first byte chooses the
 * scale. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli.h"

/* What main.c gives the commands; here it says nothing. */
int cli_fail(const cli_job *job, const char *format, ...) {
  (void)job, (void)format;
  return CLI_FAILED;
}
int cli_misuse(const cli_job *job, const char *format, ...) {
  (void)job, (void)format;
  return CLI_USAGE;
}
void cli_say(const cli_job *job, const char *format, ...) { (void)job, (void)format; }
int cli_fail_row(const cli_job *job, const char *path, uint64_t first, const cpb_error *error) {
  (void)job, (void)path, (void)first, (void)error;
  return CLI_FAILED;
}
int cli_interrupted(void) { return 0; }
void *cli_alloc(size_t count, size_t size) {
  void *memory = calloc(count == 0 ? 1 : count, size);
  if (memory == NULL) abort();
  return memory;
}

static int run_dual(int from, double scale) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", from);
  char *operands[] = {path};
  cli_job job = {.command = &cli_verb_dual, .operands = operands, .count = 1};
  job.options.scale = scale;
  return cli_verb_dual.run(&job);
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  return freopen("/dev/null", "w", stdout) == NULL;
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t count);
int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t count) {
  static const double scales[] = {1, 0.3, 1e-150, 1e150, 7};
  if (count == 0) return 0;
  int fd = memfd_create("fuzz", MFD_CLOEXEC);
  if (fd < 0 || write(fd, bytes + 1, count - 1) != (ssize_t)(count - 1)) abort();
  run_dual(fd, scales[bytes[0] % 5]);
  close(fd);
  return 0;
}

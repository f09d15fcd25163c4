/* For LD_PRELOAD: a process waits before it renames a file to a name that ends with DELAY_SUFFIX. It creates the
 * file DELAY_MARK.waiting and continues once DELAY_MARK.go exists, or after ten seconds. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool ends_with(const char *text, const char *end) {
  size_t length = strlen(text), tail = strlen(end);
  return length >= tail && strcmp(text + length - tail, end) == 0;
}

static void mark(const char *name, const char *ending, char path[4096]) {
  snprintf(path, 4096, "%s.%s", name, ending);
}

static void wait_for_go(const char *target) {
  const char *suffix = getenv("DELAY_SUFFIX"), *name = getenv("DELAY_MARK");
  char waiting[4096], go[4096];
  if (suffix == NULL || name == NULL || !ends_with(target, suffix)) return;
  mark(name, "waiting", waiting);
  mark(name, "go", go);
  int fd = open(waiting, O_CREAT | O_WRONLY, 0600);
  if (fd >= 0) close(fd);
  for (int tries = 0; tries < 1000 && access(go, F_OK) != 0; tries++)
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

int rename(const char *from, const char *to) {
  wait_for_go(to);
  return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

int linkat(int from_fd, const char *from, int to_fd, const char *to, int flags) {
  static int (*real)(int, const char *, int, const char *, int);
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "linkat");
  wait_for_go(to);
  return real(from_fd, from, to_fd, to, flags);
}

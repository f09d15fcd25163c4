/* Ends of processes and power failures, for one test program that includes this: its system calls that change files go
 * through here.
 *
 * A process is killed in the call that crash_disk.calls_left counts down to: before it, after it, or in the middle of a
 * write. A power failure is simulated afterwards: of what was not synced any sectors may have reached the disk, and a name
 * may still be that of the file before. */
#ifndef CPB_TESTS_CRASH_DISK_H
#define CPB_TESTS_CRASH_DISK_H

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support/check.h"

/* Shared by the process that is killed and the one that examines what it left. */
typedef struct crash_disk_state {
  long calls_left;  /* < 0: nobody is killed */
  bool after;       /* the last call is carried out */
  bool watches;     /* synced contents are recorded */
  int done, synced; /* operations that have returned; of these, those that are on disk */
  uint64_t named;   /* inode that has the name on disk */
  char name[200];   /* the file .. */
  char folder[200]; /* .. and the place for synced contents */
} crash_disk_state;
static crash_disk_state *crash_disk;

static void crash_disk_begin(const char *name, const char *folder) {
  crash_disk = mmap(NULL, sizeof *crash_disk, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true(crash_disk != MAP_FAILED);
  crash_disk->calls_left = -1;
  snprintf(crash_disk->name, sizeof crash_disk->name, "%s", name);
  snprintf(crash_disk->folder, sizeof crash_disk->folder, "%s", folder);
}

/* ---- system calls ---- */

typedef enum last_call { NOT_LAST, LAST_SKIPPED, LAST_MADE } last_call;

static last_call count_call(void) {
  if (crash_disk == NULL || crash_disk->calls_left < 0 || crash_disk->calls_left-- > 0) return NOT_LAST;
  return crash_disk->after ? LAST_MADE : LAST_SKIPPED;
}

static void end_after(last_call last) {
  if (last != NOT_LAST) kill(getpid(), SIGKILL);
}

static long make_call(long number, long a, long b, long c, long d, long e) {
  last_call last = count_call();
  if (last == LAST_SKIPPED) end_after(last);
  long result = syscall(number, a, b, c, d, e);
  end_after(last);
  return result;
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
  last_call last = count_call();
  ssize_t n = syscall(SYS_pwrite64, fd, bytes, last == LAST_SKIPPED ? count / 2 : count, offset);
  end_after(last);
  return n;
}

int ftruncate(int fd, off_t size) { return (int)make_call(SYS_ftruncate, fd, size, 0, 0, 0); }
int flock(int fd, int operation) { return (int)make_call(SYS_flock, fd, operation, 0, 0, 0); }
int fchmod(int fd, mode_t mode) { return (int)make_call(SYS_fchmod, fd, (long)mode, 0, 0, 0); }
int unlink(const char *name) { return (int)make_call(SYS_unlinkat, AT_FDCWD, (long)name, 0, 0, 0); }

int rename(const char *from, const char *to) {
  return (int)make_call(SYS_renameat2, AT_FDCWD, (long)from, AT_FDCWD, (long)to, 0);
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
  return (int)make_call(SYS_linkat, from_folder, (long)from, to_folder, (long)to, flags);
}

int open(const char *name, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  bool makes = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  unsigned mode = makes ? va_arg(rest, unsigned) : 0;
  va_end(rest);
  return (int)make_call(SYS_openat, AT_FDCWD, (long)name, flags, (long)mode, 0);
}

/* ---- what is on disk ---- */

static unsigned char *crash_disk_read(int fd, size_t *size) {
  struct stat seen;
  assert_int_equal(fstat(fd, &seen), 0);
  *size = (size_t)seen.st_size;
  unsigned char *bytes = malloc(*size + 1);
  for (size_t done = 0; done < *size;) {
    ssize_t n = pread(fd, bytes + done, *size - done, (off_t)done);
    assert_true(n > 0);
    done += (size_t)n;
  }
  return bytes;
}

static void synced_name(uint64_t inode, char name[260]) {
  snprintf(name, 260, "%s/synced-%llu", crash_disk->folder, (unsigned long long)inode);
}

static void write_bytes(const char *name, const unsigned char *bytes, size_t size) {
  FILE *to = fopen(name, "wb");
  assert_true(to != NULL && fwrite(bytes, 1, size, to) == size && fclose(to) == 0);
}

static uint64_t inode_named(const char *name) {
  struct stat seen;
  return stat(name, &seen) == 0 ? (uint64_t)seen.st_ino : 0;
}

static void record_synced(int fd) {
  struct stat seen;
  size_t size;
  char name[260];
  assert_int_equal(fstat(fd, &seen), 0);
  if (S_ISDIR(seen.st_mode)) {
    crash_disk->named = inode_named(crash_disk->name);
    return;
  }
  unsigned char *bytes = crash_disk_read(fd, &size);
  synced_name((uint64_t)seen.st_ino, name);
  write_bytes(name, bytes, size);
  free(bytes);
}

/* Nothing waits for a disk. */
int fsync(int fd) {
  last_call last = count_call();
  if (last == LAST_SKIPPED) end_after(last);
  if (crash_disk != NULL && crash_disk->watches) record_synced(fd);
  end_after(last);
  return fd < 0 ? -1 : 0;
}

int fdatasync(int fd) { return fsync(fd); }

/* Inodes are reused. */
static void forget_synced(void) {
  DIR *folder = opendir(crash_disk->folder);
  assert_true(folder != NULL);
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    char name[600];
    snprintf(name, sizeof name, "%s/%s", crash_disk->folder, entry->d_name);
    if (strncmp(entry->d_name, "synced-", 7) == 0) unlink(name);
  }
  closedir(folder);
}

/* The file as it is now is on disk, with its name. */
static void crash_disk_settle(void) {
  forget_synced();
  int fd = (int)syscall(SYS_openat, AT_FDCWD, crash_disk->name, O_RDONLY, 0);
  assert_true(fd >= 0);
  record_synced(fd);
  crash_disk->named = inode_named(crash_disk->name);
  close(fd);
}

/* ---- power failures ---- */

enum { SECTOR = 512 };

/* Some bytes of a sector are from before, some from after. */
static void mix_sector(test_rng *rng, const unsigned char *before, const unsigned char *after, size_t count,
                       unsigned char *to) {
  size_t which = test_below(rng, 9), cut = which < 4 ? 0 : which < 8 ? count : test_below(rng, count + 1);
  memcpy(to, after, cut);
  memcpy(to + cut, before + cut, count - cut);
}

static unsigned char *padded(const unsigned char *bytes, size_t size, size_t wanted) {
  unsigned char *copy = calloc(wanted + 1, 1);
  if (size > 0) memcpy(copy, bytes, size < wanted ? size : wanted);
  return copy;
}

/* The contents that a file named `path` may have after a power failure. */
static unsigned char *contents_after_failure(test_rng *rng, const char *path, size_t *size) {
  char name[260];
  size_t old_size = 0, new_size, at;
  int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY, 0);
  assert_true(fd >= 0);
  unsigned char *now = crash_disk_read(fd, &new_size), *synced = NULL;
  close(fd);
  synced_name(inode_named(path), name);
  fd = (int)syscall(SYS_openat, AT_FDCWD, name, O_RDONLY, 0);
  if (fd >= 0) {
    synced = crash_disk_read(fd, &old_size);
    close(fd);
  }
  size_t longer = old_size > new_size ? old_size : new_size, shorter = old_size + new_size - longer;
  *size = test_below(rng, 3) == 0   ? shorter + test_below(rng, longer - shorter + 1)
          : test_below(rng, 2) == 0 ? old_size
                                    : new_size;
  unsigned char *before = padded(synced, old_size, longer), *after = padded(now, new_size, longer),
                *left = malloc(longer + 1);
  for (at = 0; at < longer; at += SECTOR)
    mix_sector(rng, before + at, after + at, longer - at < SECTOR ? longer - at : SECTOR, left + at);
  free(now);
  free(synced);
  free(before);
  free(after);
  return left;
}

/* `old` names the file that had the name before. */
static void crash_disk_lose_power(test_rng *rng, const char *old) {
  size_t size;
  bool new_name = inode_named(crash_disk->name) == crash_disk->named || test_below(rng, 2) == 0;
  unsigned char *left = contents_after_failure(rng, new_name ? crash_disk->name : old, &size);
  assert_int_equal(unlink(crash_disk->name), 0);
  write_bytes(crash_disk->name, left, size);
  free(left);
}

#endif

#define _POSIX_C_SOURCE 200809L
#include "io/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "capball/file.h"
#include "core/fail.h"
#include "io/file_fail.h"

enum { LINKS_MAX = 40, NAME_KEPT = 100, ATTEMPTS = 100, PIECE = 1 << 30 };

/* Length of the directory part with its slash; 0 when the path has none. */
static size_t directory_length(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash == NULL ? 0 : (size_t)(slash - path) + 1;
}

/* `directory_length` bytes of path followed by name; the caller frees it. */
static char *join(const char *path, size_t length, const char *name) {
  size_t size = length + strlen(name) + 1;
  char *joined = malloc(size);
  if (joined != NULL) snprintf(joined, size, "%.*s%s", (int)length, path, name);
  return joined;
}

/* Where the chain of symbolic links ends, there or not yet; realpath() would refuse a link to a file
 * that is still to be made. */
static char *follow_links(const char *path) {
  char *place = join("", 0, path), link[PATH_MAX];
  for (int i = 0; place != NULL && i < LINKS_MAX; i++) {
    ssize_t length = readlink(place, link, sizeof link - 1);
    if (length < 0) return place;
    link[length] = 0;
    char *next = join(place, link[0] == '/' ? 0 : directory_length(place), link);
    free(place);
    place = next;
  }
  errno = place == NULL ? ENOMEM : ELOOP;
  free(place);
  return NULL;
}

static cpb_status open_stream(cpb_whole *whole, cpb_error *error) {
  whole->stream = true;
  whole->fd = open(whole->target, O_WRONLY | O_CLOEXEC);
  return whole->fd < 0 ? cpb_file_fail_errno(error, whole->path, "open") : CPB_OK;
}

/* Process, time and attempt make the name; O_EXCL makes it nobody else's. */
static int create_beside(const char *target, mode_t mode, char **temporary) {
  size_t directory = directory_length(target);
  for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
    char name[NAME_KEPT + 80];
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(name, sizeof name, ".%.*s.%ld-%09ld-%u.part", NAME_KEPT, target + directory, (long)getpid(),
             now.tv_nsec, attempt);
    *temporary = join(target, directory, name);
    if (*temporary == NULL) return -1;
    int fd = open(*temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (fd >= 0) return fd;
    int reason = errno;
    free(*temporary);
    *temporary = NULL;
    errno = reason;
    if (errno != EEXIST) return -1;
  }
  return -1;
}

static cpb_status open_temporary(cpb_whole *whole, const struct stat *existing, cpb_error *error) {
  if (existing != NULL && access(whole->target, W_OK) != 0)
    return cpb_file_fail_errno(error, whole->path, "replace");
  mode_t mode = existing == NULL ? 0666 : existing->st_mode & 0777;
  whole->fd = create_beside(whole->target, mode, &whole->temporary);
  if (whole->fd < 0) return cpb_file_fail_errno(error, whole->path, "create a file beside it");
  if (existing != NULL && fchmod(whole->fd, mode) != 0)
    return cpb_file_fail_errno(error, whole->path, "keep its permissions");
  return CPB_OK;
}

/* Links are followed by name only towards regular files: those of /dev/fd lead nowhere by name. */
static cpb_status open_target(cpb_whole *whole, cpb_error *error) {
  struct stat status;
  bool exists = stat(whole->path, &status) == 0;
  if (!exists && errno != ENOENT) return cpb_file_fail_errno(error, whole->path, "open");
  bool regular = !exists || S_ISREG(status.st_mode);
  whole->target = regular ? follow_links(whole->path) : join("", 0, whole->path);
  if (whole->target == NULL) return cpb_file_fail_errno(error, whole->path, "follow the link");
  if (regular) return open_temporary(whole, exists ? &status : NULL, error);
  if (!S_ISDIR(status.st_mode)) return open_stream(whole, error);
  errno = EISDIR;
  return cpb_file_fail_errno(error, whole->path, "write");
}

cpb_status cpb_whole_open(const char *path, cpb_whole *whole, cpb_error *error) {
  *whole = (cpb_whole){.path = path, .fd = -1};
  if (strcmp(path, "-") != 0) return open_target(whole, error);
  *whole = (cpb_whole){.path = "standard output", .fd = STDOUT_FILENO, .stream = true};
  return CPB_OK;
}

cpb_status cpb_whole_write(cpb_whole *whole, const void *bytes, size_t count, cpb_error *error) {
  for (size_t done = 0; done < count;) {
    size_t left = count - done;
    ssize_t n = write(whole->fd, (const char *)bytes + done, left < PIECE ? left : PIECE);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return cpb_file_fail_errno(error, whole->path, "write");
    done += (size_t)n;
  }
  return CPB_OK;
}

cpb_status cpb_whole_write_at(const cpb_whole *whole, uint64_t offset, const void *bytes, size_t count,
                              cpb_error *error) {
  for (size_t done = 0; done < count;) {
    size_t left = count - done;
    ssize_t n =
        pwrite(whole->fd, (const char *)bytes + done, left < PIECE ? left : PIECE, (off_t)(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return cpb_file_fail_errno(error, whole->path, "write");
    done += (size_t)n;
  }
  return CPB_OK;
}

cpb_status cpb_whole_resize(cpb_whole *whole, uint64_t size, cpb_error *error) {
  if (size > INT64_MAX)
    return cpb_file_fail(error, CPB_EINVAL, whole->path, "%llu bytes are more than a file can have",
                         (unsigned long long)size);
  return ftruncate(whole->fd, (off_t)size) == 0 ? CPB_OK : cpb_file_fail_errno(error, whole->path, "write");
}

/* The new name must survive a power cut too. Some file systems cannot sync a directory (EINVAL);
 * there is nothing better to do there. */
static cpb_status sync_directory(const cpb_whole *whole, cpb_error *error) {
  size_t length = directory_length(whole->target);
  char *directory = length == 0 ? join("", 0, ".") : join(whole->target, length, "");
  int fd = directory == NULL ? -1 : open(directory, O_RDONLY | O_CLOEXEC);
  free(directory);
  if (fd < 0) return CPB_OK; /* a directory one may write but not read */
  int failed = fsync(fd) != 0 && errno != EINVAL;
  cpb_status status = failed ? cpb_file_fail_errno(error, whole->path, "sync the directory of") : CPB_OK;
  close(fd);
  return status;
}

cpb_status cpb_whole_commit(cpb_whole *whole, cpb_error *error) {
  if (whole->stream) return CPB_OK;
  if (fsync(whole->fd) != 0) return cpb_file_fail_errno(error, whole->path, "write");
  int fd = whole->fd;
  whole->fd = -1;
  if (close(fd) != 0) return cpb_file_fail_errno(error, whole->path, "write");
  if (rename(whole->temporary, whole->target) != 0)
    return cpb_file_fail_errno(error, whole->path, "put in place");
  free(whole->temporary);
  whole->temporary = NULL;
  return sync_directory(whole, error);
}

void cpb_whole_close(cpb_whole *whole) {
  if (whole->target != NULL && whole->fd >= 0) close(whole->fd);
  if (whole->temporary != NULL) unlink(whole->temporary);
  free(whole->temporary);
  free(whole->target);
  *whole = (cpb_whole){.fd = -1};
}

cpb_status cpb_write_whole(const char *path, const void *bytes, size_t count, cpb_error *error) {
  cpb_whole whole;
  if (path == NULL || (bytes == NULL && count != 0))
    return cpb_fail(error, CPB_EINVAL, "path and bytes must not be NULL");
  cpb_status status = cpb_whole_open(path, &whole, error);
  if (status == CPB_OK) status = cpb_whole_write(&whole, bytes, count, error);
  if (status == CPB_OK) status = cpb_whole_commit(&whole, error);
  cpb_whole_close(&whole);
  return status;
}

#define _GNU_SOURCE /* O_TMPFILE, locks of an open file */
#include "files/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#ifdef __linux__
#include <sys/socket.h>
#include <sys/un.h>
#endif
#include <time.h>
#include <unistd.h>

#include "capball/advanced/flow.h"
#include "base/fail.h"
#include "files/file_fail.h"

/* NAMES: concurrent writers of one file, if the system has no unnamed files. */
enum { LINKS_MAX = 40, NAME_KEPT = 100, NAMES = 32, PIECE = 1 << 30, LOCK_TRIES = 30000 };

/* Length of the directory part including its slash; 0 if there is none. */
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

/* The end of the chain of symbolic links; unlike realpath(), also if it does not exist yet. */
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

static char *temporary_name(const char *target, unsigned number) {
  size_t directory = directory_length(target);
  char name[NAME_KEPT + 40];
  snprintf(name, sizeof name, ".%.*s.capball-unfinished-%u", NAME_KEPT, target + directory, number);
  return join(target, directory, name);
}

static char *directory_of(const char *target) {
  size_t length = directory_length(target);
  return length == 0 ? join("", 0, ".") : join(target, length, "");
}

/* Whether the name still refers to the open file. */
static bool is_named(int fd, const char *name) {
  struct stat opened, named;
  return fstat(fd, &opened) == 0 && lstat(name, &named) == 0 && opened.st_dev == named.st_dev &&
         opened.st_ino == named.st_ino;
}

/* Released when its process ends. Without support for locks this fails, so that no file is removed as abandoned. */
static bool lock(int fd) { return flock(fd, LOCK_EX | LOCK_NB) == 0; }

/* Removes the temporary files of this target left by processes that died. */
static void remove_litter(const char *target) {
  for (unsigned number = 0; number < NAMES; number++) {
    struct stat status;
    char *name = temporary_name(target, number);
    int fd = name == NULL ? -1 : open(name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && lock(fd) && is_named(fd, name))
      unlink(name);
    if (fd >= 0) close(fd);
    free(name);
  }
}

/* Tries names for the temporary file until one is accepted; `attempt` sets errno. */
static bool name_temporary(cpb_whole *whole, mode_t mode,
                           bool (*attempt)(cpb_whole *whole, const char *name, mode_t mode)) {
  int reason = EEXIST;
  for (unsigned number = 0; number < NAMES && reason == EEXIST; number++) {
    char *name = temporary_name(whole->target, number);
    if (name != NULL && attempt(whole, name, mode)) {
      whole->temporary = name;
      return true;
    }
    reason = name == NULL ? ENOMEM : errno;
    free(name);
  }
  errno = reason;
  return false;
}

/* Between creating and locking the file, another process may have removed it as abandoned. */
static bool create_named(cpb_whole *whole, const char *name, mode_t mode) {
  int fd = whole->fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
  if (fd < 0 || ((lock(fd) || errno != EWOULDBLOCK) && is_named(fd, name))) return fd >= 0;
  close(fd);
  whole->fd = -1;
  errno = EEXIST;
  return false;
}

static void name_of_descriptor(int fd, char name[40]) { snprintf(name, 40, "/proc/self/fd/%d", fd); }

/* An unnamed file that can be given a name later; < 0 if that is not possible. */
static int create_unnamed(const char *target, mode_t mode) {
#ifdef O_TMPFILE
  char *directory = directory_of(target), name[40];
  int fd = directory == NULL ? -1 : open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
  free(directory);
  if (fd < 0) return -1;
  name_of_descriptor(fd, name);
  if (access(name, F_OK) == 0 && lock(fd)) return fd;
  close(fd);
#else
  (void)target, (void)mode;
#endif
  return -1;
}

static cpb_status open_temporary(cpb_whole *whole, const struct stat *existing, cpb_error *error) {
  if (existing != NULL && access(whole->target, W_OK) != 0)
    return cpb_file_fail_errno(error, whole->path, "replace");
  mode_t mode = existing == NULL ? 0666 : existing->st_mode & 0777;
  remove_litter(whole->target);
  whole->fd = create_unnamed(whole->target, mode);
  if (whole->fd < 0 && !name_temporary(whole, mode, create_named))
    return cpb_file_fail_errno(error, whole->path, "create a file beside it");
  if (existing != NULL && fchmod(whole->fd, mode) != 0)
    return cpb_file_fail_errno(error, whole->path, "keep its permissions");
  return CPB_OK;
}

/* Links are followed by name only to regular files: those of /dev/fd cannot be followed by name. */
static cpb_status open_target(cpb_whole *whole, cpb_error *error) {
  struct stat status;
  bool exists = stat(whole->path, &status) == 0;
  if (!exists && errno != ENOENT) return cpb_file_fail_errno(error, whole->path, "open");
  bool regular = !exists || S_ISREG(status.st_mode);
  whole->target = regular ? follow_links(whole->path) : join("", 0, whole->path);
  if (whole->target == NULL) return cpb_file_fail_errno(error, whole->path, "follow the link");
  if (regular) return open_temporary(whole, exists ? &status : NULL, error);
  whole->fd = whole->stream ? open(whole->target, O_WRONLY | O_CLOEXEC) : -1;
  if (whole->fd >= 0) return CPB_OK;
  if (!whole->stream) errno = EISDIR;
  return cpb_file_fail_errno(error, whole->path, whole->stream ? "open" : "write");
}

void cpb_whole_look(const char *path, cpb_whole *whole) {
  struct stat status;
  bool printed = strcmp(path, "-") == 0;
  *whole =
      (cpb_whole){.path = printed ? "standard output" : path, .fd = printed ? STDOUT_FILENO : -1, .kept = -1};
  whole->stream =
      printed || (stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode));
}

cpb_status cpb_whole_open(const char *path, cpb_whole *whole, cpb_error *error) {
  cpb_whole_look(path, whole);
  return whole->fd >= 0 ? CPB_OK : open_target(whole, error);
}

/* offset: NULL at the current position. */
static cpb_status write_bytes(const cpb_whole *whole, const uint64_t *offset, const char *bytes, size_t count,
                              cpb_error *error) {
  for (size_t done = 0; done < count;) {
    size_t piece = count - done < PIECE ? count - done : PIECE;
    ssize_t n = offset == NULL ? write(whole->fd, bytes + done, piece)
                               : pwrite(whole->fd, bytes + done, piece, (off_t)(*offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return cpb_file_fail_errno(error, whole->path, "write");
    done += (size_t)n;
  }
  return CPB_OK;
}

cpb_status cpb_whole_write(cpb_whole *whole, const void *bytes, size_t count, cpb_error *error) {
  return write_bytes(whole, NULL, bytes, count, error);
}

cpb_status cpb_whole_write_at(const cpb_whole *whole, uint64_t offset, const void *bytes, size_t count,
                              cpb_error *error) {
  return write_bytes(whole, &offset, bytes, count, error);
}

cpb_status cpb_whole_resize(cpb_whole *whole, uint64_t size, cpb_error *error) {
  if (size > INT64_MAX)
    return cpb_file_fail(error, CPB_WHY_FILE_LIMIT, whole->path, "%llu bytes are more than a file can have",
                         (unsigned long long)size);
  return ftruncate(whole->fd, (off_t)size) == 0 ? CPB_OK : cpb_file_fail_errno(error, whole->path, "write");
}

/* Two locks: one that only writers of this library take, and one that HDF5 takes on files it has open; readers may
 * continue. On a file system without locks both succeed; commit checks again. */
static bool is_free(int fd) {
#ifdef F_OFD_SETLK
  struct flock ours = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  if (fcntl(fd, F_OFD_SETLK, &ours) != 0 && (errno == EAGAIN || errno == EACCES)) return false;
#endif
  return flock(fd, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

cpb_status cpb_whole_keep(cpb_whole *whole, cpb_error *error) {
  whole->adds = true;
  whole->kept = open(whole->target, O_RDWR | O_CLOEXEC);
  if (whole->kept < 0 && errno == ENOENT) return CPB_OK;
  if (whole->kept < 0) return cpb_file_fail_errno(error, whole->path, "open");
  if (!is_free(whole->kept))
    return cpb_file_fail(error, CPB_WHY_FILE_BUSY, whole->path,
                         "another program is writing to it: run this again when it has finished");
  return fstat(whole->kept, &whole->seen) == 0 ? CPB_OK : cpb_file_fail_errno(error, whole->path, "look at");
}

static cpb_status refuse_changed(const cpb_whole *whole, cpb_error *error) {
  return cpb_file_fail(
      error, CPB_WHY_FILE_BUSY, whole->path,
      "another program has changed it in the meantime, so it was not replaced: run this again");
}

static bool is_unchanged(const cpb_whole *whole) {
  struct stat now;
  return stat(whole->target, &now) == 0 && now.st_dev == whole->seen.st_dev &&
         now.st_ino == whole->seen.st_ino && now.st_size == whole->seen.st_size &&
         now.st_mtim.tv_sec == whole->seen.st_mtim.tv_sec &&
         now.st_mtim.tv_nsec == whole->seen.st_mtim.tv_nsec;
}

/* Links the temporary file to another name, which must not exist. */
static bool give_name(cpb_whole *whole, const char *name, mode_t mode) {
  (void)mode;
  char descriptor[40];
  name_of_descriptor(whole->fd, descriptor);
  const char *from = whole->temporary != NULL ? whole->temporary : descriptor;
  return linkat(AT_FDCWD, from, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
}

static void forget_temporary(cpb_whole *whole) {
  free(whole->temporary);
  whole->temporary = NULL;
}

static cpb_status replace_target(cpb_whole *whole, cpb_error *error) {
  bool named = whole->temporary != NULL || name_temporary(whole, 0, give_name);
  if (named && whole->kept >= 0 && !is_unchanged(whole)) return refuse_changed(whole, error);
  if (!named || rename(whole->temporary, whole->target) != 0)
    return cpb_file_fail_errno(error, whole->path, "put in place");
  forget_temporary(whole);
  return CPB_OK;
}

/* For a new target: link() is atomic and never replaces another file. Some file systems have no links. */
static cpb_status make_target(cpb_whole *whole, cpb_error *error) {
  if (give_name(whole, whole->target, 0)) {
    if (whole->temporary != NULL) unlink(whole->temporary);
    forget_temporary(whole);
    return CPB_OK;
  }
  if (errno == EEXIST && whole->adds) return refuse_changed(whole, error);
  return replace_target(whole, error);
}

/* The new name must survive a power failure too. Some file systems cannot sync a directory (EINVAL): ignored. */
static cpb_status sync_directory(const cpb_whole *whole, cpb_error *error) {
  char *directory = directory_of(whole->target);
  int fd = directory == NULL ? -1 : open(directory, O_RDONLY | O_CLOEXEC);
  free(directory);
  if (fd < 0) return CPB_OK; /* a directory that is writable but not readable */
  int failed = fsync(fd) != 0 && errno != EINVAL;
  cpb_status status = failed ? cpb_file_fail_errno(error, whole->path, "sync the directory of") : CPB_OK;
  close(fd);
  return status;
}

cpb_status cpb_whole_sync(const cpb_whole *whole, cpb_error *error) {
  if (whole->stream || fsync(whole->fd) == 0) return CPB_OK;
  return cpb_file_fail_errno(error, whole->path, "write");
}

#ifdef __linux__
/* Binds an abstract socket, whose name only one process can hold at a time; locks on the directory belong to others. */
static bool take_name(int fd, const struct stat *directory) {
  struct sockaddr_un name = {.sun_family = AF_UNIX};
  int length = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "capball-%llx-%llx",
                        (unsigned long long)directory->st_dev, (unsigned long long)directory->st_ino);
  socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
  for (int tries = 0; tries < LOCK_TRIES; tries++) {
    if (bind(fd, (const struct sockaddr *)&name, size) == 0) return true;
    if (errno != EADDRINUSE) return false;
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  return false;
}
#endif

int cpb_whole_lock(const char *target) {
#ifdef __linux__
  struct stat facts;
  char *directory = directory_of(target);
  bool there = directory != NULL && stat(directory, &facts) == 0;
  free(directory);
  int fd = there ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
  if (fd < 0 || take_name(fd, &facts)) return fd;
  close(fd);
#else
  (void)target;
#endif
  return -1;
}

/* The lock on the temporary file is released with its descriptor, so that is closed last. Its bytes are on disk since
 * fsync: closing cannot lose anything. */
cpb_status cpb_whole_name(cpb_whole *whole, cpb_error *error) {
  struct stat status;
  if (whole->stream) return CPB_OK;
  bool there = whole->kept >= 0 || (!whole->adds && lstat(whole->target, &status) == 0);
  cpb_status done = there ? replace_target(whole, error) : make_target(whole, error);
  if (done != CPB_OK) return done;
  close(whole->fd);
  whole->fd = -1;
  return CPB_OK;
}

cpb_status cpb_whole_place(cpb_whole *whole, cpb_error *error) {
  cpb_status status = cpb_whole_name(whole, error);
  return status == CPB_OK && !whole->stream ? sync_directory(whole, error) : status;
}

cpb_status cpb_whole_commit(cpb_whole *whole, cpb_error *error) {
  cpb_status status = cpb_whole_sync(whole, error);
  return status == CPB_OK ? cpb_whole_place(whole, error) : status;
}

void cpb_whole_close(cpb_whole *whole) {
  if (whole->target != NULL && whole->fd >= 0) close(whole->fd);
  if (whole->kept >= 0) close(whole->kept);
  if (whole->temporary != NULL) unlink(whole->temporary);
  free(whole->temporary);
  free(whole->target);
  *whole = (cpb_whole){.fd = -1, .kept = -1};
}

cpb_status cpb_write_whole(const char *path, const void *bytes, size_t count, cpb_error *error) {
  cpb_whole whole;
  if (path == NULL || (bytes == NULL && count != 0))
    return cpb_fail_missing(error, path == NULL ? "path" : "bytes");
  cpb_status status = cpb_whole_open(path, &whole, error);
  if (status == CPB_OK) status = cpb_whole_write(&whole, bytes, count, error);
  if (status == CPB_OK) status = cpb_whole_commit(&whole, error);
  cpb_whole_close(&whole);
  return status;
}

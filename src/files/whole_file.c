#include "files/whole_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capball/advanced/flow.h"
#include "base/fail.h"
#include "base/system_file.h"
#include "files/file_fail.h"

/* NAMES: concurrent writers of one file, if the system has no unnamed files. */
enum { NAME_KEPT = 100, NAMES = 32 };

/* `length` bytes of path followed by name; the caller frees it. */
static char *join(const char *path, size_t length, const char *name) {
  size_t size = length + strlen(name) + 1;
  char *joined = malloc(size);
  if (joined != NULL) snprintf(joined, size, "%.*s%s", (int)length, path, name);
  return joined;
}

static char *temporary_name(const char *target, unsigned number) {
  size_t directory = cpb_sys_folder_length(target);
  char name[NAME_KEPT + 40];
  snprintf(name, sizeof name, ".%.*s.capball-unfinished-%u", NAME_KEPT, target + directory, number);
  return join(target, directory, name);
}

static char *directory_of(const char *target) {
  size_t length = cpb_sys_folder_length(target);
  return length == 0 ? join("", 0, ".") : join(target, length, "");
}

/* Removes the temporary files of this target left by processes that died. */
static void remove_litter(const char *target) {
  for (unsigned number = 0; number < NAMES; number++) {
    cpb_file_facts facts;
    char *name = temporary_name(target, number);
    int fd = name == NULL ? -1 : cpb_sys_open(name, CPB_OPEN_AT_ONCE | CPB_OPEN_NO_LINK, 0);
    bool regular = fd >= 0 && cpb_sys_facts_of(fd, &facts) && facts.kind == CPB_FILE_REGULAR;
    if (regular && cpb_sys_lock(fd, false) && cpb_sys_is_named(fd, name)) cpb_sys_remove(name);
    if (fd >= 0) cpb_sys_close(fd);
    free(name);
  }
}

/* Tries names for the temporary file until one is accepted; `attempt` sets errno. */
static bool name_temporary(cpb_whole *whole, unsigned mode,
                           bool (*attempt)(cpb_whole *whole, const char *name, unsigned mode)) {
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
static bool create_named(cpb_whole *whole, const char *name, unsigned mode) {
  int fd = whole->fd = cpb_sys_open(name, CPB_OPEN_CHANGE | CPB_OPEN_NEW | CPB_OPEN_NO_LINK, mode);
  if (fd < 0 || ((cpb_sys_lock(fd, false) || errno != EWOULDBLOCK) && cpb_sys_is_named(fd, name)))
    return fd >= 0;
  cpb_sys_close(fd);
  whole->fd = -1;
  errno = EEXIST;
  return false;
}

/* An unnamed file that can be given a name later; < 0 if that is not possible. */
static int create_unnamed(const char *target, unsigned mode) {
  char *directory = directory_of(target);
  int fd = directory == NULL ? -1 : cpb_sys_open_unnamed(directory, mode);
  free(directory);
  return fd;
}

static cpb_status open_temporary(cpb_whole *whole, const cpb_file_facts *existing, cpb_error *error) {
  if (existing != NULL && !cpb_sys_may_write(whole->target))
    return cpb_file_fail_errno(error, whole->path, "replace");
  unsigned mode = existing == NULL ? 0666 : existing->mode;
  remove_litter(whole->target);
  whole->fd = create_unnamed(whole->target, mode);
  if (whole->fd < 0 && !name_temporary(whole, mode, create_named))
    return cpb_file_fail_errno(error, whole->path, "create a file beside it");
  if (existing != NULL && !cpb_sys_set_mode(whole->fd, mode))
    return cpb_file_fail_errno(error, whole->path, "keep its permissions");
  return CPB_OK;
}

/* Links are followed by name only to regular files: those of /dev/fd cannot be followed by name. */
static cpb_status open_target(cpb_whole *whole, cpb_error *error) {
  cpb_file_facts facts;
  bool exists = cpb_sys_facts(whole->path, &facts);
  if (!exists && errno != ENOENT) return cpb_file_fail_errno(error, whole->path, "open");
  bool regular = !exists || facts.kind == CPB_FILE_REGULAR;
  whole->target = regular ? cpb_sys_follow_links(whole->path) : join("", 0, whole->path);
  if (whole->target == NULL) return cpb_file_fail_errno(error, whole->path, "follow the link");
  if (regular) return open_temporary(whole, exists ? &facts : NULL, error);
  whole->fd = whole->stream ? cpb_sys_open(whole->target, CPB_OPEN_WRITE, 0) : -1;
  if (whole->fd >= 0) return CPB_OK;
  if (!whole->stream) errno = EISDIR;
  return cpb_file_fail_errno(error, whole->path, whole->stream ? "open" : "write");
}

void cpb_whole_look(const char *path, cpb_whole *whole) {
  cpb_file_facts facts;
  bool printed = strcmp(path, "-") == 0;
  *whole =
      (cpb_whole){.path = printed ? "standard output" : path, .fd = printed ? CPB_STDOUT : -1, .kept = -1};
  whole->stream = printed || (cpb_sys_facts(path, &facts) && facts.kind == CPB_FILE_OTHER);
}

cpb_status cpb_whole_open(const char *path, cpb_whole *whole, cpb_error *error) {
  cpb_whole_look(path, whole);
  return whole->fd >= 0 ? CPB_OK : open_target(whole, error);
}

/* offset: NULL at the current position. */
static cpb_status write_bytes(const cpb_whole *whole, const uint64_t *offset, const char *bytes, size_t count,
                              cpb_error *error) {
  for (size_t done = 0; done < count;) {
    int64_t n = offset == NULL ? cpb_sys_write(whole->fd, bytes + done, count - done)
                               : cpb_sys_write_at(whole->fd, *offset + done, bytes + done, count - done);
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
  return cpb_sys_resize(whole->fd, size) ? CPB_OK : cpb_file_fail_errno(error, whole->path, "write");
}

/* Two locks: one that only writers of this library take, and one that HDF5 takes on files it has open; readers may
 * continue. On a file system without locks both succeed; commit checks again. */
static bool is_free(int fd) {
  return cpb_sys_lock_writing(fd) && (cpb_sys_lock(fd, true) || errno != EWOULDBLOCK);
}

cpb_status cpb_whole_keep(cpb_whole *whole, cpb_error *error) {
  whole->adds = true;
  whole->kept = cpb_sys_open(whole->target, CPB_OPEN_CHANGE, 0);
  if (whole->kept < 0 && errno == ENOENT) return CPB_OK;
  if (whole->kept < 0) return cpb_file_fail_errno(error, whole->path, "open");
  if (!is_free(whole->kept))
    return cpb_file_fail(error, CPB_WHY_FILE_BUSY, whole->path,
                         "another program is writing to it: run this again when it has finished");
  return cpb_sys_facts_of(whole->kept, &whole->seen) ? CPB_OK
                                                     : cpb_file_fail_errno(error, whole->path, "look at");
}

static cpb_status refuse_changed(const cpb_whole *whole, cpb_error *error) {
  return cpb_file_fail(
      error, CPB_WHY_FILE_BUSY, whole->path,
      "another program has changed it in the meantime, so it was not replaced: run this again");
}

static bool is_unchanged(const cpb_whole *whole) {
  cpb_file_facts now;
  return cpb_sys_facts(whole->target, &now) && cpb_sys_same_file(&now, &whole->seen) &&
         now.size == whole->seen.size && now.seconds == whole->seen.seconds &&
         now.nanoseconds == whole->seen.nanoseconds;
}

/* Links the temporary file to another name, which must not exist. */
static bool give_name(cpb_whole *whole, const char *name, unsigned mode) {
  (void)mode;
  return cpb_sys_link(whole->fd, whole->temporary, name);
}

static void forget_temporary(cpb_whole *whole) {
  free(whole->temporary);
  whole->temporary = NULL;
}

static cpb_status replace_target(cpb_whole *whole, cpb_error *error) {
  bool named = whole->temporary != NULL || name_temporary(whole, 0, give_name);
  if (named && whole->kept >= 0 && !is_unchanged(whole)) return refuse_changed(whole, error);
  if (!named || !cpb_sys_rename(whole->temporary, whole->target))
    return cpb_file_fail_errno(error, whole->path, "put in place");
  forget_temporary(whole);
  return CPB_OK;
}

/* For a new target: link() is atomic and never replaces another file. Some file systems have no links. */
static cpb_status make_target(cpb_whole *whole, cpb_error *error) {
  if (give_name(whole, whole->target, 0)) {
    forget_temporary(whole);
    return CPB_OK;
  }
  if (errno == EEXIST && whole->adds) return refuse_changed(whole, error);
  return replace_target(whole, error);
}

/* The new name must survive a power failure too. */
static cpb_status sync_directory(const cpb_whole *whole, cpb_error *error) {
  char *directory = directory_of(whole->target);
  bool done = directory == NULL || cpb_sys_sync_folder(directory);
  free(directory);
  return done ? CPB_OK : cpb_file_fail_errno(error, whole->path, "sync the directory of");
}

cpb_status cpb_whole_sync(const cpb_whole *whole, cpb_error *error) {
  if (whole->stream || cpb_sys_sync(whole->fd)) return CPB_OK;
  return cpb_file_fail_errno(error, whole->path, "write");
}

int cpb_whole_lock(const char *target) {
  char *directory = directory_of(target);
  int handle = directory == NULL ? -1 : cpb_sys_lock_names(directory);
  free(directory);
  return handle;
}

/* The lock on the temporary file is released with its descriptor, so that is closed last. Its bytes are on disk since
 * fsync: closing cannot lose anything. */
cpb_status cpb_whole_name(cpb_whole *whole, cpb_error *error) {
  if (whole->stream) return CPB_OK;
  bool there = whole->kept >= 0 || (!whole->adds && cpb_sys_is_there(whole->target));
  cpb_status done = there ? replace_target(whole, error) : make_target(whole, error);
  if (done != CPB_OK) return done;
  cpb_sys_close(whole->fd);
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
  if (whole->target != NULL && whole->fd >= 0) cpb_sys_close(whole->fd);
  if (whole->kept >= 0) cpb_sys_close(whole->kept);
  if (whole->temporary != NULL) cpb_sys_remove(whole->temporary);
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

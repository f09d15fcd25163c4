/* Atomic output: bytes are written to a temporary file, which replaces the target by rename. Targets that are not
 * regular files (standard output, a pipe, a device) are written directly.
 *
 * If the system supports unnamed files, the temporary file has no name before commit, and nothing remains
 * however the process ends. Elsewhere, and between link and rename, it is named ".NAME.capball-unfinished-N" and
 * locked; one that is not locked is abandoned, and the next writer of NAME removes it. */
#ifndef CPB_FILES_WHOLE_FILE_H
#define CPB_FILES_WHOLE_FILE_H

#include <stdbool.h>

#include "capball/status.h"
#include "base/system_file.h"

typedef struct cpb_whole {
  const char *path; /* for messages; borrowed */
  int fd;
  bool stream;         /* no temporary file, no offsets */
  char *target;        /* the final path, symbolic links followed */
  char *temporary;     /* its name; NULL if it has none, for a stream, and after commit */
  bool adds;           /* to the existing file, which must be the same at commit */
  int kept;            /* the existing file, locked; < 0: none */
  cpb_file_facts seen; /* of kept, when it was opened */
} cpb_whole;

/* Sets path and stream without opening anything: to open a pipe waits until a program reads from it. */
void cpb_whole_look(const char *path, cpb_whole *whole);

/* A symbolic link stays a link: the file it refers to is replaced. An existing file keeps its permissions; one that is
 * not writable is not replaced. */
cpb_status cpb_whole_open(const char *path, cpb_whole *whole, cpb_error *error);

cpb_status cpb_whole_write(cpb_whole *whole, const void *bytes, size_t count, cpb_error *error);

/* Writes at an offset of the temporary file; thread-safe; not for streams. */
cpb_status cpb_whole_write_at(const cpb_whole *whole, uint64_t offset, const void *bytes, size_t count,
                              cpb_error *error);
cpb_status cpb_whole_resize(cpb_whole *whole, uint64_t size, cpb_error *error);

/* For a file that preserves part of the existing one, or that must not replace one being written: opens and locks that as
 * whole->kept, < 0 if there is none. EIO if it cannot be read, or if it is being written. Commit then replaces only that
 * file. */
cpb_status cpb_whole_keep(cpb_whole *whole, cpb_error *error);

/* sync: writes the bytes to disk; name: replaces the target; place: and syncs the directory. Commit: sync and place. */
cpb_status cpb_whole_sync(const cpb_whole *whole, cpb_error *error);
cpb_status cpb_whole_name(cpb_whole *whole, cpb_error *error);
cpb_status cpb_whole_place(cpb_whole *whole, cpb_error *error);
cpb_status cpb_whole_commit(cpb_whole *whole, cpb_error *error);

/* Allows one writer at a time to change the names in the directory of a target; the lock ends with the process and
 * leaves nothing. Returns a handle for cpb_sys_unlock_names; < 0 if the system has no such lock, or it is held by another process
 * for half a minute: a seal next to other rows does not match them in any case. */
int cpb_whole_lock(const char *target);

/* Closes; removes what was not committed. May be called after a failed open. */
void cpb_whole_close(cpb_whole *whole);

#endif

/* A file that appears whole or not at all: bytes go to a temporary file, which takes the target's place by
 * rename. Targets that are no regular files (standard output, a pipe, a device) are written as they come.
 *
 * Where the system has files without a name (O_TMPFILE) the temporary one has none before commit: whatever
 * ends the process, nothing is left. Elsewhere, and between link and rename, it is called
 * ".NAME.capball-unfinished-N" and locked; one that nobody holds the lock of is litter, and the next writer
 * of NAME removes it. */
#ifndef CPB_IO_WHOLE_FILE_H
#define CPB_IO_WHOLE_FILE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "capball/status.h"

typedef struct cpb_whole {
  const char *path; /* what sentences call it; borrowed */
  int fd;
  bool stream;      /* no temporary file, no offsets */
  char *target;     /* where the file goes, symbolic links followed */
  char *temporary;  /* its name; NULL where it has none, for a stream, and after commit */
  bool adds;        /* to what is there, which must be the same at commit */
  int kept;         /* what is there, locked; < 0: nothing */
  struct stat seen; /* of kept, when it was opened */
} cpb_whole;

/* A symbolic link stays a link: the file it names is replaced. An existing file keeps its
 * permissions; one that may not be written is not replaced. */
cpb_status cpb_whole_open(const char *path, cpb_whole *whole, cpb_error *error);

cpb_status cpb_whole_write(cpb_whole *whole, const void *bytes, size_t count, cpb_error *error);

/* At an offset of the temporary file; thread-safe; not for streams. */
cpb_status cpb_whole_write_at(const cpb_whole *whole, uint64_t offset, const void *bytes, size_t count,
                              cpb_error *error);
cpb_status cpb_whole_resize(cpb_whole *whole, uint64_t size, cpb_error *error);

/* For a file that keeps part of what is there: opens and locks that as whole->kept, < 0 when there is none.
 * EIO when it cannot be read, or when somebody else writes to it. Commit then refuses to replace anything
 * else. */
cpb_status cpb_whole_keep(cpb_whole *whole, cpb_error *error);

/* Its bytes on the disk; then its name, and with `place` the directory on the disk. Commit is sync and place. */
cpb_status cpb_whole_sync(const cpb_whole *whole, cpb_error *error);
cpb_status cpb_whole_name(cpb_whole *whole, cpb_error *error);
cpb_status cpb_whole_place(cpb_whole *whole, cpb_error *error);
cpb_status cpb_whole_commit(cpb_whole *whole, cpb_error *error);

/* One writer at a time changes the names in the directory of a target; the lock ends with the process and leaves nothing.
 * Gives what unlock takes; < 0 where the system has no such lock, or somebody keeps it for half a minute: a seal beside
 * other rows than its own does not fit them in any case. */
int cpb_whole_lock(const char *target);
void cpb_whole_unlock(int lock);

/* Closes; what was not committed is removed. Fine after a failed open. */
void cpb_whole_close(cpb_whole *whole);

#endif

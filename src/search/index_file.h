/* The file of an index: a snapshot that is mapped, and a log of later changes. docs/reference/index-format.md */
#ifndef CPB_SEARCH_INDEX_FILE_H
#define CPB_SEARCH_INDEX_FILE_H

#include <stdatomic.h>

#include "base/system_file.h"
#include "search/index_object.h"

struct cpb_index_file {
  char *path;
  int fd;
  bool writable;
  atomic_bool broken;   /* a failed write could not be undone, or what was written may not be on disk */
  int64_t process;      /* that opened it: a child would share its lock but not the end of its log */
  cpb_file_facts facts; /* of the file that is open */
  void *map;            /* of the snapshot */
  size_t mapped;
  uint64_t end, sequence; /* of the log */
};
typedef struct cpb_index_file cpb_index_file;

/* Writes live rows, their codes and ids to a new file, which replaces `path` atomically. EIO if an index is open for writing
 * from there.
 *   coded  the index, or one without rows, of the same options and next id, whose centres and fold the codes are to have
 *   own   NULL, or the descriptor of the file of that name, held by the caller, its writer; replaced by a locked descriptor of
 *         the new file */
cpb_status cpb_index_write_snapshot(const cpb_index *index, const cpb_index *coded, const char *path,
                                    int *own, cpb_error *error);

/* ---- the log ---- */

/* Appends a change. On failure the log is as before; if it cannot be restored, the file is `broken`. */
cpb_status cpb_log_append(cpb_index *index, const cpb_index_change *change, cpb_error *error);

/* Applies all whole records from file->end on, within a file of `size` bytes. What follows them was being written when
 * its writer ended. */
cpb_status cpb_log_replay(cpb_index *index, cpb_index_file *file, uint64_t size, cpb_error *error);

/* Whether a record may begin at file->end. */
bool cpb_log_may_go_on(const cpb_index_file *file);

/* *rest: bytes after the last record of the file as it is now; 0 if they are a write without its head. */
cpb_status cpb_log_trailing_bytes(const cpb_index *index, const cpb_index_file *opened, uint64_t *rest,
                                  cpb_error *error);

/* EFORMAT if there are such bytes. */
cpb_status cpb_log_check(const cpb_index *index, cpb_error *error);

#endif

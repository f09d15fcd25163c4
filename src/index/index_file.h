/* The file of an index: a snapshot that is mapped, and a log of the changes since. docs/index-format.md */
#ifndef CPB_INDEX_INDEX_FILE_H
#define CPB_INDEX_INDEX_FILE_H

#include "index/index_object.h"

typedef struct cpb_index_file cpb_index_file;

/* Pinned: they are in files. */
typedef enum cpb_change_kind {
  CPB_CHANGE_ADD = 1,
  CPB_CHANGE_REMOVE = 2,
  CPB_CHANGE_REPLACE = 3,
} cpb_change_kind;

/* A call that changes an index. */
typedef struct cpb_index_change {
  cpb_change_kind kind;
  size_t count;
  const uint64_t *ids; /* NULL: an ADD of rows that get the next ones */
  cpb_view rows;       /* none for a REMOVE */
} cpb_index_change;

/* Makes a change, of rows that fit the index, under its lock: all of it or nothing. */
cpb_status cpb_index_apply(cpb_index *index, const cpb_index_change *change, const cpb_exec *exec,
                           cpb_error *error);

/* 0, or why a row cannot be in the index. */
int cpb_index_row_fault(const cpb_index *index, cpb_view rows, size_t row);

/* Writes live rows, their codes and ids to a file of its own. */
cpb_status cpb_index_write_snapshot(const cpb_index *index, const char *path, cpb_error *error);

#endif

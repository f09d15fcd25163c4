/* A persistent index, searched exactly. Rows of 32 to 16384 numbers are stored with codes of one byte per number.  T13 T15
 *
 * The index stores what cpb_knn prepares for every call, so that a query takes one pass over the codes, which are a quarter
 * of the size of f32 rows. Results are those of cpb_knn over the present rows, in values, ids and the order of ties, for
 * every instruction set and number of threads: codes only exclude rows, and the values of the others are computed in
 * double. Rows of bytes, except under COSINE, are their own codes and are stored once.
 *
 * Rows have 64-bit ids: the caller's, or their numbers in order of arrival. Or they have text keys: then the index gives them
 * ids, which stay those of their keys, and are never used again after the row is removed.
 *
 * Threads: all functions but cpb_index_free may be called at the same time from any number of threads. Searches and reads run
 * side by side; each sees the state before or after a change, never a part of it. Changes are made one after the other, and
 * wait for the searches that are running. Compaction lets searches run until its last step. Functions that a call calls back,
 * filters and those of its cpb_exec too, must not call functions of the same index. */
#ifndef CAPBALL_INDEX_H
#define CAPBALL_INDEX_H

#include <stdbool.h>

#include "capball/search.h"

CPB_BEGIN

typedef struct cpb_index cpb_index;

#define CPB_INDEX_UNFOLDED SIZE_MAX
#define CPB_INDEX_LEVELS 4

/** The definition of an index. Start from cpb_index_options_init. */
typedef struct cpb_index_options {
  size_t size;     /* sizeof(cpb_index_options) */
  size_t cols;     /* numbers per row, >= 1 */
  cpb_dtype dtype; /* of the stored rows: f32 (the default), f64, f16, u8 or i8; added rows must have it */
  cpb_metric metric;
  bool
      borrow; /* do not copy added rows: they must stay valid and unchanged until the index is freed or compacted */
  const char *const *columns; /* names of the columns, for callers; stored in files. NULL: none */
  /** Rows are compared with a query by codes of a few principal directions and of the length of the rest, which bound every
   *  distance (T15); those that remain by codes of more directions, and so on. How many directions each of these levels has,
   *  in total: ascending, 0 after the last one. All 0: as a sample of the rows suggests, which may be codes of all numbers,
   *  once there are 2048 rows. It is a matter of time only. EINVAL unless the first is at most 63 and less than cols, and the
   *  last at most 512 and cols, or the first is CPB_INDEX_UNFOLDED: codes of all numbers. */
  size_t levels[CPB_INDEX_LEVELS];
  bool keys; /* rows are added with text keys, by cpb_index_add_keys and cpb_index_put_keys only */
} cpb_index_options;
CPB_API void cpb_index_options_init(cpb_index_options *options, size_t size);

/** Creates an empty index in memory, owned by the caller. */
CPB_CALL cpb_status cpb_index_new(const cpb_index_options *options, cpb_index **index, cpb_error *error);
CPB_API void cpb_index_free(cpb_index *index);

/** Adds rows; all of them or, on failure, none.
 *  rows   n >= 0 rows with the index's columns and dtype; copied unless the index borrows them
 *  ids    n, distinct, not in the index, below UINT64_MAX; NULL: consecutive numbers after the largest id ever used, or
 *         from 0
 *  EROW names the first row with NaN or inf, or of length 0 under COSINE. EINVAL: an id that is in use; no ids are left.
 *  EFORMAT: rows that the index holds have changed: its file is damaged, or the memory it borrows. */
CPB_CALL cpb_status cpb_index_add(cpb_index *index, cpb_view rows, const uint64_t *ids, const cpb_exec *exec,
                                  cpb_error *error);

/** Adds rows under the next ids, as cpb_index_add without ids.
 *  first   receives the id of the first of them; the others follow it */
CPB_CALL cpb_status cpb_index_append(cpb_index *index, cpb_view rows, uint64_t *first, const cpb_exec *exec,
                                     cpb_error *error);

/** Removes the rows with given ids; all of them or none. EINVAL: an id that is given twice. The memory is reused after
 *  compaction.
 *  removed   receives how many there were: ids that are not in the index are ignored. NULL: such an id is EINVAL */
CPB_CALL cpb_status cpb_index_remove(cpb_index *index, const uint64_t *ids, size_t count, uint64_t *removed,
                                     cpb_error *error);

/** Replaces the rows with given ids; all of them or none. As cpb_index_add and cpb_index_remove. */
CPB_CALL cpb_status cpb_index_replace(cpb_index *index, cpb_view rows, const uint64_t *ids,
                                      const cpb_exec *exec, cpb_error *error);

/** Adds the rows whose ids are not in the index and replaces the others; all of them or none. As cpb_index_add. */
CPB_CALL cpb_status cpb_index_put(cpb_index *index, cpb_view rows, const uint64_t *ids, const cpb_exec *exec,
                                  cpb_error *error);

/** Text keys, one after the other; borrowed for the call. Key i is `text` from offsets[i] to offsets[i+1], as in an Arrow array of
 *  large strings: UTF-8, 1 to 65536 bytes, without a zero byte. */
typedef struct cpb_index_keys {
  const char *text;
  const uint64_t *offsets; /* count+1, not decreasing */
  size_t count;
} cpb_index_keys;

/** Adds rows with as many keys, which are not in the index; all of them or none. As cpb_index_add. EINVAL: a key that is given
 *  twice, is in the index, or is not allowed; the message has the key. */
CPB_CALL cpb_status cpb_index_add_keys(cpb_index *index, cpb_view rows, const cpb_index_keys *keys,
                                       const cpb_exec *exec, cpb_error *error);

/** Adds the rows whose keys are not in the index and replaces the others, which keep their ids; all of them or none. */
CPB_CALL cpb_status cpb_index_put_keys(cpb_index *index, cpb_view rows, const cpb_index_keys *keys,
                                       const cpb_exec *exec, cpb_error *error);

/** The ids of keys, as other calls take them.
 *  ids   keys->count, caller's; UINT64_MAX for a key that is not in the index */
CPB_CALL cpb_status cpb_index_find_keys(const cpb_index *index, const cpb_index_keys *keys, uint64_t *ids,
                                        cpb_error *error);

/** The keys of ids, such as those of hits, in one text.
 *  offsets   count+1, caller's; key i is text[offsets[i]] to text[offsets[i+1]], and empty for an id that is not in the index
 *  text      room bytes, caller's; only the first keys are written if offsets[count] > room: call again with more */
CPB_CALL cpb_status cpb_index_keys_of(const cpb_index *index, const uint64_t *ids, size_t count,
                                      uint64_t *offsets, char *text, size_t room, cpb_error *error);

/** Which rows a search may find. Set exactly one of `allow`, `allow_key`, `bitmap`, `ids` and `end`; all are borrowed for the
 *  call. */
typedef struct cpb_index_filter {
  size_t size; /* sizeof(cpb_index_filter) */

  /** Whether query number `query` may find the row of an id; called from any of the call's threads. If rows have codes,
   *  only for the few that could be answers; otherwise for all. It must not call functions of the index. */
  bool (*allow)(void *context, size_t query, uint64_t id);
  void *context;

  /** Bit id%64 of word id/64 says whether a row may be found; ids from `bits` on may not. The words of query i start at
   *  i*stride; stride 0: one bitmap for all queries. */
  const uint64_t *bitmap;
  size_t bits, stride;

  /** The ids that may be found, in any order; those that are not in the index are ignored. Query i has those from
   *  offsets[i] to offsets[i+1]; offsets NULL: the first `count` for all queries. */
  const uint64_t *ids;
  const size_t *offsets;
  size_t count;

  /** As `allow`, by the key of the row, which has no zero at its end. */
  bool (*allow_key)(void *context, size_t query, const char *key, size_t bytes);

  uint64_t first, end; /* ids from first to end-1 may be found */
} cpb_index_filter;

/** The k nearest rows for every query.
 *  queries   n >= 1 rows of any dtype
 *  filter    NULL: all rows
 *  hits      n x k, caller's; those of query i start at hits[i*k], nearest first, padded with the id UINT64_MAX and the
 *            value NaN
 *  counts    n, or NULL: k unless the filter leaves fewer rows
 *  EINVAL unless 1 <= k <= the number of rows of the index. EROW for a query with NaN or inf, or of length 0 under COSINE. */
CPB_CALL cpb_status cpb_index_search(const cpb_index *index, cpb_view queries, size_t k,
                                     const cpb_index_filter *filter, cpb_hit *hits, size_t *counts,
                                     const cpb_exec *exec, cpb_error *error);

/** EINVAL unless 1 <= k <= the number of rows; for callers that take memory for k hits per query first. */
CPB_CALL cpb_status cpb_index_check_k(const cpb_index *index, size_t k, cpb_error *error);

/** All rows within limits[i] of query i: |x-q| <= limit under L2, else value >= limit. `take` is called once for each
 *  query, in order, and must not call functions of the index. */
CPB_CALL cpb_status cpb_index_range(const cpb_index *index, cpb_view queries, const double *limits,
                                    const cpb_index_filter *filter, cpb_search_take *take, void *context,
                                    const cpb_exec *exec, cpb_error *error);

/** The rows with given ids, densely packed, in the index's dtype.
 *  rows   count x cols elements, caller's
 *  EINVAL: an id that is not in the index. */
CPB_CALL cpb_status cpb_index_rows(const cpb_index *index, const uint64_t *ids, size_t count, void *rows,
                                   cpb_error *error);

/** The present rows and their ids, block by block, in order of arrival.
 *  place   0 begins; each call leaves there where the next one goes on. EINVAL if the index was compacted in between
 *  room    the most rows that a call gives; *count is how many it gave, 0 after the last one
 *  ids     room numbers, caller's, or NULL
 *  rows    room x cols elements in the index's dtype, densely packed, caller's, or NULL */
CPB_CALL cpb_status cpb_index_read(const cpb_index *index, uint64_t *place, size_t room, uint64_t *ids,
                                   void *rows, size_t *count, cpb_error *error);

/** Contents and counters of an index. Set its size. */
typedef struct cpb_index_report {
  size_t size; /* sizeof(cpb_index_report) */
  size_t cols;
  cpb_dtype dtype;
  cpb_metric metric;
  uint64_t rows;       /* present */
  uint64_t removed;    /* that still occupy memory, until compaction */
  uint64_t next_id;    /* the next id for a row added without one */
  uint64_t code_bytes; /* size of the codes and their bounds, without ids */
  bool bytes;          /* false: rows are too short for codes, and are searched in floats */
  uint64_t queries;    /* answered */
  uint64_t measured;   /* rows that were read for them, to compute values in double */
  uint64_t by_floats;  /* queries answered in floats because codes could not separate their nearest rows */
  const char *const *columns; /* names of the columns, the index's; NULL: none */
  /** Bytes after the last record of the file that were ignored when it was opened, or removed if for writing: a write
   *  interrupted by a power failure, or damage. */
  uint64_t dropped;
  /** Directions of each level of the codes, beside the length of the rest; 0 after the last one, and if they are codes of all
   *  numbers. */
  size_t levels[CPB_INDEX_LEVELS];
  bool keys;     /* rows have text keys */
  bool writable; /* was opened for writing, or has no file */
  uint64_t file_bytes,
      log_bytes; /* of the file it was opened from, as far as it has been read, and of its log; 0: none */
} cpb_index_report;

/** Fills *report up to report->size, which the caller has set. */
CPB_API void cpb_index_describe(const cpb_index *index, cpb_index_report *report);

/** Writes rows, codes and ids to a file, atomically; for the format see docs/reference/index-format.md. The index remains in memory,
 *  or in the file it was opened from.
 *  path   NULL: for an index opened from a file, all changes so far are on disk when the call returns
 *  EIO: an index is open for writing from that file. */
CPB_CALL cpb_status cpb_index_save(cpb_index *index, const char *path, cpb_error *error);

/** Writes the index of all rows of a source to a file, as cpb_index_save would, with a block of rows in memory at a
 *  time. Ids are the numbers of the rows; dtype and names of columns are the source's. EROW: error->row counts from its
 *  first row. */
CPB_CALL cpb_status cpb_index_build(cpb_source *rows, cpb_metric metric, const char *path,
                                    const cpb_exec *exec, cpb_error *error);

/** Opens a file of cpb_index_save. Codes and rows stay in the file and are mapped: rows are read where bounds cannot
 *  decide on them. Only ids that do not rise are read when it is opened.
 *  writable   every change is appended to the file before its call returns; one writer at a time, while any number of
 *             readers see the state at the time they opened it, or last refreshed it. If the process ends, the state is that before or after
 *             a call; after a power failure, that of the last cpb_index_save or later. Rows added since the file was
 *             written or compacted are held in memory. After a fork only the parent can change the index. EIO for
 *             a change if the file was renamed, replaced or removed.
 *  The file must not be overwritten in place: access to pages that are then missing raises SIGBUS.
 *  EIO: another writer has it open; the message names the process, if the system tells. EFORMAT: it is not an index, has another version, or is damaged; the message names the
 *  bytes. */
CPB_CALL cpb_status cpb_index_open(const char *path, bool writable, cpb_index **index, cpb_error *error);

/** Takes over what a writer has committed to the file of an index that was opened read-only: new records of its log, or the
 *  file that has replaced it. Nothing happens to other indexes.
 *  changed   receives whether there was something new; NULL: not asked for
 *  EINVAL: the file was replaced by an index of other columns, type or metric. EIO: there is no file of this name.
 *  The index keeps its state after a failure. */
CPB_CALL cpb_status cpb_index_refresh(cpb_index *index, bool *changed, cpb_error *error);

/** Whether every search and read begins with cpb_index_refresh, at the price of one look at the file's name and size while nothing
 *  changes. EINVAL unless the index was opened read-only. */
CPB_CALL cpb_status cpb_index_follow(cpb_index *index, bool follow, cpb_error *error);

/** Frees the rows of an index, closes its file and releases its lock, after waiting for running calls; for callers who
 *  cannot know whether others still have the pointer. Every later call is EINVAL, except cpb_index_describe, which
 *  reports no rows, and cpb_index_free. Does not sync. */
CPB_CALL cpb_status cpb_index_close(cpb_index *index, cpb_error *error);

/** Verifies the checksums of the file that the index was opened from, by reading all of it; opening verifies the header,
 *  and takes the log up to the first record that is damaged or unfinished. An index in memory is always valid.
 *  EFORMAT: the file is damaged; the message names the bytes. cpb_index_save and cpb_index_compact verify them, too. */
CPB_CALL cpb_status cpb_index_check(const cpb_index *index, const cpb_exec *exec, cpb_error *error);

/** Rebuilds the index without the removed rows, and chooses the directions of codes again; ids are kept. The file of an index
 *  opened for writing is replaced atomically, and then contains all rows. Searches of other threads run meanwhile, and readers of
 *  the file keep the old one until they refresh. A change does the same after a quarter of the rows, and at least 1024, have been
 *  removed or replaced, or when a quarter of the file, and at least 1 MiB, is log; not if the index borrows its rows. */
CPB_CALL cpb_status cpb_index_compact(cpb_index *index, const cpb_exec *exec, cpb_error *error);

CPB_END
#endif

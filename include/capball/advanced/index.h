/* An index that stays: rows are kept with codes of one byte per number, and searched exactly.  T13
 *
 * What cpb_knn prepares for every call is kept here, so that one query costs one pass over the codes, a quarter of the
 * bytes of f32 rows. Answers are those of cpb_knn over the live rows, in values, ids and the order of ties, for every
 * instruction set and number of threads: codes only exclude rows that cannot be answers, and the others are measured
 * in double.
 *
 * Rows have ids of 64 bits: the caller's, or their numbers in order of arrival. Any number of threads may search while one
 * adds, removes or replaces: a search sees the state before or after such a call, never a part of it.
 *
 * Advanced: can change between releases. */
#ifndef CAPBALL_ADVANCED_INDEX_H
#define CAPBALL_ADVANCED_INDEX_H

#include <stdbool.h>

#include "capball/search.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cpb_index cpb_index;

/** What an index holds. Start from cpb_index_options_init. */
typedef struct cpb_index_options {
  size_t size;     /* sizeof(cpb_index_options) */
  size_t cols;     /* numbers of a row, at least 1 */
  cpb_dtype dtype; /* in which rows are kept: f32 (the default), f64, f16, u8 or i8; those added have it */
  cpb_metric metric;
} cpb_index_options;

CPB_API void cpb_index_options_init(cpb_index_options *options, size_t size);

/** An empty index in memory, which the caller frees. */
CPB_CALL cpb_status cpb_index_new(const cpb_index_options *options, cpb_index **index, cpb_error *error);
CPB_API void cpb_index_free(cpb_index *index);

/** Adds rows; all of them or, on failure, none.
 *  rows   n >= 0 rows of the index's columns and dtype, copied
 *  ids    n, none of which is in the index or twice; NULL: numbers that go on from the largest id, or from 0
 *  EROW names the first row with NaN or inf, or of length 0 under COSINE. EINVAL: an id that is taken. */
CPB_CALL cpb_status cpb_index_add(cpb_index *index, cpb_view rows, const uint64_t *ids, const cpb_exec *exec,
                                  cpb_error *error);

/** Removes the rows of some ids; all of them or none. EINVAL: an id that is not in the index, or twice. The memory
 *  is used again after cpb_index_compact. */
CPB_CALL cpb_status cpb_index_remove(cpb_index *index, const uint64_t *ids, size_t count, cpb_error *error);

/** Gives ids that are in the index other rows; all of them or none. As cpb_index_add and cpb_index_remove. */
CPB_CALL cpb_status cpb_index_replace(cpb_index *index, cpb_view rows, const uint64_t *ids,
                                      const cpb_exec *exec, cpb_error *error);

/** Which rows a search may find. Exactly one of `allow`, `bitmap` and `ids` is given; all are borrowed for the call. */
typedef struct cpb_index_filter {
  size_t size; /* sizeof(cpb_index_filter) */

  /** Whether query number `query` may find the row of an id; called from any of the call's threads, and for few rows
   *  only: those that could be answers. It must not call functions of the index. */
  bool (*allow)(void *context, size_t query, uint64_t id);
  void *context;

  /** Bit id%64 of word id/64 says whether a row may be found; ids of `bits` and beyond may not. The words of query i begin
   *  at i*stride; stride 0: one bitmap for all queries. */
  const uint64_t *bitmap;
  size_t bits, stride;

  /** The ids that may be found, in any order; those that are not in the index are ignored. Query i has those from
   *  offsets[i] to offsets[i+1]; offsets NULL: the first `count` for all queries. Each is measured: for more than some
   *  thousand ids a bitmap is quicker. */
  const uint64_t *ids;
  const size_t *offsets;
  size_t count;
} cpb_index_filter;

/** The k nearest rows for every query.
 *  queries   n >= 1 rows of any dtype
 *  filter    NULL: all rows
 *  hits      n x k, caller's; query i's are hits[i*k ..], nearest first. Places beyond counts[i] have the id UINT64_MAX
 *            and the value NaN
 *  counts    n, or NULL: k, fewer only where there are fewer rows
 *  EROW for a query with NaN or inf, or of length 0 under COSINE. */
CPB_CALL cpb_status cpb_index_search(const cpb_index *index, cpb_view queries, size_t k,
                                     const cpb_index_filter *filter, cpb_hit *hits, size_t *counts,
                                     const cpb_exec *exec, cpb_error *error);

/** All rows within limits[i] of query i: |x-q| <= limit under L2, else value >= limit. `take` is called once for each
 *  query, in order, and must not call functions of the index. */
CPB_CALL cpb_status cpb_index_range(const cpb_index *index, cpb_view queries, const double *limits,
                                    const cpb_index_filter *filter, cpb_search_take *take, void *context,
                                    const cpb_exec *exec, cpb_error *error);

/** The rows of some ids, packed, in the index's dtype.
 *  rows   count x cols elements, caller's
 *  EINVAL: an id that is not in the index. */
CPB_CALL cpb_status cpb_index_rows(const cpb_index *index, const uint64_t *ids, size_t count, void *rows,
                                   cpb_error *error);

/** What an index holds and has done. Set its size. */
typedef struct cpb_index_report {
  size_t size; /* sizeof(cpb_index_report) */
  size_t cols;
  cpb_dtype dtype;
  cpb_metric metric;
  uint64_t rows;       /* that can be found */
  uint64_t removed;    /* that still take memory, until cpb_index_compact */
  uint64_t next_id;    /* the first that would be given to a row without one */
  uint64_t code_bytes; /* held for codes and what belongs to them, ids aside */
  bool bytes;          /* false: rows are too short for codes, and searched in floats */
  uint64_t queries;    /* answered */
  uint64_t measured;   /* rows measured in double for them */
  uint64_t by_floats;  /* queries whose nearest rows bytes could not tell apart: answered in floats */
} cpb_index_report;

/** Fills *report, whose size is set. */
CPB_API void cpb_index_describe(const cpb_index *index, cpb_index_report *report);

/** Writes the rows, codes and ids to a file, which appears whole or not at all; docs/index-format.md. The index goes on
 *  in memory, or in the file that it was opened from.
 *  path   NULL: of an index that was opened from a file, all changes so far are on the disk when the call returns */
CPB_CALL cpb_status cpb_index_save(cpb_index *index, const char *path, cpb_error *error);

/** Writes the index of all rows of a source to a file, as cpb_index_save would, with a block of rows in memory at a
 *  time. Ids are the numbers of the rows, and the dtype is the source's. EROW: error->row counts from its first row. */
CPB_CALL cpb_status cpb_index_build(cpb_source *rows, cpb_metric metric, const char *path,
                                    const cpb_exec *exec, cpb_error *error);

/** Opens a file of cpb_index_save. Codes and rows stay in the file and are mapped: rows are read where bounds cannot
 *  decide on them. A file with the ids of its rows' numbers is open at once, others are read for their ids.
 *  writable   every change is appended to the file before its call returns; one writer at a time, while any number of
 *             readers see the state that they found. A process that ends in any way leaves the state before or after
 *             each call, a loss of power that of cpb_index_save or later. What was added since the file was written or
 *             compacted is held in memory.
 *  EIO: another writer has it open. EFORMAT: it is no index, of another version, or damaged. */
CPB_CALL cpb_status cpb_index_open(const char *path, bool writable, cpb_index **index, cpb_error *error);

/** Rebuilds the index without the rows that were removed; ids stay. The file of an index that was opened for writing is
 *  replaced as a whole, and holds all rows then. */
CPB_CALL cpb_status cpb_index_compact(cpb_index *index, const cpb_exec *exec, cpb_error *error);

#ifdef __cplusplus
}
#endif
#endif

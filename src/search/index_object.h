/* An index: blocks of rows with their codes, ids, and the memory that searches reuse. */
#ifndef CPB_SEARCH_INDEX_OBJECT_H
#define CPB_SEARCH_INDEX_OBJECT_H

#include <stdatomic.h>

#include "base/system_thread.h"
#include "capball/index.h"
#include "search/index_ids.h"
#include "search/index_keys.h"
#include "search/byte_filter.h"
#include "search/t15_fold.h"

struct cpb_index_change;
struct cpb_index_file;

enum { CPB_INDEX_BLOCK = 1024, CPB_INDEX_PANEL = CPB_BYTES_COLS };

/* Rows in order of arrival, and their codes in panels of CPB_INDEX_PANEL rows of similar reach: position `at` is that of
 * row row_of[at] of the block. Word w of position j of a panel is at codes + panel*words*256 + (w*64 + j)*4, each byte
 * is code + 128: the layout of the columns of the loop for bytes. */
typedef struct cpb_index_block {
  size_t count;
  bool mapped;         /* the arrays below are those of a file */
  void *memory;        /* that this and the following blocks share; NULL: none begins here */
  size_t memory_bytes; /* mapped anonymously; 0: from malloc */
  char *
      rows; /* in `room`, in a file or, of a full block, where the caller has them; NULL: the codes are rows */
  char *room;     /* for rows that are copied; memory that is not used is never touched */
  uint8_t *codes; /* this and the following are NULL in an index without codes */
  int32_t *term;  /* of a position, see cpb_codes_row */
  uint16_t *row_of;
  cpb_byte_filter_run *panels;
  char *
      records; /* of the further levels of a fold, level by level: that of a position at position * its size */
} cpb_index_block;

/* Memory that searches reuse. */
typedef struct cpb_index_scratch {
  struct cpb_index_scratch *next;
  size_t room;
  char *memory;
} cpb_index_scratch;

/* Shared by threads, and preserved by compaction. */
typedef struct cpb_index_shared {
  cpb_mutex
      writer_gate; /* held while waiting for the lock, so that a writer waits for running searches only */
  cpb_shared_lock lock;  /* searches share it */
  cpb_mutex change_lock; /* held by a change, and by all of a compaction, which mostly shares the lock */
  cpb_mutex scratch_lock;
  cpb_index_scratch *scratch;
  _Atomic uint64_t queries, measured, by_floats;
  atomic_bool follows; /* searches see what the writer of the file has committed */
  size_t pause;        /* changes until compaction is tried again, after a failure */
  uint64_t generation; /* how often rows got other slots; changes under the lock */
} cpb_index_shared;

/* The operations of the file of an index: the object calls its file only through these. */
typedef struct cpb_index_file_calls {
  /* Appends a change to the log; on failure the log is unchanged. */
  cpb_status (*log)(cpb_index *index, const struct cpb_index_change *change, cpb_error *error);
  /* EINVAL if the file was opened read-only. */
  cpb_status (*check_writable)(const cpb_index *index, cpb_error *error);
  /* Replaces the file by a new one, and opens that as *fresh, which is to replace the index. */
  cpb_status (*rewrite)(cpb_index *index, cpb_index **fresh, const cpb_exec *exec, cpb_error *error);
  /* Whether what was removed or logged is a quarter of the file. */
  bool (*is_fragmented)(const cpb_index *index);
  /* Whether there is something that the index does not have: a longer log, or another file of this name. */
  bool (*has_news)(const struct cpb_index_file *file);
  /* Takes over the news, with the index locked: from the log, or as *fresh, which is to replace the index. */
  cpb_status (*refresh)(cpb_index *index, cpb_index **fresh, cpb_error *error);
  /* The members of a report that are about the file. */
  void (*describe)(const struct cpb_index_file *file, cpb_index_report *report);
  /* Copies mapped bytes by reading the file; false if that fails. */
  bool (*read)(const struct cpb_index_file *file, const void *mapped, void *bytes, size_t count);
  /* Closes and unlocks. */
  void (*close)(struct cpb_index_file *file);
} cpb_index_file_calls;

struct cpb_index {
  cpb_index_options options;
  size_t row_bytes;
  bool bytes; /* rows have codes */
  cpb_index_shared *shared;

  /* Everything from here on changes, under the lock. */
  cpb_float_filter
      float_filter; /* chosen from a sample of the rows, as are the fold and the centre of the codes */
  cpb_fold *fold;   /* NULL: codes are those of the rows, else of folded rows */
  cpb_byte_filter byte_filter;
  double *center;
  float *center_f32;
  size_t prepared; /* number of rows when they were chosen */

  cpb_index_block *blocks;
  size_t block_count, block_made, block_room; /* in use; with memory; described */
  size_t slots; /* rows in all blocks: row i is row i % CPB_INDEX_BLOCK of block i / CPB_INDEX_BLOCK */
  size_t removed;
  uint64_t *removed_bits; /* a bit for each slot of the blocks allocated for */
  uint64_t next_id;
  cpb_id_map ids;
  cpb_key_map keys;        /* if options.keys */
  struct cpb_coder *coder; /* cached for the next call that adds rows */

  bool closed;
  uint64_t dropped;            /* bytes of the file that were no record, when it was opened */
  struct cpb_index_file *file; /* it was opened from; NULL: it exists in memory only */
  const cpb_index_file_calls *file_calls;
};

/* EINVAL after cpb_index_close; call it with the lock held. */
cpb_status cpb_index_check_open(const cpb_index *index, cpb_error *error);

void cpb_index_lock_shared(const cpb_index *index);
/* The same for a search or a read: EINVAL if the index is closed, and an index that follows its file is brought up to date
 * first. The lock is held after a failure, too. */
cpb_status cpb_index_lock_current(const cpb_index *index, cpb_error *error);
void cpb_index_lock_alone(const cpb_index *index);
void cpb_index_unlock(const cpb_index *index);

static inline bool cpb_index_is_removed(const cpb_index *index, size_t slot) {
  return index->removed_bits[slot / 64] >> slot % 64 & 1;
}

static inline cpb_view cpb_block_rows(const cpb_index *index, const cpb_index_block *block) {
  return cpb_rows(block->rows, index->options.dtype, block->count, index->options.cols);
}

/* The key of an id of an index that has keys, with the index locked; empty for an id that is not in it. */
const char *cpb_index_key_of(const cpb_index *index, uint64_t id, size_t *bytes);

/* The levels that were asked for; none: they are chosen, or there is no fold. */
static inline cpb_fold_levels cpb_index_levels(const cpb_index *index) {
  cpb_fold_levels levels = {{0}};
  for (size_t i = 0; i < CPB_INDEX_LEVELS && index->options.levels[0] != CPB_INDEX_UNFOLDED; i++)
    levels.directions[i] = index->options.levels[i];
  return levels;
}

/* Pinned: stored in files. */
typedef enum cpb_change_kind {
  CPB_CHANGE_ADD = 1,
  CPB_CHANGE_REMOVE = 2,
  CPB_CHANGE_REPLACE = 3,
  CPB_CHANGE_PUT = 4, /* adds or replaces */
} cpb_change_kind;

typedef struct cpb_index_change {
  cpb_change_kind kind;
  size_t count;
  const uint64_t *ids;        /* NULL: an ADD of rows that get the next ids */
  cpb_view rows;              /* none for a REMOVE */
  const cpb_index_keys *keys; /* of an ADD or PUT; their ids follow from them */
} cpb_index_change;

/* Chooses centres and fold of an index without rows for the live rows of another one, of which there are some; false without
 * memory. */
bool cpb_index_choose_for(const cpb_index *from, cpb_index *to);

/* Applies a change whose rows fit the index, with the index locked: all of it or, on failure, nothing. */
cpb_status cpb_index_apply(cpb_index *index, const cpb_index_change *change, const cpb_exec *exec,
                           cpb_error *error);

#endif

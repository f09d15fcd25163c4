/* The blocks of an index: rows and memory for their codes. */
#ifndef CPB_SEARCH_INDEX_BLOCKS_H
#define CPB_SEARCH_INDEX_BLOCKS_H

#include "search/index_object.h"
#include "search/t15_record.h"

/* Bytes of a block's rows, of its codes with their bounds, and of the records of further levels; whole cache lines, the same in
 * memory and in files. */
size_t cpb_block_row_bytes(const cpb_index *index);
size_t cpb_block_code_bytes(const cpb_index *index);
size_t cpb_block_record_bytes(const cpb_index *index);

/* The record of a position at a level of the fold, >= 1. */
char *cpb_block_record(const cpb_index *index, const cpb_index_block *block, size_t level, size_t at);

/* Sets the pointers of a block; codes may be NULL in an index without codes. */
void cpb_block_place(const cpb_index *index, cpb_index_block *block, char *rows, char *codes, char *records);

/* Allocates an empty block; false if out of memory. */
bool cpb_block_new(const cpb_index *index, cpb_index_block *block);
/* One without rows, for codes of all numbers. */
bool cpb_block_new_codes(const cpb_index *index, cpb_index_block *block);
void cpb_block_free(cpb_index_block *block);

/* Copies a mapped block to memory; false if out of memory. */
bool cpb_block_copy_to_memory(const cpb_index *index, cpb_index_block *block);

/* Moves all blocks to memory where codes of rows with this fold, or NULL, have room; codes are then to be computed again, and the
 * rows of every block are stored. False if out of memory: nothing has changed. */
bool cpb_blocks_place_again(cpb_index *index, const cpb_fold *fold);

/* Allocates the descriptions of this many slots; false if out of memory. */
bool cpb_blocks_reserve(cpb_index *index, size_t slots);

/* Appends `count` rows whose contents are to be written; false if out of memory, and nothing has changed. */
bool cpb_blocks_extend(cpb_index *index, size_t count);

/* Removes the rows from slot `slots` on. */
void cpb_blocks_drop(cpb_index *index, size_t slots);

/* Frees the ids too. */
void cpb_blocks_free(cpb_index *index);

typedef struct cpb_row_buffer {
  _Alignas(64) char bytes[CPB_GRID_MOST];
} cpb_row_buffer;

/* Prefetches a row, unless it is in a file. */
static inline void cpb_slot_fetch(const cpb_index *index, size_t slot) {
  const cpb_index_block *block = &index->blocks[slot / CPB_INDEX_BLOCK];
  if (!block->mapped && block->rows != NULL)
    cpb_fetch_row(cpb_block_rows(index, block), slot % CPB_INDEX_BLOCK);
}

/* One row: in its block or, if only its codes are stored, copied to the buffer. */
const char *cpb_slot_row(const cpb_index *index, size_t slot, cpb_row_buffer *buffer);

/* The same, for few rows: short ones of a mapped block are read from the file, because a page fault would make their
 * neighbours resident too. NULL if that fails. */
const char *cpb_slot_read(const cpb_index *index, size_t slot, cpb_row_buffer *buffer);

#endif

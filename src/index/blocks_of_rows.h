/* The blocks of an index: rows and room for their codes. */
#ifndef CPB_INDEX_BLOCKS_OF_ROWS_H
#define CPB_INDEX_BLOCKS_OF_ROWS_H

#include "index/index_object.h"

/* Bytes of a block's rows, and of its codes with all that belongs to them; whole lines, the same in memory and in files. */
size_t cpb_block_row_bytes(const cpb_index *index);
size_t cpb_block_code_bytes(const cpb_index *index);

/* Where the parts of a block are; codes may be NULL in an index without them. */
void cpb_block_place(const cpb_index *index, cpb_index_block *block, char *rows, char *codes);

/* An empty block in memory of its own; false without memory. */
bool cpb_block_new(const cpb_index *index, cpb_index_block *block);

/* Gives a block that is mapped memory of its own; false without memory. */
bool cpb_block_own(const cpb_index *index, cpb_index_block *block);

/* Room for the descriptions of so many slots; false without memory. */
bool cpb_blocks_reserve(cpb_index *index, size_t slots);

/* Copies rows after the last one; false without memory, when some may have been copied. */
bool cpb_blocks_append(cpb_index *index, cpb_view rows);

/* Forgets the rows from slot `slots` on. */
void cpb_blocks_drop(cpb_index *index, size_t slots);

/* And the ids. */
void cpb_blocks_free(cpb_index *index);

static inline const char *cpb_slot_row(const cpb_index *index, size_t slot) {
  return index->blocks[slot / CPB_INDEX_BLOCK].rows + slot % CPB_INDEX_BLOCK * index->row_bytes;
}

#endif

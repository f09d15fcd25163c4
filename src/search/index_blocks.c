#define _DEFAULT_SOURCE
#include "search/index_blocks.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/system.h"
#include "search/index_codes.h"

enum { BLOCK = CPB_INDEX_BLOCK, PANELS = CPB_INDEX_BLOCK / CPB_INDEX_PANEL };

static size_t whole_lines(size_t bytes) { return (bytes + 63) / 64 * 64; }

size_t cpb_block_row_bytes(const cpb_index *index) { return whole_lines(BLOCK * index->row_bytes); }

static size_t columns_of(const cpb_index *index, const cpb_fold *fold) {
  return fold != NULL ? fold->columns : index->options.cols;
}

/* Where the descriptors of panels are, behind the codes. Those of folds are read in whole words only. */
static size_t panels_at(const cpb_index *index, const cpb_fold *fold) {
  size_t words = cpb_bytes_words(columns_of(index, fold));
  return fold != NULL ? BLOCK * words * CPB_BYTES_WORD : cpb_codes_bytes(words);
}

/* With a fold, or of all numbers. */
static size_t code_bytes_of(const cpb_index *index, const cpb_fold *fold) {
  if (!index->bytes) return 0;
  return whole_lines(panels_at(index, fold) + PANELS * sizeof(cpb_byte_filter_run) +
                     BLOCK * (sizeof(int32_t) + sizeof(uint16_t)));
}

static size_t record_bytes_of(const cpb_index *index, const cpb_fold *fold) {
  size_t bytes = 0;
  for (size_t level = 1; index->bytes && fold != NULL && level < fold->levels; level++)
    bytes += cpb_record_bytes(fold, level);
  return BLOCK * bytes;
}

size_t cpb_block_code_bytes(const cpb_index *index) { return code_bytes_of(index, index->fold); }

size_t cpb_block_record_bytes(const cpb_index *index) { return record_bytes_of(index, index->fold); }

char *cpb_block_record(const cpb_index *index, const cpb_index_block *block, size_t level, size_t at) {
  char *records = block->records;
  for (size_t before = 1; before < level; before++) records += BLOCK * cpb_record_bytes(index->fold, before);
  return records + at * cpb_record_bytes(index->fold, level);
}

static void place_block(const cpb_index *index, const cpb_fold *fold, cpb_index_block *block, char *rows,
                        char *codes, char *records) {
  block->rows = block->room = rows;
  if (!index->bytes) return;
  char *at = codes + panels_at(index, fold);
  block->codes = (uint8_t *)codes;
  block->panels = (cpb_byte_filter_run *)(void *)at;
  block->term = (int32_t *)(void *)(at + PANELS * sizeof *block->panels);
  block->row_of = (uint16_t *)(void *)(block->term + BLOCK);
  block->records = records;
}

void cpb_block_place(const cpb_index *index, cpb_index_block *block, char *rows, char *codes, char *records) {
  place_block(index, index->fold, block, rows, codes, records);
}

/* ---- memory ---- */

/* Scans of the codes and the first write of rows are faster with large pages. The system may take milliseconds to find one,
 * too long for a call that adds a few rows: memory of less than MUCH has none. */
enum { PAGE = 2 << 20, MUCH = 8 << 20, SHARING = 512 /* blocks that share memory, at most */ };

/* Zeroed memory for blocks [0, count): their codes, so that these follow each other, of rows with this fold; their records;
 * their rows. */
static bool make_blocks(const cpb_index *index, const cpb_fold *fold, cpb_index_block *blocks, size_t count) {
  size_t rows = cpb_block_row_bytes(index), codes = code_bytes_of(index, fold),
         records = record_bytes_of(index, fold);
  size_t bytes = count * (rows + codes + records),
         mapped = bytes >= PAGE ? (bytes + PAGE - 1) / PAGE * PAGE : 0;
  char *memory = mapped > 0 ? cpb_sys_pages(mapped, mapped >= MUCH) : cpb_zero_lines(bytes, 1);
  if (memory == NULL) return false;
  for (size_t i = 0; i < count; i++) {
    blocks[i] = (cpb_index_block){.count = 0};
    place_block(index, fold, &blocks[i], memory + count * (codes + records) + i * rows, memory + i * codes,
                memory + count * codes + i * records);
  }
  blocks[0].memory = memory;
  blocks[0].memory_bytes = mapped;
  return true;
}

bool cpb_block_new(const cpb_index *index, cpb_index_block *block) {
  return make_blocks(index, index->fold, block, 1);
}

bool cpb_block_new_codes(const cpb_index *index, cpb_index_block *block) {
  char *codes = cpb_zero_lines(code_bytes_of(index, NULL), 1);
  *block = (cpb_index_block){.memory = codes};
  if (codes != NULL) place_block(index, NULL, block, NULL, codes, NULL);
  return codes != NULL;
}

void cpb_block_free(cpb_index_block *block) {
  if (block->memory_bytes > 0)
    cpb_sys_pages_free(block->memory, block->memory_bytes);
  else
    free(block->memory);
  block->memory = NULL;
}

bool cpb_block_copy_to_memory(const cpb_index *index, cpb_index_block *block) {
  cpb_index_block own;
  if (!block->mapped) return true;
  if (!cpb_block_new(index, &own)) return false;
  own.count = block->count;
  memcpy(own.rows, block->rows, block->count * index->row_bytes);
  if (index->bytes) memcpy(own.codes, block->codes, cpb_block_code_bytes(index));
  if (cpb_block_record_bytes(index) > 0) memcpy(own.records, block->records, cpb_block_record_bytes(index));
  *block = own;
  return true;
}

bool cpb_blocks_reserve(cpb_index *index, size_t slots) {
  size_t wanted = (slots + BLOCK - 1) / BLOCK;
  if (wanted <= index->block_room) return true;
  size_t room = wanted + wanted / 2 + 1, words = BLOCK / 64;
  cpb_index_block *blocks = realloc(index->blocks, room * sizeof *blocks);
  if (blocks != NULL) index->blocks = blocks;
  uint64_t *removed_bits =
      blocks == NULL ? NULL : realloc(index->removed_bits, room * words * sizeof *removed_bits);
  if (removed_bits == NULL) return false;
  memset(removed_bits + index->block_room * words, 0,
         (room - index->block_room) * words * sizeof *removed_bits);
  index->removed_bits = removed_bits;
  index->block_room = room;
  return true;
}

/* Codes plus 128 are u8 rows themselves; rows of bytes have the positions of their numbers. */
static const char *decode(const cpb_index *index, const cpb_index_block *block, size_t row, char *to) {
  size_t words = index->byte_filter.words, panel = row / CPB_INDEX_PANEL * CPB_INDEX_PANEL;
  uint32_t word, flipped = index->options.dtype == CPB_I8 ? 0x80808080 : 0;
  const uint8_t *from = block->codes + (panel * words + row % CPB_INDEX_PANEL) * CPB_BYTES_WORD;
  for (size_t i = 0; i < words; i++) {
    memcpy(&word, from + i * CPB_INDEX_PANEL * CPB_BYTES_WORD, sizeof word);
    word ^= flipped;
    memcpy(to + i * sizeof word, &word, sizeof word);
  }
  return to;
}

const char *cpb_slot_row(const cpb_index *index, size_t slot, cpb_row_buffer *buffer) {
  const cpb_index_block *block = &index->blocks[slot / BLOCK];
  if (block->rows == NULL) return decode(index, block, slot % BLOCK, buffer->bytes);
  return block->rows + slot % BLOCK * index->row_bytes;
}

const char *cpb_slot_read(const cpb_index *index, size_t slot, cpb_row_buffer *buffer) {
  const char *row = cpb_slot_row(index, slot, buffer);
  if (!index->blocks[slot / BLOCK].mapped || index->row_bytes > sizeof buffer->bytes) return row;
  return index->file_calls->read(index->file, row, buffer->bytes, index->row_bytes) ? buffer->bytes : NULL;
}

/* Many rows at once get large pages; for few rows at a time an eighth of the memory may be unused. */
static bool make_more(cpb_index *index, size_t blocks) {
  while (index->block_made < blocks) {
    size_t wanted = blocks - index->block_made, ahead = index->block_made / 8;
    size_t count = wanted > ahead ? wanted : ahead, room = index->block_room - index->block_made;
    count = count < SHARING ? count : SHARING;
    count = count < room ? count : room;
    if (!make_blocks(index, index->fold, &index->blocks[index->block_made], count)) return false;
    index->block_made += count;
  }
  return true;
}

bool cpb_blocks_extend(cpb_index *index, size_t count) {
  size_t slots = index->slots + count, blocks = (slots + BLOCK - 1) / BLOCK;
  if (!cpb_blocks_reserve(index, slots) || !make_more(index, blocks)) return false;
  for (size_t i = index->block_count; i < blocks; i++) index->blocks[i].rows = index->blocks[i].room;
  for (size_t i = index->slots / BLOCK; i < blocks; i++)
    index->blocks[i].count = slots - i * BLOCK < BLOCK ? slots - i * BLOCK : BLOCK;
  index->slots = slots;
  index->block_count = blocks;
  return true;
}

/* Memory is freed from the end on, as far as blocks that remain do not share it. */
static void unmake(cpb_index *index, size_t kept) {
  for (size_t i = index->block_made; i-- > kept;)
    if (index->blocks[i].memory != NULL) {
      cpb_block_free(&index->blocks[i]);
      index->block_made = i;
    }
}

static void copy_block(const cpb_index *index, size_t number, cpb_index_block *to) {
  const cpb_index_block *from = &index->blocks[number];
  cpb_row_buffer buffer;
  to->count = from->count;
  if (from->rows != NULL && from->rows != from->room && index->options.borrow) {
    to->rows = from->rows;
    return;
  }
  for (size_t i = 0; i < from->count; i++)
    memcpy(to->rows + i * index->row_bytes, cpb_slot_row(index, number * BLOCK + i, &buffer),
           index->row_bytes);
}

bool cpb_blocks_place_again(cpb_index *index, const cpb_fold *fold) {
  size_t count = index->block_count;
  cpb_index_block *fresh = calloc(count + 1, sizeof *fresh);
  if (fresh == NULL || (count > 0 && !make_blocks(index, fold, fresh, count))) {
    free(fresh);
    return false;
  }
  for (size_t i = 0; i < count; i++) copy_block(index, i, &fresh[i]);
  unmake(index, 0);
  if (count > 0) memcpy(index->blocks, fresh, count * sizeof *fresh);
  index->block_made = count;
  free(fresh);
  return true;
}

void cpb_blocks_drop(cpb_index *index, size_t slots) {
  size_t kept = (slots + BLOCK - 1) / BLOCK;
  if (slots % BLOCK != 0) index->blocks[kept - 1].count = slots % BLOCK;
  index->slots = slots;
  index->block_count = kept;
  unmake(index, kept);
}

void cpb_blocks_free(cpb_index *index) {
  unmake(index, 0);
  free(index->blocks);
  free(index->removed_bits);
  cpb_id_map_free(&index->ids);
  cpb_key_map_free(&index->keys);
}

#define _POSIX_C_SOURCE 200809L
#include "index/blocks_of_rows.h"

#include <stdlib.h>
#include <string.h>

#include "core/zero_lines.h"
#include "index/codes.h"

enum { BLOCK = CPB_INDEX_BLOCK, PANELS = CPB_INDEX_BLOCK / CPB_INDEX_PANEL };

static size_t whole_lines(size_t bytes) { return (bytes + 63) / 64 * 64; }

size_t cpb_block_row_bytes(const cpb_index *index) { return whole_lines(BLOCK * index->row_bytes); }

size_t cpb_block_code_bytes(const cpb_index *index) {
  if (!index->bytes) return 0;
  return whole_lines(cpb_codes_bytes(cpb_bytes_words(index->options.cols)) + PANELS * sizeof(cpb_sieve_run) +
                     BLOCK * (sizeof(int32_t) + sizeof(uint16_t)));
}

void cpb_block_place(const cpb_index *index, cpb_index_block *block, char *rows, char *codes) {
  block->rows = rows;
  if (!index->bytes) return;
  char *at = codes + cpb_codes_bytes(cpb_bytes_words(index->options.cols));
  block->codes = (uint8_t *)codes;
  block->panels = (cpb_sieve_run *)(void *)at;
  block->term = (int32_t *)(void *)(at + PANELS * sizeof *block->panels);
  block->row_of = (uint16_t *)(void *)(block->term + BLOCK);
}

bool cpb_block_new(const cpb_index *index, cpb_index_block *block) {
  size_t rows = cpb_block_row_bytes(index);
  char *memory = cpb_zero_lines(rows + cpb_block_code_bytes(index), 1);
  if (memory == NULL) return false;
  *block = (cpb_index_block){.memory = memory};
  cpb_block_place(index, block, memory, memory + rows);
  return true;
}

bool cpb_block_own(const cpb_index *index, cpb_index_block *block) {
  cpb_index_block own;
  if (block->memory != NULL) return true;
  if (!cpb_block_new(index, &own)) return false;
  own.count = block->count;
  memcpy(own.rows, block->rows, block->count * index->row_bytes);
  if (index->bytes) memcpy(own.codes, block->codes, cpb_block_code_bytes(index));
  *block = own;
  return true;
}

bool cpb_blocks_reserve(cpb_index *index, size_t slots) {
  size_t wanted = (slots + BLOCK - 1) / BLOCK;
  if (wanted <= index->block_room) return true;
  size_t room = wanted + wanted / 2 + 1, words = BLOCK / 64;
  cpb_index_block *blocks = realloc(index->blocks, room * sizeof *blocks);
  if (blocks != NULL) index->blocks = blocks;
  uint64_t *gone = blocks == NULL ? NULL : realloc(index->gone, room * words * sizeof *gone);
  if (gone == NULL) return false;
  memset(gone + index->block_room * words, 0, (room - index->block_room) * words * sizeof *gone);
  index->gone = gone;
  index->block_room = room;
  return true;
}

bool cpb_blocks_append(cpb_index *index, cpb_view rows) {
  size_t element = cpb_dtype_size(rows.dtype);
  if (!cpb_blocks_reserve(index, index->slots + rows.rows)) return false;
  for (size_t i = 0; i < rows.rows; i++) {
    if (index->slots == index->block_count * BLOCK) {
      if (!cpb_block_new(index, &index->blocks[index->block_count])) return false;
      index->block_count++;
    }
    cpb_index_block *block = &index->blocks[index->slots++ / BLOCK];
    memcpy(block->rows + block->count++ * index->row_bytes,
           (const char *)rows.data + i * rows.stride * element, index->row_bytes);
  }
  return true;
}

void cpb_blocks_drop(cpb_index *index, size_t slots) {
  size_t kept = (slots + BLOCK - 1) / BLOCK;
  while (index->block_count > kept) free(index->blocks[--index->block_count].memory);
  if (slots % BLOCK != 0) index->blocks[kept - 1].count = slots % BLOCK;
  index->slots = slots;
}

void cpb_blocks_free(cpb_index *index) {
  for (size_t i = 0; i < index->block_count; i++) free(index->blocks[i].memory);
  free(index->blocks);
  free(index->gone);
  cpb_id_map_free(&index->ids);
}

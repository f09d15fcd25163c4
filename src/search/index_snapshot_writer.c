#define _DEFAULT_SOURCE
#include "search/index_snapshot_writer.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/state_bytes.h"
#include "search/index_blocks.h"
#include "search/index_file.h"
#include "files/file_fail.h"
#include "base/system_file.h"
#include "base/blocks.h"

enum { BLOCK = CPB_INDEX_BLOCK };

static cpb_status keep_own(cpb_whole *file, int own, cpb_error *error) {
  file->kept = cpb_sys_duplicate(own);
  if (file->kept >= 0 && cpb_sys_facts_of(file->kept, &file->seen)) return CPB_OK;
  return cpb_file_fail_errno(error, file->path, "look at");
}

cpb_status cpb_snapshot_open(cpb_snapshot_writer *w, const char *path, int own, cpb_error *error) {
  cpb_status status = cpb_index_check_machine(path, error);
  cpb_whole_look(path, &w->file);
  if (status == CPB_OK && w->file.stream)
    status = cpb_file_fail(error, CPB_WHY_CALL_ORDER, path, "an index can only be written to a regular file");
  if (status == CPB_OK) status = cpb_whole_open(path, &w->file, error);
  if (status != CPB_OK) return status;
  return own >= 0 ? keep_own(&w->file, own, error) : cpb_whole_keep(&w->file, error);
}

void cpb_snapshot_close(cpb_snapshot_writer *w) {
  cpb_whole_close(&w->file);
  cpb_coder_free(w->coder);
  cpb_block_free(&w->block);
  free(w->sums);
}

/* ---- checksums ---- */

static bool make_room(cpb_snapshot_writer *w, size_t parts) {
  if (parts <= w->sums_room) return true;
  cpb_page_sum *sums = realloc(w->sums, 2 * parts * sizeof *sums);
  if (sums == NULL) return false;
  w->sums = sums;
  w->sums_room = 2 * parts;
  return true;
}

/* Read back while it is cached; the file may end before the padding of the part. */
static cpb_status sum_part(cpb_snapshot_writer *w, size_t part, cpb_error *error) {
  cpb_file_part of = cpb_index_layout_part(w->index, &w->l, part);
  if (!make_room(w, part + 1)) return cpb_fail_memory(error, "%zu checksums", part + 1);
  cpb_file_facts seen;
  cpb_status status = CPB_OK;
  if (cpb_sys_facts_of(w->file.fd, &seen) && seen.size < of.end)
    status = cpb_whole_resize(&w->file, of.end, error);
  return status == CPB_OK ? cpb_page_sum_of(w->file.fd, w->file.path, of, &w->sums[part], error) : status;
}

static cpb_status write_block(cpb_snapshot_writer *w, const cpb_index_block *block, cpb_error *error) {
  size_t number = w->blocks++;
  cpb_status status = cpb_whole_write_at(&w->file, cpb_index_layout_rows(w->index, &w->l, number),
                                         block->rows, block->count * w->index->row_bytes, error);
  if (status == CPB_OK && w->index->bytes)
    status = cpb_whole_write_at(&w->file, cpb_index_layout_codes(w->index, &w->l, number), block->codes,
                                cpb_block_code_bytes(w->index), error);
  if (status == CPB_OK && cpb_block_record_bytes(w->index) > 0)
    status = cpb_whole_write_at(&w->file, cpb_index_layout_records(w->index, &w->l, number), block->records,
                                cpb_block_record_bytes(w->index), error);
  if (status != CPB_OK || w->blocks % CPB_SEGMENT != 0) return status;
  return sum_part(w, number / CPB_SEGMENT, error);
}

cpb_status cpb_snapshot_commit(cpb_snapshot_writer *w, cpb_error *error) {
  size_t segments = cpb_index_layout_segments(&w->l);
  cpb_status status = cpb_whole_resize(&w->file, w->l.log_at, error);
  for (size_t part = w->blocks / CPB_SEGMENT; status == CPB_OK && part <= segments; part++)
    status = sum_part(w, part, error);
  size_t bytes = (segments + 1) * sizeof *w->sums;
  if (status == CPB_OK) status = cpb_whole_write_at(&w->file, w->l.sums_at, w->sums, bytes, error);
  if (status != CPB_OK) return status;
  w->l.sums_checksum = cpb_checksum(w->sums, bytes);
  status = cpb_head_write(w->index, &w->l, &w->file, error);
  return status == CPB_OK ? cpb_whole_commit(&w->file, error) : status;
}

/* ---- rows ---- */

cpb_status cpb_snapshot_begin_rows(cpb_snapshot_writer *w, cpb_error *error) {
  w->coder = w->index->bytes ? cpb_coder_new(w->index) : NULL;
  if ((w->index->bytes && w->coder == NULL) || !cpb_block_new(w->index, &w->block))
    return cpb_fail_memory(error, "a block of rows");
  return CPB_OK;
}

static cpb_status write_collected(cpb_snapshot_writer *w, cpb_error *error) {
  size_t row;
  int fault = cpb_coder_run(w->coder, w->index, &w->block, &(cpb_rows_copy){0}, 0, &row);
  if (fault != 0) return cpb_fault_report(w->blocks * BLOCK + row, fault, "rows", error);
  cpb_status status = write_block(w, &w->block, error);
  w->block.count = 0;
  return status;
}

cpb_status cpb_snapshot_row(cpb_snapshot_writer *w, const void *row, cpb_error *error) {
  memcpy(w->block.rows + w->block.count++ * w->index->row_bytes, row, w->index->row_bytes);
  return w->block.count == BLOCK ? write_collected(w, error) : CPB_OK;
}

cpb_status cpb_snapshot_end_rows(cpb_snapshot_writer *w, cpb_error *error) {
  return w->block.count > 0 ? write_collected(w, error) : CPB_OK;
}

/* ---- from an index ---- */

/* The live rows of an index, whose codes are computed again: removed rows leave no gaps, or w->index has other centres. */
static cpb_status write_live(cpb_snapshot_writer *w, const cpb_index *index, cpb_error *error) {
  cpb_row_buffer buffer;
  cpb_status status = cpb_snapshot_begin_rows(w, error);
  for (size_t slot = 0; status == CPB_OK && slot < index->slots; slot++)
    if (!cpb_index_is_removed(index, slot))
      status = cpb_snapshot_row(w, cpb_slot_row(index, slot, &buffer), error);
  return status == CPB_OK ? cpb_snapshot_end_rows(w, error) : status;
}

/* A block with its rows, which are collected if only their codes are stored. */
static cpb_status write_whole(cpb_snapshot_writer *w, size_t number, cpb_error *error) {
  const cpb_index *index = w->index;
  cpb_index_block block = index->blocks[number];
  cpb_row_buffer buffer;
  if (block.rows == NULL && w->block.memory == NULL && !cpb_block_new(index, &w->block))
    return cpb_fail_memory(error, "a block of rows");
  for (size_t i = 0; block.rows == NULL && i < block.count; i++)
    memcpy(w->block.rows + i * index->row_bytes, cpb_slot_row(index, number * BLOCK + i, &buffer),
           index->row_bytes);
  if (block.rows == NULL) block.rows = w->block.rows;
  return write_block(w, &block, error);
}

static cpb_status write_all(cpb_snapshot_writer *w, cpb_error *error) {
  cpb_status status = CPB_OK;
  for (size_t i = 0; status == CPB_OK && i < w->index->block_count; i++) status = write_whole(w, i, error);
  return status;
}

static cpb_status write_ids(const cpb_snapshot_writer *w, const cpb_index *index, cpb_error *error) {
  enum { AT_ONCE = 4096 };
  uint64_t ids[AT_ONCE], at = w->l.ids_at;
  size_t count = 0;
  cpb_status status = CPB_OK;
  if (w->l.ids_kind == CPB_IDS_NUMBERS) return CPB_OK;
  for (size_t slot = 0; status == CPB_OK && slot < index->slots; slot++) {
    if (!cpb_index_is_removed(index, slot)) ids[count++] = cpb_id_map_id(&index->ids, slot);
    if (count < AT_ONCE && slot + 1 < index->slots) continue;
    status = cpb_whole_write_at(&w->file, at, ids, count * sizeof *ids, error);
    at += count * sizeof *ids;
    count = 0;
  }
  return status;
}

static uint64_t key_bytes(const cpb_index *index) {
  uint64_t all = 0;
  size_t bytes;
  for (size_t slot = 0; index->options.keys && slot < index->slots; slot++)
    if (!cpb_index_is_removed(index, slot)) (void)cpb_key_map_key(&index->keys, slot, &bytes), all += bytes;
  return all;
}

/* Many at a time. */
static cpb_status write_texts(const cpb_snapshot_writer *w, const cpb_index *index, uint64_t at,
                              cpb_error *error) {
  enum { AT_ONCE = 1 << 20 };
  char *texts = malloc(AT_ONCE + CPB_KEY_MOST);
  if (texts == NULL) return cpb_fail_memory(error, "keys");
  cpb_status status = CPB_OK;
  size_t used = 0, bytes;
  for (size_t slot = 0; status == CPB_OK && slot <= index->slots; slot++) {
    if (used >= AT_ONCE || slot == index->slots) {
      status = cpb_whole_write_at(&w->file, at, texts, used, error);
      at += used;
      used = 0;
    }
    if (slot == index->slots || cpb_index_is_removed(index, slot)) continue;
    const char *key = cpb_key_map_key(&index->keys, slot, &bytes);
    memcpy(texts + used, key, bytes);
    used += bytes;
  }
  free(texts);
  return status;
}

static cpb_status write_keys(const cpb_snapshot_writer *w, const cpb_index *index, cpb_error *error) {
  size_t slots = (size_t)w->l.slots, count = 0, bytes;
  size_t numbers = (size_t)(cpb_key_part_bytes(slots, 0) / sizeof(uint64_t));
  if (!index->options.keys) return CPB_OK;
  uint64_t *ends = calloc(numbers, sizeof *ends);
  if (ends == NULL) return cpb_fail_memory(error, "%zu keys", slots);
  cpb_key_part part = cpb_key_part_at(ends, slots, 0);
  for (size_t slot = 0; slot < index->slots; slot++) {
    if (cpb_index_is_removed(index, slot)) continue;
    const char *key = cpb_key_map_key(&index->keys, slot, &bytes);
    cpb_key_table_enter(part.table, part.places, count, key, bytes);
    count++;
    ends[count] = ends[count - 1] + bytes;
  }
  cpb_status status = cpb_whole_write_at(&w->file, w->l.keys_at, ends, numbers * sizeof *ends, error);
  free(ends);
  return status == CPB_OK ? write_texts(w, index, w->l.keys_at + numbers * sizeof *ends, error) : status;
}

static cpb_ids_kind ids_kind(const cpb_index *index) {
  bool numbers = true, rising = true;
  uint64_t live = 0, last = 0;
  for (size_t slot = 0; rising && slot < index->slots; slot++) {
    if (cpb_index_is_removed(index, slot)) continue;
    uint64_t id = cpb_id_map_id(&index->ids, slot);
    numbers = numbers && id == live;
    rising = live == 0 || id > last;
    last = id;
    live++;
  }
  return !rising ? CPB_IDS_ANY : numbers ? CPB_IDS_NUMBERS : CPB_IDS_RISING;
}

cpb_status cpb_index_write_snapshot(const cpb_index *index, const cpb_index *coded, const char *path,
                                    int *own, cpb_error *error) {
  cpb_snapshot_writer w = {
      .index = coded,
      .l = cpb_index_layout_of(coded, index->slots - index->removed, ids_kind(index), key_bytes(index))};
  int made = -1;
  cpb_status status = cpb_snapshot_open(&w, path, own != NULL ? *own : -1, error);
  if (status == CPB_OK)
    status = index->removed > 0 || coded != index ? write_live(&w, index, error) : write_all(&w, error);
  if (status == CPB_OK) status = write_ids(&w, index, error);
  if (status == CPB_OK) status = write_keys(&w, index, error);
  if (status == CPB_OK && own != NULL && (made = cpb_sys_duplicate(w.file.fd)) < 0)
    status = cpb_file_fail_errno(error, path, "write");
  if (status == CPB_OK) status = cpb_snapshot_commit(&w, error);
  cpb_snapshot_close(&w);
  if (status == CPB_OK && own != NULL)
    *own = made;
  else if (made >= 0)
    cpb_sys_close(made);
  return status;
}

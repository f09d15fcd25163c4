/* What an index holds: its rows, ids and counters. */
#define _POSIX_C_SOURCE 200809L
#include <string.h>

#include "base/fail.h"
#include "base/sized.h"
#include "search/index_blocks.h"
#include "search/index_object.h"
#include "search/index_seek.h"

static cpb_status copy_row(const cpb_index *index, size_t slot, char *to, cpb_error *error) {
  cpb_row_buffer buffer;
  const char *row = cpb_slot_read(index, slot, &buffer);
  if (row == NULL) return cpb_seek_fail_read(error);
  memcpy(to, row, index->row_bytes);
  return CPB_OK;
}

cpb_status cpb_index_rows(const cpb_index *index, const uint64_t *ids, size_t count, void *rows,
                          cpb_error *error) {
  if (index == NULL) return cpb_fail_missing(error, "index");
  if ((ids == NULL || rows == NULL) && count > 0)
    return cpb_fail_missing(error, ids == NULL ? "ids" : "rows");
  cpb_status status = cpb_index_lock_current(index, error);
  for (size_t i = 0; status == CPB_OK && i < count; i++) {
    size_t slot = cpb_id_map_find(&index->ids, ids[i], index->removed_bits);
    if (slot == CPB_NO_SLOT)
      status = cpb_fail(error, CPB_WHY_NO_SUCH_ROW, "ids", "id %llu is not in the index",
                        (unsigned long long)ids[i]);
    else
      status = copy_row(index, slot, (char *)rows + i * index->row_bytes, error);
  }
  cpb_index_unlock(index);
  return status;
}

void cpb_index_describe(const cpb_index *index, cpb_index_report *report) {
  if (index == NULL) {
    cpb_sized_give(report, NULL, sizeof *report);
    return;
  }
  cpb_index_lock_shared(index);
  cpb_index_report ours = {.size = sizeof ours,
                           .cols = index->options.cols,
                           .dtype = index->options.dtype,
                           .metric = index->options.metric,
                           .rows = index->slots - index->removed,
                           .removed = index->removed,
                           .next_id = index->next_id,
                           .code_bytes = index->block_count *
                                         (cpb_block_code_bytes(index) + cpb_block_record_bytes(index)),
                           .bytes = index->bytes,
                           .queries = atomic_load(&index->shared->queries),
                           .measured = atomic_load(&index->shared->measured),
                           .by_floats = atomic_load(&index->shared->by_floats),
                           .columns = index->options.columns,
                           .dropped = index->dropped,
                           .levels = {0},
                           .keys = index->options.keys,
                           .writable = index->file == NULL};
  for (size_t i = 0; index->fold != NULL && i < CPB_INDEX_LEVELS; i++) ours.levels[i] = index->fold->end[i];
  if (index->file != NULL) index->file_calls->describe(index->file, &ours);
  cpb_index_unlock(index);
  cpb_sized_give(report, &ours, sizeof ours);
}

/* ---- keys ---- */

static void find_keys(const cpb_index *index, const cpb_index_keys *keys, uint64_t *ids) {
  for (size_t i = 0; i < keys->count; i++) {
    size_t bytes = (size_t)(keys->offsets[i + 1] - keys->offsets[i]);
    size_t slot = cpb_key_map_find(&index->keys, keys->text + keys->offsets[i], bytes, index->removed_bits);
    ids[i] = slot != CPB_NO_SLOT ? cpb_id_map_id(&index->ids, slot) : UINT64_MAX;
  }
}

static cpb_status check_keyed(const cpb_index *index, cpb_error *error) {
  return index->options.keys
             ? CPB_OK
             : cpb_fail(error, CPB_WHY_CALL_ORDER, "keys", "the index has ids and no text keys");
}

static cpb_status check_offsets(const cpb_index_keys *keys, cpb_error *error) {
  if (keys->count > 0 && (keys->offsets == NULL || keys->text == NULL))
    return cpb_fail_missing(error, "keys");
  for (size_t i = 0; i < keys->count; i++)
    if (keys->offsets[i] > keys->offsets[i + 1])
      return cpb_fail_row(error, CPB_WHY_LIST_ORDER, "keys", i, "ends before it begins");
  return CPB_OK;
}

cpb_status cpb_index_find_keys(const cpb_index *index, const cpb_index_keys *keys, uint64_t *ids,
                               cpb_error *error) {
  if (index == NULL || keys == NULL || ids == NULL)
    return cpb_fail_missing(error, index == NULL ? "index" : keys == NULL ? "keys" : "ids");
  cpb_status status = check_offsets(keys, error);
  if (status != CPB_OK) return status;
  status = cpb_index_lock_current(index, error);
  if (status == CPB_OK) status = check_keyed(index, error);
  if (status == CPB_OK) find_keys(index, keys, ids);
  cpb_index_unlock(index);
  return status;
}

const char *cpb_index_key_of(const cpb_index *index, uint64_t id, size_t *bytes) {
  size_t slot = cpb_id_map_find(&index->ids, id, index->removed_bits);
  *bytes = 0;
  return slot != CPB_NO_SLOT ? cpb_key_map_key(&index->keys, slot, bytes) : "";
}

/* Not brought up to date: the ids are those of a search before. */
cpb_status cpb_index_keys_of(const cpb_index *index, const uint64_t *ids, size_t count, uint64_t *offsets,
                             char *text, size_t room, cpb_error *error) {
  if (index == NULL || ids == NULL || offsets == NULL)
    return cpb_fail_missing(error, index == NULL ? "index" : ids == NULL ? "ids" : "offsets");
  if (text == NULL && room > 0) return cpb_fail_missing(error, "text");
  cpb_index_lock_shared(index);
  cpb_status status = cpb_index_check_open(index, error);
  if (status == CPB_OK) status = check_keyed(index, error);
  offsets[0] = 0;
  for (size_t i = 0; status == CPB_OK && i < count; i++) {
    size_t bytes;
    const char *key = cpb_index_key_of(index, ids[i], &bytes);
    if (offsets[i] + bytes <= room && bytes > 0) memcpy(text + offsets[i], key, bytes);
    offsets[i + 1] = offsets[i] + bytes;
  }
  cpb_index_unlock(index);
  return status;
}

/* ---- block by block ---- */

/* A place is the slot where the next block begins, and how often rows had got other slots, in its upper bits. */
enum { SLOT_BITS = 48 };

static cpb_status slot_at(const cpb_index *index, uint64_t place, size_t *slot, cpb_error *error) {
  const uint64_t slots = ((uint64_t)1 << SLOT_BITS) - 1;
  *slot = (size_t)(place & slots);
  if (place == 0 || place >> SLOT_BITS == (index->shared->generation & UINT64_MAX >> SLOT_BITS))
    return CPB_OK;
  return cpb_fail(error, CPB_WHY_CALL_ORDER, "place", "the index was compacted: begin again at place 0");
}

static cpb_status read_block(const cpb_index *index, uint64_t *place, size_t room, uint64_t *ids, char *rows,
                             size_t *count, cpb_error *error) {
  size_t slot;
  cpb_status status = slot_at(index, *place, &slot, error);
  for (; status == CPB_OK && slot < index->slots && *count < room; slot++) {
    if (cpb_index_is_removed(index, slot)) continue;
    if (ids != NULL) ids[*count] = cpb_id_map_id(&index->ids, slot);
    if (rows != NULL) status = copy_row(index, slot, rows + *count * index->row_bytes, error);
    ++*count;
  }
  if (status == CPB_OK) *place = slot | index->shared->generation << SLOT_BITS;
  return status;
}

cpb_status cpb_index_read(const cpb_index *index, uint64_t *place, size_t room, uint64_t *ids, void *rows,
                          size_t *count, cpb_error *error) {
  if (index == NULL || place == NULL || count == NULL)
    return cpb_fail_missing(error, index == NULL ? "index" : place == NULL ? "place" : "count");
  *count = 0;
  cpb_status status = cpb_index_lock_current(index, error);
  if (status == CPB_OK) status = read_block(index, place, room, ids, rows, count, error);
  cpb_index_unlock(index);
  return status;
}

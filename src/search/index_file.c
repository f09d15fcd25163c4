#define _DEFAULT_SOURCE
#include "search/index_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/state_bytes.h"
#include "search/index_blocks.h"
#include "search/index_snapshot.h"
#include "files/file_fail.h"
#include "base/system_file.h"
#include "base/system_thread.h"
#include "base/tell.h"

enum { BLOCK = CPB_INDEX_BLOCK };

/* Unlocks explicitly: children of a fork may have the file open, too. */
static void close_file(cpb_index_file *file) {
  if (file == NULL) return;
  if (file->map != NULL) cpb_sys_unmap(file->map, file->mapped);
  if (file->fd >= 0 && file->writable && file->process == cpb_sys_process()) cpb_sys_unlock(file->fd);
  if (file->fd >= 0) cpb_sys_close(file->fd);
  free(file->path);
  free(file);
}

static bool has_name(const cpb_index_file *file, const char *path) {
  cpb_file_facts own, named;
  return cpb_sys_facts_of(file->fd, &own) && cpb_sys_facts(path, &named) && cpb_sys_same_file(&own, &named);
}

/* ---- following ---- */

static bool is_replaced(const cpb_index_file *file, const cpb_file_facts *named) {
  return !cpb_sys_same_file(&file->facts, named);
}

/* A writer writes the head of a record last, when the file has its size: a file that is longer than its log is looked at. A file
 * without a name is news, too, which `refresh` reports. */
static bool has_news(const cpb_index_file *file) {
  cpb_file_facts named;
  if (file->writable) return false;
  if (!cpb_sys_facts(file->path, &named) || is_replaced(file, &named)) return true;
  return named.size > file->end && cpb_log_may_go_on(file);
}

/* Searches refer to options that an exchange leaves as they are. */
static cpb_status check_same_kind(const cpb_index *index, const cpb_index *fresh, cpb_error *error) {
  const cpb_index_options *own = &index->options, *other = &fresh->options;
  if (own->cols == other->cols && own->dtype == other->dtype && own->metric == other->metric &&
      own->keys == other->keys)
    return CPB_OK;
  return cpb_file_fail(error, CPB_WHY_SOURCE_CHANGED, index->file->path,
                       "it was replaced by an index of other rows: open it again");
}

static cpb_status open_again(cpb_index *index, cpb_index **fresh, cpb_error *error) {
  cpb_status status = cpb_index_open(index->file->path, false, fresh, error);
  if (status == CPB_OK) status = check_same_kind(index, *fresh, error);
  if (status == CPB_OK) return CPB_OK;
  cpb_index_free(*fresh);
  *fresh = NULL;
  return status;
}

/* Without its file an index applies changes without logging them. */
static cpb_status replay_more(cpb_index *index, uint64_t size, cpb_error *error) {
  cpb_index_file *file = index->file;
  index->file = NULL;
  cpb_status status = cpb_log_replay(index, file, size, error);
  index->file = file;
  return status;
}

static cpb_status refresh(cpb_index *index, cpb_index **fresh, cpb_error *error) {
  cpb_file_facts named;
  if (!cpb_sys_facts(index->file->path, &named))
    return cpb_file_fail_errno(error, index->file->path, "follow");
  return is_replaced(index->file, &named) ? open_again(index, fresh, error)
                                          : replay_more(index, named.size, error);
}

/* ---- writing ---- */

/* The log, which readers hold in memory and writers read when they open the file, is a quarter of the file. */
static bool is_fragmented(const cpb_index *index) {
  enum { FEW_BYTES = 1 << 20 };
  uint64_t log = index->file->end - index->file->mapped;
  return log >= FEW_BYTES && log >= index->file->end / 4;
}

static cpb_status check_writable(const cpb_index *index, cpb_error *error) {
  const cpb_index_file *file = index->file;
  if (!file->writable)
    return cpb_file_fail(error, CPB_WHY_CALL_ORDER, file->path, "the index was opened read-only");
  if (file->broken)
    return cpb_file_fail(error, CPB_WHY_WRITER_BROKEN, file->path, "an earlier write failed: open it again");
  if (file->process != cpb_sys_process())
    return cpb_file_fail(error, CPB_WHY_CALL_ORDER, file->path,
                         "only the process that opened the index for writing can change it");
  if (has_name(file, file->path)) return CPB_OK;
  return cpb_file_fail(error, CPB_WHY_FILE_BUSY, file->path,
                       "the file was replaced or removed after it was opened");
}

static bool read_mapped(const cpb_index_file *file, const void *mapped, void *bytes, size_t count) {
  return cpb_read_at(file->fd, (uint64_t)((const char *)mapped - (const char *)file->map), bytes, count);
}

static void describe_file(const cpb_index_file *file, cpb_index_report *report) {
  report->writable = file->writable;
  report->file_bytes = file->end;
  report->log_bytes = file->end - file->mapped;
}

/* ---- checksums ---- */

/* Read into memory, since the mapping of a damaged file may end in SIGBUS. */
static cpb_status read_sums(const cpb_index_file *file, const cpb_index_layout *l, cpb_page_sum **sums,
                            cpb_error *error) {
  size_t bytes = (cpb_index_layout_segments(l) + 1) * sizeof **sums;
  *sums = malloc(bytes);
  if (*sums == NULL) return cpb_fail_memory(error, "checksums");
  cpb_status status = cpb_read_all(file->fd, file->path, l->sums_at, *sums, bytes, error);
  if (status != CPB_OK || cpb_checksum(*sums, bytes) == l->sums_checksum) return status;
  return cpb_file_fail(error, CPB_WHY_CHECKSUM, file->path,
                       "its checksums from byte %llu on are damaged: the file is damaged",
                       (unsigned long long)l->sums_at);
}

static cpb_status check_part(const cpb_index *index, const cpb_index_file *file, const cpb_index_layout *l,
                             size_t part, const cpb_page_sum *wanted, cpb_error *error) {
  cpb_page_sum sum;
  cpb_file_part of = cpb_index_layout_part(index, l, part);
  cpb_status status = cpb_page_sum_of(file->fd, file->path, of, &sum, error);
  if (status != CPB_OK || memcmp(&sum, wanted, sizeof sum) == 0) return status;
  return cpb_file_fail(error, CPB_WHY_CHECKSUM, file->path,
                       "bytes %llu to %llu do not match their checksum: the file is damaged",
                       (unsigned long long)of.begin, (unsigned long long)of.end - 1);
}

/* `index`: with the options of the file's. */
static cpb_status check_parts(const cpb_index *index, const cpb_index_file *file, const cpb_index_layout *l,
                              const cpb_exec *exec, cpb_error *error) {
  size_t parts = cpb_index_layout_segments(l) + 1;
  cpb_page_sum *sums = NULL;
  cpb_status status = read_sums(file, l, &sums, error);
  for (size_t part = 0; status == CPB_OK && part < parts; part++) {
    status = check_part(index, file, l, part, &sums[part], error);
    if (status == CPB_OK) status = cpb_exec_tell(exec, (double)(part + 1) / (double)parts, error);
  }
  free(sums);
  return status;
}

/* ---- opening ---- */

static cpb_status fail_id(const cpb_index_layout *l, const cpb_index_file *file, size_t slot,
                          cpb_error *error) {
  return cpb_file_fail(error, CPB_WHY_CHECKSUM, file->path,
                       "the id at byte %llu is too large or occurs twice: the file is damaged",
                       (unsigned long long)l->ids_at + 8 * slot);
}

/* Ids in no order are checked here, as they are entered into a hash table. */
static cpb_status enter_ids(cpb_index *index, const cpb_index_layout *l, const cpb_index_file *file,
                            const uint64_t *ids, cpb_error *error) {
  cpb_id_map *map = &index->ids;
  if (!cpb_id_map_reserve(map, ids, 0, l->slots, index->removed_bits))
    return cpb_fail_memory(error, "%llu ids", (unsigned long long)l->slots);
  for (size_t slot = 0; slot < l->slots; slot++) {
    if (ids[slot] >= l->next_id || cpb_id_map_find(map, ids[slot], index->removed_bits) != CPB_NO_SLOT)
      return fail_id(l, file, slot, error);
    cpb_id_map_add(map, ids[slot]);
  }
  return CPB_OK;
}

static cpb_status take_ids(cpb_index *index, const cpb_index_layout *l, const cpb_index_file *file,
                           cpb_error *error) {
  const uint64_t *ids = (const uint64_t *)(const void *)((const char *)file->map + l->ids_at);
  if (l->ids_kind == CPB_IDS_ANY) return enter_ids(index, l, file, ids, error);
  bool stored = l->ids_kind == CPB_IDS_RISING && l->slots > 0;
  if (l->slots > 0 && (stored ? ids[l->slots - 1] : l->slots - 1) >= l->next_id)
    return fail_id(l, file, l->slots - 1, error);
  cpb_id_map_borrow(&index->ids, stored ? ids : NULL, l->slots);
  return CPB_OK;
}

static void take_keys(cpb_index *index, const cpb_index_layout *l, const cpb_index_file *file) {
  if (index->options.keys)
    index->keys.mapped = cpb_key_part_at((char *)file->map + l->keys_at, (size_t)l->slots, l->key_bytes);
}

/* Blocks of the mapped file; the last one is copied unless it is full, since rows are added to it. */
static cpb_status take_blocks(cpb_index *index, const cpb_index_layout *l, char *map, cpb_error *error) {
  size_t blocks = (l->slots + BLOCK - 1) / BLOCK;
  if (!cpb_blocks_reserve(index, l->slots)) return cpb_fail_memory(error, "%zu blocks of rows", blocks);
  for (size_t i = 0; i < blocks; i++) {
    cpb_index_block *block = &index->blocks[index->block_count++];
    *block = (cpb_index_block){.mapped = true,
                               .count = l->slots - i * BLOCK < BLOCK ? l->slots - i * BLOCK : BLOCK};
    cpb_block_place(index, block, map + cpb_index_layout_rows(index, l, i),
                    map + cpb_index_layout_codes(index, l, i), map + cpb_index_layout_records(index, l, i));
  }
  index->block_made = index->block_count;
  index->slots = l->slots;
  index->next_id = l->next_id;
  if (l->slots % BLOCK != 0 && !cpb_block_copy_to_memory(index, &index->blocks[blocks - 1]))
    return cpb_fail_memory(error, "a block of rows");
  return CPB_OK;
}

/* Single rows are read from anywhere: reading ahead would load their neighbours too. */
static void expect_single_rows(const cpb_index *index, const cpb_index_layout *l, char *map) {
  for (size_t segment = 0; index->bytes && segment < cpb_index_layout_segments(l); segment++) {
    uint64_t rows = cpb_index_layout_rows(index, l, segment * CPB_SEGMENT);
    cpb_sys_expect_anywhere(map + rows, cpb_index_layout_part(index, l, segment).end - rows);
  }
}

static cpb_status rewrite(cpb_index *index, cpb_index **fresh, const cpb_exec *exec, cpb_error *error);

static const cpb_index_file_calls file_calls = {cpb_log_append, check_writable, rewrite,
                                                is_fragmented,  has_news,       refresh,
                                                describe_file,  read_mapped,    close_file};

static cpb_status map_snapshot(cpb_index_file *file, const cpb_index_layout *l, cpb_error *error) {
  if (!cpb_sys_facts_of(file->fd, &file->facts)) return cpb_file_fail_errno(error, file->path, "read");
  file->mapped = file->end = l->log_at;
  void *map = cpb_sys_map(file->fd, 0, file->mapped, false);
  if (map == NULL) return cpb_file_fail_errno(error, file->path, "map");
  file->map = map;
  return CPB_OK;
}

/* An empty index as the file's head describes it, which agrees with the size of the file. */
static cpb_status read_head(const cpb_index_file *file, cpb_index **made, cpb_index_layout *l, uint64_t *size,
                            cpb_error *error) {
  cpb_file_facts seen;
  if (!cpb_sys_facts_of(file->fd, &seen)) return cpb_file_fail_errno(error, file->path, "read");
  *size = seen.size;
  cpb_status status = cpb_head_read(file->fd, file->path, *size, made, l, error);
  if (status != CPB_OK || cpb_index_layout_fits(*made, l, *size)) return status;
  return cpb_file_fail(error, CPB_WHY_FILE_SIZE, file->path, "its size does not agree with its header");
}

static cpb_status load(cpb_index_file *file, cpb_index **made, cpb_error *error) {
  cpb_index_layout l = {0};
  uint64_t size = 0;
  cpb_status status = read_head(file, made, &l, &size, error);
  if (status == CPB_OK) status = map_snapshot(file, &l, error);
  if (status != CPB_OK) return status;
  expect_single_rows(*made, &l, file->map);
  status = take_blocks(*made, &l, file->map, error);
  if (status == CPB_OK) status = take_ids(*made, &l, file, error);
  if (status == CPB_OK) take_keys(*made, &l, file);
  if (status == CPB_OK) status = cpb_log_replay(*made, file, size, error);
  if (status != CPB_EFORMAT) return status;
  cpb_status cause = check_parts(*made, file, &l, NULL, error);
  return cause == CPB_OK ? status : cause;
}

/* One writer: the holder of the lock on the file that has the name, which must not depend on the working directory. */
static cpb_status lock_file(cpb_index_file *file, cpb_error *error) {
  char holder[128];
  if (!cpb_sys_lock(file->fd, false))
    return errno == EWOULDBLOCK
               ? cpb_file_fail(error, CPB_WHY_FILE_BUSY, file->path, "it is already open for writing%s",
                               cpb_sys_lock_holder(file->fd, holder, sizeof holder))
               : cpb_file_fail_errno(error, file->path, "lock");
  char *path = cpb_sys_resolve(file->path);
  if (path == NULL) return cpb_file_fail_errno(error, file->path, "find");
  if (!has_name(file, path)) {
    free(path);
    return cpb_file_fail(error, CPB_WHY_FILE_BUSY, file->path,
                         "another program has just replaced it: open it again");
  }
  free(file->path);
  file->path = path;
  return CPB_OK;
}

static cpb_index_file *new_file(const char *path, bool writable, int fd) {
  cpb_index_file *file = calloc(1, sizeof *file);
  char *own = strdup(path);
  if (file == NULL || own == NULL) {
    free(file);
    free(own);
    return NULL;
  }
  *file = (cpb_index_file){.path = own, .fd = fd, .writable = writable, .process = cpb_sys_process()};
  return file;
}

/* Takes the file, also on failure. */
static cpb_status open_from(cpb_index_file *file, cpb_index **index, cpb_error *error) {
  cpb_index *made = NULL;
  cpb_status status = load(file, &made, error);
  if (status == CPB_OK) status = cpb_log_trailing_bytes(made, file, &made->dropped, error);
  if (status == CPB_OK && file->writable && !cpb_sys_resize(file->fd, file->end))
    status = cpb_file_fail_errno(error, file->path, "write");
  if (status != CPB_OK) {
    cpb_index_free(made);
    close_file(file);
    return status;
  }
  made->file = file;
  made->file_calls = &file_calls;
  *index = made;
  return CPB_OK;
}

cpb_status cpb_index_open(const char *path, bool writable, cpb_index **index, cpb_error *error) {
  if (path == NULL || index == NULL) return cpb_fail_missing(error, path == NULL ? "path" : "index");
  *index = NULL;
  cpb_status status = cpb_index_check_machine(path, error);
  if (status != CPB_OK) return status;
  cpb_index_file *file = new_file(path, writable, -1);
  if (file == NULL) return cpb_fail_memory(error, "an index");
  file->fd = cpb_sys_open(path, CPB_OPEN_AT_ONCE | (writable ? CPB_OPEN_CHANGE : CPB_OPEN_READ), 0);
  if (file->fd < 0)
    status = cpb_file_fail_errno(error, path, "open");
  else if (writable)
    status = lock_file(file, error);
  if (status == CPB_OK) return open_from(file, index, error);
  close_file(file);
  return status;
}

/* ---- checking ---- */

static cpb_status check_snapshot(const cpb_index *index, const cpb_exec *exec, cpb_error *error) {
  cpb_index *described = NULL;
  cpb_index_layout l = {0};
  uint64_t size;
  cpb_status status = read_head(index->file, &described, &l, &size, error);
  cpb_index_free(described);
  return status == CPB_OK ? check_parts(index, index->file, &l, exec, error) : status;
}

cpb_status cpb_index_check(const cpb_index *index, const cpb_exec *exec, cpb_error *error) {
  if (index == NULL) return cpb_fail_missing(error, "index");
  cpb_index_lock_shared(index);
  cpb_status status = cpb_index_check_open(index, error);
  if (index->file != NULL) status = check_snapshot(index, exec, error);
  if (index->file != NULL && status == CPB_OK) status = cpb_log_check(index, error);
  cpb_index_unlock(index);
  return status;
}

/* ---- saving ---- */

/* Centres and fold are chosen again, for the rows that there are now. */
static cpb_status write_chosen_again(const cpb_index *index, int *fd, cpb_error *error) {
  cpb_index *coded = NULL;
  size_t live = index->slots - index->removed;
  cpb_status status = cpb_index_new(&index->options, &coded, error);
  if (status == CPB_OK && live > 0 && coded->bytes && !cpb_index_choose_for(index, coded))
    status = cpb_fail_memory(error, "a sample of the rows");
  if (status == CPB_OK) coded->next_id = index->next_id;
  if (status == CPB_OK) status = cpb_index_write_snapshot(index, coded, index->file->path, fd, error);
  cpb_index_free(coded);
  return status;
}

/* Damaged bytes must not get new checksums. Afterwards the old file has no name: what is written to it would be lost. */
static cpb_status rewrite(cpb_index *index, cpb_index **fresh, const cpb_exec *exec, cpb_error *error) {
  int fd = index->file->fd;
  cpb_status status = check_snapshot(index, exec, error);
  if (status == CPB_OK) status = write_chosen_again(index, &fd, error);
  if (status != CPB_OK) return status;
  index->file->broken = true;
  cpb_index_file *file = new_file(index->file->path, true, fd);
  if (file != NULL) return open_from(file, fresh, error);
  cpb_sys_close(fd);
  return cpb_fail_memory(error, "an index");
}

static cpb_status sync_file(const cpb_index *index, cpb_error *error) {
  cpb_status status = index->file->writable ? check_writable(index, error) : CPB_OK;
  if (status != CPB_OK || cpb_sys_sync_data(index->file->fd)) return status;
  index->file->broken = true; /* another attempt could succeed without having written anything */
  return cpb_file_fail_errno(error, index->file->path, "write");
}

static cpb_status save(const cpb_index *index, const char *path, cpb_error *error) {
  if (path == NULL) return index->file == NULL ? cpb_fail_missing(error, "path") : sync_file(index, error);
  if (index->file != NULL && has_name(index->file, path))
    return cpb_file_fail(error, CPB_WHY_CALL_ORDER, path,
                         "the index was opened from this file: compact it to rewrite the file");
  cpb_status status = index->file == NULL ? CPB_OK : check_snapshot(index, NULL, error);
  return status == CPB_OK ? cpb_index_write_snapshot(index, index, path, NULL, error) : status;
}

cpb_status cpb_index_save(cpb_index *index, const char *path, cpb_error *error) {
  if (index == NULL) return cpb_fail_missing(error, "index");
  cpb_mutex_lock(&index->shared->change_lock); /* compaction takes the file away */
  cpb_index_lock_shared(index);
  cpb_status status = cpb_index_check_open(index, error);
  if (status == CPB_OK) status = save(index, path, error);
  cpb_index_unlock(index);
  cpb_mutex_unlock(&index->shared->change_lock);
  return status;
}

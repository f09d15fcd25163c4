#define _DEFAULT_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/rows.h"
#include "base/state_bytes.h"
#include "search/index_file.h"
#include "search/index_snapshot.h"
#include "base/system_file.h"
#include "files/file_fail.h"

enum { AT_ONCE = CPB_INDEX_BLOCK /* rows that share a checksum */ };

static const uint64_t record_mark = 0x31474f4c58444e49; /* "INDXLOG1" */

/* The head of a record. The checksum covers the numbers before it, the ids or keys, and the rows. */
typedef struct record {
  uint64_t mark, kind, count;
  uint64_t names; /* 0 none, 1 ids, 2 keys; bits from 2 on: bytes of the text of keys */
  uint64_t sequence, checksum;
} record;
_Static_assert(sizeof(record) == 48, "the format has heads of 48 bytes");

static uint64_t chain(uint64_t before, const void *bytes, size_t count) {
  uint64_t pair[2] = {before, cpb_checksum(bytes, count)};
  return cpb_checksum(pair, sizeof pair);
}

static uint64_t head_checksum(const record *r) { return cpb_checksum(r, offsetof(record, checksum)); }

/* ---- writing ---- */

static bool write_at(int fd, uint64_t offset, const void *bytes, size_t count) {
  for (size_t done = 0; done < count;) {
    int64_t n = cpb_sys_write_at(fd, offset + done, (const char *)bytes + done, count - done);
    if (n <= 0) return false;
    done += (size_t)n;
  }
  return true;
}

/* Densely packed, AT_ONCE rows at a time. */
static bool write_rows(const cpb_index_file *file, uint64_t *at, cpb_view rows, uint64_t *checksum) {
  size_t row_bytes = rows.cols * cpb_dtype_size(rows.dtype),
         stride = rows.stride * cpb_dtype_size(rows.dtype);
  size_t most = rows.rows < AT_ONCE ? rows.rows : AT_ONCE;
  char *packed = malloc(most * row_bytes + 1);
  bool written = packed != NULL;
  for (size_t first = 0; written && first < rows.rows; first += most) {
    size_t here = rows.rows - first < most ? rows.rows - first : most;
    for (size_t i = 0; i < here; i++)
      memcpy(packed + i * row_bytes, (const char *)rows.data + (first + i) * stride, row_bytes);
    *checksum = chain(*checksum, packed, here * row_bytes);
    written = write_at(file->fd, *at, packed, here * row_bytes);
    *at += here * row_bytes;
  }
  free(packed);
  return written;
}

enum { NO_NAMES = 0, IDS = 1, KEYS = 2 };

static uint64_t padded(uint64_t bytes) { return (bytes + 7) / 8 * 8; }

static bool write_named(const cpb_index_file *file, uint64_t *at, const void *bytes, uint64_t count,
                        uint64_t *checksum) {
  *checksum = chain(*checksum, bytes, (size_t)count);
  uint64_t to = *at;
  *at += padded(count);
  return write_at(file->fd, to, bytes, (size_t)count);
}

/* Offsets of keys begin at 0 in the file. */
static bool write_keys(const cpb_index_file *file, uint64_t *at, const cpb_index_keys *keys,
                       uint64_t *checksum) {
  uint64_t first = keys->offsets[0], *offsets = malloc((keys->count + 1) * sizeof *offsets);
  if (offsets == NULL) return false;
  for (size_t i = 0; i <= keys->count; i++) offsets[i] = keys->offsets[i] - first;
  bool written = write_named(file, at, offsets, (keys->count + 1) * 8, checksum) &&
                 write_named(file, at, keys->text + first, offsets[keys->count], checksum);
  free(offsets);
  return written;
}

static bool write_names(const cpb_index_file *file, uint64_t *at, const cpb_index_change *change,
                        uint64_t *checksum) {
  if (change->keys != NULL) return write_keys(file, at, change->keys, checksum);
  return change->ids == NULL || write_named(file, at, change->ids, change->count * 8, checksum);
}

static uint64_t names_of(const cpb_index_change *change) {
  const cpb_index_keys *keys = change->keys;
  if (keys != NULL) return KEYS | (keys->offsets[keys->count] - keys->offsets[0]) << 2;
  return change->ids != NULL ? IDS : NO_NAMES;
}

/* The head is written last: until then the log ends before this record. */
static bool write_record(cpb_index_file *file, const cpb_index_change *change) {
  record r = {record_mark, change->kind, change->count, names_of(change), file->sequence + 1, 0};
  uint64_t at = file->end + sizeof r, checksum = head_checksum(&r);
  if (!write_names(file, &at, change, &checksum)) return false;
  if (change->kind != CPB_CHANGE_REMOVE && !write_rows(file, &at, change->rows, &checksum)) return false;
  at = padded(at);
  r.checksum = checksum;
  if (!cpb_sys_resize(file->fd, at) || !write_at(file->fd, file->end, &r, sizeof r)) return false;
  file->end = at;
  file->sequence++;
  return true;
}

cpb_status cpb_log_append(cpb_index *index, const cpb_index_change *change, cpb_error *error) {
  cpb_index_file *file = index->file;
  if (change->count == 0 || write_record(file, change)) return CPB_OK;
  cpb_status status = cpb_file_fail_errno(error, file->path, "write");
  if (!cpb_sys_resize(file->fd, file->end)) file->broken = true;
  return status;
}

/* ---- reading ---- */

static uint64_t text_of(const record *r) { return r->names >> 2; }

static uint64_t names_bytes(const record *r) {
  switch (r->names & 3) {
  case IDS: return r->count * 8;
  case KEYS: return (r->count + 1) * 8 + padded(text_of(r));
  default: return 0;
  }
}

static uint64_t rows_bytes(const record *r, size_t row_bytes) {
  return r->kind != CPB_CHANGE_REMOVE ? r->count * row_bytes : 0;
}

/* Rows of an index with keys are added with keys, and replaced by keys or ids. */
static bool has_its_names(const record *r, bool keyed) {
  bool adds = r->kind == CPB_CHANGE_ADD || r->kind == CPB_CHANGE_PUT;
  if (keyed && adds) return (r->names & 3) == KEYS;
  return r->names == IDS || (r->names == NO_NAMES && r->kind == CPB_CHANGE_ADD);
}

static bool is_record(const cpb_index *index, const cpb_index_file *file, const record *r, uint64_t size) {
  if (r->mark != record_mark || r->sequence != file->sequence + 1) return false;
  if (r->kind < CPB_CHANGE_ADD || r->kind > CPB_CHANGE_PUT) return false;
  if (!has_its_names(r, index->options.keys)) return false;
  uint64_t left = size - file->end - sizeof *r, least = r->kind == CPB_CHANGE_REMOVE ? 8 : index->row_bytes;
  if (r->count == 0 || r->count > left / least || text_of(r) > left) return false;
  if ((r->names & 3) == KEYS && r->count > left / 8) return false;
  return names_bytes(r) <= left && rows_bytes(r, index->row_bytes) <= left - names_bytes(r);
}

static bool is_whole(const record *r, const char *payload, size_t row_bytes) {
  uint64_t checksum = head_checksum(r);
  if ((r->names & 3) == IDS) checksum = chain(checksum, payload, r->count * 8);
  if ((r->names & 3) == KEYS) {
    checksum = chain(checksum, payload, (r->count + 1) * 8);
    checksum = chain(checksum, payload + (r->count + 1) * 8, text_of(r));
  }
  const char *rows = payload + names_bytes(r);
  for (uint64_t first = 0; r->kind != CPB_CHANGE_REMOVE && first < r->count; first += AT_ONCE) {
    uint64_t here = r->count - first < AT_ONCE ? r->count - first : AT_ONCE;
    checksum = chain(checksum, rows + first * row_bytes, here * row_bytes);
  }
  return checksum == r->checksum;
}

/* Within their text, from 0 on. */
static bool keys_fit(const record *r, const cpb_index_keys *keys) {
  for (size_t i = 0; i < keys->count; i++)
    if (keys->offsets[i] > keys->offsets[i + 1]) return false;
  return keys->offsets[keys->count] <= text_of(r);
}

/* Every record was applied once before it was written: one that cannot be applied shows damage. */
static cpb_status apply(cpb_index *index, const cpb_index_file *file, const record *r, const char *payload,
                        cpb_error *error) {
  const uint64_t *numbers = (const uint64_t *)(const void *)payload;
  const cpb_index_keys keys = {payload + (r->count + 1) * 8, numbers, r->count};
  cpb_index_change change = {.kind = (cpb_change_kind)r->kind, .count = r->count};
  cpb_status status = CPB_OK;
  if ((r->names & 3) == KEYS) change.keys = &keys;
  if ((r->names & 3) == IDS) change.ids = numbers;
  if (change.keys != NULL && !keys_fit(r, &keys)) status = CPB_EINVAL;
  if (r->kind != CPB_CHANGE_REMOVE)
    change.rows = cpb_rows(payload + names_bytes(r), index->options.dtype, r->count, index->options.cols);
  if (status == CPB_OK) status = cpb_index_apply(index, &change, NULL, error);
  if (status != CPB_EINVAL && status != CPB_EROW) return status;
  return cpb_file_fail(error, CPB_WHY_CHECKSUM, file->path,
                       "the log up to byte %llu does not agree with the rows and ids: the file is damaged",
                       (unsigned long long)file->end - 1);
}

/* A read that failed. The file may have become shorter: its writer has undone a failed write. */
static cpb_status end_or_error(const cpb_index_file *file, cpb_error *error) {
  return errno == 0 ? CPB_OK : cpb_file_fail_errno(error, file->path, "read");
}

/* The whole record at file->end, which then moves past it; *payload is NULL if there is none. */
static cpb_status next_record(const cpb_index *index, cpb_index_file *file, uint64_t size, record *r,
                              char **payload, cpb_error *error) {
  *payload = NULL;
  if (size < file->end || size - file->end < sizeof *r) return CPB_OK;
  if (!cpb_read_at(file->fd, file->end, r, sizeof *r)) return end_or_error(file, error);
  if (!is_record(index, file, r, size)) return CPB_OK;
  uint64_t bytes = names_bytes(r) + rows_bytes(r, index->row_bytes);
  char *read = malloc(bytes + 1);
  if (read == NULL) return cpb_fail_memory(error, "a change of %llu rows", (unsigned long long)r->count);
  bool there = cpb_read_at(file->fd, file->end + sizeof *r, read, bytes);
  cpb_status status = there ? CPB_OK : end_or_error(file, error);
  if (!there || !is_whole(r, read, index->row_bytes)) {
    free(read);
    return status;
  }
  file->end = (file->end + sizeof *r + bytes + 7) / 8 * 8;
  file->sequence++;
  *payload = read;
  return CPB_OK;
}

cpb_status cpb_log_replay(cpb_index *index, cpb_index_file *file, uint64_t size, cpb_error *error) {
  record r;
  char *payload;
  cpb_status status = next_record(index, file, size, &r, &payload, error);
  while (status == CPB_OK && payload != NULL) {
    status = apply(index, file, &r, payload, error);
    free(payload);
    if (status == CPB_OK) status = next_record(index, file, size, &r, &payload, error);
  }
  return status;
}

bool cpb_log_may_go_on(const cpb_index_file *file) {
  uint64_t mark = 0;
  return cpb_read_at(file->fd, file->end, &mark, sizeof mark) && mark == record_mark;
}

static bool is_blank(const cpb_index_file *file, uint64_t rest) {
  static const record none;
  record r = none;
  return cpb_read_at(file->fd, file->end, &r, rest < sizeof r ? rest : sizeof r) &&
         memcmp(&r, &none, sizeof r) == 0;
}

/* A writer may have appended records since the index was opened, and may append more: what is found twice while the size of
 * the file stays the same is not being written. */
static cpb_status pass_records(const cpb_index *index, cpb_index_file *file, uint64_t *size,
                               cpb_error *error) {
  cpb_status status = CPB_OK;
  uint64_t before;
  *size = 0;
  do {
    record r;
    char *payload = NULL;
    cpb_file_facts seen;
    before = *size;
    if (!cpb_sys_facts_of(file->fd, &seen)) return cpb_file_fail_errno(error, file->path, "read");
    *size = seen.size;
    do {
      status = next_record(index, file, *size, &r, &payload, error);
      free(payload);
    } while (status == CPB_OK && payload != NULL);
  } while (status == CPB_OK && *size != before);
  return status;
}

cpb_status cpb_log_trailing_bytes(const cpb_index *index, const cpb_index_file *opened, uint64_t *rest,
                                  cpb_error *error) {
  cpb_index_file file = *opened;
  uint64_t size;
  cpb_status status = pass_records(index, &file, &size, error);
  *rest = size > file.end && !is_blank(&file, size - file.end) ? size - file.end : 0;
  return status;
}

cpb_status cpb_log_check(const cpb_index *index, cpb_error *error) {
  uint64_t rest;
  cpb_status status = cpb_log_trailing_bytes(index, index->file, &rest, error);
  if (status != CPB_OK || rest == 0) return status;
  return cpb_file_fail(error, CPB_WHY_CHECKSUM, index->file->path,
                       "its last %llu bytes are not a record of its log: an interrupted write, or damage",
                       (unsigned long long)rest);
}

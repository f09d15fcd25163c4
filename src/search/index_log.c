#define _DEFAULT_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/rows.h"
#include "base/state_bytes.h"
#include "search/index_file.h"
#include "search/index_snapshot.h"
#include "files/file_fail.h"

enum { AT_ONCE = CPB_INDEX_BLOCK /* rows that share a checksum */ };

static const uint64_t record_mark = 0x31474f4c58444e49; /* "INDXLOG1" */

/* The head of a record. The checksum covers the numbers before it, the ids and the rows. */
typedef struct record {
  uint64_t mark, kind, count, has_ids, sequence, checksum;
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
    ssize_t n = pwrite(fd, (const char *)bytes + done, count - done, (off_t)(offset + done));
    if (n < 0 && errno == EINTR) continue;
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

/* The head is written last: until then the log ends before this record. */
static bool write_record(cpb_index_file *file, const cpb_index_change *change) {
  record r = {record_mark, change->kind, change->count, change->ids != NULL, file->sequence + 1, 0};
  uint64_t at = file->end + sizeof r, checksum = head_checksum(&r);
  if (change->ids != NULL) {
    checksum = chain(checksum, change->ids, change->count * 8);
    if (!write_at(file->fd, at, change->ids, change->count * 8)) return false;
    at += change->count * 8;
  }
  if (change->kind != CPB_CHANGE_REMOVE && !write_rows(file, &at, change->rows, &checksum)) return false;
  at = (at + 7) / 8 * 8;
  r.checksum = checksum;
  if (ftruncate(file->fd, (off_t)at) != 0 || !write_at(file->fd, file->end, &r, sizeof r)) return false;
  file->end = at;
  file->sequence++;
  return true;
}

cpb_status cpb_log_append(cpb_index *index, const cpb_index_change *change, cpb_error *error) {
  cpb_index_file *file = index->file;
  if (change->count == 0 || write_record(file, change)) return CPB_OK;
  cpb_status status = cpb_file_fail_errno(error, file->path, "write");
  if (ftruncate(file->fd, (off_t)file->end) != 0) file->broken = true;
  return status;
}

/* ---- reading ---- */

static uint64_t bytes_per_row(const record *r, uint64_t row_bytes) {
  return (r->has_ids != 0 ? 8 : 0) + (r->kind != CPB_CHANGE_REMOVE ? row_bytes : 0);
}

static bool is_record(const cpb_index *index, const cpb_index_file *file, const record *r, uint64_t size) {
  if (r->mark != record_mark || r->sequence != file->sequence + 1 || r->has_ids > 1) return false;
  if (r->kind < CPB_CHANGE_ADD || r->kind > CPB_CHANGE_PUT) return false;
  if (r->kind != CPB_CHANGE_ADD && r->has_ids == 0) return false;
  return r->count > 0 && r->count <= (size - file->end - sizeof *r) / bytes_per_row(r, index->row_bytes);
}

static bool is_whole(const record *r, const char *payload, size_t row_bytes) {
  uint64_t checksum = head_checksum(r);
  if (r->has_ids != 0) checksum = chain(checksum, payload, r->count * 8);
  const char *rows = payload + (r->has_ids != 0 ? r->count * 8 : 0);
  for (uint64_t first = 0; r->kind != CPB_CHANGE_REMOVE && first < r->count; first += AT_ONCE) {
    uint64_t here = r->count - first < AT_ONCE ? r->count - first : AT_ONCE;
    checksum = chain(checksum, rows + first * row_bytes, here * row_bytes);
  }
  return checksum == r->checksum;
}

/* Every record was applied once before it was written: one that cannot be applied shows damage. */
static cpb_status apply(cpb_index *index, const cpb_index_file *file, const record *r, const char *payload,
                        cpb_error *error) {
  cpb_index_change change = {.kind = (cpb_change_kind)r->kind, .count = r->count};
  if (r->has_ids != 0) change.ids = (const uint64_t *)(const void *)payload;
  if (r->kind != CPB_CHANGE_REMOVE)
    change.rows = cpb_rows(payload + (r->has_ids != 0 ? r->count * 8 : 0), index->options.dtype, r->count,
                           index->options.cols);
  cpb_status status = cpb_index_apply(index, &change, NULL, error);
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
  uint64_t bytes = r->count * bytes_per_row(r, index->row_bytes);
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
    struct stat seen;
    before = *size;
    if (fstat(file->fd, &seen) != 0) return cpb_file_fail_errno(error, file->path, "read");
    *size = (uint64_t)seen.st_size;
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

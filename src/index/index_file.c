#define _DEFAULT_SOURCE
#include "index/index_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/fail.h"
#include "core/rows.h"
#include "core/state_bytes.h"
#include "index/blocks_of_rows.h"
#include "index/codes.h"
#include "io/file_fail.h"
#include "io/whole_file.h"
#include "parallel/blocks.h"
#include "parallel/tell.h"

enum {
  BLOCK = CPB_INDEX_BLOCK,
  SEGMENT = 64, /* blocks whose codes are next to each other, before their rows */
  PAGE = 4096,  /* where segments and ids begin */
  MARK = 16,    /* bytes of the text at the beginning; then the size of the head, 8 bytes, then the head */
  HEAD_AT = MARK + 8,
  HEAD_MOST = 1 << 26,
  RECORD = 48,
};
static const char mark[MARK] = "capball index\n";
static const cpb_state_kind head_kind = {"cpbindex", 1, "an index", 0};
static const uint64_t record_mark = 0x31474f4c58444e49; /* "INDXLOG1" */

struct cpb_index_file {
  char *path;
  int fd;
  bool writable, broken;
  void *map; /* of the snapshot */
  size_t mapped;
  uint64_t end, sequence; /* of the log */
};

static void close_file(cpb_index_file *file) {
  if (file == NULL) return;
  if (file->map != NULL) munmap(file->map, file->mapped);
  if (file->fd >= 0) close(file->fd);
  free(file->path);
  free(file);
}

static cpb_status check_writable(const cpb_index *index, cpb_error *error) {
  const cpb_index_file *file = index->file;
  if (file->writable && !file->broken) return CPB_OK;
  if (file->broken)
    return cpb_file_fail(error, CPB_WHY_WRITER_BROKEN, file->path, "a write before failed: open it again");
  return cpb_file_fail(error, CPB_WHY_CALL_ORDER, file->path, "the index was opened for reading");
}

/* ---- places ---- */

static bool read_at(int fd, uint64_t offset, void *bytes, size_t count) {
  for (size_t done = 0; done < count;) {
    ssize_t n = pread(fd, (char *)bytes + done, count - done, (off_t)(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += (size_t)n;
  }
  return true;
}

static uint64_t whole_pages(uint64_t bytes) { return (bytes + PAGE - 1) / PAGE * PAGE; }

/* What the head says besides the centres. */
typedef struct layout {
  uint64_t slots, next_id, has_ids, blocks_at, ids_at, log_at;
} layout;

static uint64_t segment_codes(const cpb_index *index, uint64_t blocks) {
  return whole_pages(blocks * cpb_block_code_bytes(index));
}

static uint64_t segment_bytes(const cpb_index *index) {
  return segment_codes(index, SEGMENT) + whole_pages((uint64_t)SEGMENT * cpb_block_row_bytes(index));
}

static uint64_t blocks_of(const layout *l) { return l->slots / BLOCK + (l->slots % BLOCK != 0); }

static uint64_t codes_at(const cpb_index *index, const layout *l, size_t block) {
  return l->blocks_at + block / SEGMENT * segment_bytes(index) +
         block % SEGMENT * cpb_block_code_bytes(index);
}

/* The last segment has as many codes as it has blocks. */
static uint64_t rows_at(const cpb_index *index, const layout *l, size_t block) {
  uint64_t left = blocks_of(l) - block / SEGMENT * SEGMENT;
  return l->blocks_at + block / SEGMENT * segment_bytes(index) +
         segment_codes(index, left < SEGMENT ? left : SEGMENT) + block % SEGMENT * cpb_block_row_bytes(index);
}

static uint64_t head_bytes(size_t d) { return 8 + 4 + 4 * 8 + 6 * 8 + 4 * 8 + d * 16 + 8; }

static layout layout_of(const cpb_index *index, uint64_t slots, bool has_ids) {
  layout l = {.slots = slots, .next_id = index->next_id, .has_ids = has_ids};
  l.blocks_at = l.ids_at = whole_pages(HEAD_AT + head_bytes(index->options.cols));
  if (slots > 0) {
    size_t last = (size_t)blocks_of(&l) - 1;
    l.ids_at = whole_pages(rows_at(index, &l, last) + (slots - (uint64_t)last * BLOCK) * index->row_bytes);
  }
  l.log_at = whole_pages(l.ids_at + (has_ids ? 8 * slots : 0));
  return l;
}

/* ---- the head ---- */

typedef struct head {
  const cpb_index *index;
  layout l;
} head;

static void put_head(cpb_state *s, void **object) {
  const head *h = *object;
  const cpb_index *index = h->index;
  cpb_state_begin(s, &head_kind);
  cpb_state_number(s, index->options.cols, 8);
  cpb_state_number(s, (uint64_t)index->options.dtype, 8);
  cpb_state_number(s, (uint64_t)index->options.metric, 8);
  cpb_state_number(s, index->bytes, 8);
  cpb_state_number(s, h->l.slots, 8);
  cpb_state_number(s, h->l.next_id, 8);
  cpb_state_number(s, h->l.has_ids, 8);
  cpb_state_number(s, h->l.blocks_at, 8);
  cpb_state_number(s, h->l.ids_at, 8);
  cpb_state_number(s, h->l.log_at, 8);
  cpb_state_number(s, index->prepared, 8);
  cpb_state_number(s, (uint64_t)(int64_t)index->screen.exponent, 8);
  cpb_state_number(s, (uint64_t)index->sieve.kind, 8);
  cpb_state_double(s, index->sieve.usual_reach);
  cpb_state_doubles(s, index->center, index->options.cols);
  for (size_t k = 0; k < index->options.cols; k++) cpb_state_double(s, (double)index->sieve.center[k]);
  cpb_state_end(s);
}

static cpb_status refuse(const char *path, cpb_reason why, const char *what, cpb_error *error) {
  return cpb_file_fail(error, why, path, "%s", what);
}

/* The numbers that follow the options. */
static void get_centers(cpb_state *from, cpb_index *index) {
  size_t d = index->options.cols;
  index->prepared = cpb_state_size(from, 0);
  int64_t exponent = (int64_t)cpb_state_number(from, 0, 8);
  uint64_t kind = cpb_state_number(from, 0, 8);
  double reach = cpb_state_double(from, 0);
  for (size_t k = 0; k < d; k++) index->center[k] = cpb_state_double(from, 0); /* of rows far out, any */
  for (size_t k = 0; k < d; k++) index->sieve.center[k] = (float)cpb_state_double(from, 0);
  for (size_t k = 0; index->center_f32 != NULL && k < d; k++) index->center_f32[k] = (float)index->center[k];
  if (from->status != CPB_OK) return;
  if (kind > CPB_SIEVE_I8 || exponent < -1000 || exponent > 1000) {
    cpb_state_refuse(from, "its codes are of an unknown kind");
    return;
  }
  cpb_screen_set(&index->screen, index->options.metric, d, (int)exponent, index->center, index->center_f32);
  cpb_sieve_restore(&index->sieve, (cpb_sieve_kind)kind, reach);
}

static cpb_status get_head(cpb_state *from, cpb_index **index, layout *l, cpb_error *error) {
  cpb_index_options options;
  cpb_index_options_init(&options, sizeof options);
  cpb_state_begin(from, &head_kind);
  options.cols = cpb_state_size(from, 0);
  uint64_t dtype = cpb_state_number(from, 0, 8), metric = cpb_state_number(from, 0, 8),
           bytes = cpb_state_number(from, 0, 8);
  if (from->status != CPB_OK) return from->status;
  if (options.cols == 0 || dtype > CPB_I8 || metric >= CPB_METRICS || from->left / 16 < options.cols)
    return refuse(from->name, CPB_WHY_FILE_COLUMNS, "its head is not that of an index", error);
  options.dtype = (cpb_dtype)dtype;
  options.metric = (cpb_metric)metric;
  cpb_status status = cpb_index_new(&options, index, error);
  if (status != CPB_OK) return status;
  if (bytes != (*index)->bytes) cpb_state_refuse(from, "its codes are not those of this version");
  uint64_t *numbers[] = {&l->slots, &l->next_id, &l->has_ids, &l->blocks_at, &l->ids_at, &l->log_at};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) *numbers[i] = cpb_state_number(from, 0, 8);
  get_centers(from, *index);
  cpb_state_end(from);
  return from->status;
}

/* ---- writing a snapshot ---- */

typedef struct writing {
  const cpb_index *index;
  cpb_whole file;
  layout l;
  cpb_index_block block; /* of rows that are gathered */
  cpb_coder *coder;
  size_t blocks; /* written */
} writing;

static cpb_status write_block(writing *w, const cpb_index_block *block, cpb_error *error) {
  size_t number = w->blocks++;
  cpb_status status = cpb_whole_write_at(&w->file, rows_at(w->index, &w->l, number), block->rows,
                                         block->count * w->index->row_bytes, error);
  if (status != CPB_OK || !w->index->bytes) return status;
  return cpb_whole_write_at(&w->file, codes_at(w->index, &w->l, number), block->codes,
                            cpb_block_code_bytes(w->index), error);
}

static cpb_status write_gathered(writing *w, cpb_error *error) {
  size_t faulty;
  if (w->index->bytes) (void)cpb_coder_run(w->coder, w->index, &w->block, 0, &faulty); /* they were checked */
  cpb_status status = write_block(w, &w->block, error);
  w->block.count = 0;
  return status;
}

/* Live rows move together, so that their codes are made again. */
static cpb_status write_live(writing *w, cpb_error *error) {
  const cpb_index *index = w->index;
  cpb_status status = CPB_OK;
  w->coder = index->bytes ? cpb_coder_new(index) : NULL;
  if ((index->bytes && w->coder == NULL) || !cpb_block_new(index, &w->block))
    return cpb_fail_memory(error, "a block of rows");
  for (size_t slot = 0; status == CPB_OK && slot < index->slots; slot++) {
    if (cpb_index_is_gone(index, slot)) continue;
    memcpy(w->block.rows + w->block.count++ * index->row_bytes, cpb_slot_row(index, slot), index->row_bytes);
    if (w->block.count == BLOCK) status = write_gathered(w, error);
  }
  return status == CPB_OK && w->block.count > 0 ? write_gathered(w, error) : status;
}

static cpb_status write_all(writing *w, cpb_error *error) {
  cpb_status status = CPB_OK;
  for (size_t i = 0; status == CPB_OK && i < w->index->block_count; i++)
    status = write_block(w, &w->index->blocks[i], error);
  return status;
}

static cpb_status write_ids(const writing *w, cpb_error *error) {
  enum { AT_ONCE = 4096 };
  const cpb_index *index = w->index;
  uint64_t ids[AT_ONCE], at = w->l.ids_at;
  size_t count = 0;
  cpb_status status = CPB_OK;
  for (size_t slot = 0; status == CPB_OK && w->l.has_ids && slot < index->slots; slot++) {
    if (!cpb_index_is_gone(index, slot)) ids[count++] = cpb_id_map_id(&index->ids, slot);
    if (count < AT_ONCE && slot + 1 < index->slots) continue;
    status = cpb_whole_write_at(&w->file, at, ids, count * sizeof *ids, error);
    at += count * sizeof *ids;
    count = 0;
  }
  return status;
}

static cpb_status write_head(const writing *w, cpb_error *error) {
  head h = {w->index, w->l};
  void *bytes;
  size_t count;
  cpb_status status = cpb_state_write(put_head, &h, &bytes, &count, error);
  if (status != CPB_OK) return status;
  uint64_t size = count;
  status = cpb_whole_write_at(&w->file, 0, mark, MARK, error);
  if (status == CPB_OK) status = cpb_whole_write_at(&w->file, MARK, &size, sizeof size, error);
  if (status == CPB_OK) status = cpb_whole_write_at(&w->file, HEAD_AT, bytes, count, error);
  free(bytes);
  return status;
}

static cpb_status check_machine(const char *path, cpb_error *error) {
  if (sizeof(size_t) == 8) return CPB_OK; /* little-endian: io/format.h asserts it */
  return refuse(path, CPB_WHY_BUILT_WITHOUT, "index files are for 64-bit machines", error);
}

static void finish_writing(writing *w) {
  cpb_whole_close(&w->file);
  cpb_coder_free(w->coder);
  free(w->block.memory);
}

static bool has_ids(const cpb_index *index) { return index->ids.ids != NULL || index->removed > 0; }

cpb_status cpb_index_write_snapshot(const cpb_index *index, const char *path, cpb_error *error) {
  writing w = {.index = index};
  cpb_status status = check_machine(path, error);
  if (status == CPB_OK) status = cpb_whole_open(path, &w.file, error);
  if (status != CPB_OK) return status;
  w.l = layout_of(index, index->slots - index->removed, has_ids(index));
  if (w.file.stream)
    status = refuse(path, CPB_WHY_CALL_ORDER, "an index is written to a regular file", error);
  if (status == CPB_OK) status = cpb_whole_resize(&w.file, w.l.log_at, error);
  if (status == CPB_OK) status = index->removed > 0 ? write_live(&w, error) : write_all(&w, error);
  if (status == CPB_OK) status = write_ids(&w, error);
  if (status == CPB_OK) status = write_head(&w, error);
  if (status == CPB_OK) status = cpb_whole_commit(&w.file, error);
  finish_writing(&w);
  return status;
}

/* ---- building from a source ---- */

/* The centre is chosen by the rows that come first, which `index` holds for it. */
static cpb_status begin_build(writing *w, cpb_index *index, cpb_view first, cpb_error *error) {
  enum { ENOUGH = 4096 };
  size_t step = 1 + (first.rows - 1) / ENOUGH;
  cpb_view sample = first;
  sample.rows = (first.rows - 1) / step + 1;
  sample.stride *= step;
  if (index->bytes && !cpb_codes_prepare(index, sample))
    return cpb_fail_memory(error, "a sample of the rows");
  index->prepared = sample.rows;
  w->coder = index->bytes ? cpb_coder_new(index) : NULL;
  if ((index->bytes && w->coder == NULL) || !cpb_block_new(index, &w->block))
    return cpb_fail_memory(error, "a block of rows");
  return CPB_OK;
}

static cpb_status flush_checked(writing *w, uint64_t written, cpb_error *error) {
  size_t faulty = 0;
  cpb_first_fault first;
  cpb_first_fault_init(&first);
  int fault = w->index->bytes ? cpb_coder_run(w->coder, w->index, &w->block, 0, &faulty) : 0;
  for (size_t i = 0; !w->index->bytes && fault == 0 && i < w->block.count; i++)
    if ((fault = cpb_index_row_fault(w->index, cpb_block_rows(w->index, &w->block), i)) != 0) faulty = i;
  if (fault != 0) cpb_first_fault_meet(&first, written + faulty, (cpb_fault)fault);
  cpb_status status = cpb_first_fault_report(&first, "rows", error);
  if (status == CPB_OK) status = write_block(w, &w->block, error);
  w->block.count = 0;
  return status;
}

static cpb_status take_block(writing *w, cpb_index *index, cpb_view rows, cpb_error *error) {
  cpb_status status = CPB_OK;
  size_t stride = rows.stride * cpb_dtype_size(rows.dtype);
  if (w->block.memory == NULL) status = begin_build(w, index, rows, error);
  for (size_t i = 0; status == CPB_OK && i < rows.rows; i++) {
    memcpy(w->block.rows + w->block.count++ * index->row_bytes, (const char *)rows.data + i * stride,
           index->row_bytes);
    if (w->block.count < BLOCK) continue;
    status = flush_checked(w, index->next_id, error);
    index->next_id += BLOCK;
  }
  return status;
}

/* While the number of rows is not known a segment has room for all its codes: the rows of the last one move up to those
 * that came. */
static cpb_status move_rows(const writing *w, const layout *known, cpb_error *error) {
  size_t blocks = w->blocks, size = cpb_block_row_bytes(w->index);
  cpb_status status = CPB_OK;
  char *rows = malloc(size);
  if (rows == NULL) return cpb_fail_memory(error, "a block of rows");
  for (size_t i = blocks / SEGMENT * SEGMENT; status == CPB_OK && i < blocks; i++) {
    uint64_t left = known->slots - (uint64_t)i * BLOCK;
    size_t bytes = (size_t)(left < BLOCK ? left : BLOCK) * w->index->row_bytes;
    if (!read_at(w->file.fd, rows_at(w->index, &w->l, i), rows, bytes))
      status = cpb_file_fail_errno(error, w->file.path, "read");
    else
      status = cpb_whole_write_at(&w->file, rows_at(w->index, known, i), rows, bytes, error);
  }
  free(rows);
  return status;
}

static cpb_status build(writing *w, cpb_index *index, cpb_source *source, const cpb_exec *exec,
                        cpb_error *error) {
  cpb_view rows;
  cpb_status status = source->rewind(source, error);
  while (status == CPB_OK && (status = source->next(source, &rows, error)) == CPB_OK && rows.rows > 0) {
    status = take_block(w, index, rows, error);
    double share = source->rows == CPB_ROWS_UNKNOWN ? 0 : (double)index->next_id / (double)(source->rows + 1);
    if (status == CPB_OK) status = cpb_exec_tell(exec, share, error);
  }
  size_t rest = w->block.count;
  if (status == CPB_OK && rest > 0) status = flush_checked(w, index->next_id, error);
  index->next_id += rest;
  layout known = layout_of(index, index->next_id, false);
  if (status == CPB_OK) status = move_rows(w, &known, error);
  w->l = known;
  if (status == CPB_OK) status = cpb_whole_resize(&w->file, w->l.log_at, error);
  if (status == CPB_OK) status = write_head(w, error);
  return status == CPB_OK ? cpb_whole_commit(&w->file, error) : status;
}

cpb_status cpb_index_build(cpb_source *source, cpb_metric metric, const char *path, const cpb_exec *exec,
                           cpb_error *error) {
  cpb_index_options options;
  cpb_index *index = NULL;
  cpb_index_options_init(&options, sizeof options);
  cpb_status status = check_machine(path, error);
  if (status == CPB_OK) status = cpb_check_source(source, error);
  if (status != CPB_OK) return status;
  options.cols = source->cols;
  options.dtype = source->dtype;
  options.metric = metric;
  status = cpb_index_new(&options, &index, error);
  if (status != CPB_OK) return status;
  writing w = {.index = index, .l = layout_of(index, 0, false)};
  w.l.slots = UINT64_MAX / 2; /* not known */
  status = cpb_whole_open(path, &w.file, error);
  if (status == CPB_OK && w.file.stream)
    status = refuse(path, CPB_WHY_CALL_ORDER, "an index is written to a regular file", error);
  if (status == CPB_OK) status = build(&w, index, source, exec, error);
  finish_writing(&w);
  cpb_index_free(index);
  return status;
}

/* ---- the log ---- */

/* Numbers of 8 bytes each; the checksum is of the others and those of the ids and of pieces of rows. */
typedef struct record {
  uint64_t mark, kind, count, has_ids, sequence, checksum;
} record;
_Static_assert(sizeof(record) == RECORD, "records begin with six numbers");

static uint64_t chain(uint64_t before, const void *bytes, size_t count) {
  uint64_t pair[2] = {before, cpb_checksum(bytes, count)};
  return cpb_checksum(pair, sizeof pair);
}

static uint64_t head_checksum(const record *r) { return cpb_checksum(r, offsetof(record, checksum)); }

static bool write_at(int fd, uint64_t offset, const void *bytes, size_t count) {
  for (size_t done = 0; done < count;) {
    ssize_t n = pwrite(fd, (const char *)bytes + done, count - done, (off_t)(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += (size_t)n;
  }
  return true;
}

/* Rows packed, a block at a time. */
static bool write_rows(const cpb_index_file *file, uint64_t *at, cpb_view rows, uint64_t *checksum) {
  size_t row_bytes = rows.cols * cpb_dtype_size(rows.dtype),
         stride = rows.stride * cpb_dtype_size(rows.dtype);
  size_t most = rows.rows < BLOCK ? rows.rows : BLOCK;
  char *packed = malloc(most * row_bytes + 1);
  bool fine = packed != NULL;
  for (size_t first = 0; fine && first < rows.rows; first += most) {
    size_t here = rows.rows - first < most ? rows.rows - first : most;
    for (size_t i = 0; i < here; i++)
      memcpy(packed + i * row_bytes, (const char *)rows.data + (first + i) * stride, row_bytes);
    *checksum = chain(*checksum, packed, here * row_bytes);
    fine = write_at(file->fd, *at, packed, here * row_bytes);
    *at += here * row_bytes;
  }
  free(packed);
  return fine;
}

/* The beginning of a record is written last: before it is there, the log ends before it. */
static bool write_record(cpb_index_file *file, const cpb_index_change *change) {
  record r = {record_mark, change->kind, change->count, change->ids != NULL, file->sequence + 1, 0};
  uint64_t at = file->end + RECORD, checksum = head_checksum(&r);
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

static cpb_status log_change(cpb_index *index, const cpb_index_change *change, cpb_error *error) {
  cpb_index_file *file = index->file;
  if (change->count == 0 || write_record(file, change)) return CPB_OK;
  cpb_status status = cpb_file_fail_errno(error, file->path, "write");
  if (ftruncate(file->fd, (off_t)file->end) != 0) file->broken = true;
  return status;
}

/* ---- reading the log ---- */

/* Bytes that a record has for one of its rows. */
static uint64_t unit_of(const record *r, uint64_t row_bytes) {
  return (r->has_ids != 0 ? 8 : 0) + (r->kind != CPB_CHANGE_REMOVE ? row_bytes : 0);
}

/* Whether a whole record may begin here. */
static bool is_record(const cpb_index *index, const cpb_index_file *file, const record *r, uint64_t size) {
  if (r->mark != record_mark || r->sequence != file->sequence + 1 || r->has_ids > 1) return false;
  if (r->kind < CPB_CHANGE_ADD || r->kind > CPB_CHANGE_REPLACE) return false;
  if (r->kind != CPB_CHANGE_ADD && r->has_ids == 0) return false;
  return r->count > 0 && r->count <= (size - file->end - RECORD) / unit_of(r, index->row_bytes);
}

static bool is_whole(const record *r, const char *payload, size_t row_bytes) {
  uint64_t checksum = head_checksum(r);
  if (r->has_ids != 0) checksum = chain(checksum, payload, r->count * 8);
  const char *rows = payload + (r->has_ids != 0 ? r->count * 8 : 0);
  for (uint64_t first = 0; r->kind != CPB_CHANGE_REMOVE && first < r->count; first += BLOCK) {
    uint64_t here = r->count - first < BLOCK ? r->count - first : BLOCK;
    checksum = chain(checksum, rows + first * row_bytes, here * row_bytes);
  }
  return checksum == r->checksum;
}

static cpb_status replay(cpb_index *index, const record *r, const char *payload, cpb_error *error) {
  cpb_index_change change = {.kind = (cpb_change_kind)r->kind, .count = r->count};
  if (r->has_ids != 0) change.ids = (const uint64_t *)(const void *)payload;
  if (r->kind != CPB_CHANGE_REMOVE)
    change.rows = cpb_rows(payload + (r->has_ids != 0 ? r->count * 8 : 0), index->options.dtype, r->count,
                           index->options.cols);
  return cpb_index_apply(index, &change, NULL, error);
}

/* Up to the first record that is not whole: what follows was being written when its writer ended. */
static cpb_status replay_log(cpb_index *index, cpb_index_file *file, uint64_t size, cpb_error *error) {
  cpb_status status = CPB_OK;
  record r;
  while (status == CPB_OK && size >= file->end && size - file->end >= RECORD &&
         read_at(file->fd, file->end, &r, sizeof r) && is_record(index, file, &r, size)) {
    uint64_t bytes = r.count * unit_of(&r, index->row_bytes);
    char *payload = malloc(bytes + 1);
    if (payload == NULL) return cpb_fail_memory(error, "a change of %llu rows", (unsigned long long)r.count);
    bool whole =
        read_at(file->fd, file->end + RECORD, payload, bytes) && is_whole(&r, payload, index->row_bytes);
    if (whole) status = replay(index, &r, payload, error);
    free(payload);
    if (!whole) break;
    file->end = (file->end + RECORD + bytes + 7) / 8 * 8;
    file->sequence++;
  }
  return status;
}

/* ---- opening ---- */

static cpb_status fail_shape(const cpb_index_file *file, cpb_error *error) {
  return refuse(file->path, CPB_WHY_FILE_SIZE, "its size is not the one that its head promises", error);
}

static bool fits(const cpb_index *index, const layout *l, uint64_t size) {
  uint64_t most = size / (index->row_bytes > 8 ? index->row_bytes : 1) + BLOCK;
  if (l->slots > most || l->has_ids > 1) return false;
  layout own = layout_of(index, l->slots, l->has_ids != 0);
  return own.blocks_at == l->blocks_at && own.ids_at == l->ids_at && own.log_at == l->log_at &&
         l->log_at <= size;
}

static cpb_status take_ids(cpb_index *index, const layout *l, const cpb_index_file *file, cpb_error *error) {
  const uint64_t *ids = (const uint64_t *)(const void *)((const char *)file->map + l->ids_at);
  cpb_id_map *to = &index->ids;
  if (!cpb_id_map_reserve(to, l->slots, l->has_ids != 0, index->gone))
    return cpb_fail_memory(error, "%llu ids", (unsigned long long)l->slots);
  for (size_t slot = 0; slot < l->slots; slot++) {
    if (l->has_ids != 0 &&
        (ids[slot] >= l->next_id || cpb_id_map_find(to, ids[slot], index->gone) != CPB_NO_SLOT))
      return refuse(file->path, CPB_WHY_ROW_TWICE, "it has an id twice, or one beyond its ids", error);
    cpb_id_map_add(to, l->has_ids != 0 ? ids[slot] : slot);
  }
  return CPB_OK;
}

/* Blocks in the mapped file; the last one is copied unless it is full, for rows are added to it. */
static cpb_status take_blocks(cpb_index *index, const layout *l, char *map, cpb_error *error) {
  size_t blocks = (l->slots + BLOCK - 1) / BLOCK;
  if (!cpb_blocks_reserve(index, l->slots)) return cpb_fail_memory(error, "%zu blocks of rows", blocks);
  for (size_t i = 0; i < blocks; i++) {
    cpb_index_block *block = &index->blocks[index->block_count++];
    *block = (cpb_index_block){.count = l->slots - i * BLOCK < BLOCK ? l->slots - i * BLOCK : BLOCK};
    cpb_block_place(index, block, map + rows_at(index, l, i), map + codes_at(index, l, i));
  }
  index->slots = l->slots;
  index->next_id = l->next_id;
  if (l->slots % BLOCK != 0 && !cpb_block_own(index, &index->blocks[blocks - 1]))
    return cpb_fail_memory(error, "a block of rows");
  return CPB_OK;
}

static cpb_status read_head(cpb_index_file *file, uint64_t size, cpb_index **index, layout *l,
                            cpb_error *error) {
  char begins[HEAD_AT];
  uint64_t count;
  if (size < HEAD_AT || !read_at(file->fd, 0, begins, HEAD_AT) || memcmp(begins, mark, MARK) != 0)
    return refuse(file->path, CPB_WHY_FOREIGN, "it is not an index of capball", error);
  memcpy(&count, begins + MARK, sizeof count);
  if (count > HEAD_MOST || count > size - HEAD_AT)
    return refuse(file->path, CPB_WHY_FILE_SHORT_HEADER, "it ends in its head", error);
  unsigned char *bytes = malloc(count + 1);
  if (bytes == NULL) return cpb_fail_memory(error, "the head of an index");
  cpb_state from = {
      .reading = true, .from = bytes, .left = count, .name = file->path, .status = CPB_OK, .error = error};
  cpb_status status = read_at(file->fd, HEAD_AT, bytes, count)
                          ? get_head(&from, index, l, error)
                          : cpb_file_fail_errno(error, file->path, "read");
  free(bytes);
  return status;
}

static cpb_status load(cpb_index_file *file, cpb_index **made, cpb_error *error) {
  struct stat seen;
  layout l = {0};
  if (fstat(file->fd, &seen) != 0) return cpb_file_fail_errno(error, file->path, "read");
  uint64_t size = (uint64_t)seen.st_size;
  cpb_status status = read_head(file, size, made, &l, error);
  if (status != CPB_OK) return status;
  cpb_index *index = *made;
  if (!fits(index, &l, size)) return fail_shape(file, error);
  file->mapped = l.log_at;
  file->map = mmap(NULL, file->mapped, PROT_READ, MAP_SHARED, file->fd, 0);
  if (file->map == MAP_FAILED) {
    file->map = NULL;
    return cpb_file_fail_errno(error, file->path, "map");
  }
  file->end = l.log_at;
  status = take_blocks(index, &l, file->map, error);
  if (status == CPB_OK) status = take_ids(index, &l, file, error);
  return status == CPB_OK ? replay_log(index, file, size, error) : status;
}

/* One writer: whoever holds the lock of the file that has the name. */
static cpb_status lock_file(cpb_index_file *file, cpb_error *error) {
  struct stat own, named;
  if (flock(file->fd, LOCK_EX | LOCK_NB) != 0 || fstat(file->fd, &own) != 0 ||
      stat(file->path, &named) != 0 || own.st_ino != named.st_ino || own.st_dev != named.st_dev)
    return cpb_file_fail(error, CPB_WHY_FILE_BUSY, file->path, "another program is writing to it");
  return CPB_OK;
}

static cpb_status open_file(const char *path, bool writable, cpb_index_file *file, cpb_error *error) {
  file->fd = -1;
  file->path = strdup(path);
  file->writable = writable;
  if (file->path == NULL) return cpb_fail_memory(error, "a name");
  file->fd = open(path, (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC);
  if (file->fd < 0) return cpb_file_fail_errno(error, path, "open");
  return writable ? lock_file(file, error) : CPB_OK;
}

static cpb_status rewrite(cpb_index *index, cpb_index **fresh, cpb_error *error);

static const cpb_index_file_calls file_calls = {log_change, check_writable, rewrite, close_file};

cpb_status cpb_index_open(const char *path, bool writable, cpb_index **index, cpb_error *error) {
  *index = NULL;
  if (path == NULL) return cpb_fail_missing(error, "path");
  cpb_status status = check_machine(path, error);
  cpb_index_file *file = calloc(1, sizeof *file);
  if (status == CPB_OK && file == NULL) status = cpb_fail_memory(error, "an index");
  if (status == CPB_OK) status = open_file(path, writable, file, error);
  cpb_index *made = NULL;
  if (status == CPB_OK) status = load(file, &made, error);
  if (status == CPB_OK && writable && ftruncate(file->fd, (off_t)file->end) != 0)
    status = cpb_file_fail_errno(error, path, "write");
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

/* What is written to a file that has lost its name is lost with it. */
static cpb_status rewrite(cpb_index *index, cpb_index **fresh, cpb_error *error) {
  cpb_status status = cpb_index_write_snapshot(index, index->file->path, error);
  if (status != CPB_OK) return status;
  index->file->broken = true;
  return cpb_index_open(index->file->path, true, fresh, error);
}

/* ---- saving ---- */

static bool is_own(const cpb_index *index, const char *path) {
  struct stat own, named;
  return index->file != NULL && fstat(index->file->fd, &own) == 0 && stat(path, &named) == 0 &&
         own.st_ino == named.st_ino && own.st_dev == named.st_dev;
}

cpb_status cpb_index_save(cpb_index *index, const char *path, cpb_error *error) {
  cpb_status status = CPB_OK;
  cpb_index_lock_shared(index);
  if (path != NULL && is_own(index, path))
    status = refuse(path, CPB_WHY_CALL_ORDER,
                    "the index is kept in this file: it is rewritten by compacting it", error);
  else if (path != NULL)
    status = cpb_index_write_snapshot(index, path, error);
  else if (index->file == NULL)
    status = cpb_fail_missing(error, "path");
  else if (fdatasync(index->file->fd) != 0)
    status = cpb_file_fail_errno(error, index->file->path, "write");
  cpb_index_unlock(index);
  return status;
}

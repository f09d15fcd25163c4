#define _DEFAULT_SOURCE
#include "search/index_snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/column_names.h"
#include "base/fail.h"
#include "base/state_bytes.h"
#include "search/index_blocks.h"
#include "search/index_codes.h"
#include "files/file_fail.h"
#include "files/whole_file.h"
#include "base/system_file.h"
#include "files/row_digest.h"

enum {
  BLOCK = CPB_INDEX_BLOCK,
  PAGE = CPB_FILE_PAGE,
  MARK = 16, /* bytes of the magic text; the size of the head follows in 8 bytes, then the head */
  HEAD_AT = MARK + 8,
  HEAD_MOST = 1 << 26,
};
static const char mark[MARK] = "capball index\n";
/* 1: without folds */
static const cpb_state_kind head_kind = {"cpbindex", 2, "an index", 1};

cpb_status cpb_index_check_machine(const char *path, cpb_error *error) {
  if (sizeof(size_t) == 8) return CPB_OK; /* io/format.h asserts that it is little-endian */
  return cpb_file_fail(error, CPB_WHY_BUILT_WITHOUT, path, "index files need a 64-bit machine");
}

bool cpb_read_at(int fd, uint64_t offset, void *bytes, size_t count) {
  errno = 0;
  for (size_t done = 0; done < count;) {
    int64_t n = cpb_sys_read_at(fd, offset + done, (char *)bytes + done, count - done);
    if (n <= 0) return false;
    done += (size_t)n;
  }
  return true;
}

cpb_status cpb_read_all(int fd, const char *path, uint64_t offset, void *bytes, size_t count,
                        cpb_error *error) {
  if (cpb_read_at(fd, offset, bytes, count)) return CPB_OK;
  return errno != 0 ? cpb_file_fail_errno(error, path, "read")
                    : cpb_file_fail(error, CPB_WHY_FILE_ENDS_EARLY, path, "the file is truncated");
}

/* ---- offsets ---- */

static uint64_t whole_pages(uint64_t bytes) { return (bytes + PAGE - 1) / PAGE * PAGE; }

static uint64_t segment_codes(const cpb_index *index, uint64_t blocks) {
  return whole_pages(blocks * cpb_block_code_bytes(index));
}

static uint64_t segment_records(const cpb_index *index, uint64_t blocks) {
  return whole_pages(blocks * cpb_block_record_bytes(index));
}

static uint64_t segment_bytes(const cpb_index *index) {
  return segment_codes(index, CPB_SEGMENT) + segment_records(index, CPB_SEGMENT) +
         whole_pages((uint64_t)CPB_SEGMENT * cpb_block_row_bytes(index));
}

static uint64_t segment_at(const cpb_index *index, const cpb_index_layout *l, size_t segment) {
  return l->blocks_at + segment * segment_bytes(index);
}

static uint64_t blocks_of(const cpb_index_layout *l) { return l->slots / BLOCK + (l->slots % BLOCK != 0); }

uint64_t cpb_index_layout_codes(const cpb_index *index, const cpb_index_layout *l, size_t block) {
  return segment_at(index, l, block / CPB_SEGMENT) + block % CPB_SEGMENT * cpb_block_code_bytes(index);
}

/* The last segment has codes and records for the blocks that exist. */
static uint64_t blocks_with(const cpb_index_layout *l, size_t block) {
  uint64_t left = blocks_of(l) - block / CPB_SEGMENT * CPB_SEGMENT;
  return left < CPB_SEGMENT ? left : CPB_SEGMENT;
}

uint64_t cpb_index_layout_records(const cpb_index *index, const cpb_index_layout *l, size_t block) {
  return segment_at(index, l, block / CPB_SEGMENT) + segment_codes(index, blocks_with(l, block)) +
         block % CPB_SEGMENT * cpb_block_record_bytes(index);
}

uint64_t cpb_index_layout_rows(const cpb_index *index, const cpb_index_layout *l, size_t block) {
  uint64_t blocks = blocks_with(l, block);
  return segment_at(index, l, block / CPB_SEGMENT) + segment_codes(index, blocks) +
         segment_records(index, blocks) + block % CPB_SEGMENT * cpb_block_row_bytes(index);
}

size_t cpb_index_layout_segments(const cpb_index_layout *l) {
  return (size_t)((blocks_of(l) + CPB_SEGMENT - 1) / CPB_SEGMENT);
}

cpb_file_part cpb_index_layout_part(const cpb_index *index, const cpb_index_layout *l, size_t part) {
  size_t segments = cpb_index_layout_segments(l);
  if (part == segments) return (cpb_file_part){l->ids_at, l->sums_at};
  return (cpb_file_part){segment_at(index, l, part),
                         part + 1 < segments ? segment_at(index, l, part + 1) : l->ids_at};
}

/* With a zero after each; 0: there are none. */
static size_t names_bytes(const cpb_index *index) {
  const char *const *names = index->options.columns;
  size_t bytes = 0;
  for (size_t k = 0; names != NULL && k < index->options.cols; k++) bytes += strlen(names[k]) + 1;
  return bytes;
}

static uint64_t head_bytes(const cpb_index *index) {
  size_t names = names_bytes(index);
  size_t fold = index->fold != NULL ? index->fold->directions * index->options.cols * 4 : 0;
  return 8 + 4 + 4 * 8 + 8 * 8 + 4 * 8 + index->options.cols * 8 + 2 * CPB_INDEX_LEVELS * 8 + fold +
         cpb_codes_columns(index) * 8 + (names > 0 ? 8 + names : 0) + (index->options.keys ? 8 : 0) + 8;
}

static cpb_index_layout layout_behind(const cpb_index *index, uint64_t head, uint64_t slots,
                                      cpb_ids_kind ids_kind, uint64_t key_bytes) {
  cpb_index_layout l = {
      .slots = slots, .next_id = index->next_id, .ids_kind = ids_kind, .head = head, .key_bytes = key_bytes};
  l.blocks_at = l.ids_at = whole_pages(HEAD_AT + head);
  if (slots > 0) {
    size_t last = (size_t)blocks_of(&l) - 1;
    l.ids_at = whole_pages(cpb_index_layout_rows(index, &l, last) +
                           (slots - (uint64_t)last * BLOCK) * index->row_bytes);
  }
  l.keys_at = whole_pages(l.ids_at + (ids_kind == CPB_IDS_NUMBERS ? 0 : 8 * slots));
  l.sums_at = whole_pages(l.keys_at + (index->options.keys ? cpb_key_part_bytes(slots, key_bytes) : 0));
  l.log_at = whole_pages(l.sums_at + (cpb_index_layout_segments(&l) + 1) * sizeof(cpb_page_sum));
  return l;
}

cpb_index_layout cpb_index_layout_of(const cpb_index *index, uint64_t slots, cpb_ids_kind ids_kind,
                                     uint64_t key_bytes) {
  return layout_behind(index, head_bytes(index), slots, ids_kind, key_bytes);
}

bool cpb_index_layout_fits(const cpb_index *index, cpb_index_layout *l, uint64_t size) {
  uint64_t most = size / (index->row_bytes > 8 ? index->row_bytes : 1) + BLOCK;
  if (l->slots > most || l->ids_kind > CPB_IDS_RISING || l->key_bytes > size) return false;
  cpb_index_layout own = layout_behind(index, l->head, l->slots, (cpb_ids_kind)l->ids_kind, l->key_bytes);
  l->keys_at = own.keys_at;
  return own.blocks_at == l->blocks_at && own.ids_at == l->ids_at && own.sums_at == l->sums_at &&
         own.log_at == l->log_at && l->log_at <= size;
}

/* ---- checksums ---- */

static cpb_status add_pages(int fd, const char *path, cpb_file_part part, cpb_row_digest *digest,
                            cpb_error *error) {
  enum { AT_ONCE = 256 };
  unsigned char *pages = malloc(AT_ONCE * PAGE);
  if (pages == NULL) return cpb_fail_memory(error, "pages of a file");
  cpb_status status = CPB_OK;
  size_t count = (size_t)((part.end - part.begin) / PAGE);
  for (size_t first = 0; status == CPB_OK && first < count; first += AT_ONCE) {
    size_t here = count - first < AT_ONCE ? count - first : AT_ONCE;
    status = cpb_read_all(fd, path, part.begin + first * PAGE, pages, here * PAGE, error);
    if (status == CPB_OK) (void)cpb_row_digest_add(digest, first, cpb_rows(pages, CPB_U8, here, PAGE));
  }
  free(pages);
  return status;
}

cpb_status cpb_page_sum_of(int fd, const char *path, cpb_file_part part, cpb_page_sum *sum,
                           cpb_error *error) {
  cpb_row_digest digest = {0};
  cpb_status status = cpb_row_digest_begin(&digest, CPB_U8, PAGE, error);
  if (status == CPB_OK) status = add_pages(fd, path, part, &digest, error);
  if (status == CPB_OK) cpb_row_digest_finish(&digest, (part.end - part.begin) / PAGE, sum->half);
  cpb_row_digest_free(&digest);
  return status;
}

/* ---- the head ---- */

enum { HAS_CODES = 1, HAS_NAMES = 2, HAS_KEYS = 4 };

typedef struct head {
  const cpb_index *index;
  const cpb_index_layout *l;
} head;

static void put_names(cpb_state *s, const cpb_index *index) {
  const char *const *names = index->options.columns;
  if (names == NULL) return;
  cpb_state_size(s, names_bytes(index));
  for (size_t k = 0; k < index->options.cols; k++) {
    const char *next = names[k];
    do cpb_state_number(s, (unsigned char)*next, 1);
    while (*next++ != 0);
  }
}

static void put_fold(cpb_state *s, const cpb_index *index) {
  const cpb_fold *fold = index->fold;
  for (size_t i = 0; i < CPB_INDEX_LEVELS; i++) cpb_state_number(s, index->options.levels[i], 8);
  for (size_t i = 0; i < CPB_INDEX_LEVELS; i++) cpb_state_number(s, fold != NULL ? fold->end[i] : 0, 8);
  for (size_t i = 0; fold != NULL && i < fold->directions * fold->d; i++)
    cpb_state_float(s, (float)fold->wide[i]);
}

static void put_head(cpb_state *s, void **object) {
  const head *h = *object;
  const cpb_index *index = h->index;
  const cpb_index_layout *l = h->l;
  const uint64_t numbers[] = {index->options.cols,
                              (uint64_t)index->options.dtype,
                              (uint64_t)index->options.metric,
                              (index->bytes ? HAS_CODES : 0) |
                                  (index->options.columns != NULL ? HAS_NAMES : 0) |
                                  (index->options.keys ? HAS_KEYS : 0),
                              l->slots,
                              l->next_id,
                              l->ids_kind,
                              l->blocks_at,
                              l->ids_at,
                              l->sums_at,
                              l->log_at,
                              l->sums_checksum,
                              index->prepared,
                              (uint64_t)(int64_t)index->float_filter.exponent,
                              (uint64_t)index->byte_filter.kind};
  cpb_state_begin(s, &head_kind);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) cpb_state_number(s, numbers[i], 8);
  cpb_state_double(s, index->byte_filter.usual_reach);
  cpb_state_doubles(s, index->center, index->options.cols);
  put_fold(s, index);
  for (size_t k = 0; k < cpb_codes_columns(index); k++)
    cpb_state_double(s, (double)index->byte_filter.center[k]);
  put_names(s, index);
  if (index->options.keys) cpb_state_number(s, l->key_bytes, 8);
  cpb_state_end(s);
}

cpb_status cpb_head_write(const cpb_index *index, const cpb_index_layout *l, const cpb_whole *file,
                          cpb_error *error) {
  head h = {index, l};
  void *bytes;
  size_t count;
  cpb_status status = cpb_state_write(put_head, &h, &bytes, &count, error);
  if (status != CPB_OK) return status;
  uint64_t size = count;
  if (size > HEAD_MOST)
    status =
        cpb_file_fail(error, CPB_WHY_FILE_LIMIT, file->path,
                      "its columns and their names take %llu bytes, the header of an index has at most %d",
                      (unsigned long long)size, HEAD_MOST);
  if (status == CPB_OK) status = cpb_whole_write_at(file, 0, mark, MARK, error);
  if (status == CPB_OK) status = cpb_whole_write_at(file, MARK, &size, sizeof size, error);
  if (status == CPB_OK) status = cpb_whole_write_at(file, HEAD_AT, bytes, count, error);
  free(bytes);
  return status;
}

/* Directions of a fold, which may be of any file: a fold needs nothing of them but their norm. */
static void get_directions(cpb_state *from, cpb_index *index, const cpb_fold_levels *levels) {
  size_t d = index->options.cols, count = levels->directions[cpb_fold_levels_count(levels) - 1];
  bool contracts = index->bytes && from->left / 4 / d >= count;
  float *directions = contracts ? malloc(count * d * sizeof *directions) : NULL;
  for (size_t i = 0; directions != NULL && i < count * d; i++) directions[i] = cpb_state_float(from, 0);
  cpb_fold *fold =
      directions == NULL ? NULL : cpb_fold_new(index->options.metric, d, levels, directions, &contracts);
  free(directions);
  if (!contracts)
    cpb_state_refuse(from, "the directions of its fold are damaged");
  else if (fold == NULL || !cpb_codes_set_fold(index, fold))
    cpb_state_no_memory(from, "directions", count);
}

static void get_fold(cpb_state *from, cpb_index *index) {
  cpb_fold_levels asked, levels;
  if (from->version < 2) return;
  for (size_t i = 0; i < CPB_INDEX_LEVELS; i++) asked.directions[i] = (size_t)cpb_state_number(from, 0, 8);
  for (size_t i = 0; i < CPB_INDEX_LEVELS; i++) levels.directions[i] = (size_t)cpb_state_number(from, 0, 8);
  bool chosen = cpb_fold_levels_fit(&asked, index->options.cols);
  if (!chosen) asked = (cpb_fold_levels){{CPB_INDEX_UNFOLDED}};
  memcpy(index->options.levels, asked.directions, sizeof asked.directions);
  if (from->status != CPB_OK) return;
  if (!cpb_fold_levels_fit(&levels, index->options.cols))
    cpb_state_refuse(from, "the levels of its fold are damaged");
  else if (levels.directions[0] > 0)
    get_directions(from, index, &levels);
}

static void get_centers(cpb_state *from, cpb_index *index) {
  size_t d = index->options.cols;
  index->prepared = cpb_state_size(from, 0);
  int64_t exponent = (int64_t)cpb_state_number(from, 0, 8);
  uint64_t kind = cpb_state_number(from, 0, 8);
  double reach = cpb_state_double(from, 0);
  for (size_t k = 0; k < d; k++) index->center[k] = cpb_state_double(from, 0);
  get_fold(from, index);
  if (from->status != CPB_OK) return;
  for (size_t k = 0; k < cpb_codes_columns(index); k++)
    index->byte_filter.center[k] = (float)cpb_state_double(from, 0);
  for (size_t k = 0; index->center_f32 != NULL && k < d; k++) index->center_f32[k] = (float)index->center[k];
  if (from->status != CPB_OK) return;
  if (kind > CPB_BYTE_FILTER_I8 || (index->fold != NULL && kind > CPB_BYTE_FILTER_FLOATS) ||
      exponent < -1000 || exponent > 1000) {
    cpb_state_refuse(from, "its codes are of an unknown kind");
    return;
  }
  cpb_float_filter_set(&index->float_filter, index->options.metric, d, (int)exponent, index->center,
                       index->center_f32);
  cpb_byte_filter_restore(&index->byte_filter, (cpb_byte_filter_kind)kind, reach);
}

static void get_names(cpb_state *from, cpb_index *index) {
  size_t bytes = cpb_state_count(from, 0, 1), d = index->options.cols, count = 0;
  const char *text = (const char *)from->from;
  const char **names = calloc(d, sizeof *names);
  if (names == NULL) cpb_state_no_memory(from, "names of columns", d);
  for (size_t at = 0; names != NULL && at < bytes && count < d; at += strnlen(text + at, bytes - at) + 1)
    names[count++] = text + at;
  if (from->status == CPB_OK &&
      (count < d || text[bytes - 1] != 0 || names[d - 1] + strlen(names[d - 1]) + 1 != text + bytes))
    cpb_state_refuse(from, "the names of its columns are damaged");
  if (from->status == CPB_OK) {
    from->from += bytes;
    from->left -= bytes;
    if (!cpb_column_names_copy(names, d, &index->options.columns))
      cpb_state_no_memory(from, "names of columns", d);
  }
  free(names);
}

static cpb_status get_head(cpb_state *from, cpb_index **index, cpb_index_layout *l, cpb_error *error) {
  cpb_index_options options;
  cpb_index_options_init(&options, sizeof options);
  cpb_state_begin(from, &head_kind);
  options.cols = cpb_state_size(from, 0);
  uint64_t dtype = cpb_state_number(from, 0, 8), metric = cpb_state_number(from, 0, 8),
           has = cpb_state_number(from, 0, 8);
  if (from->status != CPB_OK) return from->status;
  if (options.cols == 0 || dtype > CPB_I8 || metric >= CPB_METRICS || from->left / 12 < options.cols)
    return cpb_file_fail(error, CPB_WHY_FILE_COLUMNS, from->name, "its header is not that of an index");
  options.dtype = (cpb_dtype)dtype;
  options.metric = (cpb_metric)metric;
  options.keys = (has & HAS_KEYS) != 0;
  cpb_status status = cpb_index_new(&options, index, error);
  if (status != CPB_OK) return status;
  if ((has & ~(uint64_t)(HAS_NAMES | HAS_KEYS)) != ((*index)->bytes ? HAS_CODES : 0))
    cpb_state_refuse(from, "this version does not read its codes");
  uint64_t *numbers[] = {&l->slots,  &l->next_id, &l->ids_kind, &l->blocks_at,
                         &l->ids_at, &l->sums_at, &l->log_at,   &l->sums_checksum};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) *numbers[i] = cpb_state_number(from, 0, 8);
  get_centers(from, *index);
  if ((has & HAS_NAMES) != 0) get_names(from, *index);
  if ((has & HAS_KEYS) != 0) l->key_bytes = cpb_state_number(from, 0, 8);
  cpb_state_end(from);
  return from->status;
}

cpb_status cpb_head_read(int fd, const char *path, uint64_t size, cpb_index **index, cpb_index_layout *l,
                         cpb_error *error) {
  char begins[HEAD_AT];
  uint64_t count;
  cpb_status status = CPB_OK;
  if (size >= HEAD_AT) status = cpb_read_all(fd, path, 0, begins, HEAD_AT, error);
  if (status != CPB_OK) return status;
  if (size < HEAD_AT || memcmp(begins, mark, MARK) != 0)
    return cpb_file_fail(error, CPB_WHY_FOREIGN, path, "this is not an index of capball");
  memcpy(&count, begins + MARK, sizeof count);
  if (count > HEAD_MOST || count > size - HEAD_AT)
    return cpb_file_fail(error, CPB_WHY_FILE_SHORT_HEADER, path, "the file is truncated within its header");
  unsigned char *bytes = malloc(count + 1);
  if (bytes == NULL) return cpb_fail_memory(error, "the header of an index");
  cpb_state from = {
      .reading = true, .from = bytes, .left = count, .name = path, .status = CPB_OK, .error = error};
  status = cpb_read_all(fd, path, HEAD_AT, bytes, count, error);
  if (status == CPB_OK) status = get_head(&from, index, l, error);
  l->head = count;
  free(bytes);
  return status;
}

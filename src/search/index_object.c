/* The index object: adding, removing and replacing rows, compaction. */
#define _POSIX_C_SOURCE 200809L
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/column_names.h"
#include "base/fail.h"
#include "base/rows.h"
#include "base/sized.h"
#include "base/memory.h"
#include "search/index_blocks.h"
#include "search/index_object.h"
#include "search/index_codes.h"
#include "search/index_scratch.h"
#include "base/blocks.h"
#include "base/system_thread.h"
#include "base/tell.h"

enum {
  BLOCK = CPB_INDEX_BLOCK,
  PANEL = CPB_INDEX_PANEL,
  FEW_COLUMNS = 32,   /* codes of shorter rows do not separate them */
  SAMPLE = 1024,      /* rows from which centres and folds are chosen */
  SETTLED = 4096,     /* chosen from at least this many rows it is final; otherwise it is chosen again .. */
  GROWTH = 4,         /* .. when the number of rows has grown by this factor */
  FEW_REMOVED = 1024, /* rows, which are not worth a compaction */
  PAUSE = 1000        /* changes */
};

static const cpb_index_options defaults = {.size = sizeof(cpb_index_options)};

void cpb_index_options_init(cpb_index_options *options, size_t size) {
  cpb_sized_init(options, size, &defaults, sizeof defaults);
}

/* ---- the object ---- */

void cpb_index_lock_shared(const cpb_index *index) {
  cpb_mutex_lock(&index->shared->writer_gate);
  cpb_shared_lock_share(&index->shared->lock);
  cpb_mutex_unlock(&index->shared->writer_gate);
}

void cpb_index_lock_alone(const cpb_index *index) {
  cpb_mutex_lock(&index->shared->writer_gate);
  cpb_shared_lock_take(&index->shared->lock);
  cpb_mutex_unlock(&index->shared->writer_gate);
}

void cpb_index_unlock(const cpb_index *index) { cpb_shared_lock_release(&index->shared->lock); }

cpb_status cpb_index_check_open(const cpb_index *index, cpb_error *error) {
  return index->closed ? cpb_fail(error, CPB_WHY_CALL_ORDER, "index", "the index is closed") : CPB_OK;
}

static cpb_status check_options(const cpb_index_options *options, cpb_error *error) {
  if (options->cols == 0) return cpb_fail_no_columns(error, "cols");
  if ((unsigned)options->metric >= CPB_METRICS) return cpb_fail_choice(error, "metric", (int)options->metric);
  if ((unsigned)options->dtype > CPB_I8) return cpb_fail_dtype(error, "dtype", options->dtype);
  cpb_fold_levels levels;
  memcpy(levels.directions, options->levels, sizeof levels.directions);
  if (options->levels[0] != CPB_INDEX_UNFOLDED && !cpb_fold_levels_fit(&levels, options->cols))
    return cpb_fail_count(
        error, "levels", options->levels[0],
        "levels must ascend, the first below the number of columns and at most %d, the last at most "
        "that number and %d",
        CPB_FOLD_FIRST, CPB_FOLD_MOST);
  return options->cols <= SIZE_MAX / BLOCK / 64
             ? CPB_OK
             : cpb_fail_count(error, "cols", options->cols, "rows must fit in memory");
}

static bool make_shared(cpb_index *index) {
  cpb_index_shared *shared = calloc(1, sizeof *shared);
  if (shared == NULL) return false;
  bool writer_gate = cpb_mutex_init(&shared->writer_gate);
  bool scratch = writer_gate && cpb_mutex_init(&shared->scratch_lock);
  bool changes = scratch && cpb_mutex_init(&shared->change_lock);
  if (changes && cpb_shared_lock_init(&shared->lock)) {
    index->shared = shared;
    return true;
  }
  if (changes) cpb_mutex_free(&shared->change_lock);
  if (scratch) cpb_mutex_free(&shared->scratch_lock);
  if (writer_gate) cpb_mutex_free(&shared->writer_gate);
  free(shared);
  return false;
}

static void free_shared(cpb_index *index) {
  if (index->shared == NULL) return;
  cpb_scratch_free_all(index);
  cpb_shared_lock_free(&index->shared->lock);
  cpb_mutex_free(&index->shared->change_lock);
  cpb_mutex_free(&index->shared->scratch_lock);
  cpb_mutex_free(&index->shared->writer_gate);
  free(index->shared);
}

static bool fill(cpb_index *index, const cpb_index_options *options) {
  size_t d = options->cols;
  index->options = *options;
  if (!cpb_column_names_copy(options->columns, d, &index->options.columns)) return false;
  index->row_bytes = d * cpb_dtype_size(options->dtype);
  index->bytes = d >= FEW_COLUMNS && d <= CPB_GRID_MOST;
  index->float_filter.loops = cpb_loops_here();
  index->float_filter.metric = options->metric;
  index->float_filter.d = d;
  index->center = cpb_zero_lines(d, sizeof *index->center);
  if (options->dtype != CPB_F64) index->center_f32 = cpb_zero_lines(d, sizeof *index->center_f32);
  if (index->center == NULL || (options->dtype != CPB_F64 && index->center_f32 == NULL)) return false;
  return cpb_byte_filter_new(&index->byte_filter, &index->float_filter, 1) && make_shared(index);
}

cpb_status cpb_index_new(const cpb_index_options *given, cpb_index **index, cpb_error *error) {
  cpb_index_options options = defaults;
  if (given == NULL || index == NULL) return cpb_fail_missing(error, index == NULL ? "index" : "options");
  *index = NULL;
  cpb_status status = cpb_sized_take(&options, sizeof options, given, "cpb_index_options", error);
  if (status == CPB_OK) status = check_options(&options, error);
  if (status != CPB_OK) return status;
  cpb_index *made = calloc(1, sizeof *made);
  if (made != NULL && fill(made, &options)) {
    *index = made;
    return CPB_OK;
  }
  cpb_index_free(made);
  return cpb_fail_memory(error, "an index");
}

void cpb_index_free(cpb_index *index) {
  if (index == NULL) return;
  cpb_blocks_free(index);
  if (index->file != NULL) index->file_calls->close(index->file);
  cpb_coder_free(index->coder);
  cpb_byte_filter_free(&index->byte_filter);
  cpb_fold_free(index->fold);
  free(index->center);
  free(index->center_f32);
  cpb_column_names_free(index->options.columns);
  free_shared(index);
  free(index);
}

/* ---- codes of new rows ---- */

/* Rows that are to be copied, or borrowed, to the slots from `first` on. */
typedef struct added {
  size_t first;
  cpb_view view;
} added;

static const char *added_row(const added *rows, size_t slot) {
  return (const char *)rows->view.data +
         (slot - rows->first) * rows->view.stride * cpb_dtype_size(rows->view.dtype);
}

/* The block that this thread is likely to take next. Its floats are read from memory while the codes of a block are
 * computed, when the memory would be idle. */
static cpb_view next_rows(const added *rows, size_t block, size_t threads) {
  const size_t first = (block + threads) * BLOCK;
  bool given = first >= rows->first && first + BLOCK <= rows->first + rows->view.rows;
  return given && rows->view.dtype == CPB_F32 ? cpb_view_slice(rows->view, first - rows->first, BLOCK)
                                              : (cpb_view){0};
}

/* Those of a block that are to be copied: none of a full block of borrowed rows, or whose codes are all of them. */
static cpb_rows_copy take_rows(const cpb_index *index, const added *rows, size_t block, size_t threads) {
  size_t first = block * BLOCK, end = first + index->blocks[block].count;
  size_t from = first < rows->first ? rows->first : first;
  bool dense = rows->view.stride == rows->view.cols;
  cpb_rows_copy copy = {.next = next_rows(rows, block, threads)};
  if (from >= end) return copy;
  if ((index->options.borrow || cpb_codes_are_rows(index)) && dense && end - from == BLOCK) {
    index->blocks[block].rows = (char *)(uintptr_t)added_row(rows, from);
    return copy;
  }
  copy.from = added_row(rows, from);
  copy.stride = rows->view.stride * cpb_dtype_size(rows->view.dtype);
  copy.first = from - first;
  copy.end = end - first;
  return copy;
}

/* Takes rows and computes the codes of blocks, or checks them, the first of them from a panel on. */
typedef struct coding {
  cpb_index *index;
  added rows;
  size_t first_block, first_panel, threads;
  cpb_mutex lock;
  cpb_coder *idle[64];
  size_t idle_count;
  cpb_first_fault fault; /* of the added rows */
  atomic_bool out_of_memory, damaged;
} coding;

static cpb_coder *take_coder(coding *c) {
  cpb_mutex_lock(&c->lock);
  cpb_coder *coder = c->idle_count > 0 ? c->idle[--c->idle_count] : NULL;
  cpb_mutex_unlock(&c->lock);
  return coder != NULL ? coder : cpb_coder_new(c->index);
}

static void give_coder(coding *c, cpb_coder *coder) {
  cpb_mutex_lock(&c->lock);
  bool kept = c->idle_count < sizeof c->idle / sizeof *c->idle;
  if (kept) c->idle[c->idle_count++] = coder;
  cpb_mutex_unlock(&c->lock);
  if (!kept) cpb_coder_free(coder);
}

static void code_block(void *arg, size_t task) {
  coding *c = arg;
  size_t block = c->first_block + task, row;
  cpb_coder *coder = c->index->bytes ? take_coder(c) : NULL;
  cpb_index_block *of = &c->index->blocks[block];
  cpb_rows_copy copy = take_rows(c->index, &c->rows, block, c->threads);
  if (c->index->bytes && coder == NULL) {
    atomic_store(&c->out_of_memory, true);
    return;
  }
  int fault =
      of->rows == NULL ? 0 : cpb_coder_run(coder, c->index, of, &copy, task == 0 ? c->first_panel : 0, &row);
  if (cpb_codes_are_rows(c->index) && of->rows != of->room && !c->index->options.borrow) of->rows = NULL;
  if (fault != 0 && block * BLOCK + row < c->rows.first)
    atomic_store(&c->damaged, true);
  else if (fault != 0)
    cpb_record_fault(&c->fault, block * BLOCK + row - c->rows.first, fault);
  if (coder != NULL) give_coder(c, coder);
}

/* From rows at regular distances, removed or not, of `slots` with the added ones. There is a coder for the codes of now, with
 * which they can be computed again if this fails. */
static bool prepare(cpb_index *index, const added *rows, size_t slots) {
  size_t step = 1 + (slots - 1) / SAMPLE, count = 0;
  for (size_t i = 0; i < index->block_count; i++)
    if (!cpb_block_copy_to_memory(index, &index->blocks[i])) return false;
  if (index->coder == NULL && index->block_count > 0) index->coder = cpb_coder_new(index);
  char *sample = malloc(SAMPLE * index->row_bytes);
  cpb_row_buffer buffer;
  if (sample == NULL || (index->coder == NULL && index->block_count > 0)) {
    free(sample);
    return false;
  }
  for (size_t slot = 0; slot < slots; slot += step)
    memcpy(sample + count++ * index->row_bytes,
           slot < rows->first ? cpb_slot_row(index, slot, &buffer) : added_row(rows, slot), index->row_bytes);
  bool made =
      cpb_codes_prepare(index, cpb_rows(sample, index->options.dtype, count, index->options.cols), slots);
  free(sample);
  index->prepared = slots;
  return made;
}

/* Before rows are added to those of the index: chooses the centre if that is due. */
static cpb_status choose_centre(cpb_index *index, const added *rows, cpb_error *error) {
  size_t slots = rows->first + rows->view.rows;
  bool due = index->bytes &&
             (index->prepared == 0 || (index->prepared < SETTLED && slots >= GROWTH * index->prepared));
  return !due || prepare(index, rows, slots) ? CPB_OK : cpb_fail_memory(error, "a sample of the rows");
}

/* EROW counts the added rows; those before them were valid when they were added. */
static cpb_status code_from(cpb_index *index, const added *rows, size_t first, const cpb_exec *exec,
                            cpb_error *error) {
  coding c = {.index = index,
              .rows = *rows,
              .first_block = first / BLOCK,
              .first_panel = first % BLOCK / PANEL,
              .threads = cpb_exec_threads(exec)};
  if (first == index->slots) return CPB_OK;
  cpb_mutex_init(&c.lock);
  if (index->coder != NULL) c.idle[c.idle_count++] = index->coder;
  cpb_status status = cpb_exec_run_told(exec, index->block_count - c.first_block, code_block, &c, error);
  index->coder = c.idle_count > 0 ? c.idle[--c.idle_count] : NULL;
  while (c.idle_count > 0) cpb_coder_free(c.idle[--c.idle_count]);
  cpb_mutex_free(&c.lock);
  if (status == CPB_OK && atomic_load(&c.out_of_memory)) status = cpb_fail_memory(error, "codes of rows");
  if (status == CPB_OK && atomic_load(&c.damaged))
    status = cpb_fail(error, CPB_WHY_CHECKSUM, "index",
                      "rows of the index have changed: its file is damaged, or the rows it borrows");
  return status == CPB_OK ? cpb_first_fault_report(&c.fault, "rows", error) : status;
}

/* ---- calls ---- */

static cpb_status check_rows(const cpb_index *index, cpb_view rows, cpb_error *error) {
  cpb_status status = cpb_check_view(rows, "rows", index->options.cols, error);
  if (status != CPB_OK) return status;
  if (rows.dtype == index->options.dtype) return CPB_OK;
  return cpb_fail(error, CPB_WHY_DTYPE_OTHER, "rows", "rows is %s, the index holds %s",
                  cpb_dtype_name(rows.dtype), cpb_dtype_name(index->options.dtype));
}

static int compare_ids(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* EINVAL if an id occurs twice. */
static cpb_status check_once(const uint64_t *ids, size_t count, cpb_error *error) {
  uint64_t *sorted = malloc((count + 1) * sizeof *sorted);
  if (sorted == NULL) return cpb_fail_memory(error, "%zu ids", count);
  cpb_status status = CPB_OK;
  if (count > 0) memcpy(sorted, ids, count * sizeof *sorted);
  qsort(sorted, count, sizeof *sorted, compare_ids);
  for (size_t i = 1; status == CPB_OK && i < count; i++)
    if (sorted[i] == sorted[i - 1])
      status =
          cpb_fail(error, CPB_WHY_ROW_TWICE, "ids", "id %llu is given twice", (unsigned long long)sorted[i]);
  free(sorted);
  return status;
}

/* Ids of an ADD are not in the index, those of a PUT may be. */
static cpb_status check_ids(const cpb_index *index, const uint64_t *ids, size_t count, cpb_change_kind kind,
                            cpb_error *error) {
  bool present = kind != CPB_CHANGE_ADD;
  cpb_status status = check_once(ids, count, error);
  for (size_t i = 0; status == CPB_OK && i < count; i++) {
    bool found = cpb_id_map_find(&index->ids, ids[i], index->removed_bits) != CPB_NO_SLOT;
    if (kind != CPB_CHANGE_PUT && found != present)
      status =
          cpb_fail(error, present ? CPB_WHY_NO_SUCH_ROW : CPB_WHY_ROW_TWICE, "ids", "id %llu is %s the index",
                   (unsigned long long)ids[i], present ? "not in" : "already in");
    else if (ids[i] == UINT64_MAX)
      status = cpb_fail(error, CPB_WHY_NO_SUCH_ROW, "ids", "the id %llu is reserved for \"no row\"",
                        (unsigned long long)ids[i]);
  }
  return status;
}

static void number_rows(cpb_index *index, const uint64_t *ids, size_t count) {
  if (ids == NULL && index->ids.ids == NULL) { /* row numbers are not stored */
    index->ids.slots += count;
    index->next_id += count;
    return;
  }
  for (size_t i = 0; i < count; i++) {
    uint64_t id = ids != NULL ? ids[i] : index->next_id;
    cpb_id_map_add(&index->ids, id);
    if (id >= index->next_id) index->next_id = id + 1;
  }
}

static const char *given_key(const cpb_index_keys *keys, size_t i, size_t *bytes) {
  *bytes = (size_t)(keys->offsets[i + 1] - keys->offsets[i]);
  return keys->text + keys->offsets[i];
}

/* The key of row i of a change: a new one, or that of the row it replaces. */
static const char *key_of_change(const cpb_index *index, const cpb_index_change *change, size_t i,
                                 size_t *bytes) {
  if (change->keys != NULL) return given_key(change->keys, i, bytes);
  size_t slot = cpb_id_map_find(&index->ids, change->ids[i], index->removed_bits);
  return cpb_key_map_key(&index->keys, slot, bytes);
}

/* Room for the keys that a change adds. */
static bool reserve_keys(cpb_index *index, const cpb_index_change *change) {
  uint64_t all = 0;
  size_t bytes;
  for (size_t i = 0; index->options.keys && i < change->count; i++)
    (void)key_of_change(index, change, i, &bytes), all += bytes;
  return !index->options.keys || cpb_key_map_reserve(&index->keys, change->count, all);
}

/* Keys before numbers, which would be found instead of those of the rows that are replaced. */
static void name_rows(cpb_index *index, const cpb_index_change *change) {
  size_t bytes;
  for (size_t i = 0; index->options.keys && i < change->count; i++) {
    const char *key = key_of_change(index, change, i, &bytes);
    cpb_key_map_add(&index->keys, key, bytes);
  }
  number_rows(index, change->ids, change->count);
}

/* Removes what was appended after `slots`. Codes of the rows before cannot fail: they have had some. */
static void take_back(cpb_index *index, size_t slots, size_t prepared) {
  cpb_blocks_drop(index, slots);
  if (slots == 0) index->prepared = 0;
  if (slots > 0 && index->bytes)
    (void)code_from(index, &(added){.first = slots}, index->prepared != prepared ? 0 : slots / PANEL * PANEL,
                    NULL, NULL);
}

static cpb_status add_rows(cpb_index *index, const cpb_index_change *change, const cpb_exec *exec,
                           cpb_error *error) {
  const cpb_view rows = change->rows;
  const uint64_t *ids = change->ids;
  size_t before = index->slots, prepared = index->prepared;
  cpb_status status = CPB_OK;
  if (rows.rows == 0) return CPB_OK;
  if (ids == NULL && rows.rows > UINT64_MAX - index->next_id)
    return cpb_fail(error, CPB_WHY_NO_SUCH_ROW, "ids", "no ids are left after %llu: pass ids",
                    (unsigned long long)index->next_id - 1);
  if (!cpb_blocks_reserve(index, before + rows.rows) ||
      !cpb_id_map_reserve(&index->ids, ids, index->next_id, rows.rows, index->removed_bits) ||
      !reserve_keys(index, change))
    return cpb_fail_memory(error, "%zu rows", rows.rows);
  const added now = {before, rows};
  status = choose_centre(index, &now, error);
  if (status == CPB_OK && !cpb_blocks_extend(index, rows.rows))
    status = cpb_fail_memory(error, "%zu rows", rows.rows);
  if (status == CPB_OK)
    status = code_from(index, &now, index->prepared != prepared ? 0 : before / PANEL * PANEL, exec, error);
  if (status == CPB_OK) {
    name_rows(index, change);
    return CPB_OK;
  }
  take_back(index, before, prepared);
  return status;
}

static void undo_add(cpb_index *index, size_t slots, size_t prepared, uint64_t next_id) {
  cpb_id_map_shrink(&index->ids, slots);
  cpb_key_map_shrink(&index->keys, slots);
  index->next_id = next_id;
  take_back(index, slots, prepared);
}

static cpb_status log_change(cpb_index *index, const cpb_index_change *change, cpb_error *error) {
  return index->file == NULL ? CPB_OK : index->file_calls->log(index, change, error);
}

static cpb_status check_writable(const cpb_index *index, cpb_error *error) {
  return index->file == NULL ? cpb_index_check_open(index, error)
                             : index->file_calls->check_writable(index, error);
}

static cpb_status add_logged(cpb_index *index, const cpb_index_change *change, const cpb_exec *exec,
                             cpb_error *error) {
  size_t slots = index->slots, prepared = index->prepared;
  uint64_t next_id = index->next_id;
  cpb_status status = add_rows(index, change, exec, error);
  if (status != CPB_OK) return status;
  status = log_change(index, change, error);
  if (status != CPB_OK) undo_add(index, slots, prepared, next_id);
  return status;
}

static void mark_removed(cpb_index *index, size_t slot) {
  index->removed_bits[slot / 64] |= (uint64_t)1 << slot % 64;
  index->removed++;
}

static cpb_status remove_logged(cpb_index *index, const cpb_index_change *change, cpb_error *error) {
  cpb_status status = log_change(index, change, error);
  for (size_t i = 0; status == CPB_OK && i < change->count; i++)
    mark_removed(index, cpb_id_map_find(&index->ids, change->ids[i], index->removed_bits));
  return status;
}

/* Of a REPLACE or PUT: the new rows are added before the old ones, if there are, are removed, so that a failure leaves the
 * old ones. */
static cpb_status put_logged(cpb_index *index, const cpb_index_change *change, const cpb_exec *exec,
                             cpb_error *error) {
  size_t *old = malloc((change->count + 1) * sizeof *old);
  if (old == NULL) return cpb_fail_memory(error, "%zu rows", change->count);
  for (size_t i = 0; i < change->count; i++)
    old[i] = cpb_id_map_find(&index->ids, change->ids[i], index->removed_bits);
  cpb_status status = add_logged(index, change, exec, error);
  for (size_t i = 0; status == CPB_OK && i < change->count; i++)
    if (old[i] != CPB_NO_SLOT) mark_removed(index, old[i]);
  free(old);
  return status;
}

static cpb_status apply_checked(cpb_index *index, const cpb_index_change *change, const cpb_exec *exec,
                                cpb_error *error) {
  switch (change->kind) {
  case CPB_CHANGE_ADD: return add_logged(index, change, exec, error);
  case CPB_CHANGE_REMOVE: return remove_logged(index, change, error);
  default: return put_logged(index, change, exec, error);
  }
}

/* ids: as many as keys. Keys in the index have an id, the others get the next ones. */
static cpb_status ids_of_keys(const cpb_index *index, const cpb_index_change *change, uint64_t *ids,
                              cpb_error *error) {
  uint64_t next = index->next_id;
  for (size_t i = 0; i < change->count; i++) {
    size_t bytes;
    const char *key = given_key(change->keys, i, &bytes);
    size_t slot = cpb_key_map_find(&index->keys, key, bytes, index->removed_bits);
    if (slot != CPB_NO_SLOT && change->kind == CPB_CHANGE_ADD)
      return cpb_fail(error, CPB_WHY_ROW_TWICE, "keys", "key \"%.*s\" of row %zu is already in the index",
                      bytes < 200 ? (int)bytes : 200, key, i);
    ids[i] = slot != CPB_NO_SLOT ? cpb_id_map_id(&index->ids, slot) : next++;
  }
  return CPB_OK;
}

static cpb_status apply_keys(cpb_index *index, const cpb_index_change *change, const cpb_exec *exec,
                             cpb_error *error) {
  cpb_index_change with_ids = *change;
  uint64_t *ids = malloc((change->count + 1) * sizeof *ids);
  if (ids == NULL) return cpb_fail_memory(error, "%zu ids", change->count);
  with_ids.ids = ids;
  cpb_status status = cpb_keys_check(change->keys, error);
  if (status == CPB_OK) status = ids_of_keys(index, change, ids, error);
  if (status == CPB_OK) status = apply_checked(index, &with_ids, exec, error);
  free(ids);
  return status;
}

static cpb_status check_names(const cpb_index *index, const cpb_index_change *change, cpb_error *error) {
  bool wants_keys = change->kind == CPB_CHANGE_ADD || change->kind == CPB_CHANGE_PUT;
  if (change->keys != NULL && !index->options.keys)
    return cpb_fail(error, CPB_WHY_CALL_ORDER, "keys", "the index has ids and no text keys");
  if (change->keys == NULL && index->options.keys && wants_keys)
    return cpb_fail(error, CPB_WHY_CALL_ORDER, "ids", "the rows of the index have text keys: pass keys");
  return CPB_OK;
}

cpb_status cpb_index_apply(cpb_index *index, const cpb_index_change *change, const cpb_exec *exec,
                           cpb_error *error) {
  cpb_status status = check_names(index, change, error);
  if (status != CPB_OK || change->count == 0) return status;
  if (change->keys != NULL) return apply_keys(index, change, exec, error);
  if (change->ids != NULL) status = check_ids(index, change->ids, change->count, change->kind, error);
  return status == CPB_OK ? apply_checked(index, change, exec, error) : status;
}

/* ---- compaction ---- */

bool cpb_index_choose_for(const cpb_index *from, cpb_index *to) {
  size_t live = from->slots - from->removed, step = 1 + (live - 1) / SAMPLE, seen = 0, count = 0;
  char *sample = malloc(SAMPLE * to->row_bytes);
  cpb_row_buffer buffer;
  if (sample == NULL) return false;
  for (size_t slot = 0; slot < from->slots; slot++)
    if (!cpb_index_is_removed(from, slot) && seen++ % step == 0)
      memcpy(sample + count++ * to->row_bytes, cpb_slot_row(from, slot, &buffer), to->row_bytes);
  bool made = cpb_codes_prepare(to, cpb_rows(sample, to->options.dtype, count, to->options.cols), live);
  free(sample);
  to->prepared = live;
  return made;
}

static bool copy_key(const cpb_index *from, cpb_index *to, size_t slot) {
  size_t bytes;
  if (!from->options.keys) return true;
  const char *key = cpb_key_map_key(&from->keys, slot, &bytes);
  if (!cpb_key_map_reserve(&to->keys, 1, bytes)) return false;
  cpb_key_map_add(&to->keys, key, bytes);
  return true;
}

static cpb_status copy_live(const cpb_index *from, cpb_index *to, const cpb_exec *exec, cpb_error *error) {
  size_t live = from->slots - from->removed, count = 0;
  cpb_row_buffer buffer;
  if (live == 0) return CPB_OK;
  if (to->bytes && !cpb_index_choose_for(from, to)) return cpb_fail_memory(error, "a sample of the rows");
  if (!cpb_blocks_extend(to, live)) return cpb_fail_memory(error, "%zu rows", live);
  for (size_t slot = 0; slot < from->slots; slot++) {
    if (cpb_index_is_removed(from, slot)) continue;
    uint64_t id = cpb_id_map_id(&from->ids, slot);
    if (!cpb_id_map_reserve(&to->ids, &id, 0, 1, to->removed_bits))
      return cpb_fail_memory(error, "%zu ids", live);
    memcpy(to->blocks[count / BLOCK].rows + count % BLOCK * to->row_bytes, cpb_slot_row(from, slot, &buffer),
           from->row_bytes);
    count++;
    number_rows(to, &id, 1);
    if (!copy_key(from, to, slot)) return cpb_fail_memory(error, "%zu keys", live);
  }
  return code_from(to, &(added){.first = live}, 0, exec, error);
}

/* Swaps all members that are read under the lock, except the next id. */
static void exchange(cpb_index *index, cpb_index *other) {
  enum { CHANGES = offsetof(cpb_index, float_filter) };
  char *own = (char *)index + CHANGES, *fresh = (char *)other + CHANGES, kept[sizeof *index - CHANGES];
  uint64_t next_id = index->next_id;
  memcpy(kept, own, sizeof kept);
  memcpy(own, fresh, sizeof kept);
  memcpy(fresh, kept, sizeof kept);
  index->next_id = next_id;
  index->shared->generation++;
  if (index->fold == NULL) index->byte_filter.float_filter = &index->float_filter;
  if (other->fold == NULL) other->byte_filter.float_filter = &other->float_filter;
  cpb_coder_free(index->coder); /* it refers to the other's float filter */
  index->coder = NULL;
}

static cpb_status compacted(cpb_index *index, cpb_index **fresh, const cpb_exec *exec, cpb_error *error) {
  if (index->file != NULL) return index->file_calls->rewrite(index, fresh, exec, error);
  cpb_status status = cpb_index_new(&index->options, fresh, error);
  return status == CPB_OK ? copy_live(index, *fresh, exec, error) : status;
}

/* With change_lock held: searches go on until the rows are exchanged. */
static cpb_status compact(cpb_index *index, const cpb_exec *exec, cpb_error *error) {
  cpb_index *fresh = NULL;
  cpb_index_lock_shared(index);
  cpb_status status = check_writable(index, error);
  if (status == CPB_OK) status = compacted(index, &fresh, exec, error);
  cpb_index_unlock(index);
  if (status == CPB_OK) {
    cpb_index_lock_alone(index);
    exchange(index, fresh);
    cpb_index_unlock(index);
  }
  cpb_index_free(fresh);
  return status;
}

cpb_status cpb_index_compact(cpb_index *index, const cpb_exec *exec, cpb_error *error) {
  if (index == NULL) return cpb_fail_missing(error, "index");
  cpb_mutex_lock(&index->shared->change_lock);
  cpb_status status = compact(index, exec, error);
  cpb_mutex_unlock(&index->shared->change_lock);
  return status;
}

/* A quarter of the rows is removed, or a quarter of the file is log. Rows of the caller are never copied unasked. */
static bool is_fragmented(const cpb_index *index) {
  if (index->closed || index->options.borrow) return false;
  if (index->removed >= FEW_REMOVED && index->removed >= index->slots / 4) return true;
  return index->file != NULL && index->file_calls->is_fragmented(index);
}

/* ---- changes ---- */

static cpb_status begin_change(cpb_index *index, cpb_error *error) {
  cpb_mutex_lock(&index->shared->change_lock);
  cpb_index_lock_alone(index);
  return check_writable(index, error);
}

/* Compacts if that is due. The change is made already: if there is no room now, later changes try again. */
static void end_change(cpb_index *index, const cpb_exec *exec) {
  cpb_exec quiet;
  cpb_exec_init(&quiet, sizeof quiet);
  if (exec != NULL) quiet.run = exec->run, quiet.pool = exec->pool, quiet.threads = exec->threads;
  bool due = is_fragmented(index) && (index->file == NULL || check_writable(index, NULL) == CPB_OK);
  cpb_index_unlock(index);
  if (due && index->shared->pause > 0)
    index->shared->pause--;
  else if (due && compact(index, &quiet, NULL) != CPB_OK)
    index->shared->pause = PAUSE;
  cpb_mutex_unlock(&index->shared->change_lock);
}

/* first: NULL, or receives the next id before the change. */
static cpb_status change(cpb_index *index, const cpb_index_change *asked, uint64_t *first,
                         const cpb_exec *exec, cpb_error *error) {
  if (index == NULL) return cpb_fail_missing(error, "index");
  cpb_status status = CPB_OK;
  if (asked->kind != CPB_CHANGE_REMOVE) status = check_rows(index, asked->rows, error);
  if (status == CPB_OK && asked->keys != NULL && asked->keys->count != asked->count)
    status = cpb_fail_rows(error, "keys", asked->keys->count, asked->count);
  if (status == CPB_OK && asked->ids == NULL && asked->keys == NULL && asked->kind != CPB_CHANGE_ADD &&
      asked->count > 0)
    status = cpb_fail_missing(error, "ids");
  if (status != CPB_OK) return status;
  status = begin_change(index, error);
  if (first != NULL) *first = index->next_id;
  if (status == CPB_OK) status = cpb_index_apply(index, asked, exec, error);
  end_change(index, exec);
  return status;
}

cpb_status cpb_index_add(cpb_index *index, cpb_view rows, const uint64_t *ids, const cpb_exec *exec,
                         cpb_error *error) {
  return change(index, &(cpb_index_change){CPB_CHANGE_ADD, rows.rows, ids, rows, NULL}, NULL, exec, error);
}

cpb_status cpb_index_append(cpb_index *index, cpb_view rows, uint64_t *first, const cpb_exec *exec,
                            cpb_error *error) {
  if (first == NULL) return cpb_fail_missing(error, "first");
  return change(index, &(cpb_index_change){CPB_CHANGE_ADD, rows.rows, NULL, rows, NULL}, first, exec, error);
}

cpb_status cpb_index_replace(cpb_index *index, cpb_view rows, const uint64_t *ids, const cpb_exec *exec,
                             cpb_error *error) {
  return change(index, &(cpb_index_change){CPB_CHANGE_REPLACE, rows.rows, ids, rows, NULL}, NULL, exec,
                error);
}

cpb_status cpb_index_put(cpb_index *index, cpb_view rows, const uint64_t *ids, const cpb_exec *exec,
                         cpb_error *error) {
  return change(index, &(cpb_index_change){CPB_CHANGE_PUT, rows.rows, ids, rows, NULL}, NULL, exec, error);
}

cpb_status cpb_index_add_keys(cpb_index *index, cpb_view rows, const cpb_index_keys *keys,
                              const cpb_exec *exec, cpb_error *error) {
  if (keys == NULL) return cpb_fail_missing(error, "keys");
  return change(index, &(cpb_index_change){CPB_CHANGE_ADD, rows.rows, NULL, rows, keys}, NULL, exec, error);
}

cpb_status cpb_index_put_keys(cpb_index *index, cpb_view rows, const cpb_index_keys *keys,
                              const cpb_exec *exec, cpb_error *error) {
  if (keys == NULL) return cpb_fail_missing(error, "keys");
  return change(index, &(cpb_index_change){CPB_CHANGE_PUT, rows.rows, NULL, rows, keys}, NULL, exec, error);
}

/* Those of the ids that are in the index, in *kept. */
static cpb_status keep_present(const cpb_index *index, const uint64_t *ids, size_t count, uint64_t **kept,
                               size_t *found, cpb_error *error) {
  *found = 0;
  *kept = malloc((count + 1) * sizeof **kept);
  if (*kept == NULL) return cpb_fail_memory(error, "%zu ids", count);
  for (size_t i = 0; i < count; i++)
    if (cpb_id_map_find(&index->ids, ids[i], index->removed_bits) != CPB_NO_SLOT)
      (*kept)[(*found)++] = ids[i];
  return CPB_OK;
}

static cpb_status remove_present(cpb_index *index, const uint64_t *ids, size_t count, uint64_t *removed,
                                 cpb_error *error) {
  uint64_t *kept = NULL;
  size_t found = count;
  cpb_status status = check_once(ids, count, error);
  if (status == CPB_OK && removed != NULL) status = keep_present(index, ids, count, &kept, &found, error);
  cpb_index_change change = {.kind = CPB_CHANGE_REMOVE, .count = found, .ids = kept != NULL ? kept : ids};
  if (status == CPB_OK) status = cpb_index_apply(index, &change, NULL, error);
  if (status == CPB_OK && removed != NULL) *removed = found;
  free(kept);
  return status;
}

cpb_status cpb_index_remove(cpb_index *index, const uint64_t *ids, size_t count, uint64_t *removed,
                            cpb_error *error) {
  if (index == NULL || (ids == NULL && count > 0))
    return cpb_fail_missing(error, index == NULL ? "index" : "ids");
  cpb_status status = begin_change(index, error);
  if (status == CPB_OK) status = remove_present(index, ids, count, removed, error);
  end_change(index, NULL);
  return status;
}

/* ---- following a file ---- */

/* With change_lock held and the index locked. */
static cpb_status refresh_locked(cpb_index *index, bool *changed, cpb_error *error) {
  cpb_index *fresh = NULL;
  *changed = false;
  if (index->file == NULL || !index->file_calls->has_news(index->file))
    return cpb_index_check_open(index, error);
  cpb_status status = index->file_calls->refresh(index, &fresh, error);
  if (status == CPB_OK && fresh != NULL) {
    uint64_t next_id = fresh->next_id;
    exchange(index, fresh);
    index->next_id = next_id;
  }
  cpb_index_free(fresh);
  *changed = status == CPB_OK;
  return status;
}

cpb_status cpb_index_refresh(cpb_index *index, bool *changed, cpb_error *error) {
  bool unused;
  if (index == NULL) return cpb_fail_missing(error, "index");
  cpb_mutex_lock(&index->shared->change_lock);
  cpb_index_lock_alone(index);
  cpb_status status = refresh_locked(index, changed != NULL ? changed : &unused, error);
  cpb_index_unlock(index);
  cpb_mutex_unlock(&index->shared->change_lock);
  return status;
}

cpb_status cpb_index_follow(cpb_index *index, bool follow, cpb_error *error) {
  if (index == NULL) return cpb_fail_missing(error, "index");
  cpb_index_lock_shared(index);
  cpb_status status = cpb_index_check_open(index, error);
  if (status == CPB_OK && follow &&
      (index->file == NULL || index->file_calls->check_writable(index, NULL) == CPB_OK))
    status = cpb_fail(error, CPB_WHY_CALL_ORDER, "index",
                      "only an index that was opened read-only from a file can follow it");
  if (status == CPB_OK) atomic_store(&index->shared->follows, follow);
  cpb_index_unlock(index);
  return status;
}

cpb_status cpb_index_lock_current(const cpb_index *index, cpb_error *error) {
  cpb_index_lock_shared(index);
  bool stale = atomic_load_explicit(&index->shared->follows, memory_order_relaxed) && !index->closed &&
               index->file_calls->has_news(index->file);
  if (!stale) return cpb_index_check_open(index, error);
  cpb_index_unlock(index);
  cpb_status status = cpb_index_refresh((cpb_index *)(uintptr_t)index, NULL, error);
  cpb_index_lock_shared(index);
  return status == CPB_OK ? cpb_index_check_open(index, error) : status;
}

/* ---- the end ---- */

/* The rows and the file go to an empty index, which is freed. */
cpb_status cpb_index_close(cpb_index *index, cpb_error *error) {
  cpb_index *empty = NULL;
  if (index == NULL) return cpb_fail_missing(error, "index");
  cpb_status status = cpb_index_new(&index->options, &empty, error);
  if (status != CPB_OK) return status;
  cpb_mutex_lock(&index->shared->change_lock);
  cpb_index_lock_alone(index);
  exchange(index, empty);
  index->closed = true;
  cpb_index_unlock(index);
  cpb_mutex_unlock(&index->shared->change_lock);
  cpb_index_free(empty);
  return CPB_OK;
}

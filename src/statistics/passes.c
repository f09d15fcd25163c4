#include "statistics/passes.h"

#include <stdlib.h>
#include <string.h>

#include "loops/row_state.h"
#include "base/fail.h"
#include "base/rows.h"

static bool is_wide(cpb_dtype dtype) { return dtype == CPB_I32 || dtype == CPB_I64; }

cpb_dtype cpb_pass_dtype(const cpb_source *source) {
  return is_wide(source->dtype) ? CPB_F64 : source->dtype;
}

cpb_status cpb_fail_no_rows(cpb_error *error) {
  return cpb_fail(error, CPB_WHY_NO_ROWS, "rows", "there are no rows to fit to");
}

/* Wide integers are treated as floats of the same size. */
static cpb_dtype as_law(cpb_dtype dtype) {
  return dtype == CPB_I32 ? CPB_F32 : dtype == CPB_I64 ? CPB_F64 : dtype;
}

cpb_status cpb_check_source_cols(const cpb_source *source, const char *name, size_t cols, cpb_error *error) {
  cpb_view none = {NULL, as_law(source->dtype), 0, source->cols, source->cols};
  return cpb_check_view(none, name, cols, error);
}

cpb_status cpb_passes_init(cpb_passes *passes, cpb_source *source, unsigned planned, const cpb_exec *exec,
                           cpb_error *error) {
  cpb_status status = cpb_check_readable(source, "rows", error);
  if (status != CPB_OK) return status;
  if (source->cols == 0) return cpb_fail_no_columns(error, "rows");
  *passes = (cpb_passes){.source = source,
                         .name = "rows",
                         .exec = exec,
                         .to = 1,
                         .planned = planned == 0 ? 1 : planned,
                         .rows = source->rows};
  return cpb_check_source_cols(source, "rows", source->cols, error);
}

/* ---- one pass ---- */

typedef struct wave {
  const cpb_pass *pass;
  cpb_view rows;  /* of the wave */
  uint64_t first; /* its first row in the source */
  size_t per_block;
  double *wide; /* space for the blocks of a wave as doubles, if they must be converted */
  cpb_first_fault fault;
  cpb_slot slots[CPB_PASS_SLOTS];
} wave;

static cpb_status look_at_block(void *arg, size_t number, cpb_error *error) {
  wave *w = arg;
  cpb_slot *slot = &w->slots[number];
  size_t first = number * w->per_block, left = w->rows.rows - first;
  slot->rows = cpb_view_slice(w->rows, first, left < w->per_block ? left : w->per_block);
  slot->first = w->first + first;
  if (w->wide != NULL) {
    double *to = w->wide + first * slot->rows.cols;
    cpb_view_widen(slot->rows, to);
    slot->rows = cpb_rows(to, CPB_F64, slot->rows.rows, slot->rows.cols);
  }
  return w->pass->look == NULL ? CPB_OK : w->pass->look(w->pass->arg, slot, &w->fault, error);
}

static cpb_status run_wave(const cpb_passes *passes, wave *w, cpb_error *error) {
  size_t blocks = (w->rows.rows + w->per_block - 1) / w->per_block;
  cpb_status status = cpb_exec_try(passes->exec, blocks, look_at_block, w, error);
  cpb_status fault = passes->skip_bad ? CPB_OK : cpb_first_fault_report(&w->fault, passes->name, error);
  if (fault != CPB_OK) return fault;
  for (size_t i = 0; i < blocks && status == CPB_OK; i++)
    status = w->pass->gather(w->pass->arg, &w->slots[i], error);
  return status;
}

static cpb_status tell(const cpb_passes *passes, uint64_t read, cpb_error *error) {
  bool known = passes->rows != CPB_ROWS_UNKNOWN && passes->rows > 0;
  double share = ((double)passes->done + (known ? (double)read / (double)passes->rows : 0)) / passes->planned;
  return cpb_exec_tell(passes->exec, passes->from + (passes->to - passes->from) * (share < 1 ? share : 1),
                       error);
}

static cpb_status run_block(const cpb_passes *passes, wave *w, cpb_view block, uint64_t read,
                            cpb_error *error) {
  const cpb_source *source = passes->source;
  cpb_view as_floats = block;
  as_floats.dtype = as_law(block.dtype);
  if (block.dtype != source->dtype)
    return cpb_fail(error, CPB_WHY_DTYPE_OTHER, "dtype", "a block of the source is %s, the source said %s",
                    cpb_dtype_name(block.dtype), cpb_dtype_name(source->dtype));
  cpb_status status = cpb_check_view(as_floats, "a block of the source", source->cols, error);
  for (size_t first = 0, most = w->per_block * CPB_PASS_SLOTS; first < block.rows && status == CPB_OK;
       first += most) {
    w->rows = cpb_view_slice(block, first, block.rows - first < most ? block.rows - first : most);
    w->first = read + first;
    status = run_wave(passes, w, error);
    if (status == CPB_OK) status = tell(passes, w->first + w->rows.rows, error);
  }
  return status;
}

static cpb_status run_blocks(const cpb_passes *passes, wave *w, uint64_t *read, cpb_error *error) {
  cpb_status status = passes->source->rewind(passes->source, error);
  for (cpb_view block; status == CPB_OK; *read += block.rows) {
    status = passes->source->next(passes->source, &block, error);
    if (status != CPB_OK || block.rows == 0) break;
    status = run_block(passes, w, block, *read, error);
  }
  return status;
}

cpb_status cpb_pass_run(cpb_passes *passes, const cpb_pass *pass, cpb_error *error) {
  const cpb_source *source = passes->source;
  uint64_t read = 0;
  cpb_memory memory = {0};
  size_t bytes = pass->block_bytes == 0 ? (size_t)1 << 18 : pass->block_bytes;
  size_t rows = bytes / (source->cols * cpb_dtype_size(source->dtype));
  if (rows == 0) rows = 1;
  size_t each = pass->per_row * rows + pass->more;
  wave *w = cpb_memory_zeros(&memory, 1, sizeof *w);
  double *room = cpb_memory_zeros(&memory, CPB_PASS_SLOTS * each, sizeof *room), *wide = NULL;
  if (is_wide(source->dtype))
    wide = cpb_memory_take(&memory, CPB_PASS_SLOTS * rows, source->cols * sizeof *wide);
  if (memory.failed) {
    cpb_memory_free(&memory);
    return cpb_fail_memory(error, "a pass over rows of %zu columns", source->cols);
  }
  w->pass = pass;
  w->per_block = rows;
  w->wide = wide;
  for (size_t i = 0; i < CPB_PASS_SLOTS; i++) w->slots[i] = (cpb_slot){.number = i, .room = room + i * each};
  cpb_status status = run_blocks(passes, w, &read, error);
  cpb_memory_free(&memory);
  if (status != CPB_OK) return status;
  passes->done++;
  passes->rows = read;
  return tell(passes, 0, error);
}

cpb_status cpb_record_faults(void *arg, const cpb_slot *slot, cpb_first_fault *fault, cpb_error *error) {
  (void)arg, (void)error;
  const cpb_loops *loops = cpb_loops_here();
  int bad = 0;
  for (size_t i = 0; i < slot->rows.rows && bad == 0; i++) {
    bad = cpb_row_fault(loops, slot->rows, i);
    cpb_record_fault(fault, (size_t)(slot->first + i), bad);
  }
  return CPB_OK;
}

/* ---- all rows at once ---- */

cpb_status cpb_row_cache_add(cpb_row_cache *to, cpb_view block, cpb_error *error) {
  size_t step = block.stride * cpb_dtype_size(block.dtype);
  if (block.rows > to->room - to->rows) {
    size_t room = 2 * (to->rows + block.rows);
    if (!cpb_resize(&to->data, room, to->row_bytes))
      return cpb_fail_memory(error, "%zu rows of %zu bytes", room, to->row_bytes);
    to->room = room;
  }
  for (size_t i = 0; i < block.rows; i++)
    memcpy(to->data + to->row_bytes * to->rows++, (const char *)block.data + i * step, to->row_bytes);
  return CPB_OK;
}

static cpb_status append_block(void *arg, const cpb_slot *slot, cpb_error *error) {
  return cpb_row_cache_add(arg, slot->rows, error);
}

cpb_status cpb_passes_hold(cpb_passes *passes, cpb_view *rows, void **owned, cpb_error *error) {
  const cpb_source *source = passes->source;
  *owned = NULL;
  if (source->view.rows > 0 && !is_wide(source->dtype)) {
    *rows = source->view;
    return CPB_OK;
  }
  cpb_row_cache all = {.row_bytes = source->cols * cpb_dtype_size(cpb_pass_dtype(source))};
  cpb_pass pass = {.arg = &all, .gather = append_block};
  cpb_status status = cpb_pass_run(passes, &pass, error);
  if (status != CPB_OK) {
    free(all.data);
    return status;
  }
  *owned = all.data;
  *rows = cpb_rows(all.data, cpb_pass_dtype(source), all.rows, source->cols);
  return CPB_OK;
}

cpb_status cpb_source_hold(cpb_source *source, cpb_view *rows, const cpb_exec *exec, cpb_error *error) {
  cpb_passes passes;
  void *owned;
  if (rows == NULL) return cpb_fail_missing(error, "rows");
  cpb_status status = cpb_passes_init(&passes, source, 1, exec, error);
  if (status != CPB_OK) return status;
  cpb_source copied = *source;
  copied.view.rows = 0;
  passes.source = &copied;
  return cpb_passes_hold(&passes, rows, &owned, error);
}

enum { KEPT_BYTES = 64 << 20 };

void cpb_cached_source_free(cpb_cached_source *kept) {
  free(kept->cache.data);
  kept->cache = (cpb_row_cache){.row_bytes = kept->cache.row_bytes};
  kept->keeping = false;
}

static void keep(cpb_cached_source *kept, cpb_view block) {
  cpb_row_cache *cache = &kept->cache;
  bool usual = block.dtype == kept->source.dtype && block.cols == kept->source.cols;
  bool few = block.rows <= KEPT_BYTES / cache->row_bytes - cache->rows;
  if (!usual || !few || cpb_row_cache_add(cache, block, NULL) != CPB_OK) cpb_cached_source_free(kept);
}

static void become_view(cpb_cached_source *kept) {
  cpb_source *source = &kept->source;
  source->rows = kept->rows;
  source->view = cpb_rows(kept->cache.data, source->dtype, (size_t)kept->rows, source->cols);
  source->at = (size_t)kept->rows;
  source->next = cpb_view_next;
  source->rewind = cpb_view_rewind;
}

static cpb_status next_kept(cpb_source *source, cpb_view *block, cpb_error *error) {
  cpb_cached_source *kept = source->self;
  cpb_status status = kept->of->next(kept->of, block, error);
  if (status != CPB_OK) return status;
  if (kept->keeping && block->rows > 0) keep(kept, *block);
  kept->rows += block->rows;
  if (kept->keeping && block->rows == 0 && kept->rows > 0) become_view(kept);
  return CPB_OK;
}

static cpb_status rewind_kept(cpb_source *source, cpb_error *error) {
  cpb_cached_source *kept = source->self;
  kept->rows = 0;
  kept->cache.rows = 0;
  return kept->of->rewind(kept->of, error);
}

void cpb_cached_source_init(cpb_cached_source *kept, cpb_source *of) {
  size_t size = cpb_dtype_size(of->dtype);
  *kept = (cpb_cached_source){.source = *of, .of = of, .cache.row_bytes = of->cols * size};
  kept->source.next = next_kept;
  kept->source.rewind = rewind_kept;
  kept->source.self = kept;
  kept->source.view = (cpb_view){NULL, CPB_F32, 0, 0, 0};
  kept->keeping = of->rows == CPB_ROWS_UNKNOWN && of->cols <= KEPT_BYTES / size;
}

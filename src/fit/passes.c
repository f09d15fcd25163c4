#include "fit/fit_parts.h"

#include <stdlib.h>
#include <string.h>

#include "batch/row_state.h"
#include "core/fail.h"
#include "core/rows.h"

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
  if (source == NULL) return cpb_fail_missing(error, "rows");
  if (source->next == NULL || source->rewind == NULL)
    return cpb_fail_missing(error, source->next == NULL ? "next" : "rewind");
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
  cpb_status status[CPB_PASS_SLOTS];
  cpb_error errors[CPB_PASS_SLOTS];
} wave;

size_t cpb_pass_block_rows(const cpb_source *source, const cpb_pass *pass) {
  size_t bytes = pass->block_bytes == 0 ? (size_t)1 << 18 : pass->block_bytes;
  size_t rows = bytes / (source->cols * cpb_dtype_size(source->dtype));
  return rows == 0 ? 1 : rows;
}

static cpb_view widened(cpb_view rows, double *to) {
  cpb_view_widen(rows, to);
  return cpb_rows(to, CPB_F64, rows.rows, rows.cols);
}

static void look_at_block(void *arg, size_t slot, size_t first, size_t count) {
  wave *w = arg;
  cpb_view rows = cpb_view_slice(w->rows, first, count);
  if (w->wide != NULL) rows = widened(rows, w->wide + first * rows.cols);
  w->status[slot] = w->pass->look(w->pass->arg, slot, rows, w->first + first, &w->fault, &w->errors[slot]);
}

static cpb_status gather_blocks(wave *w, const cpb_blocks *blocks, cpb_error *error) {
  for (size_t slot = 0; slot < cpb_blocks_count(blocks); slot++) {
    if (w->status[slot] != CPB_OK) {
      if (error != NULL) *error = w->errors[slot];
      return w->status[slot];
    }
    size_t left = w->rows.rows - slot * w->per_block;
    cpb_status status = w->pass->gather(w->pass->arg, slot, left < w->per_block ? left : w->per_block, error);
    if (status != CPB_OK) return status;
  }
  return CPB_OK;
}

static cpb_status run_wave(const cpb_passes *passes, wave *w, cpb_error *error) {
  cpb_blocks blocks = {w->rows.rows, w->per_block, look_at_block, w};
  cpb_first_fault_init(&w->fault);
  cpb_blocks_run(&blocks, passes->exec);
  if (!passes->skip_bad) {
    cpb_status status = cpb_first_fault_report(&w->fault, passes->name, error);
    if (status != CPB_OK) return status;
  }
  return gather_blocks(w, &blocks, error);
}

static cpb_status tell(const cpb_passes *passes, uint64_t read, cpb_error *error) {
  bool known = passes->rows != CPB_ROWS_UNKNOWN && passes->rows > 0;
  double share = ((double)passes->done + (known ? (double)read / (double)passes->rows : 0)) / passes->planned;
  return cpb_exec_tell(passes->exec, passes->from + (passes->to - passes->from) * (share < 1 ? share : 1),
                       error);
}

static cpb_status check_block(const cpb_source *source, cpb_view block, cpb_error *error) {
  if (block.dtype != source->dtype)
    return cpb_fail(error, CPB_WHY_DTYPE_OTHER, "dtype", "a block of the source is %s, the source said %s",
                    cpb_dtype_name(block.dtype), cpb_dtype_name(source->dtype));
  block.dtype = as_law(block.dtype);
  return cpb_check_view(block, "a block of the source", source->cols, error);
}

/* Processes a block of the source in waves. */
static cpb_status run_block(const cpb_passes *passes, wave *w, cpb_view block, uint64_t read,
                            cpb_error *error) {
  cpb_status status = check_block(passes->source, block, error);
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
  wave *w = calloc(1, sizeof *w);
  if (w == NULL) return cpb_fail_memory(error, "a pass over the source");
  w->pass = pass;
  w->per_block = cpb_pass_block_rows(source, pass);
  if (is_wide(source->dtype)) w->wide = calloc(CPB_PASS_SLOTS * w->per_block * source->cols, sizeof *w->wide);
  cpb_status status = is_wide(source->dtype) && w->wide == NULL
                          ? cpb_fail_memory(error, "rows of %zu columns", source->cols)
                          : run_blocks(passes, w, &read, error);
  free(w->wide);
  free(w);
  if (status != CPB_OK) return status;
  passes->done++;
  passes->rows = read;
  return tell(passes, 0, error);
}

void cpb_meet_faults(cpb_view rows, uint64_t first, cpb_first_fault *fault) {
  const cpb_loops *loops = cpb_loops_here();
  for (size_t i = 0; i < rows.rows; i++) {
    int bad = cpb_row_fault(loops, rows, i);
    if (bad == 0) continue;
    cpb_first_fault_meet(fault, (size_t)(first + i), (cpb_fault)bad);
    return;
  }
}

/* ---- all rows at once ---- */

typedef struct holding {
  char *data;
  size_t row_bytes, rows, room; /* rows */
  cpb_view block[CPB_PASS_SLOTS];
} holding;

static cpb_status note_block(void *arg, size_t slot, cpb_view rows, uint64_t first, cpb_first_fault *fault,
                             cpb_error *error) {
  (void)first, (void)fault, (void)error;
  ((holding *)arg)->block[slot] = rows;
  return CPB_OK;
}

static cpb_status make_room(holding *h, size_t rows, cpb_error *error) {
  if (rows <= h->room - h->rows) return CPB_OK;
  size_t room = 2 * (h->rows + rows);
  char *larger = room > SIZE_MAX / h->row_bytes ? NULL : realloc(h->data, room * h->row_bytes);
  if (larger == NULL) return cpb_fail_memory(error, "%zu rows of %zu bytes", room, h->row_bytes);
  h->data = larger;
  h->room = room;
  return CPB_OK;
}

static cpb_status append_block(void *arg, size_t slot, size_t rows, cpb_error *error) {
  holding *h = arg;
  cpb_view block = h->block[slot];
  size_t step = block.stride * cpb_dtype_size(block.dtype);
  cpb_status status = make_room(h, rows, error);
  for (size_t i = 0; i < rows && status == CPB_OK; i++)
    memcpy(h->data + h->row_bytes * h->rows++, (const char *)block.data + i * step, h->row_bytes);
  return status;
}

cpb_status cpb_passes_hold(cpb_passes *passes, cpb_view *rows, void **owned, cpb_error *error) {
  const cpb_source *source = passes->source;
  *owned = NULL;
  if (source->view.rows > 0 && !is_wide(source->dtype)) {
    *rows = source->view;
    return CPB_OK;
  }
  holding h = {.row_bytes = source->cols * cpb_dtype_size(cpb_pass_dtype(source))};
  cpb_pass pass = {.arg = &h, .look = note_block, .gather = append_block};
  cpb_status status = cpb_pass_run(passes, &pass, error);
  if (status != CPB_OK) {
    free(h.data);
    return status;
  }
  *owned = h.data;
  *rows = cpb_rows(h.data, cpb_pass_dtype(source), h.rows, source->cols);
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

static void keep_none(cpb_kept_source *kept) {
  free(kept->data);
  kept->data = NULL;
  kept->used = kept->room = 0;
  kept->keeping = false;
}

static bool make_space(cpb_kept_source *kept, size_t bytes) {
  if (bytes <= kept->room - kept->used) return true;
  size_t room = 2 * (kept->used + bytes);
  char *larger = realloc(kept->data, room);
  if (larger == NULL) return false;
  kept->data = larger;
  kept->room = room;
  return true;
}

static void keep(cpb_kept_source *kept, cpb_view block) {
  size_t most = (KEPT_BYTES - kept->used) / kept->row_bytes,
         step = block.stride * cpb_dtype_size(block.dtype);
  bool usual = block.dtype == kept->source.dtype && block.cols == kept->source.cols;
  if (!usual || block.rows > most || !make_space(kept, block.rows * kept->row_bytes)) {
    keep_none(kept);
    return;
  }
  for (size_t i = 0; i < block.rows; i++, kept->used += kept->row_bytes)
    memcpy(kept->data + kept->used, (const char *)block.data + i * step, kept->row_bytes);
}

/* Switches to the cached rows. */
static void become_view(cpb_kept_source *kept) {
  cpb_source *source = &kept->source;
  source->rows = kept->rows;
  source->view = cpb_rows(kept->data, source->dtype, (size_t)kept->rows, source->cols);
  source->at = (size_t)kept->rows;
  source->next = cpb_view_next;
  source->rewind = cpb_view_rewind;
}

static cpb_status next_kept(cpb_source *source, cpb_view *block, cpb_error *error) {
  cpb_kept_source *kept = source->self;
  cpb_status status = kept->of->next(kept->of, block, error);
  if (status != CPB_OK) return status;
  if (kept->keeping && block->rows > 0) keep(kept, *block);
  kept->rows += block->rows;
  if (kept->keeping && block->rows == 0 && kept->rows > 0) become_view(kept);
  return CPB_OK;
}

static cpb_status rewind_kept(cpb_source *source, cpb_error *error) {
  cpb_kept_source *kept = source->self;
  kept->rows = 0;
  kept->used = 0;
  return kept->of->rewind(kept->of, error);
}

void cpb_kept_source_init(cpb_kept_source *kept, cpb_source *of) {
  size_t size = cpb_dtype_size(of->dtype);
  *kept = (cpb_kept_source){.source = *of, .of = of, .row_bytes = of->cols * size};
  kept->source.next = next_kept;
  kept->source.rewind = rewind_kept;
  kept->source.self = kept;
  kept->source.view = (cpb_view){NULL, CPB_F32, 0, 0, 0};
  kept->keeping = of->rows == CPB_ROWS_UNKNOWN && of->cols <= KEPT_BYTES / size;
}

void cpb_kept_source_free(cpb_kept_source *kept) { keep_none(kept); }

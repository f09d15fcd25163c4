#include "fit/kept_source.h"

#include <stdlib.h>
#include <string.h>

#include "core/rows.h"

enum { KEPT_BYTES = 64 << 20 };

static void keep_none(cpb_kept_source *kept) {
  free(kept->data);
  kept->data = NULL;
  kept->used = kept->room = 0;
  kept->keeping = false;
}

static bool make_room(cpb_kept_source *kept, size_t bytes) {
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
  if (!usual || block.rows > most || !make_room(kept, block.rows * kept->row_bytes)) {
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

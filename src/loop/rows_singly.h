/* Rows one by one, with ordinary stores: what blocks and ranges of rows leave over, of any type with float results. */
#ifndef CPB_LOOP_ROWS_SINGLY_H
#define CPB_LOOP_ROWS_SINGLY_H

#include "loop/rows_float.h"

#include "loop/rows_walk.inc"

LANE_INLINE void embed_singly(const cpb_rows_job *job, const row_source *source, size_t first, size_t count) {
  if (job->center.high != NULL)
    walk(job, (row_kind){source, true, true}, false, 1, first, count);
  else
    walk(job, (row_kind){source, true, false}, false, 1, first, count);
}

LANE_INLINE void unembed_singly(const cpb_rows_job *job, size_t first, size_t count) {
  if (job->center.high != NULL)
    walk(job, (row_kind){&source_f32, false, true}, false, 1, first, count);
  else
    walk(job, (row_kind){&source_f32, false, false}, false, 1, first, count);
}

/* Halves and bytes are only embedded. */
static __attribute__((noinline)) void walk_singly(const cpb_rows_job *job, size_t first, size_t count) {
  if (count == 0) return;
  switch (job->in_type) {
  case CPB_F16: embed_singly(job, &source_f16, first, count); break;
  case CPB_U8: embed_singly(job, &source_u8, first, count); break;
  case CPB_I8: embed_singly(job, &source_i8, first, count); break;
  default:
    if (job->embedding)
      embed_singly(job, &source_f32, first, count);
    else
      unembed_singly(job, first, count);
  }
}

#endif

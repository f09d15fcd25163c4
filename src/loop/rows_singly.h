/* Rows one by one, with ordinary stores: what blocks and ranges of rows leave over, of any type with float results. */
#ifndef CPB_LOOP_ROWS_SINGLY_H
#define CPB_LOOP_ROWS_SINGLY_H

#include "loop/rows_float.h"

#include "loop/rows_walk.inc"

/* Halves and bytes are only embedded. Whether there is a centre is asked number by number: few rows come here. */
static __attribute__((noinline)) void walk_singly(const cpb_rows_job *job, size_t first, size_t count) {
  bool centered = job->center.high != NULL;
  if (count == 0) return;
  switch (job->in_type) {
  case CPB_F16: walk(job, (row_kind){&source_f16, true, centered}, false, 1, first, count); break;
  case CPB_U8: walk(job, (row_kind){&source_u8, true, centered}, false, 1, first, count); break;
  case CPB_I8: walk(job, (row_kind){&source_i8, true, centered}, false, 1, first, count); break;
  default:
    if (job->embedding)
      walk(job, (row_kind){&source_f32, true, centered}, false, 1, first, count);
    else
      walk(job, (row_kind){&source_f32, false, centered}, false, 1, first, count);
  }
}

#endif

/* Float rows one by one, with ordinary stores: what blocks of rows leave over. */
#ifndef CPB_LOOP_ROWS_SINGLY_H
#define CPB_LOOP_ROWS_SINGLY_H

#include "loop/rows_float.h"

#include "loop/rows_walk.inc"

static __attribute__((noinline)) void walk_singly(const cpb_rows_job *job, size_t first, size_t count) {
  bool centered = job->center.high != NULL;
  if (job->embedding && centered)
    walk(job, (row_kind){&source_f32, true, true}, false, 1, first, count);
  else if (job->embedding)
    walk(job, (row_kind){&source_f32, true, false}, false, 1, first, count);
  else if (centered)
    walk(job, (row_kind){&source_f32, false, true}, false, 1, first, count);
  else
    walk(job, (row_kind){&source_f32, false, false}, false, 1, first, count);
}

#endif

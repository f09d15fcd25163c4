/* Rows of doubles, and of floats with results in double, one by one, with ordinary stores: what ranges and blocks of rows
 * leave over. */
#ifndef CPB_LOOP_ROWS_DOUBLE_SINGLY_H
#define CPB_LOOP_ROWS_DOUBLE_SINGLY_H

#include "loop/rows_double.h"

#include "loop/rows_walk.inc"

#define SINGLY(name, source, forth, narrowed)                                                                \
  static __attribute__((noinline)) void name(const cpb_rows_job *job, size_t first, size_t count) {          \
    walk(job, (row_kind){&double_source_##source, forth, narrowed}, false, 1, first, count);                 \
  }
SINGLY(singly_f32_f64, f32, true, false)
SINGLY(singly_f64_f64, f64, true, false)
SINGLY(singly_f64_f32, f64, true, true)
SINGLY(singly_back_f32_f64, f32, false, false)
SINGLY(singly_back_f64_f64, f64, false, false)
SINGLY(singly_back_f64_f32, f64, false, true)
#undef SINGLY

#endif

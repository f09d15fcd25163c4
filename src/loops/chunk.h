/* Inline: a piece of a row as doubles, whatever the dtype of the row. */
#ifndef CPB_LOOPS_CHUNK_H
#define CPB_LOOPS_CHUNK_H

#include "loops/table.h"

/* Elements [offset, offset+count) of a row, count <= CPB_CHUNK. For f64 rows this is the row itself;
 * otherwise the elements are widened into buffer (CPB_CHUNK doubles). */
static inline const double *cpb_row_chunk(const cpb_loops *loops, cpb_view view, size_t row, size_t offset,
                                          size_t count, double *buffer) {
  size_t element = row * view.stride + offset;
  if (view.dtype == CPB_F64) return (const double *)view.data + element;
  loops->widen[view.dtype]((const char *)view.data + element * cpb_dtype_size(view.dtype), count, buffer);
  return buffer;
}

/* All elements of a row. */
static inline void cpb_row_widen(cpb_view view, size_t row, double *to) {
  size_t element = row * view.stride;
  cpb_loops_here()->widen[view.dtype]((const char *)view.data + element * cpb_dtype_size(view.dtype),
                                      view.cols, to);
}

/* Writes count doubles to elements [offset, ..) of a row of an f32 or f64 out. */
static inline void cpb_row_store(const cpb_loops *loops, cpb_out out, size_t row, size_t offset, size_t count,
                                 const double *from) {
  size_t element = row * out.stride + offset;
  if (out.dtype == CPB_F32)
    loops->narrow(from, count, (float *)out.data + element);
  else
    for (size_t i = 0; i < count; i++) ((double *)out.data)[element + i] = from[i];
}

/* How many elements the chunk at `offset` of a row of n has. */
static inline size_t cpb_chunk_count(size_t n, size_t offset) {
  return n - offset < CPB_CHUNK ? n - offset : CPB_CHUNK;
}

#endif

/* Whether a row has a result, and how a row without one is written. */
#ifndef CPB_LOOPS_ROW_STATE_H
#define CPB_LOOPS_ROW_STATE_H

#include <math.h>
#include <stdbool.h>

#include "base/rows.h"
#include "loops/chunk.h"
#include "base/blocks.h"

/* 0 when every element is finite, else the fault; NaN takes precedence over inf. */
static inline int cpb_row_fault(const cpb_loops *loops, cpb_view view, size_t row) {
  double buffer[CPB_CHUNK];
  int fault = 0;
  if (view.dtype == CPB_U8 || view.dtype == CPB_I8) return 0;
  for (size_t offset = 0; offset < view.cols; offset += CPB_CHUNK) {
    size_t count = cpb_chunk_count(view.cols, offset);
    const double *chunk = cpb_row_chunk(loops, view, row, offset, count, buffer);
    for (size_t i = 0; i < count; i++) {
      if (isnan(chunk[i])) return CPB_FAULT_NAN;
      if (isinf(chunk[i])) fault = CPB_FAULT_INFINITE;
    }
  }
  return fault;
}

/* cpb_check_view, and EROW for the first row with NaN or inf, before a call that visits the rows in another order. */
cpb_status cpb_check_finite(cpb_view rows, const char *name, size_t cols, const cpb_exec *exec,
                            cpb_error *error);

/* EROW unless every number of the row is finite; `name` is the name of the rows in the message. */
cpb_status cpb_check_finite_row(cpb_view view, size_t row, const char *name, cpb_error *error);

/* Finite numbers from this one on become inf in the output's type. */
static inline double cpb_out_limit(cpb_dtype dtype) { return dtype == CPB_F32 ? 0x1.ffffffp127 : INFINITY; }

static inline bool cpb_chunk_fits(const double *chunk, size_t count, double limit) {
  bool fits = true;
  for (size_t i = 0; i < count; i++) fits &= fabs(chunk[i]) < limit;
  return fits;
}

static inline void cpb_row_fill_nan(cpb_out out, size_t row) {
  for (size_t column = 0; column < out.cols; column++) cpb_out_set(out, row, column, NAN);
}

#endif

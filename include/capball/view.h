/* Rows of numbers that belong to the caller. */
#ifndef CAPBALL_VIEW_H
#define CAPBALL_VIEW_H

#include "capball/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Element types. Pinned, append only. Laws take the first five; results are f32 or f64. */
typedef enum cpb_dtype {
  CPB_F32 = 0,
  CPB_F64 = 1,
  CPB_F16 = 2, /* IEEE binary16, as raw 16-bit words */
  CPB_U8 = 3,
  CPB_I8 = 4,
  CPB_I32 = 5, /* ids and counts in files; no law takes them */
  CPB_I64 = 6,
} cpb_dtype;

/** Rows to read; borrowed for the call. Row i starts at element i*stride, stride >= cols. */
typedef struct cpb_view {
  const void *data;
  cpb_dtype dtype;
  size_t rows, cols, stride;
} cpb_view;

/** Rows to write; the memory is the caller's, dtype is CPB_F32 or CPB_F64. Elements between
 *  cols and stride are never touched. */
typedef struct cpb_out {
  void *data;
  cpb_dtype dtype;
  size_t rows, cols, stride;
} cpb_out;

/** Bytes of one element. */
CPB_API size_t cpb_dtype_size(cpb_dtype dtype);

/** "f32", "f64", "f16", "u8", "i8", "i32", "i64"; a view, never NULL. */
CPB_API const char *cpb_dtype_name(cpb_dtype dtype);

/** Densely packed rows (stride = cols). */
static inline cpb_view cpb_rows(const void *data, cpb_dtype dtype, size_t rows, size_t cols) {
  cpb_view view = {data, dtype, rows, cols, cols};
  return view;
}
static inline cpb_out cpb_rows_out(void *data, cpb_dtype dtype, size_t rows, size_t cols) {
  cpb_out out = {data, dtype, rows, cols, cols};
  return out;
}

#ifdef __cplusplus
}
#endif
#endif

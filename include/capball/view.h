/* Rows of numbers owned by the caller: all in memory, or read block by block. */
#ifndef CAPBALL_VIEW_H
#define CAPBALL_VIEW_H

#include "capball/exec.h"

CPB_BEGIN

/** Element types. Values are fixed. Computations accept the first five; results are f32 or f64. */
typedef enum cpb_dtype {
  CPB_F32 = 0,
  CPB_F64 = 1,
  CPB_F16 = 2, /* IEEE binary16, as raw 16-bit words */
  CPB_U8 = 3,
  CPB_I8 = 4,
  CPB_I32 = 5, /* ids and counts in files; not accepted by computations */
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

/** All elements of a view as doubles, row after row without gaps; i64 beyond 2^53 is rounded.
 *  to   rows*cols numbers, caller's */
CPB_API void cpb_view_widen(cpb_view view, double *to);

/** Densely packed rows (stride = cols). */
static inline cpb_view cpb_rows(const void *data, cpb_dtype dtype, size_t rows, size_t cols) {
  cpb_view view = {data, dtype, rows, cols, cols};
  return view;
}
static inline cpb_out cpb_rows_out(void *data, cpb_dtype dtype, size_t rows, size_t cols) {
  cpb_out out = {data, dtype, rows, cols, cols};
  return out;
}

#define CPB_ROWS_UNKNOWN UINT64_MAX

/** Rows read block by block, for as many passes as a call needs: a view (cpb_source_from_view), an open file
 *  (cpb_reader_source), or two functions of the caller's own. A call starts with `rewind` and reads each pass
 *  to its end unless it fails.
 *
 *  Functions named _fit build an object from a source: cpb_map_fit, cpb_model_fit, cpb_transform_fit, cpb_sketch_fit,
 *  cpb_recommend_fit, cpb_radius_fit. Sums are exact: results do not depend on block sizes or the number of threads.
 *  Memory is constant except for samples, d x d numbers for whitening, one score per row in a model, and where the
 *  contract says that rows are held. NULL options select the defaults; reports may be NULL. A row with NaN or inf gives
 *  EROW, with error->row counted from the first row of the source; with `skip_bad` such rows are skipped instead. */
typedef struct cpb_source cpb_source;
struct cpb_source {
  size_t size; /* sizeof(cpb_source) */
  size_t cols;
  cpb_dtype dtype; /* of every block */
  uint64_t rows;   /* CPB_ROWS_UNKNOWN if the number is known only after reading */

  /** The next rows of the pass, in order; rows = 0 at the end of the pass and nowhere else. The block is valid
   *  until the next call. A few thousand rows at a time work best. A status other than CPB_OK ends the call that
   *  reads and is returned from it, with its message. */
  cpb_status (*next)(cpb_source *source, cpb_view *block, cpb_error *error);

  /** Back to the first row. */
  cpb_status (*rewind)(cpb_source *source, cpb_error *error);

  void *self;    /* for the two functions */
  cpb_view view; /* all rows if they are in memory, else rows = 0. A call may read them directly instead of
                    calling `next` */
  size_t at;     /* rows of the view returned so far */
  const char *const *names; /* of the `cols` columns; NULL: none. Fitted objects keep them */
};

/** The functions of a source over a view. */
CPB_CALL cpb_status cpb_view_next(cpb_source *source, cpb_view *block, cpb_error *error);
CPB_CALL cpb_status cpb_view_rewind(cpb_source *source, cpb_error *error);

/** The rows of a view as a source; the view is borrowed while the source is used. */
static inline cpb_source cpb_source_from_view(cpb_view view) {
  cpb_source source = {sizeof source,   view.cols, view.dtype, view.rows, cpb_view_next,
                       cpb_view_rewind, NULL,      view,       0,         NULL};
  return source;
}

/** Reads all rows of a source into memory, for calls that need a view: i32 and i64 as f64, other types unchanged.
 *  Free rows->data with cpb_free. */
CPB_CALL cpb_status cpb_source_hold(cpb_source *source, cpb_view *rows, const cpb_exec *exec,
                                    cpb_error *error);

/** Random access to rows by number: of a view (cpb_store_from_view), a file (cpb_reader_store), or the caller's own. */
typedef struct cpb_store cpb_store;
struct cpb_store {
  size_t size; /* sizeof(cpb_store) */
  size_t cols;
  cpb_dtype dtype;
  uint64_t rows;

  /** Copies rows ids[0 .. count), densely packed, to count*cols elements; called from several threads at
   *  once. A status other than CPB_OK ends the call that reads and is returned from it, with its message. */
  cpb_status (*get)(const cpb_store *store, const uint64_t *ids, size_t count, void *rows, cpb_error *error);

  void *self;    /* for the function */
  cpb_view view; /* of cpb_store_from_view */
};

/** The function of a store over a view. */
CPB_CALL cpb_status cpb_view_get(const cpb_store *store, const uint64_t *ids, size_t count, void *rows,
                                 cpb_error *error);

/** The rows of a view by number; the view is borrowed while the store is used. */
static inline cpb_store cpb_store_from_view(cpb_view view) {
  cpb_store store = {sizeof store, view.cols, view.dtype, view.rows, cpb_view_get, NULL, view};
  return store;
}

CPB_END
#endif

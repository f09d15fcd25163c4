/* Rows of numbers that belong to the caller: all in memory, or met one block after the other. */
#ifndef CAPBALL_VIEW_H
#define CAPBALL_VIEW_H

#include "capball/exec.h"

CPB_BEGIN

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

/** Rows one block after the other, for as many passes as the call needs: a view (cpb_source_from_view), an
 *  opened file (cpb_reader_source), or whatever the caller's own two functions read. A call begins with
 *  `rewind` and reads to the end of a pass unless it fails.
 *
 *  The calls named _fit make an object from a source: cpb_map_fit, cpb_model_fit, cpb_transform_fit, cpb_sketch_fit,
 *  cpb_recommend_fit, cpb_radius_fit. Sums are exact: the blocks and the number of threads do not change a bit of the
 *  result. Memory is constant but for samples, d x d numbers with a whitening, one score per row in a model, and where
 *  the contract says that rows are held. NULL options are the defaults, NULL reports are allowed. Rows with NaN or inf
 *  are EROW, and error->row counts from the first row of the source; with `skip_bad` they are left out instead. */
typedef struct cpb_source cpb_source;
struct cpb_source {
  size_t size; /* sizeof(cpb_source) */
  size_t cols;
  cpb_dtype dtype; /* of every block */
  uint64_t rows;   /* CPB_ROWS_UNKNOWN where only reading tells */

  /** The next rows of the pass, in order; rows = 0 at its end, and only there. The block lives until the
   *  next call. Some thousand rows at a time are best. Another answer than CPB_OK ends the call that reads
   *  and is handed on, with its sentence. */
  cpb_status (*next)(cpb_source *source, cpb_view *block, cpb_error *error);

  /** Back to the first row. */
  cpb_status (*rewind)(cpb_source *source, cpb_error *error);

  void *self;    /* the two functions' own */
  cpb_view view; /* all rows, where they are in memory: rows = 0 where they are not. A call may look at them
                    instead of asking */
  size_t at;     /* rows of the view given so far */
  const char *const
      *names; /* of the columns, `cols` of them; NULL: they have none. What is fitted keeps them */
};

/** What a source over a view asks for its blocks. */
CPB_CALL cpb_status cpb_view_next(cpb_source *source, cpb_view *block, cpb_error *error);
CPB_CALL cpb_status cpb_view_rewind(cpb_source *source, cpb_error *error);

/** The rows of a view as a source; the rows are borrowed while it is used. */
static inline cpb_source cpb_source_from_view(cpb_view view) {
  cpb_source source = {sizeof source,   view.cols, view.dtype, view.rows, cpb_view_next,
                       cpb_view_rewind, NULL,      view,       0,         NULL};
  return source;
}

/** All rows of a source in memory, for calls that want a view: wide whole numbers as f64, else as they are. Gives
 *  *rows; rows->data goes back by cpb_free. */
CPB_CALL cpb_status cpb_source_hold(cpb_source *source, cpb_view *rows, const cpb_exec *exec,
                                    cpb_error *error);

/** Rows by their numbers: of a view (cpb_store_from_view), of a file (cpb_reader_store), or of the caller's own. */
typedef struct cpb_store cpb_store;
struct cpb_store {
  size_t size; /* sizeof(cpb_store) */
  size_t cols;
  cpb_dtype dtype;
  uint64_t rows;

  /** Rows ids[0 .. count), packed one after the other, into count*cols elements; called from several threads at
   *  once. Another answer than CPB_OK ends the call that asks and is handed on, with its sentence. */
  cpb_status (*get)(const cpb_store *store, const uint64_t *ids, size_t count, void *rows, cpb_error *error);

  void *self;    /* the function's own */
  cpb_view view; /* of cpb_store_from_view */
};

/** What a store over a view answers. */
CPB_CALL cpb_status cpb_view_get(const cpb_store *store, const uint64_t *ids, size_t count, void *rows,
                                 cpb_error *error);

/** The rows of a view by number; they are borrowed while it is used. */
static inline cpb_store cpb_store_from_view(cpb_view view) {
  cpb_store store = {sizeof store, view.cols, view.dtype, view.rows, cpb_view_get, NULL, view};
  return store;
}

CPB_END
#endif

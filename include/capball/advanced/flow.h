/* More on files: ids, labels and text columns, filling in cells, rows from file to file, atomic writes.
 *
 * Advanced: can change between releases. */
#ifndef CAPBALL_ADVANCED_FLOW_H
#define CAPBALL_ADVANCED_FLOW_H

#include <stdbool.h>

#include "capball/file.h"

CPB_BEGIN

/** Reads only the columns with these names from now on, in this order; does nothing if columns have no names. Call it
 *  before the first row is read. EFORMAT names a column that does not exist. */
CPB_CALL cpb_status cpb_reader_select(cpb_reader *reader, const char *const *names, size_t count,
                                      cpb_error *error);

/** Id and label of a row that has been read, as spelled in the file; NULL for other rows, or without such a column.
 *  Valid until the next call on this reader. */
CPB_API const char *cpb_reader_id(const cpb_reader *reader, uint64_t row);
CPB_API const char *cpb_reader_label(const cpb_reader *reader, uint64_t row);

/** The number of a row in the file, including rows that skip_bad has skipped so far. */
CPB_API uint64_t cpb_reader_row(const cpb_reader *reader, uint64_t row);

/** From now on cells that are NaN are read as values[column]; NULL: they stay NaN. The values are copied. Disables
 *  random access. Only f32 and f64 have NaN; other types are unchanged. */
CPB_CALL cpb_status cpb_reader_fill(cpb_reader *reader, const double *values, cpb_error *error);

/** Whether two paths "file.hdf5:set" name the same data set of one file: by different spellings of its name
 *  ("train", "/train", "./train"; "train" is the default) or by links to one object. The file of `path` is
 *  opened if it exists; the caller must know whether `other` is in the same file. */
CPB_API bool cpb_same_data_set(const char *path, const char *other);

/** How to copy rows from one file to another. Start from cpb_flow_options_init. */
typedef struct cpb_flow_options {
  size_t size;
  uint64_t first, last; /* copy rows first <= i < last; default all */
  bool skip_bad;        /* skip rows without a result, or with NaN or inf; default false */
  bool lend;            /* as in cpb_reader_source, with the same warning; default false */

  /** Computes `out` from `in`, as cpb_map_embed does; NULL (the default): rows are copied. */
  cpb_status (*transform)(const void *arg, cpb_view in, cpb_out out, const cpb_exec *exec, cpb_error *error);
  const void *arg;
  size_t cols; /* of the transform's output */
} cpb_flow_options;
CPB_API void cpb_flow_options_init(cpb_flow_options *options, size_t size);

/** Reads rows, transforms them and writes them, in constant memory; the file is created atomically. If both files have
 *  random access, every thread processes its own blocks; otherwise blocks are read and written in sequence and the
 *  transform runs in parallel. The result is the same.
 *  to         format and dtype of the output, NULL: the defaults; its rows and cols are set by the call
 *  bad_rows   the number of rows skipped; may be NULL
 *  EROW: error->row counts from the first row of the input. */
CPB_CALL cpb_status cpb_flow_run(cpb_reader *reader, const cpb_flow_options *options, const char *path,
                                 const cpb_writer_options *to, uint64_t *bad_rows, const cpb_exec *exec,
                                 cpb_error *error);

/** Writes bytes to `path` atomically (temporary file, fsync, rename); "-" is standard output.
 *  For reports, models and pictures. */
CPB_CALL cpb_status cpb_write_whole(const char *path, const void *bytes, size_t count, cpb_error *error);

CPB_END
#endif

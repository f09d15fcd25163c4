/* More of files: ids, labels and columns of text, cells to fill in, rows from one file to another, files written whole.
 *
 * Advanced: can change between releases. */
#ifndef CAPBALL_ADVANCED_FLOW_H
#define CAPBALL_ADVANCED_FLOW_H

#include <stdbool.h>

#include "capball/file.h"

CPB_BEGIN

/** From now on the columns with these names are read, in this order; where columns have no names nothing changes. Before the
 *  first row. EFORMAT names one that is not there. */
CPB_CALL cpb_status cpb_reader_select(cpb_reader *reader, const char *const *names, size_t count,
                                      cpb_error *error);

/** Id and label of a row that has been read, as the file spells them; NULL for others, and without such a column.
 *  Until the next call on this reader. */
CPB_API const char *cpb_reader_id(const cpb_reader *reader, uint64_t row);
CPB_API const char *cpb_reader_label(const cpb_reader *reader, uint64_t row);

/** Which row of the file a row is, counted with those that skip_bad has left out so far. */
CPB_API uint64_t cpb_reader_row(const cpb_reader *reader, uint64_t row);

/** From now on cells that are NaN are read as values[column]; NULL: they stay NaN. Values are copied. Takes away
 *  random access. Only f32 and f64 have NaN; other elements stay as they are. */
CPB_CALL cpb_status cpb_reader_fill(cpb_reader *reader, const double *values, cpb_error *error);

/** True when two paths "file.hdf5:set" name one data set of one file: by other spellings of its name
 *  ("train", "/train", "./train"; without a set "train" is meant) or by links to one object. The file of `path` is
 *  looked at, where it is there; whether `other` has the same file is for the caller to know. */
CPB_API bool cpb_same_data_set(const char *path, const char *other);

/** Rows on their way from one file to another. Start from cpb_flow_options_init. */
typedef struct cpb_flow_options {
  size_t size;
  uint64_t first, last; /* rows first <= i < last are taken; default all */
  bool skip_bad;        /* leave rows out that have no answer, or NaN or inf in them; default false */
  bool lend;            /* read the file's own pages, with the warning of cpb_reader_source; default false */

  /** Makes `out` of `in`, as cpb_map_embed does; NULL (the default): rows are copied. */
  cpb_status (*transform)(const void *arg, cpb_view in, cpb_out out, const cpb_exec *exec, cpb_error *error);
  const void *arg;
  size_t cols; /* of what the transform makes */
} cpb_flow_options;

CPB_API void cpb_flow_options_init(cpb_flow_options *options, size_t size);

/** Reads rows, transforms them and writes them, in constant memory; the file appears whole or not at all. Where both
 *  files have random access every thread takes blocks of its own; otherwise blocks go one after the other and the
 *  transform runs in parallel. The result is the same.
 *  to         format and dtype of the output; its rows and cols are those of the flow
 *  bad_rows   how many were left out; may be NULL
 *  EROW: error->row counts from the first row of the input. */
CPB_CALL cpb_status cpb_flow_run(cpb_reader *reader, const cpb_flow_options *options, const char *path,
                                 const cpb_writer_options *to, uint64_t *bad_rows, const cpb_exec *exec,
                                 cpb_error *error);

/** Writes bytes to `path` whole or not at all (temporary file, fsync, rename); "-" is standard output.
 *  For reports, models and pictures. */
CPB_CALL cpb_status cpb_write_whole(const char *path, const void *bytes, size_t count, cpb_error *error);

CPB_END
#endif

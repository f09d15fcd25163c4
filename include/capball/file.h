/* Files of vectors, read and written in blocks of rows and constant memory.
 *
 *   name      extension   row layout                                          reads  streams from -
 *   fvecs     .fvecs      int32 d, then d f32, per row                        f32    yes
 *   bvecs     .bvecs      int32 d, then d u8, per row                         u8     yes
 *   ivecs     .ivecs      int32 d, then d i32, per row                        i32    yes
 *   fbin      .fbin       uint32 n, uint32 d, then n*d f32                    f32    yes
 *   u8bin     .u8bin      the same with u8                                    u8     yes
 *   i8bin     .i8bin      the same with i8                                    i8     yes
 *   f16bin    .f16bin     the same with f16                                   f16    yes
 *   ibin      .ibin       the same with i32                                   i32    yes
 *   npy       .npy        NumPy v1-v3, C or Fortran order, f2 f4 f8 u1 i1 i4 i8      yes (C order)
 *   hdf5      .hdf5 .h5   ann-benchmarks; "file.hdf5:train" names the data set       no
 *   csv       .csv        RFC 4180, optional header; , ; tab or blanks        f64    yes
 *   tsv       .tsv .txt   the same                                            f64    yes
 *   libsvm    .libsvm .svm  label index:value .., indices from 1              f64    no
 *
 * Everything is little-endian. An inconsistent file (shorter than its header says, a row of another d, a truncated
 * last row) gives CPB_EFORMAT and a message with file, row or offset.
 *
 *   npy     a one-dimensional array is one column; b1 is read as u8, u2 and i2 as i32, u4 as i64; object,
 *           structured and big-endian arrays are rejected
 *   hdf5    data set "train" unless named; 16- and 32-bit integers are read as the next wider type. libhdf5
 *           is not thread-safe: use readers and writers of HDF5 files from one thread at a time. Links to
 *           other files, external storage and virtual data sets are rejected unless follow_external is set
 *   csv     the first line determines the separator. It is a header if none of its fields is a number and at least
 *           one is a name; a mixture of both is an error, as are names with control characters, and names that start
 *           like numbers if no row follows. Here 1e999 and 0x1.8p3, which are not accepted as values, count as
 *           numbers. An unnamed column before all others (pandas, R) contains the ids of the rows. Empty cells, NA,
 *           N/A, null and None are NaN; nan and inf are numbers, true and false are 1 and 0; blank lines are
 *           ignored; numbers are written with the fewest digits that give the same bits when read. Names of columns
 *           that are not UTF-8 are decoded as Windows-1252, and one that repeats an earlier one gets a number:
 *           a, a.1
 *   libsvm  labels are discarded, and written as 0; d is the largest index, at most 2^24
 *
 * A line of csv, tsv or libsvm has at most 2^29 bytes (512 MiB), and at most 2^24 numbers.
 *
 * NAME.gz and NAME.zst are decompressed while reading if capball was built with zlib and libzstd; they have no random
 * access, and are read again from the start for another pass. */
#ifndef CAPBALL_FILE_H
#define CAPBALL_FILE_H

#include <stdbool.h>

#include "capball/exec.h"
#include "capball/view.h"

CPB_BEGIN

typedef struct cpb_reader cpb_reader;
typedef struct cpb_writer cpb_writer;
typedef struct cpb_seal cpb_seal; /* capball/advanced/seal.h */

/** Properties of an open file. Pointers are views into the reader. */
typedef struct cpb_file_info {
  size_t size;        /* sizeof(cpb_file_info) */
  const char *path;   /* as given */
  const char *format; /* the name in the table above */
  cpb_dtype dtype;    /* of the elements of a block */
  size_t cols;
  uint64_t rows;       /* CPB_ROWS_UNKNOWN for text and for pipes, until they have been read */
  bool random_access;  /* cpb_reader_store works */
  char separator;      /* of text: , ; tab, or a blank for any number of blanks; otherwise 0 */
  bool names;          /* the columns have names: see cpb_reader_source */
  bool ids, labels;    /* the rows have ids, labels: see cpb_reader_id, cpb_reader_label */
  uint64_t bad_rows;   /* skipped so far, with skip_bad */
  const char *skipped; /* with skip_text: the names or numbers of the columns skipped; NULL: none */
  const char *renamed; /* which columns had the name of an earlier one, and their new names; NULL: none */
} cpb_file_info;

/** Opens a file for reading; the caller owns *reader. "-" is standard input.
 *  format  a name from the table, or NULL to determine it from the extension */
CPB_CALL cpb_status cpb_reader_open(const char *path, const char *format, cpb_reader **reader,
                                    cpb_error *error);

typedef enum cpb_header { CPB_HEADER_AUTO, CPB_HEADER_NO, CPB_HEADER_YES } cpb_header;

/** How to open a file. Start from cpb_reader_options_init. Columns are given by name or by number from 1; a list is
 *  "a,b,3-7,9-", where 9- is the ninth and all after it. Strings are borrowed for the lifetime of the reader. */
typedef struct cpb_reader_options {
  size_t size;              /* sizeof(cpb_reader_options) */
  const char *format;       /* a name from the table, or NULL to determine it from the extension */
  bool follow_external;     /* HDF5: links, storage and virtual data sets may refer to other files. Only for
                           trusted files: they can name any file that the user can read */
  const char *columns;      /* a list: these, in this order; NULL: all */
  const char *drop;         /* a list: all but these; NULL: none */
  const char *id_column;    /* text: its cells are the ids of the rows; NULL: the unnamed column, if any */
  const char *label_column; /* text: the same for labels */
  cpb_header header;        /* text: whether the first line contains names; default: detected */
  bool decimal_comma;       /* text: 1,5 is a number, and a comma is not a separator */
  bool skip_bad;  /* skip rows with NaN or inf, and number rows without them; disables random access */
  bool skip_text; /* text: skip columns whose first cell is text, unless `columns` selects some */
  void (*problem)(void *context, const cpb_error *what); /* text: called for cells that are no numbers, and */
  void *context; /* rows of another length, which are read as NaN; NULL (the default): these are errors */
} cpb_reader_options;
CPB_API void cpb_reader_options_init(cpb_reader_options *options, size_t size);

/** cpb_reader_open with options; NULL selects the defaults. */
CPB_CALL cpb_status cpb_reader_open_as(const char *path, const cpb_reader_options *options,
                                       cpb_reader **reader, cpb_error *error);
CPB_API void cpb_reader_free(cpb_reader *reader);

/** Fills *info up to info->size, which the caller has set; cpb_reader_info does so in one expression. */
CPB_API void cpb_reader_describe(const cpb_reader *reader, cpb_file_info *info);
static inline cpb_file_info cpb_reader_info(const cpb_reader *reader) {
  cpb_file_info info;
  info.size = sizeof info;
  cpb_reader_describe(reader, &info);
  return info;
}

/** The next block of at most max_rows >= 1 rows, in order; rows = 0 at the end and nowhere else. Blocks of
 *  sparse files (libsvm, hdf5) are 16 MiB or one row at most, so they may be shorter than requested.
 *  The view is valid until the next call on this reader. error->row counts from the start of the file. */
CPB_CALL cpb_status cpb_reader_next(cpb_reader *reader, size_t max_rows, cpb_view *block, cpb_error *error);

/** Back to the first row, for another pass. EIO for a pipe from which rows have been read. */
CPB_CALL cpb_status cpb_reader_rewind(cpb_reader *reader, cpb_error *error);

/** The file as a source of rows, from its first row, in blocks of about 16 MiB; the reader is borrowed while
 *  the source is used, and must not be used directly. A pipe can be read once: its `rewind` succeeds before
 *  the first row has been read, and gives EIO afterwards.
 *  lend   blocks are mapped pages of the file if its layout allows, without a copy. If another process truncates
 *         the file meanwhile, SIGBUS is raised: only for programs that handle that signal
 *  For reader = NULL a source without functions, which every call refuses. */
CPB_API cpb_source cpb_reader_source(cpb_reader *reader, bool lend);

/** The rows of a file by number, read in place; the reader is borrowed while the store is used. EINVAL without
 *  random access: read such files into memory (cpb_source_hold, cpb_store_from_view). */
CPB_CALL cpb_status cpb_reader_store(cpb_reader *reader, cpb_store *store, cpb_error *error);

/** What to write. Start from cpb_writer_options_init. */
typedef struct cpb_writer_options {
  size_t size;        /* sizeof(cpb_writer_options) */
  const char *format; /* NULL: determined from the extension */
  cpb_dtype dtype;    /* of the elements in the file; must be supported by the format */
  size_t cols;
  uint64_t rows; /* CPB_ROWS_UNKNOWN: as many as are appended */
  /* csv and tsv only; NULL (the default): none. Readers are borrowed for the lifetime of the writer */
  const char *const *columns; /* names for a header line; one per column */
  const cpb_reader *rows_of;  /* row i is preceded by the id of its row i, in an unnamed column */
  const cpb_reader *cells_of; /* cells are row numbers of this reader, written as the ids of these rows */
  cpb_seal *seal; /* of the rows, written with them (not to a pipe); NULL (the default): none. Borrowed for
                     the lifetime of the writer */
} cpb_writer_options;
CPB_API void cpb_writer_options_init(cpb_writer_options *options, size_t size);

/** Creates a file; the caller owns *writer. Nothing appears under `path` before the commit: rows are written to
 *  a temporary file in the same directory. "-" is standard output (the number of rows must then be given for
 *  formats with a count in the header); other pipes and devices are written directly as well.
 *  A symbolic link is kept: its target is replaced. A replaced file keeps its permissions.
 *  "file.hdf5:set" keeps the other data sets of an existing file; "file.hdf5" replaces the file. EIO if such a
 *  file cannot be read, or another program is writing to it; a group is not replaced by a data set. */
CPB_CALL cpb_status cpb_writer_open(const char *path, const cpb_writer_options *options, cpb_writer **writer,
                                    cpb_error *error);

/** Appends rows of any dtype, converted: exactly if the file's dtype can represent the value, else rounded to
 *  nearest for floats. EROW with row and value if an integer type cannot represent it, or if a finite number
 *  is beyond the largest float. After a failure the file cannot be committed. */
CPB_CALL cpb_status cpb_writer_append(cpb_writer *writer, cpb_view block, cpb_error *error);

/** Completes the file atomically: header, fsync, rename to `path`. The seal of an older file of this name is
 *  removed before the rename and the new seal is written after it; only one writer at a time does so in a
 *  directory. */
CPB_CALL cpb_status cpb_writer_commit(cpb_writer *writer, cpb_error *error);

/** Frees the writer; without a commit, no file is left behind. NULL is allowed. */
CPB_API void cpb_writer_free(cpb_writer *writer);

CPB_END
#endif

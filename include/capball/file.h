/* Files of vectors behind one reader and one writer, in blocks of rows and constant memory.
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
 * Everything is little-endian. A file that lies (a header that promises more than the file holds, a
 * row of another d, a truncated tail) gives CPB_EFORMAT and a sentence with file, row or offset.
 *
 *   npy     an array of one dimension is one column; b1 is read as u8, u2 and i2 as i32, u4 as i64; object,
 *           structured and big-endian arrays are refused
 *   hdf5    data set "train" unless named; 16- and 32-bit integers are read as the next wider type. libhdf5
 *           is not thread-safe: use readers and writers of HDF5 files from one thread at a time. Links to
 * other files, sets whose numbers are in other files and virtual sets are refused (follow_external)
 *   csv     the first line tells the separator. It is a header when none of its fields is a number and one is a
 *           name; a line of both is an error, where 1e999 and 0x1.8p3 are numbers too, which are not read; so are
 *           names with control characters, and names that begin like numbers where no row follows. A column without a name in front of all others (pandas, R) has the ids of
 *           the rows. Empty cells, NA, N/A, null and None are NaN; nan and inf are numbers, true and false 1 and 0;
 *           blank lines do not count; written with the fewest digits that give the same bits back
 *   libsvm  labels are dropped, and written as 0; d is the largest index, at most 2^24
 *
 * A line of csv, tsv or libsvm has at most 2^29 bytes (512 MiB), and at most 2^24 numbers.
 *
 * NAME.gz and NAME.zst are unpacked on the way in, where capball was built with zlib and libzstd; they have no random
 * access, and can be read again from the start. */
#ifndef CAPBALL_FILE_H
#define CAPBALL_FILE_H

#include <stdbool.h>

#include "capball/exec.h"
#include "capball/view.h"

CPB_BEGIN

typedef struct cpb_reader cpb_reader;
typedef struct cpb_writer cpb_writer;
typedef struct cpb_seal cpb_seal; /* capball/advanced/seal.h */

/** What a reader found. Views into it. */
typedef struct cpb_file_info {
  size_t size;        /* sizeof(cpb_file_info) */
  const char *path;   /* as given */
  const char *format; /* the name in the table above */
  cpb_dtype dtype;    /* of the elements a block holds */
  size_t cols;
  uint64_t rows;      /* CPB_ROWS_UNKNOWN for text and for pipes, until they have been read */
  bool random_access; /* cpb_reader_store works */
  char separator;     /* of text: , ; tab, or a blank for any number of them; else 0 */
  bool names;         /* the columns have names: those of cpb_reader_source */
  bool ids, labels;   /* the rows have: cpb_reader_id, cpb_reader_label */
  uint64_t bad_rows;  /* left out so far, with skip_bad */
} cpb_file_info;

/** Opens a file for reading; gives *reader to the caller. "-" is standard input.
 *  format  a name of the table, or NULL to go by the extension */
CPB_CALL cpb_status cpb_reader_open(const char *path, const char *format, cpb_reader **reader,
                                    cpb_error *error);

typedef enum cpb_header { CPB_HEADER_AUTO, CPB_HEADER_NO, CPB_HEADER_YES } cpb_header;

/** How a file is opened. Start from cpb_reader_options_init. Columns are called by their names, or by numbers from 1
 *  on; a list is "a,b,3-7,9-", where 9- is the ninth and all behind it. Texts are borrowed as long as the reader lives. */
typedef struct cpb_reader_options {
  size_t size;        /* sizeof(cpb_reader_options) */
  const char *format; /* a name of the table, or NULL to go by the extension */
  bool
      follow_external; /* HDF5: links, sets and virtual sets may lead to other files. Only for files one trusts:
                           they can name any file that the user may read */
  const char *columns;   /* a list: these, in this order; NULL: all */
  const char *drop;      /* a list: all but these; NULL: none */
  const char *id_column; /* text: its cells are the ids of the rows; NULL: the one without a name, if any */
  const char *label_column; /* text: the same for labels */
  cpb_header header;        /* text: whether the first line has the names; default: as it looks */
  bool decimal_comma;       /* text: 1,5 is a number, and a comma separates nothing */
  bool skip_bad; /* rows with NaN or inf are left out, and rows are counted without them; takes away random
                               access */
} cpb_reader_options;

CPB_API void cpb_reader_options_init(cpb_reader_options *options, size_t size);

/** The same as cpb_reader_open with more to say; NULL options are the defaults. */
CPB_CALL cpb_status cpb_reader_open_as(const char *path, const cpb_reader_options *options,
                                       cpb_reader **reader, cpb_error *error);
CPB_API void cpb_reader_free(cpb_reader *reader);

/** Fills *info, whose size is set; cpb_reader_info is the same in one line. */
CPB_API void cpb_reader_describe(const cpb_reader *reader, cpb_file_info *info);
static inline cpb_file_info cpb_reader_info(const cpb_reader *reader) {
  cpb_file_info info;
  info.size = sizeof info;
  cpb_reader_describe(reader, &info);
  return info;
}

/** The next block of at most max_rows >= 1 rows, in order; rows = 0 at the end, and only there. Blocks of
 *  sparse files (libsvm, hdf5) are 16 MiB or one row at most, so they may be shorter than asked for.
 *  The view is valid until the next call on this reader. error->row counts from the file's start. */
CPB_CALL cpb_status cpb_reader_next(cpb_reader *reader, size_t max_rows, cpb_view *block, cpb_error *error);

/** Back to the first row, for another pass. EIO for a pipe of which rows have been read. */
CPB_CALL cpb_status cpb_reader_rewind(cpb_reader *reader, cpb_error *error);

/** The file as a source of rows, from its first row, in blocks of about 16 MiB; the reader is borrowed while
 *  the source is used, and may not be used otherwise. A pipe can be read once: its `rewind` is fine before the
 *  first row was read, and EIO after it.
 *  lend   blocks are the file's own pages where rows are laid out as a view wants them, without a copy. A file that
 *         another process shortens meanwhile raises SIGBUS: for programs that handle that signal */
CPB_API cpb_source cpb_reader_source(cpb_reader *reader, bool lend);

/** The rows of a file by number, read where they lie; the reader is borrowed while the store is used. EINVAL without
 *  random access: hold such files in memory (cpb_source_hold, cpb_store_from_view). */
CPB_CALL cpb_status cpb_reader_store(cpb_reader *reader, cpb_store *store, cpb_error *error);

/** What a writer is to make. Start from cpb_writer_options_init. */
typedef struct cpb_writer_options {
  size_t size;        /* sizeof(cpb_writer_options) */
  const char *format; /* NULL: by the extension */
  cpb_dtype dtype;    /* of the elements in the file; must be one the format has */
  size_t cols;
  uint64_t rows; /* CPB_ROWS_UNKNOWN: as many as are appended */
  /* csv and tsv alone; NULL (the default): none. Readers are borrowed while the writer lives */
  const char *const *columns; /* names, in a first line; one per column */
  const cpb_reader *rows_of;  /* row i is its row i, whose id stands in front, in a column without a name */
  const cpb_reader *cells_of; /* numbers in the cells are rows of it, and their ids stand for them */
  cpb_seal *
      seal; /* of the rows: published with them, of a pipe not at all; NULL (the default): none. Borrowed while
                     the writer lives */
} cpb_writer_options;

CPB_API void cpb_writer_options_init(cpb_writer_options *options, size_t size);

/** Starts a file; gives *writer to the caller. Nothing appears under `path` before commit: rows go to
 *  a temporary file beside it. "-" is standard output (then rows must be known for formats whose
 *  header counts them), and other pipes and devices are written as they come, too.
 *  A symbolic link stays one: its target is replaced. A replaced file keeps its permissions.
 *  "file.hdf5:set" keeps the other data sets of a file that is there; "file.hdf5" replaces the file. EIO when
 *  such a file cannot be read, or another program is writing to it; a group is not replaced by a set. */
CPB_CALL cpb_status cpb_writer_open(const char *path, const cpb_writer_options *options, cpb_writer **writer,
                                    cpb_error *error);

/** Appends rows of any dtype, converted: exactly where the file's dtype holds the value, rounded to
 *  nearest for floats. EROW with row and value where an integer type does not hold it, or where a finite
 *  number is beyond the largest float. After a failure the file cannot be committed any more. */
CPB_CALL cpb_status cpb_writer_append(cpb_writer *writer, cpb_view block, cpb_error *error);

/** Completes the file: header, fsync, rename over `path`. The file is there whole, or not at all. The seal of an
 *  older file of this name goes before the rename, the seal of this one comes after it, and one writer at a time does so in
 *  a directory. */
CPB_CALL cpb_status cpb_writer_commit(cpb_writer *writer, cpb_error *error);

/** Frees the writer; without a commit before, nothing is left behind. NULL is fine. */
CPB_API void cpb_writer_free(cpb_writer *writer);

CPB_END
#endif

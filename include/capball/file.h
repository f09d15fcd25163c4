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
 *           name; a line of both is an error, and so are names with control characters, and names that begin like
 *           numbers where no row follows. A column without a name in front of all others (pandas, R) has the ids of
 *           the rows. Empty cells, NA, N/A, null and None are NaN; nan and inf are numbers, true and false 1 and 0;
 *           blank lines do not count; written with the fewest digits that give the same bits back
 *   libsvm  labels are dropped, and written as 0; d is the largest index, at most 2^24
 *
 * NAME.gz and NAME.zst are unpacked on the way in, where capball was built with zlib and libzstd; they have no random
 * access, and can be read again from the start. */
#ifndef CAPBALL_FILE_H
#define CAPBALL_FILE_H

#include <stdbool.h>

#include "capball/exec.h"
#include "capball/view.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cpb_reader cpb_reader;
typedef struct cpb_writer cpb_writer;
typedef struct cpb_seal cpb_seal; /* capball/seal.h */

/** What a reader found. Views into it. */
typedef struct cpb_file_info {
  size_t size;        /* sizeof(cpb_file_info) */
  const char *path;   /* as given */
  const char *format; /* the name in the table above */
  cpb_dtype dtype;    /* of the elements a block holds */
  size_t cols;
  uint64_t rows;      /* CPB_ROWS_UNKNOWN for text and for pipes, until they have been read */
  bool random_access; /* cpb_reader_at works */
  char separator;     /* of text: , ; tab, or a blank for any number of them; else 0 */
  bool names;         /* the columns have names: cpb_reader_name */
  bool ids, labels;   /* the rows have: cpb_reader_id, cpb_reader_label */
} cpb_file_info;

/** Opens a file for reading; gives *reader to the caller. "-" is standard input.
 *  format  a name of the table, or NULL to go by the extension */
CPB_API cpb_status cpb_reader_open(const char *path, const char *format, cpb_reader **reader,
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
CPB_API cpb_status cpb_reader_open_as(const char *path, const cpb_reader_options *options,
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

/** The name of a column that is read, "" where it has none; NULL where none has. */
CPB_API const char *cpb_reader_name(const cpb_reader *reader, size_t column);

/** From now on the columns with these names are read, in this order; where columns have no names nothing changes. Before the
 *  first row. EFORMAT names one that is not there. */
CPB_API cpb_status cpb_reader_select(cpb_reader *reader, const char *const *names, size_t count,
                                     cpb_error *error);

/** Id and label of a row that has been read, as the file spells them; NULL for others, and without such a column.
 *  Until the next call on this reader. */
CPB_API const char *cpb_reader_id(const cpb_reader *reader, uint64_t row);
CPB_API const char *cpb_reader_label(const cpb_reader *reader, uint64_t row);

/** Which row of the file a row is, counted with those that skip_bad has left out so far; and how many they are. */
CPB_API uint64_t cpb_reader_row(const cpb_reader *reader, uint64_t row);
CPB_API uint64_t cpb_reader_bad_rows(const cpb_reader *reader);

/** From now on cells that are NaN are read as values[column]; NULL: they stay NaN. Values are copied. Takes away
 *  random access. Only f32 and f64 have NaN; other elements stay as they are. */
CPB_API cpb_status cpb_reader_fill(cpb_reader *reader, const double *values, cpb_error *error);

/** The next block of at most max_rows >= 1 rows, in order; rows = 0 at the end, and only there. Blocks of
 *  sparse files (libsvm, hdf5) are 16 MiB or one row at most, so they may be shorter than asked for.
 *  The view is valid until the next call on this reader. error->row counts from the file's start. */
CPB_API cpb_status cpb_reader_next(cpb_reader *reader, size_t max_rows, cpb_view *block, cpb_error *error);

/** Back to the first row, for another pass. EIO for a pipe of which rows have been read. */
CPB_API cpb_status cpb_reader_rewind(cpb_reader *reader, cpb_error *error);

/** Rows [first, first+count) into the caller's buffer; *block views it (rows may have a stride).
 *  Only with random_access (regular files of fvecs to npy); thread-safe: any number of threads may call it
 *  on one reader, beside one that calls cpb_reader_next. ESHAPE beyond the last row.
 *  buffer  cpb_reader_buffer_size(reader, count) bytes, aligned to 64 (SIZE_MAX when they overflow, 0
 *          without random access) */
CPB_API cpb_status cpb_reader_at(const cpb_reader *reader, uint64_t first, size_t count, void *buffer,
                                 cpb_view *block, cpb_error *error);
CPB_API size_t cpb_reader_buffer_size(const cpb_reader *reader, size_t count);

/** A piece of a file where it lies in memory. */
typedef struct cpb_loan {
  void *memory;
  size_t bytes;
} cpb_loan;

/** Rows [first, first+count) lent from the file's own pages, without a copy: a quarter faster than
 *  cpb_reader_at where the file is in the page cache. *loan is to be given back; *block views it.
 *  Only with random_access, and not where rows do not lie as a view wants them (Fortran order, elements
 *  off their alignment): EINVAL then, and cpb_reader_at is the way.
 *  A file that another process shortens during the loan raises SIGBUS in whoever looks at the rows: for
 *  programs that handle that signal. Thread-safe. */
CPB_API cpb_status cpb_reader_lend(const cpb_reader *reader, uint64_t first, size_t count, cpb_loan *loan,
                                   cpb_view *block, cpb_error *error);

/** Ends a loan; one of no rows, or given back before, is fine. EFORMAT when the file has become shorter since
 *  it was opened: what was made of the rows does not count then, for some of them may have been zeros. */
CPB_API cpb_status cpb_reader_give_back(const cpb_reader *reader, cpb_loan *loan, cpb_error *error);

/** The file as a source of rows, from its first row, in blocks of about 16 MiB; the reader is borrowed while
 *  the source is used, and may not be used otherwise. A pipe can be read once: its `rewind` is fine before the
 *  first row was read, and EIO after it.
 *  lend   blocks are the file's own pages where cpb_reader_lend can lend them, with its warning */
CPB_API cpb_source cpb_reader_source(cpb_reader *reader, bool lend);

/** The rows of a file by number, read where they lie; the reader is borrowed while the store is used. EINVAL without
 *  random access: hold such files in memory (cpb_source_hold, cpb_store_from_view). */
CPB_API cpb_status cpb_reader_store(cpb_reader *reader, cpb_store *store, cpb_error *error);

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
CPB_API cpb_status cpb_writer_open(const char *path, const cpb_writer_options *options, cpb_writer **writer,
                                   cpb_error *error);

/** Appends rows of any dtype, converted: exactly where the file's dtype holds the value, rounded to
 *  nearest for floats. EROW with row and value where an integer type does not hold it, or where a finite
 *  number is beyond the largest float. After a failure the file cannot be committed any more. */
CPB_API cpb_status cpb_writer_append(cpb_writer *writer, cpb_view block, cpb_error *error);

/** True when rows of fixed size and a known count allow cpb_writer_at. */
CPB_API bool cpb_writer_random_access(const cpb_writer *writer);

/** Writes rows [first, first+block.rows), of the file's own dtype; thread-safe. Every row of the file
 *  must be written exactly once before commit (which counts them); not to be mixed with append. With a seal blocks begin
 *  at multiples of 1024 rows, and all but the last have a multiple of 1024: EINVAL for others. */
CPB_API cpb_status cpb_writer_at(cpb_writer *writer, uint64_t first, cpb_view block, cpb_error *error);

/** Completes the file: header, fsync, rename over `path`. The file is there whole, or not at all. The seal of an older file
 *  of this name goes before the rename, the seal of this one comes after it, and one writer at a time does so in a
 *  directory. */
CPB_API cpb_status cpb_writer_commit(cpb_writer *writer, cpb_error *error);

/** Frees the writer; without a commit before, nothing is left behind. NULL is fine. */
CPB_API void cpb_writer_free(cpb_writer *writer);

/** True when two paths "file.hdf5:set" name one data set of one file: by other spellings of its name
 * ("train",
 *  "/train", "./train"; without a set "train" is meant) or by links to one object. The file of `path` is
 * looked at, where it is there; whether `other` has the same file is for the caller to know. */
CPB_API bool cpb_same_data_set(const char *path, const char *other);

/** Rows on their way from one file to another. Start from cpb_flow_options_init. */
typedef struct cpb_flow_options {
  size_t size;
  uint64_t first, last; /* rows first <= i < last are taken; default all */
  bool skip_bad;        /* leave rows out that have no answer, or NaN or inf in them; default false */
  bool lend;            /* read the file's own pages, with the warning of cpb_reader_lend; default false */

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
CPB_API cpb_status cpb_flow_run(cpb_reader *reader, const cpb_flow_options *options, const char *path,
                                const cpb_writer_options *to, uint64_t *bad_rows, const cpb_exec *exec,
                                cpb_error *error);

/** Writes bytes to `path` whole or not at all (temporary file, fsync, rename); "-" is standard output.
 *  For reports, models and pictures. */
CPB_API cpb_status cpb_write_whole(const char *path, const void *bytes, size_t count, cpb_error *error);

#ifdef __cplusplus
}
#endif
#endif

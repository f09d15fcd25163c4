/* A vector format: a table of functions used by the one reader and the one writer.
 *
 *   formats.c   the table: names, extensions, functions        reader.c      rows out of a file
 *   fixed.c     rows of a fixed number of bytes: .npy,         writer.c      rows into a file, dtype to dtype, seals
 *               .fvecs .bvecs .ivecs .fbin .u8bin ..           input.c       bytes in; decompression
 *   hdf5.c      .hdf5 .h5                                      whole_file.c  bytes out
 *   text.c      .csv .tsv; libsvm.c .libsvm .svm               lines.c       lines, columns, names */
#ifndef CPB_FILES_FORMATS_H
#define CPB_FILES_FORMATS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "capball/file.h"
#include "files/input.h"
#include "files/lines.h"
#include "files/reader.h"
#include "files/writer.h"
#include "files/whole_file.h"
#include "base/json_text.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "files are little-endian and read as they are");

/* Formats that do not store zeros (libsvm, HDF5): the size of the file does not limit the memory of its rows, so d is
 * at most this, and a block at most this many bytes, or one row. */
enum { CPB_COLS_MAX = 1 << 24, CPB_BLOCK_MAX = 1 << 24 };

/* Bytes for the header of a file that is written; bytes of rows that are written at a time. */
enum { CPB_HEADER_ROOM = 256, CPB_PIECE_BYTES = 1 << 18 };

/* Integer types without a dtype; they are read as the next wider one. */
typedef enum cpb_narrow { CPB_NOT_NARROW, CPB_NARROW_U16, CPB_NARROW_I16, CPB_NARROW_U32 } cpb_narrow;

/* Rows that all have the same number of bytes. */
typedef struct cpb_layout {
  uint64_t start;    /* offset of row 0 */
  size_t prefix;     /* bytes before the elements of each row: an int32 d, or nothing */
  size_t row_bytes;  /* with the prefix */
  size_t element;    /* bytes of an element; reading only */
  bool by_columns;   /* Fortran order: one column after the other */
  cpb_narrow narrow; /* elements of half the size of reader->dtype */
} cpb_layout;

/* After a failure, which is in reader->of or writer->of, functions return false. NULL: nothing to do. */
typedef struct cpb_format {
  const char *name;
  const char *extensions; /* ".hdf5 .h5" */
  int variant;            /* defined by the format: a dtype, a separator */
  unsigned dtypes;        /* that can be written: bit 1 << dtype */
  bool streams_in, streams_out;
  bool fixed;              /* all rows have the same number of bytes, see reader->layout */
  const char *default_set; /* "file:set" formats: the set used if none is named; NULL: one set per file */
  bool (*same_set)(const char *file, const char *set, const char *other); /* for files of several sets */

  /* Reads the header: sets dtype, cols, rows, layout or state. */
  bool (*open)(cpb_reader *reader);
  /* Rows from next_row on; does not advance it. max_rows >= 1. */
  bool (*next)(cpb_reader *reader, size_t max_rows, cpb_view *block);
  bool (*rewind)(cpb_reader *reader);
  void (*close)(cpb_reader *reader);
  /* Tables with names and texts; NULL: numbers only. */
  bool (*select)(cpb_reader *reader, const char *const *names, size_t count);
  void (*describe)(const cpb_reader *reader, cpb_file_info *info);
  /* Seals inside the file, of the rows being read and of an existing set; finish writes new ones. NULL: separate. */
  bool (*seal)(const cpb_reader *reader, cpb_buffer *text, size_t *length, cpb_error *error);
  bool (*store_seal)(const char *file, const char *set, const char *text, cpb_error *error);

  /* Rows of a fixed size: the header for this number of rows, of the same size for any number. NULL: none. */
  bool (*header)(const cpb_writer *writer, uint64_t rows, char header[CPB_HEADER_ROOM], size_t *size);
  bool (*begin)(cpb_writer *writer);
  /* Rows of the writer's dtype, one after the other, at most CPB_PIECE_BYTES of them or one row; to writer->out, which
   * the writer empties, or to the file. */
  bool (*append)(cpb_writer *writer, cpb_view rows);
  /* Text formats have this instead, whose numbers are read as f64: prints a row to writer->out. */
  void (*print)(cpb_writer *writer, const void *row, bool first);
  bool (*finish)(cpb_writer *writer);
  void (*abandon)(cpb_writer *writer); /* frees state */
} cpb_format;

struct cpb_reader {
  const cpb_format *format;
  char *path, *file; /* as given, and without the data set */
  const char *set;   /* NULL: not given */
  cpb_reader_options o;
  cpb_columns columns; /* of text, and of other files if columns are selected */
  cpb_lines lines;     /* of text formats */
  cpb_texts ids, labels;
  const char *const *names; /* of the columns read; NULL: none */
  cpb_buffer picked;        /* a block of the selected columns */
  cpb_buffer bad;           /* numbers of the bad rows so far, ascending */
  size_t bad_count;
  double *fill; /* replaces cells that are NaN, one per column; NULL: none */
  cpb_input source;
  cpb_file_call *of;  /* that of the source: the call in progress */
  cpb_error unwanted; /* its error if the caller wants none */
  cpb_dtype dtype;
  size_t cols; /* of the file; for text, the number taken */
  uint64_t rows, next_row;
  bool asked; /* for rows since it was opened: a pipe cannot be read again after that */
  cpb_layout layout;
  void *state;
  cpb_buffer buffer; /* of the block lent out */
  size_t ahead;      /* bytes of the next row that are in the buffer already; streams only */
  cpb_loan lent;     /* the block of a source, if it is mapped from the file */
};

struct cpb_writer {
  const cpb_format *format;
  cpb_writer_options o; /* rows_of and cells_of only if these readers have ids; no seal for a stream */
  char *file;
  const char *set;
  char *seal_text;   /* once all rows are written */
  cpb_buffer parsed; /* a row of text as it will be read back, for the seal */
  cpb_whole whole;
  cpb_file_call of;   /* the call in progress */
  cpb_error unwanted; /* its error if the caller wants none */
  uint64_t appended;
  _Atomic uint64_t placed; /* rows written at given positions */
  cpb_layout layout;
  void *state;
  cpb_text out;         /* pending output bytes */
  cpb_buffer converted; /* a piece of the rows appended */
  uint64_t next_id;     /* the row of rows_of written next */
  bool broken, committed;
};

extern const cpb_format cpb_format_fvecs, cpb_format_bvecs, cpb_format_ivecs;
extern const cpb_format cpb_format_fbin, cpb_format_u8bin, cpb_format_i8bin, cpb_format_f16bin,
    cpb_format_ibin;
extern const cpb_format cpb_format_npy, cpb_format_hdf5, cpb_format_csv, cpb_format_tsv, cpb_format_libsvm;

/* The format of that name, or of the path's extension if name is NULL; the message of EINVAL lists the formats.
 * Gives *file to the caller; *set points into it, or is NULL. */
cpb_status cpb_format_find(const char *path, const char *name, const cpb_format **format, char **file,
                           const char **set, cpb_error *error);

/* The number of rows of the next block, for formats without a fixed number of bytes per row: at most max_rows, at most
 * CPB_BLOCK_MAX bytes or one row, and at most those left. */
size_t cpb_block_count(const cpb_reader *reader, size_t max_rows);

/* `next` of text formats: f64 rows from lines. take: the next line with a row, text = NULL at the end. */
bool cpb_next_lines(cpb_reader *reader, size_t max_rows, cpb_view *block,
                    bool (*take)(cpb_reader *reader, cpb_line *line),
                    bool (*parse)(cpb_reader *reader, cpb_line line, uint64_t row, double *numbers));

/* Columns of the rows a reader returns: all of the file's, or the selected ones. */
size_t cpb_reader_cols(const cpb_reader *reader);

/* "csv has no random access here" */
cpb_status cpb_fail_random_access(const char *path, const cpb_format *format, cpb_error *error);

/* cpb_reader_buffer_size, cpb_reader_at, cpb_reader_lend and cpb_writer_at after their checks. */
size_t cpb_fixed_buffer_size(const cpb_reader *reader, size_t count);
bool cpb_fixed_at(const cpb_reader *reader, uint64_t first, size_t count, void *buffer, cpb_view *block,
                  cpb_error *error);
bool cpb_fixed_lend(const cpb_reader *reader, uint64_t first, size_t count, cpb_loan *loan, cpb_view *block,
                    cpb_error *error);
cpb_status cpb_fixed_place(cpb_writer *writer, uint64_t first, cpb_view block, cpb_error *error);

/* Records the printed number of column j for the seal. */
void cpb_writer_printed(cpb_writer *writer, size_t j, const char *text, size_t length);

#endif

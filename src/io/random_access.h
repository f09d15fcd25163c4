/* Random access to the rows of a file: read into a buffer, mapped, and written. */
#ifndef CPB_IO_RANDOM_ACCESS_H
#define CPB_IO_RANDOM_ACCESS_H

#include "capball/file.h"

/** A mapped piece of a file. */
typedef struct cpb_loan {
  void *memory;
  size_t bytes;
} cpb_loan;

/** Rows [first, first+count) into the caller's buffer; *block views it (rows may have a stride).
 *  Only with random_access (regular files of fvecs to npy); thread-safe: any number of threads may call it
 *  on one reader, while one other calls cpb_reader_next. ESHAPE beyond the last row.
 *  buffer  cpb_reader_buffer_size(reader, count) bytes, aligned to 64 (SIZE_MAX on overflow, 0 without
 *          random access) */
cpb_status cpb_reader_at(const cpb_reader *reader, uint64_t first, size_t count, void *buffer,
                         cpb_view *block, cpb_error *error);
size_t cpb_reader_buffer_size(const cpb_reader *reader, size_t count);

/** Maps rows [first, first+count) of the file, without a copy: a quarter faster than cpb_reader_at if the
 *  file is in the page cache. *loan must be given back; *block views it.
 *  Only with random_access; EINVAL if rows are not stored in the layout of a view (Fortran order, unaligned
 *  elements): use cpb_reader_at then.
 *  If another process truncates the file during the loan, reading the rows raises SIGBUS: for programs that
 *  handle that signal. Thread-safe. */
cpb_status cpb_reader_lend(const cpb_reader *reader, uint64_t first, size_t count, cpb_loan *loan,
                           cpb_view *block, cpb_error *error);

/** Ends a loan; a loan of no rows, or one already returned, is accepted. EFORMAT if the file has become shorter since
 *  it was opened: results computed from the rows are then invalid, because some of them may have been read as zeros. */
cpb_status cpb_reader_give_back(const cpb_reader *reader, cpb_loan *loan, cpb_error *error);

/** True if rows of fixed size and a known count allow cpb_writer_at. */
bool cpb_writer_random_access(const cpb_writer *writer);

/** Writes rows [first, first+block.rows), of the file's own dtype; thread-safe. Every row of the file
 *  must be written exactly once before commit (which counts them); not to be mixed with append. */
cpb_status cpb_writer_at(cpb_writer *writer, uint64_t first, cpb_view block, cpb_error *error);

#endif

/* Rows by their place in a file: read into a buffer or lent from the pages, and written. */
#ifndef CPB_IO_RANDOM_ACCESS_H
#define CPB_IO_RANDOM_ACCESS_H

#include "capball/file.h"

/** A piece of a file where it lies in memory. */
typedef struct cpb_loan {
  void *memory;
  size_t bytes;
} cpb_loan;

/** Rows [first, first+count) into the caller's buffer; *block views it (rows may have a stride).
 *  Only with random_access (regular files of fvecs to npy); thread-safe: any number of threads may call it
 *  on one reader, beside one that calls cpb_reader_next. ESHAPE beyond the last row.
 *  buffer  cpb_reader_buffer_size(reader, count) bytes, aligned to 64 (SIZE_MAX when they overflow, 0
 *          without random access) */
cpb_status cpb_reader_at(const cpb_reader *reader, uint64_t first, size_t count, void *buffer,
                         cpb_view *block, cpb_error *error);
size_t cpb_reader_buffer_size(const cpb_reader *reader, size_t count);

/** Rows [first, first+count) lent from the file's own pages, without a copy: a quarter faster than
 *  cpb_reader_at where the file is in the page cache. *loan is to be given back; *block views it.
 *  Only with random_access, and not where rows do not lie as a view wants them (Fortran order, elements
 *  off their alignment): EINVAL then, and cpb_reader_at is the way.
 *  A file that another process shortens during the loan raises SIGBUS in whoever looks at the rows: for
 *  programs that handle that signal. Thread-safe. */
cpb_status cpb_reader_lend(const cpb_reader *reader, uint64_t first, size_t count, cpb_loan *loan,
                           cpb_view *block, cpb_error *error);

/** Ends a loan; one of no rows, or given back before, is fine. EFORMAT when the file has become shorter since
 *  it was opened: what was made of the rows does not count then, for some of them may have been zeros. */
cpb_status cpb_reader_give_back(const cpb_reader *reader, cpb_loan *loan, cpb_error *error);

/** True when rows of fixed size and a known count allow cpb_writer_at. */
bool cpb_writer_random_access(const cpb_writer *writer);

/** Writes rows [first, first+block.rows), of the file's own dtype; thread-safe. Every row of the file
 *  must be written exactly once before commit (which counts them); not to be mixed with append. */
cpb_status cpb_writer_at(cpb_writer *writer, uint64_t first, cpb_view block, cpb_error *error);

#endif

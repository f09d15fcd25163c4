/* Random access to the rows of a file: read into a buffer, mapped, and written. */
#ifndef CPB_FILES_READER_H
#define CPB_FILES_READER_H

#include "capball/file.h"

typedef struct cpb_loan { /* a mapped piece of a file */
  void *memory;
  size_t bytes;
} cpb_loan;

/* Rows [first, first+count) into the caller's buffer, which *block views (rows may have a stride). Only with
 * random_access; thread-safe, also while another thread calls cpb_reader_next. ESHAPE beyond the last row.
 * buffer  cpb_reader_buffer_size(reader, count) bytes, aligned to 64 (SIZE_MAX on overflow, 0 without
 *         random access) */
cpb_status cpb_reader_at(const cpb_reader *reader, uint64_t first, size_t count, void *buffer,
                         cpb_view *block, cpb_error *error);
size_t cpb_reader_buffer_size(const cpb_reader *reader, size_t count);

/* The same without a copy: *block views the mapped file until *loan is given back. EINVAL if rows are not stored in the
 * layout of a view (Fortran order, unaligned elements): use cpb_reader_at then. If another process truncates the file
 * during the loan, reading the rows raises SIGBUS: for programs that handle that signal. */
cpb_status cpb_reader_lend(const cpb_reader *reader, uint64_t first, size_t count, cpb_loan *loan,
                           cpb_view *block, cpb_error *error);

/* Ends a loan; a loan of no rows, or one already returned, is accepted. EFORMAT if the file has become shorter since
 * it was opened: some of the rows may have been read as zeros. */
cpb_status cpb_reader_give_back(const cpb_reader *reader, cpb_loan *loan, cpb_error *error);

/* Whether rows of fixed size and a known count allow cpb_writer_at. */
bool cpb_writer_random_access(const cpb_writer *writer);

/* Writes rows [first, first+block.rows), of the file's own dtype; thread-safe. Every row must be written exactly once
 * before commit, which counts them; not to be mixed with append. */
cpb_status cpb_writer_at(cpb_writer *writer, uint64_t first, cpb_view block, cpb_error *error);

#endif

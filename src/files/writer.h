/* The storage of seals: the interface between seals and writers, and where seals are stored (capball/advanced/seal.h).
 *
 *   HDF5     an attribute of the data set, so that rows and seal are in one file and appear together
 *   others   a file NAME.capball next to NAME, symbolic links followed */
#ifndef CPB_FILES_WRITER_H
#define CPB_FILES_WRITER_H

#include <stddef.h>

#include "capball/file.h"
#include "capball/view.h"
#include "files/input.h"
#include "files/whole_file.h"

#define CPB_SEAL_ATTRIBUTE "capball_seal"

struct cpb_seal {
  /* Announces rows of this type and shape. dtype: as returned by a reader; stored: what they were rounded to */
  cpb_status (*begin)(cpb_seal *seal, cpb_dtype dtype, cpb_dtype stored, size_t cols, cpb_error *error);
  /* Rows first .. as a reader will return them; thread-safe. False: not in order, nor in whole groups. */
  bool (*rows)(cpb_seal *seal, uint64_t first, cpb_view rows);
  /* The text to store, after all rows were passed; gives *text to the caller. */
  cpb_status (*text)(cpb_seal *seal, uint64_t rows, char **text, cpb_error *error);
};

/* The text of the seal of a reader's rows, empty if there is none; *name is its name in messages. The caller frees
 * buffer and name, also after a failure: EIO if a seal exists that cannot be read. */
cpb_status cpb_reader_seal(const cpb_reader *reader, cpb_buffer *text, size_t *length, char **name,
                           cpb_error *error);

/* Stores or replaces the seal of existing rows. Does nothing unless the path is a regular file or a set of one. */
cpb_status cpb_seal_store(const char *path, const char *text, cpb_error *error);

/* ---- Converts elements from one dtype to another: exactly, or rounded to nearest; others are rejected. ---- */

/* Converts count elements. Returns count, or the index of the first one that `to_dtype` cannot represent: a fraction,
 * NaN or inf for an integer type, a number outside its range, a finite number beyond the largest float. Elements before
 * it are written. */
size_t cpb_convert(const void *from, cpb_dtype from_dtype, void *to, cpb_dtype to_dtype, size_t count);

#endif

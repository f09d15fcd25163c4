/* A seal from the side of files: what a writer shows it and takes from it, and where it is stored (capball/advanced/seal.h).
 *
 *   HDF5     an attribute of the data set, so that rows and seal are in one file and appear at once
 *   others   a file NAME.capball beside NAME, symbolic links followed */
#ifndef CPB_IO_SEALING_H
#define CPB_IO_SEALING_H

#include <stddef.h>

#include "capball/file.h"
#include "io/buffer.h"
#include "io/whole_file.h"

#define CPB_SEAL_ATTRIBUTE "capball_seal"

struct cpb_seal {
  /* Rows of this type and shape will come. dtype: as a reader gives them; stored: what they were rounded to */
  cpb_status (*begin)(cpb_seal *seal, cpb_dtype dtype, cpb_dtype stored, size_t cols, cpb_error *error);
  /* Rows first .. as a reader will give them; from several threads at once. False: not in order, nor in whole groups. */
  bool (*rows)(cpb_seal *seal, uint64_t first, cpb_view rows);
  /* The text to be stored, once all rows were shown; gives *text to the caller. */
  cpb_status (*text)(cpb_seal *seal, uint64_t rows, char **text, cpb_error *error);
};

/* TARGET.capball; the caller frees it, NULL: no memory. */
char *cpb_seal_beside(const char *target, cpb_error *error);

/* TARGET:SET.capball with % for each / of the set: what versions before 0.3 wrote for a set of an HDF5 file. */
char *cpb_seal_of_set(const char *target, const char *set, cpb_error *error);

/* The text of the seal of the rows that a reader reads, empty where there is none; *name is what sentences call it. The
 * caller frees buffer and name, also after a failure: EIO where there is one that cannot be read. */
cpb_status cpb_reader_seal(const cpb_reader *reader, cpb_buffer *text, size_t *length, char **name,
                           cpb_error *error);

/* Stores the text as the seal of rows that are there, in the place of an older one. Does nothing where the path is neither
 * a regular file nor a data set of one. */
cpb_status cpb_seal_store(const char *path, const char *text, cpb_error *error);

#endif

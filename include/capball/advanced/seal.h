/* Seals: what made a file of rows, and a hash of the rows themselves, so that rows of one map are not read by another and
 * rows that were changed since are recognised.                                                        T13
 *
 *   HDF5     attribute "capball_seal" of the data set
 *   others   a file NAME.capball beside NAME, where symbolic links of NAME are followed
 *
 * A seal fits when the hash of the rows that are read is the one it has. One that does not fit is as good as none: rows
 * may have been copied, converted or written anew, and no name, size or date would tell. The hash has 128 bits and is not
 * cryptographic: it finds what happens by accident, not what somebody forges.
 *
 * Seals of versions before 0.3 do not know the rows: they are read as none. */
#ifndef CAPBALL_ADVANCED_SEAL_H
#define CAPBALL_ADVANCED_SEAL_H

#include <stdbool.h>

#include "capball/file.h"
#include "capball/transform.h"

CPB_BEGIN

/** The seal of rows on their way to a file, for cpb_writer_options; gives *seal to the caller. One serves one file.
 *  transform  that makes the rows
 *  radius     of the queries; 0: points, and base rows */
CPB_CALL cpb_status cpb_seal_new(const cpb_transform *transform, cpb_role role, double radius,
                                 cpb_seal **seal, cpb_error *error);
CPB_API void cpb_seal_free(cpb_seal *seal);

/** What a seal says. */
typedef struct cpb_seal_facts {
  size_t size;          /* sizeof(cpb_seal_facts) */
  bool found;           /* there is a seal; false: the rest is 0 */
  uint64_t fingerprint; /* of the transform, cpb_transform_fingerprint */
  cpb_role role;
  double radius;
  uint64_t rows;
  size_t cols;
  cpb_dtype precision; /* what the rows were rounded to; their file may have a wider type */
  uint64_t hash[2];
} cpb_seal_facts;

/** Reads the seal of a file that is open; facts->size is set. EFORMAT or EIO: there is one, but it cannot be used.
 *  Whether it fits, the rows tell. */
CPB_CALL cpb_status cpb_seal_read(const cpb_reader *reader, cpb_seal_facts *facts, cpb_error *error);

/** Rows that are hashed while something else reads them, at the speed of memory. */
typedef struct cpb_seal_watch cpb_seal_watch;

/** Gives *watch to the caller; the source is borrowed while it lives. */
CPB_CALL cpb_status cpb_seal_watch_new(cpb_source *rows, cpb_seal_watch **watch, cpb_error *error);
CPB_API void cpb_seal_watch_free(cpb_seal_watch *watch);

/** The source to be read instead of the one that is watched; a view into the watch. */
CPB_API cpb_source *cpb_seal_watch_source(cpb_seal_watch *watch);

/** Reads all rows, where nothing else does. */
CPB_CALL cpb_status cpb_seal_watch_all(cpb_seal_watch *watch, cpb_error *error);

/** Whether the last pass went to its end and its rows are those of the seal. */
CPB_API bool cpb_seal_watch_fits(cpb_seal_watch *watch, const cpb_seal_facts *facts);

/** EFORMAT with a sentence about `path` where a seal that fits names another transform or the other role. */
CPB_CALL cpb_status cpb_seal_compare(const cpb_seal_facts *facts, const char *path,
                                     const cpb_transform *transform, cpb_role role, cpb_error *error);

/** Reads seal and rows of a file. *found: there is a seal and it fits; *radius is what it says. EFORMAT as compare. */
CPB_CALL cpb_status cpb_seal_check(const char *path, const cpb_transform *transform, cpb_role role,
                                   bool *found, double *radius, cpb_error *error);

/** Seals rows that are there, in the place of an older seal; does nothing for a pipe. It is the caller who knows that the
 *  transform made them: cpb_transform_verify finds out.
 *  precision   what they were rounded to
 *  watch       over a whole pass of these rows; EINVAL where it did not come to its end */
CPB_CALL cpb_status cpb_seal_put(const char *path, const cpb_transform *transform, cpb_role role,
                                 double radius, cpb_dtype precision, cpb_seal_watch *watch, cpb_error *error);

CPB_END
#endif

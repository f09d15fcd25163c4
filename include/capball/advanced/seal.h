/* Seals: a file of rows records which transform computed it, with a hash of the rows, so that rows of one map are not
 * used with another and later changes of the rows are detected.                                       T13
 *
 *   HDF5     attribute "capball_seal" of the data set
 *   others   a file NAME.capball next to NAME, after following symbolic links
 *
 * A seal matches if the hash of the rows that are read equals its own. A seal that does not match is ignored: rows may
 * have been copied, converted or rewritten, which names, sizes and dates do not show. The hash has 128 bits and is not
 * cryptographic: it detects accidents, not forgery.
 *
 * Seals of versions before 0.3 have no hash of the rows and are ignored. */
#ifndef CAPBALL_ADVANCED_SEAL_H
#define CAPBALL_ADVANCED_SEAL_H

#include <stdbool.h>

#include "capball/file.h"
#include "capball/transform.h"

CPB_BEGIN

/** The seal of rows that are being written, for cpb_writer_options; the caller owns *seal. Use it for one file only.
 *  transform  that computes the rows
 *  radius     of ball queries; 0: point queries, and base rows */
CPB_CALL cpb_status cpb_seal_new(const cpb_transform *transform, cpb_role role, double radius,
                                 cpb_seal **seal, cpb_error *error);
CPB_API void cpb_seal_free(cpb_seal *seal);

/** The content of a seal. */
typedef struct cpb_seal_facts {
  size_t size;          /* sizeof(cpb_seal_facts) */
  bool found;           /* there is a seal; if false, the rest is 0 */
  uint64_t fingerprint; /* of the transform, cpb_transform_fingerprint */
  cpb_role role;
  double radius;
  uint64_t rows;
  size_t cols;
  cpb_dtype precision; /* what the rows were rounded to; the file may have a wider type */
  uint64_t hash[2];
} cpb_seal_facts;

/** Reads the seal of an open file; facts->size is set. EFORMAT or EIO: there is a seal, but it cannot be used.
 *  Whether it matches is known only after reading the rows. */
CPB_CALL cpb_status cpb_seal_read(const cpb_reader *reader, cpb_seal_facts *facts, cpb_error *error);

/** Hashes rows while something else reads them, at memory speed. */
typedef struct cpb_seal_watch cpb_seal_watch;

/** Creates *watch, owned by the caller; the source is borrowed for its lifetime. */
CPB_CALL cpb_status cpb_seal_watch_new(cpb_source *rows, cpb_seal_watch **watch, cpb_error *error);
CPB_API void cpb_seal_watch_free(cpb_seal_watch *watch);

/** The source to read in place of the original; a view into the watch. */
CPB_API cpb_source *cpb_seal_watch_source(cpb_seal_watch *watch);

/** Reads all rows, if nothing else does. */
CPB_CALL cpb_status cpb_seal_watch_all(cpb_seal_watch *watch, cpb_error *error);

/** Whether the last pass was complete and its rows match the seal. */
CPB_API bool cpb_seal_watch_fits(cpb_seal_watch *watch, const cpb_seal_facts *facts);

/** EFORMAT with a message about `path` if a matching seal names another transform or the other role. */
CPB_CALL cpb_status cpb_seal_compare(const cpb_seal_facts *facts, const char *path,
                                     const cpb_transform *transform, cpb_role role, cpb_error *error);

/** Reads seal and rows of a file. *found: there is a matching seal, and *radius is its radius. EFORMAT as above. */
CPB_CALL cpb_status cpb_seal_check(const char *path, const cpb_transform *transform, cpb_role role,
                                   bool *found, double *radius, cpb_error *error);

/** Seals existing rows, replacing an older seal; does nothing for a pipe. The caller is responsible for the rows being
 *  those of the transform: see cpb_transform_verify.
 *  precision   what they were rounded to
 *  watch       over a whole pass of these rows; EINVAL if the pass was not complete */
CPB_CALL cpb_status cpb_seal_put(const char *path, const cpb_transform *transform, cpb_role role,
                                 double radius, cpb_dtype precision, cpb_seal_watch *watch, cpb_error *error);

CPB_END
#endif

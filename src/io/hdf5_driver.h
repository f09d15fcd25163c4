/* HDF5 over a file that we have opened: in the words of the library, a virtual file driver.
 *
 * Reading: HDF5 opens nothing by itself, so that what is read is what was opened, and no name inside a file
 * can lead to another one. Writing: a write that fails inside libhdf5 leaves the library with a file it can
 * neither flush nor forget, and the process crashes when it ends; so the driver keeps the first failure for
 * us and tells the library that all went well. */
#ifndef CPB_IO_HDF5_DRIVER_H
#define CPB_IO_HDF5_DRIVER_H

#include <stdbool.h>

#include "io/hdf5_calls.h"
#include "io/input.h"
#include "io/whole_file.h"

typedef struct cpb_hdf5_bytes {
  const cpb_input *source; /* what is read, or NULL: .. */
  cpb_whole *whole;        /* .. what is written, read again too */
  uint64_t size;           /* of the file */
  bool failed;
  cpb_error error; /* why, if so */
} cpb_hdf5_bytes;

#ifdef CPB_HAVE_HDF5

typedef enum cpb_hdf5_mode { CPB_HDF5_READ, CPB_HDF5_CREATE, CPB_HDF5_ADD } cpb_hdf5_mode;

/* The file for HDF5: to read, a new one, or the bytes that are in it already. < 0 on failure.
 * The bytes must live until it is closed. */
hid_t cpb_hdf5_driver_open(cpb_hdf5_bytes *bytes, cpb_hdf5_mode mode);

/* Whether the file begins as HDF5 does, which may be behind a block of 512, 1024, 2048 .. bytes. */
cpb_status cpb_hdf5_is_signed(const cpb_input *source, bool *is_signed, cpb_error *error);
#endif

#endif

/* A virtual file driver: HDF5 over a file that this library has opened.
 *
 * Reading: HDF5 opens no file itself, so that exactly the opened file is read, and no name inside it can lead to
 * another one. Writing: a write that fails inside libhdf5 leaves it with a file it can neither flush nor close,
 * and the process crashes on exit; so the driver records the first failure and reports success to libhdf5. */
#ifndef CPB_IO_HDF5_DRIVER_H
#define CPB_IO_HDF5_DRIVER_H

#include <stdbool.h>

#include "io/hdf5_calls.h"
#include "io/input.h"
#include "io/whole_file.h"

typedef struct cpb_hdf5_bytes {
  const cpb_input *source; /* the input, or NULL: .. */
  cpb_whole *whole;        /* .. the output, which is also read back */
  uint64_t size;           /* of the file */
  bool failed;
  cpb_error error; /* the reason if `failed` */
} cpb_hdf5_bytes;

#ifdef CPB_HAVE_HDF5

typedef enum cpb_hdf5_mode { CPB_HDF5_READ, CPB_HDF5_CREATE, CPB_HDF5_ADD } cpb_hdf5_mode;

/* Opens the file in HDF5: for reading, as a new file, or with its existing bytes. < 0 on failure.
 * The bytes must live until it is closed. */
hid_t cpb_hdf5_driver_open(cpb_hdf5_bytes *bytes, cpb_hdf5_mode mode);

/* Whether the file has the signature of HDF5, possibly after a block of 512, 1024, 2048 .. bytes. */
cpb_status cpb_hdf5_is_signed(const cpb_input *source, bool *is_signed, cpb_error *error);
#endif

#endif

/* HDF5 writing into our temporary file, in a way that a full disk cannot break.
 *
 * A write that fails inside libhdf5 leaves the library with a file it can neither flush nor forget, and
 * the process crashes when it ends. So HDF5 gets a driver (in its words, a virtual file driver) that
 * keeps the first failure for us and tells the library that all went well. */
#ifndef CPB_IO_HDF5_SINK_H
#define CPB_IO_HDF5_SINK_H

#include <stdbool.h>

#include "io/whole_file.h"

typedef struct cpb_hdf5_sink {
  cpb_whole *whole;
  uint64_t size; /* of the file */
  bool failed;
  cpb_error error; /* why, if so */
} cpb_hdf5_sink;

#ifdef CPB_HAVE_HDF5
#include <hdf5.h>

/* Opens the file for HDF5: a new one, or (existing) the bytes that are in it already. < 0 on failure.
 * The sink must live until the file is closed. */
hid_t cpb_hdf5_sink_open(cpb_hdf5_sink *sink, bool existing);
#endif

#endif

/* The functions and type numbers of libhdf5 that src/io uses, behind one table of addresses.
 *
 * Starting libhdf5 and the thirty libraries it needs takes several times as long as starting everything else, so
 * the shared library and the command load it when the first HDF5 file is opened. In the static library the linker
 * provides the addresses. Callers write cpb_h5()->H5Dopen2(..); the constants of hdf5.h are mapped to table entries by
 * the macros below. A new name needs a line in hdf5_names.inc; one that is called directly fails to link. */
#ifndef CPB_IO_HDF5_CALLS_H
#define CPB_IO_HDF5_CALLS_H

#include <stdbool.h>
#include <stddef.h>

/* Fills the table on first use. On failure writes the reason to `why`. Thread-safe. */
bool cpb_hdf5_load(char *why, size_t size);

#ifdef CPB_HAVE_HDF5

#include <hdf5.h>
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

typedef struct cpb_hdf5_calls {
#define CPB_HDF5_NAME(name) __typeof__(name) *name;
#include "io/hdf5_names.inc"
#undef CPB_HDF5_NAME
} cpb_hdf5_calls;

/* The table; valid only after cpb_hdf5_load returned true. */
const cpb_hdf5_calls *cpb_h5(void);

#ifndef CPB_HDF5_NAMES_AS_DECLARED

/* hdf5.h compares its version with the library's and aborts on any difference. The name of the loaded library contains
 * its ABI version, which is sufficient. */
#undef H5check
#define H5check() ((void)0)

#define H5open (*cpb_h5()->H5open)
#define H5P_CLS_DATASET_ACCESS_ID_g (*cpb_h5()->H5P_CLS_DATASET_ACCESS_ID_g)
#define H5P_CLS_DATASET_CREATE_ID_g (*cpb_h5()->H5P_CLS_DATASET_CREATE_ID_g)
#define H5P_CLS_FILE_ACCESS_ID_g (*cpb_h5()->H5P_CLS_FILE_ACCESS_ID_g)
#define H5P_CLS_LINK_ACCESS_ID_g (*cpb_h5()->H5P_CLS_LINK_ACCESS_ID_g)
#define H5P_CLS_LINK_CREATE_ID_g (*cpb_h5()->H5P_CLS_LINK_CREATE_ID_g)
#define H5T_C_S1_g (*cpb_h5()->H5T_C_S1_g)
#define H5T_IEEE_F32LE_g (*cpb_h5()->H5T_IEEE_F32LE_g)
#define H5T_IEEE_F64LE_g (*cpb_h5()->H5T_IEEE_F64LE_g)
#define H5T_STD_I32LE_g (*cpb_h5()->H5T_STD_I32LE_g)
#define H5T_STD_I64LE_g (*cpb_h5()->H5T_STD_I64LE_g)
#define H5T_STD_I8LE_g (*cpb_h5()->H5T_STD_I8LE_g)
#define H5T_STD_U8LE_g (*cpb_h5()->H5T_STD_U8LE_g)

#endif

#endif

#endif

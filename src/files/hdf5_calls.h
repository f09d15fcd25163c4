/* The functions and type numbers of libhdf5 that src/files uses, behind one table of addresses.
 *
 * Starting libhdf5 and the thirty libraries it needs takes several times as long as starting everything else, so
 * the shared library and the command load it when the first HDF5 file is opened. In the static library the linker
 * provides the addresses. Callers write cpb_h5()->H5Dopen2(..); the constants of hdf5.h are mapped to table entries by
 * the macros below. A new name is added to CPB_HDF5_NAMES; one that is called directly fails to link. */
#ifndef CPB_FILES_HDF5_CALLS_H
#define CPB_FILES_HDF5_CALLS_H

#include <stddef.h>

#include "files/file_fail.h"

/* Fills the table on first use; false after a failure. Thread-safe. */
bool cpb_hdf5_load(const cpb_file_call *of);

#ifdef CPB_HAVE_HDF5

#include <hdf5.h>
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

#if H5_VERSION_GE(1, 12, 0)
#define CPB_HDF5_NAMES_NEWER(X) X(H5Otoken_cmp)
#else
#define CPB_HDF5_NAMES_NEWER(X)
#endif
/* clang-format off */
#define CPB_HDF5_NAMES(X) \
  X(H5open) \
  X(H5Aclose) X(H5Acreate2) X(H5Adelete) X(H5Aexists) X(H5Aget_space) X(H5Aget_type) X(H5Aopen) X(H5Aread) \
  X(H5Awrite) \
  X(H5Dclose) X(H5Dcreate2) X(H5Dget_create_plist) X(H5Dget_space) X(H5Dget_type) X(H5Dopen2) X(H5Dread) \
  X(H5Dset_extent) X(H5Dwrite) \
  X(H5Eclear2) X(H5Eget_auto2) X(H5Eset_auto2) \
  X(H5FDregister) X(H5FDunregister) \
  X(H5Fclose) X(H5Fcreate) X(H5Fopen) \
  X(H5Idec_ref) X(H5Iget_type) \
  X(H5Ldelete) X(H5Lexists) X(H5Lvisit) \
  X(H5Oget_info_by_name) X(H5Oopen) \
  X(H5Pcreate) X(H5Pget_driver_info) X(H5Pget_external_count) X(H5Pget_layout) X(H5Pset_chunk) \
  X(H5Pset_create_intermediate_group) X(H5Pset_driver) X(H5Pset_elink_cb) X(H5Pset_obj_track_times) \
  X(H5Screate) X(H5Screate_simple) X(H5Sget_simple_extent_dims) X(H5Sget_simple_extent_ndims) \
  X(H5Sget_simple_extent_npoints) X(H5Sselect_hyperslab) \
  X(H5Tcopy) X(H5Tget_class) X(H5Tget_sign) X(H5Tget_size) X(H5Tis_variable_str) X(H5Tset_ebias) \
  X(H5Tset_fields) X(H5Tset_size) X(H5Tset_strpad) \
  X(H5P_CLS_DATASET_ACCESS_ID_g) X(H5P_CLS_DATASET_CREATE_ID_g) X(H5P_CLS_FILE_ACCESS_ID_g) \
  X(H5P_CLS_LINK_CREATE_ID_g) \
  X(H5T_C_S1_g) X(H5T_IEEE_F32LE_g) X(H5T_IEEE_F64LE_g) X(H5T_STD_I32LE_g) X(H5T_STD_I64LE_g) \
  X(H5T_STD_I8LE_g) X(H5T_STD_U8LE_g) \
  CPB_HDF5_NAMES_NEWER(X)
/* clang-format on */

#define CPB_HDF5_ADDRESS(name) __typeof__(name) *name;
typedef struct cpb_hdf5_calls {
  CPB_HDF5_NAMES(CPB_HDF5_ADDRESS)
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

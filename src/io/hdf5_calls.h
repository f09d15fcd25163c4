/* The functions and type numbers of libhdf5 that src/io uses, behind one table of addresses.
 *
 * Starting libhdf5 and the thirty libraries it needs takes several times as long as starting everything else, so
 * the shared library and the command load it when the first HDF5 file is opened. In the static library the linker
 * provides the addresses. Callers use the names of hdf5.h, which the macros below map to table entries. A new function
 * needs a line in hdf5_names.inc and a macro here; without the macro linking fails. */
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
const cpb_hdf5_calls *cpb_hdf5(void);

#ifndef CPB_HDF5_NAMES_AS_DECLARED

/* hdf5.h compares its version with the library's and aborts on any difference. The name of the loaded library contains
 * its ABI version, which is sufficient. */
#undef H5check
#define H5check() ((void)0)

#define H5open (*cpb_hdf5()->H5open)
#define H5Aclose (*cpb_hdf5()->H5Aclose)
#define H5Acreate2 (*cpb_hdf5()->H5Acreate2)
#define H5Adelete (*cpb_hdf5()->H5Adelete)
#define H5Aexists (*cpb_hdf5()->H5Aexists)
#define H5Aget_space (*cpb_hdf5()->H5Aget_space)
#define H5Aget_type (*cpb_hdf5()->H5Aget_type)
#define H5Aopen (*cpb_hdf5()->H5Aopen)
#define H5Aread (*cpb_hdf5()->H5Aread)
#define H5Awrite (*cpb_hdf5()->H5Awrite)
#define H5Dclose (*cpb_hdf5()->H5Dclose)
#define H5Dcreate2 (*cpb_hdf5()->H5Dcreate2)
#define H5Dget_create_plist (*cpb_hdf5()->H5Dget_create_plist)
#define H5Dget_space (*cpb_hdf5()->H5Dget_space)
#define H5Dget_type (*cpb_hdf5()->H5Dget_type)
#define H5Dopen2 (*cpb_hdf5()->H5Dopen2)
#define H5Dread (*cpb_hdf5()->H5Dread)
#define H5Dset_extent (*cpb_hdf5()->H5Dset_extent)
#define H5Dwrite (*cpb_hdf5()->H5Dwrite)
#define H5Eclear2 (*cpb_hdf5()->H5Eclear2)
#define H5Eget_auto2 (*cpb_hdf5()->H5Eget_auto2)
#define H5Eset_auto2 (*cpb_hdf5()->H5Eset_auto2)
#define H5FDregister (*cpb_hdf5()->H5FDregister)
#define H5FDunregister (*cpb_hdf5()->H5FDunregister)
#define H5Fclose (*cpb_hdf5()->H5Fclose)
#define H5Fcreate (*cpb_hdf5()->H5Fcreate)
#define H5Fopen (*cpb_hdf5()->H5Fopen)
#define H5Iget_type (*cpb_hdf5()->H5Iget_type)
#define H5Ldelete (*cpb_hdf5()->H5Ldelete)
#define H5Lexists (*cpb_hdf5()->H5Lexists)
#define H5Oclose (*cpb_hdf5()->H5Oclose)
#define H5Oopen (*cpb_hdf5()->H5Oopen)
#define H5Otoken_cmp (*cpb_hdf5()->H5Otoken_cmp)
#define H5Pclose (*cpb_hdf5()->H5Pclose)
#define H5Pcreate (*cpb_hdf5()->H5Pcreate)
#define H5Pget_driver_info (*cpb_hdf5()->H5Pget_driver_info)
#define H5Pget_external_count (*cpb_hdf5()->H5Pget_external_count)
#define H5Pget_layout (*cpb_hdf5()->H5Pget_layout)
#define H5Pset_chunk (*cpb_hdf5()->H5Pset_chunk)
#define H5Pset_create_intermediate_group (*cpb_hdf5()->H5Pset_create_intermediate_group)
#define H5Pset_driver (*cpb_hdf5()->H5Pset_driver)
#define H5Pset_elink_cb (*cpb_hdf5()->H5Pset_elink_cb)
#define H5Pset_obj_track_times (*cpb_hdf5()->H5Pset_obj_track_times)
#define H5Sclose (*cpb_hdf5()->H5Sclose)
#define H5Screate (*cpb_hdf5()->H5Screate)
#define H5Screate_simple (*cpb_hdf5()->H5Screate_simple)
#define H5Sget_simple_extent_dims (*cpb_hdf5()->H5Sget_simple_extent_dims)
#define H5Sget_simple_extent_ndims (*cpb_hdf5()->H5Sget_simple_extent_ndims)
#define H5Sget_simple_extent_npoints (*cpb_hdf5()->H5Sget_simple_extent_npoints)
#define H5Sselect_hyperslab (*cpb_hdf5()->H5Sselect_hyperslab)
#define H5Tclose (*cpb_hdf5()->H5Tclose)
#define H5Tcopy (*cpb_hdf5()->H5Tcopy)
#define H5Tget_class (*cpb_hdf5()->H5Tget_class)
#define H5Tget_sign (*cpb_hdf5()->H5Tget_sign)
#define H5Tget_size (*cpb_hdf5()->H5Tget_size)
#define H5Tis_variable_str (*cpb_hdf5()->H5Tis_variable_str)
#define H5Tset_cset (*cpb_hdf5()->H5Tset_cset)
#define H5Tset_ebias (*cpb_hdf5()->H5Tset_ebias)
#define H5Tset_fields (*cpb_hdf5()->H5Tset_fields)
#define H5Tset_size (*cpb_hdf5()->H5Tset_size)
#define H5Tset_strpad (*cpb_hdf5()->H5Tset_strpad)
#define H5P_CLS_DATASET_ACCESS_ID_g (*cpb_hdf5()->H5P_CLS_DATASET_ACCESS_ID_g)
#define H5P_CLS_DATASET_CREATE_ID_g (*cpb_hdf5()->H5P_CLS_DATASET_CREATE_ID_g)
#define H5P_CLS_FILE_ACCESS_ID_g (*cpb_hdf5()->H5P_CLS_FILE_ACCESS_ID_g)
#define H5P_CLS_LINK_ACCESS_ID_g (*cpb_hdf5()->H5P_CLS_LINK_ACCESS_ID_g)
#define H5P_CLS_LINK_CREATE_ID_g (*cpb_hdf5()->H5P_CLS_LINK_CREATE_ID_g)
#define H5T_C_S1_g (*cpb_hdf5()->H5T_C_S1_g)
#define H5T_IEEE_F32LE_g (*cpb_hdf5()->H5T_IEEE_F32LE_g)
#define H5T_IEEE_F64LE_g (*cpb_hdf5()->H5T_IEEE_F64LE_g)
#define H5T_STD_I32LE_g (*cpb_hdf5()->H5T_STD_I32LE_g)
#define H5T_STD_I64LE_g (*cpb_hdf5()->H5T_STD_I64LE_g)
#define H5T_STD_I8LE_g (*cpb_hdf5()->H5T_STD_I8LE_g)
#define H5T_STD_U8LE_g (*cpb_hdf5()->H5T_STD_U8LE_g)

/* hdf5.h has several versions of these, and the plain name may be a macro for one of them. */
#if H5_VERSION_GE(1, 12, 0)
#define H5Lvisit1 (*cpb_hdf5()->H5Lvisit1)
#define H5Lvisit2 (*cpb_hdf5()->H5Lvisit2)
#define H5Oget_info1 (*cpb_hdf5()->H5Oget_info1)
#define H5Oget_info2 (*cpb_hdf5()->H5Oget_info2)
#define H5Oget_info3 (*cpb_hdf5()->H5Oget_info3)
#define H5Oget_info_by_name1 (*cpb_hdf5()->H5Oget_info_by_name1)
#define H5Oget_info_by_name2 (*cpb_hdf5()->H5Oget_info_by_name2)
#define H5Oget_info_by_name3 (*cpb_hdf5()->H5Oget_info_by_name3)
#else
#define H5Lvisit (*cpb_hdf5()->H5Lvisit)
#define H5Oget_info (*cpb_hdf5()->H5Oget_info)
#define H5Oget_info_by_name (*cpb_hdf5()->H5Oget_info_by_name)
#endif

#endif

#endif

#endif

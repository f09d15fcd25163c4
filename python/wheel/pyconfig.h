/* What the headers of Python ask a pyconfig.h, for 64-bit platforms and the stable ABI: wheels are compiled on one machine for all
 * (tools/wheels). Sizes are those of the compiler. */
#ifndef CPB_PYCONFIG_H
#define CPB_PYCONFIG_H

#define SIZEOF_VOID_P __SIZEOF_POINTER__
#define SIZEOF_SIZE_T __SIZEOF_SIZE_T__
#define SIZEOF_LONG __SIZEOF_LONG__
#define SIZEOF_LONG_LONG 8
#define SIZEOF_INT 4
#define SIZEOF_SHORT 2
#define SIZEOF_WCHAR_T __SIZEOF_WCHAR_T__
#define SIZEOF_TIME_T 8
#define ALIGNOF_SIZE_T __SIZEOF_SIZE_T__
#define HAVE_STDARG_PROTOTYPES 1
#define HAVE_SSIZE_T 1
#define HAVE_LONG_LONG 1
#define HAVE_PROTOTYPES 1
#define HAVE_UNISTD_H 1
#define HAVE_SYS_TYPES_H 1
#define HAVE_SYS_STAT_H 1
#define HAVE_SYS_TIME_H 1
#define HAVE_UINTPTR_T 1
#define HAVE_DECL_ISFINITE 1
#define HAVE_WCHAR_H 1
#define WITH_THREAD 1

#endif

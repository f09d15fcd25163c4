/* Decompresses .gz and .zst files while reading. */
#ifndef CPB_IO_UNPACK_H
#define CPB_IO_UNPACK_H

#include <stdbool.h>

#include "capball/status.h"

typedef enum cpb_packing { CPB_NOT_PACKED, CPB_GZIP, CPB_ZSTD } cpb_packing;
typedef struct cpb_unpack cpb_unpack;

/* Determined by the extension; *stem is the length of the path without it. */
cpb_packing cpb_packing_of(const char *path, size_t *stem);

/* Gives *unpack to the caller. EFORMAT if the library for it was not built in. */
cpb_status cpb_unpack_new(cpb_packing packing, const char *path, cpb_unpack **unpack, cpb_error *error);
void cpb_unpack_free(cpb_unpack *unpack);

/* At most count decompressed bytes of `fd`; *got = 0 only at the end. EFORMAT if the data are damaged or truncated. */
cpb_status cpb_unpack_read(cpb_unpack *unpack, int fd, void *bytes, size_t count, size_t *got,
                           cpb_error *error);

/* Prepares another pass; the file is at its start again. */
void cpb_unpack_restart(cpb_unpack *unpack);

#endif

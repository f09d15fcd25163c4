/* Bytes of .gz and .zst files, unpacked as they come. */
#ifndef CPB_IO_UNPACK_H
#define CPB_IO_UNPACK_H

#include <stdbool.h>

#include "capball/status.h"

typedef enum cpb_packing { CPB_NOT_PACKED, CPB_GZIP, CPB_ZSTD } cpb_packing;
typedef struct cpb_unpack cpb_unpack;

/* By the extension; *stem is the length of the path without it. */
cpb_packing cpb_packing_of(const char *path, size_t *stem);

/* Gives *unpack. EFORMAT where the library for it was not built in. */
cpb_status cpb_unpack_new(cpb_packing packing, const char *path, cpb_unpack **unpack, cpb_error *error);
void cpb_unpack_free(cpb_unpack *unpack);

/* At most count bytes of what `fd` has packed; *got = 0 only at the end. EFORMAT where they are damaged, or end
 * early. */
cpb_status cpb_unpack_read(cpb_unpack *unpack, int fd, void *bytes, size_t count, size_t *got,
                           cpb_error *error);

/* For another pass; the file is at its start again. */
void cpb_unpack_restart(cpb_unpack *unpack);

#endif

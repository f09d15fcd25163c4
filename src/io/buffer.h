/* Growable memory, aligned to 64 bytes. */
#ifndef CPB_IO_BUFFER_H
#define CPB_IO_BUFFER_H

#include "capball/status.h"

typedef struct cpb_buffer {
  unsigned char *bytes;
  size_t size;
} cpb_buffer;

/* Makes room for at least `size` bytes; the first `keep` bytes are preserved. */
cpb_status cpb_buffer_reserve(cpb_buffer *buffer, size_t size, size_t keep, cpb_error *error);
void cpb_buffer_free(cpb_buffer *buffer);

/* a*b+c, or SIZE_MAX on overflow, a size that cannot be allocated. */
size_t cpb_size_muladd(size_t a, size_t b, size_t c);

#endif

/* Memory that grows, aligned to 64 bytes. */
#ifndef CPB_IO_BUFFER_H
#define CPB_IO_BUFFER_H

#include "capball/status.h"

typedef struct cpb_buffer {
  unsigned char *bytes;
  size_t size;
} cpb_buffer;

/* At least `size` bytes, the first `keep` of them as they were. */
cpb_status cpb_buffer_reserve(cpb_buffer *buffer, size_t size, size_t keep, cpb_error *error);
void cpb_buffer_free(cpb_buffer *buffer);

/* a*b+c, or SIZE_MAX where that overflows: a size nobody can allocate. */
size_t cpb_size_muladd(size_t a, size_t b, size_t c);

#endif

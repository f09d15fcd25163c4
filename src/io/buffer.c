#include "io/buffer.h"

#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "io/file_fail.h"

cpb_status cpb_buffer_reserve(cpb_buffer *buffer, size_t size, size_t keep, cpb_error *error) {
  if (size <= buffer->size) return CPB_OK;
  if (size > SIZE_MAX / 2) return cpb_fail_memory(error, "%zu bytes", size);
  size_t rounded = (size + 63) / 64 * 64;
  unsigned char *bytes = aligned_alloc(64, rounded);
  if (bytes == NULL) return cpb_fail_memory(error, "%zu bytes", size);
  if (keep != 0) memcpy(bytes, buffer->bytes, keep);
  free(buffer->bytes);
  buffer->bytes = bytes;
  buffer->size = rounded;
  return CPB_OK;
}

void cpb_buffer_free(cpb_buffer *buffer) {
  free(buffer->bytes);
  buffer->bytes = NULL;
  buffer->size = 0;
}

size_t cpb_size_muladd(size_t a, size_t b, size_t c) {
  if (b != 0 && a > (SIZE_MAX - c) / b) return SIZE_MAX;
  return a * b + c;
}

/* Memory in whole lines of the cache. */
#ifndef CPB_CORE_ZERO_LINES_H
#define CPB_CORE_ZERO_LINES_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Zeros that begin a line, and a line more than asked for; NULL without memory. To be freed by free(). */
static inline void *cpb_zero_lines(size_t count, size_t size) {
  if (count > SIZE_MAX / 2 / size) return NULL;
  size_t bytes = (count * size + 63) / 64 * 64 + 64;
  void *memory = aligned_alloc(64, bytes);
  if (memory != NULL) memset(memory, 0, bytes);
  return memory;
}

#endif

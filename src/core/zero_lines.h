/* Memory in whole cache lines. */
#ifndef CPB_CORE_ZERO_LINES_H
#define CPB_CORE_ZERO_LINES_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Zeros aligned to a cache line, one line more than requested; NULL when out of memory. Release with free(). */
static inline void *cpb_zero_lines(size_t count, size_t size) {
  if (count > SIZE_MAX / 2 / size) return NULL;
  size_t bytes = (count * size + 63) / 64 * 64 + 64;
  void *memory = aligned_alloc(64, bytes);
  if (memory != NULL) memset(memory, 0, bytes);
  return memory;
}

#endif

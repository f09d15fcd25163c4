/* Memory that is freed together: the first request that fails is remembered, so that one check serves several. */
#ifndef CPB_BASE_MEMORY_H
#define CPB_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* {0} is empty. */
typedef struct cpb_memory {
  void *last;
  bool failed;
} cpb_memory;

/* `count` elements, aligned for any type; NULL, and failed, if there is no memory or the size overflows. */
void *cpb_memory_take(cpb_memory *memory, size_t count, size_t size);
/* The same, all bytes 0. */
void *cpb_memory_zeros(cpb_memory *memory, size_t count, size_t size);
/* The same, aligned to 64 bytes and one cache line longer. */
void *cpb_memory_lines(cpb_memory *memory, size_t count, size_t size);
/* A copy; NULL of NULL, and of no elements. */
void *cpb_memory_copy(cpb_memory *memory, const void *from, size_t count, size_t size);
void cpb_memory_free(cpb_memory *memory);

/* Zeros aligned to 64 bytes, one cache line more than requested, to be released with free(); NULL without memory. */
void *cpb_zero_lines(size_t count, size_t size);

/* Changes the number of elements of an array from malloc; `array` is the address of the pointer to it, of any type.
 * False, and nothing is changed, if there is no memory. */
bool cpb_resize(void *array, size_t count, size_t size);

#endif

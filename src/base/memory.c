#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/system.h"

typedef union block {
  union block *before;
  max_align_t unit;
} block;

static void *enter(cpb_memory *memory, block *made) {
  if (made == NULL) {
    memory->failed = true;
    return NULL;
  }
  made->before = memory->last;
  memory->last = made;
  return made + 1;
}

static bool fits(size_t count, size_t size) {
  return size == 0 || count <= (SIZE_MAX / 2 - sizeof(block)) / size;
}

void *cpb_memory_take(cpb_memory *memory, size_t count, size_t size) {
  return enter(memory, fits(count, size) ? malloc(sizeof(block) + count * size) : NULL);
}

void *cpb_memory_zeros(cpb_memory *memory, size_t count, size_t size) {
  return enter(memory, fits(count, size) ? calloc(1, sizeof(block) + count * size) : NULL);
}

enum { LINE = 64 };

void *cpb_zero_lines(size_t count, size_t size) {
  size_t bytes = fits(count, size) ? (count * size / LINE + 2) * LINE : 0;
  void *memory = bytes > 0 ? cpb_sys_aligned(LINE, bytes) : NULL;
  return memory != NULL ? memset(memory, 0, bytes) : NULL;
}

void *cpb_memory_lines(cpb_memory *memory, size_t count, size_t size) {
  char *made = fits(count, size) ? cpb_zero_lines(LINE + count * size, 1) : NULL; /* the block in the first */
  return enter(memory, (block *)(void *)made) != NULL ? made + LINE : NULL;
}

void cpb_memory_free(cpb_memory *memory) {
  while (memory->last != NULL) {
    block *one = memory->last;
    memory->last = one->before;
    free(one);
  }
  memory->failed = false;
}

void *cpb_memory_copy(cpb_memory *memory, const void *from, size_t count, size_t size) {
  void *copy = from == NULL || count == 0 ? NULL : cpb_memory_take(memory, count, size);
  if (copy != NULL) memcpy(copy, from, count * size);
  return copy;
}

bool cpb_resize(void *array, size_t count, size_t size) {
  void *before;
  memcpy(&before, array, sizeof before);
  void *after = fits(count, size) ? realloc(before, count * size > 0 ? count * size : 1) : NULL;
  if (after != NULL) memcpy(array, &after, sizeof after);
  return after != NULL;
}

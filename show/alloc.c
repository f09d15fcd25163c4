#include "alloc.h"

#include <stdio.h>
#include <stdlib.h>

void *show_alloc(size_t count, size_t size) {
  void *memory = calloc(count == 0 ? 1 : count, size == 0 ? 1 : size);
  if (memory == NULL) {
    fprintf(stderr, "capball: no memory for %zu x %zu bytes\n", count, size);
    exit(1);
  }
  return memory;
}

#define _POSIX_C_SOURCE 200809L
#include "search/index_scratch.h"
#include "base/system_thread.h"
#include "base/system.h"

#include <stdlib.h>

cpb_index_scratch *cpb_scratch_take(const cpb_index *index) {
  cpb_mutex_lock(&index->shared->scratch_lock);
  cpb_index_scratch *taken = index->shared->scratch;
  if (taken != NULL) index->shared->scratch = taken->next;
  cpb_mutex_unlock(&index->shared->scratch_lock);
  return taken != NULL ? taken : calloc(1, sizeof *taken);
}

void cpb_scratch_give(const cpb_index *index, cpb_index_scratch *scratch) {
  cpb_mutex_lock(&index->shared->scratch_lock);
  scratch->next = index->shared->scratch;
  index->shared->scratch = scratch;
  cpb_mutex_unlock(&index->shared->scratch_lock);
}

void cpb_scratch_free_all(cpb_index *index) {
  for (cpb_index_scratch *next, *here = index->shared->scratch; here != NULL; here = next) {
    next = here->next;
    free(here->memory);
    free(here);
  }
  index->shared->scratch = NULL;
}

char *cpb_scratch_room(cpb_index_scratch *scratch, size_t bytes) {
  if (bytes > scratch->room) {
    free(scratch->memory);
    scratch->room = bytes + bytes / 4 / 64 * 64 + 64;
    scratch->memory = cpb_sys_aligned(64, scratch->room / 64 * 64);
    if (scratch->memory == NULL) scratch->room = 0;
  }
  return scratch->memory;
}

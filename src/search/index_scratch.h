/* Memory of searches, which later ones reuse. */
#ifndef CPB_SEARCH_INDEX_SCRATCH_H
#define CPB_SEARCH_INDEX_SCRATCH_H

#include "search/index_object.h"

/* NULL if out of memory. */
cpb_index_scratch *cpb_scratch_take(const cpb_index *index);
void cpb_scratch_give(const cpb_index *index, cpb_index_scratch *scratch);
void cpb_scratch_free_all(cpb_index *index);

/* Bytes of an array in whole cache lines and one more; and memory for arrays of this many bytes in total, with any
 * contents, NULL if out of memory. */
static inline size_t cpb_scratch_lines(size_t count, size_t size) {
  return (count * size + 63) / 64 * 64 + 64;
}
char *cpb_scratch_room(cpb_index_scratch *scratch, size_t bytes);

/* Adds up the sizes of arrays or, given memory, places them. */
typedef struct cpb_carver {
  char *at;
  size_t bytes;
} cpb_carver;

static inline void *cpb_carve(cpb_carver *c, size_t count, size_t size) {
  size_t bytes = cpb_scratch_lines(count, size);
  char *here = c->at;
  c->bytes += bytes;
  if (c->at != NULL) c->at += bytes;
  return here;
}

#endif

/* Inline: a set of ids that reports those it already holds: a table with linear probing. */
#ifndef CPB_BASE_ID_SET_H
#define CPB_BASE_ID_SET_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"

typedef struct cpb_id_set {
  uint64_t *slot; /* 2^bits: an id + 1; 0: free */
  int bits;
} cpb_id_set;

/* Room for `count` ids, in memory that fails as a whole. At most half of the slots are used. */
static inline cpb_id_set cpb_id_set_take(cpb_memory *memory, size_t count) {
  cpb_id_set set = {.bits = 1};
  while (set.bits < 62 && (size_t)1 << set.bits < 2 * count) set.bits++;
  set.slot = cpb_memory_take(memory, (size_t)1 << set.bits, sizeof *set.slot);
  return set;
}

static inline void cpb_id_set_empty(cpb_id_set *set) { memset(set->slot, 0, sizeof *set->slot << set->bits); }

/* Adds an id; false if it was there already. */
static inline bool cpb_id_set_add(cpb_id_set *set, uint64_t id) {
  size_t last = ((size_t)1 << set->bits) - 1;
  size_t at = (size_t)(id * 0x9e3779b97f4a7c15u >> (64 - set->bits));
  while (set->slot[at] != 0 && set->slot[at] != id + 1) at = at < last ? at + 1 : 0;
  bool fresh = set->slot[at] == 0;
  set->slot[at] = id + 1;
  return fresh;
}

#endif

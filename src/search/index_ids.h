/* From ids to slots and back. Nothing is stored while every id is the number of its slot; ids that rise are found by
 * bisection, others by a hash table. */
#ifndef CPB_SEARCH_INDEX_IDS_H
#define CPB_SEARCH_INDEX_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CPB_NO_SLOT SIZE_MAX

typedef struct cpb_id_map {
  size_t slots;        /* that have an id, removed or not */
  const uint64_t *ids; /* of the slots; NULL: their numbers */
  size_t ids_room;     /* 0: the ids are borrowed */
  size_t *table;       /* slot+1 of live ids at their hash or after it, 0: free; NULL: ids rise */
  size_t places, used; /* size, a power of two; entries, including those of removed ids */
} cpb_id_map;

void cpb_id_map_free(cpb_id_map *map);

/* The first contents of an empty map: rising ids, which must outlive it, or NULL. */
void cpb_id_map_borrow(cpb_id_map *map, const uint64_t *ids, size_t slots);

uint64_t cpb_id_map_id(const cpb_id_map *map, size_t slot);

/* The slot of a live id; CPB_NO_SLOT if there is none. `gone` has a bit for each slot. */
size_t cpb_id_map_find(const cpb_id_map *map, uint64_t id, const uint64_t *removed_bits);

/* Allocates for `count` more slots, so that adding them cannot fail; their ids are ids[i], or next_id + i if ids is NULL.
 * False if out of memory: the map has the ids it had. */
bool cpb_id_map_reserve(cpb_id_map *map, const uint64_t *ids, uint64_t next_id, size_t count,
                        const uint64_t *removed_bits);

/* The id of the next slot, reserved. */
void cpb_id_map_add(cpb_id_map *map, uint64_t id);

/* Removes the slots from `slots` on, which must be the last ones added. */
void cpb_id_map_shrink(cpb_id_map *map, size_t slots);

#endif

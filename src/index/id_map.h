/* From ids to slots and back. As long as every id is the number of its slot nothing is stored. */
#ifndef CPB_INDEX_ID_MAP_H
#define CPB_INDEX_ID_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CPB_NO_SLOT SIZE_MAX

typedef struct cpb_id_map {
  size_t slots;  /* that have an id, removed or not */
  uint64_t *ids; /* of the slots; NULL: their numbers */
  size_t ids_room;
  size_t *table;       /* slot+1 of live ids at the place of their hash or after it; 0: free */
  size_t places, used; /* a power of two; taken, with those of removed ids */
} cpb_id_map;

void cpb_id_map_free(cpb_id_map *map);

uint64_t cpb_id_map_id(const cpb_id_map *map, size_t slot);

/* The slot of a live id; CPB_NO_SLOT where there is none. `gone` is a bit for each slot. */
size_t cpb_id_map_find(const cpb_id_map *map, uint64_t id, const uint64_t *gone);

/* Room for `count` more slots, and ids that are stored from now on where `stored`: adding them cannot fail then. False
 * without memory, with nothing changed. */
bool cpb_id_map_reserve(cpb_id_map *map, size_t count, bool stored, const uint64_t *gone);

/* The id of the next slot. */
void cpb_id_map_add(cpb_id_map *map, uint64_t id);

/* Forgets the slots from `slots` on, the last ones that were added. */
void cpb_id_map_shrink(cpb_id_map *map, size_t slots);

#endif

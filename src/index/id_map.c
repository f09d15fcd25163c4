#include "index/id_map.h"

#include <stdlib.h>
#include <string.h>

void cpb_id_map_free(cpb_id_map *map) {
  free(map->ids);
  free(map->table);
  *map = (cpb_id_map){0};
}

uint64_t cpb_id_map_id(const cpb_id_map *map, size_t slot) {
  return map->ids != NULL ? map->ids[slot] : slot;
}

/* Every bit of the id decides on every bit of the place (the finalizer of MurmurHash3). */
static size_t place_of(const cpb_id_map *map, uint64_t id) {
  id ^= id >> 33;
  id *= 0xff51afd7ed558ccd;
  id ^= id >> 33;
  id *= 0xc4ceb9fe1a85ec53;
  id ^= id >> 33;
  return (size_t)id & (map->places - 1);
}

static bool is_gone(const uint64_t *gone, size_t slot) { return gone[slot / 64] >> slot % 64 & 1; }

/* An id that was removed and added again has several slots, one of them live. */
size_t cpb_id_map_find(const cpb_id_map *map, uint64_t id, const uint64_t *gone) {
  if (map->ids == NULL) return id < map->slots && !is_gone(gone, (size_t)id) ? (size_t)id : CPB_NO_SLOT;
  for (size_t at = place_of(map, id); map->table[at] != 0; at = (at + 1) & (map->places - 1)) {
    size_t slot = map->table[at] - 1;
    if (map->ids[slot] == id && !is_gone(gone, slot)) return slot;
  }
  return CPB_NO_SLOT;
}

static void place(cpb_id_map *map, size_t slot) {
  size_t at = place_of(map, map->ids[slot]);
  while (map->table[at] != 0) at = (at + 1) & (map->places - 1);
  map->table[at] = slot + 1;
  map->used++;
}

static bool grow_ids(cpb_id_map *map, size_t slots) {
  if (map->ids != NULL && slots <= map->ids_room) return true;
  size_t room = slots + slots / 2 + 64;
  uint64_t *ids = realloc(map->ids, room * sizeof *ids);
  if (ids == NULL) return false;
  for (size_t slot = 0; map->ids == NULL && slot < map->slots; slot++) ids[slot] = slot;
  map->ids = ids;
  map->ids_room = room;
  return true;
}

/* At most half of the places are taken, those of removed ids with them: they are dropped here. */
static bool grow_table(cpb_id_map *map, size_t count, const uint64_t *gone) {
  if (map->places > 0 && 2 * (map->used + count) <= map->places) return true;
  size_t places = 64, live = 0;
  for (size_t slot = 0; slot < map->slots; slot++) live += !is_gone(gone, slot);
  while (places < 4 * (live + count)) places *= 2;
  size_t *table = calloc(places, sizeof *table);
  if (table == NULL) return false;
  free(map->table);
  map->table = table;
  map->places = places;
  map->used = 0;
  for (size_t slot = 0; slot < map->slots; slot++)
    if (!is_gone(gone, slot)) place(map, slot);
  return true;
}

bool cpb_id_map_reserve(cpb_id_map *map, size_t count, bool stored, const uint64_t *gone) {
  if (map->ids == NULL && !stored) return true;
  bool first = map->ids == NULL;
  if (grow_ids(map, map->slots + count) && grow_table(map, count, gone)) return true;
  if (first) { /* without a table nobody could find them */
    free(map->ids);
    map->ids = NULL;
  }
  return false;
}

void cpb_id_map_add(cpb_id_map *map, uint64_t id) {
  size_t slot = map->slots++;
  if (map->ids == NULL) return;
  map->ids[slot] = id;
  place(map, slot);
}

/* The place where the slot was put is free again only if nothing was put after it that went past it: slots go in the
 * opposite order of their coming. */
void cpb_id_map_shrink(cpb_id_map *map, size_t slots) {
  while (map->slots > slots) {
    size_t slot = --map->slots;
    if (map->ids == NULL) continue;
    size_t at = place_of(map, map->ids[slot]);
    while (map->table[at] != slot + 1) at = (at + 1) & (map->places - 1);
    map->table[at] = 0;
    map->used--;
  }
}

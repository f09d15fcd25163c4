#include "search/index_ids.h"

#include <stdlib.h>

static uint64_t *owned(const cpb_id_map *map) {
  return map->ids_room > 0 ? (uint64_t *)(uintptr_t)map->ids : NULL;
}

void cpb_id_map_free(cpb_id_map *map) {
  free(owned(map));
  free(map->table);
  *map = (cpb_id_map){0};
}

void cpb_id_map_borrow(cpb_id_map *map, const uint64_t *ids, size_t slots) {
  map->ids = ids;
  map->slots = slots;
}

uint64_t cpb_id_map_id(const cpb_id_map *map, size_t slot) {
  return map->ids != NULL ? map->ids[slot] : slot;
}

/* Each bit of the id influences each bit of the place (finalizer of MurmurHash3). */
static size_t place_of(const cpb_id_map *map, uint64_t id) {
  id ^= id >> 33;
  id *= 0xff51afd7ed558ccd;
  id ^= id >> 33;
  id *= 0xc4ceb9fe1a85ec53;
  id ^= id >> 33;
  return (size_t)id & (map->places - 1);
}

static bool is_removed(const uint64_t *removed_bits, size_t slot) {
  return removed_bits[slot / 64] >> slot % 64 & 1;
}

static size_t find_rising(const cpb_id_map *map, uint64_t id) {
  size_t from = 0, to = map->slots;
  while (from < to) {
    size_t middle = from + (to - from) / 2;
    if (map->ids[middle] < id)
      from = middle + 1;
    else
      to = middle;
  }
  return from < map->slots && map->ids[from] == id ? from : CPB_NO_SLOT;
}

/* An id that was removed and added again has several slots, one of them live. */
static size_t find_hashed(const cpb_id_map *map, uint64_t id, const uint64_t *removed_bits) {
  for (size_t at = place_of(map, id); map->table[at] != 0; at = (at + 1) & (map->places - 1)) {
    size_t slot = map->table[at] - 1;
    if (map->ids[slot] == id && !is_removed(removed_bits, slot)) return slot;
  }
  return CPB_NO_SLOT;
}

size_t cpb_id_map_find(const cpb_id_map *map, uint64_t id, const uint64_t *removed_bits) {
  if (map->table != NULL) return find_hashed(map, id, removed_bits);
  size_t slot = map->ids != NULL ? find_rising(map, id) : id < map->slots ? (size_t)id : CPB_NO_SLOT;
  return slot != CPB_NO_SLOT && !is_removed(removed_bits, slot) ? slot : CPB_NO_SLOT;
}

static void place(cpb_id_map *map, size_t slot) {
  size_t at = place_of(map, map->ids[slot]);
  while (map->table[at] != 0) at = (at + 1) & (map->places - 1);
  map->table[at] = slot + 1;
  map->used++;
}

/* From now on ids are stored here. */
static bool grow_ids(cpb_id_map *map, size_t slots) {
  if (slots <= map->ids_room) return true;
  size_t room = slots + slots / 2 + 64;
  uint64_t *ids = realloc(owned(map), room * sizeof *ids);
  if (ids == NULL) return false;
  if (map->ids_room == 0)
    for (size_t slot = 0; slot < map->slots; slot++) ids[slot] = cpb_id_map_id(map, slot);
  map->ids = ids;
  map->ids_room = room;
  return true;
}

/* At most half of the places are taken. Entries of removed ids are dropped when it grows. */
static bool grow_table(cpb_id_map *map, size_t count, const uint64_t *removed_bits) {
  if (map->places > 0 && 2 * (map->used + count) <= map->places) return true;
  size_t places = 64, live = 0;
  for (size_t slot = 0; slot < map->slots; slot++) live += !is_removed(removed_bits, slot);
  while (places < 3 * (live + count)) places *= 2;
  size_t *table = calloc(places, sizeof *table);
  if (table == NULL) return false;
  free(map->table);
  map->table = table;
  map->places = places;
  map->used = 0;
  for (size_t slot = 0; slot < map->slots; slot++)
    if (!is_removed(removed_bits, slot)) place(map, slot);
  return true;
}

static bool are_numbers(const cpb_id_map *map, const uint64_t *ids, uint64_t next_id, size_t count) {
  if (ids == NULL) return next_id == map->slots;
  for (size_t i = 0; i < count; i++)
    if (ids[i] != map->slots + i) return false;
  return true;
}

static bool go_on_rising(const cpb_id_map *map, const uint64_t *ids, uint64_t next_id, size_t count) {
  uint64_t first = ids != NULL ? ids[0] : next_id;
  if (map->slots > 0 && first <= cpb_id_map_id(map, map->slots - 1)) return false;
  for (size_t i = 1; ids != NULL && i < count; i++)
    if (ids[i] <= ids[i - 1]) return false;
  return true;
}

bool cpb_id_map_reserve(cpb_id_map *map, const uint64_t *ids, uint64_t next_id, size_t count,
                        const uint64_t *removed_bits) {
  if (count == 0 || (map->ids == NULL && are_numbers(map, ids, next_id, count))) return true;
  if (!grow_ids(map, map->slots + count)) return false;
  if (map->table == NULL && go_on_rising(map, ids, next_id, count)) return true;
  return grow_table(map, count, removed_bits);
}

void cpb_id_map_add(cpb_id_map *map, uint64_t id) {
  size_t slot = map->slots++;
  if (map->ids == NULL) return;
  owned(map)[slot] = id;
  if (map->table != NULL) place(map, slot);
}

/* A place can be freed only if no later entry was moved past it: slots are removed in the opposite order of adding. */
void cpb_id_map_shrink(cpb_id_map *map, size_t slots) {
  while (map->slots > slots) {
    size_t slot = --map->slots;
    if (map->table == NULL) continue;
    size_t at = place_of(map, map->ids[slot]);
    while (map->table[at] != slot + 1) at = (at + 1) & (map->places - 1);
    map->table[at] = 0;
    map->used--;
  }
}

#include "search/index_keys.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/state_bytes.h"
#include "base/utf8.h"

void cpb_key_map_free(cpb_key_map *map) {
  free(map->own.ends);
  free(map->own.text);
  free(map->own.table);
  *map = (cpb_key_map){0};
}

/* ---- tables ---- */

static size_t place_of(size_t places, const char *key, size_t bytes) {
  uint64_t hash = cpb_checksum(key, bytes);
  return (size_t)(hash ^ hash >> 29) & (places - 1);
}

size_t cpb_key_places(uint64_t slots) {
  size_t places = 64;
  while (places < 2 * slots) places *= 2;
  return slots > 0 ? places : 0;
}

void cpb_key_table_enter(uint64_t *table, size_t places, size_t slot, const char *key, size_t bytes) {
  size_t at = place_of(places, key, bytes);
  while (table[at] != 0) at = (at + 1) & (places - 1);
  table[at] = slot + 1;
}

/* Nothing of a mapped part is trusted: a damaged one gives wrong keys, but no access outside it. */
static const char *key_of(const cpb_key_part *part, size_t slot, size_t *bytes) {
  uint64_t from = part->ends[slot], to = part->ends[slot + 1];
  *bytes = from <= to && to <= part->bytes && to - from <= CPB_KEY_MOST ? (size_t)(to - from) : 0;
  return *bytes > 0 ? part->text + from : "";
}

static size_t find_in(const cpb_key_part *part, size_t first, const char *key, size_t bytes,
                      const uint64_t *removed_bits) {
  size_t length, at = part->places > 0 ? place_of(part->places, key, bytes) : 0;
  for (size_t seen = 0; seen < part->places && part->table[at] != 0;
       seen++, at = (at + 1) & (part->places - 1)) {
    uint64_t slot = part->table[at] - 1;
    if (slot >= part->slots) continue;
    size_t global = first + (size_t)slot;
    if ((removed_bits[global / 64] >> global % 64 & 1) != 0) continue;
    const char *there = key_of(part, (size_t)slot, &length);
    if (length == bytes && memcmp(there, key, bytes) == 0) return global;
  }
  return CPB_NO_SLOT;
}

/* ---- the map ---- */

const char *cpb_key_map_key(const cpb_key_map *map, size_t slot, size_t *bytes) {
  return slot < map->mapped.slots ? key_of(&map->mapped, slot, bytes)
                                  : key_of(&map->own, slot - map->mapped.slots, bytes);
}

size_t cpb_key_map_find(const cpb_key_map *map, const char *key, size_t bytes, const uint64_t *removed_bits) {
  size_t slot = find_in(&map->own, map->mapped.slots, key, bytes, removed_bits);
  return slot != CPB_NO_SLOT ? slot : find_in(&map->mapped, 0, key, bytes, removed_bits);
}

static bool grow_table(cpb_key_part *part, size_t slots) {
  size_t places = cpb_key_places(slots), bytes;
  if (places <= part->places) return true;
  uint64_t *table = calloc(places, sizeof *table);
  if (table == NULL) return false;
  for (size_t slot = 0; slot < part->slots; slot++) {
    const char *key = key_of(part, slot, &bytes);
    cpb_key_table_enter(table, places, slot, key, bytes);
  }
  free(part->table);
  part->table = table;
  part->places = places;
  return true;
}

bool cpb_key_map_reserve(cpb_key_map *map, size_t count, uint64_t bytes) {
  cpb_key_part *own = &map->own;
  size_t slots = own->slots + count;
  if (slots + 1 > map->slot_room) {
    size_t room = slots + slots / 2 + 64;
    uint64_t *ends = realloc(own->ends, room * sizeof *ends);
    if (ends == NULL) return false;
    if (own->ends == NULL) ends[0] = 0;
    own->ends = ends;
    map->slot_room = room;
  }
  if (own->bytes + bytes > map->text_room) {
    size_t room = (size_t)(own->bytes + bytes) + (size_t)(own->bytes + bytes) / 2 + 1024;
    char *text = realloc(own->text, room);
    if (text == NULL) return false;
    own->text = text;
    map->text_room = room;
  }
  return grow_table(own, slots);
}

void cpb_key_map_add(cpb_key_map *map, const char *key, size_t bytes) {
  cpb_key_part *own = &map->own;
  memmove(own->text + own->bytes, key, bytes);
  own->bytes += bytes;
  own->ends[own->slots + 1] = own->bytes;
  cpb_key_table_enter(own->table, own->places, own->slots, own->text + own->bytes - bytes, bytes);
  own->slots++;
}

/* A place can be freed only if no later entry was moved past it: slots are removed in the opposite order of adding, but a table
 * that has grown meanwhile has entries in their order, too. */
void cpb_key_map_shrink(cpb_key_map *map, size_t slots) {
  cpb_key_part *own = &map->own;
  while (own->slots > 0 && map->mapped.slots + own->slots > slots) {
    size_t bytes, slot = --own->slots;
    const char *key = key_of(own, slot, &bytes);
    size_t at = place_of(own->places, key, bytes);
    while (own->table[at] != slot + 1) at = (at + 1) & (own->places - 1);
    own->table[at] = 0;
    own->bytes -= bytes;
  }
}

/* ---- keys of a caller ---- */

static const char *given(const cpb_index_keys *keys, size_t i, size_t *bytes) {
  *bytes = (size_t)(keys->offsets[i + 1] - keys->offsets[i]);
  return keys->text + keys->offsets[i];
}

static cpb_status check_key(const cpb_index_keys *keys, size_t i, char *copy, cpb_error *error) {
  if (keys->offsets[i] > keys->offsets[i + 1])
    return cpb_fail_row(error, CPB_WHY_LIST_ORDER, "keys", i, "ends before it begins");
  size_t bytes;
  const char *key = given(keys, i, &bytes);
  if (bytes == 0 || bytes > CPB_KEY_MOST)
    return cpb_fail_row(error, CPB_WHY_NO_SUCH_ROW, "keys", i, "has %zu bytes, a key has 1 to %d", bytes,
                        CPB_KEY_MOST);
  memcpy(copy, key, bytes);
  copy[bytes] = 0;
  if (strlen(copy) < bytes) return cpb_fail_row(error, CPB_WHY_NO_SUCH_ROW, "keys", i, "has a zero byte");
  return cpb_is_utf8(copy) ? CPB_OK : cpb_fail_row(error, CPB_WHY_NO_SUCH_ROW, "keys", i, "is not UTF-8");
}

/* Enters all keys into a table, one after the other. */
static cpb_status check_once(const cpb_index_keys *keys, cpb_error *error) {
  size_t places = cpb_key_places(keys->count), bytes, others;
  uint64_t *table = calloc(places + 1, sizeof *table);
  if (table == NULL) return cpb_fail_memory(error, "%zu keys", keys->count);
  cpb_status status = CPB_OK;
  for (size_t i = 0; status == CPB_OK && i < keys->count; i++) {
    const char *key = given(keys, i, &bytes);
    size_t at = place_of(places, key, bytes);
    for (; table[at] != 0; at = (at + 1) & (places - 1)) {
      const char *other = given(keys, (size_t)table[at] - 1, &others);
      if (others == bytes && memcmp(key, other, bytes) == 0) break;
    }
    if (table[at] != 0)
      status =
          cpb_fail(error, CPB_WHY_ROW_TWICE, "keys", "key \"%.*s\" is given twice, for rows %llu and %zu",
                   bytes < 200 ? (int)bytes : 200, key, (unsigned long long)table[at] - 1, i);
    table[at] = i + 1;
  }
  free(table);
  return status;
}

cpb_status cpb_keys_check(const cpb_index_keys *keys, cpb_error *error) {
  if (keys->count > 0 && (keys->offsets == NULL || keys->text == NULL))
    return cpb_fail_missing(error, "keys");
  char *copy = malloc(CPB_KEY_MOST + 1);
  if (copy == NULL) return cpb_fail_memory(error, "keys");
  cpb_status status = CPB_OK;
  for (size_t i = 0; status == CPB_OK && i < keys->count; i++) status = check_key(keys, i, copy, error);
  free(copy);
  return status == CPB_OK ? check_once(keys, error) : status;
}

/* ---- parts in files ---- */

uint64_t cpb_key_part_bytes(uint64_t slots, uint64_t text) {
  return (slots + 1 + cpb_key_places(slots)) * sizeof(uint64_t) + text;
}

cpb_key_part cpb_key_part_at(void *at, size_t slots, uint64_t text) {
  cpb_key_part part = {.slots = slots, .ends = at, .bytes = text, .places = cpb_key_places(slots)};
  part.table = part.ends + slots + 1;
  part.text = (char *)(part.table + part.places);
  return part;
}

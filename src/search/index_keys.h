/* Text keys of slots: those of a file, which are mapped, and those added since. A removed row keeps its key until compaction. */
#ifndef CPB_SEARCH_INDEX_KEYS_H
#define CPB_SEARCH_INDEX_KEYS_H

#include <stdbool.h>

#include "capball/index.h"
#include "search/index_ids.h"

enum { CPB_KEY_MOST = 65536 /* bytes of a key */ };

/* The keys of consecutive slots. */
typedef struct cpb_key_part {
  size_t slots;
  uint64_t *ends; /* slots+1: key i is text[ends[i]] to text[ends[i+1]] */
  char *text;
  uint64_t bytes;  /* of the text */
  uint64_t *table; /* slot+1 at the hash of its key or after it, 0: free */
  size_t places;   /* of the table, a power of two; at most half of them are taken */
} cpb_key_part;

typedef struct cpb_key_map {
  cpb_key_part mapped,
      own; /* slots of `own` follow those of `mapped`; in its table they are counted from 0 */
  size_t slot_room, text_room;
} cpb_key_map;

void cpb_key_map_free(cpb_key_map *map);

/* EINVAL unless all keys are allowed, and each is given once. */
cpb_status cpb_keys_check(const cpb_index_keys *keys, cpb_error *error);

/* The key of a slot, without a zero at its end; *bytes is 0 if the file is damaged. */
const char *cpb_key_map_key(const cpb_key_map *map, size_t slot, size_t *bytes);

/* The slot of a live row; CPB_NO_SLOT if there is none. */
size_t cpb_key_map_find(const cpb_key_map *map, const char *key, size_t bytes, const uint64_t *removed_bits);

/* Allocates for so many more keys, so that adding them cannot fail, and pointers to keys stay valid meanwhile. */
bool cpb_key_map_reserve(cpb_key_map *map, size_t count, uint64_t bytes);
void cpb_key_map_add(cpb_key_map *map, const char *key, size_t bytes);

/* Removes the slots from `slots` on, which must be the last ones added. */
void cpb_key_map_shrink(cpb_key_map *map, size_t slots);

/* ---- parts in files: ends, table, text ---- */

size_t cpb_key_places(uint64_t slots);

/* Bytes of a part in a file; its text follows ends and table. */
uint64_t cpb_key_part_bytes(uint64_t slots, uint64_t text);

/* The part at an address in a file that is mapped. */
cpb_key_part cpb_key_part_at(void *at, size_t slots, uint64_t text);

/* Enters the key of slot `slot` into a table of zeros. */
void cpb_key_table_enter(uint64_t *table, size_t places, size_t slot, const char *key, size_t bytes);

#endif

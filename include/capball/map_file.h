/* A map as a file: JSON, versioned, 17 digits, with a checksum and what it was made from. */
#ifndef CAPBALL_MAP_FILE_H
#define CAPBALL_MAP_FILE_H

#include "capball/map.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What the file says beside the map itself. Strings are views, NULL where absent. */
typedef struct cpb_map_origin {
  size_t size;          /* sizeof(cpb_map_origin) */
  const char *goal;     /* how s was chosen: "given", "mean", "median", "hemisphere", .. */
  const char *source;   /* the data it was fitted to, as given */
  uint64_t rows;        /* rows of the data, 0 if unknown */
  const char *evidence; /* JSON: why this scale; written as it is under the key "evidence" */
} cpb_map_origin;

/** The whole text of the file (keys "capball", "dim", "scale", "center", "pole", "whiten", "toward",
 *  "goal", "evidence", "made_from", "checksum"); gives *text, 0-terminated, to the caller, who frees it with
 *  free(). */
CPB_API cpb_status cpb_map_to_json(const cpb_map *map, const cpb_map_origin *origin, char **text,
                                   cpb_error *error);

/** Reads that text back, bit for bit; gives *map. Every fault (not JSON, foreign version, a wrong length,
 *  a checksum that does not match, values cpb_map_new refuses) is EFORMAT with a sentence.
 *  name  what the sentence calls the file */
CPB_API cpb_status cpb_map_from_json(const char *text, size_t length, const char *name, cpb_map **map,
                                     cpb_error *error);

/** The same two through a file: load gives *map; save writes it whole or not at all, "-" is standard
 *  output. EIO where the system refuses. */
CPB_API cpb_status cpb_map_load(const char *path, cpb_map **map, cpb_error *error);
CPB_API cpb_status cpb_map_save(const char *path, const cpb_map *map, const cpb_map_origin *origin,
                                cpb_error *error);

#ifdef __cplusplus
}
#endif
#endif

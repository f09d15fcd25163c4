/* A transform as text, and its fingerprint. */
#ifndef CPB_ENGINE_TRANSFORM_JSON_H
#define CPB_ENGINE_TRANSFORM_JSON_H

#include "capball/transform.h"

/** The whole text of the file, for a sphere that of cpb_map_to_json; gives *text, 0-terminated, to the caller. */
cpb_status cpb_transform_to_json(const cpb_transform *transform, char **text, cpb_error *error);

/** Reads it, or the file of a map, bit for bit; gives *transform to the caller. name: of the file in messages */
cpb_status cpb_transform_from_json(const char *text, size_t length, const char *name,
                                   cpb_transform **transform, cpb_error *error);

/** Distinguishes transforms: equal for equal numbers in their files, whatever else the files contain. */
cpb_status cpb_transform_fingerprint(const cpb_transform *transform, uint64_t *fingerprint, cpb_error *error);

#endif

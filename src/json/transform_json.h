/* A transform as text, and its fingerprint. */
#ifndef CPB_JSON_TRANSFORM_JSON_H
#define CPB_JSON_TRANSFORM_JSON_H

#include "capball/transform.h"

/** The whole text of the file (keys "capball", "transform", "dim", "columns" if they have names, "center", "max_norm",
 *  "checksum"; those of cpb_map_to_json for a sphere); gives *text, 0-terminated, to the caller, who frees it with
 *  cpb_free. */
cpb_status cpb_transform_to_json(const cpb_transform *transform, char **text, cpb_error *error);

/** A number that distinguishes transforms: equal for equal numbers in their files, whatever else the files contain. */
cpb_status cpb_transform_fingerprint(const cpb_transform *transform, uint64_t *fingerprint, cpb_error *error);

#endif

/* A constant-size summary of row ids, independent of their order, that shows whether some id must have occurred
 * twice. */
#ifndef CPB_SCALE_ID_SUMS_H
#define CPB_SCALE_ID_SUMS_H

#include <stdbool.h>

#include "capball/status.h"

typedef struct cpb_id_sums {
  bool unknown;         /* some rows came without ids (a state of an older version) */
  uint64_t count;       /* ids given */
  uint64_t low, high;   /* the smallest and the largest; 0 without ids */
  uint64_t sum, square; /* of the ids and of their squares, modulo 2^64 */
} cpb_id_sums;

/* ids[0], .., or first, first+1, .. where ids is NULL. */
void cpb_id_sums_add(cpb_id_sums *sums, const uint64_t *ids, uint64_t first, size_t count);
void cpb_id_sums_merge(cpb_id_sums *sums, const cpb_id_sums *other);

/* EINVAL when an id has certainly occurred twice: more ids than numbers from low to high, or as many but not each
 * of them once. Cannot detect a duplicate when other ids between low and high are missing. */
cpb_status cpb_id_sums_check(const cpb_id_sums *sums, cpb_error *error);

#endif

/* Structs that begin with their size, so that they can grow: a caller built against older headers knows
 * fewer members, and has a smaller size. */
#ifndef CPB_CORE_SIZED_H
#define CPB_CORE_SIZED_H

#include "capball/status.h"

/* For cpb_x_init(to, size): the defaults, as far as the caller's `size` bytes go. */
void cpb_sized_init(void *to, size_t size, const void *defaults, size_t known);

/* Options: what is `given` over the defaults in `ours`, of `known` bytes both with size first. NULL keeps
 * the defaults, members that an older caller does not know do, too. EINVAL for a size that is none, and for a
 * larger one, of members that this library does not know. `name` is their type. */
cpb_status cpb_sized_take(void *ours, size_t known, const void *given, const char *name, cpb_error *error);

/* Results: EINVAL for a struct whose size was never set; NULL is fine. */
cpb_status cpb_sized_check(const void *to, const char *name, cpb_error *error);

/* Results: as much of ours as the caller's struct holds; its size stays. NULL is fine. */
void cpb_sized_give(void *to, const void *ours, size_t known);

#endif

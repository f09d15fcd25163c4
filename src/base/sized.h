/* Structs that begin with their size, so that they can grow: a caller built against older headers passes a smaller
 * size and knows fewer members. */
#ifndef CPB_BASE_SIZED_H
#define CPB_BASE_SIZED_H

#include "capball/status.h"

/* For cpb_x_init(to, size): copies the defaults, at most the caller's `size` bytes. */
void cpb_sized_init(void *to, size_t size, const void *defaults, size_t known);

/* The defaults of a type of options, as `defaults`, and its public cpb_x_init. */
#define CPB_DEFAULTS(type, ...)                                                                              \
  static const type defaults = {__VA_ARGS__};                                                                \
  void type##_init(type *options, size_t size) { cpb_sized_init(options, size, &defaults, sizeof defaults); }

/* Options: overlays `given` on the defaults in `ours`; both begin with a size, `known` is ours. NULL, and members
 * that an older caller does not know, keep the defaults. EINVAL for an impossible size, and for a larger one,
 * whose members this library does not know. `name` is the type's name. */
cpb_status cpb_sized_take(void *ours, size_t known, const void *given, const char *name, cpb_error *error);

/* Results: EINVAL for a struct whose size was never set; NULL is allowed. */
cpb_status cpb_sized_check(const void *to, const char *name, cpb_error *error);

/* Results: copies as much of ours as the caller's struct holds and leaves its size unchanged; zeros if ours is NULL. `to` may
 * be NULL. */
void cpb_sized_give(void *to, const void *ours, size_t known);

#endif

/* Functions on lanes are always inlined: calls would move the lanes from registers to memory. */
#ifndef CPB_LOOPS_LANE_INLINE_H
#define CPB_LOOPS_LANE_INLINE_H

#include <stddef.h>
#include <stdint.h>

#define LANE_INLINE static inline __attribute__((always_inline))

/* The position of an output element in its aligned group of so many. */
static inline size_t group_phase(const char *p, size_t size, size_t group) {
  return (uintptr_t)p / size % group;
}

#endif

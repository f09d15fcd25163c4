/* What works on lanes is inlined whatever it costs: lanes live in registers, and calls would put them into memory. */
#ifndef CPB_LOOP_LANE_INLINE_H
#define CPB_LOOP_LANE_INLINE_H

#include <stddef.h>
#include <stdint.h>

#define LANE_INLINE static inline __attribute__((always_inline))

/* Where in its group of sixteen a number of the output lies. */
static inline size_t group_phase(const char *p, size_t size) { return (uintptr_t)p / size % 16; }

#endif

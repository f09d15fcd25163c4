/* What works on lanes is inlined whatever it costs: lanes live in registers, and calls would put them into memory. */
#ifndef CPB_LOOP_LANE_INLINE_H
#define CPB_LOOP_LANE_INLINE_H

#define LANE_INLINE static inline __attribute__((always_inline))

#endif

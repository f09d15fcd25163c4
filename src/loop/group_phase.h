/* Where in its group of sixteen a number of the output lies. */
#ifndef CPB_LOOP_GROUP_PHASE_H
#define CPB_LOOP_GROUP_PHASE_H

#include "loop/table.h"

static inline size_t group_phase(const char *p, size_t size) { return (uintptr_t)p / size % CPB_LANES; }

#endif

/* The order of hits. */
#ifndef CPB_SEARCH_HIT_ORDER_H
#define CPB_SEARCH_HIT_ORDER_H

#include "capball/search.h"

/** Sorts by value, the smallest first, and by id where values are equal. */
void cpb_hits_by_distance(cpb_hit *hits, size_t count);

#endif

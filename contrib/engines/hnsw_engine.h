/* The engine interface implemented with hnswlib: a graph, M = 16, ef = 200. A separate module in C++, built only
 * if hnswlib's header was found at configure time. */
#ifndef ENGINES_HNSW_DOOR_H
#define ENGINES_HNSW_DOOR_H

#include "capball/advanced/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One thread; {seed} is the seed of the graph's levels. */
cpb_engine_calls hnsw_engine(void);

#ifdef __cplusplus
}
#endif
#endif

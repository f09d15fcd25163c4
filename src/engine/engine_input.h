/* Answers of an engine: shared by measuring and wrapping. */
#ifndef CPB_ENGINE_ENGINE_INPUT_H
#define CPB_ENGINE_ENGINE_INPUT_H

#include "capball/exec.h"
#include "capball/search.h"

/* hits[i*count ..]: the first `count` candidates of query i, from ids[i*stride], by ascending distance |x-q|; inf where
 * there is none. */
cpb_status cpb_engine_distances(cpb_view base, cpb_view queries, const uint64_t *ids, size_t stride,
                                size_t count, cpb_hit *hits, const cpb_exec *exec, cpb_error *error);

/* Appends the ids of an answer that are new, as far as there is room; CPB_NO_ROW follows the last. */
void cpb_engine_join(const uint64_t *answer, size_t count, uint64_t *ids, size_t room);

#endif

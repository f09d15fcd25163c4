/* Rows through a transform, an engine's answers, and their distances: shared by measuring and wrapping. */
#ifndef CPB_ENGINE_ENGINE_INPUT_H
#define CPB_ENGINE_ENGINE_INPUT_H

#include "capball/transform.h"

/* Rows as an engine receives them: f32, densely packed. Rows without an image (a zero that should be a direction)
 * become 0 if `lenient`, else they are EROW. The caller frees *out. */
cpb_status cpb_engine_rows(const cpb_transform *transform, cpb_view x, bool lenient, float **out,
                           const cpb_exec *exec, cpb_error *error);

/* The same for queries, as balls of this radius on the sphere. */
cpb_status cpb_engine_queries(const cpb_transform *transform, cpb_view x, double radius, bool lenient,
                              float *to, const cpb_exec *exec, cpb_error *error);

/* The same with one radius per query; NULL: points. */
cpb_status cpb_engine_balls(const cpb_transform *transform, cpb_view x, const double *radii, bool lenient,
                            float *to, const cpb_exec *exec, cpb_error *error);

/* hits[i*count ..]: the candidates of query i by ascending distance |x-q|, inf where there is none. */
cpb_status cpb_engine_distances(cpb_view base, cpb_view queries, const uint64_t *ids, size_t count,
                                cpb_hit *hits, const cpb_exec *exec, cpb_error *error);

#endif

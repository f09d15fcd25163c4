/* T13: the usual distance of the k-th neighbour, gathered in pieces; cpb_radius_fit is one call for it. */
#ifndef CPB_PROOF_RADIUS_SAMPLE_H
#define CPB_PROOF_RADIUS_SAMPLE_H

#include "capball/query.h"

/** A usual k-th distance: the median over a few queries, chosen by a hash of their ids, of the exact k-th
 *  distance to the whole base. First all queries, then all of the base, each in any pieces. */
typedef struct cpb_radius_sample cpb_radius_sample;

/** Gives *sample to the caller. The map is borrowed while the sample lives.
 *  k >= 1; most: queries to take, 0: 64 */
cpb_status cpb_radius_sample_new(const cpb_map *map, size_t k, size_t most, cpb_radius_sample **sample,
                                 cpb_error *error);
void cpb_radius_sample_free(cpb_radius_sample *sample);

/** Offers queries first_id, first_id+1, .. EROW as above. */
cpb_status cpb_radius_sample_queries(cpb_radius_sample *sample, cpb_view queries, uint64_t first_id,
                                     cpb_error *error);

/** Offers rows of the base (not embedded); no queries after this. EROW: a row with NaN or inf. */
cpb_status cpb_radius_sample_base(cpb_radius_sample *sample, cpb_view rows, const cpb_exec *exec,
                                  cpb_error *error);

/** The median, of an even number the mean of the two in the middle; 0 where rows repeat so much that it is.
 * EINVAL when the base has fewer than k rows. */
cpb_status cpb_radius_sample_median(cpb_radius_sample *sample, double *radius, cpb_error *error);

#endif

/* T13: the typical distance of the k-th neighbour, computed piece by piece; cpb_radius_fit does it in one call. */
#ifndef CPB_PROOF_RADIUS_SAMPLE_H
#define CPB_PROOF_RADIUS_SAMPLE_H

#include "capball/query.h"

/** A typical k-th distance: the median, over a few queries chosen by a hash of their ids, of the exact k-th
 *  distance to the whole base. First all queries are offered, then all of the base, each in any number of pieces. */
typedef struct cpb_radius_sample cpb_radius_sample;

/** Gives *sample to the caller. The map is borrowed for the life of the sample.
 *  k >= 1; most: number of queries, 0: 64 */
cpb_status cpb_radius_sample_new(const cpb_map *map, size_t k, size_t most, cpb_radius_sample **sample,
                                 cpb_error *error);
void cpb_radius_sample_free(cpb_radius_sample *sample);

/** Offers queries first_id, first_id+1, .. EROW: a row with NaN or inf. */
cpb_status cpb_radius_sample_queries(cpb_radius_sample *sample, cpb_view queries, uint64_t first_id,
                                     cpb_error *error);

/** Offers rows of the base (not embedded); no queries may follow. EROW: a row with NaN or inf. */
cpb_status cpb_radius_sample_base(cpb_radius_sample *sample, cpb_view rows, const cpb_exec *exec,
                                  cpb_error *error);

/** The median; for an even number the mean of the two in the middle; 0 if enough rows are duplicates.
 * EINVAL if the base has fewer than k rows. */
cpb_status cpb_radius_sample_median(cpb_radius_sample *sample, double *radius, cpb_error *error);

#endif

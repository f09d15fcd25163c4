/* Ranks candidates by rows that are all in memory. */
#ifndef CPB_PROOF_RERANK_ROWS_H
#define CPB_PROOF_RERANK_ROWS_H

#include "capball/query.h"

/** cpb_rerank from embedded rows alone, without the data.                                          T13
 *    |x-q|^2 = (|q|^2+s^2) (|x^-q^|^2/2) / (1+x0),  norms about the map's centre
 *  map        of the embedding; pole e, no reflection. Distances are in its metric
 *  embedded   rows of d+1, computed by this map. Their rounding limits the accuracy: the error of |x-q| is about
 *             2u s of their type for rows of |x| <= s. */
cpb_status cpb_rerank_embedded(const cpb_map *map, cpb_view embedded, cpb_view queries,
                               const cpb_hit *candidates, size_t count, size_t k, cpb_hit *hits,
                               const cpb_exec *exec, cpb_error *error);

#endif

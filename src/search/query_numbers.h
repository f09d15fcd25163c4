/* Queries as doubles, and what is known of each before anything is compared with it. */
#ifndef CPB_SEARCH_QUERY_NUMBERS_H
#define CPB_SEARCH_QUERY_NUMBERS_H

#include "capball/search.h"
#include "base/best.h"
#include "search/float_filter.h"

/** Sorts by value, the smallest first, and by id where values are equal. */
void cpb_hits_by_distance(cpb_hit *hits, size_t count);

/* Fills q, n x d doubles, of unit length under COSINE, and the lengths and units of query_scale, n of them. EROW for
 * a query with NaN or inf, or of length 0 under COSINE. */
cpb_status cpb_query_take(cpb_metric metric, cpb_view queries, double *q, cpb_query_scale *query_scale,
                          cpb_error *error);

/* Queries by their largest number about a centre, in the unit of their lengths: those of similar reach share a panel, and
 * so a grid. `room` is for n entries. */
void cpb_query_order(const cpb_query_scale *query_scale, const double *q, const double *center, size_t n,
                     size_t d, cpb_ranked *room, size_t *order);

/* EDOMAIN for a limit that is NaN or, of distances, negative. */
cpb_status cpb_check_limits(cpb_metric metric, const double *limits, size_t n, cpb_error *error);

#endif

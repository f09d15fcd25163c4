/* Queries as doubles, and what is known of each before anything is compared with it. */
#ifndef CPB_SEARCH_QUERY_NUMBERS_H
#define CPB_SEARCH_QUERY_NUMBERS_H

#include "capball/search.h"
#include "search/float_filter.h"

/* ---- The order of hits. ---- */

/** Sorts by value, the smallest first, and by id where values are equal. */
void cpb_hits_by_distance(cpb_hit *hits, size_t count);

/* Fills q, n x d doubles, of unit length under COSINE, and the lengths and units of query_scale, n of them. EROW for
 * a query with NaN or inf, or of length 0 under COSINE. */
cpb_status cpb_query_take(cpb_metric metric, cpb_view queries, double *q, cpb_query_scale *query_scale,
                          cpb_error *error);

/* The largest number of a query about a centre, in the unit of its length. */
double cpb_query_scale_reach(const cpb_query_scale *query_scale, const double *q, const double *center,
                             size_t d);

#endif

/* The ceiling of exact search with the standard error of its measurement. */
#ifndef CPB_SEARCH_CEILING_H
#define CPB_SEARCH_CEILING_H

#include "capball/scale.h"

/* cpb_search_ceiling; spread, where not NULL: the standard error of each recall over the queries. */
cpb_status cpb_ceiling_measure(cpb_view x, const double *center, size_t k, size_t queries, const double *s,
                               size_t count, double *recall, double *spread, const cpb_exec *exec,
                               cpb_error *error);

#endif

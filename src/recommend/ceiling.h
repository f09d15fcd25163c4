/* The recall ceiling of exact search, with the standard error of its measurement. */
#ifndef CPB_RECOMMEND_CEILING_H
#define CPB_RECOMMEND_CEILING_H

#include "capball/exec.h"
#include "capball/view.h"

/** The ceiling of exact search: with the first `queries` rows as queries, the fraction of the true k nearest
 *  other rows that are also among the k nearest in the embedded space.                                 T13
 *    |S(x)-S(q)|^2 = 4 s^2 |x-q|^2 / ((|x|^2+s^2) (|q|^2+s^2)), norms about the centre
 *  Rows as near as the k-th true neighbour count as found: ties are not errors.
 *  x        n > k rows of d, any dtype                               borrowed for the call
 *  center   d coordinates or NULL
 *  s        count scales > 0         recall   count numbers, caller's
 *  spread   count standard errors of the recall over the queries, caller's, or NULL
 *  EROW for a row with NaN or inf. Allocates a copy of the rows in double. */
cpb_status cpb_search_ceiling(cpb_view x, const double *center, size_t k, size_t queries, const double *s,
                              size_t count, double *recall, double *spread, const cpb_exec *exec,
                              cpb_error *error);

#endif

/* The values that a search must find: a plain loop over the numbers of a row, in the order of the library's sums, in 53-bit
 * arithmetic with unbounded exponents. */
#ifndef CPB_TEST_PLAIN_VALUES_H
#define CPB_TEST_PLAIN_VALUES_H

#include <stddef.h>

#include "capball/search.h"

/* At most PLAIN_COLS numbers. */
enum { PLAIN_COLS = 256 };

/* q/|q|, as values of cosines need it. */
void plain_direction(const double *q, size_t d, double *unit);

/* q: of unit length under COSINE. */
double plain_value(cpb_metric metric, const double *x, const double *q, size_t d);

/* Smaller is nearer: what rows are ordered by. */
double plain_key(cpb_metric metric, double value);

#endif

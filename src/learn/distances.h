/* Squared distances of rows to a centre, for rows of any dtype and any size. */
#ifndef CPB_LEARN_DISTANCES_H
#define CPB_LEARN_DISTANCES_H

#include "loop/table.h"

/* dist2[i] = |2^-exponent x_(first+i) - c|^2. Exponents other than 0 are for data whose squares leave the range of
 * double. */
void cpb_dist2_of_rows(const cpb_loops *loops, cpb_view x, int exponent, size_t first, size_t count,
                       const double *c, double *dist2);

/* row = 2^-exponent x_i */
void cpb_scaled_row(const cpb_loops *loops, cpb_view x, int exponent, size_t i, double *row);

/* The exponent of the largest |x_ij - origin_j| of rows with a weight > 0 (weights NULL: all); INT_MIN when all
 * are 0. */
int cpb_spread_exponent(cpb_view x, const double *weights, const double *origin);

/* The double nearest to x that is also a double in the unit of the data. */
double cpb_in_data_unit(double x, int exponent);

/* x 2^-exponent where 2^-exponent itself may overflow. */
double cpb_scaled(double x, int exponent);

#endif

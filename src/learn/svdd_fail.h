/* Sentences that the ways to a ball share. */
#ifndef CPB_LEARN_SVDD_FAIL_H
#define CPB_LEARN_SVDD_FAIL_H

#include "capball/ball.h"

cpb_status cpb_svdd_check_options(const cpb_svdd_options *options, cpb_error *error);

/* nu n >= 1: below that nu says nothing, as the enclosing ball comes out. Weights have any unit, and go down to 0:
 * there it is no sign of a mistake. */
cpb_status cpb_svdd_check_share(const cpb_svdd_options *options, size_t rows, cpb_error *error);

/* A lower bound x 2^exponent, rounded down where it is subnormal; NaN beyond double: no double says as much as the gap. */
double cpb_svdd_lower_in_unit(double x, int exponent);

cpb_status cpb_fail_no_ball(cpb_error *error, size_t rows, size_t cols);
cpb_status cpb_fail_nu_rows(cpb_error *error, double nu, size_t rows);
cpb_status cpb_fail_weight(cpb_error *error, size_t row, double weight);
cpb_status cpb_fail_weights_zero(cpb_error *error, size_t count);

#endif

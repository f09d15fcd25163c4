/* Errors shared by the solvers of balls. */
#ifndef CPB_LEARN_SVDD_FAIL_H
#define CPB_LEARN_SVDD_FAIL_H

#include "capball/ball.h"

cpb_status cpb_svdd_check_options(const cpb_svdd_options *options, cpb_error *error);

/* nu n >= 1: below that nu has no effect, the result is the enclosing ball. Weights may have any unit, down to 0,
 * so for them this is not a sign of a mistake. */
cpb_status cpb_svdd_check_share(const cpb_svdd_options *options, size_t rows, cpb_error *error);

/* A lower bound x 2^exponent, rounded down where it is subnormal; NaN on overflow, where no double says as much as
 * the gap. */
double cpb_svdd_lower_in_unit(double x, int exponent);

cpb_status cpb_fail_no_ball(cpb_error *error, size_t rows, size_t cols);
cpb_status cpb_fail_nu_rows(cpb_error *error, double nu, size_t rows);
cpb_status cpb_fail_weight(cpb_error *error, size_t row, double weight);
cpb_status cpb_fail_weights_zero(cpb_error *error, size_t count);

#endif

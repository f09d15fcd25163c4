/* Sentences that the ways to a ball share. */
#ifndef CPB_LEARN_SVDD_FAIL_H
#define CPB_LEARN_SVDD_FAIL_H

#include "capball/status.h"

cpb_status cpb_fail_no_ball(cpb_error *error, size_t rows, size_t cols);
cpb_status cpb_fail_nu_rows(cpb_error *error, double nu, size_t rows);
cpb_status cpb_fail_weight(cpb_error *error, size_t row, double weight);
cpb_status cpb_fail_weights_zero(cpb_error *error, size_t count);

#endif

/* Shared by models from rows and models from pieces. */
#ifndef CPB_FIT_FIT_MODEL_H
#define CPB_FIT_FIT_MODEL_H

#include "capball/ball.h"

enum { CPB_MODEL_QUANTILES = 101 };

/* EINVAL for data without a ball of radius > 0. */
cpb_status cpb_check_ball(const cpb_model_options *model, cpb_error *error);

#endif

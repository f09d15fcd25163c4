/* T10 T11: several balls of one radius, for rows that lie in several clouds. */
#ifndef CPB_FIT_FIT_BALLS_H
#define CPB_FIT_FIT_BALLS_H

#include "capball/ball.h"

/* Balls as cpb_model_options has them, the one of the most rows first, and what their fits took. */
typedef struct cpb_balls {
  size_t count, d, support, iterations;
  double *centers, *radii, *gaps; /* centres in the unit of y */
  uint64_t *rows;
  double radius, lower_bound, seconds; /* radius: of all; lower_bound: of the first */
  bool converged;
} cpb_balls;

void cpb_balls_free(cpb_balls *balls);

/* Groups the rows (fit/groups.h), and fits a ball to each group that has at least 1/8 of its even share of the rows.
 * The common radius is the distance to the nearest centre at which the share nu is used up.
 *  y   rows of finite numbers, at least as many as there are balls
 * EINVAL where the radius is 0. */
cpb_status cpb_fit_balls(cpb_view y, const cpb_model_fit_options *options, cpb_balls *balls,
                         const cpb_exec *exec, cpb_error *error);

#endif

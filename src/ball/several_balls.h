/* T10 T11: several balls of one radius, for rows that lie in several clouds. */
#ifndef CPB_BALL_SEVERAL_BALLS_H
#define CPB_BALL_SEVERAL_BALLS_H

#include "base/memory.h"
#include "capball/ball.h"

/* Balls as cpb_model_options has them, the one of the most rows first, and what their fits took. */
typedef struct cpb_balls {
  size_t count, d;
  double *centers, *radii, *gaps; /* centres in the unit of y */
  uint64_t *rows;
  cpb_svdd_report report; /* of all; gap and lower_bound of the first */
  cpb_memory memory;
} cpb_balls;

/* group[i]: the group of row i, 0 .. balls-1, by k-means.
 *  y   rows of finite doubles without gaps, at least as many as there are balls; those of weight 0 may be anything */
cpb_status cpb_group_rows(cpb_view y, const cpb_model_fit_options *options, size_t *group,
                          const cpb_exec *exec, cpb_error *error);

/* Every row minus the mean of its group: rows.rows * rows.cols numbers. */
cpb_status cpb_group_residuals(cpb_view rows, const cpb_model_fit_options *options, const size_t *group,
                               double *residuals, cpb_error *error);

/* Fits a ball to each group that has at least 1/8 of its even share of the rows. The common radius is the distance to
 * the nearest centre at which the share nu is used up. EINVAL where the radius is 0.
 *  y                rows of doubles without gaps
 *  radius_weights   of the rows, for the radius; NULL: all 1 */
cpb_status cpb_fit_balls(cpb_view y, const cpb_model_fit_options *options, const double *radius_weights,
                         const size_t *group, cpb_balls *balls, const cpb_exec *exec, cpb_error *error);

/* The radius about `center` at which the share nu of the rows, or of their weights, is outside: the distance of the row that
 * uses it up, from the farthest on; of rows on the centre that of the nearest that is not on it. 0 where all are. */
cpb_status cpb_radius_of_share(cpb_view y, const double *center, const double *weights, double nu,
                               double *radius, cpb_error *error);

static inline cpb_svdd_report cpb_report_of_ball(const cpb_ball_report *of) {
  return (cpb_svdd_report){.radius = of->radius,
                           .gap = of->gap,
                           .lower_bound = of->lower_bound,
                           .seconds = of->seconds,
                           .support = of->support,
                           .iterations = of->passes,
                           .converged = of->converged};
}

#endif

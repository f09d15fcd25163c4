/* The scale that a goal asks for, for the fits that choose one. */
#ifndef CPB_SPHERE_MAP_FIT_H
#define CPB_SPHERE_MAP_FIT_H

#include "capball/advanced/statistics.h"
#include "capball/map.h"

/* EINVAL if a goal needs the norms of all rows, and some are missing. */
cpb_status cpb_check_norms(const cpb_statistics_result *facts, cpb_goal goal, cpb_error *error);

/* Goals that need only a sample; the others need the norms of all rows. */
static inline bool cpb_goal_is_sampled(cpb_goal goal) {
  return goal == CPB_GOAL_SPREAD || goal == CPB_GOAL_RECALL;
}

/* Whether the scale, 0 if the goal decides, comes from the norms of all rows. */
static inline bool cpb_scale_takes_norms(double s, cpb_goal goal) {
  return s == 0 && !cpb_goal_is_sampled(goal);
}

/* Chooses by the goal, from the norms of `facts` or the sample about `center`. Sets *choice, if not NULL, and s. */
cpb_status cpb_scale_fit(cpb_goal goal, double target, size_t k, const cpb_statistics_result *facts,
                         cpb_view sample, const double *center, cpb_choice **choice, double *s,
                         const cpb_exec *exec, cpb_error *error);

#endif

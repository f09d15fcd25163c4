/* The scale that a goal asks for, for the fits that choose one. */
#ifndef CPB_FIT_SCALE_H
#define CPB_FIT_SCALE_H

#include "capball/advanced/statistics.h"
#include "capball/map.h"

/* What the caller specifies about the scale. */
typedef struct cpb_scale_wish {
  double s; /* 0: by the goal */
  cpb_goal goal;
  double target;
  size_t k;
} cpb_scale_wish;

/* Goals that need only a sample; the others need the norms of all rows. */
static inline bool cpb_goal_is_sampled(cpb_goal goal) {
  return goal == CPB_GOAL_SPREAD || goal == CPB_GOAL_RECALL;
}

static inline bool cpb_wish_takes_norms(const cpb_scale_wish *wish) {
  return wish->s == 0 && !cpb_goal_is_sampled(wish->goal);
}

/* Chooses by the goal, from the norms of `facts` or the sample about `center`. Sets *choice, and s. */
cpb_status cpb_wish_choose(const cpb_scale_wish *wish, const cpb_statistics_result *facts, cpb_view sample,
                           const double *center, cpb_choice **choice, double *s, const cpb_exec *exec,
                           cpb_error *error);

#endif

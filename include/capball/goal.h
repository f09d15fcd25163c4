/* The scale s for a goal.
 *
 *   mean, median   of the norms about the centre: a plain choice
 *   hemisphere     the largest norm: every row on the northern half                              T7
 *   spread         rows fill the sphere as evenly as they can: the largest ABID                  T9
 *   recall         the smallest s at which exact search on the sphere still finds the target
 *                  share of the true k nearest neighbours, with a standard error to spare       T13
 * Spread is not recall: the scale of the largest ABID is near the mean norm, where even an exact search
 * in the embedded space misses a quarter of the neighbours and more. */
#ifndef CAPBALL_GOAL_H
#define CAPBALL_GOAL_H

#include "capball/abid.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Pinned, append only. */
typedef enum cpb_goal {
  CPB_GOAL_MEAN = 0,
  CPB_GOAL_MEDIAN = 1,
  CPB_GOAL_HEMISPHERE = 2,
  CPB_GOAL_SPREAD = 3,
  CPB_GOAL_RECALL = 4,
} cpb_goal;
enum { CPB_GOALS = 5 };

/** "mean", "median", "hemisphere", "spread", "recall"; a view, never NULL. */
CPB_API const char *cpb_goal_name(cpb_goal goal);

/** The ceiling of exact search: over the first `queries` rows as queries, the share of the true k nearest
 *  other rows that are also among the k nearest in the embedded space.                                 T13
 *    |S(x)-S(q)|^2 = 4 s^2 |x-q|^2 / ((|x|^2+s^2) (|q|^2+s^2)), norms about the centre
 *  Rows as near as the k-th true neighbour count as found: ties are no fault.
 *  x        n > k rows of d, any dtype                               borrowed for the call
 *  center   d coordinates or NULL
 *  s        count scales > 0         recall   count numbers, caller's
 *  EROW for a row with NaN or inf. Allocates a copy of the rows in double. */
CPB_API cpb_status cpb_search_ceiling(cpb_view x, const double *center, size_t k, size_t queries,
                                      const double *s, size_t count, double *recall, const cpb_exec *exec,
                                      cpb_error *error);

/** What is wanted. Start from cpb_goal_options_default(). */
typedef struct cpb_goal_options {
  size_t size; /* sizeof(cpb_goal_options) */
  cpb_goal goal;
  double target;                           /* recall: 0 < target < 1; default 0.99 */
  size_t k;                                /* recall: neighbours, default 10 */
  size_t queries;                          /* recall: rows of the sample that ask, default 1000 */
  double norm_mean, norm_median, norm_max; /* of all rows; NaN where not known (the default) */
} cpb_goal_options;

CPB_API cpb_goal_options cpb_goal_options_default(void);

/** One point of a curve over s. */
typedef struct cpb_curve_point {
  double s, value;
} cpb_curve_point;

/** A scale, and why. Arrays are part of it; curves are empty for mean, median and hemisphere. */
typedef struct cpb_choice {
  double s;
  double value;                   /* what the goal measures at s: a norm, ABID, recall */
  double alternatives[CPB_GOALS]; /* s of every goal, by its number; NaN where not known */
  double sample_mean_norm;        /* NaN where not needed */
  size_t abid_count, maxima_count, ceiling_count;
  cpb_curve_point abid[20];    /* 0.1 .. 10 times the mean norm of the sample */
  cpb_abid_maximum maxima[8];  /* of ABID, the highest first */
  cpb_curve_point ceiling[40]; /* recall of exact embedded search, in the order of s */
} cpb_choice;

/** Chooses s. mean, median and hemisphere take the norms of the options; spread and recall measure both
 *  curves on the sample. EINVAL names what is missing: norms, rows (recall wants more than k, spread 2),
 *  or a scale (all rows at the centre).
 *  sample   rows of any dtype, in random order
 *  center   d coordinates or NULL */
CPB_API cpb_status cpb_choose_scale(cpb_view sample, const double *center, const cpb_goal_options *options,
                                    cpb_choice *choice, const cpb_exec *exec, cpb_error *error);

#ifdef __cplusplus
}
#endif
#endif

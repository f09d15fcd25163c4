/* The scale s for a goal, from a sample and the norms of all rows, and the recall ceiling of exact search. */
#ifndef CPB_SPHERE_CHOICE_H
#define CPB_SPHERE_CHOICE_H

#include "capball/advanced/abid.h"
#include "capball/map.h"

/** The goal. Start from cpb_goal_options_init. */
typedef struct cpb_goal_options {
  size_t size; /* sizeof(cpb_goal_options) */
  cpb_goal goal;
  double target;                           /* recall: 0 < target < 1; default 0.99 */
  size_t k;                                /* recall: neighbours, default 10 */
  size_t queries;                          /* recall: rows of the sample used as queries, default 1000 */
  double norm_mean, norm_median, norm_max; /* of all rows; NaN if unknown (the default) */
} cpb_goal_options;

void cpb_goal_options_init(cpb_goal_options *options, size_t size);

/** Chooses s. mean, median and hemisphere use the norms of the options; spread and recall measure both
 *  curves on the sample. EINVAL names what is missing: norms, rows (recall needs more than k, spread 2),
 *  or a scale (all rows at the centre). Gives *choice to the caller.
 *  sample   rows of any dtype, in random order
 *  center   d coordinates or NULL */
cpb_status cpb_choose_scale(cpb_view sample, const double *center, const cpb_goal_options *options,
                            cpb_choice **choice, const cpb_exec *exec, cpb_error *error);

/* What was chosen. Arrays are views into the choice; curves are empty for mean, median and hemisphere. */
typedef struct cpb_choice_facts {
  double s;
  double value;               /* the goal's measure at s: a norm, ABID, recall */
  double sample_mean_norm;    /* NaN if not needed */
  size_t alternative_count;   /* number of goals in this library */
  const double *alternatives; /* s of every goal, by its number; for spread and recall, those of mean, median
                                 and hemisphere are from the sample if the norms of all rows are not known.
                                 NaN if not known */
  size_t abid_count;
  const cpb_curve_point *abid; /* 0.1 .. 10 times the mean norm of the sample */
  size_t maxima_count;
  const cpb_abid_maximum *maxima; /* of ABID, highest first */
  size_t ceiling_count;
  const cpb_curve_point *ceiling; /* recall of exact search on embedded rows, by increasing s */
} cpb_choice_facts;

/* A view into the choice. */
const cpb_choice_facts *cpb_choice_facts_of(const cpb_choice *choice);

/** The ceiling of exact search: with the first `queries` rows as queries, the fraction of the true k nearest
 *  other rows that are also among the k nearest in the embedded space.                                 T13
 *    |S(x)-S(q)|^2 = 4 s^2 |x-q|^2 / ((|x|^2+s^2) (|q|^2+s^2)), norms about the centre
 *  Rows as near as the k-th true neighbour count as found: ties are not errors.
 *  x        n > k rows of d, any dtype                               borrowed for the call
 *  center   d coordinates or NULL
 *  s        count scales > 0         recall   count numbers, caller's
 *  spread   count standard errors of the recall over the queries, caller's, or NULL
 *  EROW for a row with NaN or inf. Allocates a copy of the rows in double. */
cpb_status cpb_search_ceiling(cpb_view x, const double *center, size_t k, size_t queries, const double *s,
                              size_t count, double *recall, double *spread, const cpb_exec *exec,
                              cpb_error *error);

#endif

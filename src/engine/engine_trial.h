/* One index of an engine, queried in all query forms at once. */
#ifndef CPB_ENGINE_ENGINE_TRIAL_H
#define CPB_ENGINE_ENGINE_TRIAL_H

#include "capball/map.h"
#include "engine/engine_input.h"

enum { CPB_TRIAL_FORMS = 4 };

/* Rows, queries and the ground truth. */
typedef struct cpb_survey {
  cpb_asking of; /* without a transform and its rows */
  size_t k, candidates;
  double *kth;   /* the k-th distance of every query */
  double radius; /* the median of kth */
  const cpb_map *map;
  double s; /* of the map: the mean norm about the mean */
} cpb_survey;

/* Computes kth and radius. The caller frees kth. */
bool cpb_survey_find_truth(cpb_survey *s);

/* What an index is built from. */
typedef struct cpb_way {
  cpb_transform_kind kind;
  double norms;                  /* s of the sphere in mean norms; NaN without a sphere */
  size_t forms;                  /* number of query forms */
  double radii[CPB_TRIAL_FORMS]; /* and their radii */
  bool twice;                    /* of one form: query again, with balls of the k-th distance found */
  uint64_t seed;
} cpb_way;

/* The share of the true k of every query among the engine's first k, and among all its candidates. */
typedef struct cpb_shares {
  double *first, *all; /* one number per query each */
} cpb_shares;

/* The mean of a[i] - b[i] (b = NULL: of a[i]) over one half of the queries, and its standard error. Even queries
 * choose and odd ones report, so that the reported figures are not biased by the choice; a single query does both. */
typedef enum cpb_half { CPB_CHOOSING = 0, CPB_REPORTING = 1 } cpb_half;
double cpb_mean_of(const double *a, const double *b, size_t n, cpb_half half, double *error_of);

/* With all its query forms: points, and on the sphere balls of half, one and two times the usual radius. */
cpb_way cpb_way_of(const cpb_survey *s, cpb_transform_kind kind, double norms, uint64_t seed);

/* Fills trials[0 .. forms-1] and the arrays of their shares. */
bool cpb_way_try(const cpb_survey *s, const cpb_way *w, const cpb_exec *exec, cpb_engine_trial *trials,
                 const cpb_shares *shares);

#endif

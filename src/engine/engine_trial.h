/* One index of an engine, queried in all query forms at once. */
#ifndef CPB_ENGINE_ENGINE_TRIAL_H
#define CPB_ENGINE_ENGINE_TRIAL_H

#include "capball/advanced/engine.h"
#include "capball/map.h"

enum { CPB_TRIAL_FORMS = 4 };

/* Rows, queries and the ground truth. */
typedef struct cpb_survey {
  const cpb_engine_calls *engine;
  cpb_view base, queries;
  size_t k, candidates;
  cpb_metric metric;
  double *kth;   /* the k-th distance of every query */
  double radius; /* the median of kth */
  const cpb_map *map;
  double s; /* of the map: the mean norm about the mean */
} cpb_survey;

/* Computes kth and radius. The caller frees kth. */
cpb_status cpb_survey_find_truth(cpb_survey *s, const cpb_exec *exec, cpb_error *error);

/* What an index is built from. */
typedef struct cpb_way {
  cpb_transform_kind kind;
  double norms;                  /* s of the sphere in mean norms; NaN without a sphere */
  size_t forms;                  /* number of query forms */
  double radii[CPB_TRIAL_FORMS]; /* and their radii */
  uint64_t seed;
} cpb_way;

/* With all its query forms: points, and on the sphere balls of half, one and two times the usual radius. */
cpb_way cpb_way_of(const cpb_survey *s, cpb_transform_kind kind, double norms, uint64_t seed);

/* Fills trials[0 .. forms-1]. */
cpb_status cpb_way_try(const cpb_survey *s, const cpb_way *w, cpb_engine_trial *trials, const cpb_exec *exec,
                       cpb_error *error);

#endif

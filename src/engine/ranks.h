/* The ranks of the true neighbours of every query in an index, for each kind of index and query form of one recipe. */
#ifndef CPB_ENGINE_RANKS_H
#define CPB_ENGINE_RANKS_H

#include "engine/recipe.h"

/* The true neighbours by L2. */
typedef struct cpb_truth {
  size_t queries, k, most; /* most: maximum number of members of a query, k and those as near as the k-th */
  size_t *count;           /* per query */
  uint64_t *ids;           /* queries x most */
  uint64_t *self;          /* per query: the base row that is the query itself; UINT64_MAX: none */
  double *kth;             /* per query: the distance of the k-th */
} cpb_truth;

typedef struct cpb_rank_job {
  cpb_view base, queries;
  const cpb_truth *truth;
  const cpb_recipe *recipe;
  double radius;        /* of ball queries; 0: point queries only */
  const double *center; /* of the base */
} cpb_rank_job;

/* ranks[engine][form], form 1 being the ball query: queries x k ranks counted from 0, ascending within each query.
 * Those of form 1 may be NULL if the radius is 0. Reports progress in base rows. */
cpb_status cpb_ranks_measure(const cpb_rank_job *job, uint64_t *ranks[CPB_ENGINES][2], const cpb_exec *exec,
                             cpb_error *error);

#endif

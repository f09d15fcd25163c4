/* Where the true neighbours of every query stand in the order of an index, for each kind of index and query
 * form of one recipe. */
#ifndef CPB_RECOMMEND_RANKS_H
#define CPB_RECOMMEND_RANKS_H

#include "capball/transform.h"
#include "recommend/recipe.h"

/* The true neighbours by L2. */
typedef struct cpb_truth {
  size_t queries, k, most; /* most: members of a query at most, k and what is as near as the k-th */
  size_t *count;           /* per query */
  uint64_t *ids;           /* queries x most */
  uint64_t *self;          /* per query the base row it is itself, UINT64_MAX: none */
  double *kth;             /* per query the distance of the k-th */
} cpb_truth;

typedef struct cpb_rank_job {
  cpb_view base, queries;
  const cpb_truth *truth;
  const cpb_recipe *recipe;
  double radius; /* of ball queries; 0: only points are asked for */
} cpb_rank_job;

/* ranks[engine][form], form 1 being the ball query: queries x k places counted from 0, each query's own in
 * rising order. Those of form 1 may be NULL where the radius is 0. Tells of the base rows that are done. */
cpb_status cpb_ranks_measure(const cpb_rank_job *job, uint64_t *ranks[CPB_ENGINES][2], const cpb_exec *exec,
                             cpb_error *error);

#endif

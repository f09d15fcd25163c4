/* Internals of recommendations: the ranks of true neighbours in every index, and what they decide. */
#ifndef CPB_RECOMMEND_RECOMMEND_PARTS_H
#define CPB_RECOMMEND_RECOMMEND_PARTS_H

#include "recommend/recipe.h"

/* ---- The ranks of the true neighbours of every query in an index, for each kind of index and query form of one recipe. ---- */

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

/* ---- Recall and numbers of candidates from ranks, and the choice of the recommendation. ---- */

/* At most, for each index: two other transforms, five scales with two query forms each, two lifts. */
enum { CPB_VERDICT_ROWS = 42, CPB_VERDICT_CURVE = 64 };

struct cpb_recommendation {
  cpb_recommendation_facts facts; /* its pointers refer to the arrays below */
  cpb_recommend_row row[CPB_VERDICT_ROWS];
  const cpb_recommend_row *rows[CPB_VERDICT_ROWS];
  double curves[CPB_VERDICT_ROWS][CPB_VERDICT_CURVE];
  uint64_t candidates[CPB_VERDICT_CURVE];
  size_t per_index, first_of[CPB_RECIPES]; /* rows of an index, and where those of each recipe start */
};

/* Links the arrays and sets the numbers of candidates of the curves; k and base_rows are known.
 * measured   for each recipe (by its number, see cpb_recipes_new) the number of its query forms; 0: it does not suit
 *            the metric of the index */
void cpb_verdict_begin(cpb_recommendation *of, const size_t measured[CPB_RECIPES]);

/* The row of one index, recipe and query form. */
cpb_recommend_row *cpb_verdict_row(cpb_recommendation *of, cpb_engine index, size_t recipe, size_t form);

/* Fills recall, candidates, curve and bytes from the ranks of all true neighbours, which it sorts.
 * cols   of the base as stored */
void cpb_verdict_measure(cpb_recommendation *of, cpb_recommend_row *row, uint64_t *ranks, size_t count,
                         size_t cols);

/* Chooses the best row of an index, and its alternatives. */
void cpb_verdict_pick(cpb_recommendation *of, cpb_engine engine);

#endif

/* From places in an order to recall and candidates, and from those to a recommendation. */
#ifndef CPB_RECOMMEND_VERDICT_H
#define CPB_RECOMMEND_VERDICT_H

#include "capball/transform.h"

/* Two rivals, five scales with two query forms each, two lifts, for each index. */
enum { CPB_VERDICT_ROWS = 42, CPB_VERDICT_CURVE = 64 };

struct cpb_recommendation {
  cpb_recommendation_facts facts; /* its pointers are the arrays here */
  cpb_recommend_row row[CPB_VERDICT_ROWS];
  const cpb_recommend_row *rows[CPB_VERDICT_ROWS];
  double curves[CPB_VERDICT_ROWS][CPB_VERDICT_CURVE];
  uint64_t candidates[CPB_VERDICT_CURVE];
};

/* Joins the arrays and lays out the candidates that curves are drawn over; k and base_rows are known. */
void cpb_verdict_begin(cpb_recommendation *of);

/* The row of one recipe (by its number, see cpb_recipes_new), index and query form. */
cpb_recommend_row *cpb_verdict_row(cpb_recommendation *of, cpb_engine index, size_t recipe, size_t form);

/* Fills recall, candidates, curve and bytes from the places of all true neighbours, which it puts in order.
 * cols   of the base as it is stored */
void cpb_verdict_measure(cpb_recommendation *of, cpb_recommend_row *row, uint64_t *ranks, size_t count,
                         size_t cols);

/* Chooses the best row of an index, and its rivals. */
void cpb_verdict_pick(cpb_recommendation *of, cpb_engine engine);

#endif

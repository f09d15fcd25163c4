/* From places in an order to recall and candidates, and from those to a recommendation in words. */
#ifndef CPB_SEARCH_VERDICT_H
#define CPB_SEARCH_VERDICT_H

#include "capball/transform.h"

/* The row of one recipe (by its number, see cpb_recipes_new), index and query form. */
cpb_recommend_row *cpb_verdict_row(cpb_recommendation *of, cpb_engine index, size_t recipe, size_t form);

/* The candidates that curves are drawn over. */
void cpb_verdict_begin(cpb_recommendation *of);

/* Fills recall, candidates, curve and bytes from the places of all true neighbours, which it puts in order.
 * cols   of the base as it is stored */
void cpb_verdict_measure(const cpb_recommendation *of, cpb_recommend_row *row, uint64_t *ranks, size_t count,
                         size_t cols);

/* Chooses the best row of an index and explains the choice. */
void cpb_verdict_pick(cpb_recommendation *of, cpb_engine engine);

#endif

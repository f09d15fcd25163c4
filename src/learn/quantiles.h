/* Quantiles of the scores of a model. */
#ifndef CPB_LEARN_QUANTILES_H
#define CPB_LEARN_QUANTILES_H

#include <stddef.h>

/** `count` >= 2 quantiles of n >= 1 scores, equally spaced in rank, ascending; sorts the scores.
 *  quantiles  count numbers, owned by the caller */
void cpb_score_quantiles(double *scores, size_t n, size_t count, double *quantiles);

#endif

/* Sorted scores s_1 <= .. <= s_n of rows that a fit has not seen, of which a model stores some, and the p-values that they give. */
#ifndef CPB_BALL_CALIBRATION_RANKS_H
#define CPB_BALL_CALIBRATION_RANKS_H

#include <stddef.h>
#include <stdint.h>

/* Stored are the scores of ranks 1 .. 200, then of each rank 1.005 times the one before, rounded up, and of n. So p is exact for the
 * 200 strangest, and within .5 % of itself for others, never too small. */

/* The rank after this one; beyond n after the last. */
uint64_t cpb_calibration_next(uint64_t rank, uint64_t n);

/* How many of n scores are stored. */
size_t cpb_calibration_count(uint64_t n);

/* (1 + the number of scores that are not above `score`)/(n+1), rounded up to what is stored; NaN for NaN. */
double cpb_calibration_p(const double *stored, uint64_t n, double score);

#endif

/* The recipe for outliers: which rows look ordinary, and how these spread. */
#ifndef CPB_BALL_ROBUST_FIT_H
#define CPB_BALL_ROBUST_FIT_H

#include "base/json_text.h"
#include "base/memory.h"
#include "capball/ball.h"

/* What cpb_robust_fit finds. */
typedef struct cpb_robust {
  double *W;      /* whitens the ordinary rows, as cpb_whitening_fit does; the caller frees it */
  double *weight; /* of each row: its own, or 0 of one that was left out; of `memory` */
  double ridge;   /* that was taken */
  double *spread; /* of each column about its median, of `memory` */
  cpb_text notes; /* what was done, a sentence a line; the caller frees its bytes */
} cpb_robust;

/* Concentration steps as in fast-MCD, from one start:
 *
 *   distance_i = sum_j |x_ij - median_j| / spread_j                    spread about the median, of all rows
 *   twice:     keep the rows of the least distances, .75 of the weight, but none farther than 2.5 times the median distance;
 *              distance_i = |W (x_i - m)|,  m the medians of the rows kept,  W from their correlations and a ridge
 *
 * Of more than 131,072 rows about as many, by a hash of their numbers, give the first W. Rows that tie are kept together. Where there are fewer than 5 rows a column, the ridge is larger by that ratio.
 *  options   ridge and weights are read; ridge 0 is 0.1
 *  names     of the columns, or NULL */
cpb_status cpb_robust_fit(cpb_robust *robust, cpb_memory *memory, cpb_view rows,
                          const cpb_model_fit_options *options, const char *const *names,
                          const cpb_exec *exec, cpb_error *error);

#endif

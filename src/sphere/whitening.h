/* The whitening W, W^T W = (covariance + ridge)^-1. */
#ifndef CPB_SPHERE_WHITENING_H
#define CPB_SPHERE_WHITENING_H

#include "statistics/passes.h"

/* How columns are weighted. */
typedef struct cpb_whitening_options {
  bool whiten;           /* W^T W = (covariance + ridge)^-1; else W is diagonal */
  bool standardize;      /* columns are divided by their standard deviations first, those that vary */
  double ridge;          /* with whiten: the share of itself that is added to the variance of every column */
  const double *weights; /* of the rows: 2 is a row that is there twice. NULL: all 1 */
  cpb_view rows;         /* with weights: the rows, held */
  const double *spread;  /* d standard deviations for columns that do not vary among these rows; NULL: none */
} cpb_whitening_options;

/* W for all rows of the source about their mean, in one pass; lower triangular, the caller frees it. EINVAL names
 * a column that does not vary, or depends on those before it, more than the ridge repairs. */
cpb_status cpb_whitening_fit(cpb_passes *passes, cpb_whitening_options wish, double **W, cpb_error *error);

#endif

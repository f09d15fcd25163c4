/* W of a whitening, W^T W = (covariance + ridge)^-1, and rows seen through it. */
#ifndef CPB_FIT_WHITENING_H
#define CPB_FIT_WHITENING_H

#include "fit/passes.h"

/* W for all rows of the source about their mean, in one pass; lower triangular, the caller frees it.
 * ridge   the share of the mean variance that is added to the variance of every column
 * EINVAL names a column that does not vary, or depends on those before it, more than the ridge. */
cpb_status cpb_whitening_fit(cpb_passes *passes, double ridge, double **W, cpb_error *error);

/* norms[i] = |W(x_i - center)|, by plain sums: what leaves their range is for the caller to notice.
 * scratch: cpb_whitened_scratch(d) doubles */
void cpb_whitened_norms(const double *W, cpb_view rows, const double *center, double *scratch, double *norms);
size_t cpb_whitened_scratch(size_t d);

/* z_i = W(x_i - center), n rows of d; center NULL = 0. */
cpb_status cpb_whitened_rows(const double *W, cpb_view rows, const double *center, double *z,
                             const cpb_exec *exec, cpb_error *error);

/* x <- W^-1 x, by forward substitution. */
void cpb_unwhiten(const double *W, size_t d, double *x);

#endif

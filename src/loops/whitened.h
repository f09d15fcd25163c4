/* Rows transformed by W, lower triangular. */
#ifndef CPB_LOOPS_WHITENED_H
#define CPB_LOOPS_WHITENED_H

#include "capball/exec.h"
#include "capball/view.h"

/* norms[i] = |W(x_i - center)|, by plain sums: the caller must check for overflow and underflow.
 * scratch: cpb_whitened_scratch(d) doubles */
void cpb_whitened_norms(const double *W, cpb_view rows, const double *center, double *scratch, double *norms);
size_t cpb_whitened_scratch(size_t d);

/* z_i = W(x_i - center), n rows of d; center NULL = 0. */
cpb_status cpb_whitened_rows(const double *W, cpb_view rows, const double *center, double *z,
                             const cpb_exec *exec, cpb_error *error);

/* x <- W^-1 x, by forward substitution. */
void cpb_unwhiten(const double *W, size_t d, double *x);

#endif

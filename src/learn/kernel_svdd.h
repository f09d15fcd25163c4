/* T11 in the feature space of a Mercer kernel; cpb_model_fit calls it. */
#ifndef CPB_LEARN_KERNEL_SVDD_H
#define CPB_LEARN_KERNEL_SVDD_H

#include "capball/ball.h"

/** z_j = k(x_i, y_j) for one row i of x and all rows of y, from <x,x>, <x,y> and <y,y> alone (T8). z is the
 *  caller's, y.rows numbers. EINVAL names a parameter outside its domain. Thread-safe. */
cpb_status cpb_kernel_row(const cpb_kernel *kernel, cpb_view x, size_t i, cpb_view y, double *z,
                          cpb_error *error);

/** SVDD in the feature space of a kernel, for n up to some ten thousand.                       T8, T11
 *  Exact: solves the dual by steps along the pair of multipliers that gains most, using k alone. The cap methods:
 *  the rows' images about the present centre are embedded in the sphere by their Gram rows (cpb_gram_embed), the SVM
 *  against -e is solved by the same steps, and the centre moves as in cpb_svdd. Rows of the matrix are cached, up to
 *  256 MB. Options are as above, start and max_iterations unused.
 *  multipliers  n numbers a_i >= 0 of sum 1, the caller's: the centre is sum a_i phi(x_i), by any method
 *  norm2        |c|^2 = sum a_i a_j k(x_i,x_j), 1 number: with it the score of a point is
 *               R^2 - (k(x,x) - 2 sum a_i k(x_i,x) + norm2)
 *  report       as above, in squared units of the feature space; iterations are steps, or rounds of the SVM
 *  Also EROW for a row whose k(x,x) overflows. */
cpb_status cpb_kernel_svdd(cpb_view x, const cpb_kernel *kernel, const cpb_svdd_options *options,
                           double *multipliers, double *norm2, cpb_svdd_report *report, const cpb_exec *exec,
                           cpb_error *error);

#endif

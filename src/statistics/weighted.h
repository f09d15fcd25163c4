/* Rows as unit directions and norms about a centre, in double, laid out for tiles of a matrix product, and sums over all
 * pairs of directions u_i, with weights w_ik of the rows in several columns k. */
#ifndef CPB_STATISTICS_WEIGHTED_H
#define CPB_STATISTICS_WEIGHTED_H

#include "capball/exec.h"
#include "capball/view.h"
#include "base/memory.h"

enum { CPB_DIRECTIONS_BLOCK = 192 }; /* a multiple of both sides of a tile */

typedef struct cpb_directions {
  size_t n, d;
  size_t rows, stride; /* n and d rounded up; elements beyond n or d are 0 */
  double *unit;        /* rows x stride; a row at the centre is 0 */
  double *norm;        /* rows */
} cpb_directions;

/* EROW for a row with NaN or inf, or whose norm is beyond double. The memory is the caller's to free. */
cpb_status cpb_directions_new(cpb_directions *directions, cpb_memory *memory, cpb_view x,
                              const double *center, const cpb_exec *exec, cpb_error *error);

/* directions->rows x stride; w_ik at value[i*stride + k], 0 beyond the rows and the columns. */
typedef struct cpb_weights {
  size_t columns, stride;
  double *value;
} cpb_weights;

cpb_status cpb_weights_new(cpb_weights *weights, cpb_memory *memory, const cpb_directions *directions,
                           size_t columns, cpb_error *error);

/* squares[k*columns + l] = sum_ij w_ik w_jl <u_i,u_j>^2, by the Gram matrix or by second moments (sum_i w_ik u_i
 * u_i^T), whichever is cheaper. */
cpb_status cpb_weighted_squares(const cpb_directions *directions, const cpb_weights *weights, double *squares,
                                const cpb_exec *exec, cpb_error *error);

/* Both methods separately, for tests. */
cpb_status cpb_weighted_squares_by_gram(const cpb_directions *directions, const cpb_weights *weights,
                                        double *squares, const cpb_exec *exec, cpb_error *error);
cpb_status cpb_weighted_squares_by_moments(const cpb_directions *directions, const cpb_weights *weights,
                                           double *squares, const cpb_exec *exec, cpb_error *error);

/* products[k*columns + l] = <sum_i w_ik u_i, sum_j w_jl u_j>. */
cpb_status cpb_weighted_products(const cpb_directions *directions, const cpb_weights *weights,
                                 double *products, const cpb_exec *exec, cpb_error *error);

#endif

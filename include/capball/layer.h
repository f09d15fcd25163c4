/* T12: the embedding as a layer of a neural net, forward and backward, for batches.
 *
 * The forward pass is cpb_map_embed / cpb_map_unembed with pole e. The scale is learned as
 * t = log s; all gradients are of a loss L with upstream gradient g. */
#ifndef CAPBALL_LAYER_H
#define CAPBALL_LAYER_H

#include "capball/exec.h"
#include "capball/view.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Backward of y = S(x), from x:  k = 2(<x,g'>+s g0)/q,  gx = (2s/q)(g' - k x),               T12
 *  dL/dt = sum_i |y'|^2 g0 - y0 <y',g'>.
 *  x       n rows of d            g     n rows of d+1, of any dtype each
 *  gx      n rows of d, f32 or f64, may overlap neither
 *  grad_t  1 number, caller's, or NULL; the sum has the same bits for any number of threads
 *  Error <= 16u lambda|g|, lambda = 2s/q. A row with NaN or inf becomes NaN: EROW.
 *  Thread-safe; allocates one double per block of rows when grad_t is wanted. */
CPB_API cpb_status cpb_layer_backward(cpb_view x, cpb_view g, double s, cpb_out gx, double *grad_t,
                                      const cpb_exec *exec, cpb_error *error);

/** The same from the saved output y (n rows of d+1, unit) instead of x:                      T12
 *  gx = lambda g' - y'(<y',g'>/s + lambda g0),  lambda = (1+y0)/s. */
CPB_API cpb_status cpb_layer_backward_saved(cpb_view y, cpb_view g, double s, cpb_out gx, double *grad_t,
                                            const cpb_exec *exec, cpb_error *error);

/** Backward of the inverse x = S^-1(y), pole e:  gy' = s g/(1+y0), gy0 = -<g,x>/(1+y0),       T12
 *  dL/dt = sum_i <g,x>.
 *  y    n rows of d+1, unit      g   n rows of d      gy   n rows of d+1, f32 or f64
 *  gy is the gradient of s y'/(1+y0), the north form, which is the inverse on the sphere. */
CPB_API cpb_status cpb_layer_inverse_backward(cpb_view y, cpb_view g, double s, cpb_out gy, double *grad_t,
                                              const cpb_exec *exec, cpb_error *error);

#ifdef __cplusplus
}
#endif
#endif

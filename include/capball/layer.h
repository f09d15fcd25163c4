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
 *  Error of gx <= 16u lambda|g| of gx's type, lambda = 2s/q, for x, s and g of any size; of dL/dt
 *  <= 16u sum_i |y'||g|, u = 2^-53. A row with NaN or inf, or whose gradient overflows gx's type,
 *  becomes NaN and adds nothing to dL/dt: EROW.
 *  Thread-safe; allocates one double per block of rows when grad_t is wanted. */
CPB_API cpb_status cpb_layer_backward(cpb_view x, cpb_view g, double s, cpb_out gx, double *grad_t,
                                      const cpb_exec *exec, cpb_error *error);

/** The same from the saved output y (n rows of d+1, unit) instead of x:                      T12
 *  gx = lambda g' - y'(<y',g'>/s + lambda g0),  lambda = (1+y0)/s, south |y'|^2/((1-y0)s).
 *  The bounds are those of this formula at the y given; a y rounded to its type adds a few u of
 *  that type. At the pole -e the gradient is 0, its limit. */
CPB_API cpb_status cpb_layer_backward_saved(cpb_view y, cpb_view g, double s, cpb_out gx, double *grad_t,
                                            const cpb_exec *exec, cpb_error *error);

/** Backward of the inverse x = S^-1(y/|y|), pole e, at |y| = 1:                             T12
 *  gy' = (s/rise)(g - y'<g,y'>/rise),  gy0 = -(s/rise)<g,y'>,  rise = 1+y0, south |y'|^2/(1-y0),
 *  dL/dt = sum_i <g,x>.
 *  y    n rows of d+1, unit      g   n rows of d      gy   n rows of d+1, f32 or f64
 *  This is what cpb_map_unembed computes, differentiated: tangent to the sphere, |gy| = |g|/lambda.
 *  The north form s y'/(1+y0) alone has the gradient (s g, -<g,x>)/(1+y0), which differs by a
 *  multiple of y only; that multiple grows with |x|/s, and would drown the rest in the far south.
 *  Error of gy <= 16u |g|/lambda, of dL/dt <= 16u sum_i |x||g|, u of the coarser of y's and gy's types
 *  (2^-53 for dL/dt of f64 y). The pole -e has no image: EROW; the rest as above. */
CPB_API cpb_status cpb_layer_inverse_backward(cpb_view y, cpb_view g, double s, cpb_out gy, double *grad_t,
                                              const cpb_exec *exec, cpb_error *error);

#ifdef __cplusplus
}
#endif
#endif

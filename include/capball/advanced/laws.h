/* Special functions: the largest norm (T7), Gram matrices (T8), gradients (T12), and regions and caps as lines of JSON.
 *
 * Advanced: can change between releases. */
#ifndef CAPBALL_ADVANCED_LAWS_H
#define CAPBALL_ADVANCED_LAWS_H

#include "capball/map.h"

CPB_BEGIN

/** max_i |x_i - center| over n >= 1 rows: the scale s that maps them to one hemisphere.            T7
 *  center  d coordinates or NULL. EROW for a row with NaN or inf, EINVAL without rows; *max_norm is
 *  then NaN. Thread-safe, allocates nothing. */
CPB_CALL cpb_status cpb_max_norm(cpb_view x, const double *center, double *max_norm, const cpb_exec *exec,
                                 cpb_error *error);

/* T8: inner products and distances of one space computed in the other.
 *
 * They depend only on <x,x>, <x,y>, <y,y> (and <x,u>, <y,u> under a general pole), so any Mercer
 * kernel can be embedded without explicit vectors. x^ = S(x). */

/** What to convert a Gram block to. */
typedef enum cpb_gram_result { CPB_PRODUCTS = 0, CPB_DISTANCES2 = 1 } cpb_gram_result;

/** What must be known of the points of one side of a Gram block: n numbers each. */
typedef struct cpb_gram_side {
  const double *norm2; /* <x,x> (or k(x,x)), >= 0; for unembedding: rise = 1+<x^,v>, > 0 */
  const double *along; /* <x,u>; for unembedding: x0. NULL = 0 (pole e) when embedding */
} cpb_gram_side;

/** In place: g[i][j] = <x_i,y_j>  becomes  <x^_i,y^_j> or |x^_i-y^_j|^2.                          T8
 *  g     rows x cols, f32 or f64
 *  w     last coordinate of the pole, 1 for e
 *  The squared distance is computed as xx - 2xy + yy, never below 0.
 *  EROW for a row of g, or a number of x, that is NaN or inf, or a result too large for g's type;
 *  a NaN or inf of y would affect every row and gives EINVAL. The numbers of x and y may not overlap g.
 *  Thread-safe, allocates nothing. */
CPB_CALL cpb_status cpb_gram_embed(cpb_out g, cpb_gram_side x, cpb_gram_side y, double w, double s,
                                   cpb_gram_result result, const cpb_exec *exec, cpb_error *error);

/** In place: g[i][j] = <x^_i,y^_j>  becomes  <x_i,y_j> or |x_i-y_j|^2.                            T8
 *  norm2 holds the rises 1+<.,v>, along the last coordinates (both needed). A rise of 0 is the pole
 *  -v, the image of infinity: EROW in x, EINVAL in y. |x^-y^|^2 is computed as 2-2<x^,y^>, never below
 *  0. The rest as above. */
CPB_CALL cpb_status cpb_gram_unembed(cpb_out g, cpb_gram_side x, cpb_gram_side y, double w, double s,
                                     cpb_gram_result result, const cpb_exec *exec, cpb_error *error);

/* T12: the embedding as a layer of a neural network, forward and backward, for batches.
 *
 * The forward pass is cpb_map_embed / cpb_map_unembed with pole e. The scale is learned as
 * t = log s; all gradients are of a loss L with upstream gradient g. */

/** Backward of y = S(x), from x:  k = 2(<x,g'>+s g0)/q,  gx = (2s/q)(g' - k x),               T12
 *  dL/dt = sum_i |y'|^2 g0 - y0 <y',g'>.
 *  x       n rows of d            g     n rows of d+1, of any dtype each
 *  gx      n rows of d, f32 or f64, may overlap neither
 *  grad_t  1 number, caller's, or NULL; the sum has identical bits for any number of threads
 *  Error of gx <= 16u lambda|g| of gx's type, lambda = 2s/q, for x, s and g of any size; of dL/dt
 *  <= 16u sum_i |y'||g|, u = 2^-53. A row with NaN or inf, or whose gradient overflows gx's type,
 *  gives NaN and EROW, and adds nothing to dL/dt.
 *  Thread-safe; allocates one double per block of rows if grad_t is not NULL. */
CPB_CALL cpb_status cpb_layer_backward(cpb_view x, cpb_view g, double s, cpb_out gx, double *grad_t,
                                       const cpb_exec *exec, cpb_error *error);

/** The same from the saved output y (n rows of d+1, unit) instead of x:                      T12
 *  gx = lambda g' - y'(<y',g'>/s + lambda g0),  lambda = (1+y0)/s, south |y'|^2/((1-y0)s).
 *  The error bounds are for this formula at the given y; a rounded y adds a few u of its type. At
 *  the pole -e the gradient is 0, its limit. */
CPB_CALL cpb_status cpb_layer_backward_saved(cpb_view y, cpb_view g, double s, cpb_out gx, double *grad_t,
                                             const cpb_exec *exec, cpb_error *error);

/** Backward of the inverse x = S^-1(y/|y|), pole e, at |y| = 1:                             T12
 *  gy' = (s/rise)(g - y'<g,y'>/rise),  gy0 = -(s/rise)<g,y'>,  rise = 1+y0, south |y'|^2/(1-y0),
 *  dL/dt = sum_i <g,x>.
 *  y    n rows of d+1, unit      g   n rows of d      gy   n rows of d+1, f32 or f64
 *  This is the derivative of what cpb_map_unembed computes: tangent to the sphere, |gy| = |g|/lambda.
 *  The north form s y'/(1+y0) alone has the gradient (s g, -<g,x>)/(1+y0), which differs by a
 *  multiple of y only; that multiple grows with |x|/s, and would dominate the rest in the far south.
 *  Error of gy <= 16u |g|/lambda, of dL/dt <= 16u sum_i |x||g|, u of the coarser of y's and gy's types
 *  (2^-53 for dL/dt of f64 y). The pole -e has no image: EROW; the rest as above. */
CPB_CALL cpb_status cpb_layer_inverse_backward(cpb_view y, cpb_view g, double s, cpb_out gy, double *grad_t,
                                               const cpb_exec *exec, cpb_error *error);

/** How a line of JSON is converted: by a map, or a scale and an optional pole. Start from cpb_dual_options_init. */
typedef struct cpb_dual_options {
  size_t size;
  const cpb_map *map; /* NULL (the default): .. */
  double s;           /* .. this scale, > 0; lines may contain a pole, or W and m */
  const double *pole; /* d+1 coordinates of length 1; NULL = e */
  size_t d;           /* of the pole; 0 without one: determined by each line */
} cpb_dual_options;
CPB_API void cpb_dual_options_init(cpb_dual_options *options, size_t size);

/** One JSON object, {"ball": ..}, {"halfspace": ..}, {"complement": ..}, {"ellipsoid": ..}, {"empty": ..},
 *  {"everything": ..}, {"punctured": ..} or {"cap": ..}, converted to its dual: the input and output of `capball dual`
 *  (see its help). "id" is copied verbatim. Numbers have the fewest digits that give the same doubles.    T3 T5 T6
 *  *answer is 0-terminated; free it with cpb_free. EFORMAT for an invalid line; EINVAL as in
 *  cpb_map_cap and cpb_map_region. */
CPB_CALL cpb_status cpb_dual_line(const char *line, size_t length, const cpb_dual_options *options,
                                  char **answer, cpb_error *error);

CPB_END
#endif

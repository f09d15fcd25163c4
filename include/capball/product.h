/* T8: inner products and distances of one space computed in the other.
 *
 * All of it needs only <x,x>, <x,y>, <y,y> (and <x,u>, <y,u> under a general pole), so any Mercer
 * kernel can be embedded without a vector in sight. x^ = S(x).
 *
 * Errors are in u = 2^-53, of arguments each right to 1u, lengths and s within 1e-150 .. 1e150. Where
 * a difference of the arguments loses, the bound names what it loses against; no other form of the
 * same arguments does better. */
#ifndef CAPBALL_PRODUCT_H
#define CAPBALL_PRODUCT_H

#include "capball/exec.h"
#include "capball/view.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What a Gram block becomes. */
typedef enum cpb_gram_result { CPB_PRODUCTS = 0, CPB_DISTANCES2 = 1 } cpb_gram_result;

/** What is known of the points of one side of a Gram block, for the embedding: n numbers each. */
typedef struct cpb_gram_side {
  const double *norm2; /* <x,x> (or k(x,x)), >= 0; for unembedding: rise = 1+<x^,v>, > 0 */
  const double *along; /* <x,u>; for unembedding: x0. NULL = 0 (pole e) when embedding */
} cpb_gram_side;

/** In place: g[i][j] = <x_i,y_j>  becomes  <x^_i,y^_j> or |x^_i-y^_j|^2.                          T8
 *  g     rows x cols, f32 or f64
 *  w     last coordinate of the pole, 1 for e
 *  The squared distance is taken as xx - 2xy + yy, never below 0.
 *  EROW for a row of g, or a number of x, that is NaN or inf, or a result too large for g's type;
 *  a NaN or inf of y would spoil every row and is EINVAL. The numbers of x and y may not lie in g.
 *  Thread-safe, allocates nothing. */
CPB_CALL cpb_status cpb_gram_embed(cpb_out g, cpb_gram_side x, cpb_gram_side y, double w, double s,
                                   cpb_gram_result result, const cpb_exec *exec, cpb_error *error);

/** In place: g[i][j] = <x^_i,y^_j>  becomes  <x_i,y_j> or |x_i-y_j|^2.                            T8
 *  norm2 holds the rises 1+<.,v>, along the last coordinates (both needed). A rise of 0 is the pole
 *  -v, the image of infinity: EROW in x, EINVAL in y. |x^-y^|^2 is taken as 2-2<x^,y^>, never below
 *  0. The rest as above. */
CPB_CALL cpb_status cpb_gram_unembed(cpb_out g, cpb_gram_side x, cpb_gram_side y, double w, double s,
                                     cpb_gram_result result, const cpb_exec *exec, cpb_error *error);

#ifdef __cplusplus
}
#endif
#endif

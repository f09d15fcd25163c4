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

/** Qx = |H(x)|^2 = <x,x> + (s-<x,u>)^2/w^2; for the pole e (xu = 0, w = 1) it is <x,x> + s^2. T8
 *  Error <= 16u Qx/|w|. */
CPB_API double cpb_lift_norm2(double xx, double xu, double w, double s);

/** D = |x-y|^2 + (<x,u>-<y,u>)^2/w^2, the squared distance of the lifts; |x-y|^2 for the pole e. T8
 *  Error <= 16u (D + (|<x,u>|+|<y,u>|) sqrt(D)/|w|). */
CPB_API double cpb_lift_dist2(double dist2, double xu, double yu, double w);

/** |x^-y^|^2 = 4 s^2 D/(Qx Qy), without overflow for any finite arguments.                       T8
 *  Error <= 16u of itself. NaN when Qx or Qy is inf. */
CPB_API double cpb_embedded_dist2(double D, double Qx, double Qy, double s);

/** <x^,y^> = 1 - 2 s^2 D/(Qx Qy). Error <= 16u; exactly 1 for D = 0.                             T8 */
CPB_API double cpb_embedded_product(double D, double Qx, double Qy, double s);

/** 1+y0 of a unit row y = (y',y0), |y'|^2 given: by |y'|^2/(1-y0) where 1+y0 would cancel.  T1, T8
 *  This is the argument `rise` below; for a general pole it is 1+<y,v> = |y+v|^2/2.
 *  Error <= 16u of itself in both hemispheres. */
CPB_API double cpb_rise(double y0, double norm2_rest);

/** |x-y|^2 = s^2 |x^-y^|^2/(rise_x rise_y), pole e. Error <= 16u of itself.                       T8 */
CPB_API double cpb_original_dist2(double dist2_hat, double rise_x, double rise_y, double s);

/** <x,y> = s^2 (<x^,y^> - x0 y0)/(rise_x rise_y), pole e.                                         T8
 *  Error <= 16u of itself for the numbers as given; their own rounding costs
 *  16u (s^2/(rise_x rise_y) + |x||y|), much more than |x||y| near the poles. */
CPB_API double cpb_original_product(double product_hat, double x0, double y0, double rise_x, double rise_y,
                                    double s);

/** The same for a general pole v = (u,w); x0, y0 are the last coordinates, rise = 1+<.,v>:       T8
 *  |x-y|^2 = s^2 (|x^-y^|^2/(rise_x rise_y) - ((x0+w)/rise_x - (y0+w)/rise_y)^2)
 *  never below 0. Error <= 16u (D + h(g + u h)), D = s^2 |x^-y^|^2/(rise_x rise_y) <= |x-y|^2/w^2,
 *  g = |<x,u>-<y,u>|/|w| and h = s(|x0|+|w|)/rise_x + s(|y0|+|w|)/rise_y. */
CPB_API double cpb_original_dist2_pole(double dist2_hat, double x0, double y0, double rise_x, double rise_y,
                                       double w, double s);

/** <x,y> = s^2 (1 + <x^,y^> + <x^,v> + <y^,v> - (x0+w)(y0+w))/(rise_x rise_y)                     T8
 *  Error <= 16u s^2/(rise_x rise_y). */
CPB_API double cpb_original_product_pole(double product_hat, double x0, double y0, double rise_x,
                                         double rise_y, double w, double s);

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
CPB_API cpb_status cpb_gram_embed(cpb_out g, cpb_gram_side x, cpb_gram_side y, double w, double s,
                                  cpb_gram_result result, const cpb_exec *exec, cpb_error *error);

/** In place: g[i][j] = <x^_i,y^_j>  becomes  <x_i,y_j> or |x_i-y_j|^2.                            T8
 *  norm2 holds the rises 1+<.,v>, along the last coordinates (both needed). A rise of 0 is the pole
 *  -v, the image of infinity: EROW in x, EINVAL in y. |x^-y^|^2 is taken as 2-2<x^,y^>, never below
 *  0. The rest as above. */
CPB_API cpb_status cpb_gram_unembed(cpb_out g, cpb_gram_side x, cpb_gram_side y, double w, double s,
                                    cpb_gram_result result, const cpb_exec *exec, cpb_error *error);

#ifdef __cplusplus
}
#endif
#endif
